"""Columns that say who gave the label are no features."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

import kernelwise as kw
from kernelwise.labels.leaks import find_annotator_columns, names_annotators
from kernelwise.tables.frames import as_table


@pytest.mark.parametrize(
    "name",
    ["annotator", "AnnotatorID", "labelled_by", "labeled by", "worker_id", "WorkerId", "RATER", "Coder 1", "user"]
    + ["Bewerterin", "annotateur", "évaluateur", "anotadores", "reviewer name", "label_source", "coded-by"],
)
def test_names_of_those_who_label(name):
    assert names_annotators(name)


@pytest.mark.parametrize(
    "name", ["user_age", "coworkers", "data_source", "source of income", "rate", "judged", "by", ""]
)
def test_other_names(name):
    assert not names_annotators(name)


def found(values, labels=None, name="rater"):
    table = as_table(pd.DataFrame({name: values, "x": np.arange(len(values)) * 1.5}))
    return find_annotator_columns(table, np.arange(len(values)) % 2 if labels is None else labels)


def test_those_who_label_are_few_and_are_no_labels():
    people = np.array(["Ann", "Bob", "Cy"] * 20)
    assert found(people) == ["rater"]
    assert found(np.arange(60) % 4) == ["rater"]  # numbers of people
    assert found([f"person {k}" for k in range(60)]) == []  # each of them in one row
    assert found(["Ann"] * 60) == []
    assert found(np.linspace(0, 1, 60)) == []
    assert found(np.tile([0.5, 1.5, 2.5], 20)) == []  # ratings
    said = np.array(["yes", "no"] * 30)
    assert found(said, said[::-1]) == []  # an answer and not a person


def test_a_bad_annotator_is_not_hidden_by_the_column():
    X, y = make_classification(300, 6, flip_y=0, class_sep=1.5, random_state=0)
    draw = np.random.RandomState(0)
    who = np.array(["Ann", "Bob", "Cy", "Dan"])[draw.randint(4, size=300)]
    given = np.where(who == "Dan", draw.randint(2, size=300), y)
    frame = pd.DataFrame(X).add_prefix("x").assign(worker=who)
    with pytest.warns(UserWarning, match=r"'worker' says who gave the label.*Answers.from_column.*--annotator"):
        model = kw.NoisyLabelClassifier(random_state=0).fit(frame, given)
    wrong = given != y
    assert wrong[np.argsort(model.label_quality_)[: wrong.sum()]].mean() > 0.7
    assert model.feature_importances_[-1] == 0.0
    assert len(model.feature_importances_) == model.n_features_in_ == 7
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame.assign(worker="Eve")))
