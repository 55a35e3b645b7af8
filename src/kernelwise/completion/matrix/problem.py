r"""Matrix completion by the nuclear norm, with exact or with noisy observations, general or positive semi-definite.

Exact observations :math:`v` of the entries :math:`\Omega`, and the dual:

.. math::
    \min_M \; \|M\|_* \quad \text{s.t.} \; M_{ij} = v_{ij}, \; (i, j) \in \Omega
    \qquad = \qquad \max_Y \; \langle Y, v \rangle \quad \text{s.t.} \; \operatorname{supp} Y \subseteq \Omega,
    \; \|Y\|_2 \le 1

Noisy observations with weights :math:`w` and a penalty :math:`c`:

.. math::
    \min_M \; \frac12 \sum_\Omega w_{ij} (M_{ij} - v_{ij})^2 + c \, \|M\|_*
    \qquad = \qquad \max_Y \; \langle Y, v \rangle - \frac12 \sum_\Omega \frac{Y_{ij}^2}{w_{ij}}
    \quad \text{s.t.} \; \|Y\|_2 \le c

A symmetric M has sums over both triangles. If both (i, j) and (j, i) are observed with one value, then with M also
:math:`M^\top` is a solution, and so is their mean: nothing is lost by asking for a symmetric M. A symmetric M may
also be asked to be positive semi-definite ("definite"). The norm is then the trace, and the dual asks for
:math:`\lambda_{\max}(Y) \le 1` (or c) only. This is another problem: its optimum can be larger.

**The lower bound.** Any sparse Y becomes feasible if it is divided by its norm. While the solver runs, the norm is
estimated; at the end it is bounded with proof.

**The upper bound.** For noisy observations the value of any M is an upper bound. Exact observations are missed by
:math:`E = v - M_\Omega`, so the bound is the norm of a matrix that agrees with them. In general this matrix is
:math:`M + E`, whose norm is at most :math:`\|M\|_*` plus the sum of the row norms of E (or of the column norms). A
definite M without observed diagonal entries becomes :math:`M + E + D`, where the diagonal matrix D is just large enough
to make :math:`E + D` positive semi-definite. If the diagonal entry of every observed row is known, all definite
solutions have the same known trace. If only a part of the diagonal is known, there is no such repair and the bound is
infinite.

**Observed entries** are in the order of a CSR matrix, so a vector with one number per entry *is* a sparse matrix, and
products, spectra and samples take time linear in the number of entries. Of a symmetric matrix S only the upper triangle
is stored: with T the triangle and half its diagonal, :math:`S x = T x + T^\top x`.

**Proven bounds.** Lanczos iteration finds the largest eigenvalue from below, and an unlucky start can miss it. That
:math:`\theta` is an upper bound is proven by a Cholesky factorisation of :math:`\theta I - Y`: it exists if and only if
no eigenvalue exceeds :math:`\theta`. In floating point, a factorisation of the n x n matrix A that runs to its end
proves that :math:`\lambda_{\min}(A) \ge -\gamma \, \mathrm{tr} A` with :math:`\gamma = (n + 1) u / (1 - 2 (n + 1) u)`
and the unit roundoff u, so this amount is added to the bound. The singular values of a rectangular Y are the roots of
the eigenvalues of the smaller of :math:`Y^\top Y` and :math:`Y Y^\top`.

The matrix is dense here. So nothing is proven for a matrix whose smaller side has more than :data:`LARGEST_SIDE` rows,
and bounds that rest on Lanczos iteration have to be called estimates.

References
----------
S. M. Rump. Verification of positive definiteness. BIT Numerical Mathematics, 2006.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf
from scipy.sparse.linalg import ArpackError, LinearOperator

from ...checks import Array, Index
from ...samples import sample_product
from ...ties import repeatable_eigsh

#: Up to this size the proof takes some ten milliseconds, which is little beside the completion. A proof for 4,000 rows
#: would take a second or two, more than half of the time of the completion itself.
LARGEST_SIDE = 500
#: How much the estimate is raised before a factorisation is tried, relatively; each is tried if the one before fails.
RAISES = (1e-11, 1e-8, 1e-5, 1e-3, 1e-1)
#: The unit roundoff, doubled: it covers the rounding of the shifted diagonal as well.
UNIT = float(np.finfo(np.float64).eps)


def proven_eigenvalue_bound(matrix: Any, estimate: float) -> float | None:
    """An upper bound on the largest eigenvalue of a sparse symmetric matrix; None if it is too large to prove."""
    if matrix.shape[0] > LARGEST_SIDE:
        return None
    return _bound_by_cholesky(matrix, estimate, float(np.sqrt(np.sum(np.square(matrix.data)))))


def proven_singular_value_bound(matrix: Any, estimate: float) -> float | None:
    """An upper bound on the largest singular value of a sparse matrix; None if the matrix is too large to prove."""
    if min(matrix.shape) > LARGEST_SIDE:
        return None
    thin = matrix if matrix.shape[1] <= matrix.shape[0] else matrix.T.tocsr()
    squares = float(np.sum(np.square(matrix.data)))
    rounding = UNIT * thin.shape[0] * squares  # of the inner products in the Gram matrix
    return float(np.sqrt(_bound_by_cholesky(thin.T @ thin, estimate**2, squares) + rounding))


def _bound_by_cholesky(matrix: Any, estimate: float, safe: float) -> float:
    """The least raised estimate that a factorisation proves; ``safe``, which is known to be a bound, if none does."""
    n, diagonal = matrix.shape[0], matrix.diagonal()
    for raise_by in RAISES:
        level = estimate * (1.0 + raise_by)
        if not 0.0 < level < safe:
            return safe
        shifted = (-matrix).toarray().T  # in the order of columns, so that LAPACK works in place
        np.fill_diagonal(shifted, level - diagonal)
        if dpotrf(shifted, overwrite_a=True, clean=False)[1] == 0:
            gamma = (n + 1) * UNIT / (1.0 - 2.0 * (n + 1) * UNIT)
            return min(level + gamma * float(np.sum(level + np.abs(diagonal))), safe)
    return safe


#: Up to this many rows or columns, all eigenvalues cost less than a few eigenvalues by Lanczos.
SMALL = 100
#: After this many restarts without convergence, Lanczos is asked for one eigenvalue only.
RESTARTS = 100


@dataclass(frozen=True)
class Triples:
    """The largest singular triples (eigenpairs if symmetric), and ``bound``, an estimate: Lanczos comes from below.

    The triple of a negative eigenvalue has its magnitude as value, and ``right = -left``.
    """

    values: Array
    left: Array
    right: Array
    bound: float


@dataclass(frozen=True, eq=False)
class ObservedEntries:
    """Distinct observed entries in CSR order, with values and weights; :meth:`merge` makes this object."""

    rows: Index
    cols: Index
    values: Array
    weights: Array
    shape: tuple[int, int]
    symmetric: bool

    @classmethod
    def merge(
        cls, rows: Index, cols: Index, values: Array, weights: Array, shape: tuple[int, int], symmetric: bool
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
        """Return the largest singular triples, or eigenpairs if symmetric: the largest, or with ``both_ends`` in
        magnitude.
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


