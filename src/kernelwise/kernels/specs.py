"""Kernel functions as values: a formula, and the columns that the kernel reads.

A kernel here is a frozen description without training data; a bank (see :mod:`kernelwise.kernels.bank`) evaluates the
kernel. Evaluation has three steps, so that the columns, which are expensive to choose, are chosen once:

====================  ==========================================================================
``select(X)``         the part of the data that this kernel reads
``take(S, index)``    some of the selected samples, to keep as landmarks
``evaluate(S, T)``    the matrix ``k(s_i, t_l)``
====================  ==========================================================================
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from ..checks import Array, Index, check_count, check_positive
from ..samples import LARGEST, LEAST, dense, power_of_two

#: Below this fraction of ``||s||^2 + ||t||^2``, the expanded ``||s - t||^2`` has lost three digits or more.
CANCELLED = 1e-3
#: How many such pairs of sparse rows are subtracted at once.
PAIRS_AT_ONCE = 2**16

Columns = None | int | str | tuple[int | str, ...]


@dataclass(frozen=True)
class Kernel:
    """A positive semi-definite function of two samples, on all columns or on some.

    Parameters
    ----------
    columns : None, int, str or tuple of these
        The columns that the kernel reads: all, one, or a group; by position or by DataFrame column name.

    Examples
    --------
    >>> from kernelwise.kernels import Gaussian, Kernel
    >>> kernel = Gaussian(width=2.0).on((0, 3))
    >>> isinstance(kernel, Kernel), kernel.name
    (True, 'gaussian(width=2)[0,3]')
    """

    columns: Columns = field(default=None, kw_only=True)
    #: Whether the formula makes every Gram matrix positive semi-definite; if not, a bank checks the matrix.
    psd_by_formula: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The kernel and its columns as text, for tables of weights."""
        return f"{self.label}[{self.where}]"

    @property
    def label(self) -> str:
        """The kernel without its columns."""
        return type(self).__name__.lower()

    @property
    def where(self) -> str:
        """The columns as text."""
        if self.columns is None:
            return "all"
        if isinstance(self.columns, tuple):
            return ",".join(map(str, self.columns))
        return str(self.columns)

    def on(self, columns: Columns) -> "Kernel":
        """Return the same kernel on other columns."""
        return replace(self, columns=columns)

    def renamed(self, name: Callable[[int | str], int | str]) -> "Kernel":
        """Return the same kernel with another name, or position, for every column that it names."""
        if self.columns is None:
            return self
        if isinstance(self.columns, tuple):
            return self.on(tuple(map(name, self.columns)))
        return self.on(name(self.columns))

    def select(self, X: Any) -> Any:
        """Return ``X``, or the columns that the kernel reads as a dense, contiguous array."""
        if self.columns is None:
            return X
        columns = list(self.columns) if isinstance(self.columns, tuple) else [self.columns]
        return np.ascontiguousarray(dense(X[:, columns]))

    def take(self, S: Any, index: Index) -> Any:
        """Return the selected samples at ``index``."""
        return S[index]

    def evaluate(self, S: Any, T: Any) -> Array:
        """Return the matrix of ``k(s_i, t_l)`` for selected samples."""
        raise NotImplementedError  # abstract: each kernel is its own formula

    def diagonal(self, S: Any) -> Array:
        """Return ``k(s_i, s_i)``."""
        rows = range(S.shape[0])
        return np.array([self.evaluate(S[i : i + 1], S[i : i + 1])[0, 0] for i in rows], dtype=np.float64)

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """Return the Gram matrix between the rows of ``X`` and of ``Z`` (of ``X`` itself where ``Z`` is None)."""
        S = self.select(X)
        return self.evaluate(S, S if Z is None else self.select(Z))


@dataclass(frozen=True)
class Gaussian(Kernel):
    """The Gaussian kernel ``k(x, z) = exp(-||x - z||^2 / (2 width^2))``.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import Gaussian
    >>> float(Gaussian(width=1.0)(np.array([[0.0], [1.0]]))[0, 1].round(4))
    0.6065
    """

    width: float = 1.0

    def __post_init__(self) -> None:
        check_positive("width", self.width)
        if not LEAST <= self.width <= LARGEST:
            raise ValueError(
                f"width must lie between {LEAST:g} and {LARGEST:g}, got {self.width!r}; scale the features"
            )

    @property
    def label(self) -> str:
        return f"gaussian(width={self.width:g})"

    def evaluate(self, S: Any, T: Any) -> Array:
        exponent = squared_distances(S, T)
        exponent /= -2.0 * self.width**2
        return np.exp(exponent, out=exponent)

    def diagonal(self, S: Any) -> Array:
        return np.ones(S.shape[0])


