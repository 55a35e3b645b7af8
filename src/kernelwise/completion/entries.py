"""Entries of a label matrix that is known by its factor."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import check_ends
from ..cluster.collections import is_dask
from ..memory import require
from .pair_products import pair_products

Array = NDArray[np.float64]

#: Pairs are scored in pieces of about this many numbers.
CHUNK_VALUES = 2**21


def entries(factor: Any, rows: Any, cols: Any) -> Any:
    """The entries at given pairs; a Dask array where the pairs, or the factor, are in Dask collections."""
    check = partial(check_ends, n_samples=len(factor), remedy="; for new samples see transform")
    if is_dask(factor) or is_dask(rows) or is_dask(cols):
        return pair_products(factor, rows, cols, check=check, product=inner_products)
    return inner_products(factor, *check(rows, cols))


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
