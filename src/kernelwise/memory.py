"""How much memory there is left, and a refusal with advice where an array would not fit.

Without it the system ends the process, or the whole machine comes to a halt, some time after the mistake.
"""

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["available", "require"]

#: Less than this is not worth a look: 64 megabytes.
SMALL = 64 * 10**6
#: Where Linux tells about memory; another folder in tests.
ROOT = Path("/")


def require(nbytes: int, what: str, remedy: str) -> None:
    """Refuse an allocation that would not fit into memory, before it is made.

    Parameters
    ----------
    nbytes : int
        What would be allocated, with the copies made on the way.
    what : str
        What it is for, as a sentence begins.
    remedy : str
        What the user can do instead.

    Raises
    ------
    MemoryError
        If more would be needed than is available; the message says how much of each.

    Examples
    --------
    >>> from kernelwise.memory import require
    >>> require(8 * 1000**2, "a Gram matrix of 1000 samples", "use rank=")
    >>> require(8 * 10**18, "a Gram matrix of 1000000000 samples", "use rank=500")
    Traceback (most recent call last):
    ...
    MemoryError: a Gram matrix of 1000000000 samples needs 8000000000.0 GB of memory, and ... is available; use rank=500
    """
    if nbytes <= SMALL:
        return
    left = available()
    if left is not None and nbytes > left:
        raise MemoryError(
            f"{what} needs {nbytes / 1e9:.1f} GB of memory, and {max(left, 0) / 1e9:.1f} GB is available; {remedy}"
        )


def available() -> int | None:
    """Bytes that this process can still take: the least that the machine, its control group and its own limit leave.

    None where the system does not tell.

    Examples
    --------
    >>> from kernelwise.memory import available
    >>> available() is None or available() > 0
    True
    """
    left = [bytes_left for bytes_left in (_machine(), *_control_groups(), _own_limit()) if bytes_left is not None]
    return min(left, default=None)


def _machine() -> int | None:
    """What the machine has: free memory and what it can free, or, where that is not told, all of it."""
    for line in _text(ROOT / "proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        try:
            return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):  # not on this system
            continue
    return None


def _control_groups() -> Iterator[int]:
    """What the control groups of this process leave it, of version 2 and of version 1."""
    for line in _text(ROOT / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            yield from _up(ROOT / "sys/fs/cgroup", path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _up(ROOT / "sys/fs/cgroup/memory", path, *names)


def _up(root: Path, path: str, limit: str, usage: str, cache: str) -> Iterator[int]:
    """What a group and all above it leave; within a container the path may not be there, but its root is."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for depth in range(len(parts), -1, -1):
        group = root.joinpath(*parts[:depth])
        allowed, used = _text(group / limit).strip(), _text(group / usage).strip()
        if allowed.isdigit() and used.isdigit():
            # Files that were read stay in memory only until it is needed.
            yield int(allowed) - int(used) + _statistic(group / "memory.stat", cache)


def _statistic(path: Path, name: str) -> int:
    for line in _text(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.strip().isdigit():
            return int(value)
    return 0


def _own_limit() -> int | None:
    """What the limit on the address space (ulimit -v) leaves."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    taken = _text(ROOT / "proc/self/statm").split()
    return limit - (int(taken[0]) * resource.getpagesize() if taken else 0)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
