r"""From known pairs and the labelled rows of a basis to the core matrix, by each of the methods.

**Step 1** completes the label matrix of the labelled samples from its known entries,

.. math:: \min_{M \in \mathbb{R}^{m \times m}} \|M\|_* \quad\text{s.t.}\quad M_{ij} = \hat Z_{ij},\ (i, j) \in \Sigma
          \tag{2}

``diagonal=False`` is this problem, as the paper states it. A known pair is known in both orders, so with M also
:math:`M^\top` is a solution, and so is their mean: the solver looks among symmetric matrices and loses nothing. The
diagonal is free, and M need not be positive semi-definite. Where enough pairs are known, the label matrix is the only
solution (Theorem 1 of the paper). Where fewer are known, there may be many solutions, or the solution is not a label
matrix. ``diagonal=True`` is another problem: M is positive semi-definite, and its diagonal is known to be one. Every
such matrix has the trace m, so *every* one with the known entries is optimal, and the bounds, both equal to m, say
nothing about M: the solver returns one of low rank. If pairs contradict each other, no such matrix exists, and problem
(2) is solved instead. Where the rate of wrong labels is known, the constraints become penalised least squares on values
corrected for flips.

**Step 2** is equation (5), or the direct fit, which needs no step 1 (``core.py``).

**Refined rows.** Equation (5) places every sample by the basis alone, even a sample that occurs in known pairs. Let
:math:`\hat f_i` be the row of the factor that the basis gives to labelled sample i. The refined rows :math:`f_i` solve

.. math:: \min_{f} \; \sum_{(i, j) \in \Sigma} w_{ij} (f_i^\top f_j - z_{ij})^2
          + \kappa \sum_i \|f_i - \hat f_i\|^2 .

Given the other rows, each row is a ridge regression of its known pairs on the other rows; the row by the basis is the
prior and counts as much as :math:`\kappa` pairs. All rows are solved at once and half of the step is taken. The pairs
may tell of a class that no column of the factor can express, such as a small class that is not in the basis. Then the
leading eigenvector of the residuals becomes a new column, as long as its eigenvalue exceeds that of noise. Held-out
pairs choose :math:`\kappa`.

What is returned is not what the solver of the direct fit returns: the shrinkage of the penalty is undone, and rows are
refined, both because this predicts other pairs better. So there are two certificates: that of the solver, about the
solution of the convex problem, and that of the core that is returned, whose objective is never below the optimum.

References
----------
T. Yang, R. Jin. Extracting certainty from uncertainty: transductive pairwise classification from pairwise similarities.
NIPS 2014, problem (2).
"""

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from ..checks import Array, Index, Mask
from ..optim import Certificate
from ..samples import put_rows, sample_product, take_rows
from ..statements import Pairs
from ..ties import NEARLY, first_best, repeatable_eigsh
from .core import (
    NOISE_MULTIPLE,
    CoreProblem,
    KnownBlock,
    fit_core,
    fit_core_to_noise,
    flip_variance,
    known_block,
    labelled_basis,
    labelled_for_recovery,
    reconstruct_core,
    refit_core,
    symmetric_root,
)
from .matrix.complete import Completion, complete_matrix


def noise_penalty(block: KnownBlock, noise_rate: float) -> float:
    r"""The penalty for flipped labels: a multiple of :math:`\sigma \sqrt{p m}`, the scale of the norm of the noise."""
    return NOISE_MULTIPLE * math.sqrt(flip_variance(noise_rate) * block.share * len(block.index))


def is_contradictory(block: KnownBlock) -> bool:
    """Whether a pair is given as different though a chain of pairs of one class joins its two samples."""
    m, linked = len(block.index), block.values > 0
    graph = sp.csr_array((np.ones(int(linked.sum())), (block.rows[linked], block.cols[linked])), shape=(m, m))
    _, group = connected_components(graph, directed=False)
    return bool(np.any(group[block.rows[block.values < 1]] == group[block.cols[block.values < 1]]))


def complete_block(
    block: KnownBlock,
    *,
    diagonal: bool = False,
    noise_rate: float = 0.0,
    penalty: float | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    random_state: int | np.random.RandomState | None = None,
) -> Completion:
    """Complete the block ``L R^T``: exactly without noise, by penalised least squares with noise."""
    corrected = block.corrected(noise_rate)
    chosen = noise_penalty(block, noise_rate) if penalty is None else penalty
    diagonal = diagonal and (chosen > 0 or not is_contradictory(block))
    m = len(block.index)
    ones = np.arange(m if diagonal else 0)
    return complete_matrix(
        np.concatenate([block.rows, ones]),
        np.concatenate([block.cols, ones]),
        np.concatenate([corrected.values, np.ones(len(ones))]),
        (m, m),
        symmetric=True,
        definite=diagonal,
        penalty=chosen or None,
        weights=np.concatenate([block.weights, np.ones(len(ones))]) if chosen else None,
        tol=tol,
        max_iter=max_iter,
        random_state=random_state,
    )


def unshrunk_factors(completion: Completion, penalty: float, share: float) -> tuple[Array, Array]:
    """The two factors without the shrinkage of the penalty c, which lowers every eigenvalue by about c / share."""
    spectrum = np.square(completion.left).sum(axis=0)
    raised = np.divide(penalty / share, spectrum, out=np.zeros_like(spectrum), where=spectrum > 0)
    growth = np.sqrt(1.0 + raised)
    return completion.left * growth, completion.right * growth


