"""The parts of learning from pairs."""

import numpy as np
import pytest

from kernelwise import PairNoise, Pairs
from kernelwise.kernels.bank import AttributeBank
from kernelwise.optim.bounded_newton import minimize_bounded
from kernelwise.pairs.classes.evidence import PairEvidence, Rates, informative, row_softmax, with_both_kinds
from kernelwise.pairs.classes.features import ClassFeatures
from kernelwise.pairs.classes.from_sample import rows_to_learn_from
from kernelwise.pairs.classes.search import ClassSearch
from kernelwise.pairs.problem import forward_problem, pair_value_matrix, transition_matrix
from kernelwise.pairs.statistics import (
    PairMeans,
    check_informative,
    implied_prior,
    keep_feasible,
    mean_magnitudes,
    true_class_means,
    true_statistic,
)


def test_pairevidence() -> None:
    evidence, index = PairEvidence.of_pairs(Pairs([0, 1, 1], [1, 0, 2], [1, 1, -1], n_samples=3))
    assert evidence.plus.tolist() == [2.0, 0.0]
    assert evidence.minus.tolist() == [0.0, 1.0]
    assert index.tolist() == [0, 0, 1]
    assert evidence.odds(Rates(0.1, 0.1)).round(3).tolist() == [81.0, 0.111]


def test_row_softmax() -> None:
    assert row_softmax(np.array([[0.0, 0.0], [1000.0, 0.0]])).tolist() == [[0.5, 0.5], [1.0, 0.0]]


def test_informative() -> None:
    assert [round(rate, 3) for rate in informative(Rates(0.7, 0.6))] == [0.545, 0.445]


def test_with_both_kinds() -> None:
    links = Pairs([0, 1], [1, 2], [1, 1], n_samples=5)
    assert (
        repr(with_both_kinds(links, np.random.RandomState(0)))
        == "Pairs(n_samples=5, n_pairs=4, positive=2, negative=2)"
    )


def test_classfeatures() -> None:
    X = np.repeat([0.0, 1.0], 20)[:, None] + 0.1 * np.random.RandomState(0).randn(40, 1)
    features = ClassFeatures.of_kernels(X, None, np.random.RandomState(0))
    told = features.tell(np.eye(2)[np.repeat([0, 1], 20)])
    assert bool((told.prior.argmax(axis=1) == np.repeat([0, 1], 20)).all())


def test_rows_to_learn_from() -> None:
    pairs = PairEvidence(np.array([7, 7, 8]), np.array([8, 9, 9]), np.ones(3), np.zeros(3), n_samples=1000)
    assert {7, 8, 9} <= set(rows_to_learn_from(pairs, 100, np.random.RandomState(0)).tolist())


def test_classsearch() -> None:
    y = np.repeat([0, 1], 40)
    X = np.column_stack([y, np.zeros(80)]) + 0.4 * np.random.RandomState(0).randn(80, 2)
    pairs = Pairs.from_labels(y, n_pairs=240, random_state=0).flip(0.2, random_state=0)
    features = ClassFeatures.of_kernels(X, None, np.random.RandomState(0))
    found = ClassSearch(X, features, PairEvidence.of_pairs(pairs)[0], 2, seed=0).find()
    right = np.mean(found.fit.belief.argmax(axis=1) == y)
    assert bool(max(right, 1 - right) > 0.9)


def test_pairmeans() -> None:
    pairs = Pairs([0, 0, 1], [1, 2, 2], [1, -1, -1], n_samples=3)
    means = PairMeans.of(pairs, np.array([[0.9], [0.2], [0.4]]))
    np.testing.assert_allclose(means.given_positive, [0.9], atol=1e-6)
    np.testing.assert_allclose(means.given_negative.round(3), [0.3], atol=1e-6)
    np.testing.assert_allclose(means.overall, [0.5], atol=1e-6)
    np.testing.assert_allclose(means.given_statistic.round(3), [0.1], atol=1e-6)


def test_implied_prior() -> None:
    assert round(implied_prior(PairNoise(0.5, 0.74, 0.83), 0.5), 3) == 0.455


def test_check_informative() -> None:
    with pytest.raises(ValueError, match=", so a pair is as likely to be truly"):
        check_informative(PairNoise(0.5, 0.6, 0.4))


def test_true_class_means() -> None:
    means = PairMeans(np.array([0.75]), np.array([0.25]), np.array([0.5]), fraction_positive=0.5)
    assert [mean.round(6).item() for mean in true_class_means(means, PairNoise(0.5, 0.75, 0.75))] == [1.0, 0.0]


def test_true_statistic() -> None:
    means = PairMeans(np.array([0.75]), np.array([0.25]), np.array([0.5]), fraction_positive=0.5)
    np.testing.assert_allclose(true_statistic(means, PairNoise(0.5, 0.75, 0.75)).round(6), [0.5], atol=1e-6)


def test_mean_magnitudes() -> None:
    np.testing.assert_allclose(
        mean_magnitudes(Pairs([0, 0], [1, 2], [1, -1], n_samples=3), np.array([[0.5, 1.0], [0.5, -3.0]])),
        [0.5, 2.0],
        atol=1e-6,
    )


def test_keep_feasible() -> None:
    np.testing.assert_allclose(keep_feasible(np.array([3.0, -0.1]), np.array([1.0, 1.0]), 0.9), [0.9, -0.1], atol=1e-6)


def test_forward_problem() -> None:
    pairs = Pairs([0, 0, 1, 2], [1, 2, 2, 3], [1, 1, -1, -1], n_samples=4)
    problem = forward_problem(np.array([[2.0], [1.0], [1.0], [0.5]]), pairs, PairNoise(0.5, 0.9, 0.9), penalty=1e-3)
    assert minimize_bounded(problem).converged


def test_pair_value_matrix() -> None:
    bank = AttributeBank(np.array([[1.0, 2.0], [3.0, 1.0]]))
    np.testing.assert_allclose(pair_value_matrix(bank, Pairs([0], [1], [1], n_samples=2)), [[3.0, 2.0]], atol=1e-6)


def test_transition_matrix() -> None:
    np.testing.assert_allclose(
        transition_matrix(PairNoise(0.5, 0.75, 0.75), 0.5), [[0.75, 0.25], [0.25, 0.75]], atol=1e-6
    )
