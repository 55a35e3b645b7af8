"""Read a similarity, given as such or through kernels on features, and find its leading eigenvectors."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array
from scipy.sparse.linalg import aslinearoperator
from sklearn.utils import check_random_state

from ..kernels import build_bank, resolve_kernels
from ..kernels.combined import combined_features
from ..kernels.precomputed import is_precomputed
from ..metrics import coherence
from ..rows import is_dask, take_rows
from ..samples import read_samples
from ..spectral import GramFactor, SpectralBasis, spectral_basis
from ..spectral.embedding import ROUNDING, inverse_root, nystroem_rows, nystroem_weights
from ..spectral.filtered import filtered_eigenpairs
from .similarity import is_operator, n_samples_of, symmetric_part

Array = NDArray[np.float64]

#: Up to this many samples eigenvectors are computed to full accuracy.
LARGE = 5000


@dataclass(frozen=True, eq=False)
class ExtendedBasis:
    r"""Leading eigenvectors U of a (normalised) similarity, and Nystroem's formula for new samples.

    .. math:: u(x) = \Lambda^{-1} U^\top s(x), \qquad s(x)_i = s(x, x_i) \text{ or } s(x, x_i) / \sqrt{d(x) d_i}
    """

    values: Array
    vectors: Any
    features: Any
    projection: Any
    degree_weights: Any
    least_degree: float

    def extend(self, X: Any) -> Any:
        """Rows of the basis for new samples; a sample without similarity to the samples of the basis gets zeros."""
        rows = X if self.features is None else self.features(X)
        return nystroem_rows(rows, self.projection, self.degree_weights, self.least_degree)

    def rows(self, index: NDArray[np.intp]) -> Array:
        """The rows of the eigenvectors at some samples; ``index`` is distinct and in ascending order."""
        return take_rows(self.vectors, index)

    @property
    def scales(self) -> Array:
        """The roots of the eigenvalues: rows of the basis times these numbers have the similarity as inner products."""
        return np.sqrt(np.maximum(self.values, 0.0))

    @property
    def coherence(self) -> float:
        """How unevenly the samples share the basis, as :func:`kernelwise.metrics.coherence`."""
        return coherence(self.vectors)

    def leading(self, count: int) -> "ExtendedBasis":
        """The basis of the first ``count`` eigenvectors."""
        values, vectors, projection = self.values[:count], self.vectors[:, :count], self.projection[:, :count]
        return type(self)(values, vectors, self.features, projection, self.degree_weights, self.least_degree)


@dataclass(frozen=True, eq=False)
class Similarity:
    """A symmetric similarity of n samples, as :func:`kernelwise.spectral.spectral_basis` takes it.

    Where kernels were given, ``features`` maps X to rows phi(x), and the similarity of x to the samples of ``fit`` is
    ``phi(x) @ factor.T``. Otherwise X holds these similarities themselves.
    """

    matrix: Any
    factor: Any = None
    features: Any = None
    basis_class: ClassVar[type[ExtendedBasis]] = ExtendedBasis

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return n_samples_of(self.matrix)

    def eigenvectors(self, count: int, normalize: Any, tol: float, random_state: Any) -> SpectralBasis:
        """Return leading eigenvectors; they have full accuracy if ``tol`` is zero."""
        if tol > 0:
            return _approximate_basis(self.matrix, count, normalize, tol, random_state)
        return spectral_basis(self.matrix, count, normalize=normalize, random_state=random_state)


def read_similarity(estimator: Any, X: Any) -> Similarity:
    """Validate the X of ``fit``; from kernels on features comes the factor of the mean of the kernels."""
    if is_in_blocks(X):
        raise TypeError(
            "the similarity is a Dask collection, and this works in memory only; PairCompleter takes one, and rows of "
            "its factor_ can be clustered block by block, or pass X.compute() where it fits"
        )
    rng = check_random_state(estimator.random_state)
    if not is_precomputed(estimator.kernels):
        checked = read_samples(estimator, X, ensure_min_samples=2)
        specs = resolve_kernels(estimator.kernels, checked.shape[1], getattr(estimator, "feature_names_in_", None))
        bank = build_bank(checked, specs, rank=estimator.rank, random_state=rng)
        equal = np.full(bank.n_kernels, 1.0 / bank.n_kernels)
        factor = bank.combined_factor(equal)
        return Similarity(GramFactor(factor), factor, combined_features(bank, equal))
    if is_operator(X):
        estimator.n_features_in_ = n_samples_of(X)
        return Similarity(symmetric_part(X))
    checked = read_samples(estimator, X, ensure_min_samples=2)
    return Similarity(symmetric_part(checked))


def is_in_blocks(X: Any) -> bool:
    """Whether a similarity is a Dask array, or has a factor that is a Dask array."""
    return is_dask(X.factor if isinstance(X, GramFactor) else X)


def read_new(estimator: Any, X: Any) -> Any:
    """Validate new samples, or the similarities of new samples to the samples of ``fit``."""
    if not is_dask(X):
        return read_samples(estimator, X, reset=False)
    if X.ndim != 2 or X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has shape {X.shape}, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features "
            "as input"
        )
    return X


def leading_basis(
    similarity: Similarity, n_components: int, *, normalize: Any, tol: float, random_state: Any
) -> ExtendedBasis:
    """The eigenvectors of the largest eigenvalues that are positive."""
    count = min(n_components, similarity.n_samples)
    if similarity.factor is not None:
        count = max(1, min(count, *similarity.factor.shape))
    tol = tol if similarity.n_samples > LARGE else 0.0
    basis = similarity.eigenvectors(count, normalize, tol, random_state).positive()
    if not len(basis.values):
        raise ValueError("the similarity has no positive eigenvalue, so it tells nothing about the classes")
    weights = nystroem_weights(basis, similarity.factor)
    return similarity.basis_class(basis.values, basis.vectors, similarity.features, *weights)


def _approximate_basis(
    matrix: Any, count: int, normalize: Any, tol: float, random_state: np.random.RandomState
) -> SpectralBasis:
    """As :func:`kernelwise.spectral.spectral_basis`, by filtered subspace iteration."""
    operator = matrix.as_operator() if isinstance(matrix, GramFactor) else aslinearoperator(matrix)
    if normalize == "none":
        return SpectralBasis(*filtered_eigenpairs(operator, count, tol=tol, random_state=random_state), None)
    degrees = operator.matvec(np.ones(operator.shape[0]))
    least = ROUNDING * float(np.abs(degrees).max())
    if degrees.min() < -least:
        raise ValueError(
            f"row sums of the similarity must not be negative, the least is {degrees.min():.3g}; "
            'clip or shift the similarities to be non-negative, or pass normalize="none"'
        )
    degrees = np.where(degrees > least, degrees, 0.0)
    scale = aslinearoperator(diags_array(inverse_root(degrees, 0.0)))
    normalized = scale @ operator @ scale
    values, vectors = filtered_eigenpairs(normalized, count, tol=tol, random_state=random_state)
    vectors[degrees == 0.0] = 0.0
    return SpectralBasis(values, vectors, degrees)
