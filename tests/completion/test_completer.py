"""PairCompleter: TPCMC against dense algebra, cvxpy and the paper's figures."""

import pickle
import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler, normalize

from kernelwise import PairCompleter, Pairs
from kernelwise.completion.core import (
    CoreProblem,
    KnownBlock,
    fit_core,
    fit_core_to_noise,
    known_block,
    labelled_basis,
    reconstruct_core,
    refit_core,
    symmetric_root,
)
from kernelwise.completion.core_fit import complete_block, is_contradictory
from kernelwise.completion.held_out import Calibration
from kernelwise.datasets import load_citeseer, load_splice, make_block_similarity
from kernelwise.kernels import Gaussian
from kernelwise.spectral import GramFactor

METHODS = ["direct", "completion", "unit-diagonal"]


@pytest.fixture(scope="module")
def blocks():
    """Four classes of 50, a similarity with noise, and 600 known pairs of 60 samples."""
    S, y = make_block_similarity(200, 4, random_state=0)
    known = Pairs.from_labels(np.where(np.arange(200) % 10 < 3, y, -1), n_pairs=600, random_state=0)
    return S, y, known


def leading_eigenvectors(S, count):
    return np.linalg.eigh(S)[1][:, ::-1][:, :count]


def accuracy(model, y):
    rows, cols = np.triu_indices(len(y), 1)
    return np.mean(model.predict_pairs(rows, cols) == np.where(y[rows] == y[cols], 1, -1))


# The core matrix.


def test_reconstruction_is_equation_five(rng):
    U = np.linalg.qr(rng.normal(size=(40, 5)))[0]
    rows, factor = U[:12], rng.normal(size=(12, 3))
    block = labelled_basis(rows)
    core = block.lift @ reconstruct_core(block, factor, factor) @ block.lift.T
    Z = factor @ factor.T
    gram = np.linalg.pinv(rows.T @ rows)
    np.testing.assert_allclose(core, gram @ rows.T @ Z @ rows @ gram, atol=1e-8 * np.abs(core).max())


def test_an_exact_block_in_the_span_gives_back_the_whole_matrix(rng):
    y = rng.permutation(np.repeat([0, 1, 2], 20))
    indicators = np.eye(3)[y]
    U = np.linalg.qr(np.hstack([indicators, rng.normal(size=(60, 4))]))[0]
    labelled = rng.permutation(60)[:20]
    block = labelled_basis(U[labelled])
    root = U @ block.lift @ symmetric_root(reconstruct_core(block, indicators[labelled], indicators[labelled]))
    np.testing.assert_allclose(root @ root.T, indicators @ indicators.T, atol=1e-8)


def random_problem(rng, m=15, k=4, n_known=50, penalty=0.3):
    left = np.linalg.qr(rng.normal(size=(m, k)))[0]
    rows, cols = np.triu_indices(m, 1)
    chosen = np.sort(rng.permutation(len(rows))[:n_known])
    values, weights = rng.random(n_known), rng.uniform(0.5, 2.0, n_known)
    return CoreProblem(left, KnownBlock(np.arange(m), rows[chosen], cols[chosen], values, weights), penalty)


def cvxpy_optimum(problem):
    k, block = problem.left.shape[1], problem.block
    core = cp.Variable((k, k), PSD=True)
    fitted = cp.sum(cp.multiply(problem.left[block.rows] @ core, problem.left[block.cols]), axis=1)
    loss = cp.sum(cp.multiply(block.weights, cp.square(fitted - block.values)))
    return cp.Problem(cp.Minimize(loss + problem.penalty * cp.trace(core))).solve(solver="CLARABEL")


@pytest.mark.parametrize("penalty", [0.01, 0.3, 100.0])
def test_the_direct_fit_is_optimal_and_certified(rng, penalty):
    problem = random_problem(rng, penalty=penalty)
    result, optimum = fit_core(problem, tol=1e-8), cvxpy_optimum(problem)
    assert result.converged
    assert result.certificate.primal == pytest.approx(optimum, rel=1e-5)
    assert np.linalg.eigvalsh(result.point).min() > -1e-10
    residual = problem.entries(result.point) - problem.block.values
    assert problem.value(result.point, residual) == pytest.approx(result.certificate.primal, rel=1e-12)


def test_bounds_hold_also_when_stopped_early(rng):
    problem = random_problem(rng)
    optimum = cvxpy_optimum(problem)
    for max_iter in (1, 2, 5):
        certificate = fit_core(problem, tol=1e-12, max_iter=max_iter).certificate
        assert certificate.dual <= optimum * (1 + 1e-6)
        assert certificate.primal >= optimum * (1 - 1e-6)


