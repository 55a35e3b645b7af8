"""Expressions over blocks: built where the solver is, evaluated where the blocks are."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .engine import Handle


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


class Slot:
    """Where a leaf's block goes in an expression that is sent to a worker."""

    def __init__(self, position: int, item: int | None) -> None:
        self.position, self.item = position, item


Expression = Leaf | Node


def portable(roots: Sequence[Any]) -> tuple[list[Any], list[tuple[Handle, ...]]]:
    """Return the expressions with slots for leaves, shared parts still shared, and the handles in slot order."""
    leaves: list[tuple[Handle, ...]] = []
    positions: dict[int, int] = {}
    slots: dict[int, Any] = {}

    def convert(part: Any) -> Any:
        if id(part) in slots:
            return slots[id(part)]
        if isinstance(part, Leaf):
            if id(part.handles) not in positions:
                positions[id(part.handles)] = len(leaves)
                leaves.append(part.handles)
            slots[id(part)] = Slot(positions[id(part.handles)], part.item)
        elif isinstance(part, Node):
            slots[id(part)] = Node(part.function, [convert(argument) for argument in part.arguments], part.options)
        elif isinstance(part, list | tuple):
            return [convert(item) for item in part]
        else:
            return part
        return slots[id(part)]

    return [convert(root) for root in roots], leaves


def evaluate(roots: Sequence[Any], blocks: Sequence[Any]) -> list[Any]:
    """Evaluate expressions on the blocks of one piece of the samples; a shared part is evaluated once.

    A leaf that has no slot stands for its empty block.
    """
    known: dict[int, Any] = {}

    def value(part: Any) -> Any:
        if isinstance(part, Slot):
            return blocks[part.position] if part.item is None else blocks[part.position][part.item]
        if isinstance(part, Leaf):
            return part.empty
        if isinstance(part, list):
            return [value(item) for item in part]
        if not isinstance(part, Node):
            return part
        if id(part) not in known:
            known[id(part)] = part.function(*(value(argument) for argument in part.arguments), **part.options)
        return known[id(part)]

    return [value(root) for root in roots]


def evaluate_one(*blocks: Any, roots: Sequence[Any]) -> Any:
    """Evaluate a single expression, as a task."""
    with np.errstate(all="ignore"):  # what comes of it is looked at by the solver
        return evaluate(roots, blocks)[0]


def evaluate_all(*blocks: Any, roots: Sequence[Any]) -> list[Any]:
    """Evaluate several expressions, as a task."""
    with np.errstate(all="ignore"):
        return evaluate(roots, blocks)
