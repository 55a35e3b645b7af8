"""Kernels from their formulas, for tests of banks and factors."""

import numpy as np

from kernelwise.kernels import Cosine, Gaussian, Linear, Polynomial, bank, landmarks


def columns_of(kernel, X):
    if kernel.columns is None:
        return X
    return X[:, list(kernel.columns) if isinstance(kernel.columns, tuple) else [kernel.columns]]


def gram(kernel, X, Z):
    """The matrix of a kernel from its formula."""
    S, T = columns_of(kernel, X), columns_of(kernel, Z)
    inner = S @ T.T
    match kernel:
        case Gaussian():
            return np.exp(-((S[:, None] - T[None]) ** 2).sum(axis=2) / (2 * kernel.width**2))
        case Linear():
            return inner
        case Polynomial():
            return (kernel.gamma * inner + kernel.coef0) ** kernel.degree
        case Cosine():
            left, right = np.linalg.norm(S, axis=1), np.linalg.norm(T, axis=1)
            return inner / np.outer(np.where(left > 0, left, np.inf), np.where(right > 0, right, np.inf))


def make_everything_large(patch):
    """Shrink the constants, so that a handful of samples takes the way of a hundred thousand."""
    patch.setattr(landmarks, "WHOLE_GRAM", 8)
    patch.setattr(landmarks, "SHORT", 0)
    patch.setattr(landmarks, "SAMPLE", 4)
    patch.setattr(landmarks, "WORST", 3)
    patch.setattr(landmarks, "CHUNK", 16)
    patch.setattr(bank, "STACK_BYTES", 300)
