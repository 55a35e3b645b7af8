"""Labels on a Dask cluster: the functions of :mod:`.large` as tasks on the blocks of Dask arrays and frames.

Blocks of X are read twice, when their rows are needed, and are not kept: X may be larger than the memory of all workers
together. What stays on the workers is small: the model, and the quality and the suggested class of every row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dask_rows.collections import check_chunks, working_engine
from ..dask_rows.engine import Engine
from ..dask_rows.lazy import array_of, call, opaque, parts_of
from ..dask_rows.prediction import shared_value
from ..progress import Tell, silent
from ..review.audit import LabelAudit, count_worth_checking, most_probable_other
from ..samples import is_dask
from ..statements.verdicts import Verdicts
from .describe import figures_of
from .given import read_labels
from .large import Fitted, Known, RowScorer, Scored, fit_in_blocks, score_rows
from .sample import LabelCounts, join_counted, respelled
from .spellings import warn_of_spellings

Array = NDArray[np.float64]

#: Results are waited for in so many parts, and progress is updated after each.
STEPS = 50


@dataclass
class Partitions:
    """Blocks whose parts are delayed values of Dask: see :class:`kernelwise.labels.sample.Chunks`."""

    engine: Engine
    X: Sequence[Any]
    y: Sequence[Any]
    weight: Sequence[Any]
    features: Any = None
    counted: list[LabelCounts] | None = None

    def map(
        self, function: Callable[..., Any], arguments: Sequence[Any], progress: Tell = silent, **shared: Any
    ) -> list[Any]:
        futures = self.engine.start(self.delayed(function, arguments, **shared))
        if progress is not silent:
            for some in np.array_split(np.arange(len(futures)), min(STEPS, len(futures))):
                self.engine.fetch(self.engine.map(_nothing, [[futures[k] for k in some]]))
                progress(int(some[-1]) + 1, len(futures))
        return futures

    def delayed(self, function: Callable[..., Any], arguments: Sequence[Any], **shared: Any) -> list[Any]:
        """Return the calls for all blocks, not started yet."""
        kept = {name: shared_value(value, self.engine) for name, value in shared.items()}
        parts = zip(self.X, self.y, self.weight, arguments, strict=True)
        return [call(function, X, y, weight, *map(opaque, others), **kept) for X, y, weight, others in parts]

    def count(self) -> list[LabelCounts]:
        if self.counted is None:
            calls = [call(LabelCounts.of, y, weight) for y, weight in zip(self.y, self.weight, strict=True)]
            self.counted = self.engine.fetch(self.engine.start(calls))
        return self.counted

    def respell(self, replaced: Mapping[str, str | None]) -> None:
        self.y = [call(respelled, part, opaque(replaced)) for part in self.y]

    def gather(self, futures: list[Any]) -> list[Any]:
        return self.engine.fetch(futures)

    def total(self, part: Callable[[Any], Any], merge: Callable[[Sequence[Any]], Any], futures: list[Any]) -> Any:
        return self.engine.total(part, [futures], merge)


def _nothing(result: Any) -> None:
    """Wait for a result, which stays where it is."""


def fit_on_cluster(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    checked: Verdicts | None = None,
    progress: Tell = silent,
) -> Any:
    """Fit a :class:`NoisyLabelClassifier` to Dask collections; its attributes with a row for every row become lazy."""
    with working_engine() as engine:
        blocks = _partitions(engine, X, y, sample_weight)
        fitted = fit_in_blocks(model, blocks, checked=checked, progress=progress)
        _set_arrays(model, blocks, fitted)
    return model


def _set_arrays(model: Any, blocks: Partitions, fitted: Fitted) -> None:
    """Set the attributes that have a row for every row: qualities stay on the workers, probabilities are lazy."""
    engine, lengths, n_classes = blocks.engine, fitted.lengths, len(model.classes_)
    model.label_quality_ = array_of(engine.map(attrgetter("quality"), [fitted.results]), lengths, (), float)
    calls = blocks.delayed(_probabilities, fitted.arguments, scorer=fitted.scorer)
    pairs = [array_of([one[k] for one in calls], lengths, (n_classes,), float) for k in range(2)]
    model.label_probabilities_, model.out_of_sample_probabilities_ = pairs


def audit_on_cluster(
    model: Any,
    X: Any,
    y: Any,
    *,
    checked: Verdicts | None = None,
    progress: Tell = silent,
) -> "LabelAuditInBlocks":
    """Audit labels in Dask collections with a :class:`NoisyLabelClassifier` that is not fitted yet."""
    with working_engine() as engine:
        blocks = _partitions(engine, X, y, None)
        warn_of_spellings(join_counted(blocks), stacklevel=4)
        fitted = fit_in_blocks(model, blocks, checked=checked, progress=progress)
        _set_arrays(model, blocks, fitted)
        lengths, classes = fitted.lengths, model.classes_
        labels = array_of([call(_plain_labels, part) for part in blocks.y], lengths, (), object)
        named = engine.map(_suggested, [fitted.results], classes=classes)
        suggested = array_of(named, lengths, (), classes.dtype)
    return LabelAuditInBlocks(
        labels=labels,
        quality=model.label_quality_,
        suggested=suggested,
        probabilities=model.label_probabilities_,
        **figures_of(model),
        checked=checked,
        worst_rows=fitted.summary.rows,
        worst_quality=fitted.summary.quality,
        n_labelled=fitted.summary.n_labelled,
        n_doubtful=fitted.summary.n_doubtful,
    )


def _partitions(engine: Engine, X: Any, y: Any, weight: Any) -> Partitions:
    """Return delayed blocks of X, and of labels and weights that are cut in the same way."""
    if hasattr(X, "chunks"):
        if X.ndim != 2:
            raise ValueError(f"X must have rows and columns, got a Dask array of shape {X.shape}")
        X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
        check_chunks(engine, X, "X")
    others = {name: value for name, value in (("y", y), ("sample_weight", weight)) if value is not None}
    cut = {name: _cut_like(X, name, value) for name, value in others.items()}
    parts = parts_of(X)
    return Partitions(engine, parts, cut["y"], cut.get("sample_weight", [None] * len(parts)))


def _cut_like(X: Any, name: str, value: Any) -> list[Any]:
    """Return labels or weights in the blocks of X."""
    if getattr(value, "ndim", 1) == 2:
        value = value[value.columns[0]] if hasattr(value, "columns") and len(value.columns) == 1 else value.reshape(-1)
    n_rows = X.shape[0] if hasattr(X, "chunks") else np.nan
    if not is_dask(value):
        value = np.asarray(read_labels(value) if name == "y" else value)
        lengths = X.chunks[0] if hasattr(X, "chunks") and not np.isnan(n_rows) else X.map_partitions(len).compute()
        _check_length(name, len(value), int(np.sum(lengths)))
        return [opaque(part) for part in np.split(value, np.cumsum(lengths)[:-1])]
    if hasattr(value, "chunks") and not np.isnan(value.shape[0]) and not np.isnan(n_rows):
        _check_length(name, value.shape[0], int(n_rows))
        value = value.rechunk({0: X.chunks[0]})
    parts = parts_of(value)
    if len(parts) != len(parts_of(X)):
        raise ValueError(
            f"{name} has {len(parts)} partitions, and X has {len(parts_of(X))}; make both from one frame, or give both "
            "as Dask arrays of known length: to_dask_array(lengths=True)"
        )
    return parts


def _check_length(name: str, n_values: int, n_rows: int) -> None:
    if n_values != n_rows:
        raise ValueError(f"{name} has {n_values} values, and X has {n_rows} rows; one value for each row is needed")


def _suggested(scored: Scored, *, classes: NDArray[Any]) -> NDArray[Any]:
    return classes[scored.suggested]


def _plain_labels(y: Any) -> NDArray[Any]:
    return np.asarray(read_labels(y)).astype(object)


def _probabilities(X: Any, y: Any, weight: Any, start: int, known: Known, *, scorer: RowScorer) -> Any:
    scored = score_rows(X, y, weight, start, known, scorer=scorer, wide=True)
    return scored.probabilities, scored.out_of_sample


@dataclass(frozen=True, eq=False, repr=False)
class LabelAuditInBlocks(LabelAudit):
    """How wrong labels are, and which of them, for labels in Dask collections.

    ``labels``, ``quality``, ``suggested`` and ``probabilities`` are Dask arrays, of which the workers hold the
    qualities; the others are computed when they are asked for. All other fields are those of :class:`LabelAudit`.

    Parameters
    ----------
    worst_rows, worst_quality : arrays of shape (n_listed,)
        The most suspect rows, the most suspect first, 10,000 at most, and their qualities.
    n_labelled, n_doubtful : int
        The number of rows with a label, and of those that are more likely wrong than right.
    """

    worst_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    worst_quality: Array = field(default_factory=lambda: np.zeros(0))
    n_labelled: int = 0
    n_doubtful: int = 0

    def __post_init__(self) -> None:
        """The blocks are as their maker says: nothing is read."""

    @property
    def order(self) -> NDArray[np.int64]:
        """Positions of the most suspect rows, the most suspect first: 10,000 at most."""
        return self.worst_rows

    def worth_checking(self, chance: float = 0.5, *, precision: float | None = None) -> int:
        """How many labels to check: see :meth:`LabelAudit.worth_checking`.

        A precision is answered from the rows in :attr:`order`; if it would hold for all of them, it is refused.
        """
        checked = np.isin(self.worst_rows, [] if self.checked is None else list(self.checked.found()))
        others = self.worst_quality[~checked]
        # Rows that were checked and found wrong are the most suspect of all, so they are among the listed rows.
        if precision is None and chance == 0.5:
            return self.n_doubtful - int(np.count_nonzero(self.worst_quality[checked] < 0.5))
        count = count_worth_checking(others, chance, precision=precision)
        if count < len(others) or len(self.worst_rows) == self.n_labelled:
            return count
        if precision is not None:
            raise ValueError(
                f"precision={precision} holds for more than the {len(self.worst_quality)} most suspect rows, which are "
                "all that this process knows of; give a larger precision, or a chance"
            )
        doubtful = int(((1.0 - self.quality) > chance).sum().compute())
        return doubtful - int(np.count_nonzero(1.0 - self.worst_quality[checked] > chance))

    @property
    def alternative(self) -> Any:
        """The most probable other class of every row, as a Dask array."""
        import dask.array as da

        lazily: Any = da.blockwise
        parts = (self.labels, "i", self.probabilities, "ij", self.classes, None)
        return lazily(most_probable_other, "i", *parts, dtype=self.classes.dtype, concatenate=True)

    def to_frame(self) -> Any:
        """A Dask DataFrame of label, quality and suggested label, one row per sample in the given order."""
        import dask.dataframe as dd

        columns = {"label": self.labels, "quality": self.quality, "suggested": self.suggested}
        frames = [dd.from_dask_array(array, columns=name) for name, array in columns.items()]
        return dd.concat([frame.to_frame() for frame in frames], axis=1)

    def compute(self) -> LabelAudit:
        """The same audit with all arrays in the memory of this process, for plans of checks and for the review page."""
        import dask

        lazy: Any = dask.compute
        labels, quality, suggested, chances = lazy(self.labels, self.quality, self.suggested, self.probabilities)
        names = ("classes", "noise_rate", "noise_interval", "transition", "diagnostic", "checked")
        kept = {name: getattr(self, name) for name in names}
        return LabelAudit(labels=labels, quality=quality, suggested=suggested, probabilities=chances, **kept)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        low, high = self.noise_interval
        rate, n = f"{self.noise_rate:.3g} [{low:.3g}, {high:.3g}]", self.quality.shape[0]
        return f"LabelAuditInBlocks(n_samples={n}, noise_rate={rate}, worth_checking={self.n_doubtful})"
