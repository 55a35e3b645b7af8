"""Models on disk: what comes back, and what is never loaded."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeRegressor

from kernelwise import NoisyLabelClassifier, SimpleMKLClassifierCV
from kernelwise.datasets import load_breast_cancer
from kernelwise.files import (
    FileError,
    SavedModel,
    Table,
    TableFeatures,
    load_model,
    make_card,
    read_card,
    read_table,
    save_model,
)
from kernelwise.files.models import TRUSTED, check_native_parts
from kernelwise.scoring.forest import SettledForest

skops_io = pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    X, y = load_breast_cancer(return_X_y=True)
    words = np.array(["benign looking cells", "odd shape of cells", "many cells divide here"])
    path = tmp_path_factory.mktemp("data") / "cells.csv"
    lines = ["thick,shape,site,note,label"]
    for i in range(60):
        site, note = ("left", "right")[i % 2], words[int(X[i, 5]) % 3]
        lines.append(f"{X[i, 0]:.3f},{X[i, 2]:.3f},{site},{note} number {i % 7},{y[i]}")
    path.write_text("\n".join(lines) + "\n")
    return read_table(path, as_written=["label"], kinds={"note": "text"})


@pytest.fixture(scope="module")
def model(table):
    features = TableFeatures(leave_out=["label"]).fit(table)
    estimator = SimpleMKLClassifierCV(random_state=0).fit(features.transform(table), table.required("label"))
    card = make_card(label="label", columns=features.describe(), noise={"rate": np.float64(0.1)})
    return SavedModel(estimator, features, card)


@pytest.fixture(scope="module")
def saved(tmp_path_factory, model):
    return save_model(tmp_path_factory.mktemp("model") / "m.skops", model)


def test_a_loaded_model_predicts_the_same_from_a_table(saved, model, table):
    loaded = load_model(saved)
    before, after = (m.estimator.predict_proba(m.features.transform(table)) for m in (model, loaded))
    np.testing.assert_array_equal(before, after)
    assert loaded.features.describe() == model.features.describe()


def test_card_is_read_without_loading_the_model(saved, model):
    card = read_card(saved)
    assert card == model.card
    assert card["noise"] == {"rate": 0.1}
    assert {"created", "versions", "columns"} <= card.keys()


def test_a_model_of_a_development_version_is_refused_with_the_remedy(saved, tmp_path):
    """Its classes stood in other modules: without the format, its types would only seem to be harmful."""
    card = json.dumps({**read_card(saved), "format": "kernelwise-model/1"})
    old = edited(saved, tmp_path / "old.skops", members={"json": card})
    with pytest.raises(FileError, match=r"not a model of this version of kernelwise; make it again"):
        load_model(old)


def test_trusted_types_are_named_one_by_one():
    owners = {"builtins", "numpy", "scipy", "sklearn", "kernelwise"}
    assert {name.split(".")[0] for name in TRUSTED} <= owners
    assert not any(name.startswith("builtins.") and name.split(".")[1] in {"eval", "exec", "open"} for name in TRUSTED)


class Stranger:
    """A type that no model consists of."""


def edited(saved, path, *, schema=None, members=None):
    """A copy of a model with its schema or its members changed."""
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w") as new:
        for member in old.infolist():
            content = old.read(member)
            if member.filename == "schema.json" and schema is not None:
                content = schema(content.decode()).encode()
            content = (members or {}).get(member.filename.rsplit(".")[-1], content)
            new.writestr(member.filename, content)
    return path


def with_node(node):
    """A schema in which the estimator is another node."""

    def edit(text):
        schema = json.loads(text)
        schema["content"]["estimator"] = node
        return json.dumps(schema)

    return edit


SYSTEM = {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode", "__id__": 1}
TREE = {
    "__class__": "DecisionTreeClassifier",
    "__module__": "sklearn.tree._classes",
    "__loader__": "ObjectNode",
    "__id__": 1,
}
METHOD = {
    "__class__": "ndarray",
    "__module__": "numpy",
    "__loader__": "MethodNode",
    "__id__": 1,
    "content": {"func": "tofile"},
}
HUGE = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9999999,), }".ljust(127) + b"\n"
PICKLE = io.BytesIO()
np.save(PICKLE, np.array([Stranger], dtype=object), allow_pickle=True)
BAD = {
    "a function": ({"schema": with_node(SYSTEM)}, r"object of type 'os.system' \(FunctionNode\)"),
    "a type of scikit-learn": ({"schema": with_node(TREE)}, r"'sklearn.tree._classes.DecisionTreeClassifier'"),
    "a method": ({"schema": with_node(METHOD)}, r"'numpy.ndarray' \(MethodNode\)"),
    "no json": ({"schema": lambda text: text[:-9]}, "is damaged"),
    "deep json": ({"schema": lambda text: "[" * 100_000}, "is damaged"),
    "a list": ({"schema": lambda text: "[]"}, "cannot be loaded"),
    "a huge array": ({"members": {"npy": HUGE}}, "for which the file is too short"),
    "a pickled array": ({"members": {"npy": PICKLE.getvalue()}}, "holds pickled objects"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_edited_model_is_refused(saved, tmp_path, case):
    changes, message = BAD[case]
    with pytest.raises(FileError, match=message):
        load_model(edited(saved, tmp_path / "m.skops", **changes))


def test_sparse_indices_that_lead_outside_are_refused(saved, tmp_path):
    matrix = sp.csr_array(np.eye(3))
    matrix.indices[0] = 10**6
    stream = io.BytesIO()
    sp.save_npz(stream, matrix)
    path = tmp_path / "m.skops"
    path.write_bytes(saved.read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("extra.npz", stream.getvalue())
    with pytest.raises(FileError, match="damaged sparse matrix"):
        load_model(path)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "an empty file"),
        (b"not a zip", "a text file"),
        (b"x,label\n1,a\n", "a text table whose first line is 'x,label'"),
        (b"\x80\x04N.", "a pickle of Python"),
        (b"PAR1....", "a Parquet table"),
        (b"PK\x03\x04....", "a damaged zip archive"),
        (b"\x00\x01\x02", "a binary file"),
        (b"<!DOCTYPE html>", "a page of HTML"),
        (b'{"a": 1}', "a JSON document"),
    ],
)
def test_other_files_are_refused_and_named(tmp_path, content, what):
    path = tmp_path / "m.skops"
    path.write_bytes(content)
    with pytest.raises(FileError, match=f"m.skops is not a model: it is {what}"):
        load_model(path)


def test_a_skops_file_of_somebody_else_is_refused(tmp_path):
    skops_io.dump({"a": 1}, tmp_path / "m.skops")
    with pytest.raises(FileError, match="it is a model of skops that was not made by kernelwise"):
        load_model(tmp_path / "m.skops")


def test_a_model_of_other_types_is_not_even_saved(tmp_path, model):
    with pytest.raises(FileError, match="Stranger"):
        save_model(tmp_path / "m.skops", SavedModel(Stranger(), model.features, model.card))
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------------- the classifier of the command line


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    return X, np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])


def blocks(X):
    return Table.of(Path("a.npz"), [], block=X)


@pytest.mark.parametrize(("classes", "sparse"), [(2, False), (3, False), (2, True)])
def test_noisy_label_classifier_comes_back(tmp_path, rows, classes, sparse):
    X, y = rows
    X = sp.csr_array(np.where(X > 0, X, 0.0)) if sparse else X
    y = np.array(["a", "b", "c"])[np.minimum(y, classes - 1)]
    model = SavedModel(NoisyLabelClassifier(random_state=0).fit(X, y), TableFeatures().fit(blocks(X)), make_card())
    loaded = load_model(save_model(tmp_path / "m.skops", model))
    np.testing.assert_array_equal(loaded.estimator.predict_proba(X), model.estimator.predict_proba(X))
    assert loaded.estimator.classes_.tolist() == model.estimator.classes_.tolist()


def damage_children(tree):
    state = tree.__getstate__()
    state["nodes"]["left_child"][0] = 10**7
    tree.__setstate__(state)


def damage_cycle(tree):
    state = tree.__getstate__()
    state["nodes"]["left_child"][1:] = 0
    state["nodes"]["right_child"][1:] = 0
    tree.__setstate__(state)


def damage_feature(tree):
    state = tree.__getstate__()
    state["nodes"]["feature"][0] = 4
    tree.__setstate__(state)


@pytest.mark.parametrize("damage", [damage_children, damage_cycle, damage_feature])
def test_parts_that_would_read_other_memory_are_refused(rows, damage):
    part = DecisionTreeRegressor().fit(*rows).tree_
    model = SavedModel({"parts": [part]}, TableFeatures(), {})
    check_native_parts(Path("m.skops"), model, n_features=4)
    damage(part)
    with pytest.raises(FileError, match="holds a damaged Tree"):
        check_native_parts(Path("m.skops"), model, n_features=4)


def test_trees_read_no_rows_that_are_too_narrow(rows):
    tree = DecisionTreeRegressor(max_depth=3).fit(*rows).tree_
    forest = SettledForest([tree], [tree.value[:, :, 0]])
    assert forest(rows[0]).shape == (90, 1)
    with pytest.raises(ValueError, match="X has 3 columns, and the trees were grown on 4"):
        forest(rows[0][:, :3])
