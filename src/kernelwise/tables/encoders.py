"""One column of a table as features: numbers, dates, categories or text.

An encoder learns only numbers and names. So it can be shown, and loading a saved encoder runs no code.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..memory import require
from .kinds import EPOCH

__all__ = ["MAX_CATEGORIES", "MISSING_CATEGORY", "Categories", "Dates", "Numbers", "Words"]

Array = NDArray[np.float64]

#: So many of the most frequent categories have their own indicator; the other categories share one.
MAX_CATEGORIES = 50
#: The category of empty cells.
MISSING_CATEGORY = "(missing)"
#: So many of the most frequent words of a text column are kept.
MAX_WORDS = 20_000
#: From this many rows on, a word is kept only if it occurs in two rows.
ROWS_FOR_RECURRENCE = 20


def _no_words() -> NDArray[Any]:
    return np.empty(0, dtype="U1")


@dataclass
class Numbers:
    """Numbers scaled to mean zero and unit variance; missing numbers (NaN) are filled with the median.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.tables.encoders import Numbers
    >>> ages = np.array([20.0, 40.0, np.nan])
    >>> encoder = Numbers().learn(ages)
    >>> encoder.encode(ages).T, encoder.becomes
    (array([[-1.,  1.,  0.]]), 'scaled, 1 missing filled with the median 30')
    """

    median: float = 0.0
    mean: float = 0.0
    scale: float = 1.0
    n_filled: int = 0

    n_features: ClassVar[int] = 1

    def learn(self, values: Array) -> Self:
        """Learn the median, the mean and the scale; if all numbers are missing, zeros are encoded."""
        present = values[~np.isnan(values)]
        self.n_filled = len(values) - len(present)
        if len(present):
            self.median, self.mean = float(np.median(present)), float(present.mean())
            self.scale = float(present.std()) or 1.0
        return self

    def encode(self, values: Array) -> Array:
        """The scaled numbers, of shape (n_rows, 1)."""
        filled = np.where(np.isnan(values), self.median, values)
        return ((filled - self.mean) / self.scale)[:, None]

    def feature_names(self, column: str) -> list[str]:
        """The name of the column."""
        return [column]

    @property
    def becomes(self) -> str:
        """The encoding in words."""
        done = "as it is" if (self.mean, self.scale) == (0.0, 1.0) else "scaled"
        return f"{done}{self._filled(f'{self.median:.6g}')}"

    def _filled(self, median: str) -> str:
        return f", {self.n_filled} missing filled with the median {median}" if self.n_filled else ""


class Dates(Numbers):
    """Dates as seconds, scaled as numbers are; missing dates are filled with the median."""

    @property
    def becomes(self) -> str:
        """The encoding in words."""
        return f"dates as time passed, scaled{self._filled(f'{EPOCH + timedelta(seconds=self.median):%Y-%m-%d}')}"


@dataclass
class Categories:
    """Indicators of the most frequent categories, and one indicator that all rare categories share.

    A new category gets the indicator of the rare categories, if there is one. This indicator tells rare categories from
    missing cells.

    Examples
    --------
    >>> from kernelwise.tables.encoders import Categories
    >>> jobs = Categories().learn(["cook", "baker", "cook"])
    >>> jobs.encode(["cook", "pilot"])
    array([[0., 1.],
           [0., 0.]])
    """

    categories: NDArray[Any] = field(default_factory=_no_words)
    n_rare: int = 0

    def learn(self, values: Sequence[str]) -> Self:
        """Learn the most frequent categories; of equally frequent ones, the first in the alphabet."""
        counts = Counter(values)
        frequent = sorted(counts, key=lambda category: (-counts[category], category))[:MAX_CATEGORIES]
        self.categories = np.array(sorted(frequent), dtype=str)
        self.n_rare = len(counts) - len(frequent)
        return self

    def encode(self, values: Sequence[str]) -> Array:
        """Indicators, of shape (n_rows, n_features)."""
        positions = {category: position for position, category in enumerate(self.categories.tolist())}
        place = np.array([positions.get(value, -1) for value in values], dtype=np.intp)
        indicators = np.zeros((len(place), self.n_features))
        known = np.flatnonzero(place >= 0)
        indicators[known, place[known]] = 1.0
        if self.n_rare:
            indicators[place < 0, -1] = 1.0
        return indicators

    @property
    def n_features(self) -> int:
        """The number of indicators."""
        return len(self.categories) + (self.n_rare > 0)

    def feature_names(self, column: str) -> list[str]:
        """One name per indicator."""
        return [f"{column}={category}" for category in self.categories] + [f"{column}=(rare)"] * (self.n_rare > 0)

    @property
    def becomes(self) -> str:
        """The encoding in words."""
        rare = f" and one for {self.n_rare} rare ones" if self.n_rare else ""
        return f"indicators of {len(self.categories)} categories{rare}"


@dataclass
class Words:
    """Words weighed by tf-idf; rows have unit length.

    Words of one letter count: a letter may be a grade, or a word of Chinese. A word that occurs in one row only says
    nothing about other rows, and makes the words beside it lighter: it is left out where there are many rows. Pairs of
    words are not used: they found no more wrong labels than single words did.

    Examples
    --------
    >>> from kernelwise.tables.encoders import Words
    >>> notes = Words().learn(["a good one", "a bad one"])
    >>> notes.words.tolist()
    ['a', 'bad', 'good', 'one']
    >>> notes.encode(["bad"]).toarray()
    array([[0., 1., 0., 0.]])
    """

    words: NDArray[Any] = field(default_factory=_no_words)
    idf: Array = field(default_factory=lambda: np.empty(0))

    def learn(self, texts: Sequence[str]) -> Self:
        """Learn the words that occur in two rows (in few rows: all words) and their idf; ValueError without words."""
        counter = _counter(max_features=MAX_WORDS, min_df=2 if len(texts) >= ROWS_FOR_RECURRENCE else 1)
        counts = sp.csr_array(counter.fit_transform(texts))
        words = counter.get_feature_names_out()
        need = 4 * len(words) * max(map(len, words))  # in an array, every word takes the room of the longest word
        require(need, f"a vocabulary of {len(words)} words", "shorten the longest words of the column, or leave it out")
        self.words = np.array(words, dtype=str)
        self.idf = np.log((1 + len(texts)) / (1 + counts.astype(bool).sum(axis=0))) + 1.0
        return self

    def encode(self, texts: Sequence[str]) -> Any:
        """The weights, sparse, of shape (n_rows, n_words)."""
        from sklearn.preprocessing import normalize

        weights: Any = sp.csr_array(_counter(vocabulary=self.words.tolist()).transform(texts)).astype(np.float64)
        weights.data = (1.0 + np.log(weights.data)) * self.idf[weights.indices]
        return normalize(weights, copy=False)

    @property
    def n_features(self) -> int:
        """The number of words."""
        return len(self.words)

    def feature_names(self, column: str) -> list[str]:
        """One name per word."""
        return [f"{column}:{word}" for word in self.words]

    @property
    def becomes(self) -> str:
        """The encoding in words."""
        return f"tf-idf of {len(self.words)} words"


def _counter(**options: Any) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(token_pattern=r"(?u)\b\w+\b", **options)
