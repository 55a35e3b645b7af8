"""Tables without pandas: named columns, and perhaps a matrix of numbers beside them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from . import kinds as rules
from . import notation as writing
from .errors import TableError, choices, place
from .kinds import DateOrder, Kind, as_words
from .notation import Amounts, Habits, Notation

Array = NDArray[np.float64]

#: The habits of a table are found from so many cells of each column.
CELLS_FOR_HABITS = 1000


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
    kind : {"numeric", "categorical", "name", "text", "date", "id"}
        A column of kind "id" names the rows and is never a feature.
    values : ndarray
        Numbers in float64, NaN where missing; or strings in an object array, None where missing.
    notation : Notation, optional
        How numbers or dates are written, if not as 1.5 and as 2024-05-31.
    missing_code : float
        The number that stood for a missing value, such as -999; NaN if there was none.

    Examples
    --------
    >>> from kernelwise.tables.columns import Column
    >>> Column.of("age", ["31", "", "45"])
    Column(name='age', kind='numeric', values=array([31., nan, 45.]))
    >>> Column.of("colour", ["red", "NA", "red"]).missing
    array([False,  True, False])
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    notation: Notation | None = field(default=None, repr=False)
    missing_code: float = field(default=math.nan, repr=False)

    @classmethod
    def of(cls, name: str, cells: Sequence[str], habits: Habits = Habits()) -> Self:  # noqa: B008  # immutable
        """A column whose kind is found from its cells; ``habits`` are those of the other columns of the table."""
        words = as_words(cells)
        present = words[words != None].tolist()  # noqa: E711  # the comparison is made for every word
        numbers = rules.as_numbers(cells)
        if numbers is not None and not rules.are_codes(cells):
            points = habits.decimal_comma or (habits.decimal_comma is None and writing.points_group_thousands(present))
            grouped = writing.find_amounts(present, habits) if points and present else None
            if grouped is not None and grouped.thousands == ".":
                return cls._written(name, words, grouped)
            found = cls.of_numbers(name, numbers)
            # Numbers that are ids stay as they are written.
            return found if found.kind != "id" else cls(name, "id", words)
        written = cls._of_notation(name, words, present, habits) if numbers is None and present else None
        return written or cls(name, rules.kind_of_words(present, len(words)), words)

    @classmethod
    def _of_notation(cls, name: str, words: NDArray[Any], present: list[str], habits: Habits) -> Self | None:
        """A column of numbers or dates that have a notation, perhaps with a few mistakes; None for other words.

        Numbers in several notations are refused.
        """
        notation: Notation | None = (
            writing.find_truth(present) or writing.find_amounts(present, habits) or writing.find_times(present)
        )
        if notation is not None:
            return cls._written(name, words, notation)
        if (order := rules.find_dates(present, habits)) is not None:
            return cls(name, "date", words, order)
        if len(set(present)) <= rules.MANY_NUMBERS:
            return None
        if (differ := writing.several_notations(present)) is not None:
            raise TableError(
                f"column {name!r} holds numbers that differ in {differ}; write them all in one way, or call the column "
                f"categorical (--kind {name!r}=categorical for a file, dtype 'category' in a data frame)"
            )
        if (amounts := writing.find_amounts(present, habits, share=rules.MOSTLY)) is not None:
            return cls(name, "numeric", words, amounts)
        if (order := rules.find_dates(present, habits, share=rules.MOSTLY)) is not None:
            return cls(name, "date", words, order)
        return None

    @classmethod
    def _written(cls, name: str, words: NDArray[Any], notation: Notation) -> Self:
        numbers = np.array([np.nan if word is None else notation.read(word) for word in words])
        return replace(cls._of_amounts(name, numbers, "numeric"), notation=notation)

    @classmethod
    def of_numbers(cls, name: str, numbers: Array) -> Self:
        """A column of numbers, which may be ids or dates; infinite numbers become missing."""
        finite = np.where(np.isfinite(numbers), numbers, np.nan)
        kind = rules.kind_of_numbers(name, finite)
        if kind == "date":
            return cls(name, kind, as_words(["" if np.isnan(value) else f"{value:.0f}" for value in finite]))
        return cls._of_amounts(name, finite, kind)

    @classmethod
    def _of_amounts(cls, name: str, numbers: Array, kind: Kind) -> Self:
        code = rules.missing_code(numbers)
        return cls(name, kind, np.where(numbers == code, np.nan, numbers), missing_code=code)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each value is missing."""
        if self.values.dtype.kind == "f":
            return np.isnan(self.values)
        return np.array([value is None for value in self.values], dtype=bool)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def labels(self) -> list[str]:
        """The values as text, whole numbers without a decimal point; "" for a missing value."""
        if self.values.dtype.kind == "f":
            return ["" if np.isnan(value) else f"{value:.15g}" for value in self.values]
        return ["" if value is None else value for value in self.values]


