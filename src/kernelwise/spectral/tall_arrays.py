"""Decompositions of arrays of many rows and few columns, wherever the rows are.

The rows are in memory, or in row blocks on other machines (:mod:`kernelwise.rows`). Both kinds of arrays understand
sums over rows, differences, and the products ``A @ small`` and ``A.T @ B``.

References
----------
N. Halko, P.-G. Martinsson, J. A. Tropp. Finding structure with randomness. SIAM Review 53, 2011.
J. Demmel, L. Grigori, M. Hoemmen, J. Langou. Communication-optimal parallel and sequential QR and LU factorizations.
SIAM J. Sci. Comput. 34, 2012.
"""

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..rows import in_memory, map_rows, persist, reduce_rows

FloatArray = NDArray[np.float64]

#: If the rest of a unit vector after projection is shorter than this, the rest is rounding.
NEGLIGIBLE = 1e-10
#: A direction whose singular value is smaller than this fraction of the largest is rounding.
LEAST_SINGULAR_VALUE = 1e-13
#: The sketch of singular vectors has this many columns more than there are vectors to find.
OVERSAMPLES = 10


def beside(first: Any, *others: Any) -> Any:
    """Return the columns of several arrays, side by side."""
    return map_rows(first, _side_by_side, *others)


def _side_by_side(*arrays: FloatArray) -> FloatArray:
    return np.hstack(arrays)


def triangle(rows: Any) -> Any:
    """Return R of ``rows = Q R`` with orthonormal Q, up to the signs of the rows of R.

    The stacked triangles of several blocks have the same triangle as all rows.
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


def right_singular_vectors(factor: Any, k: int, *, n_power: int, random_state: Any = None) -> FloatArray:
    r"""The k leading right singular vectors of a tall matrix F, fewer where the rank is lower, by subspace iteration.

    .. math:: Q \leftarrow \mathrm{orth}(F^\top F\, Q), \qquad Q_0 = \mathrm{orth}(\Omega)

    Each of the ``n_power`` steps is one pass over the rows; more steps give more digits where the singular values fall
    slowly. The sketch is drawn, and signs are chosen, as :func:`sklearn.utils.extmath.randomized_svd` does.
    """
    n, d = factor.shape
    width = min(k + OVERSAMPLES, n, d)
    directions = np.linalg.qr(check_random_state(random_state).normal(size=(d, k + OVERSAMPLES))[:, :width])[0]
    for _ in range(n_power if width < d else 0):
        directions = np.linalg.qr(np.asarray(factor.T @ (factor @ directions)))[0]
    rows, small = persist(factor @ directions), np.eye(width)
    for _ in range(2):  # makes ``rows @ small`` orthonormal; the first round loses digits, the second loses none
        _, lengths, turned = scipy.linalg.svd(np.asarray(triangle(rows @ small)), full_matrices=False)
        present = lengths > LEAST_SINGULAR_VALUE * lengths.max(initial=0.0)
        small = small @ (turned[present].T / lengths[present])
    rotation, values, right = scipy.linalg.svd(small.T @ np.asarray(factor.T @ rows).T, full_matrices=False)
    count = min(k, int((values > LEAST_SINGULAR_VALUE * values[0]).sum())) if values.size and values[0] > 0 else 0
    largest = np.asarray(largest_entries(rows @ (small @ rotation[:, :count])))
    return right[:count].T * np.where(largest < 0.0, -1.0, 1.0)
