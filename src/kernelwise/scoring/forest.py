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
from sklearn.tree import ExtraTreeRegressor

Array = NDArray[np.float64]
Index = NDArray[np.intp]

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
        self,
        X: Array,
        Y: Array,
        weight: Array,
        random_state: np.random.RandomState,
        n_trees: int | None = None,
        group: Index | None = None,
    ) -> "ShrunkenForest":
        """Grow the trees on targets ``Y`` (n_samples, n_outputs); with ``group``, a tree draws whole groups."""
        n, d = X.shape
        n_trees = min(max(n // 2, MIN_TREES), MAX_TREES) if n_trees is None else n_trees
        few = max(1, round(self.share * d)) if self.share else int(np.ceil(np.sqrt(d)))
        options: dict[str, Any] = {"min_samples_leaf": MIN_LEAF, "max_features": few}
        target = Y if Y.shape[1] > 1 else Y[:, 0]
        self._X, self._n_outputs = np.asarray(X, dtype=np.float32), Y.shape[1]
        if group is not None:
            self._drawn, trees = _drawn_groups(group, n_trees, random_state), []
            for drawn in self._drawn:
                tree = ExtraTreeRegressor(**options, random_state=random_state.randint(2**31))
                trees.append(tree.fit(self._X, target, weight * np.bincount(drawn, minlength=n)).tree_)
            self._trees = trees
            return self
        forest = ExtraTreesRegressor(
            n_trees, **options, bootstrap=True, max_samples=min(n, MAX_DRAWN), random_state=random_state
        ).fit(X, target, sample_weight=weight)
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


def _drawn_groups(group: Index, n_trees: int, random_state: np.random.RandomState) -> list[Index]:
    """Return the rows that each tree draws: as many groups as there are, with replacement, and all their rows."""
    n_groups = int(group.max()) + 1
    order, sizes = np.argsort(group, kind="stable"), np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    n_drawn = max(min(n_groups, n_groups * MAX_DRAWN // len(group)), 1)
    found = []
    for _ in range(n_trees):
        drawn = random_state.randint(n_groups, size=n_drawn)
        lengths = sizes[drawn]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        found.append(order[np.repeat(starts[drawn], lengths) + within])
    return found


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
