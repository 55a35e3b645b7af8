"""A data frame with columns of numbers, dates, categories and text, as one matrix."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .encoders import MISSING_CATEGORY, Categories, Numbers, Words

#: A column of strings with more distinct values than this, and more than one in three rows distinct, is text.
CATEGORIES, DISTINCT_SHARE = 30, 1 / 3


def needs_preparation(X: Any) -> bool:
    """Whether ``X`` is a DataFrame with a column that is not numeric, or with missing numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelwise.tables.preparation import needs_preparation
    >>> needs_preparation(pd.DataFrame({"a": [1, 2]})), needs_preparation(pd.DataFrame({"a": ["x", "y"]}))
    (False, True)
    """
    if not (hasattr(X, "dtypes") and hasattr(X, "columns")):
        return False
    columns = (X.iloc[:, position] for position in range(len(X.columns)))  # two of them may have one name
    return any(kind_of(column) != "number" or column.isna().any() for column in columns)


def kind_of(column: Any) -> str:
    """Return "number", "date", "category" or "text" for a column of a DataFrame."""
    if column.dtype.kind in "biuf":
        return "number"
    if column.dtype.kind in "mM":
        return "date"
    values = column.dropna().astype(str)
    distinct = values.nunique()
    return "text" if distinct > CATEGORIES and distinct > DISTINCT_SHARE * len(values) else "category"


class ColumnPreparation:
    """Scale numbers, code categories one-hot, and weigh the words of texts by tf-idf.

    The result is dense unless there is text, and then a sparse matrix. Missing numbers become the median, missing
    categories a category of their own, missing texts empty. What each column was taken for stands in ``kinds``, and
    where it went, from column to column, in ``parts``.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelwise.tables.preparation import ColumnPreparation
    >>> table = pd.DataFrame({"size": [1.0, None, 3.0], "shape": ["round", "square", "round"]})
    >>> prepared = ColumnPreparation().fit(table)
    >>> prepared.kinds, prepared.transform(table).shape
    ({'size': 'number', 'shape': 'category'}, (3, 3))
    """

    def fit(self, X: Any) -> "ColumnPreparation":
        """Look at every column of a DataFrame."""
        if not X.columns.is_unique:
            raise ValueError(f"X has two columns named {X.columns[X.columns.duplicated()][0]!r}; rename one")
        self.kinds = {str(name): kind_of(X[name]) for name in X.columns}
        self._steps = [(name, *_learn(X[name])) for name in X.columns]
        self.parts = list(pairwise(np.cumsum([0, *(encoder.n_features for *_, encoder in self._steps)]).tolist()))
        return self

    def transform(self, X: Any) -> Any:
        """Return the matrix of a DataFrame with the same columns."""
        if not hasattr(X, "columns"):
            raise TypeError(f"X must be a DataFrame with the columns {list(self.kinds)}, got {type(X).__name__}")
        parts = [encoder.encode(READERS[kind](X[name])) for name, kind, encoder in self._steps]
        if any(sp.issparse(part) for part in parts):
            return sp.csr_array(sp.hstack([sp.csr_array(part) for part in parts]))
        return np.hstack(parts)

    @property
    def n_features(self) -> int:
        """The number of columns of the matrix."""
        return sum(encoder.n_features for *_, encoder in self._steps)


def _learn(column: Any) -> tuple[str, Numbers | Categories | Words]:
    kind = kind_of(column)
    return kind, ENCODERS[kind]().learn(READERS[kind](column))


def _numbers(column: Any) -> NDArray[np.float64]:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def _seconds(column: Any) -> NDArray[np.float64]:
    """Dates, in universal time where they have a zone, and durations as numbers of seconds."""
    stamps = (column.dt.tz_convert(None) if getattr(column.dtype, "tz", None) else column).to_numpy()
    durations = stamps - np.datetime64(0, "s") if stamps.dtype.kind == "M" else stamps
    return durations / np.timedelta64(1, "s")  # NaN where there is none


def _levels(column: Any) -> list[str]:
    return column.astype(object).where(column.notna(), MISSING_CATEGORY).astype(str).tolist()


def _texts(column: Any) -> list[str]:
    return column.astype(object).where(column.notna(), "").astype(str).tolist()


ENCODERS: dict[str, type[Any]] = {"number": Numbers, "date": Numbers, "category": Categories, "text": Words}
READERS: dict[str, Callable[[Any], Any]] = {
    "number": _numbers,
    "date": _seconds,
    "category": _levels,
    "text": _texts,
}
