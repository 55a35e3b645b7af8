"""Which columns of a table move the predictions of a model."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..progress import Tell, silent

__all__ = ["column_importances"]

#: The importances are measured on so many rows.
ROWS = 200
#: With more columns than this, as in a matrix of words, no single column says much.
MAX_GROUPS = 200
#: With more features than this, the chosen rows would take gigabytes.
MAX_FEATURES = 200_000


def column_importances(
    predict: Callable[[Any], Any], matrix: Any, groups: Sequence[str], tell: Tell = silent
) -> dict[str, float]:
    """How much predictions move when all features of a column are shuffled among rows.

    ``groups`` names the column of each feature. The mean squared changes are shares that sum to one, the largest first;
    there are no shares where there are too many columns.

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> column_importances(lambda rows: rows[:, [0]] + rows[:, [1]] * 0, X, ["a", "b", "b"])
    {'a': 1.0}
    """
    names = list(dict.fromkeys(groups))
    if len(names) > MAX_GROUPS or matrix.shape[1] > MAX_FEATURES:
        return {}
    chosen = matrix[np.linspace(0, matrix.shape[0] - 1, min(matrix.shape[0], ROWS)).astype(np.intp)]
    sparse = hasattr(chosen, "toarray")
    rows = chosen.toarray() if sparse else chosen
    base, rng = predict(chosen), np.random.default_rng(0)
    owner = np.array([names.index(group) for group in groups])
    moved = {}
    for position, name in enumerate(names):
        features = np.flatnonzero(owner == position)
        shuffled = rows.copy()
        shuffled[:, features] = rows[np.ix_(rng.permutation(len(rows)), features)]
        moved[name] = float(np.mean((predict(type(chosen)(shuffled) if sparse else shuffled) - base) ** 2))
        tell(len(moved), len(names))
    total = sum(moved.values())
    ordered = sorted(moved.items(), key=lambda item: -item[1])
    return {name: change / total for name, change in ordered if change > 0}
