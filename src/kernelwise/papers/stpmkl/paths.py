r"""SiPMKL, StPMKL and MiPMKL over a grid of penalties and budgets, with one bank for all fits.

A fit to some of the samples gives all other samples the bound zero. Since ``K_j = F_j F_j^T`` holds for all samples,
the factors also give the decisions for the other samples: validation needs no kernel evaluation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...checks import Array, Mask
from ...kernels import FactorBank, KernelExpansion
from ...mkl.best_case import trusted_share
from ...mkl.column_generation import solve_by_column_generation
from ...mkl.problem import MKLPoint, NoisyLabelProblem

#: The penalties lambda, from the largest, so that each fit starts from the kernels of a smoother solution.
PENALTIES = (1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-4)
#: The budgets rho/n of the paper.
BUDGETS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
#: The duality gap of every fit, relative to what the kernels gain over f = 0.
TOLERANCE = 1e-5
#: The largest number of alternations of MiPMKL, which starts from the solution of SiPMKL.
ALTERNATIONS = 6

METHODS = ("SiPMKL", "MiPMKL", "StPMKL")


@dataclass(frozen=True)
class Fit:
    """A fitted function, its values on all samples of the bank, and its place on the grid."""

    penalty: float
    budget: float
    point: MKLPoint
    decisions: Array
    gap: float


@dataclass(frozen=True)
class Task:
    """A bank, labels +1 and -1, and a mask of the samples to fit."""

    bank: FactorBank
    y: Array
    rows: Mask

    def fit(self, penalty: float, budget: float = 1.0, *, trust: Array | None = None, near: Fit | None = None) -> Fit:
        """Solve problem (11) of the StPMKL paper; each sample is weighed by its trust (1 by default)."""
        bounds = self.rows.astype(np.float64) if trust is None else self.rows * trust
        mass = float(self.rows.sum())
        problem = NoisyLabelProblem(self.bank, self.y, penalty, bounds, mass, budget=budget * mass)
        active = None if near is None else near.point.active
        result = solve_by_column_generation(problem, tol=TOLERANCE, active=active)
        return Fit(penalty, budget, result.point, problem.decisions(result.point), result.certificate.relative_gap)


def path(task: Task, method: str, penalties: Sequence[float] = PENALTIES) -> Iterator[Fit]:
    """Yield the fits of a method over its grid: penalties from the largest, and for each penalty the budgets."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    simple: Fit | None = None
    for penalty in penalties:
        simple = task.fit(penalty, near=simple)
        if method == "SiPMKL":
            yield simple
        elif method == "StPMKL":
            fit = simple
            for budget in BUDGETS:
                fit = task.fit(penalty, budget, near=fit)
                yield fit
        else:
            for budget in BUDGETS:
                yield best_case(task, penalty, budget, start=simple)


def best_case(task: Task, penalty: float, budget: float, *, start: Fit) -> Fit:
    """Return the local minimum of :mod:`kernelwise.mkl.best_case` that alternation reaches from ``start``."""
    fit, trust = start, np.zeros(len(task.y))
    mass = float(task.rows.sum())
    for _ in range(ALTERNATIONS):
        losses = np.maximum(0.0, 1.0 - task.y * fit.decisions)[task.rows]
        update = np.zeros(len(task.y))
        update[task.rows] = trusted_share(losses, np.ones_like(losses), budget * mass)
        if np.array_equal(update, trust) or not update.any():
            break
        trust = update
        fit = task.fit(penalty, trust=trust, near=fit)
    return replace(fit, penalty=penalty, budget=budget)


def select_and_refit(bank: FactorBank, y: Array, method: str, validation: Sequence[Mask]) -> tuple[Fit, float]:
    """Choose penalty and budget on validation sets, and return the fit to all samples and the validation accuracy."""
    scores: dict[tuple[float, float], list[float]] = {}
    for held_out in validation:
        for fit in path(Task(bank, y, ~held_out), method):
            right = (fit.decisions > 0) == (y > 0)
            scores.setdefault((fit.penalty, fit.budget), []).append(float(right[held_out].mean()))
    # The grid is in the order of preference, and max() returns the first of equals.
    best = max(scores, key=lambda place: round(float(np.mean(scores[place])), 12))
    everything = Task(bank, y, np.ones(len(y), dtype=bool))
    fits = path(everything, method, [penalty for penalty in PENALTIES if penalty >= best[0]])
    fit = next(fit for fit in fits if (fit.penalty, fit.budget) == best)
    return fit, float(np.mean(scores[best]))


def predict(bank: FactorBank, point: MKLPoint, X: Any) -> Array:
    """Return the decisions of a fitted function on new samples."""
    return KernelExpansion.from_parts(bank, [point.parts], np.array([point.intercept]))(X)[:, 0]
