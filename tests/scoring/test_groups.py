"""No model that scores a row has seen a row of its group."""

import numpy as np
import pytest

from kernelwise.scoring.forest import ShrunkenForest
from kernelwise.scoring.kernel_scores import RidgeSystem
from kernelwise.scoring.logistic import logistic_path
from kernelwise.scoring.pool import _Fitting
from kernelwise.scoring.rows import by_size, grouped_folds, numbered, read_groups


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture
def groups(rng):
    return numbered(rng.randint(12, size=40))


@pytest.mark.parametrize("n_features", [3, 60])
def test_ridge_regression_leaves_groups_out_as_if_it_were_fitted_again(rng, groups, n_features):
    features, targets, weight = rng.randn(40, n_features), rng.randn(40, 2), rng.uniform(0.2, 2.0, 40)
    found = RidgeSystem.decompose(features, targets, weight).leave_groups_out(0.7, groups)
    for group in np.unique(groups):
        kept = groups != group
        beta, constant = RidgeSystem.decompose(features[kept], targets[kept], weight[kept]).coefficients(0.7)
        np.testing.assert_allclose(found[~kept], features[~kept] @ beta + constant, atol=1e-7)


def test_groups_of_one_row_are_left_out_one_by_one(rng):
    system = RidgeSystem.decompose(rng.randn(30, 4), rng.randn(30, 1), rng.uniform(0.2, 2.0, 30))
    np.testing.assert_allclose(system.leave_groups_out(0.3, np.arange(30)), system.leave_one_out(0.3), atol=1e-7)


def test_ridge_scores_do_not_depend_on_the_labels_of_the_group(rng, groups):
    """Neither by the fit nor by the mean of the others."""
    features, given = rng.randn(40, 3), rng.randint(2, size=40)
    other = np.where(groups == 2, 1 - given, given)
    found = []
    for labels in (given, other):
        fitting = _Fitting(features, labels, 2, np.ones(40), np.random.RandomState(0), groups)
        system = RidgeSystem.decompose(features, fitting.Y)
        penalties, scores = fitting.path(system)
        assert len(penalties) > 0
        others = scores / sum(multiple for multiple, _ in penalties)
        found.append(system.leave_groups_out(1.0, groups)[groups == 2])
        assert np.isfinite(others).all()
    np.testing.assert_allclose(*found, atol=1e-8)


def test_trees_that_drew_a_row_of_the_group_do_not_score_it(rng, groups):
    X, Y = rng.randn(40, 3), rng.randn(40, 1)
    other = np.where(groups == 2, -5.0, Y[:, 0])[:, None]
    found = [
        ShrunkenForest(1.0).grow(X, one, np.ones(40), np.random.RandomState(1), group=groups).out_of_bag()
        for one in (Y, other)
    ]
    np.testing.assert_allclose(found[0][groups == 2], found[1][groups == 2])
    assert np.abs(found[0] - found[1])[groups != 2].max() > 0.1


def test_folds_of_logistic_regression_keep_groups_together(rng, groups):
    given = rng.randint(2, size=40)
    fold = grouped_folds(given, groups, 5, np.random.RandomState(0))
    assert all(len(set(fold[groups == group])) == 1 for group in range(12))
    assert len(set(fold)) == 5
    X = rng.randn(40, 3)
    scores, _ = logistic_path(X, given, 2, np.ones(40), fold, lambda logs: float(-logs.mean()))
    assert scores.shape == (40, 2)


def test_groups_are_numbered_in_the_order_of_their_first_rows():
    assert numbered(np.array([7, 3, 7, 9])).tolist() == [0, 1, 0, 2]
    assert sorted(np.concatenate([part.ravel() for part in by_size(np.array([0, 1, 0, 2, 2, 2]))])) == list(range(6))


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_row_without_a_group_is_a_group_of_its_own(missing):
    assert read_groups([1, missing, 1, missing], 4).tolist() == [0, 1, 0, 2]
    assert read_groups(None, 4) is None


def test_groups_need_one_value_for_each_row():
    with pytest.raises(ValueError, match="one value for each of 3 rows"):
        read_groups([1, 2], 3)
    with pytest.raises(ValueError, match="one value for each of 2 rows"):
        read_groups([[1, 2], [1, 3]], 2)
