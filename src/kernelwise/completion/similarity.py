"""A similarity between samples, however it comes: as a matrix, sparse, as a factor or as an operator."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from ..memory import require
from ..spectral import GramFactor

__all__ = ["is_operator", "n_samples_of", "symmetric_part"]

#: Differences between the two triangles below this fraction of the largest product are rounding.
ROUNDING = 1e-8


def is_operator(similarity: Any) -> bool:
    """Whether a similarity is known by its products only: a LinearOperator or a GramFactor.

    >>> import numpy as np
    >>> from kernelwise.completion.similarity import is_operator
    >>> is_operator(np.eye(2)), is_operator(GramFactor(np.eye(2)))
    (False, True)
    """
    return isinstance(similarity, LinearOperator | GramFactor)


def n_samples_of(similarity: Any) -> int:
    """The number n of samples of an n x n similarity.

    >>> import numpy as np
    >>> from kernelwise.completion.similarity import n_samples_of
    >>> n_samples_of(GramFactor(np.ones((5, 2))))
    5
    """
    return int((similarity.factor if isinstance(similarity, GramFactor) else similarity).shape[0])


def symmetric_part(similarity: Any) -> Any:
    r"""The similarity itself where it is symmetric; otherwise :math:`(S + S^\top) / 2`, with a warning.

    Parameters
    ----------
    similarity : ndarray, sparse matrix, LinearOperator or GramFactor of shape (n, n)
        Of a LinearOperator without a transposed product, symmetry is taken on trust.

    Returns
    -------
    ndarray, csr_array, LinearOperator or GramFactor

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.completion.similarity import symmetric_part
    >>> symmetric_part(np.array([[1.0, 0.5], [0.5, 1.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
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
    """Compare products from both sides with one probe."""
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
