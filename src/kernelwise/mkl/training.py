"""The preparation that all multiple-kernel classifiers share: from data to distinct samples to a bank of kernels."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ..checks import Array, Index
from ..kernels import FactorBank, IndexedGram, StackedGram, build_bank, gaussian_kernels, resolve_kernels
from ..kernels.precomputed import gram_stack
from ..kernels.specs import is_precomputed
from ..optim.threads import suitable_blas_threads
from ..samples import FeatureScaler, distinct_samples, n_rows, read_weights, refuse_collections, tidy


@dataclass(frozen=True)
class TrainingSet:
    """Distinct weighted samples and the bank over them."""

    bank: FactorBank
    classes: NDArray[Any]
    target: Index
    weight: Array
    index: Index
    n_given: int
    scaler: FeatureScaler | None

    @property
    def n_outputs(self) -> int:
        """One problem for two classes; for more classes, one problem of each class against the rest."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def signs(self, output: int) -> Array:
        """Return +1 for the class of this output and -1 for the rest."""
        positive = 1 if self.n_outputs == 1 else output
        return np.where(self.target == positive, 1.0, -1.0)


@contextmanager
def training_in_memory(
    estimator: Any, X: Any, y: Any, sample_weight: Any, random_state: np.random.RandomState
) -> Iterator[TrainingSet]:
    """Yield the training set, with a number of BLAS threads that suits the size of the training set."""
    with suitable_blas_threads(n_rows(X)):
        yield prepare_training(estimator, X, y, sample_weight, random_state)


def prepare_training(estimator: Any, X: Any, y: Any, sample_weight: Any, random_state: Any) -> TrainingSet:
    """Validate, scale, merge repeated samples, resolve the kernels and build the bank."""
    X, y = read_features(estimator, X, y)
    check_classification_targets(y)
    weight = read_weights(sample_weight, X)
    n_given, given = len(y), np.arange(len(y))
    if not is_precomputed(estimator.kernels):  # a precomputed row has a column for every given sample
        given = np.flatnonzero(weight > 0)
        X, y, weight = X[given], y[given], weight[given]
    classes, target = np.unique(y, return_inverse=True)
    weighty = np.unique(target[weight > 0])
    if len(weighty) < 2:
        raise ValueError(
            f"a classifier needs two classes or more among samples with a weight, got one class: {classes[weighty]}"
        )

    kernels, rescale = chosen_kernels(estimator, X)
    scaler = FeatureScaler.fit(X) if rescale else None
    X = X if scaler is None else scaler(X)
    if not is_precomputed(estimator.kernels):
        kept, weight, _ = distinct_samples(X, target, weight)
        X, target, given = X[kept], target[kept], given[kept]
    bank = build_bank(
        X,
        kernels,
        rank=estimator.rank,
        center=estimator.normalize_kernels,
        scale=estimator.normalize_kernels,
        attributes=False,
        random_state=random_state,
    )
    assert isinstance(bank, FactorBank)
    return TrainingSet(bank, classes, target, weight, given, n_given, scaler)


def read_features(estimator: Any, X: Any, y: Any = None) -> tuple[Any, Any]:
    """Validate features, or a Gram stack (n_samples, n_training_samples[, n_kernels]); with ``y``, for fitting."""
    fitting = y is not None
    refuse_collections(estimator, X=X, y=y)
    options = {"allow_nd": True} if is_precomputed(estimator.kernels) else {"accept_sparse": "csr"}
    checked = validate_data(estimator, X, y if fitting else "no_validation", reset=fitting, dtype=np.float64, **options)
    X, y = checked if fitting else (checked, None)
    if is_precomputed(estimator.kernels):
        return gram_stack(X, None if fitting else estimator.n_kernels_), y
    return tidy(X), y


def chosen_kernels(estimator: Any, X: Any) -> tuple[Any, bool]:
    """Return the kernels with column positions, and whether the features are to be scaled first."""
    if is_precomputed(estimator.kernels):
        return [StackedGram(position=j) for j in range(X.shape[2])], False
    chosen = gaussian_kernels() if estimator.kernels is None else estimator.kernels
    names = getattr(estimator, "feature_names_in_", None)
    resolved = resolve_kernels(chosen, X.shape[1], names)
    return resolved, bool(estimator.scale_features) and not any(isinstance(k, IndexedGram) for k in resolved)
