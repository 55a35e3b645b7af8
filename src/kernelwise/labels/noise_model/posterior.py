"""How wrong are the labels? A noise model on out-of-sample scores, integrated rather than fitted.

Two classes, score ``s`` and given label: the true label follows the score, and the given one flips it,

    P(true = 1 | s) = sigmoid(a (s - c)),    P(given = 1 | s) = e_0 + (1 - e_0 - e_1) sigmoid(a (s - c)).

The plateaus of ``P(given | s)`` at both ends tell the flip rates ``e_0`` and ``e_1``; its middle tells slope and
threshold. A few hundred labels determine none of them sharply, so everything is averaged over the posterior of
``(e_0, e_1, a, c)`` on a grid that zooms in. Equal rates, ``e_0 = e_1``, are a model of their own that has most
of the prior, so that asymmetric scores are not mistaken for asymmetric noise.

============  ==============================================================================================
``flips``     (e_0, e_1); uniform on [0, 1/2), unequal rates weighed by ``exp(-|e_0 - e_1| / 0.2)``
``slope``     a, in units of the spread of the scores; log-normal prior that depends on the mean rate
              (:data:`SLOPE_MEAN`, :data:`SLOPE_SPREAD`): scores learned from noisier labels say less
``offset``    c, in the same units; the log-odds a c of the classes at a mean score are normal with variance
              :data:`ODDS`^2 + (:data:`THRESHOLD` a)^2: where scores say little, one class may be more probable
              at all scores
============  ==============================================================================================

The priors of slope and offset were fitted to the true labels of the data sets of ``benchmarks/noise``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax
from scipy.stats import norm

Array = NDArray[np.float64]

#: Mean and standard deviation of the logarithm of the slope: the value without noise, and its change per unit of rate.
SLOPE_MEAN, SLOPE_SPREAD = (0.7, -2.1), (1.05, 0.7)
#: Standard deviation of the log-odds of the classes for useless scores, and of the offset for perfect scores.
ODDS, THRESHOLD = 1.2, 0.5
#: Prior weight of equal flip rates, and the scale of the difference of unequal rates.
EQUAL, DIFFERENCE = 0.75, 0.2
#: For single labels, transitions are moved by this share towards symmetric noise of the same rate.
SYMMETRY = 0.8
#: Scores are gathered in this many bins of equal weight before the likelihood is evaluated.
N_BINS = 128
#: Points per axis of the grid.
N_RATES, N_SLOPES, N_OFFSETS = 12, 12, 17
LARGEST_RATE = 0.495
_X = LARGEST_RATE / DIFFERENCE
#: The grid zooms in at most this often, until its steps are no wider than the posterior.
ZOOMS = 3
#: This many settings, evenly spread over the posterior of the noise rate, represent all points of the grid.
N_SETTINGS = 256
#: Grid points whose mass is below this share of the largest mass are left out.
UNLIKELY = 1e-7
#: Rows whose probabilities are averaged over the settings at a time, so that they stay in the cache.
ROWS_AT_ONCE = 512
#: Probabilities of labels have this lower bound, so that one label never outweighs more than a few others.
FLOOR = 1e-4
#: The logarithm of the mean of ``exp(-|e_0 - e_1| / DIFFERENCE)`` over the square of rates.
LOG_NORMALISER = float(np.log(2 * (_X - 1 + np.exp(-_X)) / _X**2))


@dataclass(frozen=True)
class NoisePosterior:
    """Weighted parameter settings of the noise model: ``P(true = k | s) = softmax_k(slope * s_k + offset_k)`` each.

    Scores have one column per class. ``transitions[m, k, j]`` is the probability under setting ``m`` that a label ``k``
    is given as ``j``; ``shares[m]`` are the class proportions under that setting. If the settings are integrated over,
    ``log_evidence`` is the logarithm of the mean likelihood. If they are fitted, ``counting_error`` is the remaining
    standard error of the noise rate, and ``symmetric`` are rates of symmetric noise with their posterior masses.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.noise_model.posterior import fit_label_noise
    >>> score = np.repeat([-1.0, 1.0], 200)
    >>> given = (score > 0).astype(int)
    >>> given[::5] = 1 - given[::5]
    >>> posterior = fit_label_noise(np.column_stack([np.zeros(400), score]), given)
    >>> bool(abs(posterior.noise_rate - 0.2) < 0.05)
    True
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
        lower, higher = interval_of(*self.symmetric, mass, self.counting_error)
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


