"""Second-order cones and their scaling by the laws of the algebra; the interior point against a convex solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from kernelwise.optim.cone_program import ConeProgram, solve_cone_program
from kernelwise.optim.cones import ConePoint, Cones, Scaling

seeds = st.integers(0, 2**32 - 1)


def random_cones(rng):
    return Cones(rng.integers(1, 6, size=rng.integers(1, 5)))


def random_vector(rng, cones):
    return ConePoint(rng.normal(size=len(cones.ranks)), rng.normal(size=cones.ranks.sum()))


def random_interior(rng, cones):
    """A point inside, from its middle to very near its boundary, of any size."""
    tails = rng.normal(size=cones.ranks.sum()) * cones.spread(10.0 ** rng.uniform(-3, 3, size=len(cones.ranks)))
    lengths = np.sqrt([np.sum(part**2) for part in split(cones, tails)])
    return ConePoint(lengths * (1 + 10.0 ** rng.uniform(-4, 1, size=len(lengths))), tails)


def split(cones, tails):
    return np.split(tails, np.cumsum(cones.ranks)[:-1])


def dense(cones, x):
    """The point as one vector per cone."""
    return [np.concatenate([[head], tail]) for head, tail in zip(x.heads, split(cones, x.tails), strict=True)]


def assert_same(cones, x, y, rtol=1e-9):
    for a, b in zip(dense(cones, x), dense(cones, y), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max())


def reflection(size):
    """J = diag(1, -1, ..., -1), whose quadratic form is the determinant."""
    return np.diag([1.0] + [-1.0] * (size - 1))


@given(seeds)
def test_sums_products_and_determinants_are_those_of_each_cone(seed):
    rng = np.random.default_rng(seed)
    cones = random_cones(rng)
    x, y = random_vector(rng, cones), random_vector(rng, cones)
    product = dense(cones, cones.product(x, y))
    for j, (a, b) in enumerate(zip(dense(cones, x), dense(cones, y), strict=True)):
        assert cones.dots(x, y)[j] == pytest.approx(a @ b)
        assert cones.determinant(x)[j] == pytest.approx(a @ reflection(len(a)) @ a, abs=1e-12)
        # The arrow matrix of x is what multiplies by x.
        arrow = a[0] * np.eye(len(a))
        arrow[0], arrow[:, 0] = a, a
        np.testing.assert_allclose(product[j], arrow @ b, atol=1e-12)
    assert_same(cones, cones.product(x, y), cones.product(y, x))
    np.testing.assert_allclose(cones.sums(cones.spread(x.heads)), cones.ranks * x.heads)


@given(seeds)
def test_dividing_undoes_multiplying(seed):
    rng = np.random.default_rng(seed)
    cones = random_cones(rng)
    x, y = random_interior(rng, cones), random_vector(rng, cones)
    assert_same(cones, cones.product(x, cones.divide(x, y)), y, rtol=1e-7)


@given(seeds)
def test_the_longest_step_ends_on_the_boundary(seed):
    rng = np.random.default_rng(seed)
    cones = random_cones(rng)
    x, direction = random_interior(rng, cones), random_vector(rng, cones)
    longest = cones.longest_step(x, direction)
    before = x + direction.scaled(0.999 * min(longest, 1e6))
    assert np.all(before.heads > 0)
    assert np.all(cones.determinant(before) > 0)
    if np.isfinite(longest):
        after = x + direction.scaled(1.001 * longest)
        assert np.any((cones.determinant(after) < 0) | (after.heads < 0))


def test_a_direction_inside_the_cones_has_no_longest_step(rng):
    cones = random_cones(rng)
    assert cones.longest_step(random_interior(rng, cones), random_interior(rng, cones)) == np.inf


@given(seeds)
def test_scaling_takes_both_points_to_the_same_one(seed):
    rng = np.random.default_rng(seed)
    cones = random_cones(rng)
    s, z, x, y = (draw(rng, cones) for draw in (random_interior, random_interior, random_vector, random_vector))
    scaling = Scaling.between(cones, s, z)
    assert_same(cones, scaling.apply(z), scaling.solve(s), rtol=1e-6)
    assert_same(cones, scaling.solve(scaling.apply(x)), x, rtol=1e-6)
    # W is symmetric, keeps the cones, and scales determinants by beta^2.
    left, right = cones.dots(scaling.apply(x), y), cones.dots(x, scaling.apply(y))
    size = scaling.beta * np.abs(scaling.v.heads) ** 2 * np.sqrt(cones.dots(x, x) * cones.dots(y, y))
    assert np.all(np.abs(left - right) <= 1e-9 * size)
    np.testing.assert_allclose(
        cones.determinant(scaling.apply(z)), scaling.beta**2 * cones.determinant(z), rtol=1e-5, atol=1e-300
    )
    # And W^2 = beta^2 (2 w w^T - J).
    twice = dense(cones, scaling.apply(scaling.apply(x)))
    for j, (a, w) in enumerate(zip(dense(cones, x), dense(cones, scaling.w), strict=True)):
        expected = scaling.beta[j] ** 2 * (2 * w * (w @ a) - reflection(len(a)) @ a)
        np.testing.assert_allclose(twice[j], expected, atol=1e-8 * np.abs(expected).max())


def random_program(rng, n, ranks, **options):
    """A program whose bounds and cones both matter."""
    B = rng.normal(size=(int(np.sum(ranks)), n)) * rng.choice([0.3, 1.0, 3.0])
    upper = rng.uniform(0.2, 2.0, size=n)
    return ConeProgram(B, np.asarray(ranks), 10.0 ** rng.uniform(-3, 1), upper, **options)


def random_options(rng, n):
    budget = float(rng.uniform(0.05, 0.6) * n) if rng.random() < 0.5 else None
    balance = np.where(np.arange(n) % 3 > 0, 1.0, -1.0) if rng.random() < 0.5 else None
    return {"budget": budget, "balance": balance}


def assert_feasible(program, iterate):
    assert np.all(iterate.alpha > 0)
    assert np.all(iterate.alpha < program.upper)
    lengths = np.sqrt(program.cones.sums((program.B @ iterate.alpha) ** 2))
    assert np.all(lengths < iterate.t)
    if program.budget is not None:
        assert iterate.alpha.sum() < program.budget
    if program.balance is not None:
        assert abs(program.balance @ iterate.alpha) < 1e-9


def objective(program, iterate):
    return -iterate.alpha.sum() + program.curvature * iterate.t**2 / 2


def test_interior_point_agrees_with_convex_solver(rng):
    for _ in range(40):
        n = int(rng.integers(3, 25))
        program = random_program(rng, n, rng.integers(1, 5, size=rng.integers(1, 5)), **random_options(rng, n))
        solution = solve_cone_program(program, tol=1e-8)
        expected = oracles.cone_program(
            program.B,
            program.ranks,
            curvature=program.curvature,
            upper=program.upper,
            budget=program.budget,
            balance=program.balance,
        )
        assert_feasible(program, solution.iterate)
        assert objective(program, solution.iterate) == pytest.approx(expected, rel=1e-6)
        assert solution.gap <= 1e-7 * abs(expected)  # rounding may have the last word a little early


def test_the_gap_bounds_the_distance_from_the_optimum_at_every_stop(rng):
    for _ in range(10):
        program = random_program(rng, 12, [2, 3, 1], **random_options(rng, 12))
        best = objective(program, solve_cone_program(program, tol=1e-9).iterate)
        for max_iter in range(0, 12, 2):
            stopped = solve_cone_program(program, tol=0.0, max_iter=max_iter)
            assert_feasible(program, stopped.iterate)
            assert objective(program, stopped.iterate) - best <= stopped.gap * (1 + 1e-6) + 1e-9
            assert stopped.n_iter <= max_iter


def test_multipliers_are_those_of_the_optimality_conditions(rng):
    for _ in range(10):
        program = random_program(rng, 15, [2, 3, 1], **random_options(rng, 15))
        x = solve_cone_program(program, tol=1e-9).iterate
        gradient = x.upper - x.lower - 1.0 + x.eta - program.B.T @ x.z.tails
        gradient += 0.0 if program.balance is None else x.bias * program.balance
        np.testing.assert_allclose(gradient, 0.0, atol=1e-7)
        assert program.curvature * x.t == pytest.approx(x.z.heads.sum(), rel=1e-7)
        assert np.all(program.cones.determinant(x.z) >= 0)
        assert min(x.lower.min(), x.upper.min(), x.eta) >= 0


@pytest.mark.parametrize("few", [True, False])
def test_many_samples_are_solved_in_the_ranks_to_the_same_end(rng, monkeypatch, few):
    monkeypatch.setattr("kernelwise.optim.reduced_system.MANY_SAMPLES", 10**6 if few else 0)
    for _ in range(10):
        program = random_program(rng, 60, [2, 3, 4], **random_options(rng, 60))
        solution = solve_cone_program(program, tol=1e-6)
        assert program.few_samples == few
        expected = oracles.cone_program(
            program.B,
            program.ranks,
            curvature=program.curvature,
            upper=program.upper,
            budget=program.budget,
            balance=program.balance,
        )
        assert objective(program, solution.iterate) == pytest.approx(expected, rel=2e-6)


@pytest.mark.slow
def test_two_thousand_samples_against_convex_solver(rng):
    program = random_program(rng, 2000, [3, 5, 4, 2], budget=700.0)
    solution = solve_cone_program(program, tol=1e-6)
    expected = oracles.cone_program(
        program.B, program.ranks, curvature=program.curvature, upper=program.upper, budget=program.budget
    )
    assert objective(program, solution.iterate) == pytest.approx(expected, rel=2e-6)


def test_cones_that_restrict_nothing(rng):
    """Rows orthogonal to the starting point, and rows of zeros, leave the bounds alone to decide."""
    upper = np.ones(6)
    for B in (np.zeros((1, 6)), np.array([[1.0, -1.0, 0, 0, 0, 0]])):
        solution = solve_cone_program(ConeProgram(B, np.array([1]), 0.1, upper), tol=1e-9)
        assert solution.iterate.alpha.sum() == pytest.approx(6.0, rel=1e-7)


@pytest.mark.parametrize("curvature", [1e-8, 1e8, 1e12])
def test_any_curvature(rng, curvature):
    """alpha = a 1 in one dimension: the best a is 1/(curvature n) or the bound, whichever is smaller."""
    n = 5
    program = ConeProgram(np.ones((1, n)), np.array([1]), curvature, np.ones(n))
    solution = solve_cone_program(program, tol=1e-9)
    expected = min(1.0 / curvature, float(n))
    assert solution.iterate.alpha.sum() == pytest.approx(expected, rel=1e-4)
