r"""What the values of a row say about its label: how much more often trusted rows of one label have them.

A value v is a category, a word of a text, or the tenth of a column in which a number lies. Of the :math:`n_c` trusted
rows with label c, :math:`n_{vc}` have v. With :math:`n = \sum_c n_c` and a few rows more for every value, spread over
the labels as all rows are, the share of v and what v says for label b against label a are

.. math::
   p(v \mid c) = \frac{n_{vc} + k\, n_c / n}{n_c}, \qquad
   w(v; a, b) = \log \frac{p(v \mid b)}{p(v \mid a)}.

So a value that nobody has seen says nothing. Every column, and every word, is counted on its own: the weights say what
a reader should look at first, not what the model computed.

Beside a suspect stand the nearest trusted rows, for comparison.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from ..checks import check_count
from ..review import LabelAudit
from .page_data import ShownRows, texts

Array = NDArray[np.float64]
Index = NDArray[np.intp]
#: k of the formula: so many rows are added for every value.
ADDED_ROWS = 2.0
#: Numbers are counted in so many parts with equally many rows.
PARTS = 10
#: A word is marked if it is so many times as frequent under one label as under the other.
LEAST_RATIO = 2.0
#: A word that occurs in fewer rows tells nothing about other rows.
LEAST_ROWS = 2
#: A text has so many marked words at most, and a label is described by so many words.
MAX_MARKED, MAX_TYPICAL = 60, 6
#: What texts tell is measured on so many rows at most.
MAX_COUNTED = 2000
#: A word; what is left of a character that is written as a number or a name (``&#40;``, ``&amp;``) is no word.
WORD = r"\b(?!(?<=&)\w+;)(?!(?<=&#)\w+;)\w+"
#: If a class has more rows, neighbours are sought among its most trusted rows only.
MAX_CANDIDATES = 20_000


def log_shares(counts: Array, sizes: Array) -> Array:
    """The logarithm of p(v | c) for counts of shape (n_values, n_classes) and the sizes of the classes.

    >>> np.exp(log_shares(np.array([[3.0, 0.0], [0.0, 0.0]]), np.array([4.0, 4.0])))
    array([[1.  , 0.25],
           [0.25, 0.25]])
    """
    sizes = np.maximum(sizes, 1.0)
    return np.log((counts + ADDED_ROWS * sizes / sizes.sum()) / sizes)


@dataclass(frozen=True)
class Trusted:
    """The labels of trusted rows as positions among the classes; -1 for all other rows."""

    codes: Index
    n_classes: int

    @cached_property
    def sizes(self) -> Array:
        """The number of trusted rows of each class."""
        return np.bincount(self.codes[self.codes >= 0], minlength=self.n_classes).astype(float)

    def indicators(self) -> csr_array:
        """A matrix of shape (n_rows, n_classes) with a one at the label of every trusted row."""
        rows = np.flatnonzero(self.codes >= 0)
        shape = (len(self.codes), self.n_classes)
        return csr_array((np.ones(len(rows)), (rows, self.codes[rows])), shape=shape)

    def log_shares(self, counts: Array, row: int) -> Array:
        """The logarithms of the shares in each class, the last axis of ``counts``; the row does not count itself."""
        own = (np.arange(self.n_classes) == self.codes[row]).astype(float)
        return log_shares(counts - own, self.sizes - own)


class ValueEvidence:
    """A column in which every row has one value: a category, a part of the numbers, or nothing (missing)."""

    def __init__(self, column: NDArray[Any], trusted: Trusted):
        values, self.codes = _values(column)
        self.values, self._trusted = values, trusted
        known = trusted.codes >= 0
        self.counts = np.zeros((len(values), trusted.n_classes))
        np.add.at(self.counts, (self.codes[known], trusted.codes[known]), 1.0)

    def weight(self, row: int, given: int, suggested: int) -> float:
        """What the value of a row says for the suggested label against the given one; a row does not count itself."""
        logs = self._trusted.log_shares(self.counts[self.codes[row]], row)
        return float(logs[suggested] - logs[given])

    def information(self) -> float:
        r"""How much the column tells of the label of trusted rows: the mean of log p(v | c) / p(v), at least zero.

        No row counts itself, so that names of rows tell nothing.
        """
        sizes = np.maximum(self._trusted.sizes - 1, 1.0)  # without the row itself
        n = max(self._trusted.sizes.sum() - 1, 1.0)
        others, of_value = self.counts - 1, self.counts.sum(axis=1, keepdims=True) - 1
        seen = self.counts > 0
        told = np.zeros_like(self.counts)
        np.log((others + ADDED_ROWS * sizes / n) / sizes / ((of_value + ADDED_ROWS) / n), out=told, where=seen)
        return max(0.0, float((self.counts * told).sum() / (n + 1)))

    def typical(self) -> dict[str, Any] | None:
        """The value whose shares differ most between the classes, with its share in each class."""
        sizes = np.maximum(self._trusted.sizes, 1.0)
        shares = self.counts / sizes
        if not len(shares):
            return None
        most = int(np.argmax(shares.max(axis=1) - shares.min(axis=1)))
        return {"value": self.values[most], "shares": [round(float(share), 4) for share in shares[most]]}


class WordEvidence:
    """A column of texts, or a sparse matrix, in which every row has many words."""

    def __init__(self, present: csr_array, words: list[str], trusted: Trusted):
        self.words, self.present, self._trusted = words, present, trusted
        self.counts = np.asarray((present.T @ trusted.indicators()).todense())

    @classmethod
    def of_texts(cls, column: NDArray[Any], trusted: Trusted) -> "WordEvidence":
        """The words of a column of texts, in lower case; a text without words has none."""
        counter = CountVectorizer(binary=True, token_pattern=WORD, min_df=1, dtype=np.float64)
        try:
            present = csr_array(counter.fit_transform(texts(column.tolist())))
        except ValueError:  # no text has a word
            return cls(csr_array((len(column), 0)), [], trusted)
        often = np.flatnonzero(np.asarray(present.sum(axis=0)).ravel() >= LEAST_ROWS)
        names = counter.get_feature_names_out()
        return cls(csr_array(present[:, often]), [str(names[at]) for at in often], trusted)

    def _logs(self, row: int) -> tuple[Index, Array]:
        """The words of a row and their log-shares in all classes; a row does not count itself."""
        columns = self.present.indices[self.present.indptr[row] : self.present.indptr[row + 1]].astype(np.intp)
        return columns, self._trusted.log_shares(self.counts[columns], row)

    def weights(self, row: int, given: int, suggested: int) -> dict[str, float]:
        """What each word of a row says for the suggested label against the given one, the most telling first."""
        columns, logs = self._logs(row)
        said = logs[:, suggested] - logs[:, given]
        return {self.words[columns[at]]: float(said[at]) for at in np.argsort(-np.abs(said), kind="stable")}

    def information(self) -> float:
        """How much the words together tell of the label: the information of the label for which most of them speak."""
        rows = np.flatnonzero(self._trusted.codes >= 0)
        rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MAX_COUNTED)).astype(np.intp)]
        spoken_for = np.array([int(self._logs(row)[1].sum(axis=0).argmax()) for row in rows.tolist()]).astype(str)
        codes = self._trusted.codes[rows]
        return ValueEvidence(spoken_for, Trusted(codes, self._trusted.n_classes)).information()

    def marked(self, row: int, given: int, suggested: int) -> list[list[Any]]:
        """The words of a row to be marked, with their weights."""
        weights = self.weights(row, given, suggested)
        telling = [[word, round(said, 3)] for word, said in weights.items() if abs(said) >= np.log(LEAST_RATIO)]
        return telling[:MAX_MARKED]

    def typical(self) -> list[list[str]]:
        """For each class the words that speak most for it against all other classes together, weighted by frequency."""
        sizes = self._trusted.sizes
        found = []
        for code in range(self._trusted.n_classes):
            counts = np.column_stack([self.counts.sum(axis=1) - self.counts[:, code], self.counts[:, code]])
            logs = log_shares(counts, np.array([sizes.sum() - sizes[code], sizes[code]]))
            said = (logs[:, 1] - logs[:, 0]) * np.sqrt(self.counts[:, code])  # rare words are chance
            best = np.argsort(-said, kind="stable")[:MAX_TYPICAL]
            found.append([self.words[at] for at in best if said[at] > 0])
        return found


def evidence_of(table: ShownRows, trusted: Trusted) -> list[ValueEvidence | WordEvidence]:
    """The evidence of every column of a table; of a sparse table the evidence of its words."""
    if (words := table.sparse) is not None:
        present = csr_array((np.ones(len(words.data)), words.indices, words.indptr), shape=words.shape)
        return [WordEvidence(present, table.names, trusted)]
    return [
        WordEvidence.of_texts(column, trusted) if kind == "text" else ValueEvidence(column, trusted)
        for kind, column in zip(table.kinds, table.columns, strict=True)
    ]


def mattering_columns(
    table: ShownRows, trusted: Trusted, weights: Mapping[str, float] | None, max_columns: int
) -> ShownRows:
    """The table with the columns that matter most, in the order of the table; all columns if there are not more.

    The weights say how much a column matters; without weights, what a column tells of trusted labels on its own says
    it.
    """
    if table.sparse is not None or len(table.columns) <= max_columns:
        return table
    if weights is None:
        shares = [one.information() for one in evidence_of(table, trusted)]
    else:
        shares = [float(weights.get(name, 0.0)) for name in table.names]
    largest = np.argsort(-np.array(shares), kind="stable")[:max_columns]
    return table.only(sorted(largest.tolist()))


def _values(column: NDArray[Any]) -> tuple[list[str], Index]:
    """The values of a column and the position of each row's value among them; missing cells are a value, too."""
    if column.dtype.kind not in "iuf":
        places: dict[str, int] = {}
        codes = [places.setdefault(value, len(places)) for value in texts(column.tolist())]
        return list(places), np.array(codes, dtype=np.intp)
    numbers = column.astype(float)
    known = np.isfinite(numbers)
    if not known.any():
        return [""], np.zeros(len(column), dtype=np.intp)
    distinct = np.unique(numbers[known])
    edges = (distinct[1:] + distinct[:-1]) / 2
    if len(distinct) > PARTS:
        edges = np.unique(np.quantile(numbers[known], np.arange(1, PARTS) / PARTS))
    parts = np.searchsorted(edges, np.where(known, numbers, 0.0), side="right")
    return [*(f"part {part}" for part in range(1, len(edges) + 2)), ""], np.where(known, parts, len(edges) + 1)


