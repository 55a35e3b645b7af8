"""A table without pandas: named columns, and perhaps a block of numbers beside them."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from .errors import FileError, choices, place

__all__ = ["Column", "Kind", "Table"]

Kind = Literal["numeric", "categorical", "text", "id"]
#: What is written where a value is missing.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
#: On average this many words make a cell prose rather than a name.
WORDS_OF_TEXT = 4.0
#: From this many rows on, a column of distinct words names the rows.
ROWS_FOR_IDS = 8
#: A column of which a larger part are numbers is rather a column of numbers with mistakes.
MOSTLY = 0.8


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
    kind : {"numeric", "categorical", "text", "id"}
        "id" columns name the rows and are never features.
    values : ndarray
        float64, NaN where missing, for a numeric column; otherwise an object array of strings, None where missing.

    Examples
    --------
    >>> from kernelwise.files.table import Column
    >>> Column.of("age", ["31", "", "45"])
    Column(name='age', kind='numeric', values=array([31., nan, 45.]))
    >>> Column.of("colour", ["red", "NA", "red"]).missing
    array([False,  True, False])
    """

    name: str
    kind: Kind
    values: NDArray[Any]

    @classmethod
    def of(cls, name: str, cells: list[str]) -> Self:
        """The column of these cells, its kind found from what they hold."""
        numbers = as_numbers(cells)
        if numbers is None:
            return cls(name, _kind_of_words(name, cells), as_words(cells))
        column = cls.of_numbers(name, numbers)
        return column if column.kind == "numeric" else cls(name, "id", as_words(cells))  # ids as they are written

    @classmethod
    def of_numbers(cls, name: str, numbers: NDArray[np.float64]) -> Self:
        """The column of these numbers, which may be ids."""
        return cls(name, "id" if _counts_rows(name, numbers) else "numeric", numbers)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where there is no value."""
        if self.values.dtype.kind == "f":
            return np.isnan(self.values)
        return np.array([value is None for value in self.values], dtype=bool)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def labels(self) -> list[str]:
        """The values as text, whole numbers without a decimal point; "" where missing."""
        if self.values.dtype.kind == "f":
            return ["" if np.isnan(value) else f"{value:.15g}" for value in self.values]
        return ["" if value is None else value for value in self.values]


@dataclass(frozen=True)
class Table:
    """The columns of a file, in order, and where they came from.

    Parameters
    ----------
    source : Path
    columns : dict of str to Column
    block : ndarray or sparse matrix of shape (n_rows, n_features), optional
        Numbers without names, from a file of a matrix; they come before the columns as features.
    lines : ndarray of int, optional
        The line of the file at which every row starts; messages count rows from 1 without it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from kernelwise.files.table import Column, Table
    >>> table = Table.of(Path("a.csv"), [Column.of("age", ["31", "45"]), Column.of("label", ["yes", "no"])])
    >>> table.n_rows, table.names
    (2, ['age', 'label'])
    >>> table["lable"]
    Traceback (most recent call last):
    ...
    kernelwise.files.errors.FileError: a.csv has no column 'lable'; did you mean 'label'?
    """

    source: Path
    columns: dict[str, Column]
    block: Any = None
    lines: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, source: Path, columns: Iterable[Column], **others: Any) -> Self:
        """A table of columns, which must have distinct names."""
        named: dict[str, Column] = {}
        for position, column in enumerate(columns, start=1):
            if column.name in named:
                first = list(named).index(column.name) + 1
                raise FileError(
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
        return len(next(iter(self.columns.values())).values)

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise FileError(f"{self.source} has no column {name!r}; {choices(name, self.columns)}")
        return self.columns[name]

    def where(self, row: int, column: str | None = None) -> str:
        """The place of a row, as a message begins."""
        if self.lines is not None:
            return place(self.source, line=int(self.lines[row]), column=column)
        return f"{self.source}, row {row + 1}" + (f", column {column!r}" if column is not None else "")

    def without(self, names: Iterable[str]) -> Self:
        """The table without some of its columns, such as those that were labels."""
        left_out = set(names)
        return replace(self, columns={name: kept for name, kept in self.columns.items() if name not in left_out})

    def retyped(self, kinds: Mapping[str, Kind]) -> Self:
        """The table with the kinds of some columns set by the user."""
        columns = dict(self.columns)
        for name, kind in kinds.items():
            columns[name] = _as_kind(self, self[name], kind)
        return replace(self, columns=columns)

    def required(self, name: str) -> list[str]:
        """The cells of a column as text, of which none may be missing."""
        column = self[name]
        missing = np.flatnonzero(column.missing)
        if len(missing):
            others = f" (and {len(missing) - 1} more rows)" if len(missing) > 1 else ""
            raise FileError(f"{self.where(int(missing[0]), name)}: no value{others}; fill it in or leave the row out")
        return column.labels()

    def distinct(self, name: str) -> dict[str, int]:
        """Row numbers by the cells of a column, which must all be present and distinct."""
        rows: dict[str, int] = {}
        for row, cell in enumerate(self.required(name)):
            first = rows.setdefault(cell, row)
            if first != row:
                raise FileError(
                    f"{self.where(row, name)}: {cell!r} is also the id of {self._row(first)}; ids must be distinct"
                )
        return rows

    def _row(self, row: int) -> str:
        return f"line {self.lines[row]}" if self.lines is not None else f"row {row + 1}"

    def missing(self) -> dict[str, list[int]]:
        """Line numbers (row numbers without lines) of the missing values, by column, for columns that have some.

        >>> from pathlib import Path
        >>> from kernelwise.files.table import Column, Table
        >>> Table.of(Path("a.csv"), [Column.of("age", ["31", "?"])]).missing()
        {'age': [2]}
        """
        numbers = self.lines if self.lines is not None else np.arange(1, self.n_rows + 1)
        found = {name: numbers[column.missing].tolist() for name, column in self.columns.items()}
        return {name: rows for name, rows in found.items() if rows}


def as_numbers(cells: list[str]) -> NDArray[np.float64] | None:
    """Cells as numbers, NaN where missing; None if one of them is not a number, or if all are missing.

    >>> as_numbers(["1", " 2.5", "?"]), as_numbers(["1", "red"])
    (array([1. , 2.5, nan]), None)
    """
    try:
        values = np.array([float(cell) for cell in cells])
    except ValueError:
        try:
            values = np.array([np.nan if is_missing(cell) else float(cell) for cell in cells])
        except ValueError:
            return None
    # Python reads 1_000 and infinity as numbers; in a file they are rather a name and a mistake.
    if np.isnan(values).all() or np.isinf(values).any() or any("_" in cell for cell in cells):
        return None
    return values


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number.

    >>> is_number("1e-3"), is_number("1_000"), is_number("inf")
    (True, False, False)
    """
    try:
        return math.isfinite(float(cell)) and "_" not in cell
    except ValueError:
        return False


