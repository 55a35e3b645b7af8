"""NoisyPairClustering: classes, rates and pairs from features and pairs of unknown noise."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from kernelwise import NoisyPairClustering, Pairs
from kernelwise.kernels import Gaussian
from kernelwise.metrics import clustering_accuracy, normalized_mutual_info
from kernelwise.pairs.classes.evidence import PairEvidence, Rates, informative, with_both_kinds
from kernelwise.pairs.classes.features import (
    ClassFeatures,
    StandardColumns,
    WordColumns,
    fit_columns,
    starting_clusters,
)
from kernelwise.pairs.classes.results import fits_by_count, improved_by_merging, likely_fits
from kernelwise.pairs.classes.search import RECIPES, ClassFit, ClassSearch, Recipe, merged


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, y


def flipped(y, per_sample, rate, seed=0):
    pairs = Pairs.from_labels(y, n_pairs=int(per_sample * len(y)), random_state=seed)
    return pairs.flip(rate, random_state=seed)


# ------------------------------------------------------------------------------------------------- the evidence


def test_beliefs_and_evidence_are_exact_where_pairs_form_a_chain(rng):
    # Belief propagation is exact on a tree: compare it with the sum over all classes of all samples.
    n_samples, n_classes, rates = 5, 3, Rates(0.2, 0.1)
    pairs = Pairs([0, 1, 2, 3], [1, 2, 3, 4], [1, -1, 1, 1], n_samples=n_samples, weights=[1.0, 2.0, 1.0, 0.5])
    evidence, _ = PairEvidence.of_pairs(pairs)
    prior = np.log(rng.dirichlet(np.ones(n_classes), size=n_samples))
    classes = np.array(np.meshgrid(*[range(n_classes)] * n_samples)).reshape(n_samples, -1).T
    logs = prior[np.arange(n_samples), classes].sum(axis=1)
    for i, j, label, weight in zip(pairs.rows, pairs.cols, pairs.labels, pairs.weights, strict=True):
        same = classes[:, i] == classes[:, j]
        wrong = np.where(same, rates.split, rates.joined)
        right = np.where(same, label > 0, label < 0)
        logs += weight * np.log(np.where(right, 1 - wrong, wrong))
    exact = np.exp(logs - logsumexp(logs))
    belief, messages = evidence.propagate(prior, np.full((8, n_classes), 1 / 3), evidence.odds(rates), 200)
    for i in range(n_samples):
        shares = [exact[classes[:, i] == k].sum() for k in range(n_classes)]
        np.testing.assert_allclose(belief[i], shares, atol=1e-9)
    np.testing.assert_allclose(evidence.evidence(prior, messages, rates), logsumexp(logs), atol=1e-9)
    together = [exact[classes[:, i] == classes[:, j]].sum() for i, j in zip(evidence.rows, evidence.cols, strict=True)]
    np.testing.assert_allclose(evidence.same(evidence.apart(messages), rates), together, atol=1e-9)


def test_rates_are_the_shares_of_wrong_labels_where_classes_are_known(rng):
    y = rng.integers(0, 3, 400)
    pairs = flipped(y, 50, 0.15)
    evidence, _ = PairEvidence.of_pairs(pairs)
    rates = evidence.fit_rates((y[evidence.rows] == y[evidence.cols]).astype(float))
    truth, wrong = pairs.true_labels(y), pairs.labels != pairs.true_labels(y)
    np.testing.assert_allclose(rates, [wrong[truth > 0].mean(), wrong[truth < 0].mean()], atol=1e-3)


def test_repeated_answers_are_the_same_as_a_weight():
    once = Pairs([0, 1, 0], [1, 2, 1], [1, -1, -1], n_samples=3, weights=[2.0, 1.0, 1.0])
    copies = Pairs([0, 1, 0, 1], [1, 0, 1, 2], [1, 1, -1, -1], n_samples=3)
    first, second = (PairEvidence.of_pairs(pairs)[0] for pairs in (once, copies))
    np.testing.assert_array_equal(first.plus, second.plus)
    np.testing.assert_array_equal(first.minus, second.minus)


def test_a_positive_label_never_speaks_against_one_class(rng):
    for split, joined in rng.random((100, 2)):
        rates = informative(Rates(split, joined))
        assert rates.split + rates.joined < 1
    assert informative(Rates(0.2, 0.3)) == Rates(0.2, 0.3)


def test_verdicts_outweigh_the_label():
    evidence, _ = PairEvidence.of_pairs(Pairs([0], [1], [1], n_samples=2))
    checked = evidence.checked(np.array([-1]))
    assert evidence.same(np.array([0.5]), Rates(0.1, 0.1))[0] > 0.8
    assert checked.same(np.array([0.5]), Rates(0.1, 0.1))[0] < 0.01


def test_merging_joins_the_classes_that_the_labels_join():
    y = np.array([0, 0, 1, 1, 2, 2])
    labels = Pairs([0, 2, 0, 0, 2], [1, 3, 2, 4, 4], [1, 1, 1, -1, -1], n_samples=6)
    evidence, _ = PairEvidence.of_pairs(labels)
    belief = np.eye(3)[y]
    fit = merged(ClassFit(evidence, Recipe("core"), belief, belief[evidence.sources], Rates(0.1, 0.1), None), 2)
    np.testing.assert_array_equal(fit.belief.argmax(axis=1)[[0, 2]], fit.belief.argmax(axis=1)[[1, 3]])
    assert fit.belief[0].argmax() == fit.belief[2].argmax() != fit.belief[4].argmax()
    np.testing.assert_allclose(fit.belief.sum(axis=1), 1.0)
    np.testing.assert_array_equal(belief, np.eye(3)[y])  # the fit that was merged is as before


def test_messages_in_single_precision_tell_the_same(rng, monkeypatch):
    y = rng.integers(0, 4, 60)
    pairs = flipped(y, 8, 0.2) + Pairs([0, 1], [1, 2], [-1, 1], n_samples=60, weights=[40.0, 40.0])  # the largest odds
    prior = np.log(rng.dirichlet(np.ones(4), 60))
    single, double = (_beliefs(pairs, prior, many, monkeypatch) for many in (0, 10**9))
    assert np.isfinite(single).all()
    np.testing.assert_allclose(single, double, atol=1e-5)


def _beliefs(pairs, prior, many_pairs, monkeypatch):
    monkeypatch.setattr("kernelwise.pairs.classes.evidence.MANY_PAIRS", many_pairs)
    evidence, _ = PairEvidence.of_pairs(pairs)
    odds = evidence.odds(Rates(0.2, 0.2))
    return evidence.propagate(prior, np.exp(prior)[evidence.sources], odds, 10)[0]


def test_a_finer_start_ends_with_as_many_classes_as_asked_for(wine):
    X, y = wine
    columns = StandardScaler().fit_transform(X)
    features = ClassFeatures.of_kernels(columns, None, np.random.RandomState(0))
    evidence, _ = PairEvidence.of_pairs(flipped(y, 3, 0.1))
    finer = [recipe for recipe in RECIPES if recipe.finer]
    search = ClassSearch(columns, features, evidence, 3, 0)
    assert [fit.belief.shape for fit in search.short_runs(finer)] == [(len(y), 3)] * len(finer)
    assert finer
    assert not ClassSearch(columns, features, evidence, 2, 0).short_runs(finer)  # two classes need no finer start


def test_neighbours_find_classes_that_are_divided_by_gaps():
    angle = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    columns, y = np.vstack([ring, 4.0 * ring]), np.repeat([0, 1], 60)
    evidence, _ = PairEvidence.of_pairs(flipped(y, 1, 0.0))
    clusters = starting_clusters("neighbours", columns, columns, evidence, 2, 0)
    assert normalized_mutual_info(y, clusters) == pytest.approx(1.0)
    assert normalized_mutual_info(y, starting_clusters("k-means", columns, columns, evidence, 2, 0)) < 0.5


def test_merging_never_makes_a_fit_worse(wine):
    X, y = wine
    columns = StandardScaler().fit_transform(X)
    features = ClassFeatures.of_kernels(columns, None, np.random.RandomState(0))
    evidence, _ = PairEvidence.of_pairs(flipped(y, 3, 0.2))
    searches = [ClassSearch(columns, features, evidence, count, 0) for count in (2, 4)]
    runs = [max(search.short_runs(RECIPES), key=ClassFit.bold) for search in searches]
    better = {fit.belief.shape[1]: fit for fit in improved_by_merging(runs, columns, features, 0)}
    assert sorted(better) == [2, 3, 4]  # every number between, too
    assert all(better[run.belief.shape[1]].bold() >= run.bold() for run in runs)


# ------------------------------------------------------------------------------------------------ the estimator


def test_noisy_pairs_find_classes_and_rates(wine):
    X, y = wine
    pairs = flipped(y, 10, 0.2)
    model = NoisyPairClustering(3, random_state=0).fit(X, pairs=pairs)
    assert clustering_accuracy(y, model.labels_) > 0.97
    wrong = pairs.labels != pairs.true_labels(y)
    assert wrong[model.pair_quality_.argsort()[: wrong.sum()]].mean() > 0.95
    for rate, name, truth in zip(
        model.noise_.flip_rates, ("flipped_positive", "flipped_negative"), (1, -1), strict=True
    ):
        share = wrong[pairs.true_labels(y) == truth].mean()
        low, high = model.noise_intervals_[name]
        assert low <= share <= high
        assert abs(rate - share) < 0.03


def test_all_figures_come_from_one_posterior(wine):
    X, y = wine
    pairs = flipped(y, 4, 0.2)
    model = NoisyPairClustering(3, random_state=0).fit(X, pairs=pairs)
    chance = model.pair_probabilities(pairs.rows, pairs.cols)
    np.testing.assert_allclose(model.pair_quality_, np.where(pairs.labels > 0, chance, 1 - chance))
    positive = pairs.labels > 0
    np.testing.assert_allclose(model.noise_.precision_positive, model.pair_quality_[positive].mean())
    np.testing.assert_allclose(model.noise_.precision_negative, model.pair_quality_[~positive].mean())
    np.testing.assert_allclose(model.noise_.prior, chance.mean())
    np.testing.assert_array_equal(model.labels_, model.probabilities_.argmax(axis=1))
    for name in ("prior", "precision_positive", "precision_negative"):
        low, high = model.noise_intervals_[name]
        assert low <= getattr(model.noise_, name) <= high
    np.testing.assert_array_equal(model.predict_pairs(pairs.rows, pairs.cols), np.where(chance >= 0.5, 1, -1))
    assert model.pair_probabilities([3], [3]) == 1.0


def test_random_labels_are_ignored(wine):
    X, y = wine
    pairs = flipped(y, 3, 0.5)
    alone = NoisyPairClustering(3, random_state=0).fit(X)
    model = NoisyPairClustering(3, random_state=0).fit(X, pairs=pairs)
    assert clustering_accuracy(alone.labels_, model.labels_) > 0.9
    assert clustering_accuracy(y, model.labels_) > 0.9


def test_few_noisy_pairs_choose_the_clusters_of_two_rings(rng):
    """k-means cannot divide rings, a graph of neighbours can: one pair per sample, a third wrong, is enough to tell."""
    y = np.repeat([0, 1], 100)
    angle = rng.uniform(0, 2 * np.pi, 200)
    X = np.where(y, 1.0, 3.0)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(
        size=(200, 2)
    )
    model = NoisyPairClustering(2, random_state=0).fit(X, pairs=flipped(y, 1, 0.33))
    assert clustering_accuracy(y, model.labels_) > 0.98


def test_few_pairs_are_said_to_be_too_few(wine):
    X, y = wine
    model = NoisyPairClustering(3, random_state=0).fit(X, pairs=flipped(y, 0.05, 0.0))
    assert "too few" in model.diagnostic_["pairs"]
    assert not model.pairs_help_


@pytest.mark.parametrize("kind", ["positive", "negative"])
def test_pairs_of_one_kind_do_no_harm(wine, kind):
    X, y = wine
    model = NoisyPairClustering(3, random_state=0).fit(X, pairs=getattr(flipped(y, 5, 0.1), kind))
    assert clustering_accuracy(y, model.labels_) > 0.93
    assert len(model.pair_quality_) == len(model.pairs_)


def test_must_links_alone_find_classes_that_features_hide(rng):
    y = np.repeat([0, 1, 2], 60)
    links = Pairs.from_labels(y, n_pairs=3000, random_state=0).positive
    model = NoisyPairClustering(3, random_state=0).fit(None, pairs=links)
    assert clustering_accuracy(y, model.labels_) > 0.95
    assert model.diagnostic_["features"] == "There are no features."
    with pytest.raises(ValueError, match="no features to predict"):
        model.predict([[0.0]])


def test_the_number_of_clusters_is_found(wine):
    X, y = wine
    assert NoisyPairClustering(random_state=0).fit(X, pairs=flipped(y, 5, 0.1)).n_clusters_ == 3
    columns = StandardScaler().fit_transform(X)
    features = ClassFeatures.of_kernels(columns, None, np.random.RandomState(0))
    fits = fits_by_count(columns, features, PairEvidence.of_pairs(flipped(y, 5, 0.1))[0], 0)
    assert min(fit.n_used for fit in likely_fits(fits)) == 3


def test_similarity_kernels_words_and_labels_are_understood(wine):
    X, y = wine
    Z, pairs = StandardScaler().fit_transform(X), flipped(y, 6, 0.1)
    distances = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    similarity = NoisyPairClustering(3, metric="precomputed", random_state=0)
    similarity.fit(np.exp(-distances / 26), pairs=pairs)
    by_kernel = NoisyPairClustering(3, kernels=Gaussian(width=3.0), random_state=0).fit(Z, pairs=pairs)
    by_labels = NoisyPairClustering(3, random_state=0).fit(X, np.where(np.arange(len(y)) % 3 == 0, y, -1))
    for model in (similarity, by_kernel, by_labels):
        assert clustering_accuracy(y, model.labels_) > 0.93
    assert clustering_accuracy(y, similarity.predict(np.exp(-distances / 26))) > 0.93
    words = sp.random_array((60, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    model = NoisyPairClustering(2, random_state=0).fit(words, pairs=flipped(np.arange(60) % 2, 8, 0.0))
    assert clustering_accuracy(np.arange(60) % 2, model.labels_) > 0.9


def test_coordinates_keep_their_scales(rng):
    y = np.repeat([0, 1, 2], 40)
    noise = 0.02 * rng.normal(size=(120, 40))  # small, but as large as the classes once columns are standardised
    X = np.hstack([np.eye(3)[y] + 0.2 * rng.normal(size=(120, 3)), noise])
    pairs = flipped(y, 1, 0.2)
    kept = NoisyPairClustering(3, metric="coordinates", random_state=0).fit(X, pairs=pairs)
    assert clustering_accuracy(y, kept.labels_) == 1.0
    doubled = NoisyPairClustering(3, metric="coordinates", random_state=0).fit(2.0 * X, pairs=pairs)
    np.testing.assert_allclose(doubled.probabilities_, kept.probabilities_, atol=1e-6)


def test_held_out_chances_do_not_know_their_own_label(rng):
    # Nothing tells these labels but themselves: features and labels are random.
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    pairs = Pairs.from_labels(y, n_pairs=50, random_state=0).flip(0.5, random_state=0)
    model = NoisyPairClustering(2, random_state=0).fit(X, pairs=pairs)
    right = (model.held_out_probabilities_ >= 0.5) == (pairs.labels > 0)
    assert model.held_out_probabilities_.shape == (50,)
    assert right.mean() < 0.75


def test_new_samples_get_the_classes_of_their_like(wine):
    X, y = wine
    train = np.arange(len(y)) % 2 == 0
    model = NoisyPairClustering(3, random_state=0).fit(X[train], pairs=flipped(y[train], 8, 0.1))
    assert clustering_accuracy(y[~train], model.predict(X[~train])) > 0.93
    np.testing.assert_allclose(model.predict_proba(X[~train]).sum(axis=1), 1.0)


def test_the_seed_determines_the_result_and_copies_work(wine):
    X, y = wine
    pairs = flipped(y, 2, 0.2)
    first, second = (NoisyPairClustering(3, random_state=1).fit(X, pairs=pairs) for _ in range(2))
    np.testing.assert_array_equal(first.probabilities_, second.probabilities_)
    np.testing.assert_array_equal(clone(first).fit(X, pairs=pairs).labels_, first.labels_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).predict_proba(X), first.predict_proba(X))


def test_random_pairs_complete_pairs_of_one_kind(rng):
    links = Pairs([0, 1, 2], [1, 2, 3], [1, 1, 1], n_samples=9)
    both = with_both_kinds(links, np.random.RandomState(0))
    assert len(both.negative) == 3
    given = set(zip(links.rows, links.cols, strict=True))
    assert not given & set(zip(both.negative.rows, both.negative.cols, strict=True))
    mixed = Pairs([0, 1], [1, 2], [1, -1], n_samples=3)
    assert with_both_kinds(mixed, np.random.RandomState(0)) == mixed


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n_clusters": 0}, ValueError, "n_clusters must be an integer of at least 1"),
        ({"n_clusters": 1000}, ValueError, "more than the 178 samples"),
        ({"n_clusters": "many"}, TypeError, "n_clusters must be"),
        ({"metric": "cosine"}, ValueError, "metric must be"),
        ({"metric": "precomputed"}, ValueError, "must be a square similarity"),
    ],
)
def test_bad_options_are_refused_by_name(wine, options, error, words):
    X, y = wine
    with pytest.raises(error, match=words):
        NoisyPairClustering(**{"n_clusters": 3} | options).fit(X, pairs=flipped(y, 1, 0.0))


def test_pairs_of_other_samples_are_refused(wine):
    X, y = wine
    with pytest.raises(ValueError, match="pairs are over n_samples=100"):
        NoisyPairClustering(3).fit(X, pairs=flipped(y[:100], 1, 0.0))
    with pytest.raises(TypeError, match=r"kernelwise\.Pairs"):
        NoisyPairClustering(3).fit(X, pairs=[(0, 1, 1)])


def test_sparse_columns_with_negative_numbers_are_those_of_the_dense_table(wine):
    X, y = wine
    Z, pairs = StandardScaler().fit_transform(X), flipped(y, 2, 0.1)
    dense, sparse = (NoisyPairClustering(3, random_state=0).fit(form, pairs=pairs) for form in (Z, sp.csr_array(Z)))
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(Z[:9])), dense.predict(Z[:9]))


def test_sparse_columns_are_words_unless_some_are_negative(rng):
    weights = sp.random_array((40, 30), density=0.2, rng=rng, format="csr")  # as of tf-idf: below one
    assert isinstance(fit_columns(weights, "features", np.random.RandomState(0)), WordColumns)
    weights.data[3] *= -1
    assert isinstance(fit_columns(weights, "features", np.random.RandomState(0)), StandardColumns)


def test_without_pairs_nothing_is_gained_by_pairs(rng):
    X = np.vstack([rng.standard_normal((40, 2)) + shift for shift in (0.0, 6.0)])
    diagnostic = NoisyPairClustering(2, random_state=0).fit(X).diagnostic_
    assert (diagnostic["gain"], diagnostic["gain_error"]) == (0.0, 0.0)
