"""What may be said of pairs and classes after a search: chances, rates with intervals, and words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...supervision import PairNoise, Pairs
from .evidence import PairEvidence
from .search import NO_GAIN, ClassFit, Found

Array = NDArray[np.float64]
Interval = tuple[float, float]

#: Intervals reach this many standard errors beyond the estimates.
MARGIN = 2.0
#: Noise is called reliable if no interval is wider than this.
WIDE_INTERVAL = 0.25


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
        if (loss := found.held_out[best] - told).sum() <= MARGIN * np.sqrt(np.sum(loss**2)) + NO_GAIN
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


def noise_intervals(found: Found, noise: PairNoise, share: float) -> dict[str, Interval]:
    """Intervals of all figures of the noise; ``share`` is the fraction of the pairs that are given as +1.

    Wrong labels among the pairs given as +1 are those of different classes that were joined, so that an interval of
    the rate b is one of the precision: (1 - d_+) share = b (1 - prior), and likewise for the other kind.
    """
    split, joined = rate_intervals(found)
    prior = noise.prior
    wrong = [
        tuple(min(end * part / max(whole, 1e-12), 1.0) for end in ends)
        for ends, part, whole in ((joined, 1.0 - prior, share), (split, prior, 1.0 - share))
    ]
    estimates = (noise.precision_positive, noise.precision_negative)
    precise = [
        (min(1.0 - high, estimate), max(1.0 - low, estimate))
        for (low, high), estimate in zip(wrong, estimates, strict=True)
    ]
    ends = [share * low[0] + (1.0 - share) * (1.0 - low[1]) for low in zip(*_mixed(precise), strict=True)]
    rates = noise.flip_rates
    return {
        "prior": (float(min(ends)), float(max(ends))),
        "precision_positive": precise[0],
        "precision_negative": precise[1],
        "flipped_positive": (min(split[0], rates[0]), max(split[1], rates[0])),
        "flipped_negative": (min(joined[0], rates[1]), max(joined[1], rates[1])),
    }


def _mixed(precise: list[Interval]) -> tuple[Interval, Interval]:
    """The least of one precision with the largest of the other, and the other way round."""
    (low_pos, high_pos), (low_neg, high_neg) = precise
    return (low_pos, high_pos), (high_neg, low_neg)


def words_about_sample(found: Found, given: PairEvidence) -> dict[str, str]:
    """How many samples and pairs the classes were learned from, where these were not all."""
    learned = found.fit.evidence
    if learned.n_samples == given.n_samples:
        return {}
    return {
        "sample": (
            f"The classes were learned from {learned.n_samples:,} of {given.n_samples:,} samples and from "
            f"{learned.n_pairs:,} of {given.n_pairs:,} distinct pairs. The features judged all other samples, and all "
            "pairs corrected the samples that occur in pairs."
        )
    }


def words_about(found: Found, intervals: dict[str, Interval]) -> dict[str, Any]:
    """Whether pairs and features help, in words and in bits."""
    fit = found.fit
    n_pairs, n_samples = fit.evidence.n_pairs, len(fit.belief)
    reference = found.best if found.best_alone is None else found.best_alone
    gain = (found.held_out[found.best] - found.held_out[reference]) / np.log(2.0)
    mean, error = (float(gain.mean()), float(gain.std() / np.sqrt(n_pairs))) if n_pairs else (0.0, 0.0)
    bits = fit.told_by_features / np.log(2.0) / n_samples
    widest = max((high - low for low, high in intervals.values()), default=1.0)
    has_features = found.best_alone is not None
    if not n_pairs:
        pairs = "There are no pairs: the clusters are those of the features."
    elif not has_features:
        pairs = "There are no features: the pairs alone tell the classes."
    elif len(found.candidates) == 1:
        pairs = f"{n_pairs} pairs are too few to learn classes from; they correct single samples only."
    elif found.ignores_pairs:
        pairs = (
            "The pairs do not change the classes: classes that are learned from features and pairs tell no more of "
            "pairs that were held out than clusters of the features do. So the clusters are those of the features, "
            "which the pairs correct for single samples only."
        )
    else:
        pairs = (
            f"The pairs help: they tell {mean:.3f} bits (standard error {error:.3f}) more of each held-out pair than "
            "clusters of the features do."
        )
    features = (
        f"The features tell {bits:.2f} bits of the class of a sample, by a fit to the other samples."
        if has_features
        else "There are no features."
    )
    return {
        "pairs": pairs,
        "features": features,
        "gain": mean,
        "gain_error": error,
        "feature_bits": float(bits),
        "reliable": bool(n_pairs and widest <= WIDE_INTERVAL),
    }