def test_the_gradient_is_that_of_the_loss(rng):
    problem = random_problem(rng)
    core, step = np.eye(4) + 0.1, rng.normal(size=(4, 4))
    step = 1e-5 * (step + step.T)

    def loss(C):
        return problem.block.weights @ (problem.entries(C) - problem.block.values) ** 2

    slope = np.vdot(problem.gradient(problem.entries(core) - problem.block.values), step)
    assert (loss(core + step) - loss(core - step)) / 2 == pytest.approx(slope, rel=1e-6)


def test_the_refit_stays_in_the_directions_found_and_fits_better(rng):
    problem = random_problem(rng, penalty=1.0)
    core = fit_core(problem, tol=1e-10).point
    refitted = refit_core(problem, core, tol=1e-10)
    directions = symmetric_root(core)
    outside = refitted - directions @ np.linalg.lstsq(directions, refitted, rcond=None)[0]
    assert np.abs(outside).max() < 1e-6 * np.abs(refitted).max()
    loss = [problem.block.weights @ (problem.entries(C) - problem.block.values) ** 2 for C in (core, refitted)]
    assert loss[1] < loss[0]


def test_the_penalty_follows_the_noise(rng):
    y = np.repeat([0, 1], 40)
    left = np.linalg.qr(np.hstack([np.eye(2)[y], rng.normal(size=(80, 4))]))[0]
    clean = known_block(Pairs.from_labels(y, n_pairs=1000, random_state=0))
    noisy = known_block(Pairs.from_labels(y, n_pairs=1000, random_state=0).flip(0.2, random_state=0))
    penalties = [fit_core_to_noise(left, block)[1].penalty for block in (clean, noisy)]
    assert penalties[0] < 0.05 * penalties[1]


def test_repeated_evidence_is_averaged_by_weight():
    pairs = Pairs([5, 2, 5], [2, 5, 9], [1, -1, 1], n_samples=10, weights=[3.0, 1.0, 2.0])
    block = known_block(pairs)
    np.testing.assert_array_equal(block.index, [2, 5, 9])
    np.testing.assert_array_equal([block.rows, block.cols], [[0, 1], [1, 2]])
    np.testing.assert_allclose(block.values, [0.75, 1.0])
    np.testing.assert_allclose(block.weights, [4 / 3, 2 / 3])


def test_the_block_of_consistent_pairs_is_completed():
    y = np.arange(30) % 3
    block = known_block(Pairs.from_labels(y, n_pairs=250, random_state=0))
    completed = complete_block(block, random_state=0)
    assert completed.converged
    np.testing.assert_allclose(completed.to_dense(), y[:, None] == y, atol=0.01)


def paper_problem(block, *, maximise=None, at_most=None):
    """Problem (2) by cvxpy: its value and solution. A symmetric M = P - N has the norm tr(P + N), at the least.

    With ``maximise``, the largest value of a linear function of the matrices whose norm is ``at_most``.
    """
    m = len(block.index)
    P, N = cp.Variable((m, m), PSD=True), cp.Variable((m, m), PSD=True)
    norm, constraints = cp.trace(P + N), [(P - N)[block.rows, block.cols] == block.values]
    problem = cp.Problem(cp.Minimize(norm), constraints)
    if maximise is not None:
        problem = cp.Problem(cp.Maximize(cp.trace(maximise @ (P - N))), [*constraints, norm <= at_most])
    with warnings.catch_warnings():  # without an interior it cannot promise all the digits that are asked for
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        tol = 1e-12 if maximise is None else 1e-8
        problem.solve(solver=cp.CLARABEL, tol_gap_rel=tol, tol_gap_abs=tol, tol_feas=tol)
    return float(problem.value), P.value - N.value


def is_unique(block, value, solution, rng):
    """Whether a random direction leads to no other matrix of the least norm, up to what the slack allows."""
    direction = rng.normal(size=solution.shape)
    _, other = paper_problem(block, maximise=direction + direction.T, at_most=value * (1 + 1e-6))
    return np.abs(other - solution).max() < 2e-2


def random_block(seed, rate):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2 + seed % 2, size=9 + seed % 4)
    n_pairs = round(rng.uniform(0.55, 0.95) * len(y) * (len(y) - 1) / 2)
    block = known_block(Pairs.from_labels(y, n_pairs=n_pairs, random_state=seed).flip(rate, random_state=seed))
    return block, (y[block.index][:, None] == y[block.index]).astype(float)


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 30))])
def test_the_completion_solves_the_papers_problem_2(seed):
    """Every second problem has a fifth of its pairs flipped, so that its solution is no label matrix.

    Where the label matrix is the solution, it is known better than by an interior-point method, whose solution is only
    as near as the root of its gap.
    """
    block, truth = random_block(seed, 0.2 * (seed % 2))
    value, solution = paper_problem(block)
    found = complete_block(block, tol=1e-7, max_iter=3000, random_state=0)
    assert found.certificate.dual <= value * (1 + 1e-7)
    assert found.certificate.primal >= value * (1 - 1e-7)
    assert found.certificate.primal == pytest.approx(value, rel=1e-5)
    assert found.certificate.dual == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(found.to_dense(), found.to_dense().T, atol=1e-14)
    if is_unique(block, value, solution, np.random.default_rng(seed)):
        exact = truth if np.abs(solution - truth).max() < 1e-3 else solution
        np.testing.assert_allclose(found.to_dense(), exact, atol=1e-5)


