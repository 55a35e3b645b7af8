"""Choices and orders that rounding cannot reach.

Two processors compute the same sum with different last digits. Where two candidates are equally good, as two starts of
a search that end at the same classes, the last digit would choose between them. Here numbers that agree to about eight
digits are equal, and among equals the first one is taken.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Scores are equal if they differ by at most this fraction of the largest.
NEARLY = 1e-8
#: Numbers are ordered by so many leading bits: about seven digits.
BITS = 24


def first_best(scores: ArrayLike) -> int:
    """The position of the first score that is nearly the largest; NaN is never the largest.

    >>> first_best([1.0, 3.0, 3.0 + 1e-12])
    1
    """
    values = np.asarray(scores, dtype=np.float64)
    values = np.where(np.isnan(values), -np.inf, values)
    best = float(values.max())
    return int(np.argmax(values >= best - NEARLY * abs(best))) if np.isfinite(best) else int(np.argmax(values))


def steady_order(values: ArrayLike) -> NDArray[np.intp]:
    """The positions from the smallest to the largest value; nearly equal values stay in the given order, NaN is last.

    >>> steady_order([0.5, 0.1 + 1e-12, 0.1, float("nan")]).tolist()
    [1, 2, 0, 3]
    """
    part, power = np.frexp(np.asarray(values, dtype=np.float64))
    return np.argsort(np.ldexp(np.round(np.ldexp(part, BITS)), power - BITS), kind="stable")
