"""PairKernelClustering: spectral clustering of learned kernels, against dense algebra and the paper's figures."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from kernelwise import PairNoise, Pairs, UniformKernel
from kernelwise.datasets import load_citeseer, load_cora
from kernelwise.kernels import Gaussian, gaussian_kernels
from kernelwise.metrics import clustering_accuracy, normalized_mutual_info
from kernelwise.pairs.clustering import PairKernelClustering
from kernelwise.pairs.learner import PairKernelLearner


@pytest.fixture
def data(rng):
    """Three classes told apart by one attribute each, six attributes of noise, and pairs with one in five wrong."""
    y = np.repeat([0, 1, 2], 40)
    X = np.hstack([np.eye(3)[y], 3.0 * (rng.random((120, 6)) < 0.5)])
    pairs = Pairs.from_labels(y)
    balanced = pairs.positive[::2] + pairs.negative[::4]
    return X, y, balanced.flip(0.2, random_state=0)


def dense_embedding(K, n_components):
    """Ng, Jordan and Weiss, written out with full matrices."""
    scale = 1 / np.sqrt(K.sum(axis=1))
    _, vectors = scipy.linalg.eigh(K * np.outer(scale, scale))
    leading = vectors[:, ::-1][:, :n_components]
    return leading / np.linalg.norm(leading, axis=1, keepdims=True)


def same_up_to_rotation(left, right):
    return np.allclose(left @ left.T, right @ right.T, atol=1e-8)


def test_the_embedding_is_that_of_the_dense_kernel(data):
    X, _, pairs = data
    model = PairKernelClustering(n_clusters=3, random_state=0).fit(X, pairs=pairs)
    expected = dense_embedding(model.learner_.kernel(X), 3)
    assert model.embedding_.shape == (120, 3)
    assert same_up_to_rotation(model.embedding_, expected)


def test_pairs_find_the_classes_that_the_attributes_hide(data):
    X, y, pairs = data
    learned = PairKernelClustering(n_clusters=3, random_state=0).fit(X, pairs=pairs)
    unsupervised = PairKernelClustering(n_clusters=3, random_state=0).fit(X)
    assert clustering_accuracy(y, learned.labels_) > 0.95
    assert clustering_accuracy(y, unsupervised.labels_) < 0.8


def test_labels_are_a_local_optimum_of_k_means_and_predict_gives_them_back(data):
    X, _, pairs = data
    model = PairKernelClustering(n_clusters=3, random_state=0).fit(X, pairs=pairs)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.embed(X), model.embedding_, atol=1e-8)
    for cluster in range(3):
        np.testing.assert_allclose(
            model.cluster_centers_[cluster], model.embedding_[model.labels_ == cluster].mean(axis=0)
        )
    inertia = np.sum((model.embedding_ - model.cluster_centers_[model.labels_]) ** 2)
    best = KMeans(3, n_init=10, random_state=0).fit(model.embedding_).inertia_
    assert inertia <= best * (1 + 1e-6)


def test_new_samples_are_placed_by_nystroems_formula(data):
    X, y, _ = data
    train, new = np.arange(120) % 4 > 0, np.arange(120) % 4 == 0
    pairs = Pairs.from_labels(y[train]).flip(0.1, random_state=0)
    learner = PairKernelLearner(fit_intercept=True)
    model = PairKernelClustering(learner, n_clusters=3, random_state=0).fit(X[train], pairs=pairs)
    K, cross = model.learner_.kernel(X[train]), model.learner_.kernel(X[new], X[train])
    scale = 1 / np.sqrt(K.sum(axis=1))
    values, vectors = scipy.linalg.eigh(K * np.outer(scale, scale))
    rows = (cross / np.sqrt(cross.sum(axis=1))[:, None] * scale) @ vectors[:, :-4:-1] / values[:-4:-1]
    expected = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(model.embed(X[new])), np.abs(expected), atol=1e-8)
    assert clustering_accuracy(y[new], model.predict(X[new])) > 0.9


@pytest.mark.parametrize("normalize", ["symmetric", "none"])
def test_a_given_kernel_and_its_features_give_the_same_clusters(data, normalize):
    X, _, _ = data
    options = {"n_clusters": 3, "normalize": normalize, "random_state": 0}
    features = PairKernelClustering(UniformKernel(), **options).fit(X[:90])
    kernel = PairKernelClustering("precomputed", **options).fit(X[:90] @ X[:90].T / 9)
    sparse = PairKernelClustering("precomputed", **options).fit(sp.csr_array(X[:90] @ X[:90].T / 9))
    assert kernel.learner_ is None
    for model in (kernel, sparse):
        assert same_up_to_rotation(model.embedding_, features.embedding_)
        assert normalized_mutual_info(model.labels_, features.labels_) == pytest.approx(1.0)
        predicted = model.predict(X[90:] @ X[:90].T / 9)
        assert normalized_mutual_info(
            np.r_[model.labels_, predicted], np.r_[features.labels_, features.predict(X[90:])]
        ) == pytest.approx(1.0)


def test_without_supervision_kernels_get_equal_weights(data):
    X, _, _ = data
    options = {"n_clusters": 3, "random_state": 0}
    default = PairKernelClustering(**options).fit(X)
    uniform = PairKernelClustering(UniformKernel(), **options).fit(X)
    unknown = PairKernelClustering(**options).fit(X, np.full(120, -1))
    np.testing.assert_array_equal(default.labels_, uniform.labels_)
    np.testing.assert_array_equal(default.labels_, unknown.labels_)
    np.testing.assert_allclose(default.learner_.kernel_weights_, 1 / 9)
    gaussians = gaussian_kernels([0.5, 1.0], scope="all")
    chosen = PairKernelClustering(PairKernelLearner(gaussians), **options).fit(X)
    expected = (Gaussian(width=0.5)(X) + Gaussian(width=1.0)(X)) / 2
    np.testing.assert_allclose(chosen.learner_.kernel(X), expected, atol=1e-8)


def test_labels_known_in_part_supervise(data):
    X, y, _ = data
    partial = np.where(np.arange(120) % 3 == 0, y, -1)
    model = PairKernelClustering(n_clusters=3, random_state=0).fit(X, partial)
    assert clustering_accuracy(y, model.labels_) > 0.95


def test_the_learner_given_is_not_touched(data):
    X, _, pairs = data
    learner = PairKernelLearner(alpha=1e-3)
    model = PairKernelClustering(learner, n_clusters=3, random_state=0).fit(X, pairs=pairs)
    assert not hasattr(learner, "kernel_weights_")
    assert model.learner_.alpha_ == 1e-3


def test_fewer_coordinates_where_the_kernel_has_a_lower_rank(rng):
    y = np.repeat([0, 1, 2], 20)
    X = np.column_stack([np.array([1.0, 5.0, 9.0])[y] + 0.1 * rng.random(60)])
    model = PairKernelClustering(n_clusters=3, random_state=0, normalize="none").fit(X)
    assert model.embedding_.shape == (60, 1)
    assert clustering_accuracy(y, model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_signed_kernels_are_not_normalised(rng):
    y = np.repeat([0, 1, 2], 20)
    angles = 2 * np.pi * y / 3
    X = np.column_stack([np.cos(angles), np.sin(angles)]) + 0.1 * rng.normal(size=(60, 2))
    model = PairKernelClustering(n_clusters=3, random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) == 1.0
    with pytest.raises(ValueError, match="row sums of the similarity must not be negative"):
        PairKernelClustering(n_clusters=3, normalize="symmetric").fit(X)


def test_isolated_samples_are_placed_at_the_origin(data):
    X, _, _ = data
    X = np.vstack([X, np.zeros((2, 9))])
    model = PairKernelClustering(n_clusters=3, random_state=0).fit(X)
    assert not model.embedding_[-2:].any()
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.embed(np.zeros((1, 9))), np.zeros((1, 3)))


def test_a_kernel_without_any_weight_is_replaced_and_said_so(data):
    X, _, pairs = data
    mostly_negative = pairs.positive[:2] + pairs.negative
    learner = PairKernelLearner(fit_intercept=False)
    with (
        pytest.warns(UserWarning, match="clustered by the kernels with equal weights instead"),
        pytest.warns(UserWarning, match="so the learned kernel is zero"),
    ):
        model = PairKernelClustering(learner, n_clusters=3, random_state=0).fit(X, pairs=mostly_negative)
    np.testing.assert_allclose(model.learner_.kernel_weights_, 1 / 9)


def test_measurements_in_different_units_and_mostly_negative_pairs():
    """Wine: one column is a hundred times as large as the others, and a third of random pairs are positive."""
    X, y = load_wine(return_X_y=True)
    pairs = Pairs.from_labels(y, n_pairs=len(y), random_state=0)
    model = PairKernelClustering(n_clusters=3, random_state=0).fit(X, pairs=pairs)
    assert normalized_mutual_info(y, model.labels_) > 0.7
    paper = PairKernelLearner(fit_intercept=False, standardize=False)
    with (
        pytest.warns(UserWarning, match="30% of the pairs are positive"),
        pytest.warns(UserWarning, match="clustered by the kernels with equal weights instead"),
    ):
        before = PairKernelClustering(paper, n_clusters=3, random_state=0).fit(X, pairs=pairs)
    assert normalized_mutual_info(y, before.labels_) < 0.5


def test_frames_sparse_data_and_stacks_reach_the_learner(data):
    X, _, pairs = data
    options = {"n_clusters": 3, "random_state": 0}
    plain = PairKernelClustering(**options).fit(X, pairs=pairs)
    columns = [f"word{j}" for j in range(9)]
    framed = PairKernelClustering(**options).fit(pd.DataFrame(X, columns=columns), pairs=pairs)
    assert framed.learner_.kernel_names_[0] == "linear[word0]"
    assert framed.feature_names_in_.tolist() == columns
    sparse = PairKernelClustering(**options).fit(sp.csr_array(X), pairs=pairs)
    stack = np.stack([X[:, [j]] @ X[:, [j]].T for j in range(9)], axis=-1)
    stacked = PairKernelClustering(PairKernelLearner("precomputed"), **options).fit(stack, pairs=pairs)
    for other in (framed, sparse, stacked):
        assert normalized_mutual_info(plain.labels_, other.labels_) == pytest.approx(1.0)
    np.testing.assert_array_equal(stacked.predict(stack[:10]), stacked.labels_[:10])


def test_clone_pickle_and_pipeline(data):
    X, _, pairs = data
    model = PairKernelClustering(PairKernelLearner(alpha=1e-3), n_clusters=3, random_state=0).fit(X, pairs=pairs)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    np.testing.assert_array_equal(clone(model).fit_predict(X, pairs=pairs), model.labels_)
    with config_context(enable_metadata_routing=True):
        last = PairKernelClustering(n_clusters=3, random_state=0).set_fit_request(pairs=True)
        pipeline = make_pipeline(MaxAbsScaler(), last).fit(X, pairs=pairs)
    np.testing.assert_array_equal(pipeline.predict(X), pipeline[-1].labels_)


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        ({"learner": "uniform"}, {}, 'learner must be a transformer, "precomputed" or None'),
        ({"learner": "precomputed"}, {}, r"must be a square kernel matrix, got shape \(120, 9\)"),
        ({"n_clusters": 0}, {}, "n_clusters must be an integer of at least 1"),
        ({"n_clusters": 200}, {}, "n_clusters=200 is more than the 120 samples"),
        ({"n_components": 0}, {}, "n_components must be an integer of at least 1"),
        ({"n_init": 0}, {}, "n_init must be an integer of at least 1"),
        ({"normalize": "random-walk"}, {}, 'normalize must be "auto", "symmetric" or "none"'),
        ({}, {"X": np.zeros((120, 9))}, "kernel is zero on all samples"),
        ({}, {"X": np.full((120, 9), np.nan)}, "NaN"),
        ({}, {"pairs": Pairs([0], [1], [1], n_samples=7)}, "pairs are over n_samples=7 samples, but X has 120"),
        ({}, {"pairs": Pairs([0], [1], [1], n_samples=120)}, "no negative"),
    ],
)
def test_bad_input(data, options, change, message):
    given = {"X": data[0], **change}
    with pytest.raises(ValueError, match=message):
        PairKernelClustering(**options).fit(**given)


def test_counts_are_integers(data):
    with pytest.raises(TypeError, match=r"n_clusters must be an integer of at least 1, got 2\.5"):
        PairKernelClustering(n_clusters=2.5).fit(data[0])


def test_new_kernel_values_must_fit(data):
    X, _, _ = data
    model = PairKernelClustering("precomputed", n_clusters=3).fit(X @ X.T)
    with pytest.raises(ValueError, match="X has 9 features, but PairKernelClustering is expecting 120"):
        model.predict(X)


def figures(papers, seeds):
    """Mean NMI over draws of the unlinked pairs, for equal and for learned weights."""
    y, n_clusters = papers.target, len(papers.target_names)
    found = {"equal": [], "learned": []}
    for seed in seeds:
        pairs = Pairs.from_graph(papers.edges, n_samples=len(y), random_state=seed)
        checked = np.random.RandomState(seed).choice(len(pairs), len(pairs) // 10, replace=False)
        noise = PairNoise.estimate(pairs, pairs[checked].true_labels(y), checked)
        for name, learner in (("equal", UniformKernel()), ("learned", PairKernelLearner(noise=noise))):
            model = PairKernelClustering(learner, n_clusters=n_clusters, random_state=seed)
            found[name].append(normalized_mutual_info(y, model.fit(papers.data, pairs=pairs).labels_))
    return {name: np.mean(values) for name, values in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("load", "equal", "learned"), [(load_cora, 0.165, 0.30), (load_citeseer, 0.200, 0.28)])
def test_the_papers_figures(load, equal, learned):
    found = figures(load(), range(5))
    assert found["equal"] == pytest.approx(equal, abs=0.01)
    assert found["learned"] >= learned


@pytest.mark.parametrize(("load", "least"), [(load_cora, 0.28), (load_citeseer, 0.27)])
def test_one_draw_of_the_papers_figures(load, least):
    found = figures(load(), [0])
    assert found["learned"] > least
    assert found["learned"] > found["equal"] + 0.05
