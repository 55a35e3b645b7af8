"""How often a classifier is right on rows that it did not learn from, and how much each feature or column matters."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import binomtest

from ..progress import Tell, silent
from ..review.diagnosis import guarantee_of
from ..statements.verdicts import Verdicts

Array = NDArray[np.float64]

FIGURES = ("classes", "noise_rate", "noise_interval", "transition", "diagnostic")
#: With many features fewer rows are shuffled, and so many rows are scored at once.
CELLS, FEWEST_ROWS, AT_ONCE = 20_000, 8, 2000
#: With more columns than this, as in a matrix of words, no single column says much.
MAX_COLUMNS = 200
#: With more features than this, the rows that are shuffled would take gigabytes.
MAX_FEATURES = 200_000


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


def shuffled_importances(model: Any, ends: Sequence[tuple[int, int]] | None = None) -> Array:
    """Return the mean squared change of the log-probabilities of some training rows for each feature, as shares.

    A feature is the columns of the rows between a pair of ``ends``, or one column each.
    """
    n_columns = model._some_rows.shape[1]
    moved = _moved(model, [(j, j + 1) for j in range(n_columns)] if ends is None else ends, silent)
    total = moved.sum()
    return moved / total if total > 0 else np.full(len(moved), 1 / len(moved))


def column_importances(model: Any, columns: Sequence[str], tell: Tell = silent) -> dict[str, float]:
    """Return the same shares for the columns of a table, the largest first; columns that change nothing have none.

    ``columns`` names the column that each feature was made of; features of one column are neighbours, and are shuffled
    together. There are no shares where there are too many columns.
    """
    names, starts, widths = np.unique(np.asarray(columns), return_index=True, return_counts=True)
    if len(names) > MAX_COLUMNS or len(columns) > MAX_FEATURES:
        return {}
    order = np.argsort(starts)
    ends = [(int(starts[j]), int(starts[j] + widths[j])) for j in order]
    moved = dict(zip(names[order].tolist(), _moved(model, ends, tell).tolist(), strict=True))
    total = sum(moved.values())
    return {name: change / total for name, change in sorted(moved.items(), key=lambda item: -item[1]) if change > 0}


def _moved(model: Any, ends: Sequence[tuple[int, int]], tell: Tell) -> Array:
    """Return the mean squared change of the log-probabilities for each pair of ends."""
    rng = np.random.RandomState(0)
    # Wide data have many features to shuffle, so fewer rows have to do.
    pool, given = model._pool, model._some_rows[: max(FEWEST_ROWS, CELLS // len(ends))]
    base, rows = pool(given), given.toarray() if sp.issparse(given) else given
    moved = np.zeros(len(ends))
    varied = [j for j, (start, stop) in enumerate(ends) if np.ptp(rows[:, start:stop], axis=0).any()]
    at_once = max(AT_ONCE // len(rows), 1)
    for first in range(0, len(varied), at_once):
        batch = varied[first : first + at_once]
        shuffled = np.repeat(rows[None], len(batch), axis=0)
        for copy, (start, stop) in zip(shuffled, (ends[j] for j in batch), strict=True):
            copy[:, start:stop] = rng.permutation(copy[:, start:stop])
        stacked = shuffled.reshape(-1, rows.shape[1])
        scores = pool(type(given)(stacked) if sp.issparse(given) else stacked)
        moved[batch] = np.mean((scores.reshape(len(batch), *base.shape) - base) ** 2, axis=(1, 2))
        tell(first + len(batch), len(varied))
    return moved


def figures_of(model: Any) -> dict[str, Any]:
    """Return the figures of a fitted model that an audit of its labels has as fields."""
    return {name: getattr(model, f"{name}_") for name in FIGURES}
