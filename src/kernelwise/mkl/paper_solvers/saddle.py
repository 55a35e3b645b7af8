r"""Problem (11) for first-order methods: a step up in alpha, a step down in f, and the bounds at the points found.

.. math::
    \min_{f} \max_{\alpha \in Q} \; R(f) + L(f, \alpha), \qquad
    R(f) = \frac{\lambda}{2} \Big( \sum_j \|f_j\| \Big)^2, \qquad
    L(f, \alpha) = \frac{1}{N} \sum_i \alpha_i (1 - y_i f(x_i))

The gradients of the coupling L are ``(1 - y_i f(x_i)) / N`` in alpha and ``-(1/N) sum_i alpha_i y_i k_j(x_i, .)`` in
``f_j``.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import LinearOperator
from sklearn.utils import check_random_state

from ...optim import Certificate, HistoryRow, SolverResult, Status, project_box_budget, prox_squared_sum_of_norms
from ...rows import persist
from ...spectral.eigenpairs import repeatable_eigsh
from ..problem import MKLPoint, NoisyLabelProblem
from .function_space import FunctionSpace

Array = NDArray[np.float64]

#: An objective this many times that of f = 0 means that the steps are too long to recover from.
DIVERGED = 1e12
#: Up to this dimension the operator norm is taken from the matrix itself.
SMALL = 64


@dataclass(frozen=True)
class Saddle:
    """The two steps of problem (11), each in closed form.

    Parameters
    ----------
    problem : NoisyLabelProblem
        The problem in units of the mean sample weight, so that N = n and steps do not depend on the scale of weights.
    unit : float
        The mean sample weight; alpha times the unit is the alpha of the given problem.
    """

    problem: NoisyLabelProblem
    unit: float

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
        largest = _largest_eigenvalue(self.space.squared_evaluation, len(self.space.zero()))
        return float(np.sqrt(largest)) / self.problem.mass


def _largest_eigenvalue(product: Callable[[Array], Array], n: int) -> float:
    if n == 0:
        return 0.0
    if n <= SMALL:
        matrix = np.stack([product(column) for column in np.eye(n)])
        return max(float(eigvalsh((matrix + matrix.T) / 2)[-1]), 0.0)
    operator = LinearOperator((n, n), matvec=lambda f: product(f.ravel()), dtype=np.float64)
    start = check_random_state(0).standard_normal(n)  # the same answer every time
    return max(float(repeatable_eigsh(operator, k=1, v0=start, tol=1e-4, return_eigenvectors=False)[0]), 0.0)


class Average:
    """The mean of the points of a run: of f, of its values on the samples, and of alpha."""

    def __init__(self) -> None:
        self.count = 0
        self.sums: list[Array] = []

    def add(self, *point: Array) -> None:
        """Add a point ``(f, values, alpha)``."""
        sums = [total + part for total, part in zip(self.sums, point, strict=True)] if self.sums else point
        self.sums = [persist(part) for part in sums]
        self.count += 1

    @property
    def point(self) -> tuple[Array, Array, Array]:
        """The mean ``(f, values, alpha)``."""
        f, values, alpha = (total / self.count for total in self.sums)
        return f, values, alpha


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
