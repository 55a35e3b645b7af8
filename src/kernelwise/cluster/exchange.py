"""Rows that blocks need from each other: each is sent only to where it is needed."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .block_array import BlockArray
from .engine import Engine, Handle

Index = NDArray[np.int64]


class RowExchange:
    """For every receiver, which rows of an array in row blocks it needs.

    Sending takes a task per receiver and block that have something to do with each other, so both should be few.

    Parameters
    ----------
    engine : Engine
    needed : sequence of handles
        For every receiver the positions of the rows that it needs: sorted, distinct.
    lengths : sequence of int
        The number of rows of every block of the array.
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
        """Return for every sending block a list over receivers: the rows sent to each, or None where there are none.

        A receiver finds its rows in order by putting what it was sent one below the other.
        """
        blocks = rows.handles
        pieces: list[list[Handle]] = [[None] * self.n_receivers for _ in self.lengths]
        if not self.routes:
            return pieces
        sent = self.engine.map(_take, [[blocks[j] for _, j in self.routes], self.index])
        for (i, j), piece in zip(self.routes, sent, strict=True):
            pieces[j][i] = piece
        return pieces


def _counts(needed: Index, *, starts: Index) -> Index:
    return np.diff(np.searchsorted(needed, starts))


def _positions_within(needed: Index, sender: int, *, starts: Index) -> Index:
    low, high = np.searchsorted(needed, starts[sender : sender + 2])
    return needed[low:high] - starts[sender]


def _take(block: Any, index: Index) -> Any:
    return block[index]


def regrouped(
    engine: Engine,
    parts: Sequence[Handle],
    cut: Callable[..., Sequence[Any]],
    join: Callable[..., Any],
    n_groups: int,
    **shared: Any,
) -> list[Handle]:
    """Cut every part into one piece per group, and join the pieces of each group.

    Parameters
    ----------
    engine : Engine
    parts : sequence of handles
    cut : callable
        ``cut(part, **shared)`` returns ``n_groups`` pieces.
    join : callable
        ``join(group, *pieces, **shared)``, with the number of the group and the pieces in the order of the parts.
    n_groups : int
    """
    cuts = engine.map(cut, [parts], **shared)
    numbers = list(range(n_groups))
    pieces = [engine.map(_item, [[whole] * n_groups, numbers]) for whole in cuts]
    return engine.map(join, [numbers, *pieces], **shared)


def _item(pieces: Sequence[Any], number: int) -> Any:
    return pieces[number]
