"""From tall matrices of rows to clusters: leading directions and k-means in two stages."""

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from ..spectral.tall_arrays import with_signs
from ..ties import stirred

Array = NDArray[np.float64]


def leading_directions(rows: Any, count: int) -> tuple[Array, Array]:
    r"""The largest singular values of a tall matrix and their right singular vectors, from :math:`Z^\top Z`.

    The largest entry of each vector is positive.
    """
    return directions_of_gram(np.asarray(rows.T @ rows), count)


def directions_of_gram(gram: Array, count: int) -> tuple[Array, Array]:
    r"""The same from :math:`Z^\top Z` itself."""
    n_columns = gram.shape[0]
    first = max(n_columns - count, 0)
    squares, vectors = scipy.linalg.eigh(gram.astype(np.float64), subset_by_index=[first, n_columns - 1])
    return np.sqrt(np.maximum(squares[::-1], 0.0)), with_signs(vectors[:, ::-1])


def two_stage_k_means(
    embedding: Array, n_clusters: int, *, n_leading: int, n_init: int, rng: np.random.RandomState
) -> KMeans:
    """k-means in the leading coordinates, where starts matter less, then Lloyd's iterations in all coordinates."""
    few = np.ascontiguousarray(embedding[:, :n_leading])
    start = KMeans(n_clusters, n_init=n_init, random_state=rng).fit(stirred(few))
    members = sp.csc_array((np.ones(len(few)), start.labels_, np.arange(len(few) + 1)), shape=(n_clusters, len(few)))
    counts = np.maximum(members.sum(axis=1), 1.0)  # with fewer distinct points than clusters, some clusters are empty
    return KMeans(n_clusters, init=(members @ embedding) / counts[:, None], n_init=1, random_state=0).fit(embedding)
