import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelwise import MMC, Pairs
from oracles import solve


def dirty_pairs(rng, n_samples, n_pairs):
    """Random labels, weights, repetitions and, on purpose, a pair with both labels."""
    rows = rng.integers(n_samples, size=n_pairs)
    cols = (rows + rng.integers(1, n_samples, size=n_pairs)) % n_samples
    labels = rng.choice([-1, 1], size=n_pairs)
    drawn = Pairs(rows, cols, labels, n_samples=n_samples, weights=rng.uniform(0.2, 3.0, n_pairs))
    return drawn + Pairs(cols[:2], rows[:2], -labels[:2], n_samples=n_samples)


def mmc_optimum(X, pairs, shrinkage, diagonal):
    """max sum_D w ||v||_M  s.t.  tr(A M) <= 1, M positive semi-definite, with A shrunk towards the identity."""
    d = X.shape[1]
    near, far = pairs.positive, pairs.negative
    V = X[near.rows] - X[near.cols]
    scatter = (V.T * near.weights) @ V
    if diagonal:
        scatter = np.diag(np.diag(scatter))
    A = (1 - shrinkage) * scatter + shrinkage * np.trace(scatter) / d * np.eye(d)
    M = cp.Variable((d, d), PSD=True)
    squares = cp.hstack([cp.sum(cp.multiply(np.outer(v, v), M)) for v in X[far.rows] - X[far.cols]])
    constraints = [cp.trace(A @ M) <= 1]
    if diagonal:
        constraints.append(cp.diag(cp.diag(M)) == M)
    value = solve(cp.Problem(cp.Maximize(far.weights @ cp.sqrt(squares)), constraints))
    return M.value, value


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize(("n_features", "n_pairs", "shrinkage"), [(3, 30, 0.0), (4, 30, 0.2), (7, 6, 0.05)])
def test_agrees_with_a_convex_solver(rng, diagonal, n_features, n_pairs, shrinkage):
    X, pairs = rng.normal(size=(12, n_features)), dirty_pairs(rng, 12, n_pairs)
    M, value = mmc_optimum(X, pairs, shrinkage, diagonal)
    model = MMC(diagonal=diagonal, shrinkage=shrinkage, tol=1e-9, random_state=0).fit(X, pairs=pairs)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), M, atol=2e-3 * np.abs(M).max())


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_objective_is_that_of_the_metric_and_the_constraint_holds(rng, diagonal):
    X, pairs = rng.normal(size=(30, 4)), dirty_pairs(rng, 30, 80)
    model = MMC(diagonal=diagonal, shrinkage=0.0).fit(X, pairs=pairs)
    M = model.get_mahalanobis_matrix()
    V = X[pairs.rows] - X[pairs.cols]
    squares = np.einsum("ci,ij,cj->c", V, M, V)
    near = pairs.labels > 0
    assert pairs.weights[near] @ squares[near] == pytest.approx(1.0)
    assert pairs.weights[~near] @ np.sqrt(squares[~near]) == pytest.approx(model.objective_)
    assert model.converged_
    assert model.dual_gap_ <= 1e-3 * model.objective_


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_gap_closes_beyond_what_differences_of_the_objective_show(diagonal):
    """A search that compares objectives cannot see a step of 1e-8, whose gain is 1e-16, and ends at a gap near it."""
    for seed in range(8):
        draw = np.random.default_rng(seed)
        X, pairs = draw.normal(size=(12, 4)), dirty_pairs(draw, 12, 30)
        model = MMC(diagonal=diagonal, shrinkage=0.2, tol=1e-12, max_iter=10_000, random_state=0).fit(X, pairs=pairs)
        assert model.dual_gap_ <= 1e-12 * model.objective_


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("max_iter", [1, 2, 4])
def test_the_gap_bounds_the_error_also_when_stopped_early(rng, diagonal, max_iter):
    X, pairs = rng.normal(size=(30, 5)), dirty_pairs(rng, 30, 80)
    optimum = MMC(diagonal=diagonal, tol=1e-9).fit(X, pairs=pairs).objective_
    with pytest.warns(ConvergenceWarning, match="the duality gap is"):
        model = MMC(diagonal=diagonal, tol=1e-12, max_iter=max_iter).fit(X, pairs=pairs)
    assert not model.converged_
    assert model.n_iter_ <= max_iter
    assert model.objective_ <= optimum * (1 + 1e-9) <= (model.objective_ + model.dual_gap_) * (1 + 2e-9)


def test_more_freedom_does_not_hurt(rng):
    X, pairs = rng.normal(size=(30, 5)), dirty_pairs(rng, 30, 80)
    full, diagonal = (MMC(diagonal=d, shrinkage=0.0, tol=1e-8).fit(X, pairs=pairs) for d in (False, True))
    assert full.objective_ >= diagonal.objective_


