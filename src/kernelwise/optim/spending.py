r"""The largest sum that a budget buys: ``max sum_i a_i l_i`` over ``0 <= a_i <= u_i, sum_i a_i <= budget``.

Spending on the largest ``l_i`` first is best. By duality the value is also

.. math:: \min_{\theta \ge 0} \; \theta \rho + \sum_i u_i (l_i - \theta)_+

which needs only sums over i, and is an upper bound at every ``theta``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rows import in_memory, persist, reduce_rows

Array = NDArray[np.float64]

#: Thresholds that one pass over blocks tries, and passes after which the interval is narrower than rounding.
THRESHOLDS, PASSES = 2**14, 9
#: The relative error that is left of the largest spending, far below any gap that is asked for.
EXACT = 1e-12


def largest_spending(losses: Any, *, upper: Any, budget: float) -> float:
    """Return the largest ``sum_i a_i losses_i`` for non-negative losses.

    Parameters
    ----------
    losses : array of shape (n,)
    upper : array of shape (n,)
        The bounds of ``a``.
    budget : float
        The bound of its sum.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.optim import largest_spending
    >>> largest_spending(np.array([1.0, 3.0, 2.0]), upper=np.ones(3), budget=1.5)
    4.0
    """
    if not in_memory(losses):
        return _spending_in_passes(persist(losses), upper, budget)
    order = np.argsort(-losses)
    spent = np.cumsum(upper[order])
    share = np.clip(budget - (spent - upper[order]), 0.0, upper[order])
    return float(share @ losses[order])


def _spending_in_passes(losses: Any, upper: Any, budget: float) -> float:
    """Minimise the dual function, which is convex, on ever finer grids; every value is an upper bound.

    The dual function rises by at most ``budget`` per unit of the threshold, so the least value on a grid is off by at
    most ``budget`` times the step of the grid.
    """
    low, high = 0.0, float(losses.max())
    best = np.inf
    for _ in range(PASSES):
        grid = np.linspace(low, high, THRESHOLDS)
        values = grid * budget + np.asarray(reduce_rows(losses, _spending, np.add, upper, thresholds=grid))
        k = int(np.argmin(values))
        best = min(best, float(values[k]))
        low, high = grid[max(k - 1, 0)], grid[min(k + 1, THRESHOLDS - 1)]
        if budget * (grid[1] - grid[0]) <= EXACT * best:
            break
    return best


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
