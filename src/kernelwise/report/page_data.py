"""What review pages of labels and of pairs share: their settings, rows as plain data, summary, suspects and figures."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from ..checks import check_count, is_missing, is_number
from ..review import CheckPlan, LabelAudit, PairAudit
from ..review.audit import Interval, count_worth_checking, open_suspects, whole_numbers
from ..review.bounds import known_before
from ..statements import Verdicts
from ..statements.verdicts import strata_of
from ..tables.columns import Column, Table
from ..tables.errors import TableError
from ..tables.kinds import as_words, kind_of_words
from ..tables.preparation import TableFeatures

Index = NDArray[np.intp]
#: The version of the format of the data; a page is made only from data of the same version.
SCHEMA = 1
MAX_WORDS = 30
BINS = 20
MAX_BARS = 15
MAX_POINTS = 300
MAX_CONFUSIONS = 200
#: Significant digits of a number on the page; more would only make the file larger.
DIGITS = 6


class WrongShare(NamedTuple):
    """How many labels or pairs of one kind were given, the share of them that is wrong, and its interval if known."""

    n_given: int
    rate: float
    interval: Interval | None


@dataclass(frozen=True)
class PageSettings:
    """The names on a review page, and how much the page holds.

    Parameters
    ----------
    title : str
        The title of the page; usually the name of the data.
    id_name, label_name : str
        The names of the columns of ids and of labels in the user's own file. The exported corrections hold
        ``label_name``, so that they are applied to the right column.
    chance : float, default=0.5
        The page asks the reader to check the suspects that are wrong with more than this chance.
    precision : float, default=None
        If it is given, the page asks for as many checks as possible of which at least this share should find an error.
    max_rows : int, default=100_000
        How many rows are listed, the most suspect first.
    max_details : int, default=1_000
        How many of the listed rows come with neighbours; each adds about a kilobyte to the file.
    max_columns : int, default=40
        How many features are shown: those that matter most.

    Examples
    --------
    >>> from kernelwise.report import PageSettings
    >>> PageSettings(title="heart.csv", label_name="disease").max_rows
    100000
    """

    title: str = "Label review"
    id_name: str = "row"
    label_name: str = "label"
    chance: float = 0.5
    precision: float | None = None
    max_rows: int = 100_000
    max_details: int = 1_000
    max_columns: int = 40

    def __post_init__(self) -> None:
        for name in ("max_rows", "max_details", "max_columns"):
            check_count(name, getattr(self, name), least=0)
        if not 0 <= self.chance < 1:
            raise ValueError(f"chance must be a number of at least 0 and below 1, got {self.chance!r}")
        if self.precision is not None and not 0 < self.precision <= 1:
            raise ValueError(f"precision must be a number above 0 and at most 1, got {self.precision!r}")


def text(value: Any) -> str:
    """The text of a cell; empty for a missing value."""
    return "" if is_missing(value) else str(value)


def texts(values: Iterable[Any]) -> list[str]:
    """The text of each cell."""
    return [text(value) for value in values]


def number(value: Any) -> float | None:
    """A rounded number; None for nan and the infinities, which JSON cannot hold."""
    value = float(value)
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def numbers(values: Iterable[Any]) -> list[float | None]:
    """Rounded numbers."""
    return [number(value) for value in values]


def cells(values: NDArray[Any]) -> list[Any]:
    """A column as JSON: whole numbers exactly, other numbers rounded, anything else as text."""
    if values.dtype.kind in "iu":
        return values.tolist()
    if values.dtype.kind != "f":
        return [_cell(value) for value in values.tolist()]
    known = values[np.isfinite(values)]
    if (known == np.floor(known)).all() and (np.abs(known) < 2**53).all():
        return [int(value) if math.isfinite(value) else None for value in values.tolist()]
    return numbers(values.tolist())


def _cell(value: Any) -> int | float | str | None:
    if is_missing(value):
        return None
    if isinstance(value, float):
        return number(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)


def fingerprint(*parts: Iterable[str]) -> str:
    """A short name for data: equal texts have equal names on every machine."""
    digest = hashlib.sha256()
    for part in parts:
        for value in part:
            encoded = value.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(encoded) + encoded)
        digest.update(b";")
    return digest.hexdigest()[:20]


@dataclass(frozen=True)
class ShownRows:
    """The rows behind the labels: named columns of a frame or array, or the words of a sparse matrix; or nothing.

    ``kinds`` says of each column whether it holds numbers ("number"), running text ("text") or other values ("value").
    """

    names: list[str]
    columns: list[NDArray[Any]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    sparse: csr_array | None = None

    @property
    def n_rows(self) -> int:
        if self.sparse is not None:
            return int(self.sparse.shape[0])
        return len(self.columns[0]) if self.columns else 0

    def matrix(self) -> NDArray[np.float64] | csr_array | None:
        """The rows as numbers, in which distances are measured; None if no column tells two rows apart.

        Categories and words are encoded.
        """
        if self.sparse is not None:
            return self.sparse
        if all(kind == "number" for kind in self.kinds):
            numeric = [column.astype(np.float64) for column in self.columns]
            stacked = np.column_stack(numeric) if numeric else None
            return None if stacked is None else np.where(np.isfinite(stacked), stacked, np.nan)
        named = enumerate(zip(self.kinds, self.columns, strict=True))
        table = Table.of("X", [_encodable(str(place), kind, column) for place, (kind, column) in named])
        try:
            return cast(Any, TableFeatures().fit(table).transform(table))
        except TableError:
            return None

    def values(self, row: int, max_columns: int) -> list[Any]:
        """The cells of one row in the first columns."""
        return [cells(column[row : row + 1])[0] for column in self.columns[:max_columns]]

    def only(self, places: list[int]) -> "ShownRows":
        """The same rows with some of the columns."""
        names, columns, kinds = (
            [every[at] for at in places] for every in cast(Any, (self.names, self.columns, self.kinds))
        )
        return ShownRows(names, columns, kinds)

    def words(self, row: int) -> dict[str, float | None]:
        """The non-zero entries of a sparse row by name, the largest first."""
        assert self.sparse is not None
        entries = self.sparse[[row], :].tocoo()
        order = np.argsort(-np.abs(entries.data), kind="stable")
        return {text(self.names[entries.col[k]]): number(entries.data[k]) for k in order}


def shown_rows(X: Any, feature_names: Sequence[str] | None, n_rows: int) -> ShownRows:
    """The rows of an array, a sparse matrix or a frame, one for each sample; without ``X`` nothing is shown."""
    if X is None:
        return ShownRows([])
    if issparse(X):
        words = csr_array(cast(Any, X))
        table = ShownRows(_names(feature_names, words.shape[1], None), sparse=words)
    else:
        names = getattr(X, "columns", None)
        if names is None and np.ndim(X) != 2:
            raise ValueError(f"X must be a table of rows and columns, got an array of shape {np.shape(X)}")
        given = list(np.asarray(X).T) if names is None else [X[name] for name in names]
        columns = [_typed(np.asarray(column)) for column in given]
        kinds = [_kind(one, column) for one, column in zip(given, columns, strict=True)]
        table = ShownRows(_names(feature_names, len(columns), names), columns, kinds)
    if table.n_rows != n_rows and table.names:
        raise ValueError(f"X has {table.n_rows} rows, but the audit is of {n_rows}; pass the rows that were audited")
    return table


def _kind(given: Any, column: NDArray[Any]) -> str:
    """What a column holds; a column of a file says it itself."""
    if column.dtype.kind in "iufb":
        return "number"
    if column.dtype.kind in "mM" or getattr(given, "dtype", None) == "category":
        return "value"
    if isinstance(given, Column):
        return "text" if given.kind == "text" else "value"
    present = [value for value in texts(column.tolist()) if value]
    return "text" if present and kind_of_words(present, len(column)) == "text" else "value"


def _encodable(name: str, kind: str, column: NDArray[Any]) -> Column:
    if kind == "number":
        return Column(name, "numeric", np.where(np.isfinite(column.astype(float)), column.astype(float), np.nan))
    words = as_words(texts(column.tolist()))
    found = kind_of_words([word for word in words if word is not None], len(words))
    return Column(name, found if found in ("text", "id") else "categorical", words)


def read_ids(ids: ArrayLike | None, n_rows: int) -> list[str]:
    """One text for each row; the number of the row by default."""
    if ids is None:
        return [str(row) for row in range(n_rows)]
    names = texts(np.asarray(ids).tolist())
    if len(names) != n_rows:
        raise ValueError(f"ids has {len(names)} values for {n_rows} rows")
    return names


def _typed(column: NDArray[Any]) -> NDArray[Any]:
    """An array of objects that are numbers, as an array of numbers; missing numbers are nan."""
    if column.dtype.kind != "O":
        return column
    values = column.tolist()
    missing = [is_missing(value) for value in values]
    if all(missing) or not all(gone or is_number(value) for value, gone in zip(values, missing, strict=True)):
        return column
    return np.array([np.nan if gone else value for value, gone in zip(values, missing, strict=True)], dtype=np.float64)


def _names(given: Sequence[str] | None, n_columns: int, fallback: Iterable[Any] | None) -> list[str]:
    if given is None:
        given = [f"x{j}" for j in range(n_columns)] if fallback is None else list(fallback)
    if len(given) != n_columns:
        raise ValueError(f"feature_names has {len(given)} names for {n_columns} columns of X")
    return texts(given)


def review(
    kind: str,
    audit: LabelAudit | PairAudit,
    settings: PageSettings,
    *,
    given: Index,
    suggested: Index,
    rates: Mapping[str, WrongShare],
    wrong_range: Interval | None,
    kernel_weights: Mapping[str, float] | ArrayLike | None,
    history: Iterable[Sequence[float]] | None,
    plan: CheckPlan | None,
) -> tuple[dict[str, Any], Index, Index]:
    """The summary, the suspects and the figures of a page; labels are positions among the classes.

    Planned rows, and rows that were checked before, are listed even if they are not among the most suspect ones. Rows
    that were checked before come last: nobody has to check them again. ``wrong_range`` is the range of the share of
    wrong labels or pairs. The listed rows are returned, too, and the places in their list that are shown in detail: the
    first ones, and the planned rows.
    """
    known = ~np.isnan(audit.quality)  # a row without a label has no quality, and there is nothing to review
    unchecked, checked = open_suspects(audit), audit.checked
    ranked = audit.order[: int(known.sum())]
    ranked = np.concatenate([unchecked, ranked[~np.isin(ranked, unchecked)]])
    wanted = np.isin(ranked, [*([] if plan is None else plan.rows), *([] if checked is None else checked.rows)])
    listed = ranked[wanted | (np.arange(len(ranked)) < settings.max_rows)]
    open_quality = audit.quality[unchecked]
    to_check = count_worth_checking(open_quality, settings.chance, precision=settings.precision)
    believed = np.where(audit.quality > 0.5, given, suggested)
    counts, _ = np.histogram(1 - open_quality, bins=BINS, range=(0.0, 1.0))
    threshold = number(1 - np.sort(open_quality)[to_check - 1]) if to_check else None  # from here on worth checking
    in_detail = np.isin(listed, [] if plan is None else plan.rows) | (np.arange(len(listed)) < settings.max_details)
    page = {
        "schema": SCHEMA,
        "kind": kind,
        "title": settings.title,
        "id_name": settings.id_name,
        "label_name": settings.label_name,
        "summary": {
            "n": int(known.sum()),
            "n_listed": len(listed),
            "rates": [
                {"name": name, "n": n, "rate": number(rate), "interval": numbers(interval or (np.nan, np.nan))}
                for name, (n, rate, interval) in rates.items()
            ],
            "to_check": to_check,
            "expected_wrong": number((1 - open_quality[:to_check]).sum()),
            "between": None if wrong_range is None else list(whole_numbers(wrong_range, int(known.sum()))),
            "verdict": {
                name: said for name, said in audit.diagnostic.items() if name in ("reliable", "reason", "claim")
            },
        },
        "suspects": {
            "row": listed.tolist(),
            "quality": numbers(audit.quality[listed]),
            "given": given[listed].tolist(),
            "suggested": suggested[listed].tolist(),
        },
        "plan": planned(plan, checked, given, int(known.sum())),
        "figures": {
            "chances": {"counts": counts.tolist(), "threshold": threshold},
            "confusions": confusions(given[known], believed[known]),
            "weights": weight_bars(kernel_weights),
            "gap": gap_curve(history),
        },
    }
    return page, listed, np.flatnonzero(in_detail)


def placed(places: Index, details: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
    """The details at their places in the list; None between them."""
    found: list[dict[str, Any] | None] = [None] * (int(places[-1]) + 1 if len(places) else 0)
    for place, detail in zip(places, details, strict=True):
        found[place] = detail
    return found


def planned(plan: CheckPlan | None, checked: Verdicts | None, given: Index, n_rows: int) -> dict[str, Any] | None:
    """What the page needs to lead through the planned rows and to compute the guarantee as verdicts come in.

    ``rows`` are the rows of the plan in their order, ``draws`` the cells of the corrections file by row, ``decided``
    the rows that were decided before, and ``batches`` the strata of all plans with the rows that were drawn from each
    stratum, and the rows that were known before each plan.
    """
    if plan is None and checked is None:
        return None
    made = Verdicts([], []) if checked is None else checked
    drawn = Verdicts([], []) if plan is None else plan.verdicts([None] * len(plan))
    both = made + drawn
    cells = both.cells()
    batches = [
        {
            "known": sorted(
                known_before(both, number, n_rows - sum(one.size for one in strata), set(both.rows.tolist()))
            ),
            "strata": [{"size": one.size, "rows": [one.rows[at] for at in sorted(one.rows)]} for one in strata],
        }
        for number, strata in strata_of(both).items()
    ]
    return {
        "n": n_rows,
        "batch": str(both.last_batch or ""),
        "rows": [] if plan is None else plan.rows.tolist(),
        "draws": {str(row): list(cells[row]) for row in cells},
        "decided": [
            [row, None if label is None else str(label)] for row, label in made.found().items() if given[row] >= 0
        ],
        "batches": batches,
    }


def confusions(given: NDArray[np.intp], suggested: NDArray[np.intp]) -> list[list[int]]:
    """Triples of given class, suggested class and count, the most frequent disagreements first."""
    pairs, counts = np.unique(np.column_stack([given, suggested]), axis=0, return_counts=True)
    agree = pairs[:, 0] == pairs[:, 1]
    order = np.lexsort((-counts, agree))[:MAX_CONFUSIONS]
    return [[int(g), int(s), int(count)] for (g, s), count in zip(pairs[order], counts[order], strict=True)]


def weight_bars(kernel_weights: Mapping[str, float] | ArrayLike | None) -> dict[str, Any] | None:
    """The largest weights by name, and how many kernels have a weight other than zero."""
    if kernel_weights is None:
        return None
    if isinstance(kernel_weights, Mapping):
        names, weights = [text(name) for name in kernel_weights], np.array(list(kernel_weights.values()), dtype=float)
    else:
        weights = np.asarray(kernel_weights, dtype=float)
        names = [f"kernel {j}" for j in range(weights.size)]
    if weights.ndim != 1 or not np.isfinite(weights).all():
        raise ValueError(f"kernel_weights must be finite numbers, one for each kernel, got {kernel_weights!r}")
    largest = np.argsort(-np.abs(weights), kind="stable")[:MAX_BARS]
    bars = [[names[j], number(weights[j])] for j in largest if weights[j] != 0]
    return {"bars": bars, "n_kernels": len(names), "n_used": int(np.count_nonzero(weights))}


def gap_curve(history: Iterable[Sequence[float]] | None) -> list[list[float | None]] | None:
    """The duality gap by iteration, from rows (iteration, seconds, primal, dual); a long history is thinned out."""
    if history is None:
        return None
    rows = [row for row in history if np.isfinite(row[2] - row[3])]
    if len(rows) > MAX_POINTS:
        rows = [rows[i] for i in np.linspace(0, len(rows) - 1, MAX_POINTS).astype(int)]
    return [numbers((row[0], row[2] - row[3])) for row in rows]
