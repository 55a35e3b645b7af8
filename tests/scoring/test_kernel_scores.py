"""Kernels as features: the features give the kernel, and functions of them are evaluated as sums over landmarks."""

import numpy as np
import pytest

from kernelwise.kernels.specs import Gaussian, Laplace, Linear
from kernelwise.scoring.kernel_scores import kernel_features

KERNELS = [Linear(), Gaussian(width=1.5), Laplace(width=3.0)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.label)
def test_features_give_the_centred_kernel_with_unit_mean_diagonal(rng, kernel):
    X = rng.normal(size=(40, 3))
    X[7] = X[8]
    gram = kernel.evaluate(X, X)
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    rows = kernel_features(kernel, X, X).rows
    np.testing.assert_allclose(rows @ rows.T, centred * 40 / np.trace(centred), atol=1e-5)


@pytest.mark.parametrize("n_landmarks", [2, 15, 40])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.label)
def test_a_function_of_the_features_is_the_sum_over_landmarks(rng, kernel, n_landmarks):
    X = np.clip(rng.normal(size=(40, 3)), -4, 4)
    features = kernel_features(kernel, X, X[:n_landmarks])
    beta, constant = rng.normal(size=(features.rows.shape[1], 2)), np.array([0.5, -1.0])
    np.testing.assert_allclose(features.scorer(beta, constant)(X), features.rows @ beta + constant, atol=1e-4)


def test_landmarks_that_become_equal_change_nothing(rng):
    X = rng.normal(size=(30, 2))
    grams = []
    for distance in (0.0, 1e-12, 1e-10):
        near = X.copy()
        near[1] = near[0] + distance
        rows = kernel_features(Gaussian(width=1.0), near, near).rows
        grams.append(rows @ rows.T)
    np.testing.assert_allclose(grams[1], grams[0], atol=1e-9)
    np.testing.assert_allclose(grams[2], grams[0], atol=1e-8)
