"""Columns that give the label away: copies of it, under another name or in other words.

A column that repeats the given label repeats its errors too, and an audit that believes the column finds none. A column
is reported if the label can be read off it in nearly every row: from its values, if they are few; from where its
numbers lie; or from whether its cells are empty. Where some labels are wrong, no honest column can do so.
"""

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tables.columns import Column, Table

__all__ = ["Giveaway", "giveaways", "giveaways_of_numbers", "warn_of"]

#: With fewer labelled rows, chance may do it.
LEAST_ROWS = 20
#: The label must follow from the column in this share of the rows, and all exceptions must be fewer than EXCEPTIONS
#: times the rows that are not of the largest class.
SHARE, EXCEPTIONS = 0.99, 0.05
#: There must be so many rows for each class on average.
ROWS_PER_CLASS = 4
#: A column of few values has at most so many values for each class.
VALUES_PER_CLASS = 3
#: Arrays with more columns are not searched.
MAX_COLUMNS = 2000


@dataclass(frozen=True)
class Giveaway:
    """A column that gives the label away, and how this was found."""

    column: str
    how: str

    def __str__(self) -> str:
        return (
            f"column {self.column!r} gives the label away: {self.how}. Errors of the label that the column repeats "
            "cannot be found. If the column was made from the label, or known only after it, leave it out"
        )


def warn_of(found: list[Giveaway]) -> None:
    """Warn of each column, as if the caller's caller had called."""
    for one in found:
        warnings.warn(str(one), stacklevel=4)


def giveaways(table: Table, labels: NDArray[Any]) -> list[Giveaway]:
    """The columns of a table that give the labels away; rows whose label is None do not count.

    >>> from kernelwise.tables.columns import Column
    >>> alive = Column.of("alive", ["yes", "no", "no", "yes"] * 10)
    >>> found = giveaways(Table.of("a.csv", [alive]), np.array([1, 0, 0, 1] * 10))
    >>> found[0].how
    "its value 0 goes with the label '0' and its value 1 with '1', in 40 of 40 rows"
    """
    rows = np.array([label is not None for label in labels.tolist()])
    given = np.array([str(label) for label in labels[rows].tolist()])
    found = []
    for column in table.columns.values():
        how = None if column.kind in ("id", "text") else _how(column, rows, given, numbers=True)
        if how is not None:
            found.append(Giveaway(column.name, how))
    if isinstance(table.block, np.ndarray):
        found += giveaways_of_numbers(table.block, labels)
    return found


def giveaways_of_numbers(X: Any, labels: NDArray[Any]) -> list[Giveaway]:
    """The columns of an array that are copies of the labels: they have few values, and each goes with one label.

    >>> y = np.array([0, 1] * 15)
    >>> [found.column for found in giveaways_of_numbers(np.column_stack([y + 5.0, np.arange(30.0)]), y)]
    ['x1']
    """
    if not isinstance(X, np.ndarray) or X.shape[1] > MAX_COLUMNS:
        return []
    rows = np.array([label is not None for label in labels.tolist()])
    given = np.array([str(label) for label in labels[rows].tolist()])
    columns = (Column(f"x{j + 1}", "numeric", X[:, j]) for j in range(X.shape[1]))
    hows = ((column.name, _how(column, rows, given, numbers=False)) for column in columns)
    return [Giveaway(name, how) for name, how in hows if how is not None]


def _how(column: Column, rows: NDArray[np.bool_], given: NDArray[Any], *, numbers: bool) -> str | None:
    """How the label follows from a column, in words; None if it does not follow."""
    classes = Counter(given.tolist())
    if len(given) < LEAST_ROWS or not 2 <= len(classes) <= len(given) // ROWS_PER_CLASS:
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
        return _by_cuts(cells, given, len(classes))
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


def _by_cuts(numbers: NDArray[np.float64], given: NDArray[Any], n_classes: int) -> str | None:
    """How the label follows from the size of a number, if every class is one range of numbers."""
    order = np.argsort(numbers, kind="stable")
    values, labels = numbers[order], given[order]
    changes = np.flatnonzero(labels[1:] != labels[:-1])
    if len(changes) != n_classes - 1 or (values[changes] == values[changes + 1]).any():
        return None
    cut = f"{values[changes[0]]:g}"
    return (
        f"its numbers up to {cut} go with the label {str(labels[0])!r}, and larger ones with "
        f"{'another label' if n_classes == 2 else 'other labels'}, in all {len(given)} rows"
    )


def _short(cell: Any) -> str:
    return f"{cell:g}" if isinstance(cell, float) else repr(str(cell)[:40])