def interval_of(rates: Array, weights: Array, mass: float, error: float) -> tuple[float, float]:
    """Return the bounds that hold this mass of weighted rates, widened by a normal error of this size."""
    order = np.argsort(rates)
    below = np.cumsum(weights[order])
    tails = (1 - mass) / 2
    low, high = np.minimum(np.searchsorted(below, [tails, 1 - tails]), len(order) - 1)
    margin = float(norm.ppf(1 - tails)) * error
    return max(float(rates[order[low]]) - margin, 0.0), min(float(rates[order[high]]) + margin, 1.0)


def fit_label_noise(scores: Array, given: NDArray[np.intp], weight: Array | None = None) -> NoisePosterior:
    """Return the posterior of the noise model for out-of-sample scores and the given labels.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes)
        Evidence for every class by a model that did not see the sample's label, on a common scale.
    given : array of shape (n_samples,)
        Labels as positions of columns.
    weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.noise_model.posterior import fit_label_noise
    >>> given = np.repeat([0, 1], 100)
    >>> posterior = fit_label_noise(np.column_stack([np.zeros(200), 2.0 * given - 1]), given)
    >>> bool(posterior.noise_rate < 0.02)
    True
    """
    weight = np.ones(len(scores)) if weight is None else weight
    if scores.shape[1] == 2:
        return _fit_two_classes(scores[:, 1] - scores[:, 0], given, weight)
    from .many_classes import fit_many_classes

    return fit_many_classes(scores, given, weight)


def _fit_two_classes(score: Array, given: NDArray[np.intp], weight: Array) -> NoisePosterior:
    mean, spread = mean_and_spread(score, weight)
    binned = BinnedScores.gather((score - mean) / spread, given, weight)
    models = _explore(binned, equal=True), _explore(binned, equal=False)
    logs = np.concatenate([np.log(EQUAL) + models[0][-1], np.log(1 - EQUAL) + models[1][-1]])
    flips, slopes, offsets = (np.concatenate([model[part] for model in models]) for part in range(3))
    evidence, likely = float(logsumexp(logs)), logs >= logs.max() + np.log(UNLIKELY)
    logs, flips, slopes, offsets = logs[likely], flips[likely], slopes[likely], offsets[likely]
    positive = expit(slopes * (binned.centres[:, None] - offsets)).T @ binned.counts.sum(axis=0) / weight.sum()
    rates = flips[:, 0] * (1 - positive) + flips[:, 1] * positive
    drawn = _evenly_drawn(np.exp(logs - logsumexp(logs)), rates)
    flips, slopes, offsets, positive = flips[drawn], slopes[drawn], offsets[drawn], positive[drawn]
    # a ((s - mean) / spread - c) as half of the gap between two columns: softmax([0, u]) has the probability expit(u).
    constant = -slopes * (mean / spread + offsets)
    return NoisePosterior(
        np.full(len(drawn), 1 / len(drawn)),
        slopes / spread,
        np.column_stack([np.zeros_like(constant), constant]),
        np.stack([np.column_stack([1 - flips[:, 0], flips[:, 0]]), np.column_stack([flips[:, 1], 1 - flips[:, 1]])], 1),
        np.column_stack([1 - positive, positive]),
        log_evidence=evidence,
    )


def mean_and_spread(score: Array, weight: Array) -> tuple[float, float]:
    """Return the weighted mean and standard deviation of scores; a standard deviation of zero is returned as 1."""
    mean = float(weight @ score / weight.sum())
    return mean, float(np.sqrt(weight @ (score - mean) ** 2 / weight.sum())) or 1.0


def _evenly_drawn(weights: Array, rates: Array) -> NDArray[np.intp]:
    """Return :data:`N_SETTINGS` positions at even steps of the sorted, weighted rates."""
    order = np.argsort(rates, kind="stable")
    steps = (np.arange(N_SETTINGS) + 0.5) / N_SETTINGS
    return order[np.minimum(np.searchsorted(np.cumsum(weights[order]), steps), len(order) - 1)]


@dataclass(frozen=True)
class BinnedScores:
    """Standardised scores in bins: ``counts[j, b]`` is the weight of label ``j`` in bin ``b``."""

    centres: Array
    counts: Array

    @classmethod
    def gather(cls, score: Array, given: NDArray[np.intp], weight: Array) -> "BinnedScores":
        """Gather scores in :data:`N_BINS` bins of equal weight, or in one bin per score if there are fewer scores."""
        order = np.argsort(score, kind="stable")
        if len(score) <= N_BINS:
            bins = np.arange(len(score))
        else:
            bins = (np.cumsum(weight[order]) / weight.sum() * N_BINS * (1 - 1e-12)).astype(np.intp)
        mass = np.bincount(bins, weight[order])
        filled = mass > 0
        centres = np.bincount(bins, weight[order] * score[order])[filled] / mass[filled]
        counts = [np.bincount(bins, weight[order] * (given[order] == label))[filled] for label in (0, 1)]
        return cls(centres, np.stack(counts))

    def log_likelihood(self, flips: Array, slopes: Array, offsets: Array) -> Array:
        """Return the log-likelihood of every pair of flip rates with each slope and offset of its row."""
        found = np.empty_like(slopes)
        for row, (e_0, e_1) in enumerate(flips):
            positive = e_0 + (1 - e_0 - e_1) * expit(slopes[row] * (self.centres[:, None] - offsets[row]))
            np.clip(positive, FLOOR, 1 - FLOOR, out=positive)
            found[row] = self.counts[1] @ np.log(positive) + self.counts[0] @ np.log1p(-positive)
        return found


