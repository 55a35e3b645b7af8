"""The model of sources: what it recovers, and what it may not do."""

import numpy as np
import pytest

from kernelwise.noise.sources import (
    STRENGTHS,
    Statements,
    _em,
    agreement,
    copied_sources,
    fit_sources,
    learn_shared,
    shared_prior,
)


def made(seed, n_rows, accuracies, n_classes=3, per_row=None, shares=None):
    """Answers with independent errors: the statements and the truth."""
    draw, m = np.random.RandomState(seed), len(accuracies)
    truth = draw.choice(n_classes, n_rows, p=shares)
    wrong = (truth[:, None] + draw.randint(1, n_classes, (n_rows, m))) % n_classes
    given = np.where(draw.rand(n_rows, m) < accuracies, truth[:, None], wrong)
    asked = draw.rand(n_rows, m).argsort(axis=1) < (per_row or m)
    rows, sources = np.nonzero(asked)
    return Statements(rows, sources, given[rows, sources], n_rows, m, n_classes, np.ones(m)), truth


def majority(answers):
    return (answers.votes + 1e-3 * np.random.RandomState(0).rand(*answers.votes.shape)).argmax(axis=1)


def right(chances, truth):
    return np.mean(chances.argmax(axis=1) == truth)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_em_ends_where_chances_and_confusions_agree(strength):
    """The chances follow from the confusions by Bayes' rule, written as a product over answers."""
    answers, _ = made(0, 60, [0.9, 0.7, 0.6, 0.4])
    fit = _em(answers, strength, False, None)
    for row in range(10):
        product = np.ones(3)
        for t in np.flatnonzero(answers.rows == row):
            product *= fit.confusion[answers.sources[t], :, answers.labels[t]]
        np.testing.assert_allclose(fit.chances[row], product / product.sum(), atol=1e-6)
    np.testing.assert_allclose(fit.confusion.sum(axis=2), 1, atol=1e-9)


def test_names_and_orders_do_not_matter():
    answers, _ = made(1, 80, [0.9, 0.8, 0.7, 0.5], per_row=3)
    draw = np.random.RandomState(2)
    row, source, label, place = draw.permutation(80), draw.permutation(4), draw.permutation(3), draw.permutation(240)
    other = Statements(
        row[answers.rows][place], source[answers.sources][place], label[answers.labels][place], 80, 4, 3, np.ones(4)
    )
    # Folds follow the order of the answers, so one strength is compared.
    one, two = _em(answers, 3.0, True, None).chances, _em(other, 3.0, True, None).chances
    np.testing.assert_allclose(two[row][:, label], one, atol=1e-7)


def test_accuracies_are_recovered_and_classes_found():
    accuracies = np.array([0.95, 0.85, 0.75, 0.65, 1 / 3])
    answers, truth = made(3, 800, accuracies)
    fit = fit_sources(answers)
    found = np.trace(fit.confusion, axis1=1, axis2=2) / 3
    np.testing.assert_allclose(found, accuracies, atol=0.04)
    assert right(fit.chances, truth) > right(answers.votes, truth) + 0.02


@pytest.mark.parametrize("seed", range(5))
def test_few_answers_per_source_are_not_believed(seed):
    """A hundred sources with nine answers each: their confusions cannot be known."""
    draw = np.random.RandomState(seed)
    answers, truth = made(seed, 300, draw.beta(7, 3, 100), per_row=3)
    assert right(fit_sources(answers).chances, truth) > np.mean(majority(answers) == truth) - 0.02


@pytest.mark.parametrize("seed", range(3))
def test_many_answers_per_row_are_never_worse_than_their_majority(seed):
    draw = np.random.RandomState(seed)
    answers, truth = made(seed, 200, draw.beta(6, 2, 60), n_classes=5, per_row=20, shares=[0.35, 0.3, 0.2, 0.1, 0.05])
    assert right(fit_sources(answers).chances, truth) >= np.mean(majority(answers) == truth) - 0.005


def test_a_rare_class_is_not_swallowed_and_does_not_swallow():
    answers, truth = made(4, 800, [0.85] * 30, n_classes=2, per_row=5, shares=[0.95, 0.05])
    chances = fit_sources(answers).chances
    assert right(chances, truth) > np.mean(majority(answers) == truth)
    assert abs(chances[:, 1].mean() - 0.05) < 0.03


