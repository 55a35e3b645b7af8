"""A similarity, given as such or through kernels on features, and its leading eigenvectors."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse.linalg import LinearOperator
from scipy.stats import mannwhitneyu
from sklearn.utils import check_random_state

from ..checks import Array, Index, require
from ..kernels import build_bank, resolve_kernels
from ..kernels.combined import combined_features
from ..kernels.specs import is_precomputed
from ..samples import is_dask, map_rows, read_samples, take_rows
from ..spectral import GramFactor, SpectralBasis, spectral_basis, top_eigenpairs
from ..spectral.eigenpairs import ALIKE, check_finite_products, is_symmetric
from ..spectral.embedding import nystroem_rows, nystroem_weights
from ..spectral.filtered import filtered_eigenpairs
from ..statements import Pairs

#: Below these p-values the known pairs show that larger values mean "different".
REVERSED, CLEARLY_REVERSED = 1e-3, 1e-6
#: The triangle inequality is looked at for so many triples, of so many items at least. Values of similar size obey it
#: in any case: it says something only of values that differ by this factor.
N_TRIPLES, FEWEST_ITEMS, SPREAD = 5000, 8, 4.0


def is_operator(similarity: Any) -> bool:
    """Whether a similarity is a LinearOperator or a GramFactor, of which only products are known."""
    return isinstance(similarity, LinearOperator | GramFactor)


def n_samples_of(similarity: Any) -> int:
    """The number n of samples of an n x n similarity."""
    return int((similarity.factor if isinstance(similarity, GramFactor) else similarity).shape[0])


def symmetric_part(similarity: Any) -> Any:
    r"""The similarity itself where it is symmetric; otherwise :math:`(S + S^\top) / 2`, with a warning."""
    if isinstance(similarity, GramFactor):
        check_finite_products(similarity.factor @ np.ones(similarity.factor.shape[1]))
        return similarity
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1]:
        raise ValueError(
            f"a similarity must be a square matrix, got shape {similarity.shape}; for features, set kernels, and wrap "
            "an (n, r) factor of the similarity in kernelwise.spectral.GramFactor"
        )
    if is_symmetric(similarity):
        return similarity
    warnings.warn("the similarity is not symmetric; its symmetric part (S + S^T) / 2 is used", stacklevel=3)
    if isinstance(similarity, LinearOperator):
        return 0.5 * (similarity + similarity.T)
    n_bytes = getattr(similarity, "nnz", np.prod(similarity.shape)) * 16
    require(int(n_bytes), "the symmetric part of the similarity", "pass a symmetric matrix, a sparse one, or a factor")
    mean: Any = (similarity + similarity.T) / 2
    return mean.tocsr() if hasattr(mean, "tocsr") else mean


def refuse_distances(similarity: Any, pairs: Pairs | None = None) -> None:
    """Raise a ValueError for a matrix of distances in place of similarities; where both are possible, say nothing.

    A matrix of distances has a zero diagonal and no negative entry. So do adjacency matrices, which are similarities:
    here the known pairs decide. The matrix holds distances if its values are smaller for pairs of the same class than
    for pairs of different classes (a rank test, at .001). If the pairs leave it open, it holds distances if all entries
    beside the diagonal are positive, differ by a factor of four or more, and obey the triangle inequality. With another
    diagonal, values that are clearly smaller (at 1e-6) for the same class are a warning: people may have labelled the
    very pairs for which the similarity fails.
    """
    if is_operator(similarity):
        return
    diagonal, largest = np.abs(similarity.diagonal()).max(initial=0.0), float(similarity.max())
    hollow = diagonal <= ALIKE * largest and largest > 0 and float(similarity.min()) >= 0
    chance = _chance_of_reversal(similarity, pairs)
    remedy = "give a similarity such as numpy.exp(-D / D.mean()) or D.max() - D"
    if hollow and chance < REVERSED:
        raise ValueError(
            "X looks like a matrix of distances: its diagonal is zero, and known pairs of different classes have "
            f"larger values than known pairs of the same class; {remedy}"
        )
    if hollow and chance < 1 - REVERSED and _is_metric(similarity):
        raise ValueError(
            "X looks like a matrix of distances: its diagonal is zero, and all other entries are positive and obey the "
            f"triangle inequality; {remedy}"
        )
    if not hollow and chance < CLEARLY_REVERSED:
        warnings.warn(
            "known pairs of different classes have larger similarities than known pairs of the same class; if X holds "
            f"distances, {remedy}",
            stacklevel=3,
        )


def _chance_of_reversal(similarity: Any, pairs: Pairs | None) -> float:
    """The p-value of a rank test against "the same class is at least as similar"; 1/2 where the pairs say nothing."""
    if pairs is None or not (pairs.labels > 0).any() or not (pairs.labels < 0).any():
        return 0.5
    values = np.asarray(similarity[pairs.rows, pairs.cols]).ravel()
    if np.ptp(values) == 0:
        return 0.5
    return float(mannwhitneyu(values[pairs.labels > 0], values[pairs.labels < 0], alternative="less").pvalue)


def _is_metric(similarity: Any) -> bool:
    """Whether the entries beside a zero diagonal are positive and obey the triangle inequality, for many triples."""
    n = similarity.shape[0]
    if n < FEWEST_ITEMS:
        return False
    i, step, other = np.random.RandomState(0).randint(1, n, size=(3, N_TRIPLES))
    j, k = (i + step) % n, (i + other) % n
    apart = (j != k) & (i != j) & (i != k)
    sides = [np.asarray(similarity[a[apart], b[apart]]).ravel() for a, b in ((i, j), (i, k), (j, k))]
    shortest, longest = min(side.min() for side in sides), max(side.max() for side in sides)
    rounding = ALIKE * longest
    metric = all(bool((sides[a] <= sides[a - 1] + sides[a - 2] + rounding).all()) for a in range(3))
    return bool(shortest > 0 and longest >= SPREAD * shortest and metric)


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

    def rows(self, index: Index) -> Array:
        """The rows of the eigenvectors at some samples; ``index`` is distinct and in ascending order."""
        return take_rows(self.vectors, index)

    @property
    def scales(self) -> Array:
        """The roots of the eigenvalues: rows of the basis times these numbers have the similarity as inner products."""
        return np.sqrt(np.maximum(self.values, 0.0))

    @property
    def coherence(self) -> float:
        """How unevenly the samples share the basis, as :func:`kernelwise.metrics.coherence`."""
        n_samples, n_vectors = self.vectors.shape
        squares = map_rows(self.vectors, lambda rows: np.asarray((rows**2).sum(axis=1)))
        return float(squares.max()) * n_samples / n_vectors

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
        solver = filtered_eigenpairs if tol > 0 else top_eigenpairs
        return spectral_basis(
            self.matrix, count, normalize=normalize, random_state=random_state, tol=tol, solver=solver
        )


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
