"""What audits give back: order, counts worth checking, tables."""

import pickle
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwise import LabelAudit, PairAudit, PairNoise, Pairs, Verdicts

QUALITIES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def label_audit(given_quality, **changes):
    n = len(given_quality)
    parts = {
        "labels": np.array(["a", "b"] * n)[:n],
        "quality": np.array(given_quality),
        "suggested": np.array(["a"] * n),
        "probabilities": np.full((n, 2), 0.5),
        "classes": np.array(["a", "b"]),
        "noise_rate": 0.2,
        "noise_interval": (0.1, 0.3),
        "transition": np.array([[0.9, 0.1], [0.2, 0.8]]),
    }
    return LabelAudit(**parts | changes)


def pair_audit(given_quality, **changes):
    n = len(given_quality)
    parts = {
        "pairs": Pairs(np.zeros(n, int), np.arange(1, n + 1), np.ones(n), n_samples=n + 1, weights=np.full(n, 2.0)),
        "quality": np.array(given_quality),
        "suggested": np.ones(n),
        "noise": PairNoise(0.5, 0.8, 0.9),
        "intervals": {"precision_positive": (0.7, 0.9)},
    }
    return PairAudit(**parts | changes)


@pytest.mark.parametrize("make", [label_audit, pair_audit])
@given(quality=QUALITIES)
def test_order_is_from_the_most_suspect_and_stable(make, quality):
    order = make(quality).order
    assert sorted(order) == list(range(len(quality)))
    ranked = np.array(quality)[order]
    assert (np.diff(ranked) >= -1e-7 * ranked[1:]).all()  # nearly equal numbers stay in the given order
    assert all(i < j for i, j in pairwise(order) if quality[i] == quality[j])


@pytest.mark.parametrize("make", [label_audit, pair_audit])
@given(quality=QUALITIES, precision=st.floats(0.01, 1))
def test_worth_checking_is_the_largest_count_with_the_wanted_precision(make, quality, precision):
    audit = make(quality)
    wrong = 1 - np.array(quality)[audit.order]
    enough = [k for k in range(1, len(wrong) + 1) if wrong[:k].mean() >= precision - 1e-7]
    barely = [k for k in range(1, len(wrong) + 1) if wrong[:k].mean() >= precision + 1e-9]
    assert max(barely, default=0) <= audit.worth_checking(precision=precision) <= max(enough, default=0)


@pytest.mark.parametrize("make", [label_audit, pair_audit])
@given(quality=QUALITIES, chance=st.floats(0, 0.99))
def test_worth_checking_counts_rows_by_their_own_chance(make, quality, chance):
    for limit, found in ((chance, make(quality).worth_checking(chance)), (0.5, make(quality).worth_checking())):
        surely, perhaps = (sum(1 - one > limit + margin for one in quality) for margin in (1e-7, 0.0))
        assert surely <= found <= perhaps


@pytest.mark.parametrize("make", [label_audit, pair_audit])
def test_rounding_reaches_neither_the_order_nor_what_is_worth_checking(make, rng):
    quality = np.repeat([0.5, 0.2, 0.2, 0.9, 1e-7], 3)
    order, count = make(quality).order.tolist(), make(quality).worth_checking()
    for _ in range(5):
        audit = make(np.clip(quality * (1 + 1e-12 * rng.standard_normal(15)), 0, 1))
        assert (audit.order.tolist(), audit.worth_checking()) == (order, count) == (order, 9)


def test_a_row_without_a_label_comes_last_and_is_not_worth_a_check():
    audit = label_audit([np.nan, 0.9, 0.2], labels=np.array([None, "a", "b"], dtype=object))
    assert audit.order.tolist() == [2, 1, 0]
    assert audit.worth_checking() == audit.worth_checking(precision=0.8) == 1


def test_the_alternative_is_the_most_probable_other_class():
    audit = label_audit(
        [0.5, 0.1],
        labels=np.array(["a", "c"]),
        suggested=np.array(["b", "a"]),
        probabilities=np.array([[0.5, 0.3, 0.2], [0.6, 0.3, 0.1]]),
        classes=np.array(["a", "b", "c"]),
        transition=np.eye(3),
    )
    assert audit.alternative.tolist() == ["b", "a"]


