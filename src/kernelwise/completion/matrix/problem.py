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
estimated; at the end it is bounded with proof (:mod:`.observed`).

**The upper bound.** For noisy observations the value of any M is an upper bound. Exact observations are missed by
:math:`E = v - M_\Omega`, so the bound is the norm of a matrix that agrees with them. In general this matrix is
:math:`M + E`, whose norm is at most :math:`\|M\|_*` plus the sum of the row norms of E (or of the column norms). A
definite M without observed diagonal entries becomes :math:`M + E + D`, where the diagonal matrix D is just large enough
to make :math:`E + D` positive semi-definite. If the diagonal entry of every observed row is known, all definite
solutions have the same known trace. If only a part of the diagonal is known, there is no such repair and the bound is
infinite.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .observed import ObservedEntries, Triples

Array = NDArray[np.float64]


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

    def proven_dual_bound(self, candidate: Array, estimate: float) -> tuple[float, bool]:
        """Return the dual value with a proven norm of Y, and True; with the estimated norm and False if Y is large."""
        proven = self.observed.proven_bound(candidate, estimate, both_ends=self.both_ends)
        return self.dual_bound(candidate, estimate if proven is None else proven), proven is not None

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