def test_symmetric_matrices_are_enough_for_problem_2():
    """The least norm over all matrices, given both orders of every pair, is the least norm over symmetric ones."""
    for seed in range(3):
        block, _ = random_block(seed, 0.2)
        M = cp.Variable((len(block.index), len(block.index)))
        both = [M[block.rows, block.cols] == block.values, M[block.cols, block.rows] == block.values]
        everything = cp.Problem(cp.Minimize(cp.normNuc(M)), both).solve(solver=cp.CLARABEL)
        assert paper_problem(block)[0] == pytest.approx(everything, rel=1e-5)


@pytest.mark.parametrize("max_iter", [1, 2, 5, 20])
def test_the_certificate_of_problem_2_holds_when_stopped_early(max_iter):
    for seed in range(4):
        block, _ = random_block(seed, 0.2 * (seed % 2))
        value, _ = paper_problem(block)
        bounds = complete_block(block, tol=1e-12, max_iter=max_iter, random_state=0).certificate
        assert bounds.dual <= value * (1 + 1e-7)
        assert bounds.primal >= value * (1 - 1e-7)


def test_a_unit_diagonal_is_another_problem_whose_certificate_says_nothing():
    """Few pairs: the trace of every solution is the number of samples, and the paper's optimum is far below."""
    y = np.arange(40) % 4
    block = known_block(Pairs.from_labels(y, n_pairs=60, random_state=0))
    m = len(block.index)
    with_diagonal, without = (complete_block(block, diagonal=d, random_state=0) for d in (True, False))
    assert with_diagonal.certificate.primal == m
    assert with_diagonal.nuclear_norm == pytest.approx(m, rel=1e-3)
    np.testing.assert_allclose(np.diag(with_diagonal.to_dense()), 1.0, atol=1e-3)
    assert without.certificate.primal < 0.9 * m
    assert np.diag(without.to_dense()).max() > 1.1 or np.diag(without.to_dense()).min() < 0.9


# The estimator.


@pytest.mark.parametrize("method", METHODS)
def test_attributes_are_what_the_formulas_say(blocks, method):
    S, y, known = blocks
    model = PairCompleter(8, method=method, refine=False, eigen_tol=0.0, random_state=0).fit(S, pairs=known)
    U = leading_eigenvectors(S, 8)
    np.testing.assert_allclose(np.abs(model.basis_.T @ U), np.eye(8), atol=1e-6)
    np.testing.assert_allclose(model.factor_ @ model.factor_.T, model.basis_ @ model.core_ @ model.basis_.T, atol=1e-10)
    np.testing.assert_allclose(model.label_matrix(), model.factor_ @ model.factor_.T)
    assert model.coherence_ == pytest.approx(200 / 8 * np.square(U).sum(axis=1).max())
    np.testing.assert_array_equal(model.labelled_, np.unique(np.r_[known.rows, known.cols]))
    scores = model.pair_scores([3, 7, 7], [3, 150, 9])
    np.testing.assert_allclose(scores, model.label_matrix()[[3, 7, 7], [3, 150, 9]])
    assert model.converged_
    assert 0 <= model.solver_certificate_.relative_gap <= 1e-4
    assert (model.completion_ is None) == (method == "direct")
    assert accuracy(model, y) == 1.0


