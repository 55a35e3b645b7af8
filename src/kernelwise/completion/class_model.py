r"""Classes beside the core, where an unknown part of the known pairs is wrong.

The core of TPCMC is linear in the known pairs, so that wrong pairs move it in proportion to their number. A model of
classes (:class:`~kernelwise.NoisyPairClustering`) weighs every pair against the features and against the other pairs,
and tells which of them are wrong. One such model is fitted, and all figures come from it: the share of wrong pairs that
corrects the core, the audit of the pairs, and the classes. Its features are the rows of the basis, scaled by the roots
of the eigenvalues: the inner products of these rows are the similarity. Up to 100 eigenvectors are used, as in
``NoisyPairClustering(metric="precomputed")``, also if the core is best with fewer of them: the core has a coefficient
for every two eigenvectors, whereas the scales of the rows tell the class model which eigenvectors matter.

The probabilities :math:`R` (n x K) of the classes give the label matrix :math:`Z' = R R^\top`, which has the form
:math:`F F^\top` of TPCMC. But a similarity need not have classes that such a model finds. So the core and the classes
both answer every known pair by fits to other pairs. The classes are taken if, where the two answers differ, the given
label agrees with the classes more often than with the core, by more than one standard error. Pairs given as +1 and as
-1 have the same total weight. The difference of the agreements is then proportional to the difference of the true
balanced accuracies, whatever the rates of wrong labels are: wrong labels make it smaller and favour neither.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..pairs.noisy_clustering import NoisyPairClustering
from ..supervision import PairAudit, Pairs
from ..supervision.graph import pair_keys
from .matrix.observed import sample_product

__all__ = ["audit_by_classes", "classes_predict_better", "fit_classes"]

Array = NDArray[np.float64]

#: The number of eigenvectors, at most, that the class model sees.
MOST_COORDINATES = 100
#: The core is fitted without one part of the known pairs after another.
FOLDS = 4
#: Fewer pairs cannot judge each other, and with fewer pairs than ENOUGH the core is kept.
FEWEST, ENOUGH = 10, 80


def fit_classes(coordinates: Array, known: Pairs, random_state: np.random.RandomState) -> NoisyPairClustering:
    """The model of classes of all known pairs; ``coordinates`` are the scaled rows of the basis."""
    if len(known) < FEWEST:
        raise ValueError(
            f'noise_rate="auto" needs at least {FEWEST} known pairs, which judge each other, got {len(known)}; give '
            "more pairs, or give noise_rate as a number"
        )
    if (known.labels < 0).all():
        raise ValueError(
            'all known pairs are negative (-1), so nothing tells noise_rate="auto" what pairs of one class look like; '
            "give some positive pairs, or give noise_rate as a number"
        )
    seed = int(random_state.randint(2**31))
    # Of a model of a sample, held-out probabilities are not those of a fit to other pairs only.
    model: Any = NoisyPairClustering("auto", metric="coordinates", sample_size=None, random_state=seed)
    return model.fit(coordinates, pairs=known)


def classes_predict_better(
    classes: NoisyPairClustering,
    known: Pairs,
    core_factor: Callable[[Pairs], Array],
    random_state: np.random.RandomState,
) -> bool:
    """Whether the classes answer held-out pairs better than the core by more than one standard error.

    ``core_factor`` fits a core to pairs and returns the factor of all samples. A pair that is given several times is
    held out as a whole.
    """
    if len(known) < ENOUGH:
        return False
    distinct, index = np.unique(pair_keys(known.rows, known.cols), return_inverse=True)
    fold = (random_state.permutation(len(distinct)) % FOLDS)[index]
    by_core = np.empty(len(known))
    for k in range(FOLDS):
        factor, asked = core_factor(known[fold != k]), known[fold == k]
        by_core[fold == k] = sample_product(factor, factor, asked.rows, asked.cols)
    given = known.labels > 0
    right = [((scores >= 0.5) == given).astype(np.float64) for scores in (classes.held_out_probabilities_, by_core)]
    votes = known.balanced().weights * (right[0] - right[1])
    return bool(votes.sum() > np.sqrt(votes @ votes))


def audit_by_classes(classes: NoisyPairClustering) -> PairAudit:
    """What the model of classes says of its pairs, as an audit: the same chances, noise and intervals."""
    known, noise, quality, words = classes.pairs_, classes.noise_, classes.pair_quality_, classes.diagnostic_
    assert known is not None  # the model was fitted to pairs
    assert noise is not None
    diagnostic = {
        "kind": "classes",
        "reliable": words["reliable"],
        "reason": f"The pairs speak of {classes.n_clusters_} classes. {words['pairs']} {words['features']}",
        "n_classes": [classes.n_clusters_],
    }
    names = ("prior", "precision_positive", "precision_negative")
    intervals = {name: classes.noise_intervals_[name] for name in names}
    suggested = np.where(quality >= 0.5, known.labels, -known.labels)
    return PairAudit(known, quality, suggested, noise, intervals, diagnostic)
