"""Operations of decompositions on arrays of many rows and few columns, wherever the rows are.

The rows are in memory, or in row blocks on other machines (:mod:`kernelwise.rows`). Both kinds of arrays understand
sums over rows, differences, and the products ``A @ small`` and ``A.T @ B``.
"""

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..rows import in_memory, map_rows, persist, reduce_rows

__all__ = ["beside", "largest_entries", "orthonormal", "random_rows", "triangle", "with_signs"]

FloatArray = NDArray[np.float64]

#: If the rest of a unit vector after projection is shorter than this, the rest is rounding.
NEGLIGIBLE = 1e-10


def beside(first: Any, *others: Any) -> Any:
    """Return the columns of several arrays, side by side."""
    return map_rows(first, _side_by_side, *others)


def _side_by_side(*arrays: FloatArray) -> FloatArray:
    return np.hstack(arrays)


def triangle(rows: Any) -> Any:
    """Return R of ``rows = Q R`` with orthonormal Q, up to the signs of the rows of R.

    The stacked triangles of several blocks have the same triangle as all rows.

    >>> abs(triangle(np.array([[3.0], [4.0]]))).round(9)
    array([[5.]])
    """
    return reduce_rows(rows, _upper, _upper_of_both)


def _upper(block: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.qr(block, mode="r"))


def _upper_of_both(left: FloatArray, right: FloatArray) -> FloatArray:
    return _upper(np.vstack([left, right]))


def largest_entries(rows: Any) -> Any:
    """Return the entry of largest magnitude of each column, with its sign."""
    return reduce_rows(rows, _largest, _larger)


def _largest(rows: FloatArray) -> FloatArray:
    return np.take_along_axis(rows, np.abs(rows).argmax(axis=0)[None, :], axis=0)[0]


def _larger(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.where(np.abs(right) > np.abs(left), right, left)


def random_rows(like: Any, n_columns: int, rng: Any) -> Any:
    """Return a block of starting vectors with uniform entries, one row for each row of ``like``."""
    if hasattr(like, "random_rows"):
        return like.random_rows(n_columns, rng)
    return rng.uniform(-1.0, 1.0, (like.shape[0], n_columns))


def orthonormal(block: Any, basis: Any = None) -> Any:
    """Project the block on the complement of an orthonormal basis, and return an orthonormal basis of the result.

    The projection is done twice, because the result of the first projection has lost digits. Columns that are nothing
    but rounding are dropped.
    """
    if not in_memory(block):
        return _orthonormal_in_blocks(block, basis)
    for _ in range(2):
        lengths = np.linalg.norm(block, axis=0)
        block = block[:, lengths > 0.0] / lengths[lengths > 0.0]
        if basis is not None:
            block = block - basis @ (basis.T @ block)
        directions, upper, _ = scipy.linalg.qr(block, mode="economic", pivoting=True, check_finite=False)
        block = directions[:, np.abs(np.diag(upper)) > NEGLIGIBLE]
    return block


def _orthonormal_in_blocks(block: Any, basis: Any) -> Any:
    """Do the same with the triangle of all blocks in place of a factorisation with pivots."""
    for _ in range(2):
        lengths = np.sqrt(np.asarray((block**2).sum(axis=0)))
        block = block[:, lengths > 0.0] * (1.0 / lengths[lengths > 0.0])
        if basis is not None:
            block = block - basis @ np.asarray(basis.T @ block)
        block = persist(block)
        _, sizes, turned = scipy.linalg.svd(np.asarray(triangle(block)), full_matrices=False)
        left = sizes > NEGLIGIBLE
        block = persist(block @ (turned[left].T / sizes[left]))
    return block


def with_signs(vectors: Any) -> Any:
    """Make the entry of largest magnitude of each column positive."""
    return vectors * np.where(np.asarray(largest_entries(vectors)) < 0.0, -1.0, 1.0)
