"""Errors that fade with the distance from the boundary: the integral against random draws, and what it finds."""

import numpy as np
import pytest

from kernelwise.noise import explanations
from kernelwise.noise import two_classes as label_noise
from kernelwise.noise.explanations import fit_fading_errors


def faded(rng, score, boundary=0.0, far=0.0):
    """Labels that are coin tosses at the boundary and wrong at the rate ``far`` far from it."""
    true = (score > boundary).astype(int)
    nearer = np.argsort(np.argsort(np.abs(score - boundary))) / len(score)
    return true, np.where(rng.random(len(score)) < far + (0.5 - far) * (1 - nearer), 1 - true, true)


def rate_of(found, score):
    """The share of labels that differ from the more probable one."""
    return np.mean(found.probabilities(score)[1].min(axis=1))


def brute_force(score, given, n_draws, rng):
    """Evidence and P(given = 1 | s) by drawing from the prior and weighing by the likelihood."""
    z = (score - score.mean()) / score.std()
    e = rng.uniform(0, label_noise.LARGEST_RATE, n_draws)
    power = explanations.STEEPEST ** rng.uniform(-1, 1, n_draws)
    center = np.quantile(z, 1 - np.mean(given))
    c = rng.normal(center, np.hypot(label_noise.THRESHOLD, label_noise.ODDS), n_draws)
    signed = z[:, None] - c
    nearer = (np.argsort(np.argsort(np.abs(signed), axis=0), axis=0) + 0.5) / len(z)
    positive = e + (1 - 2 * e) * (0.5 + 0.5 * np.sign(signed) * nearer**power)
    likelihood = np.exp(np.where(given[:, None] == 1, np.log(positive), np.log1p(-positive)).sum(axis=0))
    return np.log(likelihood.mean()), positive @ likelihood / likelihood.sum()


@pytest.mark.parametrize(("boundary", "far"), [(0.0, 0.0), (1.0, 0.1), (-0.5, 0.3)])
def test_the_posterior_equals_integration_by_random_draws(rng, boundary, far):
    score = np.sort(rng.normal(size=60))
    _, given = faded(rng, score, boundary, far)
    found = fit_fading_errors(score, given, np.ones(60))
    evidence, labels = brute_force(score, given, 40_000, rng)
    assert found.log_evidence == pytest.approx(evidence, abs=0.1)
    np.testing.assert_allclose(found.probabilities(score)[1][:, 1], labels, atol=0.02)


def test_many_labels_tell_rate_and_boundary(rng):
    score = rng.normal(size=40_000)
    true, given = faded(rng, score, boundary=1.0)
    found = fit_fading_errors(score, given, np.ones(40_000))
    assert rate_of(found, score) == pytest.approx(np.mean(given != true), abs=0.01)
    belief, _ = found.probabilities(np.array([0.85, 1.15]))
    assert belief[0, 1] < 0.5 < belief[1, 1]


def test_probabilities_grow_with_the_score_and_sum_to_one(rng):
    score = rng.normal(size=300)
    _, given = faded(rng, score, boundary=0.5)
    for found in fit_fading_errors(score, given, np.ones(300)).probabilities(np.linspace(-5, 5, 101)):
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert (np.diff(found[:, 1]) > -1e-9).all()


def test_weights_count_like_repetitions(rng):
    score = rng.normal(size=100)
    _, given = faded(rng, score)
    weight = rng.integers(1, 4, 100)
    weighted = fit_fading_errors(score, given, weight.astype(float))
    repeated = fit_fading_errors(np.repeat(score, weight), np.repeat(given, weight), np.ones(weight.sum()))
    assert rate_of(weighted, score) == pytest.approx(rate_of(repeated, score), abs=0.01)


@pytest.mark.parametrize("given", [0, 1])
def test_equal_scores_and_one_class_are_survived(given):
    found = fit_fading_errors(np.zeros(20), np.full(20, given), np.ones(20))
    assert np.isfinite(found.log_evidence)
    assert (found.probabilities(np.zeros(1))[1][0, given]) > 0.3
