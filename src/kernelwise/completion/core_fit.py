"""From known pairs and the labelled rows of a basis to the core matrix, by either method."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..optim import Certificate
from ..rows import put_rows
from .block_completion import complete_block, noise_penalty, unshrunk_factor
from .core import CoreProblem, fit_core, fit_core_to_noise, labelled_basis, reconstruct_core, refit_core, symmetric_root
from .known_block import KnownBlock
from .row_refinement import refined_rows

Array = NDArray[np.float64]

METHODS = ("completion", "direct")


@dataclass(frozen=True, eq=False)
class FittedCore:
    """The core ``root @ root.T``, the factor at the labelled samples, and how the solver ended."""

    root: Array
    labelled_rows: Array
    rank: int
    penalty: float
    certificate: Certificate
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
        return complete_block(block, noise_rate=self.noise_rate, **options)

    def fit(self, labelled: Array, block: KnownBlock, completion: Any, random_state: Any) -> FittedCore:
        """Step 2, equation (5), or the direct fit; then refine the labelled rows by their own pairs.

        ``labelled`` are the rows of the basis at ``block.index``.
        """
        coordinates = labelled_basis(labelled)
        if coordinates.rank == 0:  # the basis is zero on all labelled samples: they determine nothing
            nothing = np.zeros((labelled.shape[1], 0))
            return FittedCore(nothing, np.zeros((len(block.index), 0)), 0, 0.0, Certificate(0.0, 0.0), 0, True)
        if completion is not None:
            penalty = noise_penalty(block, self.noise_rate) if self.penalty is None else float(self.penalty)
            core, solved = reconstruct_core(coordinates, unshrunk_factor(completion, penalty, block.share)), completion
        else:
            corrected = block.corrected(self.noise_rate)
            limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
            if self.penalty is None:
                solved, problem = fit_core_to_noise(coordinates.left, corrected, noise_rate=self.noise_rate, **limits)
            else:
                problem = CoreProblem(coordinates.left, corrected, float(self.penalty))
                solved = fit_core(problem, **limits)
            core, penalty = refit_core(problem, solved.point, **limits), problem.penalty
        root = symmetric_root(core)
        rows = coordinates.left @ root
        if self.refine:
            rows = refined_rows(rows, block.corrected(self.noise_rate), random_state)
            root = coordinates.left.T @ rows
        outcome = solved.certificate, solved.n_iter, bool(solved.status == "converged")
        return FittedCore(coordinates.lift @ root, rows, coordinates.rank, penalty, *outcome)
