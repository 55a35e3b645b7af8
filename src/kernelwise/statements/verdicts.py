"""What people found who checked: a label for a row, and how the row was chosen.

A verdict is a statement about one row: its true label, or None for "cannot tell". Where a plan drew the row at random,
the verdict records the draw, so that a guarantee can be computed later without any model:

===============  ==================================================================================================
``draw``         ``2b7`` is the seventh draw from stratum b of the second plan; ``2x`` says that the second plan chose
                 the row for its looks, before it drew others; ``2`` says that the row was checked after the second
                 plan was drawn and before a third; empty if nothing is known
``drawn_from``   the number of rows in the stratum, of which each had the same chance; for ``2x`` the number of rows
                 that the second plan chose
``chance``       the chance of the row to be drawn: the number of draws from the stratum by the number of its rows
===============  ==================================================================================================

Rows may occur twice: two people, or two looks. Verdicts that agree count once. Where verdicts on a row disagree, the
majority counts; where no label has a majority, nobody can tell.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import check_vector, freeze, is_missing

Array = NDArray[np.float64]

#: Batch, and stratum with position, or x, or nothing.
DRAW = re.compile(r"([1-9][0-9]{0,5})(?:([a-h])([1-9][0-9]{0,8})|(x))?")
#: Strata by rank, the largest first.
STRATA = "abcdefgh"
FIELDS = ("rows", "labels", "chance", "draw", "drawn_from")


@dataclass(frozen=True, eq=False, repr=False)
class Verdicts:
    """The true labels that people found for some rows, with the chances of the draws.

    Parameters
    ----------
    rows : array-like of int
        Positions of rows, or of pairs in their list. A row may occur several times.
    labels : array-like
        The label that was found for each row; None or NaN for "cannot tell". For pairs 1 (same class) or -1. A label
        that no row was given introduces a new class.
    chance : float or array-like, optional
        The chance of each row to be drawn: above 0 and at most 1, or NaN for a row that was not drawn at random. If 50
        rows were drawn at random out of 1,000, ``chance=0.05``. Without chances, verdicts improve the model, but there
        is no guarantee.
    draw : array-like of str, optional
        The names of the draws, from :func:`plan_checks`. By default, rows of equal chance are one stratum.
    drawn_from : array-like of int, optional
        The numbers of rows in the strata. By default, the number of rows of equal chance, divided by the chance.

    Examples
    --------
    >>> from kernelwise import Verdicts
    >>> checked = Verdicts([4, 7, 9], ["ham", None, "spam"], chance=0.1)
    >>> checked
    Verdicts(n_rows=3, cannot_tell=1, drawn=3)
    >>> checked.draw.tolist(), checked.drawn_from.tolist()
    (['1a1', '1a2', '1a3'], [30, 30, 30])
    >>> (checked + Verdicts([4, 4], ["spam", "spam"])).found()
    {4: 'spam', 7: None, 9: 'spam'}
    """

    rows: NDArray[np.int64]
    labels: NDArray[Any]
    chance: Array = None  # type: ignore[assignment]  # an array after __post_init__
    draw: NDArray[np.str_] = None  # type: ignore[assignment]
    drawn_from: NDArray[np.int64] = None  # type: ignore[assignment]

    def __init__(
        self,
        rows: ArrayLike,
        labels: ArrayLike | Sequence[Any],
        *,
        chance: float | ArrayLike | None = None,
        draw: ArrayLike | None = None,
        drawn_from: ArrayLike | None = None,
    ):
        positions = check_vector("rows", rows, "iu", "integer positions of rows").astype(np.int64)
        if positions.size and positions.min() < 0:
            raise ValueError(f"rows must hold positions from 0, got {positions.min()}")
        given = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)  # type: ignore[arg-type]
        if len(given) != len(positions):
            raise ValueError(f"labels must hold one label for each of {len(positions)} rows, got {len(given)}")
        found = np.empty(len(given), dtype=object)
        found[:] = [
            None if is_missing(label) else label.item() if isinstance(label, np.generic) else label for label in given
        ]
        told = np.nan if chance is None else np.asarray(chance, dtype=np.float64)
        chances = np.array(np.broadcast_to(told, positions.shape))
        wrong = ~np.isnan(chances) & ~((chances > 0) & (chances <= 1))
        if wrong.any():
            first = int(wrong.argmax())
            raise ValueError(
                f"chance must lie above 0 and at most at 1, got {chances[first]} for row {positions[first]}; a row "
                "that was not drawn at random has the chance NaN"
            )
        names = np.array([""] * len(positions) if draw is None else [str(name) for name in np.asarray(draw)])
        sizes = np.zeros(len(positions), np.int64) if drawn_from is None else np.asarray(drawn_from, dtype=np.int64)
        for name, array in (("draw", names), ("drawn_from", sizes)):
            if array.shape != positions.shape:
                raise ValueError(f"{name} must hold one value for each of {len(positions)} rows, got {array.shape}")
        if draw is None and chance is not None:
            names, sizes = _drawn_by_chance(positions, chances)
        _check_draws(positions, names, chances, sizes)
        freeze(self, zip(FIELDS, (positions, found, chances, names, sizes), strict=True))

    def __len__(self) -> int:
        return len(self.rows)

    def __add__(self, later: "Verdicts") -> "Verdicts":
        """Both: these verdicts, then later verdicts."""
        if not isinstance(later, Verdicts):
            return NotImplemented
        labels = np.empty(len(self) + len(later), dtype=object)
        labels[:] = [*self.labels, *later.labels]
        names = ("rows", "chance", "draw", "drawn_from")
        rows, *draws = (np.concatenate([getattr(self, name), getattr(later, name)]) for name in names)
        return Verdicts(rows, labels, chance=draws[0], draw=draws[1], drawn_from=draws[2])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Verdicts):
            return NotImplemented
        same = (getattr(self, name).tolist() == getattr(other, name).tolist() for name in FIELDS if name != "chance")
        return all(same) and np.array_equal(self.chance, other.chance, equal_nan=True)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        found = self.found()
        unclear = sum(label is None for label in found.values())
        drawn = {
            row for row, name in zip(self.rows.tolist(), self.draw.tolist(), strict=True) if read_draw(name).letter
        }
        return f"Verdicts(n_rows={len(found)}, cannot_tell={unclear}, drawn={len(drawn)})"

    def found(self) -> dict[int, Any]:
        """The label of each checked row; None where nobody could tell, or where verdicts contradict each other."""
        once = dict(zip(self.rows.tolist(), self.labels.tolist(), strict=True))
        if len(once) == len(self):
            return once
        votes: dict[int, Counter[Any]] = {}
        for row, label in zip(self.rows.tolist(), self.labels.tolist(), strict=True):
            counts = votes.setdefault(row, Counter())
            if label is not None:
                counts[label] += 1
        return {row: _majority(counts) for row, counts in votes.items()}

    def cells(self) -> dict[int, tuple[str, str, str]]:
        """The chance, the draw and the size of the stratum of every row, as the corrections file has them."""
        return {
            row: ("" if np.isnan(chance) else repr(chance), draw, str(size) if size else "")
            for row, chance, draw, size in zip(
                self.rows.tolist(), self.chance.tolist(), self.draw.tolist(), self.drawn_from.tolist(), strict=True
            )
        }

    def check_rows(self, n_rows: int, what: str = "rows") -> None:
        """Refuse verdicts on rows that the data do not have."""
        beyond = self.rows[self.rows >= n_rows]
        if beyond.size:
            raise ValueError(
                f"checked has a verdict on row {beyond[0]}, but the data have {n_rows} {what}; these verdicts are of "
                "other data"
            )

    @property
    def last_batch(self) -> int:
        """The number of the last plan; 0 if no row was planned."""
        return max((read_draw(name).batch for name in self.draw.tolist()), default=0)


class Draw(NamedTuple):
    """The number of a plan, the letter of its stratum and the number of the draw; no letter for a row not drawn."""

    batch: int
    letter: str
    number: int


@lru_cache(maxsize=10_000)
def read_draw(name: str) -> Draw:
    """Read the name of a draw; the plan is 0 if nothing is known.

    >>> read_draw("2b7"), read_draw("2x"), read_draw("")
    (Draw(batch=2, letter='b', number=7), Draw(batch=2, letter='', number=0), Draw(batch=0, letter='', number=0))
    """
    parts = DRAW.fullmatch(name)
    return Draw(int(parts[1]), parts[2] or "", int(parts[3] or 0)) if parts else Draw(0, "", 0)


class DrawnStratum(NamedTuple):
    """``planned`` of ``size`` rows were to be drawn; ``rows`` are the positions of the checked rows by draw number."""

    size: int
    planned: int
    rows: dict[int, int]


def strata_of(verdicts: Verdicts) -> dict[int, list[DrawnStratum]]:
    """The strata of every plan that drew rows, in the order of the plans and of the letters.

    >>> strata_of(Verdicts([4, 7], ["ham", "spam"], chance=[0.1, 0.5]))
    {1: [DrawnStratum(size=10, planned=1, rows={1: 4}), DrawnStratum(size=2, planned=1, rows={1: 7})]}
    """
    found: dict[tuple[int, str], DrawnStratum] = {}
    for row, name, chance, size in zip(
        verdicts.rows.tolist(),
        verdicts.draw.tolist(),
        verdicts.chance.tolist(),
        verdicts.drawn_from.tolist(),
        strict=True,
    ):
        batch, letter, number = read_draw(name)
        if letter:
            found.setdefault((batch, letter), DrawnStratum(size, round(chance * size), {})).rows[number] = row
    batches: dict[int, list[DrawnStratum]] = {}
    for (batch, _), stratum in sorted(found.items()):
        batches.setdefault(batch, []).append(stratum)
    return batches


def draw_weights(verdicts: Verdicts) -> dict[int, float]:
    """Return how many rows each drawn row was drawn from; plans share this according to their numbers of draws.

    >>> draw_weights(Verdicts([4, 7, 9], ["a", "b", "b"], chance=[0.2, 0.2, 1.0]))
    {4: 5.0, 7: 5.0}
    """
    plans = strata_of(verdicts)
    n_draws = {number: sum(len(one.rows) for one in strata) for number, strata in plans.items()}
    total = sum(n_draws.values())
    return {
        row: one.size / len(one.rows) * n_draws[number] / total
        for number, strata in plans.items()
        for one in strata
        for row in one.rows.values()
    }


def left_out_draws(verdicts: Verdicts) -> int:
    """The number of planned rows without a verdict, though a later draw from the same rows has one.

    >>> left_out_draws(Verdicts([4, 7], ["ham", "spam"], chance=[0.2, 0.2], draw=["1a1", "1a4"], drawn_from=[20, 20]))
    2
    """
    strata = [one for plan in strata_of(verdicts).values() for one in plan]
    return sum(max(one.rows) - len(one.rows) for one in strata)


def _majority(counts: Counter[Any]) -> Any:
    if not counts:
        return None
    (label, most), *others = counts.most_common(2)
    return None if others and others[0][1] == most else label


def _drawn_by_chance(rows: NDArray[np.int64], chances: Array) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Name the draws of rows that come with nothing but chances: rows of equal chance are one stratum."""
    names, sizes = [""] * len(rows), np.zeros(len(rows), np.int64)
    known = np.unique(chances[(chances < 1) & ~np.isnan(chances)])
    if len(known) > len(STRATA):
        raise ValueError(
            f"chance has {len(known)} different values, but strata have one chance each, and at most {len(STRATA)} "
            "strata are possible; draw rows with plan_checks"
        )
    for letter, value in zip(STRATA, known, strict=False):
        at = np.flatnonzero(chances == value)
        numbers = {row: number for number, row in enumerate(dict.fromkeys(rows[at].tolist()), start=1)}
        for k in at:
            names[k] = f"1{letter}{numbers[int(rows[k])]}"
        sizes[at] = round(len(numbers) / value)
    certain = np.flatnonzero(chances == 1)
    for k in certain:
        names[k] = "1x"
    sizes[certain] = len(set(rows[certain].tolist()))
    return np.array(names), sizes


