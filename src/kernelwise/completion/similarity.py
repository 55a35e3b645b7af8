"""A similarity between samples, given as a dense or sparse matrix, a factor or a linear operator."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from ..memory import require
from ..spectral import GramFactor

__all__ = ["is_operator", "n_samples_of", "symmetric_part"]

#: If products with S and with its transpose differ by less than this fraction of the largest product, S is symmetric.
ROUNDING = 1e-8


def is_operator(similarity: Any) -> bool:
    """Whether a similarity is a LinearOperator or a GramFactor, of which only products are known.

    >>> is_operator(np.eye(2)), is_operator(GramFactor(np.eye(2)))
    (False, True)
    """
    return isinstance(similarity, LinearOperator | GramFactor)


def n_samples_of(similarity: Any) -> int:
    """The number n of samples of an n x n similarity."""
    return int((similarity.factor if isinstance(similarity, GramFactor) else similarity).shape[0])


def symmetric_part(similarity: Any) -> Any:
    r"""The similarity itself where it is symmetric; otherwise :math:`(S + S^\top) / 2`, with a warning."""
    if isinstance(similarity, GramFactor):
        _check_finite(similarity.factor @ np.ones(similarity.factor.shape[1]))
        return similarity
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1]:
        raise ValueError(
            f"a similarity must be a square matrix, got shape {similarity.shape}; for features, set kernels, and wrap "
            "an (n, r) factor of the similarity in kernelwise.spectral.GramFactor"
        )
    if _is_symmetric(similarity):
        return similarity
    warnings.warn(
        "the similarity is not symmetric; its symmetric part (S + S^T) / 2 is used", UserWarning, stacklevel=3
    )
    if isinstance(similarity, LinearOperator):
        return 0.5 * (similarity + similarity.T)
    n_bytes = getattr(similarity, "nnz", np.prod(similarity.shape)) * 16
    require(int(n_bytes), "the symmetric part of the similarity", "pass a symmetric matrix, a sparse one, or a factor")
    mean: Any = (similarity + similarity.T) / 2
    return mean.tocsr() if hasattr(mean, "tocsr") else mean


def _is_symmetric(similarity: Any) -> bool:
    """Compare the products of S and of its transpose with one vector; without a transpose, trust the user."""
    probe = np.cos(np.arange(similarity.shape[0]))
    right = similarity @ probe
    _check_finite(right)
    try:
        left = similarity.T @ probe
    except NotImplementedError:
        return True
    return bool(np.abs(right - left).max(initial=0.0) <= ROUNDING * np.abs(right).max(initial=0.0))


def _check_finite(product: NDArray[np.float64]) -> None:
    if not np.isfinite(product).all():
        raise ValueError("the similarity contains NaN or infinity; impute those values or remove the samples")
