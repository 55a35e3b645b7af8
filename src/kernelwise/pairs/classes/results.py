"""From fits of several numbers of classes to one answer: the number, chances, rates with intervals, and words.

Numbers of classes get a few short runs each. Then, from the largest number down, two classes of the best fit are merged
at a time: this mends runs that took two classes for one and split another class, and it costs little.

A number is *likely* if its fit predicts the labels as well as the best fit up to some standard errors. The fewest of
the likely classes are the number that is reported, and an average over the likely fits scores single pairs better than
any one of them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import silhouette_score

from ...checks import Array
from ...progress import Tell, silent
from ...statements import PairNoise, Pairs
from ...ties import first_best
from .evidence import PairEvidence
from .features import ClassFeatures, NoFeatures
from .search import COUNTED, N_SHORT, NO_GAIN, WITHOUT_FEATURES, ClassFit, ClassSearch, Found, merged

Interval = tuple[float, float]


#: The largest number of classes that is tried; a class needs this many samples in the mean.
MOST_CLASSES, LEAST_MEMBERS = 60, 6
#: The search ends when this many larger numbers in turn tell the labels worse than the best number.
ENOUGH = 3
#: For the progress: the number of classes up to which the search goes, as a rule.
USUAL_CLASSES = 14
#: A number is as good as the best number if it loses at most this many standard errors and this many nats: the best of
#: several fits is optimistic by this much.
MARGIN, CHANCE = 1.0, 3.0
#: Without pairs, the number of clusters is that of the best silhouette on at most this many samples.
SILHOUETTE_ROWS = 2000


def numbers_of_classes(n_samples: int) -> Iterator[int]:
    """Yield 2, 3, ..., 8, and then steps of about a sixth."""
    count = 2
    while count <= min(MOST_CLASSES, max(n_samples // LEAST_MEMBERS, 2)):
        yield count
        count += max(1, (count + 1) // 6 + (count >= 8))


def fits_by_count(
    columns: Array | None, features: ClassFeatures | NoFeatures, evidence: PairEvidence, seed: int, tell: Tell = silent
) -> list[ClassFit]:
    """The best fit of every number of classes up to the largest that was tried, fewest classes first."""
    fits: list[ClassFit] = []
    counts = list(numbers_of_classes(evidence.n_samples))
    usual = sum(count <= USUAL_CLASSES for count in counts)
    for count in counts:
        search = ClassSearch(columns, features, evidence, count, seed)
        runs = search.short_runs(WITHOUT_FEATURES if columns is None else COUNTED)
        fits.append(runs[first_best([run.bold() for run in runs])])
        tell(len(fits), max(usual, len(fits)))
        totals = [float(fit.log_chance.sum()) for fit in fits]
        if len(totals) - 1 - first_best(totals) >= ENOUGH:
            break
    return improved_by_merging(fits, columns, features, seed)


def improved_by_merging(
    fits: list[ClassFit], columns: Array | None, features: ClassFeatures | NoFeatures, seed: int
) -> list[ClassFit]:
    """The best fit of every number: one of these, or the fit of the next larger number with two classes merged."""
    by_count = {fit.belief.shape[1]: fit for fit in fits}
    finest = max(by_count)
    for count in range(finest - 1, 1, -1):
        search = ClassSearch(columns, features, fits[0].evidence, count, seed)
        from_finer = search.refine(merged(by_count[count + 1], count), N_SHORT)
        both = [from_finer, by_count.get(count, from_finer)]
        by_count[count] = both[first_best([fit.bold() for fit in both])]
    return [by_count[count] for count in sorted(by_count)]


def likely_fits(fits: list[Any], margin: float = MARGIN, chance: float = CHANCE) -> list[Any]:
    """The fits that tell the labels as well as the best fit up to a margin in standard errors, fewest classes first."""
    best = fits[first_best([fit.log_chance.sum() for fit in fits])]
    losses = [best.log_chance - fit.log_chance for fit in fits]
    return [
        fit for fit, loss in zip(fits, losses, strict=True) if loss.sum() <= margin * np.sqrt(np.sum(loss**2)) + chance
    ]


def clusters_without_pairs(columns: Array, features: ClassFeatures, evidence: PairEvidence, seed: int) -> int:
    """The number of clusters of features with the best silhouette."""
    some = np.random.RandomState(seed).permutation(len(columns))[:SILHOUETTE_ROWS]
    scores: dict[int, float] = {}
    for count in numbers_of_classes(len(columns)):
        clusters = ClassSearch(columns, features, evidence, count, seed).clusters("k-means", evidence)[some]
        if 1 < len(np.unique(clusters)) < len(some):
            scores[count] = float(silhouette_score(columns[some], clusters))
        if len(scores) > 2 * ENOUGH and _best_count(scores) <= count // 2:
            break
    return _best_count(scores) if scores else 1


def _best_count(scores: dict[int, float]) -> int:
    return list(scores)[first_best(list(scores.values()))]


#: Intervals reach this many standard errors beyond the estimates.
REACH = 2.0
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
        if (loss := found.held_out[best] - told).sum() <= REACH * np.sqrt(np.sum(loss**2)) + NO_GAIN
    ]
    fit, errors = found.fit, [rate_errors(one) for one in likely]
    lows = np.min([np.array(one.rates) - REACH * error for one, error in zip(likely, errors, strict=True)], axis=0)
    highs = np.max([np.array(one.rates) + REACH * error for one, error in zip(likely, errors, strict=True)], axis=0)
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
    (low_pos, high_pos), (low_neg, high_neg) = precise
    ends = [share * pos + (1.0 - share) * (1.0 - neg) for pos, neg in ((low_pos, high_neg), (high_pos, low_neg))]
    rates = noise.flip_rates
    return {
        "prior": (float(min(ends)), float(max(ends))),
        "precision_positive": precise[0],
        "precision_negative": precise[1],
        "flipped_positive": (min(split[0], rates[0]), max(split[1], rates[0])),
        "flipped_negative": (min(joined[0], rates[1]), max(joined[1], rates[1])),
    }


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
            "The pairs do not change the classes: classes that are learned from features and pairs predict "
            "held-out pairs no better than clusters of the features do. So the clusters are those of the features, "
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
