"""Dates as people write them: in ISO form, in the order of a country, or with the name of the month.

31/05/2024 can only have the day first, and 05/31/2024 only the month. 05/06/2024 can have either first, so the order is
found from all dates of a column, and where no day is above 12, from the other columns.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from .notation import DASHES, LOOK_ALIKES, Habits

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
#: Two digits of a year up to this number belong to this century.
LAST_OF_THIS_CENTURY = 68
#: The first letters of the names of months in English, German, French, Spanish, Italian, Portuguese and Dutch.
MONTHS = {
    prefix: month
    for month, prefixes in {
        1: ("jan", "ene", "gen"),
        2: ("feb", "fev", "fév"),
        3: ("mar", "mär", "mrz", "maa", "mrt"),
        4: ("apr", "avr", "abr"),
        5: ("may", "mai", "mag", "mei"),
        6: ("jun", "juin", "giu"),
        7: ("jul", "juil", "lug"),
        8: ("aug", "aou", "aoû", "ago"),
        9: ("sep", "set"),
        10: ("oct", "okt", "ott", "out"),
        11: ("nov",),
        12: ("dec", "dez", "dic", "déc"),
    }.items()
    for prefix in prefixes
}
_HOURS = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d(?:[.,]\d+)?))?"
_CLOCK = rf"(?:[T ,]+{_HOURS}(?: ?(?P<half>[apAP])\.?[mM]\.?)?)?"
_ZONE = r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d))?"
_WORD = r"(?P<word>[^\W\d_]{3,10})\.?"
FORMS = tuple(
    re.compile(form + _CLOCK + _ZONE)
    for form in (
        r"(?P<year>[0-9]{4})[-/.](?P<month>[0-9]{1,2})(?:[-/.](?P<day>[0-9]{1,2}))?",
        r"(?P<first>[0-9]{1,2})(?P<mark>[-/.])(?P<middle>[0-9]{1,2})(?P=mark)(?P<year>[0-9]{4}|[0-9]{2})",
        rf"(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th|\.)?[- ]{_WORD}[-, ]+(?P<year>[0-9]{{4}}|[0-9]{{2}})",
        rf"{_WORD}[- ](?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?[-, ]+(?P<year>[0-9]{{4}})",
        r"(?P<year>(?:19|20)[0-9]{2})(?P<month>[0-9]{2})(?P<day>[0-9]{2})",
    )
)


@dataclass(frozen=True)
class DateOrder:
    """Dates in which day or month comes first; ``doubtful``: they could also be read in the other order."""

    day_first: bool = True
    doubtful: bool = False

    def read(self, cell: str) -> float:
        cell = cell.strip().translate(LOOK_ALIKES)
        if cell in DASHES:
            return float("nan")
        if ISO_DATE.fullmatch(cell):
            return iso_seconds(cell)
        parts = _parts(cell)
        if "first" in parts:
            day, month = (parts["first"], parts["middle"]) if self.day_first else (parts["middle"], parts["first"])
        else:
            day, month = parts.get("day", "1"), parts.get("month") or str(_month(parts["word"]))
        date = datetime(_year(parts["year"]), int(month), int(day), *_clock(parts), tzinfo=UTC)
        passed = (date - EPOCH) / timedelta(seconds=1) + float((parts.get("second") or "0").replace(",", ".")) % 60
        return passed - _offset(parts.get("zone"))

    @property
    def said(self) -> str:
        if not self.doubtful:
            return ""
        shown, other = ("day/month/year", "month") if self.day_first else ("month/day/year", "day")
        return f"read as {shown}, though the {other} may come first, since no number is above 12"


def _parts(cell: str) -> dict[str, str]:
    for form in FORMS:
        if found := form.fullmatch(cell):
            return {name: part for name, part in found.groupdict().items() if part is not None}
    raise ValueError(cell)


def _year(digits: str) -> int:
    year = int(digits)
    return year if len(digits) == 4 else year + (2000 if year <= LAST_OF_THIS_CENTURY else 1900)


def _month(word: str) -> int:
    folded = word.casefold()
    for length in (4, 3):
        if folded[:length] in MONTHS:
            return MONTHS[folded[:length]]
    raise ValueError(word)


def _clock(parts: dict[str, str]) -> tuple[int, int]:
    hour = int(parts.get("hour", "0"))
    if "half" in parts:
        if not 1 <= hour <= 12:
            raise ValueError(parts["hour"])
        hour = hour % 12 + 12 * (parts["half"] in "pP")
    return hour, int(parts.get("minute", "0"))


def _offset(zone: str | None) -> float:
    """The seconds by which a zone is ahead of universal time."""
    if zone is None or zone[0] not in "+-":
        return 0.0
    sign = 1 if zone[0] == "+" else -1
    return sign * 60.0 * (60 * int(zone[1:3]) + int(zone[-2:]))


def iso_seconds(word: str) -> float:
    """A date in ISO form as seconds since the beginning of 1970; a date without a time zone is in universal time."""
    date = datetime.fromisoformat(word)
    return ((date if date.tzinfo else date.replace(tzinfo=UTC)) - EPOCH) / timedelta(seconds=1)


def find_dates(cells: Iterable[str], habits: Habits, *, share: float = 1.0) -> DateOrder | None:
    """The order in which all cells, or at least a ``share`` of them, are dates; None if there is none."""
    distinct, orders = list(dict.fromkeys(cells)), (DateOrder(True), DateOrder(False))
    if share < 1.0:
        read = np.array([[_reads_all(order, [cell]) for cell in distinct] for order in orders])
        return orders[read.sum(axis=1).argmax()] if read.any(axis=0).sum() >= share * len(distinct) else None
    fitting = [order for order in orders if _reads_all(order, distinct)]
    if not fitting:
        return None
    if len(fitting) == 1 or all(fitting[0].read(cell) == fitting[1].read(cell) for cell in distinct):
        return fitting[0]
    if any("." in cell for cell in distinct) or habits.day_first:  # points stand between day, month and year in Europe
        return DateOrder(True)
    if habits.day_first is False:
        return DateOrder(False)
    return DateOrder(bool(habits.decimal_comma), doubtful=True)


def shows_day_first(cells: Iterable[str]) -> bool | None:
    """What a column shows about the order of day and month; None if it shows nothing."""
    distinct = list(dict.fromkeys(cells))
    both = [_reads_all(DateOrder(first), distinct) for first in (True, False)]
    return both[0] if both[0] != both[1] else None


def is_compact_date(cell: str) -> bool:
    """Whether eight digits are a date, as in 20240531."""
    try:
        return len(cell) == 8 and math.isfinite(DateOrder().read(cell))
    except ValueError:
        return False


def _reads_all(order: DateOrder, cells: Iterable[str]) -> bool:
    known = False
    try:
        for cell in cells:
            known = math.isfinite(order.read(cell)) or known
    except (ValueError, OverflowError):
        return False
    return known
