"""The noisy-label problem: every solver against a convex solver, its own certificate, and the problem's symmetries."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import oracles
from kernelwise.kernels import AttributeBank, DenseBank, FactorBank, Gaussian, Linear
from kernelwise.mkl.column_generation import solve_by_column_generation
from kernelwise.mkl.problem import NoisyLabelProblem
from kernelwise.optim import Status
from kernelwise.papers.stpmkl import saddle
from kernelwise.papers.stpmkl.saddle import solve_by_mirror_prox, solve_by_variational_inequality

PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4)
BUDGETS = (np.inf, 0.8, 0.5, 0.2)  # as fractions of what the upper bounds allow
SOLVERS = {
    "column generation": solve_by_column_generation,
    "mirror prox": partial(solve_by_mirror_prox, check_every=3),
    "mirror prox, average": partial(solve_by_mirror_prox, iterate="average", step="paper"),
    "variational inequality": partial(solve_by_variational_inequality, check_every=3),
    "variational inequality, last": partial(solve_by_variational_inequality, iterate="last"),
}
#: What the convex solver's answer may be off, relative to it.
ORACLE = 1e-6
FIRST_ORDER = {name: solver for name, solver in SOLVERS.items() if name != "column generation"}


def random_grams(rng, n, m):
    """Gaussian kernels of one or all features, with a width each, evaluated by hand; and noisy labels."""
    X = rng.uniform(size=(n, 3))
    grams = []
    for _ in range(m):
        columns = [rng.integers(3)] if rng.random() < 0.7 else [0, 1, 2]
        differences = X[:, None, columns] - X[None, :, columns]
        grams.append(np.exp(-np.sum(differences**2, axis=2) / (2 * 2.0 ** (2 * rng.integers(-3, 3)))))
    y = np.where(X[:, 0] + 0.5 * np.sin(9 * X[:, 1]) > 0.7, 1.0, -1.0)
    y = np.where(rng.random(n) < 0.15, -y, y)
    y[:2] = 1.0, -1.0
    return np.stack(grams), y


def random_problem(rng, penalty, budget, *, weighted=None, intercept=None, duplicates=None):
    """A small problem; what is left open is drawn."""
    weighted, intercept, duplicates = (
        rng.random() < 0.5 if c is None else c for c in (weighted, intercept, duplicates)
    )
    n, m = int(rng.integers(20, 29)), int(rng.integers(4, 7))
    grams, y = random_grams(rng, n, m)
    if duplicates:
        grams = np.concatenate([grams, grams[rng.integers(m, size=2)]])
    upper = rng.integers(0, 4, size=n) * rng.uniform(0.5, 1.5) if weighted else np.ones(n)
    upper[:2] = upper.max()
    return NoisyLabelProblem(
        DenseBank(grams), y, penalty, upper, float(upper.sum()), float(budget * upper.sum()), bool(intercept)
    )


def optimum(problem):
    """What the convex solver says: the value and the decisions."""
    keys = ("penalty", "upper", "mass", "budget", "intercept")
    return oracles.noisy_label_mkl(problem.bank.grams, problem.y, **{key: getattr(problem, key) for key in keys})


def assert_encloses(problem, result, value):
    """The certificate is that of the point, and the optimum lies within it."""
    assert result.certificate.dual <= value * (1 + ORACLE)
    assert result.certificate.primal >= value * (1 - ORACLE)
    again = problem.certificate(result.point)
    assert again.primal == pytest.approx(result.certificate.primal, rel=1e-9)
    assert again.dual == pytest.approx(result.certificate.dual, rel=1e-9, abs=1e-12)
    assert_feasible(problem, result.point.alpha)


def assert_feasible(problem, alpha):
    room = 1e-9 * problem.upper.max()
    assert np.all(alpha >= 0)
    assert np.all(alpha <= problem.upper + room)
    assert alpha.sum() <= problem.budget * (1 + 1e-12)
    if problem.intercept:
        assert abs(alpha @ problem.y) <= len(alpha) * room


def check_against_oracle(problem):
    value, decisions = optimum(problem)
    result = solve_by_column_generation(problem, tol=1e-7)
    assert result.converged
    assert result.certificate.primal == pytest.approx(value, rel=1e-6)
    assert_encloses(problem, result, value)
    return result, decisions


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_column_generation_agrees_with_convex_solver(rng, penalty, budget):
    for _ in range(5):
        check_against_oracle(random_problem(rng, penalty, budget))


@pytest.mark.slow
@pytest.mark.parametrize("duplicates", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_column_generation_agrees_in_every_setting(rng, penalty, budget, weighted, intercept, duplicates):
    for _ in range(20):
        check_against_oracle(
            random_problem(rng, penalty, budget, weighted=weighted, intercept=intercept, duplicates=duplicates)
        )


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_bounds_enclose_the_optimum_however_early_a_solver_stops(rng, solver):
    for penalty in PENALTIES[::2]:
        for budget in (np.inf, 0.5):
            problem = random_problem(rng, penalty, budget)
            value, _ = optimum(problem)
            tight = solve_by_column_generation(problem, tol=1e-7).certificate
            for max_iter in (1, 3, 15):
                result = solver(problem, tol=0.0, max_iter=max_iter)
                assert_encloses(problem, result, value)
                assert result.certificate.dual <= tight.primal * (1 + 1e-9)
                assert result.certificate.primal >= tight.dual * (1 - 1e-9)


@pytest.mark.parametrize(
    ("solver", "tol"),
    [
        (partial(solve_by_mirror_prox, max_iter=20_000), 1e-2),
        (partial(solve_by_mirror_prox, max_iter=20_000, iterate="average"), 5e-2),
        (partial(solve_by_variational_inequality, max_iter=20_000, gamma0=100.0), 2e-1),
    ],
)
@pytest.mark.parametrize("intercept", [False, True])
def test_first_order_methods_converge(rng, solver, tol, intercept):
    for budget in (np.inf, 0.5):
        problem = random_problem(rng, 1e-2, budget, intercept=intercept)
        value, _ = optimum(problem)
        result = solver(problem, tol=tol)
        assert result.status is Status.CONVERGED
        assert result.certificate.relative_gap <= tol
        assert result.certificate.primal <= value * (1 + 2 * tol)
        assert_encloses(problem, result, value)


def test_mirror_prox_follows_the_published_algorithm(rng):
    grams, _ = random_grams(rng, 12, 3)
    # Labels that the kernels find easy, so that a few iterations already beat f = 0 and are what the solver returns.
    y = np.where(np.linalg.eigh(grams.sum(axis=0))[1][:, -2] > 0, 1.0, -1.0)
    problem = NoisyLabelProblem(DenseBank(grams), y, 0.02, np.ones(12), 12.0, 9.0)
    step = np.sqrt(12 / (2 * 3))
    values, norms, alphas = oracles.mirror_prox(grams, y, penalty=0.02, budget=9.0, step=step, n_iter=25)
    options = {"tol": 0.0, "max_iter": 25, "check_every": 25, "step": "paper"}
    last = solve_by_mirror_prox(problem, **options)
    assert last.certificate.primal == pytest.approx(problem.primal_value(values[-1], norms[-1]), rel=1e-5)
    np.testing.assert_allclose(problem.decisions(last.point), values[-1], atol=1e-5)
    np.testing.assert_allclose(last.point.alpha, alphas[-1], atol=1e-5)
    average = solve_by_mirror_prox(problem, iterate="average", **options)
    np.testing.assert_allclose(problem.decisions(average.point), np.mean(values, axis=0), atol=1e-5)
    np.testing.assert_allclose(average.point.alpha, np.mean(alphas, axis=0), atol=1e-5)


def test_the_gap_does_not_close_with_lemma_3_as_printed(rng, monkeypatch):
    """The printed factor 1/2 is the prox of half of the penalty, so that the iterates go to another point."""
    problem = random_problem(rng, 0.02, 0.8)
    right = saddle.prox_squared_sum_of_norms
    gaps = {}
    for name, prox in {"right": right, "printed": lambda norms, scale: right(norms, scale / 2)}.items():
        monkeypatch.setattr(saddle, "prox_squared_sum_of_norms", prox)
        gaps[name] = solve_by_mirror_prox(problem, tol=1e-6, max_iter=4000).certificate.relative_gap
    assert gaps["right"] < 2e-2
    assert gaps["printed"] > 5 * gaps["right"]


def test_worst_loss_is_the_maximum_over_the_feasible_set(rng):
    for budget in BUDGETS:
        for weighted in (False, True):
            problem = random_problem(rng, 0.1, budget, weighted=weighted)
            decisions = rng.normal(size=len(problem.y))
            expected = oracles.worst_loss(decisions, problem.y, problem.upper, problem.budget)
            assert problem.worst_loss(decisions) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("intercept", [False, True])
def test_feasible_moves_anything_into_the_set_and_nothing_that_is_there(rng, intercept):
    for budget in BUDGETS:
        problem = random_problem(rng, 0.1, budget, intercept=intercept)
        alpha = problem.feasible(rng.normal(size=len(problem.y)) * 3)
        assert_feasible(problem, alpha)
        np.testing.assert_allclose(problem.feasible(alpha), alpha, rtol=1e-12)


def solve(problem, tol=1e-7):
    result = solve_by_column_generation(problem, tol=tol)
    assert result.converged
    return result.certificate.primal, problem.decisions(result.point)


def test_a_budget_of_everything_is_the_plain_problem(rng):
    for penalty in PENALTIES:
        plain = random_problem(rng, penalty, np.inf)
        for factor in (1.0, 1.5):
            value, decisions = solve(replace(plain, budget=factor * plain.upper.sum()))
            expected, expected_decisions = solve(plain)
            assert value == pytest.approx(expected, rel=2e-7)
            np.testing.assert_allclose(decisions, expected_decisions, atol=5e-3)


def test_order_of_samples_and_kernels_does_not_matter(rng):
    for penalty in PENALTIES:
        problem = random_problem(rng, penalty, 0.6, weighted=True)
        value, decisions = solve(problem)
        grams = problem.bank.grams
        order, kernels = rng.permutation(len(problem.y)), rng.permutation(len(grams))
        shuffled = replace(
            problem,
            bank=DenseBank(grams[kernels][:, order][:, :, order]),
            y=problem.y[order],
            upper=problem.upper[order],
        )
        shuffled_value, shuffled_decisions = solve(shuffled)
        assert shuffled_value == pytest.approx(value, rel=2e-7)
        np.testing.assert_allclose(shuffled_decisions, decisions[order], atol=5e-3)


def test_duplicated_kernels_leave_the_optimum_unchanged(rng):
    for budget in BUDGETS:
        problem = random_problem(rng, 1e-2, budget, duplicates=False)
        value = solve_by_column_generation(problem, tol=1e-6).certificate.primal
        doubled = replace(problem, bank=DenseBank(np.concatenate([problem.bank.grams] * 3)))
        assert solve_by_column_generation(doubled, tol=1e-6).certificate.primal == pytest.approx(value, rel=3e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_weight_of_two_is_the_sample_twice(rng, intercept):
    for penalty in PENALTIES:
        grams, y = random_grams(rng, 20, 5)
        times = rng.integers(0, 3, size=20)
        times[:2] = 1, 2
        repeated = np.repeat(np.arange(20), times)
        n = len(repeated)
        weighted = NoisyLabelProblem(DenseBank(grams), y, penalty, times * 1.0, n, 0.7 * n, intercept)
        copies = NoisyLabelProblem(
            DenseBank(grams[:, repeated][:, :, repeated]), y[repeated], penalty, np.ones(n), n, 0.7 * n, intercept
        )
        value, decisions = solve(weighted)
        expected, expected_decisions = solve(copies)
        assert value == pytest.approx(expected, rel=3e-7)
        np.testing.assert_allclose(decisions[repeated], expected_decisions, atol=5e-3)


@pytest.mark.parametrize("solver", FIRST_ORDER.values(), ids=FIRST_ORDER)
def test_scale_of_the_weights_does_not_matter(rng, solver):
    problem = random_problem(rng, 1e-2, 0.6)
    scaled = replace(problem, upper=64 * problem.upper, mass=64 * problem.mass, budget=64 * problem.budget)
    one, other = (solver(p, tol=1e-2, max_iter=40) for p in (problem, scaled))
    assert one.n_iter == other.n_iter
    assert other.certificate.primal == pytest.approx(one.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(other.point.alpha, 64 * one.point.alpha, rtol=1e-6, atol=1e-9)


def banks_of_the_same_kernels(rng, kind):
    X = rng.uniform(-1, 1, size=(25, 4))
    if kind == "gaussian":
        kernels = [Gaussian(width).on(column) for width in (0.3, 1.0) for column in (0, 1, (0, 1, 2, 3))]
        return DenseBank.build(X, kernels), FactorBank.build(X, kernels, tol=1e-13)
    return FactorBank.build(X, [Linear().on(j) for j in range(4)]), AttributeBank(X)


@pytest.mark.parametrize("kind", ["gaussian", "linear"])
@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_answers_do_not_depend_on_the_bank(rng, solver, kind):
    bank, other = banks_of_the_same_kernels(rng, kind)
    y = np.where(rng.random(25) < 0.5, 1.0, -1.0)
    for intercept in (False, True):
        problem = NoisyLabelProblem(bank, y, 0.02, np.ones(25), 25.0, 15.0, intercept)
        results = [solver(p, tol=1e-7, max_iter=25) for p in (problem, replace(problem, bank=other))]
        assert results[0].certificate.primal == pytest.approx(results[1].certificate.primal, rel=1e-6)
        assert results[0].certificate.dual == pytest.approx(results[1].certificate.dual, rel=1e-6)
        if solver is not solve_by_column_generation:  # which has no reason to find the same one of several optima
            np.testing.assert_allclose(results[0].point.alpha, results[1].point.alpha, atol=1e-6)


class CountingBank(DenseBank):
    """Counts the products by all kernels, and the factors that are computed."""

    products_made = factors_made = 0

    def products(self, v):
        self.products_made += 1
        return super().products(v)

    def factor(self, j):
        self.factors_made += 1
        return super().factor(j)


def test_first_order_methods_factor_a_dense_bank_once_and_multiply_by_it_for_the_dual_alone(rng):
    grams, y = random_grams(rng, 20, 4)
    for solver in (solve_by_mirror_prox, solve_by_variational_inequality):
        bank = CountingBank(grams)
        problem = NoisyLabelProblem(bank, y, 0.01, np.ones(20), 20.0)
        solver(problem, tol=0.0, max_iter=50, check_every=25)
        assert (bank.factors_made, bank.products_made) == (4, 2)


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_problems_without_an_interior(rng, solver):
    """Kernels of rank zero, one class, no budget, labels that no kernel sees: a constant is optimal."""
    grams, y = random_grams(rng, 20, 4)
    ones = np.ones(20)
    plain = NoisyLabelProblem(DenseBank(grams), y, 0.01, ones, 20.0)
    smaller = min((y > 0).sum(), (y < 0).sum())
    cases = [
        (replace(plain, bank=DenseBank(np.zeros((2, 20, 20)))), 1.0),
        (replace(plain, bank=DenseBank(np.zeros((2, 20, 20))), intercept=True), 2 * smaller / 20),
        (replace(plain, y=ones, intercept=True), 0.0),
        (replace(plain, upper=(y > 0) * 1.0, intercept=True), 0.0),
        (replace(plain, budget=0.0), 0.0),
        (replace(plain, upper=0 * ones), 0.0),
        (replace(plain, penalty=1e6), 1.0 - (ones @ (grams * np.outer(y, y)) @ ones).max() / (2 * 1e6 * 400)),
        (NoisyLabelProblem(DenseBank(np.ones((1, 2, 2))), np.array([1.0, -1.0]), 0.1, np.ones(2), 2.0), 1.0),
    ]
    for problem, value in cases:
        result = solver(problem, tol=1e-6, max_iter=300)
        assert np.isfinite(result.certificate.primal)
        assert result.certificate.dual <= value + 1e-9
        assert result.certificate.primal >= value - 1e-9
        if solver is solve_by_column_generation:
            assert result.certificate.primal == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize(("penalty", "scale"), [(1e-12, 1.0), (1e-9, 1.0), (1e-6, 1e4), (1e-4, 1e8), (1e2, 1e4)])
def test_column_generation_takes_any_scale(rng, penalty, scale):
    grams, y = random_grams(rng, 25, 5)
    ones = np.ones(25)
    value = solve(NoisyLabelProblem(DenseBank(scale * grams), y, penalty, ones, 25.0), tol=1e-6)[0]
    # Kernels times c are worth a penalty divided by c.
    expected = solve(NoisyLabelProblem(DenseBank(grams), y, penalty / scale, ones, 25.0), tol=1e-6)[0]
    assert value == pytest.approx(expected, rel=3e-6)


def test_samples_of_no_weight_do_not_count(rng):
    grams, y = random_grams(rng, 24, 5)
    kept = np.arange(24) % 3 > 0
    weighted = NoisyLabelProblem(DenseBank(grams), y, 0.01, kept * 1.0, 16.0, 10.0)
    fewer = NoisyLabelProblem(DenseBank(grams[:, kept][:, :, kept]), y[kept], 0.01, np.ones(16), 16.0, 10.0)
    assert solve(weighted)[0] == pytest.approx(solve(fewer)[0], rel=2e-7)


def test_a_warm_start_changes_the_way_and_not_the_answer(rng):
    problem = random_problem(rng, 1e-3, 0.6)
    cold = solve_by_column_generation(problem, tol=1e-7)
    used = np.array(sorted(cold.point.parts))
    warm = solve_by_column_generation(problem, tol=1e-7, active=used)
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-6)
    assert warm.n_iter <= cold.n_iter


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_history_narrows_and_is_what_the_callback_saw(rng, solver):
    seen = []
    problem = random_problem(rng, 1e-2, 0.6)
    result = solver(problem, tol=1e-9, max_iter=40, callback=seen.append)
    assert tuple(seen) == result.history
    rows = np.array(result.history)
    assert np.all(np.diff(rows[:, 0]) > 0)
    assert np.all(np.diff(rows[:, 1]) >= 0)
    assert np.all(np.diff(rows[:, 2]) <= 0)
    assert np.all(np.diff(rows[:, 3]) >= 0)
    assert (rows[-1, 2], rows[-1, 3]) == (result.certificate.primal, result.certificate.dual)
    assert result.n_iter == rows[-1, 0]


def test_steps_too_long_end_as_stalled_and_not_in_overflow(rng):
    problem = random_problem(rng, 10.0, np.inf, intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve_by_variational_inequality(problem, tol=1e-9, gamma0=1e4, max_iter=10_000, iterate="last")
    assert result.status is Status.STALLED
    assert_encloses(problem, result, optimum(problem)[0])


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (partial(solve_by_mirror_prox, step="longest"), r"step must be .*'longest'"),
        (partial(solve_by_mirror_prox, step=0.0), r"step must be .* positive number, got 0.0"),
        (partial(solve_by_mirror_prox, step=np.inf), r"step must be"),
        (partial(solve_by_mirror_prox, iterate="best"), r'iterate must be "last" or "average", got \'best\''),
        (partial(solve_by_variational_inequality, iterate="best"), r"iterate must be"),
        (partial(solve_by_variational_inequality, gamma0=-1.0), r"gamma0 must be a positive number, got -1.0"),
    ],
)
def test_bad_options(rng, solver, message):
    with pytest.raises(ValueError, match=message):
        solver(random_problem(rng, 0.1, np.inf))
