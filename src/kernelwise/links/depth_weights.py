r"""Weights of the kernels of several smoothing depths, learned from the links themselves.

The kernel of depth t is :math:`k_t(i, j) = z_i^t \cdot z_j^t`. The log-odds that a pair is linked are
:math:`\sum_t w_t k_t + b`, and :math:`w \ge 0` maximises the likelihood of the links and as many pairs without a link,
as in :class:`~kernelwise.PairKernelLearner`. Smoothing over a link makes its two documents more alike, so a link must
not be judged by rows that were smoothed over this link. Therefore the links are divided into folds, and the kernel
values of a fold come from rows smoothed over the other folds.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..checks import Array, IntArray
from ..optim.bounded_newton import minimize_bounded
from ..optim.statistic_likelihood import statistic_problem
from ..samples import check_magnitude
from ..statements.graph import count_pairs
from ..statements.pairs import Pairs

N_FOLDS = 5
#: At most this many pairs are drawn to learn from, because a few weights need no more pairs.
MAX_PAIRS = 200_000
#: The penalty of LKCnpc, times the number of pairs.
PENALTY = 0.01

#: From symmetric link weights to the rows Z_0, Z_1, ... smoothed over these links.
Smoothing = Callable[[Any], Iterator[Array]]


def learned_depth_weights(
    smoothing: Smoothing, links: Any, depths: Sequence[int], negatives: Pairs | None, rng: np.random.RandomState
) -> Array:
    """One weight per depth, with a sum of one; the weights are equal, with a warning, if links teach nothing."""
    if negatives is not None:
        pairs = Pairs.from_graph(links, negatives=None) + negatives
    else:
        n_links = links.nnz // 2
        n_negatives = min(n_links, count_pairs(links.shape[0]) - n_links)
        pairs = Pairs.from_graph(links, negatives=n_negatives, random_state=rng)
    n_positive = int((pairs.labels > 0).sum())
    if n_positive < N_FOLDS or n_positive == len(pairs):
        return _equal(len(depths), f"{n_positive} links and {len(pairs) - n_positive} other pairs are too few to learn")
    values, labels = _values_out_of_fold(smoothing, links, depths, pairs, rng)
    check_magnitude(values, "the inner products of rows of X", least=0.0)
    shares = np.where(labels > 0, 0.5 / max((labels > 0).sum(), 1), 0.5 / max((labels < 0).sum(), 1))
    problem = statistic_problem(
        values, shares, (shares * labels) @ values, penalty=PENALTY / len(labels), bias_statistic=0.0
    )
    weights = minimize_bounded(problem, tol=1e-6, max_iter=500).point.w[: len(depths)]
    if not weights.any():
        return _equal(len(depths), "at no depth are linked documents more alike than others, which cannot teach")
    return weights / weights.sum()


def _values_out_of_fold(
    smoothing: Smoothing, links: Any, depths: Sequence[int], pairs: Pairs, rng: np.random.RandomState
) -> tuple[Array, IntArray]:
    """Kernel values of pairs at all depths, from rows smoothed without the fold of the pair, and the labels."""
    positive = pairs.labels > 0
    weights = np.ones(len(pairs))
    weights[positive] = np.asarray(links[pairs.rows[positive], pairs.cols[positive]]).ravel()
    folds, drawn = rng.randint(N_FOLDS, size=len(pairs)), rng.permutation(len(pairs)) < MAX_PAIRS
    values, labels = [], []
    for fold in range(N_FOLDS):
        kept, left_out = positive & (folds != fold), drawn & (folds == fold)
        others = Pairs(
            pairs.rows[kept], pairs.cols[kept], pairs.labels[kept], n_samples=pairs.n_samples, weights=weights[kept]
        )
        values.append(_kernel_values(smoothing(others.to_sparse()), depths, pairs[left_out]))
        labels.append(pairs.labels[left_out])
    return np.vstack(values), np.concatenate(labels)


def _kernel_values(steps: Iterator[Array], depths: Sequence[int], pairs: Pairs) -> Array:
    """Inner products of the rows of every pair, one column per depth."""
    values = np.empty((len(pairs), len(depths)))
    for t, rows in zip(range(max(depths) + 1), steps, strict=False):
        if t in depths:
            values[:, list(depths).index(t)] = np.einsum("ij,ij->i", rows[pairs.rows], rows[pairs.cols])
    return values


def _equal(count: int, reason: str) -> Array:
    warnings.warn(f"{reason}, so the weights of the depths are equal", stacklevel=5)
    return np.full(count, 1.0 / count)
