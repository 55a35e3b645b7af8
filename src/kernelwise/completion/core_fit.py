"""From known pairs and the labelled rows of a basis to the core matrix, by each of the methods.

What is returned is not what the solver of the direct fit returns: the shrinkage of the penalty is undone, and rows are
refined, both because this predicts other pairs better. So there are two certificates: that of the solver, about the
solution of the convex problem, and that of the core that is returned, whose objective is never below the optimum.
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..optim import Certificate
from ..rows import put_rows
from .block_completion import complete_block, noise_penalty, unshrunk_factors
from .core import CoreProblem, fit_core, fit_core_to_noise, labelled_basis, reconstruct_core, refit_core, symmetric_root
from .known_block import KnownBlock
from .row_refinement import refined_rows
from .theory import labelled_for_recovery

Array = NDArray[np.float64]

METHODS = ("completion", "unit-diagonal", "direct")


@dataclass(frozen=True, eq=False)
class FittedCore:
    """The core ``root @ root.T``, the factor at the labelled samples, and how the solver ended.

    ``certificate`` belongs to the core, ``solved`` and ``solver_certificate`` to the solution of the convex problem;
    for the completion the solution is the completed block, so ``solved`` is None and both certificates are one.
    """

    root: Array
    labelled_rows: Array
    rank: int
    penalty: float
    certificate: Certificate
    solver_certificate: Certificate
    solved: Array | None
    n_iter: int
    converged: bool

    def factor(self, basis: Any, index: NDArray[np.intp]) -> Any:
        """The factor of all samples: ``labelled_rows`` at the labelled samples, rows by the basis elsewhere."""
        return put_rows(basis @ self.root, index, self.labelled_rows)


@dataclass(frozen=True)
class CoreFitter:
    """The options of the estimator for finding the core, and the two steps."""

    method: str
    noise_rate: float
    penalty: float | None
    tol: float
    max_iter: int
    refine: bool

    def complete(self, block: KnownBlock, random_state: Any) -> Any:
        """Step 1, which does not depend on the basis; None for the direct method."""
        if self.method == "direct":
            return None
        options = {"penalty": self.penalty, "tol": self.tol, "max_iter": self.max_iter, "random_state": random_state}
        return complete_block(block, diagonal=self.method == "unit-diagonal", noise_rate=self.noise_rate, **options)

    def fit(self, labelled: Array, block: KnownBlock, completion: Any, random_state: Any) -> FittedCore:
        """Step 2, equation (5), or the direct fit; then refine the labelled rows by their own pairs.

        ``labelled`` are the rows of the basis at ``block.index``. Of a core that is not positive semi-definite, which
        (5) gives if the completed block is not, the positive part is kept: no label matrix has a negative eigenvalue.
        """
        coordinates = labelled_basis(labelled)
        corrected = block.corrected(self.noise_rate)
        if coordinates.rank == 0:  # the basis is zero on all labelled samples, so that all cores fit alike
            loss = float(corrected.weights @ corrected.values**2)
            bounds = Certificate(loss, loss) if completion is None else completion.certificate
            solution = np.zeros((labelled.shape[1],) * 2) if completion is None else None
            nothing = np.zeros((labelled.shape[1], 0)), np.zeros((len(block.index), 0)), 0, 0.0
            return FittedCore(*nothing, bounds, bounds, solution, 0, completion is None or completion.converged)
        if completion is not None:
            penalty = noise_penalty(block, self.noise_rate) if self.penalty is None else float(self.penalty)
            core = reconstruct_core(coordinates, *unshrunk_factors(completion, penalty, block.share))
        else:
            limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
            if self.penalty is None:
                solved, problem = fit_core_to_noise(coordinates.left, corrected, noise_rate=self.noise_rate, **limits)
            else:
                problem = CoreProblem(coordinates.left, corrected, float(self.penalty))
                solved = fit_core(problem, **limits)
            core = refit_core(problem, solved.point, **limits)
        root = symmetric_root(core)
        rows = coordinates.left @ root
        if self.refine:
            rows = refined_rows(rows, corrected, random_state)
            root = coordinates.left.T @ rows
        returned = coordinates.lift @ root, rows, coordinates.rank
        if completion is not None:
            bounds = completion.certificate
            return FittedCore(*returned, penalty, bounds, bounds, None, completion.n_iter, completion.converged)
        core = root @ root.T
        value = problem.value(core, problem.entries(core) - corrected.values)
        bounds = solved.certificate
        solution = coordinates.lift @ solved.point @ coordinates.lift.T
        own = Certificate(value, bounds.dual)
        return FittedCore(*returned, problem.penalty, own, bounds, solution, solved.n_iter, solved.converged)


def warn_of_doubtful_core(core: FittedCore, coherence: float) -> None:
    """Warn whoever called ``fit`` of directions that are not determined, of a core that is zero, and of a large gap."""
    n_components, m = len(core.root), len(core.labelled_rows)
    if core.rank < n_components:
        least = math.ceil(coherence * n_components * math.log(n_components + 1))
        warnings.warn(
            f"the {m} labelled samples determine only {core.rank} of {n_components} directions of the basis; the "
            f"others are left out. With a coherence of {coherence:.3g}, label about "
            f"{max(least - m, n_components - core.rank)} more samples (Theorem 2 asks for "
            f"{labelled_for_recovery(coherence, n_components)} in all), or lower n_components",
            UserWarning,
            stacklevel=4,
        )
    elif not core.root.any():
        warnings.warn(
            "the estimated label matrix is zero: what the known pairs say of the basis is not more than noise. "
            "Give more of them, a lower noise_rate or another similarity",
            UserWarning,
            stacklevel=4,
        )
    if not core.converged:
        warnings.warn(
            f"PairCompleter stopped after {core.n_iter} iterations at a relative duality gap of "
            f"{core.solver_certificate.relative_gap:.3g}; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=4,
        )
