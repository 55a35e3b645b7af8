"""Matrix completion against an interior-point solver, its certificate when stopped early, and recovery of classes."""

import warnings
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwise import complete_matrix
from kernelwise.completion.matrix.factors import PATIENCE, Record, Stage, evaluate
from kernelwise.completion.matrix.problem import LARGEST_SIDE, CompletionProblem, Factors, ObservedEntries
from kernelwise.optim import Certificate, Status
from kernelwise.papers import singular_value_thresholding, soft_impute

SQUARE = [0, 1, 2], [1, 2, 0], [1.0, 0.5, 0.2]


def sampled(seed, *, symmetric, diagonal="none", noise=0.0, share=0.6):
    """A 9 x 7 (9 x 9) matrix of rank 2: the places observed, their values and some weights."""
    rng = np.random.default_rng(seed)
    left = rng.standard_normal((9, 2))
    right = left if symmetric else rng.standard_normal((7, 2))
    full = left @ right.T
    seen = rng.random(full.shape) < share
    if symmetric:
        seen = np.triu(seen, 1) | (np.eye(9, dtype=bool) & (diagonal == "all"))
    rows, cols = np.nonzero(seen)
    values = full[rows, cols] + noise * rng.standard_normal(len(rows))
    return rows, cols, values, full.shape, rng.uniform(0.5, 2.0, len(rows))


def oracle(rows, cols, values, shape, *, symmetric=False, penalty=None, weights=None):
    """Optimum and solution by an interior-point method, from the formula."""
    M = cp.Variable(shape, PSD=True) if symmetric else cp.Variable(shape)
    norm, error = cp.trace(M) if symmetric else cp.normNuc(M), M[rows, cols] - values
    if penalty is None:
        problem = cp.Problem(cp.Minimize(norm), [error == 0])
    else:
        both_triangles = np.where(symmetric & (rows != cols), 2.0, 1.0)
        misfit = cp.sum(cp.multiply(both_triangles * weights, cp.square(error)))
        problem = cp.Problem(cp.Minimize(0.5 * misfit + penalty * norm))
    with warnings.catch_warnings():  # without an interior it cannot promise all the digits that are asked for
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    return problem.value, M.value


CASES = [
    pytest.param({"symmetric": False}, None, 0, id="general-exact"),
    pytest.param({"symmetric": False, "noise": 0.3}, 0.3, 0, id="general-penalised"),
    pytest.param({"symmetric": True}, None, 1, id="psd-exact"),
    pytest.param({"symmetric": True, "diagonal": "all"}, None, 0, id="psd-exact-diagonal"),
    pytest.param({"symmetric": True, "noise": 0.3}, 0.3, 0, id="psd-penalised"),
    pytest.param({"symmetric": True, "noise": 0.3, "diagonal": "all"}, 0.3, 5, id="psd-penalised-diagonal"),
]


@pytest.mark.parametrize(("how", "penalty", "seed"), CASES)
def test_equals_the_interior_point_solution(how, penalty, seed):
    rows, cols, values, shape, weights = sampled(seed, **how)
    options = {"symmetric": how["symmetric"], "penalty": penalty, "weights": weights}
    optimum, solution = oracle(rows, cols, values, shape, **options)
    completion = complete_matrix(rows, cols, values, shape, tol=1e-8, max_iter=500, random_state=0, **options)
    assert completion.certificate.dual == pytest.approx(optimum, rel=1e-6)
    assert completion.certificate.primal == pytest.approx(optimum, rel=1e-6)
    np.testing.assert_allclose(completion.to_dense(), solution, atol=1e-5)
    if penalty is None:
        assert completion.nuclear_norm == pytest.approx(optimum, rel=1e-5)
        assert completion.residual <= 1e-5


@pytest.mark.parametrize("max_iter", [1, 3, 10])
@pytest.mark.parametrize(("how", "penalty", "seed"), CASES)
def test_certificate_brackets_the_optimum_when_stopped_early(how, penalty, seed, max_iter):
    rows, cols, values, shape, weights = sampled(seed + 10, **how)
    options = {"symmetric": how["symmetric"], "penalty": penalty, "weights": weights}
    optimum, _ = oracle(rows, cols, values, shape, **options)
    completion = complete_matrix(rows, cols, values, shape, tol=1e-12, max_iter=max_iter, random_state=0, **options)
    assert completion.n_iter == max_iter
    assert completion.status == "max_iter"
    assert not completion.converged
    slack = 1e-6 * optimum  # of the oracle
    assert completion.certificate.dual <= optimum + slack
    assert completion.certificate.primal >= optimum - slack
    assert np.all(np.diff([row.primal for row in completion.history]) <= 0) or how.get("diagonal") == "all"
    assert np.all(np.diff([row.dual for row in completion.history]) >= 0)


