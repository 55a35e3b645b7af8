"""Every public estimator can be saved and loaded without running code that came with the file."""

import json
import zipfile
from copy import deepcopy
from functools import cache

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
from kernelwise.files import (
    Column,
    FileError,
    SavedModel,
    Table,
    TableFeatures,
    load_model,
    make_card,
    read_table,
    save_model,
)
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


WORDS = ["good", "fine", "bad", "poor"]
FRAMES = {
    "categories": pd.DataFrame({"size": make_features()[:, 0], "kind": ["round", "square", None] * 8}),
    "dates": pd.DataFrame({"day": pd.date_range("2020", periods=N_SAMPLES, tz="UTC"), "x": make_features()[:, 1]}),
    "text": pd.DataFrame({
        "note": [f"{WORDS[i % 4]} {WORDS[i % 3]} {i}" for i in range(3 * N_SAMPLES)],
        "hole": [np.nan, 1.0, 2.0] * N_SAMPLES,
    }),
    "numbers for names": pd.DataFrame({0: ["a", "b", "b"] * (N_SAMPLES // 3), 1: make_features()[:, 0]}),
}  # fmt: skip


@cache
def fitted_to_a_frame(kind):
    frame = FRAMES[kind]
    labels = np.array(["no", "yes"], dtype=object)[np.resize(make_labels(), len(frame))]
    return NoisyLabelClassifier(random_state=0).fit(frame, labels)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_model_of_a_data_frame_says_the_same(kind, tmp_path):
    model, frame = fitted_to_a_frame(kind), FRAMES[kind]
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded._columns.describe() == model._columns.describe()
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)


def test_a_model_of_a_data_frame_does_not_take_files(tmp_path):
    model = fitted_to_a_frame("categories")
    (tmp_path / "rows.csv").write_text("size,kind\n1,round\n")
    saved = SavedModel(model, TableFeatures(), make_card())
    with pytest.raises(FileError, match=r"made of data frames and does not take files such as .*rows.csv"):
        saved.predict_proba(read_table(tmp_path / "rows.csv"))


@cache
def fitted_with_trees():
    """Steps of one column that depend on the other column: trees have weight."""
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {"size": rng.randn(150), "kind": np.array(["round", "square", "long"])[rng.randint(3, size=150)]}
    )
    labels = np.where((frame["size"] > 0.5) ^ (frame["kind"] == "long"), "yes", "no")
    model = NoisyLabelClassifier(random_state=0).fit(frame, labels)
    assert any(name.startswith("trees") for name in model.model_names_)
    return model


def fewer_categories(model):
    """The trees would read beyond the rows that are left."""
    model._columns.steps_[1][2].categories = model._columns.steps_[1][2].categories[:1]


def no_categories_but_rare_ones(model):
    """A number that is no number of categories."""
    model._columns.steps_[1][2].n_rare = "many"


def another_preparation(model):
    model._columns = model.model_names_


def another_encoder(model):
    model._columns.steps_[1] = ("kind", "categorical", make_labels())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (fewer_categories, "holds a damaged Tree"),
        (no_categories_but_rare_ones, "cannot be loaded"),
        (another_preparation, "cannot be loaded .*not prepared by list"),
        (another_encoder, "cannot be loaded"),
    ],
)
def test_a_preparation_that_does_not_fit_the_model_is_refused(damage, message, tmp_path):
    model = deepcopy(fitted_with_trees())
    damage(model)
    with pytest.raises(FileError, match=message):
        saved_and_loaded(model, tmp_path)


def test_names_that_are_no_text_are_refused(tmp_path):
    model = deepcopy(fitted_to_a_frame("categories"))
    words = model._columns.steps_[1][2].categories.copy()
    words.view(np.uint32)[0] = 0x110000
    model._columns.steps_[1][2].categories = words
    with pytest.raises(FileError, match="holds text that is not made of characters"):
        saved_and_loaded(model, tmp_path)


def test_the_format_of_features_stays_as_it_is(tmp_path):
    """Models that were saved hold these parts of these types, and have to be read."""
    cells = {"x": ["1", "2"], "kind": ["a", "b"], "note": ["some words of prose", "and some words more"]}
    cells["day"] = ["2024-05-31", "2024-06-01"]
    table = Table.of(tmp_path / "a.csv", [Column.of(name, column) for name, column in cells.items()])
    features = TableFeatures().fit(table)
    path = save_model(tmp_path / "m.skops", SavedModel(None, features, make_card()))
    with zipfile.ZipFile(path) as archive:
        schema = json.loads(archive.read("schema.json"))
    steps = state(schema["content"]["features"])["steps_"]["content"]
    encoders = [encoder for step in steps for encoder in step["content"][2:]]
    found = {f"{part['__module__']}.{part['__class__']}": sorted(state(part)) for part in encoders}
    assert found == {
        "kernelwise.tables.preparation.Numbers": ["mean", "median", "missing_code", "n_filled", "notation", "scale"],
        "kernelwise.tables.preparation.Categories": ["categories", "n_rare", "n_spellings"],
        "kernelwise.tables.preparation.Dates": [
            "cycles",
            "mean",
            "median",
            "missing_code",
            "n_filled",
            "notation",
            "scale",
        ],
        "kernelwise.tables.preparation.Words": ["idf", "words"],
    }


def state(node):
    return node["content"]["content"]
