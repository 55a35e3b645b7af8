r"""Newton's method for a smooth separable objective over bounded variables.

.. math::
    \min_{w \ge l} \; F(w) = \tfrac12 \sum_j \lambda_j w_j^2 - c^\top w + \sum_i \ell_i(s_i), \qquad s = A w,

with A dense, sparse or in row blocks on other machines, :math:`l_j` zero or :math:`-\infty`, and smooth
:math:`\ell_i`. One iteration has three steps:

1. The bound set has the variables with a positive derivative whose own Newton step, :math:`g_j / H_{jj}`, reaches the
   bound.
2. The other variables are free, and move along the Newton direction of the curvature
   :math:`H = \mathrm{diag}(\lambda) + A^\top D A`. The direction comes from a Cholesky factor where A is dense and the
   free variables are few, otherwise from conjugate gradients with a diagonal preconditioner and a tolerance that falls
   with the residual. Variables of the bound set move along :math:`-g_j / H_{jj}`.
3. The step is halved along the projection of the direction onto the bounds (two-metric projection), until the objective
   falls enough.

After a few iterations the bound set stays the same, and the rest is Newton's method. Where the losses are convex, each
iterate has a lower bound by duality; elsewhere only the residual of the optimality conditions is known.

References
----------
D. P. Bertsekas. Projected Newton methods for optimization problems with simple constraints. SIAM Journal on Control
and Optimization 20, 1982.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..checks import Array, Mask
from ..samples import compute, map_rows, persist, reduce_rows
from .result import Certificate, HistoryRow, SolverResult, Status

#: Up to this many free variables of a dense A the Hessian is factored.
DIRECT = 2000
#: A step is accepted where the objective falls by this fraction of the fall that the gradient predicts.
SUFFICIENT = 1e-4
#: At a step shorter than this, rounding is taken to hide any decrease.
SHORTEST = 1e-12


@dataclass(frozen=True)
class SeparableProblem(ABC):
    """The data of the problem; a subclass has the losses."""

    design: Any  # A, (n_terms, n_variables): an array, a CSR array or an array in row blocks
    linear: Array  # c
    penalties: Array  # lambda_j, not negative
    lower: Array  # zero or minus infinity for each variable

    @abstractmethod
    def losses(self, scores: Array) -> Array:
        """Return every ``l_i(s_i)``."""

    @abstractmethod
    def slopes(self, scores: Array) -> Array:
        """Return every ``l_i'(s_i)``."""

    @abstractmethod
    def curvatures(self, scores: Array) -> Array:
        """Return every ``l_i''(s_i)``, or an upper bound of ``l_i''(s_i)`` that is not negative."""

    def dual_value(self, point: "BoundedPoint") -> float:
        """Return a lower bound on the optimum from ``point``; minus infinity where there is no such bound."""
        return -np.inf

    def at(self, w: Array) -> "BoundedPoint":
        """Return the point ``w`` of this problem."""
        return BoundedPoint(self, w)

    @cached_property
    def squared_design(self) -> Any:
        """The squares of the entries of A; a sparse array of squares shares its indices with A."""
        return map_rows(self.design, _squared)

    @cached_property
    def curvature_at_zero(self) -> Array:
        """The second derivative along each variable at w = 0."""
        curvatures = self.curvatures(self.design @ np.zeros_like(self.linear))
        return self.penalties + np.asarray(self.squared_design.T @ curvatures)


def _squared(A: Any) -> Any:
    if isinstance(A, np.ndarray):
        return np.square(A)
    return sp.csr_array((A.data**2, A.indices, A.indptr), shape=A.shape)


@dataclass(frozen=True)
class BoundedPoint:
    """A feasible point with its scores, objective and gradient, each computed once."""

    problem: SeparableProblem
    w: Array

    @cached_property
    def scores(self) -> Array:
        """``A w``."""
        return self.problem.design @ self.w

    @cached_property
    def _sums(self) -> tuple[float, Array]:
        """The sum of the losses and its gradient, found in one pass where there are row blocks."""
        problem, scores = self.problem, self.scores
        loss, gradient = compute(problem.losses(scores).sum(), problem.design.T @ problem.slopes(scores))
        return float(loss), gradient

    @cached_property
    def smooth_gradient(self) -> Array:
        """The gradient without the quadratic term, ``A^T l'(s) - c``."""
        return self._sums[1] - self.problem.linear

    @cached_property
    def gradient(self) -> Array:
        """The gradient of F."""
        return self.problem.penalties * self.w + self.smooth_gradient

    @cached_property
    def value(self) -> float:
        """F."""
        problem = self.problem
        quadratic = 0.5 * float(problem.penalties @ self.w**2) - float(problem.linear @ self.w)
        return quadratic + self._sums[0]

    @property
    def residual(self) -> Array:
        """The projected gradient: a variable at its bound counts only where the objective falls away from the bound."""
        at_bound = self.w <= self.problem.lower
        return np.where(at_bound, np.minimum(self.gradient, 0.0), self.gradient)

    def change_from(self, old: "BoundedPoint") -> float:
        """``F(new) - F(old)``, summed term by term: near the optimum the difference of the sums is rounding."""
        step = self.w - old.w
        quadratic = float((self.problem.penalties * (0.5 * step + old.w) - self.problem.linear) @ step)
        return quadratic + float((self.problem.losses(self.scores) - self.problem.losses(old.scores)).sum())


