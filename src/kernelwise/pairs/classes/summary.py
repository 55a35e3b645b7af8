"""What may be said of pairs and classes after a search: chances, rates with intervals, and words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...supervision import PairNoise, Pairs
from .search import ClassFit, Found

Array = NDArray[np.float64]
Interval = tuple[float, float]

#: Intervals reach this many standard errors beyond the estimates.
MARGIN = 2.0


def quality_of(same: Array, pairs: Pairs) -> Array:
    """The chance that each label is right, from the chance that each pair shares a class."""
    return np.clip(np.where(pairs.labels > 0, same, 1.0 - same), 0.0, 1.0)


def noise_of(quality: Array, pairs: Pairs) -> PairNoise:
    """The noise as means of the chances of single pairs; a kind of pairs that is missing counts as right."""
    kinds = [pairs.labels == label for label in (1, -1)]
    precisions = [
        float(np.average(quality[kind], weights=pairs.weights[kind])) if kind.any() else 1.0 for kind in kinds
    ]
    share = float(np.average(kinds[0], weights=pairs.weights))
    prior = share * precisions[0] + (1.0 - share) * (1.0 - precisions[1])
    return PairNoise(min(max(prior, 0.0), 1.0), precisions[0], precisions[1])


def rate_errors(fit: ClassFit) -> Array:
    """Standard errors of both rates, from the curvature of the likelihood of the labels."""
    evidence, (split, joined), same = fit.evidence, fit.rates, fit.same
    slopes = np.column_stack(
        [
            same * (evidence.minus / split - evidence.plus / (1.0 - split)),
            (1.0 - same) * (evidence.plus / joined - evidence.minus / (1.0 - joined)),
        ]
    )
    information = slopes.T @ slopes + np.eye(2)  # as if one more pair had been seen
    return np.sqrt(np.diag(np.linalg.inv(information)))


def rate_intervals(found: Found) -> list[Interval]:
    """Intervals of both rates.

    The upper ends reach two standard errors beyond the largest rate of all candidates that tell held-out labels as well
    as the best one. Classes that are partly wrong make rates too large and never too small, so that the lower ends
    reach further: by how far the answers change when pairs are left out, and, where the classes are clusters of the
    features alone, the further the less these clusters explain the labels.
    """
    best = found.best
    likely = [
        fit
        for fit, told in zip(found.candidates, found.held_out, strict=True)
        if (loss := found.held_out[best] - told).sum() <= MARGIN * np.sqrt(np.sum(loss**2))
    ]
    fit, errors = found.fit, [rate_errors(one) for one in likely]
    lows = np.min([np.array(one.rates) - MARGIN * error for one, error in zip(likely, errors, strict=True)], axis=0)
    highs = np.max([np.array(one.rates) + MARGIN * error for one, error in zip(likely, errors, strict=True)], axis=0)
    if found.ignores_pairs:
        lows = lows * (1.0 - sum(fit.rates))
    else:
        change = np.abs(found.held_same[best] - fit.apart)
        weights = fit.same, 1.0 - fit.same
        lows = lows - np.array([float(np.average(change, weights=weight)) for weight in weights])
    return [(float(low), float(high)) for low, high in zip(np.clip(lows, 0, 1), np.clip(highs, 0, 1), strict=True)]
