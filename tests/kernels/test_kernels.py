"""Kernel functions against their formulas, written out sample by sample."""

import math
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold

from kernelwise.kernels import (
    AttributeBank,
    Cosine,
    DenseBank,
    FactorBank,
    FunctionKernel,
    Gaussian,
    Kernel,
    KernelFamily,
    Linear,
    Polynomial,
    StackedGram,
    UnitDiagonal,
    build_bank,
    check_positive_semidefinite,
    gaussian_kernels,
    linear_kernels,
    precomputed,
    project_psd,
    resolve_kernels,
)

tenths = st.integers(-30, 30).map(lambda k: k / 10)  # coarse, so that equal rows and zero rows do occur


def samples(fewest=1, most=4):
    shapes = st.tuples(st.integers(1, 7), st.integers(fewest, most))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=tenths))


def dot(x, z):
    return sum(a * b for a, b in zip(x, z, strict=True))


def gaussian(width):
    return lambda x, z: math.exp(-sum((a - b) ** 2 for a, b in zip(x, z, strict=True)) / (2 * width**2))


def polynomial(degree, gamma, coef0):
    return lambda x, z: (gamma * dot(x, z) + coef0) ** degree


def unit_diagonal(k):
    def scaled(x, z):
        size = math.sqrt(k(x, x) * k(z, z))
        return k(x, z) / size if size > 0 else 0.0

    return scaled


def laplace(x, z):
    return math.exp(-sum(abs(a - b) for a, b in zip(x, z, strict=True)))


def laplace_matrix(S, T):
    """The same for two sets of rows, as a user would write it."""
    S, T = (M.toarray() if sp.issparse(M) else M for M in (S, T))
    return np.exp(-np.abs(S[:, None] - T[None]).sum(axis=2))


FORMULAS = [
    (Gaussian(width=0.125), gaussian(0.125)),
    (Gaussian(width=2.0), gaussian(2.0)),
    (Linear(), dot),
    (Polynomial(), polynomial(2, 1.0, 1.0)),
    (Polynomial(degree=3, gamma=0.5, coef0=0.0), polynomial(3, 0.5, 0.0)),
    (Cosine(), unit_diagonal(dot)),
    (UnitDiagonal(kernel=Polynomial(degree=2, gamma=2.0)), unit_diagonal(polynomial(2, 2.0, 1.0))),
    (UnitDiagonal(kernel=Linear()), unit_diagonal(dot)),
    (FunctionKernel(function=laplace_matrix), laplace),
]
by_formula = pytest.mark.parametrize(("kernel", "k"), FORMULAS, ids=[kernel.name for kernel, _ in FORMULAS])


def matrix(k, X, Z):
    return np.array([[k(x, z) for z in Z.tolist()] for x in X.tolist()])


@by_formula
@given(data=st.data())
def test_kernel_is_its_formula_on_all_columns_dense_and_sparse(kernel, k, data):
    X = data.draw(samples())
    Z = data.draw(samples(X.shape[1], X.shape[1]))
    expected = matrix(k, X, Z)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-9, atol=1e-12)
    for container in (sp.csr_array, sp.csr_matrix, sp.csc_array):
        np.testing.assert_allclose(kernel(container(X), container(Z)), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel(sp.csr_array(X), Z), expected, rtol=1e-9, atol=1e-12)