#: The values of kappa among which held-out pairs choose.
STRENGTHS = (1.0, 10.0, 100.0)
#: Half steps on all rows for every number of columns.
SWEEPS = 6
#: The largest number of columns that are added.
MAX_ADDED = 5
#: The eigenvalue of a new direction must be this many times the norm of a random matrix with the same entries.
ABOVE_NOISE = 1.5
#: If the mean squared residual is below this, no direction is missing.
EXPLAINED = 1e-3
#: One pair in FOLDS is held out; with fewer held-out pairs than FEWEST nothing is refined.
FOLDS, FEWEST = 10, 20


def refined_rows(rows: Array, block: KnownBlock, random_state: np.random.RandomState) -> Array:
    """The refined rows, perhaps with more columns, or the given rows if they predict held-out pairs as well."""
    held = random_state.permutation(len(block.rows)) % FOLDS == 0
    if held.sum() < FEWEST or not rows.any():
        return rows
    seen, asked = _entries(block, ~held), _entries(block, held)
    errors = {strength: _residuals(_grown(rows, seen, strength), asked) ** 2 for strength in STRENGTHS}
    best = STRENGTHS[first_best([-float(errors[strength].mean()) for strength in STRENGTHS])]
    gain = _residuals(rows, asked) ** 2 - errors[best]
    # Held-out pairs may be few and wrong: a gain within one standard error is no reason to leave the basis.
    return _grown(rows, block, best) if gain.mean() > gain.std() / np.sqrt(len(gain)) + NEARLY else rows


def _entries(block: KnownBlock, kept: Mask) -> KnownBlock:
    """The block with some of the entries and all samples."""
    fields = ("rows", "cols", "values", "weights")
    return replace(block, **{name: getattr(block, name)[kept] for name in fields})


def _residuals(rows: Array, block: KnownBlock) -> Array:
    return block.values - sample_product(rows, rows, block.rows, block.cols)


def _grown(rows: Array, block: KnownBlock, strength: float) -> Array:
    """Refine the rows, and while the residuals show a missing direction, add it as a column and refine again."""
    for _ in range(MAX_ADDED):
        rows = _ridge_sweeps(rows, block, strength)
        direction = _missing_direction(rows, block)
        if direction is None:
            break
        rows = np.column_stack([rows, direction])
    return rows


def _ridge_sweeps(prior: Array, block: KnownBlock, strength: float) -> Array:
    m, r = prior.shape
    # The diagonal of a label matrix is known to be one.
    weights = _symmetric(block, block.weights, np.ones(m))
    targets = _symmetric(block, block.values * block.weights, np.ones(m))
    upper = np.triu_indices(r)
    rows = prior
    for _ in range(SWEEPS):
        normal = np.empty((m, r, r))
        normal[:, upper[0], upper[1]] = normal[:, upper[1], upper[0]] = weights @ (
            rows[:, upper[0]] * rows[:, upper[1]]
        )
        normal[:, np.arange(r), np.arange(r)] += strength
        solved = np.linalg.solve(normal, (targets @ rows + strength * prior)[:, :, None])[:, :, 0]
        rows = 0.5 * (rows + solved)
    return rows


def _missing_direction(rows: Array, block: KnownBlock) -> Array | None:
    """The column that explains most of the residuals, or None if the residuals are no more than noise."""
    residuals = _residuals(rows, block)
    m, spread = len(rows), float(np.mean(residuals**2))
    if spread <= EXPLAINED or m < 3:
        return None
    matrix = _symmetric(block, residuals, np.zeros(m))
    value, vector = repeatable_eigsh(matrix, k=1, which="LA", v0=np.ones(m), tol=1e-2)
    if value[0] <= ABOVE_NOISE * 2.0 * np.sqrt(spread * m * block.share):
        return None
    return np.sqrt(value[0] / block.share) * vector[:, 0]


def _symmetric(block: KnownBlock, known: Array, diagonal: Array) -> sp.csr_array:
    """The symmetric sparse matrix with the given entries at the known pairs and on the diagonal."""
    upper = block.matrix(known)
    return sp.csr_array(upper + upper.T + sp.diags_array(diagonal))


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

    def factor(self, basis: Any, index: Index) -> Any:
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

    def factor(self, basis: Any, pairs: Pairs, random_state: Any) -> Any:
        """The factor of all samples, by a core that is fitted to some pairs."""
        block = known_block(pairs)
        fitted = self.fit(take_rows(basis, block.index), block, self.complete(block, random_state), random_state)
        return fitted.factor(basis, block.index)

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
            stacklevel=4,
        )
    elif not core.root.any():
        warnings.warn(
            "the estimated label matrix is zero: what the known pairs say of the basis is not more than noise. "
            "Give more of them, a lower noise_rate or another similarity",
            stacklevel=4,
        )
    if not core.converged:
        warnings.warn(
            f"PairCompleter stopped after {core.n_iter} iterations at a relative duality gap of "
            f"{core.solver_certificate.relative_gap:.3g}; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=4,
        )
