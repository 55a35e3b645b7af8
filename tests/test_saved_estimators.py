"""Every public estimator can be saved and loaded without running code that came with the file."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelwise import (
    ITML,
    LinkSmoother,
    NoisyLabelClassifier,
    NonparametricKernelLearner,
    PairCompleter,
    PairKernelClustering,
    PairKernelLearner,
    SimpleMKLClassifier,
    UniformKernel,
)
from kernelwise.files import FileError, SavedModel, TableFeatures, load_model, make_card, save_model
from kernelwise.kernels import Cosine, Linear, Polynomial, precomputed
from public_estimators import (
    CASES,
    N_SAMPLES,
    WIDE,
    assert_same,
    make_features,
    make_labels,
    make_similarity,
    outputs,
)

pytest.importorskip("skops.io")


def saved_and_loaded(model, path):
    saved = save_model(path / "m.skops", SavedModel(model, TableFeatures(), make_card()))
    return load_model(saved).estimator


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_loaded_model_says_the_same(case, tmp_path):
    model = case.fit(case.data())
    assert_same(outputs(saved_and_loaded(model, tmp_path), case.data()), outputs(model, case.data()))


def few_words():
    """Counts of words, most of them zero."""
    return (np.arange(N_SAMPLES * 30).reshape(N_SAMPLES, 30) ** 2 % 11 == 1).astype(float)


GRAM = make_features() @ make_features().T
INDEX = np.arange(N_SAMPLES)[:, None]

#: Other ways to use the estimators, which leave other things in the models.
MODES = {
    "a stack of kernels": (SimpleMKLClassifier("precomputed", random_state=0), np.stack([GRAM, 0 * GRAM], axis=2)),
    "given kernels": (SimpleMKLClassifier(precomputed([GRAM]), random_state=0), INDEX),
    "kernels of many kinds": (UniformKernel([Linear(), Cosine(), Polynomial(), WIDE]), make_features()),
    "words": (LinkSmoother(n_components=3, random_state=0), few_words()),
    "a completed block": (PairCompleter(3, method="completion", noise_rate="auto", random_state=0), make_similarity()),
    "audited pairs": (PairKernelLearner(noise="auto", random_state=0), make_features()),
    "a given kernel to cluster": (PairKernelClustering("precomputed", n_clusters=2, random_state=0), GRAM),
    "a metric to cluster by": (PairKernelClustering(ITML(), n_clusters=2, random_state=0), make_features()),
    "sparse data": (NonparametricKernelLearner(random_state=0), sp.csr_array(make_features())),
}


@pytest.mark.parametrize("mode", MODES)
def test_whatever_a_model_holds_is_saved(mode, tmp_path):
    estimator, X = MODES[mode]
    model = estimator.fit(X, make_labels())
    assert_same(outputs(saved_and_loaded(model, tmp_path), X), outputs(model, X))


def test_a_table_of_many_kinds_is_for_the_features_of_the_model_and_refused_in_the_estimator(tmp_path):
    table = pd.DataFrame({"size": make_features()[:, 0], "kind": ["round", "square", "long"] * 8})
    model = NoisyLabelClassifier(random_state=0).fit(table, make_labels())
    with pytest.raises(FileError, match="ColumnPreparation"):
        saved_and_loaded(model, tmp_path)
