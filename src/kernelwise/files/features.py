"""From the columns of a table to numbers that a kernel can compare, in a way that can be saved and shown."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..memory import require
from ..tables.encoders import MAX_CATEGORIES, MISSING_CATEGORY, Categories, Numbers, Words
from .errors import FileError
from .table import Column, Table, is_number, mostly_numbers, numeric_values

__all__ = ["TableFeatures"]

#: From this many rows on, a word has to occur in two of them.
ROWS_FOR_RECURRENCE = 20


@dataclass
class NumericColumn(Numbers):
    """A number, missing ones filled with the median, scaled to mean zero and unit variance."""

    name: str = ""

    def fit(self, table: Table) -> Self:
        """Learn the median, the mean and the scale."""
        return self.learn(numeric_values(table, table[self.name]))

    def transform(self, table: Table) -> NDArray[np.float64]:
        """The scaled column, of shape (n_rows, 1)."""
        return self.encode(numeric_values(table, table[self.name]))

    @property
    def feature_names(self) -> list[str]:
        """The name of the column."""
        return [self.name]

    @property
    def n_dense(self) -> int:
        """How many features are held densely."""
        return 1

    @property
    def becomes(self) -> str:
        """What is done, in words."""
        filled = f", {self.n_filled} missing filled with the median {self.median:.6g}" if self.n_filled else ""
        return f"scaled{filled}"


@dataclass
class CategoricalColumn(Categories):
    """A category as indicators of the frequent values, with one more for rare ones where there are many."""

    with_rare: ClassVar[bool] = True

    name: str = ""

    def fit(self, table: Table) -> Self:
        """Learn which categories are frequent."""
        _refuse_numbers_with_mistakes(table, table[self.name])
        return self.learn(_categories(table[self.name]))

    def transform(self, table: Table) -> NDArray[np.float64]:
        """Indicators, of shape (n_rows, n_categories); a category that was not seen has none, or that of rare ones."""
        return self.encode(_categories(table[self.name]))

    @property
    def feature_names(self) -> list[str]:
        """One name per indicator."""
        rare = [f"{self.name}=(rare)"] if self.n_rare else []
        return [f"{self.name}={category}" for category in self.categories] + rare

    @property
    def n_dense(self) -> int:
        """How many features are held densely."""
        return self.n_features

    @property
    def becomes(self) -> str:
        """What is done, in words."""
        rare = f" and one for {self.n_rare} rare ones" if self.n_rare else ""
        return f"indicators of {len(self.categories)} categories{rare}"


@dataclass
class TextColumn(Words):
    """Text as tf-idf weights of its words of two letters or more."""

    pattern: ClassVar[str] = r"(?u)\b\w\w+\b"
    longest: ClassVar[int] = 1

    name: str = ""

    def fit(self, table: Table) -> Self:
        """Learn the words and how rare they are."""
        try:
            return self.learn(table[self.name].labels(), min_rows=2 if table.n_rows >= ROWS_FOR_RECURRENCE else 1)
        except ValueError as error:
            raise FileError(
                f"{table.source}, column {self.name!r} has no words that recur; give it another kind or leave it out"
            ) from error

    def transform(self, table: Table) -> Any:
        """The weights, sparse, of shape (n_rows, n_words); rows have unit length."""
        return self.encode(table[self.name].labels())

    @property
    def feature_names(self) -> list[str]:
        """One name per word."""
        return [f"{self.name}:{word}" for word in self.words]

    @property
    def n_dense(self) -> int:
        """Its features are sparse."""
        return 0

    @property
    def becomes(self) -> str:
        """What is done, in words."""
        return f"tf-idf of {len(self.words)} words"


@dataclass
class MatrixBlock:
    """The block of numbers of a file of a matrix, as it is."""

    n_columns: int = 0

    def fit(self, table: Table) -> Self:
        """Learn how many columns there are."""
        self.n_columns = table.block.shape[1]
        return self

    def transform(self, table: Table) -> Any:
        """The block."""
        columns = None if table.block is None else table.block.shape[1]
        if columns != self.n_columns:
            raise FileError(
                f"{table.source} has {columns or 'no'} columns of a matrix where {self.n_columns} are needed"
            )
        return table.block

    @property
    def feature_names(self) -> list[str]:
        """Names by position, from 1."""
        return [f"x{position}" for position in range(1, self.n_columns + 1)]

    @property
    def n_dense(self) -> int:
        """None of its features takes more memory than it has already."""
        return 0

    @property
    def becomes(self) -> str:
        """What is done, in words."""
        return f"{self.n_columns} numbers as they are"


Encoder = NumericColumn | CategoricalColumn | TextColumn | MatrixBlock
ENCODERS = {"numeric": NumericColumn, "categorical": CategoricalColumn, "text": TextColumn}


class TableFeatures:
    """Features of a table: numbers scaled, categories as indicators, text as tf-idf; columns of ids are not used.

    All that is learned is numbers and names, so it can be saved without trusting anything.

    Parameters
    ----------
    leave_out : sequence of str
        Columns that are no features, such as the label.

    Attributes
    ----------
    encoders_ : list
        What is done with each column, in order.
    unused_ : list of str
        Columns of ids.

    Examples
    --------
    >>> from pathlib import Path
    >>> from kernelwise.files import Column, Table
    >>> from kernelwise.files.features import TableFeatures
    >>> cells = {"age": ["20", "40", ""], "job": ["cook", "baker", "cook"], "label": ["a", "b", "a"]}
    >>> table = Table.of(Path("a.csv"), [Column.of(name, column) for name, column in cells.items()])
    >>> features = TableFeatures(leave_out=["label"]).fit(table)
    >>> features.feature_names
    ['age', 'job=baker', 'job=cook']
    >>> features.transform(table)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.],
           [ 0.,  0.,  1.]])
    """

    def __init__(self, leave_out: list[str] | tuple[str, ...] = ()):
        self.leave_out = list(leave_out)

    def fit(self, table: Table) -> Self:
        """Learn what to do with every column."""
        used = [column for column in table.columns.values() if column.name not in self.leave_out]
        self.unused_ = [column.name for column in used if column.kind == "id"]
        self.encoders_: list[Encoder] = [] if table.block is None else [MatrixBlock().fit(table)]
        encoded = [column for column in used if column.kind in ENCODERS]
        self.encoders_ += [ENCODERS[column.kind](name=column.name).fit(table) for column in encoded]
        if not self.encoders_:
            others = [*self.leave_out, *self.unused_]
            more = f" and {len(others) - 8} more" if len(others) > 8 else ""
            raise FileError(
                f"{table.source} has no column to learn from besides {', '.join(others[:8])}{more};"
                " add features, or say what kind a column is"
            )
        return self

    def transform(self, table: Table) -> Any:
        """Features as a dense array, or sparse where there is text or the table is a sparse matrix."""
        columns = sum(encoder.n_dense for encoder in self.encoders_)
        # The parts, and what they are put together to.
        what = f"{table.source}, {table.n_rows} rows of {columns} features,"
        require(16 * table.n_rows * columns, what, "leave columns out, or take a sample of the rows")
        parts: list[Any] = [encoder.transform(table) for encoder in self.encoders_]
        if any(sp.issparse(part) for part in parts):
            return sp.hstack(parts, format="csr") if len(parts) > 1 else parts[0]
        return np.hstack(parts)

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of the features."""
        return [name for encoder in self.encoders_ for name in encoder.feature_names]

    @property
    def worded(self) -> list[str]:
        """Columns of categories and text, to be read as they are written even where all cells look like numbers."""
        return [encoder.name for encoder in self.encoders_ if isinstance(encoder, CategoricalColumn | TextColumn)]

    @property
    def feature_columns(self) -> list[str]:
        """The column that each feature was made of; numbers of a matrix are columns of their own."""
        return [
            feature if isinstance(encoder, MatrixBlock) else encoder.name
            for encoder in self.encoders_
            for feature in encoder.feature_names
        ]

    def describe(self) -> list[dict[str, str]]:
        """What became of each column.

        >>> from pathlib import Path
        >>> from kernelwise.files import Column, Table
        >>> table = Table.of(Path("a.csv"), [Column.of("job", ["cook", "baker"])])
        >>> TableFeatures().fit(table).describe()
        [{'column': 'job', 'becomes': 'indicators of 2 categories'}]
        """
        used = [{"column": _column_of(part), "becomes": part.becomes} for part in self.encoders_]
        return used + [{"column": name, "becomes": "not used: it names the rows"} for name in self.unused_]


def _column_of(encoder: Encoder) -> str:
    return "the matrix" if isinstance(encoder, MatrixBlock) else encoder.name


def _categories(column: Column) -> list[str]:
    return [cell or MISSING_CATEGORY for cell in column.labels()]


def _refuse_numbers_with_mistakes(table: Table, column: Column) -> None:
    cells = [cell for cell in column.values if isinstance(cell, str)]
    if len(set(cells)) > MAX_CATEGORIES and mostly_numbers(cells):
        wrong = next(cell for cell in cells if not is_number(cell))
        row = column.values.tolist().index(wrong)
        raise FileError(
            f"{table.where(row, column.name)}: {wrong!r} is not a number as nearly all others in its column are;"
            f" correct it, leave it empty, or say --kind {column.name!r}=categorical"
        )
