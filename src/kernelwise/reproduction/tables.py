"""Tables of results in markdown."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .records import Record
from .spec import Scalar


@dataclass(frozen=True)
class Table:
    """Rows of text under a header, with notes below.

    Parameters
    ----------
    header : tuple of str
    rows : tuple of tuple of str
    notes : tuple of str

    Examples
    --------
    >>> from kernelwise.reproduction import Table
    >>> table = Table(("data", "accuracy"), (("heart", "0.81 ± 0.02"),), notes=("5 trials.",))
    >>> print(table.markdown())
    | data | accuracy |
    |---|---|
    | heart | 0.81 ± 0.02 |
    <BLANKLINE>
    5 trials.
    """

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
    """Return the mean and the standard deviation (with divisor n - 1) of the trials, or an em dash without values.

    Examples
    --------
    >>> from kernelwise.reproduction import mean_std
    >>> mean_std([0.8, 0.9]), mean_std([0.8]), mean_std([])
    ('0.850 ± 0.071', '0.800', '—')
    """
    numbers = list(values)
    if not numbers:
        return "—"
    mean = f"{statistics.fmean(numbers):.{digits}f}"
    return mean if len(numbers) == 1 else f"{mean} ± {statistics.stdev(numbers):.{digits}f}"


def grouped(records: Iterable[Record], value: Callable[[Record], Any], *by: str) -> dict[tuple[Scalar, ...], list[Any]]:
    """Return the values of the records by the given parameters of their cells, in the order of first appearance.

    Examples
    --------
    >>> from kernelwise.reproduction import Cell, Record, grouped
    >>> cells = [Cell.of(noise=noise, trial=trial) for noise in (0.0, 0.2) for trial in range(2)]
    >>> records = [Record(cell, {"accuracy": 1 - cell["noise"]}, 0.0, {}, "0123") for cell in cells]
    >>> grouped(records, lambda record: record.results["accuracy"], "noise")
    {(0.0,): [1.0, 1.0], (0.2,): [0.8, 0.8]}
    """
    groups: dict[tuple[Scalar, ...], list[Any]] = {}
    for record in records:
        groups.setdefault(tuple(record.cell[name] for name in by), []).append(value(record))
    return groups


def distinct(records: Sequence[Record], name: str) -> list[Scalar]:
    """Return the values that a parameter takes, in the order of first appearance.

    Examples
    --------
    >>> from kernelwise.reproduction import Cell, Record, distinct
    >>> distinct([Record(Cell.of(noise=noise), {}, 0.0, {}, "0123") for noise in (0.2, 0.0, 0.2)], "noise")
    [0.2, 0.0]
    """
    return list(dict.fromkeys(record.cell[name] for record in records))
