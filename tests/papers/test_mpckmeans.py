import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelwise import MPCKMeans, Pairs
from kernelwise.papers.lkcnpc.mpckmeans_problem import (
    Problem,
    State,
    _farthest_profile,
    _start,
    _with_labels,
    _with_metrics,
)

METRICS = ["shared", "per-cluster"]


def dirty_pairs(rng, n_samples, n_pairs):
    """Random labels, weights, repetitions and, on purpose, a pair with both labels."""
    rows = rng.integers(n_samples, size=n_pairs)
    cols = (rows + rng.integers(1, n_samples, size=n_pairs)) % n_samples
    labels = rng.choice([-1, 1], size=n_pairs)
    drawn = Pairs(rows, cols, labels, n_samples=n_samples, weights=rng.uniform(0.2, 3.0, n_pairs))
    return drawn + Pairs(cols[:2], rows[:2], -labels[:2], n_samples=n_samples)


def objective(X, pairs, labels, centers, metrics, penalty=1.0, shrinkage=0.1):
    """The formula of the module, term by term."""
    floors = shrinkage * X.var(axis=0)
    total = 0.0
    for x, h in zip(X, labels, strict=True):
        total += metrics[h] @ (x - centers[h]) ** 2 + metrics[h] @ floors - np.log(metrics[h]).sum()
    diameters = [max(pdist(X * np.sqrt(metric), "sqeuclidean")) for metric in metrics]
    for i, j, label, weight in zip(pairs.rows, pairs.cols, pairs.labels, pairs.weights, strict=True):
        squares = [metrics[h] @ (X[i] - X[j]) ** 2 for h in (labels[i], labels[j])]
        if label > 0 and labels[i] != labels[j]:
            total += penalty * weight * (squares[0] + squares[1]) / 2
        if label < 0 and labels[i] == labels[j]:
            total += penalty * weight * (diameters[labels[i]] - squares[0])
    return total


def of_model(X, pairs, model, **parameters):
    return objective(X, pairs, model.labels_, model.cluster_centers_, model.metrics_, **parameters)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", range(3))
def test_every_round_lowers_the_objective(rng, metric, seed):
    X, y = load_iris(return_X_y=True)
    noisy = Pairs.from_labels(y, n_pairs=150, random_state=seed).flip(0.3, random_state=seed)
    pairs = noisy + dirty_pairs(rng, 150, 20)
    values, rounds = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        while len(values) == rounds:  # until a run ends before its limit
            model = MPCKMeans(3, metric=metric, n_init=1, max_iter=rounds + 1, random_state=seed).fit(X, pairs=pairs)
            values.append(of_model(X, pairs, model))
            assert model.objective_ == pytest.approx(values[-1])
            rounds = model.n_iter_
    assert len(values) > 2
    assert all(np.diff(values) <= 1e-9 * np.abs(values[0]))


@pytest.mark.parametrize("metric", METRICS)
def test_parameters_enter_the_objective_as_stated(rng, metric):
    X, pairs = rng.normal(size=(40, 3)), dirty_pairs(rng, 40, 50)
    model = MPCKMeans(4, metric=metric, penalty=0.3, shrinkage=0.05, random_state=0).fit(X, pairs=pairs)
    assert model.objective_ == pytest.approx(of_model(X, pairs, model, penalty=0.3, shrinkage=0.05))
    own = model.cluster_centers_[model.labels_]
    assert model.inertia_ == pytest.approx((model.metrics_[model.labels_] * (X - own) ** 2).sum())
    assert model.converged_
    if metric == "shared":
        assert (model.metrics_ == model.metrics_[0]).all()


def state_of(rng, X, pairs, metric):
    """A problem and a random state of it."""
    k, d = 3, X.shape[1]
    problem = Problem.of(X, pairs, k, shared=metric == "shared", penalty=1.0, shrinkage=0.1)
    metrics = rng.uniform(0.5, 2.0, size=(1 if metric == "shared" else k, d))
    labels = rng.integers(k, size=len(X))
    return problem, State(labels, X[rng.choice(len(X), k)], metrics, problem.profiles(metrics))


def value_of(problem, pairs, state):
    return objective(problem.X, pairs, state.labels, state.centers, state.metrics[problem.groups])


