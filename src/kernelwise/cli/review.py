"""Suspects as a CSV that can be reviewed in a spreadsheet and given to ``kernelwise apply``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..files.delimited import csv_line

if TYPE_CHECKING:
    from ..supervision import LabelAudit, PairAudit

__all__ = ["label_review", "link_review"]


def label_review(audit: "LabelAudit", ids: Sequence[str], column: str) -> str:
    """All labels, the most suspect first, with the suggested ones as corrections that are not decided yet.

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
    0,a,kind,ham,ham,skip,0.9000
    """
    rows = [
        [str(row), ids[row], column, str(audit.labels[row]), str(audit.suggested[row]), "skip", _chance(audit, row)]
        for row in audit.order
    ]
    return _csv(["row", "id", "column", "given", "corrected", "decision", "quality"], rows)


def link_review(audit: "PairAudit", ids: Sequence[str]) -> str:
    """All pairs, the most suspect first; 1 says "same" and -1 "different"."""
    pairs = audit.pairs
    rows = [
        [
            str(row),
            ids[pairs.rows[row]],
            ids[pairs.cols[row]],
            str(pairs.labels[row]),
            str(audit.suggested[row]),
            "skip",
            _chance(audit, row),
        ]
        for row in audit.order
    ]
    return _csv(["row", "id", "other_id", "given", "corrected", "decision", "quality"], rows)


def _chance(audit: "LabelAudit | PairAudit", row: int) -> str:
    return f"{audit.quality[row]:.4f}"


def _csv(header: list[str], rows: list[list[str]]) -> str:
    from ..report.corrections import neutralise

    return "".join(f"{csv_line(row)}\n" for row in (header, *([neutralise(cell) for cell in row] for row in rows)))
