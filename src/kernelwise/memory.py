"""How much memory is available, and an error with advice where an array would not fit.

Without this error the system would end the process, or the machine would hang, some time after the mistake.
"""

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["available", "require"]

#: Allocations of up to 64 megabytes are not checked.
SMALL = 64 * 10**6
#: The root of the files in which Linux describes memory; tests use another folder.
ROOT = Path("/")


def require(nbytes: int, what: str, remedy: str) -> None:
    """Raise a MemoryError before an allocation that would not fit into memory."""
    if nbytes <= SMALL:
        return
    left = available()
    if left is not None and nbytes > left:
        raise MemoryError(
            f"{what} needs {nbytes / 1e9:.1f} GB of memory, and {max(left, 0) / 1e9:.1f} GB is available; {remedy}"
        )


def available() -> int | None:
    """Return the bytes that this process can still take, or None where the system does not tell."""
    left = [bytes_left for bytes_left in (_machine(), *_control_groups(), _own_limit()) if bytes_left is not None]
    return min(left, default=None)


def _machine() -> int | None:
    """Return the memory that is free or can be freed, or all memory of the machine where the system tells only that."""
    available_kilobytes = _number(ROOT / "proc/meminfo", "MemAvailable:")
    if available_kilobytes is not None:
        return available_kilobytes * 1024
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        try:
            return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):  # not on this system
            continue
    return None


def _control_groups() -> Iterator[int]:
    """Yield the bytes that the control groups of this process leave, of version 2 and of version 1."""
    for line in _text(ROOT / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            yield from _up(ROOT / "sys/fs/cgroup", path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _up(ROOT / "sys/fs/cgroup/memory", path, *names)


def _up(root: Path, path: str, limit: str, usage: str, cache: str) -> Iterator[int]:
    """Yield the bytes that a group and all groups above it leave; in a container only the root may exist."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for depth in range(len(parts), -1, -1):
        group = root.joinpath(*parts[:depth])
        allowed, used = _text(group / limit).strip(), _text(group / usage).strip()
        if allowed.isdigit() and used.isdigit():
            # The system frees the memory of files that were read as soon as it is needed.
            yield int(allowed) - int(used) + (_number(group / "memory.stat", cache) or 0)


def _number(path: Path, name: str) -> int | None:
    """Return the number behind a name in a file of the system."""
    for line in _text(path).splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name and words[1].isdigit():
            return int(words[1])
    return None


def _own_limit() -> int | None:
    """Return the bytes that the limit on the address space (ulimit -v) leaves."""
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
