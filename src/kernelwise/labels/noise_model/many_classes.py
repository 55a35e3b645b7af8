"""The noise model for three classes or more.

    P(true = k | s) = softmax_k(a s_k + b_k),    P(given = j | s) = sum_k T[k, j] P(true = k | s).

How many labels are wrong is decided with noise of one rate ``e``: a wrong label is any other class, rare classes less
often. That is one number for any number of classes, whose effect is a floor under the probability of every label, also
where the scores are clear. For each ``e`` on a grid, Newton's method finds ``(a, b)``, and the grid zooms in on the
rates of high likelihood. Which classes are taken for which is decided afterwards: row ``k`` of ``T`` has a Dirichlet
prior around the noise that was found, worth :data:`ROWS` labels, and expectation maximisation finds ``(a, b, T)``.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from ..softmax import StandardScores, class_offsets
from .posterior import FLOOR, NoisePosterior

Array = NDArray[np.float64]

#: The rates that are tried first, how many rates around the best one are tried then, and how often.
RATES, N_CLOSER, ZOOMS = np.array([0.003, 0.03, 0.07, 0.12, 0.18, 0.25, 0.32, 0.4, 0.48, 0.56, 0.64]), 7, 2
#: A class is rare if its share times this number is below the share of a class among equal classes.
RARE = 4.0
#: The prior of a row of T is worth this many labels.
ROWS = 30.0
#: Mean and standard deviation of the logarithm of the slope: about the values for true labels on 23 data sets.
SLOPE = (0.57, 0.6)
#: Rounds of Newton's method for one rate, and of expectation maximisation for T.
N_STEPS, N_ROUNDS = 30, 30
CHANGE = 1e-3
#: The transition matrix is found for the rates at these quantiles of the posterior.
QUANTILES = (1 / 6, 1 / 2, 5 / 6)


def fit_many_classes(scores: Array, given: NDArray[np.intp], weight: Array) -> NoisePosterior:
    """Return the posterior over rates, each with its own slope, offsets and transition matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.noise_model.many_classes import fit_many_classes
    >>> true = np.repeat([0, 1, 2], 100)
    >>> given = true.copy()
    >>> given[::5] = (given[::5] + 1) % 3
    >>> posterior = fit_many_classes(np.eye(3)[true], given, np.ones(300))
    >>> bool(abs(posterior.noise_rate - 0.2) < 0.05)
    True
    """
    problem = _Mixture(scores, given, weight)
    rates, logs = problem.explored()
    masses = np.exp(logs - logsumexp(logs))
    settings = [problem.with_confusions(rate) for rate in np.interp(QUANTILES, np.cumsum(masses), rates)]
    slopes, offsets, transitions, shares = (np.stack(part) for part in zip(*settings, strict=True))
    posterior = NoisePosterior(np.full(len(settings), 1 / len(settings)), slopes, offsets, transitions, shares)
    rate = posterior.noise_rate
    error = float(np.sqrt(rate * (1 - rate) / weight.sum()))
    return replace(posterior, counting_error=error, symmetric=(rates, masses))


class _Mixture:
    """Scores with given labels, and the two fits of their noise model."""

    def __init__(self, scores: Array, given: NDArray[np.intp], weight: Array):
        self.standard = StandardScores(scores, weight)
        self.given, self.weight, self.n_classes = given, weight, scores.shape[1]
        # A wrong label is any other class, but a rare class no more often than it is given at all.
        sizes = np.bincount(given, weight, self.n_classes) / weight.sum()
        self.destinations = np.minimum(RARE * self.n_classes * sizes, 1.0)
        self.prior = class_offsets(given, weight, self.n_classes)
        self.slope, self.offsets = float(np.exp(SLOPE[0])), self.prior  # each fit starts from the fit before

    def explored(self) -> tuple[Array, Array]:
        """Return rates around the most likely rate, and the logarithms of their posterior masses."""
        logs = np.array([self.log_likelihood(rate) for rate in RATES])
        best = int(np.argmax(logs))
        low, high = RATES[max(best - 1, 0)], RATES[min(best + 1, len(RATES) - 1)]
        for _ in range(ZOOMS):
            rates = np.linspace(low, high, N_CLOSER)
            logs = np.array([self.log_likelihood(rate) for rate in rates])
            mass = np.exp(logs - logsumexp(logs))
            mean = float(mass @ rates)
            spread, step = float(np.sqrt(mass @ (rates - mean) ** 2)), rates[1] - rates[0]
            if step <= spread:
                break
            reach = 3 * max(spread, step / 2)
            low, high = max(mean - reach, RATES[0]), min(mean + reach, RATES[-1])
        return rates, logs

    def noise(self, rate: float) -> Array:
        """Return the transitions of noise of this rate."""
        others = np.tile(self.destinations, (self.n_classes, 1))
        np.fill_diagonal(others, 0.0)
        return rate * others / others.sum(axis=1, keepdims=True) + (1 - rate) * np.eye(self.n_classes)

    def log_likelihood(self, rate: float) -> float:
        """Return the largest log-posterior of the labels at this rate of noise."""
        T, slope, offsets = self.noise(rate), self.slope, self.offsets
        for _ in range(N_STEPS):
            true = self.true(slope, offsets)
            before = slope
            slope, offsets = self.standard.newton_step(true, self.expected(true, T), slope, offsets, self.prior, SLOPE)
            if abs(slope - before) < CHANGE * before:
                break
        self.slope, self.offsets = slope, offsets
        labels = np.einsum("ik,ik->i", self.true(slope, offsets), T.T[self.given])
        prior = ((np.log(slope) - SLOPE[0]) / SLOPE[1]) ** 2 + np.sum((offsets - self.prior) ** 2)
        return float(self.weight @ np.log(np.maximum(labels, FLOOR**2))) - 0.5 * float(prior)

    def with_confusions(self, rate: float) -> tuple[float, Array, Array, Array]:
        """Return (slope, offsets, transition, class shares) with a transition matrix near noise of this rate."""
        prior = self.noise(rate)
        counted = np.zeros((len(self.given), self.n_classes))
        counted[np.arange(len(self.given)), self.given] = self.weight
        T, slope, offsets = prior, self.slope, self.offsets
        for _ in range(N_ROUNDS):
            true = self.true(slope, offsets)
            expected = self.expected(true, T)
            counts, before = expected.T @ counted, T
            T = (counts + ROWS * prior) / (counts.sum(axis=1, keepdims=True) + ROWS)
            slope, offsets = self.standard.newton_step(true, expected, slope, offsets, self.prior, SLOPE)
            if np.abs(T - before).max() < CHANGE:
                break
        self.slope, self.offsets = slope, offsets
        curve = self.standard.curve(slope, offsets)
        return curve.slope, curve.offsets, T, self.weight @ self.true(slope, offsets) / self.weight.sum()

    def expected(self, true: Array, T: Array) -> Array:
        """Return P(true | s, given label)."""
        found = true * T.T[self.given]
        return found / np.maximum(found.sum(axis=1, keepdims=True), FLOOR**2)

    def true(self, slope: float, offsets: Array) -> Array:
        return softmax(slope * self.standard.values + offsets, axis=1)
