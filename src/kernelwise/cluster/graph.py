"""A symmetric graph of samples in row blocks, and its products with arrays in the same blocks."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..spectral.tall_arrays import random_rows
from .block_array import BlockArray
from .engine import Engine, Handle
from .exchange import RowExchange, regrouped

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Edges = tuple[Index, Index, Array]


class BlockGraph:
    """Weights between samples: block i holds the rows of its samples, with a column per sample that they touch.

    ``graph @ V``, for V in the same row blocks, brings to every block the rows of V that its samples are joined to,
    and no others.

    Parameters
    ----------
    engine : Engine
    lengths : sequence of int
        The number of samples of every block.
    parts : sequence of handles
        A CSR array and the samples that its columns stand for, per block.
    """

    def __init__(self, engine: Engine, lengths: Sequence[int], parts: Sequence[Handle]) -> None:
        self.engine, self.lengths, self.parts = engine, tuple(lengths), list(parts)
        self.exchange = RowExchange(engine, engine.map(_touched, [self.parts]), self.lengths)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by samples."""
        return sum(self.lengths), sum(self.lengths)

    def __matmul__(self, rows: BlockArray) -> BlockArray:
        if tuple(rows.lengths) != self.lengths:
            raise ValueError(f"the graph has blocks of {self.lengths} rows, the other factor of {tuple(rows.lengths)}")
        rows = rows.keep()
        pieces = self.exchange.bring(rows)
        handles = self.engine.map(_block_product, [self.parts, *pieces], columns=rows.empty.shape[1:])
        return BlockArray.of(self.engine, self.lengths, handles, np.empty((0, *rows.empty.shape[1:])))

    def row_sums(self) -> BlockArray:
        """Return the sum of the weights of every sample."""
        return BlockArray.of(self.engine, self.lengths, self.engine.map(_row_sums, [self.parts]), np.empty(0))

    @classmethod
    def from_edges(
        cls, engine: Engine, lengths: Sequence[int], edges: Sequence[Handle], *, mirror: bool
    ) -> "BlockGraph":
        """Return the graph of edges ``(rows, cols, weights)`` in any partition; the weights of repeated ones are added.

        Parameters
        ----------
        engine : Engine
        lengths : sequence of int
            Samples per block.
        edges : sequence of handles
        mirror : bool
            Whether every edge is given once, and counts in both directions.
        """
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        parts = regrouped(engine, edges, _by_block, _rows_of_block, len(lengths), starts=starts, mirror=mirror)
        return cls(engine, lengths, parts)


def _touched(part: tuple[Any, Index]) -> Index:
    return part[1]


def _row_sums(part: tuple[Any, Index]) -> Array:
    return np.asarray(part[0].sum(axis=1), dtype=np.float64)


def _block_product(part: tuple[Any, Index], *pieces: Any, columns: tuple[int, ...]) -> Array:
    matrix, _ = part
    sent = [piece for piece in pieces if piece is not None]
    return np.asarray(matrix @ np.concatenate(sent)) if sent else np.zeros((matrix.shape[0], *columns))


def _by_block(edges: Edges, *, starts: Index, mirror: bool) -> list[Edges]:
    """Cut edges into those that begin in each block."""
    rows, cols, weights = edges
    if mirror:
        rows, cols, weights = np.append(rows, cols), np.append(cols, rows), np.append(weights, weights)
    order = np.argsort(rows, kind="stable")
    cuts = np.searchsorted(rows[order], starts)
    pieces = [order[low:high] for low, high in itertools.pairwise(cuts)]
    return [(rows[piece], cols[piece], weights[piece]) for piece in pieces]


def _rows_of_block(block: int, *pieces: Edges, starts: Index, mirror: bool) -> tuple[Any, Index]:
    rows, cols, weights = (np.concatenate([piece[k] for piece in pieces]) for k in range(3))
    touched, position = np.unique(cols, return_inverse=True)
    shape = int(starts[block + 1] - starts[block]), len(touched)
    matrix = sp.csr_array(sp.coo_array((weights, (rows - starts[block], position)), shape=shape))  # sums repetitions
    return matrix, touched


@random_rows.register
def _random_blocks(like: BlockGraph, n_columns: int, rng: Any) -> BlockArray:
    """A seed per block, so that a block that is lost is drawn again as it was."""
    seeds = rng.randint(2**31 - 1, size=len(like.lengths)).tolist()
    handles = like.engine.map(_uniform, [seeds, list(like.lengths)], n_columns=n_columns)
    return BlockArray.of(like.engine, like.lengths, handles, np.empty((0, n_columns)))


def _uniform(seed: int, length: int, *, n_columns: int) -> Array:
    return np.random.RandomState(seed).uniform(-1.0, 1.0, (length, n_columns))
