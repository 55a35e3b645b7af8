r"""Factors of short random walks over the links: documents that the same walks visit get similar rows.

Let a random walk be in equilibrium, and let r be a length between 1 and T, each as probable as the others. The
probability to see document i and, r steps later, document j, is

.. math:: C_{ij} = \frac{1}{T} \sum_{r=1}^{T} \frac{d_i}{\mathrm{vol}} \big[(D^{-1} A)^r\big]_{ij},

and :math:`M_{ij} = \max\big(0, \log (C_{ij}\,\mathrm{vol}^2 / (d_i d_j))\big)` says how much more often than by chance
the two meet. The factors are :math:`U \Sigma^{1/2}` of the leading singular vectors of M, which is the matrix that
DeepWalk factorises. C is dense, so it is never formed: walks are drawn, and the counts of their ends, a sparse
unbiased estimate of C, take its place.

References
----------
J. Qiu et al. Network embedding as matrix factorization. WSDM 2018.
J. Qiu et al. NetSMF: large-scale network embedding as sparse matrix factorization. WWW 2019.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from ..checks import Array, IntArray

#: The longest walk, T.
WINDOW = 10
#: Number of factors.
RANK = 64
#: Pairs of ends that are drawn for every link, and the most that are drawn, which bounds time and memory.
DRAWS_PER_LINK, MAX_DRAWS = 100, 5_000_000
#: Power iterations of the randomised decomposition; of many documents, one iteration finds the leading vectors.
POWER_ITERATIONS, MANY_DOCUMENTS = 3, 20_000


def walk_factors(links: Any, rng: np.random.RandomState) -> Array:
    """Return one row of factors per document, zero without links; ``links`` are symmetric sparse weights."""
    links = sp.csr_array(links)
    n_samples = links.shape[0]
    rank = min(RANK, n_samples)
    if not links.nnz:
        return np.zeros((n_samples, rank))
    meetings = _more_than_chance(*_drawn_ends(links, rng), np.asarray(links.sum(axis=1)))
    n_iter = POWER_ITERATIONS if n_samples <= MANY_DOCUMENTS else 1
    left, values, _ = randomized_svd(meetings, rank, n_iter=n_iter, random_state=rng)
    return np.asarray(left * np.sqrt(values), dtype=np.float64)


def _drawn_ends(links: Any, rng: np.random.RandomState) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The first and the last documents of walks of 1, 2, ..., T steps, equally many of each length."""
    n_walks = max(min(DRAWS_PER_LINK * links.nnz // 2, MAX_DRAWS) // WINDOW, 1)
    draw = _entry_drawer(links)
    entry = draw(rng.random_sample(n_walks), np.zeros(1, dtype=np.int64), np.array([links.nnz]))
    first = (np.searchsorted(links.indptr, entry, side="right") - 1).astype(np.int32)
    here = links.indices[entry].astype(np.int32)
    visited = [here]
    for _ in range(WINDOW - 1):
        here = links.indices[draw(rng.random_sample(n_walks), links.indptr[here], links.indptr[here + 1])]
        visited.append(here.astype(np.int32))
    return np.tile(first, WINDOW), np.concatenate(visited)


def _entry_drawer(links: Any) -> Callable[[Array, NDArray[Any], NDArray[Any]], IntArray]:
    """Return a function of numbers in [0, 1) that draws entries between two bounds, in proportion to their weights."""
    if (links.data == links.data[0]).all():
        return lambda u, start, stop: start + (u * (stop - start)).astype(np.int64)
    ends_of_weight = np.cumsum(links.data, dtype=np.float64)
    before = np.concatenate([[0.0], ends_of_weight])

    def draw(u: Array, start: NDArray[Any], stop: NDArray[Any]) -> IntArray:
        drawn = before[start] + u * (before[stop] - before[start])
        order = np.argsort(drawn)  # sorted values are found several times faster
        entry = np.empty(len(drawn), dtype=np.int64)
        entry[order] = np.searchsorted(ends_of_weight, drawn[order], side="right")
        return np.clip(entry, start, stop - 1)

    return draw


def _more_than_chance(first: NDArray[np.int32], last: NDArray[np.int32], degrees: Array) -> Any:
    """M from the ends of walks, as a sparse matrix: a walk backwards is as probable as the walk forwards."""
    n_samples = len(degrees)
    counts = sp.coo_array((np.ones(len(first), dtype=np.float32), (first, last)), shape=(n_samples, n_samples)).tocsr()
    counts = (counts + counts.T).tocoo()
    by_chance = degrees / degrees.sum()
    ratio = counts.data / (2.0 * len(first)) / (by_chance[counts.row] * by_chance[counts.col])
    more = ratio > 1.0
    values = np.log(ratio[more]).astype(np.float32)
    return sp.csr_array((values, (counts.row[more], counts.col[more])), shape=(n_samples, n_samples))
