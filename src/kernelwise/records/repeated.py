r"""Several answers to the same question: disagreement tells how often answers are wrong.

With one answer per pair, pairs that look alike and answers that are wrong explain the same data. With several answers
they do not: people who see a hard pair and know the truth agree, and people who err disagree. With the score
:math:`s_i` of pair i, :math:`n_i^+` answers "the same" and :math:`n_i^-` answers "different", given independently,

.. math::
   P(n_i^+, n_i^-) = \sigma(\alpha s_i + \beta)\, (1 - e_+)^{n_i^+} e_+^{n_i^-}
   + \big(1 - \sigma(\alpha s_i + \beta)\big)\, e_-^{n_i^+} (1 - e_-)^{n_i^-},

where :math:`e_+` is the chance that a pair of one entity is called different, and :math:`e_-` that two entities are
called the same. The posterior of :math:`\log \alpha`, :math:`\beta`, :math:`\operatorname{logit} 2 e_+` and
:math:`\operatorname{logit} 2 e_-` is approximated by a normal distribution around its mode, with a weak normal prior,
and settings are drawn from it.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from ..checks import Array
from ..noise.explanations import ExplainedNoise
from ..noise.posterior import NoisePosterior

#: At least this many pairs must have answers that differ: fewer say little, and copies of one answer never differ.
LEAST_DIFFERING = 10
#: Settings drawn from the posterior.
N_SETTINGS = 256
#: Standard deviation of the prior of each parameter, which only matters where answers say nothing of a parameter.
PRIOR_SPREAD = 3.0
#: Chances have this lower bound, as in the noise model.
FLOOR = 1e-4
#: Step of the differences that give the curvature.
STEP = 1e-3
#: The bounds of the parameters in the search for the mode, and the Newton steps that follow it.
BOUNDS, N_NEWTON = [(-5, 5), (-20, 20), (-12, 12), (-12, 12)], 4


def answers_differ(votes: Array) -> bool:
    """Whether enough pairs have answers of both kinds; ``votes`` are those for -1 and for +1 of every pair."""
    return int((votes.min(axis=0) > 0).sum()) >= LEAST_DIFFERING


def explain_repeated_answers(scores: Array, votes: Array, rng: np.random.RandomState) -> tuple[ExplainedNoise, Array]:
    """Return the noise and the log-odds of "the same"; the parameters are those of :func:`fit_repeated_answers`.

    The second explanation of the noise is that the records decide and the answers do not: every answer that is not the
    more probable one by the records is wrong.
    """
    posterior = fit_repeated_answers(scores, votes, rng)
    prior = posterior.true_probabilities(scores)
    mean = np.maximum(posterior.transitions.mean(axis=0), FLOOR)
    log_odds = logit(np.clip(prior[:, 1], FLOOR, 1 - FLOOR)) + np.log(mean[1] / mean[0]) @ votes
    against = float(np.where(prior[:, 1] >= 0.5, votes[0], votes[1]).sum() / votes.sum())
    error = float(np.sqrt(against * (1 - against) / votes.sum()))
    return ExplainedNoise(posterior, 0.0, against, error), log_odds


def fit_repeated_answers(scores: Array, votes: Array, rng: np.random.RandomState) -> NoisePosterior:
    """Return settings of the noise model from log-probabilities of -1 and +1, and from votes of the same shape."""
    score = scores[:, 1] - scores[:, 0]
    mean, spread = float(score.mean()), float(score.std()) or 1.0
    standard = (score - mean) / spread

    def loss(point: Array) -> tuple[float, Array]:
        """The negative logarithm of the posterior, and its gradient."""
        slope, offset = np.exp(point[0]), point[1]
        called_different, called_same = flips = 0.5 * expit(point[2:])
        odds = slope * standard + offset
        if_same = log_expit(odds) + votes[1] * np.log1p(-called_different) + votes[0] * np.log(called_different)
        if_different = log_expit(-odds) + votes[1] * np.log(called_same) + votes[0] * np.log1p(-called_same)
        total = np.logaddexp(if_same, if_different)
        same = np.exp(if_same - total)
        wrong = np.array([same @ votes[0], (1.0 - same) @ votes[1]])
        right = np.array([same @ votes[1], (1.0 - same) @ votes[0]])
        by_odds = expit(odds) - same
        by_flips = flips * (1.0 - 2.0 * flips) * (right / (1.0 - flips) - wrong / flips)
        gradient = np.array([slope * (by_odds @ standard), by_odds.sum(), *by_flips])
        value = -float(total.sum()) + 0.5 * float(((point / PRIOR_SPREAD) ** 2).sum())
        return value, gradient + point / PRIOR_SPREAD**2

    answered_same = votes[1].sum() / votes.sum()
    start = np.array([0.0, np.log(answered_same / (1 - answered_same)), -1.0, -1.0])
    mode = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=BOUNDS).x
    for _ in range(N_NEWTON):
        mode = np.clip(mode - np.linalg.solve(_curvature(loss, mode), loss(mode)[1]), *np.transpose(BOUNDS))
    values, vectors = np.linalg.eigh(_curvature(loss, mode))
    # The symmetric root: unlike the eigenvectors, it has no free signs, so that one draw is one setting everywhere.
    deviations = (vectors / np.sqrt(values)) @ vectors.T
    points = mode + rng.normal(size=(N_SETTINGS, len(mode))) @ deviations
    slopes, offsets = np.exp(points[:, 0]), points[:, 1]
    flips = 0.5 * expit(points[:, 2:])  # of pairs that are the same, and of pairs that differ
    kept = 1.0 - flips
    same = expit(slopes[:, None] * standard + offsets[:, None]).mean(axis=1)
    constant = offsets - slopes * mean / spread
    return NoisePosterior(
        np.full(N_SETTINGS, 1.0 / N_SETTINGS),
        slopes / spread,
        np.column_stack([np.zeros(N_SETTINGS), constant]),
        np.stack([np.column_stack([kept[:, 1], flips[:, 1]]), np.column_stack([flips[:, 0], kept[:, 0]])], axis=1),
        np.column_stack([1 - same, same]),
    )


def _curvature(loss: Callable[[Array], tuple[float, Array]], point: Array) -> Array:
    """Return the matrix of second derivatives, by central differences of the gradient; at least that of the prior."""
    steps = STEP * np.eye(len(point))
    found = np.stack([(loss(point + step)[1] - loss(point - step)[1]) / (2 * STEP) for step in steps])
    values, vectors = np.linalg.eigh((found + found.T) / 2)
    return (vectors * np.maximum(values, PRIOR_SPREAD**-2)) @ vectors.T
