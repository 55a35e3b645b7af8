"""Audits of pairs: known mistakes are found, known rates are met, and no pair vouches for itself."""

from functools import partial
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel

from kernelwise import PairKernelLearner, PairNoise, Pairs, audit_pairs
from kernelwise.datasets import load_citeseer, load_cora
from kernelwise.pairs.audit.hidden_classes import PairGraph, Rates, fit_classes
from kernelwise.pairs.audit.judgements import REMEDY, add_context, soft_logistic
from kernelwise.pairs.audit.views import activity, class_view
from kernelwise.pairs.classes.evidence import with_labels
from kernelwise.pairs.classes.features import NoFeatures
from kernelwise.pairs.classes.results import likely_fits


def blobs(rng, n=150, k=3, spread=0.5):
    y = np.arange(n) % k
    return np.eye(k)[y] + spread * rng.standard_normal((n, k)), y


def noisy_pairs(y, n_pairs, rate, seed=0):
    return Pairs.from_labels(y, n_pairs=n_pairs, random_state=seed).flip(rate, random_state=seed)


def audited(X, pairs, **options):
    """An audit by fewer folds, which is quicker."""
    return audit_pairs(X, pairs, n_folds=4, **options)


def ranking(audit, y):
    """AUC of the wrong pairs."""
    return roc_auc_score(audit.pairs.labels != audit.pairs.true_labels(y), 1 - audit.quality)


