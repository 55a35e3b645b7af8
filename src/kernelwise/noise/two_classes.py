"""The noise model for two classes, integrated on a grid.

For the score ``s`` of a sample and its given label, the true label follows the score, and the given label flips it,

    P(true = 1 | s) = sigmoid(a (s - c)),    P(given = 1 | s) = e_0 + (1 - e_0 - e_1) sigmoid(a (s - c)).

The plateaus of ``P(given | s)`` at both ends tell the flip rates ``e_0`` and ``e_1``; its middle tells slope and
threshold. A few hundred labels determine none of them sharply, so everything is averaged over the posterior of
``(e_0, e_1, a, c)``. Equal rates, ``e_0 = e_1``, are a model of their own that has most of the prior, so that
asymmetric scores are not mistaken for asymmetric noise.

============  ==============================================================================================
``flips``     (e_0, e_1); uniform on [0, 1/2), unequal rates weighed by ``exp(-|e_0 - e_1| / 0.2)``
``slope``     a, in units of the spread of the scores; log-normal prior that depends on the mean rate
              (:data:`SLOPE_MEAN`, :data:`SLOPE_SPREAD`): scores learned from noisier labels say less
``offset``    c, in the same units; normal around the offset at which the model's share of the class is the share of
              the labels that were given as it, so that a rare class stays rare, with the variance
              :data:`THRESHOLD`^2 + (:data:`ODDS` / a)^2: where scores say little, the log-odds vary
============  ==============================================================================================

The priors of slope and offset were fitted to the true labels of the data sets of ``benchmarks/noise``.

Every step is continuous in the scores. A score counts at the two nearest of some fixed nodes, in proportion to its
nearness; the grid moves towards the posterior a fixed number of times; and the averages are tabulated at the nodes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp
from scipy.stats import norm

Array = NDArray[np.float64]
#: Probabilities of labels have this lower bound, so that one label never outweighs more than a few others.
FLOOR = 1e-4
#: Mean and standard deviation of the logarithm of the slope: the value without noise, and its change per unit of rate;
#: the line through what ``python -m benchmarks.noise truth`` prints.
SLOPE_MEAN, SLOPE_SPREAD = (0.7, -2.1), (1.05, 0.7)
#: Standard deviation of the log-odds of the classes for useless scores, and of the offset for perfect scores: one unit,
#: and half a spread; with a whole spread fewer ranges hold the truth (docs/decisions/0013).
ODDS, THRESHOLD = 1.0, 0.5
#: Prior weight of equal flip rates, and the scale of the difference of unequal rates. Less weight is better at unequal
#: rates and worse near the boundary, by as much (docs/decisions/0013).
EQUAL, DIFFERENCE = 0.75, 0.2
#: The nodes are ``sinh(t)`` for these ``t``: .04 spreads apart in the middle, and up to 74 spreads away from it.
NODES = np.sinh(np.arange(-120, 121) / 24)
#: The averages are tabulated at this many nodes beyond the scores.
BEYOND = 24
#: Points per axis of the grid.
N_RATES, N_SLOPES, N_OFFSETS = 12, 12, 17
LARGEST_RATE = 0.495
_X = LARGEST_RATE / DIFFERENCE
#: The logarithm of the mean of ``exp(-|e_0 - e_1| / DIFFERENCE)`` over the square of rates.
LOG_NORMALISER = float(np.log(2 * (_X - 1 + np.exp(-_X)) / _X**2))
#: The grid is laid this often: over the whole prior first, then over :data:`REACH` deviations of the posterior.
N_GRIDS, REACH = 3, 3.5
#: Grid points whose mass is below this share of the largest mass are left out.
UNLIKELY = 1e-7
#: Logarithms of slopes at which the centre of the prior of the offset is tabulated.
LOG_SLOPES = np.linspace(-7.0, 6.0, 66)


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


@dataclass(frozen=True)
class TwoClassPosterior:
    """The noise model, averaged over its posterior and tabulated at some scores ``s = scores[:, 1] - scores[:, 0]``.

    Parameters
    ----------
    scores : array of shape (n_nodes,)
    belief : array of shape (n_nodes,)
        The log-odds of P(true = 1 | s) at these scores.
    by_label : array of shape (2, n_nodes)
        The log-odds of P(true = 1 | s, given label).
    weights, rates, widths : arrays of shape (n_points,)
        Points of the grid: their mass, the share of wrong labels, and the width of their cell in this share.
    right : array of shape (n_points, 2)
        The share of right labels among those that were given as each class, under every point of the grid.
    transition : array of shape (2, 2)
        The mean of P(given | true): rows are true classes, columns given ones.
    log_evidence : float
        The logarithm of the mean likelihood.
    """

    scores: Array
    belief: Array
    by_label: Array
    weights: Array
    rates: Array
    widths: Array
    right: Array
    transition: Array
    log_evidence: float

    @property
    def noise_rate(self) -> float:
        """The posterior mean of the share of wrong labels."""
        return float(self.weights @ self.rates)

    def interval(self, mass: float = 0.9) -> tuple[float, float]:
        """Return the bounds that the share of wrong labels lies between with this probability."""
        return interval_of(self.rates, self.weights, mass, 0.0, self.widths)

    def true_probabilities(self, scores: Array) -> Array:
        """Return P(true = k | scores) for samples whose label was not seen."""
        return _both(np.interp(scores[:, 1] - scores[:, 0], self.scores, self.belief))

    def label_posterior(self, scores: Array, given: NDArray[np.intp]) -> Array:
        """Return P(true = k | scores, given label), by scores of models that did not see the given label."""
        score = scores[:, 1] - scores[:, 0]
        logits = [np.interp(score, self.scores, curve) for curve in self.by_label]
        return _both(np.where(given == 1, logits[1], logits[0]))


def _both(log_odds: Array) -> Array:
    return np.column_stack([expit(-log_odds), expit(log_odds)])


def fit_two_classes(score: Array, given: NDArray[np.intp], weight: Array) -> TwoClassPosterior:
    """Return the posterior for one out-of-sample score per sample and the given labels 0 and 1."""
    nodes = ScoreNodes.gather(score, given, weight)
    models = _explore(nodes, equal=True), _explore(nodes, equal=False)
    logs = np.concatenate([np.log(EQUAL) + models[0].log_mass, np.log(1 - EQUAL) + models[1].log_mass])
    flips, slopes, offsets, steps = (
        np.concatenate([getattr(model, part) for model in models]) for part in ("flips", "slopes", "offsets", "steps")
    )
    evidence, likely = float(logsumexp(logs)), logs >= logs.max() + np.log(UNLIKELY)
    flips, slopes, offsets, steps = flips[likely], slopes[likely], offsets[likely], steps[likely]
    weights = np.exp(logs[likely] - logsumexp(logs[likely]))
    filled = np.flatnonzero(nodes.counts.sum(axis=0))
    near = slice(max(filled[0] - BEYOND, 0), filled[-1] + BEYOND + 1)
    odds, counts = slopes[:, None] * (NODES[near] - offsets[:, None]), nodes.counts[:, near]
    true, mass = expit(odds), counts.sum(axis=0) / counts.sum()
    positive = true @ mass
    rates = flips[:, 0] * (1 - positive) + flips[:, 1] * positive
    wrong = np.clip(flips, FLOOR, 1 - FLOOR)
    # The evidence of a label 0 or 1 for the true label 1.
    shifts = np.log(np.stack([wrong[:, 1] / (1 - wrong[:, 0]), (1 - wrong[:, 1]) / wrong[:, 0]]))
    found = [expit(odds + shift[:, None]) for shift in shifts]
    sizes = np.maximum(counts.sum(axis=1), np.finfo(float).tiny)
    right = np.column_stack([(1 - found[0]) @ counts[0] / sizes[0], found[1] @ counts[1] / sizes[1]])
    e_0, e_1 = weights @ flips
    return TwoClassPosterior(
        nodes.mean + nodes.spread * NODES[near],
        _log_odds(weights @ true),
        np.stack([_log_odds(weights @ curve) for curve in found]),
        weights,
        rates,
        steps[:, 0] * (1 - positive) + steps[:, 1] * positive,
        right,
        np.array([[1 - e_0, e_0], [e_1, 1 - e_1]]),
        evidence,
    )


def _log_odds(chances: Array) -> Array:
    return logit(np.clip(chances, 1e-15, 1 - 1e-15))


@dataclass(frozen=True)
class ScoreNodes:
    """Standardised scores at the nodes: ``counts[j, b]`` is the weight of label ``j`` at node ``b``."""

    mean: float
    spread: float
    counts: Array

    @classmethod
    def gather(cls, score: Array, given: NDArray[np.intp], weight: Array) -> "ScoreNodes":
        """Standardise the scores; each counts at the two nearest nodes, so that its position is kept in the mean."""
        mean, spread = mean_and_spread(score, weight)
        standard = np.clip((score - mean) / spread, NODES[0], NODES[-1])
        place = np.interp(standard, NODES, np.arange(len(NODES), dtype=np.float64))
        left = np.minimum(place.astype(np.intp), len(NODES) - 2)
        counts = np.zeros((2, len(NODES)))
        np.add.at(counts, (given, left), weight * (left + 1 - place))
        np.add.at(counts, (given, left + 1), weight * (place - left))
        return cls(mean, spread, counts)

    def offsets_of_share(self) -> Callable[[Array], Array]:
        """Return the function of the logarithm of the slope: the offset at which class 1 has the share it was given."""
        mass, share = self.counts.sum(axis=0) / self.counts.sum(), self.counts[1].sum() / self.counts.sum()
        filled, slopes = mass > 0, np.exp(LOG_SLOPES)
        nodes, mass = NODES[filled], mass[filled]
        low, high = nodes[0] - 40 / slopes, nodes[-1] + 40 / slopes
        for _ in range(60):
            middle = (low + high) / 2
            above = expit(slopes[:, None] * (nodes - middle[:, None])) @ mass > share
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return lambda logs: np.interp(logs, LOG_SLOPES, (low + high) / 2 * slopes) / np.exp(logs)

    def log_likelihood(self, flips: Array, slopes: Array, offsets: Array) -> Array:
        """Return the log-likelihood of every pair of flip rates with each slope and offset of its row."""
        filled = self.counts.sum(axis=0) > 0
        places, counts = NODES[filled, None], self.counts[:, filled]
        found = np.empty_like(slopes)
        for row, (e_0, e_1) in enumerate(flips):
            positive = e_0 + (1 - e_0 - e_1) * expit(slopes[row] * (places - offsets[row]))
            np.clip(positive, FLOOR, 1 - FLOOR, out=positive)
            found[row] = counts[1] @ np.log(positive) + counts[0] @ np.log1p(-positive)
        return found


def slopes_and_offsets(flips: Array, shape: Array, of_share: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Return the slopes and offsets for every pair of flip rates (rows) and of standard normal variables (columns)."""
    rate = flips.mean(axis=1)[:, None]
    logs = SLOPE_MEAN[0] + SLOPE_MEAN[1] * rate + (SLOPE_SPREAD[0] + SLOPE_SPREAD[1] * rate) * shape[:, 0]
    offsets = of_share(logs) + shape[:, 1] * np.sqrt(THRESHOLD**2 + (ODDS / np.exp(logs)) ** 2)
    return np.exp(logs), offsets