@by_formula
@given(X=samples(3, 4))
def test_kernel_sees_only_its_columns(kernel, k, X):
    for columns in (1, (2, 0)):
        chosen = X[:, list(columns) if isinstance(columns, tuple) else [columns]]
        expected = matrix(k, chosen, chosen)
        np.testing.assert_allclose(kernel.on(columns)(X), expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(kernel.on(columns)(sp.csr_array(X)), expected, rtol=1e-9, atol=1e-12)


@by_formula
@given(X=samples())
def test_diagonal_is_the_diagonal(kernel, k, X):
    expected = [k(x, x) for x in X.tolist()]
    np.testing.assert_allclose(kernel.diagonal(kernel.select(X)), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(kernel.select(sp.csr_array(X))), expected, rtol=1e-9, atol=1e-12)


@by_formula
def test_select_take_evaluate_is_the_call(kernel, k, rng):
    X, Z, index = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), np.array([2, 0, 2])
    T = kernel.take(kernel.select(Z), index)
    np.testing.assert_array_equal(kernel.evaluate(kernel.select(X), T), kernel(X, Z[index]))


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in FORMULAS if not isinstance(kernel, FunctionKernel)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_narrow_types_are_computed_in_double_precision(kernel, dtype, rng):
    X = (100 * rng.uniform(size=(6, 3))).astype(dtype)
    for placed in (kernel, kernel.on(1), kernel.on((0, 2))):
        expected = placed(X.astype(np.float64))
        assert placed(X).dtype == np.float64
        np.testing.assert_allclose(placed(X), expected, rtol=1e-13)
        np.testing.assert_allclose(placed(sp.csr_array(X)), expected, rtol=1e-10, atol=1e-290)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("d", [1, 3])
def test_gaussian_far_from_the_origin_loses_nothing(container, d, rng):
    near = rng.integers(0, 64, size=(20, d)) / 16
    near[7] = near[3]
    far = near + 2.0**24  # exactly representable, so the differences are the same
    expected = matrix(gaussian(0.5), near, near)
    np.testing.assert_allclose(Gaussian(width=0.5)(container(far)), expected, rtol=1e-12)


def test_kernels_do_not_change_what_they_are_given(rng):
    X = rng.normal(size=(6, 3))
    before = X.copy()
    for kernel, _ in FORMULAS:
        for columns in (None, 0, (0, 2)):
            kernel.on(columns)(X)
    np.testing.assert_array_equal(X, before)


def test_unit_diagonal_looks_where_the_kernel_inside_looks(rng):
    X = rng.normal(size=(5, 3))
    kernel = UnitDiagonal(kernel=Polynomial(columns=(0, 2)))
    assert kernel.columns == (0, 2)
    assert kernel.name == "unit polynomial(degree=2)[0,2]"
    np.testing.assert_array_equal(kernel(X), UnitDiagonal(kernel=Polynomial())(X[:, [0, 2]]))


def test_kernels_are_values():
    assert Gaussian(width=2.0, columns=1) == Gaussian(width=2.0).on(1)
    assert len({Gaussian(), Gaussian(width=1.0), Linear()}) == 2
    for kernel, _ in FORMULAS:
        assert pickle.loads(pickle.dumps(kernel)) == kernel


# Families


@pytest.mark.parametrize("d", [1, 2, 34])
def test_default_family_is_ten_widths_on_all_and_on_each(d):
    kernels = gaussian_kernels().expand(d)
    assert len(kernels) == 10 * (d + 1)
    assert sorted({kernel.width for kernel in kernels}) == [2.0**p for p in range(-3, 7)]
    assert [kernel.columns for kernel in kernels[:10]] == [None] * 10
    assert [kernel.columns for kernel in kernels[10:]] == [j for j in range(d) for _ in range(10)]


@pytest.mark.parametrize(
    ("scope", "columns", "expected"),
    [
        ("all", None, [None]),
        ("each", None, [0, 1, 2]),
        ("all+each", None, [None, 0, 1, 2]),
        ("all", (0, 2), [(0, 2)]),
        ("each", (0, 2), [0, 2]),
        ("all+each", (0, 2), [(0, 2), 0, 2]),
        ("each", 1, [1]),
        ("each", np.int64(1), [1]),
        ("all+each", "b", [("b",), "b"]),
    ],
)
def test_scopes_and_columns(scope, columns, expected):
    assert [kernel.columns for kernel in linear_kernels(scope, columns=columns).expand(3)] == expected
    assert [kernel.columns for kernel in gaussian_kernels([1.0], scope, columns=columns).expand(3)] == expected


