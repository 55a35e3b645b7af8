"""Forests whose leaves are shrunk towards their ancestors, for problems that kernels do not solve well.

A tree predicts the mean label of a leaf. Write this mean as a walk from the root, ``sum of (mean(node) -
mean(parent))``, and divide each step by ``1 + shrinkage / size(parent)``: steps out of small nodes, where wrong labels
have most influence, count little. One forest serves every shrinkage. Each sample is scored by the trees that did not
draw it, and these scores tell the right amount of shrinkage.

Agarwal, Tan, Ronen, Singh and Yu, Hierarchical shrinkage, ICML 2022.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor

Array = NDArray[np.float64]

#: Trees: half as many as samples, within these bounds.
MIN_TREES, MAX_TREES = 40, 150
#: A tree draws at most this many samples, to limit memory.
MAX_DRAWN = 10_000
MIN_LEAF = 3
SHRINKAGES = (0.0, *(4.0**power for power in range(1, 7)))


class ShrunkenForest:
    """Extremely randomised trees with hierarchical shrinkage.

    Parameters
    ----------
    share : float
        The share of the features tried at each split; 0 stands for the square root of their number.
    """

    def __init__(self, share: float):
        self.share = share

    @property
    def name(self) -> str:
        """The name of the base model, for tables of weights."""
        return "trees, few features per split" if self.share == 0 else "trees, all features per split"

    def grow(
        self, X: Array, Y: Array, weight: Array, random_state: np.random.RandomState, n_trees: int | None = None
    ) -> "ShrunkenForest":
        """Grow the trees on targets ``Y`` (n_samples, n_outputs)."""
        n, d = X.shape
        forest = ExtraTreesRegressor(
            min(max(n // 2, MIN_TREES), MAX_TREES) if n_trees is None else n_trees,
            min_samples_leaf=MIN_LEAF,
            max_features=max(1, round(self.share * d)) if self.share else int(np.ceil(np.sqrt(d))),
            bootstrap=True,
            max_samples=min(n, MAX_DRAWN),
            random_state=random_state,
        ).fit(X, Y if Y.shape[1] > 1 else Y[:, 0], sample_weight=weight)
        self._X, self._n_outputs = np.asarray(X, dtype=np.float32), Y.shape[1]
        self._trees = [tree.tree_ for tree in forest.estimators_]
        self._drawn = forest.estimators_samples_
        return self

    def out_of_bag(self) -> Array:
        """Return the scores (n_samples, n_outputs, n_shrinkages) by the trees that did not draw the sample."""
        n = len(self._X)
        total, count = np.zeros((n, self._n_outputs, len(SHRINKAGES))), np.zeros(n)
        for tree, drawn in zip(self._trees, self._drawn, strict=True):
            left_out = np.ones(n, dtype=bool)
            left_out[drawn] = False
            rows = np.flatnonzero(left_out)
            total[rows] += node_values(tree)[tree.apply(self._X[rows])]
            count[rows] += 1
        return total / np.maximum(count, 1)[:, None, None]

    def settle(self, mixture: Array) -> "SettledForest":
        """Return the forest with this mixture of shrinkages."""
        return SettledForest(self._trees, [node_values(tree) @ mixture for tree in self._trees])


class SettledForest:
    """Trees with one vector of values per node."""

    def __init__(self, trees: list[Any], values: list[Array]):
        self.trees, self.values = trees, values

    def __call__(self, X: Any) -> Array:
        """Return the mean over trees of the value of each sample's leaf."""
        rows = np.asarray(X, dtype=np.float32)
        if any(tree.n_features != rows.shape[1] for tree in self.trees):  # the trees would read beyond a row
            raise ValueError(f"X has {rows.shape[1]} columns, and the trees were grown on {self.trees[0].n_features}")
        total = np.zeros((len(rows), self.values[0].shape[1]))
        for tree, values in zip(self.trees, self.values, strict=True):
            total += values[tree.apply(rows)]
        return total / len(self.trees)


def node_values(tree: Any) -> Array:
    """Return the shrunken value (n_nodes, n_outputs, n_shrinkages) of every node, relative to the root of its tree.

    The mean at the root says nothing about a sample, and in the trees that did not draw the sample this mean lies away
    from the label of the sample.
    """
    mean, size = tree.value[:, :, 0], tree.weighted_n_node_samples
    values = np.zeros((*mean.shape, len(SHRINKAGES)))
    level = np.array([0])
    while level.size:
        parents = level[tree.children_left[level] >= 0]
        factor = 1 / (1 + np.asarray(SHRINKAGES) / size[parents, None])
        for children in (tree.children_left[parents], tree.children_right[parents]):
            step = mean[children] - mean[parents]
            values[children] = values[parents] + step[:, :, None] * factor[:, None, :]
        level = np.concatenate([tree.children_left[parents], tree.children_right[parents]])
    return values
