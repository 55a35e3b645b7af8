r"""Functions ``f = (f_1, ..., f_m)``, one from the reproducing space of every kernel, as arrays.

An element is a NumPy array, so sums and multiples are written as in the papers. The array holds the stacked coordinates
``w_j`` of ``f_j = F_j w_j`` with ``K_j = F_j F_j^T``. An intercept is one more coordinate, of the constant kernel 1,
that is never shrunk and counts in no norm of the penalty.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import KernelBank

Array = NDArray[np.float64]

#: Visiting one part alone takes about as long as reading this many numbers; for less, one pass over all is quicker.
VISIT = 50_000


class FunctionSpace:
    """The space of the primal variable of a first-order method.

    Parameters
    ----------
    bank : KernelBank
        A bank without ``project``, ``lift`` and ``group_sums`` gets its factors put side by side.
    intercept : bool
        Whether elements carry a constant besides ``f_1, ..., f_m``.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import FactorBank, Linear
    >>> from kernelwise.mkl.paper_solvers.function_space import FunctionSpace
    >>> space = FunctionSpace(FactorBank.build(np.array([[1.0], [2.0]]), [Linear()]))
    >>> g = space.representer(np.array([1.0, 1.0]))
    >>> space.norms(g).tolist(), space.values(2.0 * g).tolist()
    ([3.0], [6.0, 12.0])
    """

    def __init__(self, bank: Any, *, intercept: bool = False) -> None:
        self.bank = bank if hasattr(bank, "project") else SideBySide(bank)
        self.intercept = intercept
        self.rank = int(self.bank.ranks.sum())

    def zero(self) -> Array:
        """Return the zero function."""
        return np.zeros(self.rank + self.intercept)

    def representer(self, v: Array) -> Array:
        """Return ``sum_i v_i k_j(x_i, .)`` for every j: the gradient of ``f -> sum_i v_i f(x_i)``."""
        coordinates = self.bank.project(v)
        return np.append(coordinates, float(v.sum())) if self.intercept else coordinates

    def values(self, f: Array) -> Array:
        """Return ``f(x_i) = sum_j f_j(x_i)``, with the intercept, on the samples."""
        parts = self.parts(f)
        left_out = self.rank - sum(map(len, parts.values()))
        if left_out * self.bank.n_samples <= VISIT * len(parts):
            return self.bank.lift(f[: self.rank]) + self.constant(f)
        return self.bank.values(parts) + self.constant(f)

    def squared_evaluation(self, f: Array) -> Array:
        """Return ``E^T E f``, where E takes a function to its values on the samples.

        Up to zeros, ``E^T E`` has the spectrum of ``sum_j K_j (+ 1 1^T)``.
        """
        return self.representer(self.bank.lift(f[: self.rank]) + self.constant(f))

    def norms(self, f: Array) -> Array:
        """Return ``||f_j||`` for every kernel."""
        return np.sqrt(self.bank.group_sums(f[: self.rank] ** 2))

    def scaled(self, f: Array, factors: Array) -> Array:
        """Return the parts ``factors_j f_j``; the intercept stays."""
        per_coordinate = np.repeat(factors, self.bank.ranks)
        return f * (np.append(per_coordinate, 1.0) if self.intercept else per_coordinate)

    def constant(self, f: Array) -> float:
        """Return the intercept, 0 where there is none."""
        return float(f[-1]) if self.intercept else 0.0

    def parts(self, f: Array) -> dict[int, Array]:
        """Return the parts that are not zero in the coordinates of ``bank.factor(j)``."""
        stops = np.cumsum(self.bank.ranks)
        active = np.flatnonzero(self.norms(f))
        return {int(j): f[stops[j] - self.bank.ranks[j] : stops[j]] for j in active}


class SideBySide:
    """The factors of a bank of any kind as one matrix ``(F_1, ..., F_m)``."""

    def __init__(self, bank: KernelBank) -> None:
        factors = [bank.factor(j) for j in range(bank.n_kernels)]
        self.n_samples, self.values = bank.n_samples, bank.values
        self.ranks = np.array([factor.shape[1] for factor in factors], dtype=np.intp)
        self.matrix = np.hstack(factors)

    def project(self, v: Array) -> Array:
        """Return the stacked ``F_j^T v``."""
        return self.matrix.T @ v

    def lift(self, w: Array) -> Array:
        """Return ``sum_j F_j w_j``."""
        return self.matrix @ w

    def group_sums(self, w: Array) -> Array:
        """Return the sum of the entries of each ``w_j``."""
        owner = np.repeat(np.arange(len(self.ranks)), self.ranks)
        return np.bincount(owner, weights=w, minlength=len(self.ranks)).astype(np.float64, copy=False)
