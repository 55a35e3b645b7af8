r"""Kernels as models: which kernels, their features, the ridge regression on them, and its scores.

No kernel is right for every table. The Gaussian kernel fits smooth functions of all features, and the Laplace kernel
fits steps parallel to the axes. Each kernel is cheap to fit, and leave-one-out scores say which kernels to trust.

With landmarks ``p_1 .. p_m`` and ``K = k(p, p) + nugget = L L^T``, the features are :math:`\phi(x) = L^{-1} k(p, x)`,
so that :math:`\phi(x) \cdot \phi(z)` is the kernel, or near it. The nugget makes the features continuous: landmarks may
be equal, or nearly so. A function of the features is a sum over landmarks, :math:`f(x) = \sum_p c_p k(x, p) + b`, and
is kept as this sum.

Ridge regression with a free intercept minimises, with sample weights ``w`` and targets ``y``,

    sum_i w_i ||y_i - b - beta^T phi(x_i)||^2 + penalty ||beta||^2.

The fit is linear in the targets, so leaving out sample ``i`` divides its residual by one minus its leverage:

    y_i - f_{-i}(x_i) = (y_i - f(x_i)) / (1 - h_i),    h_i = w_i / sum_l w_l + sum_k U_ik^2 s_k^2 / (s_k^2 + penalty),

where ``U s V^T`` (``left``, ``singular``, ``right``) is the singular value decomposition of the centred, weighted
features. One decomposition serves every penalty, and groups of samples are left out in the same way. (Allen, The
relationship between variable selection and data augmentation, Technometrics 16, 1974.)
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.spatial.distance import pdist

from ..kernels.specs import Gaussian, Kernel, Laplace, Linear, squared_distances
from ..samples import ALIKE, LARGEST, power_of_two
from .rows import by_size

Array = NDArray[np.float64]
#: The number of rows from which the median distance between samples is computed.
MEDIAN_ROWS = 500
#: Widths in units of the median distance. All distances between sparse texts are nearly equal to the median.
GAUSSIAN_WIDTH, TEXT_WIDTH, LAPLACE_WIDTH = 0.6, 0.5, 1.0
Scorer = Callable[[Any], Array]
#: Standardised features are cut off here, so that one extreme value does not dominate a distance.
CUT = 4.0
#: This share of the mean of the diagonal is added to the kernel matrix of the landmarks.
NUGGET = 1e-7
#: Squared singular values below this fraction of the largest are rounding.
ROUNDING = 1e-13
#: The same as ``ROUNDING`` for a matrix in single precision.
SINGLE_ROUNDING = 1e-6
#: Groups are left out so many numbers at a time.
AT_ONCE = 2_000_000
#: Columns whose spreads differ by less than this factor share a scale whatever is done.
SAME_SPREAD = 1.1


def diverse_kernels(X: Any) -> list[Kernel]:
    """Return the kernels beside the linear one: Gaussian, and for dense standardised features also Laplace."""
    few = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], MEDIAN_ROWS)).astype(np.intp)]
    euclidean = _middle(np.sqrt(squared_distances(few, few))[np.triu_indices(few.shape[0], 1)])
    if sp.issparse(X):
        return [Gaussian(width=_rounded(TEXT_WIDTH * euclidean))]
    manhattan = _middle(pdist(few, "cityblock"))
    return [Gaussian(width=_rounded(GAUSSIAN_WIDTH * euclidean)), Laplace(width=_rounded(LAPLACE_WIDTH * manhattan))]


def _middle(distances: Array) -> float:
    """Return the median of the distances between samples that are not alike, or 1 where all samples are alike."""
    apart = distances[distances > ALIKE * distances.max(initial=0.0)]
    return float(np.median(apart)) if apart.size else 1.0


def _rounded(width: float) -> float:
    return float(f"{width:.3g}")


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
    """Return the features of the rows of ``X``."""
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
class RidgeSystem:
    """Weighted ridge regression with a free intercept, decomposed once for every penalty.

    Build it with :meth:`decompose`.
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

        The columns of ``alpha`` sum to zero, so that constants in the kernel do not matter.
        """
        gain = 1 / (self.singular**2 + penalty)
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

    def leave_groups_out(self, penalty: float, group: NDArray[np.intp]) -> Array:
        """Return for every sample the prediction by the fit to all samples of other groups.

        With ``H`` the symmetric hat matrix of the weighted samples and ``G`` a group, the residuals of the group, times
        the roots of their weights, are ``(I - H_GG)^-1`` times what they are with the group in the fit.
        """
        shrink, root = self._shrink(penalty), np.sqrt(self.weight)[:, None]
        fitted = self.target_mean + self.left @ (shrink[:, None] * self._projected) / root
        left_out = root * (self.targets - fitted)
        # H = factor factor^T; the first column is the free intercept.
        factor = np.hstack([root / np.sqrt(self.weight.sum()), self.left * np.sqrt(shrink)])
        for places in by_size(group):
            at_once = max(AT_ONCE // (places.shape[1] * factor.shape[1]), 1)
            for some in np.array_split(places, -(-len(places) // at_once)):
                part = factor[some]
                free = (1 + 1e-10) * np.eye(some.shape[1]) - part @ part.transpose(0, 2, 1)
                left_out[some] = np.linalg.solve(free, left_out[some])
        return self.targets - left_out / root

    def _shrink(self, penalty: float) -> Array:
        return self.singular**2 / (self.singular**2 + penalty)

    def coefficients(self, penalty: float) -> tuple[Array, Array]:
        """Return ``beta`` (n_features, n_outputs) and the intercepts (n_outputs,)."""
        gain = self.singular / (self.singular**2 + penalty)
        beta = self.right @ (gain[:, None] * self._projected)
        return beta, self.target_mean - self.feature_mean @ beta


class _Standardiser(NamedTuple):
    """Features with zero mean and unit spread, cut off at :data:`CUT`; constant features become zero."""

    unit: Array  # powers of two near the largest magnitudes: the units of mean and spread
    mean: Array
    spread: Array

    @classmethod
    def fit(cls, X: Array, weight: Array) -> "_Standardiser":
        unit, weight = power_of_two(np.abs(X).max(axis=0)), weight / power_of_two(weight.max())
        Z = X / unit
        mean = weight @ Z / weight.sum()
        spread = np.sqrt(weight @ (Z - mean) ** 2 / weight.sum())
        constant = spread <= 1e-12 * np.maximum(np.abs(mean), np.finfo(float).tiny)
        return cls(unit, mean, np.where(constant, np.inf, spread))

    @property
    def common(self) -> Array | None:
        """Multiples of the columns after which all columns have one scale, or None where they have it already."""
        varied = np.isfinite(self.spread)
        logs = np.where(varied, np.log(self.unit) + np.log(np.where(varied, self.spread, 1.0)), -np.inf)
        if varied.sum() < 2 or np.ptp(logs[varied]) < np.log(SAME_SPREAD):
            return None
        relative = np.exp(logs - logs[varied].max())
        return relative / np.sqrt(np.mean(relative[varied] ** 2))

    def __call__(self, X: Array) -> Array:
        with np.errstate(over="ignore"):  # new samples may be beyond all bounds of the training data
            Z = np.clip(X / self.unit, -LARGEST, LARGEST)
            return np.clip((Z - self.mean) / self.spread, -CUT, CUT)