def _top_eigenpairs(
    product: Callable[[Array], Array], n: int, count: int, rng: np.random.RandomState, tol: float, end: str
) -> tuple[Array, Array, float]:
    """Return the largest eigenvalues (``end``: "LA" or "LM"), vectors and an estimated bound, infinite if Lanczos
    fails.
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


@dataclass(frozen=True, eq=False)
class Factors:
    r"""A matrix :math:`M = L R^\top` whose factors are balanced: orthogonal columns of norm ``sqrt(spectrum)``.

    For a symmetric matrix the columns of R are those of L times 1 or -1, the ``signs`` of the eigenvalues.
    """

    left: Array
    right: Array
    spectrum: Array

    @classmethod
    def symmetric(cls, left: Array, spectrum: Array, signs: Array) -> "Factors":
        """Return the factors of ``left @ diag(signs) @ left.T``; both are one array if no sign is negative."""
        return cls(left, left if np.all(signs > 0) else left * signs, spectrum)

    @property
    def signs(self) -> Array:
        """1 or -1 for every column of the factors of a symmetric matrix."""
        return np.ones(self.rank) if self.left is self.right else np.sign(np.sum(self.left * self.right, axis=0))

    @property
    def rank(self) -> int:
        return len(self.spectrum)

    @property
    def norm(self) -> float:
        """The nuclear norm."""
        return float(self.spectrum.sum())


@dataclass(frozen=True, eq=False)
class CompletionProblem:
    """Bounds on the optimum by the objective and by its dual; ``penalty`` is None for exact observations."""

    observed: ObservedEntries
    penalty: float | None
    definite: bool = True

    @property
    def both_ends(self) -> bool:
        """Whether negative eigenvalues count: those of a symmetric matrix that need not be definite."""
        return self.observed.symmetric and not self.definite

    def top(self, data: Array, count: int, rng: np.random.RandomState, tol: float) -> Triples:
        """Return the directions that the dual constraint is about."""
        return self.observed.top(data, count, rng, tol, both_ends=self.both_ends)

    def misfit(self, entries: Array) -> float:
        """Return the largest error on observed entries, relative to the largest of them."""
        scale = float(np.max(np.abs(self.observed.values), initial=0.0))
        worst = float(np.max(np.abs(entries - self.observed.values), initial=0.0))
        return worst / scale if scale > 0 else worst

    def primal_bound(
        self, factors: Factors, entries: Array, rng: np.random.RandomState, *, prove: bool = False
    ) -> tuple[float, bool]:
        """Return the value of M, or of M repaired to agree with exact observations, and whether it is proven."""
        error = self.observed.values - entries
        if self.penalty is not None:
            return 0.5 * self.observed.inner(self.observed.weights * error, error) + self.penalty * factors.norm, True
        if not self.observed.symmetric or not self.definite:
            rows, cols = self.observed.row_norms(error)
            return factors.norm + float(min(rows.sum(), cols.sum())), True
        if self.observed.has_diagonal:
            return self._known_trace(), True
        repair, proven = self._diagonal_repair(error, rng, prove)
        return factors.norm + repair, proven

    def dual_bound(self, candidate: Array, norm: float) -> float:
        """Return the dual value of the best feasible multiple of Y, whose norm is at most ``norm``."""
        value = self.observed.inner(candidate, self.observed.values)
        limit = np.inf if norm <= 0 else (self.penalty or 1.0) / norm
        if self.penalty is None:
            return max(value, 0.0) * limit if np.isfinite(limit) else 0.0
        curvature = self.observed.inner(candidate / self.observed.weights, candidate)
        step = min(max(value, 0.0) / curvature, limit) if curvature > 0 else 0.0
        return step * value - 0.5 * step**2 * curvature

    def _known_trace(self) -> float:
        """Return the trace of every solution if each observed row has its diagonal entry observed, else infinity."""
        on_diagonal = self.observed.rows == self.observed.cols
        known = np.zeros(self.observed.shape[0], dtype=bool)
        known[self.observed.rows[on_diagonal]] = True
        complete = bool(np.all(known[self.observed.rows] & known[self.observed.cols]))
        return float(self.observed.values[on_diagonal].sum()) if complete else np.inf

    def _diagonal_repair(self, error: Array, rng: np.random.RandomState, prove: bool) -> tuple[float, bool]:
        """Return the trace of a diagonal D with E + D positive semi-definite: dominance, or ``-lambda_min(E)``."""
        dominance = 2 * float(np.abs(error).sum())
        is_touched = np.zeros(self.observed.shape[0], dtype=bool)
        is_touched[self.observed.rows[error != 0]] = is_touched[self.observed.cols[error != 0]] = True
        touched = int(is_touched.sum())
        lowest = max(self.observed.top(-error, 1, rng, tol=1e-2).bound, 0.0) if touched else 0.0
        if touched * lowest >= dominance:
            return dominance, True
        proven = self.observed.proven_bound(-error, lowest) if prove else None
        return min(dominance, touched * (lowest if proven is None else proven)), proven is not None
