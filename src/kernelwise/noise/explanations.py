"""Classes that overlap, or labels that are wrong near the boundary? Average over both explanations.

The noise model (:mod:`.two_classes`, :mod:`.posterior`) reads the noise rate ``r`` where scores are clear, and explains
doubtful labels in the middle by *overlap* of the classes. *Errors near the boundary* explain the middle as well: then
classes do not overlap, no class has more errors than another at the same score, and every label that differs from the
most probable label is wrong, a share ``q > r`` of all labels. The two explanations give the difference ``b = q - r``
different densities:

=================  =====================================================================================
explanation        density of ``b``
=================  =====================================================================================
overlap            exponential with mean :data:`OVERLAP`: most classes overlap little, some a lot
errors             ``48 b (1/2 - b)`` on [0, 1/2]: a few errors hardly matter, and no label is wrong more often
                   than right; times ``exp(-r / SCARCE)``, since errors of both kinds at once are rarer
=================  =====================================================================================

With even prior odds, the probability of errors follows by Bayes' rule, and beliefs in single labels are averaged with
it. With two classes the shape of P(given | s) is evidence too, because errors have a curve of their own (below). With
more classes nothing tells the two explanations apart: people confuse the classes that overlap. Each explanation then
has probability one half.

All figures come from the posterior of the single labels: the share of wrong labels is the mean of their chances to be
wrong. What is *known* of this share is less: it lies between the smallest share under overlap and the largest share
under errors. Errors that the features explain are in neither: they cannot be seen in labels alone.

The curve of errors near the boundary between two classes: at the boundary ``c`` a label is right or wrong with equal
chance; errors become rarer with the *rank* of the distance:

    P(given = 1 | s) = e + (1 - 2 e) T(s),    T(s) = 1/2 + sign(s - c) F(|s - c|)^g / 2,

where ``F`` is the share of the samples that are nearer to ``c``. A sigmoid with unequal flip rates has plateaus, and
this curve has none. So the curve distinguishes two cases that look alike in unbalanced classes: errors near the
boundary, where the rare class hardly gets beyond one half, and a class that has more errors than the other. Priors:
``e`` uniform on [0, 1/2), ``log g`` uniform around zero, ``c`` as the offset of :mod:`.two_classes`: around the
boundary beyond which lies the share of the labels that were given as class 1, with the variance at slope one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp
from scipy.stats import norm

from .posterior import NoisePosterior, fit_many_classes
from .two_classes import (
    FLOOR,
    LARGEST_RATE,
    N_RATES,
    NODES,
    ODDS,
    THRESHOLD,
    ScoreNodes,
    TwoClassPosterior,
    close_in,
    fit_two_classes,
    grid_points,
    log_volumes,
)

Array = NDArray[np.float64]
#: ``g`` lies between 1 / STEEPEST and STEEPEST. Without ``g`` the audit area near the boundary falls by .007, and wider
#: bounds change nothing (docs/decisions/0013).
STEEPEST = 2.0
#: The logarithm of a slope at which a sigmoid is a step.
LOG_STEEP = np.array(6.0)
#: Points per axis of the grid.
N_SHAPES, N_BOUNDARIES = 5, 41
Posterior = NoisePosterior | TwoClassPosterior
#: The mean of ``b`` if classes overlap: the same as the mean of its density under errors.
OVERLAP = 0.25
#: The rate of other errors at which errors near the boundary become e times rarer: without this, the error of the
#: noise rate rises by .009 (docs/decisions/0013).
SCARCE = 0.15


@dataclass(frozen=True)
class FadingErrors:
    """The curves P(true | s) and P(given | s), averaged over the posterior and tabulated at some scores.

    Parameters
    ----------
    log_evidence : float
        The logarithm of the mean likelihood.
    scores, true, given : arrays of shape (n_points,)
        P(true = 1 | s) and P(given = 1 | s) at scores in increasing order.
    """

    log_evidence: float
    scores: Array
    true: Array
    given: Array

    def probabilities(self, score: Array) -> tuple[Array, Array]:
        """Return P(true | s) and P(given | s), one column per class."""
        curves = [np.interp(score, self.scores, curve) for curve in (self.true, self.given)]
        return np.column_stack([1 - curves[0], curves[0]]), np.column_stack([1 - curves[1], curves[1]])


def fit_fading_errors(score: Array, given: NDArray[np.intp], weight: Array) -> FadingErrors:
    """Return the curves for one out-of-sample score per sample and the given labels 0 and 1."""
    nodes = ScoreNodes.gather(score, given, weight)
    center = float(nodes.offsets_of_share()(LOG_STEEP))
    axes, log_mass = close_in(
        [
            np.linspace(0.0, LARGEST_RATE, N_RATES),
            np.linspace(-np.log(STEEPEST), np.log(STEEPEST), N_SHAPES),
            np.linspace(-2.5, 2.5, N_BOUNDARIES),
        ],
        lambda axes: _evaluate(nodes, center, axes),
    )
    evidence = float(logsumexp(log_mass))
    posterior = np.exp(log_mass - evidence).reshape(len(axes[0]), -1)
    curves = _true(nodes, center, *grid_points(axes[1:]).T)
    true = posterior.sum(axis=0) @ curves
    labels = (axes[0] @ posterior) @ (1 - 2 * curves) + true
    return FadingErrors(evidence, nodes.mean + nodes.spread * NODES, true, labels)


def _true(nodes: ScoreNodes, center: float, log_powers: Array, boundaries: Array) -> Array:
    """Return ``T`` at the nodes, one row per pair of ``log g`` and standard normal ``c``."""
    mass = nodes.counts.sum(axis=0) / nodes.counts.sum()
    below = np.concatenate([[0.0], np.cumsum((mass[1:] + mass[:-1]) / 2)])  # the share of the samples below a node
    c = center + np.hypot(THRESHOLD, ODDS) * boundaries[:, None]
    distance = np.abs(NODES - c)
    nearer = np.interp(c + distance, NODES, below) - np.interp(c - distance, NODES, below)
    return 0.5 + 0.5 * np.sign(NODES - c) * np.clip(nearer, 0.0, 1.0) ** np.exp(log_powers)[:, None]


def _evaluate(nodes: ScoreNodes, center: float, axes: Sequence[Array]) -> tuple[Array, Array]:
    """Return the grid points and the logarithms of likelihood times prior times cell volume."""
    filled = nodes.counts.sum(axis=0) > 0
    points, curves = grid_points(axes), _true(nodes, center, *grid_points(axes[1:]).T)[:, filled]
    found = []
    for rate in axes[0]:
        positive = np.clip(rate + (1 - 2 * rate) * curves, FLOOR, 1 - FLOOR)
        found.append(np.log(positive) @ nodes.counts[1, filled] + np.log1p(-positive) @ nodes.counts[0, filled])
    prior = -0.5 * points[:, 2] ** 2 - 0.5 * np.log(2 * np.pi) - np.log(LARGEST_RATE * 2 * np.log(STEEPEST))
    return points, np.concatenate(found) + prior + log_volumes(axes)


@dataclass(frozen=True)
class ExplainedNoise:
    """The noise under both explanations.

    Parameters
    ----------
    overlap : NoisePosterior or TwoClassPosterior
        The noise if classes overlap.
    boundary_share : float
        The probability that labels are wrong near the boundary instead.
    largest_rate : float
        The share of wrong labels if labels are wrong near the boundary.
    counting_error : float
        The standard error of ``largest_rate``.
    fading : FadingErrors or None
        The curves of errors near the boundary between two classes; None for more classes.
    means : pair of float or None
        The mean chance of the labels to be wrong, if classes overlap and if they do not. The share of wrong labels that
        follows from the posterior of the single labels lies between the two.
    of_rows : pair of pairs of float or None
        How many times as large the share of wrong labels is among rows as among witnesses, and how much
        larger its standard error is since rows of one group err together, for each explanation; None if every row is
        a witness.
    """

    overlap: Posterior
    boundary_share: float
    largest_rate: float
    counting_error: float
    fading: FadingErrors | None = None
    means: tuple[float, float] | None = None
    of_rows: tuple[tuple[float, float], tuple[float, float]] | None = None

    @property
    def explanations(self) -> dict[str, tuple[float, float]]:
        """Where the share of wrong labels lies with 95 % probability under each explanation; its mean is in it."""
        margin = float(norm.ppf(0.975)) * self.counting_error
        overlap = self.overlap.interval(0.95)
        errors = max(self.largest_rate - margin, 0.0), min(self.largest_rate + margin, 1.0)
        if self.means is not None:
            overlap, errors = (
                (min(low, mean), max(high, mean))
                for (low, high), mean in zip((overlap, errors), self.means, strict=True)
            )
        if self.of_rows is not None:
            overlap, errors = (
                (float(np.clip(low * times - 1.96 * error, 0, 1)), float(np.clip(high * times + 1.96 * error, 0, 1)))
                for (low, high), (times, error) in zip((overlap, errors), self.of_rows, strict=True)
            )
        return {"classes overlap": overlap, "classes do not overlap": errors}

    @property
    def interval(self) -> tuple[float, float]:
        """The range of the share of wrong labels over both explanations."""
        lows, highs = zip(*self.explanations.values(), strict=True)
        return min(lows), max(highs)

    def true_probabilities(self, scores: Array) -> Array:
        """Return P(true = k | scores) for samples whose label was not seen."""
        belief, _ = _if_errors(self.overlap, self.fading, scores)
        return _mean(self.overlap.true_probabilities(scores), belief, self.boundary_share)

    def label_posterior(self, scores: Array, given: NDArray[np.intp]) -> Array:
        """Return P(true = k | scores, given label), where the scores come from models that did not see the label."""
        return _mean(*self.label_posteriors(scores, given), self.boundary_share)

    def label_posteriors(self, scores: Array, given: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return P(true = k | scores, given label) under each of the two shapes of P(given | s)."""
        belief, labels = _if_errors(self.overlap, self.fading, scores)
        rows = np.arange(len(given))
        wrong, per_label = _boundary_flips(labels)
        flips = per_label * labels[rows, given][:, None]
        flips[rows, given] = 1 - wrong
        found = belief * flips
        found /= found.sum(axis=1, keepdims=True)
        return self.overlap.label_posterior(scores, given), found


