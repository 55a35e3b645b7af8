"""Checks of the indices in a model: compiled code follows these indices without any check of its own."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .errors import FileError

__all__ = ["check_native_parts"]

LEAF = -1


def check_native_parts(path: Path, model: Any, n_features: int) -> None:
    """Refuse decision trees that would read outside of their own memory, or the data's.

    All attributes, lists and dictionaries of ``model`` are searched; ``path`` is for the message.

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor().fit(np.eye(3), [0, 1, 2])
    >>> check_native_parts(Path("m.skops"), [tree.tree_], n_features=3)
    >>> check_native_parts(Path("m.skops"), [tree.tree_], n_features=2)
    Traceback (most recent call last):
    ...
    kernelwise.files.errors.FileError: m.skops holds a damaged Tree; ...
    """
    from sklearn.tree._tree import Tree

    for part in _parts(model):
        if isinstance(part, Tree) and not (part.n_features <= n_features and _tree_is_whole(part)):
            raise FileError(f"{path} holds a damaged Tree; do not use the file unless you know who made it")


def _tree_is_whole(tree: Any) -> bool:
    """Whether every inner node has a feature that exists and two children that come after it."""
    if tree.node_count != tree.capacity or tree.node_count < 1:
        return False  # before the arrays are read: the file says how long they are
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    inner = left != LEAF
    nodes = np.arange(tree.node_count)
    children = np.concatenate([left[inner], right[inner]])
    parents = np.concatenate([nodes[inner], nodes[inner]])
    features = np.asarray(tree.feature)[inner]
    return bool(
        (right[~inner] == LEAF).all()
        and (children > parents).all()
        and (children < tree.node_count).all()
        and (features >= 0).all()
        and (features < tree.n_features).all()
    )


def _parts(model: Any) -> Iterator[Any]:
    """All objects within a model."""
    pending: list[Any] = [model]
    seen: set[int] = set()
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, Mapping):
            pending.extend(part.values())
        elif isinstance(part, list | tuple):
            pending.extend(part)
        elif isinstance(part, np.ndarray) and part.dtype == object:
            pending.extend(part.ravel().tolist())
        elif hasattr(part, "__dict__"):
            pending.extend(vars(part).values())
