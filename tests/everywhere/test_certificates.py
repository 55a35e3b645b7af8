"""A certificate belongs to what is returned: public attributes alone give the certified objective.

Nothing here calls the code that computed the certificate: the formulas are those of the docstrings.
"""

import re
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg

import kernelwise as kw
from kernelwise import PairCompleter, Pairs, complete_matrix
from kernelwise.datasets import load_heart, make_block_similarity
from kernelwise.kernels import Gaussian

# A similarity and known pairs.


def known_of_blocks(rate=0.0):
    S, y = make_block_similarity(200, 4, random_state=0)
    known = Pairs.from_labels(np.where(np.arange(200) % 10 < 4, y, -1), n_pairs=900, random_state=0)
    return S, known.flip(rate, random_state=0)


def values_of(pairs, labelled, noise_rate):
    """Positions, corrected values and weights of the known entries; the pairs are distinct."""
    rows, cols = np.searchsorted(labelled, pairs.rows), np.searchsorted(labelled, pairs.cols)
    values = ((pairs.labels > 0) - noise_rate) / (1.0 - 2.0 * noise_rate)
    return rows, cols, values, pairs.weights / pairs.weights.mean()


def direct_objective(model, pairs, core):
    """P(M) of the docstring of PairCompleter."""
    U = model.basis_[model.labelled_]
    rows, cols, values, weights = values_of(pairs, model.labelled_, model.noise_rate_)
    fitted = U @ core @ U.T
    return weights @ (fitted[rows, cols] - values) ** 2 + model.penalty_ * np.trace(fitted)


@pytest.mark.parametrize("refine", [True, False])
@pytest.mark.parametrize("options", [{}, {"penalty": 0.5}, {"noise_rate": 0.2}, {"noise_rate": "auto"}])
def test_the_direct_fit_certifies_the_core_that_it_returns(options, refine):
    S, known = known_of_blocks(0.2 if "noise_rate" in options else 0.0)
    model = PairCompleter(8, refine=refine, random_state=0, **options).fit(S, pairs=known)
    returned, solved = model.certificate_, model.solver_certificate_
    assert direct_objective(model, known, model.core_) == pytest.approx(returned.primal, rel=1e-9)
    assert direct_objective(model, known, model.penalised_core_) == pytest.approx(solved.primal, rel=1e-9)
    assert returned.dual == solved.dual <= solved.primal <= returned.primal * (1 + 1e-12)
    assert model.converged_ == (solved.relative_gap <= model.tol)


def test_the_lower_bound_of_the_direct_fit_is_below_the_optimum():
    S, known = known_of_blocks(0.2)
    model = PairCompleter(6, penalty=2.0, random_state=0).fit(S, pairs=known)
    U = model.basis_[model.labelled_]
    rows, cols, values, weights = values_of(known, model.labelled_, 0.0)
    core = cp.Variable((6, 6), PSD=True)
    fitted = cp.sum(cp.multiply(U[rows] @ core, U[cols]), axis=1)
    loss = cp.sum(cp.multiply(weights, cp.square(fitted - values)))
    optimum = cp.Problem(cp.Minimize(loss + 2.0 * cp.trace(U @ core @ U.T))).solve(solver="CLARABEL")
    bounds = model.certificate_
    assert bounds.dual <= optimum * (1 + 1e-6)
    assert optimum <= bounds.primal * (1 + 1e-6)
    assert bounds.dual == pytest.approx(optimum, rel=1e-3)


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_the_completion_certifies_the_block_that_it_returns(rate):
    S, known = known_of_blocks(rate)
    model = PairCompleter(8, method="completion", noise_rate=rate, random_state=0).fit(S, pairs=known)
    block = model.completion_
    rows, cols, values, weights = values_of(known, model.labelled_, rate)
    found = block.to_dense()
    norm, error = np.linalg.svd(found, compute_uv=False).sum(), found[rows, cols] - values
    assert model.certificate_ == model.solver_certificate_ == block.certificate
    if rate:
        assert weights @ error**2 + model.penalty_ * norm == pytest.approx(block.certificate.primal, rel=1e-9)
    else:  # the norm, and the cost of repairing errors within the tolerance
        E = np.zeros_like(found)
        E[rows, cols] = E[cols, rows] = error
        assert np.abs(error).max() <= model.tol
        assert norm + np.linalg.norm(E, axis=1).sum() == pytest.approx(block.certificate.primal, rel=1e-9)
    assert 0 <= block.certificate.relative_gap <= model.tol


# Matrices.


