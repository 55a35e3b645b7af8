"""The settings of a review page, and the data that pages of labels and of pairs share: summary, suspects, figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import check_count
from ..review import CheckPlan, LabelAudit, PairAudit
from ..review.audit import Interval, count_worth_checking, open_suspects, whole_numbers
from ..review.bounds import known_before
from ..statements import Verdicts
from ..statements.verdicts import strata_of
from .plain_data import number, numbers, text

#: The version of the format of the data; a page is made only from data of the same version.
SCHEMA = 1
MAX_WORDS = 30
BINS = 20
MAX_BARS = 15
MAX_POINTS = 300
MAX_CONFUSIONS = 200
Index = NDArray[np.intp]


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


def review(
    kind: str,
    audit: LabelAudit | PairAudit,
    settings: PageSettings,
    *,
    given: Index,
    suggested: Index,
    rates: list[dict[str, Any]],
    wrong_range: Interval | None,
    kernel_weights: Mapping[str, float] | ArrayLike | None,
    history: Iterable[Sequence[float]] | None,
    verdict: Mapping[str, Any],
    plan: CheckPlan | None = None,
) -> dict[str, Any]:
    """The summary, the suspects and the figures of a page; labels are positions among the classes.

    Planned rows, and rows that were checked before, are listed even if they are not among the most suspect ones. Rows
    that were checked before come last: nobody has to check them again. ``wrong_range`` is the range of the share of
    wrong labels or pairs.
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
    return {
        "schema": SCHEMA,
        "kind": kind,
        "title": settings.title,
        "id_name": settings.id_name,
        "label_name": settings.label_name,
        "summary": {
            "n": int(known.sum()),
            "n_listed": len(listed),
            "rates": rates,
            "to_check": to_check,
            "expected_wrong": number((1 - open_quality[:to_check]).sum()),
            "between": None if wrong_range is None else list(whole_numbers(wrong_range, int(known.sum()))),
            "verdict": {name: verdict[name] for name in ("reliable", "reason", "claim") if name in verdict},
        },
        "suspects": {
            "row": listed.tolist(),
            "quality": numbers(audit.quality[listed]),
            "given": given[listed].tolist(),
            "suggested": suggested[listed].tolist(),
        },
        "plan": planned(plan, checked, given, int(known.sum())),
        "figures": {
            "chances": chance_histogram(open_quality, to_check),
            "confusions": confusions(given[known], believed[known]),
            "weights": weight_bars(kernel_weights),
            "gap": gap_curve(history),
        },
    }


def detailed(listed: Index, plan: CheckPlan | None, settings: PageSettings) -> Index:
    """The places in the list of suspects that are shown in detail: the first ones, and the planned rows."""
    chosen = np.isin(listed, [] if plan is None else plan.rows)
    return np.flatnonzero(chosen | (np.arange(len(listed)) < settings.max_details))


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


def chance_histogram(quality: NDArray[np.float64], to_check: int) -> dict[str, Any]:
    """A histogram of the chances to be wrong, and the chance from which on a label is worth checking."""
    counts, _ = np.histogram(1 - quality, bins=BINS, range=(0.0, 1.0))
    threshold = number(1 - np.sort(quality)[to_check - 1]) if to_check else None
    return {"counts": counts.tolist(), "threshold": threshold}


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
