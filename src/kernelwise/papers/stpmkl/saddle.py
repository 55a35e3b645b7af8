r"""The two first-order methods of the noisy-label paper, its Algorithm 1 and the baseline, with a certificate.

Both solve problem (11) by steps up in alpha and down in f:

.. math::
    \min_{f} \max_{\alpha \in Q} \; R(f) + L(f, \alpha), \qquad
    R(f) = \frac{\lambda}{2} \Big( \sum_j \|f_j\| \Big)^2, \qquad
    L(f, \alpha) = \frac{1}{N} \sum_i \alpha_i (1 - y_i f(x_i))

The gradients of the coupling L are ``(1 - y_i f(x_i)) / N`` in alpha and ``-(1/N) sum_i alpha_i y_i k_j(x_i, .)`` in
``f_j``.

A function ``f = (f_1, ..., f_m)``, one part from the reproducing space of every kernel, is a NumPy array, so that sums
and multiples are written as in the papers: the stacked coordinates ``w_j`` of ``f_j = F_j w_j`` with
``K_j = F_j F_j^T``. An intercept is one more coordinate, of the constant kernel 1, that is never shrunk and counts in
no norm of the penalty.

Three things of Algorithm 1, the accelerated mirror prox, differ from the printed page, and only these:

* the shrinkage of line 5 has no factor 1/2 (with Lemma 3 as printed the duality gap never closes);
* the projection of lines 4 and 6 and the threshold of line 5 are exact, where the paper bisects;
* the default step is the longest that the analysis allows, :math:`1 / (\sqrt 2 L)` with
  :math:`L^2 = \lambda_{\max}(\sum_j K_j) / N^2`. The paper's :math:`\sqrt{n / (2m)}` is the same with the bound
  :math:`\lambda_{\max} \le m n`, which holds for kernels with :math:`k_j(x, x) \le 1`.

The baseline is the oldest method for the variational inequality of the monotone operator
:math:`(\partial_f F, -\partial_\alpha F)`. It takes a step against the operator and projects:

.. math::
    f^t = f^{t-1} - \gamma \, g(f^{t-1}, \alpha^{t-1}), \qquad
    \alpha^t = \Pi_Q [\alpha^{t-1} + \gamma \nabla_\alpha L(f^{t-1}, \alpha^{t-1})], \qquad \gamma = \gamma_0 / \sqrt T

R is not smooth, so g is a subgradient: :math:`g_j = \lambda \mu f_j / \|f_j\| + \nabla_{f_j} L` with
:math:`\mu = \sum_j \|f_j\|`, and :math:`\nabla_{f_j} L` alone for a part that is zero. The gap of the averages falls
like :math:`1 / \sqrt T`.

References
----------
A. Nemirovski. Efficient methods in convex programming. Lecture notes, Technion, 1994.

T. Yang, M. Mahdavi, R. Jin, L. Zhang, Y. Zhou. Multiple Kernel Learning from Noisy Labels by Stochastic Programming.
ICML 2012, section 4, Algorithm 1, Lemmas 2 and 3, Theorem 2.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.sparse.linalg import LinearOperator

from ...checks import Array, check_choice, check_positive
from ...kernels import KernelBank
from ...mkl.problem import MKLPoint, NoisyLabelProblem
from ...optim import Certificate, HistoryRow, SolverResult, Status, project_box_budget, prox_squared_sum_of_norms
from ...samples import persist
from ...spectral import top_eigenpairs

#: An objective this many times that of f = 0 means that the steps are too long to recover from.
DIVERGED = 1e12


class FunctionSpace:
    """The space of the primal variable of a first-order method."""

    def __init__(self, bank: Any, *, intercept: bool = False) -> None:
        self.bank = bank if hasattr(bank, "project") else SideBySide(bank)
        self.intercept = intercept
        self.rank = int(self.bank.ranks.sum())

    def zero(self) -> Array:
        """Return the zero function."""
        return np.zeros(self.rank + self.intercept)

    def representer(self, v: Array) -> Array:
        """Return ``sum_i v_i k_j(x_i, .)`` for every j: the gradient of ``f -> sum_i v_i f(x_i)``."""
        coordinates = self.bank.project(v)
        return np.append(coordinates, float(v.sum())) if self.intercept else coordinates

    def values(self, f: Array) -> Array:
        """Return ``f(x_i) = sum_j f_j(x_i)``, with the intercept, on the samples."""
        return self.bank.lift(f[: self.rank]) + self.constant(f)

    def norms(self, f: Array) -> Array:
        """Return ``||f_j||`` for every kernel."""
        return np.sqrt(self.bank.group_sums(f[: self.rank] ** 2))

    def scaled(self, f: Array, factors: Array) -> Array:
        """Return the parts ``factors_j f_j``; the intercept stays."""
        per_coordinate = np.repeat(factors, self.bank.ranks)
        return f * (np.append(per_coordinate, 1.0) if self.intercept else per_coordinate)

    def constant(self, f: Array) -> float:
        """Return the intercept, 0 where there is none."""
        return float(f[-1]) if self.intercept else 0.0

    def parts(self, f: Array) -> dict[int, Array]:
        """Return the parts that are not zero in the coordinates of ``bank.factor(j)``."""
        stops = np.cumsum(self.bank.ranks)
        active = np.flatnonzero(self.norms(f))
        return {int(j): f[stops[j] - self.bank.ranks[j] : stops[j]] for j in active}


class SideBySide:
    """The factors of a bank of any kind as one matrix ``(F_1, ..., F_m)``."""

    def __init__(self, bank: KernelBank) -> None:
        factors = [bank.factor(j) for j in range(bank.n_kernels)]
        self.ranks = np.array([factor.shape[1] for factor in factors], dtype=np.intp)
        self.matrix = np.hstack(factors)

    def project(self, v: Array) -> Array:
        """Return the stacked ``F_j^T v``."""
        return self.matrix.T @ v

    def lift(self, w: Array) -> Array:
        """Return ``sum_j F_j w_j``."""
        return self.matrix @ w

    def group_sums(self, w: Array) -> Array:
        """Return the sum of the entries of each ``w_j``."""
        owner = np.repeat(np.arange(len(self.ranks)), self.ranks)
        return np.bincount(owner, weights=w, minlength=len(self.ranks)).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Saddle:
    """The two steps of problem (11), each in closed form."""

    problem: NoisyLabelProblem  # in units of the mean sample weight: N = n, and steps do not depend on the scale
    unit: float  # the mean sample weight; alpha times the unit is the alpha of the problem as it was passed

    @classmethod
    def of(cls, problem: NoisyLabelProblem) -> "Saddle":
        """Return the saddle problem of ``problem``."""
        n = problem.bank.n_samples
        unit = problem.mass / n
        scaled = replace(problem, upper=problem.upper / unit, budget=problem.budget / unit, mass=float(n))
        return cls(scaled, unit)

    @cached_property
    def space(self) -> FunctionSpace:
        """The space of the primal variable."""
        return FunctionSpace(self.problem.bank, intercept=self.problem.intercept)

    def ascend(self, alpha: Array, values: Array, step: float) -> Array:
        """Return the projection onto Q of ``alpha + step * dL/dalpha`` at the f with these values: Lemma 2."""
        problem = self.problem
        moved = alpha + (step / problem.mass) * (1.0 - problem.y * values)
        return project_box_budget(moved, upper=problem.upper, budget=problem.budget)

    def pull(self, alpha: Array) -> Array:
        """Return ``-dL/df``, the representer of ``alpha * y / N``: one pass over the bank."""
        return self.space.representer(alpha * self.problem.y / self.problem.mass)

    def shrink(self, f: Array, step: float) -> Array:
        """Return the f of least ``||f - given||^2 / 2 + step R(f)``: Lemma 3, without its factor 1/2."""
        factors = prox_squared_sum_of_norms(self.space.norms(f), step * self.problem.penalty)
        return self.space.scaled(f, factors)

    @cached_property
    def coupling_norm(self) -> float:
        r"""The Lipschitz constant of the gradients of L: :math:`\lambda_{\max}(\sum_j K_j (+ 1 1^\top))^{1/2} / N`."""
        space, n = self.space, len(self.space.zero())
        if n == 0:
            return 0.0
        # From a function to its values on the samples, and back.
        operator = LinearOperator((n, n), matvec=lambda f: space.representer(space.values(f.ravel())), dtype=np.float64)
        values, _ = top_eigenpairs(operator, 1, random_state=0, tol=1e-4)
        return float(np.sqrt(max(values[0], 0.0))) / self.problem.mass


def follow(
    saddle: Saddle,
    points: Iterator[tuple[Array, Array, Array]],
    *,
    iterate: str,
    tol: float = 1e-2,
    max_iter: int = 1000,
    check_every: int = 10,
    callback: Callable[[HistoryRow], None] | None = None,
) -> SolverResult[MKLPoint]:
    """Take points ``(f, values, alpha)`` of a method until the gap, at the last ones or at their means, is small."""
    check_choice("iterate", iterate, ("last", "average"))
    incumbent = Incumbent(saddle, tol=tol, callback=callback)
    sums: tuple[Array, ...] = ()
    iteration = 0
    for iteration, point in zip(range(1, max_iter + 1), points, strict=False):
        if iterate == "average":
            sums = tuple(persist(total + part) for total, part in zip(sums, point, strict=True)) if sums else point
        if iteration % check_every == 0 or iteration == max_iter:
            f, values, alpha = (total / iteration for total in sums) if iterate == "average" else point
            if incumbent.offer(iteration, f, values, alpha):
                break
    return incumbent.result(iteration)


class Incumbent:
    """The best primal point and the best dual point so far, with the bounds that these points prove."""

    def __init__(self, saddle: Saddle, *, tol: float, callback: Callable[[HistoryRow], None] | None) -> None:
        self.saddle, self.tol, self.callback = saddle, tol, callback
        self.started = time.perf_counter()
        self.f = saddle.space.zero()
        self.alpha = np.zeros_like(saddle.problem.y)
        self.at_zero = saddle.problem.worst_loss(self.alpha) / saddle.problem.mass
        self.bounds = Certificate(primal=self.at_zero, dual=0.0, start=saddle.problem.start)
        self.history: list[HistoryRow] = []
        self.diverged = False

    @property
    def converged(self) -> bool:
        """Whether the gap is small enough."""
        return self.bounds.relative_gap <= self.tol

    def offer(self, iteration: int, f: Array, values: Array, alpha: Array) -> bool:
        """Evaluate a point, keep f or alpha of the point where they improve a bound, and return whether to stop."""
        problem = self.saddle.problem
        feasible = problem.feasible(alpha)
        found = Certificate(
            primal=problem.primal_value(values, self.saddle.space.norms(f)), dual=problem.dual_value(feasible)
        )
        self.diverged = found.primal > DIVERGED * self.at_zero
        if found.primal < self.bounds.primal:
            self.f = f.copy()
        if found.dual > self.bounds.dual:
            self.alpha = feasible
        self.bounds = self.bounds.merge(found)
        row = HistoryRow(iteration, time.perf_counter() - self.started, self.bounds.primal, self.bounds.dual)
        self.history.append(row)
        if self.callback is not None:
            self.callback(row)
        return self.converged or self.diverged

    def result(self, n_iter: int) -> SolverResult[MKLPoint]:
        """Return the best point with its certificate."""
        status = Status.CONVERGED if self.converged else Status.STALLED if self.diverged else Status.MAX_ITER
        space = self.saddle.space
        point = MKLPoint(self.saddle.unit * self.alpha, space.parts(self.f), space.constant(self.f))
        return SolverResult(point, self.bounds, status, n_iter, tuple(self.history))


# The accelerated mirror prox of the paper


def solve_by_mirror_prox(
    problem: NoisyLabelProblem,
    *,
    step: float | Literal["tight", "paper"] = "tight",
    iterate: Literal["last", "average"] = "last",
    **options: Any,
) -> SolverResult[MKLPoint]:
    r"""Solve ``problem`` to a duality gap of ``tol``, relative to the gain of the kernels, by the paper's Algorithm 1.

    ``step`` is :math:`1 / (\sqrt 2 L)`, the paper's :math:`\sqrt{n / (2m)}`, or a number. The gap is measured at the
    last iterates or at the averages of all iterates, which Theorem 2 is about, and which are far slower. The other
    options are those of :func:`follow`.
    """
    saddle = Saddle.of(problem)
    return follow(saddle, _mirror_points(saddle, _step_length(saddle, step)), iterate=iterate, **options)


def _mirror_points(saddle: Saddle, gamma: float) -> Iterator[tuple[Array, Array, Array]]:  # with gamma of line 1
    f, beta = saddle.space.zero(), np.zeros_like(saddle.problem.y)  # line 2
    values = saddle.space.values(f)
    while True:  # line 3
        alpha = saddle.ascend(beta, values, gamma)  # line 4
        f = saddle.shrink(f + gamma * saddle.pull(alpha), gamma)  # line 5
        values = saddle.space.values(f)
        beta = saddle.ascend(beta, values, gamma)  # line 6
        yield f, values, alpha  # line 8 averages them


def _step_length(saddle: Saddle, step: float | str) -> float:
    bank = saddle.problem.bank
    if step == "tight":
        return 1.0 / (np.sqrt(2.0) * saddle.coupling_norm) if saddle.coupling_norm > 0 else 1.0
    if step == "paper":
        return float(np.sqrt(bank.n_samples / (2.0 * bank.n_kernels)))
    if isinstance(step, str) or not 0 < step < np.inf:
        raise ValueError(f'step must be "tight", "paper" or a positive number, got {step!r}')
    return float(step)


# The baseline: descent in f and ascent in alpha


def solve_by_variational_inequality(
    problem: NoisyLabelProblem,
    *,
    max_iter: int = 1000,
    gamma0: float = 1.0,
    iterate: Literal["last", "average"] = "average",
    **options: Any,
) -> SolverResult[MKLPoint]:
    r"""Run the paper's baseline on ``problem``, until the relative duality gap is ``tol`` or the iterations run out.

    The step is ``gamma0 / sqrt(max_iter)``. Steps longer than ``2 / (penalty * n_kernels)`` can diverge; the method
    then stops as stalled.
    """
    check_positive("gamma0", gamma0, "; the paper tries .01 to 100")
    saddle = Saddle.of(problem)
    points = _descent_points(saddle, gamma0 / np.sqrt(max_iter))
    return follow(saddle, points, iterate=iterate, max_iter=max_iter, **options)


def _descent_points(saddle: Saddle, gamma: float) -> Iterator[tuple[Array, Array, Array]]:
    f, alpha = saddle.space.zero(), np.zeros_like(saddle.problem.y)
    values = saddle.space.values(f)
    while True:
        toward = gamma * saddle.pull(alpha)
        alpha = saddle.ascend(alpha, values, gamma)
        norms = saddle.space.norms(f)  # lam mu / ||f_j|| times f_j is a subgradient of R; zero where f_j is
        slope = np.full_like(norms, saddle.problem.penalty * norms.sum())
        slopes = np.divide(slope, norms, out=np.zeros_like(norms), where=norms > 0)
        f = saddle.space.scaled(f, 1.0 - gamma * slopes) + toward
        values = saddle.space.values(f)
        yield f, values, alpha
