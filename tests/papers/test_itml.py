import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelwise import ITML, Pairs
from kernelwise.statements.noise import resolve_pairs
from oracles import solve


def dirty_pairs(rng, n_samples, n_pairs):
    """Random labels, weights, repetitions and, on purpose, a pair with both labels."""
    rows = rng.integers(n_samples, size=n_pairs)
    cols = (rows + rng.integers(1, n_samples, size=n_pairs)) % n_samples
    labels = rng.choice([-1, 1], size=n_pairs)
    drawn = Pairs(rows, cols, labels, n_samples=n_samples, weights=rng.uniform(0.2, 3.0, n_pairs))
    return drawn + Pairs(cols[:2], rows[:2], -labels[:2], n_samples=n_samples)


def itml_optimum(X, pairs, bounds, gamma, prior):
    """min D(M, M0) + gamma sum w D(xi, xi0), one slack per given pair, straight from the paper's (5)."""
    d = X.shape[1]
    M, slacks = cp.Variable((d, d), PSD=True), cp.Variable(len(pairs), pos=True)
    targets = np.where(pairs.labels > 0, *bounds)
    divergence = cp.trace(M @ np.linalg.inv(prior)) - cp.log_det(M) + np.linalg.slogdet(prior)[1] - d
    slack_cost = cp.multiply(gamma * pairs.weights, slacks / targets - cp.log(slacks) + np.log(targets) - 1)
    V = X[pairs.rows] - X[pairs.cols]
    distances = cp.hstack([cp.sum(cp.multiply(np.outer(v, v), M)) for v in V])
    constraints = [cp.multiply(pairs.labels, distances - slacks) <= 0]
    value = solve(cp.Problem(cp.Minimize(divergence + cp.sum(slack_cost)), constraints))
    return M.value, value


@pytest.mark.parametrize(("n_features", "n_pairs"), [(3, 12), (6, 2)])  # more pairs than features, and fewer
@pytest.mark.parametrize("gamma", [0.3, 4.0])
def test_agrees_with_a_convex_solver(rng, n_features, n_pairs, gamma):
    X = rng.normal(size=(9, n_features))
    pairs = dirty_pairs(rng, 9, n_pairs)
    root = rng.normal(size=(n_features, n_features))
    prior = np.eye(n_features) + root @ root.T / n_features
    bounds = (1.0, 5.0)
    M, value = itml_optimum(X, pairs, bounds, gamma, prior)
    model = ITML(gamma=gamma, bounds=bounds, prior=prior, tol=1e-9).fit(X, pairs=pairs)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), M, atol=2e-4 * np.abs(M).max())


def test_agrees_with_metric_learn():
    # Recorded from metric-learn 0.7.0 (scikit-learn 1.7.2, numpy 2.4.6): ITML(tol=1e-14, max_iter=100000) on the same
    # pairs, fit(..., bounds=[0.5, 3.0]), 48 sweeps.
    recorded = np.array(
        [
            [0.474558731904, -0.214670793804, 0.264069976783],
            [-0.214670793804, 0.585257651457, -0.311521098317],
            [0.264069976783, -0.311521098317, 0.299824057574],
        ]
    )
    t = np.arange(30.0).reshape(10, 3)
    X = np.sin(t) + np.cos(0.7 * t**1.5 / 10)
    pairs = Pairs([0, 2, 4, 6, 1, 3, 5, 0], [1, 3, 5, 7, 8, 9, 0, 9], [1, 1, 1, 1, -1, -1, -1, -1], n_samples=10)
    model = ITML(bounds=(0.5, 3.0), tol=1e-13).fit(X, pairs=pairs)
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), recorded, atol=1e-6)


@pytest.mark.parametrize("max_iter", [1, 2, 3, 10])
def test_the_gap_bounds_the_error_also_when_stopped_early(rng, max_iter):
    X, pairs = rng.normal(size=(20, 5)), dirty_pairs(rng, 20, 60)
    optimum = ITML(tol=1e-10).fit(X, pairs=pairs).objective_
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model = ITML(tol=1e-12, max_iter=max_iter).fit(X, pairs=pairs)
    assert not model.converged_
    assert model.n_iter_ <= max_iter + 20  # a line search is not broken off
    assert model.objective_ - model.dual_gap_ - 1e-9 <= optimum <= model.objective_ + 1e-9


def test_projections_are_exact_for_one_pair():
    # One positive pair v = e1: M = diag(a, 1), minimise a - log a + xi/u - log(xi/u) with a = xi: a = 2 / (1 + 1/u).
    X, u = np.array([[0.0, 0.0], [1.0, 0.0]]), 0.5
    model = ITML(bounds=(u, 9.0), tol=1e-12).fit(X, pairs=Pairs([0], [1], [1], n_samples=2))
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), np.diag([2 / (1 + 1 / u), 1.0]), atol=1e-10)
    satisfied = ITML(bounds=(2.0, 9.0)).fit(X, pairs=Pairs([0], [1], [1], n_samples=2))
    np.testing.assert_allclose(satisfied.get_mahalanobis_matrix(), np.eye(2), atol=1e-12)