def _explore(binned: BinnedScores, *, equal: bool) -> tuple[Array, Array, Array, Array]:
    """Return flip rates, slopes and offsets on a grid that zooms in on the posterior, and their joint log mass."""
    rates = np.linspace(0.0, LARGEST_RATE, N_RATES)
    axes = [rates] if equal else [rates, rates]
    axes += [np.linspace(-2.6, 2.6, N_SLOPES), np.linspace(-2.2, 2.2, N_OFFSETS)]
    points, log_mass = zoom_in(axes, lambda axes: _evaluate(binned, axes, equal))
    flips = points[:, [0, 0]] if equal else points[:, :2]
    return flips, *_slopes_and_offsets(flips, points[:, -2], points[:, -1]), log_mass


def zoom_in(axes: Sequence[Array], evaluate: Callable[[Sequence[Array]], tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the points of a grid around the posterior, and the logarithm of the joint mass at each."""
    limits = [(axis[0], axis[-1]) for axis in axes]
    for _ in range(ZOOMS):
        points, log_mass = evaluate(axes)
        posterior = np.exp(log_mass - logsumexp(log_mass))
        axes, finer = _zoomed(axes, limits, points, posterior)
        if not finer:
            break
    return points, log_mass


def _slopes_and_offsets(flips: Array, slopes: Array, offsets: Array) -> tuple[Array, Array]:
    """Return the slopes and offsets at these flip rates that belong to standard normal variables."""
    rate = flips.mean(axis=-1)
    slopes = np.exp(SLOPE_MEAN[0] + SLOPE_MEAN[1] * rate + (SLOPE_SPREAD[0] + SLOPE_SPREAD[1] * rate) * slopes)
    return slopes, offsets * np.sqrt(THRESHOLD**2 + (ODDS / slopes) ** 2)


def _evaluate(binned: BinnedScores, axes: Sequence[Array], equal: bool) -> tuple[Array, Array]:
    """Return the grid points and the logarithms of likelihood times prior times cell volume."""
    n_flips = 1 if equal else 2
    rates, shape = grid_points(axes[:n_flips]), grid_points(axes[n_flips:])
    flips = rates[:, [0, 0]] if equal else rates
    prior_rates = np.zeros(len(flips)) if equal else -np.abs(flips[:, 0] - flips[:, 1]) / DIFFERENCE - LOG_NORMALISER
    prior_rates -= n_flips * np.log(LARGEST_RATE)
    prior_shape = -0.5 * np.sum(shape**2, axis=1) - np.log(2 * np.pi)
    found = binned.log_likelihood(flips, *_slopes_and_offsets(flips[:, None], *shape.T))
    found += prior_rates[:, None] + prior_shape
    points = np.hstack([np.repeat(rates, len(shape), axis=0), np.tile(shape, (len(rates), 1))])
    return points, found.ravel() + log_volumes(axes)


def log_volumes(axes: Sequence[Array]) -> Array:
    """Return the logarithms of the volumes of the cells around the points of a grid, by the trapezoidal rule."""
    widths = [np.full(len(axis), axis[1] - axis[0]) for axis in axes]
    for width in widths:
        width[[0, -1]] /= 2
    return np.log(grid_points(widths)).sum(axis=1)


def grid_points(axes: Sequence[Array]) -> Array:
    """Return all combinations of the points on the axes, one per row; the last axis runs fastest."""
    return np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)


def _zoomed(
    axes: Sequence[Array], limits: Sequence[tuple[float, float]], points: Array, posterior: Array
) -> tuple[list[Array], bool]:
    """Return axes around the posterior, and whether an axis was too coarse."""
    mean = posterior @ points
    spread = np.sqrt(posterior @ (points - mean) ** 2)
    zoomed, finer = [], False
    for axis, (low, high), center, width in zip(axes, limits, mean, spread, strict=True):
        step = axis[1] - axis[0]
        if step <= 1.5 * width:
            zoomed.append(axis)
            continue
        finer = True
        reach = 3.5 * max(width, step / 4)
        zoomed.append(np.linspace(max(low, center - reach), min(high, center + reach), len(axis)))
    return zoomed, finer
