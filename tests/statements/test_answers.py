"""Answers are read from tables of any kind; what is missing is no answer."""

import numpy as np
import pandas as pd
import pytest

from kernelwise import Answers

TABLE = {"Ann": ["cat", "cat", None], "Bob": ["dog", None, " "]}


@pytest.mark.parametrize(
    "table", [TABLE, pd.DataFrame(TABLE), np.array([["cat", "dog"], ["cat", None], [np.nan, ""]], dtype=object)]
)
def test_a_table_of_any_kind_has_the_same_answers(table):
    sources = ["Ann", "Bob"]
    answers = Answers.from_table(table, sources=sources)
    assert answers == Answers([0, 1, 0], ["Ann", "Ann", "Bob"], ["cat", "cat", "dog"], n_rows=3)
    assert answers.source_names.tolist() == sources
    assert answers.classes.tolist() == ["cat", "dog"]


def test_minus_one_is_no_answer_beside_the_codes_of_classes_only():
    assert len(Answers.from_table(np.array([[0, -1], [1, 1]]))) == 3
    assert Answers.from_table(np.array([[1, -1], [1, 1]])).classes.tolist() == [-1, 1]
    with_gaps = pd.DataFrame({"a": [0.0, np.nan, 1.0], "b": [1.0, 1.0, -1.0]})
    assert Answers.from_table(with_gaps).classes.tolist() == [0, 1]


def test_a_column_of_labels_and_one_of_sources():
    answers = Answers.from_column(["x", "y", None], ["A", "B", "A"])
    assert answers == Answers([0, 1], ["A", "B"], ["x", "y"], n_rows=3)


def test_a_source_counts_once_if_it_repeats_itself_and_twice_if_it_contradicts_itself():
    answers = Answers([0, 0, 1, 1], ["A"] * 4, ["x", "x", "x", "y"], n_rows=2)
    assert sorted(zip(answers.rows.tolist(), answers.labels.tolist(), strict=True)) == [(0, "x"), (1, "x"), (1, "y")]


def test_language_models_are_known_by_their_names_and_kinds_may_be_given():
    names = ["gpt-4o", "flan-t5-xl", "text-ada-001", "Ada", "Claudette", "worker_5", "rule_t5x", "opt-in"]
    answers = Answers.from_table(np.ones((2, len(names)), int) * [[0], [1]], sources=names, kinds={"Ada": "person"})
    kinds = dict(zip(answers.source_names.tolist(), answers.source_kinds, strict=True))
    assert {name for name, kind in kinds.items() if kind == "language model"} == {
        *("gpt-4o", "flan-t5-xl", "text-ada-001"),
        "Claudette",  # a name that a kind should be given for
    }
    assert kinds["Ada"] == "person"
    assert kinds["worker_5"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 5], ["a", "b"], ["x", "y"]), "rows must lie between 0 and 1, got 5"),
        (([0.5], ["a"], ["x"]), "rows must hold integer positions"),
        (([0, 1], ["a"], ["x", "y"]), "sources must hold one value for each of 2 answers"),
        (([0], [None], ["x"]), "sources lacks the name"),
        (([0], ["a"], [None]), "every label is missing"),
    ],
)
def test_what_does_not_fit_is_named(arguments, words):
    with pytest.raises((ValueError, TypeError), match=words):
        Answers(*arguments, n_rows=2)


def test_kinds_that_are_unknown_are_refused():
    with pytest.raises(ValueError, match="kinds"):
        Answers([0], ["a"], ["x"], n_rows=1, kinds={"a": "robot"})
    with pytest.raises(ValueError, match="'b'"):
        Answers([0], ["a"], ["x"], n_rows=1, kinds={"b": "person"})


def test_ids_that_pandas_does_not_know_are_refused_with_the_remedy():
    with pytest.raises(TypeError, match="get_indexer"):
        Answers(["a", "b"], ["Ann", "Bob"], [0, 1], n_rows=2)
    with pytest.raises(ValueError, match="-1, which pandas gives for an unknown id; leave such answers out"):
        Answers([0, -1], ["Ann", "Bob"], [0, 1], n_rows=2)


def test_columns_of_a_table_have_one_length():
    with pytest.raises(ValueError, match="'Ann' has 2, 'Bob' 1"):
        Answers.from_table({"Ann": ["a", "b"], "Bob": ["a"]})


def test_classes_that_differ_in_capitals_or_blanks_alone_are_warned_of():
    with pytest.warns(UserWarning, match="'Yes' and 'yes ', which differ in capitals or blanks alone"):
        Answers([0, 1], ["Ann", "Bob"], ["Yes", "yes "], n_rows=2)
    Answers([0, 1], ["Ann", "Bob"], ["a", "A"], n_rows=2)  # single letters differ
