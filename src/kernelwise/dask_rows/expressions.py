"""Expressions over blocks: the solver builds them, and the workers that hold the blocks evaluate them."""

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .engine import Handle

#: An expression is evaluated on pieces of its blocks of about this many bytes, and of at least this many rows.
PIECE_BYTES, MIN_ROWS, MAX_ROWS = 2**21, 2048, 8192
#: A worker keeps this many freed bytes. Arrays that are larger than ``LARGE_BYTES`` are given back at once.
FREED_BYTES, LARGE_BYTES = 2**25, 2**22
#: The numbers of these two settings in the header ``malloc.h`` of the GNU C library.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
#: The functions of NumPy, beside its ufuncs, that give the same result on some rows of a block at a time.
BY_ROWS: set[Callable[..., Any]] = {np.where, np.clip, np.full_like, np.zeros_like, np.ones_like, np.stack, np.isin}


class Leaf:
    """An array that exists already: the handles of its blocks, and an array of the same kind without rows.

    Arrays that were evaluated together share handles: each block is a :class:`Pass`, and ``item`` is the array's place.
    """

    def __init__(self, handles: Sequence[Handle], empty: Any, item: int | None = None) -> None:
        self.handles = handles if isinstance(handles, tuple) else tuple(handles)
        self.empty, self.item = empty, item


class Awaited:
    """An array that the first pass which needs the array will evaluate and keep; from then on it has a ``leaf``."""

    def __init__(self, expression: "Expression", empty: Any) -> None:
        self.expression, self.empty = expression, empty
        self.leaf: Leaf | None = None

    def keep_at(self, handles: tuple[Handle, ...], item: int) -> None:
        """Note where the array is kept, and forget how it was made."""
        self.leaf = Leaf(handles, self.empty, item)
        self.expression = self.leaf


