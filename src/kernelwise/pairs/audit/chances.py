"""From scores of pairs to chances that they share a class."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from ...supervision import Pairs

Array = NDArray[np.float64]


def soft_logistic(score: Array, target: Array, weights: Array) -> Array:
    r"""Probabilities :math:`\sigma(a l + b)`, a >= 0, nearest in cross-entropy to soft targets; their means agree."""

    def objective(parameters: Array) -> tuple[float, Array]:
        slope, shift = parameters
        fitted = slope * score + shift
        loss = -weights @ (target * log_expit(fitted) + (1.0 - target) * log_expit(-fitted))
        error = weights * (expit(fitted) - target)
        return float(loss), np.array([error @ score, error.sum()])

    fit = minimize(objective, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(0.0, 20.0), (-20.0, 20.0)])
    return expit(fit.x[0] * score + fit.x[1])


def standardised(score: Array) -> Array:
    """Scores with mean zero and unit variance; equal scores become zeros."""
    return (score - score.mean()) / max(float(score.std()), 1e-12)


def add_context(score: Array, links: Pairs) -> Array:
    r"""Scores of links, with what the other links of both ends look like.

    A sample between classes has many wrong links. Let c be the mean over both ends of the (shrunken) mean score of
    their other links: what is added is the score that c predicts by linear regression, nothing if they do not agree.
    """
    deviation = standardised(score)
    ends = np.concatenate([links.rows, links.cols])
    totals = np.bincount(ends, weights=np.tile(deviation, 2), minlength=links.n_samples)
    counts = np.bincount(ends, minlength=links.n_samples)
    others = [(totals[end] - deviation) / counts[end] for end in (links.rows, links.cols)]
    context = (others[0] + others[1]) / 2.0
    if context.std() < 1e-12:
        return deviation
    slope = float(np.mean((context - context.mean()) * deviation) / context.var())
    return deviation + max(slope, 0.0) * context