def test_upper_bound_is_infinite_where_a_part_of_the_diagonal_is_known():
    rows, cols, values = [0, 0, 1, 2], [0, 1, 2, 3], [1.0, 1.0, 0.5, 0.5]
    completion = complete_matrix(rows, cols, values, (4, 4), symmetric=True, tol=1e-7, random_state=0)
    optimum, solution = oracle(np.array(rows), np.array(cols), np.array(values), (4, 4), symmetric=True)
    assert completion.certificate.primal == np.inf
    assert completion.status == "estimated"
    assert not completion.converged  # without an upper bound
    assert completion.certificate.dual <= optimum * (1 + 1e-6)
    assert completion.nuclear_norm == pytest.approx(optimum, rel=1e-5)
    np.testing.assert_allclose(completion.to_dense(), solution, atol=1e-4)


def test_symmetric_answer_is_symmetric_and_positive_semi_definite():
    rows, cols, values, shape, _ = sampled(3, symmetric=True)
    completion = complete_matrix(rows, cols, values, shape, symmetric=True, random_state=0)
    assert completion.left is completion.right
    assert np.linalg.eigvalsh(completion.to_dense()).min() >= -1e-12


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=15)
def test_bounds_and_shapes_hold_for_any_data(seed, symmetric, exact):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 12))
    n = m if symmetric else int(rng.integers(1, 12))
    cells = rng.permutation(m * n)[: rng.integers(1, m * n + 1)]
    rows, cols = cells // n, cells % n
    if symmetric:
        rows, cols = rows[rows < cols], cols[rows < cols]
    if len(rows) == 0:
        return
    values = rng.standard_normal(len(rows))
    penalty = None if exact else float(rng.uniform(0.01, 2.0))
    completion = complete_matrix(rows, cols, values, (m, n), symmetric=symmetric, penalty=penalty, random_state=0)
    bounds = completion.certificate
    assert 0 <= bounds.dual <= bounds.primal * (1 + 1e-9) + 1e-12
    assert completion.shape == (m, n)
    assert completion.rank <= min(m, n)


@pytest.mark.parametrize("symmetric", [False, True])
def test_repeated_observations_merge_into_a_weighted_mean(symmetric):
    rows, cols, values = [0, 1, 2, 1], [1, 2, 0, 0], [1.0, 0.5, 0.2, 4.0]
    again = {"rows": [0, 1, 2, 1, 0, 1], "cols": [1, 2, 0, 0, 1, 2], "values": [0.0, 0.5, 0.2, 4.0, 1.5, 7.0]}
    once = complete_matrix(
        rows, cols, values, (3, 3), symmetric=symmetric, penalty=0.1, weights=[3, 1, 1, 1], tol=1e-9, random_state=0
    )
    merged = complete_matrix(
        **again, shape=(3, 3), symmetric=symmetric, penalty=0.1, weights=[1, 1, 1, 1, 2, 0], tol=1e-9, random_state=0
    )
    np.testing.assert_allclose(merged.to_dense(), once.to_dense(), atol=1e-6)


def test_repeated_exact_observations_may_agree():
    once = complete_matrix(*SQUARE, (3, 3), random_state=0)
    again = complete_matrix([0, 0, 1, 2], [1, 1, 2, 0], [1.0, 1.0, 0.5, 0.2], (3, 3), random_state=0)
    np.testing.assert_allclose(again.to_dense(), once.to_dense(), atol=1e-9)


