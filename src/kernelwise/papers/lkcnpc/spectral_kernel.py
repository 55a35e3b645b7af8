r"""SKL: the spectrum of a kernel, learned from pairs.

The learned kernel keeps the leading eigenvectors of an initial kernel, and gets the eigenvalues that align the kernel
best with the pairs (Hoi, Lyu and Chang, section 4.2, with observed pairs in place of all pairs of labelled samples):

.. math::

    \max_{\mu}\ \frac{\langle K, T \rangle_w}{\|K\|_w \|T\|_w} \quad\text{s.t.}\quad
    K = \sum_{i \le s} \mu_i u_i u_i^\top, \quad \mu_i \ge \omega\,\mu_{i+1}, \quad \mu \ge 0 .

=================  ========================================================================================
:math:`u_i`        eigenvector i of the initial kernel, largest eigenvalue first
:math:`T`          +1 on positive pairs and -1 (or ``different``) on negative pairs; other entries do not count
:math:`w`          weights of the pairs: :math:`\langle K, T \rangle_w = \sum_t w_t y_t K_{i_t j_t}`
:math:`\omega`     decay, at least one
=================  ========================================================================================

The feasible :math:`\mu` are the combinations :math:`\sum_k \nu_k (1, \omega^{-1}, \dots, \omega^{-k+1}, 0, \dots, 0)`,
:math:`\nu \ge 0`, and the best aligned member of a cone is the projection of T onto the cone. The problem is therefore
one of non-negative least squares in s unknowns, and its optimality conditions certify the answer.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import qr
from scipy.optimize import nnls
from sklearn.utils import Tags, check_random_state

from ...checks import Array, check_count, is_number
from ...kernels.combined import CombinedKernelTransformer, combined_features
from ...kernels.precomputed import check_stack_shape
from ...samples import read_samples
from ...spectral import GramFactor, SpectralBasis, top_eigenpairs
from ...statements import Pairs
from ...statements.noise import resolve_pairs
from ...ties import NEARLY

#: Pairs are taken in pieces of about this many numbers, so that memory does not grow with the number of pairs.
CHUNK_VALUES = 2**20


@dataclass(eq=False, repr=False)
class SpectralKernelLearner(CombinedKernelTransformer):
    r"""Keep the leading eigenvectors of a kernel and learn its eigenvalues from pairs (SKL).

    .. math:: \max_\mu\ \frac{\sum_t w_t y_t K_{i_t j_t}}{\sqrt{\sum_t w_t K_{i_t j_t}^2 \sum_t w_t}}
              \quad\text{s.t.}\quad K = \sum_i \mu_i u_i u_i^\top, \quad \mu_i \ge \omega\,\mu_{i+1} \ge 0

    The alignment does not depend on the scale of K; its trace is set to n. New samples are placed by Nystroem's
    formula, :math:`u_i(x) = \lambda_i^{-1} \sum_j k(x, x_j) u_{ij}`. Memory grows with the number of samples times
    ``n_components``, and not with the number of pairs.

    Parameters
    ----------
    kernels : kernel, family of kernels, sequence of both, "precomputed" or None, default=None
        The initial kernel is their mean. None: one linear kernel per attribute. "precomputed": X is a symmetric
        similarity, (n, n), dense or sparse, or a stack of them, (n, n, n_kernels); it need not be positive
        semi-definite, for only eigenvectors of positive eigenvalue are used.
    n_components : int, default=50
        Number s of eigenvectors. Fewer are used where the kernel has a lower rank.
    decay : float, default=1.0
        :math:`\omega`: 1 asks only that eigenvalues keep their order; 2, that each is at most half of the one before.
    different : float, default=-1.0
        T on negative pairs. Hoi et al. use -1; 0 aligns the kernel with the 0/1 label matrix of pairs, which suits
        pairs of several classes drawn at random, most of them negative.
    rank : None, int or float, default=None
        As in :func:`kernelwise.kernels.build_bank`: None for factors that are exact up to rounding.
    random_state : int, RandomState or None, default=None
        Which pairs are drawn from ``y`` where no pairs are given; landmarks of large data; the start of Lanczos.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_components,)
        :math:`\mu`, the learned eigenvalues.
    kernel_names_ : tuple of str
        The names of the kernels :math:`u_i u_i^\top`.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of the initial kernel.
    alignment_ : float
        The maximum found, between 0 and 1.
    kkt_residual_ : float
        Largest violation of the optimality conditions, relative to the gradient at zero.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A kernel of non-negative similarities has a first eigenvector of one sign, which makes all samples alike and must
    get the largest eigenvalue. Where most pairs are negative, it can happen that no admissible kernel is aligned with
    the pairs; the learned kernel is then zero, with a warning. Pairs drawn from ``y`` are weighted so that both kinds
    count alike. Where there are fewer pairs than eigenvectors, the learned kernel can be one of many solutions. A part
    of the kernel that is zero on all pairs is left out.

    References
    ----------
    S. C. H. Hoi, M. R. Lyu, E. Y. Chang. Learning the unified kernel machines for classification. KDD 2006.

    Examples
    --------
    The second coordinate varies more, and it tells the classes apart:

    >>> import numpy as np
    >>> from kernelwise import Pairs
    >>> from kernelwise import SpectralKernelLearner
    >>> X = np.array([[1.0, 3.0], [-1.0, 3.0], [1.0, -3.0], [-1.0, -3.0]])
    >>> pairs = Pairs([0, 2, 0, 1], [1, 3, 2, 3], [1, 1, -1, -1], n_samples=4)
    >>> learner = SpectralKernelLearner().fit(X, pairs=pairs)
    >>> learner.eigenvalues_.round(6), learner.kernel_weights_.round(2)
    (array([18.,  2.]), array([4., 0.]))
    """

    kernels: Any = None
    _: KW_ONLY
    n_components: int = 50
    decay: float = 1.0
    different: float = -1.0
    rank: int | float | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn the eigenvalues.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            With ``kernels="precomputed"``: similarities, (n_samples, n_samples) or (n_samples, n_samples, n_kernels).
        y : array-like of shape (n_samples,), optional
            Classes, of which pairs are made if none are given; -1 is unknown.
        pairs : Pairs, optional
            What is known of pairs of rows of ``X``; ``y`` is not looked at then.

        Returns
        -------
        self
        """
        self._check_options()
        basis = self._fit_basis(X)
        rng = check_random_state(self.random_state)
        known = resolve_pairs(pairs, y, len(basis.vectors), random_state=rng, both_kinds=False, balance=True)
        assert known is not None  # they are required
        spectrum = align_spectrum(basis.vectors, known, self.decay, self.different)
        self.alignment_, self.kkt_residual_ = spectrum.alignment, spectrum.kkt_residual
        self._set_spectrum(basis, spectrum.values)
        if not spectrum.values.any():
            warnings.warn(
                "all eigenvalues are zero: no admissible kernel is aligned with the pairs, so the learned kernel is "
                "zero. Where negative pairs prevail, give as many positive as negative pairs, or a smaller decay",
                stacklevel=2,
            )
        return self

    def _fit_equal_weights(self, X: Any) -> Self:
        """Fit without supervision: the initial kernel, cut to its leading eigenvectors."""
        self._check_options()
        basis = self._fit_basis(X)
        self._set_spectrum(basis, self.eigenvalues_)
        return self

    def _fit_basis(self, X: Any) -> "_Basis":
        """Leading eigenvectors of the initial kernel, and how to extend them to new samples."""
        initial: Callable[[Any], Any] | None
        if self._is_precomputed:
            similarity = self._read(X, fitting=True)
            n_samples, factor, initial = similarity.shape[0], None, None
            limit = n_samples
        else:
            bank = self._fit_bank(X)
            equal = np.full(bank.n_kernels, 1.0 / bank.n_kernels)
            factor, initial = bank.combined_factor(equal), combined_features(bank, equal)
            similarity, n_samples, limit = GramFactor(factor), bank.n_samples, min(factor.shape)
        rng = check_random_state(self.random_state)
        count = max(1, min(self.n_components, limit))
        basis = SpectralBasis(*top_eigenpairs(similarity, count, random_state=rng), None).positive()
        values, vectors = basis.values, basis.vectors
        if not len(values):
            raise ValueError("the initial kernel has no positive eigenvalue on X; use other kernels, or other features")
        self.eigenvalues_ = values
        self.kernel_names_ = tuple(f"eigenvector {i}" for i in range(len(values)))
        extension = vectors / values if factor is None else (factor.T @ vectors) / values
        return _Basis(vectors, extension, initial)

    def _set_spectrum(self, basis: "_Basis", values: Array) -> None:
        """Keep eigenvalues, scaled to a trace of n, and the features they give."""
        total = float(values.sum())
        self.kernel_weights_ = values * (len(basis.vectors) / total) if total > 0 else np.zeros_like(values)
        active = np.flatnonzero(self.kernel_weights_)
        scaled = basis.extension[:, active] * np.sqrt(self.kernel_weights_[active])
        self._features: Any = SpectralFeatures(basis.initial, scaled)

    def _read(self, X: Any, *, fitting: bool) -> Any:
        """Validate features, or similarities to the samples of ``fit``; of a stack the mean."""
        if not self._is_precomputed:
            return super()._read(X, fitting=fitting)
        checked = read_samples(self, X, allow_nd=True, reset=fitting)
        check_stack_shape(checked.shape, fitting=fitting)
        return checked.mean(axis=2) if checked.ndim == 3 else checked

    def _check_options(self) -> None:
        check_count("n_components", self.n_components)
        if not (is_number(self.decay) and 1 <= float(self.decay) < np.inf):
            raise ValueError(f"decay must be a number of at least 1, got {self.decay!r}")
        if not (is_number(self.different) and -np.inf < float(self.different) < 1):
            raise ValueError(
                f"different must be a number less than 1, the value of positive pairs, got {self.different!r}"
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.input_tags.sparse = True
        return tags


class _Basis(NamedTuple):
    """Eigenvectors U, E with U = initial(X) E on the samples of fit, and the initial features; None: X itself."""

    vectors: Array
    extension: Array
    initial: Callable[[Any], Any] | None


@dataclass(frozen=True)
class SpectralFeatures:
    r"""The features :math:`\sqrt{\mu_i}\, u_i(x)`, a linear map of initial features, or of X where these are None."""

    initial: Callable[[Any], Any] | None
    projection: Array

    def __call__(self, X: Any) -> Array:
        """Return one column per eigenvector of positive weight."""
        return np.asarray((X if self.initial is None else self.initial(X)) @ self.projection)

    def names(self, kernel_names: Sequence[str], attributes: Sequence[str]) -> list[str]:
        """Return the name of every feature: its number."""
        return [f"spectralkernellearner{i}" for i in range(self.projection.shape[1])]


class Spectrum(NamedTuple):
    """The learned eigenvalues, their alignment with the pairs, and the violation of the optimality conditions."""

    values: Array
    alignment: float
    kkt_residual: float


def align_spectrum(vectors: Array, pairs: Pairs, decay: float, different: float = -1.0) -> Spectrum:
    """The decaying eigenvalues of the kernel with the given eigenvectors that is best aligned with the pairs."""
    powers = np.power(float(decay), -np.arange(vectors.shape[1], dtype=np.float64))
    generators, target = _least_squares(vectors, pairs, powers, different)
    sizes = np.linalg.norm(generators, axis=0)
    scale = float(sizes.max(initial=0.0)) or 1.0
    generators = np.where(sizes > NEARLY * scale, generators, 0.0)  # what is zero on all pairs but for rounding
    generators, target = generators / scale, target / (float(np.linalg.norm(target)) or 1.0)
    nu, _ = nnls(generators, target, maxiter=100 * len(powers))
    fitted = generators @ nu
    length = float(np.linalg.norm(fitted))
    gradient, at_zero = generators.T @ (fitted - target), float(np.abs(generators.T @ target).max())
    violation = max(float(-gradient.min()), float(np.abs(nu * gradient).sum()), 0.0)
    # mu_i is the sum of the nu_k from k = i on, times the i-th power.
    values = np.cumsum(nu[::-1])[::-1] * powers
    alignment = float(target @ fitted) / length if length > 0 else 0.0
    return Spectrum(values, min(alignment, 1.0), violation / at_zero if at_zero > 0 else 0.0)


def _least_squares(vectors: Array, pairs: Pairs, powers: Array, different: float) -> tuple[Array, Array]:
    """The weighted values of the generating kernels and of T on the pairs, turned into a triangle of s + 1 rows."""
    n_components = vectors.shape[1]
    triangle = np.zeros((0, n_components + 1))
    size = max(1, CHUNK_VALUES // n_components)
    for start in range(0, len(pairs), size):
        part = slice(start, start + size)
        values = vectors[pairs.rows[part]] * vectors[pairs.cols[part]]
        generated = np.cumsum(values * powers, axis=1)
        labels = np.where(pairs.labels[part] > 0, 1.0, different)
        rows = np.column_stack([generated, labels]) * np.sqrt(pairs.weights[part])[:, None]
        triangle = qr(np.vstack([triangle, rows]), mode="r", check_finite=False)[0][: n_components + 1]
    return triangle[:, :-1], triangle[:, -1]
