"""Rows that are scored by models that saw none of them: groups of rows that share their errors.

Copies of one record, frames of one video and visits of one patient are likely to have the same wrong label. A model
that saw one of them repeats its error for the others, so all rows of a group are left out together: in closed form by
ridge regression (:meth:`.kernel_scores.RidgeSystem.leave_groups_out`), in folds by logistic regression, and by the
trees that drew no row of the group in forests. A row of its own is a group of one row.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import missing_labels
from ..samples import balanced_folds

Index = NDArray[np.intp]


def read_groups(groups: Any, n_rows: int) -> Index | None:
    """Return the number of each row's group, from 0; a row without a group (None or NaN) is a group of its own.

    >>> read_groups(["a", None, "b", "a"], 4).tolist()
    [0, 1, 2, 0]
    """
    if groups is None:
        return None
    cells = groups.tolist() if hasattr(groups, "tolist") else list(groups)
    if len(cells) != n_rows or any(isinstance(cell, list | tuple) for cell in cells):
        raise ValueError(f"groups must hold one value for each of {n_rows} rows, got {np.shape(groups)}")
    missing = missing_labels(np.array([*cells, None], dtype=object))[:-1]
    names = [
        ("row", row) if gone else ("group", cell) for row, (cell, gone) in enumerate(zip(cells, missing, strict=True))
    ]
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(name, len(seen)) for name in names], dtype=np.intp)


def numbered(group: Index) -> Index:
    """Return the groups of some rows, numbered from 0 in the order of their first rows."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.intp)
    place[np.argsort(first)] = np.arange(len(first))
    return np.asarray(place[inverse])


def grouped_folds(target: Index, group: Index, n_folds: int, random_state: np.random.RandomState) -> Index:
    """Assign whole groups to folds, so that the classes of their first rows are spread evenly; groups are numbered.

    >>> fold = grouped_folds(np.array([0, 0, 1, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 3]), 2, np.random.RandomState(0))
    >>> bool(fold[0] == fold[1]), bool(fold[2] == fold[3]), bool(fold[0] != fold[4])
    (True, True, True)
    """
    first = np.unique(group, return_index=True)[1]
    return np.asarray(balanced_folds(target[first], n_folds, random_state)[group])


def by_size(group: Index) -> Iterator[Index]:
    """Yield the positions of the rows of all groups of one size, a row of positions for each group.

    >>> [places.tolist() for places in by_size(np.array([0, 1, 0, 2]))]
    [[[1], [3]], [[0, 2]]]
    """
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    for size in np.unique(sizes[sizes > 0]):
        yield order[starts[sizes == size][:, None] + np.arange(size)]


def refuse_groups(groups: Any) -> None:
    """Raise a ValueError where groups are given for rows on a cluster, which are scored block by block."""
    if groups is not None:
        raise ValueError(
            "groups are for rows in memory, and X is a Dask collection; give X.compute(), or keep one row of each group"
        )
