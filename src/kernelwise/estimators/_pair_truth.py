r"""From scores of pairs and their given labels to the truth.

The given label is a noisy copy of the true one, and the score tells of the truth alone:

.. math:: \Pr(\hat Y = + \mid l) = e_- + (1 - e_+ - e_-)\, g(l), \qquad g(l) = \Pr(Y = + \mid l) = \sigma(a (l - c)),

with :math:`e_y` the chance that a pair of true label y is given the other one. Where the score is high, the chance of a
given + levels off at :math:`1 - e_+`, where it is low, at :math:`e_-`: that shows the noise without any checked pair.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from ..supervision import Pairs

Array = NDArray[np.float64]

#: Prior of both flip rates, Beta(1 + these): weak, and against rates of one half.
RATE_PRIOR = (0.2, 2.0)
#: Parameters drawn around the best ones, and how much worse than these they may be: half the 95 % point of chi-square.
N_DRAWS = 300
LARGEST_LOSS = 1.92


class NoiseModel(NamedTuple):
    """The parameters (logit e_-, logit e_+, log a, c), and others that are as good up to what 95 % intervals allow."""

    point: Array
    others: Array

    @property
    def rates(self) -> tuple[float, float]:
        """e_- and e_+."""
        return float(expit(self.point[0])), float(expit(self.point[1]))

    def truth(self, score: Array, n_positive: Array, n_negative: Array, parameters: Array | None = None) -> Array:
        """Pr(Y = + | score, given labels), with the numbers of times a pair was given as + and as -."""
        a, b, slope, centre = self.point if parameters is None else parameters
        # Log-odds of the truth: of the score, and log (1 - e_+) / e_- or log e_+ / (1 - e_-) for each given label.
        odds = np.exp(slope) * (score - centre)
        odds = odds + n_positive * (log_expit(-b) - log_expit(a)) + n_negative * (log_expit(b) - log_expit(-a))
        return expit(odds)


def fit_noise_model(score: Array, labels: NDArray[np.int64], weights: Array, rng: np.random.RandomState) -> NoiseModel:
    """Maximum of the penalised likelihood, and draws by its curvature that are nearly as likely."""
    weights = weights / weights.mean()
    starts = [[-2.0, -2.0, slope, centre] for slope in (0.0, 1.5) for centre in (-0.5, 0.5)]

    def objective(parameters: Array) -> float:
        return _negative_log_posterior(parameters, score, labels, weights)

    bounds = [(-8.0, -0.1), (-8.0, -0.1), (-3.0, 4.0), (-4.0, 4.0)]
    fits = [minimize(objective, start, method="L-BFGS-B", bounds=bounds) for start in starts]
    point = min(fits, key=lambda fit: fit.fun).x
    values, vectors = np.linalg.eigh(_hessian(objective, point))
    spread = vectors / np.sqrt(np.maximum(values, 1.0))
    draws = point + rng.standard_normal((N_DRAWS, 4)) @ spread.T
    low, high = np.array(bounds).T
    draws, best = np.clip(draws, low, high), objective(point)
    likely = [draw for draw in draws if objective(draw) <= best + LARGEST_LOSS]
    return NoiseModel(point, np.array([point, *likely]))


def _negative_log_posterior(parameters: Array, score: Array, labels: NDArray[np.int64], weights: Array) -> float:
    low, high = expit(parameters[0]), 1.0 - expit(parameters[1])
    chance = low + (high - low) * expit(np.exp(parameters[2]) * (score - parameters[3]))
    chance = np.clip(chance, 1e-12, 1.0 - 1e-12)
    prior = sum(RATE_PRIOR[0] * log_expit(logit) + RATE_PRIOR[1] * log_expit(-logit) for logit in parameters[:2])
    return float(-weights @ np.where(labels > 0, np.log(chance), np.log1p(-chance)) - prior)


def _hessian(function: Callable[[Array], float], point: Array, step: float = 1e-3) -> Array:
    """Second differences."""
    size = len(point)
    unit = step * np.eye(size)
    hessian = np.zeros((size, size))
    for i in range(size):
        for j in range(i, size):
            corners = [function(point + s * unit[i] + t * unit[j]) for s in (1, -1) for t in (1, -1)]
            hessian[i, j] = hessian[j, i] = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * step**2)
    return hessian


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


def add_context(score: Array, links: Pairs) -> Array:
    r"""Scores of links, with what the other links of both ends look like.

    A sample between classes has many wrong links. Let c be the mean over both ends of the (shrunken) mean score of
    their other links: what is added is the score that c predicts by linear regression, nothing if they do not agree.
    """
    deviation = (score - score.mean()) / max(float(score.std()), 1e-12)
    ends = np.concatenate([links.rows, links.cols])
    totals = np.bincount(ends, weights=np.tile(deviation, 2), minlength=links.n_samples)
    counts = np.bincount(ends, minlength=links.n_samples)
    others = [(totals[end] - deviation) / counts[end] for end in (links.rows, links.cols)]
    context = (others[0] + others[1]) / 2.0
    if context.std() < 1e-12:
        return deviation
    slope = float(np.mean((context - context.mean()) * deviation) / context.var())
    return deviation + max(slope, 0.0) * context
