"""Values of numpy as values that JSON can hold."""

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["plain"]


def plain(value: Any, *, finite: bool = True) -> Any:
    """Return ``value`` with numpy scalars and arrays turned into numbers and lists, ready for JSON.

    JSON has no infinite numbers: with ``finite`` they are a ValueError, otherwise None takes their place.

    >>> plain({"gap": np.array([0.5, 0.25]), "rounds": np.int64(3)})
    {'gap': [0.5, 0.25], 'rounds': 3}
    >>> plain((np.inf, 1.0), finite=False)
    [None, 1.0]
    """
    if isinstance(value, Mapping):
        return {str(name): plain(item, finite=finite) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, finite=finite) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), finite=finite)
    if isinstance(value, float) and not np.isfinite(value):
        if not finite:
            return None
        raise ValueError(f"results must be finite, got {value}; leave the entry out, or use None")
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"results must be numbers, strings, lists and dicts, got {type(value).__name__}")
