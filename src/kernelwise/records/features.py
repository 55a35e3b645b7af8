r"""Features of a pair of records: how alike the two records are, column by column and as a whole.

Every feature is a symmetric function of the two records, and most features grow with likeness, so that a larger value
speaks for "the same". Strings are compared in the ways of :mod:`.strings`, numbers and dates by their difference, and
rows of a matrix by cosine, overlap and distance. Two kinds of features are less usual:

- A comparison that does not apply to a pair, because a cell is missing, is filled with the mean of the pairs to which
  it applies, and a feature of its own says that a cell is missing. So a missing cell speaks neither for nor against.
- Let :math:`s_{ab}` be the likeness of the whole records, and let :math:`m_a` be the largest :math:`s_{ac}` over the
  *other* given pairs of a. The lead :math:`s_{ab} - \max(m_a, m_b)` says whether a and b are the best partners of each
  other, and :math:`s_{ab} - \min(m_a, m_b)` whether one of them is the best partner of the other. Records of two tables
  have at most one partner each, as a rule, and then the lead tells more than :math:`s_{ab}` itself. Whether that rule
  holds is for the labels to say: the features know no label.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils import check_array

from ..checks import Array, IntArray, is_missing
from ..samples import largest_magnitude, power_of_two, tidy
from ..statements import Pairs
from ..statements.graph import pair_keys
from ..tables.columns import Column, Table
from ..tables.errors import TableError
from ..tables.frames import as_table, is_frame, is_table
from .strings import compare_strings, first_numbers

#: The matrix of numbers is also compared along this many of its leading directions.
N_DIRECTIONS = 10
#: Standardised numbers are cut off here, so that one extreme value does not dominate a distance.
CUT = 4.0
#: Two numbers that differ by at most this share of the larger are the same number.
ROUNDING = 1e-9
SECONDS_PER_DAY = 86_400.0
WHOLE = "whole record"


class PairFeatures(NamedTuple):
    """Features of pairs: a matrix of shape (n_pairs, n_features), and the names of its columns."""

    values: Array
    names: list[str]


def pair_features(records: Any, pairs: Pairs) -> PairFeatures:
    """Return features of every pair of records, which say how alike the two records are.

    Parameters
    ----------
    records : DataFrame, array or list of rows, list of strings, or matrix of numbers, of n_samples records
        The columns of a table may hold strings, numbers and dates in ISO form, with missing cells. A list of strings is
        one column of text. A matrix of numbers, dense or sparse, is compared as a whole.
    pairs : Pairs
        The pairs of records. Their labels are not used.

    Returns
    -------
    PairFeatures
        ``values``, a dense matrix of shape (n_pairs, n_features) without missing values, and ``names``, such as
        "title: words in common". Names that begin with "whole record" compare all columns together.

    Examples
    --------
    >>> from kernelwise import Pairs, pair_features
    >>> records = [["Anna Schmidt", "1987-05-02"], ["Ana Schmidt", "1987-05-02"], ["Peter Maier", ""]]
    >>> found = pair_features(records, Pairs([0, 0], [1, 2], [1, -1], n_samples=3))
    >>> chosen = [found.names.index("column 1: letters in order"), found.names.index("column 2: one missing")]
    >>> found.values[:, chosen].round(2).tolist()
    [[0.96, 0.0], [0.26, 1.0]]
    """
    if not isinstance(pairs, Pairs):
        raise TypeError(f"pairs must be a kernelwise.Pairs, got {type(pairs).__name__}")
    if not len(pairs):
        raise ValueError("pairs is empty: there are no two records to compare")
    known = read_records(records)
    n_records = known.n_rows if isinstance(known, Table) else known.shape[0]
    if n_records != pairs.n_samples:
        raise ValueError(
            f"records has {n_records} rows, but the pairs are over n_samples={pairs.n_samples} records; "
            "give one row for every record that a pair may name"
        )
    rows, cols = pairs.rows, pairs.cols
    found: dict[str, Array] = {}
    if isinstance(known, Table):
        for column in known.columns.values():
            found |= {f"{column.name}: {way}": values for way, values in _compare_column(known, column, rows, cols)}
        found |= _compare_whole(known, rows, cols)
        known = known.block
    if known is not None:
        found |= {f"{WHOLE}: {way}": values for way, values in _compare_matrix(known, rows, cols).items()}
    for way in ("characters in common", "words in common", "cosine"):
        if (likeness := found.get(f"{WHOLE}: {way}")) is not None:
            both, either = _leads(np.nan_to_num(likeness), pairs)
            found |= {f"{WHOLE}: {way}, lead over other pairs": both, f"{WHOLE}: {way}, lead on one side": either}
    return PairFeatures(_filled(np.column_stack(list(found.values()))), list(found))


def read_records(records: Any) -> Any:
    """Return records as a table, or as a dense or sparse matrix of numbers."""
    if records is None or isinstance(records, str | bytes | dict):
        raise TypeError(
            f"records must be a data frame, rows of cells, a list of strings or a matrix of numbers, got "
            f"{type(records).__name__}; give one row for each record"
        )
    if isinstance(records, Table) or is_frame(records):
        return as_table(records)
    if sp.issparse(records):
        return _checked(records)
    try:
        cells = np.asarray(records)
    except ValueError:
        cells = np.empty(len(records), dtype=object)
    if cells.dtype.kind in "biuf" and cells.ndim == 2:
        return _checked(cells)
    if cells.dtype.kind not in "UO" or cells.ndim not in (1, 2):
        raise TypeError(
            f"records must have rows and columns, or be a list of strings, got an array of shape {cells.shape} and "
            f"dtype {cells.dtype}"
        )
    if cells.ndim == 1:
        return _one_text_each(records)
    if not isinstance(records, np.ndarray):  # a list of lists keeps numbers beside strings
        cells = np.array(records, dtype=object)
    return as_table(cells) if is_table(cells) else _checked(cells)


def _one_text_each(records: Any) -> Table:
    """Return a table with one column of text."""
    others = [cell for cell in records if not isinstance(cell, str) and not is_missing(cell)]
    if others:
        raise TypeError(
            f"records must hold strings, or rows of one length, got {type(others[0]).__name__} among the cells; "
            "give a data frame, or rows of cells"
        )
    words = np.array([cell if isinstance(cell, str) else None for cell in records], dtype=object)
    return Table.of("records", [Column("text", "text", words)])


def _checked(matrix: Any) -> Any:
    return tidy(check_array(matrix, accept_sparse="csr", dtype=np.float64, input_name="records"))


def _compare_column(table: Table, column: Column, rows: IntArray, cols: IntArray) -> list[tuple[str, Array]]:
    """Return the comparisons of a column: of its strings, and of the numbers or dates that the cells are or hold."""
    missing = column.missing
    found: dict[str, Array] = {}
    if missing.any():
        found["one missing"] = (missing[rows] != missing[cols]).astype(np.float64)
        found["both missing"] = (missing[rows] & missing[cols]).astype(np.float64)
    cells = [cell or None for cell in column.labels()]
    numbers = _numbers(table, column)
    if numbers is not None and column.kind == "numeric":
        found |= _compare_numbers(numbers, rows, cols)
    elif numbers is not None:
        found["days apart"] = -np.log1p(np.abs(numbers[rows] - numbers[cols]))
    else:
        found |= compare_strings(cells, rows, cols)
        if (held := first_numbers(cells, table.habits)) is not None:
            found |= _compare_numbers(held, rows, cols)
    return list(found.items())


def _numbers(table: Table, column: Column) -> Array | None:
    """Return the numbers or days of a column; None if a cell is neither, as where a year stands among dates."""
    try:
        if column.kind == "date":
            return table.seconds(column.name) / SECONDS_PER_DAY
        return table.numbers(column.name) if column.kind == "numeric" else None
    except TableError:
        return None


def _compare_numbers(numbers: Array, rows: IntArray, cols: IntArray) -> dict[str, Array]:
    """Return the comparisons of numbers; all of them grow with likeness."""
    scaled = numbers / power_of_two(largest_magnitude(np.nan_to_num(numbers)))
    gap = np.abs(scaled[rows] - scaled[cols])
    larger = np.maximum(np.abs(scaled[rows]), np.abs(scaled[cols]))
    spread = float(np.nanstd(scaled)) if np.isfinite(scaled).any() else 0.0
    relative = np.where(larger > 0, gap / np.where(larger > 0, larger, 1.0), np.where(np.isnan(gap), np.nan, 0.0))
    return {
        "same number": np.where(np.isnan(gap), np.nan, (relative <= ROUNDING).astype(np.float64)),
        "nearness": -np.log1p(gap / (spread or 1.0)),
        "ratio": 1.0 - np.minimum(relative, 1.0),
    }


def _compare_whole(table: Table, rows: IntArray, cols: IntArray) -> dict[str, Array]:
    """Return the comparisons of the strings that all cells of a record make up."""
    if not table.columns:
        return {}
    columns = [_texts(column) for column in table.columns.values()]
    whole = [" ".join(cell for cell in cells if cell) or None for cells in zip(*columns, strict=True)]
    return {f"{WHOLE}: {way}": values for way, values in compare_strings(whole, rows, cols).items()}


def _texts(column: Column) -> list[str]:
    """Return the cells as text; a fraction has nine digits, so that rounding makes no other text."""
    if column.values.dtype.kind != "f":
        return column.labels()
    return [
        text if number % 1 == 0 else f"{number:.9g}".replace("nan", "")
        for text, number in zip(column.labels(), column.values, strict=True)
    ]


def _compare_matrix(matrix: Any, rows: IntArray, cols: IntArray) -> dict[str, Array]:
    """Return the comparisons of rows of numbers: as directions, as amounts, as points, and along leading directions."""
    sparse = sp.issparse(matrix)
    matrix = matrix / power_of_two(largest_magnitude(matrix))
    scaled = matrix if sparse else np.clip(StandardScaler().fit_transform(matrix), -CUT, CUT)
    found: dict[str, Array] = {}
    for way, vectors in (("cosine", matrix),) if sparse else (("cosine", matrix), ("cosine of deviations", scaled)):
        found[way] = row_products(normalize(vectors), rows, cols)
    amounts = abs(matrix)
    total = _row_sums(amounts)
    shared = _row_sums(amounts[rows].minimum(amounts[cols]) if sparse else np.minimum(amounts[rows], amounts[cols]))
    lighter = np.minimum(total[rows], total[cols])
    found["shorter within longer"] = np.where(lighter > 0, shared / np.where(lighter > 0, lighter, 1.0), np.nan)
    gaps, every = scaled[rows] - scaled[cols], slice(None)
    found["nearness"] = -np.log1p(np.sqrt(row_products(gaps, every, every)))
    count = min(N_DIRECTIONS, min(matrix.shape) - 1)
    if count > 0:
        directions = TruncatedSVD(count, random_state=0).fit_transform(scaled)
        gaps = np.abs(directions[rows] - directions[cols])
        found |= {f"nearness in direction {j + 1}": -gaps[:, j] for j in range(count)}
    return found


def row_products(matrix: Any, rows: Any, cols: Any) -> Array:
    """Return the inner products of some rows of a dense or sparse matrix with others."""
    left, right = matrix[rows], matrix[cols]
    return _row_sums(left.multiply(right) if sp.issparse(matrix) else left * right)


def _row_sums(values: Any) -> Array:
    return np.asarray(values.sum(axis=1), dtype=np.float64).ravel()


def _leads(likeness: Array, pairs: Pairs) -> tuple[Array, Array]:
    """Return how far each pair is ahead of the best other pair of both records, and of the one with weaker rivals."""
    _, first, position = np.unique(pair_keys(pairs.rows, pairs.cols), return_index=True, return_inverse=True)
    own = likeness[first]
    ends = np.concatenate([pairs.rows[first], pairs.cols[first]])
    number, value = np.tile(np.arange(len(own)), 2), np.tile(own, 2)
    order = np.lexsort((value, ends))
    best = np.full(pairs.n_samples, -1)
    best[ends[order]] = number[order]  # the last assignment to a record is that of its most similar pair
    second = np.zeros(pairs.n_samples)
    others = best[ends] != number
    np.maximum.at(second, ends[others], value[others])
    rivals = [np.where(best[end] == np.arange(len(own)), second[end], own[best[end]]) for end in np.split(ends, 2)]
    return (own - np.maximum(*rivals))[position], (own - np.minimum(*rivals))[position]


def _filled(values: Array) -> Array:
    """Replace NaN by the mean of its column, or by zero where the whole column is NaN."""
    known = ~np.isnan(values)
    means = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, values, means)