def test_the_completion_method_is_algorithm_1(blocks):
    S, y, known = blocks
    model = PairCompleter(8, method="completion", refine=False, eigen_tol=0.0, random_state=0).fit(S, pairs=known)
    U, labelled = leading_eigenvectors(S, 8), model.labelled_
    inverse = np.linalg.pinv(U[labelled])
    Z_block = (y[labelled][:, None] == y[labelled]).astype(float)  # enough pairs are known for the completion to be it
    np.testing.assert_allclose(model.label_matrix(), U @ inverse @ Z_block @ inverse.T @ U.T, atol=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_the_papers_synthetic_experiment(method):
    S, y = make_block_similarity(random_state=0)
    labelled = np.random.RandomState(0).choice(1000, 160, replace=False)
    known = Pairs.from_labels(np.where(np.isin(np.arange(1000), labelled), y, -1), n_pairs=2560, random_state=0)
    model = PairCompleter(20, method=method, random_state=0).fit(S, pairs=known)
    Z = y[:, None] == y
    assert np.linalg.norm(Z - model.label_matrix()) <= 0.05 * np.linalg.norm(Z - S)
    assert model.coherence_ == pytest.approx(2.0, abs=0.5)


def test_large_similarities_have_an_approximate_basis(rng):
    """Three components of a graph, so three copies of the eigenvalue one, and some samples without any neighbour."""
    n = 6000
    y = rng.integers(0, 3, n)
    blocks = []
    for size in np.bincount(y):
        ring = sp.diags_array([np.ones(size - d) for d in (1, 2, 3)], offsets=[1, 2, 3], shape=(size, size))
        shortcuts = sp.random_array((size, size), density=20 / size, rng=rng)
        blocks.append(ring + shortcuts)
    order = np.argsort(np.argsort(y, kind="stable"))
    graph = sp.block_diag(blocks, format="csr")[order][:, order]
    graph = sp.csr_array(graph + graph.T)
    known = Pairs.from_labels(np.where(rng.random(n) < 0.05, y, -1), n_pairs=4000, random_state=0)
    model = PairCompleter(3, normalize="symmetric", random_state=0).fit(graph, pairs=known)
    np.testing.assert_allclose(model.eigenvalues_, 1.0, atol=1e-3)
    np.testing.assert_allclose(model.basis_.T @ model.basis_, np.eye(3), atol=1e-8)
    rows, cols = rng.integers(0, n, (2, 10_000))
    np.testing.assert_array_equal(model.predict_pairs(rows, cols) > 0, y[rows] == y[cols])


def test_every_form_of_a_similarity_gives_the_same_scores(blocks, rng):
    _, y, known = blocks
    features = normalize(np.eye(4)[y] + 0.3 * rng.random((200, 4)))
    S = features @ features.T
    options = {"n_components": 4, "eigen_tol": 0.0, "random_state": 0}
    expected = PairCompleter(**options).fit(S, pairs=known).label_matrix()
    forms = [sp.csr_array(S), GramFactor(features), GramFactor(sp.csr_array(features)), aslinearoperator(S)]
    forms.append(LinearOperator(S.shape, matvec=lambda v: S @ v, dtype=float))  # without a transposed product
    for form in forms:
        np.testing.assert_allclose(PairCompleter(**options).fit(form, pairs=known).label_matrix(), expected, atol=1e-5)


def test_kernels_on_features_are_the_same_as_their_matrix(rng):
    y = np.repeat([0, 1, 2], 40)
    X = 3 * np.eye(3)[y] + rng.normal(size=(120, 3))
    known = Pairs.from_labels(np.where(np.arange(120) % 2, y, -1), n_pairs=500, random_state=0)
    kernel = Gaussian(width=2.0)
    for normalization in ("none", "symmetric"):
        options = {"normalize": normalization, "eigen_tol": 0.0, "random_state": 0}
        from_features = PairCompleter(10, kernels=kernel, **options).fit(X, pairs=known)
        from_matrix = PairCompleter(10, **options).fit(kernel(X), pairs=known)
        np.testing.assert_allclose(from_features.label_matrix(), from_matrix.label_matrix(), atol=1e-4)
        new = X[:7] + 0.01
        scores = from_features.transform(new) @ from_features.factor_.T
        np.testing.assert_allclose(scores, from_matrix.transform(kernel(new, X)) @ from_matrix.factor_.T, atol=1e-3)


@pytest.mark.parametrize("normalization", ["none", "symmetric"])
def test_new_samples_are_placed_by_nystroems_formula(blocks, normalization):
    S, y, known = blocks
    model = PairCompleter(8, normalize=normalization, refine=False, eigen_tol=0.0, random_state=0).fit(S, pairs=known)
    np.testing.assert_allclose(model.transform(S), model.factor_, atol=1e-8)
    average = S[y == 2].mean(axis=0, keepdims=True)  # a new sample that is as similar to others as class 2 is
    scores = (model.transform(average) @ model.factor_.T).ravel()
    np.testing.assert_array_equal(scores > 0.5, y == 2)


def test_an_asymmetric_similarity_is_made_symmetric_and_said_so(blocks, rng):
    S, _, known = blocks
    lopsided = S + 0.1 * rng.random(S.shape)
    options = {"n_components": 8, "eigen_tol": 0.0, "random_state": 0}
    expected = PairCompleter(**options).fit((lopsided + lopsided.T) / 2, pairs=known).label_matrix()
    for form in (lopsided, sp.csr_array(lopsided), aslinearoperator(lopsided)):
        with pytest.warns(UserWarning, match="not symmetric; its symmetric part"):
            model = PairCompleter(**options).fit(form, pairs=known)
        np.testing.assert_allclose(model.label_matrix(), expected, atol=1e-5)


def test_samples_without_known_pairs_are_placed_by_similarity(blocks):
    S, y, known = blocks
    model = PairCompleter(8, random_state=0).fit(S, pairs=known)
    unlabelled = np.setdiff1d(np.arange(200), model.labelled_)
    rows, cols = unlabelled[:-1], unlabelled[1:]
    np.testing.assert_array_equal(model.predict_pairs(rows, cols), np.where(y[rows] == y[cols], 1, -1))


def test_labels_known_in_part_are_as_good_as_pairs(blocks):
    S, y, _ = blocks
    model = PairCompleter(8, random_state=0).fit(S, np.where(np.arange(200) % 4 == 0, y, -1))
    assert accuracy(model, y) == 1.0


def test_too_few_labelled_samples_are_said_so(rng):
    U = np.linalg.qr(np.vstack([np.zeros((10, 3)), rng.normal(size=(20, 3))]))[0]
    U[:10, :] = 0.0
    S = U @ np.diag([3.0, 2.0, 1.0]) @ U.T
    known = Pairs.from_labels(np.where(np.arange(30) < 12, np.arange(30) % 2, -1))
    with pytest.warns(UserWarning, match="12 labelled samples determine only 2 of 3 directions"):
        model = PairCompleter(3, random_state=0).fit(S, pairs=known)
    assert np.isfinite(model.label_matrix()).all()


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_eigenvectors_is_chosen_by_pairs_held_out(method):
    S, y = make_block_similarity(300, 6, random_state=0)
    known = Pairs.from_labels(np.where(np.arange(300) % 3 == 0, y, -1), n_pairs=1500, random_state=0)
    model = PairCompleter([2, 6, 40], method=method, random_state=0).fit(S, pairs=known)
    assert model.n_components_ == 6
    assert set(model.component_errors_) == {2, 6, 40}
    assert min(model.component_errors_, key=model.component_errors_.get) == 6
    assert PairCompleter("auto", random_state=0).fit(S, pairs=known).n_components_ >= 6


def noisy_data(rng):
    y = np.repeat([0, 1, 2], 100)
    U = np.linalg.qr(np.hstack([np.eye(3)[y] + 0.15 * rng.normal(size=(300, 3)), rng.normal(size=(300, 5))]))[0]
    known = Pairs.from_labels(np.where(np.arange(300) % 3 == 0, y, -1), n_pairs=1500, random_state=0)
    return U @ np.diag(np.arange(8, 0, -1.0)) @ U.T, y, known


def frobenius_loss(model, y):
    return np.linalg.norm(model.label_matrix() - (y[:, None] == y))


@pytest.mark.filterwarnings("ignore:known pairs contradict each other")
@pytest.mark.parametrize("method", METHODS)
def test_the_noise_tolerant_fit_loses_less_than_half(rng, method):
    S, y, known = noisy_data(rng)
    flipped = known.flip(0.1, random_state=0)
    clean, naive = (PairCompleter(8, method="completion", random_state=0).fit(S, pairs=p) for p in (known, flipped))
    tolerant = PairCompleter(8, method=method, noise_rate=0.1, random_state=0).fit(S, pairs=flipped)
    best = frobenius_loss(clean, y)
    assert frobenius_loss(tolerant, y) - best < 0.5 * (frobenius_loss(naive, y) - best)


def test_contradictory_pairs_are_no_surprise_but_are_said_so(rng):
    S, _, known = noisy_data(rng)
    with pytest.warns(UserWarning, match="contradict each other, so some are wrong.*set noise_rate"):
        model = PairCompleter(8, method="completion", tol=0.01, calibrate=False, random_state=0).fit(
            S, pairs=known.flip(0.1, random_state=0)
        )
    assert model.completion_.residual < 0.05  # though all were honoured


@pytest.mark.parametrize(
    ("rows", "cols", "labels", "expected"),
    [
        ([0, 1, 2], [1, 2, 3], [1, 1, 1], False),
        ([0, 1, 0], [1, 2, 3], [1, 1, -1], False),
        ([0, 1, 0, 4], [1, 2, 2, 5], [1, 1, -1, 1], True),
        ([0, 0], [1, 1], [1, -1], True),
        ([0, 1, 0], [1, 2, 2], [-1, -1, -1], False),
    ],
)
def test_contradictions_are_negative_pairs_within_what_positive_ones_link(rows, cols, labels, expected):
    assert is_contradictory(known_block(Pairs(rows, cols, labels, n_samples=6))) is expected


def test_direct_fits_that_run_out_of_iterations_say_so(blocks):
    S, _, known = blocks
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations at a relative duality gap"):
        PairCompleter(8, max_iter=1, random_state=0).fit(S, pairs=known.flip(0.2, random_state=0))


@pytest.mark.parametrize("rate", [None, 0.2])
def test_probabilities_are_calibrated(rng, rate):
    n = 3000
    y = rng.integers(0, 3, n)
    X = 0.8 * np.eye(3)[y] + 0.6 * rng.normal(size=(n, 3))
    known = Pairs.from_labels(np.where(rng.random(n) < 0.3, y, -1), n_pairs=30_000, random_state=0)
    model = PairCompleter(20, kernels=Gaussian(width=1.0), rank=1e-2, noise_rate=rate, random_state=0)
    model.fit(X, pairs=known.flip(rate or 0.0, random_state=1))
    rows, cols = rng.integers(0, n, (2, 40_000))
    probability, same = model.predict_proba_pairs(rows, cols), y[rows] == y[cols]
    bins = np.digitize(probability, [0.2, 0.4, 0.6])
    for part in range(4):
        assert probability[bins == part].mean() == pytest.approx(same[bins == part].mean(), abs=0.1)
    assert probability.mean() == pytest.approx(same.mean(), abs=0.05)


def test_without_held_out_samples_probabilities_come_from_the_known_pairs(blocks):
    S, _, known = blocks
    model = PairCompleter(8, calibrate=False, random_state=0).fit(S, pairs=known)
    assert model.component_errors_ == {}
    low, high = model.predict_proba_pairs([0, 0], [199, 49])
    assert 0 < low < 0.1 < 0.9 < high < 1


def test_permuting_the_samples_permutes_the_answer(blocks, rng):
    S, _, known = blocks
    order = rng.permutation(200)
    options = {"n_components": 8, "eigen_tol": 0.0, "calibrate": False, "random_state": 0}
    plain = PairCompleter(**options).fit(S, pairs=known)
    moved = PairCompleter(**options).fit(S[np.ix_(order, order)], pairs=known.restrict(order))
    np.testing.assert_allclose(moved.label_matrix(), plain.label_matrix()[np.ix_(order, order)], atol=1e-6)


def test_clone_pickle_and_inputs_left_alone(blocks):
    S, _, known = blocks
    before = S.copy()
    model = PairCompleter(8, random_state=0).fit(S, pairs=known)
    np.testing.assert_array_equal(S, before)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.pair_scores([0], [1]), model.pair_scores([0], [1]))
    np.testing.assert_array_equal(clone(model).fit(S, pairs=known).factor_, model.factor_)


