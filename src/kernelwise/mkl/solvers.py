"""The solvers of the noisy-label problem by the names that the parameter ``solver`` takes."""

from collections.abc import Callable, Mapping

from ..optim import SolverResult
from ..papers.stpmkl.mirror_prox import solve_by_mirror_prox
from ..papers.stpmkl.variational_inequality import solve_by_variational_inequality
from .column_generation import solve_by_column_generation
from .problem import MKLPoint

SOLVERS: Mapping[str, Callable[..., SolverResult[MKLPoint]]] = {
    "auto": solve_by_column_generation,
    "column-generation": solve_by_column_generation,
    "mirror-prox": solve_by_mirror_prox,
    "variational-inequality": solve_by_variational_inequality,
}
