"""What holds for every public estimator: whatever holds the numbers the model is the same, and bad data is named."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from public_estimators import (
    CASES,
    N_SAMPLES,
    assert_same,
    make_features,
    make_labels,
    outputs,
    public_estimators,
)

TRANSFORMERS = [case for case in CASES if hasattr(case.estimator, "transform")]
FEATURES = [case for case in CASES if case.takes == "features"]
SIMILARITIES = [case for case in CASES if case.takes == "similarity"]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

#: What numpy, scipy and LAPACK say when they are handed what should have been refused before.
INTERNALS = re.compile(
    "zero-size|reduction|broadcast|out of bounds|singular|converge|argm(in|ax) of an empty|operands|not aligned|"
    "mismatch in its core|divide by zero|invalid value|kth|subset_by|leading minor|cannot reshape|NaN|infs",
    re.IGNORECASE,
)


def test_the_table_holds_every_public_estimator():
    assert public_estimators() == {type(case.estimator) for case in CASES}


def assert_finite(found):
    assert found
    for name, values in found.items():
        assert np.isfinite(values).all(), f"{name} is not finite"


@pytest.fixture(scope="module")
def plain():
    """The outputs on plain float64 arrays, or sparse ones, fitted once per case."""
    found = {}

    def of(case, kind=np.array):
        if (case.name, kind) not in found:
            X = kind(case.data())
            found[case.name, kind] = outputs(case.fit(X), X)
        return found[case.name, kind]

    return of


# The same numbers in other clothes


def strided(X):
    """A view of every second row and every third column of a larger array."""
    large = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    large[::2, ::3] = X
    return large[::2, ::3]


def read_only(X):
    own = X.copy()
    own.flags.writeable = False
    return own


def mapped(X, path):
    """An array that lives in a file, opened for reading."""
    on_disk = np.memmap(path / "X.dat", dtype=X.dtype, mode="w+", shape=X.shape)
    on_disk[:] = X
    on_disk.flush()
    return np.memmap(path / "X.dat", dtype=X.dtype, mode="r", shape=X.shape)


HOLDERS = {
    "float32": lambda X: X.astype(np.float32),
    "other byte order": lambda X: X.astype(X.dtype.newbyteorder()),
    "Fortran order": np.asfortranarray,
    "read-only": read_only,
    "strided": strided,
    "reversed twice": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "int64": lambda X: X.astype(np.int64),
    "uint8": lambda X: X.astype(np.uint8),
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "DataFrame": pd.DataFrame,
    "nullable DataFrame": lambda X: pd.DataFrame(X).convert_dtypes(),
}


@every_case
@pytest.mark.parametrize("holder", HOLDERS)
def test_what_holds_the_numbers_does_not_matter(case, holder, plain):
    X = HOLDERS[holder](case.data())
    assert_same(outputs(case.fit(X), X), plain(case), case.tol)


@every_case
def test_memory_mapped_data(case, plain, tmp_path):
    X = mapped(case.data(), tmp_path)
    assert_same(outputs(case.fit(X), X), plain(case), case.tol)


@every_case
def test_truth_values_are_zeros_and_ones(case):
    X = case.data() > 2
    assert_same(outputs(case.fit(X), X), outputs(case.fit(X.astype(float)), X.astype(float)), case.tol)


LABELS = {
    "list": lambda y: y.tolist(),
    "Series with an index of its own": lambda y: pd.Series(y, index=np.arange(len(y))[::-1] + 7),
    "strings": lambda y: np.array(["no", "yes"])[y],
    "truth values": lambda y: y.astype(bool),
    "floats": lambda y: y.astype(np.float32),
}


@every_case
@pytest.mark.parametrize("holder", LABELS)
def test_what_holds_the_labels_does_not_matter(case, holder, plain):
    X, y = case.data(), make_labels()
    held = LABELS[holder](y)
    model = clone(case.estimator).fit(X, held)
    found = outputs(model, X)
    if is_classifier(model):
        assert set(model.classes_) == set(held)
        found["predict"] = found["predict"] == model.classes_[1]
    assert_same(found, plain(case) if case.learns_from == "labels" else outputs(clone(case.estimator).fit(X, y), X))


SPARSE = {
    f"{kind.__name__}, {bits} bits": (kind, np.dtype(f"int{bits}"))
    for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.coo_matrix)
    for bits in (32, 64)
}


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


@every_case
@pytest.mark.parametrize("form", [*SPARSE, "untidy"])
def test_sparse_data(case, form, plain):
    X = untidy(case.data()) if form == "untidy" else sparse(case.data(), *SPARSE[form])
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
def test_pickle(case, plain):
    model = pickle.loads(pickle.dumps(case.fit(case.data())))
    assert_same(outputs(model, case.data()), plain(case), case.tol)


# Names of columns


@every_case
def test_names_of_columns(case, plain):
    X = case.data()
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    model = case.fit(frame)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert model.n_features_in_ == X.shape[1]
    for method in ("predict", "decision_function", "transform", "embed", "kernel"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match="feature names"):
                getattr(model, method)(frame.rename(columns={"column 0": "another"}))
            with pytest.raises(ValueError, match="feature names"):
                getattr(model, method)(frame.iloc[:, :-1])


@pytest.mark.parametrize("case", TRANSFORMERS, ids=lambda case: case.name)
def test_data_frames_come_out_where_asked_for(case):
    X = pd.DataFrame(case.data(), columns=[f"column {j}" for j in range(case.data().shape[1])], index=range(100, 124))
    model = case.fit(X)
    expected = model.transform(X)
    out = model.set_output(transform="pandas").transform(X)
    np.testing.assert_array_equal(out, expected)
    assert out.index.equals(X.index)
    assert out.columns.tolist() == model.get_feature_names_out().tolist()


# Hard data


def tried(fit):
    """The fitted model, or None where the data is refused with a message of ours. It may warn, but not of rounding."""
    model, message = None, ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = fit()
    except ValueError as error:
        message = str(error)
    assert model is not None or len(message) > 20
    assert not INTERNALS.search(message), message
    return model


def part(case, rows):
    """The data of some samples."""
    return case.data()[rows] if case.takes == "features" else case.data()[np.ix_(rows, rows)]


@every_case
@pytest.mark.parametrize("n", [1, 2, 3])
def test_very_few_samples_fit_or_are_refused(case, n):
    rows = np.array([0, 4, 1])[:n]
    X, y = part(case, rows), make_labels()[rows]
    model = tried(lambda: case.fit(X, y))
    if model is not None:
        assert_finite(outputs(model, X))


@every_case
def test_fewer_samples_than_kernels_or_clusters_to_choose_from(case):
    rows = np.array([0, 4, 1, 5])
    assert_usable(case, part(case, rows), make_labels()[rows])


def assert_usable(case, X, y=None, **changed):
    """Fit, which must be possible and end where it should, and look at the outputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", ConvergenceWarning)
        model = case.fit(X, y, **changed)
    found = outputs(model, X)
    assert_finite(found)
    return found