@pytest.mark.parametrize("metric", METRICS)
def test_no_single_sample_would_rather_be_elsewhere(rng, metric):
    X, pairs = rng.normal(size=(25, 3)), dirty_pairs(rng, 25, 60)
    problem, state = state_of(rng, X, pairs, metric)
    settled = _with_labels(problem, state, np.random.RandomState(0))
    value = value_of(problem, pairs, settled)
    assert value < value_of(problem, pairs, state)
    for i in range(25):
        for h in range(3):
            labels = settled.labels.copy()
            labels[i] = h
            assert value_of(problem, pairs, replace(settled, labels=labels)) >= value - 1e-9


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_are_the_best_where_no_negative_pair_is_violated(rng, metric):
    X, pairs = rng.normal(size=(25, 3)), dirty_pairs(rng, 25, 60).positive
    problem, state = state_of(rng, X, pairs, metric)
    members = np.eye(3)[state.labels]
    state = replace(state, centers=members.T @ X / members.sum(axis=0)[:, None])
    best = _with_metrics(problem, state)
    value = value_of(problem, pairs, best)
    assert value < value_of(problem, pairs, state)
    for factor in (0.99, 1.01):
        for entry in np.ndindex(best.metrics.shape):
            metrics = best.metrics.copy()
            metrics[entry] *= factor
            assert value_of(problem, pairs, replace(best, metrics=metrics)) > value


@pytest.mark.parametrize("sparse", [False, True])
def test_the_farthest_pair_is_found(rng, sparse):
    for n_samples in (2, 30, 1200):
        X = rng.standard_t(3, size=(n_samples, 3))
        metric = rng.uniform(0.1, 5.0, 3)
        profile = _farthest_profile(sp.csr_array(X) if sparse else X, metric)
        assert profile @ metric == pytest.approx(max(pdist(X * np.sqrt(metric), "sqeuclidean")))


def test_seeds_are_neighbourhoods_large_and_far(rng):
    X = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 9.0], [0.5, 0.5]], [5, 4, 3, 2], axis=0)
    chain = [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6), (6, 7), (7, 8), (9, 10), (10, 11), (12, 13)]
    rows, cols = np.transpose(chain)
    pairs = Pairs(rows, cols, np.ones(10), n_samples=14)
    for k in (1, 2, 3, 7):
        problem = Problem.of(X, pairs, k, shared=True, penalty=1.0, shrinkage=0.1)
        start = _start(problem, np.random.RandomState(0))
        places = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 9.0], [0.5, 0.5]])[:k]
        np.testing.assert_allclose(start.centers[: len(places)], places)
        assert start.centers.shape == (k, 2)
        for i, j in chain:
            assert start.labels[i] == start.labels[j]
    assert len(set(start.labels)) == 4


@pytest.mark.parametrize("metric", METRICS)
def test_pairs_decide_what_the_data_leave_open(rng, metric):
    # A uniform square can be halved in many ways; the pairs ask for left and right.
    X = rng.uniform(size=(200, 2))
    y = (X[:, 0] > 0.5).astype(int)
    pairs = Pairs.from_labels(y, n_pairs=100, random_state=0)
    model = MPCKMeans(2, metric=metric, random_state=0).fit(X, pairs=pairs)
    assert pairs.agreement(model.labels_) > 0.95
    assert adjusted_rand_score(y, model.labels_) > 0.7


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("rate", [0.2, 0.4])
def test_flipped_pairs_are_no_error(metric, rate):
    X, y = make_blobs(300, centers=4, cluster_std=0.5, random_state=3)
    pairs = Pairs.from_labels(y, n_pairs=300, random_state=0).flip(rate, random_state=0)
    model = MPCKMeans(4, metric=metric, penalty=1e-3, random_state=0).fit(X, pairs=pairs)
    assert adjusted_rand_score(y, model.labels_) == 1.0  # at a low price the data win
    dear = MPCKMeans(4, metric=metric, penalty=1e3, random_state=0).fit(X, pairs=pairs)
    assert pairs.agreement(dear.labels_) > pairs.agreement(model.labels_)


def test_without_pairs_and_with_equal_variances_it_is_k_means():
    X, y = make_blobs(300, centers=3, cluster_std=0.5, random_state=1)
    model = MPCKMeans(3, metric="shared", random_state=0).fit(X)
    assert adjusted_rand_score(KMeans(3, n_init=5, random_state=0).fit_predict(X), model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_partial_labels_guide_the_clusters():
    X, y = make_blobs(200, centers=3, cluster_std=2.0, random_state=1)
    partial = np.where(np.arange(200) % 2, y, -1)
    labels = MPCKMeans(3, random_state=0).fit_predict(X, partial)
    assert Pairs.from_labels(partial).agreement(labels) > 0.9
    np.testing.assert_array_equal(
        MPCKMeans(3, random_state=0).fit_predict(X, np.full(200, -1)), MPCKMeans(3, random_state=0).fit_predict(X)
    )


@pytest.mark.parametrize("metric", METRICS)
def test_sparse_data_give_the_same(rng, metric):
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.5)
    pairs = dirty_pairs(rng, 60, 60)
    model = MPCKMeans(3, metric=metric, random_state=0)
    dense, sparse = (clone(model).fit(data, pairs=pairs) for data in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    assert sparse.objective_ == pytest.approx(dense.objective_)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csr_array(X)))


