"""Scores on the scale of probabilities: ``P(k | s) = softmax_k(slope * s_k + offset_k)``.

Base models of different kinds give scores on different scales. One slope and one offset per class, fitted to labels,
bring all of them to the same scale. The noise model uses the same curve for the true classes, with expected labels as
targets.

The logistic regression is the base model that sees a linear effect of every column, and sparse text whole. Penalties
are tried from strong to weak, each in five folds, until the loss out of fold rises; a weaker penalty is slower and fits
the wrong labels. The loss is that of the best curve through the scores, because a penalty that is too strong only
flattens probabilities, and a slope mends that. The penalties are averaged."""

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

Array = NDArray[np.float64]
#: The logarithm of the standardised slope lies between these values.
LOG_SLOPES = (float(np.log(1e-3)), float(np.log(200.0)))
#: Precision of the normal prior of every offset around the logarithm of the size of the class.
OFFSET_PRECISION = 1.0
#: Newton's method stops when no parameter changes by more than this, or after this many steps.
CHANGE, N_STEPS = 1e-9, 100
#: Strengths of the fit: the cost C is the strength divided by the mean squared norm of a sample.
STRENGTHS = (0.1, 1.0, 10.0)
N_FOLDS = 5
#: Newton's method ends near enough to the optimum that rounding does not move the scores by more than about 1e-6.
SOLVER: dict[str, Any] = {"solver": "newton-cg", "tol": 1e-6, "max_iter": 100}
#: The logarithm of the probability of a class that a fold does not have.
UNSEEN = -12.0
#: Penalties whose share is smaller are left out; others lose as much, so that none comes in with a jump.
SMALL = 0.05


@dataclass(frozen=True)
class SoftmaxCurve:
    """The curve ``softmax(slope * s + offsets)`` for scores with one column per class."""

    slope: float
    offsets: Array

    def __call__(self, scores: Array) -> Array:
        """Return the logarithms of the probabilities."""
        return log_softmax(self.slope * scores + self.offsets, axis=1)


class StandardScores:
    """Scores around their mean in units of their spread, so that slopes of all base models are comparable."""

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
    >>> from kernelwise.scoring.logistic import fit_softmax
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


@dataclass(frozen=True)
class LogisticScorer:
    """The weighted sum of the calibrated log-probabilities of several fits."""

    models: list[LogisticRegression]
    curves: list[SoftmaxCurve]
    shares: Array

    def __call__(self, X: Any) -> Array:
        parts = zip(self.shares, self.models, self.curves, strict=True)
        n_classes = len(self.curves[0].offsets)
        return sum((share * curve(_scores(model, X, n_classes)) for share, model, curve in parts), np.zeros(1))


def logistic_path(
    X: Any,
    given: NDArray[np.intp],
    n_classes: int,
    weight: Array,
    fold: NDArray[np.intp],
    loss_of: Callable[[Array], float],
) -> tuple[Array, LogisticScorer]:
    """Return scores out of fold (n_samples, n_classes), and a function that scores new samples.

    ``fold`` is the fold of each sample, and ``loss_of`` the mean loss of log-probabilities of the given labels.
    """
    size = float(X.multiply(X).sum() if hasattr(X, "multiply") else np.vdot(X, X)) / X.shape[0] or 1.0
    splits = [(np.flatnonzero(fold == k), np.flatnonzero(fold != k)) for k in np.unique(fold)]
    splits = [(left_out, kept) for left_out, kept in splits if len(np.unique(given[kept])) > 1]
    model = LogisticRegression(**SOLVER, warm_start=True)
    n_seen = len(np.unique(given))
    path, losses = [], []
    for strength in STRENGTHS:
        model = _fit(model, strength / size, X, given, weight, np.arange(X.shape[0]))
        scores = np.zeros((X.shape[0], n_classes))
        for left_out, kept in splits:  # a fold starts where the fit to all samples ended
            whole = len(np.unique(given[kept])) == n_seen
            start = model if whole else LogisticRegression(**SOLVER)
            scores[left_out] = _scores(_fit(start, strength / size, X, given, weight, kept), X[left_out], n_classes)
        curve = fit_softmax(scores, given, weight)
        path.append((model, curve, curve(scores)))
        losses.append(loss_of(path[-1][2]))
        if losses[-1] > min(losses):
            break
    shares = np.exp(-weight.sum() * (np.array(losses) - min(losses)))
    shares = np.maximum(shares - SMALL, 0.0)
    shares /= shares.sum()
    used = [(share, *point) for share, point in zip(shares, path, strict=True) if share]
    models, curves = [model for _, model, _, _ in used], [curve for _, _, curve, _ in used]
    return sum(share * logs for share, _, _, logs in used), LogisticScorer(models, curves, shares[shares > 0])


def _fit(
    start: LogisticRegression, cost: float, X: Any, given: NDArray[np.intp], weight: Array, rows: NDArray[np.intp]
) -> LogisticRegression:
    """Return a new model, fitted to some rows from the coefficients of another."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the loss out of fold says whether a fit is good enough
        return copy(start).set_params(C=cost).fit(X[rows], given[rows], weight[rows])


def _scores(model: LogisticRegression, X: Any, n_classes: int) -> Array:
    """Return log-probabilities with one column per class; a class that the model did not see has a small one."""
    scores = np.full((X.shape[0], n_classes), UNSEEN)
    chances = model.predict_proba(X)
    scores[:, model.classes_] = np.log(np.maximum(chances, np.exp(UNSEEN)))
    return scores
