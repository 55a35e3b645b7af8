"""k-means over rows in blocks: centres from a sample of the rows, then Lloyd's iterations over all blocks."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min

from ..checks import Array, Index
from ..samples import compute
from .block_array import BlockArray
from .collections import sample_rows

#: Starts are tried on at most this many rows.
START_ROWS = 20_000
#: The iterations end when the centres move by less than this share of the variance, as in scikit-learn.
TOLERANCE, MAX_ITER = 1e-4, 300


class BlockClusters(NamedTuple):
    """The cluster of every row, the centres, and the sum of the squared distances to them."""

    labels: BlockArray
    centers: Array
    inertia: float


def two_stage_block_k_means(
    rows: BlockArray, n_clusters: int, *, n_leading: int, n_init: int, rng: np.random.RandomState
) -> BlockClusters:
    """Cluster by k-means in the leading coordinates, then by Lloyd's iterations in all coordinates.

    The best of ``n_init`` starts is found on a sample of the rows. If the sample has all rows, the result is the same
    as in memory. Otherwise the centres are improved over all rows before the other coordinates are used. A cluster that
    loses all its rows keeps its centre.
    """
    complete = len(rows) <= START_ROWS
    (sample,) = sample_rows([rows], START_ROWS, np.random.RandomState(0) if complete else rng)
    start = KMeans(n_clusters, n_init=n_init, random_state=rng).fit(np.ascontiguousarray(sample[:, :n_leading]))
    if complete:
        sums = _sums_and_counts(sample, start.labels_, n_clusters=n_clusters)
    else:
        few = lloyd(rows[:, :n_leading], start.cluster_centers_)
        sums = np.asarray(rows.sum_of(_sums_and_counts, few.labels, n_clusters=n_clusters))
    return lloyd(rows, _means(sums, np.zeros((n_clusters, sample.shape[1]))))


def lloyd(rows: BlockArray, centers: Array) -> BlockClusters:
    """Return the clusters that Lloyd's iterations reach from these centres."""
    rows = rows.persist()
    totals, squares = compute(rows.sum(axis=0), (rows**2).sum(axis=0))
    variance = np.asarray(squares) / len(rows) - (np.asarray(totals) / len(rows)) ** 2
    for _ in range(MAX_ITER):
        sums = rows.sum_of(_sums_and_counts, rows.map_rows(_nearest, centers), n_clusters=len(centers))
        moved = _means(np.asarray(sums), centers)
        shift, centers = float(np.sum((moved - centers) ** 2)), moved
        if shift <= TOLERANCE * float(variance.mean()):
            break
    inertia = float(rows.sum_of(_squared_distances, centers))
    return BlockClusters(rows.map_rows(_nearest, centers).persist(), centers, inertia)


def _nearest(block: Array, centers: Array) -> Index:
    if not len(block):
        return np.empty(0, dtype=np.intp)
    return pairwise_distances_argmin_min(block, centers)[0].astype(np.intp)


def _squared_distances(block: Array, centers: Array) -> float:
    return float(np.sum((block - centers[_nearest(block, centers)]) ** 2))


def _sums_and_counts(rows: Array, labels: NDArray[Any], *, n_clusters: int) -> Array:
    """Return the sum of the rows of every cluster, and in the last column their number."""
    members = sp.csc_array((np.ones(len(rows)), labels, np.arange(len(rows) + 1)), shape=(n_clusters, len(rows)))
    return np.asarray(members @ np.column_stack([rows, np.ones(len(rows))]))


def _means(sums: Array, otherwise: Array) -> Array:
    counts = sums[:, -1:]
    return np.where(counts > 0, sums[:, :-1] / np.maximum(counts, 1.0), otherwise)
