"""Overlap or errors near the boundary: the average of two explanations against its formulas, and on made data."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit

from kernelwise import NoisyLabelClassifier, audit_labels, estimate_label_noise
from kernelwise.noise import explanations as boundary
from kernelwise.noise.explanations import explain_label_noise, explained, fit_label_noise
from kernelwise.noise.posterior import NoisePosterior


def columns(score):
    return np.column_stack([np.zeros(len(score)), score])


def one_setting(slope=1.0, flip=0.1):
    transition = np.array([[1 - flip, flip], [flip, 1 - flip]])
    return NoisePosterior(
        np.ones(1), np.array([slope]), np.zeros((1, 2)), transition[None], np.full((1, 2), 0.5), log_evidence=-30.0
    )


def test_every_quantity_follows_its_formula(rng):
    """For two classes, the curves of errors near the boundary are T and g; the rest by hand."""
    score, weight = rng.normal(size=50), rng.uniform(0.5, 2, 50)
    overlap = one_setting()
    given = rng.integers(0, 2, 50)
    noise = explained(overlap, columns(score), given, weight)
    p = expit(score)
    labels = 0.1 + 0.8 * p
    b = weight @ np.minimum(labels, 1 - labels) / weight.sum() - 0.1
    ratio = np.exp(noise.fading.log_evidence - overlap.log_evidence)
    errors = 48 * b * (0.5 - b) * np.exp(-0.1 / boundary.SCARCE) * ratio
    density = np.exp(-b / boundary.OVERLAP) / boundary.OVERLAP
    share = errors / (errors + density)
    assert noise.boundary_share == pytest.approx(share)

    T, g = (found[:, 1] for found in noise.fading.probabilities(score))
    mixed = (1 - share) * labels + share * g
    wrong = np.minimum(mixed, 1 - mixed)
    q = weight @ wrong / weight.sum()
    assert noise.largest_rate == pytest.approx(q)
    assert noise.counting_error == pytest.approx(np.sqrt(q * (1 - q) / weight.sum()))
    margin = 1.959964 * noise.counting_error
    for name, (low, high), mean, posterior in zip(
        ("classes overlap", "classes do not overlap"),
        (overlap.interval(0.95), (q - margin, q + margin)),
        noise.means,
        noise.label_posteriors(columns(score), given),
        strict=True,
    ):
        assert mean == pytest.approx(weight @ (1 - posterior[np.arange(50), given]) / weight.sum())
        assert noise.explanations[name] == pytest.approx((min(low, mean), max(high, mean)))

    np.testing.assert_allclose(noise.true_probabilities(columns(score))[:, 1], (1 - share) * p + share * T)


def test_a_label_is_judged_by_bayes_under_both_explanations(rng):
    overlap = one_setting(flip=0.2)
    noise = explained(overlap, columns(np.linspace(-2, 2, 40)), np.repeat([0, 1], 20))
    score, given = columns(np.array([1.0])), np.array([0])
    T, g = (found[0, 1] for found in noise.fading.probabilities(score[:, 1]))
    right = max(g, 1 - g)  # of two classes, a label is wrong as often as it is not the more probable one
    errors = T * (1 - right) / (T * (1 - right) + (1 - T) * right)
    share = noise.boundary_share
    expected = (1 - share) * overlap.label_posterior(score, given)[0, 1] + share * errors
    assert noise.label_posterior(score, given)[0, 1] == pytest.approx(expected)


def test_errors_near_the_boundary_of_unbalanced_classes_are_not_unequal_rates(rng):
    """One sample in eight is beyond the boundary; the others are wrong up to every second time. Who is who stays."""
    right = 0
    for _ in range(5):
        score = rng.normal(-1.15, 1.0, 700)
        nearness = 1 - np.argsort(np.argsort(np.abs(score))) / 700
        true = (score > 0).astype(int)
        given = np.where(rng.random(700) < nearness / 2, 1 - true, true)
        chosen = explain_label_noise(columns(score), given).true_probabilities(columns(score)).argmax(axis=1)
        right += np.mean(chosen == true) / 5
    assert right > 0.9


def test_unequal_rates_are_not_errors_near_the_boundary(rng):
    true = np.repeat([0, 1], 350)
    score = (2.0 * true - 1) * rng.uniform(0, 4, 700)
    given = np.where(rng.random(700) < np.where(true == 1, 0.4, 0.05), 1 - true, true)
    noise = explain_label_noise(columns(score), given)
    assert noise.boundary_share < 0.1
    assert noise.overlap.transition[1, 0] == pytest.approx(0.4, abs=0.07)


def test_flips_among_several_classes_are_probabilities(rng):
    belief = rng.dirichlet(np.ones(4), 30)
    labels = belief @ (0.6 * np.eye(4) + 0.1)
    wrong, per_label = boundary._boundary_flips(labels)
    flips = per_label[:, :, None] * labels[:, None, :]
    flips[:, range(4), range(4)] = 1 - wrong[:, None]
    assert flips.min() >= 0
    np.testing.assert_allclose(flips.sum(axis=2), 1.0)
    top = belief.argmax(axis=1)
    np.testing.assert_allclose(flips[np.arange(30), top], labels)  # of the most probable class: labels as given


def test_nothing_to_explain_leaves_the_estimate_alone(rng):
    true = np.repeat([0, 1], 300)
    score = (2.0 * true - 1) * rng.uniform(0, 4, 600)  # classes that meet and do not mix
    given = np.where(rng.random(600) < 0.2, 1 - true, true)
    noise = explain_label_noise(columns(score), given)
    assert noise.boundary_share < 0.05
    low, high = noise.interval
    assert low < fit_label_noise(columns(score), given).noise_rate < high < low + 0.15


def test_densities_of_both_explanations_integrate_to_one():
    """What is left to explain: even odds before, so the mean of P(errors | b) over both densities is one half."""
    b = np.linspace(0, 0.5, 20_001)
    errors, overlap = 48 * b * (0.5 - b), np.exp(-b / boundary.OVERLAP) / boundary.OVERLAP
    assert np.trapezoid(errors, b) == pytest.approx(1.0, abs=1e-6)
    assert np.trapezoid(overlap, b) == pytest.approx(1 - np.exp(-2))  # some is left for overlap of more than one half
    assert np.trapezoid(b * errors, b) == pytest.approx(boundary.OVERLAP, abs=1e-6)
    share = np.array([_of_errors(value, 0.0) for value in b])
    assert np.trapezoid(share * (errors + overlap), b) == pytest.approx(1.0, abs=1e-6)


def _of_errors(unexplained, rate):
    """The probability of errors if both curves are equally likely."""
    return boundary.boundary_share(unexplained, rate, 0.0)


def test_errors_are_likelier_the_more_there_is_to_explain_and_the_fewer_elsewhere():
    shares = [_of_errors(b, 0.0) for b in (0.0, 0.05, 0.1, 0.2, 0.3, 0.35)]
    assert shares[0] == 0.0
    assert all(a < b for a, b in pairwise(shares))
    assert _of_errors(-0.1, 0.0) == _of_errors(0.6, 0.0) == 0.0
    rarer = [_of_errors(0.2, rate) for rate in (0.0, 0.1, 0.3)]
    assert all(a > b for a, b in pairwise(rarer))


def test_with_several_classes_nothing_tells_the_explanations_apart(rng):
    noise = explain_label_noise(rng.normal(size=(60, 3)), rng.integers(0, 3, 60))
    assert noise.boundary_share == 0.5


def test_the_interval_reaches_both_explanations(rng):
    """Labels that say less and less towards the middle: overlap or errors, and the interval covers both."""
    score = rng.uniform(-1, 1, 600)
    given = (rng.random(600) < 0.5 + 0.5 * score).astype(int)
    noise = explain_label_noise(columns(score), given)
    low, high = noise.interval
    assert low <= noise.overlap.noise_rate < noise.largest_rate <= high
    assert noise.largest_rate == pytest.approx(0.25, abs=0.04)


def test_classifier_audit_and_estimate_agree(rng):
    y = np.repeat([0, 1], 75)
    X = rng.normal(size=(150, 2)) + np.outer(2.0 * y - 1, [0.8, 0.0])
    model = NoisyLabelClassifier(random_state=0).fit(X, y)
    found = model.diagnostic_
    assert found["least_noise_rate"] < model.noise_rate_ < found["largest_noise_rate"]
    assert model.noise_rate_ == pytest.approx(np.mean(1 - model.label_quality_), abs=1e-15)
    assert estimate_label_noise(X, y, random_state=0).noise_rate == model.noise_rate_
    assert audit_labels(X, y, random_state=0).noise_rate == model.noise_rate_
    np.testing.assert_allclose(model.transition_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.label_probabilities_.sum(axis=1), 1.0)
