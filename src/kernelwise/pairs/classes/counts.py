"""The number of classes: the fewest that tell the labels, each left out, as well as the best number.

Numbers of classes get a few short runs each. Then, from the largest number down, two classes of the best fit are merged
at a time: this mends runs that took two classes for one and split another class, and it costs little.

A number is *likely* if its fit tells the labels as well as the best fit up to some standard errors. The fewest of the
likely classes are the number that is reported, and an average over the likely fits is a better judge of single pairs
than any one of them.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import silhouette_score

from ...progress import Tell, silent
from ...ties import first_best
from .evidence import PairEvidence
from .features import ClassFeatures, NoFeatures
from .search import N_SHORT, ClassFit, ClassSearch, Recipe, merged

Array = NDArray[np.float64]

#: The runs for every number of classes.
RECIPES = (Recipe("k-means"), Recipe("features and pairs"), Recipe("core"), Recipe("core", trusting=True))
#: The largest number of classes that is tried; a class needs this many samples in the mean.
MOST_CLASSES, LEAST_MEMBERS = 60, 6
#: The search ends when this many larger numbers in turn tell the labels worse than the best number.
ENOUGH = 3
#: For the progress: the number of classes up to which the search goes, as a rule.
USUAL_CLASSES = 14
#: A number is as good as the best number if it loses at most this many standard errors and this many nats: the best of
#: several fits is better than it should be by about so much.
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
    columns: Array | None,
    features: ClassFeatures | NoFeatures,
    evidence: PairEvidence,
    seed: int,
    tell: Tell = silent,
) -> list[ClassFit]:
    """The best fit of every number of classes up to the largest that was tried, fewest classes first."""
    fits: list[ClassFit] = []
    counts = list(numbers_of_classes(evidence.n_samples))
    usual = sum(count <= USUAL_CLASSES for count in counts)
    for count in counts:
        search = ClassSearch(columns, features, evidence, count, seed)
        runs = search.short_runs(RECIPES if columns is not None else None)
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
        from_finer = search.settle(merged(by_count[count + 1], count), N_SHORT)
        both = [from_finer, by_count.get(count, from_finer)]
        by_count[count] = both[first_best([fit.bold() for fit in both])]
    return [by_count[count] for count in sorted(by_count)]


def likely_fits(fits: list[ClassFit], margin: float = MARGIN) -> list[ClassFit]:
    """The fits that tell the labels as well as the best fit up to a margin in standard errors, fewest classes first."""
    best = fits[first_best([fit.log_chance.sum() for fit in fits])]
    losses = [best.log_chance - fit.log_chance for fit in fits]
    return [
        fit for fit, loss in zip(fits, losses, strict=True) if loss.sum() <= margin * np.sqrt(np.sum(loss**2)) + CHANCE
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
