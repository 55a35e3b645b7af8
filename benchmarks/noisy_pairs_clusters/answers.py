"""What a method answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Interval = tuple[float, float]


class Refused(Exception):
    """The method says that it cannot work with these pairs; that is a result."""


class TooSlow(Exception):
    """The method used up its processor time; that is a result, too."""


@dataclass(frozen=True)
class Answer:
    """Clusters, and what else the method tells; None where it tells nothing.

    ``rates`` are Pr(given -1 | same class) and Pr(given +1 | different classes); ``quality`` is high for given pairs
    that are probably right; ``shares_class(rows, cols)`` tells of any pairs whether they share a class, and without it
    the clusters tell.
    """

    labels: NDArray[Any] | None = None
    rates: tuple[float, float] | None = None
    intervals: tuple[Interval, Interval] | None = None
    quality: NDArray[np.float64] | None = None
    shares_class: Callable[[NDArray[Any], NDArray[Any]], NDArray[np.bool_]] | None = None
    remark: str = ""
