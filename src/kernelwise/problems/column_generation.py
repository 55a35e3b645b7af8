"""The default solver for noisy labels: few kernels at a time, each small problem by an interior point.

The optimum uses 5 to 30 kernels out of hundreds. So: solve over a small active set; price every kernel by
``v^T K_j v``, one pass over the bank; add the most violated ones; stop when the duality gap over all kernels is small
enough.
The restricted solution is a primal point of the whole problem and its alpha a dual point, so every round ends with a
certificate.
"""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..kernels import KernelBank
from ..optim import Certificate, HistoryRow, SolverResult, Status
from ..optim.cone_program import MANY_SAMPLES, ConeProgram, ConeSolution, solve_cone_program
from ..optim.threads import suitable_blas_threads
from .noisy_labels import MKLPoint, NoisyLabelProblem

Array = NDArray[np.float64]

#: Kernels to start from and to add in a round.
START, ADD = 8, 12
#: Rounds in which the gap is not halved before rounding is taken to have the last word.
PATIENCE = 12
#: The share of all norms below which a kernel counts as unused.
DUST = 1e-10


def solve_by_column_generation(
    problem: NoisyLabelProblem,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    active: NDArray[np.intp] | None = None,
    callback: Callable[[HistoryRow], None] | None = None,
) -> SolverResult[MKLPoint]:
    """Solve ``problem`` to a relative duality gap of ``tol``.

    Parameters
    ----------
    problem : NoisyLabelProblem
    tol : float
        The relative gap to reach.
    max_iter : int
        The largest number of rounds.
    active : int array, optional
        Kernels to start with, for example those used at a nearby penalty.
    callback : callable, optional
        Called with each row of the history.
    """
    with suitable_blas_threads(problem.bank.n_samples):
        return _generate_columns(problem, tol, max_iter, active, callback)


def _generate_columns(
    problem: NoisyLabelProblem,
    tol: float,
    max_iter: int,
    active: NDArray[np.intp] | None,
    callback: Callable[[HistoryRow], None] | None,
) -> SolverResult[MKLPoint]:
    started = time.perf_counter()
    point = _first_guess(problem)
    best = problem.certificate(point)
    if best.relative_gap <= tol:  # a constant is optimal; where one class, no kernel or no budget is left, always
        return SolverResult(point, best, Status.CONVERGED, 0)
    effort = _effort(problem.bank)
    prices = problem.bank.quadratic_forms(point.alpha * problem.y)
    active = _largest(prices / effort, START) if active is None or len(active) == 0 else np.asarray(active)
    history: list[HistoryRow] = []
    inner_tol = max(1e-3, 0.2 * tol)  # the first round only has to find out which kernels matter
    status = Status.MAX_ITER
    record = np.inf
    halved_at, halved = 0, np.inf
    for iteration in range(1, max_iter + 1):
        candidate, usage = _solve_restricted(problem, active, inner_tol)
        found = problem.certificate(candidate)
        point = _better(point, candidate, best, found)
        best = best.merge(found)
        history.append(HistoryRow(iteration, time.perf_counter() - started, best.primal, best.dual))
        if callback is not None:
            callback(history[-1])
        if best.relative_gap <= tol:
            status = Status.CONVERGED
            break
        prices = problem.bank.quadratic_forms(candidate.alpha * problem.y)
        added = _violated(prices, active, effort)
        halved_at, halved = (iteration, best.gap) if best.gap < 0.5 * halved else (halved_at, halved)
        if (added.size == 0 and inner_tol < tol) or iteration - halved_at >= PATIENCE:
            status = Status.STALLED
            break
        inner_tol = max(0.2 * tol, min(inner_tol, 0.02 * found.relative_gap))
        # Kernels may leave only while the objective falls, else the same ones could leave and return for ever.
        kept = active[_in_use(prices, active, usage)] if found.primal < record - 0.01 * best.gap else active
        record = min(record, found.primal)
        active = np.concatenate([kept, added])
    return SolverResult(point, best, status, len(history), tuple(history))


