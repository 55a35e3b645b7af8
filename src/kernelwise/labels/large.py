"""More rows than are learned from: count the labels, draw a sample, learn from it, and judge every row.

Every step is a function of one block of rows (:mod:`.blocks`), so that rows in memory, in files and on a cluster are
treated by the same code. Rows are read twice, once to take the sample and once to be judged; labels are
read once more, to be counted.

The rows of the sample keep the scores that were found with each of them left out. All other rows are judged by models
that did not see their labels, which is the same thing: out of sample. So all figures come from one posterior.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..supervision.guarantee import Guarantee
from ..supervision.verdicts import Verdicts
from .amounts import warn_of_numbers
from .blocks import Blocks, Features, Judge, Judged, Known, Summary, Taken, judge_rows, slices, stacked, take_rows
from .given import missing_words, replaced_spellings
from .sample import (
    Index,
    LabelCounts,
    Sample,
    check_sample_size,
    counted_rows,
    draw_positions,
    in_blocks,
    rows_stood_for,
)
from .verdict import conditional, guarantee_of

Array = NDArray[np.float64]
Progress = Callable[[int, int], None]

#: To learn from a row takes about as long as to judge this many.
LEARNING = 4.0


@dataclass(frozen=True)
class Fitted:
    """What :func:`fit_in_blocks` leaves: the judge, what is known of each block, the handles, and all sums."""

    judge: Judge
    arguments: list[tuple[int, Known]]
    lengths: list[int]
    handles: Any
    summary: Summary


def fit_in_blocks(
    model: Any,
    blocks: Blocks,
    *,
    checked: Verdicts | None = None,
    progress: Progress | None = None,
    judging: Callable[..., Any] = judge_rows,
    **options: Any,
) -> Fitted:
    """Learn from a sample of all blocks, judge every row, and set the attributes of the model that are sums over rows.

    ``judging`` is :func:`judge_rows`, or a function that calls it and does more with a block; it gets ``options``.
    """
    size, rng = check_sample_size(model.sample_size), check_random_state(model.random_state)
    parts = blocks.count()
    counts = LabelCounts.total(parts)
    _check_classes(model, counts, size)
    warn_of_numbers(counts.classes, stacklevel=4)
    starts = np.cumsum([0, *(part.n_rows for part in parts)])
    if checked is not None:
        checked.check_rows(counts.n_rows)
    known = np.unique([] if checked is None else checked.rows).astype(np.intp)
    cut = [known[(known >= low) & (known < high)] - low for low, high in pairwise(starts.tolist())]
    drawn = in_blocks(draw_positions(counts.classes, size, rng), parts)
    taken: list[Taken] = blocks.gather(_itself, blocks.map(take_rows, list(zip(drawn, cut, strict=True))))
    rows = np.concatenate([start + part.places for start, part in zip(starts[:-1], taken, strict=True)])
    tell = _Progress(progress, len(rows), counts.n_rows)
    learned = _learn(model, blocks.features, taken, rows, counts, checked, rng, tell)
    judge = Judge.of(model, blocks.features)
    ends = np.cumsum([0, *(len(part.places) for part in taken)])
    found, blind = model.label_probabilities_, model.out_of_sample_probabilities_
    arguments = [
        (int(start), Known(part.places, found[low:high], blind[low:high]))
        for start, part, low, high in zip(starts[:-1], taken, ends[:-1], ends[1:], strict=True)
    ]
    if hasattr(blocks, "done"):
        blocks.done = tell.judged
    handles = blocks.map(judging, arguments, judge=judge, **options)
    if not isinstance(handles, list):
        handles = list(handles)
    summary: Summary = blocks.total(_summary, Summary.total, handles)
    model.noise_rate_ = summary.wrong / summary.weight
    model.transition_ = conditional(summary.joint)
    model._conclude(learned)
    return Fitted(judge, arguments, [part.n_rows for part in parts], handles, summary)


def _learn(
    model: Any,
    features: Features | None,
    taken: Sequence[Taken],
    rows: Index,
    counts: LabelCounts,
    checked: Verdicts | None,
    rng: np.random.RandomState,
    tell: "_Progress",
) -> Any:
    """Let the model learn from the rows of the sample, which stand for all rows."""
    filled = [part for part in taken if len(part.places)]
    X, y = stacked([part.X for part in filled]), np.concatenate([part.y for part in filled])
    weight = np.concatenate([part.weight for part in filled])
    counted = np.isin(np.arange(len(y)), counted_rows(y, weight))
    of_people = np.isin(rows, [] if checked is None else checked.rows)
    here = None if checked is None else _moved(checked, rows)
    return model._learn(
        X if features is None else features.learn(X),
        y,
        weight,
        checked=here,
        progress=tell.learned,
        sample=Sample(
            rows_stood_for(y, counted, of_people, counts.classes),
            rng,
            _guarantee(checked, here, y, counts),
            any(part.has_missing for part in taken),
            int(counted.sum()) == counts.classes.total(),
        ),
    )


def _moved(checked: Verdicts, rows: Index) -> Verdicts:
    """Return the verdicts on rows of the sample, by their places in the sample."""
    places = np.searchsorted(rows, checked.rows)
    return Verdicts(places, checked.labels, chance=checked.chance, draw=checked.draw, drawn_from=checked.drawn_from)


def _guarantee(
    checked: Verdicts | None, here: Verdicts | None, y: NDArray[Any], counts: LabelCounts
) -> Guarantee | None:
    """Return the bounds from checked rows. Only the number of labels and those of the checked rows matter."""
    if checked is None or here is None or not counts.equal_weights:
        return None
    labels = np.full(counts.n_rows, None, dtype=object)
    labels[checked.rows] = y[here.rows]
    free = np.setdiff1d(np.arange(counts.n_rows), checked.rows)
    n_known = np.count_nonzero([label is not None and label == label for label in labels[np.unique(checked.rows)]])
    labels[free[: counts.classes.total() - n_known]] = next(iter(counts.classes))
    return guarantee_of(checked, labels)


def join_counted(blocks: Any) -> dict[str, str]:
    """Join the spellings of each class in the counts of all blocks, and return the spellings that were replaced."""
    counts = LabelCounts.total(blocks.count()).classes
    replaced = replaced_spellings({label: count for label, count in counts.items() if isinstance(label, str)})
    if replaced:
        _respell(blocks, replaced)
    return replaced


def drop_missing_words(blocks: Any) -> dict[str, int]:
    """Take words such as NA for missing labels where they are none, and return what stands in rows without a label."""
    total = LabelCounts.total(blocks.count())
    words = {label: count for label, count in total.classes.items() if isinstance(label, str)}
    n_empty = total.n_rows - sum(total.classes.values())
    dropped = {word: words[word] for word in missing_words(words, n_empty)}
    if dropped:
        _respell(blocks, dict.fromkeys(dropped))
    return dropped | ({"": n_empty} if n_empty else {})


def _respell(blocks: Any, replaced: Mapping[str, str | None]) -> None:
    blocks.counted = [part.respelled(replaced) for part in blocks.count()]
    blocks.respell(replaced)


def _check_classes(model: Any, counts: LabelCounts, size: int) -> None:
    if not counts.classes:
        raise ValueError(f"y has no label in any row; {type(model).__name__} needs labels of two classes or more")
    if len(counts.classes) * 10 > size:
        raise ValueError(
            f"y has {len(counts.classes)} different labels, too many for sample_size={size}; give sample_size="
            f"{10 * len(counts.classes)} or more, or, if the labels are numbers, cut them into groups first: "
            "numpy.digitize(y, numpy.quantile(y, [0.25, 0.5, 0.75]))"
        )


class _Progress:
    """Tells how much is done: learning first, then judging."""

    def __init__(self, progress: Progress | None, n_learned: int, n_rows: int):
        self.progress, self.n_rows, self.n_judged = progress, n_rows, 0
        self.part = LEARNING * n_learned / (LEARNING * n_learned + n_rows)

    def learned(self, done: int, total: int) -> None:
        self._tell(self.part * done / total)

    def judged(self, rows: int) -> None:
        self.n_judged += rows
        self._tell(self.part + (1 - self.part) * self.n_judged / self.n_rows)

    def _tell(self, share: float) -> None:
        if self.progress is not None:
            self.progress(round(1000 * min(share, 1.0)), 1000)


def _itself(result: Any) -> Any:
    return result


def _summary(judged: Judged) -> Summary:
    return judged.summary


def keep_in_memory(model: Any, fitted: Fitted) -> None:
    """Set the attributes of the model that have a row for every row, for blocks in memory."""
    model.label_probabilities_ = np.concatenate([part.probabilities for part in fitted.handles])
    model.out_of_sample_probabilities_ = np.concatenate([part.blind for part in fitted.handles])
    model.label_quality_ = np.concatenate([part.quality for part in fitted.handles])


def fit_in_memory(
    model: Any, X: Any, y: Any, weight: Array | None, checked: Verdicts | None, progress: Progress | None
) -> None:
    """Fit to a sample of rows in memory, and judge all rows."""
    judging = partial(judge_rows, wide=True)
    keep_in_memory(
        model, fit_in_blocks(model, slices(X, y, weight), checked=checked, progress=progress, judging=judging)
    )
