"""The formulas of the noisy-label paper by hand, by brute force, and where possible by watching them hold."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from kernelwise.kernels import DenseBank, FactorBank, Gaussian
from kernelwise.mkl.column_generation import solve_by_column_generation
from kernelwise.mkl.problem import NoisyLabelProblem, margin_of_confidence
from kernelwise.papers.stpmkl.saddle import solve_by_mirror_prox
from kernelwise.papers.stpmkl.theory import (
    budget_from_noise_rate,
    budget_multiplier,
    equivalent_penalty,
    generalization_bound,
    mirror_prox_iterations,
)


def random_problem(rng, penalty, budget, *, upper=None, intercept=False, n=40):
    X = rng.uniform(size=(n, 3))
    kernels = [Gaussian(width).on(column) for width in (0.2, 0.7, 2.0) for column in (0, 1, (0, 1, 2))]
    y = np.where(X[:, 0] + 0.4 * np.sin(8 * X[:, 1]) + 0.3 * rng.normal(size=n) > 0.6, 1.0, -1.0)
    upper = np.ones(n) if upper is None else upper
    bank = FactorBank.build(X, kernels)
    return NoisyLabelProblem(bank, y, penalty, upper, float(upper.sum()), budget * upper.sum(), intercept)


def solution(problem):
    result = solve_by_column_generation(problem, tol=1e-8)
    assert result.converged
    return problem.decisions(result.point)


@pytest.mark.parametrize(("weighted", "intercept"), [(False, True), (True, False)])
def test_a_budget_is_a_smaller_penalty(rng, weighted, intercept):
    """f_St(penalty, budget) = r f_Si(penalty r): the same decisions up to a factor."""
    bound = 0
    for penalty in (0.1, 0.03, 0.01):
        for budget in (0.9, 0.75, 0.6, 0.45):
            upper = rng.uniform(0.5, 2.0, size=40) if weighted else None
            problem = random_problem(rng, penalty, budget, upper=upper, intercept=intercept)
            decisions = solution(problem)
            smaller = equivalent_penalty(problem, decisions)
            assert 0 <= smaller <= penalty
            ratio = smaller / penalty
            if ratio < 0.05:
                continue
            plain = solution(replace(problem, penalty=smaller, budget=np.inf))
            np.testing.assert_allclose(decisions, ratio * plain, atol=1e-4)
            certain = np.abs(decisions) > 1e-3
            assert np.array_equal(np.sign(decisions[certain]), np.sign(plain[certain]))
            bound += ratio < 0.999
    assert bound >= 3  # the budget really was felt


def test_where_the_budget_binds_the_penalty_no_longer_matters(rng):
    """sign f_St(lam, rho) depends on rho alone: the equivalent penalty is the same for every larger lam."""
    problem = random_problem(rng, 0.05, 0.5)
    equivalents = [
        equivalent_penalty(stronger, solution(stronger))
        for stronger in (replace(problem, penalty=penalty) for penalty in (0.05, 0.1, 0.2))
    ]
    assert equivalents[0] < 0.05
    np.testing.assert_allclose(equivalents, equivalents[0], rtol=2e-3)


def test_budget_multiplier_minimises_the_nu_form(rng):
    for _ in range(100):
        n = int(rng.integers(2, 12))
        upper = [np.ones(n), rng.uniform(0.1, 2.0, size=n), rng.integers(0, 3, size=n) + 0.0][rng.integers(3)]
        upper[0] = 1.0
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        decisions = rng.choice([0.0, 0.5, 1.0, 2.0], size=n) if rng.random() < 0.3 else rng.normal(size=n)
        budget = [float(rng.integers(1, n + 1)), rng.uniform(0.1, 1.2) * upper.sum(), np.inf][rng.integers(3)]
        problem = NoisyLabelProblem(DenseBank(np.eye(n)), y, 1.0, upper, float(n), budget)
        eta = budget_multiplier(problem, decisions)

        def nu_form(value, y=y, upper=upper, decisions=decisions, budget=budget):
            spend = 0.0 if value == 0 else budget * value
            return spend + upper @ np.maximum(0.0, 1 - value - y * decisions)

        corners = [0.0, *np.maximum(0.0, 1 - y * decisions)]
        assert eta >= 0
        assert nu_form(eta) == pytest.approx(min(map(nu_form, corners)), rel=1e-12, abs=1e-12)
        assert nu_form(eta) == pytest.approx(problem.worst_loss(decisions), rel=1e-12, abs=1e-12)


def test_a_budget_that_does_not_bind_leaves_the_penalty(rng):
    problem = random_problem(rng, 0.01, 1.0)
    assert equivalent_penalty(problem, rng.normal(size=40)) == 0.01


def test_theorem_2_holds_for_the_averages(rng):
    """Kernels with k(x, x) = 1, the paper's step: the gap of the averages is below the bound at every T."""
    problem = random_problem(rng, 0.02, 0.6)
    n, m = 40, problem.bank.n_kernels
    for n_iter in (10, 100, 1000):
        options = {"max_iter": n_iter, "check_every": n_iter, "step": "paper", "iterate": "average"}
        result = solve_by_mirror_prox(problem, tol=0.0, **options)
        alpha = result.point.alpha
        # f* minimises the Lagrangian at the averaged alpha; alpha* at the averaged f has at most `budget` ones.
        norm_f = math.sqrt(problem.bank.quadratic_forms(alpha * problem.y).max()) / (problem.penalty * n)
        norm_alpha = math.sqrt(problem.budget)
        needed = mirror_prox_iterations(
            result.certificate.gap, norm_f=norm_f, norm_alpha=norm_alpha, n_samples=n, n_kernels=m
        )
        assert needed >= n_iter


