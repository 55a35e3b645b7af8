"""Checks that a matrix is symmetric, finite and positive semi-definite, and the nearest such matrix."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cholesky, eigh, eigvalsh

from ..checks import Array


def check_gram_stack(grams: Any, *, name: str) -> Array:
    """Return a copy of ``grams`` as (n_kernels, n, n) float64; a matrix that is not symmetric or finite is an error."""
    try:
        stack = np.array(grams, dtype=np.float64)
    except ValueError as error:
        raise ValueError(f"{name} must be square matrices of one size: {error}") from error
    if stack.ndim == 2:
        stack = stack[None]
    if stack.ndim != 3 or stack.shape[1] != stack.shape[2] or stack.size == 0:
        raise ValueError(f"{name} must have shape (n, n) or (n_kernels, n, n), got {stack.shape}")
    for j, gram in enumerate(stack):
        check_symmetric(gram, name=f"{name}[{j}]")
        stack[j] = (gram + gram.T) / 2
    return stack


def check_symmetric(gram: Array, *, name: str) -> None:
    """Raise a ValueError that names the matrix unless it is finite and symmetric up to rounding."""
    if not np.isfinite(gram).all():
        raise ValueError(f"{name} contains NaN or infinity; remove or impute those entries")
    asymmetry = np.abs(gram - gram.T).max(initial=0.0)
    if asymmetry > 1e-8 * np.abs(gram).max(initial=0.0):
        raise ValueError(
            f"{name} is not symmetric (largest difference {asymmetry:.3g}); use (K + K.T) / 2 if that is what you mean"
        )


def check_positive_semidefinite(gram: Array, name: str, *, tol: float = 1e-8) -> None:
    """Raise a ValueError that names the kernel and its smallest eigenvalue unless ``gram`` is PSD up to rounding.

    Parameters
    ----------
    gram : array of shape (n, n)
    name : str
    tol : float
        Eigenvalues down to ``-tol * n * max|gram|`` pass as rounding.

    Examples
    --------
    >>> from kernelwise.kernels import check_positive_semidefinite
    >>> check_positive_semidefinite([[0.0, 1.0], [1.0, 0.0]], "swap")
    Traceback (most recent call last):
        ...
    ValueError: kernel swap is not positive semi-definite: its smallest eigenvalue is -1. ...
    """
    matrix = np.asarray(gram, dtype=np.float64)
    check_symmetric(matrix, name=f"kernel {name}")
    shift = tol * len(matrix) * max(float(np.abs(matrix).max(initial=0.0)), 1e-300)
    try:
        cholesky(matrix + shift * np.eye(len(matrix)), lower=True, check_finite=False)
    except LinAlgError:
        smallest = float(eigvalsh(matrix, subset_by_index=(0, 0))[0])
        raise ValueError(
            f"kernel {name} is not positive semi-definite: its smallest eigenvalue is {smallest:.4g}. "
            "Use project_psd(gram), which removes the negative part, if an approximation will do"
        ) from None


def project_psd(gram: ArrayLike) -> Array:
    """Return the nearest positive semi-definite matrix (in the Frobenius norm) to a symmetric one.

    Examples
    --------
    >>> from kernelwise.kernels import project_psd
    >>> project_psd([[1.0, 0.0], [0.0, -1.0]]).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    if np.ndim(gram) != 2:
        raise ValueError(
            f"gram must be one matrix of shape (n, n), got shape {np.shape(gram)}; project them one by one"
        )
    values, vectors = eigh(check_gram_stack(gram, name="gram")[0])
    return (vectors * np.maximum(values, 0.0)) @ vectors.T
