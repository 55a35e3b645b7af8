r"""Who gave the labels of pairs, and how far each source counts.

Once every label has a chance :math:`q_t` to be right, the accuracy of source j is

.. math:: a_j = \frac{\sum_{t \text{ of } j} q_t + s \bar q}{n_j + s},

drawn towards the mean of all labels by s. A pair of the source then counts by its log-odds,
:math:`w_j = \operatorname{logit} a_j / \operatorname{logit} \bar q`, and a fit with these weights is the last one:
further rounds believe themselves.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from ..statements.pairs import Pairs

Array = NDArray[np.float64]

#: The mean of all labels is worth so many labels of a source.
WORTH = 20.0
#: Accuracies and their mean are kept inside, and weights, so that a source that guesses does not count.
ACCURACIES, MEANS, WEIGHTS = (0.5, 0.99), (0.55, 0.98), (0.02, 5.0)
#: The 90 % interval of an accuracy, in standard deviations, and what is not known of it beyond the numbers.
INTERVAL, UNKNOWN = 1.645, 0.05


def weighed_by_source(pairs: Pairs, sources: NDArray[Any], quality: Array) -> Pairs:
    """Return pairs whose first entries, those of the sources, count as far as their source is right.

    ``quality`` is the chance of each of these entries; later entries, which nobody gave, keep their weights.
    """
    n_given = len(sources)
    _, source = np.unique(sources, return_inverse=True)
    mean = float(quality.mean())
    counts, right = np.bincount(source), np.bincount(source, quality)
    accuracy = np.clip((right + WORTH * mean) / (counts + WORTH), *ACCURACIES)
    factor = np.clip(logit(accuracy) / logit(np.clip(mean, *MEANS)), *WEIGHTS)
    weights = pairs.weights.copy()
    weights[:n_given] *= factor[source]
    return Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=pairs.n_samples, weights=weights)


def accuracies_of(sources: NDArray[Any], quality: Array) -> Any:
    """Return a table of sources: ``source``, ``n_answers``, ``accuracy``, and its 90 % interval ``low``, ``high``."""
    names, source = np.unique(sources, return_inverse=True)
    counts = np.bincount(source)
    accuracy = np.bincount(source, quality) / counts
    doubt = np.bincount(source, quality * (1 - quality)) / counts**2
    margin = INTERVAL * np.sqrt(doubt + UNKNOWN**2)
    columns: Any = (names, counts, accuracy, np.maximum(accuracy - margin, 0.0), np.minimum(accuracy + margin, 1.0))
    return np.rec.fromarrays(columns, names="source, n_answers, accuracy, low, high")  # type: ignore[call-overload]
