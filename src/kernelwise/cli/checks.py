"""Checks that are planned, and what was found by them: the same for labels and for pairs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console

from .show import SHOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..supervision import CheckPlan, LabelAudit, PairAudit

__all__ = [
    "CheckedOption",
    "ChecksOption",
    "SuspectsOption",
    "guarantee_of_audit",
    "open_suspects",
    "planned_rows",
    "print_checks",
]

CheckedOption = Annotated[
    Path | None, typer.Option("--checked", metavar="CSV", help="What was found so far: the corrections file.")
]
ChecksOption = Annotated[
    int | None, typer.Option("--checks", metavar="N", min=1, help="Plan N rows to check next, with the chance of each.")
]
SuspectsOption = Annotated[
    float | None,
    typer.Option("--suspects", min=0.0, max=1.0, help="The share of the planned rows that are the most suspect ones."),
]


def guarantee_of_audit(audit: "LabelAudit | PairAudit") -> dict[str, Any] | None:
    """The bounds from drawn rows, also for what is left after the corrections; None without such rows."""
    from ..labels.verdict import guarantee_of
    from ..supervision import guaranteed_share

    both = guarantee_of(audit.checked, audit)
    if both is None or audit.checked is None:
        return None
    at_most = guaranteed_share(audit, audit.checked, side="upper")
    return {
        "sentence": str(both),
        "low": both.low,
        "high": both.high,
        "checked": both.n_checked,
        "found": both.n_found,
        "unclear": both.n_unclear,
        "at_most": at_most.high,
        "remaining_at_most": at_most.remaining[1],
    }


def open_suspects(audit: "LabelAudit | PairAudit") -> "NDArray[np.intp]":
    """What nobody has checked yet, the most suspect first; rows without a label come last."""
    checked = [] if audit.checked is None else list(audit.checked.found())
    return audit.order[~np.isin(audit.order, checked)]


def planned_rows(plan: "CheckPlan | None", names: Sequence[str]) -> list[dict[str, Any]]:
    """The planned rows with their names and draws; empty without a plan."""
    return [
        {"row": row, "id": names[row], "chance": chance, "draw": draw, "drawn_from": size}
        for row, (chance, draw, size) in ({} if plan is None else plan.cells()).items()
    ]


def print_checks(console: Console, result: dict[str, Any], what: str) -> None:
    """Print what the checked rows guarantee, and which rows to check next; ``what`` is "rows" or "pairs"."""
    if bound := result["guarantee"]:
        console.print(bound["sentence"])
        console.print(f"After the corrections, at most {bound['remaining_at_most']:.1%} are wrong (95 % confidence).")
    if planned := result["plan"]:
        shown = ", ".join(one["id"] for one in planned[:SHOWN])
        console.print(
            f"Check {len(planned)} {what} next: {shown}{' ...' if len(planned) > SHOWN else ''}", markup=False
        )
