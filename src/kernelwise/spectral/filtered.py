r"""The space of the leading eigenvectors of a large sparse similarity, approximately and in little memory.

Neighbour graphs have tight groups of eigenvalues, copies among them (one per component), below which there is a bulk
without gaps. Lanczos iteration spends nearly all its time to resolve the bulk, or misses copies; here any basis that
covers the classes will do. So random vectors go through a polynomial that is small on
:math:`[\lambda_{\min}, c]` and grows fast above,

.. math:: X \leftarrow \mathrm{orth}\, T_d\Big(\frac{2 A - (c + \lambda_{\min}) I}{c - \lambda_{\min}}\Big) X,

where the cut c is the least Ritz value of the vectors, until the Ritz values settle. On a cluster the products of one
polynomial follow each other without anybody waiting for a sum in between.

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
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..rows import persist
from .eigenpairs import repeatable_eigsh
from .tall_arrays import orthonormal

__all__ = ["filtered_eigenpairs", "least_eigenvalue", "normal_rows", "shifted_product"]

FloatArray = NDArray[np.float64]

#: Vectors beyond those asked for.
EXTRA = 10
#: Largest degree of the polynomial, and how much it may enlarge one vector over the others, so that these stay visible.
DEGREE, GROWTH = 20, 1e8
MAX_SWEEPS = 12
#: For full accuracy: the norm of ``A u - lambda u`` relative to the largest eigenvalue, what is tolerable when the
#: sweeps have run out, and their number.
RESIDUAL, TOLERABLE_RESIDUAL, EXACT_SWEEPS = 1e-11, 1e-6, 60


def least_eigenvalue(operator: Any, random_state: np.random.RandomState) -> float:
    """A rough estimate of the least eigenvalue, from inside the spectrum."""
    if hasattr(operator, "least_eigenvalue"):
        return float(operator.least_eigenvalue(random_state))
    start = random_state.uniform(-1.0, 1.0, operator.shape[0])
    return float(repeatable_eigsh(operator, 1, which="SA", tol=0.1, v0=start, return_eigenvectors=False)[0])


def normal_rows(operator: Any, n_columns: int, random_state: np.random.RandomState) -> Any:
    """Random vectors that the operator can be applied to."""
    if hasattr(operator, "random_rows"):
        return operator.random_rows(n_columns, random_state)
    return random_state.normal(size=(operator.shape[0], n_columns))


def shifted_product(operator: Any, rows: Any, before: Any, center: float, scale: float) -> Any:
    """``scale (A - center I) X - B``, where B may be None for nothing."""
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
) -> tuple[FloatArray, Any]:
    """Leading Ritz values, largest first, and orthonormal Ritz vectors.

    Parameters
    ----------
    operator : LinearOperator or graph in row blocks, of shape (n, n)
        Symmetric.
    count : int
    tol : float
        How far values have settled, relative to the largest; 0 for vectors of full accuracy.
    random_state : RandomState

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse.linalg import aslinearoperator
    >>> from kernelwise.spectral.filtered import filtered_eigenpairs
    >>> operator = aslinearoperator(np.diag(np.arange(100.0)))
    >>> filtered_eigenpairs(operator, 2, tol=0.0, random_state=np.random.RandomState(0))[0].round(6)
    array([99., 98.])
    """
    n_vectors = min(operator.shape[0], count + EXTRA)
    least = least_eigenvalue(operator, random_state)
    vectors = _orthonormal(normal_rows(operator, n_vectors, random_state))
    previous = np.full(count, np.inf)
    for _ in range(MAX_SWEEPS if tol else EXACT_SWEEPS):
        values, vectors, image = _rayleigh_ritz(operator, vectors)
        change = float(np.abs(values[:count] - previous).max()) if tol else _residual(values, vectors, image, count)
        if change <= (tol or RESIDUAL) * abs(float(values[0])) or n_vectors == operator.shape[0]:
            break
        previous = values[:count]
        # The estimate of the least eigenvalue is from inside the spectrum: outside the interval the polynomial grows.
        low = least - 0.1 * (float(values[0]) - least)
        vectors = _orthonormal(_chebyshev(operator, vectors, low, float(values[-1]), float(values[0])))
    else:
        if not tol and change > TOLERABLE_RESIDUAL * abs(float(values[0])):
            warnings.warn(
                f"eigenvectors have a relative residual of {change / abs(float(values[0])):.1g}, as eigenvalue {count} "
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
    before, now = vectors, shifted_product(operator, vectors, None, center, 1.0 / half)
    for _ in range(degree - 1):
        before, now = now, shifted_product(operator, now, before, center, 2.0 / half)
    return now


def _rayleigh_ritz(operator: Any, vectors: Any) -> tuple[FloatArray, Any, Any]:
    """Eigenpairs of the operator within the span of orthonormal vectors, largest first, and its product with them."""
    image = shifted_product(operator, vectors, None, 0.0, 1.0)
    projected = np.asarray(vectors.T @ image)
    values, rotation = scipy.linalg.eigh(0.5 * (projected + projected.T))
    return values[::-1], persist(vectors @ rotation[:, ::-1]), image @ rotation[:, ::-1]


def _residual(values: FloatArray, vectors: Any, image: Any, count: int) -> float:
    squares = np.asarray(((image - vectors * values) ** 2).sum(axis=0))
    return math.sqrt(float(squares[:count].max()))


def _orthonormal(vectors: Any) -> Any:
    if not isinstance(vectors, np.ndarray):
        return orthonormal(vectors)
    return np.asarray(scipy.linalg.qr(vectors, mode="economic", overwrite_a=True, check_finite=False)[0], np.float64)
