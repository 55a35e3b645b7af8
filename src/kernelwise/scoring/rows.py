r"""How rows are related: groups that share their errors, copies, and rows that are far from all others.

**Groups.** Copies of one record, frames of one video and visits of one patient are likely to have the same wrong label.
A model that saw one of them repeats its error for the others, so all rows of a group are left out together: in closed
form by ridge regression (:meth:`.kernel_scores.RidgeSystem.leave_groups_out`), in folds by logistic regression, and by
the trees that drew no row of the group in forests. A row of its own is a group of one row.

**Copies** are one witness and not many. Equal rows are of two kinds. Copies of one record repeat its error, and each of
them vouches for the others. In a table of few categories, other rows are equal by chance, and each is a witness of its
own. Chance leaves traces: where rows agree in all columns by chance, other rows agree in all columns but one. Of the
rows :math:`M_j` that differ from a row in column j alone, chance makes :math:`M_j \, o_j` equal to it, with :math:`o_j`
the odds that two rows of the table agree in column j. Rows that resemble each other in all other columns agree more
often than any two rows do, up to :data:`RESEMBLANCE` times. So a row is equal to others by chance if it has no more
equal rows than

.. math:: \text{RESEMBLANCE} \cdot \max_j M_j \, o_j.

Numbers with many digits have odds near zero, so that equal rows of them are copies. Equal texts are copies if they have
:data:`FEWEST_WORDS` words or more, since many people write "thank you".

Near copies differ a little, as two scans of one page do. With :math:`N(r)` the number of pairs of rows within the
distance r, features of D dimensions have :math:`N(f r) = f^D N(r)` as long as r is small, and D is at least one. Near
copies break this law: their distances are small, and up to much larger distances there are no other pairs. So the rule
looks for m pairs within r and hardly another one up to f r. By chance this happens once in :math:`f^m` times at most,
and near copies are reported if this is more than :data:`ONCE_IN`, and f at least :data:`FARTHER`, which is more than
the steps of rounded numbers make. In sparse rows, near copies share most of their words: their cosine is at least
:data:`COSINE`.

**Outliers** are far from all others: measured wrongly, of another kind, or rare. The distance of a row is that to its
fifth nearest neighbour, over columns around their medians in units of the range in which 80 % of their values lie; a
column in which 80 % agree says nothing here. A row is far away if the logarithm of its distance lies more than
:data:`FAR` times as far above the median as that of all but 5 % of the rows does. The farthest of 3,000 rows of
independent normal columns lies about 2.2 times as far.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from ..checks import missing_labels
from ..samples import ALIKE, balanced_folds, largest_magnitude, order_alike

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

#: Rows that agree in all other columns agree in a column with at most this many times the odds of any two rows.
RESEMBLANCE = 10.0
#: Equal texts of fewer words are equal by chance.
FEWEST_WORDS = 4
#: Near copies: chance would have to be rarer than this, and the next pairs this many times as far away.
ONCE_IN, FARTHER = 1e4, 2.2
#: This share of the pairs of near copies may lie in the gap.
IN_GAP = 0.1
#: The least cosine of near copies among sparse rows.
COSINE = 0.9
#: Among more distinct rows than this, only equal rows are looked for.
MANY_ROWS = 10_000
#: Near copies are looked for among this many nearest rows, and tables of fewer distinct rows have none.
NEIGHBOURS, FEWEST_ROWS = 15, 40
#: Near copies agree in two columns or more that have more values than this.
MANY_VALUES = 15
#: Agreement by chance is looked for in this many columns, those in which most rows agree.
MOST_COLUMNS = 200
#: Distances are computed for this many pairs at a time.
AT_ONCE = 5_000_000
#: How far above the median the logarithm of a distance is, in units of that of the 95th percentile.
FAR = 3.0
#: The distance is that to this neighbour, among so many rows at most.
NEIGHBOUR, SEEN = 5, 2000
#: Values are cut off at so many standard deviations of normal values.
CUT = 10.0
#: With fewer rows (FEWEST_ROWS), or a single column, no row is called far away.
FEWEST_COLUMNS = 2
#: Eighty per cent of normal values lie in a range of so many standard deviations.
RANGE = 2.563


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


@dataclass(frozen=True)
class Copies:
    """Which rows are copies of one another.

    Parameters
    ----------
    group : ndarray of int of shape (n_rows,)
        Rows of one group are copies, or copies of copies, of each other; groups are numbered from 0.
    alike : ndarray of int of shape (n_rows,)
        Rows with the same number are equal.
    equal, by_chance, near : ndarrays of bool of shape (n_rows,)
        Whether a row equals another row; whether it does so by chance; and whether it has a near copy.
    """

    group: Index
    alike: Index
    equal: Mask
    by_chance: Mask
    near: Mask


def find_copies(X: Any, columns: list[tuple[int, int]] | None = None, *, near: bool = True) -> Copies:
    """Return which rows are copies; ``columns`` says where the features of each column of a table begin and end.

    Without ``near``, near copies are not looked for.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.scoring.rows import find_copies
    >>> X = np.random.RandomState(0).randn(100, 3)
    >>> X[1] = X[0]
    >>> found = find_copies(X)
    >>> np.flatnonzero(found.equal).tolist(), bool(found.group[0] == found.group[1])
    ([0, 1], True)
    """
    n = X.shape[0]
    order, starts = order_alike(X, np.zeros(n, dtype=np.intp))
    alike = np.empty(n, dtype=np.intp)
    alike[order] = np.repeat(np.arange(len(starts)), np.diff([*starts, n]))
    sizes = np.bincount(alike)
    equal = sizes[alike] > 1
    by_chance = np.zeros(n, dtype=bool)
    if equal.any():
        words = sp.issparse(X) and columns is None
        by_chance = equal & (_few_words(X) if words else _equal_by_chance(X, columns, sizes[alike] - 1))
    one = np.unique(alike, return_index=True)[1]  # a row of each kind
    left, right = (one[ends] for ends in (_near_pairs(X[one]) if near else [one[:0]] * 2))
    close = np.isin(alike, alike[np.concatenate([left, right])])
    copies = np.flatnonzero(equal & ~by_chance)
    rows, others = np.concatenate([left, copies]), np.concatenate([right, one[alike[copies]]])
    graph = sp.coo_array((np.ones(len(rows), dtype=bool), (rows, others)), shape=(n, n))
    return Copies(connected_components(graph, directed=False)[1].astype(np.intp), alike, equal, by_chance, close)


def _few_words(X: Any) -> Mask:
    return np.diff(sp.csr_array(X).indptr) < FEWEST_WORDS


def _equal_by_chance(X: Any, columns: list[tuple[int, int]] | None, n_equal: Index) -> Mask:
    """Return for every row whether chance explains how many rows equal it."""
    draw = np.random.RandomState(0)
    X = sp.csc_array(X) if sp.issparse(X) else X
    codes = [_codes(X[:, start:stop], draw) for start, stop in (_exclusive_columns(X) if columns is None else columns)]
    odds = []
    for code in codes:
        counts = np.bincount(np.unique(code, return_inverse=True)[1]).astype(float)
        agreeing, pairs = float(counts @ (counts - 1)), len(code) * (len(code) - 1.0)
        odds.append(agreeing / (pairs - agreeing) if agreeing < pairs else 0.0)
    whole = np.sum(codes, axis=0)
    expected = np.zeros(X.shape[0])
    for j in np.argsort(np.negative(odds), kind="stable")[:MOST_COLUMNS]:
        if odds[j]:
            _, place, counts = np.unique(whole - codes[j], return_inverse=True, return_counts=True)
            expected = np.maximum(expected, odds[j] * (counts[place] - 1 - n_equal))
    return n_equal <= RESEMBLANCE * expected


def _codes(values: Any, draw: np.random.RandomState) -> NDArray[np.int64]:
    """Return a random number for each value of some features, the same for equal values."""
    if sp.issparse(values):
        values = (values @ draw.uniform(0.5, 1.5, values.shape[1]))[:, None]
    found = np.zeros(len(values), dtype=np.int64)
    for feature in values.T:
        order = np.argsort(feature, kind="stable")
        steps = np.diff(feature[order]) > ALIKE * largest_magnitude(feature)
        code = np.empty(len(order), dtype=np.intp)
        code[order] = np.concatenate([[0], np.cumsum(steps)])
        found += draw.randint(-(2**62), 2**62, size=int(steps.sum()) + 1, dtype=np.int64)[code]
    return found


def _exclusive_columns(X: Array) -> list[tuple[int, int]]:
    """Return where columns begin and end, if neighbouring indicators that exclude each other are one column."""
    ends, taken = [0], np.zeros(len(X), dtype=bool)
    for j, feature in enumerate(X.T):
        high, low = feature.max(), feature.min()
        near = ALIKE * max(abs(high), abs(low))
        ones = feature >= high - near
        indicator = bool((ones | (feature <= low + near)).all())
        if j and not (indicator and not (taken & ones).any() and taken.any()):
            ends.append(j)
            taken = np.zeros(len(X), dtype=bool)
        taken |= ones if indicator else False
    return list(zip(ends, [*ends[1:], X.shape[1]], strict=True))


def _near_pairs(rows: Any) -> tuple[Index, Index]:
    """Return both ends of every pair of near copies among distinct rows."""
    n = rows.shape[0]
    none = np.zeros(0, dtype=np.intp)
    if not FEWEST_ROWS <= n <= MANY_ROWS:
        return none, none
    if sp.issparse(rows):
        return _near_texts(sp.csr_array(rows))
    if sum(len(np.unique(np.round(column, 6))) > MANY_VALUES for column in rows.T) < 2:
        return none, none  # categories and one number: rows of one category are near in that number by chance
    left, right, distances = _nearest(rows)
    cut = _end_of_copies(distances)
    return left[distances <= cut], right[distances <= cut]


def _nearest(rows: Array) -> tuple[Index, Index, Array]:
    """Return the pairs of every row and its nearest rows, and their distances, cut off and in order."""
    n = len(rows)
    squares = np.einsum("ij,ij->i", rows, rows)
    found, ends_of_lists = [], []
    for some in np.array_split(np.arange(n), -(-n * n // AT_ONCE)):
        distances = squares[some, None] + squares - 2.0 * rows[some] @ rows.T
        distances[np.arange(len(some)), some] = np.inf
        nearest = np.argpartition(distances, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
        kept = np.take_along_axis(distances, nearest, axis=1)
        ends_of_lists.append(kept.max(axis=1))
        found.append(np.stack([np.repeat(some, NEIGHBOURS), nearest.ravel(), kept.ravel()]))
    ends, others, distances = np.concatenate(found, axis=1)
    left, right = np.minimum(ends, others).astype(np.intp), np.maximum(ends, others).astype(np.intp)
    once = np.unique(left * n + right, return_index=True)[1]
    left, right = left[once], right[once]
    lengths = np.sqrt(np.einsum("ij,ij->i", rows[left] - rows[right], rows[left] - rows[right]))
    order = np.argsort(lengths, kind="stable")
    # Beyond the middle of the lengths of the lists of nearest rows, pairs are missing from the lists.
    whole = float(np.sqrt(np.median(np.concatenate(ends_of_lists))))
    return left[order], right[order], np.minimum(lengths[order], whole)


def _end_of_copies(distances: Array) -> float:
    """Return the distance up to which pairs are near copies, in the middle of the gap behind them; 0 without a gap."""
    m = np.arange(1, len(distances))
    m = m[m + (m * IN_GAP).astype(np.intp) < len(distances)]
    gaps = np.log(distances[m + (m * IN_GAP).astype(np.intp)]) - np.log(distances[m - 1])
    evidence = np.where(gaps >= np.log(FARTHER), m * gaps, 0.0)
    if not len(m) or evidence.max() < np.log(ONCE_IN):
        return 0.0
    first = int(m[np.argmax(evidence)])
    inside = distances[first - 1 : first + int(first * IN_GAP) + 1]
    widest = int(np.argmax(np.diff(np.log(inside))))
    return float(np.sqrt(inside[widest] * inside[widest + 1]))


def _near_texts(rows: Any) -> tuple[Index, Index]:
    """Return both ends of every pair of rows that share most of their words."""
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    enough = np.flatnonzero((~_few_words(rows)) & (lengths > 0))
    unit = sp.csr_array(sp.diags_array(1.0 / lengths[enough]) @ rows[enough])
    lefts, rights = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
    for some in np.array_split(np.arange(len(enough)), len(enough) // 500 + 1):
        shared = sp.coo_array(unit[some] @ unit.T)
        near = (shared.data >= COSINE) & (some[shared.row] < shared.col)
        lefts.append(enough[some[shared.row[near]]])
        rights.append(enough[shared.col[near]])
    return np.concatenate(lefts), np.concatenate(rights)


def find_outliers(X: Any) -> NDArray[np.intp]:
    """Return the positions of the rows that are far from all others, the farthest first.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.scoring.rows import find_outliers
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