@pytest.mark.parametrize("diagonal", [False, True])
def test_a_weight_is_repeated_evidence(rng, diagonal):
    X, base = rng.normal(size=(15, 4)), dirty_pairs(rng, 15, 30)
    once = Pairs(base.rows, base.cols, base.labels, n_samples=15)
    thrice = Pairs(base.rows, base.cols, base.labels, n_samples=15, weights=np.full(len(base), 3.0))
    by_weight, by_copies = (
        MMC(diagonal=diagonal, tol=1e-7).fit(X, pairs=p).get_mahalanobis_matrix() for p in (thrice, once + once + once)
    )
    np.testing.assert_allclose(by_weight, by_copies, atol=1e-4 * by_weight.max())


def test_a_diagonal_metric_ignores_the_units_of_each_feature(rng):
    X, pairs, units = rng.normal(size=(30, 4)), dirty_pairs(rng, 30, 80), np.array([1.0, 100.0, 0.01, 7.0])
    first, second = (MMC(diagonal=True, shrinkage=0.0, tol=1e-7).fit(data, pairs=pairs) for data in (X, X * units))
    np.testing.assert_allclose(first.kernel(X), second.kernel(X * units), atol=1e-4 * np.abs(first.kernel(X)).max())


@pytest.mark.parametrize("diagonal", [False, True])
def test_sparse_data_give_the_same(rng, diagonal):
    X = rng.normal(size=(30, 6)) * (rng.random((30, 6)) < 0.5)
    pairs = dirty_pairs(rng, 30, 80)
    from_dense, from_sparse = (MMC(diagonal=diagonal, tol=1e-7).fit(data, pairs=pairs) for data in (X, sp.csr_array(X)))
    np.testing.assert_allclose(from_sparse.objective_, from_dense.objective_, rtol=1e-6)
    expected = from_dense.kernel(X)
    np.testing.assert_allclose(from_sparse.kernel(sp.csr_array(X)), expected, atol=1e-3 * np.abs(expected).max())


def test_many_features_few_negative_pairs_go_through_a_low_rank(rng):
    X = rng.normal(size=(40, 60))
    pairs = Pairs.from_labels(np.arange(40) % 4, n_pairs=100, random_state=0)
    model = MMC(shrinkage=0.1, tol=1e-6, random_state=0).fit(X, pairs=pairs)
    assert model.components_.shape[0] < 60
    assert model.converged_
    other = MMC(shrinkage=0.1, tol=1e-6, random_state=1).fit(X, pairs=pairs)
    assert model.objective_ == pytest.approx(other.objective_, rel=2e-6)


def test_a_feature_without_use_gets_no_weight(rng):
    y = np.repeat([0, 1], 20)
    X = np.column_stack([y + 0.01 * rng.normal(size=40), 5 * rng.normal(size=40)])
    M = MMC(random_state=0).fit(X, y).get_mahalanobis_matrix()
    assert M[0, 0] > 1e3 * M[1, 1]


def test_pairs_pass_through_a_pipeline(rng):
    X, pairs = rng.normal(size=(20, 4)), dirty_pairs(rng, 20, 40)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), MMC().set_fit_request(pairs=True)).fit(X, pairs=pairs)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(pipeline.transform(X), MMC().fit(scaled, pairs=pairs).transform(scaled))


X4, PAIRS4 = np.eye(4), Pairs([0, 1], [1, 2], [1, -1], n_samples=4)
TWINS = np.repeat(np.eye(2), 2, axis=0)


@pytest.mark.parametrize(
    ("fit", "error", "message"),
    [
        (lambda: MMC().fit(X4), ValueError, "requires y to be passed"),
        (lambda: MMC().fit(X4, pairs="all"), TypeError, "must be a kernelwise.Pairs, got str"),
        (lambda: MMC().fit(X4[:3], pairs=PAIRS4), ValueError, "n_samples=4 samples, but X has 3"),
        (lambda: MMC().fit(X4, pairs=PAIRS4.positive), ValueError, r"no negative \(-1\) pair among the 1"),
        (lambda: MMC().fit(X4, pairs=PAIRS4.negative), ValueError, r"no positive \(\+1\) pair"),
        (lambda: MMC().fit(X4, [0, 1, 2, 3]), ValueError, r"no positive \(\+1\) pair"),
        (lambda: MMC(tol=0).fit(X4, pairs=PAIRS4), ValueError, "tol must be"),
        (lambda: MMC(max_iter=1.5).fit(X4, pairs=PAIRS4), TypeError, "max_iter must be"),
        (lambda: MMC(shrinkage=2).fit(X4, pairs=PAIRS4), ValueError, "shrinkage must lie between 0 and 1"),
        (lambda: MMC(shrinkage=0).fit(X4, pairs=PAIRS4), ValueError, "can grow without bound: raise shrinkage=0"),
        (lambda: MMC(shrinkage=0, diagonal=True).fit(X4, pairs=PAIRS4), ValueError, "without bound"),
        (
            lambda: MMC().fit(TWINS, pairs=Pairs([0, 0], [1, 2], [1, -1], n_samples=4)),
            ValueError,
            "every positive pair joins two equal samples",
        ),
        (
            lambda: MMC().fit(TWINS, pairs=Pairs([0, 0], [1, 2], [-1, 1], n_samples=4)),
            ValueError,
            "every negative pair joins two equal samples",
        ),
    ],
)
def test_bad_input_is_named(fit, error, message):
    with pytest.raises(error, match=message):
        fit()
