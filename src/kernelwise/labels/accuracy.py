"""How often a classifier is right on rows that it did not learn from, though some of the labels are wrong."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

__all__ = ["Accuracy", "out_of_sample_accuracy"]


class Accuracy(NamedTuple):
    """The share of rows whose label is predicted by models that did not see the label.

    ``given`` counts agreement with the given labels, and ``interval`` is its 95 % interval (Wilson's). Given labels are
    partly wrong, so ``true`` is what the noise model expects for the true labels.
    """

    given: float
    interval: tuple[float, float]
    true: float


def out_of_sample_accuracy(model: Any, y: NDArray[Any]) -> Accuracy:
    """Return the accuracy of a fitted :class:`NoisyLabelClassifier` on the rows that have a label.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernelwise import NoisyLabelClassifier, flip_labels
    >>> from kernelwise.labels.accuracy import out_of_sample_accuracy
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> given = flip_labels(y, 0.2, random_state=0)
    >>> found = out_of_sample_accuracy(NoisyLabelClassifier(random_state=0).fit(X, given), given)
    >>> bool(found.interval[0] < 0.8 < found.interval[1] < found.true)
    True
    """
    rows = np.flatnonzero([label is not None for label in y.tolist()])
    predicted = model.out_of_sample_probabilities_[rows].argmax(axis=1)
    agree = model.classes_[predicted] == y[rows]
    interval = binomtest(int(agree.sum()), len(rows)).proportion_ci(method="wilson")
    true = float(model.label_probabilities_[rows, predicted].mean())
    return Accuracy(float(agree.mean()), (float(interval.low), float(interval.high)), true)
