"""Choices and orders that rounding cannot reach, and random vectors that are the same at every call.

Two processors compute the same sum with different last digits. Where two candidates are equally good, as two starts of
a search that end at the same classes, the last digit would choose between them. Here numbers that agree to about eight
digits are equal, and among equals the first one is taken.
"""

import inspect
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import eigsh

#: Scores are equal if they differ by at most this fraction of the largest.
NEARLY = 1e-8
#: Rows are equal if their distance is at most this fraction of the largest distance.
EQUAL_ROWS = 1e-6
#: Stirred points move by this fraction of their size, along so many directions.
STIR, N_SHIFTS = 1e-6, 8
#: Numbers are ordered by so many leading bits: about seven digits.
BITS = 24
#: Before SciPy 1.17 the iteration drew its random vectors from a state of its own, the same in every new process.
EIGSH_TAKES_GENERATOR = "rng" in inspect.signature(eigsh).parameters


def first_best(scores: ArrayLike) -> int:
    """The position of the first score that is nearly the largest; NaN is never the largest."""
    values = np.asarray(scores, dtype=np.float64)
    values = np.where(np.isnan(values), -np.inf, values)
    best = float(values.max())
    return int(np.argmax(values >= best - NEARLY * abs(best))) if np.isfinite(best) else int(np.argmax(values))


def most_probable(chances: NDArray[np.float64]) -> NDArray[np.intp]:
    """The column of the largest chance in every row; of nearly equal chances the first."""
    return np.asarray((chances >= chances.max(axis=1, keepdims=True) - NEARLY).argmax(axis=1))


def differ(lengths: ArrayLike) -> NDArray[np.bool_]:
    """Which distances are those of different rows: not below a millionth of the largest, as the distance of equals."""
    values = np.asarray(lengths, dtype=np.float64)
    return np.asarray(values > EQUAL_ROWS * values.max(initial=0.0))


def stirred(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points that are each moved by about a millionth of their size, always in the same way.

    Texts without a common word are equally far from each other, and whole numbers have many equal distances: rounding
    would tell which of two centres is the nearest, or who is a neighbour. Here the points move along a few random
    combinations of all points. So no two distances are equal any more, and it does not matter how the coordinates are
    turned: the signs of eigenvectors are free.
    """
    draw = np.random.RandomState(0)
    shifts = draw.standard_normal((len(points), N_SHIFTS)) / np.sqrt(N_SHIFTS)
    combined = draw.standard_normal((N_SHIFTS, len(points))) @ points / np.sqrt(max(len(points), 1))
    return np.asarray(points + (STIR * (shifts @ combined)).astype(points.dtype))


def nearest_few(distances: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """For every row the columns of its smallest distances; of nearly equal distances the first columns."""
    step = EQUAL_ROWS * max(float(distances[np.isfinite(distances)].max(initial=0.0)), np.finfo(float).tiny)
    return np.argsort(np.round(distances / step), axis=1, kind="stable")[:, :count]


def steady_order(values: ArrayLike) -> NDArray[np.intp]:
    """The positions from the smallest to the largest value; nearly equal ones stay in the given order, NaN is last."""
    part, power = np.frexp(np.asarray(values, dtype=np.float64))
    return np.argsort(np.ldexp(np.round(np.ldexp(part, BITS)), power - BITS), kind="stable")


def repeatable_eigsh(matrix: Any, k: int, **options: Any) -> Any:
    """SciPy's ``eigsh``, with the same random vectors at every call.

    Where the iteration from ``v0`` ends in a small invariant subspace, it goes on from a vector that it draws.
    """
    if EIGSH_TAKES_GENERATOR:
        options["rng"] = np.random.default_rng(0)
    return eigsh(matrix, k, **options)
