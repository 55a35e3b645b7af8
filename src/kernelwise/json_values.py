"""Values of numpy as JSON holds them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Return ``value`` with numpy scalars and arrays turned into numbers and lists, ready for JSON.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.json_values import plain
    >>> plain({"gap": np.array([0.5, 0.25]), "rounds": np.int64(3)})
    {'gap': [0.5, 0.25], 'rounds': 3}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        raise ValueError(f"results must be finite, got {value}; leave the entry out, or use None")
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"results must be numbers, strings, lists and dicts, got {type(value).__name__}")
