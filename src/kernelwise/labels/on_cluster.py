"""Labels on a Dask cluster: the functions of :mod:`.large` as tasks on the blocks of Dask arrays and frames.

Blocks of X are read twice, when their rows are needed, and are not kept: X may be larger than the memory of all workers
together. What stays on the workers is small: the model, and the quality and the suggested class of every row.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cluster.collections import CHUNK_SHARE, working_engine
from ..cluster.engine import Engine
from ..cluster.prediction import shared_value
from ..rows import is_dask
from ..supervision.audit_in_blocks import LabelAuditInBlocks
from ..supervision.verdicts import Verdicts
from .blocks import Features, Judge, Judged, Known, count_labels, judge_rows, respelled
from .given import read_labels
from .large import Fitted, fit_in_blocks, join_counted
from .sample import LabelCounts

Array = NDArray[np.float64]

#: Results are waited for in so many parts, and each part moves the display of the progress.
STEPS = 50


@dataclass
class Partitions:
    """Blocks whose parts are delayed values of Dask: see :class:`kernelwise.labels.large.Blocks`."""

    engine: Engine
    X: Sequence[Any]
    y: Sequence[Any]
    weight: Sequence[Any]
    features: Features | None = None
    counted: list[LabelCounts] | None = None
    done: Callable[[int], None] = lambda rows: None

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]] | None, **shared: Any) -> Any:
        return self.engine.start(self.delayed(function, arguments, **shared))

    def delayed(self, function: Callable[..., Any], arguments: Any, **shared: Any) -> list[Any]:
        """Return the calls for all blocks, not started yet."""
        import dask

        call = dask.delayed(function, pure=False)
        kept = {name: shared_value(value, self.engine) for name, value in shared.items()}
        rest = arguments or [()] * len(self.X)
        parts = zip(self.X, self.y, self.weight, rest, strict=True)
        return [call(X, y, weight, *map(_opaque, others), **kept) for X, y, weight, others in parts]

    def count(self) -> list[LabelCounts]:
        if self.counted is None:
            calls = [_call(count_labels, None, y, weight) for y, weight in zip(self.y, self.weight, strict=True)]
            self.counted = self.engine.fetch(self.engine.start(calls))
        return self.counted

    def respell(self, replaced: Mapping[str, str | None]) -> None:
        """Take some labels for others, or for none, from now on."""
        self.y = [_call(respelled, part, _opaque(replaced)) for part in self.y]

    def gather(self, function: Callable[[Any], Any], handles: Any) -> list[Any]:
        return self.engine.fetch(self.engine.map(function, [handles]))

    def total(self, function: Callable[[Any], Any], merge: Callable[[Sequence[Any]], Any], handles: Any) -> Any:
        lengths = [part.n_rows for part in self.count()]
        for part in np.array_split(np.arange(len(handles)), min(STEPS, len(handles))):
            self.engine.fetch(self.engine.map(_nothing, [[handles[k] for k in part]]))
            self.done(sum(lengths[k] for k in part))
        return self.engine.total(function, [handles], merge)


def _opaque(value: Any) -> Any:
    """Return a value that Dask does not search for other delayed values."""
    import dask

    return dask.delayed(value, traverse=False, pure=False)


def _nothing(result: Any) -> None:
    """Wait for a result, which stays where it is."""


def fit_on_cluster(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    checked: Verdicts | None = None,
    progress: Callable[[int, int], None] | None = None,
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
    model.label_quality_ = _array(engine.map(_quality, [fitted.handles]), lengths, (), float)
    calls = blocks.delayed(_probabilities, fitted.arguments, judge=fitted.judge)
    pairs = [_array([call[k] for call in calls], lengths, (n_classes,), float) for k in range(2)]
    model.label_probabilities_, model.out_of_sample_probabilities_ = pairs


def audit_on_cluster(
    model: Any,
    X: Any,
    y: Any,
    *,
    checked: Verdicts | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> LabelAuditInBlocks:
    """Audit labels in Dask collections with a :class:`NoisyLabelClassifier` that is not fitted yet."""
    with working_engine() as engine:
        blocks = _partitions(engine, X, y, None)
        if replaced := join_counted(blocks):
            said = ", ".join(f"{label!r} as {other!r}" for label, other in replaced.items())
            warnings.warn(
                f"labels that differ in capitals or blanks alone are taken as one class: {said}", stacklevel=3
            )
        fitted = fit_in_blocks(model, blocks, checked=checked, progress=progress)
        _set_arrays(model, blocks, fitted)
        lengths, classes = fitted.lengths, model.classes_
        labels = _array([_call(_plain_labels, part) for part in blocks.y], lengths, (), object)
        names = _opaque(classes)
        chosen = engine.map(_suggested, [fitted.handles])
        suggested = _array([_call(_named, part, names) for part in chosen], lengths, (), classes.dtype)
    return LabelAuditInBlocks(
        labels=labels,
        quality=model.label_quality_,
        suggested=suggested,
        probabilities=model.label_probabilities_,
        classes=classes,
        noise_rate=model.noise_rate_,
        noise_interval=model.noise_interval_,
        transition=model.transition_,
        diagnostic=model.diagnostic_,
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
        _check_chunks(engine, X)
    others = {name: value for name, value in (("y", y), ("sample_weight", weight)) if value is not None}
    cut = {name: _cut_like(X, name, value) for name, value in others.items()}
    parts = _delayed(X)
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
        return [_opaque(part) for part in np.split(value, np.cumsum(lengths)[:-1])]
    if hasattr(value, "chunks") and not np.isnan(value.shape[0]) and not np.isnan(n_rows):
        _check_length(name, value.shape[0], int(n_rows))
        value = value.rechunk({0: X.chunks[0]})
    parts = _delayed(value)
    if len(parts) != len(_delayed(X)):
        raise ValueError(
            f"{name} has {len(parts)} partitions, and X has {len(_delayed(X))}; make both from one frame, or give both "
            "as Dask arrays of known length: to_dask_array(lengths=True)"
        )
    return parts


def _check_length(name: str, n_values: int, n_rows: int) -> None:
    if n_values != n_rows:
        raise ValueError(f"{name} has {n_values} values, and X has {n_rows} rows; one value for each row is needed")


def _check_chunks(engine: Engine, X: Any) -> None:
    """Refuse chunks that are too large for a worker, before anything is read."""
    limit, rows = min(engine.memory_limits, default=0), max(X.chunks[0])
    nbytes = rows * X.shape[1] * X.dtype.itemsize
    if limit and isinstance(X._meta, np.ndarray) and nbytes > CHUNK_SHARE * limit:
        raise ValueError(
            f"a chunk of X has {rows} rows, {nbytes / 1e9:.3g} GB, too much for a worker with {limit / 1e9:.3g} GB; "
            f"use X.rechunk({{0: {max(1, int(rows * CHUNK_SHARE * limit / nbytes / 4))}}}) where it is made, or larger "
            "workers"
        )


def _delayed(collection: Any) -> list[Any]:
    return list(np.ravel(np.asarray(collection.to_delayed(), dtype=object)).tolist())


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    import dask

    return dask.delayed(function, pure=False)(*arguments)


def _array(parts: Sequence[Any], lengths: Sequence[int], columns: tuple[int, ...], dtype: Any) -> Any:
    """Return delayed values, futures or blocks in memory as one Dask array."""
    import dask.array as da

    values = [part if hasattr(part, "key") else _opaque(part) for part in parts]
    blocks = [
        da.from_delayed(value, shape=(length, *columns), dtype=dtype)
        for value, length in zip(values, lengths, strict=True)
    ]
    return da.concatenate(blocks, axis=0)


def _quality(judged: Judged) -> Array:
    return judged.quality


def _suggested(judged: Judged) -> NDArray[np.intp]:
    return judged.suggested


def _named(chosen: NDArray[np.intp], classes: NDArray[Any]) -> NDArray[Any]:
    return classes[chosen]


def _plain_labels(y: Any) -> NDArray[Any]:
    return np.asarray(read_labels(y)).astype(object)


def _probabilities(X: Any, y: Any, weight: Any, start: int, known: Known, *, judge: Judge) -> tuple[Array, Array]:
    judged = judge_rows(X, y, weight, start, known, judge=judge, wide=True)
    assert judged.probabilities is not None
    assert judged.blind is not None
    return judged.probabilities, judged.blind
