"""Tables that are larger than memory: files that are read in chunks of rows, one after the other or by many workers.

A chunk is a table of the cells as they are written: what kind a column is, and how its numbers and dates are written,
is decided once, from a sample of the rows of all chunks, and holds for all of them (:class:`ChunkFeatures`).
"""

import gzip
import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from ..tables.columns import CELLS_FOR_HABITS, Column, Table, habits_of
from ..tables.errors import place
from ..tables.kinds import Kind, as_numbers, as_words
from ..tables.notation import Amounts
from ..tables.preparation import TableFeatures
from .delimited import GZIP, SAMPLE_ROWS, cut_rows, encoding, find_delimiter, records
from .errors import FileError, check_names, reading_a_table, refusing
from .reading import PARQUET, TEXTS, ending, parquet_module

#: The delimiter and the header of a text are found from so many characters.
HEAD = 2**20
#: Rows of a chunk, if nobody says how many.
CHUNK_ROWS = 50_000


class FilePart(NamedTuple):
    """A file, or a row group of a Parquet file: what one worker reads at a time."""

    path: Path
    group: int | None = None


def parts_of(paths: Sequence[Path]) -> list[FilePart]:
    """The parts of files that workers read; a text is read whole, so that many smaller files are better than one."""
    parts = []
    for path in paths:
        if ending(path) in PARQUET:
            parts += [FilePart(path, group) for group in range(parquet_module(path).sizes_of(path)[0])]
        else:
            parts.append(FilePart(path))
    return parts


def read_chunks(
    part: FilePart, rows: int = CHUNK_ROWS, *, columns: Collection[str] = (), only: str | None = None
) -> Iterator[Table]:
    """The rows of a part, some at a time; ``columns`` must exist and are read as written, ``only`` is the only one
    read.
    """
    if ending(part.path) in PARQUET:
        yield from parquet_module(part.path).parquet_chunks(part.path, part.group, rows, columns, only)
    elif ending(part.path) in TEXTS:
        yield from _text_chunks(part.path, rows, columns, only)
    else:
        raise FileError(f"{part.path} cannot be read in chunks; write it as .csv or .parquet")


def _text_chunks(path: Path, rows: int, columns: Collection[str], only: str | None) -> Iterator[Table]:
    with _text(path) as stream, _decoding(path):
        head = stream.read(HEAD)
        delimiter = find_delimiter(path, head)
    with _text(path) as stream, _decoding(path):
        found = records(path, stream, delimiter)
        first = list(islice(found, SAMPLE_ROWS + 20))
        top = cut_rows(
            path, [row for *_, row in first], [line for line, *_ in first], names=columns, delimiter=delimiter
        )
        names, skipped = top.names, len(first) - len(top.rows)
        check_names(path, names, columns)
        kept = range(len(names)) if only is None else [names.index(only)]
        numbered = _numbered_rows(path, chain(first[skipped:], found), len(names))
        while batch := list(islice(numbered, rows)):
            cells = list(zip(*(row for _, row in batch), strict=True))
            made = [Column(names[k], "categorical", as_words(cells[k], keep_words=names[k] in columns)) for k in kept]
            yield Table.of(path, made, lines=np.array([line for line, _ in batch], dtype=np.int64))


def _numbered_rows(
    path: Path, found: Iterable[tuple[int, int, list[str]]], width: int
) -> Iterator[tuple[int, list[str]]]:
    """Rows of cells with the line of a spreadsheet, which does not count line ends inside of quoted cells."""
    inside = 0
    for line, last, row in found:
        if len(row) == width:
            yield line - inside, row
        elif any(cell.strip() for cell in row):
            raise FileError(
                f"{place(path, line=line)}: {len(row)} cells where the header has {width}; quote cells that hold the"
                " delimiter, and write nothing between delimiters for a missing value"
            )
        inside += last - line


def _text(path: Path) -> IO[str]:
    with path.open("rb") as stream:
        first = stream.read(4)
    packed = first.startswith(GZIP)
    if packed:
        with gzip.open(path) as stream:
            first = stream.read(4)
    raw: Any = gzip.open(path) if packed else path.open("rb")  # noqa: SIM115  # the wrapper closes it
    return io.TextIOWrapper(raw, encoding=encoding(first), newline="")


@contextmanager
def _decoding(path: Path) -> Iterator[None]:
    """Turn errors of bytes that are no text, or of a damaged archive, into a :exc:`FileError`."""
    try:
        with refusing(f"{path} is packed by gzip and damaged", (EOFError, gzip.BadGzipFile)):
            yield
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise FileError(
            f"{path}: byte {byte:#04x} is not UTF-8; save the file as UTF-8 (iconv -f latin1 -t utf-8)"
        ) from error


@dataclass
class ChunkFeatures:
    """Features of chunks: the kinds of columns are found from a sample of the rows, and hold for all rows."""

    leave_out: list[str]
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    features: TableFeatures | None = None
    sample: Table | None = None

    def learn(self, rows: Table) -> Any:
        """Find the kinds of the columns, and return the features of the sample."""
        cells = {name: column.labels() for name, column in rows.columns.items() if column.values.dtype != float}
        habits = habits_of(found[:CELLS_FOR_HABITS] for name, found in cells.items() if name not in self.leave_out)
        columns = []
        with reading_a_table(f"{rows.source}, "):
            for name, column in rows.columns.items():
                if name in self.leave_out:
                    columns.append(column)
                elif name in cells:
                    columns.append(Column.of(name, cells[name], habits))
                else:
                    columns.append(Column.of_numbers(name, column.values))
            table = Table.of(rows.source, columns, lines=rows.lines, habits=habits).retyped(self.kinds)
            self.features = TableFeatures(self.leave_out, scaled=False).fit(table)
            self.sample = table
            return self.features.transform(table)

    def apply(self, rows: Table) -> Any:
        """Return the features of the rows of a chunk."""
        assert self.features is not None
        columns = dict(rows.columns)
        with reading_a_table():
            for name, kind, encoder in self.features.steps_:
                if kind == "numeric" and encoder.notation is None and columns[name].values.dtype != float:
                    numbers = as_numbers(columns[name].labels())
                    numbers = rows.numbers(name, Amounts()) if numbers is None else numbers
                    columns[name] = Column(name, "numeric", numbers)
            return self.features.transform(replace(rows, columns=columns))

    def __getstate__(self) -> dict[str, Any]:
        """The rows of the sample stay where they are."""
        return self.__dict__ | {"sample": None}
