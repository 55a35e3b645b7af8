"""What an audit of pairs finds, whichever way it took."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...progress import Tell, part
from ...statements import Pairs
from ..classes.evidence import PairEvidence
from ..classes.features import ClassFeatures, NoFeatures, fit_columns
from ..classes.results import fits_by_count, likely_fits, noise_intervals, noise_of, quality_of, words_about
from ..classes.search import N_LONG, ClassSearch

Array = NDArray[np.float64]

#: What a person can do about a wide range.
REMEDY = "Checking a few dozen pairs, drawn at random, would settle it."


class Judgement(NamedTuple):
    """Chances that pairs share a class (``apart``: without their own labels), intervals of (d_+, d_-), and words."""

    same: Array
    apart: Array
    low: tuple[float, float]
    high: tuple[float, float]
    diagnostic: Mapping[str, Any]


def precisions(same: Array, pairs: Pairs) -> tuple[float, float]:
    """d_+ and d_-: mean chances of being right among pairs given as + and as -."""
    positive = pairs.labels > 0
    right = np.where(positive, same, 1.0 - same)
    means = [np.average(right[kind], weights=pairs.weights[kind]) for kind in (positive, ~positive)]
    return float(means[0]), float(means[1])


#: A number of classes counts in the average if it tells the labels as well as the best up to this many standard errors.
MARGIN = 1.5
#: For the progress: the shares of the time after which the number of classes, and the best classes, are found.
COUNTED, FOUND = 0.5, 0.8


def judge_by_classes(
    X: Any, metric: str, pairs: Pairs, rng: np.random.RandomState, truth: NDArray[np.int64], tell: Tell
) -> Judgement:
    """The chance that each pair shares a class, an average over fits; the intervals are those of the best number.

    One fit is more certain of single pairs than it should be: which of several numbers of classes is right, and where
    two classes meet, differs from fit to fit. ``truth`` is that of :class:`CheckedPairs`.
    """
    features: ClassFeatures | NoFeatures = NoFeatures()
    columns = None
    if X is not None:
        columns = fit_columns(X, metric, rng)(X)
        features = ClassFeatures.of_kernels(columns, None, rng)
    labels, index = PairEvidence.of_pairs(pairs)
    evidence = labels.checked(truth)
    seed = int(rng.randint(2**31))
    likely = likely_fits(fits_by_count(columns, features, evidence, seed, part(tell, 0.0, COUNTED)), MARGIN)
    found = ClassSearch(columns, features, evidence, likely[0].n_used, seed).find(part(tell, COUNTED, FOUND))
    others = []
    for fit in likely:
        others.append(ClassSearch(columns, features, evidence, fit.belief.shape[1], seed).refine(fit, N_LONG))
        part(tell, FOUND, 1.0)(len(others), len(likely))
    every = [found.fit, *others]
    apart = np.mean([fit.apart for fit in every], axis=0)[index]
    # Verdicts are calibrated on afterwards, so what a checked pair is compared with must not know its own verdict.
    same = np.mean([labels.same(fit.apart, fit.rates) for fit in every], axis=0)[index]
    noise = noise_of(quality_of(same, pairs), pairs)
    intervals = noise_intervals(found, noise, float(np.average(pairs.labels > 0, weights=pairs.weights)))
    words = words_about(found, intervals)
    diagnostic = {
        "kind": "classes",
        "reliable": words["reliable"],
        "reason": f"The pairs speak of about {found.fit.n_used} classes. {words['pairs']} {words['features']}"
        + ("" if words["reliable"] else f" {REMEDY}"),
        "n_classes": sorted({fit.n_used for fit in [found.fit, *likely]}),
    }
    ends = np.array([intervals[name] for name in ("precision_positive", "precision_negative")]).T
    each = [noise_of(quality_of(fit.same[index], pairs), pairs) for fit in others]
    precisions = np.array([[one.precision_positive, one.precision_negative] for one in each])
    counts = np.array([(pairs.labels > 0).sum(), (pairs.labels < 0).sum()])
    margins = 2.0 * np.sqrt(precisions * (1.0 - precisions) / counts)
    low = np.minimum(ends[0], (precisions - margins).min(axis=0))
    high = np.maximum(ends[1], (precisions + margins).max(axis=0))
    return Judgement(same, apart, (float(low[0]), float(low[1])), (float(high[0]), float(high[1])), diagnostic)
