"""The error of a table that cannot be used, and the parts of its message."""

import difflib
from collections.abc import Iterable
from pathlib import Path


class TableError(ValueError):
    """A table that cannot be used; the message names the file or ``X``, the place in it and the remedy."""


def place(source: Path | str, *, line: int | None = None, column: str | None = None) -> str:
    """The place of a fault, with which a message begins."""
    at_line = "" if line is None else f", line {line}"
    return f"{source}{at_line}" + ("" if column is None else f", column {column!r}")


def choices(name: str, names: Iterable[str], *, shown: int = 8) -> str:
    """A hint at the name that the user may have meant: the nearest name, or else the first names."""
    names = list(names)
    folded = {known.casefold(): known for known in reversed(names)}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f"it has {', '.join(repr(known) for known in names[:shown])}{more}" if names else "it has none"
