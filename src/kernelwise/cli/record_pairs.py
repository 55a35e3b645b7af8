"""Answers to "are these two records the same?", two records in every row of a file: which answers are wrong."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from .. import files
from .review import label_review
from .session import Session
from .show import SHOWN, percent, print_next, print_written, table

__all__ = ["audit_two_records"]

#: So many characters of a record are shown.
WIDTH = 40


def audit_two_records(
    session: Session, data: Path, *, answer: str | None, same: str | None, output: Path | None, report: Path | None
) -> None:
    """Audit the answers of a file with two records in every row."""
    from .. import audit_record_pairs

    with session.step(f"reading {data}"):
        given = files.read_two_records(data, answer=answer, same=same)
    lines = given.table.lines if given.table.lines is not None else np.arange(1, given.table.n_rows + 1)
    ids = [str(line) for line in lines.tolist()]
    with session.step(f"comparing {len(given.pairs)} pairs of records") as tell:
        pairs = audit_record_pairs(given.records, given.pairs, random_state=session.seed, progress=tell)
    audit = _as_labels(pairs, given.answers)
    review = partial(label_review, audit, ids, given.answer)
    written = session.write({output: review, report: partial(_page, session, given, ids, audit)})
    worth = audit.worth_checking()
    result: dict[str, Any] = {
        "file": str(data),
        "pairs": len(given.pairs),
        "answer": given.answer,
        "compared": [name for name, *_ in given.columns],
        "noise_rate": audit.noise_rate,
        "noise_interval": audit.noise_interval,
        "diagnostic": pairs.diagnostic,
        "worth_checking": worth,
        "suspects": _suspects(audit, given, ids, max(worth, SHOWN)),
        "written": written,
    }

    def text(console: Console) -> None:
        compared = ", ".join(f"{name} ({left} and {right})" for name, left, right in given.columns)
        console.print(f"{data}: {len(given.pairs)} pairs of records, compared by {compared}.", markup=False)
        console.print(f"Answers that look wrong: about {percent(audit.noise_rate, audit.noise_interval)}.")
        console.print(pairs.diagnostic["reason"])
        console.print(f"Worth checking: {worth} answers more likely wrong than right.\n")
        header = ["line", "first record", "second record", given.answer, "chance it is right"]
        rows = [
            [one["line"], one["first"], one["second"], one["given"], f"{one['quality']:.1%}"]
            for one in result["suspects"][:SHOWN]
        ]
        console.print(table("Most suspect", header, rows))
        print_written(console, written)
        print_next(console, data, output, report)

    session.show(result, text)


def _as_labels(audit: Any, answers: Any) -> Any:
    """The audit of pairs as an audit of the column of answers: so the file is reviewed and corrected as any other."""
    from .. import LabelAudit
    from ..labels.verdict import transition_of

    classes, column = np.unique(answers, return_inverse=True)
    found = np.empty((len(answers), 2))
    rows = np.arange(len(answers))
    found[rows, column], found[rows, 1 - column] = audit.quality, 1 - audit.quality
    rate = float(np.mean(1 - audit.quality))
    ranges = [ends for name, ends in audit.diagnostic["explanations"].items() if name != "errors follow the features"]
    low, high = min(ends[0] for ends in ranges), max(ends[1] for ends in ranges)
    return LabelAudit(
        answers,
        audit.quality,
        classes[np.where(audit.quality > 0.5, column, 1 - column)],
        found,
        classes,
        rate,
        (min(low, rate), max(high, rate)),
        transition_of(found, column, np.ones(len(answers))),
        audit.diagnostic,
    )


def _suspects(audit: Any, given: files.TwoRecords, ids: list[str], count: int) -> list[dict[str, Any]]:
    columns = {name: given.records[name].labels() for name in given.records.names}

    def record(position: int) -> str:
        whole = " | ".join(cells[position] for cells in columns.values() if cells[position])
        return whole if len(whole) <= WIDTH else whole[: WIDTH - 1] + "…"

    return [
        {
            "row": int(row),
            "line": ids[row],
            "first": record(given.pairs.rows[row]),
            "second": record(given.pairs.cols[row]),
            "given": str(audit.labels[row]),
            "suggested": str(audit.alternative[row]),
            "quality": round(float(audit.quality[row]), 4),
        }
        for row in audit.order[:count]
    ]


def _page(session: Session, given: files.TwoRecords, ids: list[str], audit: Any) -> str:
    from ..report import PageSettings, label_report, render

    with session.step("making the review page"):
        shown = [name for _, left, right in given.columns for name in (left, right)]
        rows = given.table.without([name for name in given.table.names if name not in shown])
        ordered = files.Table.of(rows.source, [rows[name] for name in shown])
        settings = PageSettings(title=Path(given.table.source).name, id_name="line", label_name=given.answer)
        return render(label_report(audit, X=ordered, ids=ids, settings=settings))