class Node:
    """A call that is still to be made, ``function(*arguments, **options)``, of leaves, other nodes and small values."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any]) -> None:
        self.function, self.arguments, self.options = function, tuple(arguments), options


class Pass(NamedTuple):
    """What one pass over the rows of a block found: arrays with one row for each row, and sums over the rows."""

    arrays: list[Any]
    sums: list[Any]


@dataclass(frozen=True)
class Whole:
    """A value that is passed to a function as a whole, even where the blocks beside the value are cut into pieces."""

    value: Any


@dataclass(frozen=True)
class Slot:
    """The place of a leaf in an expression that is sent to a worker: ``position`` says which block is put there."""

    position: int
    item: int | None


Expression = Leaf | Node | Awaited
#: A function that merges the lists of sums of several pieces, entry by entry.
Merging = Callable[[Sequence[Sequence[Any]]], list[Any]]


class Portable:
    """Expressions with slots in the place of leaves, as they are sent to workers.

    ``leaves`` are the handles of the leaves in the order of slots, and ``awaited`` are the awaited arrays that the
    expressions contain, each after those that it is made of; ``kept`` are the expressions of these arrays.

    Neither this class nor the evaluation below is a closure: a closure that calls itself is a reference cycle, and
    would keep blocks and handles alive until the garbage collector runs.
    """

    def __init__(self, roots: Sequence[Any]) -> None:
        self.leaves: list[tuple[Handle, ...]] = []
        self.awaited: list[Awaited] = []
        self.kept: list[Any] = []
        self._positions: dict[int, int] = {}
        self._converted: dict[int, Any] = {}
        self.roots = [self._convert(root) for root in roots]

    def _convert(self, part: Any) -> Any:
        if isinstance(part, list | tuple):
            return [self._convert(item) for item in part]
        if isinstance(part, Awaited) and part.leaf is not None:
            return self._convert(part.leaf)
        if not isinstance(part, Leaf | Node | Awaited):
            return part
        if id(part) not in self._converted:
            if isinstance(part, Node):
                new: Any = Node(part.function, self._convert(part.arguments), part.options)
            elif isinstance(part, Awaited):
                new = self._convert(part.expression)
                self.awaited.append(part)
                self.kept.append(new)
            else:
                if id(part.handles) not in self._positions:
                    self._positions[id(part.handles)] = len(self.leaves)
                    self.leaves.append(part.handles)
                new = Slot(self._positions[id(part.handles)], part.item)
            self._converted[id(part)] = new
        return self._converted[id(part)]


def evaluate(roots: Sequence[Any], blocks: Sequence[Any]) -> list[Any]:
    """Evaluate expressions on blocks, each shared part once; a leaf without a slot gives its array without rows."""
    known: dict[int, Any] = {}
    return [_value(root, blocks, known) for root in roots]


def _value(part: Any, blocks: Sequence[Any], known: dict[int, Any]) -> Any:
    if isinstance(part, Slot):
        block = blocks[part.position]
        if isinstance(block, Whole):
            return block.value
        return block if part.item is None else block.arrays[part.item]
    if isinstance(part, Leaf | Awaited):
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
    """Evaluate a single expression that has one row for each row of the blocks, as a task."""
    return evaluate_pass(*blocks, rows=roots).arrays[0]


def evaluate_sums(*blocks: Any, roots: Sequence[Any], merging: Merging) -> list[Any]:
    """Evaluate several sums over the rows of the blocks, as a task."""
    return evaluate_pass(*blocks, sums=roots, merging=merging).sums


def evaluate_pass(
    *blocks: Any, rows: Sequence[Any] = (), sums: Sequence[Any] = (), merging: Merging | None = None
) -> Pass:
    """Evaluate expressions with one row for each row of the blocks, and sums over the rows, as a task."""
    keep_freed_memory()
    with np.errstate(all="ignore"):  # the solver looks at the results
        roots = [*rows, *sums]
        pieces = _pieces(roots, blocks)
        if len(pieces) == 1:
            values = evaluate(roots, blocks)
            return Pass(values[: len(rows)], values[len(rows) :])
        arrays: list[Any] = []
        total: list[Any] = []
        for piece in pieces:
            values = evaluate(roots, [_some_rows(block, piece) for block in blocks])
            parts, found = values[: len(rows)], values[len(rows) :]
            if piece.start == 0:
                arrays = [_longer(part, pieces[-1].stop) for part in parts]
            for array, part in zip(arrays, parts, strict=True):
                array[piece] = part
            total = merging([total, found]) if merging is not None and total else found
        return Pass(arrays, total)


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Let the C library keep some memory that was freed, instead of asking the system for it again and again.

    Dask sets ``MALLOC_TRIM_THRESHOLD_`` of its workers. As a side effect the GNU C library gets every array of more
    than 128 kB from the system, page by page, which took a third of the time of a fit.
    """
    if sys.platform == "linux" and "MALLOC_TRIM_THRESHOLD_" in os.environ:
        library = ctypes.CDLL(None)
        if hasattr(library, "gnu_get_libc_version"):
            library.mallopt(_TRIM_THRESHOLD, FREED_BYTES)
            library.mallopt(_MMAP_THRESHOLD, LARGE_BYTES)


def _longer(rows: Any, length: int) -> Any:
    """Return an empty array of the kind of ``rows`` with another length, stored by columns where ``rows`` is."""
    by_columns = rows.ndim == 2 and rows.flags.f_contiguous and not rows.flags.c_contiguous
    return np.empty((length, *rows.shape[1:]), dtype=rows.dtype, order="F" if by_columns else "C")


def _pieces(roots: Sequence[Any], blocks: Sequence[Any]) -> list[slice]:
    """Return the rows to evaluate together: pieces that stay in the cache, where every operation allows pieces.

    An expression reads its arrays several times. Reading whole blocks from memory would take most of the time.
    """
    cut = [block for block in blocks if not isinstance(block, Whole)]
    arrays = [array for block in cut for array in (block.arrays if isinstance(block, Pass) else [block])]
    plain = bool(arrays) and all(isinstance(array, np.ndarray) for array in arrays)
    if not plain or len({len(array) for array in arrays}) != 1 or not all(map(_allows_pieces, roots)):
        return [slice(None)]
    n = len(arrays[0])
    row_bytes = sum(array.nbytes for array in arrays) / max(n, 1)
    rows = int(np.clip(PIECE_BYTES / max(row_bytes, 1.0), MIN_ROWS, MAX_ROWS))
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
    return Pass([array[piece] for array in block.arrays], []) if isinstance(block, Pass) else block[piece]
