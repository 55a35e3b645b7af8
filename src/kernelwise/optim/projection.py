r"""Projection onto a box with a budget, the largest sum that a budget buys, and the prox of a squared sum of norms.

The feasible set of the robust dual is ``Q = {a : 0 <= a_i <= u_i, sum_i a_i <= budget}``. The projection of ``v`` is
``a_i = clip(v_i - eta, 0, u_i)``, where the multiplier ``eta >= 0`` of the budget is zero if the budget is not
exhausted, and otherwise the root of ``g(eta) = sum_i clip(v_i - eta, 0, u_i) = budget``. The function g is piecewise
linear; its slope changes only at ``v_i``, where an entry reaches 0 and stops falling, and at ``v_i - u_i``, where an
entry leaves its cap and starts to fall.

References
----------
T. Yang, M. Mahdavi, R. Jin, L. Zhang, Y. Zhou. Multiple Kernel Learning from Noisy Labels by Stochastic Programming.
ICML 2012, Lemmas 2 and 3. The paper bisects where Newton steps, or sorting, give the exact answer.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import Array
from ..samples import in_memory, map_rows, persist, reduce_rows

#: The search for the multiplier takes a few Newton steps on the piecewise linear g. Every BISECTED-th step halves the
#: interval instead, so that the steps end whatever the slopes are.
BISECTED, MOST_STEPS = 4, 1000
#: A sum that misses the budget by less than this share misses it by rounding.
ROUNDING = 1e-15
#: Thresholds that one pass over row blocks tries, and passes after which the interval is narrower than rounding.
THRESHOLDS, PASSES = 2**14, 9
#: The relative error that is left of the largest spending, far below any gap that is asked for.
EXACT = 1e-12


def project_box_budget(v: Any, *, upper: Any = 1.0, budget: float) -> Any:
    r"""Project onto ``{a : 0 <= a_i <= upper_i, sum_i a_i <= budget}``.

    .. math:: \arg\min_a \tfrac12 \|a - v\|^2 \quad\text{s.t.}\quad 0 \le a_i \le u_i,\ \sum_i a_i \le \rho
    """
    if not hasattr(v, "map_rows"):
        v, upper = np.asarray(v, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    low = eta = 0.0
    high = float(v.max()) if len(v) else 0.0
    for step in range(1, MOST_STEPS):
        total, n_free = np.asarray(reduce_rows(v, _sum_and_slope, np.add, upper, eta=eta))
        excess = total - budget
        if abs(excess) <= ROUNDING * total or (eta == 0 and excess < 0):
            break
        low, high = (eta, high) if excess > 0 else (low, eta)
        trial = eta + excess / n_free if n_free and step % BISECTED else np.inf
        trial = trial if low <= trial <= high else 0.5 * (low + high)
        if trial == eta:
            break
        eta = trial
    return persist(map_rows(v - eta, np.clip, 0.0, upper))


def _sum_and_slope(v: Array, upper: Array, *, eta: float) -> Array:
    """Return g at a multiplier, and how fast g falls there: the number of entries strictly within their bounds."""
    left = v - eta
    return np.array([np.clip(left, 0.0, upper).sum(), np.count_nonzero((left > 0.0) & (left < upper))])


def largest_spending(losses: Any, *, upper: Any, budget: float) -> float:
    r"""Return the largest sum that a budget buys, ``max sum_i a_i losses_i``, for non-negative losses.

    Over ``0 <= a_i <= u_i`` with ``sum_i a_i <= budget``, spending on the largest losses first is best. By duality the
    value is also

    .. math:: \min_{\theta \ge 0} \; \theta \rho + \sum_i u_i (l_i - \theta)_+

    which needs only sums over i, and is an upper bound at every ``theta``.
    """
    if not in_memory(losses):
        return _spending_in_passes(persist(losses), upper, budget)
    order = np.argsort(-losses)
    spent = np.cumsum(upper[order])
    share = np.clip(budget - (spent - upper[order]), 0.0, upper[order])
    return float(share @ losses[order])


def _spending_in_passes(losses: Any, upper: Any, budget: float) -> float:
    """Minimise the dual function, which is convex, on ever finer grids; every value is an upper bound."""
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


def prox_squared_sum_of_norms(norms: ArrayLike, scale: float) -> Array:
    r"""Shrink factors of the prox of the squared sum of norms of parts.

    The solution of

    .. math:: \min_f \tfrac12 \sum_j \|f_j - g_j\|^2 + \tfrac{s}{2} \Big(\sum_j \|f_j\|\Big)^2

    is :math:`f_j = [1 - s \mu / \|g_j\|]_+ \, g_j` with :math:`\mu = \sum_j \|f_j\|`. If the k largest parts survive
    and :math:`S_k` is the sum of their norms, then :math:`\mu = S_k - k s \mu`, so the threshold is
    :math:`\theta_k = s \mu = s S_k / (1 + k s)`, and k is the last one with a norm above :math:`\theta_k`.

    Notes
    -----
    Lemma 3 as printed shrinks by half of the right amount: the derivative of :math:`\tfrac{s}{2} \mu^2` is
    :math:`s \mu`, not :math:`s \mu / 2`.
    """
    norms = np.asarray(norms, dtype=np.float64)
    descending = np.sort(norms)[::-1]
    count = np.arange(1, norms.size + 1)
    thetas = np.cumsum(descending) * (scale / (1.0 + count * scale))
    n_surviving = int(np.count_nonzero(descending > thetas))
    # The largest part survives unless all are zero or 1 + scale rounds to scale; then its own threshold is its norm.
    theta = float(thetas[max(n_surviving, 1) - 1]) if norms.size else 0.0
    survives = norms > theta
    factors = np.zeros_like(norms)
    factors[survives] = 1.0 - theta / norms[survives]
    return factors
