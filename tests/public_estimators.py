"""The one table of public estimators: for each a small model, and what it is to be fitted on."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

import kernelwise
from kernelwise import (
    ITML,
    MMC,
    BestCaseMKLClassifier,
    ConstrainedSpectralClustering,
    LinkedClustering,
    LinkSmoother,
    MPCKMeans,
    NoisyLabelClassifier,
    NoisyPairClustering,
    NonparametricKernelLearner,
    PairCompleter,
    PairCompletionClustering,
    PairKernelClustering,
    PairKernelLearner,
    Pairs,
    RobustMKLClassifier,
    RobustMKLClassifierCV,
    SimpleMKLClassifier,
    SimpleMKLClassifierCV,
    SpectralKernelLearner,
    TransitiveClosure,
    UniformKernel,
)
from kernelwise.kernels import Gaussian, gaussian_kernels

N_SAMPLES = 24


def make_features():
    """Small whole numbers, which every type of number holds exactly; all rows differ, and every column has a zero."""
    rng = np.random.default_rng(0)
    X = np.stack([rng.permutation(np.arange(N_SAMPLES) % 8) for _ in range(3)], axis=1)
    X[:, 0] = np.arange(N_SAMPLES) % 8
    X[:, 1] = (X[:, 1] > 3) * X[:, 1]
    return X.astype(np.float64)


def make_labels():
    """Two classes that the first feature tells apart, but for a few labels."""
    y = (make_features()[:, 0] > 3).astype(int)
    y[[2, 13, 20]] = 1 - y[[2, 13, 20]]
    return y


def make_similarity():
    """Symmetric whole numbers: how many features nearly agree, and a little more where classes do."""
    X, y = make_features(), make_labels()
    near = (np.abs(X[:, None] - X[None]) <= 2).sum(axis=2)
    return near + 2.0 * (y[:, None] == y) + 4.0 * np.eye(len(X))


def make_pairs(y):
    """All pairs of labels, twice as heavy where the labels agree; of one label there is none."""
    if len(y) < 2:
        return Pairs([], [], [], n_samples=len(y))
    drawn = Pairs.from_labels(y)
    return Pairs(drawn.rows, drawn.cols, drawn.labels, n_samples=len(y), weights=1.5 + 0.5 * drawn.labels)


@dataclass(frozen=True)
class Case:
    """An estimator with settings that make it quick, and what its ``fit`` needs.

    ``sparse_as_dense``: whether a sparse matrix is to give the same model as a dense one; ``tol``: how far outputs may
    differ where only the rounding does, relative to the largest.
    """

    estimator: BaseEstimator
    learns_from: str = "pairs"
    takes: str = "features"
    sparse_as_dense: bool = True
    tol: float = 1e-7

    @property
    def name(self) -> str:
        return type(self.estimator).__name__ + (", similarity" if self.takes == "similarity" else "")

    def data(self) -> np.ndarray:
        return make_features() if self.takes == "features" else make_similarity()

    def fit(self, X: Any, y: Any = None, **changed: Any) -> Any:
        """Fit a copy, with some parameters changed, to X and to the labels, or to pairs of them."""
        model = clone(self.estimator).set_params(**changed)
        y = make_labels() if y is None else np.asarray(y)
        return model.fit(X, y) if self.learns_from == "labels" else model.fit(X, pairs=make_pairs(y))


FEW = gaussian_kernels([0.25, 1.0], scope="all+each")
TWO = gaussian_kernels([0.25, 1.0], scope="all")
WIDE = Gaussian(width=4.0)

CASES = [
    Case(NoisyLabelClassifier(random_state=0), "labels", sparse_as_dense=False),
    Case(SimpleMKLClassifier(FEW, random_state=0), "labels"),
    Case(RobustMKLClassifier(FEW, noise_rate=0.1, probability=False, random_state=0), "labels"),
    Case(BestCaseMKLClassifier(TWO, n_starts=1, probability=False, random_state=0), "labels"),
    Case(SimpleMKLClassifierCV(FEW, alphas=[0.1, 0.01], n_folds=2, random_state=0), "labels"),
    Case(RobustMKLClassifierCV(FEW, alphas=[0.01], budgets=[1.0, 0.8], n_folds=2, random_state=0), "labels"),
    Case(PairKernelLearner(FEW, random_state=0)),
    Case(UniformKernel(FEW, random_state=0)),
    Case(SpectralKernelLearner(WIDE, n_components=3, random_state=0)),
    Case(NonparametricKernelLearner(n_neighbors=3, random_state=0)),
    Case(ITML(random_state=0), tol=1e-2),
    Case(MMC(random_state=0)),
    Case(MPCKMeans(2, n_init=2, random_state=0)),
    Case(NoisyPairClustering(2, random_state=0), sparse_as_dense=False),
    Case(PairKernelClustering(n_clusters=2, n_init=2, random_state=0), sparse_as_dense=False),
    Case(LinkSmoother(random_state=0)),
    Case(LinkedClustering(2, n_init=2, random_state=0)),
    Case(PairCompleter(3, kernels=WIDE, random_state=0)),
    Case(PairCompleter(3, random_state=0), takes="similarity"),
    Case(PairCompletionClustering(2, completer=PairCompleter(3, kernels=WIDE), n_init=2, random_state=0)),
    Case(PairCompletionClustering(2, completer=PairCompleter(3), n_init=2, random_state=0), takes="similarity"),
    Case(ConstrainedSpectralClustering(2, kernels=WIDE, n_init=2, random_state=0)),
    Case(ConstrainedSpectralClustering(2, n_init=2, random_state=0), takes="similarity"),
    Case(TransitiveClosure(random_state=0)),
]


def public_estimators() -> set[type]:
    """Every estimator class among the public names."""
    exported = (getattr(kernelwise, name) for name in kernelwise.__all__)
    return {value for value in exported if isinstance(value, type) and issubclass(value, BaseEstimator)}


def _dense(values):
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def outputs(model, X):
    """What a model says about X and about what it was fitted on, whatever the signs and the order of its columns."""
    found = {name: getattr(model, name)(X) for name in ("decision_function", "predict_proba") if hasattr(model, name)}
    if hasattr(model, "predict"):
        found["predict"] = _alike(model.predict(X)) if hasattr(model, "labels_") else model.predict(X)
    rows = {name: _dense(getattr(model, name)(X)) for name in ("transform", "embed") if hasattr(model, name)}
    rows |= {name: getattr(model, name) for name in ("embedding_", "factor_") if hasattr(model, name)}
    if hasattr(model, "adjacency_"):
        rows["linked"] = model.transform(X, links=np.eye(model.adjacency_.shape[0]))
    found |= {name: values @ values.T for name, values in rows.items()}
    if hasattr(model, "groups_"):
        found["groups_"] = _alike(model.groups_)
    if hasattr(model, "labels_"):
        found["labels_"] = _alike(model.labels_)
    return found


def _alike(labels):
    return labels[:, None] == labels


def assert_same(found, expected, tol=1e-7):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        scale = np.abs(values).max(initial=1.0)
        np.testing.assert_allclose(found[name], values, rtol=0, atol=tol * scale, err_msg=name)


every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@cache
def fitted(case, kind=np.array):
    """The model of a case on plain float64 numbers, or on a sparse matrix of them. Tests share it: do not change it."""
    return case.fit(kind(case.data()))


@cache
def plain(case, kind=np.array):
    """The outputs of that model."""
    return outputs(fitted(case, kind), kind(case.data()))
