"""How wrong are the labels? Settings of a noise model on out-of-sample scores, with their weights.

Under every setting the true label follows the scores, and the given label follows the true one,

    P(true = k | s) = softmax_k(slope s_k + offset_k),    P(given = j | s) = sum_k T[k, j] P(true = k | s).

The posterior of the settings comes from :mod:`.many_classes` (three classes or more) or from several answers to the
same question. Two classes have a posterior of their own, :mod:`.two_classes`, with the same methods.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from scipy.stats import norm

Array = NDArray[np.float64]

#: For single labels, transitions are moved by this share towards symmetric noise of the same rate.
SYMMETRY = 0.8
#: Rows whose probabilities are averaged over the settings at a time, so that they stay in the cache.
ROWS_AT_ONCE = 512
#: Probabilities of labels have this lower bound, so that one label never outweighs more than a few others.
FLOOR = 1e-4


@dataclass(frozen=True)
class NoisePosterior:
    """Weighted parameter settings of the noise model: ``P(true = k | s) = softmax_k(slope * s_k + offset_k)`` each.

    Scores have one column per class. ``transitions[m, k, j]`` is the probability under setting ``m`` that a label ``k``
    is given as ``j``; ``shares[m]`` are the class proportions under that setting. All settings have the same weight.
    ``counting_error`` is the remaining standard error of the noise rate, ``log_evidence`` the logarithm of the mean
    likelihood where it is known, and ``symmetric`` are evenly spaced rates of symmetric noise with their masses.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.noise_model.posterior import NoisePosterior
    >>> flips = np.array([[[0.8, 0.2], [0.2, 0.8]]])
    >>> posterior = NoisePosterior(np.ones(1), np.ones(1), np.zeros((1, 2)), flips, np.array([[0.5, 0.5]]))
    >>> round(posterior.noise_rate, 3), posterior.true_probabilities(np.array([[0.0, 0.0]])).tolist()
    (0.2, [[0.5, 0.5]])
    """

    weights: Array
    slopes: Array
    offsets: Array
    transitions: Array
    shares: Array
    counting_error: float = 0.0
    log_evidence: float = 0.0
    symmetric: tuple[Array, Array] | None = None

    @property
    def rates(self) -> Array:
        """The share of wrong labels under every setting."""
        kept = np.einsum("mkk->mk", self.transitions)
        return np.einsum("mk,mk->m", self.shares, 1 - kept)

    @property
    def noise_rate(self) -> float:
        """The posterior mean of the share of wrong labels."""
        return float(self.weights @ self.rates)

    def interval(self, mass: float = 0.9) -> tuple[float, float]:
        """Return the bounds that the share of wrong labels lies between with this probability."""
        low, high = interval_of(self.rates, self.weights, mass, self.counting_error)
        if self.symmetric is None:
            return low, high
        rates, masses = self.symmetric
        widths = np.full(len(rates), rates[1] - rates[0])
        lower, higher = interval_of(rates, masses, mass, self.counting_error, widths)
        return min(low, lower), max(high, higher)

    @property
    def transition(self) -> Array:
        """The posterior mean of P(given | true): rows are true classes, columns given ones."""
        return np.einsum("m,mkj->kj", self.weights, self.transitions)

    def true_probabilities(self, scores: Array) -> Array:
        """Return P(true = k | scores) for samples whose label was not seen."""
        return self._averaged(scores, None)

    def label_posterior(self, scores: Array, given: NDArray[np.intp]) -> Array:
        """Return P(true = k | scores, given label), where the scores come from models that did not see the given label.

        Transitions are moved towards symmetric noise of the same rate (:data:`SYMMETRY`): a class that seems free of
        errors may still have errors near the boundary.
        """
        return self._averaged(scores, given)

    @property
    def _symmetrised(self) -> Array:
        n_classes = self.transitions.shape[1]
        off = np.repeat(np.maximum(self.rates, FLOOR)[:, None, None] / (n_classes - 1), n_classes, axis=1)
        symmetric = off + np.eye(n_classes) * (1 - n_classes * off)
        return (1 - SYMMETRY) * self.transitions + SYMMETRY * symmetric

    def _averaged(self, scores: Array, given: NDArray[np.intp] | None) -> Array:
        if scores.shape[1] == 2:
            return self._averaged_over_two(scores[:, 1] - scores[:, 0], given)
        total = np.zeros_like(scores, dtype=np.float64)
        for weight, slope, offset, transition in zip(
            self.weights, self.slopes, self.offsets, self._symmetrised, strict=True
        ):
            true = softmax(slope * scores + offset, axis=1)
            if given is not None:
                true *= np.maximum(transition[:, given].T, FLOOR)
                true /= true.sum(axis=1, keepdims=True)
            total += weight * true
        return total

    def _averaged_over_two(self, score: Array, given: NDArray[np.intp] | None) -> Array:
        """Average over the settings of two classes: a label adds the logarithm of its odds to the log-odds."""
        shifts = (self.offsets[:, 1] - self.offsets[:, 0])[None]
        if given is not None:
            chances = np.log(np.maximum(self._symmetrised, FLOOR))
            shifts = shifts + (chances[:, 1] - chances[:, 0]).T
        found = np.empty(len(score))
        for start in range(0, len(score), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            shift = shifts if given is None else shifts[given[rows]]
            found[rows] = expit(score[rows, None] * self.slopes + shift) @ self.weights
        return np.column_stack([self.weights.sum() - found, found])


def interval_of(
    values: Array, weights: Array, mass: float, error: float, widths: Array | None = None
) -> tuple[float, float]:
    """Return the bounds that hold this mass of weighted shares, widened by a normal error of this size.

    With ``widths``, the weight of each share is spread evenly over a cell of this width around it, within [0, 1]: so
    the bounds are continuous in the weights. The weight of a share of zero stays at zero. Without ``widths``, all
    weights have to be equal, and the bounds are values.
    """
    tails = (1 - mass) / 2
    margin = float(norm.ppf(1 - tails)) * error if error else 0.0
    if widths is None:
        order = np.argsort(values)
        below = np.cumsum(weights[order])
        low, high = values[order[np.minimum(np.searchsorted(below, [tails, 1 - tails]), len(order) - 1)]]
    else:
        inner = (values > 0) & (values < 1)
        lows, highs = np.maximum(values - widths / 2, 0.0)[inner], np.minimum(values + widths / 2, 1.0)[inner]
        density = weights[inner] / np.maximum(highs - lows, np.finfo(float).tiny)
        knots = np.concatenate([lows, highs])
        order = np.argsort(knots)
        knots = np.concatenate([[0.0], knots[order], [1.0]])
        slopes = np.concatenate([[0.0], np.cumsum(np.concatenate([density, -density])[order]), [0.0]])
        below = weights[values <= 0].sum() + np.cumsum(np.concatenate([[0.0], slopes[:-1] * np.diff(knots)]))
        low, high = np.interp([tails, 1 - tails], np.maximum.accumulate(below), knots)
        low = 0.0 if below[0] >= tails else low
    return max(float(low) - margin, 0.0), min(float(high) + margin, 1.0)