def test_copies_are_found_and_count_once():
    answers, truth = made(5, 500, [0.7] * 4, n_classes=2)
    given = np.zeros((500, 4), int)
    given[answers.rows, answers.sources] = answers.labels
    given = np.column_stack([given, given[:, 0], np.where(np.random.RandomState(0).rand(500) < 0.9, given[:, 0], 0)])
    rows, sources = np.nonzero(np.ones_like(given))
    doubled = Statements(rows, sources, given[rows, sources], 500, 6, 2, np.ones(6))
    weight, copies = copied_sources(doubled)
    assert {(copy.one, copy.other) for copy in copies} == {(0, 4), (0, 5), (4, 5)}
    assert (weight[[0, 4, 5]] < 0.45).all()
    assert weight[1:4] == pytest.approx(1, abs=0.01)
    weighted = Statements(rows, sources, given[rows, sources], 500, 6, 2, weight)
    assert right(fit_sources(weighted).chances, truth) > right(fit_sources(doubled).chances, truth) + 0.03
    assert not copied_sources(answers)[1]


def test_programs_that_know_one_class_are_not_believed_blindly():
    """Each says one class or nothing; without care their answers would all be right by definition."""
    draw = np.random.RandomState(6)
    truth = draw.randint(2, size=600)
    parts = []
    for source, (label, precision) in enumerate([(0, 0.9), (0, 0.8), (1, 0.85), (1, 0.9), (1, 0.7)]):
        rows = np.flatnonzero(draw.rand(600) < np.where(truth == label, 0.4 * precision, 0.4 * (1 - precision)))
        parts.append((rows, np.full(len(rows), source), np.full(len(rows), label)))
    rows, sources, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
    answers = Statements(rows, sources, labels, 600, 5, 2, np.ones(5))
    assert answers.detectors().all()
    covered = np.bincount(rows, minlength=600) > 0
    chances = fit_sources(answers).chances[covered]
    assert right(chances, truth[covered]) > np.mean(majority(answers)[covered] == truth[covered]) - 0.02


def test_checked_rows_are_certain_and_teach_sources():
    answers, truth = made(7, 300, [0.4, 0.4, 0.9], n_classes=3)
    known = np.where(np.arange(300) < 60, truth, -1)
    fit = fit_sources(answers, None, known)
    np.testing.assert_array_equal(fit.chances[:60], np.eye(3)[truth[:60]])
    assert right(fit.chances[60:], truth[60:]) > 0.85


def test_belief_from_features_counts_if_it_predicts_answers():
    answers, truth = made(8, 400, [0.6, 0.6], n_classes=3)
    good, useless = 0.8 * np.eye(3)[truth] + 0.2 / 3, np.random.RandomState(0).dirichlet([1, 1, 1], 400)
    alone = right(fit_sources(answers).chances, truth)
    assert right(fit_sources(answers, good).chances, truth) > alone + 0.1
    assert right(fit_sources(answers, useless).chances, truth) > alone - 0.02


def test_krippendorffs_alpha_by_its_definition():
    answers, _ = made(9, 50, [0.8] * 5, per_row=3)
    rows, labels = answers.rows, answers.labels
    pairs = [(s, t) for s in range(len(rows)) for t in range(len(rows)) if s != t and rows[s] == rows[t]]
    observed = np.mean([labels[s] != labels[t] for s, t in pairs])
    expected = np.mean([labels[s] != labels[t] for s in range(len(rows)) for t in range(len(rows)) if s != t])
    raw, alpha = agreement(answers)
    assert raw == pytest.approx(1 - observed)
    assert alpha == pytest.approx(1 - observed / expected)


def test_checks_teach_how_often_all_sources_are_misled():
    answers, _ = made(10, 200, [0.9] * 5)
    prior = shared_prior(answers, 0.0, 0.0)
    assert prior[0] < shared_prior(answers, 1.0, 0.0)[0]
    wrong, fine = np.r_[np.full(30, 0.001), np.full(30, 0.999)], np.full(60, 0.999)
    assert learn_shared(prior, wrong, np.full(60, 1 / 3)).mean > 0.4
    assert learn_shared(prior, fine, np.full(60, 1 / 3)).mean < 0.05
    none = learn_shared(prior, np.array([]), np.array([]))
    assert none.mean == pytest.approx(prior[0], abs=0.01)
    assert none.deviation == pytest.approx(prior[1], abs=0.01)