@pytest.mark.parametrize("options", [{}, {"symmetric": True}, {"symmetric": True, "definite": False}])
@pytest.mark.parametrize("penalty", [None, 0.3])
@pytest.mark.parametrize("max_iter", [2, 200])
def test_completion_certifies_the_matrix_that_it_returns(options, penalty, max_iter):
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(20, 2))
    rows, cols = np.nonzero(np.triu(rng.random((20, 20)) < 0.6, 1))
    values = (factor @ factor.T)[rows, cols]
    completion = complete_matrix(
        rows, cols, values, (20, 20), penalty=penalty, max_iter=max_iter, tol=1e-6, random_state=0, **options
    )
    found = completion.to_dense()
    norm, error = np.linalg.svd(found, compute_uv=False).sum(), found[rows, cols] - values
    both = 2.0 if options else 1.0
    if penalty is not None:
        assert 0.5 * both * error @ error + penalty * norm == pytest.approx(completion.certificate.primal, rel=1e-9)
        return
    assert completion.nuclear_norm == pytest.approx(norm, rel=1e-9)
    assert norm <= completion.certificate.primal <= norm + both * np.abs(error).sum() * (1 + 1e-9)


@pytest.mark.parametrize(("share", "recovered"), [(0.4, True), (0.15, False)])
def test_a_debiased_matrix_has_its_own_certificate_and_status(share, recovered):
    rng = np.random.default_rng(1)
    y = rng.permutation(60) % 3
    rows, cols = np.nonzero(rng.random((60, 60)) < share)
    values = (y[rows] == y[cols]).astype(float)
    found = complete_matrix(rows, cols, values, (60, 60), debias=True, tol=1e-2, random_state=0)
    norm = np.linalg.svd(found.to_dense(), compute_uv=False).sum()
    error = np.abs(found.entries(rows, cols) - values)
    assert norm <= found.certificate.primal <= norm + error.sum() + 1e-9
    assert found.converged == (found.certificate.relative_gap <= 1e-2) == recovered
    assert found.status == ("converged" if recovered else "refitted")
    before = found.history[-1]
    assert before.primal - before.dual <= 1e-2 * before.primal


def test_a_basis_that_is_zero_at_the_known_pairs_certifies_the_loss_of_nothing():
    S = np.zeros((8, 8))
    S[:3, :3] = 1.0
    known = Pairs([4, 5, 6], [5, 6, 7], [1, 1, -1], n_samples=8)
    with pytest.warns(UserWarning, match="determine only 0"):
        model = PairCompleter(1, random_state=0).fit(S, pairs=known)
    assert direct_objective(model, known, model.core_) == model.certificate_.primal == model.certificate_.dual == 2.0
    assert not model.factor_.any()


