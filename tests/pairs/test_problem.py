"""The statistics of noisy pairs, the problems built on them, and their solver, against exact and convex oracles."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from kernelwise import PairNoise, Pairs
from kernelwise.kernels import AttributeBank, build_bank, gaussian_kernels
from kernelwise.optim import Status
from kernelwise.optim.bounded_newton import kkt_residual, minimize_bounded
from kernelwise.optim.statistic_likelihood import statistic_problem
from kernelwise.pairs.problem import forward_problem, pair_value_matrix, transition_matrix
from kernelwise.pairs.statistics import (
    PairMeans,
    check_informative,
    implied_prior,
    keep_feasible,
    mean_magnitudes,
    pair_weight_bound,
    true_class_means,
    true_statistic,
)


def random_pairs(rng, n_pairs=60, n_samples=30, weighted=False):
    rows = rng.integers(n_samples, size=n_pairs)
    cols = (rows + rng.integers(1, n_samples, size=n_pairs)) % n_samples
    labels = np.where(rng.random(n_pairs) < 0.5, 1, -1)
    labels[:2] = 1, -1
    weights = rng.uniform(0.2, 3.0, n_pairs) if weighted else None
    return Pairs(rows, cols, labels, n_samples=n_samples, weights=weights)


def random_problem(rng, *, bias=False, sparse=False, penalty=1e-2, n_pairs=60, n_kernels=8):
    pairs = random_pairs(rng, n_pairs, weighted=True)
    values = rng.uniform(0.0, 2.0, (n_pairs, n_kernels)) * (rng.random((n_pairs, n_kernels)) < 0.4)
    statistic = keep_feasible(
        true_statistic(PairMeans.of(pairs, values), PairNoise(0.5, 0.8, 0.7)), values.mean(0), 0.9
    )
    given = sp.csr_array(values) if sparse else values
    problem = statistic_problem(given, pairs.weights, statistic, penalty=penalty, bias_statistic=-0.2 if bias else None)
    return problem, values, pairs, statistic


# Statistics


def noise_cases(rng, count):
    """Noise levels of all kinds: alike or not, nearly certain, nearly uninformative, worse than chance, rare labels."""
    for case in range(count):
        d_pos, d_neg = rng.uniform(0.05, 1.0, 2)
        kind = case % 5
        if kind == 1:
            d_neg = np.clip(d_pos + rng.uniform(-1e-9, 1e-9), 0, 1)
        elif kind == 2:
            d_pos, d_neg = 1 - rng.uniform(0, 1e-9, 2)
        elif kind == 3:
            d_neg = np.clip(1 - d_pos + rng.choice([-1, 1]) * rng.uniform(1e-3, 2e-2), 0, 1)
        prior = rng.choice([rng.uniform(), 10.0 ** rng.uniform(-12, -2), 1 - 10.0 ** rng.uniform(-12, -2)])
        if abs(d_pos + d_neg - 1) > 5e-4:
            yield PairNoise(prior, d_pos, d_neg)


def test_class_means_solve_the_constrained_least_squares_problem(rng):
    checked = 0
    for noise in noise_cases(rng, 240):
        positive, negative, overall = rng.uniform(0, 1, (3, 4))
        means = PairMeans(positive, negative, overall, fraction_positive=0.5)
        found = np.array(true_class_means(means, noise))
        p = [noise.prior, 1 - noise.prior]
        for j in range(4):
            exact = oracles.true_class_means_exactly(noise.matrix, p, (positive[j], negative[j]), overall[j])
            np.testing.assert_allclose(found[:, j], exact, rtol=1e-10, atol=1e-10 * np.abs(exact).max())
        checked += 1
    assert checked >= 200


def test_class_means_agree_with_a_convex_solver(rng):
    for noise in (PairNoise(0.45, 0.74, 0.83), PairNoise(0.1, 0.9, 0.6), PairNoise(0.7, 0.3, 0.4)):
        positive, negative, overall = rng.uniform(0, 1, (3, 6))
        found = true_class_means(PairMeans(positive, negative, overall, 0.5), noise)
        p = np.array([noise.prior, 1 - noise.prior])
        expected = oracles.true_class_means(noise.matrix, p, np.column_stack([positive, negative]), overall)
        np.testing.assert_allclose(np.column_stack(found), expected, atol=1e-6)


def test_the_printed_formula_without_the_transpose_is_not_the_solution(rng):
    # (6) of the paper has B where B^T is needed; with unequal precisions the difference is large.
    noise = PairNoise(0.45, 0.74, 0.83)
    means = PairMeans(np.array([0.3]), np.array([0.1]), np.array([0.25]), 0.5)
    B, p, A = noise.matrix, np.array([[0.45], [0.55]]), np.array([[0.3, 0.1]])
    G = np.linalg.inv(B @ B.T)
    scale = float((p.T @ G @ p).item())

    def formula(middle):
        return (0.25 * p.T / scale + A @ middle @ (np.eye(2) - G @ p @ p.T / scale)) @ G

    found = np.column_stack(true_class_means(means, noise))
    np.testing.assert_allclose(found, formula(B.T), atol=1e-12)
    assert np.abs(found - formula(B)).max() > 0.01


def test_with_the_prior_of_the_pairs_the_constraint_holds_by_itself(rng):
    pairs = random_pairs(rng, weighted=True)
    means = PairMeans.of(pairs, rng.random((len(pairs), 3)))
    rough = PairNoise(0.5, 0.8, 0.7)
    noise = PairNoise(implied_prior(rough, means.fraction_positive), 0.8, 0.7)
    positive, negative = true_class_means(means, noise)
    unmixed = np.column_stack([means.given_positive, means.given_negative]) @ np.linalg.inv(noise.matrix)
    np.testing.assert_allclose(np.column_stack([positive, negative]), unmixed, atol=1e-12)
    np.testing.assert_allclose(noise.prior * positive + (1 - noise.prior) * negative, means.overall, atol=1e-12)


def test_clean_pairs_need_no_correction(rng):
    pairs = random_pairs(rng, weighted=True)
    values = rng.random((len(pairs), 3))
    means = PairMeans.of(pairs, values)
    expected = (pairs.weights * pairs.labels) @ values / pairs.weights.sum()
    np.testing.assert_allclose(means.given_statistic, expected, atol=1e-14)
    np.testing.assert_allclose(true_statistic(means, PairNoise.clean(pairs)), expected, atol=1e-14)


def test_a_pair_of_weight_two_is_the_pair_given_twice(rng):
    pairs = random_pairs(rng)
    values = rng.random((len(pairs), 3))
    heavy = Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=30, weights=np.where(np.arange(60) < 10, 2.0, 1.0))
    twice = pairs + pairs[:10]
    means, other = PairMeans.of(heavy, values), PairMeans.of(twice, np.vstack([values, values[:10]]))
    for name in ("given_positive", "given_negative", "overall", "fraction_positive"):
        np.testing.assert_allclose(getattr(means, name), getattr(other, name), atol=1e-14)


def test_the_correction_undoes_the_noise_on_average(rng):
    n = 200_000
    truth = np.where(rng.random(n) < 0.4, 1, -1)
    values = rng.random((n, 2)) + np.array([0.5, -0.1]) * (truth > 0)[:, None]
    flips = np.where(truth > 0, 0.3, 0.15)
    pairs = Pairs(np.arange(n), np.arange(n) + 1, np.where(rng.random(n) < flips, -truth, truth), n_samples=n + 1)
    means = PairMeans.of(pairs, values)
    clean = (truth @ values) / n
    corrected = true_statistic(means, PairNoise.from_flip_rates(0.4, 0.3, 0.15))
    assert np.abs(corrected - clean).max() < 0.01  # three standard errors are about 0.008
    assert np.abs(means.given_statistic - clean).max() > 0.05


@given(st.floats(-1e6, 1e6), st.floats(0, 1e3), st.floats(0.01, 1.0))
def test_feasible_statistics_are_the_nearest_ones(statistic, overall, strength):
    kept = keep_feasible(np.array([statistic]), np.array([overall]), strength)[0]
    limit = strength * overall
    assert abs(kept) <= limit
    assert kept == statistic or (abs(statistic) > limit and kept == np.copysign(limit, statistic))


@pytest.mark.parametrize("sparse", [False, True])
def test_mean_magnitudes_are_the_means_of_kernels_that_are_not_negative(rng, sparse):
    pairs = random_pairs(rng, weighted=True)
    values = rng.random((60, 3)) * (rng.random((60, 3)) < 0.5)
    given = sp.csr_array(values) if sparse else values
    np.testing.assert_array_equal(mean_magnitudes(pairs, given), PairMeans.of(pairs, given).overall)
    signed = -given
    np.testing.assert_array_equal(mean_magnitudes(pairs, signed), mean_magnitudes(pairs, given))


# The convex problem


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("penalty", [1.0, 1e-2, 1e-4])
def test_the_optimum_is_that_of_a_convex_solver(rng, sparse, bias, penalty):
    problem, values, pairs, statistic = random_problem(rng, bias=bias, sparse=sparse, penalty=penalty)
    result = minimize_bounded(problem, tol=1e-10)
    weights = pairs.weights / pairs.weights.sum()
    w, b, optimum = oracles.pair_weights(values, weights, statistic, penalty, -0.2 if bias else None)
    assert result.converged
    assert result.certificate.primal <= optimum + 1e-7
    assert result.certificate.dual <= optimum + 1e-7
    np.testing.assert_allclose(result.certificate.primal, optimum, atol=1e-7)
    np.testing.assert_allclose(result.point.w[:8], w, atol=2e-3, rtol=2e-3)
    if bias:
        np.testing.assert_allclose(result.point.w[8], b, atol=2e-3)


@pytest.mark.parametrize("bias", [False, True])
def test_bounds_enclose_the_optimum_at_every_iteration(rng, bias):
    problem, *_ = random_problem(rng, bias=bias, penalty=1e-4)
    final = minimize_bounded(problem, tol=1e-12)
    optimum = final.certificate.primal
    assert final.converged
    for row in final.history:
        assert row.dual <= optimum + 1e-12 <= row.primal + 2e-12
    stopped = minimize_bounded(problem, tol=1e-12, max_iter=2)
    assert stopped.status == Status.MAX_ITER
    assert stopped.n_iter == 2
    assert stopped.certificate.gap > 1e-12
    if not bias:  # strong convexity: the distance to the optimum is bounded by the gap too
        distance = np.sum((stopped.point.w - final.point.w) ** 2)
        assert 0.5e-4 * distance <= stopped.certificate.gap + 1e-12


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_the_gap_bounds_the_excess_of_any_feasible_point(seed):
    rng = np.random.default_rng(seed)
    problem, *_ = random_problem(rng, penalty=10.0 ** rng.uniform(-5, 0))
    optimum = minimize_bounded(problem, tol=1e-10).certificate
    anywhere = problem.at(rng.exponential(size=8) * (rng.random(8) < 0.7) * 10.0 ** rng.uniform(-2, 3))
    dual = problem.dual_value(anywhere)
    assert dual <= optimum.primal + 1e-9
    assert anywhere.value >= optimum.dual - 1e-9


@pytest.mark.parametrize("make", [random_problem, lambda rng: (random_forward(rng)[0],)])
def test_gradients_are_those_of_finite_differences(rng, make):
    problem = make(rng)[0]
    w = rng.uniform(0.1, 2.0, len(problem.linear))
    step = 1e-6
    for j in range(len(w)):
        shift = step * np.eye(len(w))[j]
        slope = (problem.at(w + shift).value - problem.at(w - shift).value) / (2 * step)
        np.testing.assert_allclose(problem.at(w).gradient[j], slope, atol=1e-8)


def test_weights_move_by_at_most_the_statistic_over_twice_the_penalty(rng):
    # Lemma 1 of the paper, with the factor of two that its proof leaves on the table.
    pairs, values = random_pairs(rng), rng.random((60, 5))
    for penalty in (1e-3, 1e-1):
        a, b = rng.uniform(-0.5, 0.5, (2, 5))
        first, second = (
            minimize_bounded(statistic_problem(values, pairs.weights, c, penalty=penalty), tol=1e-10).point.w
            for c in (a, b)
        )
        assert np.linalg.norm(first - second) <= np.linalg.norm(a - b) / (2 * penalty) + 1e-6


def test_an_infeasible_statistic_is_held_by_the_penalty_alone():
    # One attribute, one pair: the likelihood grows for ever, and the optimum is (b - a) / (2 penalty).
    n = 10_000
    values = sp.csr_array(([1.0], ([0], [0])), shape=(n, 1))
    statistic, penalty = np.array([3.5 / n]), 1e-8 / n
    result = minimize_bounded(statistic_problem(values, np.ones(n), statistic, penalty=penalty), tol=1e-9)
    assert result.converged
    np.testing.assert_allclose(result.point.w, (3.5 - 1.0) / n / (2 * penalty), rtol=1e-9)


def test_zero_is_optimal_where_no_kernel_agrees_with_the_pairs(rng):
    values = rng.random((60, 3))
    result = minimize_bounded(statistic_problem(values, np.ones(60), np.array([-0.1, -0.2, 0.0]), penalty=1e-3))
    assert result.converged
    assert result.n_iter == 0
    assert not result.point.w.any()


def test_scale_and_order_of_kernels_do_not_matter_to_convergence(rng):
    problem, values, pairs, statistic = random_problem(rng, penalty=1e-6)
    order = rng.permutation(8)
    scale = 10.0 ** rng.uniform(-3, 3, 8)
    base = minimize_bounded(problem, tol=1e-9)
    permuted = minimize_bounded(
        statistic_problem(values[:, order], pairs.weights, statistic[order], penalty=1e-6), tol=1e-9
    )
    scaled = minimize_bounded(
        statistic_problem(values * scale, pairs.weights, statistic * scale, penalty=1e-6), tol=1e-6, max_iter=500
    )
    assert base.converged
    assert permuted.converged
    assert scaled.converged
    np.testing.assert_allclose(permuted.point.w, base.point.w[order], rtol=1e-5, atol=1e-6)


def test_conjugate_gradients_and_cholesky_agree(rng):
    dense, values, pairs, statistic = random_problem(rng, penalty=1e-5, n_pairs=300, n_kernels=40)
    sparse = statistic_problem(sp.csr_array(values), pairs.weights, statistic, penalty=1e-5)
    one, other = minimize_bounded(dense, tol=1e-9), minimize_bounded(sparse, tol=1e-9)
    np.testing.assert_allclose(one.point.w, other.point.w, rtol=1e-5, atol=1e-5)
    assert kkt_residual(one.point) <= 1e-9
    assert kkt_residual(other.point) <= 1e-9


def test_the_solver_reports_each_iteration(rng):
    problem, *_ = random_problem(rng)
    rows = []
    result = minimize_bounded(problem, tol=1e-8, callback=rows.append)
    assert rows == list(result.history)
    assert len(rows) == result.n_iter + 1


# The forward-corrected likelihood


def random_forward(rng, noise=None, bias=False):
    pairs = random_pairs(rng, 200, weighted=True)
    values = rng.random((200, 4)) + 0.5 * (pairs.labels > 0)[:, None] * rng.random(4)
    noise = PairNoise(0.5, 0.8, 0.7) if noise is None else noise
    return forward_problem(values, pairs, noise, penalty=1e-3, fit_bias=bias), values, pairs, noise


def test_transitions_are_those_of_the_joint_table(rng):
    noise, fraction = PairNoise(0.3, 0.8, 0.65), 0.4
    joint = {(1, 1): 0.8 * 0.4, (-1, 1): 0.2 * 0.4, (1, -1): 0.35 * 0.6, (-1, -1): 0.65 * 0.6}
    for i, true in enumerate((1, -1)):
        total = joint[true, 1] + joint[true, -1]
        np.testing.assert_allclose(
            transition_matrix(noise, fraction)[i], [joint[true, 1] / total, joint[true, -1] / total]
        )


def test_the_forward_objective_is_the_likelihood_of_the_given_labels(rng):
    problem, values, pairs, noise = random_forward(rng)
    w = rng.uniform(0, 2, 4)
    T = transition_matrix(noise, np.average(pairs.labels > 0, weights=pairs.weights))
    positive = 1 / (1 + np.exp(-values @ w))
    given = np.where(pairs.labels > 0, 0, 1)
    likelihood = np.log(T[0, given] * positive + T[1, given] * (1 - positive))
    expected = 0.5e-3 * w @ w - np.average(likelihood, weights=pairs.weights)
    np.testing.assert_allclose(problem.at(w).value, expected, rtol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
def test_forward_correction_of_clean_pairs_is_the_plain_likelihood(rng, bias):
    problem, values, pairs, _ = random_forward(rng, PairNoise(0.5, 1.0, 1.0), bias)
    means = PairMeans.of(pairs, values)
    mean_label = 2 * means.fraction_positive - 1 if bias else None
    plain = statistic_problem(values, pairs.weights, means.given_statistic, penalty=1e-3, bias_statistic=mean_label)
    forward, convex = minimize_bounded(problem, tol=1e-8), minimize_bounded(plain, tol=1e-8)
    assert forward.converged
    np.testing.assert_allclose(forward.point.w, convex.point.w, atol=1e-4)
    np.testing.assert_allclose(forward.certificate.primal, convex.certificate.primal, atol=1e-10)


@pytest.mark.parametrize("bias", [False, True])
def test_the_forward_problem_stops_at_a_stationary_point_without_a_bound(rng, bias):
    result = minimize_bounded(random_forward(rng, bias=bias)[0], tol=1e-7, max_iter=2000)
    assert result.converged
    assert kkt_residual(result.point) <= 1e-7
    assert result.certificate.dual == -np.inf


# Values of pairs


def test_pair_values_of_every_bank_are_the_kernels(rng):
    X = rng.random((30, 5)) * (rng.random((30, 5)) < 0.4)
    pairs = random_pairs(rng)
    left, right = X[pairs.rows], X[pairs.cols]
    values = pair_value_matrix(AttributeBank(X), pairs)
    assert sp.issparse(values)
    np.testing.assert_allclose(values.toarray(), left * right)
    assert isinstance(pair_value_matrix(AttributeBank(X + 1), pairs), np.ndarray)
    gaussian = pair_value_matrix(build_bank(X, gaussian_kernels([0.5, 1.0], scope="all")), pairs)
    squared = np.sum((left - right) ** 2, axis=1)
    np.testing.assert_allclose(gaussian, np.exp(-squared[:, None] / (2 * np.array([0.25, 1.0]))), atol=1e-8)


def test_pair_values_in_blocks_are_the_same(rng, monkeypatch):
    bank, pairs = AttributeBank(rng.random((30, 9)) * (rng.random((30, 9)) < 0.3)), random_pairs(rng)
    whole = pair_value_matrix(bank, pairs).toarray()
    monkeypatch.setattr("kernelwise.pairs.problem.PAIRS_AT_ONCE", 7)
    np.testing.assert_array_equal(pair_value_matrix(bank, pairs).toarray(), whole)


# Theorem 2


def test_the_bound_of_theorem_2_holds_in_a_simulation(rng):
    n, penalty, noise = 4000, 0.05, PairNoise(0.5, 0.8, 0.8)
    distances = []
    for _ in range(20):
        truth = np.where(rng.random(n) < 0.5, 1, -1)
        values = rng.random((n, 3)) * np.where(truth > 0, 1.0, 0.5)[:, None]
        pairs = Pairs(np.arange(n), np.arange(n) + 1, truth, n_samples=n + 1)
        noisy = pairs.flip(0.2, random_state=int(rng.integers(2**31)))
        statistics = PairMeans.of(pairs, values).given_statistic, true_statistic(PairMeans.of(noisy, values), noise)
        a, b = (minimize_bounded(statistic_problem(values, np.ones(n), c, penalty=penalty)).point.w for c in statistics)
        distances.append(np.linalg.norm(a - b))
    bound = pair_weight_bound(n, 3, penalty=penalty, noise=noise, rarer_fraction=0.48)
    assert 0 < np.mean(distances) < bound


@pytest.mark.parametrize(
    ("worse", "factor"),
    [({"risk": 1e-9}, 1), ({"largest": 2.0}, 2), ({"penalty": 0.05}, 2), ({"noise": PairNoise(0.5, 0.6, 0.8)}, 1)],
)
def test_the_bound_grows_with_doubt(worse, factor):
    arguments = {"penalty": 0.1, "noise": PairNoise(0.5, 0.8, 0.8), "largest": 1.0, "risk": 0.05}
    assert pair_weight_bound(1000, 5, **{**arguments, **worse}) >= factor * pair_weight_bound(1000, 5, **arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_informative(PairNoise(0.5, 0.25, 0.75)), "carry no information"),
        (lambda: true_statistic(PairMeans(*np.ones((3, 1)), 0.5), PairNoise(0.5, 0.5, 0.5)), "carry no information"),
        (lambda: PairMeans.of(Pairs([0], [1], [1], n_samples=2), np.ones((1, 1))), "no pair labelled -1"),
        (lambda: PairMeans.of(Pairs([0], [1], [-1], n_samples=2), np.ones((1, 1))), r"no pair labelled \+1"),
        (lambda: pair_weight_bound(0, 3, penalty=1.0, noise=PairNoise(0.5, 1, 1)), "n_pairs must be a positive"),
        (lambda: pair_weight_bound(9, 3, penalty=-1.0, noise=PairNoise(0.5, 1, 1)), "penalty must be a positive"),
        (lambda: pair_weight_bound(9, 3, penalty=1.0, noise=PairNoise(0.5, 0.5, 0.5)), "carry no information"),
        (lambda: pair_weight_bound(9, 3, penalty=1.0, noise=PairNoise(0.5, 1, 1), risk=1.0), "risk must lie"),
        (lambda: pair_weight_bound(9, 3, penalty=1.0, noise=PairNoise(0.5, 1, 1), rarer_fraction=0.6), "rarer_frac"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


ONE_MILLION_PAIRS = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
import time
import numpy as np
import scipy.sparse as sp
from kernelwise import PairNoise, Pairs
from kernelwise.pairs.learner import PairKernelLearner

rng = np.random.default_rng(0)
n, m, words, n_pairs = 50_000, 10_000, 50, 1_000_000
popularity = np.cumsum(1.0 / np.arange(10, m + 10))
columns = np.searchsorted(popularity / popularity[-1], rng.random(n * words))
topic = rng.integers(10, size=n)
columns = np.where(rng.random(n * words) < 0.3, 10 * (columns // 10) + np.repeat(topic, words), columns) % m
X = sp.csr_array((np.ones(n * words), (np.repeat(np.arange(n), words), columns)), shape=(n, m))
X.data[:] = 1.0
rows = rng.integers(n, size=n_pairs)
cols = (rows + rng.integers(1, n, size=n_pairs)) % n
same = rng.random(n_pairs) < 0.5
order = np.argsort(topic, kind="stable")
partner = order[(np.searchsorted(topic[order], topic[rows]) + rng.integers(1000, size=n_pairs)) % n]
cols = np.where(same & (partner != rows), partner, cols)
pairs = Pairs(rows, cols, np.where(topic[rows] == topic[cols], 1, -1), n_samples=n).flip(0.2, random_state=0)
checked = np.arange(10_000)
noise = PairNoise.estimate(pairs, pairs[checked].true_labels(topic), checked)
start = time.perf_counter()
learner = PairKernelLearner(noise=noise).fit(X, pairs=pairs)
print(time.perf_counter() - start, learner.converged_, learner.kkt_residual_)
assert learner.converged_ and learner.kkt_residual_ < 1e-6
"""


@pytest.mark.slow
def test_a_million_pairs_over_ten_thousand_attributes_in_a_minute_and_four_gigabytes():
    done = subprocess.run([sys.executable, "-c", ONE_MILLION_PAIRS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[0]) < 60
