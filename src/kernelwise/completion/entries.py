"""Entries of a label matrix ``F F^T`` that is known by its factor, and products of the factor with new rows.

Where the factor is in row blocks, a piece of the pairs gets the rows that it needs from every block: nothing has all
rows of the factor, and what is held for a piece grows with its pairs.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import check_ends
from ..cluster.collections import is_dask
from ..memory import require
from .matrix.observed import sample_product

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]
Check = Callable[[Any, Any], tuple[IntArray, IntArray]]


def entries(factor: Any, rows: Any, cols: Any) -> Any:
    """The entries at given pairs; a Dask array where the pairs, or the factor, are in Dask collections."""
    check = partial(check_ends, n_samples=len(factor), remedy="; for new samples see transform")
    if is_dask(factor) or is_dask(rows) or is_dask(cols):
        return _entries_in_blocks(factor, rows, cols, check)
    return sample_product(factor, factor, *check(rows, cols))


def all_entries(factor: Any, max_gigabytes: float) -> Any:
    """``F F^T``, if it is no larger than allowed."""
    n_samples = len(factor)
    needed = 8e-9 * n_samples**2
    if needed > max_gigabytes:
        raise ValueError(
            f"the label matrix of {n_samples} samples takes {needed:.3g} GB, more than max_gigabytes="
            f"{max_gigabytes:g}; use pair_scores(rows, cols), or factor_ @ factor_[some].T"
        )
    if not is_dask(factor):
        require(8 * n_samples**2, f"the label matrix of {n_samples} samples", "use pair_scores(rows, cols)")
    return factor @ factor.T


def _entries_in_blocks(factor: Any, rows: Any, cols: Any, check: Check) -> Any:
    """The entries, where the factor or the pairs are a Dask collection; a Dask array if the pairs are one."""
    import dask
    import dask.array as da

    blocks, starts = _row_blocks(factor)
    given = is_dask(rows) or is_dask(cols)
    pieces, lengths = _pieces(rows, cols) if given else ([check(rows, cols)], [len(rows)])
    scores = []
    for left, right in pieces:
        ends = dask.delayed(_distinct_ends)(left, right, check=check)
        found = [dask.delayed(_rows_between)(block, ends, start) for block, start in zip(blocks, starts, strict=True)]
        scores.append(dask.delayed(_products)(ends, found))
    if not given:
        return dask.compute(*scores)[0]
    parts = [da.from_delayed(one, shape=(k,), dtype=np.float64) for one, k in zip(scores, lengths, strict=True)]
    return da.concatenate(parts)


def rows_times(X: Any, factor: Any, *, finish: Callable[[Array], Array], n_columns: int) -> Any:
    """Return ``finish(X @ factor)`` for a factor that is a Dask array with one row per column of X.

    Parameters
    ----------
    X : array, sparse matrix or Dask array of shape (n_new, n)
    factor : Dask array of shape (n, r)
    finish : callable
        Applied to rows of the product.
    n_columns : int
        The number of columns that it returns.

    Returns
    -------
    Dask array if X is one, otherwise ndarray
    """
    import dask
    import dask.array as da

    blocks, starts = _row_blocks(factor)
    stops = [*starts[1:], factor.shape[0]]
    if not is_dask(X):
        cuts = [X[:, a:b] for a, b in zip(starts, stops, strict=True)]
        products = [dask.delayed(_product)(cut, block) for cut, block in zip(cuts, blocks, strict=True)]
        return dask.compute(dask.delayed(_finished)(products, finish=finish))[0]
    X = X.rechunk({1: factor.chunks[0]})
    placed = []
    for pieces, length in zip(X.to_delayed(), X.chunks[0], strict=True):
        products = [dask.delayed(_product)(piece, block) for piece, block in zip(pieces, blocks, strict=True)]
        done = dask.delayed(_finished)(products, finish=finish)
        placed.append(da.from_delayed(done, shape=(length, n_columns), dtype=np.float64))
    return da.concatenate(placed, axis=0)


def _row_blocks(factor: Any) -> tuple[list[Any], list[int]]:
    """Return the blocks of rows, and where they begin."""
    if not is_dask(factor):
        import dask

        return [dask.delayed(factor, pure=False)], [0]
    if len(factor.chunks[1]) > 1:
        factor = factor.rechunk({1: -1})
    starts = np.concatenate([[0], np.cumsum(factor.chunks[0])[:-1]]).astype(int)
    return factor.to_delayed().ravel().tolist(), starts.tolist()


def _pieces(rows: Any, cols: Any) -> tuple[list[tuple[Any, Any]], Sequence[float]]:
    """Return pieces of both ends, cut alike, and their lengths."""
    import dask.array as da

    left, right = (_as_array(one) if is_dask(one) else da.asarray(np.asarray(one)) for one in (rows, cols))
    for name, one in (("rows", left), ("cols", right)):
        if one.ndim != 1 or one.dtype.kind not in "iu":
            raise ValueError(f"{name} must be a list of sample indices, got shape {one.shape} of {one.dtype}")
    if not (np.isnan(left.shape[0]) or np.isnan(right.shape[0])):
        if left.shape != right.shape:
            raise ValueError(f"rows and cols must have one length, got {left.shape[0]} and {right.shape[0]}")
        right = right.rechunk(left.chunks)
    if left.numblocks != right.numblocks:
        raise ValueError(
            f"rows has {left.numblocks[0]} partitions and cols {right.numblocks[0]}; take both from one frame"
        )
    return list(zip(left.to_delayed(), right.to_delayed(), strict=True)), left.chunks[0]


def _as_array(collection: Any) -> Any:
    return collection.to_dask_array() if hasattr(collection, "to_dask_array") else collection


def _distinct_ends(rows: Any, cols: Any, *, check: Check) -> tuple[IntArray, IntArray, IntArray]:
    """Return the samples that occur, in ascending order, and the places of both ends among them."""
    left, right = check(rows, cols)
    index, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    return index, place[: len(left)], place[len(left) :]


def _rows_between(block: Array, ends: tuple[IntArray, IntArray, IntArray], start: int) -> Array:
    index = ends[0]
    return block[index[slice(*np.searchsorted(index, [start, start + len(block)]))] - start]


def _products(ends: tuple[IntArray, IntArray, IntArray], found: list[Array]) -> Array:
    rows = np.concatenate(found)
    return sample_product(rows, rows, ends[1], ends[2])


def _product(rows: Any, block: Array) -> Array:
    return np.asarray(rows @ block)


def _finished(products: list[Array], *, finish: Callable[[Array], Array]) -> Array:
    total = products[0]
    for more in products[1:]:
        total = total + more
    return finish(total)
