"""Features with zero mean and unit spread."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..samples import LARGEST, power_of_two
from .views.kernel_scores import CUT

Array = NDArray[np.float64]

#: Columns whose spreads differ by less than this factor share a scale whatever is done.
SAME_SPREAD = 1.1


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
