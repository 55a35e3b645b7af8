"""Entries of a label matrix that is known by its factor."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: Pairs are scored in pieces of about this many numbers.
CHUNK_VALUES = 2**21


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