def bad(S, change):
    spoiled = S.copy()
    spoiled[3, 5] = spoiled[5, 3] = change
    return spoiled


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        ({"n_components": 0}, {}, "n_components must be a positive int"),
        ({"n_components": []}, {}, "n_components must be a positive int"),
        ({"n_components": "many"}, {}, "\"auto\", got 'many'"),
        ({"n_components": 60}, {}, "n_components=60 must be less than the 60 labelled samples"),
        ({"n_components": 201}, {}, "n_components=201 is more than the 200 samples"),
        ({"method": "svd"}, {}, 'method must be "completion", "unit-diagonal" or "direct", got'),
        ({"normalize": "rows"}, {}, 'normalize must be "none" or "symmetric"'),
        ({"noise_rate": 0.5}, {}, "noise_rate must be a number of at least 0 and less than 0.5"),
        ({"noise_rate": -0.1}, {}, "noise_rate must be a number"),
        ({"penalty": -1.0}, {}, "penalty must be a number"),
        ({"penalty": 0}, {}, "penalty must be positive"),
        ({"tol": "small"}, {}, "tol must be a number"),
        ({"max_iter": 0}, {}, "max_iter must be an integer"),
        ({}, {"pairs": None}, "no pairs either"),
        ({}, {"pairs": None, "y": np.full(200, -1)}, "fewer than two labels"),
        ({}, {"pairs": Pairs([0], [1], [1], n_samples=7)}, "pairs are over n_samples=7 samples, but X has 200"),
        ({}, {"X": lambda S: bad(S, np.nan)}, "NaN"),
        ({}, {"X": lambda S: sp.csr_array(bad(S, np.inf))}, "infinity"),
        ({}, {"X": lambda S: GramFactor(bad(S, np.nan))}, "NaN"),
        ({}, {"X": lambda S: aslinearoperator(bad(S, np.nan))}, "NaN"),
        ({}, {"X": lambda S: S[:, :9]}, "must be a square matrix, got shape"),
        ({}, {"X": lambda S: 0.0 * S}, "no positive eigenvalue"),
    ],
)
def test_bad_input(blocks, options, change, message):
    S, _, known = blocks
    given = {"X": S, "pairs": known} | change
    given["X"] = given["X"](S) if callable(given["X"]) else given["X"]
    with pytest.raises(ValueError, match=message):
        PairCompleter(**{"n_components": 8} | options).fit(**given)


