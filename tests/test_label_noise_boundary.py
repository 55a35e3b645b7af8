"""Overlap or errors near the boundary: the average of two explanations against its formulas, and on made data."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit

from kernelwise import NoisyLabelClassifier, audit_labels, estimate_label_noise
from kernelwise.problems import label_noise_boundary as boundary
from kernelwise.problems.label_noise import NoisePosterior, fit_label_noise
from kernelwise.problems.label_noise_boundary import explain_label_noise, explained


def columns(score):
    return np.column_stack([np.zeros(len(score)), score])


def sharpened(p):
    power = boundary.SHARPER
    return p**power / (p**power + (1 - p) ** power)


def one_setting(slope=1.0, flip=0.1, other=None):
    back = flip if other is None else other
    transition = np.array([[1 - flip, flip], [back, 1 - back]])
    return NoisePosterior(
        np.ones(1), np.array([slope]), np.zeros((1, 2)), transition[None], np.full((1, 2), 0.5), counting_error=0.0
    )


def test_every_quantity_follows_its_formula(rng):
    """For two classes, P(true = 1 | s) = p, P(given = 1 | s) = g: all by hand."""
    score, weight = rng.normal(size=50), rng.uniform(0.5, 2, 50)
    noise = explained(one_setting(), columns(score), weight)
    p = expit(score)
    g = 0.1 + 0.8 * p
    wrong = np.minimum(g, 1 - g)
    q = weight @ wrong / weight.sum()
    assert noise.largest_rate == pytest.approx(q)
    assert noise.counting_error == pytest.approx(np.sqrt(q * (1 - q) / weight.sum()))

    b = q - 0.1
    errors = 48 * b * (0.5 - b) * np.exp(-0.1 / boundary.SCARCE)
    overlap = np.exp(-b / boundary.OVERLAP) / boundary.OVERLAP
    share = errors / (errors + overlap)
    assert noise.boundary_share == pytest.approx(share)
    assert noise.noise_rate == pytest.approx((1 - share) * 0.1 + share * q)

    sharp = sharpened(p)
    np.testing.assert_allclose(noise.true_probabilities(columns(score))[:, 1], (1 - share) * p + share * sharp)
    up = weight @ (sharp * wrong) / (weight @ sharp)
    down = weight @ ((1 - sharp) * wrong) / (weight @ (1 - sharp))
    np.testing.assert_allclose(noise.largest_transition, [[1 - down, down], [up, 1 - up]])


def test_a_label_is_judged_by_bayes_under_both_explanations():
    overlap = one_setting(flip=0.2)
    noise = explained(overlap, columns(np.linspace(-2, 2, 9)))
    score, given = columns(np.array([1.0])), np.array([0])
    p = expit(1.0)
    g = 0.2 + 0.6 * p
    sharp = sharpened(p)
    errors = sharp * (1 - g) / (sharp * (1 - g) + (1 - sharp) * g)
    expected = (1 - noise.boundary_share) * overlap.label_posterior(score, given)[0, 1] + noise.boundary_share * errors
    assert noise.label_posterior(score, given)[0, 1] == pytest.approx(expected)


def test_if_errors_are_near_the_boundary_unequal_rates_do_not_move_it():
    """Rates .05 and .45: where P(given = 1 | s) < 1/2 < P(true = 1 | s), the second explanation says class 0."""
    overlap = one_setting(flip=0.05, other=0.45)
    score = columns(np.array([-1.0, 0.5, 6.0]))
    noise = explained(overlap, columns(np.linspace(-2, 2, 9)))
    p = expit(score[:, 1])
    g = 0.05 * (1 - p) + 0.55 * p
    assert p[1] > 0.5
    assert g[1] < 0.5
    rate = overlap.noise_rate
    kept = boundary.KEPT
    up, down = np.maximum(g - rate, kept * g), np.maximum(1 - g - rate, kept * (1 - g))
    errors = sharpened(up / (up + down))
    np.testing.assert_allclose(
        noise.true_probabilities(score)[:, 1], (1 - noise.boundary_share) * p + noise.boundary_share * errors
    )
    assert list(errors > 0.5) == [False, False, True]


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


def test_the_transition_of_several_classes_is_a_mean_over_samples(rng):
    transition = 0.7 * np.eye(3) + 0.1
    overlap = NoisePosterior(np.ones(1), np.ones(1), np.zeros((1, 3)), transition[None], np.full((1, 3), 1 / 3))
    scores, weight = rng.normal(size=(40, 3)), rng.uniform(0.5, 2, 40)
    noise = explained(overlap, scores, weight)
    expected = np.zeros((3, 3))
    for s, w in zip(scores, weight, strict=True):
        p = np.exp(s) / np.exp(s).sum()
        labels, sharp = p @ transition, p**boundary.SHARPER / (p**boundary.SHARPER).sum()
        wrong = 1 - labels[p.argmax()]
        for k in range(3):
            for j in range(3):
                flip = 1 - wrong if j == k else wrong * labels[j] / (1 - labels[k])
                expected[k, j] += w * sharp[k] * flip
    np.testing.assert_allclose(noise.largest_transition, expected / expected.sum(axis=1, keepdims=True))


def test_nothing_to_explain_leaves_the_estimate_alone(rng):
    true = np.repeat([0, 1], 300)
    score = (2.0 * true - 1) * rng.uniform(0, 4, 600)  # classes that meet and do not mix
    given = np.where(rng.random(600) < 0.2, 1 - true, true)
    noise = explain_label_noise(columns(score), given)
    assert noise.boundary_share < 0.05
    assert noise.noise_rate == pytest.approx(fit_label_noise(columns(score), given).noise_rate, abs=0.005)


def test_densities_of_both_explanations_integrate_to_one():
    """What is left to explain: even odds before, so the mean of P(errors | b) over both densities is one half."""
    b = np.linspace(0, 0.5, 20_001)
    errors, overlap = 48 * b * (0.5 - b), np.exp(-b / boundary.OVERLAP) / boundary.OVERLAP
    assert np.trapezoid(errors, b) == pytest.approx(1.0, abs=1e-6)
    assert np.trapezoid(overlap, b) == pytest.approx(1.0, abs=0.02)  # overlap of more than one half has a little
    share = np.array([boundary._probability_of_errors(value, 0.0) for value in b])
    assert np.trapezoid(share * (errors + overlap) / 2, b) == pytest.approx(0.5, abs=1e-6)


def test_errors_are_likelier_the_more_there_is_to_explain_and_the_fewer_elsewhere():
    shares = [boundary._probability_of_errors(b, 0.0) for b in (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)]
    assert shares[0] == 0.0
    assert all(a < b for a, b in pairwise(shares))
    assert boundary._probability_of_errors(-0.1, 0.0) == boundary._probability_of_errors(0.6, 0.0) == 0.0
    rarer = [boundary._probability_of_errors(0.2, rate) for rate in (0.0, 0.1, 0.3)]
    assert all(a > b for a, b in pairwise(rarer))


def test_the_interval_reaches_both_explanations(rng):
    """Labels that say less and less towards the middle: overlap or errors, and the interval covers both."""
    score = rng.uniform(-1, 1, 600)
    given = (rng.random(600) < 0.5 + 0.5 * score).astype(int)
    noise = explain_label_noise(columns(score), given)
    low, high = noise.interval(0.95)
    assert low <= noise.overlap.noise_rate < noise.noise_rate < noise.largest_rate <= high
    assert noise.largest_rate == pytest.approx(0.25, abs=0.04)


def test_classifier_audit_and_estimate_agree(rng):
    y = np.repeat([0, 1], 150)
    X = rng.normal(size=(300, 2)) + np.outer(2.0 * y - 1, [0.8, 0.0])
    model = NoisyLabelClassifier(random_state=0).fit(X, y)
    found = model.diagnostic_
    assert found["least_noise_rate"] < model.noise_rate_ < found["largest_noise_rate"]
    share = found["boundary_errors"]
    mean = (1 - share) * found["least_noise_rate"] + share * found["largest_noise_rate"]
    assert model.noise_rate_ == pytest.approx(mean)
    assert estimate_label_noise(X, y, random_state=0).noise_rate == model.noise_rate_
    assert audit_labels(X, y, random_state=0).noise_rate == model.noise_rate_
    np.testing.assert_allclose(model.transition_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.label_probabilities_.sum(axis=1), 1.0)
