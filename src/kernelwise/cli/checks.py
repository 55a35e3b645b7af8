"""Checks that are planned, and what was found by them: the same for labels and for pairs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from .show import SHOWN

if TYPE_CHECKING:
    from ..supervision import CheckPlan, LabelAudit, PairAudit

__all__ = [
    "CheckedOption",
    "ChecksOption",
    "SuspectsOption",
    "guarantee_of_audit",
    "planned_rows",
    "print_checks",
]

#: So many checks are proposed where nothing else tells how many labels or pairs are wrong.
FEW_DOZEN = 40

CheckedOption = Annotated[
    Path | None,
    typer.Option(
        "--checked",
        metavar="CSV",
        help="The reviewed file: your --output CSV with decisions, or the export of the page.",
    ),
]
ChecksOption = Annotated[
    int | None, typer.Option("--checks", metavar="N", min=1, help="Plan N rows to check next, with the chance of each.")
]
SuspectsOption = Annotated[
    float | None,
    typer.Option(
        "--suspects",
        min=0.0,
        max=1.0,
        help="How many of the planned rows are chosen suspects: 0 = all drawn at random, 1 = all chosen. By default "
        "the first plan draws all, and later plans choose suspects as long as a tenth of all checks was drawn.",
    ),
]


def guarantee_of_audit(audit: "LabelAudit | PairAudit") -> dict[str, Any] | None:
    """The bounds from drawn rows, also for what is left after the corrections; None without such rows."""
    from ..labels.verdict import guarantee_of

    both = guarantee_of(audit.checked, audit)
    if both is None:
        return None
    return {
        "sentence": str(both),
        "low": both.low,
        "high": both.high,
        "checked": both.n_checked,
        "found": both.n_found,
        "unclear": both.n_unclear,
        "remaining_at_most": both.remaining[1],
    }


def planned_rows(plan: "CheckPlan | None", names: Sequence[str]) -> list[dict[str, Any]]:
    """The planned rows with their names and draws; empty without a plan."""
    return [
        {"row": row, "id": names[row], "chance": chance, "draw": draw, "drawn_from": size}
        for row, (chance, draw, size) in ({} if plan is None else plan.cells()).items()
    ]


def print_checks(console: Console, result: dict[str, Any], what: str) -> None:
    """Print what the checked rows guarantee, and which rows to check next; ``what`` is "rows" or "pairs"."""
    kind = "labels" if what == "rows" else what
    if bound := result["guarantee"]:
        console.print(bound["sentence"])
        left = f"at most {bound['remaining_at_most']:.1%} of the {kind} are still wrong"
        one = kind.removesuffix("s") if bound["found"] == 1 else kind
        if bound["found"]:
            console.print(f"If you correct the {bound['found']} {one} found so far, {left}.")
    elif not result["plan"]:
        sure = result["diagnostic"]["reliable"]
        aim = "For a range that holds whatever the errors follow" if sure else "To plan these checks"
        console.print(f"{aim}, add --checks {FEW_DOZEN}.")
    if planned := result["plan"]:
        shown = ", ".join(one["id"] for one in planned[:SHOWN])
        console.print(
            f"Check {len(planned)} {what} next: {shown}{' ...' if len(planned) > SHOWN else ''}", markup=False
        )
