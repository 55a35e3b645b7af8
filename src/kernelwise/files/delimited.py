"""Tables as text: comma, tab, semicolon or bar between cells, quoted where needed, with or without a header."""

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..memory import require
from ..tables.columns import Column, Table, habits_of
from ..tables.kinds import as_words, is_number
from .errors import FileError, place
from .limits import MAX_COLUMNS, MAX_TEXT_BYTES, check_size

__all__ = [
    "TextTable",
    "csv_line",
    "cut",
    "decode",
    "find_delimiter",
    "is_header",
    "read_bytes",
    "read_delimited",
    "records",
]

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}
#: The delimiter and the header are found from so many rows.
SAMPLE_ROWS = 100
#: The cells of a text take so many times the memory of the text.
MEMORY_PER_BYTE = 10
#: The most characters of a cell; a longer cell is a quote that was never closed.
MAX_CELL = 10_000_000


@dataclass(frozen=True)
class TextTable:
    """A text file cut into cells. ``lines`` are the lines at which the rows start, counted from 1.

    >>> text = cut(Path("a.csv"), 'age;job\\n31;"cook; baker"\\n')
    >>> text.header, text.rows, text.lines
    (['age', 'job'], [['31', 'cook; baker']], array([2]))
    """

    delimiter: str
    header: list[str] | None
    rows: list[list[str]]
    lines: NDArray[np.int64]

    @property
    def names(self) -> list[str]:
        """The header, or "column 1", "column 2", ... where names are missing."""
        given = self.header or [""] * len(self.rows[0])
        return [name.strip() or f"column {position}" for position, name in enumerate(given, start=1)]


def read_delimited(path: Path, *, as_written: Collection[str] = ()) -> Table:
    """Read a CSV or TSV file.

    The columns ``as_written``, such as labels and ids, stay text, so that 01 and 1.50 do not become 1 and 1.5. A first
    row that holds one of their names is a header, whatever its other cells are.
    """
    text = cut(path, decode(path, read_bytes(path)), names=as_written)
    if not text.rows:
        raise FileError(f"{path} has a header but no rows; give a file with at least one row below the header")
    columns = []
    cells = [list(column) for column in zip(*text.rows, strict=True)]
    habits = habits_of(cells)
    for name, column in zip(text.names, cells, strict=True):
        if name in as_written:
            columns.append(Column(name, "categorical", as_words(column)))
        else:
            columns.append(Column.of(name, column, habits))
    return Table.of(path, columns, lines=text.lines)


def read_bytes(path: Path) -> bytes:
    """The content of a text file; an empty file and a file that is too large are refused."""
    size = path.stat().st_size
    check_size(path, size, limit=MAX_TEXT_BYTES)
    if not size:
        raise FileError(f"{path} is empty; give a file with a header and at least one row")
    require(MEMORY_PER_BYTE * size, f"reading {path}", "take a sample of its rows, or write it as .parquet or .npz")
    return path.read_bytes()


def decode(path: Path, content: bytes) -> str:
    """Text from bytes in UTF-8, with or without a byte order mark.

    >>> decode(Path("a.csv"), b"caf\\xe9\\n")
    Traceback (most recent call last):
    ...
    kernelwise.files.errors.FileError: a.csv, line 1: byte 0xe9 is not UTF-8; save the file as UTF-8 ...
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(f"{path} is in UTF-16; save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')")
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


def cut(path: Path, text: str, *, names: Collection[str] = ()) -> TextTable:
    """Find the delimiter and the header, and cut the text into rows of equal length."""
    delimiter = find_delimiter(path, text)
    rows: list[list[str]] = []
    lines: list[int] = []
    for line, _, row in records(path, text, delimiter):
        rows.append(row)
        lines.append(line)
    while rows and not any(cell.strip() for cell in rows[-1]):
        rows.pop(), lines.pop()
    if not rows:
        raise FileError(f"{path} holds only blank lines; give a file with a header and at least one row")
    width = len(rows[0])
    if width > MAX_COLUMNS:
        raise FileError(f"{path} has {width} columns, and {MAX_COLUMNS} is the most that is read")
    start = int(is_header(rows, names))
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            raise FileError(
                f"{place(path, line=line)}: {len(row)} {'cell' if len(row) == 1 else 'cells'} where the"
                f" {'header' if start else 'first row'} has {width}; quote cells that hold a {DELIMITERS[delimiter]},"
                " and write nothing between delimiters for a missing value"
            )
    return TextTable(delimiter, rows[0] if start else None, rows[start:], np.array(lines[start:], dtype=np.int64))


def find_delimiter(path: Path, text: str) -> str:
    """The delimiter that most often cuts the first rows into the same number of cells.

    >>> find_delimiter(Path("a.csv"), "a;b\\n1,5;2\\n"), find_delimiter(Path("a.csv"), "a\\n1\\n")
    (';', ',')
    """
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
    """Whether the first row is a header.

    A header holds one of ``names``; or it has no number and no blank cell, and not all its cells occur below it.

    >>> is_header([["age", "job"], ["31", "cook"]]), is_header([["31", "cook"], ["45", "baker"]])
    (True, False)
    """
    first = [cell.strip() for cell in rows[0]]
    if any(name in first for name in names):
        return True
    # Some programs write the numbers of the rows first, in a column with a blank name.
    named = first[1:] if first and not first[0] and len(first) > 1 else first
    if any(not cell or is_number(cell) for cell in named):
        return False
    below = [{row[at].strip() for row in rows[1:SAMPLE_ROWS] if at < len(row)} for at in range(len(first))]
    return not all(cell in cells for cell, cells in zip(first, below, strict=True))


def records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """The first line, the last line, counted from 1, and the cells of every row.

    Blank lines are left out, unless the table has a single column: there a blank line may be an empty cell.

    >>> list(records(Path("a.csv"), 'a,b\\n"1\\n2",3\\n', ","))
    [(1, 1, ['a', 'b']), (2, 3, ['1\\n2', '3'])]
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
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
    r"""One row as text, without the end of the line; a cell that holds an end of a line of any kind is quoted.

    >>> csv_line(["a", "b c", 'd"e', "f\rg"])
    'a,b c,"d""e","f\rg"'
    """
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
