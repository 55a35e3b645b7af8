"""What an audit of pairs finds, whichever way it took."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Judgement(NamedTuple):
    """The chance that each pair truly shares a class, intervals of (d_+, d_-), and what the judgement rests on.

    ``apart`` is the chance without the label of the pair itself, where it is known apart from ``same``.
    """

    same: Array
    apart: Array
    low: tuple[float, float]
    high: tuple[float, float]
    diagnostic: Mapping[str, Any]
