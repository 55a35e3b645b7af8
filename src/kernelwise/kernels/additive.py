"""Kernels of single features and of pairs of features: products and sums of kernels of one variable."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from .specs import Kernel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Laplace(Kernel):
    """The Laplace kernel ``k(x, z) = exp(-||x - z||_1 / width)``: a product over features, with a kink at each."""

    width: float = 1.0

    @property
    def label(self) -> str:
        return f"laplace(width={self.width:g})"

    def evaluate(self, S: Any, T: Any) -> Array:
        return np.exp(cdist(S, T, "cityblock") / -self.width)

    def diagonal(self, S: Any) -> Array:
        return np.ones(S.shape[0])


#: Terms of the Fourier series reach to this many standard deviations, and its period leaves as many widths between the
#: values and their copies: both errors are below 1e-8.
REACH = 6.0
#: Values that are spread over more widths than this need too many terms, and the sum is computed as it stands.
LONGEST_SERIES = 60.0
#: For so few rows of ``T`` the sum is quicker than the terms of the series of all rows of ``S``.
FEW = 16


def gaussian_series(span: float) -> tuple[Array, Array]:
    """Return ``h`` and ``a`` with ``exp(-u^2 / 2) = sum_m a_m cos(h_m u)`` for all ``|u| <= span``, to 1e-8."""
    length = span + REACH
    frequencies = np.arange(np.ceil(REACH * length / (2 * np.pi)) + 1) * (2 * np.pi / length)
    return frequencies, np.exp(-0.5 * frequencies**2) * np.sqrt(2 * np.pi) / length * np.where(
        frequencies > 0, 2.0, 1.0
    )


def _sum_of_gaussians(S: Array, T: Array, width: float) -> Array:
    """Return ``sum_j exp(-(s_j - t_j)^2 / (2 width^2))`` for all rows of ``S`` and ``T``."""
    low, high = min(S.min(initial=0.0), T.min(initial=0.0)), max(S.max(initial=0.0), T.max(initial=0.0))
    length = (high - low) / width + REACH
    if not length <= LONGEST_SERIES or len(T) <= FEW:
        total = np.zeros((len(S), len(T)))
        for j in range(S.shape[1]):
            total += np.exp(-0.5 * ((S[:, j, None] - T[:, j]) / width) ** 2)
        return total
    frequencies, shares = gaussian_series(length - REACH)

    def waves(values: Array) -> Array:
        angles = values[:, :, None] * (frequencies / width)
        return np.concatenate([np.cos(angles), np.sin(angles[:, :, 1:])], axis=2) * roots

    roots = np.sqrt(np.concatenate([shares, shares[1:]]))
    return waves(S).reshape(len(S), -1) @ waves(T).reshape(len(T), -1).T


@dataclass(frozen=True)
class Interactions(Kernel):
    """The mean over single features, or over pairs of features, of products of Gaussian kernels of one variable.

    ``order=1``: ``(1/d) sum_j g(x_j, z_j)``, whose functions are sums of effects of single features; ``order=2``: the
    mean of ``g(x_j, z_j) g(x_k, z_k)`` over ``j < k``, with ``g(u, v) = exp(-(u - v)^2 / 2)``.

    References
    ----------
    Duvenaud, Nickisch and Rasmussen, Additive Gaussian processes, NeurIPS 2011.
    """

    order: int = 1

    @property
    def label(self) -> str:
        return "single features" if self.order == 1 else "pairs of features"

    def evaluate(self, S: Any, T: Any) -> Array:
        d, total = S.shape[1], _sum_of_gaussians(S, T, 1.0)
        if self.order == 1:
            return total / d
        # Newton's identity: twice the sum over pairs is the square of the sum without the sum of squares.
        return (total**2 - _sum_of_gaussians(S, T, np.sqrt(0.5))) / (d * (d - 1))

    def diagonal(self, S: Any) -> Array:
        return np.ones(S.shape[0])
