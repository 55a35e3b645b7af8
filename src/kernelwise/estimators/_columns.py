"""A table with columns of numbers, categories and text, as one matrix."""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

#: A column of strings with more distinct values than this, and more than one in three rows distinct, is text.
CATEGORIES, DISTINCT_SHARE = 30, 1 / 3
#: Words kept per column of text, and levels kept per column of categories.
MAX_WORDS, MAX_LEVELS = 20_000, 50


def needs_preparation(X: Any) -> bool:
    """Whether ``X`` is a DataFrame with a column that is not numeric, or with missing numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelwise.estimators._columns import needs_preparation
    >>> needs_preparation(pd.DataFrame({"a": [1, 2]})), needs_preparation(pd.DataFrame({"a": ["x", "y"]}))
    (False, True)
    """
    if not (hasattr(X, "dtypes") and hasattr(X, "columns")):
        return False
    return any(kind_of(X[name]) != "number" or X[name].isna().any() for name in X.columns)


def kind_of(column: Any) -> str:
    """Return "number", "category" or "text" for a column of a DataFrame."""
    if column.dtype.kind in "biuf" or str(column.dtype) in ("boolean", "Int64", "Int32", "Float64", "Float32"):
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
    >>> from kernelwise.estimators._columns import ColumnPreparation
    >>> table = pd.DataFrame({"size": [1.0, None, 3.0], "shape": ["round", "square", "round"]})
    >>> prepared = ColumnPreparation().fit(table)
    >>> prepared.kinds, prepared.transform(table).shape
    ({'size': 'number', 'shape': 'category'}, (3, 3))
    """

    def fit(self, X: Any) -> "ColumnPreparation":
        """Look at every column of a DataFrame."""
        self.kinds = {str(name): kind_of(X[name]) for name in X.columns}
        self._steps = [(name, _step_for(kind_of(X[name])).fit(X[name])) for name in X.columns]
        ends = np.cumsum([step.transform(X[name][:1]).shape[1] for name, step in self._steps]).tolist()
        self.parts = list(pairwise([0, *ends]))
        return self

    def transform(self, X: Any) -> Any:
        """Return the matrix of a DataFrame with the same columns."""
        parts = [step.transform(X[name]) for name, step in self._steps]
        if any(sp.issparse(part) for part in parts):
            return sp.csr_array(sp.hstack([sp.csr_array(part) for part in parts]))
        return np.hstack(parts)


def _step_for(kind: str) -> Any:
    return {"number": Numbers, "date": Dates, "category": Levels, "text": Words}[kind]()


class Numbers:
    """One column of standardised numbers, with the median for missing ones."""

    def fit(self, column: Any) -> "Numbers":
        values = self._values(column)
        known = values[np.isfinite(values)]
        self.median = float(np.median(known)) if known.size else 0.0
        self.mean, self.spread = (float(known.mean()), float(known.std()) or 1.0) if known.size else (0.0, 1.0)
        return self

    def transform(self, column: Any) -> Any:
        values = self._values(column)
        filled = np.where(np.isfinite(values), values, self.median)
        return ((filled - self.mean) / self.spread)[:, None]

    def _values(self, column: Any) -> Any:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)


class Dates(Numbers):
    """Dates and durations as numbers of seconds."""

    def _values(self, column: Any) -> Any:
        stamps = column.to_numpy()
        seconds = stamps.astype("int64") / 1e9
        return np.where(np.isnat(stamps), np.nan, seconds)


class Levels:
    """One indicator for each of the most frequent levels; a level that was not seen has none."""

    def fit(self, column: Any) -> "Levels":
        counts = self._text(column).value_counts()
        self.levels = sorted(counts.index[:MAX_LEVELS])
        return self

    def transform(self, column: Any) -> Any:
        values = self._text(column).to_numpy()
        return np.stack([values == level for level in self.levels], axis=1).astype(np.float64)

    def _text(self, column: Any) -> Any:
        return column.astype(object).where(column.notna(), "(missing)").astype(str)


class Words:
    """Words and pairs of words weighed by tf-idf."""

    def fit(self, column: Any) -> "Words":
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.vectorizer = TfidfVectorizer(
            sublinear_tf=True, ngram_range=(1, 2), max_features=MAX_WORDS, token_pattern=r"(?u)\b\w+\b"
        ).fit(self._text(column))
        return self

    def transform(self, column: Any) -> Any:
        return sp.csr_array(self.vectorizer.transform(self._text(column)))

    def _text(self, column: Any) -> Any:
        return column.astype(object).where(column.notna(), "").astype(str)