def _check_draws(rows: NDArray[np.int64], names: NDArray[np.str_], chances: Array, sizes: NDArray[np.int64]) -> None:
    """Refuse draws that do not fit each other: they come from different plans, or were edited."""
    row_of: dict[str, int] = {}
    facts: dict[str, tuple[float, int]] = {}
    for row, name, chance, size in zip(rows.tolist(), names.tolist(), chances.tolist(), sizes.tolist(), strict=True):
        if not name:
            continue
        if not DRAW.fullmatch(name):
            raise ValueError(f"draw must look like 2b7, 2x or 2, got {name!r} for row {row}")
        batch, letter, _ = read_draw(name)
        if not letter:
            continue
        stratum = f"{batch}{letter}"
        if row_of.setdefault(name, row) != row:
            raise ValueError(
                f"draw {name} belongs to row {row_of[name]} and to row {row}; these verdicts come from different plans"
            )
        if np.isnan(chance) or size < 1:
            raise ValueError(f"draw {name} of row {row} needs its chance and drawn_from, got {chance} and {size}")
        if facts.setdefault(stratum, (chance, size)) != (chance, size):
            raise ValueError(
                f"stratum {stratum} has the chances {facts[stratum][0]} and {chance}, or {facts[stratum][1]} and "
                f"{size} rows; these verdicts come from different plans"
            )
