"""What a tolerance promises: a gap beside the gain of the kernels, and predictions that do not hang on it."""

from dataclasses import replace

import numpy as np
import pytest

from golden.cases import FEW_KERNELS, bundled
from kernelwise import (
    BestCaseMKLClassifier,
    RobustMKLClassifier,
    RobustMKLClassifierCV,
    SimpleMKLClassifier,
    SimpleMKLClassifierCV,
    flip_labels,
)
from kernelwise.datasets import load_heart
from kernelwise.kernels import DenseBank
from kernelwise.mkl.best_case import trusted_share
from kernelwise.mkl.column_generation import solve_by_column_generation
from kernelwise.mkl.problem import NoisyLabelProblem
from kernelwise.papers.stpmkl.saddle import solve_by_mirror_prox
from mkl.test_problem_and_solvers import optimum, random_problem


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("budget", [np.inf, 0.5])
@pytest.mark.parametrize("penalty", [1e-3, 0.1, 1.0, 10.0, 100.0])
def test_the_gap_is_beside_what_the_kernels_gain(rng, penalty, budget, intercept):
    """At a penalty of ten, f = 0 is within a thousandth of the optimum and has gained nothing."""
    for tol in (0.1, 1e-3):
        problem = random_problem(rng, penalty, budget, intercept=intercept)
        value, _ = optimum(problem)
        constants = [0.0, 1.0, -1.0] if intercept else [0.0]
        start = min(problem.worst_loss(np.full(len(problem.y), b)) for b in constants) / problem.mass
        result = solve_by_column_generation(problem, tol=tol)
        bounds = result.certificate
        oracle = 2e-7 * max(value, start)  # what the convex solver may be off
        assert result.converged
        assert bounds.relative_gap <= tol
        assert bounds.dual <= value + oracle
        assert bounds.primal - value <= tol * (start - value) + oracle
        own = problem.primal_value(problem.decisions(result.point), result.point.norms(problem.bank.n_kernels))
        assert own <= bounds.primal + 1e-12


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("budget", [np.inf, 0.6, 0.2])
def test_beyond_the_diagonal_a_penalty_only_shrinks(rng, budget, intercept):
    """The values of Gaussian kernels are at most one: from a penalty of two on the solution is a multiple."""
    problem = random_problem(rng, 2.0, budget, intercept=intercept)
    first = solve_by_column_generation(problem, tol=1e-8)
    constant = problem.best_constant
    for factor in (8.0, 2.0**40, 2.0**200):
        larger = solve_by_column_generation(replace(problem, penalty=2.0 * factor), tol=1e-8)
        shrunk = constant + (problem.decisions(first.point) - constant) / factor
        np.testing.assert_allclose(problem.decisions(larger.point), shrunk, rtol=1e-9, atol=1e-12 / factor)
        assert larger.converged
    value, decisions = optimum(replace(problem, penalty=16.0))
    eighth = solve_by_column_generation(replace(problem, penalty=16.0), tol=1e-8)
    assert eighth.certificate.primal == pytest.approx(value, rel=1e-6)
    if not intercept:  # else the convex solver may return another constant that is as good
        np.testing.assert_allclose(problem.decisions(eighth.point), decisions, atol=2e-3)


def test_nothing_to_gain_is_found_and_certified():
    """Where f = 0 is optimal the gap is small beside the losses themselves."""
    y = np.array([1.0, -1.0] * 10)
    uneven = np.where(np.arange(20) < 14, 1.0, -1.0)
    constant, twins = np.ones((1, 20, 20)), np.kron(np.eye(10), np.ones((2, 2)))[None]
    plain = NoisyLabelProblem(DenseBank(constant), y, 0.01, np.ones(20), 20.0)
    cases = [
        plain,
        replace(plain, penalty=1e3),
        replace(plain, bank=DenseBank(twins)),
        replace(plain, bank=DenseBank(np.concatenate([constant, twins]))),
        replace(plain, y=uneven, budget=8.0),  # the budget can be spent on as many of either class
        replace(plain, y=uneven, budget=8.0, penalty=50.0),
        replace(plain, bank=DenseBank(np.zeros((2, 20, 20)))),
    ]
    for problem in cases:
        for tol in (1e-2, 1e-4, 1e-6):
            result = solve_by_column_generation(problem, tol=tol)
            assert result.converged, problem
            assert result.certificate.gap <= 1e-7
            assert np.abs(problem.decisions(result.point)).max() <= 1e-5


