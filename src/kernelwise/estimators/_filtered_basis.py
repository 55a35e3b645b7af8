r"""The space of the leading eigenvectors of a large sparse similarity, approximately and in little memory.

Neighbour graphs have tight groups of eigenvalues, copies among them (one per component), below which there is a bulk
without gaps. Lanczos iteration spends nearly all its time to resolve the bulk, or misses copies; here any basis that
covers the classes will do. So a block of random vectors goes through a polynomial that is small on
:math:`[\lambda_{\min}, c]` and grows fast above,

.. math:: X \leftarrow \mathrm{orth}\, T_d\Big(\frac{2 A - (c + \lambda_{\min}) I}{c - \lambda_{\min}}\Big) X,

where the cut c is the least Ritz value of the block, until the Ritz values settle.

References
----------
Y. Zhou, Y. Saad, M. Tiago, J. Chelikowsky. Self-consistent-field calculations using Chebyshev-filtered subspace
iteration. Journal of Computational Physics, 2006.
"""

import math

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

Array = NDArray[np.float64]

#: Vectors of the block beyond those asked for.
EXTRA = 10
#: Largest degree of the polynomial, and how much it may enlarge one vector over the others, so that these stay visible.
DEGREE, GROWTH = 20, 1e8
MAX_SWEEPS = 12


def filtered_eigenpairs(
    operator: LinearOperator, count: int, *, tol: float, random_state: np.random.RandomState
) -> tuple[Array, Array]:
    """Leading Ritz values, largest first, and orthonormal Ritz vectors; ``tol`` is how far values have settled."""
    n_samples = operator.shape[0]
    start = random_state.uniform(-1.0, 1.0, n_samples)
    least = float(eigsh(operator, 1, which="SA", tol=0.1, v0=start, return_eigenvectors=False)[0])
    block = _orthonormal(random_state.normal(size=(n_samples, min(n_samples, count + EXTRA))))
    previous = np.full(count, np.inf)
    for _ in range(MAX_SWEEPS):
        values, block = _rayleigh_ritz(operator, block)
        if np.abs(values[:count] - previous).max() <= tol * abs(float(values[0])):
            break
        previous = values[:count]
        # The estimate of the least eigenvalue is from inside the spectrum: outside the interval the polynomial grows.
        low = least - 0.1 * (float(values[0]) - least)
        block = _orthonormal(_chebyshev(operator, block, low, float(values[-1]), float(values[0])))
    return values[:count], block[:, :count]


def _chebyshev(operator: LinearOperator, block: Array, low: float, cut: float, top: float) -> Array:
    """``T_d`` of the operator, with [low, cut] mapped to [-1, 1], times a block."""
    center, half = 0.5 * (cut + low), 0.5 * (cut - low)
    largest = max((top - center) / half, 1.0 + 1e-6)
    degree = max(2, min(DEGREE, int(math.log(GROWTH) / math.acosh(largest))))
    before, now = block, (operator.matmat(block) - center * block) / half
    for _ in range(degree - 1):
        before, now = now, (2.0 / half) * (operator.matmat(now) - center * now) - before
    return now


def _rayleigh_ritz(operator: LinearOperator, block: Array) -> tuple[Array, Array]:
    """Eigenpairs of the operator within the span of an orthonormal block, largest first."""
    projected = block.T @ operator.matmat(block)
    values, rotation = scipy.linalg.eigh(0.5 * (projected + projected.T))
    return values[::-1], block @ rotation[:, ::-1]


def _orthonormal(block: Array) -> Array:
    return np.asarray(scipy.linalg.qr(block, mode="economic", overwrite_a=True, check_finite=False)[0], np.float64)
