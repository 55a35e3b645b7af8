"""The options and the data that several commands share: a table with its features, and names for its rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import files
from ..files.errors import FileError
from .session import Session

if TYPE_CHECKING:
    from ..files import Kind, Table, TableFeatures

__all__ = ["Data", "IdOption", "KindOption", "OutputOption", "ReportOption", "check_files", "load"]

IdOption = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="The column that names the rows.")]
KindOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kind", metavar="COLUMN=KIND", help="What a column holds: numeric, categorical, text, date, or id (not used)."
    ),
]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write the result.")]
ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="HTML", help="Write a page on which to review the suspects.")
]


@dataclass(frozen=True)
class Data:
    """A table, the features made of it, and the names of the rows: the cells of the id column, or numbers from 0."""

    table: "Table"
    features: "TableFeatures"
    matrix: Any
    ids: list[str]
    id_name: str

    @property
    def rows(self) -> dict[str, int]:
        """Row numbers by id."""
        return {name: row for row, name in enumerate(self.ids)}

    def shown(self) -> Any:
        """The rows as the reader knows them: the matrix, or the columns that are neither label nor id."""
        if self.table.block is not None:
            return self.table.block
        return self.table.without([*self.features.leave_out, self.id_name])

    def report(self) -> dict[str, Any]:
        """A description of the data, for the result of a command."""
        return {
            "file": str(self.table.source),
            "rows": self.table.n_rows,
            "id": self.id_name,
            "columns": self.features.describe(),
            "missing": self.table.missing(),
        }


def load(session: Session, path: Path, *, label: str | None, row_id: str | None, kinds: Sequence[str] | None) -> Data:
    """Read a table, find the names of its rows, and make features of the columns that are neither label nor id."""
    given = [name for name in (label, row_id) if name is not None]
    chosen = parse_kinds(kinds or [])
    worded = [name for name, kind in chosen.items() if kind != "numeric"]
    with session.step(f"reading {path}"):
        table = files.read_table(path, as_written=[*given, *worded], kinds=chosen)
    naming = (
        column.name
        for column in table.columns.values()
        if column.kind == "id" and len({*column.labels()} - {""}) == table.n_rows
    )
    id_name = row_id or next(naming, "row")
    ids = list(table.distinct(id_name)) if id_name in table.columns else [str(row) for row in range(table.n_rows)]
    with session.step("making features"):
        # The classifier of labels scales numbers itself, other estimators do not.
        features = files.TableFeatures(leave_out=given, scaled=label is None).fit(table)
        matrix = features.transform(table)
    return Data(table, features, matrix, ids, id_name)


def parse_kinds(options: Sequence[str]) -> "dict[str, Kind]":
    """Columns and their kinds from options such as ``age=numeric``.

    >>> parse_kinds(["zip=categorical"])
    {'zip': 'categorical'}
    """
    kinds: dict[str, Any] = {}
    for option in options:
        name, equals, kind = option.rpartition("=")
        if not equals or not name:
            raise FileError(f"--kind {option!r} must be COLUMN=KIND, for example --kind zip=categorical")
        kinds[name] = kind
    return kinds


def check_files(session: Session, *, read: Sequence[Path | None], write: Sequence[Path | None] = ()) -> None:
    """Refuse files that do not exist, and names that cannot be written, before any work starts."""
    for path in read:
        if path is not None:
            files.existing(path)
    named = [files.check_output(path, force=session.force) for path in write if path is not None]
    if len({path.resolve() for path in named}) < len(named):
        raise FileError(f"{named[0]} is named twice as a file to write; use two names")
    for path in named:
        if any(given is not None and path.exists() and path.samefile(given) for given in read):
            raise FileError(f"{path} would be written over the file that is read; choose another name")
