"""Probabilities from decisions: one slope, fitted to decisions that the model made out of fold.

``P(c | x)`` is the softmax of ``slope * f_c(x)`` (the logistic function of ``slope * f(x)`` for two classes). With a
slope alone the most probable class always is the predicted one; Platt's sigmoid, with its shift, does not promise that.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, softmax

from ..checks import Array, Index
from ..samples import compute, map_rows, power_of_two

#: Decisions are equal where they differ by less than this share of the largest decision on the training samples.
TIE = 2.0**-17


def decision_unit(largest: Any) -> Any:
    """Return a power of two near the largest decision; largest decisions of one, on the margin, have the unit one."""
    return power_of_two(1.5 * np.asarray(largest))


def with_exact_ties(decisions: Array, unit: Any) -> Array:
    """Return decisions with exact ties: a decision near zero is zero, and classes near the highest are as high.

    Decisions that are zero, or equal for two classes, are so up to an error only, and the sign of an error, of rounding
    or of the solver's gap, is no reason to predict a class.
    """
    if decisions.shape[-1] == 1:
        return np.where(np.abs(decisions) < TIE * unit, 0.0, decisions)
    highest = decisions.max(axis=-1, keepdims=True)
    return np.where(highest - decisions < TIE * unit, highest, decisions)


def chosen_classes(decisions: Array) -> Index:
    """Return the position of the class of every row, the first of equals; classes are on the last axis."""
    if decisions.shape[-1] == 1:
        return (decisions[..., 0] > 0).astype(np.intp)
    return decisions.argmax(axis=-1)


def fit_slope(decisions: Array, target: Index, weight: Array) -> float:
    """Return the slope of largest likelihood for decisions (n_samples, n_outputs) and the positions of the classes."""
    spread, total = compute(np.abs(decisions).max(), weight.sum())
    spread = float(spread)
    if spread == 0:
        return 1.0
    # Half a sample of doubt on either side keeps the slope finite where everything is right (Platt, 1999).
    doubt = 1.0 / (float(total) + 2.0)

    def loss(log_slope: float) -> float:
        slope = np.exp(log_slope) / spread
        return -float(weight @ map_rows(decisions, _log_likelihood, target, slope=slope, doubt=doubt))

    found = minimize_scalar(loss, bounds=(-10.0, 10.0), method="bounded", options={"xatol": 1e-9})
    return float(np.exp(found.x) / spread)


def _log_likelihood(decisions: Array, target: Index, *, slope: float, doubt: float) -> Array:
    """Return the log-likelihood of every label, where a share ``doubt`` of each label is spread over all labels."""
    scaled = slope * decisions
    if decisions.shape[1] == 1:
        margin = np.where(target == 1, scaled[:, 0], -scaled[:, 0])
        return (1 - doubt) * log_expit(margin) + doubt * log_expit(-margin)
    log_p = log_softmax(scaled, axis=1)
    return (1 - doubt) * log_p[np.arange(len(target)), target] + doubt * log_p.mean(axis=1)


def class_probabilities(decisions: Array, slope: float) -> Array:
    """Return one row of probabilities per sample."""
    if decisions.shape[1] == 1:
        positive = expit(slope * decisions[:, 0])
        return np.column_stack([expit(-slope * decisions[:, 0]), positive])
    return softmax(slope * decisions, axis=1)
