"""Copies are found, and equal rows that chance explains are told from them."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernelwise.scoring.kernel_scores import _Standardiser
from kernelwise.scoring.rows import find_copies, find_outliers
from kernelwise.tables.preparation import Words


def standard(X):
    return _Standardiser.fit(X, np.ones(len(X)))(X)


def with_copies(rng, n_columns, away, n_rows=300, n_copied=30, times=5):
    """Rows, of which the first are repeated with noise of this size, and the row that each was made from."""
    X = rng.randn(n_rows, n_columns)
    made_from = np.concatenate([np.arange(n_rows), np.tile(np.arange(n_copied), times)])
    noise = np.where(np.arange(len(made_from)) < n_rows, 0.0, away)[:, None] * rng.randn(len(made_from), n_columns)
    return X[made_from] + noise, made_from


@pytest.mark.parametrize(("n_columns", "away"), [(2, 0.0), (4, 0.01), (8, 0.05), (20, 0.1)])
def test_all_copies_of_a_row_are_one_group(n_columns, away):
    X, made_from = with_copies(np.random.RandomState(0), n_columns, away)
    found = find_copies(standard(X))
    copied = made_from < 30
    assert (found.near if away else found.equal)[copied].all()
    for row in range(30):
        assert len(set(found.group[made_from == row])) == 1
    assert len(set(found.group[copied])) == 30
    assert len(set(found.group)) >= 298


@pytest.mark.parametrize("n_columns", [2, 3, 8, 40])
def test_normal_rows_have_no_near_copies(n_columns):
    for seed in range(10):
        found = find_copies(standard(np.random.RandomState(seed).randn(400, n_columns)))
        assert not found.near.any()
        assert not found.equal.any()


@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_rounded_numbers_have_no_near_copies(decimals):
    for seed in range(5):
        X = np.round(3 * np.random.RandomState(seed).randn(400, 4), decimals)
        assert not find_copies(standard(X)).near.any()


def test_equal_rows_of_categories_are_equal_by_chance(rng):
    """Votes of two parties: many people vote alike."""
    party = rng.integers(2, size=(400, 1))
    votes = np.where(rng.random((400, 10)) < 0.9, party, 1 - party).astype(float)
    found = find_copies(standard(votes))
    assert found.equal.mean() > 0.5
    assert (found.equal & ~found.by_chance).mean() < 0.03


def test_indicators_of_a_category_are_one_column(rng):
    """Two rows that differ in a category differ in two indicators."""
    color, size, shape = rng.integers(6, size=400), rng.integers(5, size=400), rng.integers(4, size=400)
    X = np.hstack([np.eye(6)[color], np.eye(5)[size], np.eye(4)[shape]])
    for columns in (None, [(0, 6), (6, 11), (11, 15)]):
        found = find_copies(standard(X), columns)
        assert found.by_chance.sum() == found.equal.sum() > 300


def test_copies_among_numbers_are_not_chance(rng):
    X = np.column_stack([rng.integers(3, size=(200, 2)), rng.normal(size=(200, 2))])
    X = np.vstack([X, X[:7]])
    found = find_copies(standard(X))
    assert found.equal.sum() == 14
    assert not found.by_chance.any()


def test_texts_that_share_most_words_are_near_copies(rng):
    words = np.array([f"word{k}" for k in range(300)])
    texts = [" ".join(rng.choice(words, 14, replace=False)) for _ in range(120)]
    texts += [text + " indeed" for text in texts[:4]] + ["thank you"] * 3 + [texts[5]]
    found = find_copies(Words().learn(texts).encode(texts))
    assert np.flatnonzero(found.near).tolist() == [0, 1, 2, 3, 120, 121, 122, 123]
    assert np.flatnonzero(found.equal & ~found.by_chance).tolist() == [5, 127]
    assert np.flatnonzero(found.by_chance).tolist() == [124, 125, 126]


def test_empty_texts_and_few_rows_are_no_copies():
    assert not find_copies(sp.csr_array((50, 7))).near.any()
    assert not find_copies(np.random.RandomState(0).randn(3, 2)).near.any()


@pytest.mark.parametrize(("n_rows", "n_columns"), [(100, 2), (500, 5), (3000, 3), (300, 40)])
def test_no_row_of_normal_columns_is_far_away_and_one_with_a_wild_cell_is(n_rows, n_columns):
    X = np.random.RandomState(0).randn(n_rows, n_columns) * 10.0 ** np.arange(-2, n_columns - 2).clip(max=3)
    assert len(find_outliers(X)) == 0
    X[11] = X[11] + 30 * X.std(axis=0)
    assert find_outliers(X).tolist() == [11]


def test_rows_far_away_are_not_looked_for_in_texts_few_rows_or_categories(rng):
    assert len(find_outliers(sp.csr_array(np.eye(50)))) == 0
    assert len(find_outliers(np.array([[0.0, 0.0], [0.1, 0.2], [99.0, 99.0]]))) == 0
    rare = (np.arange(300)[:, None] == [5, 70, 8]).astype(float)
    assert len(find_outliers(np.column_stack([rng.normal(size=(300, 2)), rare]))) == 0