def test_a_weight_is_repeated_evidence(rng):
    X, base = rng.normal(size=(15, 4)), dirty_pairs(rng, 15, 20)
    once = Pairs(base.rows, base.cols, base.labels, n_samples=15)
    thrice = Pairs(base.rows, base.cols, base.labels, n_samples=15, weights=np.full(len(base), 3.0))
    by_weight = ITML(tol=1e-10).fit(X, pairs=thrice).get_mahalanobis_matrix()
    by_copies = ITML(tol=1e-10).fit(X, pairs=once + once + once).get_mahalanobis_matrix()
    np.testing.assert_allclose(by_weight, by_copies, atol=1e-9)


def test_order_of_pairs_and_of_ends_means_nothing(rng):
    X, pairs = rng.normal(size=(15, 4)), dirty_pairs(rng, 15, 40)
    order = rng.permutation(len(pairs))
    turned = Pairs(
        pairs.cols[order], pairs.rows[order], pairs.labels[order], n_samples=15, weights=pairs.weights[order]
    )
    first, second = (ITML(tol=1e-9).fit(X, pairs=p).get_mahalanobis_matrix() for p in (pairs, turned))
    np.testing.assert_allclose(first, second, atol=1e-6)


def test_units_of_measurement_mean_nothing(rng):
    X, pairs = rng.normal(size=(15, 4)), dirty_pairs(rng, 15, 40)
    metres, inches = (ITML(tol=1e-8).fit(data, pairs=pairs).get_mahalanobis_matrix() for data in (X, 39.37 * X))
    np.testing.assert_allclose(metres, inches, atol=1e-6)


def test_sparse_data_give_the_same(rng):
    X = rng.normal(size=(20, 6)) * (rng.random((20, 6)) < 0.5)
    pairs = dirty_pairs(rng, 20, 50)
    from_dense, from_sparse = (ITML(tol=1e-8).fit(data, pairs=pairs) for data in (X, sp.csr_array(X)))
    np.testing.assert_allclose(
        from_dense.get_mahalanobis_matrix(), from_sparse.get_mahalanobis_matrix(), atol=1e-9, rtol=1e-6
    )
    np.testing.assert_allclose(from_sparse.transform(sp.csr_array(X)), from_sparse.transform(X))


def test_transform_and_kernel_are_of_the_metric(rng):
    X, Z = rng.normal(size=(20, 4)), rng.normal(size=(3, 4))
    model = ITML().fit(X, pairs=dirty_pairs(rng, 20, 40))
    M = model.get_mahalanobis_matrix()
    np.testing.assert_allclose(model.kernel(Z), Z @ M @ Z.T)
    np.testing.assert_allclose(model.kernel(X, Z), X @ M @ Z.T)
    V = Z[0] - Z[1]
    assert np.sum((model.transform(Z)[0] - model.transform(Z)[1]) ** 2) == pytest.approx(V @ M @ V)
    assert model.get_feature_names_out().tolist() == ["itml0", "itml1", "itml2", "itml3"]


def test_default_bounds_are_percentiles_of_squared_distances(rng):
    X, pairs = rng.normal(size=(40, 3)), dirty_pairs(rng, 40, 20)
    np.testing.assert_allclose(ITML().fit(X, pairs=pairs).bounds_, np.percentile(pdist(X, "sqeuclidean"), (5, 95)))
    many = rng.normal(size=(700, 2))
    drawn = ITML(random_state=0).fit(many, pairs=dirty_pairs(rng, 700, 5)).bounds_
    np.testing.assert_allclose(drawn, np.percentile(pdist(many, "sqeuclidean"), (5, 95)), rtol=0.05)


def test_covariance_prior_is_the_whitened_problem(rng):
    X = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3))
    pairs, root = dirty_pairs(rng, 30, 40), np.linalg.cholesky(np.linalg.inv(np.cov(X, rowvar=False)))
    whitened = ITML(tol=1e-9).fit(X @ root, pairs=pairs)
    direct = ITML(prior="covariance", tol=1e-9).fit(X, pairs=pairs)
    np.testing.assert_allclose(direct.kernel(X), whitened.kernel(X @ root), atol=1e-5)


