"""Checks of the indices in a model: compiled code follows these indices without any check of its own."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .errors import FileError

__all__ = ["check_native_parts"]

LEAF = -1


def check_native_parts(path: Path, model: Any, n_features: int) -> None:
    """Refuse decision trees and support vector machines that would read outside of their own memory, or the data's.

    All attributes, lists and dictionaries of ``model`` are searched; ``path`` is for the message.

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor().fit(np.eye(3), [0, 1, 2])
    >>> check_native_parts(Path("m.skops"), [tree.tree_], n_features=3)
    >>> check_native_parts(Path("m.skops"), [tree.tree_], n_features=2)
    Traceback (most recent call last):
    ...
    kernelwise.files.errors.FileError: m.skops holds a damaged Tree; ...
    """
    from sklearn.svm import SVC
    from sklearn.tree._tree import Tree

    for part in _parts(model):
        if isinstance(part, Tree):
            whole = part.n_features <= n_features and _tree_is_whole(part)
        elif isinstance(part, SVC):
            whole = _machine_is_whole(part, n_features)
        else:
            continue
        if not whole:
            kind = type(part).__name__
            raise FileError(f"{path} holds a damaged {kind}; do not use the file unless you know who made it")


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


def _machine_is_whole(machine: Any, n_features: int) -> bool:
    """Whether the numbers of support vectors, coefficients and intercepts agree."""
    try:
        vectors, counts, coefficients = machine.support_vectors_, machine._n_support, machine._dual_coef_
        n_classes, n_vectors = len(machine.classes_), vectors.shape[0]
        return bool(
            machine.kernel in ("rbf", "linear", "poly", "sigmoid")
            and n_classes >= 2
            and vectors.shape == (n_vectors, n_features)
            and machine.n_features_in_ == n_features
            and machine.support_.shape == (n_vectors,)
            and counts.shape == (n_classes,)
            and counts.min() >= 0
            and counts.sum() == n_vectors
            and coefficients.shape == (n_classes - 1, n_vectors)
            and machine._intercept_.shape == (n_classes * (n_classes - 1) // 2,)
            and machine._probA.size == machine._probB.size == 0
        )
    except (AttributeError, TypeError, ValueError):
        return False


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
