"""Spending a budget over samples that are cut into blocks: the multiplier is found by a few passes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..optim import largest_spending
from ..optim.projection import projected
from ..optim.sample_arrays import together
from .block_array import BlockArray

Array = NDArray[np.float64]

#: Thresholds that one pass tries, which cost little, and multipliers, which cost a sum each.
THRESHOLDS, TRIALS = 2**14, 64
#: The relative error that is left of the largest spending, far below any gap that is asked for.
EXACT = 1e-12
#: Passes after which the interval is narrower than rounding in any case.
PASSES = 9


def _spending(losses: Array, upper: Array, *, thresholds: Array) -> Array:
    """Return ``sum_i u_i (l_i - theta)_+`` for every one of the evenly spaced thresholds, in one pass."""
    low, step = thresholds[0], thresholds[1] - thresholds[0]
    if step <= 0:
        return np.full(len(thresholds), upper @ np.maximum(losses - low, 0.0))
    count = len(thresholds)
    below = np.clip(np.ceil((losses - low) / step), 0, count).astype(np.intp)  # the thresholds below each loss
    mass = np.cumsum(np.bincount(below, weights=upper, minlength=count + 1)[::-1])[::-1]
    value = np.cumsum(np.bincount(below, weights=upper * losses, minlength=count + 1)[::-1])[::-1]
    return value[1:] - thresholds * mass[1:]


@largest_spending.register
def _of_blocks(losses: BlockArray, *, upper: BlockArray, budget: float) -> float:
    """Minimise the dual function, which is convex, on ever finer grids; every value is an upper bound.

    It rises by at most ``budget`` per unit of the threshold, so the least value on a grid is off by at most ``budget``
    times its step.
    """
    losses = losses.keep()
    low, high = 0.0, float(losses.max())
    best = np.inf
    for _ in range(PASSES):
        grid = np.linspace(low, high, THRESHOLDS)
        values = grid * budget + np.asarray(losses.sum_of(_spending, upper, thresholds=grid))
        k = int(np.argmin(values))
        best = min(best, float(values[k]))
        low, high = grid[max(k - 1, 0)], grid[min(k + 1, THRESHOLDS - 1)]
        if budget * (grid[1] - grid[0]) <= EXACT * best:
            break
    return best


def _clipped_sums(v: Array, upper: Array, *, multipliers: Array) -> Array:
    return np.array([np.clip(v - eta, 0.0, upper).sum() for eta in multipliers])


@projected.register
def _project_blocks(v: BlockArray, upper: Any, budget: float) -> Any:
    """Bracket the multiplier on ever finer grids, then take the root of the last, straight piece."""
    total, high = together(v.sum_of(_clipped_sums, upper, multipliers=np.zeros(1)), v.max())
    if total[0] <= budget:
        return v.map(np.clip, 0.0, upper).keep()
    low, high = 0.0, float(high)
    for _ in range(PASSES):
        grid = np.linspace(low, high, TRIALS)
        sums = np.asarray(v.sum_of(_clipped_sums, upper, multipliers=grid))
        k = int(np.searchsorted(-sums, -budget))  # the sums fall along the grid
        k = min(max(k, 1), TRIALS - 1)
        low, high = grid[k - 1], grid[k]
        fall = sums[k - 1] - sums[k]
        if high - low <= 1e-15 * abs(high) or fall == 0:
            break
    eta = low if fall == 0 else low + (sums[k - 1] - budget) * (high - low) / fall
    return (v - eta).map(np.clip, 0.0, upper).keep()