def test_first_order_methods_measure_the_same_gap(rng):
    problem = random_problem(rng, 0.5, np.inf, intercept=False)
    result = solve_by_mirror_prox(problem, tol=0.2, max_iter=20_000)
    assert result.converged
    value, _ = optimum(problem)
    assert result.certificate.primal - value <= 0.2 * (1.0 - value) + 1e-6


@pytest.mark.parametrize("alpha", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("make", [SimpleMKLClassifier, RobustMKLClassifier])
def test_the_default_predicts_what_a_far_smaller_tolerance_predicts(make, alpha):
    X, y = load_heart(return_X_y=True)
    noisy = flip_labels(y, 0.4, random_state=0)
    models = [make(alpha=alpha, probability=False, **options).fit(X, noisy) for options in ({}, {"tol": 1e-8})]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    assert models[0].converged_
    assert models[0].relative_gap_ <= models[0].tol
    assert models[0].dual_gap_ <= models[0].tol * (1.0 - models[0].objective_) + 1e-12


def test_decisions_that_are_zero_but_for_an_error_decide_nothing():
    """Kernels of single categories make decisions of exactly zero, with an error of either sign."""
    X, y = load_heart(return_X_y=True)
    fitted = np.random.default_rng(0).permutation(len(y))[:180]
    models = [
        BestCaseMKLClassifier(noise_rate=0.2, tol=tol, probability=False, random_state=0).fit(X[fitted], y[fitted])
        for tol in (1e-6, 1e-8)
    ]
    values = [model.decision_function(X) for model in models]
    assert (np.abs(values) < 1e-5).any(axis=1).all()
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


def test_equal_losses_are_trusted_alike():
    losses = np.array([0.0, 1e-9, -1e-9, 0.5, 1.0 - 1e-9, 2.0])
    np.testing.assert_allclose(trusted_share(losses, np.ones(6), 1.5), [0.5, 0.5, 0.5, 0, 0, 0])
    np.testing.assert_allclose(trusted_share(losses, np.ones(6), 3.5), [1, 1, 1, 0.5, 0, 0])
    np.testing.assert_allclose(trusted_share(losses, np.ones(6), 6.0), [1, 1, 1, 1, 0, 0])
    np.testing.assert_allclose(trusted_share(losses, np.array([1.0, 0, 3, 1, 1, 1]), 2.0), [0.5, 0, 0.5, 0, 0, 0])


CONTINUOUS = {
    "simple": SimpleMKLClassifier(FEW_KERNELS),
    "simple, large penalty": SimpleMKLClassifier(FEW_KERNELS, alpha=10.0),
    "robust": RobustMKLClassifier(FEW_KERNELS, noise_rate=0.2),
    "best case": BestCaseMKLClassifier(FEW_KERNELS, noise_rate=0.2),
    "all kernels": SimpleMKLClassifier(),
    "simple path": SimpleMKLClassifierCV(FEW_KERNELS, alphas=[1.0, 0.1, 0.01], n_folds=3),
    "robust path": RobustMKLClassifierCV(FEW_KERNELS, alphas=[0.1, 0.01], budgets=[1.0, 0.7], n_folds=3),
}


@pytest.mark.parametrize(
    ("data", "classes", "draws"),
    [
        ("heart", 2, 2),
        pytest.param("heart", 2, 10, marks=pytest.mark.slow),
        pytest.param("heart", 3, 10, marks=pytest.mark.slow),
        pytest.param("ionosphere", 2, 10, marks=pytest.mark.slow),
        pytest.param("ionosphere", 3, 10, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_rounding_of_the_features_moves_nothing(name, data, classes, draws, rng):
    X, y = bundled(data, 80, 0.15)
    if classes == 3:
        y = y + (X[:, 4] > np.median(X[:, 4])) * (y == 1)
    model = CONTINUOUS[name].set_params(random_state=0)

    def answers(features):
        fitted = model.fit(features, y)
        return fitted.predict(X), fitted.objective_, fitted.decision_function(X), fitted.predict_proba(X)

    predicted, objective, *values = answers(X)
    weights = model.kernel_weights_
    for _ in range(draws):
        again = answers(X * (1 + 1e-10 * rng.standard_normal(X.shape)))
        np.testing.assert_array_equal(again[0], predicted)
        assert again[1] == pytest.approx(objective, abs=1e-6)
        for value, moved in zip((*values, weights), (*again[2:], model.kernel_weights_), strict=True):
            np.testing.assert_allclose(moved, value, rtol=0, atol=1e-5)