def fit_label_noise(scores: Array, given: NDArray[np.intp], weight: Array | None = None) -> Posterior:
    """Return the posterior of the noise model for out-of-sample scores (one column per class) and the given labels.

    Scores are on a common scale; labels are positions of columns; ``weight`` is how much each counts in the likelihood.
    """
    weight = np.ones(len(scores)) if weight is None else weight
    if scores.shape[1] == 2:
        return fit_two_classes(scores[:, 1] - scores[:, 0], given, weight)
    return fit_many_classes(scores, given, weight)


def explain_label_noise(scores: Array, given: NDArray[np.intp], weight: Array | None = None) -> ExplainedNoise:
    """Fit the noise model, and return both explanations; the parameters are those of :func:`fit_label_noise`."""
    return explained(fit_label_noise(scores, given, weight), scores, given, weight)


def explained(
    overlap: Posterior, scores: Array, given: NDArray[np.intp], weight: Array | None = None
) -> ExplainedNoise:
    """Return both explanations of the labels, where ``overlap`` is the fitted noise model."""
    weight = np.ones(len(scores)) if weight is None else weight
    fading = fit_fading_errors(scores[:, 1] - scores[:, 0], given, weight) if scores.shape[1] == 2 else None
    own = overlap.true_probabilities(scores) @ overlap.transition
    unexplained = float(weight @ (1 - own.max(axis=1)) / weight.sum()) - overlap.noise_rate
    log_ratio = None if fading is None else fading.log_evidence - overlap.log_evidence
    share = 0.5 if log_ratio is None else boundary_share(unexplained, overlap.noise_rate, log_ratio)
    _, labels = _if_errors(overlap, fading, scores)
    labels = _mean(own, labels, share)  # an improbable curve has no influence on the rate
    wrong, _ = _boundary_flips(labels)
    rate = float(weight @ wrong / weight.sum())
    error = float(np.sqrt(rate * (1 - rate) / weight.sum()))
    noise = ExplainedNoise(overlap, share, rate, error, fading)
    first, second = (
        float(weight @ (1 - found[np.arange(len(given)), given]) / weight.sum())
        for found in noise.label_posteriors(scores, given)
    )
    return replace(noise, means=(first, second))


