"""How often a classifier is right on rows that it did not learn from, how much each column matters, where suspects are.

A part of the data has far more suspects than chance explains, and is named, if all of this holds:

- at least :data:`LEAST` suspects lie in it;
- its share of the suspects is at least :data:`TIMES` times its share of all rows;
- so many suspects would fall into it by chance, if they were drawn from all rows, with a probability below
  :data:`CHANCE` divided by the number of parts that were looked at (the tail of the hypergeometric distribution).

A part whose suspects are nearly those of a part that was named before is left out. Parts are the rows that one source
answered, the values of categories, the years of dates, and numbers of which a column has at most
:data:`MOST_NUMBERS` different ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import binomtest, hypergeom

from ..progress import Tell, silent
from ..review.diagnosis import guarantee_of
from ..statements.answers import Answers
from ..statements.verdicts import Verdicts
from ..tables.columns import Column, Table

Array = NDArray[np.float64]

FIGURES = ("classes", "noise_rate", "noise_interval", "transition", "diagnostic")
#: With many features fewer rows are shuffled, and so many rows are scored at once.
CELLS, FEWEST_ROWS, AT_ONCE = 20_000, 8, 2000
#: With more columns than this, as in a matrix of words, no single column says much.
MAX_COLUMNS = 200
#: With more features than this, the rows that are shuffled would take gigabytes.
MAX_FEATURES = 200_000
#: What a part of the data needs to be named: see above.
LEAST = 5
TIMES = 1.5
CHANCE = 0.001
MOST_NUMBERS = 30
#: Two parts are nearly the same if so large a share of the suspects of either lies in both.
SAME = 0.9
#: So many parts are named.
SHOWN = 3


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


@dataclass(frozen=True)
class Slice:
    """A part of the rows with many suspects: ``inside`` of ``suspects`` lie in it, and ``share`` of all rows.

    ``column`` is None if the part are the rows of the source ``value``.
    """

    column: str | None
    value: str
    inside: int
    suspects: int
    share: float

    def sentence(self, *, gave: bool) -> str:
        """What was found, in words; a source ``gave`` the labels of its rows, or else answered among others.

        >>> Slice("year", "2008", 38, 45, 0.1).sentence(gave=True)
        '38 of 45 suspects have year = 2008, as 10.0% of all rows have.'
        """
        what = "suspects" if gave else "doubtful rows"
        count, share = f"{self.inside} of {self.suspects} {what}", f"{self.share:.1%} of all rows"
        if self.column is not None:
            said = f"{self.column} = {self.value}" if self.value else f"no {self.column}"
            return f"{count} have {said}, as {share} have."
        return f"{self.value} {'gave' if gave else 'answered'} {count}, and {share}."

    def as_data(self, *, gave: bool) -> dict[str, Any]:
        """The part as plain data, for the result of a command."""
        named = {"column": self.column, "value": self.value, "suspects": self.inside, "share_of_rows": self.share}
        return named | {"sentence": self.sentence(gave=gave)}


def slices_of(suspects: NDArray[np.bool_], answers: Answers | None, table: Table) -> list[Slice]:
    """The parts with far more suspects than chance explains, the clearest first; ``answers`` name sources."""
    if np.count_nonzero(suspects) < LEAST:
        return []
    parts = [
        (column, value, members)
        for column, value, members in _parts(answers, table.columns.values())
        if 0 < np.count_nonzero(members) < len(members)
    ]
    n_suspects, n_rows = int(np.count_nonzero(suspects)), len(suspects)
    found: list[tuple[float, Slice, NDArray[np.bool_]]] = []
    for column, value, members in parts:
        inside, size = int(np.count_nonzero(members & suspects)), int(np.count_nonzero(members))
        if inside < LEAST or inside / n_suspects < TIMES * size / n_rows:
            continue
        tail = float(hypergeom.sf(inside - 1, n_rows, size, n_suspects))  # that so many or more lie in it by chance
        if tail < CHANCE / len(parts):
            found.append((tail, Slice(column, value, inside, n_suspects, size / n_rows), members & suspects))
    named: list[Slice] = []
    seen: list[NDArray[np.bool_]] = []
    for _, one, own in sorted(found, key=lambda item: item[0]):
        if not any((own & other).sum() >= SAME * max(own.sum(), other.sum()) for other in seen):
            named.append(one)
            seen.append(own)
    return named


def sentences_of(found: Iterable[dict[str, Any]]) -> list[str]:
    """The sentences about the first parts, as many as are shown."""
    return [one["sentence"] for one in found][:SHOWN]


def _parts(answers: Answers | None, columns: Iterable[Column]) -> Iterator[tuple[str | None, str, NDArray[np.bool_]]]:
    """The column, the value and the rows of every part; the rows of a source have no column."""
    if answers is not None:
        for code, name in enumerate(answers.source_names.tolist()):
            yield None, str(name), np.isin(np.arange(answers.n_rows), answers.rows[answers.source_index == code])
    for column in columns:
        numeric = column.kind == "numeric"
        if not (numeric or column.kind in ("categorical", "date")):
            continue
        if numeric and column.values.dtype.kind == "f" and len(np.unique(column.values)) > MOST_NUMBERS:
            continue
        cells = np.array([_year(cell) if column.kind == "date" else cell for cell in column.labels()])
        values, place, sizes = np.unique(cells, return_inverse=True, return_counts=True)
        if not numeric or len(values) <= MOST_NUMBERS:
            for at in np.flatnonzero(sizes >= LEAST).tolist():
                yield column.name, str(values[at]), place == at


def _year(cell: str) -> str:
    """The year in a date, which has four digits; what has none is taken whole."""
    parts = "".join(sign if sign.isdigit() else " " for sign in cell).split()
    return next((part for part in parts if len(part) == 4), cell)
