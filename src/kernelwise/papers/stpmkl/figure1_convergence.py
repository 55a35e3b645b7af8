r"""The duality gap against iterations: Figure 1, right, of the StPMKL paper.

lambda = 0.01, rho = 100, 1000 iterations. The paper does not say which labels were used; here the clean labels of
80 % of the samples are used. The methods:

- AMP: the accelerated mirror prox of the paper, at its averaged iterate, as printed, and at its last iterate; with the
  printed step, and with the longest step that its analysis allows.
- VI: the variational-inequality method with each step of the paper's grid; the best step is shown.
- Column generation: the default solver of this package. Its iterations are rounds, so compare seconds.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...mkl.column_generation import solve_by_column_generation
from ...mkl.problem import MKLPoint, NoisyLabelProblem
from ...optim import SolverResult
from ..figures import Line, line_panels
from ..records import Record
from ..spec import Cell, Experiment, Scalar
from ..tables import Table, distinct
from .figure1_accuracy import LOADERS, make_trial
from .mirror_prox import solve_by_mirror_prox
from .variational_inequality import solve_by_variational_inequality

PENALTY, BUDGET, ITERATIONS, CHECK_EVERY = 0.01, 100.0, 1000, 10
STEPS = (0.01, 0.1, 1.0, 10.0, 100.0)
DEFAULT, BASELINE = "column generation", "VI"

SOLVERS: dict[str, Callable[..., SolverResult[MKLPoint]]] = {
    "AMP average": partial(solve_by_mirror_prox, step="paper", iterate="average"),
    "AMP last": partial(solve_by_mirror_prox, step="paper", iterate="last"),
    "AMP average, long step": partial(solve_by_mirror_prox, step="tight", iterate="average"),
    "AMP last, long step": partial(solve_by_mirror_prox, step="tight", iterate="last"),
    BASELINE: partial(solve_by_variational_inequality, iterate="average"),
}


def convergence_cells(quick: bool) -> list[Cell]:
    """One cell per data set and method; one per step for the variational inequality."""
    names, iterations = (["sonar"], 50) if quick else (list(LOADERS), ITERATIONS)
    cells: list[Cell] = []
    for dataset in names:
        for method in (*SOLVERS, DEFAULT):
            cell: dict[str, Scalar] = {"dataset": dataset, "method": method, "iterations": iterations}
            cells += [Cell.of(**cell, gamma0=step) for step in STEPS] if method == BASELINE else [Cell.of(**cell)]
    return cells


def run_convergence_cell(cell: Cell, seed: int) -> dict[str, Any]:
    """Return the history of the bounds. The data are the same for all cells of a data set, so the seed is not used."""
    trial = make_trial(Cell.of(dataset=cell["dataset"], noise=0.0, trial=0), FIGURE1_RIGHT)
    n = len(trial.y)
    problem = NoisyLabelProblem(trial.bank(), trial.y, PENALTY, np.ones(n), float(n), budget=BUDGET)
    method = str(cell["method"])
    if method == DEFAULT:
        result = solve_by_column_generation(problem, tol=1e-6)
    else:
        options = {"gamma0": float(cell["gamma0"])} if method == BASELINE else {}
        iterations = int(cell["iterations"])
        result = SOLVERS[method](problem, tol=0.0, max_iter=iterations, check_every=CHECK_EVERY, **options)
    # The bounds of the returned point are computed again, independently of the solver.
    checked = problem.certificate(result.point)
    return {
        "iteration": [row.iteration for row in result.history],
        "seconds": [row.seconds for row in result.history],
        "gap": [row.primal - row.dual for row in result.history],
        "final_gap": checked.gap,
        "final_relative_gap": checked.relative_gap,
        "status": str(result.status),
    }


def _best_runs(records: Sequence[Record], dataset: Any) -> dict[str, Record]:
    """Return the run of each method on a data set; of several runs, the run with the smallest final gap."""
    best: dict[str, Record] = {}
    for record in records:
        if record.cell["dataset"] == dataset:
            method = str(record.cell["method"])
            if method not in best or record.results["final_gap"] < best[method].results["final_gap"]:
                best[method] = record
    return best


def summarise_convergence(records: Sequence[Record]) -> Table:
    """Return the final gap of every method, and how soon it was below the paper's 1e-2."""
    rows = []
    for dataset in distinct(records, "dataset"):
        for method, record in _best_runs(records, dataset).items():
            step = f" (gamma0 = {record.cell['gamma0']:g})" if method == BASELINE else ""
            results = record.results
            below = [i for i, gap in enumerate(results["gap"]) if gap <= 1e-2]
            seconds = [f"{value:.2f}" for value in results["seconds"]]
            first = (f"{results['iteration'][below[0]]}", seconds[below[0]]) if below else ("—", "—")
            rows.append((str(dataset), method + step, *first, f"{results['final_gap']:.1e}", seconds[-1]))
    header = ("data", "method", "iterations to 1e-2", "seconds to 1e-2", "final gap", "seconds")
    notes = (
        "Absolute gap of the best bounds so far. A round of column generation is an iteration: compare the seconds.",
        f"lambda = {PENALTY}, rho = {BUDGET:g}. Building the kernels is not counted.",
    )
    return Table(header, tuple(rows), notes)


def draw_convergence(records: Sequence[Record]) -> Any:
    """Draw the gap against iterations, one panel per data set."""
    panels = {
        str(dataset): {
            method: Line(record.results["iteration"], record.results["gap"])
            for method, record in _best_runs(records, dataset).items()
        }
        for dataset in distinct(records, "dataset")
    }
    return line_panels(panels, xlabel="iterations", ylabel="duality gap", log_x=True, log_y=True)


FIGURE1_RIGHT = "stpmkl-figure1-convergence"

EXPERIMENT = Experiment(
    name=FIGURE1_RIGHT,
    title="Multiple kernel learning from noisy labels: convergence",
    citation="StPMKL, Figure 1, right",
    cells=convergence_cells,
    run_cell=run_convergence_cell,
    summarise=summarise_convergence,
    draw=draw_convergence,
    settings={"penalty": PENALTY, "budget": BUDGET, "noise": 0.0},
)
