"""Expressions over blocks: the solver builds them, and the workers that hold the blocks evaluate them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from .engine import Handle

#: An expression is evaluated on pieces of its blocks of about this many bytes, and of at least this many rows.
PIECE_BYTES, MIN_ROWS = 2**21, 2048
#: The functions of NumPy, beside its ufuncs, that give the same result on some rows of a block at a time.
BY_ROWS: set[Callable[..., Any]] = {np.where, np.clip, np.full_like, np.zeros_like, np.ones_like, np.stack, np.isin}


class Leaf:
    """An array that exists already: the handles of its blocks, and an array of the same kind without rows.

    Arrays that were persisted together share handles: each block is a list, and ``item`` is the array's place in it.
    """

    def __init__(self, handles: Sequence[Handle], empty: Any, item: int | None = None) -> None:
        self.handles = handles if isinstance(handles, tuple) else tuple(handles)
        self.empty, self.item = empty, item


class Node:
    """A call that is still to be made, ``function(*arguments, **options)``, of leaves, other nodes and small values."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any]) -> None:
        self.function, self.arguments, self.options = function, tuple(arguments), options


@dataclass(frozen=True)
class Whole:
    """A value that is passed to a function as a whole, even where the blocks beside the value are cut into pieces."""

    value: Any


@dataclass(frozen=True)
class Slot:
    """The place of a leaf in an expression that is sent to a worker: ``position`` says which block is put there."""

    position: int
    item: int | None


Expression = Leaf | Node


def portable(roots: Sequence[Any]) -> tuple[list[Any], list[tuple[Handle, ...]]]:
    """Return the expressions with slots in the place of leaves, and the handles of the leaves in the order of slots."""
    conversion = _Conversion()
    return [conversion.convert(root) for root in roots], conversion.leaves


class _Conversion:
    """Replaces leaves by slots.

    Neither this class nor the evaluation below is a closure: a closure that calls itself is a reference cycle, and
    would keep blocks and handles alive until the garbage collector runs.
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
            if isinstance(part, Node):
                new: Any = Node(part.function, self.convert(part.arguments), part.options)
            else:
                if id(part.handles) not in self.positions:
                    self.positions[id(part.handles)] = len(self.leaves)
                    self.leaves.append(part.handles)
                new = Slot(self.positions[id(part.handles)], part.item)
            self.converted[id(part)] = new
        return self.converted[id(part)]


def evaluate(roots: Sequence[Any], blocks: Sequence[Any]) -> list[Any]:
    """Evaluate expressions on blocks, each shared part once; a leaf without a slot gives its array without rows."""
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
    """Evaluate several expressions that have one row for each row of the blocks, as a task."""
    with np.errstate(all="ignore"):  # the solver looks at the results
        pieces = _pieces(roots, blocks)
        if len(pieces) == 1:
            return evaluate(roots, blocks)
        results: list[Any] = []
        for piece in pieces:
            values = evaluate(roots, [_some_rows(block, piece) for block in blocks])
            if not results:
                results = [_longer(value, pieces[-1].stop) for value in values]
            for result, value in zip(results, values, strict=True):
                result[piece] = value
        return results


def _longer(rows: Any, length: int) -> Any:
    """Return an empty array of the kind of ``rows`` with another length, stored by columns where ``rows`` is."""
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
        parts = (evaluate(roots, [_some_rows(block, piece) for block in blocks]) for piece in pieces)
        return reduce(lambda total, part: merging([total, part]), parts)


def _pieces(roots: Sequence[Any], blocks: Sequence[Any]) -> list[slice]:
    """Return the rows to evaluate together: pieces that stay in the cache, where every operation allows pieces.

    An expression reads its arrays several times. Reading whole blocks from memory would take most of the time.
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


def _some_rows(block: Any, piece: slice) -> Any:
    if isinstance(block, Whole):
        return block
    return [array[piece] for array in block] if isinstance(block, list) else block[piece]
