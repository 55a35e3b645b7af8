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

#: The standardised slope lies between these values.
SLOPES = (1e-3, 200.0)
#: Precision of the normal prior of every offset around the logarithm of the size of the class.
OFFSET_PRECISION = 1.0
#: Newton's method stops after this many steps, or if the slope changes by less than this share of itself.
N_STEPS, CHANGE = 30, 1e-3


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

    def newton_step(
        self, true: Array, target: Array, slope: float, offsets: Array, prior: Array, slope_prior: tuple[float, float]
    ) -> tuple[float, Array]:
        """Make one damped Newton step of the penalised log-likelihood of ``target``, for the slope and the offsets.

        ``true`` are the probabilities at the present slope and offsets, ``target`` the labels or expected labels;
        ``prior`` are the offsets that are expected, and ``slope_prior`` mean and standard deviation of the log-slope.
        """
        scores, weight = self.values, self.weight
        excess = weight[:, None] * (target - true)
        mean = np.einsum("ik,ik->i", true, scores)
        center, width = slope_prior
        pull = (np.log(slope) - center) / (width**2 * slope)
        curvature = weight @ (np.einsum("ik,ik,ik->i", true, scores, scores) - mean**2) + 1 / (width * slope) ** 2
        step = (float(np.einsum("ik,ik->", excess, scores)) - pull) / curvature
        weighted = weight[:, None] * true
        hessian = np.diag(weighted.sum(axis=0)) - true.T @ weighted + OFFSET_PRECISION * np.eye(len(offsets))
        offsets = offsets + np.linalg.solve(hessian, excess.sum(axis=0) - OFFSET_PRECISION * (offsets - prior))
        return float(np.clip(slope + np.clip(step, -slope / 2, slope), *SLOPES)), offsets


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
    target, slope = np.eye(n_classes)[given], 1.0
    prior = offsets = class_offsets(given, weight, n_classes)
    for _ in range(N_STEPS):
        true = softmax(slope * standard.values + offsets, axis=1)
        before = slope
        slope, offsets = standard.newton_step(true, target, slope, offsets, prior, (0.0, 10.0))
        if abs(slope - before) < CHANGE * before:
            break
    return standard.curve(slope, offsets)
