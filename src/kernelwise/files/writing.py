"""Files written whole or not at all."""

import os
from collections.abc import Mapping
from pathlib import Path

from ..whole_files import write_together
from .errors import FileError


def check_output(path: str | Path, *, force: bool = False) -> Path:
    """Check, before long work starts, that a file can be written; only ``force`` overwrites a file that exists.

    >>> check_output("no/such/folder/a.csv")
    Traceback (most recent call last):
    ...
    kernelwise.files.errors.FileError: there is no folder no/such/folder to write a.csv to; make it first
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileError(f"there is no folder {path.parent} to write {path.name} to; make it first")
    if path.is_dir():
        raise FileError(f"{path} is a folder; name a file to write")
    if path.exists() and not path.is_file():
        raise FileError(f"{path} is a device or a pipe; name a file to write")  # a file would replace the device
    if path.exists() and not force:
        raise FileError(_exists(path))
    if not os.access(path.parent, os.W_OK):
        raise FileError(f"{path.parent} cannot be written to; choose another folder")
    return path


def write_file(path: str | Path, content: bytes | str, *, force: bool = False) -> Path:
    """Write a file whole or not at all: to a temporary name beside it, synced, then renamed.

    Parameters
    ----------
    path : path
    content : bytes or str
        Text is written in UTF-8.
    force : bool
        Whether to overwrite a file that exists.

    Examples
    --------
    >>> import tempfile
    >>> from kernelwise.files import write_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(f"{folder}/a.txt", "hello").read_text()
    'hello'
    """
    return write_files({Path(path): content}, force=force)[0]


def write_files(contents: Mapping[Path, bytes | str], *, force: bool = False) -> list[Path]:
    """Write several files, or none of them where one cannot be written.

    Parameters
    ----------
    contents : mapping of Path to bytes or str
        Text is written in UTF-8.
    force : bool
        Whether to overwrite files that exist.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelwise.files import write_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_files({Path(folder, "a.csv"): "id", Path(folder, "a.html"): "<p>"})]
    ['a.csv', 'a.html']
    """
    encoded = {
        check_output(path, force=force): content.encode() if isinstance(content, str) else content
        for path, content in contents.items()
    }
    try:
        write_together(encoded, replace=force)
    except FileExistsError as error:  # another process wrote the file since the check
        raise FileError(_exists(error.filename)) from error
    except OSError as error:
        raise FileError(f"{error.filename} {error.strerror}") from error
    return list(encoded)


def _exists(path: str | Path) -> str:
    return f"{path} exists; use --force to overwrite it, or choose another name"
