"""Columns that give the label away: an audit that believes them finds no errors, because they repeat the errors.

A column is reported for one of two reasons.

The label can be read off it in nearly every row: from its values, if they are few; from where its numbers lie; or from
whether its cells are empty. Where some labels are wrong, no honest column can do so.

Or it predicts the label much better than all other columns together do, as a copy of the label does that lost some
cells. The *skill* of a prediction is the share of the errors of the most frequent label that it avoids, in rows that it
did not learn from. A column is reported if its skill in the rows where it is not empty is at least :data:`SKILL`, while
the other columns leave at least :data:`TIMES` as many errors and have a skill that is smaller by :data:`GAP`. Numbers
in order need the skill :data:`COPY`, because there are things that one measurement tells. One word of a text, or one
for each label, counts as a column. So an honest column that says as much as others do, as the petals
of an iris, is not reported; one that is much better than all others is, and a person has to look at it.

A column that says who gave the label is no feature, either. A model that has it learns which labels each annotator
gives, errors included, and then finds nothing wrong with them. A column is taken for one if a word of its name says so,
and if its values behave like people who label: they are few, and most of them are in several rows.
"""

import re
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from ..tables.columns import Column, Table
from ..tables.errors import TableError
from ..tables.preparation import TableFeatures, Words

Index = NDArray[np.intp]
#: With fewer labelled rows, chance may do it.
LEAST_ROWS = 20
#: The label must follow from the column in this share of the rows, and all exceptions must be fewer than EXCEPTIONS
#: times the rows that are not of the largest class.
SHARE, EXCEPTIONS = 0.99, 0.05
#: There must be so many rows for each class on average.
LEAK_ROWS_PER_CLASS = 4
#: A column of few values has at most so many values for each class.
VALUES_PER_CLASS = 3
#: Arrays with more columns are not searched.
MAX_COLUMNS = 2000
#: A column that predicts the label: its skill, how many times as many errors the others make, and their lesser skill.
SKILL, TIMES, GAP = 0.9, 2.0, 0.1
#: Columns of more skill are not among the others: they may be further copies of the label.
COPY = 0.95
#: A column must have a value in so many rows, and in this share of them.
FILLED_ROWS, FILLED = 40, 0.25
#: Skill is measured on at most so many rows; numbers are cut into groups of so many rows, within limits.
SKILL_ROWS, ROWS_PER_BIN, FEWEST_BINS, MOST_BINS = 4000, 12, 24, 96
#: The others are measured by so many trees, or where there are texts in so many folds.
N_TREES, N_FOLDS = 60, 3
#: Words for those who label, in several languages, and for what they have done.
WHO = re.compile(
    "(annotat(e|o)r|label{1,2}er|rater|coder|grader|scorer|assessor|judge|reviewer|(crowd)?worker|turker|tagger|curator|"
    "user|source|annotat(eur|rice|ore)|codeur|[eé]valuateur|annotierer|bewerter(in)?|kodierer(in)?|gutachter(in)?|"
    "pr(ü|ue)fer(in)?|(anotador|etiquetador|codificador|avaliador|evaluador|rotulador)(es)?|valutatore|codificatore|"
    "beoordelaar|codeerder)s?"
)
DONE = re.compile("(annotat|label{1,2}|rat|cod|grad|scor|assess|judg|review|tagg)ed|annot[eé]|annotiert|bewertet")
BY = ("by", "par", "von", "por", "da", "door")
#: What may stand beside a word for those who label: another word makes it the name of something else.
BESIDE = ("id", "ids", "name", "nr", "no", "number", "code", "key", "index", "the", "of", "label", "labels")
#: There are at least this many rows for each value on average.
ROWS_PER_VALUE = 4


@dataclass(frozen=True)
class Leak:
    """A column that gives the label away, and how this was found."""

    column: str
    how: str

    def __str__(self) -> str:
        return (
            f"column {self.column!r} gives the label away: {self.how}. Errors of the label that the column repeats "
            "cannot be found. If the column was made from the label, or known only after it, leave it out"
        )


def warn_of_leaks(found: list[Leak]) -> None:
    """Warn of each column, as if the caller's caller had called."""
    for one in found:
        warnings.warn(str(one), stacklevel=4)


def find_leaks(table: Table, labels: NDArray[Any]) -> list[Leak]:
    """The columns of a table that give the labels away; rows whose label is None do not count."""
    columns = [_with_seconds(column, table) for column in table.columns.values()]
    found = _leaks([one for one in columns if one.kind not in ("id", "text")], labels, numbers=True)
    seen = {one.column for one in found}
    found += _better_than_others(table, [one for one in columns if one.name not in seen], seen, labels, numbers=True)
    return found + (leaking_numbers(table.block, labels) if isinstance(table.block, np.ndarray) else [])


