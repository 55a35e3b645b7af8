"""Arrays and frames as text, numbers and lists, which JSON can hold."""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from ..checks import is_missing, is_number
from ..tables.columns import Column, Table
from ..tables.errors import TableError
from ..tables.kinds import as_words, kind_of_words
from ..tables.preparation import TableFeatures

#: Significant digits of a number on the page; more would only make the file larger.
DIGITS = 6


def text(value: Any) -> str:
    """The text of a cell; empty for a missing value."""
    return "" if is_missing(value) else str(value)


def texts(values: Iterable[Any]) -> list[str]:
    """The text of each cell."""
    return [text(value) for value in values]


def number(value: Any) -> float | None:
    """A rounded number; None for nan and the infinities, which JSON cannot hold."""
    value = float(value)
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def numbers(values: Iterable[Any]) -> list[float | None]:
    """Rounded numbers."""
    return [number(value) for value in values]


def cells(values: NDArray[Any]) -> list[Any]:
    """A column as JSON: whole numbers exactly, other numbers rounded, anything else as text."""
    if values.dtype.kind in "iu":
        return values.tolist()
    if values.dtype.kind != "f":
        return [_cell(value) for value in values.tolist()]
    known = values[np.isfinite(values)]
    if (known == np.floor(known)).all() and (np.abs(known) < 2**53).all():
        return [int(value) if math.isfinite(value) else None for value in values.tolist()]
    return numbers(values.tolist())


def _cell(value: Any) -> int | float | str | None:
    if is_missing(value):
        return None
    if isinstance(value, float):
        return number(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)


def fingerprint(*parts: Iterable[str]) -> str:
    """A short name for data: equal texts have equal names on every machine."""
    digest = hashlib.sha256()
    for part in parts:
        for value in part:
            encoded = value.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(encoded) + encoded)
        digest.update(b";")
    return digest.hexdigest()[:20]


@dataclass(frozen=True)
class ShownRows:
    """The rows behind the labels: named columns of a frame or array, or the words of a sparse matrix; or nothing.

    ``kinds`` says of each column whether it holds numbers ("number"), running text ("text") or other values ("value").
    """

    names: list[str]
    columns: list[NDArray[Any]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    sparse: csr_array | None = None

    @property
    def n_rows(self) -> int:
        if self.sparse is not None:
            return int(self.sparse.shape[0])
        return len(self.columns[0]) if self.columns else 0

    def matrix(self) -> NDArray[np.float64] | csr_array | None:
        """The rows as numbers, in which distances are measured; None if no column tells two rows apart.

        Categories and words are encoded.
        """
        if self.sparse is not None:
            return self.sparse
        if all(kind == "number" for kind in self.kinds):
            numeric = [column.astype(np.float64) for column in self.columns]
            stacked = np.column_stack(numeric) if numeric else None
            return None if stacked is None else np.where(np.isfinite(stacked), stacked, np.nan)
        named = enumerate(zip(self.kinds, self.columns, strict=True))
        table = Table.of("X", [_encodable(str(place), kind, column) for place, (kind, column) in named])
        try:
            return cast(Any, TableFeatures().fit(table).transform(table))
        except TableError:
            return None

    def values(self, row: int, max_columns: int) -> list[Any]:
        """The cells of one row in the first columns."""
        return [cells(column[row : row + 1])[0] for column in self.columns[:max_columns]]

    def only(self, places: list[int]) -> "ShownRows":
        """The same rows with some of the columns."""
        names, columns, kinds = (
            [every[at] for at in places] for every in cast(Any, (self.names, self.columns, self.kinds))
        )
        return ShownRows(names, columns, kinds)

    def words(self, row: int) -> dict[str, float | None]:
        """The non-zero entries of a sparse row by name, the largest first."""
        assert self.sparse is not None
        entries = self.sparse[[row], :].tocoo()
        order = np.argsort(-np.abs(entries.data), kind="stable")
        return {text(self.names[entries.col[k]]): number(entries.data[k]) for k in order}


def shown_rows(X: Any, feature_names: Sequence[str] | None, n_rows: int) -> ShownRows:
    """The rows of an array, a sparse matrix or a frame, one for each sample; without ``X`` nothing is shown."""
    if X is None:
        return ShownRows([])
    if issparse(X):
        words = csr_array(cast(Any, X))
        table = ShownRows(_names(feature_names, words.shape[1], None), sparse=words)
    elif hasattr(X, "columns"):
        columns = [_typed(np.asarray(X[name])) for name in X.columns]
        kinds = [_kind(X[name], column) for name, column in zip(X.columns, columns, strict=True)]
        table = ShownRows(_names(feature_names, len(columns), X.columns), columns=columns, kinds=kinds)
    else:
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must be a table of rows and columns, got an array of shape {X.shape}")
        columns = [_typed(column) for column in X.T]
        kinds = [_kind(column, column) for column in columns]
        table = ShownRows(_names(feature_names, X.shape[1], None), columns=columns, kinds=kinds)
    if table.n_rows != n_rows and table.names:
        raise ValueError(f"X has {table.n_rows} rows, but the audit is of {n_rows}; pass the rows that were audited")
    return table


def _kind(given: Any, column: NDArray[Any]) -> str:
    """What a column holds; a column of a file says it itself."""
    if column.dtype.kind in "iufb":
        return "number"
    if column.dtype.kind in "mM" or getattr(given, "dtype", None) == "category":
        return "value"
    if isinstance(given, Column):
        return "text" if given.kind == "text" else "value"
    present = [value for value in texts(column.tolist()) if value]
    return "text" if present and kind_of_words(present, len(column)) == "text" else "value"


def _encodable(name: str, kind: str, column: NDArray[Any]) -> Column:
    """A shown column as the column of a table, whose features can be made."""
    if kind == "number":
        return Column(name, "numeric", np.where(np.isfinite(column.astype(float)), column.astype(float), np.nan))
    words = as_words(texts(column.tolist()))
    found = kind_of_words([word for word in words if word is not None], len(words))
    return Column(name, found if found in ("text", "id") else "categorical", words)


def read_ids(ids: ArrayLike | None, n_rows: int) -> list[str]:
    """One text for each row; the number of the row by default."""
    if ids is None:
        return [str(row) for row in range(n_rows)]
    names = texts(np.asarray(ids).tolist())
    if len(names) != n_rows:
        raise ValueError(f"ids has {len(names)} values for {n_rows} rows")
    return names


def _typed(column: NDArray[Any]) -> NDArray[Any]:
    """An array of objects that are numbers, as an array of numbers; missing numbers are nan."""
    if column.dtype.kind != "O":
        return column
    values = column.tolist()
    missing = [is_missing(value) for value in values]
    if all(missing) or not all(gone or is_number(value) for value, gone in zip(values, missing, strict=True)):
        return column
    return np.array([np.nan if gone else value for value, gone in zip(values, missing, strict=True)], dtype=np.float64)


def _names(given: Sequence[str] | None, n_columns: int, fallback: Iterable[Any] | None) -> list[str]:
    if given is None:
        given = [f"x{j}" for j in range(n_columns)] if fallback is None else list(fallback)
    if len(given) != n_columns:
        raise ValueError(f"feature_names has {len(given)} names for {n_columns} columns of X")
    return texts(given)