@dataclass(frozen=True)
class Table:
    """Columns in order, and their source.

    Parameters
    ----------
    source : Path or str
        The file, or "X" for a data frame.
    columns : dict of str to Column
    block : ndarray or sparse matrix of shape (n_rows, n_features), optional
        Numbers without names, from a file of a matrix. Among the features they come before the columns.
    lines : ndarray of int, optional
        The row of a spreadsheet in which each row stands. Without lines, messages count rows from 1.
    habits : Habits
        How people write numbers and dates in this table.

    Examples
    --------
    >>> from kernelwise.tables.columns import Column, Table
    >>> table = Table.of("a.csv", [Column.of("age", ["31", "45"]), Column.of("label", ["yes", "no"])])
    >>> table.n_rows, table.names
    (2, ['age', 'label'])
    >>> table["lable"]
    Traceback (most recent call last):
    ...
    kernelwise.tables.errors.TableError: a.csv has no column 'lable'; did you mean 'label'?
    """

    source: Path | str
    columns: dict[str, Column]
    block: Any = None
    lines: NDArray[np.int64] | None = None
    habits: Habits = field(default_factory=Habits)

    @classmethod
    def of(cls, source: Path | str, columns: Iterable[Column], **others: Any) -> Self:
        """A table of columns; two columns of the same name are an error."""
        named: dict[str, Column] = {}
        for position, column in enumerate(columns, start=1):
            if column.name in named:
                first = list(named).index(column.name) + 1
                raise TableError(
                    f"{source} has two columns named {column.name!r}, number {first} and {position}; rename one"
                )
            named[column.name] = column
        return cls(source, named, **others)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        if self.block is not None:
            return int(self.block.shape[0])
        return max((len(column.values) for column in self.columns.values()), default=0)

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise TableError(f"{self.source} has no column {name!r}; {choices(name, self.columns)}")
        return self.columns[name]

    def where(self, row: int, column: str | None = None) -> str:
        """The place of a row, with which a message begins."""
        if self.lines is not None:
            return place(self.source, line=int(self.lines[row]), column=column)
        return place(f"{self.source}, row {row + 1}", column=column)

    def take(self, rows: Any) -> Self:
        """Some rows of the table, by positions or by a slice.

        >>> from kernelwise.tables.columns import Column, Table
        >>> Table.of("a.csv", [Column.of("age", ["31", "45"])]).take([1])["age"].values
        array([45.])
        """
        columns = {name: replace(column, values=column.values[rows]) for name, column in self.columns.items()}
        lines = None if self.lines is None else self.lines[rows]
        return replace(self, columns=columns, lines=lines, block=None if self.block is None else self.block[rows])

    @classmethod
    def stacked(cls, parts: "Sequence[Table]") -> "Table":
        """The rows of several tables with the same columns; the first table gives the source."""
        first = parts[0]
        for part in parts:
            if part.names != first.names:
                odd = next((name for name in {*part.names} ^ {*first.names}), "the order of the columns")
                raise TableError(f"{part.source} and {first.source} have different columns: {odd}; make them equal")
        columns = {
            name: replace(column, values=np.concatenate([part.columns[name].values for part in parts]))
            for name, column in first.columns.items()
        }
        lined = all(part.lines is not None for part in parts)
        return replace(first, columns=columns, lines=np.concatenate([part.lines for part in parts]) if lined else None)

    def without(self, names: Iterable[str]) -> Self:
        """The table without some of its columns, such as the column of labels."""
        left_out = set(names)
        return replace(self, columns={name: kept for name, kept in self.columns.items() if name not in left_out})

    def retyped(self, kinds: Mapping[str, Kind]) -> Self:
        """The table in which the user has chosen the kinds of some columns."""
        columns = dict(self.columns)
        for name, kind in kinds.items():
            if kind not in get_args(Kind):
                raise TableError(f"{kind!r} is not a kind of column; use one of {', '.join(get_args(Kind))}")
            column = self[name]
            words = as_words(column.labels()) if column.values.dtype.kind == "f" else column.values
            if kind == "numeric":
                columns[name] = Column(name, kind, self.numbers(name), column.notation or _amounts(words, self.habits))
            elif kind == "date":
                order = column.notation or _dates(words, self.habits)
                columns[name] = Column(name, kind, words, order)
                _parsed(self, columns[name], order or DateOrder(), _date_wanted(order))  # refuses what is no date
            else:
                columns[name] = Column(name, kind, column.values if kind == "id" else words)
        return replace(self, columns=columns)

    def numbers(self, name: str, notation: Notation | None = None) -> Array:
        """The values of a column as numbers, NaN where missing; an error names the first cell that is no number.

        ``notation`` is how the numbers of a model were written; where it does not fit, the cells decide.
        """
        column = self[name]
        if column.values.dtype.kind == "f":
            return column.values
        present = [word for word in column.values if word is not None]
        if notation is None or not _reads(notation, present):
            notation = column.notation or writing.find_truth(present) or _amounts(present, self.habits)
            notation = notation or writing.find_times(present) or Amounts()
        return _parsed(self, column, notation, "a number")

    def seconds(self, name: str, notation: Notation | None = None) -> Array:
        """The dates of a column in seconds, NaN where missing; an error names the first cell that is no date."""
        column = self[name]
        words = [word for word in column.labels() if word]
        if notation is None or not _reads(notation, words):
            notation = column.notation or _dates(words, self.habits) or DateOrder()
        return _parsed(self, column, notation, _date_wanted(notation))

    def required(self, name: str) -> list[str]:
        """The cells of a column as text; a missing cell is an error."""
        column = self[name]
        missing = np.flatnonzero(column.missing)
        if len(missing):
            others = f" (and {len(missing) - 1} more rows)" if len(missing) > 1 else ""
            raise TableError(f"{self.where(int(missing[0]), name)}: no value{others}; fill it in or leave the row out")
        return column.labels()

    def distinct(self, name: str) -> dict[str, int]:
        """The row of each cell of a column; a cell that is missing or occurs twice is an error."""
        rows: dict[str, int] = {}
        for row, cell in enumerate(self.required(name)):
            first = rows.setdefault(cell, row)
            if first != row:
                before = f"line {self.lines[first]}" if self.lines is not None else f"row {first + 1}"
                raise TableError(f"{self.where(row, name)}: {cell!r} is also the id of {before}; ids must be distinct")
        return rows

    def missing(self) -> dict[str, list[int]]:
        """The lines (or rows from 1, without lines) of the missing values of each column that has missing values.

        >>> from kernelwise.tables.columns import Column, Table
        >>> Table.of("a.csv", [Column.of("age", ["31", "?"])]).missing()
        {'age': [2]}
        """
        numbers = self.lines if self.lines is not None else np.arange(1, self.n_rows + 1)
        found = {name: numbers[column.missing].tolist() for name, column in self.columns.items()}
        return {name: rows for name, rows in found.items() if rows}


