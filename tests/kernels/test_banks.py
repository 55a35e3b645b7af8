"""Banks against Gram matrices made from the formulas: dense, factored and per attribute they are the same kernels."""

import json
import subprocess
import sys
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwise.kernels import (
    AttributeBank,
    Cosine,
    DenseBank,
    FactorBank,
    FunctionKernel,
    Gaussian,
    KernelExpansion,
    Linear,
    Polynomial,
    RankWarning,
    build,
    build_bank,
    factors,
    gaussian_kernels,
    landmarks,
    linear_kernels,
    resolve_kernels,
)

# Derandomised: a factor meets its tolerance on training samples, but at a new sample only the root of the tolerance
# bounds the error, so that 1e-6 holds for all but a few unlucky draws. The bound itself has its own test.
repeatable = settings(max_examples=30, derandomize=True)


def columns_of(kernel, X):
    if kernel.columns is None:
        return X
    return X[:, list(kernel.columns) if isinstance(kernel.columns, tuple) else [kernel.columns]]


def gram(kernel, X, Z):
    """The matrix of a kernel from its formula."""
    S, T = columns_of(kernel, X), columns_of(kernel, Z)
    inner = S @ T.T
    match kernel:
        case Gaussian():
            return np.exp(-((S[:, None] - T[None]) ** 2).sum(axis=2) / (2 * kernel.width**2))
        case Linear():
            return inner
        case Polynomial():
            return (kernel.gamma * inner + kernel.coef0) ** kernel.degree
        case Cosine():
            left, right = np.linalg.norm(S, axis=1), np.linalg.norm(T, axis=1)
            return inner / np.outer(np.where(left > 0, left, np.inf), np.where(right > 0, right, np.inf))


@dataclass
class Case:
    """Kernels, training samples, new samples, a vector, weights, and the matrices that all must agree with."""

    kernels: tuple
    X: np.ndarray
    Z: np.ndarray
    v: np.ndarray
    weights: np.ndarray

    def __post_init__(self):
        self.grams = np.stack([gram(kernel, self.X, self.X) for kernel in self.kernels])
        self.cross = np.stack([gram(kernel, self.Z, self.X) for kernel in self.kernels])
        self.norms = np.maximum(np.linalg.norm(self.grams, ord=2, axis=(1, 2)), 1e-300)
        self.cross_norms = np.maximum(np.linalg.norm(self.cross, ord=2, axis=(1, 2)), 1e-300)


