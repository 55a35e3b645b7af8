"""The column of labels as people wrote it: empty cells, several spellings, typing errors, or numbers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..files.errors import FileError
from .inputs import Data

if TYPE_CHECKING:
    from ..labels.amounts import NumberGroups

__all__ = ["GivenLabels", "read_given"]


@dataclass(frozen=True)
class GivenLabels:
    """Labels to audit, the cells they were made of, and what there is to say about them.

    Parameters
    ----------
    labels : array of str, None where the cell is empty
    written : list of str
        The cells.
    notes : list of str
        Sentences about the labels.
    groups : NumberGroups, optional
        The groups of numbers that are the labels, if the cells are amounts.
    """

    labels: NDArray[Any]
    written: list[str]
    notes: list[str] = field(default_factory=list)
    groups: "NumberGroups | None" = None


def read_given(loaded: Data, label: str, kinds: Sequence[str] = ()) -> GivenLabels:
    """The labels of all rows; a column that cannot hold labels is refused.

    Numbers are cut into groups, unless ``kinds`` say that the column is categorical.
    """
    from ..labels.amounts import codes_missing_label, group_numbers
    from ..labels.given import join_spellings, kept_words, look_alikes, typing_errors

    column, source = loaded.table[label], loaded.table.source
    written = column.labels()
    cells = np.array(written, dtype=object)
    cells[column.missing] = None
    counts = Counter(cells[~column.missing].tolist())
    if len(counts) < 2:
        said = f"has one label only, {next(iter(counts))!r}" if counts else "is empty"
        raise FileError(f"{source}, column {label!r} {said}; two labels are needed")
    found = None if f"{label}=categorical" in kinds else group_numbers(cells.tolist(), loaded.table.habits)
    if found is not None:
        groups, names = found
        note = (
            f"The column {label!r} looks like numbers, not classes: {len(counts)} different ones in {counts.total()} "
            f"rows. It is cut into {len(groups.names)} groups of equal size ({'; '.join(groups.names)}), and a suspect "
            "is a row whose number seems to belong to another group. If the numbers are classes: --kind "
            f"{label}=categorical."
        )
        return GivenLabels(_plain(names), written, [note], groups)
    labels, joined = join_spellings(cells)
    counts = Counter(label for label in labels.tolist() if label is not None)
    if len(counts) < 2:
        raise FileError(f"{source}, column {label!r} has one label only, in several spellings; two labels are needed")
    if len(counts) > max(2, counts.total() // 2):
        raise FileError(
            f"{source}, column {label!r} has {len(counts)} different labels in {counts.total()} rows;"
            " name the column of the classes"
        )
    notes = kept_words(counts)
    if codes_missing_label(counts):
        rows = _rows(sum(count for name, count in counts.items() if float(name) == -1))
        notes.append(f"The label -1 ({rows}) is taken for a class; where it says that there is no label, leave it out.")
    notes += [
        f"Label {other!r} ({_rows(written.count(other))}) is taken as {usual!r}: they differ in capitals or blanks "
        "alone."
        for other, usual in joined.items()
    ]
    errors = typing_errors(labels)
    notes += [
        f"Label {rare!r} ({_rows(counts[rare])}) looks like {usual!r} ({_rows(counts[usual])}); "
        + ("it is taken for a typing error." if rare in errors else "it is a class of its own until it is corrected.")
        for rare, usual in look_alikes(counts)
    ]
    return GivenLabels(_plain(labels), written, notes)


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels in an array of strings, if none is missing."""
    return labels if any(label is None for label in labels.tolist()) else np.array(labels.tolist())


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
