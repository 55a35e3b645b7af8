"""Transitive closure: exact on true pairs, the majority where pairs contradict each other."""

import numpy as np
import pytest

from kernelwise import Pairs, TransitiveClosure


def all_pairs(n):
    return np.triu_indices(n, k=1)


def closure_by_definition(pairs):
    """Three-valued closure by repeated application of the two rules, on dense matrices."""
    n = pairs.n_samples
    known = np.eye(n, dtype=int)
    known[pairs.rows, pairs.cols] = known[pairs.cols, pairs.rows] = pairs.labels
    while True:
        same, apart = known > 0, known < 0
        grown = known.copy()
        grown[(same.astype(int) @ same.astype(int)) > 0] = 1
        grown[(same.astype(int) @ apart.astype(int) + apart.astype(int) @ same.astype(int)) > 0] = -1
        if np.array_equal(grown, known):
            return known
        known = grown


@pytest.mark.parametrize("seed", range(5))
def test_true_pairs_give_what_the_two_rules_give(seed):
    y = np.random.default_rng(seed).integers(0, 3, size=30)
    pairs = Pairs.from_labels(y, n_pairs=25 + 10 * seed, random_state=seed)
    model = TransitiveClosure().fit(pairs=pairs)
    rows, cols = all_pairs(30)
    found = model.predict_pairs(rows, cols)
    np.testing.assert_array_equal(found, closure_by_definition(pairs)[rows, cols])
    truth = np.where(y[rows] == y[cols], 1, -1)
    assert ((found == 0) | (found == truth)).all()
    assert model.n_contradicted_ == 0
    np.testing.assert_array_equal(model.pair_scores(rows, cols), (found + 1) / 2)


def test_the_majority_decides_a_pair_that_is_given_with_both_labels():
    pairs = Pairs([0, 0, 0, 1], [1, 1, 1, 2], [1, 1, -1, -1], n_samples=4)
    model = TransitiveClosure().fit(pairs=pairs)
    assert model.predict_pairs([0, 0, 0], [1, 2, 3]).tolist() == [1, -1, 0]
    tie = Pairs([0, 0], [1, 1], [1, -1], n_samples=2)
    assert TransitiveClosure().fit(pairs=tie).predict_pairs([0], [1]).tolist() == [0]


def test_many_pairs_outvote_a_wrong_must_link():
    """Two classes with all pairs known; one pair between them is said to be of one class."""
    y = np.arange(10) % 2
    pairs = Pairs.from_labels(y)
    labels = pairs.labels.copy()
    labels[np.flatnonzero(labels < 0)[7]] = 1
    wrong = Pairs(pairs.rows, pairs.cols, labels, n_samples=10)
    model = TransitiveClosure().fit(pairs=wrong)
    np.testing.assert_array_equal(model.predict_pairs(pairs.rows, pairs.cols), pairs.labels)
    assert model.n_contradicted_ == 1


def test_a_tenth_of_wrong_labels_in_a_dense_set_of_pairs_is_outvoted():
    y = np.arange(60) % 3
    truth = Pairs.from_labels(y)
    model = TransitiveClosure().fit(pairs=truth.flip(0.1, random_state=0))
    np.testing.assert_array_equal(model.predict_pairs(truth.rows, truth.cols), truth.labels)


def test_no_evidence_between_groups_is_positive_and_a_contradiction_elsewhere_changes_nothing():
    y = np.random.default_rng(0).integers(0, 4, size=80)
    clean = Pairs.from_labels(y, n_pairs=120, random_state=0)
    noisy = TransitiveClosure().fit(pairs=clean.flip(0.2, random_state=1))
    assert noisy.evidence_.data.max() < 0
    both = Pairs(
        np.concatenate([clean.rows, [80, 81, 80]]),
        np.concatenate([clean.cols, [81, 82, 82]]),
        np.concatenate([clean.labels, [1, 1, -1]]),
        n_samples=83,
    )
    rows, cols = all_pairs(80)
    expected = TransitiveClosure().fit(pairs=clean).predict_pairs(rows, cols)
    np.testing.assert_array_equal(TransitiveClosure().fit(pairs=both).predict_pairs(rows, cols), expected)


def test_x_gives_the_number_of_samples_and_nothing_else():
    pairs = Pairs([0, 1], [1, 2], [1, -1], n_samples=4)
    plain, given = TransitiveClosure().fit(pairs=pairs), TransitiveClosure().fit(np.ones((4, 2)), pairs=pairs)
    np.testing.assert_array_equal(plain.groups_, given.groups_)
    by_labels = TransitiveClosure(random_state=0).fit(y=[0, 0, 1, -1])
    assert by_labels.predict_pairs([0, 0, 0], [1, 2, 3]).tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.ones((3, 2)), "pairs": Pairs([0], [1], [1], n_samples=4)}, "n_samples=4"),
        ({}, "no pairs"),
        ({"y": [-1, -1, 2]}, "fewer than two labels"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        TransitiveClosure().fit(**arguments)


def test_pairs_outside_the_samples_are_refused():
    model = TransitiveClosure().fit(pairs=Pairs([0], [1], [1], n_samples=3))
    with pytest.raises(ValueError, match="between 0 and 2"):
        model.predict_pairs([0], [3])
    assert model.predict_pairs([], []).tolist() == []
