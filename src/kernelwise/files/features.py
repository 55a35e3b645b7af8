"""From the columns of a table to numbers that a kernel can compare, in a way that can be saved and shown."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..memory import require
from .errors import FileError
from .table import Column, Table, is_number, mostly_numbers, numeric_values

__all__ = ["TableFeatures"]

Array = NDArray[np.float64]

#: A category that is seen less often than in the most frequent ones shares a feature with all such.
MAX_CATEGORIES = 50
#: Words of a text column, by how often they occur.
MAX_WORDS = 20_000


@dataclass
class NumericColumn:
    """A number, missing ones filled with the median, scaled to mean zero and unit variance."""

    name: str
    median: float = 0.0
    mean: float = 0.0
    scale: float = 1.0
    n_filled: int = 0

    def fit(self, table: Table) -> Self:
        """Learn the median, the mean and the scale."""
        values = numeric_values(table, table[self.name])
        present = values[~np.isnan(values)]
        self.n_filled = len(values) - len(present)
        if len(present):
            self.median, self.mean = float(np.median(present)), float(present.mean())
            self.scale = float(present.std()) or 1.0
        return self

    def transform(self, table: Table) -> Array:
        """The scaled column, of shape (n_rows, 1)."""
        values = numeric_values(table, table[self.name])
        filled = np.where(np.isnan(values), self.median, values)
        return ((filled - self.mean) / self.scale)[:, None]

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
class CategoricalColumn:
    """A category as indicators of the frequent values, with one more for rare ones where there are many."""

    name: str
    categories: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype="U1"))
    n_rare: int = 0

    def fit(self, table: Table) -> Self:
        """Learn which categories are frequent; ties go to those that come first in the alphabet."""
        _refuse_numbers_with_mistakes(table, table[self.name])
        found, counts = np.unique(_categories(table[self.name]), return_counts=True)
        frequent = np.lexsort((found, -counts))[:MAX_CATEGORIES]
        self.categories, self.n_rare = np.sort(found[frequent]), len(found) - len(frequent)
        return self

    def transform(self, table: Table) -> Array:
        """Indicators, of shape (n_rows, n_categories); a category that was not seen has none, or that of rare ones."""
        values = _categories(table[self.name])
        place = np.minimum(np.searchsorted(self.categories, values), len(self.categories) - 1)
        known = self.categories[place] == values
        indicators = np.zeros((len(values), len(self.categories) + (self.n_rare > 0)))
        indicators[np.flatnonzero(known), place[known]] = 1.0
        if self.n_rare:
            indicators[~known, -1] = 1.0
        return indicators

    @property
    def feature_names(self) -> list[str]:
        """One name per indicator."""
        rare = [f"{self.name}=(rare)"] if self.n_rare else []
        return [f"{self.name}={category}" for category in self.categories] + rare

    @property
    def n_dense(self) -> int:
        """How many features are held densely."""
        return len(self.categories) + 1

    @property
    def becomes(self) -> str:
        """What is done, in words."""
        rare = f" and one for {self.n_rare} rare ones" if self.n_rare else ""
        return f"indicators of {len(self.categories)} categories{rare}"


@dataclass
class TextColumn:
    """Text as tf-idf weights of its words."""

    name: str
    words: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype="U1"))
    idf: Array = field(default_factory=lambda: np.empty(0))

    def fit(self, table: Table) -> Self:
        """Learn the words and how rare they are."""
        from sklearn.feature_extraction.text import CountVectorizer

        counter = CountVectorizer(max_features=MAX_WORDS, min_df=2 if table.n_rows >= 20 else 1)
        try:
            counts = sp.csr_array(counter.fit_transform(_texts(table[self.name])))
        except ValueError as error:
            raise FileError(
                f"{table.source}, column {self.name!r} has no words that recur; give it another kind or leave it out"
            ) from error
        self.words = np.array(counter.get_feature_names_out(), dtype=str)
        self.idf = np.log((1 + table.n_rows) / (1 + counts.astype(bool).sum(axis=0))) + 1.0
        return self

    def transform(self, table: Table) -> Any:
        """The weights, sparse, of shape (n_rows, n_words); rows have unit length."""
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.preprocessing import normalize

        counter = CountVectorizer(vocabulary=self.words.tolist())
        weights: Any = sp.csr_array(counter.transform(_texts(table[self.name]))).astype(np.float64)
        weights.data = (1.0 + np.log(weights.data)) * self.idf[weights.indices]
        return normalize(weights, copy=False)

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
        self.encoders_ += [ENCODERS[column.kind](column.name).fit(table) for column in used if column.kind in ENCODERS]
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


def _categories(column: Column) -> NDArray[Any]:
    return np.array([cell or "(missing)" for cell in column.labels()], dtype=str)


def _texts(column: Column) -> list[str]:
    return column.labels()


def _refuse_numbers_with_mistakes(table: Table, column: Column) -> None:
    cells = [cell for cell in column.values if isinstance(cell, str)]
    if len(set(cells)) > MAX_CATEGORIES and mostly_numbers(cells):
        wrong = next(cell for cell in cells if not is_number(cell))
        row = column.values.tolist().index(wrong)
        raise FileError(
            f"{table.where(row, column.name)}: {wrong!r} is not a number as nearly all others in its column are;"
            f" correct it, leave it empty, or say --kind {column.name!r}=categorical"
        )
