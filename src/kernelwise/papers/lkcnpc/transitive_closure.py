r"""What the given pairs say about other pairs by logic alone: no similarity, no features, nothing learned.

Two samples that are joined by a chain of must-links share a class. If one such group of samples has a cannot-link to
another group, all pairs between the two groups are of different classes. Nothing else follows. A method that completes
pairs with the help of a similarity has to be better than these two rules to be worth its price.

Pairs may contradict each other: a cannot-link may lie inside a group. The evidence between two groups is then the sum
of the weights of the must-links minus that of the cannot-links between them,

.. math:: e(A, B) = \sum_{i \in A, \, j \in B} w_{ij} y_{ij},

and the majority decides. Beginning with single samples, the two groups with the largest positive evidence are joined,
until no evidence is positive (greedy contraction, a method for correlation clustering). Without contradictions the
groups are the same as those of the chains, whatever the order, and no contraction is needed.
"""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from ...checks import Array, IntArray, check_ends
from ...samples import read_samples
from ...statements import Pairs
from ...statements.noise import resolve_pairs
from .base import FromPairs


@dataclass(eq=False, repr=False, kw_only=True)
class TransitiveClosure(FromPairs):
    """Close must-links, and carry cannot-links over between the groups; the weighted majority decides contradictions.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
        Draws pairs from ``y`` if no pairs are given. Given pairs leave nothing to chance.

    Attributes
    ----------
    groups_ : ndarray of int of shape (n_samples,)
        The group of every sample, numbered by the first sample of each group. A sample without must-links is a group.
    evidence_ : sparse array of shape (n_groups, n_groups)
        The summed weights of must-links minus those of cannot-links between every two groups; never positive.
    n_groups_ : int
    n_contradicted_ : int
        The number of pairs of samples that were given with one label and are answered with the other one.
    n_features_in_, feature_names_in_
        As in scikit-learn, if ``fit`` gets X.

    References
    ----------
    M. Keuper, E. Levinkov, N. Bonneel, G. Lavoué, T. Brox, B. Andres. Efficient decomposition of image and mesh graphs
    by lifted multicuts. ICCV 2015 (greedy additive edge contraction).

    Examples
    --------
    Samples 0, 1, 2 are one group, and sample 3 is in another class than sample 2. Nothing is said about sample 4.

    >>> from kernelwise import Pairs, TransitiveClosure
    >>> known = Pairs([0, 1, 2], [1, 2, 3], [1, 1, -1], n_samples=5)
    >>> model = TransitiveClosure().fit(None, pairs=known)
    >>> model.predict_pairs([0, 0, 0], [2, 3, 4])
    array([ 1, -1,  0])
    """

    random_state: Any = None

    def fit(self, X: Any = None, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Close the pairs.

        Parameters
        ----------
        X : array or sparse matrix with a row per sample, optional
            Only the number of rows is used. None: the number of samples is that of ``pairs`` or of ``y``.
        y : array-like of shape (n_samples,), optional
            Known classes, -1 for unknown; pairs are made from the classes if no pairs are given.
        pairs : Pairs, optional
            The known pairs.

        Returns
        -------
        self
        """
        if X is not None:
            n_samples = read_samples(self, X, ensure_min_samples=2).shape[0]
        else:
            n_samples = pairs.n_samples if isinstance(pairs, Pairs) else 0 if y is None else len(column_or_1d(y))
        rng = check_random_state(self.random_state)
        known = resolve_pairs(pairs, y, n_samples, random_state=rng, both_kinds=False)
        assert known is not None  # pairs are required
        evidence = known.to_sparse()
        self.groups_ = closed_groups(evidence)
        self.n_groups_ = int(self.groups_.max()) + 1
        members = sp.csr_array(
            (np.ones(n_samples), (np.arange(n_samples), self.groups_)), shape=(n_samples, self.n_groups_)
        )
        between: Any = sp.csr_array(members.T @ evidence @ members)
        between = sp.csr_array(between - sp.diags_array(between.diagonal()))
        between.eliminate_zeros()
        self.evidence_ = between
        rows, cols = sp.triu(evidence, k=1).coords
        given = np.sign(np.asarray(evidence[rows, cols]).ravel())
        self.n_contradicted_ = int(np.count_nonzero(given * self.predict_pairs(rows, cols) < 0))
        return self

    def predict_pairs(self, rows: Any, cols: Any) -> IntArray:
        """+1 for pairs of one group, -1 for pairs of groups with a cannot-link between them, 0 where nothing follows.

        Parameters
        ----------
        rows, cols : array-like of int
            Samples of ``fit``.
        """
        check_is_fitted(self)
        rows, cols = check_ends(rows, cols, len(self.groups_))
        first, second = self.groups_[rows], self.groups_[cols]
        if not len(first):
            return np.zeros(0, dtype=np.int64)
        apart = np.asarray(self.evidence_[first, second]).ravel() < 0
        return np.where(first == second, 1, np.where(apart, -1, 0))

    def pair_scores(self, rows: Any, cols: Any) -> Array:
        """Entries of the label matrix: 1 for pairs of one class, 0 for other pairs, 1/2 where nothing follows."""
        return 0.5 + 0.5 * self.predict_pairs(rows, cols).astype(np.float64)


def closed_groups(evidence: sp.csr_array) -> IntArray:
    """The group of every sample, from the symmetric matrix of evidence between samples."""
    upper = sp.triu(evidence, k=1)
    (rows, cols), weights = upper.coords, upper.data
    joined = weights > 0
    chains = sp.csr_array((np.ones(joined.sum()), (rows[joined], cols[joined])), shape=evidence.shape)
    groups = connected_components(chains, directed=False)[1].astype(np.int64)
    inside = groups[rows] == groups[cols]
    contradictory = np.unique(groups[rows[inside & (weights < 0)]])
    if len(contradictory):
        disputed = inside & np.isin(groups[rows], contradictory)
        leaders = _contracted(rows[disputed], cols[disputed], weights[disputed])
        samples = np.array(list(leaders), dtype=np.int64)
        groups[samples] = groups.max() + 1 + np.array([leaders[sample] for sample in leaders])
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]  # numbered by their first samples


def _contracted(rows: IntArray, cols: IntArray, weights: Array) -> dict[int, int]:
    """Join the two groups with the largest positive evidence until none is left; the leader of every sample's group."""
    edges = list(zip(rows.tolist(), cols.tolist(), weights.tolist(), strict=True))
    evidence: dict[int, dict[int, float]] = {}
    for i, j, weight in edges:
        evidence.setdefault(i, {})[j] = weight
        evidence.setdefault(j, {})[i] = weight
    members = {i: [i] for i in evidence}
    queue = [(-weight, i, j) for i, j, weight in edges if weight > 0]
    heapify(queue)
    while queue:
        negative, i, j = heappop(queue)
        if evidence.get(i, {}).get(j) != -negative:  # a group is gone, or its evidence has changed since
            continue
        if len(evidence[i]) < len(evidence[j]):
            i, j = j, i
        members[i] += members.pop(j)
        del evidence[i][j]
        for k, weight in evidence.pop(j).items():
            if k == i:
                continue
            del evidence[k][j]
            total = evidence[i].get(k, 0.0) + weight
            evidence[i][k] = evidence[k][i] = total
            if total > 0:
                heappush(queue, (-total, min(i, k), max(i, k)))
    return {sample: leader for leader, group in members.items() for sample in group}