HARD = {
    "one feature": lambda X: X[:, :1],
    "a constant feature": lambda X: np.column_stack([X, np.full(len(X), 7.0)]),
    "a feature of zeros": lambda X: np.column_stack([np.zeros(len(X)), X]),
    "rows of zeros": lambda X: X * (np.arange(len(X)) % 5 > 0)[:, None],
    "equal features": lambda X: X[:, [0, 0, 0, 0]],
    "more features than samples": lambda X: np.tile(X, 10),
    "features of very different scale": lambda X: X * [1e-4, 1.0, 1e4],
    "tiny numbers": lambda X: 1e-8 * X,
    "huge numbers": lambda X: 1e8 * X,
    "far from the origin": lambda X: X + 1e6,
    "negative numbers": lambda X: X - 4.0,
}


@pytest.mark.parametrize("case", FEATURES, ids=lambda case: case.name)
@pytest.mark.parametrize("kind", HARD)
def test_hard_data(case, kind):
    assert_usable(case, HARD[kind](case.data()))


@every_case
def test_equal_rows_are_treated_alike(case):
    rows = np.repeat(np.arange(12), 2)
    X, y = part(case, rows), make_labels()[rows]
    found = assert_usable(case, X, y)
    for name in {"decision_function", "predict_proba"} & found.keys():
        np.testing.assert_allclose(found[name][::2], found[name][1::2], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", FEATURES, ids=lambda case: case.name)
def test_classes_that_are_far_apart_are_told_apart(case):
    y = make_labels()
    X = case.data() + 50.0 * y[:, None]
    found = assert_usable(case, X, y)
    if is_classifier(case.estimator):
        np.testing.assert_array_equal(found["predict"], y)
    elif "labels_" in found:
        np.testing.assert_array_equal(found["labels_"], y[:, None] == y)


@pytest.mark.parametrize("case", FEATURES, ids=lambda case: case.name)
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_samples_that_are_all_equal_fit_or_are_refused(case, value):
    X = np.full((N_SAMPLES, 3), value)
    model = tried(lambda: case.fit(X))
    if model is not None:
        assert_finite(outputs(model, X))


@pytest.mark.parametrize("case", SIMILARITIES, ids=lambda case: case.name)
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_scale_of_a_similarity_does_not_matter(case, scale, plain):
    X = scale * case.data()
    found = assert_usable(case, X)
    if type(case.estimator).__name__ != "ConstrainedSpectralClustering":  # which puts ones and zeros among them
        assert_same(found, plain(case), case.tol)


GRAM = make_features() @ make_features().T / 50.0
STACKS = {
    "very different scales": np.stack([1e-8 * GRAM, GRAM**2, 1e8 * GRAM], axis=2),
    "all alike": np.stack([GRAM] * 4, axis=2),
    "one": GRAM,
    "some zero": np.stack([0.0 * GRAM, GRAM], axis=2),
    "more than samples": np.stack([GRAM ** (k % 3 + 1) / 10.0 ** (k % 3) for k in range(30)], axis=2),
}
STACKED = [case for case in FEATURES if "kernels" in case.estimator.get_params(deep=False)]
STACKED = [case for case in STACKED if not case.name.startswith(("PairCompl", "ConstrainedSp"))]  # one similarity each


@pytest.mark.parametrize("case", STACKED, ids=lambda case: case.name)
@pytest.mark.parametrize("kind", STACKS)
def test_hard_kernels(case, kind):
    assert_usable(case, STACKS[kind], kernels="precomputed")


@pytest.mark.parametrize("case", STACKED, ids=lambda case: case.name)
def test_a_kernel_given_several_times_counts_once(case):
    # Up to the accuracy of calibrated probabilities, and a penalty that is less for weights that are shared out.
    several, one = (assert_usable(case, STACKS[kind], kernels="precomputed") for kind in ("all alike", "one"))
    assert_same(several, one, tol=1e-3)


@every_case
def test_a_model_does_not_change_when_the_data_does(case, plain):
    X = case.data()
    model = case.fit(X)
    X[:] = 0.0
    assert_same(outputs(model, case.data()), plain(case), case.tol)
