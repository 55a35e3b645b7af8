"""The entries of the label matrix that known pairs give, with or without flipped labels."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..statements import Pairs

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: This many entries are computed at a time, so that the rows of both factors stay in the cache of the processor.
ENTRIES_AT_ONCE = 2**13


@dataclass(frozen=True, eq=False)
class KnownBlock:
    """The known entries of the label matrix of the m labelled samples; :func:`known_block` makes this object.

    ``index`` (m,) are the samples that occur in a pair, ascending. Entry t is at the positions ``rows[t] < cols[t]`` of
    ``index``, each entry once and row after row; the diagonal is known to be one. ``values`` are 1 for the same class,
    0 for different classes, a number in between where pairs contradict each other, and ``weights`` have a mean of one.
    """

    index: IntArray
    rows: IntArray
    cols: IntArray
    values: Array
    weights: Array

    @property
    def share(self) -> float:
        """The fraction of the entries off the diagonal that is known."""
        m = len(self.index)
        return 2.0 * len(self.rows) / (m * (m - 1))

    @cached_property
    def row_starts(self) -> IntArray:
        """Where the entries of each row begin, and the number of entries at the end."""
        return np.searchsorted(self.rows, np.arange(len(self.index) + 1))

    def matrix(self, entries: Array) -> sp.csr_array:
        """The m x m matrix with these numbers at the known entries, which are above the diagonal."""
        m = len(self.index)
        return sp.csr_array((entries, self.cols, self.row_starts), shape=(m, m))

    def corrected(self, noise_rate: float) -> "KnownBlock":
        r"""Values :math:`(z - e) / (1 - 2 e)`, which are right in the mean if a fraction e of the labels is flipped."""
        values = (self.values - noise_rate) / (1.0 - 2.0 * noise_rate)
        return replace(self, values=values)

    def among(self, kept: NDArray[np.bool_]) -> "KnownBlock":
        """The block of some entries; samples that occur in none of these entries are left out."""
        present = np.zeros(len(self.index), dtype=bool)
        present[self.rows[kept]] = present[self.cols[kept]] = True
        position = np.cumsum(present) - 1
        rows, cols = position[self.rows[kept]], position[self.cols[kept]]
        return KnownBlock(self.index[present], rows, cols, self.values[kept], self.weights[kept])


def known_block(pairs: Pairs) -> KnownBlock:
    """The known entries of the label matrix of the samples that occur in pairs; repeated evidence is averaged."""
    index, position = np.unique(np.concatenate([pairs.rows, pairs.cols]), return_inverse=True)
    first, second = position[: len(pairs)], position[len(pairs) :]
    keys, entry = np.unique(
        np.minimum(first, second) * np.int64(len(index)) + np.maximum(first, second), return_inverse=True
    )
    weights = np.bincount(entry, pairs.weights)
    values = np.bincount(entry, pairs.weights * (pairs.labels > 0)) / weights
    rows, cols = np.divmod(keys, len(index))
    return KnownBlock(index, rows, cols, values, weights / weights.mean())


def flip_variance(noise_rate: float) -> float:
    r"""The variance that flips add to a corrected value: :math:`e (1 - e) / (1 - 2 e)^2`."""
    return noise_rate * (1.0 - noise_rate) / (1.0 - 2.0 * noise_rate) ** 2


def sample_product(left: Array, right: Array, rows: IntArray, cols: IntArray) -> Array:
    """Return ``(left @ right.T)[rows, cols]``; the time per entry is proportional to the rank."""
    entries = np.empty(len(rows))
    for start in range(0, len(rows), ENTRIES_AT_ONCE):
        piece = slice(start, start + ENTRIES_AT_ONCE)
        np.einsum("ij,ij->i", left.take(rows[piece], axis=0), right.take(cols[piece], axis=0), out=entries[piece])
    return entries