def test_large_offsets_cost_no_precision(rng):
    X, _ = make_blobs(150, centers=3, cluster_std=0.5, random_state=1)
    near, far = (MPCKMeans(3, random_state=0).fit(data) for data in (X, X + 1e7))
    np.testing.assert_array_equal(near.labels_, far.labels_)
    np.testing.assert_array_equal(far.predict(X + 1e7), far.labels_)
    assert near.objective_ == pytest.approx(far.objective_, rel=1e-4)


def test_units_of_features_may_differ_by_orders_of_magnitude(rng):
    X, _ = make_blobs(150, centers=3, cluster_std=0.5, random_state=1)
    scaled = X * [1.0, 1e-8]
    model = MPCKMeans(3, random_state=0).fit(scaled)
    centered = scaled[model.labels_ == 0] - scaled[model.labels_ == 0].mean(axis=0)
    expected = 1 / (centered.var(axis=0) + 0.1 * scaled.var(axis=0))
    np.testing.assert_allclose(model.metrics_[0], expected)


def test_constant_features_change_no_label(rng):
    X, pairs = rng.normal(size=(60, 3)), dirty_pairs(rng, 60, 40)
    wider = np.column_stack([X, np.full(60, 1e6 + 0.1)])
    plain, padded = (MPCKMeans(3, random_state=0).fit(data, pairs=pairs) for data in (X, wider))
    np.testing.assert_array_equal(plain.labels_, padded.labels_)
    np.testing.assert_allclose(padded.metrics_[:, -1], 1.0)


@pytest.mark.parametrize("metric", METRICS)
def test_duplicates_and_more_clusters_than_places(metric):
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
    model = MPCKMeans(4, metric=metric, random_state=0).fit(X, pairs=Pairs([0, 0], [1, 1], [1, -1], n_samples=20))
    assert np.isfinite(model.objective_)
    assert model.labels_[5] != model.labels_[15]


def test_more_starts_are_not_worse():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    pairs = Pairs.from_labels(y, n_pairs=200, random_state=0)
    one, five = (MPCKMeans(10, n_init=n, random_state=0).fit(X, pairs=pairs).objective_ for n in (1, 5))
    assert five <= one


def test_the_limit_on_rounds_is_reported(rng):
    with pytest.warns(ConvergenceWarning, match="not converged after 1 rounds"):
        model = MPCKMeans(3, max_iter=1, random_state=0).fit(rng.normal(size=(500, 2)))
    assert not model.converged_


def test_pairs_pass_through_a_pipeline(rng):
    X, pairs = rng.normal(size=(40, 3)), dirty_pairs(rng, 40, 40)
    with sklearn.config_context(enable_metadata_routing=True):
        clusterer = MPCKMeans(3, random_state=0).set_fit_request(pairs=True)
        pipeline = make_pipeline(StandardScaler(), clusterer).fit(X, pairs=pairs)
    direct = MPCKMeans(3, random_state=0).fit(StandardScaler().fit_transform(X), pairs=pairs)
    np.testing.assert_array_equal(pipeline[-1].labels_, direct.labels_)


X4, PAIRS3 = np.eye(4), Pairs([0, 1], [1, 2], [1, -1], n_samples=3)


@pytest.mark.parametrize(
    ("fit", "error", "message"),
    [
        (lambda: MPCKMeans(5).fit(X4), ValueError, "n_clusters=5 is more than the n_samples=4"),
        (lambda: MPCKMeans(0).fit(X4), ValueError, "n_clusters must be an integer of at least 1, got 0"),
        (lambda: MPCKMeans(2, n_init="auto").fit(X4), TypeError, "n_init must be"),
        (lambda: MPCKMeans(2, max_iter=0).fit(X4), ValueError, "max_iter must be"),
        (lambda: MPCKMeans(2, metric="full").fit(X4), ValueError, 'metric must be "per-cluster" or "shared"'),
        (lambda: MPCKMeans(2, penalty=-1).fit(X4), ValueError, "penalty must be a positive number"),
        (lambda: MPCKMeans(2, shrinkage=0).fit(X4), ValueError, "shrinkage must be a positive number"),
        (lambda: MPCKMeans(2).fit(X4, pairs=PAIRS3), ValueError, "n_samples=3 samples, but X has 4"),
        (lambda: MPCKMeans(2).fit(X4, pairs=np.eye(4)), TypeError, "must be a kernelwise.Pairs"),
    ],
)
def test_bad_input_is_named(fit, error, message):
    with pytest.raises(error, match=message):
        fit()


def test_the_farthest_pair_is_found_among_many_short_samples(rng):
    # The search skips samples too short to be an end of it, here most of them.
    X = np.vstack([0.1 * rng.normal(size=(500, 2)), [[5.0, 0.0], [-4.0, 0.1], [0.0, 5.1]]])
    assert _farthest_profile(X, np.ones(2)).sum() == pytest.approx(pdist(X, "sqeuclidean").max())
