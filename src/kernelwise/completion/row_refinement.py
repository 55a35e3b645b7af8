r"""Adjust the rows of labelled samples to their own known pairs.

Equation (5) of the TPCMC paper places every sample by the basis alone, even a sample that occurs in known pairs. Let
:math:`\hat f_i` be the row of the factor that the basis gives to labelled sample i. The refined rows :math:`f_i` solve

.. math:: \min_{f} \; \sum_{(i, j) \in \Sigma} w_{ij} (f_i^\top f_j - z_{ij})^2
          + \kappa \sum_i \|f_i - \hat f_i\|^2 .

Given the other rows, each row is a ridge regression of its known pairs on the other rows; the row by the basis is the
prior and counts as much as :math:`\kappa` pairs. All rows are solved at once and half of the step is taken. The pairs
may tell of a class that no column of the factor can express, such as a small class that is not in the basis. Then the
leading eigenvector of the residuals becomes a new column, as long as its eigenvalue exceeds that of noise. Held-out
pairs choose :math:`\kappa`.
"""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..spectral.eigenpairs import repeatable_eigsh
from ..ties import NEARLY, first_best
from .known_block import KnownBlock
from .matrix.observed import sample_product

__all__ = ["refined_rows"]

Array = NDArray[np.float64]

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
    """The refined rows of the labelled samples, or the given rows if they predict held-out pairs as well.

    The block is corrected for flipped labels. The result may have more columns than ``rows``.

    In this example the basis puts the last sample into the wrong class, and pairs correct this:

    >>> from kernelwise import Pairs
    >>> from kernelwise.completion.known_block import known_block
    >>> y = np.arange(60) % 2
    >>> block = known_block(Pairs.from_labels(y, n_pairs=600, random_state=0))
    >>> rows = np.eye(2)[y]
    >>> rows[-1] = [1.0, 0.0]
    >>> refined_rows(rows, block, np.random.RandomState(0))[-1].round(1)
    array([0.1, 0.9])
    """
    held = random_state.permutation(len(block.rows)) % FOLDS == 0
    if held.sum() < FEWEST or not rows.any():
        return rows
    seen, asked = _entries(block, ~held), _entries(block, held)
    errors = {strength: _residuals(_grown(rows, seen, strength), asked) ** 2 for strength in STRENGTHS}
    best = STRENGTHS[first_best([-float(errors[strength].mean()) for strength in STRENGTHS])]
    gain = _residuals(rows, asked) ** 2 - errors[best]
    # Held-out pairs may be few and wrong: a gain within one standard error is no reason to leave the basis.
    return _grown(rows, block, best) if gain.mean() > gain.std() / np.sqrt(len(gain)) + NEARLY else rows


def _entries(block: KnownBlock, kept: NDArray[np.bool_]) -> KnownBlock:
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
