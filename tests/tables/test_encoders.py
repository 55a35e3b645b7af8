"""Columns as features: what is learned from data frames and from files, by one rule."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from kernelwise import NoisyLabelClassifier
from kernelwise.tables.columns import Column, Table
from kernelwise.tables.errors import TableError
from kernelwise.tables.frames import as_table, is_table
from kernelwise.tables.preparation import MAX_CATEGORIES, Categories, Numbers, TableFeatures, Words

numbers = st.lists(st.one_of(st.just(np.nan), st.floats(-1e6, 1e6)), min_size=1, max_size=30).map(np.array)
names = st.lists(st.sampled_from([f"level {i}" for i in range(5)] + ["Z", "a", "é", ""]), min_size=1, max_size=30)


@given(numbers)
def test_numbers_are_standardised_with_the_median_for_missing_ones(values):
    encoder = Numbers().learn(values)
    present = values[~np.isnan(values)]
    middle, mean, spread = (np.median(present), present.mean(), present.std()) if present.size else (0.0, 0.0, 1.0)
    filled = np.array([middle if np.isnan(value) else value for value in values])
    np.testing.assert_allclose(encoder.encode(values)[:, 0], (filled - mean) / (spread or 1.0))
    assert encoder.n_filled == np.isnan(values).sum()


@given(names, names)
def test_categories_have_an_indicator_each(learned, new):
    encoder = Categories().learn(learned)
    expected = [[float(value == category) for category in sorted(set(learned))] for value in new]
    np.testing.assert_array_equal(encoder.encode(new), expected)


@given(st.lists(st.integers(0, 80), min_size=100, max_size=300))
def test_of_many_categories_the_most_frequent_are_kept(drawn):
    values = [f"level {i}" for i in drawn]
    counts = Counter(values)
    kept = Categories().learn(values).categories.tolist()
    left_out = [level for level in counts if level not in kept]
    assert len(kept) == min(MAX_CATEGORIES, len(counts))
    assert kept == sorted(kept)
    # No level that is left out is more frequent, or as frequent and earlier in the alphabet.
    assert all((-counts[a], a) < (-counts[b], b) for a in kept for b in left_out)


def test_words_are_those_of_scikit_learn():
    texts = ["the cat sat on a mat", "a dog sat", "", "the the dog", "é straße 日本"]
    options = {"sublinear_tf": True, "token_pattern": r"(?u)\b\w+\b"}
    oracle = TfidfVectorizer(**options).fit(texts)
    encoder = Words().learn(texts)
    assert encoder.words.tolist() == oracle.get_feature_names_out().tolist()
    new = ["a cat and a dog sat", "nothing known"]
    np.testing.assert_array_equal(encoder.encode(new).toarray(), oracle.transform(new).toarray())


def test_of_twenty_texts_or_more_only_words_that_recur_are_counted():
    texts = [f"grade {i % 2} only{i}" for i in range(20)]
    assert Words().learn(texts).words.tolist() == ["0", "1", "grade"]


@pytest.mark.parametrize("scaled", [False, True])
def test_missing_and_infinite_numbers_of_a_frame_are_filled(scaled):
    frame = pd.DataFrame({"x": [1.0, 3.0, np.inf, np.nan]})
    found = TableFeatures(scaled=scaled).fit(frame).transform(frame)[:, 0]
    np.testing.assert_array_equal(found, [-1.0, 1.0, 0.0, 0.0] if scaled else [1.0, 3.0, 2.0, 2.0])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_dates_mean_the_same_in_every_unit_and_zone(unit, zone):
    days = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-03", None]).astype("datetime64[ns]"))
    prepared = TableFeatures().fit(pd.DataFrame({"day": days}))
    given = days.astype(f"datetime64[{unit}]")
    given = given if zone is None else given.dt.tz_localize("UTC").dt.tz_convert(zone)
    np.testing.assert_array_equal(prepared.transform(pd.DataFrame({"day": given}))[:, 0], [-1.0, 1.0, 0.0])
    np.testing.assert_array_equal(prepared.transform(pd.DataFrame({"day": given.astype(str)}))[:, 0], [-1.0, 1.0, 0.0])


def test_durations_are_numbers():
    frame = pd.DataFrame({"took": pd.to_timedelta([1, 3, None], unit="h")})
    np.testing.assert_allclose(TableFeatures().fit(frame).transform(frame)[:, 0], [-1.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pd.array([1, None, 3], dtype="Int64"), "numeric"),
        (pd.array([True, None, False], dtype="boolean"), "numeric"),
        (pd.Series([True, None, False], dtype=object), "numeric"),
        (pd.Series([1.25, None, 3], dtype=object), "numeric"),
        (pd.Categorical([1.0, None, 3.0]), "categorical"),
        (pd.array(["a", None, "b"], dtype="string"), "categorical"),
        (pd.Series([pd.Timestamp("2024-05-31").date(), None, pd.NaT], dtype=object), "date"),
    ],
)
def test_columns_of_a_frame_by_their_type(values, kind):
    column = as_table(pd.DataFrame({"x": values}))["x"]
    assert column.kind == kind
    assert column.missing[1]
    assert not column.missing[0]


def test_whole_numbers_that_are_categories_have_no_decimal_point():
    assert as_table(pd.DataFrame({"x": pd.Categorical([1.0, 2.5, np.nan])}))["x"].labels() == ["1", "2.5", ""]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["I do not know it", "I agree with all of it"] * 6, "categorical"),  # a few phrases, again and again
        ([f"number {i} of all the words" for i in range(12)], "text"),
        ([f"flat {i}" for i in range(40)], "text"),
        ([f"flat{i}" for i in range(40)], "id"),
        ([f"flat{i % 39}" for i in range(40)], "categorical"),
        ([f"{i}.5" for i in range(60)] + ["twelve"], "numeric"),  # with a mistake
        ([f"{i}.5" for i in range(10)] + ["twelve"], "categorical"),
        (["2024-02-29", "2024-02-28T12:30:00.25Z"], "date"),
        (["2024-02-29", "2024-02-30"], "categorical"),  # which is no day
        (["true", "False", "TRUE"], "numeric"),
    ],
)
def test_kinds_of_words(words, kind):
    assert Column.of("x", words).kind == kind


def test_columns_that_say_nothing_are_left_out_and_new_rows_need_not_have_them():
    frame = pd.DataFrame(
        {
            "x": np.arange(9.0) ** 2,
            "row": np.arange(1, 10),
            "key": [f"k{i}" for i in range(9)],
            "one": 1.0,
            "same": "a",
            "none": np.nan,
            "dots": [". " * length for length in range(4, 13)],
        }
    )
    features = TableFeatures().fit(frame)
    same = "it is the same in every row"
    assert features.unused_ == {"row": "it names the rows", "key": "it names the rows"} | dict.fromkeys(
        ["one", "same", "none"], same
    ) | {"dots": "none of its words occurs in two rows"}
    assert features.parts == [(0, 1)] + 6 * [(1, 1)]
    assert features.transform(frame[["x"]]).shape == (9, 1)


def test_columns_of_one_name_are_told_apart_as_pandas_does():
    assert as_table(pd.DataFrame(np.eye(2), columns=["x ", "x"])).names == ["x", "x.1"]


def test_a_model_of_a_frame_takes_the_array_and_a_model_of_an_array_with_words(rng):
    frame = pd.DataFrame({"size": rng.normal(size=40), "kind": ["a", "b"] * 20})
    y = np.resize([0, 1, 1], 40)
    framed = NoisyLabelClassifier(random_state=0).fit(frame, y)
    array = frame.to_numpy(dtype=object)
    assert is_table(array)
    plain = NoisyLabelClassifier(random_state=0).fit(array, y)
    np.testing.assert_array_equal(plain.predict_proba(array), framed.predict_proba(frame))
    with pytest.warns(UserWarning, match="valid feature names"):
        np.testing.assert_array_equal(framed.predict_proba(array), framed.predict_proba(frame))


def test_a_frame_that_is_sparse_stays_so():
    assert not is_table(pd.DataFrame({"x": pd.arrays.SparseArray([0.0, 1.0])}))


WORDED = pd.DataFrame({"kind": ["a", "b"], "x": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: TableFeatures().fit(WORDED).transform(WORDED.to_numpy().tolist()),
            TypeError,
            "must be a data frame or an array of rows and columns, got list",
        ),
        (
            lambda: TableFeatures().fit(WORDED).transform(WORDED.assign(x=["1", "one"])),
            TableError,
            "X, row 2, column 'x': 'one' is not a number",
        ),
        (lambda: Words().learn(["", "..."]), ValueError, "empty vocabulary"),
        (
            lambda: TableFeatures().fit(Table.of("a.csv", [Column("note", "text", np.array([".", "!"]))])),
            TableError,
            r"a.csv has no column to learn from besides note \(none of its words occurs in two rows\)",
        ),
        (lambda: TableFeatures().fit(WORDED[:0]), TableError, "X has no column to learn from"),
    ],
)
def test_bad_columns_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
