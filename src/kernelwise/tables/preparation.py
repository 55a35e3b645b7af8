"""A table with columns of numbers, dates, categories and text, as one matrix: an encoder for each column.

An encoder learns only numbers and names. So it can be shown, and loading a saved encoder runs no code.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..checks import require
from .columns import Table
from .errors import TableError
from .frames import as_table
from .kinds import EPOCH
from .notation import Notation

Array = NDArray[np.float64]

#: So many of the most frequent categories have their own indicator; the other categories share one.
MAX_CATEGORIES = 50
#: The category of empty cells.
MISSING_CATEGORY = "(missing)"
#: So many of the most frequent words of a text column are kept.
MAX_WORDS = 20_000
#: So many of the most frequent groups of letters of a column of names are kept.
MAX_GROUPS = 2000
#: From this many rows on, a word is kept only if it occurs in two rows.
ROWS_FOR_RECURRENCE = 20
#: Categories of so many characters that differ in capitals and blanks alone are one category: A and a may be two.
LETTERS_OF_SPELLING = 3
#: The seconds of a day, a week and a year, and the least span of dates in which the part of each is a feature.
DAY, WEEK, YEAR = 86_400.0, 7 * 86_400.0, 365.2425 * 86_400.0
CYCLES = {"time of day": (DAY, DAY), "day of week": (WEEK, 2 * WEEK), "time of year": (YEAR, YEAR / 2)}
#: The first of January 1970 was a Thursday.
MONDAY = 4 * DAY


@dataclass
class Numbers:
    """Numbers scaled to mean zero and unit variance; missing numbers (NaN) are filled with the median."""

    median: float = 0.0
    mean: float = 0.0
    scale: float = 1.0
    n_filled: int = 0
    notation: Notation | None = None
    missing_code: float = math.nan

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
        filled = np.where(np.isnan(values) | (values == self.missing_code), self.median, values)
        return ((filled - self.mean) / self.scale)[:, None]

    @property
    def n_features(self) -> int:
        """The number of features."""
        return 1

    def feature_names(self, column: str) -> list[str]:
        """The name of the column."""
        return [column]

    @property
    def becomes(self) -> str:
        """The encoding in words."""
        done = "as it is" if (self.mean, self.scale) == (0.0, 1.0) else "scaled"
        code = "" if math.isnan(self.missing_code) else f", {self.missing_code:g} taken for missing"
        said = "" if self.notation is None else self.notation.said
        read = f"numbers {said}, " if said.startswith(("with ", "in ")) else f"{said}, " if said else ""
        return f"{read}{done}{code}{self._filled(f'{self.median:.6g}')}"

    def _filled(self, median: str) -> str:
        return f", {self.n_filled} missing filled with the median {median}" if self.n_filled else ""


@dataclass
class Dates(Numbers):
    """Dates as scaled seconds, and sine and cosine of the cycles (day, week, year) that they can show."""

    cycles: list[str] = field(default_factory=list)

    def learn(self, values: Array) -> Self:
        """Learn the median, the mean and the scale, and which cycles the dates show."""
        super().learn(values)
        present = np.unique(values[~np.isnan(values)])
        span = float(present[-1] - present[0]) if len(present) else 0.0
        hours = len(np.unique(present % DAY)) > 1
        self.cycles = [
            name for name, (_, least) in CYCLES.items() if span >= least and (hours or name != "time of day")
        ]
        return self

    def encode(self, values: Array) -> Array:
        """The scaled dates and their cycles, of shape (n_rows, n_features)."""
        filled = np.where(np.isnan(values), self.median, values)
        features = [super().encode(filled)]
        for name in self.cycles:
            length = CYCLES[name][0]
            angle = 2 * np.pi * ((filled - (MONDAY if name == "day of week" else 0.0)) % length) / length
            features += [np.sin(angle)[:, None], np.cos(angle)[:, None]]
        return np.hstack(features)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return 1 + 2 * len(self.cycles)

    def feature_names(self, column: str) -> list[str]:
        """The name of the column, and two names for each cycle."""
        return [column] + [f"{column}: {name} ({part})" for name in self.cycles for part in ("sin", "cos")]

    @property
    def becomes(self) -> str:
        """The encoding in words."""
        parts = ["time passed, scaled", *self.cycles]
        said = " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
        order = "" if self.notation is None or not self.notation.said else f" ({self.notation.said})"
        return f"dates{order} as {said}{self._filled(f'{EPOCH + timedelta(seconds=self.median):%Y-%m-%d}')}"


@dataclass
class Categories:
    """Indicators of the most frequent categories, and one indicator that rare and new categories share."""

    categories: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype="U1"))
    n_rare: int = 0
    n_spellings: int = 0

    def learn(self, values: Sequence[str]) -> Self:
        """Learn the most frequent categories; of equally frequent ones, the first in the alphabet."""
        written = Counter(values)
        spelling: dict[str, str] = {}
        for value in sorted(written, key=lambda value: (-written[value], value)):
            spelling.setdefault(_spelling(value), value)
        self.n_spellings = len(written) - len(spelling)
        counts = Counter(spelling[_spelling(value)] for value in values)
        frequent = sorted(counts, key=lambda category: (-counts[category], category))[:MAX_CATEGORIES]
        self.categories = np.array(sorted(frequent), dtype=str)
        self.n_rare = len(counts) - len(frequent)
        return self

    def encode(self, values: Sequence[str]) -> Array:
        """Indicators, of shape (n_rows, n_features)."""
        positions = {_spelling(category): position for position, category in enumerate(self.categories.tolist())}
        place = np.array([positions.get(_spelling(value), -1) for value in values], dtype=np.intp)
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
        joined = f", {self.n_spellings} other spellings joined to them" if self.n_spellings else ""
        return f"indicators of {len(self.categories)} categories{rare}{joined}"


def _spelling(category: str) -> str:
    """What two spellings of a category have in common: all but capitals and blanks."""
    return category if len(category) < LETTERS_OF_SPELLING else " ".join(category.casefold().split())


@dataclass
class Words:
    """Words weighed by tf-idf; rows have unit length.

    Words of one letter count: a letter may be a grade, or a word of Chinese. A word that occurs in one row only says
    nothing about other rows, and makes the words beside it lighter: it is left out where there are many rows. Pairs of
    words are not used: they found no more wrong labels than single words did.
    """

    words: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype="U1"))
    idf: Array = field(default_factory=lambda: np.empty(0))

    most: ClassVar[int] = MAX_WORDS

    def learn(self, texts: Sequence[str]) -> Self:
        """Learn the words that occur in two rows (in few rows: all words) and their idf; ValueError without words."""
        counter = self._counter(max_features=self.most, min_df=2 if len(texts) >= ROWS_FOR_RECURRENCE else 1)
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

        weights: Any = sp.csr_array(self._counter(vocabulary=self.words.tolist()).transform(texts)).astype(np.float64)
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

    def _counter(self, **options: Any) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(token_pattern=r"(?u)\b\w+\b", **options)


class Names(Words):
    """Groups of two and three letters, weighed by tf-idf, so that names that are spelled alike are alike."""

    most: ClassVar[int] = MAX_GROUPS

    def _counter(self, **options: Any) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(analyzer="char_wb", ngram_range=(2, 3), **options)

    @property
    def becomes(self) -> str:
        """The encoding in words."""
        return f"names as tf-idf of {len(self.words)} groups of letters"


ENCODERS: dict[str, type[Any]] = {"numeric": Numbers, "date": Dates, "categorical": Categories}
ENCODERS |= {"name": Names, "text": Words}
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
            others = [*self.leave_out, *(f"{name} ({why})" for name, why in self.unused_.items())]
            more = f" and {len(others) - 8} more" if len(others) > 8 else ""
            raise TableError(
                f"{table.source} has no column to learn from besides {', '.join(others[:8]) or 'none'}{more}; add "
                "features, or say what kind a column is"
            )
        return self

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
    present = values[~np.isnan(values)] if isinstance(values, np.ndarray) else values
    if all(value == present[0] for value in present):  # the median of the others fills missing numbers
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