def test_labels_of_pairs_are_plus_and_minus_one():
    with pytest.raises(ValueError, match=r"if yours are 0/1, pass 2 \* labels - 1"):
        Pairs([0, 1], [1, 2], [0, 1], n_samples=3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.pair_scores([0], [200]), r"pair 0 is \(0, 200\), but indices must lie between 0 and 199"),
        (lambda model: model.pair_scores([-1], [2]), r"pair 0 is \(-1, 2\)"),
        (lambda model: model.pair_scores([0, 1], [2]), "one length, got 2 and 1"),
        (lambda model: model.label_matrix(max_gigabytes=1e-6), "more than max_gigabytes=1e-06"),
        (lambda model: model.transform(np.ones((1, 9))), "X has 9 features, but PairCompleter is expecting 200"),
    ],
)
def test_bad_questions(blocks, call, message):
    S, _, known = blocks
    model = PairCompleter(8, random_state=0).fit(S, pairs=known)
    with pytest.raises(ValueError, match=message):
        call(model)
    with pytest.raises(TypeError, match="rows must hold integer indices of samples"):
        model.predict_pairs([0.5], [1.5])


@pytest.mark.parametrize(
    ("load", "coherence"), [(load_citeseer, 2.22), (lambda: load_splice(letter_order="AGCT"), 1.97)]
)
def test_the_papers_coherence(load, coherence):
    data = load()
    X = normalize(sp.csr_array(data.data, dtype=float))
    known = Pairs.from_labels(np.where(np.arange(X.shape[0]) % 20 == 0, data.target, -1), n_pairs=1000, random_state=0)
    model = PairCompleter(50, calibrate=False, eigen_tol=1e-6, random_state=0).fit(GramFactor(X), pairs=known)
    assert model.coherence_ == pytest.approx(coherence, abs=0.01)