def boundary_share(unexplained: float, rate: float, log_ratio: float) -> float:
    """Return the probability of errors near the boundary, from ``b``, ``r`` and the log-evidence of their curve."""
    b = float(np.clip(unexplained, 0.0, 0.5))
    with np.errstate(divide="ignore"):
        errors, overlap = np.log(48 * b * (0.5 - b)) - rate / SCARCE, -b / OVERLAP - np.log(OVERLAP)
    return float(expit(errors - overlap + log_ratio))


def _mean(first: Array, second: Array, share: float) -> Array:
    return (1 - share) * first + share * second


def _if_errors(overlap: Posterior, fading: FadingErrors | None, scores: Array) -> tuple[Array, Array]:
    """Return P(true | s) and P(given | s) if classes do not overlap.

    For more than two classes, P(true | s) is P(given | s) after errors of one rate for all classes are subtracted.
    """
    if fading is not None:
        belief, labels = fading.probabilities(scores[:, 1] - scores[:, 0])
    else:
        labels = overlap.true_probabilities(scores) @ overlap.transition
        belief = labels - overlap.noise_rate / (labels.shape[1] - 1)
    belief = np.maximum(belief, FLOOR)
    return belief / belief.sum(axis=1, keepdims=True), labels


def _boundary_flips(labels: Array) -> tuple[Array, Array]:
    """Return P(wrong | s), and P(given = j | true = k, s) / P(given = j | s) for every ``k`` other than ``j``.

    ``labels`` are P(given | s). A label is wrong as often as it differs from the most probable label, whatever the true
    label is, and a wrong label is distributed as the given labels at this score.
    """
    wrong = 1 - labels.max(axis=1)
    return wrong, wrong[:, None] / np.maximum(1 - labels, np.finfo(float).tiny)
