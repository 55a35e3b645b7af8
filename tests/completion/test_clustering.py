"""Clusterings from a similarity and known pairs: PairCompletionClustering and the baseline that substitutes entries."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from sklearn.base import clone
from sklearn.metrics import euclidean_distances
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize

from kernelwise import (
    ConstrainedSpectralClustering,
    PairCompleter,
    PairCompletionClustering,
    Pairs,
    SpectralKernelLearner,
    plan_labelling,
)
from kernelwise.completion.basis import refuse_distances
from kernelwise.datasets import load_citeseer, load_splice, make_block_similarity
from kernelwise.metrics import clustering_accuracy, normalized_mutual_info
from kernelwise.pairs.clustering import PairKernelClustering
from kernelwise.papers.tpcmc.constrained_spectral import entries, with_known_pairs
from kernelwise.spectral import GramFactor


@pytest.fixture(scope="module")
def blocks():
    S, y = make_block_similarity(200, 4, random_state=0)
    known = Pairs.from_labels(np.where(np.arange(200) % 10 < 3, y, -1), n_pairs=600, random_state=0)
    return S, y, known


def dense_embedding(Z, n_components):
    """Ng, Jordan and Weiss, written out with full matrices."""
    scale = 1 / np.sqrt(Z.sum(axis=1))
    leading = np.linalg.eigh(Z * np.outer(scale, scale))[1][:, ::-1][:, :n_components]
    return leading / np.linalg.norm(leading, axis=1, keepdims=True)


def same_up_to_rotation(left, right):
    return np.allclose(left @ left.T, right @ right.T, atol=1e-6)


def test_the_embedding_is_that_of_the_dense_label_matrix(blocks):
    S, y, known = blocks
    model = PairCompletionClustering(4, completer=PairCompleter(8), random_state=0).fit(S, pairs=known)
    assert same_up_to_rotation(model.embedding_, dense_embedding(model.completer_.label_matrix(), 4))
    assert clustering_accuracy(y, model.labels_) == 1.0


def test_predict_gives_back_the_labels_and_places_new_samples(blocks):
    S, y, known = blocks
    model = PairCompletionClustering(4, completer=PairCompleter(8), random_state=0).fit(S, pairs=known)
    np.testing.assert_array_equal(model.predict(S), model.labels_)
    new = np.stack([S[y == label].mean(axis=0) for label in range(4)])
    assert len(set(model.predict(new))) == 4
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_array_equal(clone(model).fit(S, pairs=known).labels_, model.labels_)


def test_without_supervision_the_similarity_is_clustered(blocks):
    S, y, _ = blocks
    model = PairCompletionClustering(4, random_state=0).fit(S)
    unknown = PairCompletionClustering(4, random_state=0).fit(S, np.full(200, -1))
    assert model.completer_ is None
    assert same_up_to_rotation(model.embedding_, dense_embedding(S, 4))
    np.testing.assert_array_equal(model.labels_, unknown.labels_)
    np.testing.assert_array_equal(model.predict(S), model.labels_)
    assert clustering_accuracy(y, model.labels_) == 1.0


def test_labels_known_in_part_supervise(blocks):
    S, y, _ = blocks
    model = PairCompletionClustering(4, random_state=0).fit(S, np.where(np.arange(200) % 4 == 0, y, -1))
    assert model.completer_ is not None
    assert clustering_accuracy(y, model.labels_) == 1.0


def substituted(S, known):
    changed = S.copy()
    values = (known.labels > 0).astype(float)
    changed[known.rows, known.cols] = changed[known.cols, known.rows] = values
    return changed


def test_known_entries_are_substituted_whatever_the_similarity_is_made_of(blocks, rng):
    _, y, known = blocks
    features = normalize(np.eye(4)[y] + 0.3 * rng.random((200, 4)))
    S = features @ features.T
    expected = substituted(S, known)
    forms = [S, sp.csr_array(S), GramFactor(features), GramFactor(sp.csr_array(features)), aslinearoperator(S)]
    for form in forms:
        np.testing.assert_allclose(with_known_pairs(form, known) @ np.eye(200), expected, atol=1e-12)
    models = [ConstrainedSpectralClustering(4, random_state=0).fit(form, pairs=known) for form in forms]
    for model in models:
        assert same_up_to_rotation(model.embedding_, dense_embedding(expected, 4))
        assert normalized_mutual_info(models[0].labels_, model.labels_) == pytest.approx(1.0)


@pytest.mark.parametrize("n_asked", [0, 3, 2000])
@pytest.mark.parametrize("form", [sp.csr_array, np.asarray])
def test_single_entries_of_a_factored_similarity_are_inner_products_of_its_rows(form, n_asked, rng):
    F = rng.normal(size=(150, 6)) * (rng.random((150, 6)) < 0.5)
    rows, cols = rng.integers(0, 150, (2, n_asked))
    expected = (F @ F.T)[rows, cols]
    for similarity in (GramFactor(form(F)), GramFactor(form(F)).as_operator()):
        np.testing.assert_allclose(entries(similarity, rows, cols), expected, atol=1e-12)


def test_sparse_similarities_stay_sparse(blocks):
    S, _, known = blocks
    assert sp.issparse(with_known_pairs(sp.csr_array(S * (S > 1)), known))


def test_known_pairs_help_the_baseline():
    S, y = make_block_similarity(90, 3, noise=6.0, random_state=0)
    S /= S.max()
    known = Pairs.from_labels(y, n_pairs=3000, random_state=0)
    plain = ConstrainedSpectralClustering(3, random_state=0).fit(S)
    informed = ConstrainedSpectralClustering(3, random_state=0).fit(S, pairs=known)
    assert normalized_mutual_info(y, informed.labels_) > normalized_mutual_info(y, plain.labels_) + 0.1


@pytest.mark.parametrize(
    ("model", "change", "error", "message"),
    [
        (PairCompletionClustering(0), {}, ValueError, "n_clusters must be an integer of at least 1"),
        (PairCompletionClustering(500), {}, ValueError, "n_clusters=500 is more than the 200 samples"),
        (PairCompletionClustering(4, n_init=0), {}, ValueError, "n_init must be an integer"),
        (PairCompletionClustering(4, normalize="rows"), {}, ValueError, "normalize must be"),
        (PairCompletionClustering(4, completer="auto"), {}, TypeError, "completer must be a PairCompleter or None"),
        (PairCompletionClustering(4), {"X": np.ones((200, 3))}, ValueError, "must be a square matrix"),
        (PairCompletionClustering(4), {"X": np.full((200, 200), np.nan)}, ValueError, "NaN"),
        (PairCompletionClustering(4), {"pairs": Pairs([0], [1], [1], n_samples=3)}, ValueError, "n_samples=3"),
        (ConstrainedSpectralClustering(0), {}, ValueError, "n_clusters must be an integer of at least 1"),
        (ConstrainedSpectralClustering(500), {}, ValueError, "n_clusters=500 is more than"),
        (
            ConstrainedSpectralClustering(4, n_components=0),
            {},
            ValueError,
            "n_components must be an integer of at least 1",
        ),
        (ConstrainedSpectralClustering(4, normalize="rows"), {}, ValueError, "normalize must be"),
        (ConstrainedSpectralClustering(4), {"X": np.ones((200, 3))}, ValueError, "must be a square matrix"),
        (ConstrainedSpectralClustering(4), {"pairs": Pairs([0], [1], [1], n_samples=3)}, ValueError, "n_samples=3"),
    ],
)
def test_bad_input(blocks, model, change, error, message):
    S, _, known = blocks
    with pytest.raises(error, match=message):
        model.fit(**{"X": S, "pairs": known} | change)


def test_spectral_kernels_can_align_with_the_label_matrix(blocks):
    S, _, known = blocks
    learner = SpectralKernelLearner("precomputed", n_components=8, different=0.0, random_state=0).fit(S, pairs=known)
    fitted, target = learner.kernel(S)[known.rows, known.cols], (known.labels > 0).astype(float)
    cosine_of_angle = fitted @ target / np.linalg.norm(fitted) / np.linalg.norm(target)
    assert learner.alignment_ == pytest.approx(cosine_of_angle)
    plain = S[known.rows, known.cols]
    assert learner.alignment_ > plain @ target / np.linalg.norm(plain) / np.linalg.norm(target)


def cosine(data):
    return normalize(sp.csr_array(data.data, dtype=float))


def draw(y, seed, share=0.2):
    """A fifth of the samples, and a tenth of the entries of their label matrix."""
    rng = np.random.RandomState(seed)
    m = int(share * len(y))
    labelled = np.isin(np.arange(len(y)), rng.choice(len(y), m, replace=False))
    codes = np.where(labelled, np.unique(y, return_inverse=True)[1], -1)
    return Pairs.from_labels(codes, n_pairs=m * m // 20, random_state=rng)


@pytest.mark.parametrize("method", ["direct", "completion"])
def test_one_draw_of_the_papers_figure(method):
    data = load_splice(letter_order="AGCT")
    completer = PairCompleter(50, method=method, calibrate=False, random_state=0)
    model = PairCompletionClustering(2, completer=completer, random_state=0)
    model.fit(GramFactor(cosine(data)), pairs=draw(data.target, 0))
    assert normalized_mutual_info(data.target, model.labels_) >= 0.23


@pytest.mark.filterwarnings("ignore:the estimated label matrix is zero. what the known pairs say")
def test_pairs_that_say_nothing_leave_the_similarity(blocks):
    S, y, known = blocks
    chance = known.flip(0.5, random_state=0)
    completer = PairCompleter(8, penalty=1e6, random_state=0)
    with pytest.warns(UserWarning, match="the estimated label matrix is zero; the similarity itself is clustered"):
        model = PairCompletionClustering(4, completer=completer, random_state=0).fit(S, pairs=chance)
    assert model.completer_ is None
    assert clustering_accuracy(y, model.labels_) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "n_clusters", "least"), [(load_citeseer, 6, 0.36), (lambda: load_splice(letter_order="AGCT"), 2, 0.23)]
)
def test_the_papers_order_of_methods(load, n_clusters, least):
    data = load()
    X, y = cosine(data), data.target
    found = {"completion": [], "SKL": [], "SC": []}
    for seed in range(5):
        known = draw(y, seed)
        completer = PairCompleter(50, calibrate=False, random_state=seed)
        learner = SpectralKernelLearner("precomputed", n_components=50, different=0.0, random_state=seed)
        models = {
            "completion": PairCompletionClustering(n_clusters, completer=completer, random_state=seed),
            "SKL": PairKernelClustering(learner, n_clusters=n_clusters, random_state=seed),
            "SC": ConstrainedSpectralClustering(n_clusters, random_state=seed),
        }
        S = (X @ X.T).toarray()
        for name, model in models.items():
            found[name].append(normalized_mutual_info(y, model.fit(S, pairs=known).labels_))
    means = {name: np.mean(values) for name, values in found.items()}
    assert means["completion"] >= least
    assert means["completion"] > means["SC"]
    assert means["completion"] > means["SKL"]


class TestDistances:
    """A matrix of distances is no similarity; a graph, or a similarity without a diagonal, is one."""

    @pytest.fixture
    def places(self):
        rng = np.random.default_rng(0)
        y = np.arange(60) % 3
        X = rng.normal(size=(60, 2)) + 6 * np.eye(3)[y][:, :2]
        known = Pairs.from_labels(np.where(np.arange(60) % 2 == 0, y, -1), n_pairs=150, random_state=0)
        return euclidean_distances(X), y, known

    @pytest.mark.parametrize(
        "model", [PairCompleter(3), PairCompletionClustering(3), ConstrainedSpectralClustering(3, random_state=0)]
    )
    @pytest.mark.parametrize("kind", [lambda D: D, np.square, sp.csr_array])
    def test_known_pairs_show_that_it_is_a_distance(self, places, model, kind):
        D, _, known = places
        with pytest.raises(ValueError, match=r"looks like a matrix of distances.*larger values.*numpy.exp\(-D"):
            clone(model).fit(kind(D), pairs=known)
        clone(model).fit(np.exp(-D), pairs=known)
        clone(model).fit(D.max() - D, pairs=known)

    @pytest.mark.parametrize("model", [PairCompletionClustering(3), ConstrainedSpectralClustering(3)])
    def test_without_pairs_the_triangle_inequality_shows_it(self, places, model):
        with pytest.raises(ValueError, match=r"looks like a matrix of distances.*triangle"):
            clone(model).fit(places[0])
        with pytest.raises(ValueError, match=r"looks like a matrix of distances.*triangle"):
            plan_labelling(places[0], 3, random_state=0)

    def test_what_may_be_a_similarity_is_taken(self, places):
        D, _, known = places
        near = np.exp(-np.square(D))
        np.fill_diagonal(near, 0.0)
        graph = kneighbors_graph(D, 5, metric="precomputed")
        graph = graph.maximum(graph.T)
        full = 1.0 - np.eye(60)  # every pair is linked: all distances are equal, and so are all similarities
        for similarity in (near, graph, graph.toarray(), full):
            refuse_distances(similarity)
            refuse_distances(similarity, known)
        few = Pairs([0], [1], [-1], n_samples=60)
        refuse_distances(near, few)
        refuse_distances(GramFactor(D), known)

    def test_pairs_for_which_a_similarity_fails_are_a_warning(self, places):
        D, _, known = places
        with pytest.warns(UserWarning, match="larger similarities than known pairs of the same class"):
            refuse_distances(D + np.eye(60), known)