def test_rounding_does_not_take_from_what_is_worth_checking():
    assert 1 - 0.9 < 0.1  # in floating point
    assert label_audit([0.9, 0.9, 0.9]).worth_checking(precision=0.1) == 3


def test_tables_are_in_the_given_order():
    frame = label_audit([0.9, 0.1]).to_frame()
    assert frame.columns.tolist() == ["label", "quality", "suggested"]
    assert frame["quality"].tolist() == [0.9, 0.1]
    audit = pair_audit([0.9, 0.1])
    frame = audit.to_frame()
    assert frame.columns.tolist() == ["row", "col", "label", "weight", "quality", "suggested"]
    assert frame.iloc[audit.order].iloc[0].tolist() == [0.0, 2.0, 1.0, 2.0, 0.1, 1.0]


@pytest.mark.parametrize("make", [label_audit, pair_audit])
def test_table_without_pandas_says_what_to_install(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        make([0.5]).to_frame()


@pytest.mark.parametrize("make", [label_audit, pair_audit])
def test_results_compare_pickle_and_cannot_be_changed(make):
    audit = make([0.9, 0.1])
    assert audit == make([0.9, 0.1])
    assert audit != make([0.9, 0.2])
    assert pickle.loads(pickle.dumps(audit)) == audit
    with pytest.raises(ValueError, match="read-only"):
        audit.quality[0] = 0.0


def test_callers_arrays_stay_writeable():
    quality = np.array([0.5, 0.6])
    label_audit([0.5, 0.6], quality=quality)
    quality[0] = 0.1


def test_repr_tells_rate_interval_and_count():
    assert repr(label_audit([0.9, 0.1])) == "LabelAudit(n_samples=2, noise_rate=0.2 [0.1, 0.3], worth_checking=1)"
    assert "precision_positive=0.8 [0.7, 0.9], precision_negative=0.9, worth_checking=1" in repr(pair_audit([0.9, 0.1]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: label_audit([1.2]), ValueError, "quality must hold probabilities between 0 and 1, got 1.2 at label 0"),
        (
            lambda: label_audit([0.2], quality=np.zeros(3)),
            ValueError,
            "quality must hold one probability for each label",
        ),
        (lambda: label_audit([0.2], suggested=np.zeros(3)), ValueError, r"suggested must have shape \(1,\)"),
        (lambda: label_audit([0.2], transition=np.eye(3)), ValueError, r"transition must have shape \(2, 2\)"),
        (lambda: label_audit([0.2], noise_rate=2.0), ValueError, "noise_rate must lie between 0 and 1"),
        (lambda: label_audit([0.2], noise_interval=(0.5, 0.2)), ValueError, "noise_interval must be a pair"),
        (lambda: label_audit([0.2]).worth_checking(precision=0.0), ValueError, "precision must be a number above 0"),
        (lambda: label_audit([0.2]).worth_checking(precision="half"), ValueError, "precision must be a number above"),
        (lambda: label_audit([0.2]).worth_checking(1.0), ValueError, "chance must be a number of at least 0"),
        (lambda: label_audit([0.2]).worth_checking("half"), ValueError, "chance must be a number of at least 0"),
        (lambda: pair_audit([1.2]), ValueError, "quality must hold probabilities"),
        (lambda: pair_audit([0.5], pairs=[(0, 1)]), TypeError, "pairs must be a kernelwise.Pairs"),
        (lambda: pair_audit([0.5], noise=0.2), TypeError, "noise must be a kernelwise.PairNoise"),
        (lambda: pair_audit([0.5], suggested=[1, -1]), ValueError, "suggested has 2 values for 1 pairs"),
        (lambda: pair_audit([0.5], suggested=[0]), ValueError, "suggested must be"),
        (lambda: pair_audit([0.5], intervals={"rate": (0, 1)}), ValueError, "intervals names 'rate'"),
    ],
)
def test_what_cannot_be_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_what_was_checked_is_not_worth_checking_again():
    audit = label_audit([0.9, 0.1, 0.2], checked=Verdicts([1], ["a"]))
    assert audit.worth_checking() == 1
    assert audit.worth_checking(precision=0.5) == 1
