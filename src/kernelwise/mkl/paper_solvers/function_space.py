r"""Functions ``f = (f_1, ..., f_m)``, one from the reproducing space of every kernel, as arrays.

First-order methods for noisy labels add multiples of representers, shrink parts, and look at norms and at values on
the samples. Here an element is a NumPy array, so sums and multiples are written as they are in the papers, and a space
says what the array means:

* :class:`CoordinateSpace`, for banks of factors ``K_j = F_j F_j^T``: the stacked ``w_j`` of ``f_j = F_j w_j``;
* :class:`CoefficientSpace`, for banks that only multiply: the coefficients ``z_j`` of ``f_j = sum_i z_ij k_j(x_i, .)``
  together with the values ``K_j z_j``. Both move linearly, so a step costs the one product of its representer.

The coefficients differ from kernel to kernel, because shrinking does. An intercept, where there is one, is one more
part, of the constant kernel 1, that is never shrunk and counts in no norm of the penalty.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...kernels import KernelBank

Array = NDArray[np.float64]

#: Visiting one part alone takes about as long as reading this many numbers: below that, one pass over all is quicker.
VISIT = 50_000


@runtime_checkable
class CoordinateBank(Protocol):
    """A bank that offers the coordinates of its factors, as :class:`~kernelwise.kernels.FactorBank` does."""

    n_samples: int
    ranks: NDArray[np.intp]

    def project(self, v: ArrayLike) -> Array:
        """Return the stacked ``F_j^T v``."""

    def lift(self, w: Array) -> Array:
        """Return ``sum_j F_j w_j``."""

    def group_sums(self, w: Array) -> Array:
        """Return the sum of the entries of each ``w_j``."""

    def values(self, parts: dict[int, Array]) -> Array:
        """Return ``sum_j F_j w_j`` for some kernels."""


class FunctionSpace(ABC):
    """What a first-order method needs to know of the space that its primal variable lives in.

    Parameters
    ----------
    intercept : bool
        Whether elements carry a constant besides ``f_1, ..., f_m``.
    """

    def __init__(self, *, intercept: bool = False) -> None:
        self.intercept = intercept

    @abstractmethod
    def zero(self) -> Array:
        """Return the zero function."""

    @abstractmethod
    def representer(self, v: Array) -> Array:
        """Return ``sum_i v_i k_j(x_i, .)`` for every j: the gradient of ``f -> sum_i v_i f(x_i)``."""

    @abstractmethod
    def values(self, f: Array) -> Array:
        """Return ``f(x_i) = sum_j f_j(x_i)``, with the intercept, on the samples."""

    @abstractmethod
    def norms(self, f: Array) -> Array:
        """Return ``||f_j||`` for every kernel."""

    @abstractmethod
    def scaled(self, f: Array, factors: Array) -> Array:
        """Return the parts ``factors_j f_j``; the intercept stays."""

    @abstractmethod
    def constant(self, f: Array) -> float:
        """Return the intercept, 0 where there is none."""

    @abstractmethod
    def parts(self, f: Array) -> dict[int, Array]:
        """Return the parts that are not zero in the coordinates of ``bank.factor(j)``."""

    @abstractmethod
    def squared_evaluation(self) -> tuple[Callable[[Array], Array], int]:
        """Return a symmetric matrix, by its product and its dimension, with the spectrum of ``sum_j K_j (+ 1 1^T)``.

        Up to zeros: of ``E^T E`` or ``E E^T``, where E takes a function to its values on the samples.
        """

    def squared_norm(self, f: Array) -> float:
        """Return ``sum_j ||f_j||^2``, with the square of the intercept."""
        return float(np.sum(self.norms(f) ** 2)) + self.constant(f) ** 2


class CoordinateSpace(FunctionSpace):
    """Elements are the stacked coordinates ``w_j`` of ``f_j = F_j w_j``, and then the intercept: one dimension.

    Parameters
    ----------
    bank : FactorBank, or another bank with its ``project``, ``lift`` and ``group_sums``
    intercept : bool

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import FactorBank, Linear
    >>> from kernelwise.mkl.paper_solvers.function_space import CoordinateSpace
    >>> space = CoordinateSpace(FactorBank.build(np.array([[1.0], [2.0]]), [Linear()]))
    >>> g = space.representer(np.array([1.0, 1.0]))
    >>> space.norms(g).tolist(), space.values(2.0 * g).tolist()
    ([3.0], [6.0, 12.0])
    """

    def __init__(self, bank: CoordinateBank, *, intercept: bool = False) -> None:
        super().__init__(intercept=intercept)
        self.bank = bank
        self.rank = int(bank.ranks.sum())

    def zero(self) -> Array:
        return np.zeros(self.rank + self.intercept)

    def representer(self, v: Array) -> Array:
        coordinates = self.bank.project(v)
        return np.append(coordinates, float(v.sum())) if self.intercept else coordinates

    def values(self, f: Array) -> Array:
        parts = self.parts(f)
        left_out = self.rank - sum(map(len, parts.values()))
        if left_out * self.bank.n_samples <= VISIT * len(parts):
            return self.bank.lift(f[: self.rank]) + self.constant(f)
        return self.bank.values(parts) + self.constant(f)

    def squared_evaluation(self) -> tuple[Callable[[Array], Array], int]:
        def product(f: Array) -> Array:
            return self.representer(self.bank.lift(f.ravel()[: self.rank]) + self.constant(f.ravel()))

        return product, self.rank + self.intercept

    def norms(self, f: Array) -> Array:
        return np.sqrt(self.bank.group_sums(f[: self.rank] ** 2))

    def scaled(self, f: Array, factors: Array) -> Array:
        per_coordinate = np.repeat(factors, self.bank.ranks)
        return f * (np.append(per_coordinate, 1.0) if self.intercept else per_coordinate)

    def constant(self, f: Array) -> float:
        return float(f[-1]) if self.intercept else 0.0

    def parts(self, f: Array) -> dict[int, Array]:
        stops = np.cumsum(self.bank.ranks)
        active = np.flatnonzero(self.norms(f))
        return {int(j): f[stops[j] - self.bank.ranks[j] : stops[j]] for j in active}


class CoefficientSpace(FunctionSpace):
    """Elements are the coefficients ``z_j`` and the values ``K_j z_j``, the intercept last: shape (2, m (+ 1), n).

    Parameters
    ----------
    bank : KernelBank
        Any bank; only ``products`` is used, once per representer, and ``factor`` by :meth:`parts`.
    intercept : bool

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import DenseBank
    >>> from kernelwise.mkl.paper_solvers.function_space import CoefficientSpace
    >>> space = CoefficientSpace(DenseBank([[[1.0, 2.0], [2.0, 4.0]]]))
    >>> g = space.representer(np.array([1.0, 1.0]))
    >>> space.norms(g).tolist(), space.values(2.0 * g).tolist()
    ([3.0], [6.0, 12.0])
    """

    def __init__(self, bank: KernelBank, *, intercept: bool = False) -> None:
        super().__init__(intercept=intercept)
        self.bank = bank

    def zero(self) -> Array:
        return np.zeros((2, self.bank.n_kernels + self.intercept, self.bank.n_samples))

    def representer(self, v: Array) -> Array:
        element = self.zero()
        products = self.bank.products(v)
        element[0] = v
        element[1, : self.bank.n_kernels] = products.toarray() if hasattr(products, "toarray") else products
        if self.intercept:
            element[1, -1] = v.sum()
        return element

    def values(self, f: Array) -> Array:
        return f[1].sum(axis=0)

    def squared_evaluation(self) -> tuple[Callable[[Array], Array], int]:
        kernels = self.bank.combination(np.ones(self.bank.n_kernels))

        def product(v: Array) -> Array:
            return kernels.matvec(v.ravel()) + float(self.intercept) * v.sum()

        return product, self.bank.n_samples

    def norms(self, f: Array) -> Array:
        coefficients, values = f[:, : self.bank.n_kernels]
        # Rounding may leave a zero slightly negative.
        return np.sqrt(np.maximum(np.einsum("ji,ji->j", coefficients, values), 0.0))

    def scaled(self, f: Array, factors: Array) -> Array:
        return f * (np.append(factors, 1.0) if self.intercept else factors)[:, None]

    def constant(self, f: Array) -> float:
        return float(f[1, -1, 0]) if self.intercept else 0.0

    def parts(self, f: Array) -> dict[int, Array]:
        # f_j = K_j z_j = F_j (F_j^T z_j)
        return {int(j): self.bank.factor(int(j)).T @ f[0, j] for j in np.flatnonzero(self.norms(f))}


def function_space(bank: KernelBank, *, intercept: bool = False) -> FunctionSpace:
    """Return the space that suits ``bank``: coordinates where it has them, coefficients for every other bank.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import DenseBank
    >>> from kernelwise.mkl.paper_solvers.function_space import function_space
    >>> type(function_space(DenseBank(np.eye(2)))).__name__
    'CoefficientSpace'
    """
    if isinstance(bank, CoordinateBank):
        return CoordinateSpace(bank, intercept=intercept)
    return CoefficientSpace(bank, intercept=intercept)