def test_pairs_of_equal_samples_change_nothing(rng):
    X = rng.normal(size=(12, 3))
    X[1] = X[0]
    pairs = dirty_pairs(rng, 12, 30)
    empty = Pairs([0, 0], [1, 1], [1, -1], n_samples=12)
    alone = ITML().fit(X, pairs=empty)
    np.testing.assert_array_equal(alone.get_mahalanobis_matrix(), np.eye(3))
    assert alone.converged_
    assert alone.dual_gap_ == 0
    informative = pairs[(X[pairs.rows] != X[pairs.cols]).any(axis=1)]
    with_them, without = (ITML(tol=1e-9).fit(X, pairs=p) for p in (informative + empty, informative))
    np.testing.assert_allclose(with_them.get_mahalanobis_matrix(), without.get_mahalanobis_matrix(), atol=1e-6)


def test_survives_prices_and_scales_that_projections_alone_do_not(rng):
    # Rounding errors of blocked updates once grew without bound on such data.
    X = rng.normal(size=(15, 12)) * 10.0 ** rng.uniform(-3, 3, 12)
    with pytest.warns(ConvergenceWarning):
        model = ITML(gamma=100.0).fit(X, pairs=dirty_pairs(rng, 15, 150))
    assert np.isfinite(model.components_).all()
    assert 0 < model.dual_gap_ < np.inf


def test_pairs_pass_through_a_pipeline(rng):
    X, pairs = rng.normal(size=(20, 4)), dirty_pairs(rng, 20, 40)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), ITML().set_fit_request(pairs=True)).fit(X, pairs=pairs)
    direct = ITML().fit(StandardScaler().fit_transform(X), pairs=pairs)
    np.testing.assert_allclose(pipeline.transform(X), direct.transform(StandardScaler().fit_transform(X)))


def test_labels_make_at_most_twenty_pairs_per_sample():
    few, many = (resolve_pairs(None, np.arange(n) % 3, n, random_state=0) for n in (30, 200))
    assert len(few) == 30 * 29 // 2
    assert len(many) == 20 * 200
    assert few.agreement(np.arange(30) % 3) == 1.0
    half = resolve_pairs(None, np.where(np.arange(30) < 15, np.arange(30) % 3, -1), 30, random_state=0)
    assert len(half) == 15 * 14 // 2
    assert half.rows.max() < 15


def test_given_pairs_win_over_labels(rng):
    X, pairs = rng.normal(size=(20, 4)), dirty_pairs(rng, 20, 40)
    both, alone = ITML().fit(X, np.arange(20), pairs=pairs), ITML().fit(X, pairs=pairs)
    np.testing.assert_array_equal(both.components_, alone.components_)


X4, PAIRS4 = np.eye(4), Pairs([0, 1], [1, 2], [1, -1], n_samples=4)


@pytest.mark.parametrize(
    ("fit", "error", "message"),
    [
        (lambda: ITML().fit(X4), ValueError, "requires y to be passed"),
        (lambda: ITML().fit(X4, pairs=[(0, 1)]), TypeError, "must be a kernelwise.Pairs, got list"),
        (lambda: ITML().fit(X4[:3], pairs=PAIRS4), ValueError, "n_samples=4 samples, but X has 3"),
        (lambda: ITML().fit(X4, [0, 1, 0]), ValueError, "3 labels for 4 samples"),
        (lambda: ITML().fit(X4, [-1, -1, -1, 2]), ValueError, "no pair to learn from"),
        (lambda: ITML(gamma=0).fit(X4, pairs=PAIRS4), ValueError, "gamma must be a positive number, got 0"),
        (lambda: ITML(gamma=np.inf).fit(X4, pairs=PAIRS4), ValueError, "gamma must be a positive number"),
        (lambda: ITML(tol=-1.0).fit(X4, pairs=PAIRS4), ValueError, "tol must be"),
        (lambda: ITML(max_iter=0).fit(X4, pairs=PAIRS4), ValueError, "max_iter must be"),
        (lambda: ITML(bounds=(1.0,)).fit(X4, pairs=PAIRS4), ValueError, "bounds must be two positive"),
        (lambda: ITML(bounds=(0.0, 1.0)).fit(X4, pairs=PAIRS4), ValueError, "bounds must be two positive"),
        (lambda: ITML(prior="none").fit(X4, pairs=PAIRS4), ValueError, "prior must be"),
        (lambda: ITML(prior=np.eye(3)).fit(X4, pairs=PAIRS4), ValueError, r"shape \(4, 4\)"),
        (lambda: ITML(prior=np.triu(np.ones((4, 4)))).fit(X4, pairs=PAIRS4), ValueError, "symmetric"),
        (lambda: ITML(prior=np.ones((4, 4))).fit(X4, pairs=PAIRS4), ValueError, "not positive definite"),
        (lambda: ITML(prior="covariance").fit(X4, pairs=PAIRS4), ValueError, "covariance of X is not positive"),
    ],
)
def test_bad_input_is_named(fit, error, message):
    with pytest.raises(error, match=message):
        fit()
