"""Expressions over blocks: the solver builds them, and the workers that hold the blocks evaluate them."""

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .engine import Handle

#: A worker keeps this many freed bytes. Arrays that are larger than ``LARGE_BYTES`` are given back at once.
FREED_BYTES, LARGE_BYTES = 2**25, 2**22
#: The numbers of these two settings in the header ``malloc.h`` of the GNU C library.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
#: The functions of NumPy, beside its ufuncs, that work row by row.
BY_ROWS: set[Callable[..., Any]] = {np.where, np.clip, np.full_like, np.zeros_like, np.ones_like, np.stack, np.isin}


class Leaf:
    """An array that exists already: the handles of its blocks, and an array of the same kind without rows."""

    def __init__(self, handles: Sequence[Handle], empty: Any) -> None:
        self.handles, self.empty = tuple(handles), empty


class Node:
    """A call that is still to be made, ``function(*arguments, **options)``, of leaves, other nodes and small values."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any]) -> None:
        self.function, self.arguments, self.options = function, tuple(arguments), options


@dataclass(frozen=True)
class Slot:
    """The place of a leaf in an expression that is sent to a worker: ``position`` says which block is put there."""

    position: int


Expression = Leaf | Node


def portable(roots: Sequence[Any]) -> tuple[list[Any], list[tuple[Handle, ...]]]:
    """Return expressions with slots in the place of leaves, as they are sent to workers, and the handles of the slots.

    Neither this function nor the evaluation below is a closure: a closure that calls itself is a reference cycle, and
    would keep blocks and handles alive until the garbage collector runs.
    """
    handles: list[tuple[Handle, ...]] = []
    known: dict[int, Any] = {}
    return [_portable(root, handles, known) for root in roots], handles


def _portable(part: Any, handles: list[tuple[Handle, ...]], known: dict[int, Any]) -> Any:
    if isinstance(part, list | tuple):
        return [_portable(item, handles, known) for item in part]
    if isinstance(part, Leaf) and id(part) not in known:
        known[id(part)] = Slot(len(handles))
        handles.append(part.handles)
    elif isinstance(part, Node) and id(part) not in known:
        known[id(part)] = Node(part.function, _portable(part.arguments, handles, known), part.options)
    return known.get(id(part), part)


def evaluate(*blocks: Any, roots: Sequence[Any]) -> list[Any]:
    """Evaluate expressions on blocks, as a task."""
    keep_freed_memory()
    with np.errstate(all="ignore"):  # the solver looks at the results
        return values(roots, blocks)


def evaluate_one(*blocks: Any, root: Any) -> Any:
    """Evaluate one expression on blocks, as a task."""
    return evaluate(*blocks, roots=[root])[0]


def values(roots: Sequence[Any], blocks: Sequence[Any]) -> list[Any]:
    """Return the values of expressions, each shared part evaluated once; a leaf without a slot has no rows."""
    known: dict[int, Any] = {}
    return [_value(root, blocks, known) for root in roots]


def _value(part: Any, blocks: Sequence[Any], known: dict[int, Any]) -> Any:
    if isinstance(part, Slot):
        return blocks[part.position]
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