def minimize_bounded(
    problem: SeparableProblem,
    *,
    tol: float = 1e-6,
    max_iter: int = 200,
    callback: Callable[[HistoryRow], None] | None = None,
) -> SolverResult[BoundedPoint]:
    r"""Minimise a separable objective over bounded variables by projected Newton steps.

    The method stops when the largest entry of the projected gradient is at most ``tol`` times the largest entry of the
    gradient at zero, and the relative duality gap, where the problem has a dual, is at most ``tol``.
    """
    started = time.perf_counter()
    origin = problem.at(np.zeros(len(problem.linear)))
    point = origin
    scale = float(np.abs(origin.gradient).max(initial=0.0))
    best = Certificate(primal=np.inf, dual=-np.inf)
    history: list[HistoryRow] = []
    status = Status.MAX_ITER
    for iteration in range(max_iter + 1):
        best = best.merge(Certificate(point.value, problem.dual_value(point)))
        history.append(HistoryRow(iteration, time.perf_counter() - started, best.primal, best.dual))
        if callback is not None:
            callback(history[-1])
        stationary = bool(np.abs(point.residual).max(initial=0.0) <= tol * scale)
        if stationary and (np.isinf(best.dual) or best.relative_gap <= tol):
            status = Status.CONVERGED
            break
        if iteration == max_iter:
            break
        moved = _search(point, *_direction(point, scale))
        if moved is None:
            status = Status.STALLED
            break
        point = moved
    return SolverResult(point, best, status, len(history) - 1, tuple(history))


def kkt_residual(point: BoundedPoint) -> float:
    """Return the largest entry of the projected gradient, relative to the largest entry of the gradient at zero."""
    scale = float(np.abs(point.problem.at(np.zeros_like(point.w)).gradient).max(initial=0.0))
    size = float(np.abs(point.residual).max(initial=0.0))
    return size / scale if scale > 0 else size


def _direction(point: BoundedPoint, scale: float) -> tuple[Array, Mask]:
    """Return the direction of a step and which variables are free in it."""
    problem, gradient = point.problem, point.gradient
    curvatures = persist(problem.curvatures(point.scores))
    diagonal = problem.penalties + np.asarray(problem.squared_design.T @ curvatures)
    # A flat direction (an unpenalised variable whose losses are all saturated) still needs a scale: that of w = 0.
    diagonal = np.maximum(diagonal, np.maximum(1e-14 * problem.curvature_at_zero, np.finfo(float).tiny))
    free = ~((gradient > 0) & (point.w - gradient / diagonal <= problem.lower))
    direction = -gradient / diagonal
    if free.any():
        if not sp.issparse(problem.design) and free.sum() <= DIRECT:
            direction[free] = _solve_directly(problem, curvatures, gradient, diagonal, free)
        else:
            size = float(np.linalg.norm(point.residual)) / max(scale, np.finfo(float).tiny)
            accuracy = min(0.1, size**0.5)
            direction[free] = _solve_by_conjugate_gradients(problem, curvatures, gradient, diagonal, free, accuracy)
    return direction, free


def _solve_directly(
    problem: SeparableProblem, curvatures: Array, gradient: Array, diagonal: Array, free: Mask
) -> Array:
    A = problem.design[:, np.flatnonzero(free)]
    hessian = np.array(reduce_rows(A, _scaled_gram, np.add, curvatures))
    hessian[np.diag_indices_from(hessian)] = diagonal[free] * (1 + 1e-14 * len(hessian))
    try:
        return -cho_solve(cho_factor(hessian), gradient[free])
    except LinAlgError:  # rounding in nearly equal columns: the diagonal alone still gives descent
        return -gradient[free] / diagonal[free]


def _scaled_gram(A: Any, curvatures: Array) -> Array:
    """Return ``A^T D A``; a row block of a large problem may be sparse."""
    if isinstance(A, np.ndarray):
        return A.T @ (curvatures[:, None] * A)
    return (A.T @ A.multiply(curvatures[:, None])).toarray()


def _solve_by_conjugate_gradients(
    problem: SeparableProblem, curvatures: Array, gradient: Array, diagonal: Array, free: Any, accuracy: float
) -> Array:
    """Solve ``H d = -g`` over the free variables to a relative accuracy in the preconditioned norm."""
    A, penalties = problem.design, problem.penalties

    def product(p: Array) -> Array:
        return np.where(free, penalties * p + np.asarray(A.T @ (curvatures * (A @ p))), 0.0)

    d = np.zeros_like(gradient)
    r = np.where(free, -gradient, 0.0)
    z = r / diagonal
    p, rho = z, float(r @ z)
    target = accuracy**2 * rho
    for _ in range(int(free.sum())):
        if rho <= target:
            break
        q = product(p)
        curvature = float(p @ q)
        if curvature <= 0:  # rounding
            break
        d = d + rho / curvature * p
        r = r - rho / curvature * q
        z = r / diagonal
        rho, previous = float(r @ z), rho
        p = z + rho / previous * p
    return d[free]


def _search(point: BoundedPoint, direction: Array, free: Mask) -> BoundedPoint | None:
    """Return the first point of the projected path that decreases the objective enough; None if rounding hides it."""
    problem, step = point.problem, 1.0
    slope = float(point.gradient[free] @ direction[free])
    rounding = 4 * np.finfo(float).eps * (1 + abs(point.value))
    while step >= SHORTEST:
        moved = problem.at(np.maximum(point.w + step * direction, problem.lower))
        promised = step * slope + float(point.gradient[~free] @ (moved.w - point.w)[~free])
        change = moved.change_from(point)
        if change <= SUFFICIENT * promised:
            return moved
        if change <= rounding and np.abs(moved.residual).max() < np.abs(point.residual).max():
            return moved
        step *= 0.5
    return None