def _with_seconds(column: Column, table: Table) -> Column:
    """The column; of dates the seconds, which give the label away where the date is that of something after it."""
    return column if column.kind != "date" else replace(column, values=table.seconds(column.name))


def leaking_numbers(X: Any, labels: NDArray[Any]) -> list[Leak]:
    """The columns of an array that are copies of the labels: they have few values, and each goes with one label."""
    if not isinstance(X, np.ndarray) or X.shape[1] > MAX_COLUMNS:
        return []
    columns = [Column(f"x{j + 1}", "numeric", X[:, j]) for j in range(X.shape[1])]
    found = _leaks(columns, labels, numbers=False)
    seen = {one.column for one in found}
    few = [one for one in columns if one.name not in seen]
    return found + _better_than_others(Table.of("X", columns), few, seen, labels, numbers=False)


def _leaks(columns: Iterable[Column], labels: NDArray[Any], *, numbers: bool) -> list[Leak]:
    rows = np.array([label is not None for label in labels.tolist()])
    given = np.array([str(label) for label in labels[rows].tolist()])
    hows = ((column.name, _how(column, rows, given, numbers=numbers)) for column in columns)
    return [Leak(name, how) for name, how in hows if how is not None]


def _how(column: Column, rows: NDArray[np.bool_], given: NDArray[Any], *, numbers: bool) -> str | None:
    """How the label follows from a column, in words; None if it does not follow."""
    classes = Counter(given.tolist())
    if len(given) < LEAST_ROWS or not 2 <= len(classes) <= len(given) // LEAK_ROWS_PER_CLASS:
        return None
    others = len(given) - max(classes.values())
    allowed = min((1 - SHARE) * len(given), EXCEPTIONS * others)
    cells, missing = np.asarray(column.values)[rows], column.missing[rows]
    if 0 < missing.sum() < len(missing):
        goes, exceptions = _majorities(np.where(missing, "an empty cell", "a value"), given)
        if exceptions <= allowed and len(set(goes.values())) > 1:
            return _said(goes, len(given), exceptions, "")
    most = min(VALUES_PER_CLASS * len(classes), len(given) // 4 - 1)
    if len({_short(cell) for cell in cells[~missing][: 4 * most]}) <= most:  # most columns of numbers end here
        words = np.array(["(empty)" if gone else _short(cell) for cell, gone in zip(cells, missing, strict=True)])
        if len(set(words.tolist())) <= most:
            goes, exceptions = _majorities(words, given)
            return _said(goes, len(given), exceptions, "its value ") if exceptions <= allowed else None
    if numbers and cells.dtype.kind == "f" and not missing.any():
        return _by_cuts(cells, given, len(classes), dates=column.kind == "date")
    return None


def _majorities(values: NDArray[Any], given: NDArray[Any]) -> tuple[dict[str, str], int]:
    """The label that goes with each value, and the number of rows in which it does not."""
    counts: dict[str, Counter[str]] = {}
    for value, label in zip(values.tolist(), given.tolist(), strict=True):
        counts.setdefault(value, Counter())[label] += 1
    goes = {value: counts[value].most_common(1)[0][0] for value in sorted(counts)}
    return goes, len(given) - sum(counts[value][label] for value, label in goes.items())


def _said(goes: dict[str, str], n_rows: int, exceptions: int, what: str) -> str:
    shown = list(goes.items())[:4]
    (first, label), rest = shown[0], shown[1:]
    parts = [
        f"{what}{first} goes with the label {label!r}",
        *(f"{what}{value} with {label!r}" for value, label in rest),
    ]
    more = " and so on" if len(goes) > len(shown) else ""
    joined = ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]
    return f"{joined}{more}, in {n_rows - exceptions} of {n_rows} rows"


def _by_cuts(numbers: NDArray[np.float64], given: NDArray[Any], n_classes: int, *, dates: bool) -> str | None:
    """How the label follows from the size of a number, if every class is one range of numbers, or of dates."""
    order = np.argsort(numbers, kind="stable")
    values, labels = numbers[order], given[order]
    changes = np.flatnonzero(labels[1:] != labels[:-1])
    if len(changes) != n_classes - 1 or (values[changes] == values[changes + 1]).any():
        return None
    end = values[changes[0]]
    cut = np.datetime64(int(end), "s").item().date() if dates else f"{end:g}"
    return (
        f"its {'dates' if dates else 'numbers'} up to {cut} go with the label {str(labels[0])!r}, and "
        f"{'later' if dates else 'larger'} ones with "
        f"{'another label' if n_classes == 2 else 'other labels'}, in all {len(given)} rows"
    )


def _short(cell: Any) -> str:
    return f"{cell:g}" if isinstance(cell, float) else repr(str(cell)[:40])


# columns that predict the label much better than all others do


