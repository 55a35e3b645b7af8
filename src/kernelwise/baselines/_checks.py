"""Checks of constructor parameters, made in fit."""

from numbers import Integral, Real
from typing import Any

import numpy as np


def check_positive(**parameters: Any) -> None:
    for name, value in parameters.items():
        if not (isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < np.inf):
            raise ValueError(f"{name} must be a positive number, got {value!r}")


def check_positive_int(**parameters: Any) -> None:
    for name, value in parameters.items():
        if not (isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1):
            raise ValueError(f"{name} must be a positive int, got {value!r}")
