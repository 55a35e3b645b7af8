"""Rows that are far from all others: measured wrongly, of another kind, or rare.

The distance of a row is that to its fifth nearest neighbour, over columns around their medians in units of the range in
which 80 % of their values lie; a column in which 80 % agree says nothing here. A row is far away if the logarithm of
its distance lies more than :data:`FAR` times as far above the median as that of all but 5 % of the rows does. The
farthest of 3,000 rows of independent normal columns lies about 2.2 times as far.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: How far above the median the logarithm of a distance is, in units of that of the 95th percentile.
FAR = 3.0
#: The distance is that to this neighbour, among so many rows at most.
NEIGHBOUR, SEEN = 5, 2000
#: Values are cut off at so many standard deviations of normal values.
CUT = 10.0
#: With fewer rows, or a single column, no row is called far away.
FEWEST_ROWS, FEWEST_COLUMNS = 40, 2
#: Eighty per cent of normal values lie in a range of so many standard deviations.
RANGE = 2.563
AT_ONCE = 5_000_000


def find_outliers(X: Any) -> NDArray[np.intp]:
    """Return the positions of the rows that are far from all others, the farthest first.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.scoring.outliers import find_outliers
    >>> X = np.random.RandomState(0).randn(200, 3)
    >>> X[7, 1] = 20.0
    >>> find_outliers(X).tolist()
    [7]
    """
    none = np.zeros(0, dtype=np.intp)
    if sp.issparse(X) or len(X) < FEWEST_ROWS:
        return none
    low, middle, high = np.quantile(X, [0.1, 0.5, 0.9], axis=0)
    spread = high - low
    used = spread > 1e-12 * np.abs(X).max(axis=0)
    if used.sum() < FEWEST_COLUMNS:
        return none
    Z = np.clip((X[:, used] - middle[used]) / (spread[used] / RANGE), -CUT, CUT)
    distances = _distances(Z)
    apart = distances > 1e-6 * distances.max(initial=0.0)  # others are copies
    if apart.sum() <= len(Z) / 2:
        return none
    logs = np.log(np.where(apart, distances, distances[apart].min()))
    median, usual = np.quantile(logs, [0.5, 0.95])
    far = np.flatnonzero(logs - median > FAR * (usual - median))
    return far[np.argsort(-logs[far], kind="stable")] if usual > median else none


def _distances(Z: Array) -> Array:
    """Return the distance of every row to its fifth nearest other row, among all rows or evenly spaced ones."""
    n = len(Z)
    seen = np.linspace(0, n - 1, min(n, SEEN)).astype(np.intp)
    squares = np.einsum("ij,ij->i", Z, Z)
    found = []
    for some in np.array_split(np.arange(n), n * len(seen) // AT_ONCE + 1):
        distances = squares[some, None] + squares[seen] - 2.0 * Z[some] @ Z[seen].T
        distances[some[:, None] == seen] = np.inf
        found.append(np.partition(distances, NEIGHBOUR - 1, axis=1)[:, NEIGHBOUR - 1])
    return np.sqrt(np.maximum(np.concatenate(found), 0.0))