def test_generalization_bound_by_hand():
    # n = 100, q = 0, tau = 0, lambda = 2, delta = 1/e: sqrt(2 / 200) (4 + sqrt(1 + 1)) + 30 / 100
    value = generalization_bound(30.0, n_samples=100, noise_rate=0.0, penalty=2.0, delta=math.exp(-1))
    assert value == pytest.approx(0.3 + 0.1 * (4 + math.sqrt(2)))
    # tau = 1 (risk e^-2), q = 1/2: sqrt(4 / (50 * 2)) (4 + sqrt(1 + 2/4)) + 30 / 50
    value = generalization_bound(
        30.0, n_samples=100, noise_rate=0.5, penalty=2.0, risk=math.exp(-2), delta=math.exp(-1)
    )
    assert value == pytest.approx(0.6 + 0.2 * (4 + math.sqrt(1.5)))


def test_generalization_bound_grows_with_noise_and_falls_with_samples():
    bound = partial(generalization_bound, 10.0, penalty=0.1)
    noisy = [bound(n_samples=100, noise_rate=q) for q in (0.0, 0.2, 0.4)]
    many = [bound(n_samples=n, noise_rate=0.2) for n in (100, 1000, 10_000)]
    assert noisy == sorted(noisy)
    assert many == sorted(many, reverse=True)


def test_budget_from_noise_rate_by_hand():
    bounds = budget_from_noise_rate(0.25, 16, risk=math.exp(-2))  # tau = 1
    assert bounds.budget == pytest.approx((0.75 + 1 + 0.25) * 16)
    assert bounds.upper == pytest.approx(2.0)
    assert budget_from_noise_rate(0.0, 7) == (7.0, 1.0)
    assert margin_of_confidence(math.exp(-8)) == pytest.approx(2.0)


def test_the_budget_of_11_contains_what_10_allows(rng):
    """alpha_i = beta_i (p_i + tau) with p in the Q of (10) and beta in [0, 1] always lies in the Q of (11)."""
    n, noise_rate, risk = 30, 0.3, 0.2
    tau = margin_of_confidence(risk)
    bounds = budget_from_noise_rate(noise_rate, n, risk=risk)
    for _ in range(200):
        p = rng.uniform(size=n) ** rng.uniform(0, 2)
        p *= min(1.0, ((1 - noise_rate) * n + tau * math.sqrt(n)) / p.sum())
        alpha = rng.uniform(size=n) ** rng.uniform(0, 1) * (p + tau)
        assert alpha.max() <= bounds.upper
        assert alpha.sum() <= bounds.budget + 1e-9
        assert np.maximum(alpha - tau, 0.0).sum() <= (1 - noise_rate) * n + tau * math.sqrt(n) + 1e-9


def test_mirror_prox_iterations_by_hand():
    arguments = {"norm_f": 3.0, "norm_alpha": 4.0, "n_samples": 8, "n_kernels": 64}
    assert mirror_prox_iterations(0.5, **arguments) == 100  # 25 * 8 / (4 * 0.5)
    assert mirror_prox_iterations(0.51, **arguments) == 99


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: margin_of_confidence(0.0), "risk must lie in"),
        (lambda: margin_of_confidence(1.5), "risk must lie in .* got 1.5"),
        (lambda: budget_from_noise_rate(1.0, 10), "noise_rate must lie in .* got 1.0"),
        (lambda: budget_from_noise_rate(-0.1, 10), "noise_rate must lie in"),
        (lambda: budget_from_noise_rate(0.1, 0), "n_samples must be an integer of at least 1, got 0"),
        (
            lambda: generalization_bound(-1.0, n_samples=9, noise_rate=0.1, penalty=1.0),
            "worst_loss must not be negative",
        ),
        (lambda: generalization_bound(1.0, n_samples=9, noise_rate=1.1, penalty=1.0), "noise_rate must lie in"),
        (lambda: generalization_bound(1.0, n_samples=9, noise_rate=0.1, penalty=0.0), "penalty must be a positive"),
        (lambda: generalization_bound(1.0, n_samples=9, noise_rate=0.1, penalty=1.0, delta=1.0), "delta must lie in"),
        (
            lambda: mirror_prox_iterations(0.0, norm_f=1.0, norm_alpha=1.0, n_samples=9, n_kernels=9),
            "gap must be a positive number, got 0.0",
        ),
        (
            lambda: mirror_prox_iterations(0.1, norm_f=1.0, norm_alpha=1.0, n_samples=9, n_kernels=0),
            "n_kernels must be an integer of at least 1",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
