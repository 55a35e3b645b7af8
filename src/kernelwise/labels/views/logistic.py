"""Multinomial logistic regression: the view that sees a linear effect of every column, and sparse text whole.

Penalties are tried from strong to weak, each in five folds, until the loss out of fold rises; a weaker penalty is
slower and fits the wrong labels. The loss is that of the best curve through the scores
(:mod:`kernelwise.labels.softmax`), because a penalty that is too strong only flattens probabilities, and a slope mends
that. The penalties are averaged.
"""

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from ..softmax import SoftmaxCurve, fit_softmax

Array = NDArray[np.float64]

#: Strengths of the fit: the cost C is the strength divided by the mean squared norm of a sample.
STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
N_FOLDS = 5
#: Newton's method ends near enough to the optimum that rounding does not move the scores by more than about 1e-6.
SOLVER: dict[str, Any] = {"solver": "newton-cg", "tol": 1e-6, "max_iter": 100}
#: The logarithm of the probability of a class that a fold does not have.
UNSEEN = -12.0
#: Penalties whose share is smaller are left out; others lose as much, so that none comes in with a jump.
SMALL = 0.05


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

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.views.logistic import logistic_path
    >>> X = np.linspace(-2, 2, 100)[:, None]
    >>> given = (X[:, 0] > 0).astype(int)
    >>> loss = lambda logs: float(-logs[np.arange(100), given].mean())
    >>> scores, scorer = logistic_path(X, given, 2, np.ones(100), np.arange(100) % 5, loss)
    >>> bool((scores.argmax(axis=1) == given).mean() > 0.95), scorer(X[:3]).shape
    (True, (3, 2))
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