def linked_words(rng, n=400, k=4, within=0.8, n_words=200):
    """Words of a topic and links that mostly stay within it."""
    y = np.arange(n) % k
    words = rng.integers(0, n_words, (n, 20))
    words = np.where(rng.random((n, 20)) < 0.5, words // k * k + y[:, None], words)
    X = sp.csr_array((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 20)), shape=(n, n_words))
    X.sum_duplicates()
    rows, cols = rng.integers(0, n, 5 * n), rng.integers(0, n, 5 * n)
    cols = np.where(rng.random(5 * n) < within, cols // k * k + y[rows], cols)
    kept = rows != cols
    return X, np.column_stack([rows, cols])[kept], y


def similar_links(rng, X, y, n_links, nearness):
    """Links between near samples, four times as often within classes."""
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    chance = np.exp(-nearness * squares / np.median(squares)) * np.where(np.equal.outer(y, y), 4.0, 1.0)
    chance = np.triu(chance, 1).ravel()
    return np.column_stack(np.divmod(rng.choice(chance.size, n_links, replace=False, p=chance / chance.sum()), len(y)))


def check_rates(audit, y, error):
    """Both fractions of right pairs are met, within their intervals."""
    truth = PairNoise.estimate(audit.pairs, audit.pairs.true_labels(y), np.arange(len(audit.pairs)))
    for name in ("precision_positive", "precision_negative"):
        low, high = audit.intervals[name]
        assert getattr(audit.noise, name) == pytest.approx(getattr(truth, name), abs=error)
        assert low <= getattr(audit.noise, name) <= high
        assert low - 0.01 <= getattr(truth, name) <= high + 0.01


@pytest.fixture(scope="module")
def small():
    """Sixty samples, 300 pairs of which a fifth are flipped, and their audit; tests only look at it."""
    X, y = blobs(np.random.default_rng(0), n=60)
    pairs = noisy_pairs(y, 300, 0.2)
    return X, pairs, audited(X, pairs, random_state=0)


#: Parameters of long tests, of which the quick run takes some.
slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(("k", "rate"), [(2, 0.2), slow(3, 0.2), slow(5, 0.2), (3, {1: 0.3}), slow(3, {-1: 0.3})])
def test_flipped_constraints_are_found_and_counted(k, rate, rng):
    """The classes overlap."""
    X, y = blobs(rng, k=k)
    audit = audited(X, noisy_pairs(y, 1500, rate), random_state=0)
    assert ranking(audit, y) > 0.95
    check_rates(audit, y, 0.04)


def test_heavy_noise_of_three_classes_is_counted(rng):
    X, y = blobs(rng)
    audit = audited(X, noisy_pairs(y, 2000, 0.3), random_state=0)
    assert ranking(audit, y) > 0.9
    check_rates(audit, y, 0.06)


def test_pairs_of_one_class_may_be_given_more_often(rng):
    X, y = blobs(rng, k=5, spread=0.4)
    pairs = Pairs.from_labels(y, n_pairs=3000, random_state=0)
    pairs = pairs.positive + pairs.negative[: len(pairs.positive)]
    audit = audited(X, pairs.flip(0.2, random_state=0), random_state=0)
    check_rates(audit, y, 0.06)


def test_prior_is_that_of_the_pairs_given(small):
    _, pairs, audit = small
    noise = audit.noise
    share = (pairs.labels > 0).mean()
    expected = noise.precision_positive * share + (1 - noise.precision_negative) * (1 - share)
    assert noise.prior == pytest.approx(expected)


def test_clean_constraints_are_trusted(rng):
    X, y = blobs(rng, spread=0.2)
    audit = audited(X, noisy_pairs(y, 1500, 0.0), random_state=0)
    assert audit.noise.precision_positive > 0.93
    assert audit.noise.precision_negative > 0.93
    assert audit.worth_checking() <= 0.03 * 1500


def test_pairs_judge_each_other_without_features(rng):
    y = np.arange(100) % 2
    audit = audited(None, noisy_pairs(y, 1500, 0.2), random_state=0)
    assert ranking(audit, y) > 0.95
    check_rates(audit, y, 0.04)


def test_similarity_in_place_of_features(rng):
    X, y = blobs(rng, n=90)
    audit = audited(rbf_kernel(X), noisy_pairs(y, 900, 0.2), metric="precomputed", random_state=0)
    assert ranking(audit, y) > 0.9


@pytest.mark.parametrize("within", [0.4, slow(0.8)])
def test_wrong_links_of_documents_are_found(within, rng):
    X, edges, y = linked_words(rng, within=within)
    pairs = Pairs.from_graph(edges, n_samples=len(y), random_state=0)
    audit = audited(X, pairs, random_state=0)
    links = pairs.labels > 0
    wrong = pairs.labels != pairs.true_labels(y)
    assert roc_auc_score(wrong[links], 1 - audit.quality[links]) > 0.9
    check_rates(audit, y, 0.06)


@pytest.mark.parametrize(("k", "nearness"), [(2, 2), slow(2, 4), slow(3, 2), (3, 4)])
def test_links_of_similar_samples_are_counted_where_there_are_classes(k, nearness, rng):
    """Clusters within a class look like classes, and most right links would cross them."""
    X, y = blobs(rng, k=k, spread=0.4)
    pairs = Pairs.from_graph(similar_links(rng, X, y, 450, nearness), n_samples=len(y), random_state=0)
    check_rates(audited(X, pairs, random_state=0), y, 0.08)


def test_interval_is_wide_where_links_follow_more_than_classes(rng):
    """Neighbours on a curve: there are no classes, and any number of clusters is as good."""
    n = 300
    angle = rng.uniform(0, 2 * np.pi, n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    near = np.argsort(((X[:, None] - X[None]) ** 2).sum(axis=2), axis=1)[:, 1:6]
    edges = np.column_stack([np.repeat(np.arange(n), near.shape[1]), near.ravel()])
    audit = audited(X, Pairs.from_graph(edges, n_samples=n, random_state=0), random_state=0)
    low, high = audit.intervals["precision_negative"]
    assert high - low > 0.15
    assert "links are also made for other reasons" in audit.diagnostic["reason"]
    assert "the exact share of wrong links cannot be known from the links alone" in audit.diagnostic["reason"].lower()


def test_links_alone_are_audited_against_drawn_non_links(rng):
    X, edges, y = linked_words(rng, n=240)
    links = Pairs.from_graph(edges, n_samples=len(y), negatives=None)
    audit = audited(X, links, random_state=0)
    assert len(audit.quality) == len(links)
    assert ranking(audit, y) > 0.85


def test_contradictions_end_with_one_right_and_one_wrong(rng):
    X, y = blobs(rng, n=60, spread=0.3)
    pairs = noisy_pairs(y, 500, 0.0)
    lies = Pairs(pairs.rows[:40], pairs.cols[:40], -pairs.labels[:40], n_samples=len(y))
    audit = audited(X, pairs + lies, random_state=0)
    told_twice = audit.quality[:40], audit.quality[-40:]
    np.testing.assert_allclose(told_twice[0] + told_twice[1], 1.0)
    assert (told_twice[0] > told_twice[1]).mean() > 0.9


def test_messages_on_a_tree_give_exact_chances(rng):
    """By enumeration of all classes of all samples, with the label of the pair itself left out, and with it."""
    rows, cols, labels = [0, 1, 1, 3], [1, 2, 3, 4], np.array([1, -1, 1, 1])
    graph = PairGraph(Pairs(rows, cols, labels, n_samples=5))
    prior = np.log(rng.dirichlet(np.ones(3), size=5))
    rates = [Rates(0.7, 0.2), Rates(0.3, 0.8)]
    _, messages = graph.distinct.propagate(prior, np.full((8, 3), 1 / 3), graph.odds(rates), 60)
    apart = graph.distinct.apart(messages)
    same = with_labels(apart, graph.odds(rates))

    def chance(pair, known):
        totals = np.zeros(2)
        for z in product(range(3), repeat=5):
            weight = np.exp(sum(prior[i, z[i]] for i in range(5)))
            for t in known:
                rate = rates[0 if labels[t] > 0 else 1]
                weight *= rate.same if z[rows[t]] == z[cols[t]] else rate.other
            totals[int(z[rows[pair]] == z[cols[pair]])] += weight
        return totals[1] / totals.sum()

    for t in range(4):
        others = [s for s in range(4) if s != t]
        assert apart[graph.index[t]] == pytest.approx(chance(t, others))
        assert same[graph.index[t]] == pytest.approx(chance(t, range(4)))


def test_rates_are_pairs_per_possible_pair():
    """Two classes of three samples that are all in two positive and two negative pairs."""
    y = np.array([0, 0, 0, 1, 1, 1])
    within, across = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], [(0, 3), (1, 4), (2, 5), (3, 1), (4, 2), (5, 0)]
    pairs = Pairs(*np.transpose(within + across), [1] * 6 + [-1] * 6, n_samples=6)
    graph = PairGraph(pairs)
    same = (pairs.true_labels(y) > 0).astype(float)
    by_pair = np.zeros(graph.distinct.n_pairs)
    by_pair[graph.index] = same
    positive, negative = graph.fit_rates(by_pair, np.eye(2)[y])
    # Of 36 / 2 possible pairs, counted as n^2 / 2, half are within; half a pair is added everywhere.
    assert positive == pytest.approx((6.5 / 9, 0.5 / 9))
    assert negative == pytest.approx((0.5 / 9, 6.5 / 9))


def test_the_number_of_classes_is_found(rng):
    y = np.arange(120) % 4
    pairs = noisy_pairs(y, 2400, 0.1)
    graph = PairGraph(pairs)
    fits = [
        fit_classes(graph, pairs.labels, y % k if k < 4 else (y + 4 * (np.arange(120) % 8 > 3)) % k, NoFeatures())
        for k in (2, 4)
    ]
    assert [fit.n_classes for fit in likely_fits(fits)] == [4]


def test_no_link_vouches_for_itself_among_clusters(rng):
    X, y = blobs(rng, n=60)
    pairs = noisy_pairs(y, 300, 0.1)
    own = np.arange(300) % 5 == 0  # the first fold, so that both draw the same random numbers
    other = Pairs(pairs.rows, pairs.cols, np.where(own, -pairs.labels, pairs.labels), n_samples=60)
    scores = [class_view(X, given, np.arange(300) % 5, np.random.RandomState(0)).score for given in (pairs, other)]
    np.testing.assert_array_equal(scores[0][own], scores[1][own])
    assert (scores[0][~own] != scores[1][~own]).any()


def test_repetitions_of_a_pair_share_a_fold(rng):
    from kernelwise.pairs.audit.judgements import link_folds

    pairs = Pairs([0, 1, 2, 0], [1, 0, 3, 1], [1, 1, -1, -1], n_samples=4)
    fold_of = link_folds(pairs, 5, np.random.RandomState(0))
    assert fold_of[0] == fold_of[1] == fold_of[3] != fold_of[2]


def test_context_by_hand():
    links = Pairs([0, 1, 2], [1, 2, 3], [1, 1, 1], n_samples=4)
    score = np.array([1.0, 0.0, -1.0])
    z = (score - score.mean()) / score.std()
    # Others, shrunken by one: of link 0, none at sample 0 and link 1 at sample 1; and so on.
    context = np.array([z[1] / 2, z[0] / 2 + z[2] / 2, z[1] / 2]) / 2
    slope = max(np.polyfit(context, z, 1)[0], 0.0) if context.std() > 1e-12 else 0.0
    np.testing.assert_allclose(add_context(score, links), z + slope * context)


def test_same_seed_same_audit(small):
    X, pairs, audit = small
    assert audited(X, pairs, random_state=0) == audit


def test_learner_uses_the_audit(rng):
    X, y = blobs(rng, n=60)
    X = X - X.min()
    pairs = noisy_pairs(y, 400, 0.2)
    learner = PairKernelLearner(noise="auto", alpha=1e-2, fit_intercept=True, random_state=0).fit(X, pairs=pairs)
    assert learner.noise_ == learner.audit_.noise
    told = PairKernelLearner(noise=learner.noise_, alpha=1e-2, fit_intercept=True).fit(X, pairs=pairs)
    np.testing.assert_allclose(learner.kernel_weights_, told.kernel_weights_)
    assert told.audit_ is None


def test_learner_audits_precomputed_kernels(rng):
    X, y = blobs(rng, n=60)
    stack = np.stack([rbf_kernel(X, gamma=g) for g in (0.5, 2.0)], axis=2)
    learner = PairKernelLearner("precomputed", noise="auto", alpha=1e-2, fit_intercept=True, random_state=0)
    learner.fit(stack, pairs=noisy_pairs(y, 300, 0.1))
    assert 0.5 < learner.noise_.precision_negative <= 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda X, p: audit_pairs(X, p[:0]), ValueError, "no pairs"),
        (lambda X, p: audit_pairs(X, p[:3]), ValueError, "too few to judge each other"),
        (lambda X, p: audit_pairs(X, p.negative), ValueError, "all pairs are negative"),
        (lambda X, p: audit_pairs(X[:10], p), ValueError, "n_samples=30 samples, but X has 10"),
        (lambda X, p: audit_pairs(X, [(0, 1)]), TypeError, "pairs must be a kernelwise.Pairs"),
        (lambda X, p: audit_pairs(X, p, metric="cosine"), ValueError, 'metric must be "features" or "precomputed"'),
        (lambda X, p: audit_pairs(X, p, metric="precomputed"), ValueError, "X must be square"),
        (lambda X, p: audit_pairs(X, p, n_folds=1), ValueError, "n_folds must be an integer of at least 2"),
        (lambda X, p: audit_pairs(X * np.nan, p), ValueError, "NaN"),
    ],
)
def test_what_cannot_be_audited_is_refused(call, error, message, rng):
    X, y = blobs(rng, n=30)
    with pytest.raises(error, match=message):
        call(X, noisy_pairs(y, 100, 0.1))


