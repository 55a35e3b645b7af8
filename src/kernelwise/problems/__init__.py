"""One file per published problem: objective, dual, certificate; and the solvers that need to know its structure."""

import math
from collections.abc import Callable, Mapping

from ..optim import SolverResult
from .best_case import solve_best_case
from .column_generation import solve_by_column_generation
from .noisy_labels import MKLPoint, NoisyLabelProblem

#: Solvers of the noisy-label problem by name.
SOLVERS: Mapping[str, Callable[..., SolverResult[MKLPoint]]] = {
    "auto": solve_by_column_generation,
    "column-generation": solve_by_column_generation,
}


def confidence_margin(risk: float) -> float:
    return math.sqrt(math.log(1 / risk) / 2)


__all__ = [
    "SOLVERS",
    "MKLPoint",
    "NoisyLabelProblem",
    "confidence_margin",
    "solve_best_case",
    "solve_by_column_generation",
]
