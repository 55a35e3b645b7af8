"""Pairs of several sources: who is right how often, and what that does for classes and audits."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score

from kernelwise import NoisyPairClustering, Pairs, audit_pairs, audit_record_pairs
from kernelwise.metrics import normalized_mutual_info
from kernelwise.noise.pair_sources import WEIGHTS, weighed_by_source

RATES = (0.02, 0.1, 0.2, 0.45, 0.5)


def given_by_five(seed=0, n_pairs=450):
    """Pairs of iris by five people, of whom two hardly know anything, and which of the pairs are wrong."""
    X, y = load_iris(return_X_y=True)
    truth = Pairs.from_labels(y, n_pairs=n_pairs, random_state=seed)
    source = np.random.RandomState(seed).randint(5, size=n_pairs)
    flipped = truth.flip(np.array(RATES)[source], random_state=seed)
    names = np.array(["Ann", "Bob", "Cy", "Dan", "Eve"])[source]
    pairs = Pairs(flipped.rows, flipped.cols, flipped.labels, n_samples=len(y), sources=names)
    return X, y, pairs, flipped.labels != truth.labels


def without_sources(pairs):
    return Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=pairs.n_samples)


def test_sources_stay_with_their_pairs():
    pairs = Pairs([0, 1, 2], [1, 2, 3], [1, -1, 1], n_samples=4, sources=["a", "b", "a"])
    assert pairs.positive.sources.tolist() == ["a", "a"]
    assert pairs.restrict([1, 2, 3]).sources.tolist() == ["b", "a"]
    assert pairs.flip(1.0).sources.tolist() == ["a", "b", "a"]
    assert (pairs + pairs).sources.tolist() == ["a", "b", "a"] * 2
    assert (pairs + without_sources(pairs)).sources is None
    assert pairs.merged().sources is None
    assert pairs != without_sources(pairs)
    assert "sources=2" in repr(pairs)
    with pytest.raises(ValueError, match=r"sources must have one value per pair, got shape \(2,\) for 3 pairs"):
        Pairs([0, 1, 2], [1, 2, 3], [1, -1, 1], n_samples=4, sources=["a", "b"])
    with pytest.raises(ValueError, match="sources lacks the name of who gave pair 1"):
        Pairs([0, 1], [1, 2], [1, -1], n_samples=4, sources=["a", None])


def test_classes_and_accuracies_with_sources():
    gains, areas = [], []
    for seed in range(2):
        X, y, pairs, wrong = given_by_five(seed)
        plain = NoisyPairClustering(3, random_state=0).fit(X, pairs=without_sources(pairs))
        model = NoisyPairClustering(3, random_state=0).fit(X, pairs=pairs)
        true = [1 - wrong[pairs.sources == name].mean() for name in model.pair_sources_.source]
        assert np.abs(model.pair_sources_.accuracy - true).mean() < 0.05
        gains.append(normalized_mutual_info(y, model.labels_) - normalized_mutual_info(y, plain.labels_))
        areas.append(roc_auc_score(wrong, 1 - model.pair_quality_) - roc_auc_score(wrong, 1 - plain.pair_quality_))
        # The rates are those of the pairs as they were given, and not of weighed ones.
        right = model.pair_quality_[pairs.labels > 0].mean()
        assert model.noise_.precision_positive == pytest.approx(right)
        low, high = model.noise_intervals_["precision_positive"]
        assert low <= right <= high
    assert np.mean(gains) > 0.03
    assert np.mean(areas) > 0.01


def test_an_audit_of_pairs_has_a_table_of_sources():
    X, _, pairs, wrong = given_by_five(1)
    audit = audit_pairs(X, pairs, kind="classes", random_state=0)
    plain = audit_pairs(X, without_sources(pairs), kind="classes", random_state=0)
    assert plain.sources is None
    assert audit.sources.source[audit.sources.accuracy.argmax()] == "Ann"
    true = np.array([1 - wrong[pairs.sources == name].mean() for name in audit.sources.source])
    assert np.abs(audit.sources.accuracy - true).mean() < 0.05
    assert ((audit.sources.low <= true) & (true <= audit.sources.high)).mean() >= 0.8
    assert roc_auc_score(wrong, 1 - audit.quality) > roc_auc_score(wrong, 1 - plain.quality)


def test_answers_about_records_have_sources():
    draw = np.random.default_rng(0)
    names = ["".join(draw.choice(list("abcdefghij"), 8)) for _ in range(80)]
    records = pd.DataFrame({"name": names + [name[:3] + "x" + name[3:] for name in names]})
    rows, cols = np.tile(np.arange(80), 3), 80 + np.concatenate([np.arange(80), draw.integers(0, 80, 160)])
    truth = np.where(cols - 80 == rows, 1, -1)
    who = draw.integers(3, size=240)
    given = np.where(draw.random(240) < np.array([0.02, 0.1, 0.4])[who], -truth, truth)
    audit = audit_record_pairs(records, Pairs(rows, cols, given, n_samples=160, sources=who), random_state=0)
    assert audit.sources.source.tolist() == [0, 1, 2]
    assert np.abs(audit.sources.accuracy - [np.mean((given == truth)[who == k]) for k in range(3)]).mean() < 0.04


def test_weights_stay_within_limits_and_guesses_do_not_count():
    pairs = Pairs(np.arange(400) % 60, np.arange(400) % 60 + 1 + np.arange(400) // 60, np.ones(400), n_samples=80)
    sources = np.repeat(["good", "guess"], [390, 10])
    quality = np.where(sources == "good", 0.99, 0.5)
    weights = weighed_by_source(pairs, sources, quality).weights
    assert WEIGHTS[0] <= weights.min() < weights.max() <= WEIGHTS[1]
    only_guesses = weighed_by_source(pairs, np.repeat("guess", 400), np.full(400, 0.5)).weights
    np.testing.assert_allclose(only_guesses, WEIGHTS[0])
