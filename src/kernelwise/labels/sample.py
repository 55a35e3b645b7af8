r"""Rows in blocks, and which of them to learn from, if there are more rows than learning needs.

Landmarks, forests and logistic regression gain little from more than some ten thousand rows, and the share of wrong
labels is known to a standard error of at most :math:`1 / (2 \sqrt m)` from ``m`` rows. So base models and noise model
are learned from a random sample, and every other row is scored by models that did not see its label.

The sample holds about the same share of the rows of every class, but at least :data:`FEWEST` rows of each class (all
rows, if a class has fewer), and all rows that people have checked. A row has the weight :math:`N_c / m_c`, so that the
shares of the classes stay right; these weights are scaled to the mean one, because the noise model is as certain as the
rows that it saw allow.

The draw is made from the numbers of rows of each class alone: the k-th row of class c is drawn or not, wherever it is.
So the same rows are drawn in memory, in chunks of a file and in the blocks of a cluster.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.random import sample_without_replacement

from ..checks import missing_labels
from ..progress import Tell, silent
from ..review.guarantee import Guarantee
from ..samples import n_rows
from ..tables.columns import Table
from .given import read_labels
from .spellings import missing_words, replaced_spellings

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: At least this many rows of each class are learned from.
FEWEST = 30
#: Rows in memory are scored in blocks of this many.
BLOCK_ROWS = 50_000


@dataclass(frozen=True)
class LabelCounts:
    """The labels of a block: how many rows have which label and a weight, and the smallest and largest weight."""

    n_rows: int
    classes: Counter[Hashable]
    lightest: float = np.inf
    heaviest: float = -np.inf

    @classmethod
    def of(cls, y: Any, weight: Array | None = None) -> "LabelCounts":
        """Count the rows of a block that have a label and a weight."""
        labels = np.asarray(read_labels(y))
        counted = counted_rows(labels, weight)
        used = np.ones(len(counted)) if weight is None else np.asarray(weight, dtype=np.float64)[counted]
        ends = (float(used.min()), float(used.max())) if len(used) else (np.inf, -np.inf)
        return cls(len(labels), Counter(labels[counted].tolist()), *ends)

    def respelled(self, replaced: Mapping[str, str | None]) -> "LabelCounts":
        """The counts after some labels were replaced by others, or by none."""
        classes: Counter[Hashable] = Counter()
        for label, count in self.classes.items():
            if (other := replaced.get(label, label) if isinstance(label, str) else label) is not None:
                classes[other] += count
        return replace(self, classes=classes)

    @staticmethod
    def total(parts: "Sequence[LabelCounts]") -> "LabelCounts":
        """Add up the counts of several blocks."""
        classes: Counter[Hashable] = Counter()
        for part in parts:
            classes.update(part.classes)
        ends = min(part.lightest for part in parts), max(part.heaviest for part in parts)
        return LabelCounts(sum(part.n_rows for part in parts), classes, *ends)


@dataclass
class Chunks:
    """Blocks ``(X, y, weight)`` that are made one after the other in this process; weight may be None.

    ``read`` begins a new pass over the blocks; with ``labels_only=True`` it may leave X out. ``features`` make numbers
    of rows that are not numbers: ``learn(rows)`` of the rows of the sample, and then ``apply(rows)`` of others. Blocks
    on a Dask cluster have the same methods (``on_dask.py``), and futures in place of results.
    """

    read: Callable[[bool], Iterator[tuple[Any, Any, Any]]]
    features: Any = None
    counted: list[LabelCounts] | None = None
    replaced: Mapping[str, str | None] = field(default_factory=dict)

    def map(
        self, function: Callable[..., Any], arguments: Sequence[Any], progress: Tell = silent, **shared: Any
    ) -> list[Any]:
        """Return ``function(X, y, weight, *arguments[k], **shared)`` of every block k."""
        results = []
        for (X, given, weight), others in zip(self.read(False), arguments, strict=True):
            y = respelled(given, self.replaced) if self.replaced else given
            results.append(function(X, y, weight, *others, **shared))
            progress(len(results), len(arguments))
        return results

    def count(self) -> list[LabelCounts]:
        """Return the labels of every block, counted once."""
        if self.counted is None:
            self.counted = [LabelCounts.of(y, weight) for _, y, weight in self.read(True)]
        return self.counted

    def respell(self, replaced: Mapping[str, str | None]) -> None:
        """Take some labels for others, or for none, from now on."""
        self.replaced = {**self.replaced, **replaced}

    def gather(self, results: list[Any]) -> list[Any]:
        """Return the results themselves, in this process."""
        return results

    def total(self, part: Callable[[Any], Any], merge: Callable[[Sequence[Any]], Any], results: list[Any]) -> Any:
        """Return a part of all results, merged into one."""
        return merge([part(one) for one in results])


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


def respelled(y: Any, replaced: Mapping[str, str | None]) -> NDArray[Any]:
    """Return labels of which some are replaced by others."""
    labels = np.asarray(read_labels(y)).tolist()
    return np.array([replaced.get(one, one) if isinstance(one, str) else one for one in labels], dtype=object)


def join_counted(blocks: Any) -> dict[str, str]:
    """Join the spellings of each class in the counts of all blocks, and return the spellings that were replaced."""
    counts = LabelCounts.total(blocks.count()).classes
    replaced = replaced_spellings({label: count for label, count in counts.items() if isinstance(label, str)})
    _respell(blocks, replaced)
    return replaced


def drop_missing_words(blocks: Any) -> dict[str, int]:
    """Take words such as NA for missing labels where they are none, and return what stands in rows without a label."""
    total = LabelCounts.total(blocks.count())
    words = {label: count for label, count in total.classes.items() if isinstance(label, str)}
    n_empty = total.n_rows - sum(total.classes.values())
    dropped = {word: words[word] for word in missing_words(words, n_empty)}
    _respell(blocks, dict.fromkeys(dropped))
    return dropped | ({"": n_empty} if n_empty else {})


def _respell(blocks: Any, replaced: Mapping[str, str | None]) -> None:
    if replaced:
        blocks.counted = [part.respelled(replaced) for part in blocks.count()]
        blocks.respell(replaced)


# the draw


@dataclass(frozen=True)
class Sample:
    """What is known of the rows of a sample.

    ``weight`` is the number of rows that each row was drawn from, with the mean one; ``random_state`` goes on where the
    draw ended; ``guarantee`` are the bounds from checked rows among all rows; and ``lacks_cells`` says that some row,
    in the sample or not, has no number in some column. ``whole`` says that all rows are in the sample.
    """

    weight: Array
    random_state: np.random.RandomState
    guarantee: Guarantee | None
    lacks_cells: bool
    whole: bool


def counted_rows(labels: NDArray[Any], weight: Array | None) -> Index:
    """Return the positions of the rows that have a label and a weight."""
    labelled = ~missing_labels(labels)
    return np.flatnonzero(labelled if weight is None else labelled & (np.asarray(weight) > 0))


def draw_positions(
    classes: Mapping[Hashable, int], size: int, random_state: np.random.RandomState
) -> dict[Hashable, Index]:
    """Draw about ``size`` rows: for every class, sorted positions among the rows of the class."""
    total = sum(classes.values())
    drawn = {}
    for label in sorted(classes, key=lambda label: (str(type(label)), label)):
        count = classes[label]
        wanted = min(count, max(int(np.ceil(size * count / total)), FEWEST))
        # A reservoir keeps the drawn positions alone; other methods permute all positions.
        method = "reservoir_sampling"
        drawn[label] = np.sort(sample_without_replacement(count, wanted, method=method, random_state=random_state))
    return drawn


def draw_groups(
    parts: Sequence[tuple[Any, Array | None]],
    group: Index,
    checked: Index,
    size: int,
    random_state: np.random.RandomState,
) -> dict[Hashable, Index]:
    """Draw whole groups of about ``size`` rows, those of ``checked`` rows among them: positions as in other draws.

    ``parts`` are the labels and weights of all blocks. Every group has the same chance, and further groups are drawn
    until each class has :data:`FEWEST` rows. So no row that is left out has a row of its group in the sample.
    """
    labels = np.concatenate([np.asarray(read_labels(y)).astype(object) for y, _ in parts])
    weight = np.concatenate([np.ones(len(y)) if given is None else given for y, given in parts])
    counted = counted_rows(labels, weight)
    place = random_state.permutation(int(group.max()) + 1)
    place[group[checked]] = -1
    turn = place[group[counted]]
    last = np.sort(turn)[min(size, len(counted)) - 1]
    names, code = np.unique(labels[counted].astype(str), return_inverse=True)
    taken = turn <= last
    for k in range(len(names)):
        own = np.flatnonzero(code == k)
        few = own[np.argsort(turn[own], kind="stable")[:FEWEST]]
        taken |= np.isin(turn, turn[few])
    members: dict[Hashable, list[bool]] = {}
    for label, drawn in zip(labels[counted].tolist(), taken.tolist(), strict=True):
        members.setdefault(label, []).append(drawn)
    return {label: np.flatnonzero(drawn) for label, drawn in members.items()}


def in_blocks(drawn: Mapping[Hashable, Index], blocks: Sequence[LabelCounts]) -> list[dict[Hashable, Index]]:
    """Return the drawn positions of each block, counted from the first row of the class in the block."""
    parts: list[dict[Hashable, Index]] = [{} for _ in blocks]
    for label, positions in drawn.items():
        start = 0
        for part, block in zip(parts, blocks, strict=True):
            low, high = np.searchsorted(positions, [start, start + block.classes[label]])
            if high > low:
                part[label] = np.asarray(positions[low:high]) - start
            start += block.classes[label]
    return parts


def drawn_rows(y: Any, weight: Array | None, drawn: Mapping[Hashable, Index], checked: Index) -> Index:
    """Return the rows of a block that are in the sample, in order; ``checked`` rows are always in it."""
    labels = np.asarray(y)
    counted = counted_rows(labels, weight)
    members: dict[Hashable, list[int]] = {label: [] for label in drawn}
    for row, label in zip(counted.tolist(), labels[counted].tolist(), strict=True):
        if label in members:
            members[label].append(row)
    rows = [np.asarray(members[label], dtype=np.intp)[positions] for label, positions in drawn.items()]
    return np.unique(np.concatenate([np.asarray(checked, dtype=np.intp), *rows]))


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


def sample_weights(
    labels: NDArray[Any], counted: NDArray[np.bool_], checked: NDArray[np.bool_], classes: Mapping[Hashable, int]
) -> Array:
    """Return how many rows each row of the sample was drawn from, scaled to the mean one over the rows that count.

    A checked row counts for itself, and the other rows of its class for all that were not checked.
    """
    position = {label: k for k, label in enumerate(classes)}
    code = np.array([position.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    code[~counted] = -1
    known, drawn = (np.bincount(code[(code >= 0) & rows], minlength=len(classes)) for rows in (checked, ~checked))
    weights, others = np.ones(len(labels)), (code >= 0) & ~checked
    weights[others] = ((np.array(list(classes.values())) - known) / np.maximum(drawn, 1))[code[others]]
    return weights / weights[counted].mean()
