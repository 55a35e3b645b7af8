"""Files that are whole at every moment, and folders that one process holds at a time.

A process may be killed, a disk may be full, and two processes may write the same file. Content goes to a temporary name
beside the file, is synced, and is renamed; so readers see the old content or the new one, never a part. A temporary
file is locked while its writer lives: one that is not is litter of a process that was killed, and the next writer of
the same file removes it.
"""

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where an open file can be neither renamed nor removed: that is lock enough
    fcntl = None  # type: ignore[assignment]  # asked for before every use

__all__ = ["alone_in", "whole_file", "write_together", "write_whole"]

#: A file name has at most 255 bytes, and a character up to four.
NAME_CHARACTERS = 50


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; an OSError names the file and the reason, and leaves what was there before."""
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes], *, replace: bool = True) -> None:
    """Write several files, none of which gets its name before all of them are on the disk.

    Without ``replace``, a file that is there already is a FileExistsError.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelwise.whole_files import write_together
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_together({Path(folder, "a"): b"1", Path(folder, "b"): b"2"})
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['a', 'b']
    """
    with ExitStack() as files:
        for path, content in contents.items():
            stream = files.enter_context(whole_file(path, replace=replace))
            with _blaming(path):
                stream.write(content)
                _sync(stream)


@contextmanager
def whole_file(path: Path, *, replace: bool = True) -> Iterator[BinaryIO]:
    """Give a stream whose content becomes that of ``path`` at the end, or is dropped if anything is raised.

    The file behind a link is replaced, not the link, and keeps its permissions.
    """
    with _blaming(path):
        target = path.resolve()
        _remove_litter(target)
        temporary, stream = _open_locked(target)
    try:
        yield stream
        with _blaming(path):
            _sync(stream)
            with suppress(OSError):  # there is no file yet, or no permissions on this file system
                shutil.copymode(target, temporary)
            if fcntl is None:
                stream.close()
            if replace or not _link(temporary, target):
                temporary.replace(target)
    finally:
        for tidy in (stream.close, temporary.unlink):
            with suppress(OSError):  # what could not be flushed was blamed above; the name may be gone
                tidy()


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder until the end, or until this process dies: others who ask for it get a BlockingIOError.

    The folder itself is locked, so nothing is left in it. Systems that cannot lock folders let everybody in.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # somebody holds it; or a network file system without locks
            if isinstance(error, BlockingIOError):
                raise
        yield
    finally:
        os.close(descriptor)


def _open_locked(target: Path) -> tuple[Path, BinaryIO]:
    """Make a temporary file beside ``target`` and lock it, again if somebody took it for litter before it was."""
    while True:
        temporary = target.with_name(f".{target.name[:NAME_CHARACTERS]}.{secrets.token_hex(8)}.kernelwise-tmp")
        stream = temporary.open("xb")
        if fcntl is not None:
            with suppress(OSError):  # no locks here: then nobody takes it for litter either
                fcntl.flock(stream, fcntl.LOCK_EX)
        if os.fstat(stream.fileno()).st_nlink:
            return temporary, stream
        stream.close()


def _remove_litter(target: Path) -> None:
    """Remove what writers of ``target`` left behind who were killed, where files can be locked."""
    litter = re.compile(rf"\.{re.escape(target.name[:NAME_CHARACTERS])}\.[0-9a-f]{{16}}\.kernelwise-tmp")
    for name in os.listdir(target.parent) if fcntl is not None else ():
        if litter.fullmatch(name):
            # Network file systems lock what can be written only. An error: the writer lives, or the file is gone.
            with suppress(OSError), target.with_name(name).open("r+b") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                target.with_name(name).unlink()


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Errors of the system name the file that the caller knows, not the temporary one."""
    try:
        yield
    except OSError as error:
        reason = f"could not be written ({error.strerror or error}); make room, or choose another folder"
        raise OSError(error.errno or 0, reason, str(path)) from error


def _sync(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _link(temporary: Path, target: Path) -> bool:
    """Give the file its name unless the name is taken; False where the file system has no links."""
    try:
        os.link(temporary, target)
    except OSError:
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        return False
    return True
