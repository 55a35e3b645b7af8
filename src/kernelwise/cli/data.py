"""Corrections that go back into the data."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .. import files
from ..files.errors import FileError
from .inputs import OutputOption, check_files
from .session import Session

__all__ = ["apply"]


def apply(
    session: Session,
    data: Annotated[Path, typer.Argument(help="The data set, or the file of links, that was reviewed.")],
    corrections: Annotated[Path, typer.Argument(help="What the review page, or audit --output, wrote.")],
    label: Annotated[
        str | None, typer.Option("--label", metavar="COLUMN", help="The column of labels, if not as reviewed.")
    ] = None,
    output: OutputOption = None,
    verified: Annotated[
        Path | None, typer.Option("--verified", metavar="CSV", help="Write what was verified, to check the copy with.")
    ] = None,
) -> None:
    """Write a copy of the data in which the corrected labels, or links, are right.

    Rows that are marked "wrong" get the corrected label; all other lines stay as they are. Links marked as wrong are
    left out, or relabelled where the file says "same" or "different". --verified keeps what people verified, for
    kernelwise audit labels COPY --checked CSV. The draws are not kept: corrected rows no longer stand for others.
    """
    from ..report import Correction, read_corrections, write_corrections

    target = output or _beside(data)
    check_files(session, read=[data, corrections], write=[target, verified])
    made = read_corrections(corrections)
    decided = [correction for correction in made if correction.decision in ("correct", "wrong")]
    if any(correction.other_id for correction in made):
        links = {frozenset({one.id, one.other_id}): one for one in decided}  # the last word on a link counts
        changes: dict[Any, Any] = {ends: one.corrected == "1" for ends, one in links.items() if one.changes}
        content = files.corrected_links(data, changes)
    else:
        column = label or next((correction.column for correction in made if correction.column), "")
        if not column:
            raise FileError(f"{corrections} does not name the column of the labels; use --label COLUMN")
        _check_given(data, column, {correction.row: correction.given for correction in made})
        rows = {one.row: one for one in decided}
        changes = {row: one.corrected for row, one in rows.items() if one.changes}
        content = files.corrected_file(data, column, changes)
    files.write_file(target, content, force=session.force)
    if verified is not None:
        kept = {(one.row, one.id, one.other_id, one.column, one.corrected or one.given) for one in decided}
        facts = [
            Correction(row, label, label, "correct", name, other, column)
            for row, name, other, column, label in sorted(kept)
        ]
        write_corrections(facts, verified, force=session.force)
    result = {"file": str(target), "reviewed": len(decided), "changed": len(changes)}
    said = f"{target}: {len(changes)} corrected, of {len(decided)} reviewed."
    session.show(result, lambda console: console.print(said, markup=False))


def _beside(data: Path) -> Path:
    """The name of the corrected copy: the ending of a packed file (.csv.gz) stays whole."""
    if str(data) == "-":
        raise FileError("the data come from the standard input, so that the copy has no name; use --output FILE")
    endings = "".join(data.suffixes[-2:]) if data.suffix.lower() == ".gz" else data.suffix
    return data.with_name(f"{data.name.removesuffix(endings)}-corrected{endings}")


def _check_given(data: Path, column: str, given: dict[int, str]) -> None:
    """Refuse corrections that were made for labels which are not those of the data."""
    from ..labels.given import same_label

    table = files.read_table(data, as_written=[column])
    labels = table[column].labels()
    for row, label in given.items():
        if row >= len(labels):
            raise FileError(
                f"{data} has {len(labels)} rows, and the corrections name row {row} (from 0); these are other data"
            )
        if not same_label(labels[row], label):
            raise FileError(
                f"{table.where(row, column)}: the label is {labels[row]!r}, but the correction was made for {label!r};"
                " these corrections are of other data, or were applied already"
            )