def mean_and_spread(score: Array, weight: Array) -> tuple[float, float]:
    """Return the weighted mean and standard deviation of scores; a standard deviation of zero is returned as 1."""
    mean = float(weight @ score / weight.sum())
    return mean, float(np.sqrt(weight @ (score - mean) ** 2 / weight.sum())) or 1.0


@dataclass(frozen=True)
class _Explored:
    """Points of a grid around the posterior, the logarithm of their joint mass, and their cells in each flip rate."""

    flips: Array
    slopes: Array
    offsets: Array
    steps: Array
    log_mass: Array


def _explore(nodes: ScoreNodes, *, equal: bool) -> _Explored:
    """Evaluate likelihood times prior on the last of some grids that close in on the posterior."""
    n_flips, of_share = (1 if equal else 2), nodes.offsets_of_share()

    def parts(axes: Sequence[Array]) -> tuple[Array, Array, Array, Array]:
        rates, shape = grid_points(axes[:n_flips]), grid_points(axes[n_flips:])
        flips = rates[:, [0, 0]] if equal else rates
        return flips, shape, *slopes_and_offsets(flips, shape, of_share)

    def evaluate(axes: Sequence[Array]) -> tuple[Array, Array]:
        flips, shape, slopes, offsets = parts(axes)
        prior = np.zeros(len(flips)) if equal else -np.abs(flips[:, 0] - flips[:, 1]) / DIFFERENCE - LOG_NORMALISER
        prior -= n_flips * np.log(LARGEST_RATE)
        found = prior[:, None] - 0.5 * np.sum(shape**2, axis=1) - np.log(2 * np.pi)
        found += nodes.log_likelihood(flips, slopes, offsets)
        points = np.hstack([np.repeat(flips[:, :n_flips], len(shape), axis=0), np.tile(shape, (len(flips), 1))])
        return points, found.ravel() + log_volumes(axes)

    rates = np.linspace(0.0, LARGEST_RATE, N_RATES)
    axes, log_mass = close_in(
        [rates] * n_flips + [np.linspace(-2.6, 2.6, N_SLOPES), np.linspace(-2.2, 2.2, N_OFFSETS)], evaluate
    )
    flips, shape, slopes, offsets = parts(axes)
    steps = np.array([axis[1] - axis[0] for axis in axes[:n_flips]])
    return _Explored(
        np.repeat(flips, len(shape), axis=0),
        slopes.ravel(),
        offsets.ravel(),
        np.broadcast_to(steps, (slopes.size, 2)),
        log_mass,
    )


