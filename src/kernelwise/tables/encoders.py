"""One column of a table as features: numbers, categories or text.

All that is learned is numbers and names, so that it can be saved without trusting anything, and shown. Where the column
comes from, and what counts as missing in it, is for others to know: :mod:`._columns` for data frames, and
:mod:`kernelwise.files.features` for files.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..memory import require

__all__ = ["MAX_CATEGORIES", "MISSING_CATEGORY", "Categories", "Numbers", "Words"]

Array = NDArray[np.float64]

#: Categories beyond the most frequent ones have no indicators of their own.
MAX_CATEGORIES = 50
#: The category of cells that are empty.
MISSING_CATEGORY = "(missing)"
#: Words of a text column, by how often they occur.
MAX_WORDS = 20_000


def _no_words() -> NDArray[Any]:
    return np.empty(0, dtype="U1")


@dataclass
class Numbers:
    """Numbers scaled to mean zero and unit variance; missing ones, NaN, are filled with the median.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.tables.encoders import Numbers
    >>> ages = np.array([20.0, 40.0, np.nan])
    >>> Numbers().learn(ages).encode(ages).T
    array([[-1.,  1.,  0.]])
    """

    median: float = 0.0
    mean: float = 0.0
    scale: float = 1.0
    n_filled: int = 0

    def learn(self, values: Array) -> Self:
        """Learn the median, the mean and the scale; where all are missing, they become zeros."""
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

    @property
    def n_features(self) -> int:
        """One."""
        return 1


@dataclass
class Categories:
    """Indicators of the most frequent categories; others have none, or share one where :attr:`with_rare` says so.

    Examples
    --------
    >>> from kernelwise.tables.encoders import Categories
    >>> jobs = Categories().learn(["cook", "baker", "cook"])
    >>> jobs.encode(["cook", "pilot"])
    array([[0., 1.],
           [0., 0.]])
    """

    #: Whether the categories that are left out share an indicator.
    with_rare: ClassVar[bool] = False

    categories: NDArray[Any] = field(default_factory=_no_words)
    n_rare: int = 0

    def learn(self, values: Sequence[str]) -> Self:
        """Learn which categories are frequent; ties go to those that come first in the alphabet."""
        counts = Counter(values)
        frequent = sorted(counts, key=lambda category: (-counts[category], category))[:MAX_CATEGORIES]
        self.categories = np.array(sorted(frequent), dtype=str)
        self.n_rare = len(counts) - len(frequent) if self.with_rare else 0
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


@dataclass
class Words:
    """Words, and pairs of words that follow each other, weighed by tf-idf; rows have unit length.

    Examples
    --------
    >>> from kernelwise.tables.encoders import Words
    >>> notes = Words().learn(["a good one", "a bad one"])
    >>> notes.words.tolist()
    ['a', 'a bad', 'a good', 'bad', 'bad one', 'good', 'good one', 'one']
    >>> notes.encode(["bad"]).toarray().round(2)
    array([[0., 0., 0., 1., 0., 0., 0., 0.]])
    """

    #: What a word is, and how many words make a feature at the most.
    pattern: ClassVar[str] = r"(?u)\b\w+\b"
    longest: ClassVar[int] = 2

    words: NDArray[Any] = field(default_factory=_no_words)
    idf: Array = field(default_factory=lambda: np.empty(0))

    def learn(self, texts: Sequence[str], *, min_rows: int = 1) -> Self:
        """Learn the words that stand in at least ``min_rows`` texts and how rare they are; ValueError if none do."""
        counter = self._counter(max_features=MAX_WORDS, min_df=min_rows)
        counts = sp.csr_array(counter.fit_transform(texts))
        words = counter.get_feature_names_out()
        need = 4 * len(words) * max(map(len, words))  # an array has room for the longest word at every place
        require(need, f"a vocabulary of {len(words)} words", "shorten the longest words of the column, or leave it out")
        self.words = np.array(words, dtype=str)
        self.idf = np.log((1 + len(texts)) / (1 + counts.astype(bool).sum(axis=0))) + 1.0
        return self

    def encode(self, texts: Sequence[str]) -> Any:
        """The weights, sparse, of shape (n_rows, n_words)."""
        from sklearn.preprocessing import normalize

        counter = self._counter(vocabulary=self.words.tolist())
        weights: Any = sp.csr_array(counter.transform(texts)).astype(np.float64)
        weights.data = (1.0 + np.log(weights.data)) * self.idf[weights.indices]
        return normalize(weights, copy=False)

    def _counter(self, **options: Any) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(token_pattern=self.pattern, ngram_range=(1, self.longest), **options)

    @property
    def n_features(self) -> int:
        """The number of words."""
        return len(self.words)
