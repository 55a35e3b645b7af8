"""Pairs of records in files: two tables of records, or rows that hold two records and an answer: are they the same?

The columns of two records in a row have names that differ in one part: left_name and right_name, title_1 and title_2,
ltable_price and rtable_price, cityA and cityB.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..labels.leaks import find_annotator_columns
from ..statements import Pairs
from ..tables.columns import Column, Table
from ..tables.errors import choices
from ..tables.kinds import Kind
from .errors import FileError
from .links import NOBODY, answer_labels
from .reading import read_table

#: The parts of names that tell the first record from the second.
SIDE_WORDS = "left/right l/r ltable/rtable lhs/rhs first/second a/b 1/2 x/y one/two source/target old/new"
SIDES = tuple(tuple(words.split("/")) for words in SIDE_WORDS.split())
PARTS = re.compile(r"[^\W\d_]+|\d+")
CAPITAL_SIDE = re.compile(r"(?<=[a-z])(?=[A-Z]\b)")


@dataclass(frozen=True)
class TwoRecords:
    """Rows of two records each.

    Parameters
    ----------
    table : Table
        The file.
    answer : str
        The column of answers.
    records : Table
        The different first records, and below them the different second records.
    pairs : Pairs
        The two records of every row, and the answers as +1 (the same) and -1.
    answers : ndarray of str
        The answers as words, in one spelling for each.
    columns : list of tuple
        The name of each column of ``records``, and the two columns of the file that it was made of.
    annotator : str or None
        The column that says who gave each answer; the pairs have these sources.
    """

    table: Table
    answer: str
    records: Table
    pairs: Pairs
    answers: NDArray[Any]
    columns: list[tuple[str, str, str]]
    annotator: str | None = None


def read_two_records(
    path: Path,
    *,
    answer: str | None = None,
    same: str | None = None,
    kinds: Mapping[str, Kind] | None = None,
    ignore: Sequence[str] = (),
    annotator: str | None = None,
) -> TwoRecords:
    """Read a file with two records in every row.

    Parameters
    ----------
    path : path
        A table in any format of :func:`read_table`.
    answer : str, optional
        The column of answers, which holds two different words; by default the only such column beside the records.
    same : str, optional
        The word for "the same", if it is not a usual one.
    kinds : mapping of str to {"numeric", "categorical", "name", "text", "date", "id"}, optional
        Columns whose kind is not the one that the cells suggest: "price", "left_price" and "right_price" all mean the
        prices of both records.
    ignore : sequence of str
        Columns that are not compared, named in the same ways.
    annotator : str, optional
        The column that says who gave each answer; by default a column whose name and values say so.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pairs.csv"
    ...     _ = path.write_text("left_name,right_name,answer\\nAnna,Ana,duplicate\\nAnna,Otto,different\\n")
    ...     found = read_two_records(path)
    >>> found.columns, found.pairs.labels.tolist(), found.records["name"].labels()
    ([('name', 'left_name', 'right_name')], [1, -1], ['Anna', 'Ana', 'Otto'])
    """
    table = read_table(path, as_written=[name for name in (answer, annotator) if name])
    columns = _columns(table.names)
    if not columns:
        raise FileError(
            f"{path} has no two columns for one thing in two records, such as left_name and right_name, or name_1 and"
            " name_2; name the columns so, or give a file of records and a file of pairs"
        )
    taken = {name for _, *both in columns for name in both}
    if annotator in taken or (annotator is not None and annotator == answer):
        raise FileError(f"--annotator {annotator} is a column of the records or of the answers; name another column")
    if annotator is None:
        beside = table.without([*taken, *([answer] if answer else [])])
        found = find_annotator_columns(beside, np.array([], dtype=object))
        annotator = found[0] if found else None
    if answer is None:
        answer = _answer(table, [name for name in table.names if name not in taken and name != annotator])
    # The words of the answers, though they may look like numbers, and those of the sources.
    table = read_table(path, as_written=[answer, *([annotator] if annotator else [])])
    left_out = {_shared_name(path, columns, name, "--ignore") for name in ignore}
    chosen = {_shared_name(path, columns, name, "--kind"): kind for name, kind in (kinds or {}).items()}
    described = [parts for parts in columns if not _is_id(parts[0]) and answer not in parts] or columns
    compared = [parts for parts in described if parts[0] not in left_out]
    if not compared:
        raise FileError(f"--ignore leaves no column of {path} by which records could be compared")
    naming = [parts for parts in columns if _is_id(parts[0])][:1] or columns
    rows, first_rows = _distinct(table, [left for _, left, _ in naming])
    cols, second_rows = _distinct(table, [right for *_, right in naming])
    made = []
    for name, left, right in compared:
        cells = [*table.take(first_rows)[left].labels(), *table.take(second_rows)[right].labels()]
        made.append(Column.of(name, cells, table.habits))
    records = Table.of(path, made).retyped({name: kind for name, kind in chosen.items() if name not in left_out})
    labels, answers = answer_labels(table, answer, same)
    sources = [cell or NOBODY for cell in table[annotator].labels()] if annotator else None
    n_records = len(first_rows) + len(second_rows)
    pairs = Pairs(rows, len(first_rows) + cols, labels, n_samples=n_records, sources=sources)
    return TwoRecords(table, answer, records, pairs, answers, compared, annotator)


def _distinct(table: Table, names: Sequence[str]) -> tuple[NDArray[np.int64], list[int]]:
    """The position of the record of every row among the distinct records, and the row in which each occurs first."""
    first: dict[tuple[str, ...], tuple[int, int]] = {}
    records = zip(*(table[name].labels() for name in names), strict=True)
    found = [first.setdefault(record, (len(first), row)) for row, record in enumerate(records)]
    return np.array([position for position, _ in found], dtype=np.int64), [row for _, row in first.values()]


def _columns(names: list[str]) -> list[tuple[str, str, str]]:
    """The columns of the two records, by what they hold, for the pair of parts that most names have."""
    best: list[tuple[str, str, str]] = []
    parts = {name: tuple(PARTS.findall(CAPITAL_SIDE.sub("_", name).casefold())) for name in names}
    for one, two in SIDES:
        right = {_without(split, two): name for name, split in parts.items() if two in split}
        found = [
            (" ".join(base), name, right[base])
            for name, split in parts.items()
            if one in split and (base := _without(split, one)) in right and right[base] != name
        ]
        best = found if len(found) > len(best) else best
    return best


def _shared_name(path: Path, columns: list[tuple[str, str, str]], name: str, option: str) -> str:
    """The name that two columns of records share, by this name or by the name of one of the columns."""
    found = {alias: shared for shared, *both in columns for alias in (shared, *both)}
    if name not in found:
        raise FileError(f"{option} {name}: {path} has no such column in two records; {choices(name, list(found))}")
    return found[name]


def _without(parts: tuple[str, ...], side: str) -> tuple[str, ...]:
    place = parts.index(side)
    return parts[:place] + parts[place + 1 :]


def _is_id(name: str) -> bool:
    return name in {"id", "key", "record id"}


def _answer(table: Table, names: list[str]) -> str:
    two = [name for name in names if len({*table[name].labels()} - {""}) == 2]
    if len(two) == 1:
        return two[0]
    found = choices("answer", two or names)
    raise FileError(f"{table.source}: say which column holds the answers, same or different: --answer COLUMN; {found}")


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
