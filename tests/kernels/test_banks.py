"""Banks against Gram matrices made from the formulas: dense, factored and per attribute they are the same kernels."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_formulas import gram, make_everything_large
from kernelwise.kernels import (
    AttributeBank,
    Cosine,
    DenseBank,
    FactorBank,
    FunctionKernel,
    Gaussian,
    Linear,
    Polynomial,
    build_bank,
    gaussian_kernels,
    linear_kernels,
    resolve_kernels,
)

# Derandomised: a factor meets its tolerance on training samples, but at a new sample only the root of the tolerance
# bounds the error, so that 1e-6 holds for all but a few unlucky draws. The bound itself has its own test.
repeatable = settings(max_examples=30, derandomize=True)


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
    worst(np.asarray(bank.diagonals().sum(axis=1)).ravel(), np.einsum("jii->j", grams), n * size)
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
            assert bank.diagonals()[j].sum() == pytest.approx(n, rel=1e-9)
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
