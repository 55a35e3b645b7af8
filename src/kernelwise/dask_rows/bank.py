"""The bank of low-rank factors in row blocks, as many as the workers have room for."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import Array, Index
from ..kernels import LandmarkMap
from ..kernels.bank import FactorLayout
from .block_array import BlockArray, Transposed

Maps = list[LandmarkMap]

#: The factors of all kernels are kept if they take at most this share of the room for factors. Otherwise only the
#: factors of the kernels in use are kept, and the others are computed again whenever kernels are priced.
KEPT_SHARE = 0.5
#: The factors of the kernels in use may take this share of the workers' memory. Dask writes factors beyond the room for
#: them to disk, and reads them again for every pass.
ACTIVE_SHARE = 2.0
#: The number of samples for which features are computed at a time.
PIECE = 8192
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


class SpillWarning(UserWarning):
    """Factors in use do not fit into the memory of the workers."""


class BlockBank(FactorLayout):
    """Kernels ``K_j ~ F_j F_j^T`` over samples in row blocks, with the operations of a bank that solvers use."""

    def __init__(self, X: BlockArray, maps: Maps, residuals: ArrayLike) -> None:
        super().__init__(maps, residuals)
        self.X, self.n_samples, self.n_kernels = X.persist(), len(X), len(maps)
        self.shared_maps = X.share(maps)
        self.memory, self.room = sum(X.engine.memory_limits), room_for_factors(X)
        self.kept: BlockArray | None = None
        if self.nbytes <= KEPT_SHARE * self.room:
            self.kept = self._computed(np.arange(self.n_kernels)).persist()

    @property
    def nbytes(self) -> int:
        """The memory of all factors together, kept or not."""
        return 8 * self.n_samples * int(self.ranks.sum())

    def _computed(self, kernels: Index) -> BlockArray:
        return self.X.map_rows(features, self.shared_maps, kernels=kernels)

    def factors(self, kernels: ArrayLike) -> BlockArray:
        """Return the factors of some kernels side by side, one row per sample."""
        chosen = np.asarray(kernels, dtype=np.intp)
        if self.kept is None:
            return self._computed(chosen)
        return self.kept.map_rows(lambda block, index: block.T[index].T, self.coordinates(chosen))

    def stacked_rows(self, kernels: ArrayLike) -> tuple[Transposed, Index]:
        """Return the ``F_j^T`` of some kernels, one below the other, and their ranks."""
        ranks = self.ranks[np.asarray(kernels, dtype=np.intp)]
        self._check_room(8 * self.n_samples * int(ranks.sum()), len(ranks))
        return self.factors(kernels).T, ranks

    def _check_room(self, needed: int, n_kernels: int) -> None:
        """Warn if Dask has to write the factors of the kernels in use to disk, and raise if they are far too large."""
        remedy = "Add workers, give them more memory, lower rank, or raise alpha, which uses fewer kernels"
        factors = f"the factors of {n_kernels} kernels take {needed / 1e9:.3g} GB"
        if self.memory and needed > ACTIVE_SHARE * self.memory:
            raise MemoryError(
                f"{factors}, and the workers have {self.memory / 1e9:.3g} GB together; about "
                f"{needed / ACTIVE_SHARE / 1e9:.3g} GB are needed. {remedy}"
            )
        if needed > self.room:
            warnings.warn(
                f"{factors}, and the workers have room for {self.room / 1e9:.3g} GB: the rest is written to disk and "
                f"read again for every pass, which is slower. {remedy}",
                SpillWarning,
                stacklevel=2,
            )

    def project(self, v: BlockArray) -> Array:
        """Return the coordinates ``F^T v`` of all kernels, stacked."""
        if self.kept is None:
            return np.asarray(self.X.sum_of(projection, self.shared_maps, v))
        return np.asarray(self.kept.T @ v)

    def lift(self, w: Array) -> BlockArray:
        """Return ``sum_j F_j w_j`` for stacked coordinates ``w``."""
        return self.values({j: part for j, part in enumerate(self._split(w)) if part.any()})

    def quadratic_forms(self, v: BlockArray) -> Array:
        """Return all ``v^T K_j v``."""
        return self.group_sums(self.project(v) ** 2)

    def largest_diagonal(self) -> float:
        """Return the largest value of ``k_j(x, x)``."""
        kernels = np.arange(self.n_kernels)
        return float(self.factors(kernels).reduce_rows(_largest_norm, max, ends=self.offsets))

    def values(self, blocks: dict[int, Array]) -> BlockArray:
        """Return ``sum_j F_j w_j`` for some kernels."""
        return self.factors(list(blocks)) @ np.concatenate([np.zeros(0), *blocks.values()])


def pieces(X: Any) -> list[slice]:
    """Return slices of :data:`PIECE` rows that cover X."""
    return [slice(start, start + PIECE) for start in range(0, X.shape[0], PIECE)]


def features(X: Any, maps: Maps, *, kernels: Index) -> Array:
    """Return the features of some kernels side by side; stored by columns, as a kernel's columns are used together."""
    rows = np.empty((sum(maps[j].rank for j in kernels), X.shape[0]))
    for part in pieces(X):
        offset = 0
        for j in kernels:
            rows[offset : offset + maps[j].rank, part] = maps[j](X[part]).T
            offset += maps[j].rank
    return rows.T


def projection(X: Any, maps: Maps, v: Array) -> Array:
    """Return the coordinates ``F^T v`` of all kernels for one block of samples."""
    parts = [np.zeros(one.rank) for one in maps]
    for part in pieces(X):
        for one, total in zip(maps, parts, strict=True):
            total += one.projection(X[part], v[part])
    return np.concatenate(parts)


def _largest_norm(block: Array, *, ends: Index) -> float:
    squares = [np.einsum("ij,ij->i", part, part) for part in np.split(block, ends[1:-1], axis=1)]
    return max(float(norms.max(initial=0.0)) for norms in squares)


def room_for_factors(X: BlockArray) -> float:
    """Return the bytes that all workers together have for factors, beside the samples; infinity if nothing is known."""
    limits = X.engine.memory_limits
    if not limits:
        return np.inf
    row_bytes = 2 * X.dtype.itemsize * int(np.prod(X.shape[1:]))  # twice: as it was read, and as it is used
    usable = sum(max(0.0, USABLE * limit - PROCESS_BYTES) for limit in limits)
    return max(0.0, usable - len(X) * (row_bytes + 8 * VECTORS))


def cut_to_fit(arrays: Sequence[BlockArray], ranks: Sequence[int]) -> list[BlockArray]:
    """Return arrays over the same samples, in smaller blocks where blocks of the factors in use would be too large."""
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
    return block[np.array_split(np.arange(block.shape[0]), parts)[place]]  # a copy: a view would keep the whole block
