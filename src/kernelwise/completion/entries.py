"""Entries of a label matrix that is known by its factor."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..memory import require
from ..rows import is_dask

Array = NDArray[np.float64]

#: Pairs are scored in pieces of about this many numbers.
CHUNK_VALUES = 2**21


def entries(factor: Any, rows: Any, cols: Any) -> Any:
    """The entries at given pairs; a Dask array where the pairs, or the factor, are in Dask collections."""
    if is_dask(factor) or is_dask(rows) or is_dask(cols):
        from .on_cluster import pair_products  # which needs a basis, which needs entries

        check = partial(check_ends, n_samples=len(factor))
        return pair_products(factor, rows, cols, check=check, product=inner_products)
    left, right = check_ends(rows, cols, len(factor))
    return inner_products(factor, left, right)


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


def inner_products(factor: Array, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array:
    """Entries of ``F F^T``, a piece at a time."""
    size = max(1, CHUNK_VALUES // max(1, factor.shape[1]))
    found = np.empty(len(rows))
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        found[part] = np.einsum("tk,tk->t", factor[rows[part]], factor[cols[part]])
    return found


def check_ends(rows: ArrayLike, cols: ArrayLike, n_samples: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Both ends of pairs as index arrays, known to lie among the samples."""
    ends = []
    for name, given in (("rows", rows), ("cols", cols)):
        index = np.asarray(given)
        if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
            raise ValueError(f"{name} must be a list of sample indices, got shape {index.shape} of {index.dtype}")
        outside = index[(index < 0) | (index >= n_samples)]
        if outside.size:
            raise ValueError(f"{name} contains {outside[0]}, but samples are 0..{n_samples - 1}; see transform for new")
        ends.append(index.astype(np.intp, copy=False))
    if len(ends[0]) != len(ends[1]):
        raise ValueError(f"rows and cols must have one length, got {len(ends[0])} and {len(ends[1])}")
    return ends[0], ends[1]
