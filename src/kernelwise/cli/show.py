"""Results as tables on the terminal, sentences about checks, and CSV files that can be reviewed in a spreadsheet."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ..files.delimited import csv_line
from ..tables.kinds import is_number
from .session import Data, Reviewing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..review import CheckPlan, LabelAudit, PairAudit
    from .session import GivenLabels

#: So many rows of a list are shown; files hold all rows.
SHOWN = 10
#: So many sources and suspects are shown where both are, so that the result fits on a screen; and so many copies.
FEW, FEW_COPIES = 8, 3
#: The heading of a column of chances. Files hold the chance that a label is right, as ``quality``.
CHANCE = "chance it is wrong"
#: A label is never said to be wrong with a larger chance than this leaves: no finite number of checks shows more.
CERTAIN = 0.001
#: So many checks are proposed where nothing else tells how many labels or pairs are wrong.
FEW_DOZEN = 40
#: The columns of a list of suspects after those that name the row, and those that say how a plan drew it.
REVIEW_COLUMNS = ["given", "corrected", "decision", "quality"]
DRAWN = ["chance", "draw", "drawn_from"]


def wrong_chance(quality: float) -> str:
    """The chance that a label is wrong, which people are shown.

    >>> wrong_chance(0.077), wrong_chance(0.0002)
    ('92.3%', '>99.9%')
    """
    return f"{1 - quality:.1%}" if quality >= CERTAIN else f">{1 - CERTAIN:.1%}"


def counted(count: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> RichTable:
    """A table; columns of numbers are aligned to the right."""
    shown = RichTable(title=title or None, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for position, name in enumerate(header):
        numeric = all(is_number(row[position].rstrip("%")) for row in rows)
        shown.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        shown.add_row(*map(Text, row))
    return shown


def print_list(
    console: Console, header: Sequence[str], rows: Sequence[Sequence[str]], written: Sequence[str], shown: int = SHOWN
) -> None:
    """Name the files that hold a list, or else print its first rows."""
    if written:
        print_written(console, written)
        return
    console.print(table("", header, rows[:shown]))
    if len(rows) > shown:
        console.print(f"... and {len(rows) - shown} more; use --output FILE for all")


def print_written(console: Console, paths: Sequence[str]) -> None:
    """Name the files that were written."""
    for path in paths:
        console.print(f"Written: {path}")


def print_suspects(
    console: Console, noun: str, worth_checking: int, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Print the first suspects, and how many are worth checking."""
    found = f"Worth checking: {counted(worth_checking, noun)} more likely wrong than right."
    none = f"No {noun} is more likely wrong than right; the most suspect {noun}s come first in the list."
    console.print(f"{found if worth_checking else none}\n")
    console.print(table("Most suspect", header, rows[:SHOWN]))


def audit_result(
    audit: "LabelAudit | PairAudit", plan: "CheckPlan | None", names: Sequence[str], **cells: Sequence[str]
) -> dict[str, Any]:
    """What every audit tells, as plain data: suspects, with their ``cells``, the guarantee, and the planned rows.

    Of the suspects those are listed that are more likely wrong than right, the most suspect first.
    """
    from ..review.audit import PairAudit, open_suspects
    from ..review.diagnosis import guarantee_of

    if isinstance(audit, PairAudit):
        given, suggested, facts = audit.pairs.labels, audit.suggested, {}
    else:
        given, suggested = audit.labels.astype(str), audit.alternative.astype(str)
        facts = {name: getattr(audit, name) for name in ("classes", "noise_rate", "noise_interval")}
    suspects = open_suspects(audit)
    worth = int(np.count_nonzero(audit.quality[suspects] < 0.5))
    bound = guarantee_of(audit.checked, audit)
    return facts | {
        "worth_checking": worth,
        "suspects": [
            {
                "row": row,
                **{key: cell[row] for key, cell in cells.items()},
                "given": given[row].item(),
                "suggested": suggested[row].item(),
                "quality": round(float(audit.quality[row]), 4),
            }
            for row in suspects[: max(worth, SHOWN)].tolist()
        ],
        "guarantee": None
        if bound is None
        else {
            "sentence": str(bound),
            "low": bound.low,
            "high": bound.high,
            "checked": bound.n_checked,
            "found": bound.n_found,
            "unclear": bound.n_unclear,
            "remaining_at_most": bound.remaining[1],
        },
        "checked": 0 if audit.checked is None else len(audit.checked.found()),
        "plan": [
            {"row": row, "id": names[row], "chance": chance, "draw": draw, "drawn_from": size}
            for row, (chance, draw, size) in ({} if plan is None else plan.cells()).items()
        ],
        "diagnostic": audit.diagnostic,
    }


