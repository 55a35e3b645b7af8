"""Suspects as a CSV that can be reviewed in a spreadsheet and given to ``kernelwise apply``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files.delimited import csv_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..supervision import CheckPlan, LabelAudit, PairAudit
    from .given import GivenLabels

__all__ = ["label_review", "link_review"]

#: The columns that say how a plan drew a row.
DRAWN = ["chance", "draw", "drawn_from"]


def label_review(
    audit: "LabelAudit",
    ids: Sequence[str],
    column: str,
    plan: "CheckPlan | None" = None,
    *,
    given: "GivenLabels | None" = None,
) -> str:
    """All labels, the most suspect first; each suggested label is a correction that is not decided yet.

    With a plan, its rows come first, with their draws. Rows that were checked come last, with what was found, so that
    no verdict is lost. ``given`` are the labels as they are written; for a number no correction is suggested, because
    only its group is known.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import LabelAudit
    >>> from kernelwise.cli.review import label_review
    >>> audit = LabelAudit(
    ...     labels=np.array(["ham", "spam"]), quality=np.array([0.9, 0.2]), suggested=np.array(["ham", "ham"]),
    ...     probabilities=np.array([[0.9, 0.1], [0.8, 0.2]]), classes=np.array(["ham", "spam"]),
    ...     noise_rate=0.4, noise_interval=(0.1, 0.7), transition=np.eye(2),
    ... )
    >>> print(label_review(audit, ["a", "=b"], "kind"), end="")
    row,id,column,given,corrected,decision,quality
    1,'=b,kind,spam,ham,skip,0.2000
    0,a,kind,ham,spam,skip,0.9000
    """
    labels = audit.labels if given is None else np.array(given.written, dtype=object)
    other = audit.alternative if given is None or given.groups is None else np.full(len(labels), "", dtype=object)
    return _csv(["id", "column"], audit, [[name, column] for name in ids], audit.labels, labels, other, plan)


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
    from ..report.corrections import neutralise

    planned = {} if plan is None else plan.cells()
    found, drawn = ({}, {}) if audit.checked is None else (audit.checked.found(), audit.checked.cells())
    drawn |= planned
    rows = [["row", *names, "given", "corrected", "decision", "quality", *(DRAWN if drawn else [])]]
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
        rows.append([neutralise(cell) for cell in cells])
    return "".join(f"{csv_line(row)}\n" for row in rows)
