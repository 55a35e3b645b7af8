"""Corrections that go back into the data."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console

from .. import files
from ..files.errors import FileError
from .labels import CONSENSUS
from .session import OutputOption, Session, check_files, option
from .show import SHOWN

if TYPE_CHECKING:
    from ..report import Correction


#: The name of a group of numbers: see :class:`kernelwise.labels.given.NumberGroups`.
GROUP = re.compile(r"\d: (up to|above) -?\d")
OTHER_DATA = "these corrections are of other data, or were applied already"


def apply(
    session: Session,
    data: Annotated[Path, typer.Argument(help="The data set, or the file of links, that was reviewed.")],
    corrections: Annotated[Path, typer.Argument(help="What the review page, or audit --output, wrote.")],
    label: Annotated[str | None, option("COLUMN", "The column of labels, if not as reviewed.", "--label")] = None,
    output: OutputOption = None,
    verified: Annotated[
        Path | None, option("CSV", "Write what was verified, to check the copy with.", "--verified")
    ] = None,
) -> None:
    """Write a copy of the data in which the corrected labels, or links, are right.

    Rows that are marked "wrong" get the corrected label; all other lines stay as they are. Links marked as wrong are
    left out, or relabelled where the file says "same" or "different". --verified keeps what people verified, for
    kernelwise audit labels COPY --checked CSV. The draws are not kept: corrected rows no longer stand for others.
    """
    from ..labels.spellings import meant_label, spelling
    from ..report import Correction, read_corrections, write_corrections

    target = output or _beside(data)
    check_files(session, read=[data, corrections], write=[target, verified])
    made = read_corrections(corrections)
    decided = [correction for correction in made if correction.decision in ("correct", "wrong")]
    if any(correction.other_id for correction in made):
        content, changed = _corrected_links(data, made, decided)
    else:
        column = label or next((one.column for one in made if one.column), "")
        if not column:
            raise FileError(f"{corrections} does not name the column of the labels; use --label COLUMN")
        if column == CONSENSUS and column not in files.read_table(data).names:
            raise FileError(
                f"{corrections} is of the consensus of several answers, which {data} does not hold; run the audit "
                f"again with --checked {corrections} --consensus FILE, which writes the corrected consensus of all rows"
            )
        labels = _check_given(data, column, {correction.row: correction.given for correction in made})
        last = {one.row: one for one in decided}
        changes = {row: one.corrected for row, one in last.items() if one.changes}
        known = {spelling(one) for one in labels if one is not None}
        for row, right in changes.items():  # refused where it looks like a typing error
            if spelling(right) not in known and (meant := meant_label(right, np.array(labels, dtype=object))):
                raise FileError(
                    f"{corrections}: row {row} is corrected to {right!r}, a label that no row of the data has; write "
                    f"{meant!r}, if this is a typing error"
                )
        content, changed = files.corrected_file(data, column, changes), len(changes)
    files.write_file(target, content, force=session.force)
    if verified is not None:
        found = {(one.row, one.corrected or one.given, one.id, one.other_id, one.column) for one in decided}
        facts = [Correction(row, label, label, "correct", *names) for row, label, *names in sorted(found)]
        write_corrections(facts, verified, force=session.force)
    result = {"file": str(target), "reviewed": len(decided), "changed": changed}
    said = f"{target}: {changed} corrected, of {len(decided)} reviewed."
    session.show(result, lambda console: console.print(said))


def merge(
    session: Session,
    reviews: Annotated[list[Path], typer.Argument(help="The corrections of two or more reviewers.")],
    output: OutputOption = None,
) -> None:
    """Merge the corrections of several reviewers of the same data, and say how often they agree.

    The answer of the majority counts. A row without a majority becomes "unclear", and its comment names who said what.
    A reviewer is named by the page, or else by the file.
    """
    from ..report import merge_corrections, read_corrections, write_corrections

    if len(reviews) < 2:
        raise FileError("merge needs the corrections of two reviewers at least; name two files")
    target = output or reviews[0].with_name("corrections-merged.csv")
    check_files(session, read=reviews, write=[target])
    merged = merge_corrections({str(path): read_corrections(path) for path in reviews})
    write_corrections(merged.corrections, target, force=session.force)
    ids = {one.row: " – ".join(filter(None, (one.id, one.other_id))) for one in merged.corrections}
    result = {
        "file": str(target),
        "rows": len(merged.corrections),
        "agreements": [asdict(agreement) for agreement in merged.agreements],
        "disputed": [{"row": row, "id": ids[row]} for row in merged.disputed],
    }

    def text(console: Console) -> None:
        for one in merged.agreements:
            kappa = "" if one.kappa is None else f" (Cohen's kappa {one.kappa:.2f})"
            said = f"{one.first} and {one.second} agree on {one.n_same} of {one.n_both} rows that both decided{kappa}."
            console.print(said)
        if not merged.agreements:
            console.print("No two reviewers decided about the same row.")
        if merged.disputed:
            names = ", ".join(ids[row] or str(row) for row in merged.disputed[:SHOWN])
            more = " ..." if len(merged.disputed) > SHOWN else ""
            console.print(f"Rows to talk about: {names}{more}")
        console.print(f"{target}: {len(merged.corrections)} rows.")

    session.show(result, text)


def _beside(data: Path) -> Path:
    """The name of the corrected copy: the ending of a packed file (.csv.gz) stays whole."""
    if str(data) == "-":
        raise FileError("the data come from the standard input, so that the copy has no name; use --output FILE")
    endings = "".join(data.suffixes[-2:]) if data.suffix.lower() == ".gz" else data.suffix
    return data.with_name(f"{data.name.removesuffix(endings)}-corrected{endings}")


def _corrected_links(data: Path, made: "list[Correction]", decided: "list[Correction]") -> tuple[bytes, int]:
    """The corrected file of links, and the number of decisions that change a link."""
    from ..files.links import link_answers, link_words
    from .pairs import signed

    made, pairs = (signed(some, link_words(data)) for some in (made, decided))
    answers, words = link_answers(data), {True: "same", False: "different"}
    for one in made:  # refused if the pair is not in the file, or has another answer there
        pair, given = f"{one.id} - {one.other_id}", one.given == "1"
        if (found := answers.get(_ends(one))) is None:
            raise FileError(f"{data} has no pair {pair}; {OTHER_DATA}")
        if None not in found and given not in found:
            raise FileError(
                f"{data}: the pair {pair} is given as {words[not given]}, but the correction was made for "
                f"{words[given]}; {OTHER_DATA}"
            )
    # A pair may stand in the file several times: the last word on it counts for all.
    right = {_ends(one): one.given if one.decision == "correct" else one.corrected for one in pairs}
    changed = [one for one in pairs if one.given != right[_ends(one)]]
    return files.corrected_links(data, {_ends(one): right[_ends(one)] == "1" for one in changed}), len(changed)


def _ends(correction: "Correction") -> frozenset[str]:
    return frozenset({correction.id, correction.other_id})


def _check_given(data: Path, column: str, given: dict[int, str]) -> list[str | None]:
    """Refuse corrections that were made for labels which are not those of the data, and return the labels."""
    from ..labels.spellings import same_label
    from ..tables.kinds import is_word_for_missing

    table = files.read_table(data, label=column)
    labels = table[column].labels()
    groups = [label for label in given.values() if GROUP.match(label)]
    if groups and groups[0] not in labels:
        raise FileError(
            f"the corrections are of groups of numbers, such as {groups[0]!r}, and column {column!r} of {data} holds "
            "the numbers; write the right numbers into the data, or into the column corrected of an --output CSV"
        )
    for row, label in given.items():
        if row >= len(labels):
            raise FileError(
                f"{data} has {len(labels)} rows, and the corrections name row {row} (from 0); these are other data"
            )
        if not same_label(labels[row], label) and not (label == "" and is_word_for_missing(labels[row])):
            raise FileError(
                f"{table.where(row, column)}: the label is {labels[row]!r}, but the correction was made for {label!r}; "
                f"{OTHER_DATA}"
            )
    return list(labels)
