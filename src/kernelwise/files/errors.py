"""Files that cannot be used, and how to say so."""

import difflib
from collections.abc import Iterable
from pathlib import Path

__all__ = ["FileError", "choices", "explain", "place"]


class FileError(ValueError):
    """A file that cannot be used; the message names the file, the place in it and the remedy.

    Examples
    --------
    >>> from kernelwise.files import FileError
    >>> raise FileError("a.csv is empty; give a file with a header and at least one row")
    Traceback (most recent call last):
    ...
    kernelwise.files.errors.FileError: a.csv is empty; give a file with a header and at least one row
    """


def place(path: Path | str, *, line: int | None = None, column: str | None = None) -> str:
    """Where something is, as a message begins.

    >>> place("a.csv", line=3, column="age")
    "a.csv, line 3, column 'age'"
    """
    parts = [str(path)]
    if line is not None:
        parts.append(f"line {line}")
    if column is not None:
        parts.append(f"column {column!r}")
    return ", ".join(parts)


def explain(error: BaseException) -> str:
    """The message of an error on one line.

    >>> explain(ValueError("a\\n  b"))
    'a b'
    """
    return " ".join(str(error).split()) or type(error).__name__


def choices(name: str, names: Iterable[str], *, shown: int = 8) -> str:
    """What the user may have meant: the nearest name, or else the first names there are.

    >>> choices("lable", ["id", "label"])
    "did you mean 'label'?"
    >>> choices("target", ["id", "label"])
    "it has 'id', 'label'"
    """
    names = list(names)
    folded = {known.casefold(): known for known in reversed(names)}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f"it has {', '.join(repr(known) for known in names[:shown])}{more}" if names else "it has none"
