"""Audits: of data, of any classifier's answers, and next to cleanlab."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from kernelwise import audit_labels, estimate_label_noise, flip_labels


@pytest.fixture(scope="module")
def given():
    X, y = make_moons(300, noise=0.15, random_state=0)
    return X, y, flip_labels(y, 0.25, random_state=0)


def test_wrong_labels_come_first(given):
    X, y, labels = given
    audit = audit_labels(X, labels, random_state=0)
    wrong = y != labels
    assert roc_auc_score(wrong, -audit.quality) > 0.93
    assert np.mean(wrong[audit.order[:30]]) > 0.85
    assert audit.noise_rate == pytest.approx(wrong.mean(), abs=0.08)
    assert np.mean(audit.suggested == y) > 0.9
    assert np.mean(wrong[audit.order[: audit.worth_checking()]]) > 0.7
    assert np.mean(wrong[audit.order[: audit.worth_checking(precision=0.5)]]) == pytest.approx(0.5, abs=0.15)


def test_any_classifier_will_do(given):
    X, y, labels = given
    audit = audit_labels(X, labels, estimator=LogisticRegression(), random_state=0)
    assert roc_auc_score(y != labels, -audit.quality) > 0.8
    assert audit.probabilities.shape == (300, 2)


def test_probabilities_of_a_perfect_oracle_find_every_flip(given):
    _, y, labels = given
    belief = np.where(y[:, None] == [0, 1], 0.9, 0.1)
    audit = audit_labels(None, labels, probabilities=belief)
    wrong = y != labels
    assert set(audit.order[: wrong.sum()]) == set(np.flatnonzero(wrong))
    np.testing.assert_array_equal(audit.suggested, y)


def test_three_classes_with_names(rng):
    y = rng.integers(0, 3, 240)
    X = np.eye(3)[y] + 0.3 * rng.normal(size=(240, 3))
    names = np.array(["a", "b", "c"])
    labels = names[flip_labels(y, 0.2, random_state=0)]
    audit = audit_labels(X, labels, random_state=0)
    assert np.mean(audit.suggested == names[y]) > 0.9
    assert audit.transition.shape == (3, 3)


def test_the_estimate_names_the_rates_of_classes(given):
    X, y, labels = given
    found = estimate_label_noise(X, labels, random_state=0)
    assert found.interval[0] <= found.noise_rate <= found.interval[1]
    assert found.class_rates.keys() == {0, 1}
    assert found.noise_rate == pytest.approx(np.mean(y != labels), abs=0.08)


def test_same_seed_same_answer(given):
    X, _, labels = given
    first, second = (audit_labels(X[:100], labels[:100], random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.quality, second.quality)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": LogisticRegression(), "probabilities": np.ones((4, 2))}, "not both"),
        ({"probabilities": np.ones((4, 3)) / 3}, r"must have shape \(4, 2\)"),
        ({"probabilities": np.ones((4, 2))}, "sum to one"),
        ({"probabilities": np.full((4, 2), np.nan)}, "finite"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        audit_labels(np.arange(4.0)[:, None], [0, 1, 0, 1], **options)


def test_one_class_cannot_be_audited():
    with pytest.raises(ValueError, match="one class"):
        audit_labels(None, [1, 1], probabilities=[[1.0], [1.0]])


def test_next_to_cleanlab(given):
    rank = pytest.importorskip("cleanlab.rank", reason="cleanlab is compared with where it is installed")
    X, y, _ = given
    labels = flip_labels(y, {0: 0.05, 1: 0.4}, random_state=1)
    belief = cross_val_predict(LogisticRegression(), X, labels, cv=5, method="predict_proba")
    theirs = rank.get_label_quality_scores(labels, belief)
    ours = audit_labels(None, labels, probabilities=belief).quality
    wrong = y != labels
    assert roc_auc_score(wrong, -ours) >= roc_auc_score(wrong, -theirs)
