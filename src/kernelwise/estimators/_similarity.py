"""Reading a similarity, given as such or through kernels on features, and the leading eigenvectors of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array
from scipy.sparse.linalg import aslinearoperator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..kernels import build_bank, resolve_kernels
from ..kernels.combined import combined_features
from ..problems.pair_similarity import is_operator, n_samples_of, symmetric_part
from ..spectral import GramFactor, SpectralBasis, spectral_basis
from ._filtered_basis import filtered_eigenpairs

Array = NDArray[np.float64]

#: Eigenvalues below this fraction of the largest are rounding, and their eigenvectors arbitrary.
NEGLIGIBLE = 1e-10
#: Up to this many samples eigenvectors are computed to full accuracy.
LARGE = 5000


@dataclass(frozen=True, eq=False)
class Similarity:
    """A symmetric similarity of n samples, and the map from samples to rows of which it is a product.

    ``matrix`` is what :func:`kernelwise.spectral.spectral_basis` takes. Where kernels were given, ``features`` maps X
    to rows phi(x), and the similarity of x to the samples of ``fit`` is ``phi(x) @ factor.T``; otherwise X holds these
    similarities themselves.
    """

    matrix: Any
    factor: Any = None
    features: Any = None

    @property
    def n_samples(self) -> int:
        return n_samples_of(self.matrix)


def is_precomputed(kernels: Any) -> bool:
    return isinstance(kernels, str) and kernels == "precomputed"


def read_similarity(estimator: Any, X: Any) -> Similarity:
    """Validate what ``fit`` was given; kernels on features become the factor of their mean."""
    rng = check_random_state(estimator.random_state)
    if not is_precomputed(estimator.kernels):
        checked = validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        specs = resolve_kernels(estimator.kernels, checked.shape[1], getattr(estimator, "feature_names_in_", None))
        bank = build_bank(checked, specs, rank=estimator.rank, random_state=rng)
        equal = np.full(bank.n_kernels, 1.0 / bank.n_kernels)
        factor = bank.combined_factor(equal)
        return Similarity(GramFactor(factor), factor, combined_features(bank, equal))
    if is_operator(X):
        estimator.n_features_in_ = n_samples_of(X)
        return Similarity(symmetric_part(X))
    checked = validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
    return Similarity(symmetric_part(checked))


def read_new(estimator: Any, X: Any) -> Any:
    """Validate new samples, or their similarities to those of ``fit``."""
    return validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, reset=False)


@dataclass(frozen=True, eq=False)
class ExtendedBasis:
    r"""Leading eigenvectors U of a (normalised) similarity, and Nystroem's formula for new samples.

    .. math:: u(x) = \Lambda^{-1} U^\top s(x), \qquad s(x)_i = s(x, x_i) \text{ or } s(x, x_i) / \sqrt{d(x) d_i}
    """

    values: Array
    vectors: Array
    features: Any
    projection: Array
    degree_weights: Array | None
    least_degree: float

    def extend(self, X: Any) -> Array:
        """Rows of the basis for new samples; a sample of no similarity to the old ones gets zeros."""
        rows = X if self.features is None else self.features(X)
        placed = np.asarray(rows @ self.projection)
        if self.degree_weights is not None:
            degrees = np.asarray(rows @ self.degree_weights)
            placed *= _inverse_root(degrees, self.least_degree)[:, None]
        return placed

    def leading(self, count: int) -> "ExtendedBasis":
        """The basis of the first ``count`` eigenvectors."""
        values, vectors, projection = self.values[:count], self.vectors[:, :count], self.projection[:, :count]
        return ExtendedBasis(values, vectors, self.features, projection, self.degree_weights, self.least_degree)


def leading_basis(
    similarity: Similarity, n_components: int, *, normalize: Any, tol: float, random_state: Any
) -> ExtendedBasis:
    """The eigenvectors of the largest eigenvalues, those of eigenvalue zero or less left out."""
    count = min(n_components, similarity.n_samples)
    if similarity.factor is not None:
        count = max(1, min(count, *similarity.factor.shape))
    if tol > 0 and similarity.n_samples > LARGE:
        basis = _approximate_basis(similarity.matrix, count, normalize, tol, random_state)
    else:
        basis = spectral_basis(similarity.matrix, count, normalize=normalize, random_state=random_state)
    kept = basis.values > NEGLIGIBLE * max(float(basis.values[0]), 0.0)
    if not kept.any():
        raise ValueError("the similarity has no positive eigenvalue, so it tells nothing about the classes")
    return _with_extension(similarity, SpectralBasis(basis.values[kept], basis.vectors[:, kept], basis.degrees))


def _approximate_basis(
    matrix: Any, count: int, normalize: Any, tol: float, random_state: np.random.RandomState
) -> SpectralBasis:
    """As :func:`kernelwise.spectral.spectral_basis`, by filtered subspace iteration."""
    operator = matrix.as_operator() if isinstance(matrix, GramFactor) else aslinearoperator(matrix)
    if normalize == "none":
        return SpectralBasis(*filtered_eigenpairs(operator, count, tol=tol, random_state=random_state), None)
    degrees = operator.matvec(np.ones(operator.shape[0]))
    least = NEGLIGIBLE * float(np.abs(degrees).max())
    if degrees.min() < -least:
        raise ValueError(
            f"row sums of the similarity must not be negative, the least is {degrees.min():.3g}; "
            'clip or shift the similarities to be non-negative, or pass normalize="none"'
        )
    degrees = np.where(degrees > least, degrees, 0.0)
    scale = aslinearoperator(diags_array(_inverse_root(degrees, 0.0)))
    normalized = scale @ operator @ scale
    values, vectors = filtered_eigenpairs(normalized, count, tol=tol, random_state=random_state)
    vectors[degrees == 0.0] = 0.0
    return SpectralBasis(values, vectors, degrees)


def _with_extension(similarity: Similarity, basis: SpectralBasis) -> ExtendedBasis:
    rows, factor = basis.vectors / basis.values, similarity.factor
    degree_weights, least = None, 0.0
    if basis.degrees is not None:
        least = NEGLIGIBLE * float(basis.degrees.max())
        rows = rows * _inverse_root(basis.degrees, least)[:, None]
        ones = np.ones(similarity.n_samples)
        degree_weights = ones if factor is None else np.asarray(factor.T @ ones)
    projection = rows if factor is None else np.asarray(factor.T @ rows)
    return ExtendedBasis(basis.values, basis.vectors, similarity.features, projection, degree_weights, least)


def _inverse_root(degrees: Array, least: float) -> Array:
    """``d^-1/2``, and 0 where the degree is nothing but rounding."""
    return np.divide(1.0, np.sqrt(np.abs(degrees)), out=np.zeros_like(degrees), where=degrees > least)
