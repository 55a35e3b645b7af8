r"""What pairs say of each other: three records are never the same in exactly two of their three pairs.

Call three records whose three pairs are all given a triangle. Five states of a triangle are possible: all pairs are the
same, one of the three pairs alone is the same, or none is. With the share :math:`\pi` of pairs that
are the same and the share :math:`\tau` of triangles in which all are,

    P(all) = tau,    P(one pair alone) = pi - tau,    P(none) = 1 - 3 pi + 2 tau.

Every pair comes with a chance :math:`p` of being the same, from its features and its own answers. If the other two
pairs of a triangle have chances p and q, this triangle multiplies the odds of the pair by :math:`m_1 / m_0`,

    m_1 = (tau r_p r_q + (pi - tau) s_p s_q) / pi,
    m_0 = ((pi - tau) (r_p s_q + s_p r_q) + (1 - 3 pi + 2 tau) s_p s_q) / (1 - pi),

with :math:`r_p = p / \pi` and :math:`s_p = (1 - p) / (1 - \pi)`. Two pairs that are as probable as any other say
nothing; A = B and B = C speak for A = C; and A = B and B ≠ C speak against. These are the messages of belief
propagation: in what a pair tells a triangle, the triangle's own message to the pair is left out, so that no pair
vouches for itself. :math:`\pi` and :math:`\tau` are the means over all triangles, found along with the messages.

The triangles of a pair share pairs with one another, so their messages are not independent. A pair therefore takes the
*mean* of its messages: with their sum, which is right only without such loops, errors in a dense group of pairs confirm
each other until right answers look wrong.
"""

import numpy as np
from scipy.special import expit

from ..checks import Array, IntArray

#: What one pair says in a triangle is never surer than this: answers and features share errors that no model knows.
SUREST = 0.99
MAX_SWEEPS, DAMPING, TOLERANCE = 100, 0.5, 1e-9
#: Both shares keep this distance from the bounds at which a state would be impossible.
LEAST_SHARE = 1e-3
#: Corners of triangles are joined in blocks of about this many, to limit memory.
BLOCK = 2_000_000


def triangles(rows: IntArray, cols: IntArray, n_records: int) -> IntArray:
    """Return the positions of the three pairs of every triangle, one triangle per row; pairs must be distinct."""
    # Each pair points to the end with more pairs, so that no record has many pairs that start there.
    degree = np.bincount(np.concatenate([rows, cols]), minlength=n_records)
    forward = (degree[rows] < degree[cols]) | ((degree[rows] == degree[cols]) & (rows < cols))
    start, end = np.where(forward, rows, cols), np.where(forward, cols, rows)
    order = np.lexsort((end, start))
    start, end = start[order], end[order]
    keys = np.sort(start * n_records + end)
    later = np.searchsorted(start, start, side="right") - np.arange(len(start)) - 1  # pairs of this start after each
    found = [np.empty((0, 3), dtype=np.int64)]
    total = np.cumsum(later)
    for block in np.split(np.arange(len(start)), np.searchsorted(total, np.arange(BLOCK, total[-1:].sum(), BLOCK))):
        first = np.repeat(block, later[block])
        step = np.arange(len(first)) - np.repeat(np.cumsum(later[block]) - later[block], later[block])
        second = first + 1 + step
        low, high = end[first], end[second]
        swap = (degree[low] > degree[high]) | ((degree[low] == degree[high]) & (low > high))
        wanted = np.where(swap, high, low) * n_records + np.where(swap, low, high)
        third = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        closed = keys[third] == wanted
        found.append(order[np.column_stack([first, second, third])[closed]])
    return np.concatenate(found)


def add_transitivity(log_odds: Array, rows: IntArray, cols: IntArray, n_records: int) -> tuple[Array, int]:
    """Return the log-odds of distinct pairs with the evidence of their triangles, and the number of triangles."""
    corners = triangles(rows, cols, n_records)
    if not len(corners):
        return log_odds, 0
    count = np.maximum(np.bincount(corners.ravel(), minlength=len(log_odds)), 1)
    messages = np.zeros(corners.shape)
    chances = expit(log_odds)[corners]
    same, all_same = float(np.clip(chances.mean(), LEAST_SHARE, 1 - LEAST_SHARE)), float(chances.prod(axis=1).mean())
    for _ in range(MAX_SWEEPS):
        belief = log_odds + np.bincount(corners.ravel(), messages.ravel(), minlength=len(log_odds)) / count
        told = np.clip(expit(belief[corners] - messages / count[corners]), 1 - SUREST, SUREST)
        least = max((3 * same - 1) / 2, 0.0)  # below it, P(none) would be negative
        margin = LEAST_SHARE * (same - least)
        new, all_same, same = _messages(told, same, float(np.clip(all_same, least + margin, same - margin)))
        change = float(np.abs(new - messages).max())
        messages += DAMPING * (new - messages)
        if change < TOLERANCE:
            break
    return log_odds + np.bincount(corners.ravel(), messages.ravel(), minlength=len(log_odds)) / count, len(corners)


def _messages(told: Array, same: float, all_same: float) -> tuple[Array, float, float]:
    """Return log(m_1 / m_0) for each corner, and the shares of triangles and of pairs that are the same."""
    for_same, against = told / same, (1 - told) / (1 - same)
    one, none = same - all_same, 1 - 3 * same + 2 * all_same
    log_ratios = np.empty_like(told)
    for corner in range(3):
        j, k = (corner + 1) % 3, (corner + 2) % 3
        neither = against[:, j] * against[:, k]
        if_same = (all_same * for_same[:, j] * for_same[:, k] + one * neither) / same
        either = for_same[:, j] * against[:, k] + against[:, j] * for_same[:, k]
        log_ratios[:, corner] = np.log(if_same) - np.log((one * either + none * neither) / (1 - same))
    alone = [one * for_same[:, i] * against[:, (i + 1) % 3] * against[:, (i + 2) % 3] for i in range(3)]
    states = np.stack([all_same * for_same.prod(axis=1), *alone, none * against.prod(axis=1)])
    states /= states.sum(axis=0)
    shares = states.mean(axis=1)
    return log_ratios, float(shares[0]), float(np.clip(shares[0] + shares[1:4].mean(), LEAST_SHARE, 1 - LEAST_SHARE))
