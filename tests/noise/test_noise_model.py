"""The noise model against brute force, and on labels whose noise is known."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from kernelwise.noise import posterior as settings
from kernelwise.noise import two_classes as label_noise
from kernelwise.noise.explanations import fit_label_noise
from kernelwise.noise.posterior import fit_many_classes


def noisy(rng, n, flips, slope=4.0):
    """Scores, true labels and labels flipped with P(given 1 | true 0), P(given 0 | true 1)."""
    score = rng.normal(size=n)
    true = (rng.random(n) < expit(slope * score)).astype(int)
    rate = np.where(true == 0, flips[0], flips[1])
    given = np.where(rng.random(n) < rate, 1 - true, true)
    return score, true, given


def columns(score):
    return np.column_stack([np.zeros(len(score)), score])


def share_offsets(z, share, slopes):
    """The offset for each slope at which the mean of the sigmoid is the share of the given labels."""
    logs = np.linspace(np.log(slopes.min()), np.log(slopes.max()), 300)
    found = [brentq(lambda c, a=a: expit(a * (z - c)).mean() - share, -9 - 40 / a, 9 + 40 / a) for a in np.exp(logs)]
    return np.interp(np.log(slopes), logs, found)


def brute_force(score, given, n_draws, rng):
    """Posterior mean rate and P(true = 1 | score) by drawing from the prior and weighing by the likelihood."""
    z = (score - score.mean()) / score.std()
    top = label_noise.LARGEST_RATE
    e_0 = rng.uniform(0, top, n_draws)
    e_1 = np.where(rng.random(n_draws) < label_noise.EQUAL, e_0, np.nan)
    free = np.flatnonzero(np.isnan(e_1))
    while free.size:  # unequal rates, by rejection from uniform pairs
        pair = rng.uniform(0, top, (free.size, 2))
        kept = rng.random(free.size) < np.exp(-np.abs(pair[:, 0] - pair[:, 1]) / label_noise.DIFFERENCE)
        e_0[free[kept]], e_1[free[kept]] = pair[kept].T
        free = free[~kept]
    e = (e_0 + e_1) / 2
    (mean, mean_change), (spread, spread_change) = label_noise.SLOPE_MEAN, label_noise.SLOPE_SPREAD
    a = np.exp(rng.normal(mean + mean_change * e, spread + spread_change * e))
    c = share_offsets(z, np.mean(given), a) + rng.normal(0, np.hypot(label_noise.THRESHOLD * a, label_noise.ODDS)) / a
    true = expit(a * (z[:, None] - c))
    positive = np.clip(e_0 + (1 - e_0 - e_1) * true, 1e-4, 1 - 1e-4)
    logs = np.where(given[:, None] == 1, np.log(positive), np.log1p(-positive)).sum(axis=0)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    rate = weights @ (e_1 * true.mean(axis=0) + e_0 * (1 - true.mean(axis=0)))
    return rate, true @ weights


@pytest.mark.parametrize("flips", [(0.0, 0.0), (0.25, 0.25), (0.05, 0.4)])
def test_the_posterior_equals_integration_by_random_draws(rng, flips):
    score, _, given = noisy(rng, 60, flips)
    posterior = fit_label_noise(columns(score), given)
    rate, true = brute_force(score, given, 150_000, rng)
    assert posterior.noise_rate == pytest.approx(rate, abs=0.012)
    np.testing.assert_allclose(posterior.true_probabilities(columns(score))[:, 1], true, atol=0.02)


@pytest.mark.parametrize("flips", [(0.2, 0.2), (0.05, 0.35)])
def test_many_labels_tell_the_rates(rng, flips):
    score, true, given = noisy(rng, 30_000, flips, slope=6.0)
    posterior = fit_label_noise(columns(score), given)
    np.testing.assert_allclose(posterior.transition[[0, 1], [1, 0]], flips, atol=0.02)
    low, high = posterior.interval()
    wrong = np.mean(given != true)
    assert low - 0.01 <= wrong <= high + 0.01
    assert high - low < 0.05


def test_clean_labels_are_found_clean(rng):
    score, _, given = noisy(rng, 500, (0.0, 0.0), slope=20.0)
    posterior = fit_label_noise(columns(score), given)
    assert posterior.noise_rate < 0.02
    quality = posterior.label_posterior(columns(score), given)[np.arange(500), given]
    assert np.mean(quality) > 0.97


def test_probabilities_are_of_the_true_label(rng):
    score, true, given = noisy(rng, 4000, (0.3, 0.3))
    belief = fit_label_noise(columns(score), given).true_probabilities(columns(score))[:, 1]
    confident = belief > 0.9
    assert np.mean(true[confident]) == pytest.approx(np.mean(belief[confident]), abs=0.05)
    assert np.mean(given[confident]) < 0.75


def test_the_posterior_of_a_label_follows_bayes_for_one_setting():
    posterior = settings.NoisePosterior(
        np.ones(1), np.ones(1), np.zeros((1, 2)), np.array([[[0.9, 0.1], [0.4, 0.6]]]), np.full((1, 2), 0.5)
    )
    scores = np.array([[0.0, 1.0]])
    p, share = expit(1.0), settings.SYMMETRY
    right, wrong = 0.6 + share * (0.75 - 0.6), 0.1 + share * (0.25 - 0.1)
    expected = right * p / (right * p + wrong * (1 - p))
    assert posterior.label_posterior(scores, np.array([1]))[0, 1] == pytest.approx(expected)
    assert posterior.noise_rate == pytest.approx(0.25)


def test_weights_count_like_repetitions(rng):
    score, _, given = noisy(rng, 40, (0.2, 0.2))  # few enough for a bin each
    weight = rng.integers(1, 4, 40)
    index = np.repeat(np.arange(40), weight)
    weighted = fit_label_noise(columns(score), given, weight.astype(float))
    repeated = fit_label_noise(columns(score[index]), given[index])
    assert weighted.noise_rate == pytest.approx(repeated.noise_rate, abs=1e-8)


def test_scores_that_tell_nothing_leave_the_rate_open(rng):
    given = rng.integers(0, 2, 200)
    low, high = fit_label_noise(columns(rng.normal(size=200)), given).interval()
    assert high - low > 0.15


def test_constant_scores_do_not_fail():
    posterior = fit_label_noise(np.zeros((20, 2)), np.repeat([0, 1], 10))
    assert np.isfinite(posterior.true_probabilities(np.zeros((3, 2)))).all()


def test_classes_with_their_own_rates(rng):
    transition = np.array([[0.9, 0.1, 0.0], [0.0, 0.7, 0.3], [0.05, 0.05, 0.9]])
    true = rng.integers(0, 3, 3000)
    given = np.array([rng.choice(3, p=transition[k]) for k in true])
    scores = 2.0 * np.eye(3)[true] - 1 + 0.3 * rng.normal(size=(3000, 3))
    posterior = fit_label_noise(scores, given)
    np.testing.assert_allclose(posterior.transition, transition, atol=0.05)
    assert posterior.noise_rate == pytest.approx(np.mean(given != true), abs=0.02)
    found = posterior.label_posterior(scores, given)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.mean(found.argmax(axis=1) == true) > 0.97


def test_classes_may_be_renamed(rng):
    true = rng.integers(0, 3, 300)
    given = np.where(rng.random(300) < 0.2, (true + 1) % 3, true)
    scores = np.eye(3)[true] + 0.2 * rng.normal(size=(300, 3))
    order = np.array([2, 0, 1])
    straight = fit_label_noise(scores, given)
    renamed = fit_label_noise(scores[:, order], np.argsort(order)[given])
    np.testing.assert_allclose(renamed.transition, straight.transition[np.ix_(order, order)], atol=1e-6)


def test_equal_scores_keep_their_unit():
    assert label_noise.mean_and_spread(np.full(5, 3.0), np.ones(5)) == (3.0, 1.0)


def test_with_an_error_of_counting_all_mass_needs_every_rate():
    rates, weights = np.arange(10) / 10, np.full(10, 0.1)  # which add up to a little less than one
    assert label_noise.interval_of(rates, weights, 1.0, 0.01) == (0.0, 1.0)


def test_a_wrong_label_is_seldom_a_rare_class(rng):
    """The prior of errors spreads them over classes of ordinary size; a class of 6 in 1,206 is hardly among them."""
    true = np.repeat([0, 1, 2], [600, 600, 6])
    given = np.where(rng.random(len(true)) < 0.2, np.array([1, 0, 2])[true], true)
    posterior = fit_many_classes(4.0 * np.eye(3)[true], given, np.ones(len(true)))
    T = np.tensordot(posterior.weights, posterior.transitions, axes=1)
    assert T[0, 1] == pytest.approx(0.2, abs=0.05)
    assert T[:2, 2].max() < 0.002
