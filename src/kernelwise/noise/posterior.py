"""The noise model for three classes or more: settings of its parameters, with their weights.

Under every setting the true label follows the scores, and the given label follows the true one,

    P(true = k | s) = softmax_k(slope s_k + offset_k),    P(given = j | s) = sum_k T[k, j] P(true = k | s).

Two classes have a posterior of their own, :mod:`.two_classes`, with the same methods.

How many labels are wrong is decided with noise of one rate ``e``: a wrong label is any other class, rare classes less
often. That is one number for any number of classes, whose effect is a floor under the probability of every label, also
where the scores are clear. For each ``e`` of a few, Newton's method finds ``(a, b)``; the logarithm of the posterior is
interpolated between them, and a few more lie around the likely rates. Which classes are taken for which is decided
afterwards, at the mean rate: row ``k`` of ``T`` has a Dirichlet prior around the noise that was found, worth
:data:`ROWS` labels, and expectation maximisation finds ``(a, b, T)``.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.special import logsumexp, softmax

from ..scoring.logistic import StandardScores, class_offsets, fit_curve
from .two_classes import FLOOR, interval_of

Array = NDArray[np.float64]
#: The rates that are tried first, and how many rates around the likely ones are tried then.
RATES, N_CLOSER = np.array([0.003, 0.03, 0.07, 0.12, 0.18, 0.25, 0.32, 0.4, 0.48, 0.56, 0.64]), 7
#: The posterior is interpolated at this many rates, and the next rates reach this many of its deviations.
N_FINE, REACH = 201, 3.5
#: The prior of a row of T is worth this many labels. With 10 the error of the rate rises by .010, and with symmetric
#: noise alone the audit area falls by .003 (docs/decisions/0013).
ROWS = 30.0
#: For single labels, transitions are moved by this share towards symmetric noise of the same rate: a class that seems
#: free of errors may have some near the boundary. Without this the audit area falls by .002 (docs/decisions/0013).
SYMMETRY = 0.8
#: Mean and standard deviation of the logarithm of the slope, as for true labels: ``python -m benchmarks.noise truth``.
SLOPE = (0.57, 0.6)
#: Expectation maximisation for T stops when no entry changes by more than this, or after this many rounds.
CHANGE, N_ROUNDS = 1e-5, 60


@dataclass(frozen=True)
class NoisePosterior:
    """Weighted parameter settings of the noise model: ``P(true = k | s) = softmax_k(slope * s_k + offset_k)`` each.

    Scores have one column per class. ``transitions[m, k, j]`` is the probability under setting ``m`` that a label ``k``
    is given as ``j``; ``shares[m]`` are the class proportions under that setting. ``counting_error`` is the remaining
    standard error of the noise rate, ``log_evidence`` the logarithm of the mean likelihood where it is known, and
    ``symmetric`` are evenly spaced rates of symmetric noise with their masses.
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
        """Return P(true = k | scores, given label), by scores of models that did not see the given label."""
        return self._averaged(scores, given)

    @property
    def _symmetrised(self) -> Array:
        n_classes = self.transitions.shape[1]
        off = np.repeat(np.maximum(self.rates, FLOOR)[:, None, None] / (n_classes - 1), n_classes, axis=1)
        symmetric = off + np.eye(n_classes) * (1 - n_classes * off)
        return (1 - SYMMETRY) * self.transitions + SYMMETRY * symmetric

    def _averaged(self, scores: Array, given: NDArray[np.intp] | None) -> Array:
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


def fit_many_classes(scores: Array, given: NDArray[np.intp], weight: Array) -> NoisePosterior:
    """Return the setting at the mean rate, with its own transition matrix, and the posterior over rates."""
    problem = _Mixture(scores, given, weight)
    rates, masses = problem.explored()
    slope, offsets, transition, shares = problem.with_confusions(float(masses @ rates))
    posterior = NoisePosterior(np.ones(1), np.array([slope]), offsets[None], transition[None], shares[None])
    rate = posterior.noise_rate
    error = float(np.sqrt(rate * (1 - rate) / weight.sum()))
    return replace(posterior, counting_error=error, symmetric=(rates, masses))


class _Mixture:
    """Scores with given labels, and the two fits of their noise model."""

    def __init__(self, scores: Array, given: NDArray[np.intp], weight: Array):
        self.standard = StandardScores(scores, weight)
        self.given, self.weight, self.n_classes = given, weight, scores.shape[1]
        # A wrong label is any other class, but a class that is rarer than the mean only as often as it is given.
        self.destinations = np.minimum(np.bincount(given, weight, self.n_classes) / weight.sum() * self.n_classes, 1.0)
        self.prior = class_offsets(given, weight, self.n_classes)
        self.point = np.concatenate([[SLOPE[0]], self.prior])  # each fit starts from the fit before

    def explored(self) -> tuple[Array, Array]:
        """Return evenly spaced rates around the likely ones, and their posterior masses."""
        rates, masses = self._masses(RATES)
        mean = float(masses @ rates)
        spread = float(np.sqrt(masses @ (rates - mean) ** 2))
        reach = max(REACH * spread, float(np.diff(RATES).max()))
        return self._masses(np.linspace(max(mean - reach, RATES[0]), min(mean + reach, RATES[-1]), N_CLOSER))

    def _masses(self, tried: Array) -> tuple[Array, Array]:
        """Return evenly spaced rates between those that are tried, and their posterior masses."""
        curve = PchipInterpolator(tried, [self.log_likelihood(rate) for rate in tried])
        rates = np.linspace(tried[0], tried[-1], N_FINE)
        logs = curve(rates)
        return rates, np.exp(logs - logsumexp(logs))

    def noise(self, rate: float) -> Array:
        """Return the transitions of noise of this rate."""
        others = np.tile(self.destinations, (self.n_classes, 1))
        np.fill_diagonal(others, 0.0)
        return rate * others / others.sum(axis=1, keepdims=True) + (1 - rate) * np.eye(self.n_classes)

    def log_likelihood(self, rate: float) -> float:
        """Return the largest log-posterior of the labels at this rate of noise."""
        chances = np.maximum(self.noise(rate).T[self.given], FLOOR**2)
        self.point, value = fit_curve(self.standard, chances, self.point, self.prior, SLOPE)
        return value

    def with_confusions(self, rate: float) -> tuple[float, Array, Array, Array]:
        """Return (slope, offsets, transition, class shares) with a transition matrix near noise of this rate."""
        prior, point = self.noise(rate), self.point
        counted = np.zeros((len(self.given), self.n_classes))
        counted[np.arange(len(self.given)), self.given] = self.weight
        T = prior
        for _ in range(N_ROUNDS):
            chances = T.T[self.given]
            point, _ = fit_curve(self.standard, np.maximum(chances, FLOOR**2), point, self.prior, SLOPE)
            true = self.standard.true(float(np.exp(point[0])), point[1:])
            expected = true * chances
            expected /= np.maximum(expected.sum(axis=1, keepdims=True), FLOOR**2)
            counts, before = expected.T @ counted, T
            T = (counts + ROWS * prior) / (counts.sum(axis=1, keepdims=True) + ROWS)
            if np.abs(T - before).max() < CHANGE:
                break
        curve = self.standard.curve(float(np.exp(point[0])), point[1:])
        return curve.slope, curve.offsets, T, self.weight @ true / self.weight.sum()
