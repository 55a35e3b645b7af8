"""More rows than are learned from: count the labels, draw a sample, learn from it, and score every row.

Every step is a function of one block of rows, so that rows in memory, in files and on a cluster are treated by the same
code. Rows are read twice, once to take the sample and once to be scored; labels are read once more, to be counted.

The rows of the sample keep the scores that were found with each of them left out. All other rows are scored by models
that did not see their labels, which is the same thing: out of sample. So all figures come from one posterior.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..checks import check_sample_size, missing_labels
from ..progress import Tell, part, silent
from ..review.audit import suggested_classes
from ..review.diagnosis import conditional, guarantee_of, joint_counts
from ..review.guarantee import Guarantee
from ..statements.verdicts import Verdicts
from .given import read_labels, warn_of_numbers
from .sample import (
    Index,
    LabelCounts,
    Sample,
    Taken,
    counted_rows,
    draw_groups,
    draw_positions,
    in_blocks,
    rows_of,
    sample_weights,
    slices,
    stacked,
    take_rows,
)

Array = NDArray[np.float64]

#: To learn from a row takes about as long as to score this many.
LEARNING = 4.0
#: Rows are scored this many at a time, so that kernel values stay in the cache.
AT_ONCE = 2000
#: So many of the most suspect rows are listed in order.
LISTED = 10_000


class Known(NamedTuple):
    """The rows of a block that are in the sample: their places, and their probabilities with and without the label."""

    places: Index
    probabilities: Array
    out_of_sample: Array


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
class Scored:
    """What is found of a block; the probabilities are left out unless they are asked for."""

    quality: Array
    suggested: Index
    summary: Summary
    probabilities: Array | None = None
    out_of_sample: Array | None = None


@dataclass(frozen=True)
class RowScorer:
    """A model that has learned, without the rows that it learned from; it scores the rows of other blocks."""

    model: Any
    features: Any

    def probabilities(self, X: Any, column: Index) -> tuple[Array, Array]:
        """Return P(true) of rows with the given classes, and without them; column -1 is no label."""
        found, without = np.empty((2, len(column), len(self.model.classes_)))
        for start in range(0, len(column), AT_ONCE):
            piece = slice(start, start + AT_ONCE)
            rows = rows_of(X, piece) if self.features is None else self.features.apply(rows_of(X, piece))
            found[piece], without[piece] = self.model._with_and_without_label(rows, column[piece])
        return found, without


def score_rows(
    X: Any, y: Any, weight: Array | None, start: int, known: Known, *, scorer: RowScorer, wide: bool = False
) -> Scored:
    """Score the rows of a block, of which the first is row ``start`` of all rows."""
    labels, classes = np.asarray(read_labels(y)), scorer.model.classes_
    position = {label: k for k, label in enumerate(classes.tolist())}
    column = np.array([position.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    counted = counted_rows(labels, weight)
    others = np.setdiff1d(np.arange(len(labels)), known.places)
    seen = np.full(len(labels), -1, dtype=np.intp)
    seen[counted] = column[counted]
    found, without = np.empty((2, len(labels), len(classes)))
    found[known.places], without[known.places] = known.probabilities, known.out_of_sample
    found[others], without[others] = scorer.probabilities(rows_of(X, others), seen[others])
    # A label that only rows without weight have is no class, and cannot be right.
    own = np.where(column >= 0, found[np.arange(len(labels)), column], 0.0)
    labelled = np.flatnonzero(~missing_labels(labels))
    quality = np.full(len(labels), np.nan)
    quality[labelled] = own[labelled]
    weights = np.ones(len(labels)) if weight is None else np.asarray(weight, dtype=np.float64)
    weights = weights / scorer.model._class_weights[np.maximum(column, 0)]
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
    scored = Scored(quality, suggested_classes(found, column, quality), summary)
    return replace(scored, probabilities=found, out_of_sample=without) if wide else scored


class Fitted(NamedTuple):
    """What :func:`fit_in_blocks` leaves: the scorer, what is known of each block, the results, and all sums."""

    scorer: RowScorer
    arguments: list[tuple[int, Known]]
    lengths: list[int]
    results: list[Any]
    summary: Summary


def fit_in_blocks(
    model: Any,
    blocks: Any,
    *,
    checked: Verdicts | None = None,
    progress: Tell = silent,
    scoring: Callable[..., Any] = score_rows,
    group: Index | None = None,
) -> Fitted:
    """Learn from a sample of all blocks, score every row, and set the attributes of the model that are sums over rows.

    ``blocks`` are :class:`.sample.Chunks`, or have their methods. ``scoring`` is :func:`score_rows`, or a function that
    calls it and does more with a block. ``group`` is the group of every row, for rows in memory.
    """
    size, rng = check_sample_size(model.sample_size), check_random_state(model.random_state)
    parts: list[LabelCounts] = blocks.count()
    counts = LabelCounts.total(parts)
    _check_classes(model, counts, size)
    warn_of_numbers(counts.classes, stacklevel=4)
    starts = np.cumsum([0, *(part.n_rows for part in parts)])
    if checked is not None:
        checked.check_rows(counts.n_rows)
    known = np.unique([] if checked is None else checked.rows).astype(np.intp)
    cut = [known[(known >= low) & (known < high)] - low for low, high in pairwise(starts.tolist())]
    if group is None:
        positions = draw_positions(counts.classes, size, rng)
    else:
        positions = draw_groups([part[1:] for part in blocks.read(True)], group, known, size, rng)
    drawn = in_blocks(positions, parts)
    taken: list[Taken] = blocks.gather(blocks.map(take_rows, list(zip(drawn, cut, strict=True))))
    rows = np.concatenate([start + part.places for start, part in zip(starts[:-1], taken, strict=True)])
    learning = LEARNING * len(rows) / (LEARNING * len(rows) + counts.n_rows)
    fit = partial(model._learn, progress=part(progress, 0.0, learning), group=None if group is None else group[rows])
    learned = _learn(fit, blocks.features, taken, rows, counts, checked, rng)
    scorer = RowScorer(model._for_workers(), blocks.features)
    ends = np.cumsum([0, *(len(part.places) for part in taken)])
    found, without = model.label_probabilities_, model.out_of_sample_probabilities_
    arguments = [
        (int(start), Known(part.places, found[low:high], without[low:high]))
        for start, part, low, high in zip(starts[:-1], taken, ends[:-1], ends[1:], strict=True)
    ]
    results = blocks.map(scoring, arguments, part(progress, learning, 1.0), scorer=scorer)
    summary: Summary = blocks.total(attrgetter("summary"), Summary.total, results)
    model.noise_rate_ = summary.wrong / summary.weight
    model.transition_ = conditional(summary.joint)
    model._conclude(learned)
    return Fitted(scorer, arguments, [part.n_rows for part in parts], results, summary)


def _learn(
    fit: Callable[..., Any],
    features: Any,
    taken: Sequence[Taken],
    rows: Index,
    counts: LabelCounts,
    checked: Verdicts | None,
    rng: np.random.RandomState,
) -> Any:
    """Let the model learn from the rows of the sample, weighted to represent all rows."""
    filled = [part for part in taken if len(part.places)]
    X, y = stacked([part.X for part in filled]), np.concatenate([part.y for part in filled])
    weight = np.concatenate([part.weight for part in filled])
    counted = np.isin(np.arange(len(y)), counted_rows(y, weight))
    here = None
    if checked is not None:  # the verdicts, by places in the sample
        places = np.searchsorted(rows, checked.rows)
        here = Verdicts(places, checked.labels, chance=checked.chance, draw=checked.draw, drawn_from=checked.drawn_from)
    sample = Sample(
        sample_weights(y, counted, np.isin(rows, [] if checked is None else checked.rows), counts.classes),
        rng,
        None if here is None or checked is None else _guarantee(checked, y[here.rows], counts),
        any(part.has_missing for part in taken),
        int(counted.sum()) == counts.classes.total(),
    )
    X = X if features is None else features.learn(X)
    return fit(X, y, weight, checked=here, sample=sample)


def _guarantee(checked: Verdicts, given: NDArray[Any], counts: LabelCounts) -> Guarantee | None:
    """Return the bounds from checked rows. Only the number of labels and those of the checked rows matter."""
    if counts.lightest != counts.heaviest:  # the guarantee counts rows
        return None
    labels = np.full(counts.n_rows, None, dtype=object)
    labels[checked.rows] = given
    free = np.setdiff1d(np.arange(counts.n_rows), checked.rows)
    n_known = np.count_nonzero(~missing_labels(labels[np.unique(checked.rows)]))
    labels[free[: counts.classes.total() - n_known]] = next(iter(counts.classes))
    return guarantee_of(checked, labels)


def _check_classes(model: Any, counts: LabelCounts, size: int) -> None:
    if not counts.classes:
        raise ValueError(f"y has no label in any row; {type(model).__name__} needs labels of two classes or more")
    if len(counts.classes) * 10 > size:
        raise ValueError(
            f"y has {len(counts.classes)} different labels, too many for sample_size={size}; give sample_size="
            f"{10 * len(counts.classes)} or more, or, if the labels are numbers, cut them into groups first: "
            "numpy.digitize(y, numpy.quantile(y, [0.25, 0.5, 0.75]))"
        )


def fit_in_memory(
    model: Any,
    X: Any,
    y: Any,
    weight: Array | None,
    checked: Verdicts | None,
    progress: Tell,
    group: Index | None = None,
) -> None:
    """Fit to a sample of rows in memory, and score all rows; of a ``group``, all rows are learned from or none."""
    scoring = partial(score_rows, wide=True)
    blocks = slices(X, y, weight)
    results = fit_in_blocks(model, blocks, checked=checked, progress=progress, scoring=scoring, group=group).results
    model.label_probabilities_ = np.concatenate([part.probabilities for part in results])
    model.out_of_sample_probabilities_ = np.concatenate([part.out_of_sample for part in results])
    model.label_quality_ = np.concatenate([part.quality for part in results])
