"""NPK against the semi-definite program it stands for, solved by cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from kernelwise import NonparametricKernelLearner, Pairs
from kernelwise.metrics import normalized_mutual_info
from kernelwise.pairs.clustering import PairKernelClustering


def random_pairs(rng, n_samples, n_pairs):
    """Pairs of random labels and weights: some occur twice, some with both labels."""
    rows = rng.integers(0, n_samples, n_pairs)
    cols = (rows + rng.integers(1, n_samples, n_pairs)) % n_samples
    labels = rng.choice([-1, 1], n_pairs)
    return Pairs(rows, cols, labels, n_samples=n_samples, weights=rng.uniform(0.5, 2.0, n_pairs))


def laplacian(X, n_neighbors):
    """From the definition, for distinct Euclidean distances."""
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    W = np.zeros_like(distances)
    for i, row in enumerate(distances):
        W[i, np.argsort(row)[1 : n_neighbors + 1]] = 1.0
    W = np.maximum(W, W.T)
    root = np.sqrt(W.sum(axis=1))
    return np.eye(len(X)) - W / np.outer(root, root)


def pair_matrix(pairs):
    """T with <T, K> = sum_t w_t y_t K_t for symmetric K."""
    T = np.zeros((pairs.n_samples, pairs.n_samples))
    np.add.at(T, (pairs.rows, pairs.cols), 0.5 * pairs.labels * pairs.weights)
    return T + T.T


def best_kernel(X, pairs, *, C, loss, p, bound):
    """The optimum and its kernel, from a semi-definite program."""
    n = len(X)
    K = cp.Variable((n, n), PSD=True)
    if p == 2:
        constraints = [cp.norm(K, "fro") <= np.sqrt(bound)]
    else:  # tr K^4 <= B, as K^2 <= M and ||M||_F^2 <= B
        M = cp.Variable((n, n), symmetric=True)
        constraints = [cp.bmat([[M, K], [K, np.eye(n)]]) >> 0, cp.norm(M, "fro") <= np.sqrt(bound)]
    margins = cp.multiply(pairs.labels, cp.hstack([K[i, j] for i, j in zip(pairs.rows, pairs.cols, strict=True)]))
    losses = -margins if loss == "linear" else cp.square(cp.pos(1 - margins)) / 2
    problem = cp.Problem(cp.Minimize(cp.trace(laplacian(X, 3) @ K) + C * (pairs.weights @ losses)), constraints)
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == cp.OPTIMAL
    return problem.value, K.value


@pytest.mark.parametrize("p", [2, 4])
@pytest.mark.parametrize("loss", ["linear", "squared_hinge"])
@pytest.mark.parametrize("bound", [None, 2.0])
def test_is_the_solution_of_the_semidefinite_program(rng, loss, p, bound):
    X, pairs = rng.normal(size=(12, 2)), random_pairs(rng, 12, 30)
    learner = NonparametricKernelLearner(C=1.5, loss=loss, p=p, bound=bound, n_neighbors=3, tol=1e-6, max_iter=500)
    learner.fit(X, pairs=pairs)
    optimum, K = best_kernel(X, pairs, C=1.5, loss=loss, p=p, bound=12.0 if bound is None else bound)
    assert learner.objective_ == pytest.approx(optimum, abs=1e-4)
    assert learner.converged_
    assert learner.dual_gap_ <= 1e-6 * max(1.0, abs(learner.objective_))
    assert np.allclose(learner.kernel(X), K, atol=0.02)


@pytest.mark.parametrize("p", [1.1, 1.5, 2.0, 5.0])
def test_linear_loss_attains_the_bound_and_nothing_feasible_is_better(rng, p):
    X, pairs = rng.normal(size=(15, 2)), random_pairs(rng, 15, 40)
    learner = NonparametricKernelLearner(p=p, bound=3.0, n_neighbors=3).fit(X, pairs=pairs)
    cost = laplacian(X, 3) - pair_matrix(pairs)
    assert np.sum(cost * learner.kernel(X)) == pytest.approx(learner.objective_)
    assert np.sum(learner.eigenvalues_**p) == pytest.approx(3.0)
    for _ in range(30):
        values, vectors = np.linalg.eigh(learner.kernel(X) + 0.1 * pair_matrix(random_pairs(rng, 15, 20)))
        values = np.maximum(values, 0.0)
        other = (vectors * values) @ vectors.T * (3.0 / np.sum(values**p)) ** (1 / p)
        assert np.sum(cost * other) >= learner.objective_ - 1e-9


def test_bounds_hold_when_stopped_early(rng):
    X, pairs = rng.normal(size=(10, 2)), random_pairs(rng, 10, 25)
    options = {"C": 2.0, "loss": "squared_hinge", "n_neighbors": 3}
    optimum, _ = best_kernel(X, pairs, C=2.0, loss="squared_hinge", p=2, bound=10.0)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        learner = NonparametricKernelLearner(**options, tol=1e-9, max_iter=1).fit(X, pairs=pairs)
    assert not learner.converged_
    assert learner.objective_ - learner.dual_gap_ <= optimum + 1e-6
    assert optimum <= learner.objective_ + 1e-6


def test_squared_hinge_under_a_small_bound_is_the_linear_loss(rng):
    X, pairs = rng.normal(size=(12, 2)), random_pairs(rng, 12, 30)
    linear = NonparametricKernelLearner(bound=1e-8).fit(X, pairs=pairs).kernel(X)
    hinge = NonparametricKernelLearner(bound=1e-8, loss="squared_hinge", tol=1e-9).fit(X, pairs=pairs).kernel(X)
    assert np.allclose(hinge, linear, atol=1e-3 * np.abs(linear).max())


@pytest.mark.parametrize("loss", ["linear", "squared_hinge"])
def test_a_pair_given_twice_is_a_pair_of_weight_two(rng, loss):
    X, pairs = rng.normal(size=(12, 2)), random_pairs(rng, 12, 30)
    double = Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=12, weights=2 * pairs.weights)
    learner = NonparametricKernelLearner(loss=loss, bound=1.0)
    once = learner.fit(X, pairs=pairs[:10] + double[10:]).kernel(X)
    assert np.allclose(learner.fit(X, pairs=pairs + pairs[10:]).kernel(X), once)


def test_contradictions_cancel_in_the_linear_loss(rng):
    X, pairs = rng.normal(size=(12, 2)), random_pairs(rng, 12, 30)
    against = Pairs(pairs.rows[:5], pairs.cols[:5], -pairs.labels[:5], n_samples=12, weights=pairs.weights[:5])
    learner = NonparametricKernelLearner()
    assert np.allclose(learner.fit(X, pairs=pairs + against).kernel(X), learner.fit(X, pairs=pairs[5:]).kernel(X))


def test_order_of_samples_does_not_matter(rng):
    X, pairs, order = rng.normal(size=(15, 2)), random_pairs(rng, 15, 40), rng.permutation(15)
    learner = NonparametricKernelLearner()
    K = learner.fit(X, pairs=pairs).kernel(X)
    permuted = learner.fit(X[order], pairs=pairs.restrict(order)).kernel(X[order])
    assert np.allclose(permuted, K[np.ix_(order, order)])


def test_samples_of_fit_are_recognised_and_equal_ones_told_apart(rng):
    X = rng.normal(size=(12, 2))
    X[7] = X[3]
    learner = NonparametricKernelLearner()
    F = learner.fit_transform(X, pairs=Pairs([3, 7], [0, 1], [1, -1], n_samples=12))
    assert np.array_equal(F, learner.features_)
    assert not np.allclose(F[3], F[7])
    assert np.array_equal(learner.transform(X[[5, 3, 2, 7]]), F[[5, 3, 2, 7]])
    assert np.array_equal(learner.transform(sp.csr_array(X)), F)
    assert F.shape[1] == len(learner.get_feature_names_out())


def test_new_samples_get_the_mean_of_their_neighbours(rng):
    X, new = rng.normal(size=(20, 2)), rng.normal(size=(4, 2))
    learner = NonparametricKernelLearner(n_neighbors=3).fit(X, pairs=random_pairs(rng, 20, 50))
    F = learner.transform(X)
    nearest = np.argsort(np.linalg.norm(new[:, None] - X[None], axis=2), axis=1)[:, :3]
    mixed = learner.transform(np.vstack([X[4], new]))
    assert np.allclose(mixed, np.vstack([F[4], F[nearest].mean(axis=1)]))
    assert np.allclose(learner.kernel(new, X), F[nearest].mean(axis=1) @ F.T)


def test_sparse_and_dense_agree(rng):
    X = rng.normal(size=(20, 6)) * (rng.random((20, 6)) < 0.5)
    pairs = random_pairs(rng, 20, 60)
    learner = NonparametricKernelLearner(metric="cosine", n_neighbors=3)
    dense = learner.fit(X, pairs=pairs).kernel(X)
    sparse = learner.fit(sp.csr_array(X), pairs=pairs)
    assert np.allclose(sparse.kernel(sp.csr_array(X)), dense)
    assert np.allclose(sparse.kernel(X), dense)


@pytest.mark.parametrize("normalize", [True, False])
def test_graph_of_inner_products(rng, normalize):
    X, pairs = rng.uniform(0.1, 1.0, size=(12, 3)), random_pairs(rng, 12, 30)
    learner = NonparametricKernelLearner(C=20.0, graph="linear", normalize_graph=normalize).fit(X, pairs=pairs)
    W = X @ X.T - np.diag((X**2).sum(axis=1))
    L = np.diag(W.sum(axis=1)) - W
    if normalize:
        L /= np.sqrt(np.outer(W.sum(axis=1), W.sum(axis=1)))
    values, vectors = np.linalg.eigh(20.0 * pair_matrix(pairs) - L)
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    assert positive.any()
    assert np.allclose(learner.kernel(X), np.sqrt(12.0) * positive / np.linalg.norm(positive))


def test_graph_carries_pairs_to_samples_without(rng):
    y = np.repeat([0, 1], 20)
    X = 6.0 * y[:, None] + rng.normal(size=(40, 2))
    pairs = Pairs.from_labels(np.where(np.arange(40) % 4 == 0, y, -1))
    K = NonparametricKernelLearner().fit(X, pairs=pairs).kernel(X)
    assert np.array_equal(K > 0, y[:, None] == y)


def test_clusters_the_classes(rng):
    y = np.repeat([0, 1, 2], 15)
    X = 8.0 * np.eye(3)[y] + rng.normal(size=(45, 3))
    pairs = Pairs.from_labels(y, n_pairs=300, random_state=0).flip(0.1, random_state=0)
    model = PairKernelClustering(NonparametricKernelLearner(), n_clusters=3, random_state=0).fit(X, pairs=pairs)
    assert normalized_mutual_info(y, model.labels_) == pytest.approx(1.0)


def test_zero_kernel_where_the_graph_outweighs_the_pairs(rng):
    X = np.arange(6.0)[:, None]
    with pytest.warns(UserWarning, match="learned kernel is zero: C=0.01"):
        learner = NonparametricKernelLearner(C=0.01, n_neighbors=1).fit(X, pairs=Pairs([0], [1], [-1], n_samples=6))
    assert learner.transform(X).shape == (6, 0)
    assert learner.objective_ == 0.0


PAIRS = Pairs([0, 1], [1, 2], [1, -1], n_samples=3)
X3 = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]])


@pytest.mark.parametrize(
    ("options", "X", "pairs", "message"),
    [
        ({"C": 0.0}, X3, PAIRS, "C must be a positive number, got 0.0"),
        ({"p": 1}, X3, PAIRS, "p must be a number above 1, got 1"),
        ({"p": np.inf}, X3, PAIRS, "p must be a number above 1, got inf"),
        ({"bound": -1.0}, X3, PAIRS, "bound must be a positive number, got -1.0"),
        ({"tol": 0}, X3, PAIRS, "tol must be a positive number, got 0"),
        ({"n_neighbors": 0}, X3, PAIRS, "n_neighbors must be an integer of at least 1, got 0"),
        ({"loss": "hinge"}, X3, PAIRS, 'loss must be "linear" or "squared_hinge", got \'hinge\''),
        ({"graph": "cliques"}, X3, PAIRS, 'graph must be "neighbors" or "linear", got \'cliques\''),
        ({"graph": "linear"}, X3 - 1.0, PAIRS, "needs inner products that are not negative"),
        ({"metric": "no such"}, X3, PAIRS, "metric"),
        ({"max_samples": 2}, X3, PAIRS, "more than max_samples=2"),
        ({}, X3, None, "there are no pairs"),
        ({}, X3, PAIRS[:0], "there are no pairs"),
        ({}, X3[:2], PAIRS, "pairs are over n_samples=3"),
        ({}, np.array([[np.nan], [1.0], [2.0]]), PAIRS, "NaN"),
    ],
)
def test_bad_input(options, X, pairs, message):
    with pytest.raises(ValueError, match=message):
        NonparametricKernelLearner(**options).fit(X, pairs=pairs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": "big"}, "C must be a positive number, got 'big'"),
        ({"max_iter": 1.5}, "max_iter must be an integer of at least 1, got 1.5"),
    ],
)
def test_options_of_the_wrong_type(options, message):
    with pytest.raises(TypeError, match=message):
        NonparametricKernelLearner(**options).fit(X3, pairs=PAIRS)


def test_pairs_must_be_pairs():
    with pytest.raises(TypeError, match=r"pairs must be a kernelwise.Pairs"):
        NonparametricKernelLearner().fit(X3, pairs=[(0, 1, 1)])
