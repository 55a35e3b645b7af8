r"""The space of the leading eigenvectors of a large sparse similarity, approximately and in little memory.

Neighbour graphs have tight groups of large eigenvalues, some of them equal (one copy per component of the graph), and
below these groups many eigenvalues without gaps. Lanczos iteration spends nearly all its time on the many eigenvalues
without gaps, or misses copies. Here any basis that covers the classes is good enough. So random vectors go through a
polynomial that is small on :math:`[\lambda_{\min}, c]` and grows fast above c,

.. math:: X \leftarrow \mathrm{orth}\, T_d\Big(\frac{2 A - (c + \lambda_{\min}) I}{c - \lambda_{\min}}\Big) X,

where c is the least Ritz value of the vectors, until the Ritz values do not change any more. On a cluster, the workers
compute all products of one polynomial without waiting for a sum in between.

References
----------
Y. Zhou, Y. Saad, M. Tiago, J. Chelikowsky. Self-consistent-field calculations using Chebyshev-filtered subspace
iteration. Journal of Computational Physics, 2006.
"""

import math
import warnings
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning

from ..checks import Array
from ..ties import repeatable_eigsh
from .block_lanczos import orthonormal, rayleigh_ritz, relative_residual

#: The iteration has this many vectors more than there are eigenvectors to find.
EXTRA = 10
#: The largest degree of the polynomial, and how much longer the polynomial may make one vector than the others: the
#: others would be lost in rounding otherwise.
DEGREE, GROWTH = 20, 1e8
MAX_SWEEPS = 12
#: Accuracy of the estimate of the least eigenvalue; the interval of the polynomial is wider than this anyway.
ROUGH = 0.05
#: For full accuracy: the norm of ``A u - lambda u`` to reach, relative to the largest eigenvalue; the norm above which
#: there is a warning after the last sweep; and the number of sweeps.
RESIDUAL, TOLERABLE_RESIDUAL, EXACT_SWEEPS = 1e-11, 1e-6, 60


def _least_eigenvalue(operator: Any, random_state: np.random.RandomState) -> float:
    """A rough estimate of the least eigenvalue; the true one is not larger.

    Its error is small beside the largest eigenvalue, not beside itself: a least eigenvalue of zero, which every
    similarity of low rank has, could not be found to any relative accuracy.
    """
    if hasattr(operator, "least_eigenvalue"):
        return float(operator.least_eigenvalue(random_state))
    n = operator.shape[0]
    options = {"tol": ROUGH, "v0": random_state.uniform(-1.0, 1.0, n), "return_eigenvectors": False}
    largest = float(repeatable_eigsh(operator, 1, which="LA", **options)[0])
    below = LinearOperator((n, n), matvec=lambda x: largest * x.ravel() - operator @ x.ravel(), dtype=np.float64)
    return largest - float(repeatable_eigsh(below, 1, which="LA", **options)[0])


def _shifted_product(operator: Any, rows: Any, before: Any, center: float, scale: float) -> Any:
    """``scale (A - center I) X - B``; without B if ``before`` is None."""
    if hasattr(operator, "shifted_product"):
        return operator.shifted_product(rows, before, center, scale)
    moved = operator @ rows
    if center:
        moved -= center * rows
    if scale != 1.0:
        moved *= scale
    return moved if before is None else moved - before


def filtered_eigenpairs(
    operator: Any, count: int, *, tol: float, random_state: np.random.RandomState
) -> tuple[Array, Any]:
    """Leading Ritz values of a symmetric operator, largest first, and orthonormal Ritz vectors.

    The iteration ends when no Ritz value changes by more than ``tol`` times the largest one; 0 asks for vectors of full
    accuracy.
    """
    n_vectors = min(operator.shape[0], count + EXTRA)
    least = _least_eigenvalue(operator, random_state)
    if hasattr(operator, "random_rows"):  # a graph in row blocks
        start = operator.random_rows(n_vectors, random_state)
    else:
        start = random_state.normal(size=(operator.shape[0], n_vectors))
    vectors = _orthonormal(start)
    previous = np.full(count, np.inf)
    for _ in range(MAX_SWEEPS if tol else EXACT_SWEEPS):
        values, vectors, image = rayleigh_ritz(vectors, _shifted_product(operator, vectors, None, 0.0, 1.0))
        size = abs(float(values[0]))
        if tol:
            change = float(np.abs(values[:count] - previous).max())
        else:
            change = size * relative_residual(values[:count], vectors[:, :count], image[:, :count])
        if change <= (tol or RESIDUAL) * size or n_vectors == operator.shape[0]:
            break
        previous = values[:count]
        # The true least eigenvalue may be below its estimate, and outside the interval the polynomial grows.
        low = least - 0.1 * (float(values[0]) - least)
        vectors = _orthonormal(_chebyshev(operator, vectors, low, float(values[-1]), float(values[0])))
    else:
        if not tol and change > TOLERABLE_RESIDUAL * size:
            warnings.warn(
                f"eigenvectors have a relative residual of {change / size:.1g}, as eigenvalue {count} "
                "is hardly larger than those that follow; ask for fewer or more of them",
                ConvergenceWarning,
                stacklevel=2,
            )
    return values[:count], vectors[:, :count]


def _chebyshev(operator: Any, vectors: Any, low: float, cut: float, top: float) -> Any:
    """``T_d`` of the operator, with [low, cut] mapped to [-1, 1], times the vectors."""
    center, half = 0.5 * (cut + low), 0.5 * (cut - low)
    largest = max((top - center) / half, 1.0 + 1e-6)
    degree = max(2, min(DEGREE, int(math.log(GROWTH) / math.acosh(largest))))
    before, now = vectors, _shifted_product(operator, vectors, None, center, 1.0 / half)
    for _ in range(degree - 1):
        before, now = now, _shifted_product(operator, now, before, center, 2.0 / half)
    return now


def _orthonormal(vectors: Any) -> Any:
    if not isinstance(vectors, np.ndarray):
        return orthonormal(vectors)
    return np.asarray(scipy.linalg.qr(vectors, mode="economic", overwrite_a=True, check_finite=False)[0], np.float64)