class _Alone(NamedTuple):
    """How well a column predicts the label in the rows that have a value; by which words, or by groups of numbers.

    All words that tell a label, the ``telling``, are taken out of the text before it is compared with the others.
    """

    column: Column
    rows: Index
    skill: float
    right: float
    words: tuple[str, ...] = ()
    telling: tuple[str, ...] = ()
    in_order: bool = False


def _better_than_others(
    table: Table, columns: list[Column], leaks: set[str], labels: NDArray[Any], *, numbers: bool
) -> list[Leak]:
    """Return the columns that predict the label much better than all columns do that are no leaks."""
    rows = np.flatnonzero([label is not None for label in labels.tolist()])
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), SKILL_ROWS)).astype(np.intp)] if len(rows) else rows
    names, code = np.unique([str(label) for label in labels[rows].tolist()], return_inverse=True)
    if not 2 <= len(names) <= len(rows) // LEAK_ROWS_PER_CLASS or len(rows) < FILLED_ROWS:
        return []
    few = FEWEST_BINS if numbers else VALUES_PER_CLASS * len(names)
    judged = (_alone(column, rows, code, few, numbers=numbers) for column in columns)
    strong = [one for one in judged if one is not None and one.skill >= (COPY if one.in_order else SKILL)]
    copies = leaks | {one.column.name for one in strong if one.skill >= COPY}
    found = []
    for one in strong:
        others = _skill_of_others(table, one, copies, code[np.isin(rows, one.rows)])
        if others is None or one.skill - others[0] < GAP or 1 - others[0] < TIMES * (1 - one.skill):
            continue
        beside = sorted(copies - {one.column.name})
        may_be = "may be copies too" if len(beside) > 1 else "may be a copy too"
        without = f" without {' and '.join(map(repr, beside))}, which {may_be}," if beside else ""
        words = " and ".join(repr(word) for word in one.words)
        what = f"the word{'s' * (len(one.words) > 1)} {words} in it alone predict{'s' * (len(one.words) < 2)}"
        found.append(
            Leak(
                one.column.name,
                f"{what if words else 'it alone predicts'} {one.right:.0%} of {len(one.rows)} labels, and everything "
                f"else together{without} {others[1]:.0%}",
            )
        )
    return found


