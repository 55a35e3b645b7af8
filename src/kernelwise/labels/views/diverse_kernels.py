"""The kernels that :class:`NoisyLabelClassifier` looks through: wrong in different ways.

No kernel is right for every table. A smooth function of all features wants a Gaussian, axis-parallel steps the Laplace
kernel, effects of single features the additive kernel, products of two features the pairwise one. Each is cheap to fit,
and leave-one-out scores say which to trust.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

from ...kernels import Gaussian, Kernel, Linear
from ...kernels.specs import is_sparse, squared_distances

Array = NDArray[np.float64]

#: Rows from which the median distance between samples is read.
MEDIAN_ROWS = 500
#: Widths of the Gaussian and the Laplace kernels in units of the median distance.
GAUSSIAN_WIDTHS, LAPLACE_WIDTHS = (0.3, 0.6, 1.2), (0.4, 1.0)


@dataclass(frozen=True)
class Laplace(Kernel):
    """The Laplace kernel ``k(x, z) = exp(-||x - z||_1 / width)``: a product over features, with a kink at each.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.views.diverse_kernels import Laplace
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
    >>> from kernelwise.labels.views.diverse_kernels import Interactions
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


def diverse_kernels(X: Any) -> list[Kernel]:
    """Return the kernels for standardised features: on dense data all of them, on sparse data the two that scale.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.views.diverse_kernels import diverse_kernels
    >>> [kernel.label for kernel in diverse_kernels(np.eye(3))][-2:]
    ['single features', 'pairs of features']
    """
    few = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], MEDIAN_ROWS)).astype(np.intp)]
    kernels: list[Kernel] = [Linear()]
    euclidean = _middle(np.sqrt(squared_distances(few, few))[np.triu_indices(few.shape[0], 1)])
    kernels += [Gaussian(width=_rounded(factor * euclidean)) for factor in GAUSSIAN_WIDTHS]
    if is_sparse(X):
        return kernels
    manhattan = _middle(pdist(few, "cityblock"))
    kernels += [Laplace(width=_rounded(factor * manhattan)) for factor in LAPLACE_WIDTHS]
    return kernels + [Interactions(order=order) for order in (1, 2) if order <= X.shape[1]]


def _middle(distances: Array) -> float:
    """The median of the distances that are not zero; 1 where all samples are equal."""
    distances = distances[distances > 0]
    return float(np.median(distances)) if distances.size else 1.0


def _rounded(width: float) -> float:
    return float(f"{width:.3g}")
