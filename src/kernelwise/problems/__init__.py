"""One file per published problem: objective, dual, certificate; and the solvers that need to know its structure."""

from collections.abc import Callable, Mapping

from ..optim import SolverResult
from .best_case import solve_best_case
from .column_generation import solve_by_column_generation
from .matrix_completion import Completion, complete_matrix
from .mirror_prox import solve_by_mirror_prox
from .noisy_labels import MKLPoint, NoisyLabelProblem
from .primal_dual import solve_by_primal_dual
from .theory import (
    budget_from_noise_rate,
    budget_multiplier,
    equivalent_penalty,
    generalization_bound,
    margin_of_confidence,
    mirror_prox_iterations,
)
from .variational_inequality import solve_by_variational_inequality

#: Solvers of the noisy-label problem by name.
SOLVERS: Mapping[str, Callable[..., SolverResult[MKLPoint]]] = {
    "auto": solve_by_column_generation,
    "column-generation": solve_by_column_generation,
    "primal-dual": solve_by_primal_dual,
    "mirror-prox": solve_by_mirror_prox,
    "variational-inequality": solve_by_variational_inequality,
}

__all__ = [
    "SOLVERS",
    "Completion",
    "MKLPoint",
    "NoisyLabelProblem",
    "budget_from_noise_rate",
    "budget_multiplier",
    "complete_matrix",
    "equivalent_penalty",
    "generalization_bound",
    "margin_of_confidence",
    "mirror_prox_iterations",
    "solve_best_case",
    "solve_by_column_generation",
    "solve_by_mirror_prox",
    "solve_by_primal_dual",
    "solve_by_variational_inequality",
]