def _alone(column: Column, rows: Index, code: Index, few: int, *, numbers: bool) -> _Alone | None:
    """Return how well a column predicts the label; numbers of many values are cut into groups if ``numbers``."""
    if column.kind == "id":
        return None
    values = column.values[rows]
    present = ~np.isnan(values) if values.dtype.kind == "f" else np.array([value is not None for value in values])
    if present.sum() < max(FILLED_ROWS, FILLED * len(rows)):
        return None
    rows, code, values = rows[present], code[present], values[present]
    by_words = None
    if values.dtype.kind != "f" and sum(" " in value for value in values.tolist()) > len(values) / 2:
        by_words = _by_words(column, rows, code, values)
    if column.kind == "text":
        return by_words
    cut = values.dtype.kind == "f" and len(np.unique(values)) > few
    distinct, group = np.unique(values if values.dtype.kind == "f" else values.astype(str), return_inverse=True)
    if cut:
        if not numbers:
            return None
        n_bins = int(np.clip(len(rows) // ROWS_PER_BIN, FEWEST_BINS, MOST_BINS))
        group = np.searchsorted(np.quantile(values, np.arange(1, n_bins) / n_bins), values)
    elif len(distinct) > len(rows) // LEAK_ROWS_PER_CLASS:
        return by_words
    counts = np.zeros((int(group.max()) + 1, int(code.max()) + 1))
    np.add.at(counts, (group, code), 1)
    others = counts[group]
    others[np.arange(len(code)), code] -= 1
    skill, right = _skill(others.argmax(axis=1), code)
    alone = _Alone(column, rows, skill, right, in_order=cut)
    return by_words if by_words is not None and by_words.skill > skill else alone


def _skill(predicted: Index, code: Index) -> tuple[float, float]:
    """Return the share of the errors of the most frequent label that is avoided, and the share of right predictions."""
    right, frequent = float(np.mean(predicted == code)), float(np.bincount(code).max()) / len(code)
    return (1 - (1 - right) / (1 - frequent) if frequent < 1 else 0.0), right


def _by_words(column: Column, rows: Index, code: Index, texts: NDArray[Any]) -> _Alone | None:
    """Return how well one word for each label but one predicts the label."""
    try:
        counter = Words()._counter(binary=True, min_df=2)
        has = sp.csc_array(counter.fit_transform(texts.tolist()), dtype=np.float64)
    except ValueError:  # no word occurs twice
        return None
    sizes = np.bincount(code).astype(np.float64)
    joint = has.T @ np.eye(len(sizes))[code]
    errors = sizes + np.asarray(has.sum(axis=0))[:, None] - 2 * joint  # of "this label if and only if this word"
    best = errors.argmin(axis=0)
    least = errors.min(axis=0)
    most = np.minimum(sizes, len(code) - sizes)
    used = np.argsort(least / np.maximum(most, 1), kind="stable")[: len(sizes) - 1]
    words = counter.get_feature_names_out()
    telling = words[(errors <= (1 - SKILL) * most).any(axis=1)]
    skill = 1 - float(least[used].sum() / max(most[used].sum(), 1.0))
    return _Alone(
        column, rows, skill, 1 - float(least[used].sum()) / len(code), tuple(words[best[used]]), tuple(telling)
    )


def _skill_of_others(table: Table, one: _Alone, copies: set[str], code: Index) -> tuple[float, float] | None:
    """Return the skill of all other columns together, and their share of right labels; None if there are none."""
    others = table.without([*copies, one.column.name]) if copies or not one.words else table
    others = replace(others, block=None)
    if one.words:
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, [*one.words, *one.telling]))})\b", re.IGNORECASE)
        cells = [None if cell is None else pattern.sub(" ", cell) for cell in one.column.values]
        left = replace(one.column, values=np.array(cells, dtype=object))
        others = replace(others, columns=others.columns | {one.column.name: left})
    try:
        rows = others.take(one.rows)
        X = TableFeatures().fit(rows).transform(rows)
    except TableError:
        return None
    if not sp.issparse(X):
        forest = ExtraTreesClassifier(N_TREES, min_samples_leaf=2, bootstrap=True, oob_score=True, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a row that every tree drew
            chances = forest.fit(X, code).oob_decision_function_
        return _skill(forest.classes_[np.nan_to_num(chances).argmax(axis=1)], code)
    predicted, fold = np.zeros_like(code), np.arange(len(code)) % N_FOLDS
    for k in range(N_FOLDS):
        model = LogisticRegression(C=10.0, solver="newton-cg", max_iter=20)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            predicted[fold == k] = model.fit(X[fold != k], code[fold != k]).predict(X[fold == k])
    return _skill(predicted, code)


def find_annotator_columns(table: Table, labels: NDArray[Any]) -> list[str]:
    """Return the columns of a table that say who gave each label.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.leaks import find_annotator_columns
    >>> from kernelwise.tables.columns import Column, Table
    >>> who = Column("worker_id", "categorical", np.array(["Ann", "Bob"] * 10, dtype=object))
    >>> size = Column("size", "numeric", np.arange(20.0))
    >>> find_annotator_columns(Table.of("table.csv", [who, size]), np.array(["cat", "dog", "dog", "cat"] * 5))
    ['worker_id']
    """
    classes = {str(label) for label in np.asarray(labels).tolist()}
    return [
        one.name for one in table.columns.values() if names_annotators(one.name) and _behaves_like_people(one, classes)
    ]


def names_annotators(name: str) -> bool:
    """Whether the name of a column says that it holds who gave the label.

    >>> [names_annotators(name) for name in ("AnnotatorID", "labelled_by", "worker", "coworkers", "user_age")]
    [True, True, True, False, False]
    """
    words = [word.casefold() for word in re.findall(r"[A-ZÀ-Þ]+(?![a-zà-ÿ])|[A-ZÀ-Þ]?[a-zà-ÿ]+", name)]
    if any(DONE.fullmatch(done) and by in BY for done, by in pairwise(words)):
        return True
    who = [word for word in words if WHO.fullmatch(word)]
    return bool(who) and all(word in BESIDE or word in who for word in words)


def _behaves_like_people(column: Column, classes: set[str]) -> bool:
    """Whether the values of a column are few, in several rows each, and no labels themselves."""
    cells = [cell for cell in column.labels() if cell]
    values, counts = np.unique(np.array(cells, dtype=str), return_counts=True)
    if len(values) < 2 or len(cells) < ROWS_PER_VALUE * len(values) or set(values.tolist()) <= classes | {"0", "1"}:
        return False
    numbers = column.values.dtype.kind == "f" and not all(float(cell).is_integer() for cell in values.tolist())
    return not numbers and int(counts[counts > 1].sum()) * 2 > len(cells)


def said_of_annotators(names: list[str]) -> str:
    """What is said of columns that are left out of the features."""
    shown = " and ".join(repr(name) for name in names)
    by_name, says = ("By its name,", "says") if len(names) == 1 else ("By their names,", "say")
    return (
        f"{by_name} {shown} {says} who gave the label, so no feature is made of it: it would "
        "hide who labels badly. To learn how good everybody is, give Answers.from_column(labels, who), or on the "
        "command line kernelwise audit labels --annotator; if it is a feature, give it another name"
    )
