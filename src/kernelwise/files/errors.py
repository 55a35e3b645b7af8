"""Files that cannot be used, and how to say so; how much memory a file may ask for; what a file is, whatever its name.

The sizes in the header of a file are checked before any memory is taken.
"""

import io
import math
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..checks import require
from ..tables.errors import TableError, choices

#: The most bytes of a file, after unpacking: more would not fit in memory as an array.
MAX_BYTES = 4 * 2**30
#: The most bytes of a text file: while it is read, its cells take about ten times as much memory.
MAX_TEXT_BYTES = 2**29
#: The most columns of a table; a matrix in a sparse format may have more.
MAX_COLUMNS = 100_000
#: The most columns of a matrix in a sparse format: each column has a name and a weight.
MAX_SPARSE_COLUMNS = 5_000_000
#: The most rows or columns of a sparse matrix: even an empty row takes eight bytes.
MAX_SAMPLES = 50_000_000
#: An archive that unpacks to more than LARGE bytes may unpack to at most MAX_RATIO times its size. Numbers shrink to a
#: tenth when they are packed, and tables that are nearly empty to less.
LARGE, MAX_RATIO = 2**28, 100
#: The bit of the flags of a member that says that the member is encrypted.
ENCRYPTED = 1
#: The errors that unpacking a damaged archive raises.
DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, OSError, ValueError, LookupError, EOFError, RuntimeError)
#: The first bytes of some formats.
BEGINNINGS = (
    (b"PAR1", "a Parquet table"),
    (b"ARROW1", "an Arrow table"),
    (b"FEA1", "a Feather table"),
    (b"\x93NUMPY", "an array of numpy (.npy)"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x1f\x8b", "a file packed by gzip"),
    (b"\x80", "a pickle of Python, which can run code when it is loaded and is therefore never loaded"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\xd0\xcf\x11\xe0", "a workbook or document of an old office program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"RDX", "data of R"),
    (b"%%MatrixMarket", "a matrix in Matrix Market format"),
)
MODEL = "a model of kernelwise"
#: Names of members that tell what a zip archive is.
MEMBERS = (
    ("card.json", MODEL),
    ("schema.json", "a model of skops that was not made by kernelwise classify"),
    ("[Content_Types].xml", "a workbook or document of an office program"),
    ("mimetype", "a document of an office program"),
)


class FileError(TableError):
    """A file that cannot be used; the message names the file, the place in it and the remedy.

    Examples
    --------
    >>> from kernelwise.files import FileError
    >>> raise FileError("a.csv is empty; give a file with a header and at least one row")
    Traceback (most recent call last):
    ...
    kernelwise.files.errors.FileError: a.csv is empty; give a file with a header and at least one row
    """


def explain(error: BaseException) -> str:
    """The message of an error on one line."""
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def refusing(
    problem: str, kinds: tuple[type[Exception], ...] = DAMAGE, *, remedy: str = "write it again"
) -> Iterator[None]:
    """Turn errors of some kinds, by default those of unpacking, into a :exc:`FileError` that says the ``problem``."""
    try:
        yield
    except (TableError, MemoryError):
        raise
    except kinds as error:
        raise FileError(f"{problem} ({explain(error)}); {remedy}") from error


@contextmanager
def reading_a_table(where: str = "", kind: type[ValueError] = TableError) -> Iterator[None]:
    """Turn the error of a table into the error of the file that holds the table; its message begins with ``where``."""
    try:
        yield
    except FileError:
        raise
    except kind as error:
        raise FileError(f"{where}{error}") from error


def human(size: float) -> str:
    """A number of bytes as people write it."""
    if size < 1000:
        return f"{size:.0f} bytes"
    power = min(int(math.log10(size) // 3), 4)
    return f"{size / 1000**power:.1f} {('kB', 'MB', 'GB', 'TB')[power - 1]}"


def check_size(path: Path, size: int, *, what: str = "holds", limit: int = MAX_BYTES) -> None:
    """Refuse more than ``limit`` bytes."""
    if size > limit:
        raise FileError(
            f"{path} {what} {human(size)}, and {human(limit)} is the most that is read; take a sample, or write it as"
            " .parquet or .npz"
        )


def check_columns(path: Path, count: int) -> None:
    """Refuse a table that is too wide."""
    if count > MAX_COLUMNS:
        raise FileError(f"{path} has {count} columns, and {MAX_COLUMNS} is the most that is read")


def check_names(path: Path, names: Collection[str], wanted: Collection[str]) -> None:
    """Refuse a file that lacks a column."""
    for name in wanted:
        if name not in names:
            raise FileError(f"{path} has no column {name!r}; {choices(name, names)}")


def check_fit(path: Path, column: str, names: Collection[str], corrections: Collection[int], n_rows: int) -> None:
    """Refuse corrections of a column, or of rows, that the file does not have."""
    check_names(path, names, [column])
    for row in corrections:
        if not 0 <= row < n_rows:
            raise FileError(
                f"{path} has {n_rows} rows, none of which is number {row}; the corrections are of other data"
            )


def open_archive(path: Path, content: Path | IO[bytes] | None = None) -> zipfile.ZipFile:
    """Open the zip archive at ``path``, or its member ``content``; an archive beyond the limits is refused."""
    with refusing(f"{path} is not a zip archive or is damaged"):
        archive = zipfile.ZipFile(path if content is None else content)
    try:
        _check_members(path, archive)
    except BaseException:
        archive.close()
        raise
    return archive


def _check_members(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse archives that are made to fill the memory or to write outside of their folder."""
    members = archive.infolist()
    unpacked, packed = (sum(getattr(member, size) for member in members) for size in ("file_size", "compress_size"))
    check_size(path, unpacked, what="unpacks to")
    if unpacked > max(LARGE, MAX_RATIO * packed):
        raise FileError(
            f"{path} unpacks to {human(unpacked)} from {human(packed)}, as archives do that are made to fill memory;"
            " if it is yours, write it without compression (numpy.savez)"
        )
    for name, times in Counter(member.filename for member in members).items():
        parts = name.replace("\\", "/..").split("/")
        if times > 1 or ".." in parts or not parts[0] or not parts[-1]:
            raise FileError(f"{path} holds {name!r}, a name that is taken or leads elsewhere; write it again")
    for member in members:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & ENCRYPTED:
            raise FileError(f"{path}: {member.filename!r} is packed in a way that is not read; write it again")
    size = archive.fp.seek(0, io.SEEK_END) if archive.fp is not None else 0
    if packed > size:
        raise FileError(f"{path} holds {human(packed)} in {human(size)}: its members overlap; write it again")
    require(unpacked, f"unpacking {path}", "take a sample of the rows")


def what_is(path: Path) -> str:
    """What a file is, in a few words."""
    with path.open("rb") as stream:
        beginning = stream.read(4096)
    if not beginning:
        return "an empty file"
    for mark, what in BEGINNINGS:
        if beginning.startswith(mark):
            return what
    if beginning.startswith(b"PK"):
        return _archive(path)
    try:
        text = beginning.decode("utf-8-sig") if b"\0" not in beginning else None
    except UnicodeDecodeError as error:
        text = beginning[: error.start].decode("utf-8-sig") if error.start > len(beginning) - 4 else None
    if text is None:
        return "a binary file of a kind that is not known"
    first = text.lstrip().partition("\n")[0].strip()
    if first[:1] == "<":
        return "a page of HTML or XML"
    if first[:1] in "{[":
        return "a JSON document"
    shown = first if len(first) <= 60 else first[:60] + "..."
    return f"a text table whose first line is {shown!r}" if any(mark in first for mark in ",;\t|") else "a text file"


def _archive(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return "a damaged zip archive"
    for name, what in MEMBERS:
        if name in names:
            return what
    return "an archive of arrays (.npz)" if names and all(name.endswith(".npy") for name in names) else "a zip archive"
