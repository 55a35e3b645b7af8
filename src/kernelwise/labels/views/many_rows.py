r"""Views as functions that are quick to evaluate at many rows.

A view of a kernel is a sum over landmarks, :math:`f(x) = \sum_p c_p k(x, p) + b`, whose coefficients are found once
instead of solving a triangular system for every row. The kernels of single features and of pairs of features become
sums over the terms of a Fourier series: with :math:`g(u, v) = \exp(-(u - v)^2 / 2) = \sum_m a_m \cos(h_m (u - v))`,

.. math:: \sum_p c_p \sum_j g(x_j, p_j) = \sum_{j, m} a_m [ C_{jm} \cos(h_m x_j) + S_{jm} \sin(h_m x_j) ],

which does not depend on the number of landmarks. The series is one for all rows, so that the score of a row does not
depend on the rows that are scored with it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from ...kernels import Kernel, Linear
from ...kernels.additive import Interactions, gaussian_series
from .pool import CUT, KernelScorer, ScaledScorer, ScorePool, Scorer

Array = NDArray[np.float64]


def for_many_rows(pool: ScorePool) -> ScorePool:
    """Return the pool with the same views, quicker to evaluate; scores agree to rounding."""
    return replace(pool, views=[replace(view, score=_quicker(view.score)) for view in pool.views])


def _quicker(score: Scorer) -> Scorer:
    if isinstance(score, ScaledScorer):
        return replace(score, score=_quicker(score.score))
    if not isinstance(score, KernelScorer) or not score.feature_map.rank:
        return score
    phi = score.feature_map
    coef = solve_triangular(phi.cholesky, score.beta, lower=True, trans="T") / phi.scale
    constant = -(phi.mean / phi.scale + score.mean) @ score.beta
    if isinstance(phi.kernel, Linear) and phi.kernel.columns is None:
        return LinearScorer(np.asarray(phi.landmarks.T @ coef), constant)
    if isinstance(phi.kernel, Interactions):
        return _additive(phi.kernel, phi.landmarks, coef, constant)
    return ExpandedScorer(phi.kernel, phi.landmarks, coef, constant)


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
    """Return the quick form of a kernel of single features or of pairs; samples are cut off before they come here."""
    d, largest = landmarks.shape[1], max(CUT, float(np.abs(landmarks).max()))
    waves = Waves.of(largest, 1.0)
    if kernel.order == 1:
        return SingleScorer(waves, waves(landmarks).T @ coef / d, constant)
    narrow, coef = Waves.of(largest, float(np.sqrt(0.5))), coef / (d * (d - 1))
    return PairScorer(waves, waves(landmarks).T, coef, SingleScorer(narrow, -(narrow(landmarks).T @ coef), constant))
