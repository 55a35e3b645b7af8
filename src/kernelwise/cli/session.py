"""What the commands share: options, the progress display, the output, and tables with features, labels and pictures."""

import functools
import inspect
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from .. import files
from ..files.errors import FileError
from ..json_values import plain
from ..progress import News, Tell, silent

if TYPE_CHECKING:
    from ..files import Kind, Table, TableFeatures, TwoTables
    from ..labels.given import NumberGroups

#: Where there is no terminal to draw on, a step that takes longer gets a line.
SLOW_SECONDS = 1.0
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
LEFT_OUT = "not used: --ignore leaves it out"


@dataclass(frozen=True)
class Session:
    """The shared options of one run of a command."""

    seed: int = 0
    json: bool = False
    quiet: bool = False
    force: bool = False

    @contextmanager
    def step(self, what: str) -> Iterator[Tell]:
        """Show on the standard error that a step is running, how much of it is done, and the time that is left.

        The function that the context gives takes the number of parts that are done, and the number of all parts. A step
        that takes seconds need not call it.
        """
        console = Console(stderr=True)
        started = time.perf_counter()
        if console.is_terminal and not self.quiet:
            name = TextColumn("{task.description}", markup=False)
            bar = BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
            with Progress(SpinnerColumn(), name, *bar, TimeElapsedColumn(), console=console, transient=True) as shown:
                task = shown.add_task(what, total=None)
                yield lambda done, total: shown.update(task, completed=done, total=total)
        else:
            yield silent if self.quiet else News(what)
            seconds = time.perf_counter() - started
            if seconds > SLOW_SECONDS and not self.quiet:
                print(f"{what}: {seconds:.1f} s", file=sys.stderr)

    def write(self, wanted: Mapping[Path | None, Callable[[], str]]) -> list[str]:
        """Make and write the files whose path is not None, all of them or none, and return their names."""
        contents = {path: make() for path, make in wanted.items() if path is not None}
        return [str(path) for path in files.write_files(contents, force=self.force)]

    def show(self, result: dict[str, Any], text: Callable[[Console], None]) -> None:
        """Print the result: as JSON for a machine, or by ``text`` for a person."""
        if not self.json:
            # The standard output may have been replaced since the start; soft_wrap: no word is cut without a terminal.
            text(Console(file=sys.stdout, highlight=False, soft_wrap=True))
            return
        value = plain(result, finite=False)
        said = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        try:
            said.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
        except UnicodeEncodeError:  # the name of a file is not made of characters: write it in ASCII
            said = json.dumps(value, indent=2, allow_nan=False)
        print(said)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Add the shared options to a command; its first parameter, a Session, is made of them."""
    options = {
        "seed": (int, typer.Option(help="Seed of everything random.", min=0), 0),
        "json": (bool, typer.Option("--json", help="Print the result as JSON."), False),
        "quiet": (bool, typer.Option("--quiet", "-q", help="Show no progress."), False),
        "force": (bool, typer.Option("--force", help="Overwrite files that exist."), False),
    }
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

    @functools.wraps(function)
    def with_session(**values: Any) -> None:
        session = Session(**{name: values.pop(name) for name in options})
        function(session, **values)

    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])
        for name, (kind, option, default) in options.items()
    ]
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    signature = inspect.Signature([*keyword_only, *shared])
    with_session.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect.signature, and so by typer
    with_session.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *shared)}
    del with_session.__wrapped__
    return with_session


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
    #: Columns that say who gave the labels, by their names; they are no features.
    annotators: Sequence[str] = ()

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


def load(
    session: Session,
    path: Path,
    *,
    label: str | None,
    row_id: str | None,
    kinds: Sequence[str] | None,
    ignore: Sequence[str] | None = None,
    group: str | None = None,
    lines_of_answers: bool = False,
) -> Data:
    """Read a table, find the names of its rows, and make features of the columns that are no label, id or group.

    Ids have to be distinct, unless a column says who gave each label and rows may be ``lines_of_answers``.
    """
    given = [name for name in (label, row_id, group) if name is not None]
    table = read(session, path, given, kinds, label or ())
    for name in ignore or ():
        if table[name].name in given:
            other = {label: "--label", row_id: "--id"}.get(name, "--group")
            raise FileError(f"--ignore {name} is also named by {other}; name it once")
    unlabelled: dict[str, int] = {}
    annotators: list[str] = []
    if label is not None:
        from ..labels.annotators import find_annotator_columns
        from ..labels.spellings import without_missing_words

        values, unlabelled = without_missing_words(table[label].labels())
        if table[label].values.dtype == object:
            table = replace(table, columns=table.columns | {label: replace(table[label], values=values)})
        chosen = parse_kinds(kinds or [])
        annotators = find_annotator_columns(table.without([*given, *(ignore or ()), *chosen]), values)
    rows_named = row_id if not (annotators and lines_of_answers) else None
    id_name, ids = named_rows(table, rows_named, counted=label is not None)
    # The classifier of labels scales numbers itself, other estimators do not.
    left_out = [*given, *(ignore or ()), *annotators]
    features, matrix = features_of(session, table, files.TableFeatures(leave_out=left_out, scaled=label is None))
    ignored = tuple(ignore or ())
    return Data(table, features, matrix, ids, id_name, ignored, unlabelled=unlabelled, annotators=annotators)


def read(
    session: Session, path: Path, given: Sequence[str], kinds: Sequence[str] | None, label: str | Sequence[str] = ()
) -> "Table":
    """Read a table whose ``given`` columns are kept as they are written, and so are those of which ``kinds`` say so."""
    chosen = parse_kinds(kinds or [])
    worded = [name for name, kind in chosen.items() if kind != "numeric"]
    with session.step(f"reading {path}"):
        return files.read_table(path, as_written=[*given, *worded], kinds=chosen, label=label)


def features_of(
    session: Session, table: "Table", features: "TableFeatures", *, needed: bool = True
) -> "tuple[TableFeatures, Any]":
    """The features of a table and their matrix, which is None if no column is left and features are not ``needed``."""
    with session.step("making features"):
        features = features.fit(table, needed=needed)
        return features, features.transform(table) if features.n_features else None


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
    one, other = (read(session, path, given, kinds) for path in paths)
    (id_name, first), (other_name, second) = (named_rows(table, row_id, counted=False) for table in (one, other))
    table, notes = files.join_tables(one, other, left_out=[id_name, other_name, *(ignore or ())])
    table = table.retyped({name: kind for name, kind in parse_kinds(kinds or []).items() if name in table.columns})
    features, matrix = features_of(session, table, files.TableFeatures(scaled=True))
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


def links_of_pictures(loaded: Data, column: str | None, *, page: Path | None, embed: bool) -> list[str | None] | None:
    """Links to the pictures of all rows for the review page; None if the table names no pictures.

    Without ``column``, the first column is taken in which every cell ends as the name of a picture does. Relative paths
    start at the folder of the data.
    """
    from ..report import image_links
    from ..report.page import MEDIA_TYPES, names_images

    if page is None:
        if column or embed:
            raise FileError(f"{'--image' if column else '--embed'} is for the review page; add --report review.html")
        return None
    table = loaded.table
    named = (name for name, one in table.columns.items() if one.values.dtype.kind == "O" and names_images(one.labels()))
    chosen = column or next(named, None)
    if chosen is None:
        if embed:
            raise FileError(f"--embed: {table.source} has no column of pictures; name it with --image COLUMN")
        return None
    cells = table[chosen].labels()
    if not names_images(cells):
        raise FileError(
            f"--image: column {chosen!r} of {table.source} does not hold paths of pictures, which end in "
            f"{', '.join(MEDIA_TYPES)}; name the column that does"
        )
    return image_links(cells, folder=Path(table.source).parent, page=page, embed=embed)


@dataclass(frozen=True)
class GivenLabels:
    """Labels to audit (None where the cell is empty), the cells they were made of, and sentences about them.

    ``groups`` are the groups of numbers that are the labels, if the cells are amounts.
    """

    labels: NDArray[Any]
    written: list[str]
    notes: list[str] = field(default_factory=list)
    groups: "NumberGroups | None" = None


def read_given(loaded: Data, label: str, kinds: Sequence[str] = ()) -> GivenLabels:
    """The labels of all rows; a column that cannot hold labels is refused.

    Numbers are cut into groups, unless ``kinds`` say that the column is categorical.
    """
    from ..labels.given import group_numbers
    from ..labels.spellings import join_spellings, label_notes, typing_errors

    column, source = loaded.table[label], loaded.table.source
    written = column.labels()
    cells = np.array(written, dtype=object)
    cells[column.missing] = None
    counts = Counter(cells[~column.missing].tolist())
    if len(counts) < 2:
        said = f"has one label only, {next(iter(counts))!r}" if counts else "is empty"
        raise FileError(f"{source}, column {label!r} {said}; two labels are needed")
    found = None if f"{label}=categorical" in kinds else group_numbers(cells.tolist(), loaded.table.habits)
    if found is not None:
        groups, names = found
        note = (
            f"The column {label!r} looks like numbers, not classes: {len(counts)} different ones in {counts.total()} "
            f"rows. It is cut into {len(groups.names)} groups of equal size ({'; '.join(groups.names)}), and a suspect "
            "is a row whose number seems to belong to another group. If the numbers are classes: --kind "
            f"{label}=categorical."
        )
        return GivenLabels(_plain(names), written, [note], groups)
    labels, joined = join_spellings(cells)
    counts = Counter(label for label in labels.tolist() if label is not None)
    if len(counts) < 2:
        raise FileError(f"{source}, column {label!r} has one label only, in several spellings; two labels are needed")
    if len(counts) > max(2, counts.total() // 2):
        raise FileError(
            f"{source}, column {label!r} has {len(counts)} different labels in {counts.total()} rows;"
            " name the column of the classes"
        )
    notes = label_notes(counts, joined, Counter(written), typing_errors(labels))
    return GivenLabels(_plain(labels), written, notes)


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels in an array of strings, if none is missing."""
    return labels if any(label is None for label in labels.tolist()) else np.array(labels.tolist())
