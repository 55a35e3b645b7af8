"""Tables of results in markdown."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .records import Record
from .spec import Scalar


@dataclass(frozen=True)
class Table:
    """Rows of text under a header, with notes below."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"row {row} has {len(row)} entries under a header of {len(self.header)}")

    def markdown(self) -> str:
        """Return the table in GitHub's markdown."""
        escaped = [[entry.replace("|", "\\|") for entry in row] for row in (self.header, *self.rows)]
        header, *rows = (f"| {' | '.join(row)} |" for row in escaped)
        rule = "|" + "---|" * len(self.header)
        return "\n".join([header, rule, *rows, *(f"\n{note}" for note in self.notes)])


def mean_std(values: Iterable[float], digits: int = 3) -> str:
    """Return the mean and the standard deviation (with divisor n - 1) of the trials, or an em dash without values."""
    numbers = list(values)
    if not numbers:
        return "—"
    mean = f"{statistics.fmean(numbers):.{digits}f}"
    return mean if len(numbers) == 1 else f"{mean} ± {statistics.stdev(numbers):.{digits}f}"


def grouped(records: Iterable[Record], value: Callable[[Record], Any], *by: str) -> dict[tuple[Scalar, ...], list[Any]]:
    """Return the values of the records by the given parameters of their cells, in the order of first appearance."""
    groups: dict[tuple[Scalar, ...], list[Any]] = {}
    for record in records:
        groups.setdefault(tuple(record.cell[name] for name in by), []).append(value(record))
    return groups


def distinct(records: Sequence[Record], name: str) -> list[Scalar]:
    """Return the values that a parameter takes, in the order of first appearance."""
    return list(dict.fromkeys(record.cell[name] for record in records))
