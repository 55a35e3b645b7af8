r"""The best case over who is mislabelled: MiPMKL, the robust hinge loss that the StPMKL paper compares with.

.. math::
    \min_{f} \min_{p \in P} \; \frac{\lambda}{2} \Big( \sum_j \|f_j\| \Big)^2
    + \frac{1}{N} \sum_i w_i \big( p_i \ell_i + 1 - p_i \big),
    \qquad P = \{ p \in [0, 1]^n, \; \sum_i w_i p_i \le \rho \}

Not convex. Alternate: given f, p trusts the samples of smallest loss; given p, f solves a weighted SiPMKL. Every step
lowers the objective, so it ends in a local minimum, which depends on the start; the best of several is kept.
"""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..optim import Certificate, HistoryRow, SolverResult, Status
from .problem import MKLPoint, NoisyLabelProblem

Array = NDArray[np.float64]

#: Alternations after which a start is given up; a handful is usual.
MAX_ALTERNATIONS = 30


def trusted_share(losses: Array, weight: Array, budget: float) -> Array:
    """Return the best p for given losses: one on the smallest losses below one, as far as the budget goes."""
    order = np.argsort(losses, kind="stable")
    before = np.cumsum(weight[order]) - weight[order]
    share = np.empty_like(losses)
    share[order] = np.clip((budget - before) / np.where(weight > 0, weight, 1.0)[order], 0.0, 1.0)
    return np.where((losses < 1.0) & (weight > 0), share, 0.0)


def solve_best_case(
    problem_given: Callable[[Array], NoisyLabelProblem],
    solve: Callable[[NoisyLabelProblem, NDArray[np.intp] | None], SolverResult[MKLPoint]],
    *,
    weight: Array,
    budget: float,
    starts: list[Array],
    tol: float,
) -> SolverResult[MKLPoint]:
    """Alternate from every start and return the best local minimum.

    Parameters
    ----------
    problem_given : callable
        The convex problem for given trust p.
    solve : callable
        Its solver, which may start from the kernels that the solution before used.
    weight : array
        Sample weights; ``budget`` is in their units.
    starts : list of arrays
        Values of p to start from.
    tol : float
        Stop when an alternation lowers the objective by less than this, relatively.

    Returns
    -------
    SolverResult
        Its certificate bounds the convex problem for the final p: how well f is solved, not how global the minimum is.
    """
    results = [_alternate(problem_given, solve, weight, budget, trust, tol) for trust in starts]
    return min(results, key=lambda result: result.certificate.primal)


def _alternate(
    problem_given: Callable[[Array], NoisyLabelProblem],
    solve: Callable[[NoisyLabelProblem, NDArray[np.intp] | None], SolverResult[MKLPoint]],
    weight: Array,
    budget: float,
    trust: Array,
    tol: float,
) -> SolverResult[MKLPoint]:
    started = time.perf_counter()
    history: list[HistoryRow] = []
    active: NDArray[np.intp] | None = None
    previous = np.inf
    while True:
        problem = problem_given(trust)
        result = solve(problem, active)
        active = result.point.active
        # Samples that are not trusted cost one each, whatever f is.
        cost = float(weight @ (1.0 - trust)) / problem.mass
        bounds = Certificate(result.certificate.primal + cost, result.certificate.dual + cost)
        history.append(HistoryRow(len(history) + 1, time.perf_counter() - started, bounds.primal, bounds.dual))
        losses = np.maximum(0.0, 1.0 - problem.y * problem.decisions(result.point))
        update = trusted_share(losses, weight, budget)
        settled = previous - bounds.primal <= tol * bounds.primal or not (update > 0).any()
        if settled or len(history) == MAX_ALTERNATIONS:
            status = result.status if settled else Status.MAX_ITER
            return SolverResult(result.point, bounds, status, len(history), tuple(history))
        trust, previous = update, bounds.primal