def test_the_readme_says_the_gaps_that_its_public_attributes_give():
    """The lower bound is made anew as well: a multiple of the residuals of the solution, feasible for the dual."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (code,) = (
        block for block in re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL) if "PairCompleter" in block
    )
    names = {}
    exec(code, names)
    model, known = names["model"], names["known"]
    printed = [float(text) for text in re.findall(r"relative_gap\)  # ([\d.e-]+):", code)]
    U, c = model.basis_[model.labelled_], model.penalty_
    rows, cols, values, weights = values_of(known, model.labelled_, model.noise_rate_)
    multipliers = 2.0 * weights * (values - np.einsum("tk,tk->t", U[rows] @ model.penalised_core_, U[cols]))
    sums = np.einsum("t,tk,tl->kl", multipliers, U[rows], U[cols])
    largest = scipy.linalg.eigh(0.5 * (sums + sums.T), U.T @ U, eigvals_only=True)[-1]
    feasible = multipliers * min(1.0, c / largest)
    bound = feasible @ values - 0.25 * feasible @ (feasible / weights)
    for core, gap in zip((model.core_, model.penalised_core_), printed, strict=True):
        value = direct_objective(model, known, core)
        assert (value - model.certificate_.dual) / value == pytest.approx(gap, rel=0.15)
    assert model.certificate_.dual <= direct_objective(model, known, model.penalised_core_)
    assert bound == pytest.approx(model.certificate_.dual, rel=1e-3)


# Weights of kernels.


def norms_of_parts(model, grams):
    """The norm of every part of the function: f_j = sum_i Z[j, i] k_j(x_i, .), so its square is z_j^T K_j z_j."""
    Z = model.dual_coef_.toarray()
    return np.sqrt([max(z @ grams[:, :, j] @ z, 0.0) for j, z in enumerate(Z)])


def heart_grams():
    X, y = load_heart(return_X_y=True)
    X, y = X[:90], kw.flip_labels(y[:90], 0.1, random_state=0)
    kernels = [Gaussian(width=2.0), Gaussian(width=8.0), *(Gaussian(width=1.0, columns=c) for c in range(4))]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.stack([kernel(scaled) for kernel in kernels], axis=2), y


MKL = {
    "simple": kw.SimpleMKLClassifier("precomputed", alpha=0.05, probability=False),
    "bias": kw.SimpleMKLClassifier("precomputed", alpha=0.05, fit_intercept=True, probability=False),
    "early": kw.SimpleMKLClassifier("precomputed", alpha=0.05, tol=0.3, probability=False),
    "robust": kw.RobustMKLClassifier("precomputed", alpha=0.05, noise_rate=0.2, probability=False),
    "mirror": kw.RobustMKLClassifier(
        "precomputed", alpha=0.05, noise_rate=0.2, solver="mirror-prox", tol=0.05, probability=False
    ),
    "simple path": kw.SimpleMKLClassifierCV("precomputed", alphas=[0.1, 0.05], n_folds=2),
    "robust path": kw.RobustMKLClassifierCV("precomputed", alphas=[0.05], budgets=[1.0, 0.8], n_folds=2),
}


@pytest.mark.parametrize("name", MKL)
def test_classifiers_certify_the_function_that_they_return(name):
    grams, y = heart_grams()
    model = MKL[name].set_params(random_state=0).fit(grams, y)
    losses = np.sort(np.maximum(0.0, 1.0 - np.where(y == model.classes_[1], 1, -1) * model.decision_function(grams)))
    budget = getattr(model, "budget_", 1.0) * len(y)
    spent = np.clip(budget - np.arange(len(y)), 0.0, 1.0)
    norms = norms_of_parts(model, grams)
    alpha = getattr(model, "alpha_", model.get_params().get("alpha"))
    value = 0.5 * alpha * norms.sum() ** 2 + spent @ losses[::-1] / len(y)
    assert value == pytest.approx(model.objective_, rel=1e-6)
    np.testing.assert_allclose(norms / norms.sum(), model.kernel_weights_, atol=1e-9)
    assert 0 <= model.dual_gap_ <= model.objective_
    assert not model.converged_ or model.dual_gap_ <= model.get_params()["tol"] * model.objective_ * (1 + 1e-9)


@pytest.mark.parametrize("tol", [0.1, 1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_the_best_case_certifies_the_function_for_the_labels_that_it_trusts(alpha, tol):
    """The trust is what the losses of the function ask for, so the objective is the certified one to ``tol``."""
    grams, y = heart_grams()
    model = kw.BestCaseMKLClassifier(
        "precomputed", alpha=alpha, noise_rate=0.2, tol=tol, probability=False, random_state=0
    )
    model.fit(grams, y)
    losses = np.sort(np.maximum(0.0, 1.0 - np.where(y == model.classes_[1], 1, -1) * model.decision_function(grams)))
    trust = np.clip(model.budget_ * len(y) - np.arange(len(y)), 0.0, 1.0) * (losses < 1)
    value = 0.5 * alpha * norms_of_parts(model, grams).sum() ** 2 + np.mean(trust * losses + 1.0 - trust)
    assert model.objective_ * (1 - tol - 1e-9) <= value <= model.objective_ * (1 + 1e-9)


@pytest.mark.parametrize("options", [{}, {"fit_intercept": True}, {"alpha": 0.01}])
def test_the_pair_learner_certifies_the_weights_that_it_returns(options):
    grams, y = heart_grams()
    pairs = Pairs.from_labels(y, n_pairs=400, random_state=0).balanced().flip(0.1, random_state=0)
    noise = kw.PairNoise(0.5, 0.9, 0.9)
    model = kw.PairKernelLearner("precomputed", noise=noise, **options).fit(grams, pairs=pairs)
    w, b = model.kernel_weights_, model.intercept_
    scores = grams[pairs.rows, pairs.cols] @ w + b
    likelihood = np.average(np.logaddexp(0.5 * scores, -0.5 * scores), weights=pairs.weights)
    value = likelihood - 0.5 * w @ model.statistic_ + 0.5 * model.alpha_ * w @ w - 0.5 * b * (2 * noise.prior - 1)
    assert value == pytest.approx(model.objective_, rel=1e-6)
    assert model.converged_
    assert 0 <= model.dual_gap_ <= 1e-5 * abs(model.objective_)
