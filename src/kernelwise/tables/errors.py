"""Tables that cannot be used, and how to say so."""

import difflib
from collections.abc import Iterable
from pathlib import Path

__all__ = ["TableError", "choices", "place"]


class TableError(ValueError):
    """A table that cannot be used; the message names the file or ``X``, the place in it and the remedy."""


def place(source: Path | str, *, line: int | None = None, column: str | None = None) -> str:
    """Where something is, as a message begins.

    >>> place("a.csv", line=3, column="age")
    "a.csv, line 3, column 'age'"
    """
    parts = [str(source)]
    if line is not None:
        parts.append(f"line {line}")
    if column is not None:
        parts.append(f"column {column!r}")
    return ", ".join(parts)


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
