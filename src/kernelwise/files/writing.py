"""Files written whole or not at all."""

import os
from pathlib import Path

from .errors import FileError

__all__ = ["check_output", "write_file"]


def check_output(path: str | Path, *, force: bool = False) -> Path:
    """Where a file can be written: before long work starts, and without overwriting anything unless ``force``.

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
    if path.exists() and not force:
        raise FileError(f"{path} exists; use --force to overwrite it, or choose another name")
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
        Overwrite a file that exists.

    Examples
    --------
    >>> import tempfile
    >>> from kernelwise.files import write_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(f"{folder}/a.txt", "hello").read_text()
    'hello'
    """
    path = check_output(path, force=force)
    target = path.resolve()  # the file behind a link is replaced, not the link
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
        _sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _sync_folder(folder: Path) -> None:
    """Make the new name last, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
