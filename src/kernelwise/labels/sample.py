r"""Which rows to learn from, if there are more rows than learning needs.

Landmarks, forests and logistic regression gain little from more than some ten thousand rows, and the share of wrong
labels is known to a standard error of at most :math:`1 / (2 \sqrt m)` from ``m`` rows. So views and noise model are
learned from a random sample, and every other row is judged by models that did not see its label.

The sample holds about the same share of the rows of every class, but at least :data:`FEWEST` rows of each class (all
rows, if a class has fewer), and all rows that people have checked. A row stands for :math:`N_c / m_c` rows, so that the
shares of the classes stay right; these weights are scaled to the mean one, because the noise model is as certain as the
rows that it saw allow.

The draw is made from the numbers of rows of each class alone: the k-th row of class c is drawn or not, wherever it is.
So the same rows are drawn in memory, in chunks of a file and in the blocks of a cluster.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.random import sample_without_replacement

from ..checks import check_count, is_count, missing_labels
from ..supervision.guarantee import Guarantee

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: ``sample_size="auto"``: see ``benchmarks/label_scale.py`` for what fewer rows cost.
AUTO = 50_000
#: At least this many rows of each class are learned from.
FEWEST = 30
#: The smallest sample that may be asked for.
SMALLEST = 500


def check_sample_size(sample_size: Any) -> int:
    """Return the number of rows to learn from.

    >>> check_sample_size("auto"), check_sample_size(2000)
    (50000, 2000)
    """
    if isinstance(sample_size, str):
        if sample_size != "auto":
            raise ValueError(f'sample_size must be "auto" or a number of rows, got {sample_size!r}')
        return AUTO
    if is_count(sample_size, 0) and sample_size < SMALLEST:
        raise ValueError(
            f'sample_size={sample_size} is too small to learn from; give at least {SMALLEST} rows, or "auto"'
        )
    return check_count("sample_size", sample_size, least=SMALLEST)


@dataclass(frozen=True)
class Sample:
    """What the rows of a sample stand for.

    ``stands_for`` is the number of rows that each row stands for, with the mean one; ``random_state`` goes on where the
    draw ended; ``guarantee`` are the bounds from checked rows among all rows; and ``lacks_cells`` says that some row,
    in the sample or not, has no number in some column. ``whole`` says that all rows are in the sample.
    """

    stands_for: Array
    random_state: np.random.RandomState
    guarantee: Guarantee | None
    lacks_cells: bool
    whole: bool


@dataclass(frozen=True)
class LabelCounts:
    """The labels of a block: how many rows have which label and a weight, and the smallest and largest weight."""

    n_rows: int
    classes: Counter[Hashable]
    lightest: float = np.inf
    heaviest: float = -np.inf

    @property
    def equal_weights(self) -> bool:
        """Whether all rows that count have the same weight."""
        return self.lightest == self.heaviest

    @classmethod
    def of(cls, y: ArrayLike, weight: Array | None = None) -> "LabelCounts":
        """Count the rows of a block that have a label and a weight.

        >>> LabelCounts.of(["a", None, "a"], np.array([1.0, 1.0, 0.0])).classes
        Counter({'a': 1})
        """
        labels = np.asarray(y)
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


def counted_rows(labels: NDArray[Any], weight: Array | None) -> Index:
    """Return the positions of the rows that have a label and a weight."""
    labelled = ~missing_labels(labels)
    return np.flatnonzero(labelled if weight is None else labelled & (np.asarray(weight) > 0))


def draw_positions(
    classes: Mapping[Hashable, int], size: int, random_state: np.random.RandomState
) -> dict[Hashable, Index]:
    """Draw about ``size`` rows: for every class, sorted positions among the rows of the class.

    >>> drawn = draw_positions({"common": 9000, "rare": 20}, 1000, np.random.RandomState(0))
    >>> {label: len(positions) for label, positions in drawn.items()}
    {'common': 998, 'rare': 20}
    """
    total = sum(classes.values())
    drawn = {}
    for label in sorted(classes, key=lambda label: (str(type(label)), label)):
        count = classes[label]
        wanted = min(count, max(int(np.ceil(size * count / total)), FEWEST))
        # A reservoir keeps the drawn positions alone; other methods permute all positions.
        method = "reservoir_sampling"
        drawn[label] = np.sort(sample_without_replacement(count, wanted, method=method, random_state=random_state))
    return drawn


def in_blocks(drawn: Mapping[Hashable, Index], blocks: Sequence[LabelCounts]) -> list[dict[Hashable, Index]]:
    """Return the drawn positions of each block, counted from the first row of the class in the block.

    >>> blocks = [LabelCounts(2, Counter(a=2)), LabelCounts(3, Counter(a=3))]
    >>> [{label: places.tolist() for label, places in part.items()} for part in in_blocks({"a": [1, 2, 4]}, blocks)]
    [{'a': [1]}, {'a': [0, 2]}]
    """
    parts: list[dict[Hashable, Index]] = [{} for _ in blocks]
    for label, positions in drawn.items():
        ends = np.cumsum([block.classes[label] for block in blocks])
        cuts = np.searchsorted(positions, ends)
        for part, start, (low, high) in zip(
            parts, [0, *ends[:-1].tolist()], zip([0, *cuts[:-1]], cuts, strict=True), strict=True
        ):
            if high > low:
                part[label] = np.asarray(positions[low:high]) - start
    return parts


def drawn_rows(y: ArrayLike, weight: Array | None, drawn: Mapping[Hashable, Index], checked: Index) -> Index:
    """Return the rows of a block that are in the sample, in order; ``checked`` rows are always in it.

    >>> drawn_rows(["b", "a", "b", "b"], None, {"b": np.array([1])}, np.array([0])).tolist()
    [0, 2]
    """
    labels = np.asarray(y)
    counted = counted_rows(labels, weight)
    members: dict[Hashable, list[int]] = {label: [] for label in drawn}
    for row, label in zip(counted.tolist(), labels[counted].tolist(), strict=True):
        if label in members:
            members[label].append(row)
    rows = [np.asarray(members[label], dtype=np.intp)[positions] for label, positions in drawn.items()]
    return np.unique(np.concatenate([np.asarray(checked, dtype=np.intp), *rows]))


def rows_stood_for(
    labels: NDArray[Any], counted: NDArray[np.bool_], checked: NDArray[np.bool_], classes: Mapping[Hashable, int]
) -> Array:
    """Return how many rows each row of the sample stands for, scaled to the mean one over the rows that count.

    A checked row stands for itself, and the other rows of its class for all that were not checked.

    >>> labels, yes = np.array(["a", "a", "b"]), np.ones(3, bool)
    >>> rows_stood_for(labels, yes, ~yes, {"a": 8, "b": 1}).round(2).tolist()
    [1.33, 1.33, 0.33]
    """
    names = list(classes)
    position = {label: k for k, label in enumerate(names)}
    code = np.array([position.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    code[~counted] = -1
    known, drawn = (np.bincount(code[(code >= 0) & rows], minlength=len(names)) for rows in (checked, ~checked))
    stands = np.ones(len(labels))
    others = (code >= 0) & ~checked
    stands[others] = ((np.array([classes[label] for label in names]) - known) / np.maximum(drawn, 1))[code[others]]
    return stands / stands[counted].mean()
