r"""Exact projection onto a box with a budget, and the largest sum that a budget buys.

The feasible set of the robust dual is ``Q = {a : 0 <= a_i <= u_i, sum_i a_i <= budget}``. The projection of ``v`` is
``a_i = clip(v_i - eta, 0, u_i)``, where the multiplier ``eta >= 0`` of the budget is zero if the budget is not
exhausted, and otherwise the root of

    g(eta) = sum_i clip(v_i - eta, 0, u_i) = budget                                              (12)

The function ``g`` is piecewise linear. Its slope changes only at the breakpoints ``v_i`` (the entry reaches 0 and stops
falling) and ``v_i - u_i`` (the entry leaves its upper bound and starts to fall), so sorting the breakpoints gives the
root. Newton steps on (12) then remove the rounding of large sums.

References
----------
T. Yang, M. Mahdavi, R. Jin, L. Zhang, Y. Zhou. Multiple Kernel Learning from Noisy Labels by Stochastic Programming.
ICML 2012, Lemma 2.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..rows import compute, in_memory, map_rows, persist, reduce_rows

__all__ = ["largest_spending", "project_box_budget"]

FloatArray = NDArray[np.float64]

#: A Newton step that leaves more than this share of the excess shows that rounding hides the slope.
NEWTON_FALL = 0.25
#: Multipliers that one pass over row blocks tries, and passes after which the interval is narrower than rounding.
TRIALS, PASSES = 64, 9
#: Thresholds that one pass over row blocks tries.
THRESHOLDS = 2**14
#: The relative error that is left of the largest spending, far below any gap that is asked for.
EXACT = 1e-12


def project_box_budget(v: Any, *, upper: Any = 1.0, budget: float) -> Any:
    r"""Project onto ``{a : 0 <= a_i <= upper_i, sum_i a_i <= budget}``.

    .. math:: \arg\min_a \tfrac12 \|a - v\|^2 \quad\text{s.t.}\quad 0 \le a_i \le u_i,\ \sum_i a_i \le \rho

    Parameters
    ----------
    v : array-like of shape (n,)
        The point to project; finite.
    upper : float or array-like of shape (n,), default=1.0
        Upper bounds, non-negative; ``inf`` for none.
    budget : float
        Bound of the sum, non-negative; ``inf`` for none.

    Returns
    -------
    ndarray of shape (n,)
        The projection, a new array.

    References
    ----------
    Yang et al. (ICML 2012), Lemma 2. The paper finds the multiplier by bisection; here the multiplier is exact.

    Examples
    --------
    >>> from kernelwise.optim import project_box_budget
    >>> project_box_budget([2.0, 0.5, 0.3, -1.0], budget=1.5)
    array([1.  , 0.35, 0.15, 0.  ])
    >>> project_box_budget([0.25, 0.5, -1.0], budget=1.0)
    array([0.25, 0.5 , 0.  ])
    """
    if hasattr(v, "map_rows"):
        return _projected_in_passes(v, upper, budget)
    v, upper, budget = _validated(v, upper, budget)
    point = np.clip(v, 0.0, upper)
    total = float(point.sum())
    if total <= budget:
        return point
    if budget == 0.0:
        return np.zeros_like(v)
    low, high = 0.0, float(v.max())
    eta = _root(v, upper, budget, total, high)
    allowed = np.inf
    while low <= eta <= high:
        point = np.clip(v - eta, 0.0, upper)
        excess = float(point.sum()) - budget
        slope = int(np.count_nonzero((point > 0.0) & (point < upper)))
        if abs(excess) <= np.finfo(np.float64).eps * (16.0 * budget + slope * eta):  # the rounding of the sum
            break
        low, high = (eta, high) if excess > 0.0 else (low, eta)
        if slope == 0 or abs(excess) > allowed:
            break
        allowed = NEWTON_FALL * abs(excess)
        eta += excess / slope
    return point


def _root(v: FloatArray, upper: FloatArray, budget: float, total: float, high: float) -> float:
    """Return the root of (12) between 0, where ``g`` is ``total``, and ``high``, where ``g`` is zero."""
    stops, starts = v, v - upper  # at a stop the slope of -g loses one, at a start it gains one
    slope = int(np.count_nonzero(stops > 0.0) - np.count_nonzero(starts > 0.0))
    stops, starts = (ends[(ends > 0.0) & (ends < high)] for ends in (stops, starts))
    breakpoints = np.concatenate([stops, starts])
    order = np.argsort(breakpoints)
    slopes = slope + np.concatenate([[0], np.cumsum(np.where(order < stops.size, -1, 1))])
    knots = np.concatenate([[0.0], breakpoints[order], [high]])
    values = (total - budget + budget) - np.concatenate([[0.0], np.cumsum(slopes * np.diff(knots))])
    return float(np.interp(-budget, -values, knots))


def _validated(v: ArrayLike, upper: ArrayLike, budget: float) -> tuple[FloatArray, FloatArray, float]:
    v = np.asarray(v, dtype=np.float64)
    upper = np.asarray(upper, dtype=np.float64)
    budget = float(budget)
    if v.ndim != 1:
        raise ValueError(f"v must be one-dimensional, got shape {v.shape}; ravel it first")
    if not np.isfinite(v).all():
        raise ValueError("v must be finite, got NaN or infinity; clean or clip it first")
    if upper.ndim != 0 and upper.shape != v.shape:
        raise ValueError(f"upper must be a number or have the shape of v, {v.shape}, got {upper.shape}")
    if not np.all(upper >= 0):
        raise ValueError(f"upper must be non-negative, got a minimum of {upper.min()}; the box would be empty")
    if not budget >= 0:
        raise ValueError(f"budget must be non-negative, got {budget}; the set would be empty")
    return v, upper, budget


def _projected_in_passes(v: Any, upper: Any, budget: float) -> Any:
    """Project an array in row blocks: bracket the multiplier on ever finer grids; the last piece is a straight line."""
    total, high = compute(reduce_rows(v, _clipped_sums, np.add, upper, multipliers=np.zeros(1)), v.max())
    if total[0] <= budget:
        return persist(map_rows(v, np.clip, 0.0, upper))
    low, high = 0.0, float(high)
    for _ in range(PASSES):
        grid = np.linspace(low, high, TRIALS)
        sums = np.asarray(reduce_rows(v, _clipped_sums, np.add, upper, multipliers=grid))
        k = int(np.searchsorted(-sums, -budget))  # the sums fall along the grid
        k = min(max(k, 1), TRIALS - 1)
        low, high = grid[k - 1], grid[k]
        fall = sums[k - 1] - sums[k]
        if high - low <= 1e-15 * abs(high) or fall == 0:
            break
    eta = low if fall == 0 else low + (sums[k - 1] - budget) * (high - low) / fall
    return persist(map_rows(v - eta, np.clip, 0.0, upper))


def _clipped_sums(v: FloatArray, upper: FloatArray, *, multipliers: FloatArray) -> FloatArray:
    return np.array([np.clip(v - eta, 0.0, upper).sum() for eta in multipliers])


def largest_spending(losses: Any, *, upper: Any, budget: float) -> float:
    r"""Return the largest sum that a budget buys, ``max sum_i a_i losses_i``, for non-negative losses.

    Over ``0 <= a_i <= u_i`` with ``sum_i a_i <= budget``, spending on the largest losses first is best. By duality the
    value is also

    .. math:: \min_{\theta \ge 0} \; \theta \rho + \sum_i u_i (l_i - \theta)_+

    which needs only sums over i, and is an upper bound at every ``theta``.

    Parameters
    ----------
    losses : array of shape (n,)
    upper : array of shape (n,)
        The upper bounds of ``a``.
    budget : float
        The upper bound of the sum of ``a``.

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


def _spending(losses: FloatArray, upper: FloatArray, *, thresholds: FloatArray) -> FloatArray:
    """Return ``sum_i u_i (l_i - theta)_+`` for every one of the evenly spaced thresholds, in one pass."""
    low, step = thresholds[0], thresholds[1] - thresholds[0]
    if step <= 0:
        return np.full(len(thresholds), upper @ np.maximum(losses - low, 0.0))
    count = len(thresholds)
    below = np.clip(np.ceil((losses - low) / step), 0, count).astype(np.intp)  # the thresholds below each loss
    mass = np.cumsum(np.bincount(below, weights=upper, minlength=count + 1)[::-1])[::-1]
    value = np.cumsum(np.bincount(below, weights=upper * losses, minlength=count + 1)[::-1])[::-1]
    return value[1:] - thresholds * mass[1:]
