"""The kernels of the views of :class:`NoisyLabelClassifier`, which fit different kinds of data.

No kernel is right for every table. The Gaussian kernel fits smooth functions of all features, the Laplace kernel fits
steps parallel to the axes, the additive kernel fits effects of single features, and the pairwise kernel fits products
of two features. Each kernel is cheap to fit, and leave-one-out scores say which kernels to trust.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from ...kernels import Gaussian, Kernel, Linear
from ...kernels.additive import Interactions, Laplace
from ...kernels.specs import squared_distances
from ...samples import ALIKE

Array = NDArray[np.float64]

#: The number of rows from which the median distance between samples is computed.
MEDIAN_ROWS = 500
#: Widths of the Gaussian and the Laplace kernels in units of the median distance.
GAUSSIAN_WIDTHS, LAPLACE_WIDTHS = (0.3, 0.6, 1.2), (0.4, 1.0)
#: The width of the one Gaussian kernel for sparse text, whose samples are nearly all equally far from each other.
TEXT_WIDTH = 0.5
#: Beyond this many columns, distances hardly differ, so that narrow kernels and kernels of single columns are left out.
MANY_COLUMNS = 100


def diverse_kernels(X: Any) -> list[Kernel]:
    """Return the kernels for standardised features: all kinds for dense data, linear and Gaussian for sparse data.

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
    wide = X.shape[1] > MANY_COLUMNS
    kernels += [Gaussian(width=_rounded(factor * euclidean)) for factor in GAUSSIAN_WIDTHS[int(wide) :]]
    if sp.issparse(X):
        return kernels
    manhattan = _middle(pdist(few, "cityblock"))
    kernels += [Laplace(width=_rounded(factor * manhattan)) for factor in LAPLACE_WIDTHS[int(wide) :]]
    return kernels if wide else kernels + [Interactions(order=order) for order in (1, 2) if order <= X.shape[1]]


def text_kernel(X: Any) -> Gaussian:
    """Return the one Gaussian kernel for sparse samples whose kernel matrix is decomposed whole."""
    few = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], MEDIAN_ROWS)).astype(np.intp)]
    distance = _middle(np.sqrt(squared_distances(few, few))[np.triu_indices(few.shape[0], 1)])
    return Gaussian(width=_rounded(TEXT_WIDTH * distance))


def _middle(distances: Array) -> float:
    """Return the median of the distances between samples that are not alike, or 1 where all samples are alike."""
    apart = distances[distances > ALIKE * distances.max(initial=0.0)]
    return float(np.median(apart)) if apart.size else 1.0


def _rounded(width: float) -> float:
    return float(f"{width:.3g}")
