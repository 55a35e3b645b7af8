"""Files that are whole at every moment, and folders that one process holds at a time.

A process may be killed, a disk may be full, and two processes may write the same file. Content goes to a temporary name
beside the file, is synced, and is renamed; so readers see the old content or the new one, never a part. A temporary
file is locked while its writer lives: one that is not is litter of a process that was killed, and the next writer of
the same file removes it.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
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
    """Write a file whole or not at all, in place of the one that may be there.

    Parameters
    ----------
    path : Path
    content : bytes

    Raises
    ------
    OSError
        Which names ``path`` and the reason. What was there before is intact.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelwise.whole_files import write_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "table.md", b"| a |")
    ...     [path.name for path in Path(folder).iterdir()]
    ['table.md']
    """
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes], *, replace: bool = True) -> None:
    """Write several files, none of which is renamed before all of them are on the disk.

    Parameters
    ----------
    contents : mapping of Path to bytes
    replace : bool, default=True
        Whether files that are there already are replaced; otherwise that is a FileExistsError.

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

    Parameters
    ----------
    path : Path
        The file behind a link is replaced, not the link. A file that is replaced keeps its permissions.
    replace : bool, default=True

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelwise.whole_files import whole_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.txt"
    ...     with whole_file(path) as stream:
    ...         _ = stream.write(b"new")
    ...         print(path.exists())
    ...     print(path.read_text())
    False
    new
    """
    with _blaming(path):
        target = path.resolve()
        _remove_litter(target)
        temporary, stream = _open_locked(target)
    try:
        yield stream
        with _blaming(path):
            _sync(stream)
            if fcntl is None:
                stream.close()
            _give_name(temporary, target, replace)
    finally:
        with contextlib.suppress(OSError):  # what could not be flushed was blamed above
            stream.close()
        with contextlib.suppress(OSError):  # gone already, or else litter for the next writer
            temporary.unlink()


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder until the end, or until this process dies: others who ask for it get a BlockingIOError.

    The folder itself is locked, so nothing is left in it. Systems that cannot lock folders let everybody in.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelwise.whole_files import alone_in
    >>> with tempfile.TemporaryDirectory() as folder, alone_in(Path(folder)):
    ...     with alone_in(Path(folder)):
    ...         pass
    Traceback (most recent call last):
    ...
    BlockingIOError: ...
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:  # some network file systems
            pass
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Errors of the system name the file that the caller knows, not the temporary one."""
    try:
        yield
    except OSError as error:
        reason = f"could not be written ({error.strerror or error}); make room, or choose another folder"
        raise OSError(error.errno or 0, reason, str(path)) from error


def _temporary_name(target: Path) -> str:
    return f".{target.name[:NAME_CHARACTERS]}.{secrets.token_hex(8)}.kernelwise-tmp"


def _open_locked(target: Path) -> tuple[Path, BinaryIO]:
    """Make a temporary file beside ``target`` and lock it."""
    while True:
        temporary = target.with_name(_temporary_name(target))
        stream = temporary.open("xb")
        if fcntl is not None:
            with contextlib.suppress(OSError):  # no locks here: then nobody takes it for litter either
                fcntl.flock(stream, fcntl.LOCK_EX)
            if os.fstat(stream.fileno()).st_nlink == 0:  # somebody took it for litter before it was locked
                stream.close()
                continue
        return temporary, stream


def _remove_litter(target: Path) -> None:
    """Remove what writers of ``target`` left behind who were killed."""
    litter = re.compile(rf"\.{re.escape(target.name[:NAME_CHARACTERS])}\.[0-9a-f]{{16}}\.kernelwise-tmp")
    for name in os.listdir(target.parent):
        if litter.fullmatch(name):
            with contextlib.suppress(OSError):  # its writer lives, or somebody else was faster
                _remove_unlocked(target.with_name(name))


def _remove_unlocked(path: Path) -> None:
    with path.open("r+b") as stream:  # network file systems lock what can be written only
        if fcntl is not None:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    if fcntl is None:
        path.unlink()


def _sync(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _give_name(temporary: Path, target: Path, replace: bool) -> None:
    if target.exists():
        with contextlib.suppress(OSError):  # file systems without permissions
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
    if replace or not _link(temporary, target):
        temporary.replace(target)
    _sync_folder(target.parent)


def _link(temporary: Path, target: Path) -> bool:
    """Give the file its name unless the name is taken; False where the file system has no links."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Make the new name last, where the system can."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):  # the file is there in any case
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
