"""Checks before the work begins: of arguments, and of the memory that an array would take.

A check of an argument returns a clean value, or says which argument is wrong, what was given and what is needed: a
value of the wrong type is a TypeError, a value out of range a ValueError. Without :func:`require`, the system would end
the process, or the machine would hang, some time after an array that does not fit.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: The arrays of annotations: real numbers, whole numbers, positions, and truth values.
Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

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
    available_kilobytes = _number_of_system(ROOT / "proc/meminfo", "MemAvailable:")
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
    for line in _text_of_system(ROOT / "proc/self/cgroup").splitlines():
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
        allowed, used = _text_of_system(group / limit).strip(), _text_of_system(group / usage).strip()
        if allowed.isdigit() and used.isdigit():
            # The system frees the memory of files that were read as soon as it is needed.
            yield int(allowed) - int(used) + (_number_of_system(group / "memory.stat", cache) or 0)


def _number_of_system(path: Path, name: str) -> int | None:
    """Return the number behind a name in a file of the system."""
    for line in _text_of_system(path).splitlines():
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
    taken = _text_of_system(ROOT / "proc/self/statm").split()
    return limit - (int(taken[0]) * resource.getpagesize() if taken else 0)


def _text_of_system(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


#: ``sample_size="auto"``: see ``benchmarks/label_scale.py`` for what fewer rows cost.
AUTO_SAMPLE = 50_000
#: The smallest sample that may be asked for.
SMALLEST_SAMPLE = 500


def freeze(made: object, values: Iterable[tuple[str, Any]]) -> None:
    """Set the fields of a frozen object that is being made; its arrays become read-only, though not the caller's."""
    for name, value in values:
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        object.__setattr__(made, name, value)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number, of Python or numpy; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_missing(value: object) -> bool:
    """Whether a value stands for no value: None, NaN, or what pandas takes for missing."""
    try:
        return value is None or not bool(value == value)  # a missing value is not equal to itself
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return True


def missing_labels(y: ArrayLike) -> NDArray[np.bool_]:
    """Which labels are missing.

    >>> missing_labels(["a", None, float("nan")]).tolist()
    [False, True, True]
    """
    labels = np.asarray(y)
    if labels.dtype.kind in "biuSU" or labels.ndim == 0:
        return np.zeros(labels.shape[0] if labels.ndim else 0, dtype=bool)
    return np.array([is_missing(label) for label in labels], dtype=bool)


def is_count(value: object, least: int = 1) -> TypeGuard[int]:
    """Whether a value is an integer of at least ``least``."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def check_count(name: str, value: object, *, least: int = 1, most: int | None = None, limit: str = "") -> int:
    """An integer of at least ``least``, and of at most ``most``; ``limit`` says what ``most`` is.

    >>> check_count("k", 5, most=4, limit=", the number of samples")
    Traceback (most recent call last):
        ...
    ValueError: k must be an integer between 1 and 4, the number of samples, got 5
    """
    if is_count(value, least) and (most is None or value <= most):
        return int(value)
    error = ValueError if isinstance(value, Integral) and not isinstance(value, bool) else TypeError
    wanted = f"of at least {least}" if most is None else f"between {least} and {most}{limit}"
    raise error(f"{name} must be an integer {wanted}, got {value!r}")


def check_sample_size(sample_size: Any) -> int:
    """The number of rows to learn from, where "auto" is :data:`AUTO_SAMPLE`."""
    if isinstance(sample_size, str):
        if sample_size != "auto":
            raise ValueError(f'sample_size must be "auto" or a number of rows, got {sample_size!r}')
        return AUTO_SAMPLE
    if is_count(sample_size, 0) and sample_size < SMALLEST_SAMPLE:
        raise ValueError(
            f'sample_size={sample_size} is too small to learn from; give at least {SMALLEST_SAMPLE} rows, or "auto"'
        )
    return check_count("sample_size", sample_size, least=SMALLEST_SAMPLE)


def check_positive(name: str, value: object, remedy: str = "") -> float:
    """A positive, finite number.

    >>> check_positive("tol", 0)
    Traceback (most recent call last):
        ...
    ValueError: tol must be a positive number, got 0
    """
    if is_number(value) and 0 < float(value) < np.inf:
        return float(value)
    raise (ValueError if is_number(value) else TypeError)(f"{name} must be a positive number, got {value!r}{remedy}")


def check_probability(name: str, value: object) -> float:
    """A number between 0 and 1."""
    if not is_number(value):
        raise TypeError(f"{name} must be a number between 0 and 1, got {value!r}")
    if not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value}")
    return float(value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """One of a few words.

    >>> check_choice("loss", "cubic", ("linear", "hinge", "squared"))
    Traceback (most recent call last):
        ...
    ValueError: loss must be "linear", "hinge" or "squared", got 'cubic'
    """
    if not isinstance(value, str) or value not in choices:
        *others, last = (f'"{choice}"' for choice in choices)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {value!r}")


def check_vector(name: str, values: ArrayLike, kinds: str, expected: str) -> NDArray[Any]:
    """A one-dimensional array whose dtype is of one of ``kinds``; an empty one may be of any."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if array.size and array.dtype.kind not in kinds:
        raise TypeError(f"{name} must hold {expected}, got dtype {array.dtype}")
    return array


def check_ends(
    rows: ArrayLike, cols: ArrayLike, n_samples: int, *, kind: str = "pair", remedy: str = ""
) -> tuple[IntArray, IntArray]:
    """Both ends of every pair as fresh int64 arrays, known to lie among the samples."""
    rows = check_vector("rows", rows, "iu", "integer indices of samples")
    cols = check_vector("cols", cols, "iu", "integer indices of samples")
    if len(rows) != len(cols):
        raise ValueError(f"rows and cols must have one length, got {len(rows)} and {len(cols)}")
    outside = (rows < 0) | (rows >= n_samples)
    outside |= (cols < 0) | (cols >= n_samples)
    if outside.any():
        first = int(outside.argmax())
        raise ValueError(
            f"{kind} {first} is ({rows[first]}, {cols[first]}), but indices must lie between 0 and {n_samples - 1}"
            f" (n_samples={n_samples}){remedy}"
        )
    return rows.astype(np.int64), cols.astype(np.int64)
