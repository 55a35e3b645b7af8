"""Answers to "are these two records the same?", two records in every row of a file: which answers are wrong."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from .. import files
from ..files.errors import FileError
from . import show
from .session import Reading, Reviewing, Session

#: So many characters of a record are listed, and at least so many are shown on a narrow terminal.
WIDTH, FEWEST = 200, 16
#: The characters that the line number and the gaps between the columns take on a terminal.
BESIDE = 16
ENDS = ("first", "second")


def audit_two_records(
    session: Session, data: Path, reading: Reading, reviewing: Reviewing, **words: str | None
) -> None:
    """Audit the answers of a file with two records in every row; ``words`` as in :func:`files.read_two_records`."""
    from .. import audit_record_pairs
    from ..report import read_corrections, verdicts_of
    from ..report.labels import sources_of_pairs

    with session.step(f"reading {data}"):
        given = files.read_two_records(data, kinds=reading.kinds, ignore=reading.ignore, **words)
    lines = given.table.lines if given.table.lines is not None else np.arange(1, given.table.n_rows + 1)
    ids = [str(line) for line in lines.tolist()]
    verdicts = None
    if reviewing.checked is not None:
        verdicts = verdicts_of(read_corrections(reviewing.checked), given.answers)
    with session.step(f"comparing {len(given.pairs)} pairs of records") as tell:
        told = None if verdicts is None else _of_pairs(verdicts, given)
        pairs = audit_record_pairs(given.records, given.pairs, checked=told, random_state=session.seed, progress=tell)
    audit = _as_labels(pairs, given.answers, verdicts)
    plan = reviewing.plan(audit, session.seed)
    review = partial(show.label_review, audit, ids, given.answer, plan)
    page = partial(_page, session, given, ids, audit, plan, pairs)
    written = session.write({reviewing.output: review, reviewing.report: page})
    result: dict[str, Any] = {
        "file": str(data),
        "pairs": len(given.pairs),
        "answer": given.answer,
        "compared": [name for name, *_ in given.columns],
        "annotator": given.annotator,
        "sources": sources_of_pairs(pairs),
        **show.audit_result(audit, plan, ids, line=ids, **_records(given)),
        "written": written,
    }

    def text(console: Console) -> None:
        compared = ", ".join(f"{name} ({left} and {right})" for name, left, right in given.columns)
        console.print(f"{data}: {len(given.pairs)} pairs of records, compared by {compared}.")
        low, high = audit.noise_interval
        about = f"about {show.percent(audit.noise_rate, (low, high))}" if pairs.diagnostic["reliable"] else None
        console.print(f"Answers that look wrong: {about or f'{low:.1%} to {high:.1%}'}.")
        console.print(pairs.diagnostic["reason"])
        show.print_checks(console, result, "lines")
        if result["sources"]:
            console.print(f"The column {given.annotator!r} says who gave each answer.\n")
            show.print_sources(console, result["sources"])
        header = ["line", "first record", "second record", given.answer, show.CHANCE]
        widest = max(len(word) for word in [given.answer, *given.answers.tolist()])
        room = max((console.width - len(show.CHANCE) - widest - BESIDE) // 2, FEWEST)
        rows = [
            [one["line"], *(_cut(one[end], room) for end in ENDS), one["given"], show.wrong_chance(one["quality"])]
            for one in result["suspects"][: show.SHOWN]
        ]
        show.print_suspects(console, "answer", result["worth_checking"], header, rows)
        show.print_written(console, written)
        show.print_next(console, data, reviewing, planned=plan is not None)

    session.show(result, text)


def _of_pairs(verdicts: Any, given: files.TwoRecords) -> Any:
    """The verdicts with 1 and -1 instead of the words of the answers."""
    from .. import Verdicts

    signs = dict(zip(given.answers.tolist(), given.pairs.labels.tolist(), strict=True))
    if other := [word for word in verdicts.labels if word is not None and word not in signs]:
        answers = " or ".join(map(repr, sorted(signs)))
        raise FileError(f"--checked says {other[0]!r}, but the answers in column {given.answer!r} are {answers}")
    found = [None if word is None else signs[word] for word in verdicts.labels]
    return Verdicts(verdicts.rows, found, chance=verdicts.chance, draw=verdicts.draw, drawn_from=verdicts.drawn_from)


def _as_labels(audit: Any, answers: Any, verdicts: Any) -> Any:
    """The audit of pairs as an audit of the column of answers: so the file is reviewed and corrected as any other."""
    from .. import LabelAudit
    from ..review.diagnosis import guarantee_of, transition_of

    classes, column = np.unique(answers, return_inverse=True)
    found = np.empty((len(answers), 2))
    rows = np.arange(len(answers))
    found[rows, column], found[rows, 1 - column] = audit.quality, 1 - audit.quality
    rate = float(np.mean(1 - audit.quality))
    low, high = audit.diagnostic["wrong_interval"]
    if (guarantee := guarantee_of(verdicts, answers)) is not None:
        low, high = guarantee.low, guarantee.high
    return LabelAudit(
        answers,
        audit.quality,
        classes[np.where(audit.quality > 0.5, column, 1 - column)],
        found,
        classes,
        rate,
        (low, high),
        transition_of(found, column, np.ones(len(answers))),
        audit.diagnostic,
        verdicts,
    )


def _records(given: files.TwoRecords) -> dict[str, list[str]]:
    """The first and the second record of every pair, in words."""
    cells = zip(*(given.records[name].labels() for name in given.records.names), strict=True)
    records = [_cut(" | ".join(filter(None, row)), WIDTH) for row in cells]
    return {
        end: [records[row] for row in rows]
        for end, rows in zip(ENDS, (given.pairs.rows, given.pairs.cols), strict=True)
    }


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _page(session: Session, given: files.TwoRecords, ids: list[str], audit: Any, plan: Any, pairs: Any) -> str:
    from ..report import PageSettings, record_report, render

    with session.step("making the review page"):
        settings = PageSettings(title=Path(given.table.source).name, id_name="line", label_name=given.answer)
        page = record_report(audit, given.records, given.pairs, ids=ids, plan=plan, answers=pairs, settings=settings)
        return render(page)
