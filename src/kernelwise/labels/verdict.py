"""What may be said of the share of wrong labels, and why: the diagnostic of an audit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from ..supervision.guarantee import Guarantee, guaranteed_share
from ..supervision.verdicts import Verdicts, strata_of
from .noise_model.explanations import ExplainedNoise

Array = NDArray[np.float64]

#: Below this separability, nothing is known about the noise.
WEAK_SCORES = 0.55
#: A range that is wider than this is not called an answer.
WIDE_RANGE = 0.15
#: What every figure of an audit of labels speaks of.
CLAIM = (
    "Errors that follow a rule in the features are not counted: such an error looks like the truth, and nobody can see "
    "it in the labels alone."
)
#: What a person can do about a wide range.
REMEDY = "Checking a few dozen rows, drawn at random, would settle it."
#: What the figures speak of when checked rows were drawn by a plan.
CHECKED_CLAIM = (
    "The range follows from the rows that were drawn at random and checked; it holds for all errors, whatever the "
    "model believes. The chances of single labels are the model's, calibrated on the checked rows."
)


def guarantee_of(checked: Verdicts | None, labels: Any) -> Guarantee | None:
    """Return the bounds from checked rows; None if no row was drawn at random."""
    if checked is None or not strata_of(checked):
        return None
    return guaranteed_share(labels, checked)


def range_of(
    posterior: ExplainedNoise, rate: float, guarantee: Guarantee | None, error: float = 0.0
) -> tuple[float, float]:
    """Return the range of the share of wrong labels: the guaranteed one, or that over the explanations.

    ``error`` is the standard error of the share if the model learned from a sample of the rows; the range over the
    explanations contains the 95 % interval of this error.
    """
    if guarantee is not None:
        return min(guarantee.low, rate), max(guarantee.high, rate)
    low, high = posterior.interval
    margin = float(norm.ppf(0.975)) * error
    return max(min(low, rate - margin), 0.0), min(max(high, rate + margin), 1.0)


def diagnose(
    posterior: ExplainedNoise,
    rate: float,
    interval: tuple[float, float],
    scores: Array,
    given: NDArray[np.intp],
    n_checked: int = 0,
    guarantee: Guarantee | None = None,
) -> dict[str, Any]:
    """Return the diagnostic: whether the range is an answer, the reason in words, and what it was made from.

    The range is that of the first two explanations. Of errors that follow the features the labels say nothing at all,
    so that any share is possible. Rows that were drawn at random and checked say more: their guarantee is the range.
    """
    present = np.unique(given)
    separability = float(np.mean([_ranking(scores[:, k], given == k) for k in present]))
    width = interval[1] - interval[0]
    shown = f"between {interval[0]:.1%} and {interval[1]:.1%} of the labels are wrong"
    if guarantee is not None:
        reason = str(guarantee)
    elif separability < WEAK_SCORES:
        reason = f"The features hardly tell the given labels apart, so nothing is known about wrong labels. {REMEDY}"
    elif width > WIDE_RANGE:
        reason = (
            f"Classes that overlap and labels that are wrong look alike here: {shown}, without errors that follow a "
            f"rule in the features. {REMEDY}"
        )
    else:
        reason = (
            f"Whether classes overlap or not makes little difference here: {shown}, without errors that follow a rule "
            "in the features."
        )
    if n_checked and guarantee is None:
        reason += f" The {n_checked} checked rows were not drawn at random, so they guarantee nothing about the others."
    unseen = (0.0, 1.0) if guarantee is None else (guarantee.low, guarantee.high)
    return {
        "reliable": bool((separability >= WEAK_SCORES or guarantee is not None) and width <= WIDE_RANGE),
        "reason": reason,
        "claim": CLAIM if guarantee is None else CHECKED_CLAIM,
        "explanations": posterior.explanations | {"errors follow the features": unseen},
        "separability": separability,
        "interval_width": width,
        "least_noise_rate": min(posterior.overlap.noise_rate, rate),
        "largest_noise_rate": max(posterior.largest_rate, rate),
        "boundary_errors": posterior.boundary_share,
    }


def transition_of(probabilities: Array, given: NDArray[np.intp], weight: Array) -> Array:
    """Return P(given | true) from the probabilities of the true classes; a class without samples keeps its label.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.verdict import transition_of
    >>> transition_of(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0, 1]), np.ones(2)).round(2).tolist()
    [[0.67, 0.33], [0.0, 1.0]]
    """
    return conditional(joint_counts(probabilities, given, weight))


def joint_counts(probabilities: Array, given: NDArray[np.intp], weight: Array) -> Array:
    """Return the expected weight of the samples by true class (rows) and given class (columns)."""
    n_classes = probabilities.shape[1]
    joint = np.zeros((n_classes, n_classes))
    for label in range(n_classes):
        rows = given == label
        joint[:, label] = weight[rows] @ probabilities[rows]
    return joint


def conditional(joint: Array) -> Array:
    """Return P(given | true) from the expected weights."""
    joint = joint + np.finfo(float).tiny * np.eye(len(joint))
    return joint / joint.sum(axis=1, keepdims=True)


def _ranking(score: Array, positive: NDArray[np.bool_]) -> float:
    """Return the probability that a positive sample scores higher than a negative sample."""
    from scipy.stats import rankdata

    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    ranks = rankdata(score)[positive].sum()
    return float((ranks - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))
