"""From kernel descriptions and data to a bank; the bank of Gram matrices, which is the reference for small data."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from ..checks import Array, check_ends, require
from .bank import NEGLIGIBLE, AttributeBank, FactorBank, KernelBank, one_name_each
from .families import resolve_kernels
from .gram_checks import check_gram_stack, check_positive_semidefinite
from .landmarks import SAMPLE, WHOLE_GRAM
from .specs import Kernel, Linear

DENSE_REMEDY = "leave dense=False for factors, with rank=500 or so, or take a sample of the rows"


class DenseBank(KernelBank):
    """All m Gram matrices as one (m, n, n) array: exact, simple, and quadratic in n.

    Parameters
    ----------
    grams : array of shape (n_kernels, n, n)
    names : sequence of str, optional

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import DenseBank
    >>> bank = DenseBank(np.stack([np.eye(2), np.ones((2, 2))]), names=["identity", "constant"])
    >>> bank.products([1.0, 2.0]).tolist()
    [[1.0, 2.0], [3.0, 3.0]]
    """

    def __init__(self, grams: ArrayLike, *, names: Sequence[str] | None = None):
        self.grams = check_gram_stack(grams, name="grams")
        self.n_samples = self.grams.shape[1]
        self.ranks = np.full(len(self.grams), self.n_samples, dtype=np.intp)
        self.names = one_name_each(names, len(self.grams), default="kernel")
        self._cross: list[_CrossGram] | None = None

    @classmethod
    def build(cls, X: Any, kernels: Sequence[Kernel], *, center: bool = False, scale: bool = False) -> "DenseBank":
        """Evaluate ``kernels`` on the rows of ``X``; ``center`` and ``scale`` as in :func:`build_bank`."""
        n = X.shape[0]
        # The stack, and the list of matrices from which the stack is made.
        require(16 * len(kernels) * n**2, f"{len(kernels)} dense Gram matrices of {n} samples", DENSE_REMEDY)
        cross = [_CrossGram.of(kernel, X, center=center, scale=scale) for kernel in kernels]
        bank = cls(np.stack([one(X) for one in cross]), names=[kernel.name for kernel in kernels])
        bank._cross = cross
        return bank

    def products(self, v: ArrayLike) -> Array:
        return self.grams @ self._vector(v)

    def quadratic_forms(self, v: ArrayLike) -> Array:
        vector = self._vector(v)
        return self.products(vector) @ vector

    def cross_products(self, X: Any, v: ArrayLike) -> Array:
        if self._cross is None:
            raise ValueError("this bank was made from matrices alone; build it from kernels to use it on new samples")
        return np.stack([one(X) @ self._vector(v) for one in self._cross])

    def factor(self, j: int) -> Array:
        return _eigen_factor(self.grams[j])

    def diagonals(self) -> Array:
        return np.einsum("jii->ji", self.grams)

    def pair_values(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        left, right = check_ends(rows, cols, self.n_samples)
        return self.grams[:, left, right].T

    def combined_factor(self, weights: ArrayLike) -> Array:
        combined = np.tensordot(self._weights(weights, signed=False), self.grams, axes=1)
        return _eigen_factor(combined)


def _eigen_factor(gram: Array) -> Array:
    values, vectors = eigh(gram)
    keep = values > 1e-14 * max(values[-1], 0.0)
    return vectors[:, keep] * np.sqrt(values[keep])


@dataclass(frozen=True)
class _CrossGram:
    """A kernel between samples and the training samples, centred and scaled with the statistics of the latter."""

    kernel: Kernel
    landmarks: Any
    means: Array | None
    scale: float

    @classmethod
    def of(cls, kernel: Kernel, X: Any, *, center: bool, scale: bool) -> "_CrossGram":
        landmarks = kernel.take(kernel.select(X), np.arange(X.shape[0]))
        gram = kernel.evaluate(kernel.select(X), landmarks)
        means = gram.mean(axis=0) if center else None
        power = np.trace(gram) / len(gram)
        spread = power if means is None else power - means.mean()
        return cls(kernel, landmarks, means, spread if scale and spread > NEGLIGIBLE * power else 1.0)

    def __call__(self, X: Any) -> Array:
        gram = self.kernel.evaluate(self.kernel.select(X), self.landmarks)
        if self.means is not None:
            gram = gram - gram.mean(axis=1, keepdims=True) - self.means + self.means.mean()
        return gram / self.scale


#: ``rank=None``: factors so close that the difference to the Gram matrix is rounding. For a new sample the error is
#: bounded by the square root of this.
EXACT = 1e-12
#: The tolerance that goes with an integer rank.
APPROXIMATE = 1e-4
#: A residual of at most this many times the tolerance is accepted.
SLACK = 2.0


class RankWarning(UserWarning):
    """A limit on the rank leaves out a part of a kernel, so the model differs from the exact model beyond rounding."""


def build_bank(
    X: Any,
    kernels: Any,
    *,
    rank: int | float | None = None,
    dense: bool = False,
    center: bool = False,
    scale: bool = False,
    feature_names: Sequence[str] | None = None,
    attributes: bool = True,
    random_state: Any = None,
) -> KernelBank:
    """Evaluate kernels on training data.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    kernels : kernel, family of kernels, or sequence of both
    rank : None, int or float
        None: factors that are exact up to rounding. A float: the diagonal residual to reach, relative to the largest
        entry. An int: at most this many landmarks per kernel; ``residuals`` and a :class:`RankWarning` say how much of
        a kernel the landmarks leave out.
    dense : bool
        Keep the Gram matrices themselves, the reference for small data.
    center : bool
        Centre every kernel in its feature space, with training means also for new samples.
    scale : bool
        Scale every kernel to a trace of n (a mean diagonal of one). A kernel that is zero stays zero.
    feature_names : sequence of str, optional
        Names by which kernels may refer to columns.
    attributes : bool
        Whether one linear kernel per column may become an :class:`AttributeBank`, which has no feature maps.
    random_state : int, RandomState or None
        Large data with kernels of several columns: which samples the landmarks are chosen from.

    Returns
    -------
    KernelBank
        A :class:`DenseBank` where ``dense`` asks for it, an :class:`AttributeBank` for one linear kernel per column,
        and a :class:`FactorBank` for everything else.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import build_bank, gaussian_kernels
    >>> bank = build_bank(np.linspace(0, 1, 1000)[:, None], gaussian_kernels(scope="each"), rank=1e-4)
    >>> bank.ranks.tolist()
    [15, 9, 5, 4, 3, 3, 2, 2, 2, 2]
    """
    tol, max_rank = tolerance_and_rank(rank)
    X = _check_samples(X)
    rng = check_random_state(random_state)
    specs = resolve_kernels(kernels, X.shape[1], feature_names)
    for kernel in specs:
        if not kernel.psd_by_formula:
            _check_gram(kernel, X, rng)
    if dense:
        return DenseBank.build(X, specs, center=center, scale=scale)
    if attributes and not center and not scale and one_linear_kernel_per_attribute(specs, X.shape[1]):
        return AttributeBank(X, names=[kernel.name for kernel in specs])
    bank = FactorBank.build(X, specs, tol=tol, max_rank=max_rank, center=center, scale=scale, random_state=rng)
    if max_rank is not None:
        warn_of_residuals(f"rank={max_rank} leaves", bank.names, bank.residuals, tol)
    return bank


def _check_samples(X: Any) -> Any:
    if sp.issparse(X):
        X = sp.csr_array(X)
        finite = np.isfinite(X.data).all()
    elif isinstance(X, np.ndarray):
        finite = X.dtype.kind not in "fc" or np.isfinite(X).all()
    else:
        raise TypeError(
            f"X must be an array or a sparse matrix, got {type(X).__name__}; use numpy.asarray(X), and feature_names="
            "X.columns for a DataFrame"
        )
    if X.ndim not in (2, 3) or 0 in X.shape:
        raise ValueError(f"X must have at least one row and one column, got shape {X.shape}")
    if not finite:
        raise ValueError("X contains NaN or infinity; remove those samples or impute the values")
    return X


def _check_gram(kernel: Kernel, X: Any, random_state: np.random.RandomState) -> None:
    """Check that a kernel of the user is positive semi-definite, on all samples or on some of many samples."""
    n = X.shape[0]
    index = np.arange(n) if n <= WHOLE_GRAM else random_state.choice(n, SAMPLE, replace=False)
    S = kernel.select(X)
    check_positive_semidefinite(kernel.evaluate(S[index], kernel.take(S, index)), kernel.name)


def one_linear_kernel_per_attribute(specs: Sequence[Kernel], n_features: int) -> bool:
    """Whether the kernels are the linear ones of all columns, in order."""
    linear = all(type(kernel) is Linear for kernel in specs)
    return linear and [kernel.columns for kernel in specs] == list(range(n_features))


def tolerance_and_rank(rank: int | float | None) -> tuple[float, int | None]:
    """Return the residual to reach and the largest rank that ``rank`` stands for."""
    if rank is None:
        return EXACT, None
    if isinstance(rank, bool) or not isinstance(rank, int | float | np.integer | np.floating):
        raise TypeError(f"rank must be None, a number of landmarks or a tolerance, got {rank!r}")
    if isinstance(rank, int | np.integer):
        if rank < 1:
            raise ValueError(f"rank must be at least 1, got {rank}")
        return APPROXIMATE, int(rank)
    if not 0 < rank < 1:
        raise ValueError(
            f"rank as a tolerance must lie between 0 and 1, got {rank}; use an int for a number of landmarks"
        )
    return float(rank), None


def warn_of_residuals(cause: str, names: Sequence[str], residuals: Array, tol: float) -> None:
    """Warn where factors leave out more of a kernel than :data:`SLACK` times the tolerance."""
    poor = np.flatnonzero(residuals > SLACK * tol)
    if poor.size == 0:
        return
    worst = poor[np.argmax(residuals[poor])]
    warnings.warn(
        f"{cause} out a part of {poor.size} of {len(names)} kernels; most of {names[worst]}: up to "
        f"{residuals[worst]:.2g} of its diagonal, where {tol:.2g} was asked for. This is another model than the exact "
        "one; raise rank, or leave such narrow kernels out",
        RankWarning,
        stacklevel=4,
    )
