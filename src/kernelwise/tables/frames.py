"""Data frames and arrays as tables: the same table as a file with the same cells gives."""

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from .columns import CELLS_FOR_HABITS, Column, Table, habits_of
from .kinds import as_words
from .notation import Habits


def native_frame(X: Any) -> Any:
    """The frame inside a frame of narwhals, or ``X`` itself; a frame that is not computed yet is refused."""
    if type(X).__module__.partition(".")[0] == "narwhals" and hasattr(X, "to_native"):
        X = X.to_native()
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, whose rows are not computed yet; give X.collect()")
    return X


def is_frame(X: Any) -> bool:
    """Whether ``X`` is a data frame of pandas or polars, or a table of pyarrow."""
    if type(X).__module__.partition(".")[0] in ("polars", "pyarrow", "narwhals"):
        return hasattr(X, "columns") and getattr(X, "shape", None) is not None
    return hasattr(X, "columns") and hasattr(X, "iloc")


def is_table(X: Any) -> bool:
    """Whether ``X`` is a frame that is not sparse, or an array with strings or missing numbers."""
    if isinstance(X, np.ndarray):
        if X.ndim != 2:
            return False
        if X.dtype.kind == "f":
            return bool(np.isnan(X).any()) and not np.isinf(X).any()
        return X.dtype.kind == "U" or (X.dtype == object and any(isinstance(x, str) for x in X.flat))
    return isinstance(X, Table) or (is_frame(X) and not hasattr(X, "sparse"))


def as_table(
    X: Any, names: Sequence[str] | None = None, *, as_written: Collection[str] = (), guess: bool = True
) -> Table:
    """A data frame or an array as a table.

    A column of the dtype "category" (in polars Categorical or Enum) is categorical, whatever its values are. The
    columns of an array get ``names``, or "column 1", "column 2", ... as in a file without a header. Strings in the
    columns ``as_written`` stay strings. Without ``guess`` all strings stay strings and all numbers numbers: so a few
    rows of a large table are read as the others, whatever these few look like.
    """
    X = native_frame(X)
    if isinstance(X, Table):
        return X
    if is_frame(X):
        columns = _columns(X)
        names = _distinct(str(name).strip() for name in getattr(X, "column_names", X.columns))
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        columns = [_numbers_or_cells(values) for values in X.T]
        names = names or [f"column {position}" for position in range(1, X.shape[1] + 1)]
    else:
        raise TypeError(f"X must be a data frame or an array of rows and columns, got {type(X).__name__}")
    habits = None
    if guess:
        shown = (values[:CELLS_FOR_HABITS] for values, categorical in columns if not categorical)
        habits = habits_of([_written(value) for value in values] for values in shown)
    made = [
        _column(name, values, categorical or name in as_written, habits)
        for name, (values, categorical) in zip(names, columns, strict=True)
    ]
    return Table.of("X", made, habits=habits or Habits())


def _column(name: str, values: Any, categorical: bool, habits: Habits | None) -> Column:
    """A column of values; without habits its kind is not guessed."""
    if isinstance(values, np.ndarray):
        finite = np.where(np.isfinite(values), values, np.nan)
        return Column(name, "numeric", finite) if habits is None else Column.of_numbers(name, values)
    if categorical or habits is None:
        return Column(name, "categorical", as_words(values))
    return Column.of(name, values, habits)


#: The values of a column, as numbers or as the cells of a file; and whether its type says that it is categorical.
Values = tuple[Any, bool]


def _columns(X: Any) -> list[Values]:
    if hasattr(X, "iloc"):
        return [_numbers_or_cells(X.iloc[:, position]) for position in range(X.shape[1])]
    if hasattr(X, "get_columns"):  # polars
        return [_of_objects(column.to_list(), str(column.dtype)) for column in X.get_columns()]
    return [_of_objects(column.to_pylist(), str(column.type)) for column in X.columns]  # pyarrow


def _numbers_or_cells(values: Any) -> Values:
    if values.dtype.kind in "biuf":
        frame = not isinstance(values, np.ndarray)
        return values.to_numpy(float, na_value=np.nan) if frame else values.astype(float), False
    if values.dtype.kind == "m":
        return np.asarray(values, dtype="m8[us]") / np.timedelta64(1, "s"), False
    return [_written(value) for value in values.tolist()], values.dtype.name == "category"


def _of_objects(values: Sequence[Any], kind: str) -> Values:
    """The values of a column of polars or pyarrow, whose type is called ``kind``."""
    categorical = kind.startswith(("Categorical", "Enum", "dictionary"))
    known = [value for value in values if value is not None]
    if known and not categorical:
        if all(isinstance(value, int | float | Decimal) for value in known):  # also truth values
            return np.array([np.nan if value is None else float(value) for value in values]), False
        if all(isinstance(value, timedelta) for value in known):
            return np.array([np.nan if value is None else value.total_seconds() for value in values]), False
    return ["" if value is None else _written(value) for value in values], categorical


def _distinct(names: Iterable[str]) -> list[str]:
    """Names in which .1, .2, ... stand behind a name that occurs again, as pandas does it."""
    found: list[str] = []
    for name in names:
        again = (f"{name}.{count}" for count in range(1, len(found) + 2))
        found.append(name if name not in found else next(other for other in again if other not in found))
    return found


def _written(value: Any) -> str:
    """A value as a file holds it: whole numbers without a decimal point, dates in ISO form."""
    if isinstance(value, str):
        return value
    said = f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
    return "" if said == "NaT" else said  # a missing date of pandas; in a file, "NaT" would be a name