def mostly_numbers(cells: list[str]) -> bool:
    """Whether so many cells are numbers that the others are rather mistakes.

    >>> mostly_numbers(["1", "2", "3", "4", "5", "x"]), mostly_numbers(["a1", "2"])
    (True, False)
    """
    return sum(map(is_number, cells)) > MOSTLY * len(cells)


def is_missing(cell: str) -> bool:
    """Whether a cell stands for no value.

    >>> is_missing(" NA "), is_missing("0")
    (True, False)
    """
    return cell.strip().casefold() in MISSING


def as_words(cells: list[str]) -> NDArray[Any]:
    """Cells as an object array, stripped, None where missing.

    >>> as_words([" a", "NA"])
    array(['a', None], dtype=object)
    """
    words = np.empty(len(cells), dtype=object)
    words[:] = [None if is_missing(cell) else cell.strip() for cell in cells]
    return words


def _counts_rows(name: str, numbers: NDArray[np.float64]) -> bool:
    """Whether whole numbers name the rows: they count them, or are distinct and the column is called an id."""
    if len(numbers) < ROWS_FOR_IDS or not np.array_equal(numbers, np.floor(numbers)):
        return False
    steps = np.diff(numbers)
    called_id = name.casefold() in {"id", "index", "row"} or name.casefold().endswith(("_id", " id"))
    if numbers[0] in (0.0, 1.0) and bool((steps == 1.0).all()):
        return True
    return called_id and len(np.unique(numbers)) == len(numbers)


def _kind_of_words(name: str, cells: list[str]) -> Kind:
    present = [cell for cell in cells if not is_missing(cell)]
    if not present:
        return "categorical"
    distinct = len(set(present))
    words = sum(len(cell.split()) for cell in present) / len(present)
    if words >= WORDS_OF_TEXT or (words >= 2.0 and distinct > len(present) // 2 >= ROWS_FOR_IDS):
        return "text"
    named = distinct == len(cells) >= ROWS_FOR_IDS and words < 2.0 and not mostly_numbers(present)
    return "id" if named else "categorical"


def _as_kind(table: Table, column: Column, kind: Kind) -> Column:
    if kind not in get_args(Kind):
        raise FileError(f"{kind!r} is not a kind of column; use one of {', '.join(get_args(Kind))}")
    if kind == "numeric":
        return replace(column, kind=kind, values=numeric_values(table, column))
    if column.values.dtype.kind == "f" and kind != "id":
        return replace(column, kind=kind, values=as_words(column.labels()))
    return replace(column, kind=kind)


def numeric_values(table: Table, column: Column) -> NDArray[np.float64]:
    """The values of a column as numbers, or an error that names the first cell that is none."""
    if column.values.dtype.kind == "f":
        return column.values
    numbers = np.full(len(column.values), np.nan)
    for row, cell in enumerate(column.values):
        if cell is not None:
            if not is_number(cell):
                raise FileError(
                    f"{table.where(row, column.name)}: {cell!r} is not a number; correct it, or leave the cell empty"
                )
            numbers[row] = float(cell)
    return numbers
