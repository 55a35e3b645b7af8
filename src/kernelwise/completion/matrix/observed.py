r"""Observed entries of a matrix: products, spectra and samples in time linear in the number of entries.

The entries are in the order of a CSR matrix, so a vector with one number per entry *is* a sparse matrix. Of a symmetric
matrix S only the upper triangle is stored: with T the triangle and half its diagonal, :math:`S x = T x + T^\top x`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, LinearOperator

from ...spectral.eigenpairs import repeatable_eigsh
from .proven_bound import proven_eigenvalue_bound, proven_singular_value_bound

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: This many entries are computed at a time, so that the rows of both factors stay in the cache of the processor.
ENTRIES_AT_ONCE = 2**13
#: Up to this many rows or columns, all eigenvalues cost less than a few eigenvalues by Lanczos.
SMALL = 100
#: After this many restarts without convergence, Lanczos is asked for one eigenvalue only.
RESTARTS = 100


@dataclass(frozen=True)
class Triples:
    """The largest singular triples (eigenpairs if symmetric) of a sparse matrix, and an estimate of the largest value.

    Lanczos finds the largest value from below. ``bound`` adds the norm of the residual of the vector, because an
    eigenvalue lies within this distance. An unlucky random start can miss a larger eigenvalue, so ``bound`` is an
    estimate; :meth:`ObservedEntries.proven_bound` is a bound. If not only positive eigenvalues were asked for, the
    triple of a negative eigenvalue has its magnitude as value, and ``right = -left``.
    """

    values: Array
    left: Array
    right: Array
    bound: float


@dataclass(frozen=True, eq=False)
class ObservedEntries:
    """Distinct observed entries in CSR order, with values and weights; :meth:`merge` makes this object."""

    rows: IntArray
    cols: IntArray
    values: Array
    weights: Array
    shape: tuple[int, int]
    symmetric: bool

    @classmethod
    def merge(
        cls, rows: IntArray, cols: IntArray, values: Array, weights: Array, shape: tuple[int, int], symmetric: bool
    ) -> "ObservedEntries":
        """Give repeated observations the sum of their weights and the weighted mean of their values."""
        kept = weights > 0
        rows, cols, values, weights = rows[kept], cols[kept], values[kept], weights[kept]
        if symmetric:
            rows, cols = np.minimum(rows, cols), np.maximum(rows, cols)
        keys, position = np.unique(rows * shape[1] + cols, return_inverse=True)
        total = np.bincount(position, weights=weights, minlength=len(keys)).astype(np.float64)
        mean = np.bincount(position, weights=weights * values, minlength=len(keys)) / total
        return cls(keys // shape[1], keys % shape[1], mean, total, shape, symmetric)

    @property
    def size(self) -> int:
        """Number of distinct entries; for a symmetric matrix, of entries in one triangle."""
        return len(self.values)

    @cached_property
    def _pattern(self) -> tuple[NDArray[np.int32 | np.int64], NDArray[np.int32 | np.int64]]:
        pattern = sp.csr_array((self.values, (self.rows, self.cols)), shape=self.shape)
        return pattern.indices, pattern.indptr

    @cached_property
    def multiplicity(self) -> Array:
        """How often an entry occurs in the matrix: twice off the diagonal of a symmetric matrix, otherwise once."""
        return np.where(self.symmetric & (self.rows != self.cols), 2.0, 1.0)

    @cached_property
    def has_diagonal(self) -> bool:
        """Whether a diagonal entry of a symmetric matrix is observed."""
        return self.symmetric and bool(np.any(self.rows == self.cols))

    def inner(self, data: Array, other: Array) -> float:
        """Return the inner product of two matrices that are given by their entries."""
        return float(np.sum(self.multiplicity * data * other))

    def sample(self, left: Array, right: Array) -> Array:
        """Return the entries of ``left @ right.T`` at the observed places."""
        return sample_product(left, right, self.rows, self.cols)

    def matrix(self, data: Array) -> sp.csr_array:
        """Return the sparse matrix with these entries; if symmetric, the upper triangle with half the diagonal."""
        indices, indptr = self._pattern
        if self.has_diagonal:
            data = np.where(self.rows == self.cols, 0.5, 1.0) * data
        return sp.csr_array((data, indices, indptr), shape=self.shape)

    def top(
        self, data: Array, count: int, rng: np.random.RandomState, tol: float, *, both_ends: bool = False
    ) -> Triples:
        """Return the largest singular triples, or the algebraically largest eigenpairs of a symmetric matrix.

        With ``both_ends`` these are the eigenpairs of largest magnitude of a symmetric matrix.
        """
        T, frobenius = self.matrix(data), self.inner(data, data) ** 0.5  # never below the largest singular value
        transposed = T.T.tocsr()
        if self.symmetric:
            end = "LM" if both_ends else "LA"
            values, vectors, bound = _top_eigenpairs(lambda x: T @ x + transposed @ x, T.shape[0], count, rng, tol, end)
            if not both_ends:
                return Triples(values, vectors, vectors, min(bound, frobenius))
            return Triples(np.abs(values), vectors, vectors * np.sign(values), min(bound, frobenius))
        wide = T.shape[1] > T.shape[0]  # the smaller Gram matrix is B A
        A, B = (transposed, T) if wide else (T, transposed)
        squares, vectors, bound = _top_eigenpairs(lambda x: B @ (A @ x), A.shape[1], count, rng, tol, "LA")
        positive = squares > 0
        vectors, values = vectors[:, positive], np.sqrt(squares[positive])
        images = (A @ vectors) / values
        left, right = (vectors, images) if wide else (images, vectors)
        return Triples(values, left, right, min(max(bound, 0.0) ** 0.5, frobenius))

    def proven_bound(self, data: Array, estimate: float, *, both_ends: bool = False) -> float | None:
        """Return a proven bound on what :meth:`top` estimates; None if the matrix is too large to prove it."""
        T = self.matrix(data)
        if not self.symmetric:
            return proven_singular_value_bound(T, estimate)
        whole = T + T.T
        upper = proven_eigenvalue_bound(whole, estimate)
        lower = proven_eigenvalue_bound(-whole, estimate) if both_ends and upper is not None else upper
        return None if upper is None or lower is None else max(upper, lower)

    def row_norms(self, data: Array) -> tuple[Array, Array]:
        """Return the Euclidean norms of the rows and of the columns of the matrix with these entries."""
        row = np.bincount(self.rows, data**2, self.shape[0])
        col = np.bincount(self.cols, data**2, self.shape[1])
        if self.symmetric:
            row = col = row + col - np.bincount(self.rows, np.where(self.rows == self.cols, data**2, 0.0), len(row))
        return np.sqrt(row), np.sqrt(col)


def sample_product(left: Array, right: Array, rows: IntArray, cols: IntArray) -> Array:
    """Return ``(left @ right.T)[rows, cols]``; the time per entry is proportional to the rank."""
    entries = np.empty(len(rows))
    for start in range(0, len(rows), ENTRIES_AT_ONCE):
        piece = slice(start, start + ENTRIES_AT_ONCE)
        np.einsum("ij,ij->i", left.take(rows[piece], axis=0), right.take(cols[piece], axis=0), out=entries[piece])
    return entries


def _top_eigenpairs(
    product: Callable[[Array], Array], n: int, count: int, rng: np.random.RandomState, tol: float, end: str
) -> tuple[Array, Array, float]:
    """Return the largest eigenvalues, descending, their vectors, and an estimate of a bound on the largest eigenvalue.

    ``end`` is "LA" for the algebraically largest eigenvalues, "LM" for those of largest magnitude. If Lanczos fails, no
    eigenvalue is returned and the bound is infinite.
    """
    if n <= max(SMALL, 2 * count):
        values, vectors = np.linalg.eigh(product(np.eye(n)))
        order = np.argsort(-np.abs(values) if end == "LM" else -values, kind="stable")[:count]
        values, vectors = values[order], vectors[:, order]
        largest = float(np.abs(values[0]) if end == "LM" else values[0])
        return values, vectors, largest + 1e-13 * abs(largest)
    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    attempts = (count, tol, max(2 * count + 1, 20)), (1, 10 * tol, 100)  # with many nearly equal values ask for one
    for asked, accuracy, space in attempts:
        try:
            options = {"tol": accuracy, "v0": rng.standard_normal(n), "ncv": min(n, space), "maxiter": RESTARTS}
            values, vectors = repeatable_eigsh(operator, k=asked, which=end, **options)
            break
        except ArpackError:
            continue
    else:
        return np.zeros(0), np.zeros((n, 0)), np.inf
    order = np.argsort(-np.abs(values) if end == "LM" else -values, kind="stable")
    values, vectors = values[order], vectors[:, order]
    residual = float(np.linalg.norm(product(vectors[:, 0]) - values[0] * vectors[:, 0]))
    return values, vectors, float(np.abs(values[0]) if end == "LM" else values[0]) + residual
