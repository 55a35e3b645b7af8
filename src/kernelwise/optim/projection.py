r"""Exact projection onto a box with a budget, in time linear in the number of entries.

The feasible set of the robust dual is ``Q = {a : 0 <= a_i <= u_i, sum_i a_i <= budget}``. The projection of ``v`` is
``a_i = clip(v_i - eta, 0, u_i)``, where the multiplier ``eta >= 0`` of the budget is zero if the budget is not
exhausted, and otherwise the root of

    g(eta) = sum_i clip(v_i - eta, 0, u_i) = budget                                              (12)

Seen from any ``lo`` on its left, ``g`` is a piecewise linear function whose slope changes only at the breakpoints
``v_i`` (the entry reaches 0 and stops falling) and ``v_i - u_i`` (the entry leaves its cap and starts to fall):

    g(eta) = g(lo) - slope * (eta - lo) + sum_{lo < v_i} [eta - v_i]_+ - sum_{lo < v_i - u_i} [eta - v_i + u_i]_+

Large inputs: a few Newton steps on (12) from the root of a sample, each one pass over the data, end on the right
piece and then are exact. Small inputs, and large ones on which Newton fails: an interval that holds the root needs
nothing but ``g(lo)``, the slope there and the breakpoints inside, so medians halve it until it can be sorted.

References
----------
T. Yang, M. Mahdavi, R. Jin, L. Zhang, Y. Zhou. Multiple Kernel Learning from Noisy Labels by Stochastic Programming.
ICML 2012, Lemma 2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..rows import compute, in_memory, map_rows, persist, reduce_rows

__all__ = ["largest_spending", "project_box_budget"]

FloatArray = NDArray[np.float64]

_SAMPLE_SIZE = 4096
_SORT_SIZE = 8192  # below this, sorting is as quick as halving
_NEWTON_FALL = 0.25  # a step that leaves more of the excess shows that the slopes cannot be trusted
#: Multipliers that one pass over blocks tries, and passes after which the interval is narrower than rounding.
TRIALS, PASSES = 64, 9
#: Thresholds that one pass over row blocks tries.
THRESHOLDS = 2**14
#: The relative error that is left of the largest spending, far below any gap that is asked for.
EXACT = 1e-12
_GOLDEN_RATIO = (1.0 + 5.0**0.5) / 2.0  # its multiples modulo 1 are even, and never in step with the data


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
    Yang et al. (ICML 2012), Lemma 2. The paper bisects on the multiplier; here it is exact and takes linear time.

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
    trial = _Trial(*_validated(v, upper, budget))
    trial.move_to(_multiplier(trial))
    return trial.point


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


class _Trial:
    """The point ``clip(v - eta, 0, upper)`` for a multiplier on trial, in one buffer for all trials."""

    def __init__(self, v: FloatArray, upper: FloatArray, budget: float) -> None:
        self.v, self.upper, self.budget = v, upper, budget
        self.eta = np.nan
        self.excess = np.nan
        self.point = np.empty_like(v)

    def move_to(self, eta: float) -> None:
        if eta != self.eta:
            np.subtract(self.v, eta, out=self.point)
            np.clip(self.point, 0.0, self.upper, out=self.point)
            self.eta, self.excess = eta, float(self.point.sum()) - self.budget

    def narrowed(self, lo: float, hi: float) -> tuple[float, float]:
        """The part of ``[lo, hi]`` that holds the root, by the sign of the excess."""
        return (self.eta, hi) if self.excess > 0.0 else (lo, self.eta)

    def n_free(self) -> int:
        """Entries strictly inside their box: the slope of ``-g``."""
        return int(np.count_nonzero((self.point > 0.0) & (self.point < self.upper)))


def _multiplier(trial: _Trial) -> float:
    trial.move_to(0.0)
    if trial.excess <= 0.0:
        return 0.0
    lo, hi = 0.0, float(trial.v.max())
    if trial.budget == 0.0:
        return hi
    if trial.v.size > _SORT_SIZE:
        left, guess, right = _sampled_roots(trial)
        lo, hi, solved = _newton(trial, guess, lo, hi)
        if solved:
            return trial.eta
        for eta in (left, right):
            if lo < eta < hi:
                trial.move_to(eta)
                lo, hi = trial.narrowed(lo, hi)
    trial.move_to(lo)
    interval = _interval(trial, hi)
    while interval.n_breakpoints > _SORT_SIZE:
        interval = interval.part_with_root(interval.median_breakpoint(), trial.budget)
    eta = _crossing(*interval.curve(), trial.budget)
    _newton(trial, eta, lo, hi)  # removes the rounding of large sums
    return trial.eta


def _newton(trial: _Trial, eta: float, lo: float, hi: float) -> tuple[float, float, bool]:
    """Newton steps from ``eta`` inside ``[lo, hi]``: the ends they leave, and whether ``trial`` holds the root."""
    allowed = np.inf
    while lo <= eta <= hi:
        trial.move_to(eta)
        slope = trial.n_free()
        resolution = np.finfo(np.float64).eps * (16.0 * trial.budget + slope * eta)  # what rounding leaves
        if abs(trial.excess) <= resolution:
            return lo, hi, True
        lo, hi = trial.narrowed(lo, hi)
        if slope == 0 or abs(trial.excess) > allowed:
            break
        allowed = _NEWTON_FALL * abs(trial.excess)
        eta += trial.excess / slope
    return lo, hi, False


def _sampled_roots(trial: _Trial) -> tuple[float, float, float]:
    """Root of ``g`` for a sample and its share of the budget, between those for three standard errors more and less."""
    index = (np.arange(_SAMPLE_SIZE) * _GOLDEN_RATIO % 1.0 * trial.v.size).astype(np.intp)
    upper = trial.upper if trial.upper.ndim == 0 else trial.upper[index]
    sample = _Trial(trial.v[index], upper, trial.budget * _SAMPLE_SIZE / trial.v.size)
    sample.move_to(0.0)
    interval = _interval(sample, max(float(sample.v.max()), 0.0))
    knots, values = interval.curve()
    root = _crossing(knots, values, sample.budget)
    sample.move_to(root)
    margin = 3.0 * np.sqrt(_SAMPLE_SIZE) * np.std(sample.point)
    left, right = (_crossing(knots, values, sample.budget + shift) for shift in (margin, -margin))
    return left, root, right


@dataclass(frozen=True)
class _Interval:
    """``g`` between ``lo`` and ``hi``, reduced to what is needed to find its root there."""

    lo: float
    hi: float
    value: float  # g(lo)
    slope: int  # of -g, just right of lo: the number of entries between 0 and their cap
    stops: FloatArray  # v_i in (lo, hi): the slope loses one
    starts: FloatArray  # v_i - u_i in (lo, hi): the slope gains one

    @property
    def n_breakpoints(self) -> int:
        return self.stops.size + self.starts.size

    def median_breakpoint(self) -> float:
        breakpoints = np.concatenate([self.stops, self.starts])
        middle = breakpoints.size // 2
        return float(np.partition(breakpoints, middle)[middle])

    def g(self, eta: float) -> float:
        bends = np.maximum(eta - self.stops, 0.0).sum() - np.maximum(eta - self.starts, 0.0).sum()
        return float(self.value - self.slope * (eta - self.lo) + bends)

    def part_with_root(self, eta: float, budget: float) -> "_Interval":
        """Cut at ``eta`` and keep the side that holds the root."""
        value = self.g(eta)
        if value <= budget:
            stops, starts = self.stops[self.stops < eta], self.starts[self.starts < eta]
            return _Interval(self.lo, eta, self.value, self.slope, stops, starts)
        slope = self.slope - int(np.count_nonzero(self.stops <= eta)) + int(np.count_nonzero(self.starts <= eta))
        stops, starts = self.stops[self.stops > eta], self.starts[self.starts > eta]
        return _Interval(eta, self.hi, value, slope, stops, starts)

    def curve(self) -> tuple[FloatArray, FloatArray]:
        """The breakpoints in order, between both ends, and ``g`` at each of them."""
        breakpoints = np.concatenate([self.stops, self.starts])
        order = np.argsort(breakpoints)
        bends = np.where(order < self.stops.size, -1, 1)
        slopes = self.slope + np.concatenate([[0], np.cumsum(bends)])
        knots = np.concatenate([[self.lo], breakpoints[order], [self.hi]])
        return knots, self.value - np.concatenate([[0.0], np.cumsum(slopes * np.diff(knots))])


def _crossing(knots: FloatArray, values: FloatArray, level: float) -> float:
    """Where the falling piecewise linear curve takes the value ``level``; the nearer end if it never does."""
    return float(np.interp(-level, -values, knots))


def _interval(trial: _Trial, hi: float) -> _Interval:
    """Collect what ``g`` needs between the multiplier on trial and ``hi``."""
    lo, stops = trial.eta, trial.v
    starts = stops - trial.upper
    slope = int(np.count_nonzero(stops > lo) - np.count_nonzero(starts > lo))
    stops = stops[(stops > lo) & (stops < hi)]
    starts = starts[(starts > lo) & (starts < hi)]
    return _Interval(lo, hi, trial.excess + trial.budget, slope, stops, starts)


def _projected_in_passes(v: Any, upper: Any, budget: float) -> Any:
    """Bracket the multiplier on ever finer grids, then take the root of the last, straight piece."""
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
