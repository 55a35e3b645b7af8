"""The options and the data that several commands share: a table with its features, and names for its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import files
from ..files.errors import FileError
from .session import Session

if TYPE_CHECKING:
    from ..files import Kind, Table, TableFeatures, TwoTables

__all__ = [
    "FORMATS",
    "Data",
    "IdOption",
    "IgnoreOption",
    "KindOption",
    "OutputOption",
    "ReportOption",
    "check_files",
    "load",
    "load_two",
    "named_rows",
    "parse_kinds",
]

IdOption = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="The column that names the rows.")]
KindOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help="What a column holds: numeric, categorical, name, text, date, or id (not used). May be given again.",
    ),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="COLUMN", help="A column that is not to be learned from. May be given again."),
]
#: What a data set may be, for the help of commands.
FORMATS = "CSV, TSV, Excel, Parquet, .npz, .svmlight; - is the standard input"
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write the result.")]
ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="HTML", help="Write a page on which to review the suspects.")
]


@dataclass(frozen=True)
class Data:
    """A table, the features made of it, and the names of the rows: see :func:`named_rows`."""

    table: "Table"
    features: "TableFeatures"
    matrix: Any
    ids: list[str]
    id_name: str
    ignored: Sequence[str] = ()
    #: The ids of each of two tables, if there are two, and sentences about the tables.
    two_tables: "TwoTables | None" = None
    notes: Sequence[str] = ()
    #: The cells of the column of labels that hold no label, with their number; "" for empty cells.
    unlabelled: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> "dict[str, int] | TwoTables":
        """Row numbers by id."""
        return self.two_tables or {name: row for row, name in enumerate(self.ids)}

    @property
    def has_ids(self) -> bool:
        """Whether a column names the rows."""
        return self.id_name in self.table.columns

    def shown(self) -> Any:
        """The rows as the reader knows them: the matrix, or the columns that are neither label nor id."""
        if self.table.block is not None:
            return self.table.block
        return self.table.without([*self.features.leave_out, self.id_name])

    def columns(self) -> list[dict[str, str]]:
        """What each column became, in words."""
        return [*self.features.describe(), *({"column": name, "becomes": LEFT_OUT} for name in self.ignored)]

    def report(self) -> dict[str, Any]:
        """A description of the data, for the result of a command."""
        return {
            "file": str(self.table.source),
            "rows": self.table.n_rows,
            "id": self.id_name,
            "columns": self.columns(),
            "missing": self.table.missing(),
        }


LEFT_OUT = "not used: --ignore leaves it out"


def load(
    session: Session,
    path: Path,
    *,
    label: str | None,
    row_id: str | None,
    kinds: Sequence[str] | None,
    ignore: Sequence[str] | None = None,
) -> Data:
    """Read a table, find the names of its rows, and make features of the columns that are neither label nor id."""
    given = [name for name in (label, row_id) if name is not None]
    table = _read(session, path, given, kinds, label)
    for name in ignore or ():
        if table[name].name in given:
            raise FileError(f"--ignore {name} is also named by {'--label' if name == label else '--id'}; name it once")
    unlabelled: dict[str, int] = {}
    if label is not None:
        from ..labels.given import without_missing_words

        values, unlabelled = without_missing_words(table[label].labels())
        if table[label].values.dtype == object:
            table = replace(table, columns=table.columns | {label: replace(table[label], values=values)})
    id_name, ids = named_rows(table, row_id, counted=label is not None)
    # The classifier of labels scales numbers itself, other estimators do not.
    left_out = [*given, *(ignore or ())]
    features, matrix = _features(session, table, files.TableFeatures(leave_out=left_out, scaled=label is None))
    return Data(table, features, matrix, ids, id_name, tuple(ignore or ()), unlabelled=unlabelled)


def _read(
    session: Session, path: Path, given: Sequence[str], kinds: Sequence[str] | None, label: str | None = None
) -> "Table":
    chosen = parse_kinds(kinds or [])
    worded = [name for name, kind in chosen.items() if kind != "numeric"]
    with session.step(f"reading {path}"):
        return files.read_table(path, as_written=[*given, *worded], kinds=chosen, label=label)


def _features(session: Session, table: "Table", features: "TableFeatures") -> "tuple[TableFeatures, Any]":
    with session.step("making features"):
        features = features.fit(table)
        return features, features.transform(table)


def load_two(
    session: Session,
    paths: tuple[Path, Path],
    *,
    row_id: str | None,
    kinds: Sequence[str] | None,
    ignore: Sequence[str] | None = None,
) -> Data:
    """Read two tables of records, and put the rows of the second below those of the first."""
    given = [] if row_id is None else [row_id]
    one, other = (_read(session, path, given, kinds) for path in paths)
    (id_name, first), (other_name, second) = (named_rows(table, row_id, counted=False) for table in (one, other))
    table, notes = files.join_tables(one, other, left_out=[id_name, other_name, *(ignore or ())])
    features, matrix = _features(session, table, files.TableFeatures(scaled=True))
    rows = {name: row for row, name in enumerate(first)}, {name: len(first) + row for row, name in enumerate(second)}
    both = files.TwoTables((str(paths[0]), str(paths[1])), rows)
    return Data(table, features, matrix, [*first, *second], id_name, tuple(ignore or ()), both, notes)


def named_rows(table: "Table", row_id: str | None, *, counted: bool = True) -> tuple[str, list[str]]:
    """The name of the column of ids, and the id of every row; without such a column, the rows are counted.

    Rows of a text file or workbook are counted as a spreadsheet counts them, with the header ("line"); other rows from
    1. Links between rows that have no names are indices: then nothing is ``counted``, and the ids are positions from 0.
    """
    naming = (
        column.name
        for column in table.columns.values()
        if column.kind == "id" and len({*column.labels()} - {""}) == table.n_rows
    )
    name = row_id or next(naming, None)
    if name is not None:
        return name, list(table.distinct(name))
    if not counted:
        return "row", [str(row) for row in range(table.n_rows)]
    if table.lines is not None:
        return "line", [str(line) for line in table.lines.tolist()]
    return "row", [str(row) for row in range(1, table.n_rows + 1)]


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
    if sum(str(path) == "-" for path in read) > 1:
        raise FileError("the standard input (-) is named twice; write one of the two to a file")
    named = [files.check_output(path, force=session.force) for path in write if path is not None]
    if len({path.resolve() for path in named}) < len(named):
        raise FileError(f"{named[0]} is named twice as a file to write; use two names")
    for path in named:
        if any(given is not None and given.exists() and path.exists() and path.samefile(given) for given in read):
            raise FileError(f"{path} would be written over the file that is read; choose another name")
