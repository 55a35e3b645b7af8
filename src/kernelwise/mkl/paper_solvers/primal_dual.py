r"""Restarted primal-dual hybrid gradient: a first-order method for noisy labels that needs products alone.

One step of the method of Chambolle and Pock, for problem (11) with the coupling L of :mod:`.saddle`:

.. math::
    f^+ = \mathrm{prox}_{\tau R}(f - \tau \nabla_f L(f, \alpha)), \qquad
    \alpha^+ = \Pi_Q[\alpha + \sigma \nabla_\alpha L(2 f^+ - f, \alpha)], \qquad
    \tau = \eta / \omega, \; \sigma = \eta \omega .

Three rules, all from linear programming, make it quick:

* **Step length.** Convergence needs :math:`\eta \le 1/L` with the norm L of the coupling over all kernels, but few
  kernels are in use, and along the way that the iterates really go the coupling is ten to forty times weaker. So the
  length follows the last step, and a step that proves too long is taken again.
* **Restarts.** The average of the iterates gains on the last one until it is held back by its own past: whenever the
  gap has shrunk enough, the method starts afresh from the better of the two.
* **Balance.** The weight :math:`\omega` follows the ratio of the distances that alpha and f have gone since the last
  restart.

Memory: the bank and a few elements of the function space.

References
----------
A. Chambolle, T. Pock. A first-order primal-dual algorithm for convex problems with applications to imaging. Journal of
Mathematical Imaging and Vision 40 (2011).

D. Applegate et al. Practical large-scale linear programming using primal-dual hybrid gradient. NeurIPS 2021:
Algorithm 1 (restarts), Algorithm 2 (step length), Algorithm 3 (balance).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...optim import HistoryRow, SolverResult
from ...rows import compute, persist
from ..problem import MKLPoint, NoisyLabelProblem
from .saddle import Average, Incumbent, Saddle

Array = NDArray[np.float64]

#: Restart where the gap is this fraction of the one at the last restart, or this fraction and growing again ...
SUFFICIENT, NECESSARY = 0.2, 0.8
#: ... or where the run since then is this fraction of all iterations.
LONG = 0.36


def solve_by_primal_dual(
    problem: NoisyLabelProblem,
    *,
    tol: float = 1e-4,
    max_iter: int = 20_000,
    check_every: int = 40,
    callback: Callable[[HistoryRow], None] | None = None,
) -> SolverResult[MKLPoint]:
    """Solve ``problem`` to a relative duality gap of ``tol`` with products by the bank alone.

    Parameters
    ----------
    problem, tol, callback
        As for :func:`~kernelwise.mkl.column_generation.solve_by_column_generation`.
    max_iter : int
        The largest number of steps; each is one pass over the bank and one over the kernels in use.
    check_every : int
        Steps between two evaluations of the bounds, which is where restarts are decided.

    See Also
    --------
    solve_by_column_generation : The default; quicker to a small gap, with a copy of the factors of the kernels in use.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import DenseBank
    >>> from kernelwise.mkl.problem import NoisyLabelProblem
    >>> from kernelwise.mkl.paper_solvers.primal_dual import solve_by_primal_dual
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> bank = DenseBank([np.outer(y, y), np.eye(4)])
    >>> problem = NoisyLabelProblem(bank, y, penalty=0.1, upper=np.ones(4), mass=4.0, budget=3.0)
    >>> result = solve_by_primal_dual(problem)
    >>> result.status, round(result.certificate.primal, 3)  # the first kernel alone separates: 0.1 / 2 * 1^2
    (<Status.CONVERGED: 'converged'>, 0.05)
    """
    saddle = Saddle.of(problem)
    incumbent = Incumbent(saddle, tol=tol, callback=callback)
    pace = _Pace(saddle)
    at = start = _starting_point(saddle)
    average, begun = Average(), 0
    gap_at_start, last_gap = incumbent.bounds.gap, np.inf
    iteration = 0
    for iteration in range(1, max_iter + 1):
        at, length = _advance(saddle, at, pace)
        average.add(*at, weight=length)
        if iteration % check_every and iteration != max_iter:
            continue
        gap, candidate = min(
            ((incumbent.offer(*point).gap, point) for point in (at, _Point(*average.point))), key=lambda pair: pair[0]
        )
        incumbent.record(iteration)
        if incumbent.finished:
            break
        if _restart_due(gap, gap_at_start, last_gap) or iteration - begun >= LONG * iteration:
            pace.balance(saddle, start, candidate)
            at = start = candidate
            average, begun = Average(), iteration
            gap_at_start, last_gap = gap, np.inf
        else:
            last_gap = gap
    return incumbent.result(iteration)


class _Point(NamedTuple):
    """A primal and a dual variable, with the values of the primal one on the samples."""

    f: Array
    values: Array
    alpha: Array


def _starting_point(saddle: Saddle) -> _Point:
    zero = np.zeros_like(saddle.problem.y)
    return _Point(saddle.space.zero(), zero, zero)


def _restart_due(gap: float, gap_at_start: float, last_gap: float) -> bool:
    return gap <= SUFFICIENT * gap_at_start or (gap <= NECESSARY * gap_at_start and gap > last_gap)


def _advance(saddle: Saddle, at: _Point, pace: "_Pace") -> tuple[_Point, float]:
    """Take one step, repeated with a shorter length where it proves too long; return the point and the length."""
    pull = saddle.pull(at.alpha)
    while True:
        length = pace.length
        f = saddle.shrink(at.f + pace.primal * pull, pace.primal)
        values = persist(saddle.space.values(f))
        alpha = saddle.ascend(at.alpha, 2.0 * values - at.values, pace.dual)
        moved = _Point(f, values, alpha)
        if pace.accepts(saddle, at, moved):
            return moved, length


class _Pace:
    """The length eta of the steps and the weight omega that divides it between f and alpha."""

    def __init__(self, saddle: Saddle) -> None:
        norm = saddle.coupling_norm
        self.safe = 1.0 / norm if norm > 0 else 1.0
        self.length = self.safe
        self.weight = _first_weight(saddle.problem)
        self.trials = 0

    @property
    def primal(self) -> float:
        return self.length / self.weight

    @property
    def dual(self) -> float:
        return self.length * self.weight

    def accepts(self, saddle: Saddle, before: _Point, after: _Point) -> bool:
        """Return whether the step was short enough, and set the length of the next one (Algorithm 2)."""
        d_alpha = after.alpha - before.alpha
        coupling, squared = compute(
            (d_alpha * saddle.problem.y) @ (after.values - before.values), (d_alpha * d_alpha).sum()
        )
        coupled = abs(float(coupling)) / saddle.problem.mass
        moved = self.weight * saddle.space.squared_norm(after.f - before.f) + float(squared) / self.weight
        # By Cauchy-Schwarz the limit is at least 1/L; rounding must not have it otherwise.
        limit = max(float(moved / (2.0 * coupled)), self.safe) if coupled > 0 else np.inf
        taken = self.length
        self.trials += 1
        self.length = min((1.0 - (self.trials + 1) ** -0.3) * limit, (1.0 + (self.trials + 1) ** -0.6) * taken)
        return taken <= limit

    def balance(self, saddle: Saddle, start: _Point, end: _Point) -> None:
        """Move the weight half way, in the logarithm, to the ratio of the distances gone (Algorithm 3)."""
        d_f = np.sqrt(saddle.space.squared_norm(end.f - start.f))
        d_alpha = float(np.sqrt(float(((end.alpha - start.alpha) ** 2).sum())))
        if d_f > 0 and d_alpha > 0:
            self.weight = float(np.sqrt(self.weight * d_alpha / d_f))


def _first_weight(problem: NoisyLabelProblem) -> float:
    """Return the size of the largest alpha over a bound for f, ``lam/2 (sum_j ||f_j||)^2 <=`` the objective at zero."""
    at_zero = problem.worst_loss(np.zeros_like(problem.y)) / problem.mass
    size = float(np.sqrt(float((problem.feasible(problem.upper) ** 2).sum())))
    return size / np.sqrt(2.0 * at_zero / problem.penalty) if at_zero > 0 and size > 0 else 1.0
