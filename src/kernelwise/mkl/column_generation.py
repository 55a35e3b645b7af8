"""The default solver for noisy labels: few kernels at a time, each small problem by an interior point.

The optimum uses 5 to 30 kernels out of hundreds. A round therefore solves the problem over a small active set, prices
every kernel by ``v^T K_j v`` in one pass over the bank, and adds the most violated kernels. The rounds stop when the
duality gap over all kernels is small enough. The solution over the active set is a primal point of the whole problem,
and its alpha is a dual point, so every round ends with a certificate.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import Array, Index
from ..optim import Certificate, HistoryRow, SolverResult, Status
from ..optim.cone_program import ConeProgram, ConeSolution, solve_cone_program
from ..optim.reduced_system import MANY_SAMPLES
from ..optim.threads import suitable_blas_threads
from ..samples import compute, persist, select_rows
from .problem import MKLPoint, NoisyLabelProblem

if TYPE_CHECKING:
    from .checkpoint import OutputRounds

#: Kernels to start from and to add in a round.
START, ADD = 8, 12
#: After this many rounds in which the gap is not halved, rounding is taken to prevent any further progress.
PATIENCE = 12
#: The largest ratio of the two terms of the objective, at the upper bounds, that an interior point is given.
STEEPEST = 1e13
#: The share of all norms below which a kernel counts as unused.
DUST = 1e-10
#: A kernel with less than this share of all norms is left out where the certificate allows it.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class Round:
    """The state of the solver after a round, without alpha: another process can continue from this state."""

    number: int  # of finished rounds
    active: Index  # the kernels of the next round
    inner_tol: float  # the gap to which the next round is solved, relative to the objective
    bounds: Certificate  # the best so far
    parts: dict[int, Array]  # with the intercept, the best primal point so far
    intercept: float
    record: float  # the smallest primal value of a round
    halved_at: int  # the round in which the gap was last halved
    halved: float  # the gap after that round
    prices: Array  # of the first guess, by which a checkpoint recognises the problem


@dataclass(frozen=True)
class Shrinkage:
    """The solution for a large penalty from the solution for a smaller one, by ``problem.py``."""

    problem: NoisyLabelProblem  # with the large penalty
    factor: float  # the ratio of the two penalties

    def value(self, value: float) -> float:
        """Return the value of the large penalty for a value of the smaller one."""
        return self.problem.start - (self.problem.start - value) / self.factor

    def row(self, row: HistoryRow) -> HistoryRow:
        """Return the row of a history."""
        return row._replace(primal=self.value(row.primal), dual=self.value(row.dual))

    def result(self, result: SolverResult[MKLPoint]) -> SolverResult[MKLPoint]:
        """Return the shrunk function with its bounds; alpha is the same."""
        point, bounds, center = result.point, result.certificate, self.problem.best_constant
        parts = {j: w / self.factor for j, w in point.parts.items()}
        return replace(
            result,
            point=MKLPoint(point.alpha, parts, center + (point.intercept - center) / self.factor),
            certificate=Certificate(self.value(bounds.primal), self.value(bounds.dual), bounds.start),
            history=tuple(map(self.row, result.history)),
        )


def solve_by_column_generation(
    problem: NoisyLabelProblem,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    active: Index | None = None,
    callback: Callable[[HistoryRow], None] | None = None,
    rounds: "OutputRounds | None" = None,
) -> SolverResult[MKLPoint]:
    """Solve ``problem`` to a duality gap of ``tol`` relative to what the kernels gain over the best constant.

    ``active`` are kernels to start with, for example those in use at a nearby penalty. Every round is written to
    ``rounds``, and the solver continues from the last round there. The result has the best primal point and the best
    dual point of all rounds; its certificate holds whatever the status is.
    """
    with suitable_blas_threads(problem.bank.n_samples):
        started = time.perf_counter()
        # The best constant, and alpha proportional to the bounds: its prices align the kernels with the labels.
        point = MKLPoint(problem.feasible(problem.upper), {}, problem.best_constant)
        prices = problem.prices(point.alpha)
        if problem.penalty > (enough := problem.shrinks_from(prices)) > 0:
            shrinkage = Shrinkage(problem, problem.penalty / enough)
            heard = None if callback is None else lambda row: callback(shrinkage.row(row))
            smaller = replace(problem, penalty=enough)
            options: dict[str, Any] = {"max_iter": max_iter, "active": active, "rounds": rounds}
            return shrinkage.result(solve_by_column_generation(smaller, tol=tol, callback=heard, **options))
        bounds = problem.certificate(point, prices)
        if bounds.relative_gap <= tol:  # a constant is optimal, as it is with one class, no kernel or no budget
            return SolverResult(point, bounds, Status.CONVERGED, 0)
        # The cost of each kernel in an interior point: with many samples, the cost grows with the rank.
        many = problem.bank.n_samples > MANY_SAMPLES
        effort = np.sqrt(np.maximum(problem.bank.ranks, 1)) if many else np.ones(problem.bank.n_kernels)
        state = rounds.last(prices) if rounds is not None else None
        if state is None:
            first = _largest(prices / effort, START) if active is None or len(active) == 0 else np.asarray(active)
            # The first round only has to find out which kernels matter.
            inner_tol = max(1e-3, 0.2 * tol)
            state = Round(0, first, inner_tol, bounds, {}, point.intercept, np.inf, 0, np.inf, prices)
        else:
            point = MKLPoint(point.alpha, state.parts, state.intercept)
        history: list[HistoryRow] = []
        status = Status.MAX_ITER
        while state.number < max_iter and status == Status.MAX_ITER:
            point, state, status = _next_round(problem, point, state, effort, tol)
            history.append(
                HistoryRow(state.number, time.perf_counter() - started, state.bounds.primal, state.bounds.dual)
            )
            if callback is not None:
                callback(history[-1])
            if rounds is not None:
                rounds.save(state)
        return SolverResult(point, state.bounds, status, state.number, tuple(history))


def _next_round(
    problem: NoisyLabelProblem, point: MKLPoint, state: Round, effort: Array, tol: float
) -> tuple[MKLPoint, Round, Status]:
    """Solve over the active kernels, price all kernels, and choose the kernels of the next round."""
    candidate, usage = _solve_restricted(problem, state.active, state.inner_tol)
    prices = problem.prices(candidate.alpha)
    candidate, found = _without_dust(problem, candidate, prices)
    primal = candidate if found.primal <= state.bounds.primal else point
    dual = candidate if found.dual >= state.bounds.dual else point
    point = MKLPoint(dual.alpha, primal.parts, primal.intercept)
    bounds = state.bounds.merge(found)
    number = state.number + 1
    state = replace(state, number=number, bounds=bounds, parts=point.parts, intercept=point.intercept)
    if bounds.relative_gap <= tol:
        return point, state, Status.CONVERGED
    added = _violated(prices, state.active, effort)
    if bounds.gap < 0.5 * state.halved:
        state = replace(state, halved_at=number, halved=bounds.gap)
    # The gap that is allowed, relative to the objective; the gain over the start is known from the best point so far.
    goal = bounds.allowed(tol) / bounds.primal
    if (added.size == 0 and state.inner_tol < goal) or number - state.halved_at >= PATIENCE:
        return point, state, Status.STALLED
    # Kernels may leave only while the objective falls, else the same ones could leave and return for ever.
    falls = found.primal < state.record - 0.01 * bounds.gap
    own_prices = prices[state.active]
    in_use = (usage > 1e-3) | (own_prices > 0.98 * own_prices.max())  # carries weight, or is priced near the highest
    staying = state.active[in_use] if falls else state.active
    inner_tol = max(0.2 * goal, min(state.inner_tol, 0.02 * found.gap / found.primal))
    record = min(state.record, found.primal)
    state = replace(state, active=np.concatenate([staying, added]), inner_tol=inner_tol, record=record)
    return point, state, Status.MAX_ITER


def _largest(values: Array, count: int) -> Index:
    return np.argsort(-values, kind="stable")[:count]


def _violated(prices: Array, active: Index, effort: Array) -> Index:
    """Return the kernels whose price exceeds the price of every active kernel, at most ADD, best for their effort."""
    excess = prices - prices[active].max() * (1 + 1e-9)
    excess[active] = 0.0
    chosen = _largest(excess / effort, ADD)
    return chosen[excess[chosen] > 0]


def _solve_restricted(problem: NoisyLabelProblem, active: Index, tol: float) -> tuple[MKLPoint, Array]:
    """Solve over the active kernels; return the point and the share of each active kernel."""
    free = select_rows(problem.upper > 0)  # a bound of zero leaves no interior
    y = free.take(problem.y)
    rows, ranks = problem.bank.stacked_rows(active)
    kept_kernels = ranks > 0
    program = ConeProgram(
        B=persist(free.columns(rows) * y),
        ranks=ranks[kept_kernels],
        curvature=1.0 / (problem.penalty * problem.mass),
        upper=free.take(problem.upper),
        budget=problem.budget if problem.budget_binds else None,
        balance=y if problem.intercept else None,
    )
    solution = solve_cone_program(_not_too_steep(program), tol=tol)
    shares = np.zeros(len(active))
    heads = solution.iterate.z.heads
    shares[kept_kernels] = heads / heads.sum()
    return _to_point(problem, active[kept_kernels], program, solution, free), shares


def _not_too_steep(program: ConeProgram) -> ConeProgram:
    """Return the program with a limited curvature, so that rounding leaves digits of the linear term of the objective.

    A larger curvature means a penalty that is tiny beside the kernels. The solution for a larger penalty is then a good
    point, and the certificate is computed for the penalty of the problem itself.
    """
    image, total = compute(program.B @ program.upper, program.upper.sum())
    steepest = float(program.cones.sums(image**2).max())
    limit = STEEPEST * float(total) / steepest if steepest > 0 else np.inf
    return replace(program, curvature=min(program.curvature, limit))


def _to_point(
    problem: NoisyLabelProblem, active: Index, program: ConeProgram, solution: ConeSolution, free: Any
) -> MKLPoint:
    """Return the functions ``w_j = -z_j`` from the multipliers of the cones, as ``y f = -sum_j B_j^T z_j``."""
    alpha = free.put(solution.iterate.alpha)
    tails = np.split(-solution.iterate.z.tails, np.cumsum(program.ranks)[:-1])
    norms = np.array([np.linalg.norm(w) for w in tails])
    # An interior point leaves a tiny part of every unused kernel; the certificate is computed without these parts.
    used = np.flatnonzero(norms > DUST * norms.sum())
    parts = {int(active[k]): tails[k] for k in used}
    return MKLPoint(problem.feasible(alpha), parts, solution.iterate.bias)


def _without_dust(problem: NoisyLabelProblem, point: MKLPoint, prices: Array) -> tuple[MKLPoint, Certificate]:
    """Return the point without the kernels that the optimum does not use, if it is as good, and its certificate.

    At the optimum a kernel has a part in the function only where its price is the highest. An interior point leaves a
    little of every kernel; such a part is smaller than what the price lacks, and to leave it out lowers the objective
    to first order.
    """
    found = problem.certificate(point, prices)
    norms = point.norms(problem.bank.n_kernels)
    lacking = 1.0 - np.sqrt(prices / prices[list(point.parts)].max()) if point.parts else norms
    lacking = np.maximum(lacking, NEGLIGIBLE)
    lean = replace(point, parts={j: w for j, w in point.parts.items() if norms[j] > lacking[j] * norms.sum()})
    if len(lean.parts) in (0, len(point.parts)):
        return point, found
    value = problem.primal_value(problem.decisions(lean), lean.norms(problem.bank.n_kernels))
    return (lean, replace(found, primal=value)) if value <= found.primal + 0.1 * found.gap else (point, found)
