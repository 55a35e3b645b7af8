"""Classes of many samples: learned from some of the samples, and then predicted for all.

1. Some samples are drawn (:func:`rows_to_learn_from`). Classes, classifier and rates are learned from these samples and
   from the pairs among them, as :mod:`~kernelwise.pairs.classes.search` does for few samples.
2. The classifier tells the class probabilities of every sample. For the samples that it was learned from, it leaves out
   the sample itself.
3. Belief propagation over *all* pairs corrects what the classifier tells of the samples that occur in pairs, and the
   rates follow from all pairs.

Samples in memory and samples in row blocks on a cluster take the same way. Only what belongs to samples in pairs is
brought together, so that the memory of the calling process depends on the number of pairs.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...checks import Array, Index
from ...samples import map_rows, persist, put_rows, share_with, take_rows
from ...ties import most_probable
from .evidence import PairEvidence
from .features import ClassPredictor
from .search import ClassFit, Found, corrected_by_pairs, with_trust_in_clusters

#: Half of the drawn samples are drawn evenly; the others are added in this many turns.
N_TURNS = 8
#: The classifier predicts this many samples at a time.
AT_ONCE = 10_000


def rows_to_learn_from(evidence: PairEvidence, size: int, rng: np.random.RandomState) -> Index:
    """Draw about ``size`` samples, in ascending order, with many pairs among them.

    One half is drawn evenly from all samples, so that every class has its share. The other half is added in turns:
    samples with the most pairs to the samples that were drawn before. Labels of pairs are not looked at.
    """
    even = np.unique(rng.randint(evidence.n_samples, size=size // 2))
    paired, ends = np.unique(evidence.sources, return_inverse=True)
    first, second = ends[: evidence.n_pairs], ends[evidence.n_pairs :]
    drawn = np.isin(paired, even)
    wanted = min(size - len(even), int(np.count_nonzero(~drawn)))
    for count in np.diff(np.linspace(0, wanted, N_TURNS + 1).astype(np.intp)):
        joined = np.bincount(first, drawn[second], len(paired)) + np.bincount(second, drawn[first], len(paired))
        order = np.where(drawn, -1.0, joined + rng.uniform(size=len(paired)))  # equals by chance
        drawn[np.argpartition(-order, count - 1)[:count] if count else []] = True
    return np.union1d(even, paired[drawn])


@dataclass(frozen=True)
class FeaturePredictor:
    """Class probabilities of any samples by their features, with the trust that the chosen fit has in clusters."""

    front: Any  # from samples to columns; None where the classifier takes the samples themselves
    predictor: ClassPredictor
    trusts_clusters: bool

    def __call__(self, samples: Any) -> Array:
        chances = np.empty((samples.shape[0], len(self.predictor.intercepts)))
        for start in range(0, len(chances), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            chances[part] = self.predictor(samples[part] if self.front is None else self.front(samples[part]))
        return with_trust_in_clusters(most_probable(chances), chances) if self.trusts_clusters else chances


def predict_all(
    found: Found, drawn: Index, samples: Any, predictor: FeaturePredictor, evidence: PairEvidence
) -> tuple[ClassFit, Any]:
    """Predict all samples by what was learned from some, and correct the samples in pairs by all pairs: fit and
    chances.
    """
    told = persist(map_rows(samples, lambda rows, predict: predict(rows), share_with(samples, predictor)))
    known = np.union1d(drawn, evidence.sources)
    prior = np.log(np.maximum(take_rows(told, known), np.finfo(float).tiny))
    learned = found.fit
    prior[np.searchsorted(known, drawn)] = learned.told.prior  # without the sample itself
    by_features = replace(learned.told, prior=prior)
    fit = corrected_by_pairs(evidence.among(known), learned.recipe, np.exp(prior), learned.rates, by_features)
    return fit, put_rows(told, known, fit.belief)
