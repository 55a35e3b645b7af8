"""How much a file may ask for. What a header claims is compared with the file before any memory is taken."""

import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .errors import FileError, explain

__all__ = [
    "MAX_BYTES",
    "MAX_COLUMNS",
    "MAX_SAMPLES",
    "MAX_TEXT_BYTES",
    "check_size",
    "human",
    "open_archive",
    "unpacking",
]

#: The largest file, after unpacking, that is read: more would not fit in memory as an array.
MAX_BYTES = 4 * 2**30
#: The largest text file: its cells take about ten times as much memory while it is read.
MAX_TEXT_BYTES = 2**29
#: The most columns of a table; a matrix in a sparse format may have more.
MAX_COLUMNS = 100_000
#: The most rows or columns of a sparse matrix, each of which costs eight bytes however empty it is.
MAX_SAMPLES = 50_000_000
#: What unpacking a damaged archive raises.
DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, OSError, ValueError, KeyError, EOFError, RuntimeError)


def human(size: float) -> str:
    """A number of bytes as people write it.

    >>> human(3_000_000_000)
    '3.0 GB'
    """
    if size < 1000:
        return f"{size:.0f} bytes"
    power = min(int(math.log10(size) // 3), 4)
    return f"{size / 1000**power:.1f} {('kB', 'MB', 'GB', 'TB')[power - 1]}"


def check_size(path: Path, size: int, *, what: str = "holds", limit: int = MAX_BYTES) -> None:
    """Refuse more than ``limit`` bytes.

    >>> check_size(Path("a.npy"), 9 * 10**14, what="declares")
    Traceback (most recent call last):
    ...
    kernelwise.files.errors.FileError: a.npy declares 900.0 TB, and 4.3 GB is the most that is read; ...
    """
    if size > limit:
        raise FileError(
            f"{path} {what} {human(size)}, and {human(limit)} is the most that is read; take a sample, or write it as"
            " .parquet or .npz"
        )


def open_archive(path: Path, content: Path | IO[bytes] | None = None) -> zipfile.ZipFile:
    """Open a zip archive, at ``path`` or within it, whose members, unpacked, are within the limits.

    The sizes are those of the directory of the archive; reading a member never gives more bytes than it says there.
    """
    with unpacking(f"{path} is not a zip archive or is damaged"):
        archive = zipfile.ZipFile(path if content is None else content)
    try:
        check_size(path, sum(member.file_size for member in archive.infolist()), what="unpacks to")
    except FileError:
        archive.close()
        raise
    return archive


@contextmanager
def unpacking(problem: str) -> Iterator[None]:
    """Say ``problem`` where an archive cannot be unpacked.

    >>> with unpacking("a.npz is damaged"):
    ...     raise zipfile.BadZipFile("bad CRC")
    Traceback (most recent call last):
    ...
    kernelwise.files.errors.FileError: a.npz is damaged (bad CRC); write it again
    """
    try:
        yield
    except FileError:
        raise
    except DAMAGE as error:
        raise FileError(f"{problem} ({explain(error)}); write it again") from error
