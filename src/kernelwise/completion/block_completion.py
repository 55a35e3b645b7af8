r"""Step 1 of TPCMC: complete the label matrix of the labelled samples from its known entries.

.. math:: \min_{M \succeq 0} \|M\|_{tr} \quad\text{s.t.}\quad M_{ij} = \hat Z_{ij},\ (i, j) \in \Sigma \tag{2}

The label matrix has a unit diagonal, which problem (2) of the paper does not use. A positive semi-definite matrix with
the known entries and a unit diagonal exists unless pairs contradict each other; then the diagonal is left free. Where
the rate of wrong labels is known, the constraints become penalised least squares on values corrected for the flips.

References
----------
T. Yang, R. Jin. Extracting certainty from uncertainty: transductive pairwise classification from pairwise similarities.
NIPS 2014, problem (2).
"""

import math

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from .core import NOISE_MULTIPLE
from .known_block import Array, KnownBlock, flip_variance
from .matrix.complete import Completion, complete_matrix

__all__ = ["complete_block", "is_contradictory", "noise_penalty", "unshrunk_factor"]

#: Tolerance where pairs contradict each other: some of them are wrong, so a closer solution is of no use.
CONTRADICTORY_TOL = 1e-2


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
    noise_rate: float = 0.0,
    penalty: float | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    random_state: int | np.random.RandomState | None = None,
) -> Completion:
    """Complete the block ``L L^T``: exactly without noise, by penalised least squares with noise; ``left`` is L.

    The values of the block are as given; the correction for flips is made here. A penalty that is given replaces the
    penalty for the noise rate, and 0 asks for the exact problem.

    >>> from kernelwise import Pairs
    >>> from kernelwise.completion.known_block import known_block
    >>> known = Pairs([0, 1, 0, 3], [1, 2, 3, 4], [1, 1, -1, 1], n_samples=5)
    >>> complete_block(known_block(known), random_state=0).to_dense()[0].round(2) + 0.0
    array([1., 1., 1., 0., 0.])
    """
    corrected = block.corrected(noise_rate)
    chosen = noise_penalty(block, noise_rate) if penalty is None else penalty
    m = len(block.index)
    diagonal = np.arange(m)
    if not chosen and is_contradictory(block):
        diagonal, tol = diagonal[:0], max(tol, CONTRADICTORY_TOL)
    return complete_matrix(
        np.concatenate([block.rows, diagonal]),
        np.concatenate([block.cols, diagonal]),
        np.concatenate([corrected.values, np.ones(len(diagonal))]),
        (m, m),
        symmetric=True,
        penalty=chosen or None,
        weights=np.concatenate([block.weights, np.ones(len(diagonal))]) if chosen else None,
        tol=tol,
        max_iter=max_iter,
        random_state=random_state,
    )


def unshrunk_factor(completion: Completion, penalty: float, share: float) -> Array:
    r"""The factor with the shrinkage of the penalty undone.

    Where a share p of the entries is known at random, the penalty c lowers every eigenvalue by about c / p.

    >>> everything = complete_matrix([0, 0, 1], [0, 1, 1], [1, 1, 1], (2, 2), symmetric=True, penalty=0.5)
    >>> abs(unshrunk_factor(everything, 0.5, 1.0)).round(3)
    array([[1.],
           [1.]])
    """
    spectrum = np.square(completion.left).sum(axis=0)
    raised = np.divide(penalty / share, spectrum, out=np.zeros_like(spectrum), where=spectrum > 0)
    return completion.left * np.sqrt(1.0 + raised)