def close_in(
    axes: Sequence[Array], evaluate: Callable[[Sequence[Array]], tuple[Array, Array]]
) -> tuple[list[Array], Array]:
    """Return the axes of the last of :data:`N_GRIDS` grids, and the logarithms of the joint masses of its points.

    ``evaluate`` returns the points of a grid and their logarithmic masses. Every next axis reaches :data:`REACH`
    standard deviations of the posterior to both sides of its mean, and stays within the first axis. A quarter of a step
    is the least deviation that a grid can see.
    """
    first, current = list(axes), list(axes)
    points, log_mass = evaluate(current)
    for _ in range(N_GRIDS - 1):
        posterior = np.exp(log_mass - logsumexp(log_mass))
        mean = posterior @ points
        spread = np.sqrt(posterior @ (points - mean) ** 2)
        for j, (whole, axis) in enumerate(zip(first, current, strict=True)):
            reach = REACH * max(spread[j], (axis[1] - axis[0]) / 4)
            current[j] = np.linspace(max(whole[0], mean[j] - reach), min(whole[-1], mean[j] + reach), len(axis))
        points, log_mass = evaluate(current)
    return current, log_mass


def log_volumes(axes: Sequence[Array]) -> Array:
    """Return the logarithms of the volumes of the cells around the points of a grid, by the trapezoidal rule."""
    widths = [np.full(len(axis), axis[1] - axis[0]) for axis in axes]
    for width in widths:
        width[[0, -1]] /= 2
    return np.log(grid_points(widths)).sum(axis=1)


def grid_points(axes: Sequence[Array]) -> Array:
    """Return all combinations of the points on the axes, one per row; the last axis runs fastest."""
    return np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
