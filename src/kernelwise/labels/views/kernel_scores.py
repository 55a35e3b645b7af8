r"""Kernels as features, and functions of these features that are quick to evaluate at many rows.

With landmarks ``p_1 .. p_m`` and ``K = k(p, p) + nugget = L L^T``, the features are :math:`\phi(x) = L^{-1} k(p, x)`,
so that :math:`\phi(x) \cdot \phi(z)` is the kernel, or near it. The nugget makes the features continuous: landmarks may
be equal, or nearly so. A function of the features is a sum over landmarks, :math:`f(x) = \sum_p c_p k(x, p) + b`, and
is kept as this sum.

The kernels of single features and of pairs of features become sums over the terms of a Fourier series: with
:math:`g(u, v) = \exp(-(u - v)^2 / 2) = \sum_m a_m \cos(h_m (u - v))`,

.. math:: \sum_p c_p \sum_j g(x_j, p_j) = \sum_{j, m} a_m [ C_{jm} \cos(h_m x_j) + S_{jm} \sin(h_m x_j) ],

which does not depend on the number of landmarks. The series is one for all rows, so that the score of a row does not
depend on the rows that are scored with it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from ...kernels import Kernel, Linear
from ...kernels.additive import Interactions, gaussian_series

Array = NDArray[np.float64]
Scorer = Callable[[Any], Array]

#: Standardised features are cut off here, so that one extreme value does not dominate a distance.
CUT = 4.0
#: This share of the mean of the diagonal is added to the kernel matrix of the landmarks.
NUGGET = 1e-7


@dataclass(frozen=True)
class KernelFeatures:
    """Features of some rows, around zero and with unit mean square norm, and how a function of them is evaluated."""

    kernel: Kernel
    landmarks: Any
    factor: Array | None  # L; None where the features are the columns themselves
    rows: Array
    mean: Array
    scale: float

    def scorer(self, beta: Array, constant: Array) -> Scorer:
        """Return the function ``phi(x) . beta + constant`` of new rows."""
        beta = beta / self.scale
        constant = constant - self.mean @ beta
        if self.factor is None:
            return LinearScorer(beta, constant)
        coef = solve_triangular(self.factor, beta, lower=True, trans="T")
        return sum_over_landmarks(self.kernel, self.landmarks, coef, constant)


def kernel_features(kernel: Kernel, X: Any, landmarks: Any) -> KernelFeatures:
    """Return the features of the rows of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import Gaussian
    >>> from kernelwise.labels.views.kernel_scores import kernel_features
    >>> X = np.array([[0.0], [1.0], [1.0]])
    >>> features = kernel_features(Gaussian(width=1.0), X, X)
    >>> gram = (features.rows @ features.rows.T) * features.scale**2  # of centred features
    >>> bool(abs(gram[0, 0] - 2 * gram[0, 1] + gram[1, 1] - 2 * (1 - np.exp(-0.5))) < 1e-5)
    True
    """
    if isinstance(kernel, Linear) and not sp.issparse(X) and X.shape[1] <= landmarks.shape[0]:
        factor, rows = None, np.array(X)
    else:
        gram = kernel.evaluate(landmarks, landmarks)
        size = float(gram.trace()) / len(gram) or 1.0
        factor = cholesky(gram + NUGGET * size * np.eye(len(gram)), lower=True)
        rows = solve_triangular(factor, kernel.evaluate(landmarks, X), lower=True).T
    mean = rows.mean(axis=0)
    rows -= mean
    scale = float(np.sqrt(np.einsum("ij,ij->", rows, rows) / len(rows))) or 1.0
    rows /= scale
    return KernelFeatures(kernel, landmarks, factor, rows, mean, scale)


def sum_over_landmarks(kernel: Kernel, landmarks: Any, coef: Array, constant: Array) -> Scorer:
    """Return the function ``sum_p coef_p k(x, p) + constant`` of rows, in the form that is quickest for many rows."""
    if isinstance(kernel, Linear):
        return LinearScorer(np.asarray(landmarks.T @ coef), constant)
    if isinstance(kernel, Interactions):
        return _additive(kernel, landmarks, coef, constant)
    return ExpandedScorer(kernel, landmarks, coef, constant)


@dataclass(frozen=True)
class LinearScorer:
    """``x . coef + constant``."""

    coef: Array
    constant: Array

    def __call__(self, X: Any) -> Array:
        return np.asarray(X @ self.coef) + self.constant


@dataclass(frozen=True)
class ExpandedScorer:
    """``sum_p coef_p k(x, p) + constant`` over landmarks p."""

    kernel: Kernel
    landmarks: Any
    coef: Array
    constant: Array

    def __call__(self, X: Any) -> Array:
        return self.kernel.evaluate(self.kernel.select(X), self.landmarks) @ self.coef + self.constant


@dataclass(frozen=True)
class Waves:
    """``a_m^(1/2) cos(h_m x_j)`` and ``a_m^(1/2) sin(h_m x_j)`` of every number of a row, as one row."""

    step: float
    roots: Array

    @classmethod
    def of(cls, largest: float, width: float) -> "Waves":
        """Return the waves of a Gaussian of this width for numbers up to this size."""
        frequencies, shares = gaussian_series(2 * largest / width)
        return cls(float(frequencies[1]) / width, np.sqrt(shares))

    def __call__(self, X: Array) -> Array:
        turn = np.exp(1j * self.step * X)
        powers = np.empty((len(self.roots), *X.shape), dtype=np.complex128)
        powers[0] = 1.0
        for m in range(1, len(self.roots)):  # cos and sin of multiples of an angle
            np.multiply(powers[m - 1], turn, out=powers[m])
        scaled = powers * self.roots[:, None, None]
        return np.concatenate([scaled.real, scaled.imag[1:]]).transpose(1, 0, 2).reshape(len(X), -1)


@dataclass(frozen=True)
class SingleScorer:
    """A sum of functions of single features."""

    waves: Waves
    coef: Array
    constant: Array

    def __call__(self, X: Any) -> Array:
        return self.waves(X) @ self.coef + self.constant


@dataclass(frozen=True)
class PairScorer:
    """``sum_p coef_p (sum_j g(x_j, p_j))^2`` and a sum of functions of single features."""

    waves: Waves
    landmarks: Array
    coef: Array
    single: SingleScorer

    def __call__(self, X: Any) -> Array:
        return (self.waves(X) @ self.landmarks) ** 2 @ self.coef + self.single(X)


def _additive(kernel: Interactions, landmarks: Array, coef: Array, constant: Array) -> Scorer:
    """Return the quick form of a kernel of single features or of pairs; samples are cut off at CUT before."""
    d, waves = landmarks.shape[1], Waves.of(CUT, 1.0)
    if kernel.order == 1:
        return SingleScorer(waves, waves(landmarks).T @ coef / d, constant)
    narrow, coef = Waves.of(CUT, float(np.sqrt(0.5))), coef / (d * (d - 1))
    return PairScorer(waves, waves(landmarks).T, coef, SingleScorer(narrow, -(narrow(landmarks).T @ coef), constant))
