"""SKL against the quadratic program of its paper, solved by cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from kernelwise import Pairs, SpectralKernelLearner
from kernelwise.kernels import Gaussian
from kernelwise.metrics import normalized_mutual_info
from kernelwise.pairs.clustering import PairKernelClustering
from kernelwise.papers.lkcnpc import spectral_kernel


def random_pairs(rng, n_samples, n_pairs):
    """Pairs of random labels and weights: some occur twice, some with both labels."""
    rows = rng.integers(0, n_samples, n_pairs)
    cols = (rows + rng.integers(1, n_samples, n_pairs)) % n_samples
    labels = rng.choice([-1, 1], n_pairs, p=[0.4, 0.6])
    return Pairs(rows, cols, labels, n_samples=n_samples, weights=rng.uniform(0.5, 2.0, n_pairs))


def eigenvectors(gram, count):
    values, vectors = np.linalg.eigh(gram)
    return values[::-1][:count], vectors[:, ::-1][:, :count]


def alignment(K, pairs):
    values = K[pairs.rows, pairs.cols]
    norms = np.sqrt((pairs.weights * values**2).sum() * pairs.weights.sum())
    return (pairs.weights * pairs.labels * values).sum() / norms


def best_spectrum(U, pairs, decay):
    """min ||K||_w  s.t.  <K, T>_w = 1 and the order of the spectrum, as the paper writes it."""
    G = U[pairs.rows] * U[pairs.cols]
    mu = cp.Variable(U.shape[1], nonneg=True)
    root = np.sqrt(pairs.weights)
    problem = cp.Problem(
        cp.Minimize(cp.norm((root[:, None] * G) @ mu)),
        [(pairs.weights * pairs.labels) @ G @ mu == 1, mu[:-1] >= decay * mu[1:]],
    )
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == cp.OPTIMAL
    return mu.value


@pytest.mark.parametrize("decay", [1.0, 1.3, 3.0])
@pytest.mark.parametrize("kernels", [None, Gaussian(width=2.0)])
def test_is_the_solution_of_the_program_of_the_paper(rng, decay, kernels):
    X = rng.normal(size=(25, 8))
    pairs = random_pairs(rng, 25, 120)
    learner = SpectralKernelLearner(kernels, n_components=6, decay=decay).fit(X, pairs=pairs)
    _, U = eigenvectors(X @ X.T if kernels is None else kernels(X), 6)
    mu = best_spectrum(U, pairs, decay)
    expected = 25 * (U * mu) @ U.T / mu.sum()
    assert np.allclose(learner.kernel(X), expected, atol=1e-4)
    assert learner.alignment_ == pytest.approx(alignment(expected, pairs), abs=1e-6)
    assert learner.alignment_ == pytest.approx(alignment(learner.kernel(X), pairs), abs=1e-9)
    assert learner.kkt_residual_ < 1e-10


@pytest.mark.parametrize("decay", [1.0, 2.0])
def test_spectrum_decays_and_no_other_is_better_aligned(rng, decay):
    X = rng.normal(size=(40, 30))
    pairs = random_pairs(rng, 40, 300)
    learner = SpectralKernelLearner(n_components=30, decay=decay).fit(X, pairs=pairs)
    mu = learner.kernel_weights_
    assert (mu[:-1] >= decay * mu[1:] * (1 - 1e-12)).all()
    assert mu.min() >= 0
    assert mu.sum() == pytest.approx(40)
    U = eigenvectors(X @ X.T, 30)[1]
    for _ in range(50):
        other = np.cumsum(rng.exponential(size=30) * (rng.random(30) < 0.3))[::-1] * decay ** -np.arange(30.0)
        if other.any():
            assert alignment((U * other) @ U.T, pairs) <= learner.alignment_ + 1e-12


def test_a_pair_given_twice_is_a_pair_of_weight_two(rng):
    X = rng.normal(size=(15, 4))
    pairs = random_pairs(rng, 15, 60)
    double = Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=15, weights=2 * pairs.weights)
    learn = SpectralKernelLearner(n_components=4)
    once = learn.fit(X, pairs=pairs[:20] + double[20:]).kernel(X)
    assert np.allclose(learn.fit(X, pairs=pairs + pairs[20:]).kernel(X), once)


def test_order_of_samples_does_not_matter(rng):
    X = rng.normal(size=(20, 5))
    pairs, order = random_pairs(rng, 20, 80), rng.permutation(20)
    K = SpectralKernelLearner(n_components=5).fit(X, pairs=pairs).kernel(X)
    permuted = SpectralKernelLearner(n_components=5).fit(X[order], pairs=pairs.restrict(order)).kernel(X[order])
    assert np.allclose(permuted, K[np.ix_(order, order)])


def test_pairs_in_pieces_are_the_same_pairs(rng, monkeypatch):
    X, pairs = rng.normal(size=(20, 5)), random_pairs(rng, 20, 100)
    whole = SpectralKernelLearner().fit(X, pairs=pairs)
    monkeypatch.setattr(spectral_kernel, "CHUNK_VALUES", 15)
    pieces = SpectralKernelLearner().fit(X, pairs=pairs)
    assert np.allclose(pieces.kernel_weights_, whole.kernel_weights_)


def test_new_samples_are_placed_by_nystroem(rng):
    X, new = rng.normal(size=(30, 3)), rng.normal(size=(7, 3))
    kernel = Gaussian(width=1.5)
    learner = SpectralKernelLearner(kernel, n_components=5).fit(X, pairs=random_pairs(rng, 30, 90))
    values, U = eigenvectors(kernel(X), 5)
    placed = kernel(new, X) @ U / values
    assert np.allclose(learner.kernel(new, X), (placed * learner.kernel_weights_) @ U.T, atol=1e-6)
    assert np.allclose(learner.eigenvalues_, values)


def test_similarity_instead_of_features(rng):
    X, new = rng.normal(size=(30, 3)), rng.normal(size=(7, 3))
    kernel, pairs = Gaussian(width=1.5), random_pairs(rng, 30, 90)
    reference = SpectralKernelLearner(kernel, n_components=5).fit(X, pairs=pairs)
    learner = SpectralKernelLearner("precomputed", n_components=5)
    for similarity in (kernel(X), sp.csr_array(kernel(X)), np.stack([kernel(X) / 2, kernel(X) * 3 / 2], axis=2)):
        learner.fit(similarity, pairs=pairs)
        assert np.allclose(learner.kernel(similarity), reference.kernel(X), atol=1e-6)
    cross = kernel(new, X)
    assert np.allclose(
        learner.transform(np.stack([cross, cross], axis=2)) @ learner.transform(similarity).T,
        reference.kernel(new, X),
        atol=1e-6,
    )


def test_similarity_may_be_indefinite(rng):
    S = rng.normal(size=(20, 20))
    S = S + S.T
    learner = SpectralKernelLearner("precomputed", n_components=20).fit(S, pairs=random_pairs(rng, 20, 60))
    assert len(learner.eigenvalues_) == (np.linalg.eigvalsh(S) > 0).sum()
    assert np.linalg.eigvalsh(learner.kernel(S)).min() > -1e-9


def test_sparse_and_dense_features_agree(rng):
    X = rng.normal(size=(20, 6)) * (rng.random((20, 6)) < 0.5)
    pairs = random_pairs(rng, 20, 60)
    dense = SpectralKernelLearner().fit(X, pairs=pairs)
    sparse = SpectralKernelLearner().fit(sp.csr_array(X), pairs=pairs)
    assert np.allclose(dense.kernel(X), sparse.kernel(sp.csr_array(X)))
    assert len(dense.get_feature_names_out()) == dense.transform(X).shape[1]


def test_zero_kernel_where_nothing_is_aligned(rng):
    X = rng.uniform(1.0, 2.0, size=(10, 1))
    negative = Pairs([0, 1], [2, 3], [-1, -1], n_samples=10)
    with pytest.warns(UserWarning, match="learned kernel is zero"):
        learner = SpectralKernelLearner().fit(X, pairs=negative)
    assert not learner.kernel(X).any()
    assert learner.alignment_ == 0.0


def test_better_aligned_than_the_initial_kernel_and_clusters_the_classes(rng):
    y = np.repeat([0, 1, 2], 20)
    X = np.column_stack([np.eye(3)[y], 0.5 * rng.normal(size=(60, 8))])
    pairs = Pairs.from_labels(y, n_pairs=400, random_state=0)
    model = PairKernelClustering(SpectralKernelLearner(), n_clusters=3, random_state=0).fit(X, pairs=pairs)
    assert model.learner_.alignment_ > alignment(X @ X.T, pairs) + 0.1
    assert normalized_mutual_info(y, model.labels_) > 0.9


def test_without_pairs_the_clustering_has_the_initial_kernel(rng):
    X = rng.normal(size=(12, 3))
    model = PairKernelClustering(SpectralKernelLearner(), n_clusters=2, random_state=0).fit(X)
    assert np.allclose(model.learner_.kernel(X), 12 * X @ X.T / np.trace(X @ X.T))


PAIRS = Pairs([0, 1], [1, 2], [1, -1], n_samples=3)
X3 = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]])


@pytest.mark.parametrize(
    ("options", "X", "pairs", "message"),
    [
        ({"n_components": 0}, X3, PAIRS, "n_components must be an integer of at least 1, got 0"),
        ({"decay": 0.5}, X3, PAIRS, "decay must be a number of at least 1, got 0.5"),
        ({"decay": np.nan}, X3, PAIRS, "decay must be a number of at least 1, got nan"),
        ({"decay": "fast"}, X3, PAIRS, "decay must be a number of at least 1, got 'fast'"),
        ({"kernels": "precomputed"}, X3, PAIRS, "must have shape"),
        ({"kernels": "precomputed"}, np.triu(np.ones((3, 3))), PAIRS, "must be symmetric"),
        ({"kernels": "precomputed"}, -np.eye(3), PAIRS, "no positive eigenvalue"),
        ({}, np.zeros((3, 2)), PAIRS, "no positive eigenvalue"),
        ({}, X3, None, "there are no pairs"),
        ({}, X3, PAIRS[:0], "there are no pairs"),
        ({}, X3[:2], PAIRS, "pairs are over n_samples=3"),
        ({}, np.array([[np.nan], [1.0], [2.0]]), PAIRS, "NaN"),
    ],
)
def test_bad_input(options, X, pairs, message):
    with pytest.raises(ValueError, match=message):
        SpectralKernelLearner(**options).fit(X, pairs=pairs)


def test_options_must_be_of_the_right_type():
    with pytest.raises(TypeError, match=r"n_components must be an integer of at least 1, got 2\.5"):
        SpectralKernelLearner(n_components=2.5).fit(X3, pairs=PAIRS)


def test_pairs_must_be_pairs():
    with pytest.raises(TypeError, match=r"pairs must be a kernelwise.Pairs"):
        SpectralKernelLearner().fit(X3, pairs=[(0, 1, 1)])
