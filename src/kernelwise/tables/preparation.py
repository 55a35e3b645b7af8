"""A table with columns of numbers, dates, categories and text, as one matrix."""

from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ..checks import require
from .columns import Table
from .encoders import MISSING_CATEGORY, Categories, Dates, Names, Numbers, Words
from .errors import TableError
from .frames import as_table

ENCODERS: dict[str, type[Any]] = {
    "numeric": Numbers,
    "date": Dates,
    "categorical": Categories,
    "name": Names,
    "text": Words,
}
#: The kinds whose features are sparse.
SPARSE = ("name", "text")


class TableFeatures:
    """Features of a table: numbers and dates scaled, categories as indicators, names and text as tf-idf.

    Columns that name the rows, and columns that are the same in every row, are left out. The result is sparse if there
    are names or text, or if the table is a sparse matrix, and dense otherwise. A missing number or date becomes the
    median, a missing category becomes a category of its own, and a missing text is empty.

    Parameters
    ----------
    leave_out : sequence of str
        Columns that are no features, such as the label.
    scaled : bool
        Whether numbers get mean zero and unit variance. An estimator that scales dense features itself needs unscaled
        numbers: then a table of numbers and the array of these numbers give the same model. Dates are always scaled,
        and so are the numbers of a sparse result, which no estimator can centre.

    Attributes
    ----------
    names_ : list of str
        The columns of the table without :attr:`leave_out`.
    n_block_ : int
        The number of columns of the matrix of the table; 0 without a matrix. They are features as they are.
    steps_ : list of tuple
        The name, the kind and the encoder of each column that is used, in order.
    unused_ : dict of str to str
        The reason why a column is not used, by the name of the column.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelwise.tables.preparation import TableFeatures
    >>> people = pd.DataFrame({"age": [20, 40, None], "job": ["cook", "baker", "cook"], "land": ["GR", "GR", "GR"]})
    >>> features = TableFeatures().fit(people)
    >>> features.feature_names
    ['age', 'job=baker', 'job=cook']
    >>> features.transform(people)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.],
           [ 0.,  0.,  1.]])
    >>> features.describe()[1:]
    [{'column': 'job', 'becomes': 'indicators of 2 categories'},
     {'column': 'land', 'becomes': 'not used: it is the same in every row'}]
    """

    def __init__(self, leave_out: list[str] | tuple[str, ...] = (), *, scaled: bool = True):
        self.leave_out, self.scaled = list(leave_out), scaled

    def fit(self, X: Any, *, needed: bool = True) -> Self:
        """Learn the encoder of every column of a table, a data frame or an array.

        A table without a column to learn from is an error if features are ``needed``.
        """
        table = as_table(X)
        self.names_ = [name for name in table.names if name not in self.leave_out]
        self.n_block_ = 0 if table.block is None else int(table.block.shape[1])
        self.steps_: list[tuple[str, str, Any]] = []
        self.unused_: dict[str, str] = {}
        for name in self.names_:
            encoder = _learn_encoder(table, name)
            if isinstance(encoder, str):
                self.unused_[name] = encoder
            else:
                self.steps_.append((name, table[name].kind, encoder))
        sparse = sp.issparse(table.block) or any(kind in SPARSE for _, kind, _ in self.steps_)
        for encoder in [] if self.scaled or sparse else [part for _, kind, part in self.steps_ if kind == "numeric"]:
            encoder.mean, encoder.scale = 0.0, 1.0
        if needed and not self.steps_ and not self.n_block_:
            self._refuse(table)
        return self

    def _refuse(self, table: Table) -> None:
        others = [*self.leave_out, *(f"{name} ({why})" for name, why in self.unused_.items())]
        more = f" and {len(others) - 8} more" if len(others) > 8 else ""
        raise TableError(
            f"{table.source} has no column to learn from besides {', '.join(others[:8]) or 'none'}{more}; add features,"
            " or say what kind a column is"
        )

    def transform(self, X: Any) -> Any:
        """The features of a table with the same columns, as a dense array or a sparse matrix."""
        table = as_table(X, self.names_, as_written=self.worded)
        n_block = 0 if table.block is None else table.block.shape[1]
        if n_block != self.n_block_:
            raise TableError(f"{table.source} has {n_block} columns of a matrix where {self.n_block_} are needed")
        dense = sum(encoder.n_features for _, kind, encoder in self.steps_ if kind not in SPARSE)
        # Twice eight bytes for each number: in the parts, and in the matrix that is put together from them.
        what = f"{table.source}, {table.n_rows} rows of {dense} features,"
        require(16 * table.n_rows * dense, what, "leave columns out, or take a sample of the rows")
        parts = [table.block] if n_block else []
        parts += [encoder.encode(_values(table, name, kind, encoder)) for name, kind, encoder in self.steps_]
        if any(sp.issparse(part) for part in parts):
            return sp.hstack(parts, format="csr") if len(parts) > 1 else parts[0]
        return np.hstack(parts)

    @property
    def n_features(self) -> int:
        """The number of columns of the matrix."""
        return self.n_block_ + sum(encoder.n_features for *_, encoder in self.steps_)

    @property
    def feature_names(self) -> list[str]:
        """The names of the features; the numbers of a matrix are named by position, from 1."""
        return self._block_names + [feature for name, _, part in self.steps_ for feature in part.feature_names(name)]

    @property
    def feature_columns(self) -> list[str]:
        """The column that each feature was made of; each number of a matrix is a column of its own."""
        return self._block_names + [name for name, _, encoder in self.steps_ for _ in range(encoder.n_features)]

    @property
    def _block_names(self) -> list[str]:
        return [f"x{position}" for position in range(1, self.n_block_ + 1)]

    @property
    def parts(self) -> list[tuple[int, int]]:
        """Where the features of each column of :attr:`names_` begin and end; a column that is not used has none."""
        widths = {name: encoder.n_features for name, _, encoder in self.steps_}
        return list(pairwise(np.cumsum([self.n_block_, *(widths.get(name, 0) for name in self.names_)]).tolist()))

    @property
    def worded(self) -> list[str]:
        """The columns that must be read as text, even if all their cells look like numbers."""
        return [name for name, kind, encoder in self.steps_ if kind != "numeric" or encoder.notation is not None]

    def describe(self) -> list[dict[str, str]]:
        """The encoding of each column in words."""
        block = [{"column": "the matrix", "becomes": f"{self.n_block_} numbers as they are"}] if self.n_block_ else []
        used = [{"column": name, "becomes": encoder.becomes} for name, _, encoder in self.steps_]
        return block + used + [{"column": name, "becomes": f"not used: {why}"} for name, why in self.unused_.items()]


