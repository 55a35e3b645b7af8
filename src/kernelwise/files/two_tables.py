"""Records in two tables, such as those of a shop and of a catalogue: one table of both, and the ids of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..tables.columns import Column, Table
from ..tables.errors import choices, place
from .errors import FileError


@dataclass(frozen=True)
class TwoTables:
    """The rows of two tables, by the ids that each table gives to its rows.

    Parameters
    ----------
    names : pair of str
        The names of the two files.
    rows : pair of mappings of str to int
        The row of every id, where the rows of the second table are counted on from those of the first.
    """

    names: tuple[str, str]
    rows: tuple[Mapping[str, int], Mapping[str, int]]

    def __len__(self) -> int:
        return len(self.rows[0]) + len(self.rows[1])

    def ends(self, path: Path, lines: Sequence[tuple[int, list[str]]]) -> NDArray[np.int64]:
        """The rows of both ids of every line.

        As a rule the first id of a line is of the first table and the second id is of the second table; then both
        tables may use the same ids. Otherwise each id is looked for in both tables, and must be in one of them.
        """
        first, second = self.rows
        one, other = self.names
        known = {**first, **second}
        cells = [(line, cell) for line, row in lines for cell in row[:2]]
        for line, cell in cells:
            if cell not in known:
                hint = choices(cell, [*first, *second], shown=3)
                raise FileError(f"{place(path, line=line)}: {cell!r} is an id neither of {one} nor of {other}; {hint}")
        mixed = [line for line, (left, right, *_) in lines if left not in first or right not in second]
        if not mixed:
            return np.array([[first[left], second[right]] for _, (left, right, *_) in lines], dtype=np.int64)
        for line, cell in cells:
            if cell in first and cell in second:
                raise FileError(
                    f"{place(path, line=line)}: {cell!r} is an id of {one} and of {other}, and line {mixed[0]} does"
                    f" not name a record of {one} first and a record of {other} second; order every line so, or give"
                    " the records different ids"
                )
        return np.array([[known[cell] for cell in row[:2]] for _, row in lines], dtype=np.int64)


def join_tables(first: Table, second: Table, left_out: Sequence[str] = ()) -> tuple[Table, list[str]]:
    """The rows of the second table below those of the first, and sentences about what is not compared.

    Columns are joined by their names. Columns that only one of the tables has cannot be compared.

    >>> one = Table.of("a.csv", [Column.of("name", ["Ann", "Bob"]), Column.of("age", ["31", "45"])])
    >>> other = Table.of("b.csv", [Column.of("name", ["Anne"])])
    >>> both, notes = join_tables(one, other)
    >>> both["name"].labels(), notes
    (['Ann', 'Bob', 'Anne'], ["Not compared, because b.csv has no such column: 'age'."])
    """
    for table in (first, second):
        if table.block is not None:
            raise FileError(f"{table.source} holds a matrix without names of columns; two tables are joined by names")
    names = [name for name in first.names if name in second.columns and name not in left_out]
    if not names:
        raise FileError(
            f"{first.source} and {second.source} have no column in common, so that their records cannot be compared; "
            "give the columns that hold the same thing the same name"
        )
    joined = [_joined(first, second, name) for name in names]
    notes = [
        f"Not compared, because {other.source} has no such column: {', '.join(map(repr, alone))}."
        for table, other in ((first, second), (second, first))
        if (alone := [name for name in table.names if name not in other.columns and name not in left_out])
    ]
    return Table.of(f"{first.source} and {second.source}", joined, habits=first.habits), notes


def _joined(first: Table, second: Table, name: str) -> Column:
    one, other = first[name], second[name]
    if one.values.dtype.kind == other.values.dtype.kind == "f":
        return Column.of_numbers(name, np.concatenate([one.values, other.values]))
    if one.kind == other.kind == "date" and one.notation != other.notation:
        raise FileError(
            f"{first.source} and {second.source} write the dates in column {name!r} in two ways; write them in one way"
        )
    return Column.of(name, [*one.labels(), *other.labels()], first.habits)