def test_labelled_samples_obey_their_own_pairs_even_where_the_basis_errs(blocks):
    S, y, _ = blocks
    misplaced = S.copy()
    other = np.flatnonzero(y == 3)[0]
    for sample in np.flatnonzero(y == 0)[:5]:  # these look like class 3 in every respect
        misplaced[sample], misplaced[:, sample] = S[other], S[:, other]
    known = Pairs.from_labels(y, n_pairs=4000, random_state=0)
    options = {"n_components": 8, "random_state": 0}
    by_basis = PairCompleter(refine=False, **options).fit(misplaced, pairs=known)
    refined = PairCompleter(**options).fit(misplaced, pairs=known)
    assert accuracy(by_basis, y) < 0.99
    assert accuracy(refined, y) == 1.0


def test_pairs_of_chance_do_not_move_rows_that_the_basis_has_right(blocks):
    S, y, known = blocks
    half_wrong = known + Pairs.from_labels(y, n_pairs=600, random_state=1).flip(0.5, random_state=1)
    options = {"n_components": 8, "noise_rate": 0.25, "random_state": 0}
    by_basis, refined = (PairCompleter(refine=refine, **options).fit(S, pairs=half_wrong) for refine in (False, True))
    assert accuracy(refined, y) >= accuracy(by_basis, y) - 0.01


def test_noise_is_found_by_an_audit():
    S, y = make_block_similarity(200, 4, random_state=0)
    flipped = Pairs.from_labels(y, n_pairs=3000, random_state=0).flip(0.2, random_state=0)
    model = PairCompleter(8, noise_rate="auto", random_state=0).fit(S, pairs=flipped)
    assert model.noise_rate_ == pytest.approx(0.2, abs=0.04)
    assert len(model.audit_.quality) == 3000
    assert accuracy(model, y) > 0.99


def overlapping_classes(rng):
    """Three overlapping classes, a Gaussian similarity, and three pairs per sample."""
    y = np.repeat([0, 1, 2], 50)
    X = 4.0 * np.eye(3)[y] + rng.normal(size=(150, 3))
    return Gaussian(width=2.0)(X), X, y, Pairs.from_labels(y, n_pairs=450, random_state=0)


def balanced_accuracy(model, y):
    rows, cols = np.triu_indices(len(y), 1)
    right, same = (model.predict_pairs(rows, cols) > 0) == (y[rows] == y[cols]), y[rows] == y[cols]
    return 0.5 * (right[same].mean() + right[~same].mean())


