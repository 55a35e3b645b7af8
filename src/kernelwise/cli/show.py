"""Results as tables on the terminal and as CSV files."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from ..files.delimited import csv_line
from ..tables.kinds import is_number
from .inputs import Data

__all__ = [
    "CHANCE",
    "SHOWN",
    "csv_text",
    "percent",
    "print_columns",
    "print_features",
    "print_list",
    "print_next",
    "print_suspects",
    "print_written",
    "table",
    "wrong_chance",
]

#: So many rows of a list are shown; files hold all rows.
SHOWN = 10
#: The heading of a column of chances. Files hold the chance that a label is right, as ``quality``.
CHANCE = "chance it is wrong"

#: A label is never said to be wrong with a larger chance than this leaves: no finite number of checks shows more.
CERTAIN = 0.001


def wrong_chance(quality: float) -> str:
    """The chance that a label is wrong, which people are shown.

    >>> wrong_chance(0.077), wrong_chance(0.0002)
    ('92.3%', '>99.9%')
    """
    return f"{1 - quality:.1%}" if quality >= CERTAIN else f">{1 - CERTAIN:.1%}"


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> RichTable:
    """A table; columns of numbers are aligned to the right."""
    shown = RichTable(title=title or None, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for position, name in enumerate(header):
        numeric = all(is_number(row[position].rstrip("%")) for row in rows)
        shown.add_column(escape(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(escape(cell) for cell in row))
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
        console.print(f"Written: {path}", markup=False)


def print_suspects(
    console: Console, what: tuple[str, str], worth_checking: int, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Print the first suspects, and how many are worth checking; ``what`` are two nouns, as in ("label", "labels")."""
    one, several = what
    noun = one if worth_checking == 1 else several
    found = f"Worth checking: {worth_checking} {noun} more likely wrong than right."
    none = f"No {one} is more likely wrong than right; the most suspect {several} come first in the list."
    console.print(f"{found if worth_checking else none}\n")
    console.print(table("Most suspect", header, rows[:SHOWN]))


def print_next(
    console: Console, data: object, review: object, page: object, *, planned: bool = False, numbers: bool = False
) -> None:
    """Say what to do with a list of suspects, which begins with planned rows where checks are ``planned``.

    Of ``numbers`` only the groups are reviewed, and the right numbers have to be written by hand.
    """
    if page is not None:
        console.print(f"Next: open {page} in a browser, decide, and save the corrections.", markup=False)
    if review is not None:
        console.print(f'Next: in {review}, change "skip" to "wrong" or "correct" where you know.', markup=False)
        if numbers:
            console.print('Beside "wrong", write the right number into the column "corrected".', markup=False)
    if planned and (page is not None or review is not None):
        console.print(
            f"Then: run this command again with --checked {review or 'corrections.csv'}, and with other names for the "
            "files that it writes. It tells how many are wrong.",
            markup=False,
        )
    if numbers and review is None and page is not None:
        console.print(f"Then: correct the numbers in {data}; the corrections name the rows.", markup=False)
    elif page is not None or review is not None:
        console.print(
            f"{'At the end' if planned else 'Then'}: kernelwise apply {data} {review or 'corrections.csv'}",
            markup=False,
        )


def print_features(console: Console, data: Data) -> None:
    """Print what the columns became, and where values are missing."""
    console.print()
    print_columns(console, data.columns())
    for name, lines in data.table.missing().items():
        more = f" and {len(lines) - 5} more" if len(lines) > 5 else ""
        unit = "line" if data.table.lines is not None else "row"
        console.print(f"Missing in column {name!r}: {unit} {', '.join(map(str, lines[:5]))}{more}", markup=False)


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


def percent(rate: float, interval: Sequence[float] | None = None) -> str:
    """A share with its interval.

    >>> percent(0.12, (0.08, 0.17))
    '12.0% (95 %: 8.0% to 17.0%)'
    """
    return f"{rate:.1%}" if interval is None else f"{rate:.1%} (95 %: {interval[0]:.1%} to {interval[1]:.1%})"


def csv_text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A CSV that is safe in a spreadsheet: numbers stay as they are, and formulas get an apostrophe before them.

    >>> print(csv_text(["id", "label"], [["a", "x,y"], ["-1", "=cmd()"]]), end="")
    id,label
    a,"x,y"
    -1,'=cmd()
    """
    from ..report.corrections import neutralise

    safe = ([cell if is_number(cell) else neutralise(cell) for cell in row] for row in (header, *rows))
    return "".join(f"{csv_line(row)}\n" for row in safe)
