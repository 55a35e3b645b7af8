r"""Step 1 of TPCMC: complete the label matrix of the labelled samples from its known entries.

.. math:: \min_{M \in \mathbb{R}^{m \times m}} \|M\|_* \quad\text{s.t.}\quad M_{ij} = \hat Z_{ij},\ (i, j) \in \Sigma
          \tag{2}

``diagonal=False`` is this problem, as the paper states it. A known pair is known in both orders, so with M also
:math:`M^\top` is a solution, and so is their mean: the solver looks among symmetric matrices and loses nothing. The
diagonal is free, and M need not be positive semi-definite. Where enough pairs are known, the label matrix, which has
both properties, is the only solution (Theorem 1 of the paper). Where fewer are known, there may be many solutions, or
the solution is not a label matrix. Any matrix Y with entries at the known pairs and :math:`\|Y\|_2 \le 1` gives the
lower bound :math:`\langle Y, \hat Z \rangle`, which is the dual of (2).

``diagonal=True`` is another problem: M is positive semi-definite, and its diagonal is known to be one. Every such
matrix has the trace m, so *every* positive semi-definite matrix of unit diagonal with the known entries is optimal, and
the bounds, both equal to m, say nothing about M. Which of them is returned is decided by the solver: it starts at the
zero matrix, adds the leading eigenvectors of what is not yet explained, and stops as soon as the entries agree. So it
returns one of low rank, without any promise that the rank is the least. If pairs contradict each other, no such matrix
exists, and problem (2) is solved instead.

Where the rate of wrong labels is known, the constraints become penalised least squares on values corrected for flips.

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

__all__ = ["complete_block", "is_contradictory", "noise_penalty", "unshrunk_factors"]


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
    """Complete the block ``L R^T``: exactly without noise, by penalised least squares with noise.

    The values of the block are as given; the correction for flips is made here. A penalty that is given replaces the
    penalty for the noise rate, and 0 asks for the exact problem.

    Four samples are joined to a ring of must-links, and a fifth sample is different from one of them. The paper's
    problem does not ask for a unit diagonal, but here it has a solution that has one.

    >>> from kernelwise import Pairs
    >>> from kernelwise.completion.known_block import known_block
    >>> block = known_block(Pairs([0, 1, 0, 2, 0], [1, 3, 2, 3, 4], [1, 1, 1, 1, -1], n_samples=5))
    >>> completion = complete_block(block, random_state=0)
    >>> round(completion.certificate.dual, 3), round(completion.nuclear_norm, 3)
    (4.0, 4.0)
    >>> complete_block(block, diagonal=True, random_state=0).to_dense()[0].round(2) + 0.0
    array([1., 1., 1., 1., 0.])
    """
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
    r"""The two factors with the shrinkage of the penalty undone.

    Where a share p of the entries is known at random, the penalty c lowers every eigenvalue by about c / p.

    >>> everything = complete_matrix([0, 0, 1], [0, 1, 1], [1, 1, 1], (2, 2), symmetric=True, penalty=0.5)
    >>> abs(unshrunk_factors(everything, 0.5, 1.0)[0]).round(3)
    array([[1.],
           [1.]])
    """
    spectrum = np.square(completion.left).sum(axis=0)
    raised = np.divide(penalty / share, spectrum, out=np.zeros_like(spectrum), where=spectrum > 0)
    growth = np.sqrt(1.0 + raised)
    return completion.left * growth, completion.right * growth
