r"""Scores of pairs and embeddings of samples, from features and pairs together.

Features are smoothed over the positive pairs and clustered, and the clusters give every pair a score; the fold of the
pair itself is left out. The embeddings of samples are the starting points of the model of classes.
"""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from ...checks import Array, Index, IntArray
from ...links.candidates import leading_directions
from ...links.smoothing import normalised_adjacency
from ...progress import Tell, silent
from ...statements import Pairs
from ...ties import most_probable, stirred

#: The scores of pairs are averages over these steps of smoothing and numbers of clusters.
DEPTHS = (1, 2, 3, 4)
CLUSTER_COUNTS = (3, 4, 5, 6, 8, 10, 12, 16, 20)
#: With these numbers of clusters, the pairs within a cluster are counted, to estimate how many pairs cross classes.
COUNTED = (4, 6, 8, 12)
#: Temperature of memberships, in squared distances of rows of unit length.
TEMPERATURE = 0.25
#: The weight of a cluster of share pi is pi to this power. Power 0 gives the chance to share the cluster, power -1 the
#: ratio of this chance to that of random pairs. With power 0, the AUC of wrong links falls by .005 in the mean of 13
#: sets of ``benchmarks/pair_audit.py``, and by .019 on Cora.
SHARE_POWER = -0.25
#: k-means is fitted to at most this many rows.
MAX_FITTED = 5000


class Fold(NamedTuple):
    """Pairs to learn from, and positions and samples of the pairs to judge."""

    train: Pairs
    judged: Index
    rows: IntArray
    cols: IntArray


class ClassView(NamedTuple):
    """The score of every pair, and for some numbers of clusters the fraction of clusterings that join the pair."""

    score: Array
    joined: Array  # (len(COUNTED), n_pairs)


def split_folds(pairs: Pairs, fold_of: Index) -> Iterator[Fold]:
    """All folds in turn; ``fold_of`` is the number of the fold of every pair."""
    for fold in np.unique(fold_of):
        index = np.flatnonzero(fold_of == fold)
        yield Fold(pairs[fold_of != fold], index, pairs.rows[index], pairs.cols[index])


def class_view(rows: Array, pairs: Pairs, fold_of: Index, rng: np.random.RandomState, tell: Tell = silent) -> ClassView:
    r"""Memberships p in clusters of smoothed features: :math:`\sum_c p_{ic} p_{jc} \pi_c^{-1/4}`, averaged."""
    score, joined = np.zeros(len(pairs)), np.zeros((len(COUNTED), len(pairs)))
    for done, fold in enumerate(split_folds(pairs, fold_of), start=1):
        adjacency, _ = normalised_adjacency(_links(fold.train))
        smoothed = rows
        for _ in DEPTHS:
            smoothed = adjacency @ smoothed
            for count, members in _memberships(smoothed, rng):
                ends = members[fold.rows] * members[fold.cols]
                score[fold.judged] += ends @ members.mean(axis=0) ** SHARE_POWER
                if count in COUNTED:
                    nearest = most_probable(members)
                    together = nearest[fold.rows] == nearest[fold.cols]
                    joined[COUNTED.index(count), fold.judged] += together / len(DEPTHS)
        tell(done, int(fold_of.max()) + 1)
    return ClassView(score, joined)


def smoothed_embedding(rows: Array, pairs: Pairs) -> Array:
    """Leading directions of the features after two steps over the positive pairs, most important first."""
    adjacency, _ = normalised_adjacency(_links(pairs))
    unit = normalize(adjacency @ (adjacency @ rows))
    return unit @ leading_directions(unit, 2 * max(CLUSTER_COUNTS))[1]


def activity(pairs: Pairs, fold_of: Index) -> Array:
    """How many more positive than negative pairs both samples have in other folds; hubs of any class have many."""
    score = np.zeros(len(pairs))
    for fold in split_folds(pairs, fold_of):
        ends = np.concatenate([fold.train.rows, fold.train.cols])
        positive = np.tile(fold.train.labels > 0, 2)
        counts = [np.bincount(ends[kind], minlength=pairs.n_samples) for kind in (positive, ~positive)]
        balance = np.log1p(counts[0]) - np.log1p(counts[1])
        score[fold.judged] = balance[fold.rows] + balance[fold.cols]
    return score


def _links(pairs: Pairs) -> Any:
    positive = pairs.positive
    return positive.to_sparse() if len(positive) else sp.csr_array((pairs.n_samples, pairs.n_samples))


def _memberships(smoothed: Array, rng: np.random.RandomState) -> Iterator[tuple[int, Array]]:
    """Soft memberships of all rows, by number of clusters."""
    unit = normalize(smoothed)
    embedding = unit @ leading_directions(unit, 2 * max(CLUSTER_COUNTS))[1]
    fitted = rng.permutation(len(unit))[:MAX_FITTED]
    for count in CLUSTER_COUNTS:
        if count >= len(unit):
            break
        points = normalize(embedding[:, : 2 * count])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters: some coincide
            centers = KMeans(count, n_init=1, random_state=rng).fit(stirred(points[fitted])).cluster_centers_
        near = 2.0 * points @ centers.T - (centers**2).sum(
            axis=1
        )  # minus the squared distance, up to a constant per row
        near -= near.max(axis=1, keepdims=True)
        members = np.exp(near / TEMPERATURE)
        yield count, members / members.sum(axis=1, keepdims=True)
