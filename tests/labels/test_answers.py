"""The audit of several answers per row, as users see it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import roc_auc_score

from kernelwise import (
    Answers,
    NoisyLabelClassifier,
    Verdicts,
    audit_answers,
    audit_labels,
    flip_labels,
    guaranteed_share,
    plan_answers,
    plan_checks,
)


def crowd(seed=0, n_rows=300, rates=(0.1, 0.2, 0.3, 0.4), n_classes=2):
    """The truth, and a table with a column per source; a flip draws any other class."""
    truth = np.random.RandomState(seed).randint(n_classes, size=n_rows)
    return truth, np.stack([flip_labels(truth, rate, random_state=seed + k) for k, rate in enumerate(rates)], axis=1)


def test_every_figure_comes_from_the_chances():
    truth, table = crowd()
    audit = audit_answers(None, Answers.from_table(table))
    np.testing.assert_allclose(audit.quality, audit.probabilities.max(axis=1))
    assert (audit.labels == audit.classes[audit.probabilities.argmax(axis=1)]).all()
    assert audit.noise_rate == pytest.approx(np.mean(1 - audit.quality))
    rows, column = audit.answers.rows, audit.answers.label_index
    np.testing.assert_allclose(audit.answer_quality, audit.probabilities[rows, column])
    for source in range(4):
        here = audit.answers.source_index == source
        assert audit.sources.accuracy[source] == pytest.approx(audit.answer_quality[here].mean())
    assert audit.noise_interval[0] <= audit.noise_rate <= audit.noise_interval[1]
    assert (audit.labels == truth).mean() > 0.88


@pytest.mark.parametrize("seed", range(20))
def test_the_source_that_answers_at_random_is_the_worst_of_four(seed):
    _, table = crowd(seed, rates=(0.1, 0.2, 0.25, 0.5))
    sources = audit_answers(None, Answers.from_table(table, sources=["a", "b", "c", "random"])).sources
    assert sources.source[sources.accuracy.argmin()] == "random"


@pytest.mark.parametrize("seed", range(3))
def test_with_one_answer_per_row_features_tell_sources_apart(seed):
    X, y = load_wine(return_X_y=True)
    draw = np.random.RandomState(seed)
    source = draw.randint(4, size=len(y))
    given = np.where(source == 2, draw.randint(3, size=len(y)), flip_labels(y, 0.1, random_state=seed))
    audit = audit_answers(X, Answers.from_column(given, np.array(list("ABCD"))[source]), random_state=0)
    assert audit.sources.source[audit.sources.accuracy.argmin()] == "C"
    assert (audit.labels == y).mean() > (given == y).mean() + 0.05


def test_features_improve_the_consensus_and_a_classifier_learns_from_answers():
    X, y = load_breast_cancer(return_X_y=True)
    _, table = y, np.stack([flip_labels(y, rate, random_state=k) for k, rate in enumerate((0.2, 0.3, 0.35))], axis=1)
    answers = Answers.from_table(table)
    alone, seen = audit_answers(None, answers), audit_answers(X, answers, random_state=0)
    assert (seen.labels == y).mean() > (alone.labels == y).mean() + 0.05
    model = NoisyLabelClassifier(random_state=0).fit(X, answers)
    assert model.score(X, y) > 0.93
    np.testing.assert_allclose(model.label_probabilities_, seen.probabilities, atol=1e-9)
    assert model.noise_rate_ == pytest.approx(seen.noise_rate)
    assert model.answer_audit_.sources.shape == (3,)


def test_checks_by_people_count_and_give_a_guarantee():
    truth, table = crowd(3, n_rows=600, rates=(0.3, 0.3, 0.3))
    misled = np.random.RandomState(0).rand(600) < 0.3
    table[misled] = 1 - truth[misled, None]
    answers = Answers.from_table(table)
    before = audit_answers(None, answers)
    plan = plan_checks(before, 100, random_state=0)
    checked = Verdicts(plan.rows, truth[plan.rows], chance=plan.chance, draw=plan.draw, drawn_from=plan.drawn_from)
    after = audit_answers(None, answers, checked=checked)
    wrong = np.mean(before.labels != truth)
    assert abs(after.noise_rate - np.mean(after.labels != truth)) < abs(before.noise_rate - wrong) < 0.4
    assert (after.labels == before.labels).all()
    assert (after.suggested[plan.rows] == truth[plan.rows]).all()
    np.testing.assert_array_equal(after.quality[plan.rows], after.labels[plan.rows] == truth[plan.rows])
    assert np.mean(after.suggested == truth) > np.mean(before.labels == truth)
    low, high = after.noise_interval
    assert low <= np.mean(after.labels != truth) <= high
    assert guaranteed_share(after.labels, checked).high == pytest.approx(high, abs=1e-9)


def test_chances_that_contradict_the_checks_follow_them():
    draw = np.random.RandomState(0)
    truth = draw.randint(2, size=400)
    # Rules that know one class each contradict each other often, and are right nearly always where they are alone.
    rules = np.stack([np.where(draw.rand(400) < 0.5, k % 2, -1) for k in range(6)], axis=1)
    rules[(rules != truth[:, None]) & (draw.rand(400, 6) < 0.55)] = -1
    answers = Answers.from_table(rules)
    before = audit_answers(None, answers)
    known = np.array([label is not None for label in before.labels.tolist()])
    right = np.mean(before.labels[known].astype(int) == truth[known])
    plan = plan_checks(before, 150, random_state=0)
    checked = plan.verdicts(truth[plan.rows])
    after, bound = audit_answers(None, answers, checked=checked), guaranteed_share(before.labels, checked)
    assert bound.low - 1e-9 <= after.noise_rate <= bound.high + 1e-9
    assert after.noise_interval == pytest.approx((bound.low, bound.high), abs=1e-9)
    assert abs(1 - after.noise_rate - right) < max(abs(1 - before.noise_rate - right), 0.05)


def test_checks_that_cannot_be_of_these_data_are_refused():
    truth, table = crowd()
    audit = audit_answers(None, Answers.from_table(table))
    plan = plan_checks(audit, 20, random_state=0)
    with pytest.raises(TypeError, match=r"labels must be a list .* got a mapping"):
        plan.verdicts(dict(zip(plan.rows.tolist(), truth[plan.rows].tolist(), strict=True)))
    with pytest.raises(ValueError, match=r"checked says .* no row has one of these labels"):
        audit_answers(None, Answers.from_table(table), checked=Verdicts([0, 1, 2], [17, 18, 17]))


@pytest.mark.parametrize("rates", [(0.1,), (0.1, 0.2)])
def test_one_source_or_two_do_not_show_how_good_they_are(rates):
    truth, table = crowd(4, n_rows=400, rates=rates)
    audit = audit_answers(None, Answers.from_table(table))
    low, high = audit.noise_interval
    assert low <= np.mean(audit.labels != truth) <= high
    assert high - low > 0.25
    assert not audit.diagnostic["reliable"]
    right = np.mean(table == truth[:, None], axis=0)
    assert ((audit.sources.low <= right) & (right <= audit.sources.high)).all()


def test_sources_that_know_one_class_each_and_never_meet():
    truth = np.random.RandomState(0).randint(2, size=300)
    answers = Answers.from_column(truth, np.array(["A", "B"])[truth])
    assert (audit_answers(None, answers).labels == truth).all()
    X = np.random.RandomState(1).randn(300, 3) + 2 * truth[:, None]
    assert np.mean(audit_answers(X, answers, random_state=0).labels == truth) > 0.95


@pytest.mark.filterwarnings("error")
def test_classes_of_one_answer_or_of_one_check():
    truth, table = crowd()
    table[0, 0] = 5
    checked = Verdicts([3, 4, 5], [truth[3], 7, truth[5]])
    audit = audit_answers(None, Answers.from_table(table), checked=checked)
    assert audit.classes.tolist() == [0, 1, 5, 7]
    assert np.isfinite(audit.probabilities).all()
    with pytest.raises(ValueError, match="answers has one class only, 0"):
        audit_answers(None, Answers.from_table(np.zeros((50, 3), dtype=int)))


def test_rows_without_answers():
    truth, table = crowd(n_rows=100)
    table[:10] = -1
    alone = audit_answers(None, Answers.from_table(table))
    assert alone.labels[:10].tolist() == [None] * 10
    assert np.isnan(alone.quality[:10]).all()
    X = truth[:, None] + 0.3 * np.random.RandomState(0).randn(100, 3)
    seen = audit_answers(X, Answers.from_table(table), random_state=0)
    assert (seen.labels[:10] == truth[:10]).mean() >= 0.8
    assert not np.isnan(seen.quality).any()


def test_language_models_are_said_to_err_together():
    _, table = crowd(rates=(0.3, 0.3, 0.35, 0.4))
    people, models = (
        audit_answers(None, Answers.from_table(table, kinds=kind)) for kind in ("person", "language model")
    )
    assert models.noise_rate > people.noise_rate + 0.1
    assert models.diagnostic["reason"].startswith("Language models err together")
    assert not models.diagnostic["reliable"]


def test_plans_ask_whom_it_is_worth_asking():
    _truth, table = crowd(5, n_rows=600, rates=(0.05, 0.3, 0.45))
    draw = np.random.RandomState(0)
    table = np.where(draw.rand(600, 3) < 0.3, -1, table)
    table[0] = [1, 1, 1]
    audit = audit_answers(None, Answers.from_table(table, sources=["good", "fair", "bad"]))
    plan = plan_answers(audit, 40)
    given = set(zip(audit.answers.rows.tolist(), audit.answers.sources.tolist(), strict=True))
    asked = list(zip(plan.rows.tolist(), plan.sources.tolist(), strict=True))
    assert len(set(asked)) == 40
    assert not given & set(asked)
    assert np.mean(plan.sources == "good") > 0.9
    assert (plan.information > 0).all()
    dear = plan_answers(audit, 40, costs={"good": 50.0})
    assert np.mean(dear.sources == "good") < 0.2
    everything = plan_answers(audit, 10_000)
    assert len(everything) <= 1800 - len(audit.answers)


def test_planned_answers_are_worth_twice_as_many_random_ones():
    truth, table = crowd(6, n_rows=400, rates=(0.1, 0.2, 0.3, 0.3, 0.4, 0.45))
    draw, gains = np.random.RandomState(1), []
    for _ in range(3):
        order = draw.rand(400, 6).argsort(axis=1).argsort(axis=1)
        rest = draw.permutation(np.argwhere(order >= 2))

        def accuracy(known, table=table):
            audit = audit_answers(None, Answers.from_table(np.where(known, table, -1)))
            return audit, np.mean(audit.labels == truth)

        twice = order < 2
        twice[tuple(rest[:400].T)] = True
        planned = order < 2
        for _ in range(4):
            plan = plan_answers(accuracy(planned)[0], 50)
            planned[plan.rows, plan.sources] = True
        assert planned.sum() == (order < 2).sum() + 200
        gains.append(accuracy(planned)[1] - accuracy(twice)[1])
    assert np.mean(gains) > -0.01


def test_results_as_tables_and_words():
    _, table = crowd(rates=(0.1, 0.2, 0.7))
    names = np.array(["cat", "dog"])[table]
    frame = pd.DataFrame(names, columns=["Ann", "Bob", "Cy"], index=[f"row {k}" for k in range(300)])
    features = pd.DataFrame({"x": table[:, 0] + 2 * np.random.RandomState(0).randn(300)}, index=frame.index)
    audit = audit_answers(features, Answers.from_table(frame))
    assert audit.to_frame().columns.tolist() == ["label", "quality", "n_answers"]
    assert audit.to_frame().index.tolist() == frame.index.tolist()
    assert audit.errors_of("Cy")[0].startswith(("says dog for ", "says cat for "))
    assert not audit.errors_of("Ann")
    assert pd.DataFrame(audit.sources).shape == (3, 6)
    assert repr(audit).startswith("AnswerAudit(n_rows=300, n_answers=900, n_sources=3, noise_rate=")
    with pytest.raises(ValueError, match="source"):
        audit.errors_of("Eve")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, answers: audit_answers(X, [[0, 1]]), "answers must be a kernelwise.Answers"),
        (lambda X, answers: audit_answers(X[:5], answers), "X has 5 rows"),
        (lambda X, answers: audit_answers(X, answers, checked=Verdicts([900], [1])), "900"),
        (lambda X, answers: NoisyLabelClassifier().fit(X, answers, np.ones(300)), "sample_weight"),
        (lambda X, answers: plan_answers(audit_answers(None, answers), 5, costs={"Eve": 2.0}), "'Eve'"),
        (lambda X, answers: plan_answers(answers, 5), "audit"),
    ],
)
def test_what_does_not_fit_is_named(call, words):
    _, table = crowd()
    with pytest.raises((ValueError, TypeError), match=words):
        call(np.zeros((300, 2)), Answers.from_table(table))


def test_the_labels_of_one_source_are_audited_by_the_others():
    truth, table = crowd(5, rates=(0.1, 0.2, 0.3))
    table[:40, 2] = -1
    audit = audit_answers(None, Answers.from_table(table))
    of_one = audit.labels_of(2)
    assert [label is None for label in of_one.labels.tolist()] == [True] * 40 + [False] * 260
    wrong = table[40:, 2] != truth[40:]
    assert roc_auc_score(~wrong, of_one.quality[40:]) > 0.85
    assert of_one.noise_rate == pytest.approx(1 - audit.sources["accuracy"][2])
    assert of_one.noise_interval[0] <= wrong.mean() <= of_one.noise_interval[1]
    sure = of_one.quality[40:] > 0.5
    assert (of_one.suggested[40:][sure] == table[40:, 2][sure]).all()
    with pytest.raises(ValueError, match="several answers"):
        audit.given_labels()


def test_one_column_of_several_sources_is_audited_as_given():
    X, y = load_wine(return_X_y=True)
    source = np.random.RandomState(0).randint(4, size=len(y))
    given = np.where(source == 2, np.random.RandomState(1).randint(3, size=len(y)), y)
    audit = audit_answers(X, Answers.from_column(given, source), random_state=0).given_labels()
    assert (audit.labels == given).all()
    assert roc_auc_score(given == y, audit.quality) > 0.95
    assert audit.noise_interval[0] <= (given != y).mean() <= audit.noise_interval[1]


def test_answers_in_the_place_of_labels_are_refused_with_the_remedy():
    table = np.array([[0, 1], [1, 1], [0, 0]])
    with pytest.raises(TypeError, match="audit_answers"):
        audit_labels(np.arange(3.0)[:, None], Answers.from_table(table))
    with pytest.raises(ValueError, match=r"Answers\.from_table"):
        audit_labels(np.arange(3.0)[:, None], table)


def test_the_belief_is_learned_from_a_sample():
    X, truth = load_breast_cancer(return_X_y=True)
    table = np.stack([flip_labels(truth, rate, random_state=k) for k, rate in enumerate((0.2, 0.3))], axis=1)
    sampled = NoisyLabelClassifier(sample_size=500, random_state=0).fit(X, Answers.from_table(table))
    audit = audit_answers(X, Answers.from_table(table), sample_size=500, random_state=0)
    np.testing.assert_allclose(audit.quality, sampled.label_quality_)
    whole = audit_answers(X, Answers.from_table(table), random_state=0)
    assert np.abs(audit.quality - whole.quality).max() > 0.01