def print_next(
    console: Console,
    data: object,
    reviewing: Reviewing,
    *,
    planned: bool = False,
    numbers: bool = False,
    consensus: bool = False,
) -> None:
    """Say what to do with a list of suspects, which begins with planned rows where checks are ``planned``.

    Of ``numbers`` only the groups are reviewed, and the right numbers have to be written by hand. A ``consensus`` is
    corrected by the next audit.
    """
    review, page = reviewing.output, reviewing.report
    if page is not None:
        console.print(f"Next: open {page} in a browser, decide, and save the corrections.")
    if review is not None:
        console.print(f'Next: in {review}, change "skip" to "wrong" or "correct" where you know.')
        if numbers:
            console.print('Beside "wrong", write the right number into the column "corrected".')
    if review is None and page is None:
        return
    corrections = review or "corrections.csv"
    if planned or consensus:
        again = f"--checked {corrections} --consensus labels.csv," if consensus else f"--checked {corrections},"
        console.print(
            f"Then: run this command again with {again} and with other names for the files that it writes."
            + ("" if consensus else " It tells how many are wrong.")
        )
    if numbers and review is None:
        console.print(f"Then: correct the numbers in {data}; the corrections name the rows.")
    elif not consensus:
        console.print(f"{'At the end' if planned else 'Then'}: kernelwise apply {data} {corrections}")


def print_features(console: Console, data: Data) -> None:
    """Print what the columns became, and where values are missing."""
    console.print()
    print_columns(console, data.columns())
    for name, lines in data.table.missing().items():
        more = f" and {len(lines) - 5} more" if len(lines) > 5 else ""
        unit = "line" if data.table.lines is not None else "row"
        console.print(f"Missing in column {name!r}: {unit} {', '.join(map(str, lines[:5]))}{more}")


