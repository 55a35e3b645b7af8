"""Columns that give the label away although they are no exact copies."""

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

import kernelwise as kw
from kernelwise.labels.leaks import find_leaks, leaking_numbers
from kernelwise.tables.columns import Column, Table
from kernelwise.tables.frames import as_table


@pytest.fixture(scope="module")
def heart():
    X, y = kw.datasets.load_heart(return_X_y=True)
    given = kw.flip_labels(np.where(y > 0, "ill", "well"), 0.15, random_state=0)
    return pd.DataFrame(X).add_prefix("x"), given


def leaking(kind, given):
    draw, n = np.random.RandomState(1), len(given)
    drawn = np.where(draw.rand(n) < 0.03, draw.choice(["ill", "well"], n), given)
    if kind == "some cells drawn anew":
        return drawn
    if kind == "many cells blank":
        return np.where(draw.rand(n) < 0.3, None, drawn)
    if kind == "a score":
        return (given == "ill") + 0.2 * draw.randn(n)
    if kind == "a code":
        return np.char.add(draw.choice(["a", "b", "c"], n), drawn)
    towns = draw.choice(["Ulm", "Bern", "Graz", "Linz"], (n, 3))
    return np.array(
        [f"from {a} via {b} to {c} a case {label} again" for (a, b, c), label in zip(towns, given, strict=True)]
    )


@pytest.mark.parametrize("kind", ["some cells drawn anew", "many cells blank", "a score", "a text", "a code"])
def test_an_inexact_copy_is_named_with_figures(heart, kind):
    X, given = heart
    found = find_leaks(as_table(X.assign(late=leaking(kind, given))), given.astype(object))
    assert [one.column for one in found] == ["late"]
    assert "alone predict" in found[0].how
    assert "everything else together" in found[0].how
    assert ("'ill'" in found[0].how) == (kind == "a text")


def test_an_inexact_copy_in_an_array_is_named(heart):
    X, given = heart
    copy = np.where(leaking("some cells drawn anew", given) == "ill", 1.0, 2.0)
    assert [one.column for one in leaking_numbers(np.column_stack([X, copy]), given.astype(object))] == ["x14"]


def test_two_copies_do_not_hide_each_other(heart):
    X, given = heart
    both = X.assign(one=leaking("many cells blank", given), two=leaking("a score", given))
    found = find_leaks(as_table(both), given.astype(object))
    assert {one.column for one in found} == {"one", "two"}
    (how,) = (one.how for one in found if one.column == "one")
    assert "everything else together without 'two', which may be a copy too, " in how


def test_dates_are_named_where_every_class_is_a_time_of_its_own(heart):
    X, given = heart
    days = pd.to_timedelta(400 * (given == "ill") + np.arange(len(given)) % 300, unit="D")
    late = pd.Series(pd.Timestamp("2024-01-01") + days)
    (found,) = find_leaks(as_table(X.assign(closed=late)), given.astype(object))
    assert found.column == "closed"
    assert "its dates up to 2024-09-24 go with the label 'well', and later ones with another label" in found.how


def test_a_score_of_ten_classes_is_named():
    draw = np.random.RandomState(0)
    code = draw.randint(10, size=1000)
    X = pd.DataFrame(draw.randn(1000, 3) + 0.2 * code[:, None]).add_prefix("x")
    found = find_leaks(
        as_table(X.assign(late=code + 0.2 * draw.randn(1000))), np.char.add("c", code.astype(str)).astype(object)
    )
    assert [one.column for one in found] == ["late"]


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_strong_columns_beside_others_that_say_as_much_are_honest(name):
    data = getattr(datasets, f"load_{name}")(as_frame=True)
    labels = data.target.astype(str).to_numpy(dtype=object)
    assert find_leaks(as_table(data.data), labels) == []
    assert leaking_numbers(data.data.to_numpy(), labels) == []


def test_a_single_column_may_tell_the_label():
    words = Column("said", "categorical", np.array(["up", "down"] * 40, dtype=object))
    given = np.array(["p", "q"] * 40, dtype=object)
    given[:2] = given[1::-1]
    assert find_leaks(Table.of("X", [words]), given) == []
