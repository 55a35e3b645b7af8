"""The choice of LinkedClustering: links are used where they help, and what was left out is what decides."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from kernelwise import LinkedClustering, Pairs
from kernelwise.links.candidates import CANDIDATES, Embedding
from kernelwise.links.choice import FeatureBits, Links, bits_of_links, take_steps, upper_links
from kernelwise.links.walks import WINDOW, _drawn_ends, walk_factors
from kernelwise.metrics import normalized_mutual_info

CHANCE = 1 / 3


def groups(n=240):
    return np.arange(n) % 3


def numbers(rng, y, distance):
    """Eight columns; the means of the groups are apart by about this many standard deviations in each column."""
    return rng.normal(size=(len(y), 8)) + distance * rng.normal(size=(3, 8))[y]


def links(rng, y, within, per_sample=4, shift=0):
    """Random links; this share of them leads to the own group, or to the one that is ``shift`` further."""
    n_links = per_sample * len(y)
    rows, cols = rng.integers(0, len(y), (2, n_links))
    inside = rng.random(n_links) < (within - CHANCE) / (1 - CHANCE)
    cols[inside] = (cols[inside] // 3 * 3 + (y[rows[inside]] + shift) % 3) % len(y)
    apart = rows != cols
    return Pairs(rows[apart], cols[apart], np.ones(apart.sum(), dtype=int), n_samples=len(y))


def fit(X, pairs, n_clusters=3, **settings):
    return LinkedClustering(n_clusters, n_init=3, random_state=0, **settings).fit(X, pairs=pairs)


def dense_weights(pairs):
    return pairs.to_sparse().toarray()


@pytest.fixture(scope="module")
def helpful():
    """Features that say something, links that say more."""
    rng = np.random.default_rng(0)
    y = groups()
    return numbers(rng, y, 0.6), y, links(rng, y, 0.85)


@pytest.fixture(scope="module")
def model(helpful):
    """Features and links together; tests only look at it."""
    X, _, pairs = helpful
    return fit(X, pairs)


@pytest.fixture(scope="module")
def alone(helpful):
    """The features of the same samples, without links."""
    return fit(helpful[0], None)


@pytest.fixture(scope="module")
def misled():
    """Features, groups, and a model with random links."""
    rng = np.random.default_rng(1)
    y = groups()
    X = numbers(rng, y, 1.0)
    return X, y, fit(X, links(rng, y, CHANCE))


def test_links_that_agree_with_the_features_are_used(helpful, model, alone):
    _, y, _ = helpful
    assert model.links_help_
    assert model.diagnostic_["reliable"]
    assert model.diagnostic_["reason"].startswith("The links help.")
    assert model.chosen_ in model.candidates_
    assert normalized_mutual_info(y, model.labels_) > normalized_mutual_info(y, alone.labels_) + 0.1


def test_the_reason_names_the_candidate_that_is_chosen():
    """Whatever the last step chooses, the sentence speaks of the clusters that are returned."""
    rng = np.random.default_rng(0)
    differed = 0
    for seed in range(4):
        y = groups(120)
        model = fit(numbers(np.random.default_rng(seed), y, 0.6), links(rng, y, 0.9))
        reason = model.diagnostic_["reason"]
        assert f'"{model.chosen_}"' in reason
        differed += f'The clusters are those of "{model.chosen_}"' in reason
    assert differed  # otherwise the test shows nothing


@pytest.mark.parametrize("random", [True, False], ids=["random links", "links to another group"])
def test_links_that_mislead_are_not_used(misled, random):
    X, y, model = misled
    if not random:
        model = fit(X, links(np.random.default_rng(1), y, 0.8, shift=1))
    assert not model.links_help_
    assert "so they are not used" in model.diagnostic_["reason"]
    assert normalized_mutual_info(y, model.labels_) > 0.7


def test_links_are_used_where_features_are_noise():
    rng = np.random.default_rng(2)
    y = groups(300)
    model = fit(rng.normal(size=(300, 8)), links(rng, y, 0.95, per_sample=8))
    assert model.links_help_
    assert normalized_mutual_info(y, model.labels_) > 0.5


def test_a_graph_of_noise_and_columns_of_noise_are_called_so():
    rng = np.random.default_rng(3)
    y = groups()
    model = fit(rng.normal(size=(240, 8)), links(rng, y, CHANCE))
    assert not model.diagnostic_["reliable"]
    assert all(abs(bits["features"]) < 0.1 for bits in model.candidates_.values())


def test_hubs_do_not_form_a_cluster_of_their_own():
    """Link ends are drawn with very unequal chances: clusters follow the groups and not the degrees."""
    rng = np.random.default_rng(4)
    y = groups(300)
    chances = 1.0 / (1.0 + np.arange(300)) ** 0.8
    rows, cols = rng.choice(300, (2, 4000), p=chances / chances.sum())
    kept = (rows != cols) & ((y[rows] == y[cols]) | (rng.random(4000) < 0.2))
    pairs = Pairs(rows[kept], cols[kept], np.ones(kept.sum(), dtype=int), n_samples=300)
    assert normalized_mutual_info(y, fit(numbers(rng, y, 0.6), pairs).labels_) > 0.7


def test_the_unit_of_weights_and_repeated_links_do_not_matter(helpful, model):
    X, _, pairs = helpful
    heavy = Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=len(X), weights=7.0 * pairs.weights)
    other = fit(X, heavy + heavy + heavy + heavy)
    assert other.chosen_ == model.chosen_
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_allclose(other.embedding_, model.embedding_, atol=1e-9)


def test_a_link_of_almost_no_weight_changes_little(helpful, alone):
    X, y, pairs = helpful
    rng = np.random.default_rng(5)
    wrong = links(rng, y, CHANCE, per_sample=6)
    faint = Pairs(wrong.rows, wrong.cols, wrong.labels, n_samples=len(X), weights=np.full(len(wrong), 1e-9))
    assert normalized_mutual_info(y, fit(X, pairs + faint).labels_) > normalized_mutual_info(y, alone.labels_)


def test_samples_in_another_order_get_the_same_clusters(helpful, model):
    X, _, pairs = helpful
    order = np.random.default_rng(6).permutation(len(X))
    shuffled = fit(X[order], pairs.restrict(order))
    assert shuffled.links_help_
    assert normalized_mutual_info(model.labels_[order], shuffled.labels_) > 0.9


def test_the_seed_determines_everything_and_models_can_be_stored(helpful, model):
    X, _, pairs = helpful
    again = clone(model).fit(X, pairs=pairs)
    assert str(again.candidates_) == str(model.candidates_)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(stored.predict(X), model.predict(X))


def test_without_links_the_features_decide(helpful, alone):
    X, _, pairs = helpful
    assert not alone.links_help_
    assert set(alone.candidates_) == {"features", "features, unit rows"}
    assert "no links" in alone.diagnostic_["reason"]
    apart = Pairs(pairs.rows, pairs.cols, -pairs.labels, n_samples=len(X))
    with pytest.warns(UserWarning, match="no positive pair"):
        only_negative = fit(X, apart)
    np.testing.assert_array_equal(only_negative.labels_, alone.labels_)


def test_negative_pairs_change_nothing(helpful, model):
    X, _, pairs = helpful
    negative = Pairs([0, 1, 2], [1, 2, 3], [-1, -1, -1], n_samples=len(X))
    np.testing.assert_array_equal(fit(X, pairs + negative).labels_, model.labels_)


def test_a_fixed_depth_chooses_nothing(helpful, alone):
    X, _, pairs = helpful
    fixed = pickle.loads(pickle.dumps(alone)).set_params(depth=3).fit(X, pairs=pairs)
    assert not hasattr(fixed, "chosen_")
    as_before = fit(X, pairs, row_normalize=False)
    np.testing.assert_array_equal(as_before.labels_, fixed.labels_)
    with pytest.raises(ValueError, match=r"row_normalize must be.*'yes'"):
        fit(X, pairs, row_normalize="yes")


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 6])
def test_six_samples(n_clusters):
    X = np.array([[0.0, 1.0], [0.1, 1.2], [0.0, 0.9], [5.0, -1.0], [5.2, -1.1], [4.9, -0.9]])
    pairs = Pairs([0, 1, 3, 4], [1, 2, 4, 5], [1, 1, 1, 1], n_samples=6)
    model = fit(X, pairs, n_clusters=n_clusters)
    assert len(np.unique(model.labels_)) == n_clusters


def test_one_column_and_one_link(rng):
    X = np.concatenate([rng.normal(0.0, 1.0, 20), rng.normal(50.0, 1.0, 20)])[:, None]
    model = fit(X, Pairs([0], [1], [1], n_samples=40), n_clusters=2)
    assert normalized_mutual_info(np.arange(40) // 20, model.labels_) == 1.0


def test_every_sample_linked_to_every_other(rng):
    """All smoothed rows are equal, so only the features can tell clusters."""
    X = rng.normal(size=(30, 4)) + 20.0 * (np.arange(30) % 2)[:, None]
    everything = np.argwhere(np.triu(np.ones((30, 30)), 1))
    model = fit(X, Pairs.from_graph(everything, n_samples=30, negatives=None), n_clusters=2)
    assert normalized_mutual_info(np.arange(30) % 2, model.labels_) == 1.0


def test_new_documents_are_placed_by_features_and_by_links(helpful):
    X, y, pairs = helpful
    old, new = np.arange(0, 200), np.arange(200, 240)
    model = fit(X[old], pairs.restrict(old))
    cited = pairs.to_sparse()[new][:, old]
    by_links = normalized_mutual_info(y[new], model.predict(X[new], links=cited))
    assert model.links_help_
    assert by_links > normalized_mutual_info(y[new], model.predict(X[new]))
    np.testing.assert_array_equal(model.predict(X[new], links=sp.csr_array(cited.shape)), model.predict(X[new]))
    with pytest.raises(ValueError, match=r"\(40, 200\), got shape \(40, 3\)"):
        model.predict(X[new], links=np.ones((40, 3)))


def test_without_use_of_links_a_sample_of_fit_is_predicted_as_in_fit(misled):
    X, _, model = misled
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_more_samples_are_judged_on_a_sample_in_single_precision(helpful, model, monkeypatch):
    """Large data: directions, k-means and bits come from some of the rows, and the clusters are much the same."""
    X, y, pairs = helpful
    for module in ("choice", "clustering"):
        monkeypatch.setattr(f"kernelwise.links.{module}.MANY_ROWS", 120)
    some = fit(X, pairs)
    assert some.embedding_.dtype == np.float32
    assert some.links_help_
    assert some.labels_.shape == y.shape
    assert normalized_mutual_info(model.labels_, some.labels_) > 0.8
    np.testing.assert_array_equal(
        np.argmin(((some.embedding_[:, None] - some.cluster_centers_) ** 2).sum(2), 1), some.labels_
    )


@pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda candidate: candidate.name)
def test_an_embedding_keeps_the_leading_part_of_its_rows(helpful, candidate):
    X, _, pairs = helpful
    A = dense_weights(pairs)
    P = (A + np.eye(len(A))) / (A.sum(axis=1, keepdims=True) + 1)
    steps, walks = take_steps(X, pairs.to_sparse()), np.random.default_rng(0).normal(size=(len(X), 3))
    parts = [np.linalg.matrix_power(P, depth) @ X for depth in candidate.depths]
    if candidate.scaling == "centred":
        parts = [part - part.mean(axis=0) for part in parts]
    for index, part in enumerate(parts):
        left, lengths, right = np.linalg.svd(part, full_matrices=False)
        parts[index] = (left[:, :4] * lengths[:4]) @ right[:4]
    if candidate.walks:
        parts.append(walks)
    if candidate.scaling != "none":
        parts = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in parts]
    U, values, _ = np.linalg.svd(np.hstack(parts), full_matrices=False)
    embedding = Embedding.fit(candidate, steps, walks, 4)
    placed = embedding.place(steps, walks)
    best = U[:, :4] * values[:4]
    np.testing.assert_allclose(placed @ placed.T, best @ best.T, atol=1e-8)
    np.testing.assert_allclose(embedding.singular_values, values[:4])


def test_drawn_walks_have_the_frequencies_of_the_formula():
    weights = sp.csr_array([[0.0, 3.0, 0.0, 0.0], [3.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    rng = np.random.RandomState(0)
    draws = [_drawn_ends(weights, rng) for _ in range(2000)]
    counts = np.zeros((4, 4))
    for first, last in draws:
        np.add.at(counts, (first, last), 1.0)
    degrees = weights.sum(axis=1)
    step = weights.toarray()[:3, :3] / degrees[:3, None]
    mean_power = sum(np.linalg.matrix_power(step, length) for length in range(1, WINDOW + 1)) / WINDOW
    expected = degrees[:3, None] / degrees.sum() * mean_power
    np.testing.assert_allclose(counts[:3, :3] / counts.sum(), expected, atol=0.005)
    assert not counts[3].any()
    assert not counts[:, 3].any()
    assert not walk_factors(weights, rng)[3].any()


def test_factors_of_walks_tell_components_apart():
    two = sp.block_diag([np.ones((10, 10)) - np.eye(10)] * 2, format="csr")
    factors = walk_factors(two, np.random.RandomState(0))
    similar = factors @ factors.T
    assert similar[:10, :10].min() > np.abs(similar[:10, 10:]).max() + 0.1


def test_bits_of_features_lie_between_nothing_and_the_entropy(rng):
    y = groups()
    far, noise = numbers(rng, y, 10.0), rng.normal(size=(240, 8))
    assert FeatureBits(far)(y).mean() == pytest.approx(np.log2(3), abs=0.1)
    assert 0.0 <= FeatureBits(noise)(y).mean() < 0.05
    np.testing.assert_array_equal(FeatureBits(np.ones((240, 8)))(y), 0.0)


def test_bits_of_links_by_loops(rng):
    y = groups(60)
    pairs = links(rng, y, 0.8)
    kept, out = pairs[np.arange(200)], pairs[np.arange(200, len(pairs))]
    between = np.zeros((3, 3))
    for i, j in zip(kept.rows, kept.cols, strict=True):
        between[y[i], y[j]] += 1
        between[y[j], y[i]] += 1
    weights = kept.to_sparse()
    between /= weights.data.mean()
    shares = between.sum(axis=1) / between.sum()
    expected = [
        np.log2(
            (between[y[i], y[j]] + 18 * shares[y[i]] * shares[y[j]])
            / (between.sum() + 18)
            / shares[y[i]]
            / shares[y[j]]
        )
        for i, j in zip(out.rows, out.cols, strict=True)
    ]
    found = bits_of_links(y, 3, upper_links(weights), Links(out.rows, out.cols, np.ones(len(out))))
    np.testing.assert_allclose(found, expected)
