r"""The candidates of :class:`~kernelwise.LinkedClustering`: ways to place documents so that k-means finds clusters.

Let :math:`Z_t = (D^{-1} (A + I))^t Z_0` be the features after t steps, each step a mean over a document and its
neighbours. The rows of a candidate are one of these, or several side by side, or Z_0 beside factors of random walks
(``walks.py``). The rows are as they are, or of unit length, or centred and then of unit length. No candidate lets the
length of a row depend on the number of links. The embedding of a candidate is :math:`E = R V`, with V the leading right
singular vectors of its rows R.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from .embedding import directions_of_gram

Array = NDArray[np.float64]

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
    """A candidate with what its embedding needs: means of columns, singular values, and directions."""

    candidate: Candidate
    means: tuple[Array, ...]
    singular_values: Array
    directions: Array

    @classmethod
    def fit(cls, candidate: Candidate, steps: Sequence[Array], walks: Array | None, count: int) -> "Embedding":
        """Find the leading directions; ``steps`` are Z_0, Z_1, ... and ``walks`` the factors of walks."""
        centred = candidate.scaling == "centred"
        means = tuple(steps[t].mean(axis=0) if centred else np.zeros(steps[t].shape[1]) for t in candidate.depths)
        gram = sum(rows.T @ rows for rows in _blocks(candidate, means, steps, walks))
        return cls(candidate, means, *directions_of_gram(np.asarray(gram), count))

    def place(self, steps: Sequence[Array], walks: Array | None) -> Array:
        """Coordinates of documents, of ``fit`` or new ones, from their smoothed features and factors of walks."""
        placed = [rows @ self.directions for rows in _blocks(self.candidate, self.means, steps, walks)]
        return np.concatenate(placed) if placed else np.zeros((0, self.directions.shape[1]))


def _blocks(
    candidate: Candidate, means: Sequence[Array], steps: Sequence[Array], walks: Array | None
) -> Iterator[Array]:
    """The rows of a candidate, some at a time."""
    for start in range(0, len(steps[0]), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        parts = [steps[t][block] for t in candidate.depths]
        if candidate.scaling == "centred":
            parts = [part - mean for part, mean in zip(parts, means, strict=True)]
        if candidate.scaling != "none":
            parts = [normalize(part) for part in parts]
        if candidate.walks and walks is not None:
            parts.append(normalize(walks[block]))
        yield parts[0] if len(parts) == 1 else np.hstack(parts)
