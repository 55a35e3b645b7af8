"""One block of rows at a time: count its labels, take the rows of a sample, and judge every row.

The same functions work on slices of arrays in memory, on chunks of a file that are read one after the other
(:class:`Chunks`), and on the blocks of a Dask cluster (``on_cluster.py``).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from ..checks import missing_labels
from ..samples import n_rows
from ..tables.columns import Table
from .given import read_labels
from .sample import (
    Index,
    LabelCounts,
    counted_rows,
    drawn_rows,
)
from .verdict import joint_counts

Array = NDArray[np.float64]

#: Rows in memory are judged in blocks of this many.
BLOCK_ROWS = 50_000
#: Rows are scored this many at a time, so that kernel values stay in the cache.
AT_ONCE = 2000
#: So many of the most suspect rows are listed in order.
LISTED = 10_000


class Features(Protocol):
    """What makes samples of the rows of a block; learned from the sample, where there is something to learn."""

    def learn(self, rows: Any) -> Any:
        """Learn from the rows of the sample, and return their samples."""

    def apply(self, rows: Any) -> Any:
        """Return the samples of other rows."""


class Blocks(Protocol):
    """Rows in blocks, wherever they are. A block is ``(X, y, weight)``; weight may be None."""

    features: Features | None

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]] | None, **shared: Any) -> Any:
        """Start ``function(X, y, weight, *arguments[k], **shared)`` for every block k, and return handles."""

    def count(self) -> list[LabelCounts]:
        """Return the labels of every block, counted once."""

    def gather(self, function: Callable[[Any], Any], handles: Any) -> list[Any]:
        """Return ``function(result)`` of every handle, in this process."""

    def total(self, function: Callable[[Any], Any], merge: Callable[[Sequence[Any]], Any], handles: Any) -> Any:
        """Return ``function(result)`` of all handles, merged into one."""


@dataclass
class Chunks:
    """Blocks that are made one after the other in this process: slices of arrays, or pieces of a file.

    ``read`` begins a new pass over the blocks; with ``labels_only=True`` it may leave X out.
    """

    read: Callable[[bool], Iterator[tuple[Any, Any, Any]]]
    features: Features | None = None
    counted: list[LabelCounts] | None = None
    replaced: Mapping[str, str | None] = field(default_factory=dict)
    done: Callable[[int], None] = field(default=lambda rows: None)

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]] | None, **shared: Any) -> Any:
        return self._pass(function, arguments, False, shared)

    def count(self) -> list[LabelCounts]:
        if self.counted is None:
            self.counted = list(self._pass(count_labels, None, True, {}))
        return self.counted

    def _pass(
        self, function: Callable[..., Any], arguments: Any, labels_only: bool, shared: dict[str, Any]
    ) -> Iterator[Any]:
        for k, (X, given, weight) in enumerate(self.read(labels_only)):
            y = respelled(given, self.replaced) if self.replaced else given
            yield function(X, y, weight, *(() if arguments is None else arguments[k]), **shared)
            self.done(len(y))

    def respell(self, replaced: Mapping[str, str | None]) -> None:
        """Take some labels for others, or for none, from now on."""
        self.replaced = {**self.replaced, **replaced}

    def gather(self, function: Callable[[Any], Any], handles: Any) -> list[Any]:
        return [function(result) for result in handles]

    def total(self, function: Callable[[Any], Any], merge: Callable[[Sequence[Any]], Any], handles: Any) -> Any:
        return reduce(lambda one, other: merge([one, other]), map(function, handles))


def slices(X: Any, y: Any, weight: Array | None, rows: int = BLOCK_ROWS) -> Chunks:
    """Return rows in memory (or in a file that is mapped into memory) in blocks."""

    def read(labels_only: bool) -> Iterator[tuple[Any, Any, Any]]:
        for start in range(0, len(y), rows):
            part = slice(start, min(start + rows, len(y)))
            X_part = None if labels_only else rows_of(X, part)
            yield X_part, y[part], None if weight is None else weight[part]

    return Chunks(read)


def rows_of(X: Any, rows: Any) -> Any:
    """Return some rows of an array, a sparse matrix, a frame or a table, by positions or by a slice."""
    if isinstance(X, Table):
        return X.take(rows)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return X[rows]
    return _safe_indexing(X, rows if isinstance(rows, slice) else np.asarray(rows))


def stacked(parts: Sequence[Any]) -> Any:
    """Return the rows of several blocks as one."""
    if isinstance(parts[0], Table):
        return Table.stacked(parts)
    if sp.issparse(parts[0]):
        return sp.csr_array(sp.vstack(parts))
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    if type(parts[0]).__module__.startswith("polars"):
        import polars as pl

        return pl.concat(parts)
    import pyarrow as pa

    return pa.concat_tables(parts)


# functions of one block


def respelled(y: Any, replaced: Mapping[str, str | None]) -> NDArray[Any]:
    """Return labels of which some are replaced by others."""
    labels = np.asarray(read_labels(y)).tolist()
    return np.array([replaced.get(one, one) if isinstance(one, str) else one for one in labels], dtype=object)


def count_labels(X: Any, y: Any, weight: Array | None) -> LabelCounts:
    """Count the labels of a block."""
    return LabelCounts.of(read_labels(y), weight)


class Taken(NamedTuple):
    """The rows of a block that are in the sample, their places in the block, and whether the block lacks numbers."""

    X: Any
    y: NDArray[Any]
    weight: Array
    places: Index
    has_missing: bool


def take_rows(X: Any, y: Any, weight: Array | None, drawn: dict[Any, Index], checked: Index) -> Taken:
    """Take the rows of a block that are in the sample."""
    labels = np.asarray(read_labels(y))
    length = X.n_rows if isinstance(X, Table) else n_rows(X)
    if length != len(labels):
        raise ValueError(
            f"a block of X has {length} rows, and the same block of y has {len(labels)} labels; cut X and y in the "
            "same way, or make both from one frame"
        )
    places = drawn_rows(labels, weight, drawn, checked)
    missing = isinstance(X, np.ndarray) and X.dtype.kind == "f" and bool(np.isnan(X).any())
    weights = np.ones(len(places)) if weight is None else np.asarray(weight, dtype=np.float64)[places]
    return Taken(rows_of(X, places), labels[places], weights, places, missing)


class Known(NamedTuple):
    """The rows of a block that are in the sample: their places, their probabilities, and those without the label."""

    places: Index
    probabilities: Array
    blind: Array


@dataclass(frozen=True)
class Judged:
    """What is found of a block; the probabilities are left out unless they are asked for."""

    quality: Array
    suggested: Index
    summary: "Summary"
    probabilities: Array | None = None
    blind: Array | None = None


@dataclass(frozen=True)
class Summary:
    """Sums over rows that count: their weight, the expected weight of wrong labels, and true by given classes.

    ``rows`` and ``quality`` are the most suspect rows with a label, the most suspect first; ``n_doubtful`` rows are
    more likely wrong than right, and ``n_wrong`` of these should be wrong. ``n_labelled`` rows have a label.
    """

    weight: float
    wrong: float
    joint: Array
    rows: NDArray[np.int64]
    quality: Array
    n_labelled: int
    n_doubtful: int
    n_wrong: float

    @staticmethod
    def total(parts: "Sequence[Summary]") -> "Summary":
        """Add up the summaries of several blocks, in the order of their rows."""
        rows = np.concatenate([part.rows for part in parts])
        quality = np.concatenate([part.quality for part in parts])
        order = np.lexsort((rows, quality))[:LISTED]
        sums = {
            name: sum(getattr(part, name) for part in parts)
            for name in ("weight", "wrong", "joint", "n_labelled", "n_doubtful", "n_wrong")
        }
        return Summary(rows=rows[order], quality=quality[order], **sums)


@dataclass(frozen=True)
class Judge:
    """A model that has learned, without the rows that it learned from; it judges the rows of other blocks."""

    model: Any
    features: Features | None

    @classmethod
    def of(cls, model: Any, features: Features | None) -> "Judge":
        """Return what judging needs of a fitted model."""
        return cls(model._for_workers(), features)

    def probabilities(self, X: Any, column: Index) -> tuple[Array, Array]:
        """Return P(true) of rows with the given classes, and without them; column -1 stands for no label."""
        found, blind = np.empty((2, len(column), len(self.model.classes_)))
        for start in range(0, len(column), AT_ONCE):
            piece = slice(start, start + AT_ONCE)
            rows = rows_of(X, piece) if self.features is None else self.features.apply(rows_of(X, piece))
            found[piece], blind[piece] = self.model._judged(self.model._read_block(rows), column[piece])
        return found, blind


def judge_rows(
    X: Any, y: Any, weight: Array | None, start: int, known: Known, *, judge: Judge, wide: bool = False
) -> Judged:
    """Judge the rows of a block, of which the first is row ``start`` of all rows."""
    labels, classes = np.asarray(read_labels(y)), judge.model.classes_
    position = {label: k for k, label in enumerate(classes.tolist())}
    column = np.array([position.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    counted = counted_rows(labels, weight)
    others = np.setdiff1d(np.arange(len(labels)), known.places)
    seen = np.full(len(labels), -1, dtype=np.intp)
    seen[counted] = column[counted]
    found, blind = np.empty((2, len(labels), len(classes)))
    found[known.places], blind[known.places] = known.probabilities, known.blind
    found[others], blind[others] = judge.probabilities(rows_of(X, others), seen[others])
    # A label that only rows without weight have is no class, and cannot be right.
    own = np.where(column >= 0, found[np.arange(len(labels)), column], 0.0)
    labelled = np.flatnonzero(~missing_labels(labels))
    quality = np.full(len(labels), np.nan)
    quality[labelled] = own[labelled]
    weights = np.ones(len(labels)) if weight is None else np.asarray(weight, dtype=np.float64)
    weights = weights / judge.model._class_weights[np.maximum(column, 0)]
    suspects = labelled[np.argsort(quality[labelled], kind="stable")[:LISTED]]
    doubtful = quality[labelled][quality[labelled] < 0.5]
    summary = Summary(
        weight=float(weights[counted].sum()),
        wrong=float(weights[counted] @ (1 - quality[counted])),
        joint=joint_counts(found[counted], column[counted], weights[counted]),
        rows=start + suspects.astype(np.int64),
        quality=quality[suspects],
        n_labelled=len(labelled),
        n_doubtful=len(doubtful),
        n_wrong=float(np.sum(1 - doubtful)),
    )
    judged = Judged(quality, suggested_classes(found, column, quality), summary)
    return replace(judged, probabilities=found, blind=blind) if wide else judged


def suggested_classes(found: Array, column: Index, quality: Array) -> Index:
    """Return the class to suggest for every row: its own unless it is doubtful; column -1 stands for no label."""
    rows, known = np.arange(len(column)), column >= 0
    others = found.copy()
    others[rows[known], column[known]] = -1.0
    # A label that is wrong with a chance of one half or more is not suggested again, even if no other is more probable.
    suspect = known & (quality <= 0.5)
    return np.where(suspect, others.argmax(axis=1), np.where(known, column, found.argmax(axis=1)))
