"""Labels as people write them, and columns that give them away."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from kernelwise import (
    NoisyLabelClassifier,
    SimpleMKLClassifier,
    Verdicts,
    audit_labels,
    estimate_label_noise,
    flip_labels,
)
from kernelwise.labels.given import find_leaks, group_numbers, leaking_numbers, read_labels, warn_of_numbers
from kernelwise.labels.spellings import join_spellings, look_alikes, same_label, typing_errors
from kernelwise.samples import check_index
from kernelwise.tables.frames import as_table


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    return X, flip_labels(np.where(X["a"] > 0, "alpha", "beta"), 0.1, random_state=0)


def test_labels_in_one_column_of_a_frame(data):
    X, y = data
    wanted = audit_labels(X, y, random_state=0)
    assert audit_labels(X, pd.DataFrame({"y": y}), random_state=0) == wanted
    with pytest.raises(ValueError, match="one label for each row, got 2 columns"):
        audit_labels(X, pd.get_dummies(y))


def test_missing_labels_in_a_frame_of_one_column():
    assert read_labels(pd.DataFrame({"y": ["a", None, np.nan]})).tolist() == ["a", None, None]
    with pytest.warns(UserWarning, match="column-vector y"):
        assert read_labels(np.array([[1], [2]])).tolist() == [1, 2]


def test_spellings_are_one_class_and_it_is_said(data):
    X, y = data
    mixed = np.where(np.arange(60) % 7 == 0, np.char.upper(y), y)
    with pytest.warns(UserWarning, match="'ALPHA' as 'alpha'"):
        found = audit_labels(X, mixed, random_state=0)
    assert found == audit_labels(X, y, random_state=0)


def test_single_letters_in_two_spellings_are_two_classes():
    assert join_spellings(np.array(["A", "a", "a"]))[1] == {}


def test_typing_errors_look_alike_and_numbers_do_not():
    assert look_alikes({"Gentoo": 100, "Gento": 1, "Adelie": 90}) == [("Gento", "Gentoo")]
    assert look_alikes({"2019": 100, "2018": 1}) == []
    assert look_alikes({"left": 50, "lefts": 45}) == []  # both are frequent


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("yes", "Yes ", True), ("01", "1", True), ("1,5", "1.5", True), ("TRUE", "true", True), ("1", "2", False)],
)
def test_labels_after_a_spreadsheet(one, other, same):
    assert same_label(one, other) is same


def test_numbers_are_groups_and_codes_are_classes():
    amounts = [f"{i * 1.37:.2f}" for i in range(100)]
    groups, names = group_numbers([*amounts, None])
    assert names[-1] is None
    assert [list(names).count(name) for name in groups.names] == [25, 25, 25, 25]
    assert group_numbers([str(i % 10) for i in range(100)]) is None
    assert group_numbers([str(i % 100) for i in range(2000)]) is None  # a hundred classes
    assert group_numbers(["a", "b"]) is None


def test_numbers_as_labels_are_refused_with_a_remedy(data):
    with pytest.raises(ValueError, match=r"Unknown label type.*Cut the numbers into groups.*numpy.digitize"):
        audit_labels(data[0], np.linspace(0, 1, 60))


def copies(y):
    late = pd.Series(np.where(y == "alpha", "2024-01-01", None))
    return {
        "code": np.where(y == "alpha", 7, 9),
        "word": np.where(y == "alpha", "won", "lost"),
        "closed": late,  # filled in only if ...
        "number": np.where(y == "alpha", 1000, 5000) + np.arange(60) * 3.1,
    }


@pytest.mark.parametrize("name", ["code", "word", "closed", "number"])
def test_a_copy_of_the_label_is_named_with_how_it_was_found(data, name):
    X, y = data
    found = find_leaks(as_table(X.assign(**{name: copies(y)[name]})), y)
    assert [one.column for one in found] == [name]
    assert "goes with the label" in found[0].how or "go with the label" in found[0].how
    with pytest.warns(UserWarning, match=f"column '{name}' gives the label away"):
        NoisyLabelClassifier(random_state=0).fit(X.assign(**{name: copies(y)[name]}), y)


def test_a_copy_in_an_array_is_named(data):
    X, y = data
    array = np.column_stack([X, np.where(y == "alpha", 3.0, 4.0)])
    assert [one.column for one in leaking_numbers(array, y)] == ["x4"]


def test_honest_columns_are_not_named(data):
    X, y = data
    rng = np.random.default_rng(1)
    truth = np.where(X["a"] > 0, "up", "down")  # tells the true label, and nine tenths of the given ones
    assert find_leaks(as_table(X.assign(truth=truth, noise=rng.choice(["p", "q"], 60))), y) == []
    assert leaking_numbers(X.to_numpy(), y) == []


@pytest.fixture(scope="module")
def three_classes():
    rng = np.random.default_rng(3)
    y = np.repeat(["Barolo", "Barbera", "Grignolino"], 20)
    X = rng.normal(size=(60, 2)) + 3 * np.column_stack([y == "Barolo", y == "Barbera"])
    return X, y.astype(object)


def test_a_typing_error_is_a_suspect_and_changes_no_other_row(three_classes):
    X, y = three_classes
    mistyped, missing = y.copy(), y.copy()
    mistyped[5], mistyped[40], missing[5], missing[40] = "Barollo", None, None, None
    with pytest.warns(UserWarning, match="'Barollo' of one row is taken for a typing error of 'Barolo'"):
        found = audit_labels(X, mistyped, random_state=0)
    without = audit_labels(X, missing, random_state=0)
    others = np.delete(np.arange(60), [5])
    np.testing.assert_array_equal(found.quality[others], without.quality[others])
    np.testing.assert_array_equal(found.suggested[others], without.suggested[others])
    assert (found.suggested[5], found.alternative[5]) == ("Barolo", "Barolo")
    assert found.quality[5] < 0.5
    assert found.noise_rate == pytest.approx(np.nanmean(1 - found.quality), abs=1e-12)
    np.testing.assert_allclose(found.transition.sum(axis=1), 1)
    assert found.noise_interval[0] <= found.noise_rate <= found.noise_interval[1]


def test_a_checked_typing_error_is_learned_from(three_classes):
    X, y = three_classes
    mistyped = y.copy()
    mistyped[5] = "Barollo"
    found = audit_labels(X, mistyped, checked=Verdicts([5], ["Barolo"]), random_state=0)  # and no warning
    assert (found.quality[5], found.suggested[5]) == (0, "Barolo")


@pytest.mark.parametrize(
    "labels",
    [
        ["Barolo"] * 20 + ["Barollo"],  # one class would remain
        ["Barolo"] * 20 + ["Barbera"] * 20 + ["Barollo"] * 2,  # two rows
        ["Barolo"] * 9 + ["Barbera"] * 20 + ["Barollo"],  # no frequent label
        ["walked"] * 20 + ["talked"] * 20 + ["balked"],  # two labels may be meant
        ["North Carolina"] * 20 + ["Ohio"] * 20 + ["South Carolina"],  # more letters differ
        ["class 1"] * 20 + ["class 2"] * 20 + ["class 3"],  # numbers
    ],
)
def test_what_is_no_typing_error(labels):
    assert typing_errors(np.array(labels)) == {}


def test_words_for_missing_are_classes_in_python_and_missing_objects_are_not(data):
    X, y = data
    named = np.where(y == "beta", "None", y.astype(object))
    named[0] = None
    audit = audit_labels(X, named, random_state=0)
    assert audit.classes.tolist() == ["None", "alpha"]
    assert np.flatnonzero(np.isnan(audit.quality)).tolist() == [0]


def test_amounts_as_labels_are_a_warning(data):
    X, _ = data
    amounts = np.arange(60) * 2 // 5  # 24 numbers, each in two or three rows
    with pytest.warns(UserWarning, match=r"24 different numbers in 60 rows, which look like amounts.*numpy.digitize"):
        NoisyLabelClassifier(random_state=0).fit(X, amounts)
    with pytest.warns(UserWarning, match="look like amounts"):
        audit_labels(X, amounts, probabilities=np.full((60, 24), 1 / 24))
    warn_of_numbers(Counter(amounts.astype(str).tolist()))  # words are as the user wants them
    warn_of_numbers(Counter((amounts // 6).tolist()))


@pytest.mark.parametrize("kind", [int, float])
def test_the_code_minus_one_is_a_class_and_it_is_said(data, kind):
    X, y = data
    codes = np.where(np.arange(60) % 6 == 0, -1, y == "alpha").astype(kind)
    with pytest.warns(UserWarning, match=r"-1 is taken for a class.*numpy.where\(y == -1, numpy.nan, y\)"):
        model = NoisyLabelClassifier(random_state=0).fit(X, codes)
    assert model.classes_.tolist() == [-1, 0, 1]
    model.fit(X, np.where(codes == -1, np.nan, codes))  # the remedy
    assert model.classes_.tolist() == [0, 1]
    for plain in ([-1, 1], [-1, 0], [-2, -1, 0, 1], [-1, 0.5, 1], ["-1", "0", "1"]):
        warn_of_numbers(dict.fromkeys(plain, 20))


class TestRowNamesOfPandas:
    @pytest.fixture
    def frame(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"size": rng.normal(size=150), "weight": rng.normal(size=150)})
        frame["label"] = np.where(frame["size"] + 0.1 * frame["weight"] > 0, "large", "small")
        return frame[frame["weight"] < 1.0]  # the index has gaps, as after dropna

    def test_an_audit_has_the_index_of_the_frame(self, frame):
        wrong = frame.index[[3, 40, 77]]
        given = frame["label"].copy()
        given[wrong] = given[wrong].map({"large": "small", "small": "large"})
        for X in (frame[["size", "weight"]], frame[["size", "weight"]].to_numpy()):
            audit = audit_labels(X, given, random_state=0)
            assert audit.to_frame().index.equals(frame.index)
            recipe = pd.concat([frame["size"], audit.to_frame()], axis=1).sort_values("quality")
            assert set(recipe.index[:3]) == set(wrong)

    def test_of_probabilities_alone_the_labels_give_the_index(self):
        y = pd.Series(["a", "b", "a", "b"] * 10, index=range(100, 140))
        chances = np.where((y == "a").to_numpy()[:, None], [0.9, 0.1], [0.1, 0.9])
        assert audit_labels(None, y, probabilities=chances).to_frame().index.tolist() == list(range(100, 140))

    @pytest.mark.parametrize(
        "learn",
        [
            audit_labels,
            estimate_label_noise,
            lambda X, y: NoisyLabelClassifier().fit(X, y),
            lambda X, y: SimpleMKLClassifier().fit(X, y),
        ],
    )
    def test_labels_in_another_order_are_refused(self, frame, learn):
        X, y = frame[["size", "weight"]], frame["label"]
        with pytest.raises(ValueError, match=r"y has another index than X: row 0 is 0 in X and \d+ in y; give y.loc"):
            learn(X, y.iloc[::-1])

    def test_which_indexes_fit(self, frame):
        X, y = frame[["size", "weight"]], frame["label"]
        check_index(X, y=y, sample_weight=y.reset_index(drop=True))  # 0, 1, 2, ... are positions
        check_index(X.reset_index(drop=True), y=y)
        check_index(X, y=y.to_numpy(), sample_weight=None)
        check_index(X.to_numpy(), y=y.iloc[::-1])
        plain = X.reset_index(drop=True)
        with pytest.raises(ValueError, match="y has another index"):  # the frame was shuffled, and its labels were not
            check_index(plain.sample(frac=1, random_state=0), y=y.reset_index(drop=True))
        with pytest.raises(ValueError, match=r"sample_weight has another index than X: row \d+ is \d+ in X and 7777"):
            check_index(X, sample_weight=y.rename({y.index[5]: 7777}))
