r"""The candidates of :class:`~kernelwise.LinkedClustering`: ways to place documents so that k-means finds clusters.

Let :math:`Z_t = (D^{-1} (A + I))^t Z_0` be the features after t steps, each step a mean over a document and its
neighbours. The rows of a candidate are those of one :math:`Z_t`, as they are or of unit length. No candidate lets the
length of a row depend on the number of links. Before rows are scaled, they are projected on their leading right
singular vectors, because what remains of a row elsewhere is mostly noise, and a unit row should not be long in noise.
The embedding of a candidate is :math:`E = R V`, with V the leading right singular vectors of its rows R.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from ..spectral.tall_arrays import with_signs
from ..ties import stirred
from .words import each_row

Array = NDArray[np.float64]


def leading_directions(rows: Any, count: int) -> tuple[Array, Array]:
    r"""The largest singular values of a tall matrix and their right singular vectors, from :math:`Z^\top Z`."""
    gram = np.asarray(rows.T @ rows, dtype=np.float64)
    last = len(gram) - 1
    squares, vectors = scipy.linalg.eigh(gram, subset_by_index=[max(last + 1 - count, 0), last])
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


@dataclass(frozen=True)
class Candidate:
    """After how many steps of smoothing documents are placed, and whether their rows have unit length."""

    name: str
    depth: int
    unit_rows: bool

    @property
    def uses_links(self) -> bool:
        """Whether the clusters depend on links."""
        return self.depth > 0


#: What each of them earns, and what others did not, is in decision 14.
CANDIDATES = (
    Candidate("features", 0, unit_rows=False),
    Candidate("features, unit rows", 0, unit_rows=True),
    Candidate("1 step", 1, unit_rows=False),
    Candidate("1 step, unit rows", 1, unit_rows=True),
    Candidate("3 steps", 3, unit_rows=False),
    Candidate("3 steps, unit rows", 3, unit_rows=True),
)
#: The largest number of steps of a candidate.
DEEPEST = max(candidate.depth for candidate in CANDIDATES)


@dataclass(frozen=True)
class Embedding:
    """A candidate with the directions of its smoothed features, and those of its rows after they are scaled."""

    candidate: Candidate
    leading: Array
    singular_values: Array
    directions: Array

    @classmethod
    def fit(cls, candidate: Candidate, steps: Sequence[Array], count: int) -> "Embedding":
        """Find the leading directions; ``steps`` are Z_0, Z_1, ..."""
        smoothed = steps[candidate.depth]
        leading = leading_directions(smoothed, count)[1].astype(smoothed.dtype)
        rows = smoothed @ leading
        singular_values, directions = leading_directions(normalize(rows) if candidate.unit_rows else rows, count)
        return cls(candidate, leading, singular_values, directions.astype(smoothed.dtype))

    def place(self, steps: Sequence[Array]) -> Array:
        """Coordinates of documents, of ``fit`` or new ones, from their smoothed features."""
        rows = steps[self.candidate.depth] @ self.leading
        return (each_row(rows, method=normalize) if self.candidate.unit_rows else rows) @ self.directions
