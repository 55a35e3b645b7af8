"""Hard data: every public estimator fits it and says finite numbers, or refuses it with a message of ours."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from public_estimators import CASES, N_SAMPLES, assert_same, every_case, make_features, make_labels, outputs, plain

FEATURES = [case for case in CASES if case.takes == "features"]
SIMILARITIES = [case for case in CASES if case.takes == "similarity"]

#: What numpy, scipy and LAPACK say when they are handed what should have been refused before.
INTERNALS = re.compile(
    "zero-size|reduction|broadcast|out of bounds|singular|converge|argm(in|ax) of an empty|operands|not aligned|"
    "mismatch in its core|divide by zero|invalid value|kth|subset_by|leading minor|cannot reshape|NaN|infs",
    re.IGNORECASE,
)


def assert_finite(found):
    assert found
    for name, values in found.items():
        assert np.isfinite(values).all(), f"{name} is not finite"


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
    "constant features": lambda X: np.column_stack([np.zeros(len(X)), X, np.full(len(X), 7.0)]),
    "rows of zeros": lambda X: X * (np.arange(len(X)) % 5 > 0)[:, None],
    "more features than samples, many of them equal": lambda X: np.tile(X, 10),
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
def test_the_scale_of_a_similarity_does_not_matter(case, scale):
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
ONE_SIMILARITY = ("PairCompl", "ConstrainedSp", "NoisyPair")
STACKED = [case for case in STACKED if not case.name.startswith(ONE_SIMILARITY)]


@pytest.mark.parametrize("case", STACKED, ids=lambda case: case.name)
@pytest.mark.parametrize("kind", STACKS)
def test_hard_kernels(case, kind):
    assert_usable(case, STACKS[kind], kernels="precomputed")


@pytest.mark.parametrize("case", STACKED, ids=lambda case: case.name)
def test_a_kernel_given_several_times_counts_once(case):
    # Up to the accuracy of calibrated probabilities, and a penalty that is less for weights that are shared out.
    several, one = (assert_usable(case, STACKS[kind], kernels="precomputed") for kind in ("all alike", "one"))
    assert_same(several, one, tol=1e-3)
