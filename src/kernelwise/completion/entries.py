"""Entries of a label matrix that is known by its factor."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import check_ends
from ..memory import require
from ..rows import is_dask
from .matrix.observed import sample_product

Array = NDArray[np.float64]


def entries(factor: Any, rows: Any, cols: Any) -> Any:
    """The entries at given pairs; a Dask array where the pairs, or the factor, are in Dask collections."""
    check = partial(check_ends, n_samples=len(factor), remedy="; for new samples see transform")
    if is_dask(factor) or is_dask(rows) or is_dask(cols):
        from .on_cluster import pair_products  # which needs a basis, which needs entries

        return pair_products(factor, rows, cols, check)
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