def test_resolved_columns_follow_the_frame(rng):
    frame = pd.DataFrame(rng.normal(size=(6, 4)), columns=["age", "height", "weight", "income"])
    X = frame.to_numpy()
    kernels = resolve_kernels(
        [
            Gaussian(columns="weight"),
            Linear(columns=("income", "age")),
            UnitDiagonal(kernel=Linear(columns="height")),
            Gaussian(columns=-1),
            gaussian_kernels([1.0, 2.0], "each", columns=("height", 0)),
        ],
        4,
        frame.columns,
    )
    assert [kernel.columns for kernel in kernels] == [2, (3, 0), 1, 3, 1, 1, 0, 0]
    np.testing.assert_allclose(kernels[0](X), matrix(gaussian(1.0), X[:, [2]], X[:, [2]]), rtol=1e-12)
    np.testing.assert_allclose(kernels[1](X), np.outer(X[:, 3], X[:, 3]) + np.outer(X[:, 0], X[:, 0]), rtol=1e-12)


def test_one_kernel_or_family_needs_no_list():
    assert resolve_kernels(Linear(), 3) == (Linear(),)
    assert resolve_kernels(linear_kernels(), 2) == (Linear(columns=0), Linear(columns=1))


# Matrices that the user brings


def random_grams(rng, m, n):
    factors = rng.normal(size=(m, n, 3))
    return factors @ factors.transpose(0, 2, 1)


