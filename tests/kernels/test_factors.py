"""Low-rank factors: what they leave out, how landmarks are chosen, blocks and maps."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from kernel_formulas import gram, make_everything_large
from kernelwise.kernels import (
    FactorBank,
    FunctionKernel,
    Gaussian,
    KernelExpansion,
    Linear,
    Polynomial,
    RankWarning,
    build,
    build_bank,
    gaussian_kernels,
    landmarks,
    resolve_kernels,
)
from kernelwise.kernels import (
    bank as banks,
)

# What low rank leaves out


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("rank", [1, 3, 7])
def test_residual_is_the_true_one_and_warned_about(large, rank, rng, monkeypatch):
    if large:
        make_everything_large(monkeypatch)
    X = rng.uniform(size=(40, 3))
    kernels = resolve_kernels([Gaussian(width=0.1), Gaussian(width=0.3, columns=1), Polynomial(), Linear(columns=2)], 3)
    expected = rf"rank={rank} leaves out a part of . of 4 kernels; most of gaussian\(width=0.1\)\[all\]"
    with pytest.warns(RankWarning, match=expected):
        bank = build_bank(X, kernels, rank=rank, random_state=0)
    assert (bank.ranks <= rank).all()
    for j, kernel in enumerate(kernels):
        K, F = gram(kernel, X, X), bank.factor(j)
        left = np.diag(K - F @ F.T)
        assert bank.residuals[j] == pytest.approx(left.max() / np.diag(K).max(), abs=1e-12)
        # the rows of landmarks are exact, and what is left is a kernel again
        assert np.linalg.eigvalsh(K - F @ F.T)[0] >= -1e-9 * np.diag(K).max()
        assert np.sum(np.abs(K - F @ F.T).max(axis=1) <= 1e-9 * np.diag(K).max()) >= bank.ranks[j]


def test_centred_residual_measures_what_is_missing_of_the_centred_kernel(rng):
    X = rng.uniform(size=(50, 1))
    H = np.eye(50) - 1 / 50
    with pytest.warns(RankWarning):
        bank = build_bank(X, Gaussian(width=64.0), rank=1, center=True)
    K, F = gram(Gaussian(width=64.0), X, X), bank.factor(0)
    missing = np.diag(H @ K @ H - F @ F.T).max() / np.diag(H @ K @ H).max()
    assert missing > 0.5
    assert bank.residuals[0] > 0.5


def test_enough_rank_is_no_reason_to_warn(rng):
    X = rng.uniform(size=(60, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bank = build_bank(X, [Gaussian(width=1.0, columns=0), Linear()], rank=20)
    assert (bank.residuals <= 1e-4).all()


def test_greedy_choice_is_pivoted_cholesky(rng):
    """Each landmark is the sample that the ones before it match worst."""
    X = rng.uniform(size=(50, 2))
    kernel = Gaussian(width=0.4)
    K = gram(kernel, X, X)
    for max_rank in (4, 30):  # one at a time, and by LAPACK
        factor = landmarks.factor_kernel(kernel, X, tol=1e-12, max_rank=max_rank, random_state=np.random.RandomState(0))
        assert len(factor.pivots) == max_rank
        for k in range(1, max_rank):
            P = factor.pivots[:k]
            remaining = np.diag(K - K[:, P] @ np.linalg.solve(K[np.ix_(P, P)], K[P]))
            assert remaining[factor.pivots[k]] >= remaining.max() - 1e-9
        L = factor.cholesky
        np.testing.assert_allclose(L @ L.T, K[np.ix_(factor.pivots, factor.pivots)], atol=1e-12)
        assert np.array_equal(L, np.tril(L))


def test_ranks_of_one_dimensional_kernels_do_not_grow_with_n(rng):
    for n in (1000, 20000):
        bank = build_bank(rng.uniform(size=(n, 1)), gaussian_kernels(scope="each"), rank=1e-4)
        assert np.abs(bank.ranks - [15, 9, 6, 4, 3, 3, 2, 2, 2, 1]).max() <= 1


def test_tolerance_below_rounding_is_rounding(rng):
    X = rng.uniform(size=(200, 3))
    bank = build_bank(X, [Gaussian(columns=0), Linear(), Polynomial(degree=2)], rank=1e-300)
    assert bank.ranks[0] <= 15
    assert bank.ranks.tolist()[1:] == [3, 10]
    v = rng.normal(size=200)
    exact = gram(Gaussian(columns=0), X, X) @ v
    np.testing.assert_allclose(bank.products(v)[0], exact, atol=1e-10)
    np.testing.assert_allclose(bank.cross_products(X, v)[0], exact, atol=1e-8)


def rough_gaussian(S, T):
    """A kernel that somebody computed in single precision: seven digits, and noise below."""
    return gram(Gaussian(), S, T).astype(np.float32)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("columns", [None, 0])
def test_noise_in_a_kernel_does_not_choose_a_landmark_twice(large, columns, rng, monkeypatch):
    if large:
        make_everything_large(monkeypatch)
    X, v = rng.uniform(size=(120, 2)), rng.normal(size=120)
    bank = build_bank(X, FunctionKernel(columns=columns, function=rough_gaussian), random_state=0)
    assert len(np.unique(bank.maps[0].landmarks, axis=0)) == bank.ranks[0]
    exact = gram(Gaussian(columns=columns), X, X) @ v
    np.testing.assert_allclose(bank.products(v)[0], exact, atol=1e-4 * np.abs(exact).max())


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_factors_of_features_far_from_the_origin(container, rng):
    near = rng.integers(0, 512, size=(120, 2)) / 256
    far = near + 2.0**24
    kernels = [Gaussian(width=0.5), Gaussian(width=0.5, columns=0)]
    here, there = build_bank(near, kernels), build_bank(container(far), kernels)
    np.testing.assert_array_equal(here.ranks, there.ranks)
    v = rng.normal(size=120)
    np.testing.assert_allclose(there.products(v), here.products(v), atol=1e-7)
    np.testing.assert_allclose(there.cross_products(container(far), v), here.products(v), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_narrow_data_give_the_ranks_of_wide_data(dtype, rng):
    X = (100 * rng.uniform(size=(60, 3))).astype(dtype)
    kernels = [Linear(), Polynomial(degree=2), Gaussian(width=50.0), Linear(columns=1)]
    narrow, wide = build_bank(X, kernels), build_bank(X.astype(np.float64), kernels)
    np.testing.assert_array_equal(narrow.ranks, wide.ranks)
    assert narrow.ranks.tolist()[:2] == [3, 10]
    np.testing.assert_allclose(narrow.products(np.ones(60)), wide.products(np.ones(60)), rtol=1e-12)


def test_single_precision_factors(rng):
    X, v = rng.uniform(size=(500, 2)), rng.normal(size=500)
    kernels = resolve_kernels(gaussian_kernels(scope="each"), 2)
    single = FactorBank.build(X, kernels, tol=1e-4, dtype=np.float32)
    double = FactorBank.build(X, kernels, tol=1e-4)
    assert single.nbytes * 2 == double.nbytes
    assert {block.dtype for block in single.stacks} == {np.dtype(np.float32)}
    for operation in (
        lambda bank: bank.products(v),
        lambda bank: bank.quadratic_forms(v),
        lambda bank: bank.cross_products(X[:9], v),
        lambda bank: bank.diagonals(),
        lambda bank: bank.combination(np.ones(20)) @ v,
        lambda bank: bank.pair_values([0, 3], [5, 3]),
    ):
        found, expected = operation(single), operation(double)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


# Landmarks of large data


def test_landmarks_from_a_sample_reach_the_tolerance_everywhere(rng, monkeypatch):
    make_everything_large(monkeypatch)
    X = rng.uniform(size=(150, 2))
    X[140:] += 5.0  # a corner that a sample of four will hardly see
    for tol in (1e-2, 1e-6):
        bank = build_bank(X, Gaussian(width=0.5), rank=tol, random_state=0)
        K, F = gram(Gaussian(width=0.5), X, X), bank.factor(0)
        assert np.diag(K - F @ F.T).max() <= tol * 1.0001
        assert bank.residuals[0] == pytest.approx(np.diag(K - F @ F.T).max(), abs=1e-12)


def test_random_state_decides_the_sample(rng, monkeypatch):
    make_everything_large(monkeypatch)
    X = rng.uniform(size=(60, 2))
    with pytest.warns(RankWarning):
        first, again, other = (build_bank(X, Gaussian(width=0.3), rank=9, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.maps[0].landmarks, again.maps[0].landmarks)
    assert not np.array_equal(first.maps[0].landmarks, other.maps[0].landmarks)


def test_kernel_without_a_short_factor_is_refused_before_the_long_work(rng, monkeypatch):
    make_everything_large(monkeypatch)
    monkeypatch.setattr(landmarks, "SAMPLE", 12)
    monkeypatch.setattr(landmarks, "MAX_BYTES", 20 * 60 * 8)
    X = rng.uniform(size=(60, 2))
    with pytest.raises(ValueError, match=r"0.001\)\[all\] has no short factor: more than 12 of 60 .* rank=500"):
        build_bank(X, Gaussian(width=0.001), random_state=0)
    with pytest.raises(ValueError, match=r"0.001\)\[0\] has no short factor: more than 20 of 60"):
        build_bank(X, Gaussian(width=0.001, columns=0))
    build_bank(X, Gaussian(width=1.0), rank=1e-3, random_state=0)
    with pytest.warns(RankWarning):
        build_bank(X, Gaussian(width=0.001), rank=30, random_state=0)


def test_user_kernels_of_large_data_are_checked_on_a_sample(rng, monkeypatch):
    monkeypatch.setattr(build, "WHOLE_GRAM", 20)
    monkeypatch.setattr(build, "SAMPLE", 10)
    X = rng.uniform(size=(50, 2))
    with pytest.raises(ValueError, match="kernel upside_down"):
        build_bank(X, FunctionKernel(function=lambda S, T: -S @ T.T, title="upside_down"))
    build_bank(X, FunctionKernel(function=np.inner, title="inner"))


# Factors, blocks and maps


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(banks, "STACK_BYTES", 2000)


@pytest.fixture
def bank(small_blocks, rng):
    X = np.column_stack([np.zeros(40), rng.uniform(size=(40, 2)), np.zeros(40)])
    kernels = [Linear(columns=0), *gaussian_kernels([0.2, 1.0], "each", columns=(1, 2)).expand(4), Linear(columns=3)]
    bank = FactorBank.build(X, resolve_kernels(kernels, 4), tol=1e-6, center=True, scale=True)
    assert len(bank.stacks) > 2
    bank.X = X
    return bank


def test_blocks_hold_the_factors_without_copies(bank):
    assert bank.offsets.tolist() == [0, *np.cumsum(bank.ranks)]
    stacked = np.concatenate(bank.stacks)
    for j in range(bank.n_kernels):
        rows = bank.rows(j)
        np.testing.assert_array_equal(rows, stacked[bank.offsets[j] : bank.offsets[j + 1]])
        assert rows.shape == (bank.ranks[j], 40)
        assert rows.size == 0 or any(np.shares_memory(rows, block) for block in bank.stacks)
        np.testing.assert_array_equal(bank.factor(j), rows.T)
    assert bank.nbytes == stacked.nbytes
    assert all(block.flags.c_contiguous for block in bank.stacks)


def test_lift_is_the_adjoint_of_project(bank, rng):
    v, w = rng.normal(size=40), rng.normal(size=bank.ranks.sum())
    assert bank.lift(w) @ v == pytest.approx(w @ bank.project(v), rel=1e-12)
    expected = sum(bank.factor(j) @ w[bank.offsets[j] : bank.offsets[j + 1]] for j in range(bank.n_kernels))
    np.testing.assert_allclose(bank.lift(w), expected, rtol=1e-12, atol=1e-12)


def test_group_sums(bank, rng):
    w = rng.normal(size=bank.ranks.sum())
    expected = [w[bank.offsets[j] : bank.offsets[j + 1]].sum() for j in range(bank.n_kernels)]
    np.testing.assert_allclose(bank.group_sums(w), expected, atol=1e-12)
    assert bank.group_sums(w)[[0, -1]].tolist() == [0, 0]


def test_maps_reproduce_the_factors_and_expand_them(bank, rng):
    new = rng.uniform(size=(7, 4)) * [0, 1, 1, 0]
    for j, phi in enumerate(bank.maps):
        np.testing.assert_allclose(phi(bank.X), bank.factor(j), atol=1e-6)
        w = rng.normal(size=phi.rank)
        coef, constant = phi.expansion(w)
        if phi.rank:
            by_sum = phi.kernel.evaluate(phi.kernel.select(new), phi.landmarks) @ coef + constant
            np.testing.assert_allclose(by_sum, phi(new) @ w, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(phi.values(new, w), phi(new) @ w, rtol=1e-6, atol=1e-6)


def test_kernel_expansion_is_the_sum_of_its_blocks(bank, rng):
    outputs = [{1: rng.normal(size=bank.ranks[1]), 4: rng.normal(size=bank.ranks[4])}, {0: np.zeros(0)}]
    expansion = KernelExpansion.from_parts(bank, outputs, np.array([0.5, -2.0]))
    new = rng.uniform(size=(7, 4)) * [0, 1, 1, 0]
    expected = 0.5 + bank.maps[1](new) @ outputs[0][1] + bank.maps[4](new) @ outputs[0][4]
    np.testing.assert_allclose(expansion(new)[:, 0], expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(expansion(new)[:, 1], -2.0)


@pytest.mark.parametrize(("width", "rank"), [(0.6, 60), (1.8, 300)])
def test_rounding_does_not_choose_the_landmarks(width, rank):
    """On a grid, many samples are equally far from all landmarks, and a factor of few landmarks depends on them."""
    draw = np.random.RandomState(0)
    grid = np.stack(np.meshgrid(*[np.arange(9.0)] * 3), axis=-1).reshape(-1, 3)
    X = grid[draw.permutation(len(grid))[:500]]
    factors = []
    for moved in (X, X * (1 + 1e-10 * draw.standard_normal(X.shape))):
        bank = FactorBank.build(moved, [Gaussian(width=width)], tol=1e-8, max_rank=rank, random_state=0)
        factors.append(bank.factor(0))
    np.testing.assert_allclose(factors[1] @ factors[1].T, factors[0] @ factors[0].T, atol=1e-7)
