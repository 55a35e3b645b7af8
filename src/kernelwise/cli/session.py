"""What the commands share: options, the progress display, the output, and tables with features, labels and pictures."""

import functools
import inspect
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich import progress as bars
from rich.console import Console

from .. import files
from ..files.errors import FileError
from ..json_values import plain
from ..progress import News, Tell, silent

if TYPE_CHECKING:
    from ..files import Kind, Table, TableFeatures, TwoTables
    from ..labels.given import NumberGroups
    from ..review import CheckPlan, LabelAudit, PairAudit

#: Where there is no terminal to draw on, a step that takes longer gets a line.
SLOW_SECONDS = 1.0
#: What a data set may be, for the help of commands.
FORMATS = "CSV, TSV, Excel, Parquet, .npz, .svmlight; - is the standard input"
LEFT_OUT = "not used: --ignore leaves it out"


def option(value: str | None, said: str, *names: str, **limits: Any) -> Any:
    """An option of a command: what stands for its value in the help, and what it does."""
    return typer.Option(*names, metavar=value, help=said, **limits)


#: Of labels, pairs and records alike.
AnnotatorOption = Annotated[str | None, option("COLUMN", "The column that says who gave each label.", "--annotator")]
IdOption = Annotated[str | None, option("COLUMN", "The column that names the rows.", "--id")]
OutputOption = Annotated[Path | None, option("FILE", "Where to write the result.", "--output", "-o")]
CheckedOption = Annotated[
    Path | None,
    option("CSV", "The reviewed file: your --output CSV with decisions, or the export of the page.", "--checked"),
]


@dataclass(frozen=True)
class Reading:
    """The options that say how a table is read."""

    row_id: IdOption = None
    kind: Annotated[
        list[str],
        option(
            "COLUMN=KIND",
            "What a column holds: numeric, categorical, name, text, date, or id (not used). May be given again.",
        ),
    ] = field(default_factory=list)
    ignore: Annotated[list[str], option("COLUMN", "A column that is not to be learned from. May be given again.")] = (
        field(default_factory=list)
    )

    @property
    def kinds(self) -> "dict[str, Kind]":
        """Columns and their kinds from options such as ``age=numeric``.

        >>> Reading(kind=["zip=categorical"]).kinds
        {'zip': 'categorical'}
        """
        kinds: dict[str, Any] = {}
        for text in self.kind:
            name, equals, kind = text.rpartition("=")
            if not equals or not name:
                raise FileError(f"--kind {text!r} must be COLUMN=KIND, for example --kind zip=categorical")
            kinds[name] = kind
        return kinds


@dataclass(frozen=True)
class Reviewing:
    """The options of an audit that say what is written, what was checked, and how many checks are planned."""

    output: OutputOption = None
    report: Annotated[Path | None, option("HTML", "Write a page on which to review the suspects.")] = None
    checked: CheckedOption = None
    checks: Annotated[int | None, option("N", "Plan N rows to check next, with the chance of each.", min=1)] = None
    suspects: Annotated[
        float | None,
        option(
            None,
            "How many of the planned rows are chosen suspects: 0 = all drawn at random, 1 = all chosen. By "
            "default the first plan draws all, and later plans choose suspects as long as a tenth of all checks was "
            "drawn.",
            min=0.0,
            max=1.0,
        ),
    ] = None

    def plan(self, audit: "LabelAudit | PairAudit", seed: int) -> "CheckPlan | None":
        """The rows to check next, if some are asked for."""
        from .. import plan_checks

        if self.checks is None:
            return None
        return plan_checks(audit, self.checks, suspects=self.suspects, random_state=seed)


