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
    """The Laplace kernel ``k(x, z) = exp(-||x - z||_1 / width)``: a product over features, with a kink at each.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels.additive import Laplace
    >>> float(Laplace(width=1.0)(np.array([[0.0, 0.0], [1.0, 1.0]]))[0, 1].round(4))
    0.1353
    """

    width: float = 1.0

    @property
    def label(self) -> str:
        return f"laplace(width={self.width:g})"

    def evaluate(self, S: Any, T: Any) -> Array:
        return np.exp(cdist(S, T, "cityblock") / -self.width)

    def diagonal(self, S: Any) -> Array:
        return np.ones(S.shape[0])


@dataclass(frozen=True)
class Interactions(Kernel):
    """The mean over single features, or over pairs of features, of products of Gaussian kernels of one variable.

    ``order=1``: ``(1/d) sum_j g(x_j, z_j)``, whose functions are sums of effects of single features; ``order=2``: the
    mean of ``g(x_j, z_j) g(x_k, z_k)`` over ``j < k``, with ``g(u, v) = exp(-(u - v)^2 / 2)``.

    References
    ----------
    Duvenaud, Nickisch and Rasmussen, Additive Gaussian processes, NeurIPS 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels.additive import Interactions
    >>> float(Interactions(order=1)(np.array([[0.0, 0.0], [0.0, 9.0]]))[0, 1].round(4))
    0.5
    """

    order: int = 1

    @property
    def label(self) -> str:
        return "single features" if self.order == 1 else "pairs of features"

    def evaluate(self, S: Any, T: Any) -> Array:
        total, squares = np.zeros((len(S), len(T))), np.zeros((len(S), len(T)) if self.order == 2 else (0, 0))
        for j in range(S.shape[1]):
            g = np.exp(-0.5 * (S[:, j, None] - T[:, j]) ** 2)
            total += g
            if self.order == 2:
                squares += g * g
        d = S.shape[1]
        # Newton's identity: twice the sum over pairs is the square of the sum without the sum of squares.
        return total / d if self.order == 1 else (total**2 - squares) / (d * (d - 1))

    def diagonal(self, S: Any) -> Array:
        return np.ones(S.shape[0])
