"""Delayed values of Dask, and Dask arrays that are made of them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def opaque(value: Any) -> Any:
    """Return a delayed value that Dask does not search for other delayed values; a delayed value or a future as is."""
    import dask

    return value if hasattr(value, "key") else dask.delayed(value, traverse=False, pure=False)


def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return the delayed value of a call."""
    import dask

    return dask.delayed(function, pure=False)(*arguments, **named)


def parts_of(collection: Any) -> list[Any]:
    """Return the blocks of a Dask array whose rows are not cut, or the partitions of a frame, as delayed values."""
    return list(np.ravel(np.asarray(collection.to_delayed(), dtype=object)).tolist())


def array_of(parts: Sequence[Any], lengths: Sequence[float], columns: tuple[int, ...], dtype: Any) -> Any:
    """Return delayed values, futures or blocks in memory, one below the other, as one Dask array."""
    import dask.array as da

    blocks = zip(map(opaque, parts), lengths, strict=True)
    return da.concatenate([da.from_delayed(block, shape=(length, *columns), dtype=dtype) for block, length in blocks])
