"""LinkSmoother and LinkedClustering: against dense algebra, planted groups and the citations of two data sets."""

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline

from kernelwise import LinkedClustering, LinkSmoother, Pairs
from kernelwise.datasets import load_citeseer, load_cora
from kernelwise.metrics import clustering_accuracy, normalized_mutual_info

GUIDE = Path(__file__).parents[2] / "docs" / "linked-documents.md"


@pytest.fixture
def graph(rng):
    """Thirty samples, forty pairs of various weights, some of them repeated, some negative; the last has no link."""
    ends = rng.integers(0, 29, (60, 2))
    ends = ends[ends[:, 0] != ends[:, 1]][:40]
    labels = np.where(rng.random(len(ends)) < 0.8, 1, -1)
    pairs = Pairs(*ends.T, labels, n_samples=30, weights=rng.uniform(0.5, 2.0, len(ends)))
    return rng.normal(size=(30, 6)), pairs + pairs[:5]


@pytest.fixture(scope="module")
def planted():
    """Three topics: few words tell them apart, and one link in five leads elsewhere."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 100)
    rates = np.full((3, 60), 0.05)
    for topic in range(3):
        rates[topic, 10 * topic : 10 * topic + 10] = 0.2
    X = sp.csr_array((rng.random((300, 60)) < rates[y]).astype(float))
    inside = (y[:, None] == y) * 0.03 + (y[:, None] != y) * 0.004
    edges = np.argwhere(np.triu(rng.random((300, 300)) < inside, 1))
    return X, y, Pairs.from_graph(edges, n_samples=300, negatives=None)


def dense_smoother(pairs):
    """D^-1/2 (A + I) D^-1/2 by loops over the pairs."""
    A = np.eye(pairs.n_samples)
    for i, j, label, weight in zip(pairs.rows, pairs.cols, pairs.labels, pairs.weights, strict=True):
        if label > 0:
            A[i, j] += weight
            A[j, i] += weight
    scale = 1 / np.sqrt(A.sum(axis=1))
    return scale[:, None] * A * scale


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_smoothing_is_a_power_of_the_normalised_adjacency(graph, depth):
    X, pairs = graph
    smoothed = LinkSmoother(depth=depth).fit_transform(X, pairs=pairs)
    np.testing.assert_allclose(smoothed, np.linalg.matrix_power(dense_smoother(pairs), depth) @ X, atol=1e-12)


def test_kernels_of_several_depths_add_up(graph):
    X, pairs = graph
    S = dense_smoother(pairs)
    smoothed = LinkSmoother(depth=(2, 0), depth_weights=(3.0, 0.5)).fit_transform(X, pairs=pairs)
    assert smoothed.shape == (30, 12)
    np.testing.assert_allclose(smoothed @ smoothed.T, 3 * S @ S @ X @ X.T @ S @ S + 0.5 * X @ X.T, atol=1e-10)


def test_learned_weights_tell_depths_that_find_links_from_depths_that_do_not(planted):
    X, _, links = planted
    model = LinkSmoother(depth=(0, 1, 2), depth_weights="learned", random_state=0).fit(X, pairs=links)
    assert model.depth_weights_.shape == (3,)
    assert model.depth_weights_.sum() == pytest.approx(1.0)
    assert (model.depth_weights_ >= 0).all()
    assert model.depth_weights_[0] < model.depth_weights_[1:].sum()
    given = LinkSmoother(depth=(0, 1, 2), depth_weights=model.depth_weights_.tolist(), random_state=0)
    np.testing.assert_allclose(model._smoothed(), given.fit_transform(X, pairs=links))


def test_a_link_does_not_vouch_for_itself(rng):
    """Links between unrelated documents: in sample smoothing makes linked ends alike, out of fold it does not."""
    X = np.eye(400)
    ends = rng.permutation(400).reshape(200, 2)
    links = Pairs.from_graph(ends, n_samples=400, negatives=None)
    smoother = LinkSmoother(depth=(0, 1), depth_weights="learned", n_components=None, random_state=0)
    with pytest.warns(UserWarning, match="at no depth are linked documents more alike"):
        smoother.fit(X, pairs=links)
    np.testing.assert_array_equal(smoother.depth_weights_, 0.5)


def test_repeated_links_and_given_negative_pairs(planted):
    X, y, links = planted
    once = LinkSmoother(depth=(0, 1), depth_weights="learned", random_state=0)
    halves = Pairs(links.rows, links.cols, links.labels, n_samples=300, weights=np.full(len(links), 0.5))
    turned = Pairs(links.cols, links.rows, links.labels, n_samples=300, weights=np.full(len(links), 0.5))
    expected = once.fit(X, pairs=links).depth_weights_
    np.testing.assert_allclose(clone(once).fit(X, pairs=halves + turned).depth_weights_, expected)
    apart = np.argwhere(np.triu(y[:, None] != y, 1))[::50]
    negatives = Pairs(*apart.T, np.full(len(apart), -1), n_samples=300)
    given = clone(once).fit(X, pairs=links + negatives).depth_weights_
    assert given.sum() == pytest.approx(1.0)
    assert not np.allclose(given, expected)


@pytest.mark.parametrize("ends", [[(0, 1)], [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]])
def test_too_little_to_learn_weights_from_is_told(ends):
    links = Pairs.from_graph(ends, n_samples=4, negatives=None)
    with pytest.warns(UserWarning, match="too few to learn, so the weights of the depths are equal"):
        model = LinkSmoother(depth=(0, 1), depth_weights="learned").fit(np.eye(4) + 1.0, pairs=links)
    np.testing.assert_array_equal(model.depth_weights_, 0.5)


def test_few_links_may_all_be_in_one_fold():
    links = Pairs.from_graph([(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)], n_samples=12, negatives=None)
    X = np.repeat(np.eye(6), 2, axis=0)
    for seed in range(30):
        weights = LinkSmoother(depth=(0, 1), depth_weights="learned", random_state=seed).fit(X, pairs=links)
        assert weights.depth_weights_.sum() == pytest.approx(1.0)


def test_a_sample_without_links_keeps_its_features(graph):
    X, pairs = graph
    np.testing.assert_array_equal(LinkSmoother().fit_transform(X, pairs=pairs)[29], X[29])


def test_without_pairs_nothing_is_smoothed_and_classes_are_not_links(graph):
    X, pairs = graph
    np.testing.assert_array_equal(LinkSmoother().fit_transform(X), X)
    np.testing.assert_array_equal(LinkSmoother().fit_transform(X, np.arange(30) % 2), X)
    with pytest.warns(UserWarning, match="no positive pair"):
        np.testing.assert_array_equal(LinkSmoother().fit_transform(X, pairs=pairs.negative), X)


def test_negative_pairs_are_not_used(graph):
    X, pairs = graph
    smoothed = LinkSmoother().fit_transform(X, pairs=pairs)
    np.testing.assert_array_equal(smoothed, LinkSmoother().fit_transform(X, pairs=pairs.positive))


def test_a_projection_on_the_whole_row_space_changes_no_inner_product(graph, rng):
    _, pairs = graph
    X = sp.random_array((30, 80), density=0.2, rng=rng, format="csr")
    smoothed = LinkSmoother(tfidf=False, n_components=40, random_state=0).fit_transform(X, pairs=pairs)
    expected = np.linalg.matrix_power(dense_smoother(pairs), 3) @ X.toarray()
    assert smoothed.shape == (30, 30)
    np.testing.assert_allclose(smoothed @ smoothed.T, expected @ expected.T, atol=1e-10)


def test_a_projection_keeps_the_leading_part(planted):
    X, _, pairs = planted
    weighted = TfidfTransformer().fit_transform(X).toarray()
    rows = LinkSmoother(depth=0, n_components=5, random_state=0).fit_transform(X, pairs=pairs)
    best = np.linalg.svd(weighted, compute_uv=False)[:5]
    assert (rows**2).sum() >= 0.95 * (best**2).sum()


def test_new_documents_take_part_without_being_noticed(graph, rng):
    """The steps are those of a graph in which new documents see old ones, and old ones do not see them."""
    X, pairs = graph
    links = np.zeros((3, 30))
    links[0, [1, 4]], links[1, 7] = [1.0, 2.0], 0.5
    new = rng.normal(size=(3, 6))
    model = LinkSmoother(depth=3).fit(X, pairs=pairs)
    old_degrees = 1 + np.bincount(
        np.concatenate([pairs.positive.rows, pairs.positive.cols]), np.tile(pairs.positive.weights, 2), minlength=30
    )
    degrees = 1 + links.sum(axis=1)
    both = np.zeros((33, 33))
    both[:30, :30] = dense_smoother(pairs)
    both[30:, :30] = links / np.sqrt(np.outer(degrees, old_degrees))
    both[30:, 30:] = np.diag(1 / degrees)
    expected = (np.linalg.matrix_power(both, 3) @ np.vstack([X, new]))[30:]
    np.testing.assert_allclose(model.transform(new, links=sp.csr_array(links)), expected, atol=1e-12)
    np.testing.assert_array_equal(model.transform(new, links=links)[2], new[2])
    np.testing.assert_array_equal(model.transform(new), new)


def tfidf(X):
    return TfidfTransformer().fit_transform(sp.csr_array(X)).toarray()


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


COUNTS = np.array([[1.0, 0, 0, 2, 0], [0, 0, 1, 0, 0], [0, 3, 1, 0, 0], [1, 0, 0, 0, 4]])
ODD = np.where(COUNTS > 0, np.sqrt(COUNTS + np.arange(5)), 0.0)


@pytest.mark.parametrize(
    ("X", "setting", "expected"),
    [
        (COUNTS, "auto", tfidf(COUNTS)),
        (COUNTS / COUNTS.sum(axis=1, keepdims=True), "auto", tfidf(COUNTS)),
        (ODD, "auto", unit(ODD)),
        (ODD, True, tfidf(ODD)),
        (-COUNTS, "auto", -COUNTS),
        (COUNTS + 1, "auto", COUNTS + 1),
        (COUNTS, False, COUNTS),
    ],
    ids=["counts", "scaled counts", "weighted words", "asked for", "negative", "few zeros", "refused"],
)
def test_how_words_are_weighted_does_not_depend_on_the_storage(X, setting, expected):
    for stored in (X, sp.csr_array(X), sp.csc_matrix(X)):
        rows = LinkSmoother(tfidf=setting).fit_transform(stored)
        np.testing.assert_allclose(rows, expected, atol=1e-12)


def test_zeros_and_parts_that_are_stored_change_nothing():
    columns = np.tile(np.arange(5), 8)
    halves = np.tile(COUNTS / 2, 2).ravel(), columns, np.arange(0, 41, 10)
    everything = sp.csr_array(halves, shape=COUNTS.shape)
    np.testing.assert_allclose(LinkSmoother().fit_transform(everything), tfidf(COUNTS), atol=1e-12)
    assert everything.nnz == 40


def test_the_embedding_holds_the_leading_left_singular_vectors_times_values(planted):
    X, _, pairs = planted
    model = LinkedClustering(3, depth=3, embedding_dim=12, random_state=0).fit(X, pairs=pairs)
    U, values, _ = np.linalg.svd(np.linalg.matrix_power(dense_smoother(pairs), 3) @ tfidf(X), full_matrices=False)
    best = (U[:, :12] * values[:12]) @ (U[:, :12] * values[:12]).T
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, best, atol=1e-8)
    np.testing.assert_allclose(model.singular_values_, values[:12])


def test_labels_are_nearest_centres_and_centres_are_means(planted):
    X, _, pairs = planted
    model = LinkedClustering(3, random_state=0).fit(X, pairs=pairs)
    distances = ((model.embedding_[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, distances.argmin(axis=1))
    np.testing.assert_allclose(model.inertia_, distances.min(axis=1).sum())
    for cluster in range(3):
        np.testing.assert_allclose(model.cluster_centers_[cluster], model.embedding_[model.labels_ == cluster].mean(0))


def test_links_find_topics_that_words_do_not(planted):
    X, y, pairs = planted
    with_links = LinkedClustering(3, random_state=0).fit(X, pairs=pairs).labels_
    without = LinkedClustering(3, random_state=0).fit(X).labels_
    assert clustering_accuracy(y, with_links) > 0.9
    assert clustering_accuracy(y, without) < 0.85


def test_unit_rows_help_where_words_tell_little():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 100)
    rates = 0.05 + 0.07 * (np.arange(60) // 10 == y[:, None])
    X = (rng.random((300, 60)) < rates).astype(float)
    edges = np.argwhere(np.triu(rng.random((300, 300)) < np.where(y[:, None] == y, 0.03, 0.004), 1))
    pairs = Pairs.from_graph(edges, n_samples=300, negatives=None)
    models = (LinkedClustering(3, depth=3, row_normalize=unit_rows, random_state=0) for unit_rows in (False, True))
    plain, unit_length = (clustering_accuracy(y, model.fit(X, pairs=pairs).labels_) for model in models)
    assert unit_length > plain + 0.1


def test_new_documents_are_placed_by_words_and_better_by_links(planted):
    X, y, pairs = planted
    old, new = np.arange(0, 300, 2), np.arange(1, 300, 2)
    model = LinkedClustering(3, depth=3, random_state=0).fit(X[old], pairs=pairs.restrict(old))
    links = pairs.to_sparse().tocsr()[new][:, old]
    by_words = normalized_mutual_info(y[new], model.predict(X[new]))
    by_links = normalized_mutual_info(y[new], model.predict(X[new], links=links))
    assert by_links > by_words > 0.1


@pytest.mark.parametrize(("depth", "agreement"), [(3, 1.0), ("auto", 0.9)])
def test_documents_in_another_order_get_the_same_clusters(planted, rng, depth, agreement):
    # The choice draws columns and links to leave out, so that another order may choose another of two good candidates.
    X, _, pairs = planted
    order = rng.permutation(300)
    labels = LinkedClustering(3, depth=depth, random_state=0).fit(X, pairs=pairs).labels_
    model = LinkedClustering(3, depth=depth, random_state=1).fit(X[order], pairs=pairs.restrict(order))
    assert clustering_accuracy(labels[order], model.labels_) >= agreement


def test_links_may_be_called_pairs_as_in_the_first_version(planted):
    X, _, pairs = planted
    first, second = (LinkSmoother(random_state=0).fit_transform(X, **{name: pairs}) for name in ("links", "pairs"))
    np.testing.assert_array_equal(first, second)
    first, second = (
        LinkedClustering(3, depth=3, random_state=0).fit(X, **{name: pairs}) for name in ("links", "pairs")
    )
    np.testing.assert_array_equal(first.labels_, second.labels_)
    with pytest.raises(TypeError, match="two names of one argument"):
        LinkSmoother().fit(X, links=pairs, pairs=pairs)


def test_the_seed_determines_the_result_and_inputs_stay(planted):
    X, _, pairs = planted
    before = X.copy()
    first, second = (LinkedClustering(3, n_components=20, random_state=3).fit(X, pairs=pairs) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
    assert (before != X).nnz == 0


def test_clone_and_pickle(planted):
    X, _, pairs = planted
    model = LinkedClustering(3, depth=(1, 2), random_state=0).fit(X, pairs=pairs)
    again = clone(model).fit(X, pairs=pairs)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_data_frames(planted):
    X, _, pairs = planted
    frame = pd.DataFrame(X.toarray(), columns=[f"word {i}" for i in range(60)])
    model = LinkedClustering(3, random_state=0).fit(frame, pairs=pairs)
    assert model.feature_names_in_[0] == "word 0"
    np.testing.assert_array_equal(model.labels_, LinkedClustering(3, random_state=0).fit(X, pairs=pairs).labels_)
    smoothed = LinkSmoother(n_components=2).set_output(transform="pandas").fit_transform(frame, pairs=pairs)
    assert smoothed.columns.tolist() == ["linksmoother0", "linksmoother1"]


def test_pairs_are_routed_through_pipelines(planted):
    X, y, pairs = planted
    with config_context(enable_metadata_routing=True):
        smoother = LinkSmoother().set_fit_request(pairs=True)
        model = make_pipeline(smoother, KMeans(3, n_init=5, random_state=0)).fit(X, pairs=pairs)
        clusterer = LinkedClustering(3, random_state=0).set_fit_request(pairs=True)
        labels = make_pipeline(TfidfTransformer(), clusterer).fit(X, pairs=pairs)[-1].labels_
    assert clustering_accuracy(y, model[-1].labels_) > 0.9
    assert clustering_accuracy(y, labels) > 0.9


def fit(X, pairs, **settings):
    return LinkedClustering(**{"n_clusters": 2, **settings}).fit(X, pairs=pairs)


TEN = np.arange(20.0).reshape(10, 2)
LINK = Pairs([0], [1], [1], n_samples=10)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fit(TEN, LINK, depth=-1), ValueError, "depth must be an integer of at least 0.*-1"),
        (lambda: fit(TEN, LINK, depth=1.5), ValueError, "depth must be.*1.5"),
        (lambda: fit(TEN, LINK, depth=()), ValueError, "depth must be"),
        (lambda: fit(TEN, LINK, depth=(1, 1)), ValueError, "several different ones"),
        (lambda: fit(TEN, LINK, depth="deep"), ValueError, "depth must be.*'deep'"),
        (lambda: fit(TEN, LINK, tfidf="yes"), ValueError, "tfidf must be.*'yes'"),
        (lambda: fit(TEN, LINK, n_components=0), ValueError, "n_components must be.*0"),
        (lambda: fit(TEN, LINK, embedding_dim=0), ValueError, "embedding_dim must be.*0"),
        (lambda: fit(TEN, LINK, n_init=True), TypeError, "n_init must be.*True"),
        (lambda: fit(TEN, LINK, n_clusters=0), ValueError, "n_clusters must be.*0"),
        (lambda: fit(TEN, LINK, n_clusters=11), ValueError, "n_clusters=11 is more than the 10 samples"),
        (lambda: fit(TEN[:5], LINK), ValueError, "n_samples=10 samples, but X has 5"),
        (lambda: fit(TEN, [(0, 1)]), TypeError, "pairs must be a kernelwise.Pairs, got list"),
        (lambda: fit(TEN * np.nan, LINK), ValueError, "NaN"),
        (lambda: LinkSmoother(depth_weights=[1, 1]).fit(TEN), ValueError, "each of the 1 depths"),
        (lambda: LinkSmoother(depth_weights=["a"]).fit(TEN), ValueError, "depth_weights must be.*'a'"),
        (lambda: LinkSmoother(depth_weights=[-1]).fit(TEN), ValueError, "depth_weights must be a non-negative"),
        (lambda: LinkSmoother(depth=[0, 1], depth_weights=[0, 0]).fit(TEN), ValueError, "not all zero"),
        (lambda: fit(TEN, LINK).predict(TEN, links=np.ones((10, 9))), ValueError, r"\(10, 10\), got shape \(10, 9\)"),
        (lambda: fit(TEN, LINK).predict(TEN, links=-np.ones((10, 10))), ValueError, "the least is -1"),
        (lambda: fit(TEN, LINK).predict(TEN[:, :1]), ValueError, "1 features"),
    ],
)
def test_bad_input_is_told(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("load", "least", "n_seeds"),
    [
        (load_cora, 0.55, 1),
        pytest.param(load_cora, 0.57, 5, marks=pytest.mark.slow),
        pytest.param(load_citeseer, 0.44, 5, marks=pytest.mark.slow),
    ],
)
def test_agreement_with_the_classes_of_cited_papers(load, least, n_seeds):
    data = load()
    links = Pairs.from_graph(data.edges, n_samples=len(data.target), negatives=None)
    models = (LinkedClustering(len(data.target_names), random_state=seed) for seed in range(n_seeds))
    scores = [normalized_mutual_info(data.target, model.fit(data.data, pairs=links).labels_) for model in models]
    assert np.mean(scores) >= least


@pytest.mark.slow
@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL))
def test_the_guide_runs(block, capsys):
    exec(compile(block, str(GUIDE), "exec"), {})
    assert capsys.readouterr().out
