"""Spending a budget over samples that are cut into blocks: the multiplier is found by a few passes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..optim import largest_spending
from ..optim.projection import projected
from ..optim.sample_arrays import together
from .block_array import BlockArray

Array = NDArray[np.float64]

#: Multipliers that one pass tries; each pass narrows the interval by their number.
TRIALS = 64
#: Passes after which the interval is narrower than rounding.
PASSES = 9


def _spending(losses: Array, upper: Array, *, thresholds: Array) -> Array:
    """Return ``sum_i u_i (l_i - theta)_+`` for every threshold, by one sort of the block."""
    order = np.argsort(losses)
    sorted_losses, weights = losses[order], upper[order]
    # Sums over the losses above each threshold, from the end.
    mass = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
    value = np.append(np.cumsum((weights * sorted_losses)[::-1])[::-1], 0.0)
    first = np.searchsorted(sorted_losses, thresholds, side="right")
    return value[first] - thresholds * mass[first]


@largest_spending.register
def _of_blocks(losses: BlockArray, *, upper: BlockArray, budget: float) -> float:
    """Minimise the dual function, which is convex, on ever finer grids; every value is an upper bound."""
    losses = losses.keep()
    low, high = 0.0, float(losses.max())
    best = np.inf
    for _ in range(PASSES):
        grid = np.linspace(low, high, TRIALS)
        values = grid * budget + np.asarray(losses.sum_of(_spending, upper, thresholds=grid))
        k = int(np.argmin(values))
        best = min(best, float(values[k]))
        low, high = grid[max(k - 1, 0)], grid[min(k + 1, TRIALS - 1)]
        if high - low <= 1e-14 * high:
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
