"""A bank: m kernels over the same n samples, with a few operations.

The usual bank keeps low-rank factors: its cost and memory grow with n, not with n^2.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator
from sklearn.utils import check_random_state

from ..checks import Array, Index, check_ends, require
from ..samples import check_magnitude
from .landmarks import LandmarkMap, factor_kernel
from .specs import Kernel

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
    ranks: Index

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

    def stacked_rows(self, kernels: ArrayLike) -> tuple[Any, Index]:
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


#: Factors are kept in stacks of about this many bytes, so that building never needs a second copy of all of them.
STACK_BYTES = 16 * 2**20


class FactorLayout:
    """How the factors of several kernels are stacked: coordinates ``offsets[j]:offsets[j+1]`` belong to kernel j."""

    def __init__(self, maps: list[LandmarkMap], residuals: ArrayLike) -> None:
        self.maps = maps
        self.ranks = np.array([feature_map.rank for feature_map in maps], dtype=np.intp)
        self.offsets = np.concatenate([[0], np.cumsum(self.ranks)])
        #: The largest diagonal entry of ``K_j - F_j F_j^T``, relative to that of the (centred) ``K_j``.
        self.residuals = np.asarray(residuals, dtype=np.float64)
        self.names = tuple(feature_map.kernel.name for feature_map in maps)
        self._owner = np.repeat(np.arange(len(self.ranks)), self.ranks)

    def group_sums(self, w: Array) -> Array:
        """Return, per kernel, the sum of its entries of the stacked vector ``w``."""
        sums = np.bincount(self._owner, weights=w, minlength=len(self.names))
        return sums.astype(np.float64, copy=False)

    def coordinates(self, kernels: ArrayLike) -> Index:
        """Return the positions of the coordinates of some kernels, in the order of the kernels."""
        ranges = [np.arange(self.offsets[j], self.offsets[j + 1]) for j in np.asarray(kernels, dtype=np.intp)]
        return np.concatenate(ranges).astype(np.intp) if ranges else np.zeros(0, dtype=np.intp)

    def _split(self, w: Array) -> list[Array]:
        """Cut stacked coordinates into the coordinates of each kernel."""
        return np.split(w, self.offsets[1:-1])


class FactorBank(FactorLayout, KernelBank):
    """Kernels as ``K_j ~ F_j F_j^T``, each factored by pivoted Cholesky to a tolerance or a rank.

    The factors are stacked, transposed, in a few arrays: rows ``offsets[j]:offsets[j+1]`` of all belong to kernel j.

    References
    ----------
    Fine and Scheinberg, Efficient SVM training using low-rank kernel representations, JMLR 2 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import FactorBank, Gaussian
    >>> bank = FactorBank.build(np.linspace(0, 1, 500)[:, None], [Gaussian(width=1.0)], tol=1e-6)
    >>> bank.ranks.tolist(), bool(bank.residuals[0] <= 1e-6)
    ([5], True)
    """

    def __init__(self, stacks: list[Array], maps: list[LandmarkMap], residuals: ArrayLike):
        super().__init__(maps, residuals)
        self.stacks = stacks
        self.n_samples = stacks[0].shape[1]
        self._stack_starts = np.concatenate([[0], np.cumsum([len(stack) for stack in stacks])])

    @classmethod
    def build(
        cls,
        X: Any,
        kernels: Sequence[Kernel],
        *,
        tol: float = 1e-12,
        max_rank: int | None = None,
        center: bool = False,
        scale: bool = False,
        dtype: Any = np.float64,
        random_state: Any = None,
    ) -> "FactorBank":
        """Factor every kernel; see :func:`build_bank` for the parameters."""
        rng = check_random_state(random_state)
        maps, residuals = [], []
        stacks: list[Array] = []
        pending: list[Array] = []
        for kernel in kernels:
            factor = factor_kernel(kernel, X, tol=tol, max_rank=max_rank, center=center, random_state=rng)
            mean, spread = _standardise(factor.rows, center=center, scale=scale)
            maps.append(replace(factor.feature_map(kernel, X), mean=mean, scale=spread))
            residuals.append(factor.residual)
            pending.append(factor.rows.astype(dtype, copy=False))
            if sum(rows.nbytes for rows in pending) >= STACK_BYTES:
                stacks.append(_stack(pending))
        if pending or not stacks:
            stacks.append(_stack(pending))
        return cls(stacks, maps, residuals)

    @property
    def dtype(self) -> Any:
        """The type of the stored numbers; results are float64 for every such type."""
        return self.stacks[0].dtype

    @property
    def nbytes(self) -> int:
        """The memory of the factors."""
        return sum(stack.nbytes for stack in self.stacks)

    def project(self, v: ArrayLike) -> Array:
        """Return the coordinates ``F^T v`` of all kernels, stacked."""
        vector = self._vector(v).astype(self.dtype, copy=False)
        return np.concatenate([stack @ vector for stack in self.stacks]).astype(np.float64, copy=False)

    def lift(self, w: Array) -> Array:
        """Return ``sum_j F_j w_j`` for stacked coordinates ``w``."""
        lifted = np.zeros(self.n_samples)
        for part, stack in zip(np.split(w, self._stack_starts[1:-1]), self.stacks, strict=True):
            lifted += part.astype(self.dtype, copy=False) @ stack
        return lifted

    def rows(self, j: int) -> Array:
        """Return ``F_j^T`` (rank, n_samples) without copying."""
        start, stop = self.offsets[j], self.offsets[j + 1]
        # A kernel of rank 0 at the very end starts where the last stack stops.
        b = min(int(np.searchsorted(self._stack_starts, start, side="right")), len(self.stacks)) - 1
        base = self._stack_starts[b]
        return self.stacks[b][start - base : stop - base]

    def factor(self, j: int) -> Array:
        return self.rows(j).T

    def products(self, v: ArrayLike) -> Array:
        products = np.empty((self.n_kernels, self.n_samples))
        for j, w in enumerate(self._split(self.project(v))):
            products[j] = w.astype(self.dtype, copy=False) @ self.rows(j)
        return products

    def quadratic_forms(self, v: ArrayLike) -> Array:
        return self.group_sums(self.project(v) ** 2)

    def cross_products(self, X: Any, v: ArrayLike) -> Array:
        coordinates = self._split(self.project(v))
        return np.stack([phi.values(X, w) for phi, w in zip(self.maps, coordinates, strict=True)])

    def diagonals(self) -> Array:
        return np.stack([_column_dots(self.rows(j), self.rows(j)) for j in range(self.n_kernels)])

    def pair_values(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        left, right = check_ends(rows, cols, self.n_samples)
        factors = map(self.rows, range(self.n_kernels))
        return np.stack([_column_dots(F[:, left], F[:, right]) for F in factors], axis=1)

    def combined_factor(self, weights: ArrayLike) -> Array:
        chosen = self._weights(weights, signed=False)
        parts = [np.sqrt(chosen[j]) * self.rows(j) for j in range(self.n_kernels) if chosen[j] > 0]
        return np.concatenate(parts).T if parts else np.zeros((self.n_samples, 0))


def _standardise(rows: Array, *, center: bool, scale: bool) -> tuple[Array, float]:
    """Centre the features and scale them to unit mean squared norm, in place; return the mean and the divisor."""
    mean, spread = np.zeros(len(rows)), 1.0
    if center:
        mean = rows.mean(axis=1)
        rows -= mean[:, None]
    if scale and rows.size:
        power = float(np.einsum("ki,ki->", rows, rows)) / rows.shape[1]
        if power > NEGLIGIBLE * (power + float(mean @ mean)):
            spread = float(np.sqrt(power))
            rows /= spread
    return mean, spread


def _column_dots(F: Array, G: Array) -> Array:
    return np.einsum("ki,ki->i", F, G, dtype=np.float64)


def _stack(pending: list[Array]) -> Array:
    """Join the pending rows into one array, and clear the list; a single array is not copied."""
    stack = pending[0] if len(pending) == 1 else np.concatenate(pending)
    pending.clear()
    return np.ascontiguousarray(stack)


class AttributeBank(KernelBank):
    """The kernels ``K_j = x_j x_j^T``, where ``x_j`` is column j of ``X``; no matrix but ``X`` is ever made.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_kernels)
    names : sequence of str, optional

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import AttributeBank
    >>> bank = AttributeBank(np.array([[1.0, 0.0], [2.0, 3.0]]))
    >>> bank.quadratic_forms([1.0, 1.0]).tolist()
    [9.0, 9.0]
    """

    def __init__(self, X: Any, *, names: Sequence[str] | None = None):
        self.X = sp.csr_array(X, dtype=np.float64)
        check_magnitude(self.X, "X", least=0.0)
        self.n_samples = self.X.shape[0]
        self.ranks = np.ones(self.X.shape[1], dtype=np.intp)
        self.names = one_name_each(names, self.X.shape[1], default="linear")
        self._columns: sp.csc_array | None = None

    def products(self, v: ArrayLike) -> sp.csr_array:
        return sp.csr_array(sp.diags_array(self.X.T @ self._vector(v)) @ self.X.T)

    def quadratic_forms(self, v: ArrayLike) -> Array:
        return (self.X.T @ self._vector(v)) ** 2

    def cross_products(self, X: Any, v: ArrayLike) -> sp.csr_array:
        new = sp.csr_array(X, dtype=np.float64)
        return sp.csr_array(sp.diags_array(self.X.T @ self._vector(v)) @ new.T)

    def factor(self, j: int) -> Array:
        if self._columns is None:
            self._columns = self.X.tocsc()
        return self._columns[:, [j]].toarray()

    def diagonals(self) -> sp.csr_array:
        return sp.csr_array(self.X.T.power(2))

    def pair_values(self, rows: ArrayLike, cols: ArrayLike) -> sp.csr_array:
        left, right = check_ends(rows, cols, self.n_samples)
        return sp.csr_array(self.X[left].multiply(self.X[right]))

    def combined_factor(self, weights: ArrayLike) -> sp.csr_array:
        chosen = self._weights(weights, signed=False)
        active = np.flatnonzero(chosen)
        return sp.csr_array(self.X[:, active] @ sp.diags_array(np.sqrt(chosen[active])))
