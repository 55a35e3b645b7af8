"""Tables as text: comma, tab, semicolon or bar between cells, quoted where needed, with or without a header."""

import codecs
import csv
import gzip
import io
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ..checks import require
from ..tables.columns import Column, Table, habits_of
from ..tables.errors import place
from ..tables.kinds import as_words, is_number
from .errors import MAX_TEXT_BYTES, FileError, check_columns, check_fit, check_size, reading_a_table, refusing

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}
#: The delimiter and the header are found from so many rows.
SAMPLE_ROWS = 100
#: The cells of a text take so many times the memory of the text.
MEMORY_PER_BYTE = 10
#: Rows above the header, such as titles, are left out if they are so many at most.
TITLE_ROWS = 20
#: The line with which a spreadsheet program says which character stands between cells.
NAMES_DELIMITER = re.compile('"?sep=([,;|\t])"?\r?\n', re.IGNORECASE)
STANDARD_INPUT = Path("-")
GZIP = b"\x1f\x8b"
#: The most characters of a cell; a longer cell is a quote that was never closed.
MAX_CELL = 10_000_000


@dataclass(frozen=True)
class TextTable:
    """A text file cut into cells; rows start at ``lines``, and a spreadsheet program numbers them ``sheet_rows``."""

    delimiter: str
    header: list[str] | None
    rows: list[list[str]]
    lines: NDArray[np.int64]
    sheet_rows: NDArray[np.int64]

    @property
    def names(self) -> list[str]:
        """The header, or "column 1", "column 2", ... where names are missing."""
        given = self.header or [""] * len(self.rows[0])
        return [name.strip() or f"column {position}" for position, name in enumerate(given, start=1)]


def read_delimited(path: Path, *, as_written: Collection[str] = ()) -> Table:
    """Read a CSV or TSV file; columns ``as_written`` stay text, so that 01 and 1.50 do not become 1 and 1.5."""
    return table_of(path, cut(path, decode(path, read_bytes(path)), names=as_written), as_written)


def table_of(path: Path, text: TextTable, as_written: Collection[str] = ()) -> Table:
    """The table that cells make up."""
    if not text.rows:
        raise FileError(f"{path} has a header but no rows; give a file with at least one row below the header")
    cells = [list(column) for column in zip(*text.rows, strict=True)]
    habits = habits_of(cells)
    with reading_a_table(f"{path}, "):
        columns = [
            Column(name, "categorical", as_words(column, keep_words=True))
            if name in as_written
            else Column.of(name, column, habits)
            for name, column in zip(text.names, cells, strict=True)
        ]
    return Table.of(path, columns, lines=text.sheet_rows, habits=habits)


def read_bytes(path: Path) -> bytes:
    """The content of a text file, or of the standard input "-", unpacked; an empty or too large one is refused."""
    content = _standard_input() if path == STANDARD_INPUT else None
    size = path.stat().st_size if content is None else len(content)
    check_size(path, size, limit=MAX_TEXT_BYTES)
    if not size:
        raise FileError(f"{path} is empty; give a file with a header and at least one row")
    require(MEMORY_PER_BYTE * size, f"reading {path}", "take a sample of its rows, or write it as .parquet or .npz")
    content = path.read_bytes() if content is None else content
    return _unpacked(path, content) if content.startswith(GZIP) else content


@cache
def _standard_input() -> bytes:
    return sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)


def _unpacked(path: Path, content: bytes) -> bytes:
    """The content of a file that gzip has packed; a file that unpacks beyond the limit is refused."""
    with refusing(f"{path} is packed by gzip and damaged"):
        packed = gzip.GzipFile(fileobj=io.BytesIO(content))
        text = packed.read(MAX_TEXT_BYTES + 1)
    check_size(path, len(text), what="unpacks to", limit=MAX_TEXT_BYTES)
    require(MEMORY_PER_BYTE * len(text), f"reading {path}", "take a sample of its rows")
    return text


def decode(path: Path, content: bytes) -> str:
    """Text from bytes in UTF-8, with or without a byte order mark, or in UTF-16 with one."""
    if encoding(content) == "utf-16":
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError as error:
            raise FileError(
                f"{path} is in UTF-16 and damaged; save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')"
            ) from error
    if b"\0" in content[:65536] or b"\0" in content:
        raise FileError(f"{path} is a binary file, not text; export it as CSV, or use the ending that says what it is")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileError(
            f"{place(path, line=line)}: byte {content[error.start]:#04x} is not UTF-8; save the file as UTF-8"
            " (in a spreadsheet: 'CSV UTF-8'; or: iconv -f latin1 -t utf-8)"
        ) from error


