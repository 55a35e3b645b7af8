r"""A proven upper bound on the largest eigenvalue of a symmetric matrix, or the largest singular value of any matrix.

Lanczos iteration finds the largest eigenvalue from below, and an unlucky start can miss it. That :math:`\theta` is an
upper bound is proven by a Cholesky factorisation of :math:`\theta I - Y`: it exists if and only if no eigenvalue
exceeds :math:`\theta`. In floating point, a factorisation of the n x n matrix A that runs to its end proves that
:math:`\lambda_{\min}(A) \ge -\gamma \, \mathrm{tr} A` with :math:`\gamma = (n + 1) u / (1 - 2 (n + 1) u)` and the unit
roundoff u, so this amount is added to the bound. The singular values of a rectangular Y are the roots of the
eigenvalues of the smaller of :math:`Y^\top Y` and :math:`Y Y^\top`.

The matrix is dense here. So nothing is proven for a matrix whose smaller side has more than :data:`LARGEST_SIDE` rows,
and bounds that rest on Lanczos iteration have to be called estimates.

References
----------
S. M. Rump. Verification of positive definiteness. BIT Numerical Mathematics, 2006.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf

__all__ = ["LARGEST_SIDE", "proven_eigenvalue_bound", "proven_singular_value_bound"]

Array = NDArray[np.float64]

#: Up to this size the proof takes some ten milliseconds, which is little beside the completion. A proof for 4,000 rows
#: would take a second or two, more than half of the time of the completion itself.
LARGEST_SIDE = 500
#: How much the estimate is raised before a factorisation is tried, relatively; each is tried if the one before fails.
RAISES = (1e-11, 1e-8, 1e-5, 1e-3, 1e-1)
#: The unit roundoff, doubled: it covers the rounding of the shifted diagonal as well.
UNIT = float(np.finfo(np.float64).eps)


def proven_eigenvalue_bound(matrix: Any, estimate: float) -> float | None:
    """An upper bound on the largest eigenvalue of a sparse symmetric matrix; None if the matrix is too large to prove.

    ``estimate`` is where to begin. If it is far too low, the bound is the Frobenius norm.

    >>> import scipy.sparse as sp
    >>> matrix = sp.csr_array([[0.0, 2.0], [2.0, 0.0]])
    >>> bound = proven_eigenvalue_bound(matrix, 2.0)
    >>> 2.0 <= bound < 2.0 + 1e-9
    True
    """
    if matrix.shape[0] > LARGEST_SIDE:
        return None
    return _bound_by_cholesky(matrix, estimate, float(np.sqrt(np.sum(np.square(matrix.data)))))


def proven_singular_value_bound(matrix: Any, estimate: float) -> float | None:
    """An upper bound on the largest singular value of a sparse matrix; None if the matrix is too large to prove.

    >>> import scipy.sparse as sp
    >>> bound = proven_singular_value_bound(sp.csr_array([[3.0, 0.0, 4.0]]), 5.0)
    >>> 5.0 <= bound < 5.0 + 1e-9
    True
    """
    if min(matrix.shape) > LARGEST_SIDE:
        return None
    thin = matrix if matrix.shape[1] <= matrix.shape[0] else matrix.T.tocsr()
    squares = float(np.sum(np.square(matrix.data)))
    rounding = UNIT * thin.shape[0] * squares  # of the inner products in the Gram matrix
    return float(np.sqrt(_bound_by_cholesky(thin.T @ thin, estimate**2, squares) + rounding))


def _bound_by_cholesky(matrix: Any, estimate: float, safe: float) -> float:
    """The least raised estimate that a factorisation proves; ``safe``, which is known to be a bound, if none does."""
    n, diagonal = matrix.shape[0], matrix.diagonal()
    for raise_by in RAISES:
        level = estimate * (1.0 + raise_by)
        if not 0.0 < level < safe:
            return safe
        shifted = (-matrix).toarray().T  # in the order of columns, so that LAPACK works in place
        np.fill_diagonal(shifted, level - diagonal)
        if dpotrf(shifted, overwrite_a=True, clean=False)[1] == 0:
            gamma = (n + 1) * UNIT / (1.0 - 2.0 * (n + 1) * UNIT)
            return min(level + gamma * float(np.sum(level + np.abs(diagonal))), safe)
    return safe
