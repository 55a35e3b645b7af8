"""Kernel ridge regression with a free intercept, and its leave-one-out predictions in closed form.

With features ``phi(x)`` of a kernel, sample weights ``w`` and targets ``y`` (one column per output), minimise over
``beta`` and the intercept ``b``

    sum_i w_i ||y_i - b - beta^T phi(x_i)||^2 + penalty ||beta||^2.

The fit is linear in the targets, so leaving out sample ``i`` divides its residual by one minus its leverage:

    y_i - f_{-i}(x_i) = (y_i - f(x_i)) / (1 - h_i),    h_i = w_i / sum_l w_l + sum_k U_ik^2 s_k^2 / (s_k^2 + penalty),

where ``U s V^T`` is the singular value decomposition of the centred, weighted features. One decomposition serves every
penalty. (Allen, The relationship between variable selection and data augmentation, Technometrics 16, 1974.)

=============  ======================================
``left``       U, one row per sample
``singular``   s
``right``      V, one row per feature
=============  ======================================
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

Array = NDArray[np.float64]

#: Squared singular values below this fraction of the largest are rounding.
ROUNDING = 1e-13
#: A kernel with unit mean diagonal is known to about this much, where it is summed over a series.
UNSEEN = 1e-6
#: The same as ``ROUNDING`` for a matrix in single precision.
SINGLE_ROUNDING = 1e-6


@dataclass(frozen=True)
class RidgeSystem:
    """Weighted ridge regression with a free intercept, decomposed once for every penalty.

    Build it with :meth:`decompose`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.views.ridge import RidgeSystem
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> system = RidgeSystem.decompose(x, 2 * x[:, 0] + 1)
    >>> system.leave_one_out(1e-9)[:, 0].round(3).tolist()
    [1.0, 3.0, 5.0, 7.0]
    """

    left: Array
    singular: Array
    right: Array
    targets: Array
    weight: Array
    feature_mean: Array

    @classmethod
    def decompose(cls, features: Array, targets: ArrayLike, weight: ArrayLike | None = None) -> "RidgeSystem":
        """Decompose ``features`` (n_samples, n_features) for ``targets`` (n_samples,) or (n_samples, n_outputs)."""
        Y = np.asarray(targets, dtype=np.float64)
        Y = Y[:, None] if Y.ndim == 1 else Y
        w = np.ones(len(Y)) if weight is None else np.asarray(weight, dtype=np.float64)
        if len(features) != len(Y) or len(w) != len(Y):
            raise ValueError(
                f"features, targets and weight must have equally many rows, got {len(features)}, {len(Y)} and {len(w)}"
            )
        mean = w @ features / w.sum()
        A = np.sqrt(w)[:, None] * (features - mean)
        wide = A.shape[1] > A.shape[0]
        squares, vectors = eigh(A @ A.T if wide else A.T @ A) if A.shape[1] else (np.zeros(0), np.zeros((0, 0)))
        kept = squares > ROUNDING * max(squares.max(initial=0.0), np.finfo(float).tiny)
        singular, vectors = np.sqrt(squares[kept]), vectors[:, kept]
        U, V = (vectors, A.T @ vectors / singular) if wide else (A @ vectors / singular, vectors)
        return cls(U, singular, V, Y, w, mean)

    @classmethod
    def of_gram(cls, gram: Array, targets: Array, weight: Array, *, single: bool = False) -> "RidgeSystem":
        """Decompose the kernel matrix of the samples itself; single precision is twice as fast for many samples.

        There are no features then, and the fit is a sum over the samples: see :meth:`dual`.
        """
        precision, rounding = (np.float32, SINGLE_ROUNDING) if single else (np.float64, ROUNDING)
        mean = weight @ gram / weight.sum()
        root = np.sqrt(weight)
        centred = (gram - mean - mean[:, None] + weight @ mean / weight.sum()) * root[:, None] * root
        squares, U = eigh(centred.astype(precision), driver="evd", overwrite_a=True, check_finite=False)
        kept = squares > rounding * max(float(squares[-1]), float(np.finfo(precision).tiny))
        U, singular = U[:, kept].astype(np.float64), np.sqrt(squares[kept].astype(np.float64))
        return cls(U, singular, np.zeros((0, len(singular))), targets, weight, np.zeros(0))

    def dual(self, penalty: float) -> Array:
        """Return ``alpha`` (n_samples, n_outputs) with ``f(x) = sum_i alpha_i k(x, x_i)`` but for a constant.

        The columns of ``alpha`` sum to zero, so that constants in the kernel do not matter. Directions in which the
        kernel is smaller than :data:`UNSEEN` fade out: they add nothing to ``f`` but the rounding of the kernel.
        """
        gain = self._shrink(penalty) / (self.singular**2 + UNSEEN)
        return np.sqrt(self.weight)[:, None] * (self.left @ (gain[:, None] * self._projected))

    @property
    def target_mean(self) -> Array:
        """The weighted mean of each target, which is the prediction at the mean of the features."""
        return self.weight @ self.targets / self.weight.sum()

    @cached_property
    def _projected(self) -> Array:
        return self.left.T @ (np.sqrt(self.weight)[:, None] * (self.targets - self.target_mean))

    def leverages(self, penalty: float) -> Array:
        """Return the leverage of every sample; leverages do not depend on the targets."""
        return self.weight / self.weight.sum() + self.left**2 @ self._shrink(penalty)

    def leave_one_out(
        self, penalty: float, rows: NDArray[np.intp] | None = None, leverages: Array | None = None
    ) -> Array:
        """Return ``f_{-i}(x_i)``: for every sample, or for some rows, the prediction by the fit to all others.

        ``leverages`` of all these rows may be given, if other targets have needed them before.
        """
        left, targets, weight = self.left, self.targets, self.weight
        if rows is not None:
            left, targets, weight = left[rows], targets[rows], weight[rows]
        shrink = self._shrink(penalty)
        fitted = self.target_mean + left @ (shrink[:, None] * self._projected) / np.sqrt(weight)[:, None]
        if leverages is None:
            leverages = weight / self.weight.sum() + left**2 @ shrink
        # If no other sample has influence on the fit of a sample, its leverage is 1; the floor keeps the result finite.
        free = np.maximum(1 - leverages, 1e-10)
        return targets - (targets - fitted) / free[:, None]

    def _shrink(self, penalty: float) -> Array:
        return self.singular**2 / (self.singular**2 + penalty)

    def coefficients(self, penalty: float) -> tuple[Array, Array]:
        """Return ``beta`` (n_features, n_outputs) and the intercepts (n_outputs,)."""
        gain = self.singular / (self.singular**2 + penalty)
        beta = self.right @ (gain[:, None] * self._projected)
        return beta, self.target_mean - self.feature_mean @ beta
