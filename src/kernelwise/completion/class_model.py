r"""Classes instead of a core, where an unknown part of the known pairs is wrong and classes explain the pairs better.

The core of TPCMC is linear in the known pairs, so that wrong pairs move it in proportion to their number. A model of
classes (:class:`~kernelwise.NoisyPairClustering`) weighs every pair against the features and against the other pairs,
and tells apart which of them are wrong. Its probabilities :math:`R` (n x K) give the label matrix
:math:`Z' = R R^\top`, which has the form :math:`F F^\top` of TPCMC. But a similarity need not have classes that such a
model finds. So a quarter of the known pairs is held out and both are fitted to the rest. The classes answer if, where
the two answers to a held-out pair differ, the given label agrees with the classes more often than with the core, by
more than one standard error. Held-out pairs given as +1 and as -1 have the same total weight. The difference of the
agreements is then proportional to the difference of the true balanced accuracies, whatever the rates of wrong labels
are: wrong labels make it smaller and favour neither. The features of the class model are the rows of the basis, scaled
by the roots of the eigenvalues: the inner products of these rows are the similarity.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..pairs.classes.features import default_kernels
from ..pairs.noisy_clustering import NoisyPairClustering
from ..supervision import PairAudit, Pairs
from .matrix.observed import sample_product

__all__ = ["classes_if_better", "share_of_wrong"]

Array = NDArray[np.float64]

#: One pair in FOLDS is held out; with fewer held-out pairs than FEWEST, the core is kept.
FOLDS, FEWEST = 4, 20


def classes_if_better(
    coordinates: Array,
    known: Pairs,
    core_factor: Callable[[Pairs], Array],
    *,
    random_state: np.random.RandomState,
) -> NoisyPairClustering | None:
    """The class model, fitted to all pairs, if it predicts held-out pairs better than the core; otherwise None.

    ``coordinates`` are the scaled rows of the basis, and ``core_factor`` fits a core to pairs and returns the factor of
    all samples. The number of classes is found without the held-out pairs. The number that the audit of the pairs finds
    is no substitute: the audit standardises the columns, and finds 2 classes of 10 digits with 3 pairs per sample.
    """
    held = random_state.permutation(len(known)) % FOLDS == 0
    if held.sum() < FEWEST:
        return None
    seen, asked = known[~held], known[held].balanced()
    kernels, seed = default_kernels(coordinates), int(random_state.randint(2**31))
    model = NoisyPairClustering("auto", kernels=kernels, random_state=seed).fit(coordinates, pairs=seen)
    votes = asked.weights * (_agrees(model.probabilities_, asked) - _agrees(core_factor(seen), asked))
    if votes.sum() <= np.sqrt(votes @ votes):
        return None
    final: Any = NoisyPairClustering(model.n_clusters_, kernels=kernels, random_state=seed)
    return final.fit(coordinates, pairs=known)


def share_of_wrong(audit: PairAudit, known: Pairs) -> float:
    """The share of wrong pairs, by weight, that the audit of the known pairs expects."""
    precision = audit.noise.precision_positive, audit.noise.precision_negative
    wrong = 1.0 - np.where(known.labels > 0, *precision)
    return float(np.average(wrong, weights=known.weights))


def _agrees(factor: Array, pairs: Pairs) -> Array:
    """1 where the answer to a pair is its label, 0 elsewhere."""
    same = sample_product(factor, factor, pairs.rows, pairs.cols) >= 0.5
    return (same == (pairs.labels > 0)).astype(np.float64)
