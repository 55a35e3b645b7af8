"""Projections, proxes and certificates: optimality conditions, inequalities, a convex solver, and the clock."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from kernelwise.optim import (
    Certificate,
    HistoryRow,
    SolverResult,
    Status,
    project_box_budget,
    prox_squared_sum_of_norms,
)

TOLERANCE = 1e-10


def projection_violation(a, v, upper, budget):
    """Largest violation of the optimality conditions, relative to the size of the data.

    With r = v - a, a point of the set is the projection iff one multiplier eta >= 0 has r <= eta where a < upper,
    r >= eta where a > 0, and eta = 0 unless the budget is used up.
    """
    upper = np.broadcast_to(upper, v.shape)
    scale = max(1.0, np.abs(v).max(initial=0.0))
    infeasible = max(0.0, (-a).max(initial=0.0), (a - upper).max(initial=0.0))
    overspent = max(0.0, a.sum() - budget) / v.size if v.size else 0.0
    residual = v - a
    at_least = max(0.0, residual[a < upper].max(initial=0.0))
    at_most = residual[a > 0].min(initial=np.inf)
    unspent = np.isinf(budget) or budget - a.sum() > TOLERANCE * scale * max(v.size, 1)
    inconsistent = max(0.0, at_least - at_most, at_least if unspent else 0.0)
    return max(infeasible, overspent, inconsistent) / scale


def prox_violation(factors, norms, scale):
    """Largest violation of the optimality conditions of the block norms t = factors * norms, relative to the data.

    0 is a subgradient iff t_j - norms_j + scale * sum(t) is 0 where t_j > 0 and non-negative where t_j = 0.
    """
    lengths = factors * norms
    slope = lengths - norms + scale * lengths.sum()
    inactive = lengths == 0
    violation = np.where(inactive, np.maximum(-slope, 0.0), np.abs(slope))
    return violation.max(initial=0.0) / ((1.0 + scale) * max(norms.max(initial=0.0), 1e-300))


def random_vector(rng, n):
    kind = rng.integers(6)
    if kind == 0:
        return rng.normal(size=n)
    if kind == 1:
        return rng.integers(-3, 4, size=n) / 2.0  # many ties, many of them on breakpoints
    if kind == 2:
        return rng.standard_cauchy(n)
    if kind == 3:
        return np.full(n, rng.normal())
    if kind == 4:
        return rng.normal(size=n) * (rng.random(n) < 0.3)  # many zeros
    return rng.uniform(0, 2, size=n) * 10.0 ** rng.integers(-6, 7)


def random_projection_case(rng):
    n = int(rng.integers(1, 60))
    v = random_vector(rng, n)
    upper = [1.0, rng.uniform(0, 2), rng.integers(0, 3, size=n) / 2.0, rng.uniform(0, 2, size=n), np.inf][
        rng.integers(5)
    ]
    reach = np.clip(v, 0, upper).sum()
    budget = [0.0, np.inf, reach, rng.uniform() * reach, rng.uniform() * n, float(rng.integers(0, n + 1))][
        rng.integers(6)
    ]
    return v, upper, budget


def test_projection_is_optimal_on_1000_random_cases(rng):
    binding = 0
    for _ in range(1000):
        v, upper, budget = random_projection_case(rng)
        a = project_box_budget(v, upper=upper, budget=budget)
        assert projection_violation(a, v, upper, budget) <= TOLERANCE, (v, upper, budget)
        binding += np.clip(v, 0, upper).sum() > budget
    assert binding > 300  # the cases exercise the multiplier


@pytest.mark.parametrize("n", [8_191, 8_193, 30_000])
@pytest.mark.parametrize("seed", range(4))
def test_projection_is_optimal_on_large_inputs(n, seed):
    rng = np.random.default_rng(seed)
    vectors = [
        rng.normal(size=n),
        rng.integers(0, 5, size=n) / 4.0,
        rng.pareto(0.5, size=n),
        np.where(np.arange(n) % 7, 0.0, 5.0) + rng.random(n),
        np.full(n, 0.7),
        np.r_[np.full(n - 3, -1.0), 1e6 * rng.random(3)],  # what matters is unlikely to be sampled
    ]
    for v in vectors:
        for upper in (1.0, rng.uniform(0, 2, size=n), np.inf):
            reach = np.clip(v, 0, upper).sum()
            for share in (1e-7, 0.01, 0.5, 0.999):
                a = project_box_budget(v, upper=upper, budget=share * reach)
                assert projection_violation(a, v, upper, share * reach) <= TOLERANCE
                assert a.sum() == pytest.approx(share * reach, rel=1e-10, abs=1e-15 * n * np.abs(v).max())


def test_projection_survives_entries_that_differ_by_fifteen_orders_of_magnitude(rng):
    v = np.r_[1e15, -1e15, rng.uniform(0, 1, size=20_000)]
    a = project_box_budget(v, upper=1.0, budget=500.0)
    assert a[0] == 1.0
    assert a[1] == 0.0
    assert a.sum() == pytest.approx(500.0, rel=1e-12)


FLOATS = st.floats(-1e6, 1e6, allow_nan=False)


@given(
    entries=st.lists(st.tuples(FLOATS, st.one_of(st.floats(0, 1e3), st.just(0.0))), min_size=1, max_size=20),
    budget=st.one_of(st.floats(0, 1e4), st.just(math.inf)),
)
def test_projection_is_optimal_whatever_the_numbers(entries, budget):
    v, upper = np.array(entries).T
    a = project_box_budget(v, upper=upper, budget=budget)
    assert projection_violation(a, v, upper, budget) <= TOLERANCE


def test_projection_is_firmly_nonexpansive_and_idempotent(rng):
    for _ in range(300):
        v, upper, budget = random_projection_case(rng)
        w = v + rng.normal(size=v.size)
        a, b = (project_box_budget(x, upper=upper, budget=budget) for x in (v, w))
        size = max(1.0, np.abs(v).max()) ** 2 * v.size
        assert np.dot(a - b, a - b) <= np.dot(a - b, v - w) + 1e-12 * size
        np.testing.assert_allclose(
            project_box_budget(a, upper=upper, budget=budget), a, atol=1e-12 * max(1.0, np.abs(v).max())
        )


def test_projection_commutes_with_permutations(rng):
    v, upper = rng.normal(size=20_000), rng.uniform(0, 2, size=20_000)
    order = rng.permutation(v.size)
    a = project_box_budget(v, upper=upper, budget=1_000.0)
    b = project_box_budget(v[order], upper=upper[order], budget=1_000.0)
    np.testing.assert_allclose(b, a[order], atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_projection_agrees_with_a_convex_solver(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    v = rng.normal(size=n) * 2.0
    upper = 1.0 if seed % 2 else rng.uniform(0.1, 2, size=n)
    budget = np.inf if seed == 0 else rng.uniform(0.05, 1.0) * np.clip(v, 0, upper).sum() + 0.01
    a = project_box_budget(v, upper=upper, budget=budget)
    np.testing.assert_allclose(a, oracles.project_box_budget(v, upper, budget), atol=1e-6)


def test_the_projection_is_the_clipped_point_where_that_keeps_the_budget(rng):
    kept = 0
    for _ in range(200):
        v, upper, budget = random_projection_case(rng)
        clipped = np.clip(v, 0.0, upper)
        if clipped.sum() <= budget:
            kept += 1
            np.testing.assert_array_equal(project_box_budget(v, upper=upper, budget=budget), clipped)
    assert kept > 10


def test_projection_of_special_inputs():
    assert project_box_budget([], budget=1.0).shape == (0,)
    np.testing.assert_array_equal(project_box_budget([-1.0, 3.0, 0.5], budget=np.inf), [0.0, 1.0, 0.5])
    np.testing.assert_array_equal(project_box_budget([-1.0, 3.0, 0.5], budget=0), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(project_box_budget([3, 1], upper=[0, 2], budget=0.5), [0.0, 0.5])
    np.testing.assert_allclose(project_box_budget([1.0, 1.0, 1.0, 1.0], budget=1.0), 0.25)


def test_projection_leaves_its_input_alone():
    v, upper = np.array([2.0, 0.5, -1.0]), np.array([1.0, 1.0, 1.0])
    v.flags.writeable = upper.flags.writeable = False
    a = project_box_budget(v, upper=upper, budget=1.0)
    assert not np.shares_memory(a, v)


def random_norms(rng):
    m = int(rng.integers(1, 40))
    kind = rng.integers(5)
    if kind == 0:
        return rng.exponential(size=m)
    if kind == 1:
        return rng.integers(0, 4, size=m) / 2.0  # ties and zeros
    if kind == 2:
        return np.full(m, rng.exponential())
    if kind == 3:
        return np.zeros(m)
    return rng.exponential(size=m) * 10.0 ** rng.integers(-6, 7)


def test_prox_is_optimal_on_1000_random_cases(rng):
    n_killed = 0
    for _ in range(1000):
        norms = random_norms(rng)
        scale = [0.0, rng.exponential(), 1e-6, 1e6, 10.0 ** rng.uniform(-4, 4)][rng.integers(5)]
        factors = prox_squared_sum_of_norms(norms, scale)
        assert factors.min() >= 0.0
        assert factors.max() <= 1.0
        assert prox_violation(factors, norms, scale) <= TOLERANCE, (norms, scale)
        n_killed += np.any((factors == 0) & (norms > 0))
    assert n_killed > 200  # the cases exercise the threshold


@given(norms=st.lists(st.floats(0, 1e6), min_size=1, max_size=20), scale=st.floats(0, 1e6))
def test_prox_is_optimal_whatever_the_numbers(norms, scale):
    norms = np.array(norms)
    factors = prox_squared_sum_of_norms(norms, scale)
    assert np.all((factors >= 0) & (factors <= 1))
    assert prox_violation(factors, norms, scale) <= TOLERANCE


def random_blocks(rng):
    """A vector in a few blocks, as a list of index arrays."""
    ends = np.cumsum(rng.integers(1, 5, size=int(rng.integers(1, 7))))
    return np.split(np.arange(ends[-1]), ends[:-1])


def prox(v, blocks, scale):
    """The whole prox, from the factors of its blocks."""
    factors = prox_squared_sum_of_norms([np.linalg.norm(v[block]) for block in blocks], scale)
    return np.concatenate([factor * v[block] for factor, block in zip(factors, blocks, strict=True)])


def penalty(f, blocks, scale):
    return 0.5 * scale * sum(np.linalg.norm(f[block]) for block in blocks) ** 2


def test_prox_three_point_inequality(rng):
    """phi(p) + 1/2 |p - v|^2 + 1/2 |z - p|^2 <= phi(z) + 1/2 |z - v|^2 for every z."""
    for _ in range(300):
        blocks, scale = random_blocks(rng), 10.0 ** rng.uniform(-2, 1)
        v = rng.normal(size=blocks[-1][-1] + 1)
        p = prox(v, blocks, scale)
        for z in (np.zeros_like(v), v, p + 0.1 * rng.normal(size=v.size), rng.normal(size=v.size)):
            left = penalty(p, blocks, scale) + 0.5 * np.sum((p - v) ** 2) + 0.5 * np.sum((z - p) ** 2)
            right = penalty(z, blocks, scale) + 0.5 * np.sum((z - v) ** 2)
            assert left <= right + 1e-12 * (1.0 + right)


def test_prox_is_firmly_nonexpansive(rng):
    for _ in range(300):
        blocks, scale = random_blocks(rng), 10.0 ** rng.uniform(-2, 1)
        v, w = rng.normal(size=(2, blocks[-1][-1] + 1))
        a, b = prox(v, blocks, scale), prox(w, blocks, scale)
        assert np.dot(a - b, a - b) <= np.dot(a - b, v - w) + 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_prox_agrees_with_a_convex_solver(seed):
    rng = np.random.default_rng(seed)
    blocks, scale = random_blocks(rng), 10.0 ** rng.uniform(-1.5, 0.5)
    v = rng.normal(size=blocks[-1][-1] + 1)
    np.testing.assert_allclose(prox(v, blocks, scale), oracles.prox_squared_sum_of_norms(v, blocks, scale), atol=1e-6)


def test_prox_of_one_block_is_a_ridge():
    np.testing.assert_allclose(prox_squared_sum_of_norms([3.0], 0.25), [0.8])


def test_prox_of_special_inputs():
    np.testing.assert_array_equal(prox_squared_sum_of_norms([2.0, 0.0, 1.0], 0.0), [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(prox_squared_sum_of_norms([0.0, 0.0], 3.0), [0.0, 0.0])
    assert prox_squared_sum_of_norms([], 1.0).shape == (0,)
    assert np.all(prox_squared_sum_of_norms([1.0, 2.0], 1e300) <= 1e-15)


BOUNDS = st.floats(-1e9, 1e9, allow_nan=False)


@given(BOUNDS, BOUNDS, BOUNDS, BOUNDS)
def test_merging_certificates_never_loosens_a_bound(p, d, q, e):
    merged = Certificate(p, d).merge(Certificate(q, e))
    assert merged == Certificate(q, e).merge(Certificate(p, d))
    assert merged.gap <= min(p - d, q - e)
    assert merged == merged.merge(merged)


def test_relative_gap_does_not_depend_on_the_scale_of_the_objective():
    for factor in (1e-12, 1.0, 1e12):
        assert Certificate(2.0 * factor, 1.5 * factor).relative_gap == pytest.approx(0.25)
    assert Certificate(0.0, 0.0).relative_gap == 0.0
    assert Certificate(-1.0, -4.0).relative_gap == 0.75


def test_a_missing_bound_is_an_infinite_gap():
    none = Certificate(math.inf, -math.inf)
    assert none.gap == none.relative_gap == math.inf
    assert Certificate(1.0, -math.inf).relative_gap == math.inf
    assert none.merge(Certificate(1.0, 0.5)) == Certificate(1.0, 0.5)


@pytest.mark.parametrize(("primal", "dual", "name"), [(math.nan, 0.0, "primal"), (0.0, math.nan, "dual")])
def test_a_certificate_refuses_nan(primal, dual, name):
    with pytest.raises(ValueError, match=f"{name} must be a number"):
        Certificate(primal, dual)


def test_only_one_status_means_converged():
    for status in Status:
        rows = (HistoryRow(1, 0.1, 2.0, 1.0),)
        result = SolverResult(np.zeros(2), Certificate(2.0, 1.0), status, n_iter=1, history=rows)
        assert result.converged == (status == "converged")
        assert result.history[-1].primal - result.history[-1].dual == result.certificate.gap