@dataclass(frozen=True)
class Session:
    """The shared options of one run of a command."""

    seed: Annotated[int, option(None, "Seed of everything random.", min=0)] = 0
    json: Annotated[bool, option(None, "Print the result as JSON.", "--json")] = False
    quiet: Annotated[bool, option(None, "Show no progress.", "--quiet", "-q")] = False
    force: Annotated[bool, option(None, "Overwrite files that exist.", "--force")] = False

    @contextmanager
    def step(self, what: str) -> Iterator[Tell]:
        """Show on the standard error that a step is running, how much of it is done, and the time that is left.

        The function that the context gives takes the number of parts that are done, and the number of all parts. A step
        that takes seconds need not call it.
        """
        console = Console(stderr=True)
        started = time.perf_counter()
        if console.is_terminal and not self.quiet:
            name = bars.TextColumn("{task.description}", markup=False)
            times = bars.BarColumn(), bars.TaskProgressColumn(), bars.TimeRemainingColumn(), bars.TimeElapsedColumn()
            with bars.Progress(bars.SpinnerColumn(), name, *times, console=console, transient=True) as shown:
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
            text(Console(file=sys.stdout, highlight=False, soft_wrap=True, markup=False))
            return
        value = plain(result, finite=False)
        said = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        try:
            said.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
        except UnicodeEncodeError:  # the name of a file is not made of characters: write it in ASCII
            said = json.dumps(value, indent=2, allow_nan=False)
        print(said)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters are options; a parameter of options, such as a Session, stands for its fields."""
    own = inspect.signature(function, eval_str=True).parameters
    first, *others = own.values()
    options = [option for parameter in (*others, first) for option in _options(parameter)]  # those of all come last

    @functools.wraps(function)
    def with_groups(**values: Any) -> None:
        function(**{name: _group(name, parameter.annotation, values) for name, parameter in own.items()})

    signature = inspect.Signature(options)
    with_groups.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect.signature, and so by typer
    with_groups.__annotations__ = {option.name: option.annotation for option in options}
    del with_groups.__wrapped__
    return with_groups


def _options(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    if not is_dataclass(parameter.annotation):
        return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    found = []
    for one in fields(parameter.annotation):
        default = one.default if one.default_factory is MISSING else one.default_factory()
        option = inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, annotation=one.type)
        found += _options(option if default is MISSING else option.replace(default=default))
    return found


def _group(name: str, kind: Any, values: dict[str, Any]) -> Any:
    """The value of an option, or of all options of a group."""
    if not is_dataclass(kind):
        return values[name]
    made: Any = kind
    return made(**{one.name: _group(one.name, one.type, values) for one in fields(kind)})


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
    reading: Reading,
    *,
    label: str | None = None,
    group: str | None = None,
    lines_of_answers: bool = False,
) -> Data:
    """Read a table, find the names of its rows, and make features of the columns that are no label, id or group.

    Ids have to be distinct, unless a column says who gave each label and rows may be ``lines_of_answers``.
    """
    given = [name for name in (label, reading.row_id, group) if name is not None]
    table = read(session, path, given, reading, label or ())
    for name in reading.ignore:
        if table[name].name in given:
            other = {label: "--label", reading.row_id: "--id"}.get(name, "--group")
            raise FileError(f"--ignore {name} is also named by {other}; name it once")
    unlabelled: dict[str, int] = {}
    annotators: list[str] = []
    if label is not None:
        from ..labels.leaks import find_annotator_columns
        from ..labels.spellings import without_missing_words

        values, unlabelled = without_missing_words(table[label].labels())
        if table[label].values.dtype == object:
            table = replace(table, columns=table.columns | {label: replace(table[label], values=values)})
        annotators = find_annotator_columns(table.without([*given, *reading.ignore, *reading.kinds]), values)
    rows_named = None if annotators and lines_of_answers else reading.row_id
    id_name, ids = named_rows(table, rows_named, counted=label is not None)
    # The classifier of labels scales numbers itself, other estimators do not.
    left_out = [*given, *reading.ignore, *annotators]
    features, matrix = features_of(session, table, files.TableFeatures(leave_out=left_out, scaled=label is None))
    return Data(table, features, matrix, ids, id_name, reading.ignore, unlabelled=unlabelled, annotators=annotators)


def read(
    session: Session, path: Path, given: Sequence[str], reading: Reading, label: str | Sequence[str] = ()
) -> "Table":
    """Read a table whose ``given`` columns are kept as they are written, or that the user calls no numbers."""
    kinds = reading.kinds
    worded = [name for name, kind in kinds.items() if kind != "numeric"]
    with session.step(f"reading {path}"):
        return files.read_table(path, as_written=[*given, *worded], kinds=kinds, label=label)


def features_of(
    session: Session, table: "Table", features: "TableFeatures", *, needed: bool = True
) -> "tuple[TableFeatures, Any]":
    """The features of a table and their matrix, which is None if no column is left and features are not ``needed``."""
    with session.step("making features"):
        features = features.fit(table, needed=needed)
        return features, features.transform(table) if features.n_features else None


def load_two(session: Session, paths: tuple[Path, Path], reading: Reading) -> Data:
    """Read two tables of records, and put the rows of the second below those of the first."""
    given = [] if reading.row_id is None else [reading.row_id]
    one, other = (read(session, path, given, reading) for path in paths)
    (id_name, first), (other_name, second) = (
        named_rows(table, reading.row_id, counted=False) for table in (one, other)
    )
    table, notes = files.join_tables(one, other, left_out=[id_name, other_name, *reading.ignore])
    table = table.retyped({name: kind for name, kind in reading.kinds.items() if name in table.columns})
    features, matrix = features_of(session, table, files.TableFeatures(scaled=True))
    rows = {name: row for row, name in enumerate(first)}, {name: len(first) + row for row, name in enumerate(second)}
    both = files.TwoTables((str(paths[0]), str(paths[1])), rows)
    return Data(table, features, matrix, [*first, *second], id_name, reading.ignore, both, notes)


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


def read_given(loaded: Data, label: str, kinds: "Mapping[str, Kind]") -> GivenLabels:
    """The labels of all rows; a column that cannot hold labels is refused.

    Numbers are cut into groups, unless ``kinds`` call the column categorical.
    """
    from ..labels.given import group_numbers
    from ..labels.spellings import join_spellings, label_notes, typing_errors

    column = loaded.table[label]
    written = column.labels()
    cells = np.array(written, dtype=object)
    cells[column.missing] = None
    before = Counter(cells[~column.missing].tolist())
    found = None if kinds.get(label) == "categorical" else group_numbers(cells.tolist(), loaded.table.habits)
    if found is not None:
        groups, names = found
        note = (
            f"The column {label!r} looks like numbers, not classes: {len(before)} different ones in {before.total()} "
            f"rows. It is cut into {len(groups.names)} groups of equal size ({'; '.join(groups.names)}), and a suspect "
            "is a row whose number seems to belong to another group. If the numbers are classes: --kind "
            f"{label}=categorical."
        )
        return GivenLabels(_plain(names), written, [note], groups)
    labels, joined = join_spellings(cells)
    counts = Counter(label for label in labels.tolist() if label is not None)
    check_classes(f"{loaded.table.source}, column {label!r}", counts, len(before))
    notes = label_notes(counts, joined, Counter(written), typing_errors(labels))
    return GivenLabels(_plain(labels), written, notes)


def check_classes(where: str, counts: Counter[str], n_spellings: int, rows: str = "rows", most: str = "") -> None:
    """Refuse labels of fewer than two classes, or of so many that they are no classes, ``most`` of them in a column."""
    if len(counts) < 2:
        said = f"has one label only, {next(iter(counts))!r}" if counts else "is empty"
        raise FileError(f"{where} {said}{', in several spellings' * (n_spellings > 1)}; two labels are needed")
    if len(counts) > max(2, counts.total() // 2):
        said = f"{len(counts)} different labels in {counts.total()} {rows}"
        raise FileError(f"{where} has {said}; {most}name the column of the classes")


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    return labels if any(label is None for label in labels.tolist()) else np.array(labels.tolist())