def test_inputs_are_left_alone_and_seeds_repeat():
    rows, cols, values, shape, weights = sampled(0, symmetric=False)
    copies = [array.copy() for array in (rows, cols, values, weights)]
    results = [complete_matrix(rows, cols, values, shape, weights=weights, random_state=5) for _ in range(2)]
    for array, copy in zip((rows, cols, values, weights), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    np.testing.assert_array_equal(results[0].left, results[1].left)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("penalty", [None, 0.3])
def test_units_do_not_matter(penalty, scale):
    rows, cols, values, shape, _ = sampled(0, symmetric=False)
    one = complete_matrix(rows, cols, values, shape, penalty=penalty, tol=1e-6, random_state=0)
    scaled_penalty = None if penalty is None else scale * penalty
    other = complete_matrix(rows, cols, scale * values, shape, penalty=scaled_penalty, tol=1e-6, random_state=0)
    assert other.status == one.status
    np.testing.assert_allclose(other.to_dense() / scale, one.to_dense(), atol=1e-3)


def test_rows_without_observations_are_zero():
    completion = complete_matrix([0, 0, 2], [0, 1, 1], [1.0, 1.0, 1.0], (4, 3), random_state=0)
    np.testing.assert_array_equal(completion.to_dense()[[1, 3]], 0.0)
    np.testing.assert_array_equal(completion.to_dense()[:, 2], 0.0)


@pytest.mark.parametrize("options", [{}, {"penalty": 1.0}, {"symmetric": True}, {"debias": True}])
def test_zeros_complete_to_zero(options):
    completion = complete_matrix([0, 1], [1, 2], [0.0, 0.0], (3, 3), **options)
    assert completion.rank == 0
    assert completion.converged
    assert completion.certificate.primal == completion.certificate.dual == 0.0
    np.testing.assert_array_equal(completion.entries([0, 1], [0, 2]), 0.0)


def test_a_large_penalty_leaves_nothing():
    rows, cols, values, shape, _ = sampled(0, symmetric=False)
    completion = complete_matrix(rows, cols, values, shape, penalty=100.0)
    assert completion.rank == 0
    assert completion.converged


def test_entries_are_those_of_the_dense_matrix(rng):
    rows, cols, values, shape, _ = sampled(1, symmetric=False)
    completion = complete_matrix(rows, cols, values, shape, random_state=0)
    i, j = rng.integers(0, 9, 20_000), rng.integers(0, 7, 20_000)
    np.testing.assert_allclose(completion.entries(i, j), completion.to_dense()[i, j], atol=1e-12)


def test_a_matrix_too_large_for_memory_is_not_made():
    completion = complete_matrix([0, 1], [0, 19_999], [1.0, 2.0], (20_000, 20_000), random_state=0)
    with pytest.raises(MemoryError, match=r"3.2 GB; use entries"):
        completion.to_dense()
    np.testing.assert_allclose(completion.entries([0, 1, 5], [0, 19_999, 5]), [1.0, 2.0, 0.0], atol=1e-3)


@pytest.mark.parametrize("shape", [(3, 150), (150, 3), (130, 120)])
@pytest.mark.parametrize("symmetric", [False, True])
def test_largest_singular_values_of_a_sparse_matrix(shape, symmetric, rng):
    n, m = shape if not symmetric else (130, 130)
    rows, cols = np.nonzero(rng.random((n, m)) < 0.3)
    if symmetric:
        rows, cols = rows[rows <= cols], cols[rows <= cols]
    values = rng.standard_normal(len(rows))
    observed = ObservedEntries.merge(rows, cols, values, np.ones(len(rows)), (n, m), symmetric)
    dense = np.zeros((n, m))
    dense[rows, cols] = values
    if symmetric:
        dense[cols, rows] = values
        expected = np.linalg.eigvalsh(dense)[::-1][:3]
    else:
        expected = np.linalg.svd(dense, compute_uv=False)[:3]
    triples = observed.top(values, 3, np.random.RandomState(0), 1e-6)
    np.testing.assert_allclose(triples.values, expected, rtol=1e-5)
    assert triples.bound >= expected[0] * (1 - 1e-14)
    assert triples.bound <= expected[0] * (1 + 1e-4)
    np.testing.assert_allclose(np.einsum("ik,ij,jk->k", triples.left, dense, triples.right), expected, rtol=1e-5)


def test_eigenvalues_of_both_signs_come_by_their_size(rng):
    n = 130
    rows, cols = np.triu_indices(n)
    values = rng.standard_normal(len(rows)) - 0.5  # the largest eigenvalue is negative
    observed = ObservedEntries.merge(rows, cols, values, np.ones(len(rows)), (n, n), symmetric=True)
    dense = np.zeros((n, n))
    dense[rows, cols] = dense[cols, rows] = values
    spectrum = np.linalg.eigvalsh(dense)
    expected = spectrum[np.argsort(-np.abs(spectrum))[:4]]
    assert expected[0] < 0 < expected.max()
    triples = observed.top(values, 4, np.random.RandomState(0), 1e-6, both_ends=True)
    np.testing.assert_allclose(triples.values, np.abs(expected), rtol=1e-5)
    np.testing.assert_allclose(np.einsum("ik,ij,jk->k", triples.left, dense, triples.left), expected, rtol=1e-5)
    assert np.abs(expected[0]) * (1 - 1e-14) <= triples.bound <= np.abs(expected[0]) * (1 + 1e-4)


@pytest.mark.parametrize("prove", [False, True])
def test_a_repaired_matrix_is_positive_semi_definite(prove, rng):
    """The upper bound adds the trace of a diagonal D; E + D with equal entries of D on the touched rows is definite."""
    n = 20
    rows, cols = np.triu_indices(n, k=1)
    values = rng.standard_normal(len(rows))
    observed = ObservedEntries.merge(rows, cols, values, np.ones(len(rows)), (n, n), symmetric=True)
    problem = CompletionProblem(observed, None, True)
    nothing = Factors(np.zeros((n, 0)), np.zeros((n, 0)), np.zeros(0))
    bound, _ = problem.primal_bound(nothing, np.zeros(len(rows)), np.random.RandomState(0), prove=prove)
    dense = np.zeros((n, n))
    dense[rows, cols] = dense[cols, rows] = values
    needed = -np.linalg.eigvalsh(dense)[0]
    assert n * needed * (1 - 1e-9) <= bound <= n * needed * 1.02


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("estimate", [0.3, 0.999, 1.0, 1.5])
def test_proven_bounds_are_bounds_whatever_the_estimate(symmetric, estimate, rng):
    for n in (2, 30, 150):
        rows, cols = np.nonzero(rng.random((n, n)) < 0.3)
        if symmetric:
            rows, cols = rows[rows <= cols], cols[rows <= cols]
        values = rng.standard_normal(len(rows))
        if not len(rows):
            continue
        observed = ObservedEntries.merge(rows, cols, values, np.ones(len(rows)), (n, n), symmetric)
        dense = np.zeros((n, n))
        dense[rows, cols] = values
        if symmetric:
            dense[cols, rows] = values
        spectrum = np.linalg.eigvalsh(dense) if symmetric else np.linalg.svd(dense, compute_uv=False)
        for both_ends in (False, True) if symmetric else (False,):
            largest = np.abs(spectrum).max() if both_ends else spectrum.max()
            bound = observed.proven_bound(values, estimate * largest, both_ends=both_ends)
            assert bound >= largest
            if estimate >= 1 and largest > 0:
                assert bound <= estimate * largest * (1 + 1e-6)


def test_a_missed_eigenvalue_does_not_become_a_wrong_bound(monkeypatch):
    """Lanczos iteration that returns the second eigenvalue: the bound of the solver is still below the optimum."""
    rows, cols, values, shape, _ = sampled(0, symmetric=True)
    optimum, _ = oracle(rows, cols, values, shape, symmetric=True)
    honest = ObservedEntries.top

    def short(self, data, count, rng, tol, **options):
        found = honest(self, data, count + 1, rng, tol, **options)
        parts = (found.values[1:], found.left[:, 1:], found.right[:, 1:], float(found.values[1]))
        return type(found)(*parts)

    monkeypatch.setattr(ObservedEntries, "top", short)
    completion = complete_matrix(rows, cols, values, shape, symmetric=True, max_iter=20, random_state=0)
    assert completion.certificate.dual <= optimum * (1 + 1e-6)


@pytest.mark.parametrize("moves", [True, False])
def test_the_solver_gives_up_only_if_no_bound_moves(moves):
    """The first dual point is the best for long; iterates whose own bounds approach each other are progress too."""
    rows, cols, values, shape, _ = sampled(0, symmetric=False)
    observed = ObservedEntries.merge(rows, cols, values, np.ones(len(rows)), shape, False)
    problem, draw = CompletionProblem(observed, None, False), np.random.RandomState(0)
    nothing = Factors(np.zeros((shape[0], 0)), np.zeros((shape[1], 0)), np.zeros(0))
    stage = Stage(np.ones(observed.size), observed.values, 1.0)
    iterate = replace(evaluate(problem, nothing, stage, 1, rng=draw, tol=1e-3), misfit=0.0)
    record = Record(problem, 1e-6, draw)
    assert record.add(replace(iterate, certificate=Certificate(101.0, 99.0))) is None
    duals = np.linspace(90.0, 98.0, PATIENCE + 5) if moves else np.full(PATIENCE + 5, 90.0)
    reasons = [record.add(replace(iterate, certificate=Certificate(101.0, dual))) for dual in duals]
    assert (Status.STALLED in reasons) == (not moves)


def test_larger_matrices_have_estimated_bounds_and_say_so():
    n = LARGEST_SIDE + 1
    rows, cols = np.arange(n - 1), np.arange(1, n)
    completion = complete_matrix(rows[:5], cols[:5], np.ones(5), (n, n), random_state=0)
    assert completion.status == "estimated"
    assert completion.converged
    smaller = complete_matrix(rows[:5], cols[:5], np.ones(5), (n - 1, n), random_state=0)
    assert smaller.status == "converged"


def blocks(n, n_classes, share, seed):
    """0/1 blocks: rows and columns of classes, and a share of the entries; each row and column has a one among them."""
    rng = np.random.default_rng(seed)
    row_class, col_class = rng.permutation(n) % n_classes, rng.permutation(n) % n_classes
    truth = (row_class[:, None] == col_class[None, :]).astype(float)
    seen = rng.random((n, n)) < share
    assert np.all((seen & (truth > 0)).sum(0) > 0)
    assert np.all((seen & (truth > 0)).sum(1) > 0)
    rows, cols = np.nonzero(seen)
    return rows, cols, truth[rows, cols], truth


def test_blocks_of_unknown_rank_are_recovered():
    rows, cols, values, truth = blocks(400, 6, 0.1, seed=1)
    completion = complete_matrix(rows, cols, values, truth.shape, tol=1e-2, debias=True, random_state=0)
    assert completion.rank == 6
    assert np.all((completion.to_dense() > 0.5) == (truth > 0.5))
    assert np.linalg.norm(completion.to_dense() - truth) < 1e-3 * np.linalg.norm(truth)
    assert completion.certificate.relative_gap <= 1e-2


def test_debiasing_keeps_the_rank_that_the_observations_need():
    rng = np.random.default_rng(0)
    left, right = np.linalg.qr(rng.standard_normal((4, 4)))[0], np.linalg.qr(rng.standard_normal((4, 4)))[0]
    full = left @ np.diag([100.0, 1.0, 1.0, 1.0]) @ right  # a clear fall, and a rank of four all the same
    rows, cols = np.indices((4, 4)).reshape(2, -1)
    debiased = complete_matrix(rows, cols, full[rows, cols], (4, 4), debias=True, random_state=0)
    assert debiased.rank == 4
    assert debiased.residual <= 1e-4


def test_a_rank_that_is_too_small_keeps_the_gap_open():
    rows, cols, values, truth = blocks(60, 4, 0.7, seed=0)
    completion = complete_matrix(rows, cols, values, truth.shape, max_rank=2, max_iter=40, random_state=0)
    assert completion.rank == 2
    assert not completion.converged
    assert completion.certificate.gap > 0


def test_classical_methods_agree_with_ours():
    rows, cols, values, truth = blocks(60, 3, 0.5, seed=0)
    exact = complete_matrix(rows, cols, values, truth.shape, tol=1e-6, random_state=0).to_dense()
    thresholded = singular_value_thresholding(rows, cols, values, truth.shape, threshold=1000, tol=1e-5, max_iter=3000)
    assert thresholded.converged
    np.testing.assert_allclose(thresholded.matrix, exact, atol=2e-3)
    penalised = complete_matrix(rows, cols, values, truth.shape, penalty=0.5, tol=1e-8, random_state=0).to_dense()
    imputed = soft_impute(rows, cols, values, truth.shape, penalty=0.5, tol=1e-7)
    assert imputed.converged
    np.testing.assert_allclose(imputed.matrix, penalised, atol=1e-4)


def test_classical_methods_say_when_iterations_run_out():
    assert not singular_value_thresholding(*SQUARE, (3, 3), max_iter=1).converged
    assert not soft_impute(*SQUARE, (3, 3), penalty=1e-3, max_iter=2).converged
    assert singular_value_thresholding([0], [0], [0.0], (2, 2)).converged


def complete(rows=(0, 1), cols=(1, 0), values=(1.0, 2.0), shape=(2, 2), **options):
    return complete_matrix(rows, cols, values, shape, **options)


BAD = [
    (lambda: complete(values=(1.0, np.nan)), ValueError, "values must be finite, got nan; leave unknown entries out"),
    (lambda: complete(values=(1.0, np.inf)), ValueError, "values must be finite, got inf"),
    (lambda: complete(values=("a", "b")), TypeError, "values must hold numbers"),
    (lambda: complete(rows=(0, 2)), ValueError, "rows must lie between 0 and 1, got 2"),
    (lambda: complete(cols=(-1, 0)), ValueError, "cols must lie between 0 and 1, got -1"),
    (lambda: complete(rows=(0.0, 1.0)), TypeError, "rows must hold integer indices"),
    (lambda: complete(rows=[[0, 1]]), ValueError, "rows must be one-dimensional"),
    (lambda: complete(values=[[1.0, 2.0]]), ValueError, "values must be one-dimensional"),
    (lambda: complete(rows=(), cols=(), values=()), ValueError, "nothing is observed"),
    (lambda: complete(values=(1.0,)), ValueError, "per observation is needed, got lengths"),
    (lambda: complete(shape=(2, 2, 2)), ValueError, "shape must be two positive ints"),
    (lambda: complete(shape=4), ValueError, "shape must be two positive ints, got 4"),
    (lambda: complete(shape=(2, 0)), ValueError, "shape must be an integer of at least 1, got 0"),
    (lambda: complete(shape=(2, 2.5)), TypeError, "shape must be an integer of at least 1, got 2.5"),
    (lambda: complete(shape=(2, 3), symmetric=True), ValueError, "a symmetric matrix is square"),
    (lambda: complete(weights=(1.0, -1.0)), ValueError, "weights must not be negative, got -1.0"),
    (lambda: complete(weights=(1.0, np.nan)), ValueError, "weights must be finite"),
    (lambda: complete(weights=(0.0, 0.0)), ValueError, "nothing is observed"),
    (lambda: complete(weights=(1.0,)), ValueError, "per observation is needed"),
    (lambda: complete(penalty=-1.0), ValueError, "penalty must be a positive number, got -1.0"),
    (lambda: complete(penalty=0), ValueError, "penalty must be a positive number, got 0"),
    (lambda: complete(penalty=np.nan), ValueError, "penalty must be a positive number, got nan"),
    (lambda: complete(penalty="auto"), TypeError, "penalty must be a positive number, got 'auto'"),
    (lambda: complete(tol=0.0), ValueError, "tol must be a positive number"),
    (lambda: complete(max_iter=0), ValueError, "max_iter must be an integer of at least 1, got 0"),
    (lambda: complete(max_iter=1.5), TypeError, "max_iter must be an integer of at least 1"),
    (lambda: complete(max_rank=10**9), ValueError, "max_rank must be an integer between 1 and 2"),
    (lambda: complete(max_rank=0), ValueError, "max_rank must be an integer between 1 and 2"),
    (lambda: complete(debias=True, penalty=1.0), ValueError, "debias=True is for exact observations"),
    (lambda: complete(rows=(0, 0), cols=(1, 1)), ValueError, "exact observations must agree; pass a penalty"),
    (lambda: complete(symmetric=True), ValueError, "exact observations must agree; pass a penalty"),
    (lambda: complete(rows=(0,), cols=(0,), values=(-1.0,), symmetric=True), ValueError, "is never negative"),
    (
        lambda: complete((0, 1, 0), (0, 1, 1), (1.0, 1.0, 5.0), symmetric=True),
        ValueError,
        r"no positive semi-definite matrix has the entry \(0, 1\) = 5",
    ),
    (
        lambda: complete_matrix([0, 1, 0, 0, 1, 2], [1, 2, 2, 0, 1, 2], [1, 1, -1, 1, 1, 1], (3, 3), symmetric=True),
        ValueError,
        "no positive semi-definite matrix has these entries: the trace would be 3 and at least",
    ),
    (lambda: complete().entries([0, 1], [0]), ValueError, "rows and cols must be of equal length"),
    (lambda: complete().entries([2], [0]), ValueError, "rows must lie between 0 and 1"),
    (lambda: soft_impute(*SQUARE, (3, 3), penalty=0.0), ValueError, "penalty must be a positive number"),
    (
        lambda: soft_impute(*SQUARE, (3, 3), penalty=1.0, n_penalties=0),
        ValueError,
        "n_penalties must be an integer of at least 1",
    ),
    (lambda: singular_value_thresholding(*SQUARE, (3, 3), step=-1.0), ValueError, "step must be a positive number"),
    (lambda: singular_value_thresholding(*SQUARE, (2, 3)), ValueError, "rows must lie between 0 and 1, got 2"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
