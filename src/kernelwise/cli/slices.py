"""Parts of the data with far more suspects than chance explains: the rows of one source, or with one value of a column.

A part is named if all of this holds:

- at least :data:`LEAST` suspects lie in it;
- its share of the suspects is at least :data:`TIMES` times its share of all rows;
- so many suspects would fall into it by chance, if they were drawn from all rows, with a probability below
  :data:`CHANCE` divided by the number of parts that were looked at (the tail of the hypergeometric distribution).

A part whose suspects are nearly those of a part that was named before is left out. Parts are the rows that one source
answered, the values of categories, the years of dates, and numbers of which a column has at most
:data:`MOST_NUMBERS` different ones.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .. import Answers
    from ..tables.columns import Column, Table

LEAST = 5
TIMES = 1.5
CHANCE = 0.001
MOST_NUMBERS = 30
#: Two parts are nearly the same if so large a share of the suspects of either lies in both.
SAME = 0.9
#: So many parts are named.
SHOWN = 3


@dataclass(frozen=True)
class Slice:
    """A part of the rows with many suspects: ``inside`` of ``suspects`` lie in it, and ``share`` of all rows.

    ``column`` is None if the part are the rows of the source ``value``.
    """

    column: str | None
    value: str
    inside: int
    suspects: int
    share: float

    def sentence(self, *, gave: bool) -> str:
        """What was found, in words; a source ``gave`` the labels of its rows, or else answered among others.

        >>> Slice("year", "2008", 38, 45, 0.1).sentence(gave=True)
        '38 of 45 suspects have year = 2008, as 10.0% of all rows have.'
        """
        what = "suspects" if gave else "doubtful rows"
        count, share = f"{self.inside} of {self.suspects} {what}", f"{self.share:.1%} of all rows"
        if self.column is not None:
            said = f"{self.column} = {self.value}" if self.value else f"no {self.column}"
            return f"{count} have {said}, as {share} have."
        return f"{self.value} {'gave' if gave else 'answered'} {count}, and {share}."

    def as_data(self, *, gave: bool) -> dict[str, Any]:
        """The part as plain data, for the result of a command."""
        named = {"column": self.column, "value": self.value, "suspects": self.inside, "share_of_rows": self.share}
        return named | {"sentence": self.sentence(gave=gave)}


def slices_of(suspects: NDArray[np.bool_], answers: "Answers | None", table: "Table") -> list[Slice]:
    """The parts with far more suspects than chance explains, the clearest first; ``answers`` name sources."""
    from scipy.stats import hypergeom

    if np.count_nonzero(suspects) < LEAST:
        return []
    parts = [
        (column, value, members)
        for column, value, members in _parts(answers, table.columns.values())
        if 0 < np.count_nonzero(members) < len(members)
    ]
    n_suspects, n_rows = int(np.count_nonzero(suspects)), len(suspects)
    found: list[tuple[float, Slice, NDArray[np.bool_]]] = []
    for column, value, members in parts:
        inside, size = int(np.count_nonzero(members & suspects)), int(np.count_nonzero(members))
        if inside < LEAST or inside / n_suspects < TIMES * size / n_rows:
            continue
        tail = float(hypergeom.sf(inside - 1, n_rows, size, n_suspects))  # that so many or more lie in it by chance
        if tail < CHANCE / len(parts):
            found.append((tail, Slice(column, value, inside, n_suspects, size / n_rows), members & suspects))
    named: list[Slice] = []
    seen: list[NDArray[np.bool_]] = []
    for _, one, own in sorted(found, key=lambda item: item[0]):
        if not any((own & other).sum() >= SAME * max(own.sum(), other.sum()) for other in seen):
            named.append(one)
            seen.append(own)
    return named


def sentences_of(found: Iterable[dict[str, Any]]) -> list[str]:
    """The sentences about the first parts, as many as are shown."""
    return [one["sentence"] for one in found][:SHOWN]


def _parts(
    answers: "Answers | None", columns: "Iterable[Column]"
) -> Iterator[tuple[str | None, str, NDArray[np.bool_]]]:
    """The column, the value and the rows of every part; the rows of a source have no column."""
    if answers is not None:
        for code, name in enumerate(answers.source_names.tolist()):
            yield None, str(name), np.isin(np.arange(answers.n_rows), answers.rows[answers.source_index == code])
    for column in columns:
        numeric = column.kind == "numeric"
        if not (numeric or column.kind in ("categorical", "date")):
            continue
        if numeric and column.values.dtype.kind == "f" and len(np.unique(column.values)) > MOST_NUMBERS:
            continue
        cells = np.array([_year(cell) if column.kind == "date" else cell for cell in column.labels()])
        values, place, sizes = np.unique(cells, return_inverse=True, return_counts=True)
        if not numeric or len(values) <= MOST_NUMBERS:
            for at in np.flatnonzero(sizes >= LEAST).tolist():
                yield column.name, str(values[at]), place == at


def _year(cell: str) -> str:
    """The year in a date, which has four digits; what has none is taken whole."""
    parts = "".join(sign if sign.isdigit() else " " for sign in cell).split()
    return next((part for part in parts if len(part) == 4), cell)
