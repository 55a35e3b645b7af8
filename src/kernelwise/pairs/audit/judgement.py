"""What an audit of pairs finds, whichever way it took."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...supervision import Pairs

Array = NDArray[np.float64]


#: What a person can do about a wide range.
REMEDY = "Checking a few dozen pairs, drawn at random, would settle it."


class Judgement(NamedTuple):
    """The chance that each pair truly shares a class, intervals of (d_+, d_-), and what the judgement rests on.

    ``apart`` is the chance without the label of the pair itself, where it is known apart from ``same``.
    """

    same: Array
    apart: Array
    low: tuple[float, float]
    high: tuple[float, float]
    diagnostic: Mapping[str, Any]


def precisions(same: Array, pairs: Pairs) -> tuple[float, float]:
    """d_+ and d_-: mean chances of being right among pairs given as + and as -."""
    positive = pairs.labels > 0
    right = np.where(positive, same, 1.0 - same)
    means = [np.average(right[kind], weights=pairs.weights[kind]) for kind in (positive, ~positive)]
    return float(means[0]), float(means[1])
