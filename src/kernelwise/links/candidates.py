r"""The candidates of :class:`~kernelwise.LinkedClustering`: ways to place documents so that k-means finds clusters.

Let :math:`Z_t = (D^{-1} (A + I))^t Z_0` be the features after t steps, each step a mean over a document and its
neighbours. The rows of a candidate are one of these, or several side by side, or Z_0 beside factors of random walks
(``walks.py``). The rows are as they are, or of unit length, or centred and then of unit length. No candidate lets the
length of a row depend on the number of links. Before rows are scaled, they are projected on their leading right
singular vectors, because what remains of a row elsewhere is mostly noise, and a unit row should not be long in noise.
The embedding of a candidate is :math:`E = R V`, with V the leading right singular vectors of its rows R.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from ..checks import Array
from ..spectral.eigenpairs import with_signs
from ..ties import stirred


def leading_directions(rows: Any, count: int) -> tuple[Array, Array]:
    r"""The largest singular values of a tall matrix and their right singular vectors, from :math:`Z^\top Z`."""
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


#: Rows are put side by side in blocks of this many rows, so that the wide matrix never exists.
BLOCK_ROWS = 50_000


@dataclass(frozen=True)
class Candidate:
    """Which depths of smoothing are put side by side, how the rows are scaled, and whether walks are beside them."""

    name: str
    depths: tuple[int, ...]
    scaling: Literal["none", "unit", "centred"] = "none"
    walks: bool = False

    @property
    def uses_links(self) -> bool:
        """Whether the clusters depend on links."""
        return self.walks or max(self.depths) > 0


CANDIDATES = (
    Candidate("features", (0,)),
    Candidate("features, unit rows", (0,), "unit"),
    Candidate("1 step", (1,)),
    Candidate("1 step, unit rows", (1,), "unit"),
    Candidate("3 steps", (3,)),
    Candidate("3 steps, unit rows", (3,), "unit"),
    Candidate("all depths", (0, 1, 2, 3), "centred"),
    Candidate("walks and features", (0,), "unit", walks=True),
)
#: The largest number of steps of a candidate.
DEEPEST = max(depth for candidate in CANDIDATES for depth in candidate.depths)


@dataclass(frozen=True)
class Embedding:
    """A candidate with what its embedding needs: centres and directions of its parts, and directions of the whole."""

    candidate: Candidate
    centres: tuple[Array, ...]
    parts: tuple[Array, ...]
    singular_values: Array
    directions: Array

    @classmethod
    def fit(cls, candidate: Candidate, steps: Sequence[Array], walks: Array | None, count: int) -> "Embedding":
        """Find the leading directions; ``steps`` are Z_0, Z_1, ... and ``walks`` the factors of walks."""
        used, precision = [steps[t] for t in candidate.depths], steps[0].dtype
        centred = candidate.scaling == "centred"
        centres = tuple(rows.mean(axis=0) if centred else np.zeros(rows.shape[1], precision) for rows in used)
        parts = tuple(
            directions_of_gram(rows.T @ rows - len(rows) * np.outer(centre, centre), count)[1].astype(precision)
            for rows, centre in zip(used, centres, strict=True)
        )
        found = cls(candidate, centres, parts, np.zeros(0), np.zeros((0, 0)))
        gram = sum(rows.T @ rows for rows in found._blocks(steps, walks))
        singular_values, directions = directions_of_gram(np.asarray(gram), count)
        return replace(found, singular_values=singular_values, directions=directions.astype(precision))

    def place(self, steps: Sequence[Array], walks: Array | None) -> Array:
        """Coordinates of documents, of ``fit`` or new ones, from their smoothed features and factors of walks."""
        placed = [rows @ self.directions for rows in self._blocks(steps, walks)]
        return np.concatenate(placed) if placed else np.zeros((0, self.directions.shape[1]))

    def _blocks(self, steps: Sequence[Array], walks: Array | None) -> Iterator[Array]:
        """The rows of the candidate, some at a time."""
        for start in range(0, len(steps[0]), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            rows = [
                (steps[t][block] - centre) @ directions
                for t, centre, directions in zip(self.candidate.depths, self.centres, self.parts, strict=True)
            ]
            if self.candidate.walks and walks is not None:
                rows.append(walks[block].astype(rows[0].dtype))
            yield np.hstack(rows if self.candidate.scaling == "none" else [normalize(part) for part in rows])
