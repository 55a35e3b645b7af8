"""How much the scores of a fitted model change when a feature, or a column of a table, is shuffled among rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..progress import Tell, silent

__all__ = ["column_importances", "shuffled_importances"]

Array = NDArray[np.float64]

#: With many features fewer rows are shuffled, and so many rows are scored at once.
CELLS, FEWEST_ROWS, AT_ONCE = 20_000, 8, 2000
#: With more columns than this, as in a matrix of words, no single column says much.
MAX_COLUMNS = 200
#: With more features than this, the rows that are shuffled would take gigabytes.
MAX_FEATURES = 200_000


def shuffled_importances(model: Any, ends: Sequence[tuple[int, int]] | None = None) -> Array:
    """Return the mean squared change of the log-probabilities of some training rows for each feature, as shares.

    A feature is the columns of the rows between a pair of ``ends``, or one column each.
    """
    n_columns = model._some_rows.shape[1]
    moved = _moved(model, [(j, j + 1) for j in range(n_columns)] if ends is None else ends, silent)
    total = moved.sum()
    return moved / total if total > 0 else np.full(len(moved), 1 / len(moved))


def column_importances(model: Any, columns: Sequence[str], tell: Tell = silent) -> dict[str, float]:
    """Return the same shares for the columns of a table, the largest first; columns that change nothing have none.

    ``columns`` names the column that each feature was made of; features of one column are neighbours, and are shuffled
    together. There are no shares where there are too many columns.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import NoisyLabelClassifier
    >>> from kernelwise.labels.importances import column_importances
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = NoisyLabelClassifier(random_state=0).fit(X, X[:, 0] > 0)
    >>> list(column_importances(model, ["a", "b", "b"]))
    ['a', 'b']
    """
    names, starts, widths = np.unique(np.asarray(columns), return_index=True, return_counts=True)
    if len(names) > MAX_COLUMNS or len(columns) > MAX_FEATURES:
        return {}
    order = np.argsort(starts)
    ends = [(int(starts[j]), int(starts[j] + widths[j])) for j in order]
    moved = dict(zip(names[order].tolist(), _moved(model, ends, tell).tolist(), strict=True))
    total = sum(moved.values())
    return {name: change / total for name, change in sorted(moved.items(), key=lambda item: -item[1]) if change > 0}


def _moved(model: Any, ends: Sequence[tuple[int, int]], tell: Tell) -> Array:
    """Return the mean squared change of the log-probabilities for each pair of ends."""
    rng = np.random.RandomState(0)
    # Wide data have many features to shuffle, so fewer rows have to do.
    pool, given = model._pool, model._some_rows[: max(FEWEST_ROWS, CELLS // len(ends))]
    base, rows = pool(given), given.toarray() if sp.issparse(given) else given
    moved = np.zeros(len(ends))
    varied = [j for j, (start, stop) in enumerate(ends) if np.ptp(rows[:, start:stop], axis=0).any()]
    at_once = max(AT_ONCE // len(rows), 1)
    for first in range(0, len(varied), at_once):
        batch = varied[first : first + at_once]
        shuffled = np.repeat(rows[None], len(batch), axis=0)
        for copy, (start, stop) in zip(shuffled, (ends[j] for j in batch), strict=True):
            copy[:, start:stop] = rng.permutation(copy[:, start:stop])
        stacked = shuffled.reshape(-1, rows.shape[1])
        scores = pool(type(given)(stacked) if sp.issparse(given) else stacked)
        moved[batch] = np.mean((scores.reshape(len(batch), *base.shape) - base) ** 2, axis=(1, 2))
        tell(first + len(batch), len(varied))
    return moved
