"""How much a fit may keep on the workers, and blocks that are small beside the memory of a worker."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .block_array import BlockArray

#: Bytes of a worker without data: Python, NumPy, SciPy, pandas, scikit-learn and Dask.
PROCESS_BYTES = 250_000_000
#: The share of a worker's memory that data may fill. Beyond this share Dask writes blocks to disk, then pauses.
USABLE = 0.7
#: Numbers per sample that a fit keeps beside features and factors: labels, weights, iterates and directions.
VECTORS = 28
#: The share of a worker's memory that one block of the factors in use may take.
FACTOR_BLOCK_SHARE = 1 / 16
#: Kernels that are typically in use at a time.
IN_USE = 20


def room_for_factors(X: BlockArray) -> float:
    """Return the bytes that all workers together have for factors, beside the samples; infinity if nothing is known."""
    limits = X.engine.memory_limits
    if not limits:
        return np.inf
    usable = sum(max(0.0, USABLE * limit - PROCESS_BYTES) for limit in limits)
    return max(0.0, usable - len(X) * (_row_bytes(X) + 8 * VECTORS))


def _row_bytes(X: BlockArray) -> int:
    """Return the bytes of a row, counted twice: as it was read, and as it is used."""
    return 2 * X.dtype.itemsize * int(np.prod(X.shape[1:]))


def cut_to_fit(arrays: Sequence[BlockArray], ranks: Sequence[int]) -> list[BlockArray]:
    """Return arrays over the same samples, in smaller blocks where blocks of the factors in use would be too large.

    ``ranks`` are the numbers of columns of the factors of all kernels.
    """
    limit = min(arrays[0].engine.memory_limits, default=0)
    largest = 8 * max(arrays[0].lengths) * sum(sorted(ranks)[-IN_USE:])
    parts = int(np.ceil(largest / (FACTOR_BLOCK_SHARE * limit))) if limit else 1
    parts = min(parts, min(arrays[0].lengths))
    return list(arrays) if parts <= 1 else [_cut(array, parts) for array in arrays]


def _cut(array: BlockArray, parts: int) -> BlockArray:
    """Return the array with every block cut into ``parts`` blocks, which stay on their worker."""
    lengths = [len(index) for length in array.lengths for index in np.array_split(np.arange(length), parts)]
    handles = [handle for handle in array.handles for _ in range(parts)]
    places = list(range(parts)) * len(array.lengths)
    return BlockArray.of(array.engine, lengths, array.engine.map(_part, [handles, places], parts=parts), array.empty)


def _part(block: Any, place: int, *, parts: int) -> Any:
    index = np.array_split(np.arange(block.shape[0]), parts)[place]
    return block[index]  # a copy: a view would keep the whole block
