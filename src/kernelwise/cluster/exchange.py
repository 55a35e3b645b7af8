"""Rows that blocks need from each other: every row travels only to the blocks that need it."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .block_array import BlockArray
from .engine import Engine, Handle

Index = NDArray[np.int64]


class RowExchange:
    """Sends rows of an array with blocks of ``lengths`` rows to receivers.

    ``needed`` has, for every receiver, a handle of the sorted, distinct positions of the rows that the receiver needs.
    Each receiver takes one task for every block that has such rows, so receivers and blocks should be few.
    """

    def __init__(self, engine: Engine, needed: Sequence[Handle], lengths: Sequence[int]) -> None:
        self.engine, self.lengths, self.n_receivers = engine, tuple(lengths), len(needed)
        starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        counts = np.array(engine.fetch(engine.map(_counts, [needed], starts=starts)))
        self.routes = [(int(i), int(j)) for i, j in zip(*np.nonzero(counts), strict=True)]
        self.index: list[Handle] = []
        if self.routes:
            senders = [j for _, j in self.routes]
            self.index = engine.map(_positions_within, [[needed[i] for i, _ in self.routes], senders], starts=starts)

    def bring(self, rows: BlockArray) -> list[list[Handle]]:
        """Return for every sending block a list with the rows for each receiver, or None for a receiver without rows.

        A receiver stacks the rows from all blocks to get its rows in order.
        """
        blocks = rows.handles
        pieces: list[list[Handle]] = [[None] * self.n_receivers for _ in self.lengths]
        if not self.routes:
            return pieces
        sent = self.engine.map(operator.getitem, [[blocks[j] for _, j in self.routes], self.index])
        for (i, j), piece in zip(self.routes, sent, strict=True):
            pieces[j][i] = piece
        return pieces


def _counts(needed: Index, *, starts: Index) -> Index:
    return np.diff(np.searchsorted(needed, starts))


def _positions_within(needed: Index, sender: int, *, starts: Index) -> Index:
    low, high = np.searchsorted(needed, starts[sender : sender + 2])
    return needed[low:high] - starts[sender]


def regrouped(
    engine: Engine,
    parts: Sequence[Handle],
    cut: Callable[..., Sequence[Any]],
    join: Callable[..., Any],
    n_groups: int,
    **shared: Any,
) -> list[Handle]:
    """Cut every part into one piece per group, ``cut(part, **shared)``, and join the pieces of each group.

    ``join(group, *pieces, **shared)`` gets the number of the group and its pieces in the order of the parts.
    """
    cuts = engine.map(cut, [parts], **shared)
    numbers = list(range(n_groups))
    pieces = [engine.map(operator.getitem, [[whole] * n_groups, numbers]) for whole in cuts]
    return engine.map(join, [numbers, *pieces], **shared)