def draw_kernel(draw, d):
    columns = draw(st.sampled_from([None, 0, d - 1, tuple(range(d // 2 + 1))]))
    width = draw(st.sampled_from([0.05, 0.125, 0.5, 1.0, 4.0, 64.0]))
    kinds = [
        Gaussian(width=width),
        Gaussian(width=width),
        Linear(),
        Polynomial(degree=2),
        Polynomial(degree=3),
        Cosine(),
    ]
    return draw(st.sampled_from(kinds)).on(columns)


def draw_samples(draw, most=30):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, most)), draw(st.integers(1, 4))
    X, Z = rng.uniform(-1, 1, size=(n, d)), rng.uniform(-1, 1, size=(draw(st.integers(1, 6)), d))
    if draw(st.booleans()):
        X[rng.integers(n, size=n // 2)] = X[0]
    if draw(st.booleans()):
        X[:, draw(st.integers(0, d - 1))] = draw(st.sampled_from([0.0, 0.7]))
    return rng, X, Z


@st.composite
def cases(draw):
    rng, X, Z = draw_samples(draw)
    kernels = tuple(draw_kernel(draw, X.shape[1]) for _ in range(draw(st.integers(1, 4))))
    return Case(kernels, X, Z, rng.normal(size=len(X)), rng.uniform(0, 2, size=len(kernels)))


@st.composite
def attribute_cases(draw):
    rng, X, Z = draw_samples(draw)
    X[rng.uniform(size=X.shape) < 0.4] = 0.0
    return Case(
        resolve_kernels(linear_kernels(), X.shape[1]), X, Z, rng.normal(size=len(X)), rng.uniform(0, 2, X.shape[1])
    )


def as_dense(values):
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def assert_agrees(bank, case, tol=1e-6):
    """All operations of a bank against the matrices, relative to the norm of each matrix and of the vector."""
    n, v, grams, size = len(case.X), case.v, case.grams, case.norms
    length, cross_size = np.linalg.norm(v), case.cross_norms + case.norms
    assert (bank.n_samples, bank.n_kernels) == (n, len(case.kernels))
    assert bank.names == tuple(kernel.name for kernel in case.kernels)

    def worst(values, expected, scale):
        difference = np.abs(as_dense(values) - expected).reshape(len(expected), -1).max(axis=1)
        assert (difference <= tol * scale).all(), (difference, scale)

    worst(bank.products(v), grams @ v, size * length)
    worst(bank.quadratic_forms(v), np.einsum("i,jik,k->j", v, grams, v), size * length**2)
    worst(bank.cross_products(case.Z, v), case.cross @ v, cross_size * length)
    worst(bank.diagonals(), np.einsum("jii->ji", grams), size)
    worst(bank.traces(), np.einsum("jii->j", grams), n * size)
    rows, cols = np.divmod(np.arange(n * n), n)
    worst(as_dense(bank.pair_values(rows, cols)).T, grams.reshape(len(grams), -1), size)
    for j in range(bank.n_kernels):
        F = as_dense(bank.factor(j))
        assert F.shape[0] == n
        worst([F @ F.T], grams[[j]], size[j])
    signed = case.weights - 1.0
    total = np.abs(signed) @ size
    worst([bank.combination(signed) @ v], [np.tensordot(signed, grams, axes=1) @ v], total * length)
    worst([bank.combination(signed).matmat(np.eye(n))], [np.tensordot(signed, grams, axes=1)], total)
    F = as_dense(bank.combined_factor(case.weights))
    worst([F @ F.T], [np.tensordot(case.weights, grams, axes=1)], case.weights @ size)
    assert as_dense(bank.combined_factor(np.zeros(bank.n_kernels))).shape == (n, 0)


@given(case=cases())
@repeatable
def test_dense_and_factor_bank_agree_with_the_formulas(case):
    assert_agrees(DenseBank.build(case.X, case.kernels), case, tol=1e-9)
    assert_agrees(FactorBank.build(case.X, case.kernels, tol=1e-8), case)
    assert_agrees(build_bank(case.X, case.kernels, dense=True), case, tol=1e-9)


@given(case=cases())
@repeatable
def test_factor_bank_of_sparse_data_is_that_of_dense_data(case):
    bank = FactorBank.build(sp.csr_array(case.X), case.kernels, tol=1e-8)
    case.Z = sp.csr_array(case.Z)
    assert_agrees(bank, case)


@given(case=attribute_cases())
@repeatable
def test_attribute_bank_is_a_bank_of_linear_kernels(case):
    for X in (case.X, sp.csr_array(case.X), sp.csc_matrix(case.X)):
        bank = build_bank(X, linear_kernels())
        assert isinstance(bank, AttributeBank)
        assert_agrees(bank, case, tol=1e-9)
    assert_agrees(build_bank(case.X, linear_kernels(), dense=True), case, tol=1e-9)
    assert_agrees(build_bank(case.X, linear_kernels(), attributes=False), case)


@given(case=cases())
@repeatable
def test_large_data_path_agrees(case):
    with pytest.MonkeyPatch.context() as patch:
        make_everything_large(patch)
        assert_agrees(FactorBank.build(case.X, case.kernels, tol=1e-8, random_state=0), case)


def make_everything_large(patch):
    """Shrink the constants, so that a handful of samples takes the way of a hundred thousand."""
    patch.setattr(landmarks, "WHOLE_GRAM", 8)
    patch.setattr(landmarks, "SAMPLE", 4)
    patch.setattr(landmarks, "WORST", 3)
    patch.setattr(landmarks, "CHUNK", 16)
    patch.setattr(factors, "BLOCK_BYTES", 300)


@given(case=cases(), tol=st.sampled_from([1e-1, 1e-3, 1e-6]))
@repeatable
def test_out_of_sample_error_obeys_its_bound(case, tol):
    # |k(z, x_i) - phi(z) . phi(x_i)|^2 <= (k - phi phi)(z, z) (k - phi phi)(x_i, x_i), by Cauchy and Schwarz
    bank = FactorBank.build(case.X, case.kernels, tol=tol)
    for j, kernel in enumerate(case.kernels):
        phi, F = bank.maps[j](case.Z), bank.factor(j)
        at_new = np.diag(gram(kernel, case.Z, case.Z)) - np.sum(phi**2, axis=1)
        at_old = np.diag(case.grams[j]) - np.sum(F**2, axis=1)
        rounding = 1e-9 * (case.norms[j] + case.cross_norms[j])
        assert (at_old <= 1.0001 * tol * np.diag(case.grams[j]).max() + rounding).all()
        bound = np.sqrt(np.outer(np.maximum(at_new, 0), np.maximum(at_old, 0)))
        assert (np.abs(case.cross[j] - phi @ F.T) <= bound + np.sqrt(rounding * np.abs(at_new).max()) + rounding).all()


# Centring and scaling


def explicit_features(kernel, X, Z):
    """Feature vectors of training and new samples with the right inner products, from all of them together."""
    both = np.vstack([X, Z])
    values, vectors = np.linalg.eigh(gram(kernel, both, both))
    features = vectors * np.sqrt(np.maximum(values, 0))
    return features[: len(X)], features[len(X) :]


@pytest.mark.parametrize("make", [DenseBank.build, FactorBank.build], ids=["dense", "factor"])
@given(case=cases(), center=st.booleans(), scale=st.booleans())
@repeatable
def test_centring_and_scaling_happen_in_feature_space(make, case, center, scale):
    bank = make(case.X, case.kernels, center=center, scale=scale)
    n = len(case.X)
    for j, kernel in enumerate(case.kernels):
        old, new = explicit_features(kernel, case.X, case.Z)
        size = np.abs(old).max() ** 2 + 1e-300
        if center:
            old, new = old - old.mean(axis=0), new - old.mean(axis=0)
        spread = np.sum(old**2) / n
        if scale and spread < 1e-8 * size:
            continue  # nothing left but rounding: what it is scaled to is another test
        if scale:
            old, new = old / np.sqrt(spread), new / np.sqrt(spread)
        K, C = old @ old.T, new @ old.T
        # Square roots of eigenvalues near zero are exact to 1e-8 at best, and scaling magnifies that.
        magnified = max(1.0, size / spread) if scale else size
        F = bank.factor(j)
        np.testing.assert_allclose(F @ F.T, K, atol=1e-7 * magnified)
        np.testing.assert_allclose(bank.products(case.v)[j], K @ case.v, atol=1e-6 * magnified)
        np.testing.assert_allclose(bank.cross_products(case.Z, case.v)[j], C @ case.v, atol=1e-5 * magnified)
        if scale:
            assert bank.traces()[j] == pytest.approx(n, rel=1e-9)
        if center:
            np.testing.assert_allclose(bank.products(np.ones(n))[j], 0, atol=1e-9 * max(size, magnified) * n)


def test_centred_factor_is_the_doubly_centred_matrix(rng):
    X = rng.uniform(size=(40, 3))
    kernels = resolve_kernels(gaussian_kernels(), 3)
    H = np.eye(40) - 1 / 40
    centred = build_bank(X, kernels, center=True)
    scaled = build_bank(X, kernels, center=True, scale=True)
    for j, kernel in enumerate(kernels):
        expected = H @ gram(kernel, X, X) @ H
        np.testing.assert_allclose(centred.factor(j) @ centred.factor(j).T, expected, atol=1e-9)
        expected *= 40 / np.trace(expected)
        np.testing.assert_allclose(scaled.factor(j) @ scaled.factor(j).T, expected, atol=1e-6)


@pytest.mark.parametrize("rank", [1e-2, 1e-4])
def test_tolerance_is_relative_to_what_centring_leaves(rank, rng):
    # On [0, 1] a kernel of width 64 is 1 up to 1e-4: one landmark matches it to 1e-4 and misses all of its variation.
    X = rng.uniform(size=(300, 1))
    kernels = gaussian_kernels()
    low_rank = build_bank(X, kernels, rank=rank, center=True, scale=True)
    dense = build_bank(X, kernels, dense=True, center=True, scale=True)
    assert (low_rank.residuals <= rank).all()
    assert low_rank.ranks.max() <= 25
    v = rng.normal(size=300)
    exact = dense.products(v)
    error = np.linalg.norm(low_rank.products(v) - exact, axis=1) / np.linalg.norm(exact, axis=1)
    assert (error <= 10 * rank).all()


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("kernel", [Linear(columns=0), Polynomial(columns=0), Gaussian(columns=0), Cosine(columns=0)])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_constant_feature_is_centred_to_zero_and_never_blown_up(dense, kernel, value, rng):
    X = np.column_stack([np.full(30, value), rng.normal(size=30)])
    bank = build_bank(X, kernel, dense=dense, center=True, scale=True)
    size = max(float(gram(kernel, X, X).max()), 1.0)
    assert np.abs(bank.products(rng.normal(size=30))).max() <= 1e-10 * size
    assert np.abs(bank.cross_products(X[:3], rng.normal(size=30))).max() <= 1e-10 * size


def test_zero_kernel_stays_zero(rng):
    X = np.column_stack([np.zeros(6), rng.normal(size=6), np.zeros(6)])
    for X_given in (X, sp.csr_array(X)):
        for options in ({}, {"center": True}, {"scale": True}, {"center": True, "scale": True}, {"rank": 2}):
            bank = build_bank(X_given, linear_kernels(), attributes=False, **options)
            assert bank.ranks.tolist() == [0, 1, 0]
            assert bank.residuals[[0, 2]].tolist() == [0, 0]
            v = rng.normal(size=6)
            for j in (0, 2):
                assert not bank.products(v)[j].any()
                assert not bank.cross_products(X_given[:2], v)[j].any()
                assert bank.maps[j](X_given[:2]).shape == (2, 0)
                coef, constant = bank.maps[j].expansion(np.zeros(0))
                assert (len(coef), constant) == (0, 0.0)
            assert bank.quadratic_forms(v)[1] > 0


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
    assert {block.dtype for block in single.blocks} == {np.dtype(np.float32)}
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
    monkeypatch.setattr(factors, "BLOCK_BYTES", 2000)


@pytest.fixture
def bank(small_blocks, rng):
    X = np.column_stack([np.zeros(40), rng.uniform(size=(40, 2)), np.zeros(40)])
    kernels = [Linear(columns=0), *gaussian_kernels([0.2, 1.0], "each", columns=(1, 2)).expand(4), Linear(columns=3)]
    bank = FactorBank.build(X, resolve_kernels(kernels, 4), tol=1e-6, center=True, scale=True)
    assert len(bank.blocks) > 2
    bank.X = X
    return bank


def test_blocks_hold_the_factors_without_copies(bank):
    assert bank.offsets.tolist() == [0, *np.cumsum(bank.ranks)]
    stacked = np.concatenate(bank.blocks)
    for j in range(bank.n_kernels):
        rows = bank.rows(j)
        np.testing.assert_array_equal(rows, stacked[bank.offsets[j] : bank.offsets[j + 1]])
        assert rows.shape == (bank.ranks[j], 40)
        assert rows.size == 0 or any(np.shares_memory(rows, block) for block in bank.blocks)
        np.testing.assert_array_equal(bank.factor(j), rows.T)
    assert bank.nbytes == stacked.nbytes
    assert all(block.flags.c_contiguous for block in bank.blocks)


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
    expansion = KernelExpansion.from_blocks(bank, outputs, np.array([0.5, -2.0]))
    new = rng.uniform(size=(7, 4)) * [0, 1, 1, 0]
    expected = 0.5 + bank.maps[1](new) @ outputs[0][1] + bank.maps[4](new) @ outputs[0][4]
    np.testing.assert_allclose(expansion(new)[:, 0], expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(expansion(new)[:, 1], -2.0)


def test_linear_kernels_need_feature_maps_once_they_are_centred(rng):
    X = rng.normal(size=(5, 3))
    assert isinstance(build_bank(X, linear_kernels()), AttributeBank)
    for options in ({"center": True}, {"scale": True}, {"attributes": False}):
        assert isinstance(build_bank(X, linear_kernels(), **options), FactorBank)
    assert isinstance(build_bank(X, linear_kernels(columns=(0, 1))), FactorBank)
    assert isinstance(build_bank(X, [Linear(columns=1), Linear(columns=0), Linear(columns=2)]), FactorBank)


def test_banks_do_not_change_what_they_are_given(rng):
    X, v, weights = rng.normal(size=(9, 2)), rng.normal(size=9), np.array([1.0, 2.0])
    kept = X @ X.T
    own = FunctionKernel(function=lambda S, T: kept if len(S) == len(T) == 9 else S @ T.T)
    before = X.copy(), v.copy(), weights.copy(), kept.copy()
    for dense in (True, False):
        bank = build_bank(X, [own, Gaussian()], dense=dense, center=True, scale=True)
        bank.products(v)
        bank.cross_products(X, v)
        bank.combination(weights) @ v
        bank.combined_factor(weights)
    for array, copy in zip((X, v, weights, kept), before, strict=True):
        np.testing.assert_array_equal(array, copy)


# The benchmarks, small and at the size of their claims

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bank_benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("benchmarks.bank")


def values(rows):
    return {row["measurement"].split(": ")[1].split(" (")[0]: row["value"] for row in rows}


def test_products_benchmark_small(bank_benchmark):
    found = values(bank_benchmark.measure_products(n=1000, n_features=3))
    assert found["times smaller"] >= 100
    assert found["largest relative error of a product"] <= 1e-4
    assert found["times faster"] >= 2


def test_build_benchmark_small(bank_benchmark):
    found = values(bank_benchmark.measure_build(n=20_000))
    assert found["factors"] == pytest.approx(20_000 * 8 * 930 / 1e6, rel=0.02)
    assert found["peak memory over size of the factors"] <= 1.5


@pytest.mark.slow
def test_benchmarks_meet_what_is_required(tmp_path):
    command = [sys.executable, "-m", "benchmarks", "bank", "--output", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in (tmp_path / "bank.jsonl").read_text().splitlines()]
    required = {row["measurement"]: row["required"] for row in rows if row["required"]}
    assert required == {
        "100 kernels, n = 5,000: times faster": "at least 30",
        "100 kernels, n = 5,000: times smaller": "at least 30",
        "100 kernels, n = 5,000: largest relative error of a product": "at most 0.0001",
        "200 kernels, n = 100,000: peak memory over size of the factors": "at most 1.5",
    }
    assert all(row["met"] and row["threads"] >= 1 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [(["--list"], 0, "bank: Low-rank banks"), (["banc"], 2, "unknown benchmark 'banc'; choose from bank")],
)
def test_benchmarks_command_line(arguments, code, expected):
    done = subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == code
    assert expected in done.stdout + done.stderr
