"""Files that are whole at every moment, and folders that one process holds at a time.

A process may be killed, a disk may be full, and two processes may write the same file. So the content goes to a
temporary file beside the file, which is synced and renamed: readers see the old content or the new content, never a
part. A temporary file is locked while its writer lives. A temporary file without a lock is the litter of a process that
was killed, and the next writer of the same file removes it.
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
except ImportError:  # On Windows an open file can be neither renamed nor removed, which serves as a lock.
    fcntl = None  # type: ignore[assignment]  # checked before every use

#: A file name has at most 255 bytes, and a character takes up to four bytes.
NAME_CHARACTERS = 50


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; an OSError names the file and the reason, and the old file stays."""
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes], *, replace: bool = True) -> None:
    """Write several files; none gets its name before all are on the disk. Without ``replace`` none may exist."""
    with ExitStack() as files:
        for path, content in contents.items():
            stream = files.enter_context(whole_file(path, replace=replace))
            with _blaming(path):
                stream.write(content)
                _sync(stream)


@contextmanager
def whole_file(path: Path, *, replace: bool = True) -> Iterator[BinaryIO]:
    """Give a stream whose content becomes the file (behind a link too) at the end, or is dropped on an error."""
    with _blaming(path):
        target = path.resolve()
        _remove_litter(target)
        temporary, stream = _open_locked(target)
    try:
        yield stream
        with _blaming(path):
            _sync(stream)
            with suppress(OSError):  # there is no file yet, or the file system has no permissions
                shutil.copymode(target, temporary)
            if fcntl is None:
                stream.close()
            if replace or not _link(temporary, target):
                temporary.replace(target)
    finally:
        for tidy in (stream.close, temporary.unlink):
            with suppress(OSError):  # an error of writing was raised above; the temporary file may be gone
                tidy()


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder until the end, or until this process dies: meanwhile, other processes get a BlockingIOError."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # another process holds the folder, or the network file system has no locks
            if isinstance(error, BlockingIOError):
                raise
        yield
    finally:
        os.close(descriptor)


def _open_locked(target: Path) -> tuple[Path, BinaryIO]:
    """Make and lock a temporary file beside ``target``; again, if another process removed it before it was locked."""
    while True:
        temporary = target.with_name(f".{target.name[:NAME_CHARACTERS]}.{secrets.token_hex(8)}.kernelwise-tmp")
        stream = temporary.open("xb")
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks: there no process removes litter either
                fcntl.flock(stream, fcntl.LOCK_EX)
        if os.fstat(stream.fileno()).st_nlink:
            return temporary, stream
        stream.close()


def _remove_litter(target: Path) -> None:
    """Remove the temporary files of writers of ``target`` that were killed, where files can be locked."""
    litter = re.compile(rf"\.{re.escape(target.name[:NAME_CHARACTERS])}\.[0-9a-f]{{16}}\.kernelwise-tmp")
    for name in os.listdir(target.parent) if fcntl is not None else ():
        if litter.fullmatch(name):
            # Network file systems lock only files that are open for writing. On an error the writer lives, or the file
            # is gone.
            with suppress(OSError), target.with_name(name).open("r+b") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                target.with_name(name).unlink()


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Make errors of the system name the file that the caller knows, and not the temporary file."""
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