def trusted_neighbours(
    audit: LabelAudit, X: Any, rows: ArrayLike, *, n_neighbors: int = 3, labels: ArrayLike | None = None
) -> NDArray[np.intp]:
    """The nearest trusted rows that carry the suggested label of a suspect, or another label.

    A row is trusted if its quality is at least the median quality of the rows with the same given label. Distances are
    Euclidean: between rows of unit length if ``X`` is sparse, and otherwise between rows of standardised columns, in
    which missing values are at the mean.

    Parameters
    ----------
    audit : LabelAudit
    X : array or sparse matrix of shape (n_samples, n_features)
        Numbers; encode categories first.
    rows : array-like of int
        The suspects.
    n_neighbors : int, default=3
    labels : array-like of shape (len(rows),), default=None
        The label that the neighbours of each suspect carry; by default the label that the suspect should have if its
        own label is wrong.

    Returns
    -------
    array of shape (len(rows), n_neighbors)
        Positions, the nearest first; -1 where there are not enough trusted rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import LabelAudit
    >>> from kernelwise.report import trusted_neighbours
    >>> y, suggested = np.array([0, 0, 1, 1, 0]), np.array([0, 0, 1, 1, 1])
    >>> audit = LabelAudit(y, np.array([0.9, 0.9, 0.9, 0.9, 0.1]), suggested, np.eye(2)[suggested], np.array([0, 1]),
    ...                    noise_rate=0.2, noise_interval=(0.1, 0.3), transition=np.eye(2))
    >>> trusted_neighbours(audit, [[0.0], [1.0], [9.0], [7.0], [8.5]], rows=[4], n_neighbors=2)
    array([[2, 3]])
    """
    check_count("n_neighbors", n_neighbors)
    sparse = issparse(X)
    points: Any = normalize(csr_array(X, dtype=np.float64)) if sparse else _standardised(X)
    if points.shape[0] != len(audit.labels):
        raise ValueError(f"X has {points.shape[0]} rows, but the audit is of {len(audit.labels)}")
    rows = np.asarray(rows, dtype=np.intp)
    found = np.full((len(rows), n_neighbors), -1, dtype=np.intp)
    wanted = audit.alternative[rows] if labels is None else np.asarray(labels)
    for label in np.unique(wanted):
        places = np.flatnonzero(wanted == label)
        trusted = trusted_rows(audit, label)
        if not len(trusted):
            continue
        # One more than asked for: the suspect may be one of the trusted rows.
        search = NearestNeighbors(n_neighbors=min(n_neighbors + 1, len(trusted))).fit(points[trusted])
        nearest = trusted[search.kneighbors(points[rows[places]], return_distance=False)]
        for place, candidates in zip(places, nearest, strict=True):
            others = candidates[candidates != rows[place]][:n_neighbors]
            found[place, : len(others)] = others
    return found


def trusted_rows(audit: LabelAudit, label: Any) -> NDArray[np.intp]:
    """The rows with this given label whose quality is at least the median; of very many rows the best."""
    given = np.flatnonzero(audit.labels == label)
    if not len(given):
        return given
    quality = audit.quality[given]
    best = np.argsort(-quality, kind="stable")[:MAX_CANDIDATES]
    return given[best[quality[best] >= np.median(quality)]]


def _standardised(X: ArrayLike) -> NDArray[np.float64]:
    points = np.asarray(X, dtype=np.float64)
    known = np.isfinite(points)
    counts = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, points - np.where(known, points, 0.0).sum(axis=0) / counts, 0.0)
    scale = np.sqrt((centred**2).sum(axis=0) / counts)
    return centred / np.where(scale > 0, scale, 1.0)
