"""Columns as features: what is learned from data frames and from files, by one rule."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from kernelwise.files import Column, FileError, Table, TableFeatures
from kernelwise.tables.encoders import MAX_CATEGORIES, Categories, Numbers, Words
from kernelwise.tables.preparation import ColumnPreparation, needs_preparation

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
    options = {"sublinear_tf": True, "ngram_range": (1, 2), "token_pattern": r"(?u)\b\w+\b"}
    oracle = TfidfVectorizer(**options).fit(texts)
    encoder = Words().learn(texts)
    assert encoder.words.tolist() == oracle.get_feature_names_out().tolist()
    new = ["a cat and a dog sat", "nothing known"]
    np.testing.assert_array_equal(encoder.encode(new).toarray(), oracle.transform(new).toarray())


def test_frames_and_files_give_the_same_numbers_and_indicators():
    sizes, jobs = ["1.5", "", "3", "-2"], ["cook", "baker", "", "cook"]
    frame = pd.DataFrame({"size": [1.5, np.nan, 3.0, -2.0], "job": [job or None for job in jobs]})
    table = Table.of(Path("a.csv"), [Column.of("size", sizes), Column.of("job", jobs)])
    of_frame, of_file = ColumnPreparation().fit(frame), TableFeatures().fit(table)
    np.testing.assert_array_equal(of_frame.transform(frame), of_file.transform(table))
    assert of_frame.n_features == len(of_file.feature_names) == 4
    assert of_frame.parts == [(0, 1), (1, 4)]


def test_missing_and_infinite_numbers_of_a_frame_are_filled():
    frame = pd.DataFrame({"x": [1.0, 3.0, np.inf, np.nan]})
    assert needs_preparation(frame)
    np.testing.assert_array_equal(ColumnPreparation().fit(frame).transform(frame)[:, 0], [-1.0, 1.0, 0.0, 0.0])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_dates_mean_the_same_in_every_unit_and_zone(unit, zone):
    days = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-03", None]).astype("datetime64[ns]"))
    prepared = ColumnPreparation().fit(pd.DataFrame({"day": days}))
    given = days.astype(f"datetime64[{unit}]")
    given = given if zone is None else given.dt.tz_localize("UTC").dt.tz_convert(zone)
    np.testing.assert_allclose(prepared.transform(pd.DataFrame({"day": given}))[:, 0], [-1.0, 1.0, 0.0], atol=1e-9)


def test_durations_are_numbers():
    frame = pd.DataFrame({"took": pd.to_timedelta([1, 3, None], unit="h")})
    np.testing.assert_allclose(ColumnPreparation().fit(frame).transform(frame)[:, 0], [-1.0, 1.0, 0.0])


def test_two_numeric_columns_of_one_name_need_no_preparation():
    assert not needs_preparation(pd.DataFrame(np.eye(2), columns=["x", "x"]))


WORDED = pd.DataFrame({"kind": ["a", "b"], "x": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ColumnPreparation().fit(WORDED.set_axis(["x", "x"], axis=1)), ValueError, "two columns named 'x'"),
        (
            lambda: ColumnPreparation().fit(WORDED).transform(WORDED.to_numpy()),
            TypeError,
            r"must be a DataFrame with the columns \['kind', 'x'\], got ndarray",
        ),
        (lambda: Words().learn(["", "..."]), ValueError, "empty vocabulary"),
        (
            lambda: TableFeatures().fit(Table.of(Path("a.csv"), [Column("note", "text", np.array([".", "!"]))])),
            FileError,
            "a.csv, column 'note' has no words that recur",
        ),
    ],
)
def test_bad_columns_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