def _learn_encoder(table: Table, name: str) -> Any:
    """The fitted encoder of a column, or the reason why the column is not used."""
    column = table[name]
    if column.kind == "id":
        return "it names the rows"
    values = _values(table, name, column.kind)
    if _all_equal(values):
        return "it is the same in every row"
    encoder = ENCODERS[column.kind]()
    if isinstance(encoder, Numbers):
        encoder.notation, encoder.missing_code = column.notation, column.missing_code
    try:
        return encoder.learn(values)
    except ValueError:  # the text has no word that can be counted
        return "none of its words occurs in two rows"


def _values(table: Table, name: str, kind: str, encoder: Any = None) -> Any:
    """The input of the encoder of a column: numbers, NaN where missing; or strings."""
    if kind == "numeric":
        return table.numbers(name, None if encoder is None else encoder.notation)
    if kind == "date":
        return table.seconds(name, None if encoder is None else encoder.notation)
    cells = table[name].labels()
    return [cell or MISSING_CATEGORY for cell in cells] if kind == "categorical" else cells


def _all_equal(values: Any) -> bool:
    """Whether all values are equal; missing numbers do not count, since the median of the others fills them."""
    present = values[~np.isnan(values)] if isinstance(values, np.ndarray) else values
    return all(value == present[0] for value in present)