def print_columns(console: Console, described: Sequence[dict[str, Any]]) -> None:
    """Print what the columns became; columns that became the same stand on one line."""
    groups: dict[str, list[str]] = {}
    for row in described:
        groups.setdefault(row["becomes"], []).append(row["column"])
    lines = [
        [becomes, ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")]
        for becomes, names in groups.items()
    ]
    console.print(table("Columns", ["becomes", "columns"], lines))


def print_sources(console: Console, given: Sequence[dict[str, Any]], copies: Sequence[dict[str, Any]] = ()) -> None:
    """Print the sources with their accuracy, the least accurate first, and those that copy each other."""
    from ..report.labels import ENOUGH

    sources = [one for one in given if one["answers"] >= ENOUGH]
    if sources:
        header = ["source", "answers", "right", "90 % range", *["errs"] * any(one["errs"] for one in sources)]
        lines = [
            [
                str(one["source"]),
                str(one["answers"]),
                f"{one['accuracy']:.0%}",
                f"{one['interval'][0]:.0%} to {one['interval'][1]:.0%}",
                one["errs"][0] if one["errs"] else "",
            ][: len(header)]
            for one in sources[:FEW]
        ]
        order = ", the least accurate first" if len(sources) > 1 else ""
        console.print(table(f"Sources{order}", header, lines))
        if len(sources) > FEW:
            best = ", ".join(f"{one['source']} {one['accuracy']:.0%}" for one in sources[:-4:-1])
            console.print(f"... and {len(sources) - FEW} more (--json has all); the best: {best}")
        if few := len(given) - len(sources):
            console.print(f"... and {few} with fewer than {ENOUGH} answers, too few to judge")
    else:
        console.print(f"Sources: {len(given)}, each with fewer than {ENOUGH} answers, too few to judge any of them.")
    for one in copies[:FEW_COPIES]:
        console.print(
            f"{one['source']} and {one['other']} agree as if one copied the other in {one['share']:.0%} of the rows, "
            "errors included; together they count for less than two."
        )
    if (more := len(copies) - FEW_COPIES) > 0:
        console.print(f"... and {more} more pairs of sources that copy each other")


def percent(rate: float, interval: Sequence[float]) -> str:
    """A share with its interval.

    >>> percent(0.12, (0.08, 0.17))
    '12.0% (95 %: 8.0% to 17.0%)'
    """
    return f"{rate:.1%} (95 %: {interval[0]:.1%} to {interval[1]:.1%})"


def review_csv(rows: Sequence[Sequence[str]]) -> str:
    """A CSV to be reviewed: every cell that a spreadsheet could take for a formula gets an apostrophe before it."""
    from ..report.corrections import neutralise

    return "".join(f"{csv_line([neutralise(cell) for cell in row])}\n" for row in rows)


def csv_text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A CSV that is safe in a spreadsheet: numbers stay as they are, and formulas get an apostrophe before them."""
    from ..report.corrections import neutralise

    safe = ([cell if is_number(cell) else neutralise(cell) for cell in row] for row in (header, *rows))
    return "".join(f"{csv_line(row)}\n" for row in safe)


def print_checks(console: Console, result: dict[str, Any], what: str) -> None:
    """Print what the checked rows guarantee, and which rows to check next; ``what`` is "rows" or "pairs"."""
    kind = "labels" if what == "rows" else what
    if bound := result["guarantee"]:
        console.print(bound["sentence"])
        left = f"at most {bound['remaining_at_most']:.1%} of the {kind} are still wrong"
        if found := bound["found"]:
            console.print(f"If you correct the {counted(found, kind.removesuffix('s'))} found so far, {left}.")
    elif not result["plan"]:
        sure = result["diagnostic"]["reliable"]
        aim = "For a range that holds whatever the errors follow" if sure else "To plan these checks"
        console.print(f"{aim}, add --checks {FEW_DOZEN}.")
    if planned := result["plan"]:
        shown = ", ".join(one["id"] for one in planned[:SHOWN])
        console.print(f"Check {len(planned)} {what} next: {shown}{' ...' if len(planned) > SHOWN else ''}")


def label_review(
    audit: "LabelAudit",
    ids: Sequence[str],
    column: str,
    plan: "CheckPlan | None" = None,
    *,
    given: "GivenLabels | None" = None,
    more: Mapping[str, Sequence[str]] = {},
) -> str:
    """All labels, the most suspect first; each suggested label is a correction that is not decided yet.

    With a plan, its rows come first, with their draws. Rows that were checked come last, with what was found, so that
    no verdict is lost. ``given`` are the labels as they are written; for a number no correction is suggested, because
    only its group is known. ``more`` are further cells of every row, by the names of their columns.
    """
    labels = audit.labels if given is None else np.array(given.written, dtype=object)
    other = audit.alternative if given is None or given.groups is None else np.full(len(labels), "", dtype=object)
    whose = [[name, column, *cells] for name, *cells in zip(ids, *more.values(), strict=True)]
    return _csv(["id", "column", *more], audit, whose, audit.labels, labels, other, plan)


def link_review(
    audit: "PairAudit",
    ids: Sequence[str],
    plan: "CheckPlan | None" = None,
    *,
    words: Mapping[int, str] = {1: "1", -1: "-1"},
) -> str:
    """All pairs, the most suspect first; ``words`` say "same" and "different". See :func:`label_review`."""
    ends = [[ids[row], ids[col]] for row, col in zip(audit.pairs.rows, audit.pairs.cols, strict=True)]
    given, other = ([words[sign] for sign in signs.tolist()] for signs in (audit.pairs.labels, -audit.pairs.labels))
    return _csv(["id", "other_id"], audit, ends, audit.pairs.labels, given, other, plan, words)


def _csv(
    names: list[str],
    audit: "LabelAudit | PairAudit",
    whose: list[list[str]],
    labels: "NDArray[Any]",
    given: "Sequence[Any] | NDArray[Any]",
    other: "Sequence[Any] | NDArray[Any]",
    plan: "CheckPlan | None",
    words: Mapping[Any, str] | None = None,
) -> str:
    """The table of suspects; ``whose`` holds the cells of the columns ``names`` for every label or pair.

    ``given`` are the labels as they are written, and ``other`` what each label should be if it is wrong; ``words`` say
    how a label that was found is written. A row without a label has no quality, and is left out.
    """
    planned = {} if plan is None else plan.cells()
    found, drawn = ({}, {}) if audit.checked is None else (audit.checked.found(), audit.checked.cells())
    drawn |= planned
    rows = [["row", *names, *REVIEW_COLUMNS, *(DRAWN if drawn else [])]]
    listed = audit.order[: np.count_nonzero(~np.isnan(audit.quality))].tolist()
    unplanned = sorted((row for row in listed if row not in planned), key=lambda row: row in found)
    for row in [*planned, *unplanned]:
        corrected, decision = str(other[row]), "skip"
        if row in found:
            label = found[row]
            decision = "unclear" if label is None else "correct" if label == labels[row] else "wrong"
            corrected = str((words or {}).get(label, label) if decision == "wrong" else given[row])
        cells = [str(row), *whose[row], str(given[row]), corrected, decision, f"{audit.quality[row]:.4f}"]
        cells += drawn.get(row, ("", "", "")) if drawn else []
        rows.append(cells)
    return review_csv(rows)
