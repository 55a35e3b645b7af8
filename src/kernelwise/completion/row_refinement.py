r"""Adjust the rows of labelled samples to their own known pairs.

Equation (5) of the TPCMC paper places every sample by the basis alone, also those about which pairs are known. With
:math:`\hat f_i` the row of the factor that the basis gives to labelled sample i, and :math:`f_i` the one looked for,

.. math:: \min_{f} \; \sum_{(i, j) \in \Sigma} w_{ij} (f_i^\top f_j - z_{ij})^2
          + \kappa \sum_i \|f_i - \hat f_i\|^2 .

Given the other rows, each row is a ridge regression of its known pairs on them, with the basis for a prior that counts
as much as :math:`\kappa` pairs; all rows are solved at once and half of the step is taken. What the pairs say and no
column of the factor can express, such as a small class that the basis does not know, gets a column of its own: the
leading eigenvector of the residuals, as long as it stands out of noise. :math:`\kappa` is chosen by pairs held out.
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..spectral.eigenpairs import repeatable_eigsh
from .known_block import KnownBlock

__all__ = ["refined_rows"]

Array = NDArray[np.float64]

#: How many pairs the basis may count for, among which held-out pairs choose.
STRENGTHS = (1.0, 10.0, 100.0)
#: Half steps on all rows for every number of columns.
SWEEPS = 6
#: The most columns that are added.
MAX_ADDED = 5
#: A new direction has to exceed the norm of a random matrix of the same entries by this factor.
ABOVE_NOISE = 1.5
#: Mean squared residual from which on nothing is left to explain.
EXPLAINED = 1e-3
#: Every how manieth pair is held out, and the fewest to be held out.
FOLDS, FEWEST = 10, 20


def refined_rows(rows: Array, block: KnownBlock, random_state: np.random.RandomState) -> Array:
    """Rows of the labelled samples that agree with their known pairs, or the given ones where these predict better.

    Parameters
    ----------
    rows : array of shape (m, r)
        Rows that the basis gives, of the labelled samples.
    block : KnownBlock
        Known entries, corrected for noise where there is some.
    random_state : RandomState
        Which pairs are held out.

    Returns
    -------
    array of shape (m, r') with r' >= r

    Examples
    --------
    The basis puts the last sample into the wrong class; five pairs say otherwise:

    >>> import numpy as np
    >>> from kernelwise import Pairs
    >>> from kernelwise.completion.known_block import known_block
    >>> from kernelwise.completion.row_refinement import refined_rows
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
    seen = _entries(block, ~held)
    asked = _entries(block, held)
    errors = {strength: _residuals(_grown(rows, seen, strength), asked) ** 2 for strength in STRENGTHS}
    best = min(errors, key=lambda strength: float(errors[strength].mean()))
    gain = _residuals(rows, asked) ** 2 - errors[best]
    # Held-out pairs may be few and wrong: a gain within one standard error is no reason to leave the basis.
    return _grown(rows, block, best) if gain.mean() > gain.std() / np.sqrt(len(gain)) else rows


def _entries(block: KnownBlock, kept: NDArray[np.bool_]) -> KnownBlock:
    """Some of the entries, of the same samples."""
    return KnownBlock(block.index, block.rows[kept], block.cols[kept], block.values[kept], block.weights[kept])


def _residuals(rows: Array, block: KnownBlock) -> Array:
    return block.values - np.einsum("tk,tk->t", rows[block.rows], rows[block.cols])


def _grown(rows: Array, block: KnownBlock, strength: float) -> Array:
    """Refine the rows, add the direction that the residuals point to, and refine again while there is one."""
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
    values = np.concatenate([block.values, np.ones(m)]), np.concatenate([block.weights, np.ones(m)])
    weights, targets = _symmetric(block, values[1], m), _symmetric(block, values[0] * values[1], m)
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
    """A column that explains most of what the rows leave, if that is more than noise; None otherwise."""
    residuals = _residuals(rows, block)
    m, spread = len(rows), float(np.mean(residuals**2))
    if spread <= EXPLAINED or m < 3:
        return None
    matrix = _symmetric(block, np.concatenate([residuals, np.zeros(m)]), m)
    value, vector = repeatable_eigsh(matrix, k=1, which="LA", v0=np.ones(m), tol=1e-2)
    if value[0] <= ABOVE_NOISE * 2.0 * np.sqrt(spread * m * block.share):
        return None
    return np.sqrt(value[0] / block.share) * vector[:, 0]


def _symmetric(block: KnownBlock, entries: Array, m: int) -> sp.csr_array:
    """The symmetric matrix with these entries on the known pairs, then on the diagonal."""
    diagonal = np.arange(m)
    known = entries[: len(block.rows)]
    ends = (
        np.concatenate([block.rows, block.cols, diagonal]),
        np.concatenate([block.cols, block.rows, diagonal]),
    )
    return sp.csr_array((np.concatenate([known, known, entries[len(block.rows) :]]), ends), shape=(m, m))