def test_precomputed_follows_cross_validation(rng):
    grams = random_grams(rng, 3, 12)
    kernels = precomputed(grams, names=["a", "b", "c"])
    X, v = np.arange(12).reshape(-1, 1), rng.normal(size=9)
    stack = np.moveaxis(grams, 0, -1)
    for train, test in KFold(4, shuffle=True, random_state=0).split(X):
        indexed = build_bank(X[train].astype(np.float64), kernels, dense=True)
        stacked = build_bank(stack[train][:, train], [StackedGram(position=j) for j in range(3)])
        for bank, new in ((indexed, X[test]), (stacked, stack[test][:, train])):
            inside, across = grams[:, train[:, None], train], grams[:, test[:, None], train]
            np.testing.assert_allclose(bank.products(v), inside @ v, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(bank.cross_products(new, v), across @ v, rtol=1e-9, atol=1e-9)


def test_precomputed_keeps_its_own_copy(rng):
    gram = random_grams(rng, 1, 4)[0]
    before = gram.copy()
    (kernel,) = precomputed(gram)
    gram[:] = 0.0
    X = np.arange(4).reshape(-1, 1)
    np.testing.assert_allclose(kernel(X), before, rtol=1e-15)
    kernel(X)[:] = 7.0
    np.testing.assert_allclose(kernel(X), before, rtol=1e-15)
    with pytest.raises(ValueError, match="read-only"):
        kernel.gram[0, 0] = 1.0


class Holder(BaseEstimator):
    def __init__(self, kernels=None):
        self.kernels = kernels


def test_cloning_shares_precomputed_matrices(rng):
    kernels = precomputed(random_grams(rng, 2, 5))
    copies = clone(Holder(kernels)).kernels
    assert all(np.shares_memory(copy.gram, kernel.gram) for copy, kernel in zip(copies, kernels, strict=True))


def test_unit_diagonal_of_a_precomputed_matrix(rng):
    gram = random_grams(rng, 1, 6)[0]
    gram[2] = gram[:, 2] = 0.0
    (kernel,) = precomputed(gram)
    scale = np.sqrt(np.diag(gram))
    scale[2] = np.inf
    X = np.array([[1], [2], [5]])
    index = X[:, 0]
    expected = (gram / np.outer(scale, scale))[np.ix_(index, index)]
    np.testing.assert_allclose(UnitDiagonal(kernel=kernel)(X), expected, atol=1e-14)


def test_a_single_matrix_is_a_stack_of_one(rng):
    gram = random_grams(rng, 1, 6)[0]
    np.testing.assert_array_equal(StackedGram()(gram), gram)
    np.testing.assert_array_equal(StackedGram()(gram[:2]), gram[:2])
    bank, v = build_bank(gram, StackedGram()), rng.normal(size=6)
    np.testing.assert_allclose(bank.products(v)[0], gram @ v, rtol=1e-9)


# Positive semi-definite or not


symmetric = st.integers(1, 6).flatmap(lambda n: arrays(np.float64, (n, n), elements=tenths)).map(lambda A: A + A.T)


@given(A=symmetric)
def test_check_finds_negative_eigenvalues(A):
    smallest = np.linalg.eigvalsh(A)[0]
    if smallest < -1e-5:
        with pytest.raises(ValueError, match="kernel swap is not positive semi-definite") as caught:
            check_positive_semidefinite(A, "swap")
        (reported,) = re.findall(r"smallest eigenvalue is (\S+)\. Use", str(caught.value))
        assert float(reported) == pytest.approx(smallest, rel=1e-3)
    elif smallest > -1e-12:
        check_positive_semidefinite(A, "swap")


@given(A=symmetric)
def test_projection_splits_off_the_negative_part(A):
    P = project_psd(A)
    tol = 1e-12 * max(np.abs(A).max(), 1.0) * len(A)
    assert np.linalg.eigvalsh(P)[0] >= -tol
    assert np.linalg.eigvalsh(A - P)[-1] <= tol
    assert abs(np.sum(P * (A - P))) <= 100 * tol * max(np.abs(A).max(), 1.0)
    np.testing.assert_allclose(project_psd(P), P, atol=10 * tol)


def minus_distance(S, T):
    return -np.abs(S[:, :1] - T[:, 0])


@pytest.mark.parametrize("dense", [True, False])
def test_bank_refuses_what_is_no_kernel(dense):
    X = np.arange(4.0).reshape(-1, 1)
    with pytest.raises(ValueError, match=r"minus_distance\[all\] is not positive semi-definite.*eigenvalue is -"):
        build_bank(X, FunctionKernel(function=minus_distance), dense=dense)
    swap = np.eye(4)[::-1]
    with pytest.raises(ValueError, match=r"kernel swap is not .*eigenvalue is -1\. Use project_psd"):
        build_bank(X, precomputed(swap, names=["swap"]), dense=dense)
    with pytest.raises(ValueError, match=r"kernel precomputed\[0\] is not positive"):
        build_bank(swap, StackedGram(), dense=dense)
    build_bank(X, precomputed(project_psd(swap)), dense=dense)


# Bad calls


X34 = np.arange(12.0).reshape(3, 4)
GRAM3 = np.eye(3)
INDEX3 = np.arange(3).reshape(-1, 1)
AB = ["length", "width"]


def attribute_bank():
    return AttributeBank(X34)


def dense_bank():
    return DenseBank.build(X34, [Gaussian(), Linear(columns=0)])


def factor_bank():
    return FactorBank.build(X34, [Gaussian(), Linear(columns=0)])


BAD_CALLS = [
    (lambda: gaussian_kernels(scope="every"), 'scope must be "all", "each" or "all+each", got \'every\''),
    (lambda: KernelFamily((Linear(),), scope=None), "scope must be"),
    (lambda: gaussian_kernels([]), "widths must be a non-empty list of positive numbers, got []"),
    (lambda: gaussian_kernels([[1.0, 2.0]]), "widths must be a non-empty list"),
    (lambda: gaussian_kernels("wide"), "widths must be a non-empty list of positive numbers, got 'wide'"),
    (lambda: gaussian_kernels([1.0, -2.0]), "width must be a positive number, got -2.0"),
    (lambda: Gaussian(width=0.0), "width must be a positive number, got 0.0"),
    (lambda: Gaussian(width=np.nan), "width must be a positive number, got nan"),
    (lambda: Polynomial(degree=0), "degree must be an integer of at least 1, got 0"),
    (lambda: Polynomial(gamma=-1.0), "gamma must be a positive number"),
    (lambda: Polynomial(coef0=np.inf), "coef0 must be a number of at least 0"),
    (lambda: UnitDiagonal(kernel=Linear(columns=1), columns=0), "columns=0 differs from the columns 1"),
    (lambda: resolve_kernels(Linear(columns="lenght"), 2, AB), "'lenght' is not in X; did you mean 'length'?"),
    (lambda: resolve_kernels(Linear(columns="zzz"), 2, AB), "column 'zzz' is not in X"),
    (lambda: resolve_kernels(Linear(columns="a"), 2), "X has no column names; use a DataFrame or a position"),
    (lambda: resolve_kernels(Linear(columns=2), 2), "column 2 is outside X, which has 2 features"),
    (lambda: resolve_kernels(Linear(columns=-3), 2), "column -3 is outside X"),
    (lambda: resolve_kernels(Linear(columns=()), 2), "columns of linear is empty"),
    (lambda: resolve_kernels([], 2), "kernels is empty; give at least one"),
    (lambda: FunctionKernel(function=lambda S, T: np.ones(3))(X34), "returned shape (3,) for 3 and 3 samples"),
    (lambda: precomputed(np.ones((2, 3))), "grams must have shape (n, n) or (n_kernels, n, n), got (1, 2, 3)"),
    (lambda: precomputed(np.ones(3)), "grams must have shape (n, n)"),
    (lambda: precomputed([]), "grams must have shape"),
    (lambda: precomputed([GRAM3, np.eye(2)]), "grams must be square matrices of one size"),
    (lambda: precomputed([GRAM3, np.triu(np.ones((3, 3)))]), "grams[1] is not symmetric (largest difference 1)"),
    (lambda: precomputed(np.full((3, 3), np.nan)), "grams[0] contains NaN or infinity"),
    (lambda: precomputed(GRAM3, names=["a", "b"]), "names has 2 entries for 1 kernels"),
    (lambda: precomputed(GRAM3)[0](X34), "X must be one column of sample indices in 0..2, got shape (3, 4)"),
    (lambda: precomputed(GRAM3)[0](np.array([["a"]])), "X must be one column of sample indices"),
    (lambda: precomputed(GRAM3)[0](np.array([[3]])), "sample index 3 in X is not one of 0..2"),
    (lambda: precomputed(GRAM3)[0](np.array([[-1]])), "sample index -1 in X"),
    (lambda: precomputed(GRAM3)[0](np.array([[0.5]])), "sample index 0.5 in X"),
    (lambda: precomputed(GRAM3)[0](np.array([[np.nan]])), "sample index nan in X"),
    (lambda: StackedGram(position=1)(GRAM3), "more than 1 kernels, got shape (3, 3)"),
    (lambda: build_bank(GRAM3[:, :2], StackedGram()), "needs as many rows as columns in X, got shape (3, 2)"),
    (
        lambda: UnitDiagonal(kernel=StackedGram()).diagonal(GRAM3[:2]),
        "as many rows as columns",
    ),
    (lambda: check_positive_semidefinite(np.triu(np.ones((2, 2))), "half"), "kernel half is not symmetric"),
    (lambda: project_psd(np.ones((2, 2, 2))), "gram must be one matrix of shape (n, n), got shape (2, 2, 2)"),
    (lambda: DenseBank(np.ones((1, 2, 3))), "grams must have shape"),
    (lambda: DenseBank(GRAM3, names=["a", "b"]), "names has 2 entries for 1 kernels"),
    (lambda: DenseBank(GRAM3).cross_products(X34, np.ones(3)), "made from matrices alone; build it from kernels"),
    (lambda: AttributeBank(X34, names=["a"]), "names has 1 entries for 4 kernels"),
    (lambda: build_bank(X34, Gaussian(), rank=0), "rank must be at least 1, got 0"),
    (lambda: build_bank(X34, Gaussian(), rank=-3, dense=True), "rank must be at least 1, got -3"),
    (lambda: build_bank(X34, Gaussian(), rank=2.0), "must lie between 0 and 1, got 2.0; use an int"),
    (lambda: build_bank(X34, Gaussian(), rank=0.0), "must lie between 0 and 1, got 0.0"),
    (lambda: build_bank(X34, Gaussian(), rank=np.nan), "must lie between 0 and 1, got nan"),
    (lambda: build_bank(np.where(X34 > 3, np.nan, X34), Gaussian()), "X contains NaN or infinity"),
    (lambda: build_bank(sp.csr_array(np.where(X34 > 3, np.inf, X34)), Gaussian()), "X contains NaN or infinity"),
    (lambda: build_bank(X34[:0], Gaussian()), "at least one row and one column, got shape (0, 4)"),
    (lambda: build_bank(X34[0], Gaussian()), "at least one row and one column, got shape (4,)"),
    (lambda: build_bank(INDEX3, precomputed(np.eye(2))), "sample index 2 in X is not one of 0..1"),
]
BAD_TYPES = [
    (lambda: Polynomial(degree=1.5), "degree must be an integer of at least 1, got 1.5"),
    (lambda: build_bank(X34, Gaussian()).pair_values([0.5], [0]), "rows must hold integer indices of samples"),
    (lambda: resolve_kernels("rbf", 2), "kernels must be a kernel, a family such as gaussian_kernels()"),
    (lambda: resolve_kernels(None, 2), "kernels must be a kernel"),
    (lambda: resolve_kernels([Linear(), "rbf"], 2), "kernels contains 'rbf', which is neither"),
    (lambda: resolve_kernels(Linear(columns=[0, 1]), 2), "a group is a tuple of them; got [0, 1]"),
    (lambda: resolve_kernels(Linear(columns=0.5), 2), "a column is a position or a name"),
    (lambda: build_bank(X34, Gaussian(), rank="full"), "rank must be None, a number of landmarks or a tolerance"),
    (
        lambda: build_bank(X34, Gaussian(), rank=True),
        "or a tolerance, got True",
    ),
    (lambda: build_bank(X34.tolist(), Gaussian()), "X must be an array or a sparse matrix, got list"),
    (lambda: build_bank(pd.DataFrame(X34), Gaussian()), "got DataFrame; use numpy.asarray(X)"),
    (lambda: StackedGram()(GRAM3, GRAM3), "call the kernel with X alone"),
]
BAD_BANK_CALLS = [
    (lambda bank: bank.products(np.ones(4)), "v must have shape (3,), one entry per sample, got (4,)"),
    (lambda bank: bank.products(np.ones((3, 1))), "v must have shape (3,)"),
    (lambda bank: bank.quadratic_forms(1.0), "v must have shape (3,)"),
    (lambda bank: bank.cross_products(X34, np.ones(2)), "v must have shape (3,), one entry per sample, got (2,)"),
    (lambda bank: bank.combination(np.ones(bank.n_kernels + 1)), "one per kernel, got"),
    (lambda bank: bank.combination(np.full(bank.n_kernels, np.nan)), "weights must be finite, got nan for kernel"),
    (lambda bank: bank.combined_factor(-np.ones(bank.n_kernels)), "weights must be finite and not negative, got -1.0"),
    (
        lambda bank: bank.combined_factor(np.full(bank.n_kernels, np.inf)),
        "finite and not negative, got inf",
    ),
    (lambda bank: bank.combined_factor(1.0), "weights must have shape"),
    (lambda bank: bank.pair_values([0, 1], [2]), "rows and cols must have one length, got 2 and 1"),
    (lambda bank: bank.pair_values([0], [3]), "pair 0 is (0, 3), but indices must lie between 0 and 2"),
    (lambda bank: bank.pair_values([-1], [0]), "pair 0 is (-1, 0), but indices must lie between 0 and 2"),
]


def fails_with(error, call, message):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize(("call", "message"), BAD_CALLS)
def test_bad_values_are_named(call, message):
    fails_with(ValueError, call, message)


@pytest.mark.parametrize(("call", "message"), BAD_TYPES)
def test_bad_types_are_named(call, message):
    fails_with(TypeError, call, message)


@pytest.mark.parametrize("make", [attribute_bank, dense_bank, factor_bank])
@pytest.mark.parametrize(("call", "message"), BAD_BANK_CALLS)
def test_banks_name_bad_arguments(make, call, message):
    fails_with(ValueError, lambda: call(make()), message)


def test_the_base_class_has_no_formula():
    with pytest.raises(NotImplementedError):
        Kernel()(X34)
