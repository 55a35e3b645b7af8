"""The training set of a multiple-kernel classifier where the samples are a Dask collection."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from ..checks import Array
from ..dask_rows.bank import BlockBank, cut_to_fit
from ..dask_rows.collections import checked_samples, read_rows, remember_features, sample_rows, stacked, working_engine
from ..dask_rows.engine import Engine
from ..dask_rows.landmarks import choose_block_maps
from ..samples import FeatureScaler, distinct_samples, select_rows
from .training import TrainingSet, chosen_kernels, is_precomputed

#: The number of rows among which landmarks are chosen.
LANDMARK_ROWS = 20_000
#: The number of rows from which a noise rate is estimated.
NOISE_ROWS = 20_000


@contextmanager
def training_on_cluster(
    estimator: Any, X: Any, y: Any, sample_weight: Any, random_state: np.random.RandomState
) -> Iterator[TrainingSet]:
    """Yield the training set; the work on the cluster stops where the fit is interrupted."""
    with working_engine() as engine:
        yield _prepare(engine, estimator, X, y, sample_weight, random_state)


def _prepare(
    engine: Engine, estimator: Any, X: Any, y: Any, sample_weight: Any, random_state: np.random.RandomState
) -> TrainingSet:
    """Validate and scale the samples, choose landmarks, and build the bank; repeated samples are not merged."""
    if is_precomputed(estimator.kernels):
        raise ValueError('kernels="precomputed" has a column per sample and is for data in memory; give kernels')
    samples, labels, given = read_rows(engine, X=X, y=y, sample_weight=sample_weight)
    if labels is None:
        raise ValueError("y is missing: a classifier needs a label for every row of X")
    samples = samples.map_rows(checked_samples).persist()
    ones: Any = np.ones_like(labels, dtype=np.float64)
    weight = (ones if given is None else given.map_rows(_checked_weights)).persist()
    weighty = select_rows(weight > 0)
    samples, labels, weight = (weighty.take(array).persist() for array in (samples, labels, weight))
    classes = engine.total(_classes, [labels.handles], lambda parts: np.unique(np.concatenate(parts)))
    check_classification_targets(classes)
    if len(classes) < 2:
        raise ValueError(
            f"a classifier needs two classes or more among samples with a weight, got one class: {classes}"
        )
    target = labels.map_rows(lambda block: np.searchsorted(classes, block)).persist()

    rows = sample_rows([samples, target, weight], LANDMARK_ROWS, random_state)
    remember_features(estimator, rows[0], list(X.columns) if hasattr(X, "columns") else None)
    kernels, rescale = chosen_kernels(estimator, rows[0])
    scaler = (
        FeatureScaler.fit(engine.total(_extremes, [samples.handles], lambda parts: _extremes(stacked(parts))))
        if rescale
        else None
    )
    if scaler is not None:
        samples, rows[0] = samples.map_rows(lambda block: scaler(block)).persist(), scaler(rows[0])
    sample = rows[0][distinct_samples(*rows).first]
    maps, residuals = choose_block_maps(
        samples,
        sample,
        kernels,
        rank=estimator.rank,
        center=estimator.normalize_kernels,
        scale=estimator.normalize_kernels,
        random_state=random_state,
    )
    samples, target, weight = cut_to_fit([samples, target, weight], [one.rank for one in maps])
    bank = BlockBank(samples, maps, residuals)
    # Block arrays have all operations that solvers use of arrays, and only a fit in memory asks for positions.
    return TrainingSet(bank, classes, target, weight, None, len(samples), scaler)  # type: ignore[arg-type]


def some_rows(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return a sample of the rows and the labels of these rows, in memory."""
    with working_engine() as engine:
        samples, labels = read_rows(engine, X=X, y=y)
        rows = sample_rows([samples, labels], NOISE_ROWS, np.random.RandomState(0))
    return rows[0].astype(np.float64), rows[1]


def _checked_weights(block: Any) -> Array:
    weight = np.asarray(block, dtype=np.float64)
    if weight.ndim != 1 or not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError(
            "sample_weight must be one finite number per sample, none of them negative; use 0 to leave a sample out"
        )
    return weight


def _classes(labels: NDArray[Any]) -> NDArray[Any]:
    if labels.ndim != 1:
        raise ValueError(f"y must have one label per sample, got a block of shape {labels.shape}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y contains NaN or infinity; remove those samples")
    return np.unique(labels)


def _extremes(block: Any) -> Any:
    """Return two rows with the same ranges as the block, or one row for a sparse block."""
    if sp.issparse(block):
        return sp.csr_array(abs(block).max(axis=0).reshape(1, -1))
    return np.stack([block.min(axis=0), block.max(axis=0)])
