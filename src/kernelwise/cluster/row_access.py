"""Single rows of arrays in row blocks: bring some here, put some there, or hand all of them over to Dask."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .block_array import BlockArray

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]


def take_rows(array: BlockArray, index: IntArray) -> Array:
    """Return some rows, few enough to be held here.

    Parameters
    ----------
    array : BlockArray
    index : int array
        Distinct, in ascending order.
    """
    array = array.keep()
    wanted = _by_block(array, index)
    filled = [k for k, local in enumerate(wanted) if len(local)]
    if not filled:
        return np.asarray(array.empty)
    some = [array.handles[k] for k in filled], [wanted[k] for k in filled]
    return np.concatenate(array.engine.fetch(array.engine.map(_rows, list(some))))


def put_rows(array: BlockArray, index: IntArray, rows: Array) -> BlockArray:
    """Return the array with other rows at ``index``, which is distinct and in ascending order; kept."""
    local = _by_block(array, index)
    cuts = np.split(rows, np.cumsum([len(part) for part in local])[:-1])
    handles = array.engine.map(_replaced, [array.keep().handles, local, cuts])
    return BlockArray.of(array.engine, array.lengths, handles, array.empty)


def as_dask_array(array: BlockArray) -> Any:
    """Return a Dask array of the blocks, which stay where they are for as long as it lives."""
    import dask
    import dask.array as da

    array = array.keep()
    blocks = [handle if hasattr(handle, "key") else dask.delayed(handle, pure=False) for handle in array.handles]
    parts = [
        da.from_delayed(block, shape=(length, *array.shape[1:]), dtype=array.dtype)
        for block, length in zip(blocks, array.lengths, strict=True)
    ]
    return da.concatenate(parts, axis=0)


def _by_block(array: BlockArray, index: IntArray) -> list[IntArray]:
    """Return the positions within every block."""
    bounds = np.concatenate([[0], np.cumsum(array.lengths)])
    cuts = np.searchsorted(index, bounds)
    return [index[cuts[k] : cuts[k + 1]] - bounds[k] for k in range(len(array.lengths))]


def _rows(block: Any, index: IntArray) -> Any:
    return block[index]


def _replaced(block: Array, index: IntArray, rows: Array) -> Array:
    changed = block.copy()
    changed[index] = rows
    return changed
