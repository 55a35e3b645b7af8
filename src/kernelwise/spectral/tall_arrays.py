"""What decompositions do with arrays of many rows and few columns, wherever the rows are.

In memory all of it is plain NumPy. An array in row blocks on other machines registers here how it does the same; sums
over rows, products ``A @ small`` and ``A.T @ B``, and differences it answers to like NumPy.
"""

from functools import singledispatch
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

__all__ = ["beside", "largest_entries", "orthonormal", "random_rows", "triangle", "with_signs"]

FloatArray = NDArray[np.float64]

#: What remains of a unit vector after projection is rounding below this.
NEGLIGIBLE = 1e-10


@singledispatch
def beside(left: Any, right: Any) -> Any:
    """Return the columns of both."""
    return np.hstack([left, right])


@singledispatch
def triangle(rows: Any) -> Any:
    """Return R of ``rows = Q R`` with orthonormal Q, up to the signs of its rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.spectral.tall_arrays import triangle
    >>> abs(triangle(np.array([[3.0], [4.0]]))).round(9)
    array([[5.]])
    """
    return np.linalg.qr(rows, mode="r")


@singledispatch
def largest_entries(rows: Any) -> Any:
    """Return the entry of largest magnitude of each column, with its sign."""
    return np.take_along_axis(rows, np.abs(rows).argmax(axis=0)[None, :], axis=0)[0]


@singledispatch
def random_rows(like: Any, n_columns: int, rng: Any) -> Any:
    """Return starting vectors with uniform entries, one row for each of ``like``."""
    return rng.uniform(-1.0, 1.0, (like.shape[0], n_columns))


@singledispatch
def orthonormal(vectors: Any, basis: Any = None) -> Any:
    """An orthonormal basis of what the vectors (columns) have beyond those of the orthonormal basis.

    Twice, because what is left by the first projection has lost digits. Columns of nothing but rounding are dropped.
    """
    for _ in range(2):
        lengths = np.linalg.norm(vectors, axis=0)
        vectors = vectors[:, lengths > 0.0] / lengths[lengths > 0.0]
        if basis is not None:
            vectors = vectors - basis @ (basis.T @ vectors)
        directions, upper, _ = scipy.linalg.qr(vectors, mode="economic", pivoting=True, check_finite=False)
        vectors = directions[:, np.abs(np.diag(upper)) > NEGLIGIBLE]
    return vectors


def with_signs(vectors: Any) -> Any:
    """Make the entry of largest magnitude of each column positive."""
    return vectors * np.where(np.asarray(largest_entries(vectors)) < 0.0, -1.0, 1.0)