@pytest.mark.slow
@pytest.mark.parametrize(("load", "auc", "error"), [(load_cora, 0.78, 0.04), (load_citeseer, 0.715, 0.07)])
def test_wrong_citations(load, auc, error):
    papers = load()
    pairs = Pairs.from_graph(papers.edges, n_samples=len(papers.target), random_state=0)
    audit = audit_pairs(papers.data, pairs, random_state=0)
    links = pairs.labels > 0
    wrong = (pairs.labels != pairs.true_labels(papers.target))[links]
    assert roc_auc_score(wrong, 1 - audit.quality[links]) > auc
    assert audit.noise.precision_positive == pytest.approx(1 - wrong.mean(), abs=error)
    low, high = audit.intervals["precision_positive"]
    assert low - 0.01 < 1 - wrong.mean() < high + 0.01


def test_scores_that_speak_against_the_chances_leave_their_mean(rng):
    score, weights = rng.normal(size=50), rng.uniform(0.5, 2.0, 50)
    target = 1.0 / (1.0 + np.exp(score))
    np.testing.assert_allclose(soft_logistic(score, target, weights), np.average(target, weights=weights), atol=1e-5)


def test_hubs_count_alike_at_both_ends_of_a_pair(rng):
    pairs = noisy_pairs(np.arange(40) % 2, 120, 0.2)
    fold_of = np.arange(120) % 4
    turned = Pairs(pairs.cols, pairs.rows, pairs.labels, n_samples=40)
    np.testing.assert_allclose(activity(pairs, fold_of), activity(turned, fold_of))
    assert np.ptp(activity(pairs, fold_of)) > 1


def test_the_remedy_stands_where_the_audit_is_not_reliable(rng):
    X, y = blobs(rng)
    sure, unsure = audited(X, noisy_pairs(y, 900, 0.1)), audited(X, noisy_pairs(y, 60, 0.3))
    assert [audit.diagnostic["reliable"] for audit in (sure, unsure)] == [True, False]
    assert [audit.diagnostic["reason"].endswith(REMEDY) for audit in (sure, unsure)] == [False, True]
