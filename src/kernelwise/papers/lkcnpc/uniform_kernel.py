"""LK: all kernels with equal weights, the baseline of learned combinations."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from ...kernels.combined import CombinedKernelTransformer
from ...statements import Pairs


@dataclass(eq=False, repr=False)
class UniformKernel(CombinedKernelTransformer):
    r"""The mean of the kernels, without learning anything ("LK" in the LKCnpc paper).

    .. math:: k(x, z) = \frac1m \sum_j k_j(x, z)

    Parameters
    ----------
    kernels : kernel, family of kernels, sequence of both, "precomputed" or None, default=None
        None: one linear kernel per attribute, so that the features are X times :math:`m^{-1/2}`.
        "precomputed": X is a stack of Gram matrices, (n, n) or (n, n, n_kernels).
    rank : None, int or float, default=None
        As in :func:`kernelwise.kernels.build_bank`: None for factors that are exact up to rounding.
    random_state : int, RandomState or None, default=None
        For large data: which samples the landmarks of kernels of several columns are chosen from.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
        1/m each.
    kernel_names_ : tuple of str
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    As in :class:`~kernelwise.PairKernelLearner`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import UniformKernel
    >>> X = np.array([[2.0, 0.0], [2.0, 4.0]])
    >>> UniformKernel().fit(X).kernel(X)
    array([[ 2.,  2.],
           [ 2., 10.]])
    """

    kernels: Any = None
    _: KW_ONLY
    rank: int | float | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Evaluate the kernels; ``y`` and ``pairs`` exist for the common interface and are ignored.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
        y, pairs : ignored
        """
        return self._fit_equal_weights(X)
