"""Frames of polars, narwhals and pyarrow are the tables that pandas and a file give."""

import numpy as np
import pandas as pd
import pytest

from kernelwise import NoisyLabelClassifier, audit_labels
from kernelwise.tables.frames import as_table, is_table
from kernelwise.tables.preparation import TableFeatures

polars = pytest.importorskip("polars")
narwhals = pytest.importorskip("narwhals")
pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture
def frame(rng):
    return pd.DataFrame({
        "size": rng.normal(size=40),
        "count": pd.array([None, *rng.integers(0, 9, 39)], dtype="Int64"),
        "kind": [None, *rng.choice(["a", "b"], 39)],
        "day": pd.date_range("2024-01-01", periods=40),
        "took": pd.to_timedelta(rng.integers(1, 90, 40), unit="min"),
        "price": [f"{i},5 €" for i in range(40)],
        "paid": rng.random(40) < 0.5,
    })  # fmt: skip


WAYS = {
    "polars": lambda frame: polars.from_pandas(frame),
    "narwhals": lambda frame: narwhals.from_native(polars.from_pandas(frame)),
    "narwhals of pandas": lambda frame: narwhals.from_native(frame),
    "pyarrow": lambda frame: pyarrow.Table.from_pandas(frame),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_features_are_those_of_pandas(frame, way):
    other = WAYS[way](frame)
    assert is_table(other)
    features = TableFeatures().fit(frame)
    same = TableFeatures().fit(other)
    assert same.describe() == features.describe()
    np.testing.assert_allclose(same.transform(other), features.transform(frame))


def test_a_model_takes_polars(frame, rng):
    y = rng.choice(["no", "yes"], 40)
    model = NoisyLabelClassifier(random_state=0).fit(polars.from_pandas(frame), polars.Series(y))
    assert list(model.feature_names_in_) == list(frame.columns)
    np.testing.assert_allclose(model.predict_proba(polars.from_pandas(frame)), model.predict_proba(frame))


def test_a_lazy_frame_is_refused(frame):
    with pytest.raises(TypeError, match=r"X is a LazyFrame.*X.collect\(\)"):
        audit_labels(polars.from_pandas(frame).lazy(), ["a", "b"] * 20)


def test_categorical_columns_of_polars_are_categorical():
    frame = polars.DataFrame({"x": ["1", "2", "1"]}, schema={"x": polars.Categorical})
    assert as_table(frame)["x"].kind == "categorical"


def test_missing_numbers_of_an_array_are_those_of_a_frame(rng):
    X = rng.normal(size=(40, 3))
    X[3, 1] = np.nan
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1, 0)
    of_array, of_frame = (NoisyLabelClassifier(random_state=0).fit(given, y) for given in (X, pd.DataFrame(X)))
    np.testing.assert_array_equal(of_array.label_quality_, of_frame.label_quality_)
    np.testing.assert_array_equal(of_array.predict(X), of_frame.predict(pd.DataFrame(X)))
    full = NoisyLabelClassifier(random_state=0).fit(np.nan_to_num(X), y)
    with pytest.raises(ValueError, match="X contains NaN in row 3, column 1"):
        full.predict(X)
