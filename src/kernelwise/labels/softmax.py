r"""Scores on the scale of probabilities: ``P(k | s) = softmax_k(slope * s_k + offset_k)``.

Views of different kinds give scores on different scales. One slope and one offset per class, fitted to labels, bring
all of them to the same scale. The noise model uses the same curve for the true classes, with expected labels as
targets.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

Array = NDArray[np.float64]

#: The logarithm of the standardised slope lies between these values.
LOG_SLOPES = (float(np.log(1e-3)), float(np.log(200.0)))
#: Precision of the normal prior of every offset around the logarithm of the size of the class.
OFFSET_PRECISION = 1.0
#: Newton's method stops when no parameter changes by more than this, or after this many steps.
CHANGE, N_STEPS = 1e-9, 100


@dataclass(frozen=True)
class SoftmaxCurve:
    """The curve ``softmax(slope * s + offsets)`` for scores with one column per class.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.softmax import SoftmaxCurve
    >>> SoftmaxCurve(2.0, np.zeros(2))(np.array([[0.0, 0.0]])).round(3).tolist()
    [[-0.693, -0.693]]
    """

    slope: float
    offsets: Array

    def __call__(self, scores: Array) -> Array:
        """Return the logarithms of the probabilities."""
        return log_softmax(self.slope * scores + self.offsets, axis=1)


class StandardScores:
    """Scores around their mean in units of their spread, so that slopes of all views are comparable."""

    def __init__(self, scores: Array, weight: Array):
        self.weight = weight
        self.center = weight @ scores / weight.sum()
        centred = scores - self.center
        self.spread = float(np.sqrt(weight @ (centred**2).mean(axis=1) / weight.sum())) or 1.0
        self.values = centred / self.spread

    def curve(self, slope: float, offsets: Array) -> SoftmaxCurve:
        """Return the curve of the original scores that belongs to this slope and these offsets."""
        slope = slope / self.spread
        return SoftmaxCurve(slope, offsets - slope * self.center)

    def true(self, slope: float, offsets: Array) -> Array:
        """Return the probabilities ``p_ik`` of the classes at this slope and these offsets."""
        return softmax(slope * self.values + offsets, axis=1)


def fit_curve(
    standard: StandardScores, chances: Array, start: Array, prior: Array, slope_prior: tuple[float, float]
) -> tuple[Array, float]:
    r"""Return the most probable ``(log slope, offsets)``, and the logarithm of their posterior density but a constant.

    With :math:`p_{ik}` the probability of class ``k`` for sample ``i`` and ``chances[i, k]`` the chance of the given
    label if ``k`` is true, Newton's method maximises

    .. math:: \sum_i w_i \log \sum_k p_{ik} \, \text{chances}_{ik} - \frac{(\log a - m)^2}{2 s^2}
              - \frac{1}{2} \lVert b - \text{prior} \rVert^2.

    The second derivative by the logits of a sample is the covariance of the class under ``q``, the posterior given the
    label, minus the covariance under ``p``. A step that does not improve the sum is halved.
    """
    values, weight, (mean, deviation) = standard.values, standard.weight, slope_prior

    def evaluate(point: Array) -> tuple[float, Array, Array]:
        p = standard.true(float(np.exp(point[0])), point[1:])
        joint = p * chances
        own = np.maximum(joint.sum(axis=1), np.finfo(float).tiny)
        away = point[1:] - prior
        value = weight @ np.log(own) - 0.5 * ((point[0] - mean) / deviation) ** 2
        return float(value - 0.5 * OFFSET_PRECISION * (away @ away)), p, joint / own[:, None]

    point = np.array(start, dtype=np.float64)
    value, p, q = evaluate(point)
    for _ in range(N_STEPS):
        slope = float(np.exp(point[0]))
        excess = weight[:, None] * (q - p)
        pull = float(np.einsum("ik,ik->", excess, values))
        gradient = np.concatenate(
            [
                [slope * pull - (point[0] - mean) / deviation**2],
                excess.sum(axis=0) - OFFSET_PRECISION * (point[1:] - prior),
            ]
        )
        curvature = _covariance(p, values, weight, slope) - _covariance(q, values, weight, slope)
        curvature[0, 0] += 1 / deviation**2 - slope * pull
        curvature[1:, 1:] += OFFSET_PRECISION * np.eye(len(prior))
        held = (point[0] <= LOG_SLOPES[0] and gradient[0] < 0) or (point[0] >= LOG_SLOPES[1] and gradient[0] > 0)
        if held:
            gradient[0] = curvature[0, 1:] = curvature[1:, 0] = 0.0
            curvature[0, 0] = 1.0
        sizes, vectors = np.linalg.eigh(curvature)
        step = vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(sizes), 1e-3 * np.abs(sizes).max()))
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        for _ in range(40):
            trial = point + step
            trial[0] = np.clip(trial[0], *LOG_SLOPES)
            found = evaluate(trial)
            if found[0] >= value:
                break
            step /= 2
        else:  # rounding: no step improves the sum
            break
        change = float(np.abs(trial - point).max())
        point, (value, p, q) = trial, found
        if change <= CHANGE:
            break
    return point, value


def _covariance(chances: Array, values: Array, weight: Array, slope: float) -> Array:
    """Return the weighted sum of the covariances of ``(slope * value, indicator)`` of a class with these chances."""
    weighted = weight[:, None] * chances
    mean = np.einsum("ik,ik->i", chances, values)
    found = np.empty((chances.shape[1] + 1, chances.shape[1] + 1))
    found[0, 0] = slope**2 * (np.einsum("ik,ik,ik->", weighted, values, values) - weight @ mean**2)
    found[0, 1:] = found[1:, 0] = slope * (np.einsum("ik,ik->k", weighted, values) - mean @ weighted)
    found[1:, 1:] = np.diag(weighted.sum(axis=0)) - chances.T @ weighted
    return found


def class_offsets(given: NDArray[np.intp], weight: Array, n_classes: int) -> Array:
    """Return the centred logarithms of the sizes of the classes: the offsets of scores that say nothing."""
    offsets = np.log(np.bincount(given, weight, n_classes) + 1.0)
    return offsets - offsets.mean()


def fit_softmax(scores: Array, given: NDArray[np.intp], weight: Array) -> SoftmaxCurve:
    """Return the curve under which the given labels are most probable.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.softmax import fit_softmax
    >>> score = np.repeat([-1.0, 1.0], 50)
    >>> given = np.where(np.arange(100) % 10 == 0, score < 0, score > 0).astype(int)
    >>> curve = fit_softmax(np.column_stack([np.zeros(100), score]), given, np.ones(100))
    >>> bool(abs(np.exp(curve(np.array([[0.0, 1.0]]))[0, 1]) - 0.9) < 0.02)
    True
    """
    standard, n_classes = StandardScores(scores, weight), scores.shape[1]
    prior = class_offsets(given, weight, n_classes)
    start = np.concatenate([[0.0], prior])
    point, _ = fit_curve(standard, np.eye(n_classes)[given], start, prior, (0.0, 10.0))
    return standard.curve(float(np.exp(point[0])), point[1:])
