"""Closed-form leave-one-out against refits without the sample."""

import numpy as np
import pytest

from kernelwise.scoring.kernel_scores import RidgeSystem


def refit(features, targets, weight, penalty):
    """Weighted ridge with a free intercept from its normal equations: (coefficients, intercepts)."""
    design = np.column_stack([features, np.ones(len(features))])
    ridge = penalty * np.diag([1.0] * features.shape[1] + [0.0])
    solution = np.linalg.solve(design.T @ (weight[:, None] * design) + ridge, design.T @ (weight[:, None] * targets))
    return solution[:-1], solution[-1]


@pytest.mark.parametrize(("n", "p"), [(25, 4), (12, 12), (10, 30)])
@pytest.mark.parametrize("penalty", [1e-2, 1.0, 300.0])
def test_leave_one_out_equals_refits(rng, n, p, penalty):
    features, targets = rng.normal(size=(n, p)) + 3.0, rng.normal(size=(n, 3))
    weight = rng.uniform(0.5, 3.0, n)
    left_out = RidgeSystem.decompose(features, targets, weight).leave_one_out(penalty)
    for i in range(n):
        others = np.arange(n) != i
        beta, intercept = refit(features[others], targets[others], weight[others], penalty)
        np.testing.assert_allclose(left_out[i], features[i] @ beta + intercept, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("n", "p"), [(25, 4), (10, 30)])
def test_coefficients_equal_the_normal_equations(rng, n, p):
    features, targets, weight = rng.normal(size=(n, p)), rng.normal(size=(n, 2)), rng.uniform(0.5, 3.0, n)
    found = RidgeSystem.decompose(features, targets, weight).coefficients(0.7)
    for part, expected in zip(found, refit(features, targets, weight, 0.7), strict=True):
        np.testing.assert_allclose(part, expected, atol=1e-9)


def test_a_weight_of_two_is_the_sample_twice(rng):
    features, targets = rng.normal(size=(15, 3)), rng.normal(size=15)
    weight = np.ones(15)
    weight[4] = 2.0
    twice = np.r_[np.arange(15), 4]
    weighted = RidgeSystem.decompose(features, targets, weight)
    repeated = RidgeSystem.decompose(features[twice], targets[twice])
    np.testing.assert_allclose(weighted.coefficients(0.3)[0], repeated.coefficients(0.3)[0], atol=1e-10)


def test_without_features_the_mean_of_the_others_is_left(rng):
    targets = rng.normal(size=8)
    left_out = RidgeSystem.decompose(np.zeros((8, 0)), targets).leave_one_out(1.0)[:, 0]
    np.testing.assert_allclose(left_out, (targets.sum() - targets) / 7)


def test_rows_must_agree():
    with pytest.raises(ValueError, match="equally many rows, got 3, 2 and 2"):
        RidgeSystem.decompose(np.zeros((3, 1)), np.zeros(2))
