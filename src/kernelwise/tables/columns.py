"""Tables without pandas: named columns, and perhaps a matrix of numbers beside them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from .errors import TableError, choices, place
from .kinds import Kind, as_numbers, as_words, kind_of_numbers, kind_of_words, number, seconds

__all__ = ["Column", "Table", "as_table", "is_table"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
    kind : {"numeric", "categorical", "text", "date", "id"}
        A column of kind "id" names the rows and is never a feature.
    values : ndarray
        Numbers in float64, NaN where missing; or strings in an object array, None where missing.

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

    @classmethod
    def of(cls, name: str, cells: Sequence[str]) -> Self:
        """A column whose kind is found from its cells."""
        numbers = as_numbers(cells)
        if numbers is not None and kind_of_numbers(name, numbers) == "numeric":
            return cls(name, "numeric", numbers)
        words = as_words(cells)  # numbers that are ids stay as they are written
        present = [word for word in words if word is not None]
        return cls(name, kind_of_words(present, len(words)) if numbers is None else "id", words)

    @classmethod
    def of_numbers(cls, name: str, numbers: Array) -> Self:
        """A column of numbers, which may be ids; infinite numbers become missing."""
        finite = np.where(np.isfinite(numbers), numbers, np.nan)
        return cls(name, kind_of_numbers(name, finite), finite)

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
        The line of the file at which each row starts. Without lines, messages count rows from 1.

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
            values = self.numbers(name) if kind == "numeric" else column.values
            if values.dtype.kind == "f" and kind in ("categorical", "text", "date"):
                values = as_words(column.labels())
            columns[name] = Column(name, kind, values)
            if kind == "date":
                self.seconds(name)  # raises an error for a cell that is no date
        return replace(self, columns=columns)

    def numbers(self, name: str) -> Array:
        """The values of a column as numbers, NaN where missing; an error names the first cell that is no number."""
        column = self[name]
        return column.values if column.values.dtype.kind == "f" else self._parsed(column, number, "a number")

    def seconds(self, name: str) -> Array:
        """The dates of a column in seconds, NaN where missing; an error names the first cell that is no date."""
        return self._parsed(self[name], seconds, "a date such as 2024-05-31 or 2024-05-31T17:30")

    def _parsed(self, column: Column, parse: Callable[[str], float], what: str) -> Array:
        values = np.full(len(column.values), np.nan)
        for row, cell in enumerate(column.labels()):
            if cell:
                try:
                    values[row] = parse(cell)
                except ValueError as error:
                    raise TableError(
                        f"{self.where(row, column.name)}: {cell!r} is not {what}; correct it, leave the cell empty, or"
                        f" call the column categorical (--kind {column.name!r}=categorical for a file, dtype"
                        " 'category' in a data frame)"
                    ) from error
        return values

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


def is_table(X: Any) -> bool:
    """Whether the columns of ``X`` may be of different kinds: a data frame that is not sparse, or an array of strings.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from kernelwise.tables.columns import is_table
    >>> is_table(pd.DataFrame({"a": [1]})), is_table(np.array([["a", 1]], dtype=object)), is_table(np.ones((1, 1)))
    (True, True, False)
    """
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and (X.dtype.kind == "U" or (X.dtype == object and any(isinstance(x, str) for x in X.flat)))
    return isinstance(X, Table) or (hasattr(X, "columns") and hasattr(X, "iloc") and not hasattr(X, "sparse"))


def as_table(X: Any, names: Sequence[str] | None = None) -> Table:
    """A data frame or an array as a table: the same table as a file with the same cells gives.

    A column of the pandas dtype "category" is categorical, whatever its values are. The columns of an array get
    ``names``, or "column 1", "column 2", ... as in a file without a header.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelwise.tables.columns import as_table
    >>> table = as_table(pd.DataFrame({"size": [1.5, None], "day": pd.to_datetime(["2024-05-31", None])}))
    >>> {column.name: column.kind for column in table.columns.values()}
    {'size': 'numeric', 'day': 'date'}
    """
    if isinstance(X, Table):
        return X
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        columns = [X.iloc[:, position] for position in range(X.shape[1])]
        return Table.of("X", map(_column, _distinct(str(name).strip() for name in X.columns), columns))
    if not (isinstance(X, np.ndarray) and X.ndim == 2):
        raise TypeError(f"X must be a data frame or an array of rows and columns, got {type(X).__name__}")
    names = names or [f"column {position}" for position in range(1, X.shape[1] + 1)]
    return Table.of("X", map(_column, names, X.T))


def _distinct(names: Iterable[str]) -> list[str]:
    """Names in which .1, .2, ... stand behind a name that occurs again, as pandas does it."""
    found: list[str] = []
    for name in names:
        again = (f"{name}.{count}" for count in range(1, len(found) + 2))
        found.append(name if name not in found else next(other for other in again if other not in found))
    return found


def _column(name: str, values: Any) -> Column:
    if values.dtype.kind in "biuf":
        frame = not isinstance(values, np.ndarray)
        return Column.of_numbers(name, values.to_numpy(float, na_value=np.nan) if frame else values.astype(float))
    if values.dtype.kind == "m":
        return Column.of_numbers(name, np.asarray(values, dtype="m8[us]") / np.timedelta64(1, "s"))
    cells = [_written(value) for value in values.tolist()]
    return Column(name, "categorical", as_words(cells)) if values.dtype.name == "category" else Column.of(name, cells)


def _written(value: Any) -> str:
    """A value as a file holds it: whole numbers without a decimal point, dates in ISO form."""
    if isinstance(value, str):
        return value
    said = f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
    return "" if said == "NaT" else said  # a missing date of pandas; in a file, "NaT" would be a name