def encoding(content: bytes) -> str:
    """The encoding of a text, by its byte order mark."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig" if content.startswith(codecs.BOM_UTF8) else "utf-8"


def cut(path: Path, text: str, *, names: Collection[str] = ()) -> TextTable:
    """Find the delimiter and the header, and cut the text into rows of equal length."""
    delimiter = find_delimiter(path, text)
    rows: list[list[str]] = []
    lines: list[int] = []
    sheet_rows: list[int] = []
    inside = 0  # line ends inside of quoted cells, which a spreadsheet does not count
    for line, last, row in records(path, text, delimiter):
        rows.append(row)
        lines.append(line)
        sheet_rows.append(line - inside)
        inside += last - line
    if NAMES_DELIMITER.match(text):
        del rows[0], lines[0], sheet_rows[0]
    while rows and not any(cell.strip() for cell in rows[-1]):
        rows.pop(), lines.pop(), sheet_rows.pop()
    return cut_rows(path, rows, lines, sheet_rows, names=names, delimiter=delimiter)


def cut_rows(
    path: Path,
    rows: list[list[str]],
    lines: list[int],
    sheet_rows: list[int] | None = None,
    *,
    names: Collection[str] = (),
    delimiter: str = ",",
) -> TextTable:
    """Find the header, leave out titles above one that holds all ``names``, and check that rows are of one length."""
    if not rows:
        raise FileError(f"{path} holds only blank lines; give a file with a header and at least one row")
    tops = [{cell.strip() for cell in row} for row in rows[:TITLE_ROWS]]
    above = next((position for position, top in enumerate(tops) if names and {*names} <= top), 0)
    rows, lines, sheet_rows = rows[above:], lines[above:], (sheet_rows or lines)[above:]
    width = len(rows[0])
    check_columns(path, width)
    start = int(is_header(rows, names))
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            raise FileError(
                f"{place(path, line=line)}: {len(row)} {'cell' if len(row) == 1 else 'cells'} where the"
                f" {'header' if start else 'first row'} has {width}; quote cells that hold a {DELIMITERS[delimiter]},"
                " and write nothing between delimiters for a missing value"
            )
    numbers = [np.array(counted[start:], dtype=np.int64) for counted in (lines, sheet_rows)]
    return TextTable(delimiter, rows[0] if start else None, rows[start:], *numbers)


def find_delimiter(path: Path, text: str) -> str:
    """The delimiter that most often cuts the first rows into the same number of cells."""
    if named := NAMES_DELIMITER.match(text):
        return named[1]
    scores = {}
    for delimiter in DELIMITERS:
        lengths: Counter[int] = Counter()
        try:
            for _, _, row in islice(records(path, text, delimiter), SAMPLE_ROWS):
                lengths[len(row)] += 1
        except FileError:
            continue  # a quote does not close: the delimiter is another one, or reading the file reports the error
        if lengths and max(lengths) > 1:
            usual, count = lengths.most_common(1)[0]
            scores[delimiter] = (count / lengths.total() if usual > 1 else 0.0, usual)
    if path.suffix.lower() in {".tsv", ".tab"}:
        return "\t"
    return max(scores, key=scores.__getitem__) if scores else ","


def is_header(rows: Sequence[Sequence[str]], names: Collection[str] = ()) -> bool:
    """Whether the first row is a header: it has one of ``names``; or no number, no blank, and not all cells recur."""
    first = [cell.strip() for cell in rows[0]]
    if any(name in first for name in names):
        return True
    # Some programs write the numbers of the rows first, in a column with a blank name.
    named = first[1:] if first and not first[0] and len(first) > 1 else first
    if any(not cell or is_number(cell) for cell in named):
        return False
    below = [{row[at].strip() for row in rows[1:SAMPLE_ROWS] if at < len(row)} for at in range(len(first))]
    return not all(cell in cells for cell, cells in zip(first, below, strict=True))


def records(path: Path, text: str | IO[str], delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """The first line, the last line, counted from 1, and the cells of every row of a text or of a stream.

    Blank lines are left out, unless the table has a single column: there a blank line may be an empty cell.
    """
    stream = io.StringIO(text, newline="") if isinstance(text, str) else text
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    width = None
    with _long_cells():
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader, None)
            except csv.Error as error:
                problem = f"the row cannot be cut into cells ({error})"
                if "unexpected end" in str(error) or "field limit" in str(error):
                    problem = 'a quoted cell that starts here has no closing "'
                raise FileError(
                    f"{place(path, line=line)}: {problem}; double the quotes inside a quoted cell"
                ) from error
            if row is None:
                return
            width = width or len(row)
            if row or width == 1:
                yield line, reader.line_num, row or [""]


def csv_line(cells: Sequence[str], delimiter: str = ",") -> str:
    """One row as text, without the end of the line; a cell that holds an end of a line of any kind is quoted."""
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter).writerow(cells)  # it ends lines with \r\n, so it quotes \r and \n
    return stream.getvalue().removesuffix("\r\n")


@contextmanager
def _long_cells() -> Iterator[None]:
    before = csv.field_size_limit(MAX_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def corrected_text(path: Path, column: str, corrections: Mapping[int, str]) -> bytes:
    """The content of a text file with some cells of a column replaced; the bytes of all other rows stay the same."""
    content = decode(path, read_bytes(path))
    table = cut(path, content, names=[column])
    check_fit(path, column, table.names, corrections, len(table.rows))
    position = table.names.index(column)
    replaced: dict[int, list[str] | None] = {}
    for row, value in corrections.items():
        cells = table.rows[row]
        replaced[int(table.lines[row])] = [*cells[:position], value, *cells[position + 1 :]]
    return rewritten(path, records(path, content, table.delimiter), replaced, table.delimiter)


def rewritten(
    path: Path, rows: Iterable[tuple[int, int, list[str]]], replaced: Mapping[int, list[str] | None], delimiter: str
) -> bytes:
    """The file in which the rows that start at some lines are replaced, or left out where the new row is None."""
    content = read_bytes(path)
    lines = list(io.StringIO(decode(path, content), newline=""))
    kept: list[str] = []
    end = 0
    for first, last, _ in rows:
        if first in replaced:
            kept += lines[end : first - 1]
            ending = lines[last - 1][len(lines[last - 1].rstrip("\r\n")) :]
            cells = replaced[first]
            kept += [] if cells is None else [csv_line(cells, delimiter) + ending]
            end = last
    written = "".join(kept + lines[end:]).encode(encoding(content))
    return gzip.compress(written, mtime=0) if path.suffix.lower() == ".gz" else written
