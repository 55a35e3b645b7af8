"""From known pairs and the labelled rows of a basis to the core matrix, by either method."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..optim import Certificate
from ..problems.block_completion import complete_block, noise_penalty, unshrunk_factor
from ..problems.known_block import KnownBlock
from ..problems.pair_core import (
    CoreProblem,
    block_basis,
    fit_core,
    fit_core_to_noise,
    reconstruct_core,
    refit_core,
    symmetric_root,
)

Array = NDArray[np.float64]

METHODS = ("completion", "direct")


@dataclass(frozen=True, eq=False)
class FittedCore:
    """The core as ``root @ root.T``, the rank of the labelled rows, and what the solver has to say."""

    root: Array
    rank: int
    penalty: float
    certificate: Certificate
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class CoreFitter:
    """How to find the core: the options of the estimator that do not depend on data."""

    method: str
    noise_rate: float
    penalty: float | None
    tol: float
    max_iter: int

    def complete(self, block: KnownBlock, random_state: Any) -> Any:
        """Step 1, which does not depend on the basis; None for the direct method."""
        if self.method == "direct":
            return None
        options = {"penalty": self.penalty, "tol": self.tol, "max_iter": self.max_iter, "random_state": random_state}
        return complete_block(block, noise_rate=self.noise_rate, **options)

    def fit(self, basis: Array, block: KnownBlock, completion: Any) -> FittedCore:
        """Step 2, equation (5), or the direct fit."""
        coordinates = block_basis(basis[block.index])
        if coordinates.rank == 0:  # the basis is zero on all labelled samples: they determine nothing
            return FittedCore(np.zeros((basis.shape[1], 0)), 0, 0.0, Certificate(0.0, 0.0), 0, True)
        if completion is not None:
            penalty = noise_penalty(block, self.noise_rate) if self.penalty is None else float(self.penalty)
            core = reconstruct_core(coordinates, unshrunk_factor(completion, penalty, block.share))
            solved = completion
        else:
            corrected = block.corrected(self.noise_rate)
            limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
            if self.penalty is None:
                solved, problem = fit_core_to_noise(coordinates.left, corrected, noise_rate=self.noise_rate, **limits)
            else:
                problem = CoreProblem(coordinates.left, corrected, float(self.penalty))
                solved = fit_core(problem, **limits)
            core, penalty = refit_core(problem, solved.point, **limits), problem.penalty
        root = coordinates.lift @ symmetric_root(core)
        converged = bool(solved.status == "converged")
        return FittedCore(root, coordinates.rank, penalty, solved.certificate, solved.n_iter, converged)