@dataclass(frozen=True)
class Laplace(Kernel):
    """The Laplace kernel ``k(x, z) = exp(-||x - z||_1 / width)``: a product over features, with a kink at each."""

    width: float = 1.0

    @property
    def label(self) -> str:
        return f"laplace(width={self.width:g})"

    def evaluate(self, S: Any, T: Any) -> Array:
        return np.exp(cdist(S, T, "cityblock") / -self.width)

    def diagonal(self, S: Any) -> Array:
        return np.ones(S.shape[0])


@dataclass(frozen=True)
class Linear(Kernel):
    """The linear kernel ``k(x, z) = <x, z>``.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import Linear
    >>> Linear(columns=0)(np.array([[1.0, 5.0], [2.0, 6.0]])).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """

    def evaluate(self, S: Any, T: Any) -> Array:
        return _inner_products(S, T)

    def diagonal(self, S: Any) -> Array:
        return _row_dots(S)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """The polynomial kernel ``k(x, z) = (gamma <x, z> + coef0)^degree``.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import Polynomial
    >>> Polynomial(degree=2)(np.array([[1.0], [2.0]])).tolist()
    [[4.0, 9.0], [9.0, 25.0]]
    """

    degree: int = 2
    gamma: float = 1.0
    coef0: float = 1.0

    def __post_init__(self) -> None:
        check_count("degree", self.degree)
        check_positive("gamma", self.gamma)
        if not (np.isfinite(self.coef0) and self.coef0 >= 0):
            raise ValueError(f"coef0 must be a number of at least 0 for the kernel to be one, got {self.coef0!r}")

    @property
    def label(self) -> str:
        return f"polynomial(degree={self.degree})"

    def evaluate(self, S: Any, T: Any) -> Array:
        return self._power(_inner_products(S, T))

    def diagonal(self, S: Any) -> Array:
        return self._power(_row_dots(S))

    def _power(self, products: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite((self.gamma * products + self.coef0) ** self.degree)


@dataclass(frozen=True)
class Cosine(Kernel):
    """The cosine ``k(x, z) = <x, z> / (||x|| ||z||)``; a zero vector has similarity 0 to everything, itself included.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import Cosine
    >>> Cosine()(np.array([[3.0, 4.0], [0.0, 2.0], [0.0, 0.0]])).tolist()
    [[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """

    def evaluate(self, S: Any, T: Any) -> Array:
        S, T = _rows_near_one(S), _rows_near_one(T)
        return _normalised(_inner_products(S, T), _row_dots(S), _row_dots(T))

    def diagonal(self, S: Any) -> Array:
        return (_row_dots(_rows_near_one(S)) > 0).astype(np.float64)


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """Any function ``function(S, T)`` that returns the matrix of kernel values between two sets of rows.

    Use an importable function rather than a lambda where the model will be pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import FunctionKernel
    >>> def overlap(S, T):
    ...     return np.minimum(S, T.T)
    >>> kernel = FunctionKernel(columns=0, function=overlap)
    >>> kernel.name, kernel(np.array([[1.0], [3.0]])).tolist()
    ('overlap[0]', [[1.0, 1.0], [1.0, 3.0]])
    """

    function: Callable[[Any, Any], Any] = field(default=np.inner)
    title: str = ""
    psd_by_formula = False

    @property
    def label(self) -> str:
        return self.title or getattr(self.function, "__name__", "function")

    def evaluate(self, S: Any, T: Any) -> Array:
        values = np.asarray(dense(self.function(S, T)), dtype=np.float64)
        expected = (S.shape[0], T.shape[0])
        if values.shape != expected:
            raise ValueError(
                f"kernel function {self.label!r} returned shape {values.shape} for {expected[0]} and {expected[1]} "
                f"samples; it must return {expected}"
            )
        return values


@dataclass(frozen=True)
class UnitDiagonal(Kernel):
    """Another kernel scaled to ``k(x, z) / sqrt(k(x, x) k(z, z))``, so that every sample has norm one.

    A sample with ``k(x, x) = 0`` has similarity 0 to everything, itself included.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import Polynomial, UnitDiagonal
    >>> UnitDiagonal(kernel=Polynomial(degree=2))(np.array([[1.0], [2.0]])).tolist()
    [[1.0, 0.9], [0.9, 1.0]]
    """

    kernel: Kernel = field(default_factory=Linear)

    def __post_init__(self) -> None:
        if self.columns not in (None, self.kernel.columns):
            raise ValueError(
                f"columns={self.columns!r} differs from the columns {self.kernel.columns!r} of the kernel inside; "
                "give them to the kernel inside"
            )
        object.__setattr__(self, "columns", self.kernel.columns)

    @property
    def label(self) -> str:
        return f"unit {self.kernel.label}"

    @property
    def psd_by_formula(self) -> bool:  # type: ignore[override]  # as the kernel inside
        return self.kernel.psd_by_formula

    def on(self, columns: Columns) -> Kernel:
        return UnitDiagonal(kernel=self.kernel.on(columns))

    def select(self, X: Any) -> Any:
        return self.kernel.select(X)

    def take(self, S: Any, index: Index) -> Any:
        return self.kernel.take(S, index)

    def evaluate(self, S: Any, T: Any) -> Array:
        return _normalised(self.kernel.evaluate(S, T), self.kernel.diagonal(S), self.kernel.diagonal(T))

    def diagonal(self, S: Any) -> Array:
        return (self.kernel.diagonal(S) > 0).astype(np.float64)


def squared_distances(S: Any, T: Any) -> Array:
    """Return the squared Euclidean distances.

    Differences are formed before they are squared, so that equal rows are at distance 0 and features far from the
    origin cost no precision. A distance of dense rows may be infinite; the Gaussian kernel is then 0, which is right.
    """
    if sp.issparse(S) or sp.issparse(T):
        return _sparse_squared_distances(sp.csr_array(S), sp.csr_array(T))
    if S.shape[1] == 1:
        with np.errstate(over="ignore"):
            difference = np.subtract(S, T.T, dtype=np.float64)
            return np.square(difference, out=difference)
    return cdist(S, T, "sqeuclidean")


def _sparse_squared_distances(S: sp.csr_array, T: sp.csr_array) -> Array:
    """Return ``||s||^2 + ||t||^2 - 2 s . t``; pairs for which this sum cancels are computed from their differences."""
    sizes = _row_dots(S)[:, None] + _row_dots(T)
    distances = sizes - 2.0 * _inner_products(S, T)
    rows, cols = np.nonzero(distances < CANCELLED * sizes)
    for start in range(0, len(rows), PAIRS_AT_ONCE):
        i, k = rows[start : start + PAIRS_AT_ONCE], cols[start : start + PAIRS_AT_ONCE]
        distances[i, k] = _row_dots(S[i].astype(np.float64) - T[k])
    return distances


def _inner_products(S: Any, T: Any) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(dense(S.astype(np.float64, copy=False) @ T.astype(np.float64, copy=False).T))


def _row_dots(S: Any) -> Array:
    S = S.astype(np.float64, copy=False)
    with np.errstate(over="ignore"):
        return _finite(np.asarray(S.power(2).sum(axis=1)).ravel() if sp.issparse(S) else np.einsum("ij,ij->i", S, S))


def _finite(values: Array) -> Array:
    if not np.isfinite(values).all():
        raise ValueError(
            "values of a kernel overflow: products of features in X are beyond the range of floating point; divide X by"
            " its largest magnitude, or scale each column of X"
        )
    return values


def _rows_near_one(S: Any) -> Any:
    """Return rows divided by powers of two near their largest magnitudes, which is exact and keeps their angles."""
    S = S.astype(np.float64, copy=False)
    largest = abs(S).max(axis=1)
    scale = 1.0 / power_of_two(dense(largest)).reshape(-1, 1)
    return sp.csr_array(S.multiply(scale)) if sp.issparse(S) else S * scale


def _normalised(gram: Array, left: Array, right: Array) -> Array:
    """Return ``gram[i, l] / sqrt(left[i] right[l])``, and 0 where a norm is 0."""
    scale = np.outer(np.sqrt(np.maximum(left, 0.0)), np.sqrt(np.maximum(right, 0.0)))
    return np.divide(gram, scale, out=np.zeros_like(gram), where=scale > 0)


def is_precomputed(kernels: Any) -> bool:
    """Whether the option ``kernels`` says that ``X`` is a Gram matrix, or a stack of them, instead of features."""
    return isinstance(kernels, str) and kernels == "precomputed"