def _first_guess(problem: NoisyLabelProblem) -> MKLPoint:
    """Return the best constant, and alpha proportional to the bounds: its prices align the kernels with the labels.

    The loss of a constant is piecewise linear with its corners at -1, 0 and 1.
    """
    constants = (0.0, 1.0, -1.0) if problem.intercept else (0.0,)
    best = min(constants, key=lambda b: problem.worst_loss(np.full(len(problem.y), b)))
    return MKLPoint(problem.feasible(problem.upper), {}, best)


def _effort(bank: KernelBank) -> Array:
    """Return what a kernel costs in an interior point: its rank counts where there are many samples."""
    if bank.n_samples <= MANY_SAMPLES:
        return np.ones(bank.n_kernels)
    return np.sqrt(np.maximum(bank.ranks, 1))


def _largest(values: Array, count: int) -> NDArray[np.intp]:
    return np.argsort(-values, kind="stable")[:count]


def _violated(prices: Array, active: NDArray[np.intp], effort: Array) -> NDArray[np.intp]:
    """Return kernels whose price exceeds that of every active one: those that promise most for their rank."""
    excess = prices - prices[active].max() * (1 + 1e-9)
    excess[active] = 0.0
    chosen = _largest(excess / effort, ADD)
    return chosen[excess[chosen] > 0]


def _in_use(prices: Array, active: NDArray[np.intp], usage: Array) -> NDArray[np.bool_]:
    """Return which active kernels carry weight or have a price near the highest."""
    return (usage > 1e-3) | (prices[active] > 0.98 * prices[active].max())


def _solve_restricted(problem: NoisyLabelProblem, active: NDArray[np.intp], tol: float) -> tuple[MKLPoint, Array]:
    """Solve over the active kernels; return the point and the share of each active kernel."""
    free = np.flatnonzero(problem.upper > 0)  # a bound of zero leaves no interior
    y = problem.y[free]
    rows = [np.asarray(problem.bank.factor(int(j)).T[:, free], dtype=np.float64) * y for j in active]
    ranks = np.array([len(block) for block in rows], dtype=np.intp)
    kept = ranks > 0
    program = ConeProgram(
        B=np.concatenate(rows),
        ranks=ranks[kept],
        curvature=1.0 / (problem.penalty * problem.mass),
        upper=problem.upper[free],
        budget=problem.budget if problem.budget_binds else None,
        balance=y if problem.intercept else None,
    )
    solution = solve_cone_program(program, tol=tol)
    shares = np.zeros(len(active))
    heads = solution.iterate.z.heads
    shares[kept] = heads / heads.sum()
    return _to_point(problem, active[kept], program, solution, free), shares


def _to_point(
    problem: NoisyLabelProblem,
    active: NDArray[np.intp],
    program: ConeProgram,
    solution: ConeSolution,
    free: NDArray[np.intp],
) -> MKLPoint:
    """Read the primal functions off the multipliers of the cones: ``w_j = -z_j``, as ``y f = -sum_j B_j^T z_j``."""
    alpha = np.zeros(len(problem.y))
    alpha[free] = solution.iterate.alpha
    tails = np.split(-solution.iterate.z.tails, np.cumsum(program.ranks)[:-1])
    norms = np.array([np.linalg.norm(w) for w in tails])
    # What an interior point leaves of an unused kernel is dust; the certificate is taken without it.
    used = np.flatnonzero(norms > DUST * norms.sum())
    blocks = {int(active[k]): tails[k] for k in used}
    return MKLPoint(problem.feasible(alpha), blocks, solution.iterate.bias)


def _better(kept: MKLPoint, new: MKLPoint, best: Certificate, found: Certificate) -> MKLPoint:
    """Combine the better primal part and the better dual part."""
    primal = new if found.primal <= best.primal else kept
    dual = new if found.dual >= best.dual else kept
    return MKLPoint(dual.alpha, primal.blocks, primal.intercept)
