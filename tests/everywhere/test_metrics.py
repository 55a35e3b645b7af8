"""Scores of partitions against their definitions by loops over samples, pairs and matchings."""

from itertools import combinations, permutations
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score

from kernelwise.metrics import clustering_accuracy, coherence, normalized_mutual_info, pairwise_f_score

SCORES = [clustering_accuracy, pairwise_f_score, normalized_mutual_info]


@st.composite
def partitions(draw, max_size=12, max_labels=4):
    n = draw(st.integers(1, max_size))
    labels = st.lists(st.integers(0, max_labels - 1), min_size=n, max_size=n)
    return draw(labels), draw(labels)


def accuracy_by_matchings(y_true, y_pred):
    classes, clusters = sorted(set(y_true)), sorted(set(y_pred))
    short, long = (classes, clusters) if len(classes) <= len(clusters) else (clusters, classes)
    first, second = (y_true, y_pred) if short is classes else (y_pred, y_true)
    best = 0
    for chosen in permutations(long, len(short)):
        match = dict(zip(short, chosen, strict=True))
        best = max(best, sum(match[a] == b for a, b in zip(first, second, strict=True)))
    return best / len(y_true)


def f_score_by_pairs(y_true, y_pred):
    hits = together_true = together_pred = 0
    for i, j in combinations(range(len(y_true)), 2):
        same_true, same_pred = y_true[i] == y_true[j], y_pred[i] == y_pred[j]
        hits += same_true and same_pred
        together_true += same_true
        together_pred += same_pred
    if together_true + together_pred == 0:
        return 1.0
    if hits == 0:
        return 0.0
    precision, recall = hits / together_pred, hits / together_true
    return 2 * precision * recall / (precision + recall)


def nmi_by_definition(y_true, y_pred, mean):
    n = len(y_true)

    def probability(event):
        return sum(map(event, y_true, y_pred)) / n

    h_true = -sum(p * log(p) for a in set(y_true) if (p := probability(lambda s, t, a=a: s == a)))
    h_pred = -sum(p * log(p) for b in set(y_pred) if (p := probability(lambda s, t, b=b: t == b)))
    information = 0.0
    for a in set(y_true):
        for b in set(y_pred):
            joint = probability(lambda s, t, a=a, b=b: s == a and t == b)
            if joint:
                apart = probability(lambda s, t, a=a: s == a) * probability(lambda s, t, b=b: t == b)
                information += joint * log(joint / apart)
    if len(set(y_true)) == 1 or len(set(y_pred)) == 1:
        return float(len(set(y_true)) == len(set(y_pred)))
    return information / mean(h_true, h_pred)


@given(partitions())
def test_accuracy_is_the_best_matching(labels):
    assert clustering_accuracy(*labels) == pytest.approx(accuracy_by_matchings(*labels), abs=1e-12)


@given(partitions())
def test_f_score_counts_pairs(labels):
    assert pairwise_f_score(*labels) == pytest.approx(f_score_by_pairs(*labels), abs=1e-12)


@pytest.mark.parametrize(
    ("average", "mean"),
    [
        ("arithmetic", lambda a, b: (a + b) / 2),
        ("geometric", lambda a, b: sqrt(a * b)),
        ("max", max),
        ("min", min),
    ],
)
@given(labels=partitions())
def test_nmi_is_its_definition(labels, average, mean):
    assert normalized_mutual_info(*labels, average=average) == pytest.approx(
        nmi_by_definition(*labels, mean), abs=1e-12
    )


def test_nmi_default_is_that_of_scikit_learn(rng):
    for _ in range(50):
        y_true, y_pred = rng.integers(0, 5, size=(2, 40))
        assert normalized_mutual_info(y_true, y_pred) == pytest.approx(normalized_mutual_info_score(y_true, y_pred))


@pytest.mark.parametrize("score", SCORES)
@given(labels=partitions(), order=st.permutations(range(4)))
def test_scores_ignore_the_names_of_labels(score, labels, order):
    y_true, y_pred = labels
    names = ["ab", "c", "", "d"]
    expected = score(y_true, y_pred)
    assert score([names[a] for a in y_true], [order[b] for b in y_pred]) == pytest.approx(expected, abs=1e-12)
    assert score(y_pred, y_true) == pytest.approx(expected, abs=1e-12)
    assert score(y_true, y_true) == pytest.approx(1.0)
    assert -1e-12 <= expected <= 1.0


def test_scores_handle_many_labels_without_a_square_table(rng):
    y_true, y_pred = rng.permutation(200_000), rng.integers(0, 100_000, size=200_000)
    assert pairwise_f_score(y_true, y_pred) == 0.0
    assert 0.9 < normalized_mutual_info(y_true, y_pred) < 1.0


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(
    ("y_true", "y_pred", "error", "message"),
    [
        ([0, 1], [0], ValueError, "same length, got 2 and 1"),
        ([], [], ValueError, "y_true must be one-dimensional and not empty"),
        ([0], [[0]], ValueError, "y_pred must be one-dimensional and not empty"),
        ([0.0, np.nan], [0, 1], ValueError, "y_true must not hold NaN"),
        ([0, 1], np.array([None, "a"], dtype=object), TypeError, "y_pred must hold labels of one sortable kind"),
    ],
)
def test_scores_reject(score, y_true, y_pred, error, message):
    with pytest.raises(error, match=message):
        score(y_true, y_pred)


def test_nmi_rejects_an_unknown_mean():
    with pytest.raises(ValueError, match="average must be one of"):
        normalized_mutual_info([0, 1], [0, 1], average="harmonic")


@given(st.integers(1, 8), st.integers(0, 12), st.integers(0, 2**32 - 1))
def test_coherence_is_its_definition(n_columns, extra, seed):
    rng = np.random.default_rng(seed)
    n = n_columns + extra
    basis = np.linalg.qr(rng.normal(size=(n, n_columns)))[0]
    leverage = [sum(basis[i, j] ** 2 for j in range(n_columns)) for i in range(n)]
    mu = coherence(basis)
    assert mu == pytest.approx(n / n_columns * max(leverage))
    assert 1.0 - 1e-9 <= mu <= n / n_columns + 1e-9
    rotation = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))[0]
    assert coherence(basis @ rotation) == pytest.approx(mu)


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (np.ones(3), "non-empty matrix"),
        (np.zeros((3, 0)), "non-empty matrix"),
        (np.ones((3, 2)), "orthonormal columns.*numpy.linalg.qr"),
        (np.full((3, 1), np.nan), "orthonormal columns"),
        (np.eye(3)[:2], "orthonormal columns"),
    ],
)
def test_coherence_rejects(basis, message):
    with pytest.raises(ValueError, match=message):
        coherence(basis)
