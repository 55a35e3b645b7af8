"""A bank: m kernels over the same n samples, with a few operations."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import LinearOperator

from ..memory import require

Array = NDArray[np.float64]

#: A centred kernel smaller than this fraction of the kernel itself is rounding, and is not scaled up.
NEGLIGIBLE = 1e-13


class KernelBank(ABC):
    """The kernels ``K_1, ..., K_m`` of n training samples.

    Solvers use only these operations of a bank, so a solver works whether or not the matrices are in memory.

    Attributes
    ----------
    n_samples, n_kernels : int
    names : tuple of str
        The name of each kernel, with its columns.
    ranks : ndarray of shape (n_kernels,)
        The number of columns of each factor, or a bound on it.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import KernelBank, build_bank, gaussian_kernels
    >>> bank = build_bank(np.array([[0.0], [1.0], [3.0]]), gaussian_kernels([1.0, 2.0], "all"))
    >>> isinstance(bank, KernelBank), bank.n_samples, bank.n_kernels
    (True, 3, 2)
    """

    n_samples: int
    names: tuple[str, ...]
    ranks: NDArray[np.intp]

    @property
    def n_kernels(self) -> int:
        """The number of kernels m."""
        return len(self.names)

    @abstractmethod
    def products(self, v: ArrayLike) -> Any:
        """Return all ``K_j v`` as an (n_kernels, n_samples) array (sparse for an attribute bank)."""

    @abstractmethod
    def quadratic_forms(self, v: ArrayLike) -> Array:
        """Return all ``v^T K_j v``."""

    @abstractmethod
    def cross_products(self, X: Any, v: ArrayLike) -> Any:
        """Return all ``K_j(X, training samples) v`` as an (n_kernels, len(X)) array, for new samples ``X``."""

    @abstractmethod
    def factor(self, j: int) -> Array:
        """Return ``F_j`` (n_samples, rank) with ``K_j = F_j F_j^T``."""

    def stacked_rows(self, kernels: ArrayLike) -> tuple[Any, NDArray[np.intp]]:
        """Return the ``F_j^T`` of some kernels, one below the other (sum of ranks, n_samples), and their ranks."""
        rows = [np.asarray(self.factor(int(j)).T, dtype=np.float64) for j in np.asarray(kernels)]
        needed = 8 * self.n_samples * sum(map(len, rows))
        require(needed, f"a copy of the factors of {len(rows)} kernels", "use a lower rank, a larger penalty, or Dask")
        ranks = np.array([len(factor) for factor in rows], dtype=np.intp)
        return np.concatenate(rows) if rows else np.zeros((0, self.n_samples)), ranks

    def values(self, parts: dict[int, Array]) -> Any:
        """Return ``sum_j F_j w_j`` for the kernels j and coordinates ``w_j`` of ``parts``."""
        values = np.zeros(self.n_samples)
        for j, w in parts.items():
            factor = self.factor(j)
            values += factor @ w.astype(factor.dtype, copy=False)
        return values

    @abstractmethod
    def diagonals(self) -> Any:
        """Return the diagonal of every kernel, an (n_kernels, n_samples) array (sparse for an attribute bank)."""

    def largest_diagonal(self) -> float:
        """Return the largest entry of all diagonals, the largest value of ``k_j(x, x)``."""
        return float(self.diagonals().max())

    @abstractmethod
    def pair_values(self, rows: ArrayLike, cols: ArrayLike) -> Any:
        """Return ``K_j[rows, cols]`` as an (n_pairs, n_kernels) array (sparse for an attribute bank)."""

    def combination(self, weights: ArrayLike) -> LinearOperator:
        """Return ``sum_j weights_j K_j`` as a linear operator that never forms the matrix."""
        scaling, n = self._weights(weights, signed=True), self.n_samples

        def product(v: Array) -> Array:
            return np.asarray(scaling @ self.products(v.ravel()))

        return LinearOperator((n, n), matvec=product, rmatvec=product, dtype=np.float64)

    @abstractmethod
    def combined_factor(self, weights: ArrayLike) -> Any:
        """Return ``F`` with ``F F^T = sum_j weights_j K_j`` for non-negative weights; zero weights take no columns."""

    def _vector(self, v: ArrayLike) -> Array:
        vector = np.asarray(v, dtype=np.float64)
        if vector.shape != (self.n_samples,):
            raise ValueError(f"v must have shape ({self.n_samples},), one entry per sample, got {vector.shape}")
        return vector

    def _weights(self, weights: ArrayLike, *, signed: bool) -> Array:
        vector = np.asarray(weights, dtype=np.float64)
        if vector.shape != (self.n_kernels,):
            raise ValueError(f"weights must have shape ({self.n_kernels},), one per kernel, got {vector.shape}")
        bad = ~np.isfinite(vector) if signed else ~(np.isfinite(vector) & (vector >= 0))
        if bad.any():
            wanted = "finite" if signed else "finite and not negative"
            raise ValueError(f"weights must be {wanted}, got {vector[bad][0]} for kernel {self.names[np.argmax(bad)]}")
        return vector


def one_name_each(names: Sequence[str] | None, count: int, *, default: str) -> tuple[str, ...]:
    """Return ``names`` if there is one per kernel, ``default[0], default[1], ...`` if there are none."""
    if names is None:
        return tuple(f"{default}[{j}]" for j in range(count))
    if len(names) != count:
        raise ValueError(f"names has {len(names)} entries for {count} kernels; give one name per kernel")
    return tuple(map(str, names))
