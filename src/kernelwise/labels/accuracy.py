"""How often a classifier is right on rows that it did not learn from, though some of the labels are wrong."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from ..supervision.verdicts import Verdicts
from .verdict import guarantee_of

__all__ = ["Accuracy", "out_of_sample_accuracy"]


class Accuracy(NamedTuple):
    """The share of rows whose label is predicted by models that did not see the label.

    ``given`` counts agreement with the given labels, and ``interval`` is its 95 % interval (Wilson's). Given labels are
    partly wrong, so ``true`` is what the noise model expects for the true labels. ``true_interval`` needs less: it
    follows from ``interval`` and the range of the share of wrong labels, if wrong labels do not follow the features. If
    it is ``guaranteed``, it follows from the rows that were drawn at random and checked, whatever the errors follow.
    """

    given: float
    interval: tuple[float, float]
    true: float
    true_interval: tuple[float, float]
    guaranteed: bool = False


def true_accuracy(given: float, wrong: float, n_classes: int) -> float:
    r"""The accuracy a on true labels from the accuracy on given labels, of which a share r is wrong.

    A wrong label is any of the K - 1 other classes, whatever was predicted. So a prediction agrees with the given label
    with the chance :math:`a (1 - r) + (1 - a) r / (K - 1)`, which is solved for a.

    >>> true_accuracy(0.74, 0.2, 2), true_accuracy(0.6, 0.5, 2)
    (0.9, 1.0)
    """
    chance = wrong / (n_classes - 1)
    if 1 - wrong <= chance:
        return 1.0  # labels that are wrong so often exclude nothing
    return float(np.clip((given - chance) / (1 - wrong - chance), 0.0, 1.0).round(12))


def out_of_sample_accuracy(model: Any, y: NDArray[Any], checked: Verdicts | None = None) -> Accuracy:
    """Return the accuracy of a fitted :class:`NoisyLabelClassifier` on the rows that have a label.

    ``checked`` is what people found who checked some rows.

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
    >>> bool(found.true_interval[0] < 0.99 < found.true_interval[1])
    True
    """
    rows = np.flatnonzero([label is not None for label in y.tolist()])
    predicted = model.out_of_sample_probabilities_[rows].argmax(axis=1)
    agree = model.classes_[predicted] == y[rows]
    interval = binomtest(int(agree.sum()), len(rows)).proportion_ci(method="wilson")
    true = float(model.label_probabilities_[rows, predicted].mean())
    predictions = np.full(len(y), None, dtype=object)
    predictions[rows] = model.classes_[predicted]
    bound = guarantee_of(checked, predictions)
    if bound is not None:
        ends = [1 - bound.high, 1 - bound.low]
        true = min(max(true, ends[0]), ends[1])
    else:
        ends = [
            true_accuracy(given, wrong, len(model.classes_))
            for given, wrong in zip((interval.low, interval.high), model.noise_interval_, strict=True)
        ]
    return Accuracy(
        float(agree.mean()),
        (float(interval.low), float(interval.high)),
        true,
        (min(*ends, true), max(*ends, true)),
        bound is not None,
    )
