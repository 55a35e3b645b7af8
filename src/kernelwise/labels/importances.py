"""How much the scores of a pool of views change when a feature is shuffled among rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .views.pool import ScorePool

#: With many features fewer rows are shuffled, and so many rows are scored at once.
CELLS, FEWEST_ROWS, AT_ONCE = 20_000, 8, 2000


def shuffled_importances(pool: ScorePool, given: Any, ends: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return the mean squared change of the log-probabilities of some rows for each feature, as shares.

    A feature is the columns of ``given`` between a pair of ``ends``.
    """
    rng = np.random.RandomState(0)
    # Wide data have many features to shuffle, so fewer rows have to do.
    rows = given[: max(FEWEST_ROWS, CELLS // len(ends))]
    base, rows = pool(rows), rows.toarray() if sp.issparse(rows) else rows
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
    total = moved.sum()
    return moved / total if total > 0 else np.full(len(moved), 1 / len(moved))