def _date_wanted(order: Notation | None) -> str:
    """What a cell should be: a date in the order of the other cells."""
    wanted = "a date such as 2024-05-31, 31.05.2024 or 2024-05-31T17:30"
    if not isinstance(order, DateOrder):
        return wanted
    return f"{wanted}, with the {'day' if order.day_first else 'month'} first where both are numbers"


def _amounts(words: Iterable[str | None], habits: Habits) -> Notation | None:
    present = [word for word in words if word is not None]
    found = writing.find_amounts(present, habits) or writing.find_amounts(present, habits, share=rules.MOSTLY)
    return None if found == Amounts() else found


def _dates(words: Iterable[str | None], habits: Habits) -> Notation | None:
    return rules.find_dates([word for word in words if word], habits)


def _reads(notation: Notation, words: Iterable[str]) -> bool:
    try:
        for word in words:
            notation.read(word)
    except ValueError:
        return False
    return True


def _parsed(table: Table, column: Column, notation: Notation, what: str) -> Array:
    values = np.full(len(column.values), np.nan)
    for row, cell in enumerate(column.labels()):
        if cell:
            try:
                values[row] = notation.read(cell)
            except (ValueError, OverflowError) as error:
                raise TableError(
                    f"{table.where(row, column.name)}: {cell!r} is not {what}; correct it, leave the cell empty, or"
                    f" call the column categorical (--kind {column.name!r}=categorical for a file, dtype"
                    " 'category' in a data frame)"
                ) from error
    return values


def habits_of(columns: Iterable[Sequence[str]]) -> Habits:
    """What the columns of a table show about decimal commas and about the order of dates; None where they disagree."""
    commas, days = set(), set()
    for cells in columns:
        some = {cell.strip() for cell in cells[:CELLS_FOR_HABITS] if not rules.is_missing(cell)}
        if some:
            commas.add(writing.shows_decimal_comma(some))
            days.add(rules.shows_day_first(some))
    agreed = [next(iter(shown)) if len(shown) == 1 else None for shown in (commas - {None}, days - {None})]
    return Habits(decimal_comma=agreed[0], day_first=agreed[1])