def test_a_class_model_answers_where_it_explains_wrong_pairs_better(rng):
    S, X, y, known = overlapping_classes(rng)
    flipped = known.flip(0.2, random_state=1)
    auto = PairCompleter(20, noise_rate="auto", random_state=0).fit(S, pairs=flipped)
    told = PairCompleter(20, noise_rate=0.2, random_state=0).fit(S, pairs=flipped)
    assert told.class_model_ is None
    assert auto.class_model_ is not None
    assert balanced_accuracy(auto, y) > balanced_accuracy(told, y) + 0.05
    np.testing.assert_array_equal(auto.factor_, auto.class_model_.probabilities_)
    rows, cols = np.arange(0, 149), np.arange(1, 150)
    np.testing.assert_allclose(auto.predict_proba_pairs(rows, cols), auto.pair_scores(rows, cols))
    new = Gaussian(width=2.0)(X[:5] + 0.01, X)
    placed = auto.transform(new)
    assert placed.shape == (5, auto.factor_.shape[1])
    np.testing.assert_array_equal(placed.argmax(axis=1), auto.factor_[:5].argmax(axis=1))


def test_all_figures_of_unknown_noise_come_from_one_posterior(rng):
    S, _, y, known = overlapping_classes(rng)
    flipped = known.flip(0.2, random_state=1)
    model = PairCompleter("auto", noise_rate="auto", random_state=0).fit(S, pairs=flipped)
    classes = model.class_model_
    assert model.noise_rate_ == pytest.approx(float(1.0 - model.audit_.quality.mean()))
    np.testing.assert_array_equal(model.audit_.quality, classes.pair_quality_)
    assert model.audit_.noise == classes.noise_
    doubted = classes.pair_quality_ < 0.5
    np.testing.assert_array_equal(model.audit_.suggested != flipped.labels, doubted)
    assert model.audit_.diagnostic["n_classes"] == [classes.n_clusters_] == [3]
    wrong = flipped.labels != flipped.true_labels(y)
    assert wrong[model.audit_.order[: wrong.sum()]].mean() > 0.8


def test_classes_see_more_eigenvectors_than_suit_the_core():
    """Five digits are not in the three eigenvectors that a few noisy pairs per sample let a core have."""
    X, y = load_digits(n_class=5, return_X_y=True)
    X, y = StandardScaler().fit_transform(X[:250]), y[:250]
    known = Pairs.from_labels(y, n_pairs=1250, random_state=0).flip(0.2, random_state=0)
    model = PairCompleter([3, 60], noise_rate="auto", random_state=0).fit(Gaussian(width=6.0)(X), pairs=known)
    assert model.n_components_ == 3
    assert model.class_model_.n_features_in_ == 60
    assert balanced_accuracy(model, y) > 0.95


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (Pairs([0, 1], [1, 2], [1, -1], n_samples=200), "at least 10 known pairs"),
        (Pairs(np.arange(20), np.arange(1, 21), np.full(20, -1), n_samples=200), "all known pairs are negative"),
    ],
)
def test_unknown_noise_needs_pairs_that_judge_each_other(blocks, known, words):
    with pytest.raises(ValueError, match=words):
        PairCompleter(1, noise_rate="auto").fit(blocks[0], pairs=known)


def test_the_core_answers_where_there_is_nothing_to_gain(blocks):
    S, y, known = blocks
    model = PairCompleter(8, noise_rate="auto", random_state=0).fit(S, pairs=known)
    assert model.class_model_ is None or accuracy(model, y) == 1.0
    assert accuracy(model, y) == 1.0
    few = PairCompleter(8, noise_rate="auto", random_state=0).fit(S, pairs=known[:70])
    assert few.class_model_ is None  # too few pairs to hold any out


def test_a_similarity_of_low_rank_has_a_basis_at_once(rng):
    """The least eigenvalue of a similarity of low rank is zero, and nobody can find zero to a relative accuracy."""
    y = rng.integers(0, 3, 5200)
    factor = np.eye(3)[y] + 0.1 * rng.random((5200, 3))
    known = Pairs.from_labels(np.where(rng.random(5200) < 0.05, y, -1), n_pairs=2000, random_state=0)
    model = PairCompleter(3, calibrate=False, random_state=0).fit(GramFactor(factor), pairs=known)
    rows, cols = rng.integers(0, 5200, (2, 5000))
    np.testing.assert_array_equal(model.predict_pairs(rows, cols) > 0, y[rows] == y[cols])


def test_no_calibrated_probability_is_certain():
    """Pairs that scores separate perfectly leave the doubt of one more pair of either label."""
    pairs = Pairs(range(8), range(1, 9), [-1] * 4 + [1] * 4, n_samples=9)
    calibration = Calibration.fit(np.arange(8.0), known_block(pairs), 0.0)
    np.testing.assert_allclose(calibration([-5.0, 2.0, 6.0, 20.0]), [0.1, 0.1, 0.9, 0.9], atol=1e-12)
