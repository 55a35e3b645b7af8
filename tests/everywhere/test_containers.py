"""Whatever holds the numbers the model of every public estimator is the same, and copies of a model say the same."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier

from public_estimators import CASES, assert_same, every_case, fitted, make_labels, outputs, plain, public_estimators


def test_the_table_holds_every_public_estimator():
    assert public_estimators() == {type(case.estimator) for case in CASES}


def dealt(variants, hands=3):
    """Every estimator with some of the variants, and every variant with some of the estimators.

    All variants pass the same conversion in ``fit``. An estimator that lacks the conversion fails with any of them.
    """
    return [
        pytest.param(case, variant, id=f"{case.name}-{variant}")
        for i, case in enumerate(CASES)
        for j, variant in enumerate(variants)
        if (i + j) % hands == 0
    ]


# The same numbers in other containers


def read_only_view(X):
    """A view of every second row and every third column of a larger array in Fortran order that nobody may write to."""
    large = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan, order="F")
    large[::2, ::3] = X
    large.flags.writeable = False
    return large[::2, ::3]


def mapped(X, path):
    """An array that lives in a file, opened for reading."""
    on_disk = np.memmap(path / "X.dat", dtype=X.dtype, mode="w+", shape=X.shape)
    on_disk[:] = X
    on_disk.flush()
    return np.memmap(path / "X.dat", dtype=X.dtype, mode="r", shape=X.shape)


#: Arrays that need no conversion: an estimator that is not made for them works on them as they are.
VIEWS = {"read-only view": read_only_view, "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1]}
CONVERTED = {
    "float32, other byte order": lambda X: X.astype(np.dtype(np.float32).newbyteorder()),
    "int64": lambda X: X.astype(np.int64),
    "uint8": lambda X: X.astype(np.uint8),
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "nullable DataFrame": lambda X: pd.DataFrame(X).convert_dtypes(),
}


@every_case
@pytest.mark.parametrize("view", VIEWS)
def test_views(case, view):
    X = VIEWS[view](case.data())
    assert_same(outputs(case.fit(X), X), plain(case), case.tol)


@pytest.mark.parametrize(("case", "holder"), dealt(CONVERTED))
def test_numbers_of_other_types(case, holder):
    X = CONVERTED[holder](case.data())
    assert_same(outputs(case.fit(X), X), plain(case), case.tol)


@every_case
def test_memory_mapped_data(case, tmp_path):
    X = mapped(case.data(), tmp_path)
    assert_same(outputs(case.fit(X), X), plain(case), case.tol)


@every_case
def test_truth_values_are_zeros_and_ones(case):
    X = case.data() > 2
    assert_same(outputs(case.fit(X), X), outputs(case.fit(X.astype(float)), X.astype(float)), case.tol)


LABELS = {
    "list of strings": lambda y: np.array(["no", "yes"])[y].tolist(),
    "Series of strings": lambda y: pd.Series(["no", "yes"]).iloc[y].set_axis(np.arange(len(y))[::-1] + 7),
    "truth values": lambda y: y.astype(bool),
    "floats": lambda y: y.astype(np.float32),
}


@pytest.mark.parametrize(("case", "holder"), dealt(LABELS, hands=2))
def test_what_holds_the_labels_does_not_matter(case, holder):
    X, y = case.data(), make_labels()
    held = LABELS[holder](y)
    model = clone(case.estimator).fit(X, held)
    found = outputs(model, X)
    if is_classifier(model):
        assert set(model.classes_) == set(held)
        found["predict"] = found["predict"] == model.classes_[1]
    assert_same(found, plain(case) if case.learns_from == "labels" else outputs(clone(case.estimator).fit(X, y), X))


def sparse(X, kind, index_type):
    """X in a format of scipy, with indices of this type."""
    matrix = kind(X)
    if matrix.format == "coo":
        matrix.coords = tuple(ends.astype(index_type) for ends in matrix.coords)
        return matrix
    matrix.indices, matrix.indptr = matrix.indices.astype(index_type), matrix.indptr.astype(index_type)
    return matrix


def untidy(X):
    """A sparse matrix whose entries are stored in any order, in two parts each, with zeros among them."""
    rows, cols = np.indices(X.shape).reshape(2, -1)[:, ::-1]
    order = np.argsort(rows, kind="stable")
    values, starts = X[rows, cols][order], np.arange(0, 2 * X.size + 1, 2 * X.shape[1])
    return sp.csr_array((np.repeat(values / 2, 2), np.repeat(cols[order], 2), starts), shape=X.shape)


SPARSE = {
    f"{kind.__name__}, {bits} bits": partial(sparse, kind=kind, index_type=np.dtype(f"int{bits}"))
    for kind, bits in [(sp.csr_matrix, 64), (sp.csc_array, 32), (sp.csc_matrix, 32), (sp.coo_array, 64)]
} | {"lil_matrix": sp.lil_matrix, "dia_array": sp.dia_array}


@pytest.mark.parametrize(("case", "form"), [*dealt({"untidy": untidy}, hands=1), *dealt(SPARSE, hands=2)])
def test_sparse_data(case, form):
    X = (SPARSE | {"untidy": untidy})[form](case.data())
    expected = plain(case, np.array if case.sparse_as_dense else sp.csr_array)
    assert_same(outputs(case.fit(X), X), expected, case.tol)


# Copies


@every_case
def test_clone_and_parameters(case):
    copy = clone(case.estimator)
    assert repr(copy) == repr(case.estimator)
    assert clone(type(copy)().set_params(**copy.get_params(deep=False))).get_params().keys() == copy.get_params().keys()
    copy.set_params(random_state=7)
    assert copy.get_params()["random_state"] == 7
    assert case.estimator.get_params()["random_state"] == 0


@every_case
def test_pickle(case):
    model = pickle.loads(pickle.dumps(fitted(case)))
    assert_same(outputs(model, case.data()), plain(case))


@every_case
def test_a_model_does_not_change_when_the_data_does(case):
    X = case.data()
    model = case.fit(X)
    X[:] = 0.0
    assert_same(outputs(model, case.data()), plain(case), case.tol)


# Names of columns


@every_case
def test_names_of_columns(case):
    X = case.data()
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])], index=range(100, 124))
    model = case.fit(frame)
    assert_same(outputs(model, frame), plain(case), case.tol)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert model.n_features_in_ == X.shape[1]
    for method in ("predict", "decision_function", "transform", "embed", "kernel"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match="feature names"):
                getattr(model, method)(frame.rename(columns={"column 0": "another"}))
            with pytest.raises(ValueError, match="feature names"):
                getattr(model, method)(frame.iloc[:, :-1])
    if hasattr(model, "transform"):
        expected = model.transform(frame)
        out = model.set_output(transform="pandas").transform(frame)
        np.testing.assert_array_equal(out, expected)
        assert out.index.equals(frame.index)
        assert out.columns.tolist() == model.get_feature_names_out().tolist()
