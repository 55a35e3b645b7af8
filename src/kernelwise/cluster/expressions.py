"""Expressions over blocks: built where the solver is, evaluated where the blocks are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .engine import Handle

#: Bytes of all arrays of an expression that are worked on together, and rows below which it does not pay.
PIECE_BYTES, MIN_ROWS = 2**21, 2048
#: NumPy's functions that may be given some rows of their blocks at a time, besides the elementwise ones.
BY_ROWS: set[Callable[..., Any]] = {np.where, np.clip, np.full_like, np.zeros_like, np.ones_like, np.stack, np.isin}


class Leaf:
    """A kept array: one handle per block, and what an empty block of it looks like.

    Arrays that are kept together share handles, of lists; ``item`` then is the place of this array in them.
    """

    def __init__(self, handles: Sequence[Handle], empty: Any, item: int | None = None) -> None:
        self.handles = handles if isinstance(handles, tuple) else tuple(handles)
        self.empty, self.item = empty, item


class Node:
    """``function(*arguments, **options)``; arguments are leaves, nodes, or small values that travel with the task."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any]) -> None:
        self.function, self.arguments, self.options = function, tuple(arguments), options


@dataclass(frozen=True)
class Whole:
    """A value that every block needs whole, where the blocks beside it are cut into pieces."""

    value: Any


class Slot:
    """Where a leaf's block goes in an expression that is sent to a worker."""

    def __init__(self, position: int, item: int | None) -> None:
        self.position, self.item = position, item


Expression = Leaf | Node


def portable(roots: Sequence[Any]) -> tuple[list[Any], list[tuple[Handle, ...]]]:
    """Return the expressions with slots for leaves, shared parts still shared, and the handles in slot order."""
    conversion = _Conversion()
    return [conversion.convert(root) for root in roots], conversion.leaves


class _Conversion:
    """From leaves to slots. Like the evaluation below no closure: one that calls itself keeps what it has seen, blocks
    and handles of blocks, until the garbage collector comes by.
    """

    def __init__(self) -> None:
        self.leaves: list[tuple[Handle, ...]] = []
        self.positions: dict[int, int] = {}
        self.converted: dict[int, Any] = {}

    def convert(self, part: Any) -> Any:
        if isinstance(part, list | tuple):
            return [self.convert(item) for item in part]
        if not isinstance(part, Leaf | Node):
            return part
        if id(part) not in self.converted:
            self.converted[id(part)] = self._slot(part) if isinstance(part, Leaf) else self._node(part)
        return self.converted[id(part)]

    def _slot(self, leaf: Leaf) -> Slot:
        if id(leaf.handles) not in self.positions:
            self.positions[id(leaf.handles)] = len(self.leaves)
            self.leaves.append(leaf.handles)
        return Slot(self.positions[id(leaf.handles)], leaf.item)

    def _node(self, node: Node) -> Node:
        return Node(node.function, [self.convert(argument) for argument in node.arguments], node.options)


def evaluate(roots: Sequence[Any], blocks: Sequence[Any]) -> list[Any]:
    """Evaluate expressions on the blocks of one piece of the samples; a shared part is evaluated once.

    A leaf that has no slot stands for its empty block.
    """
    known: dict[int, Any] = {}
    return [_value(root, blocks, known) for root in roots]


def _value(part: Any, blocks: Sequence[Any], known: dict[int, Any]) -> Any:
    if isinstance(part, Slot):
        block = blocks[part.position]
        if isinstance(block, Whole):
            return block.value
        return block if part.item is None else block[part.item]
    if isinstance(part, Leaf):
        return part.empty
    if isinstance(part, list):
        return [_value(item, blocks, known) for item in part]
    if not isinstance(part, Node):
        return part
    if id(part) not in known:
        arguments = [_value(argument, blocks, known) for argument in part.arguments]
        known[id(part)] = part.function(*arguments, **part.options)
    return known[id(part)]


def evaluate_one(*blocks: Any, roots: Sequence[Any]) -> Any:
    """Evaluate a single expression, as a task."""
    return evaluate_all(*blocks, roots=roots)[0]


def evaluate_all(*blocks: Any, roots: Sequence[Any]) -> list[Any]:
    """Evaluate several expressions with a row per row of the blocks, as a task."""
    with np.errstate(all="ignore"):  # what comes of it is looked at by the solver
        pieces = _pieces(roots, blocks)
        if len(pieces) == 1:
            return evaluate(roots, blocks)
        results: list[Any] = []
        for piece in pieces:
            values = evaluate(roots, _rows(blocks, piece))
            if not results:
                results = [_longer(value, pieces[-1].stop) for value in values]
            for result, value in zip(results, values, strict=True):
                result[piece] = value
        return results


def _longer(rows: Any, length: int) -> Any:
    """Return an array for more rows of the same kind, stored by columns where these are."""
    by_columns = rows.ndim == 2 and rows.flags.f_contiguous and not rows.flags.c_contiguous
    return np.empty((length, *rows.shape[1:]), dtype=rows.dtype, order="F" if by_columns else "C")


def evaluate_sums(
    *blocks: Any, roots: Sequence[Any], merging: Callable[[Sequence[Sequence[Any]]], list[Any]]
) -> list[Any]:
    """Evaluate several sums over the rows of the blocks, as a task."""
    with np.errstate(all="ignore"):
        pieces = _pieces(roots, blocks)
        if len(pieces) == 1:
            return evaluate(roots, blocks)
        total = evaluate(roots, _rows(blocks, pieces[0]))
        for piece in pieces[1:]:
            total = merging([total, evaluate(roots, _rows(blocks, piece))])
        return total


def _pieces(roots: Sequence[Any], blocks: Sequence[Any]) -> list[slice]:
    """Return the rows to evaluate together: a piece that stays in the cache, where every operation allows pieces.

    An expression reads its arrays several times; from memory, that would take most of the time.
    """
    cut = [block for block in blocks if not isinstance(block, Whole)]
    arrays = [array for block in cut for array in (block if isinstance(block, list) else [block])]
    plain = bool(arrays) and all(isinstance(array, np.ndarray) for array in arrays)
    if not plain or len({len(array) for array in arrays}) != 1 or not all(map(_allows_pieces, roots)):
        return [slice(None)]
    n = len(arrays[0])
    row_bytes = sum(array.nbytes for array in arrays) / max(n, 1)
    rows = max(MIN_ROWS, int(PIECE_BYTES / max(row_bytes, 1.0)))
    if n <= 2 * rows:
        return [slice(None)]
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


def _allows_pieces(part: Any) -> bool:
    if isinstance(part, list):
        return all(map(_allows_pieces, part))
    if not isinstance(part, Node):
        return True
    allowed = isinstance(part.function, np.ufunc) or part.function in BY_ROWS or hasattr(part.function, "works_by_rows")
    return allowed and all(map(_allows_pieces, part.arguments))


def _rows(blocks: Sequence[Any], piece: slice) -> list[Any]:
    return [_some_rows(block, piece) for block in blocks]


def _some_rows(block: Any, piece: slice) -> Any:
    if isinstance(block, Whole):
        return block
    return [array[piece] for array in block] if isinstance(block, list) else block[piece]
