"""The kind of a column, found from its cells by one set of rules for files and for data frames.

The first rule that fits decides; missing cells are ignored.

=============  =======================================================================================================
"id"           whole numbers that count the rows from 0 or 1, or that are distinct in a column whose name says "id"
"date"         eight digits that are all dates, such as 20240531
"numeric"      numbers without leading zeros; numbers in one notation of :mod:`.notation`; two words for yes and no;
               times; or so many different numbers that the few other cells must be mistakes
"date"         dates: in ISO form, in the order of a country, or with the name of the month
"text"         cells of many words that differ from row to row
"name"         short cells, mostly different, whose words recur rarely
"id"           single words that are all distinct
"categorical"  all others
=============  =======================================================================================================

The reasons for these rules:

- Truth values are the numbers 0 and 1, as in pandas: one feature says as much as two indicators.
- An infinite number becomes missing, so that the other numbers of the column stay numbers.
- Numbers of which some begin with a zero, such as 007 and 01234, are codes: as amounts nobody writes them so.
- Dates are dates although a file holds them as text, and although all of them may be distinct.
- Distinct single words, and numbers that count the rows, name the rows: no two rows share a name, so nothing can be
  learned from the names.
- Surnames, streets and products recur rarely as a whole, but their letters do.
- Long cells that repeat a few phrases, such as the answers of a questionnaire, are categories. Single words are never
  text.

31/05/2024 can only have the day first, and 05/31/2024 only the month. 05/06/2024 can have either first, so the order is
found from all dates of a column, and where no day is above 12, from the other columns.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .notation import DASHES, LOOK_ALIKES, Habits

Array = NDArray[np.float64]
Kind = Literal["numeric", "categorical", "name", "text", "date", "id"]

#: Cells that stand for a missing value, in lower case: the cells that pandas takes for missing, the question mark, and
#: the errors of spreadsheets.
MISSING = frozenset(
    ["", "?", "na", "n/a", "nan", "null", "none", "<na>", "-nan"]
    + ["#n/a", "#n/a n/a", "#na", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"]
    + ["#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"]
)
#: Words among them that are also names and answers: North America, Namibia, no stance.
WORDS_FOR_MISSING = frozenset(["na", "n/a", "none", "null"])
#: Numbers that stand for a missing value where all other numbers are positive or zero.
MISSING_CODES = (-9.0, -99.0, -999.0, -9999.0, -99999.0, -999999.0)
#: Cells of WORDS_OF_PROSE words on average are text. With WORDS_OF_NOTES words, most cells must also be different.
WORDS_OF_PROSE, WORDS_OF_NOTES = 4.0, 2.0
#: At most FEW_PHRASES different cells, each in ROWS_PER_PHRASE rows on average, are categories even if they are long.
FEW_PHRASES, ROWS_PER_PHRASE = 30, 3
#: From this many rows on, a column of distinct words names the rows.
ROWS_FOR_IDS = 8
#: Short cells are names if more than so many of them are different, and more than half of all cells.
MANY_NAMES = 50
#: But cells of several words are text if this share of the words occurs in two cells or more.
RECURRING = 0.65
#: If more than MOSTLY of the cells are numbers, and more than MANY_NUMBERS cells differ, the other cells are mistakes.
MOSTLY, MANY_NUMBERS = 0.8, 50


def is_missing(cell: str) -> bool:
    """Whether a cell stands for a missing value."""
    return cell.strip().casefold() in MISSING


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number."""
    try:
        return math.isfinite(float(cell)) and "_" not in cell
    except ValueError:
        return False


def is_word_for_missing(cell: str) -> bool:
    """Whether a cell is a word that stands for a missing value in most columns, and may be a label."""
    return cell.strip().casefold() in WORDS_FOR_MISSING


def as_words(cells: Sequence[str], *, keep_words: bool = False) -> NDArray[Any]:
    """The cells without blanks around them, None where missing; ``keep_words`` keeps NA and None, perhaps labels."""
    words = np.empty(len(cells), dtype=object)
    words[:] = [
        None if is_missing(cell) and not (keep_words and is_word_for_missing(cell)) else cell.strip() for cell in cells
    ]
    return words


def as_numbers(cells: Sequence[str]) -> Array | None:
    """The cells as numbers, NaN where missing or infinite; None if a cell is not a number."""
    try:
        values = np.array([float(cell) for cell in cells])
    except ValueError:
        try:
            values = np.array([np.nan if is_missing(cell) else float(cell) for cell in cells])
        except ValueError:
            return None
    if any("_" in cell for cell in cells):  # Python reads 1_000 as a number; in a table, 1_000 is a name
        return None
    return np.where(np.isfinite(values), values, np.nan)


def are_codes(cells: Sequence[str]) -> bool:
    """Whether cells, all of them numbers, are codes: whole numbers of which some begin with a zero."""
    zero = False
    for cell in cells:
        word = cell.strip()
        if not word.isdigit() and not is_missing(word):
            return False
        zero = zero or (len(word) > 1 and word[0] == "0")
    return zero


def are_compact_dates(numbers: Array) -> bool:
    """Whether numbers are dates of eight digits, such as 20240531."""
    present = np.unique(numbers[~np.isnan(numbers)])
    if len(numbers) < ROWS_FOR_IDS or not len(present) or present[0] < 1900_01_01 or present[-1] > 2099_12_31:
        return False
    written = [f"{value:.0f}" for value in present if value == math.floor(value)]
    return len(written) == len(present) and _reads_all(DateOrder(), written)


def missing_code(numbers: Array) -> float:
    """The number that stands for missing, as -999: it occurs twice, and is the only one below zero; else NaN."""
    present = numbers[~np.isnan(numbers)]
    lowest = float(present.min(initial=0.0))
    if lowest not in MISSING_CODES or (present == lowest).sum() < 2:
        return math.nan
    others = present[present != lowest]
    return lowest if len(others) and others.min() >= 0 else math.nan


def kind_of_numbers(name: str, numbers: Array) -> Kind:
    """The kind of a column of numbers."""
    if len(numbers) < ROWS_FOR_IDS or not np.array_equal(numbers, np.floor(numbers)):
        return "date" if are_compact_dates(numbers) else "numeric"
    if numbers[0] in (0.0, 1.0) and bool((np.diff(numbers) == 1.0).all()):
        return "id"
    called_id = name.casefold() in {"id", "index", "row"} or name.casefold().endswith(("_id", " id"))
    if called_id and len(np.unique(numbers)) == len(numbers):
        return "id"
    return "date" if are_compact_dates(numbers) else "numeric"


def kind_of_words(words: Sequence[str], n_rows: int) -> Kind:
    """The kind of a column of ``n_rows`` cells; ``words`` are those that are not missing, no numbers and no dates."""
    if not words:
        return "categorical"
    distinct = len(set(words))
    length = sum(len(word.split()) for word in words) / len(words)
    phrases = distinct <= FEW_PHRASES and ROWS_PER_PHRASE * distinct <= len(words)
    if length >= WORDS_OF_PROSE and not phrases:
        return "text"
    if length < WORDS_OF_NOTES and distinct == n_rows >= ROWS_FOR_IDS:
        return "categorical" if sum(map(is_number, words)) > MOSTLY * n_rows else "id"  # numbers with a mistake
    if distinct > max(MANY_NAMES, len(words) // 2) and (length < WORDS_OF_NOTES or _recurring(words) < RECURRING):
        return "name"
    return "text" if length >= WORDS_OF_NOTES and distinct > len(words) // 2 >= ROWS_FOR_IDS else "categorical"


def _recurring(cells: Sequence[str]) -> float:
    counts = Counter(word for cell in cells for word in {*cell.casefold().split()})
    return sum(count for count in counts.values() if count > 1) / max(counts.total(), 1)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
#: Two digits of a year up to this number belong to this century.
LAST_OF_THIS_CENTURY = 68
#: The first letters of the names of months in English, German, French, Spanish, Italian, Portuguese and Dutch.
MONTH_PREFIXES = (
    "jan ene gen/feb fev fév/mar mär mrz maa mrt/apr avr abr/may mai mag mei/jun juin giu/jul juil lug/aug aou aoû ago/"
    "sep set/oct okt ott out/nov/dec dez dic déc"
)
MONTHS = {
    prefix: month for month, prefixes in enumerate(MONTH_PREFIXES.split("/"), start=1) for prefix in prefixes.split()
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
        if ISO_DATE.fullmatch(cell):  # without a time zone, it is in universal time
            date = datetime.fromisoformat(cell)
            return ((date if date.tzinfo else date.replace(tzinfo=UTC)) - EPOCH) / timedelta(seconds=1)
        parts = _parts(cell)
        if "first" in parts:
            day, month = (parts["first"], parts["middle"]) if self.day_first else (parts["middle"], parts["first"])
        else:
            day, month = parts.get("day", "1"), parts.get("month") or str(_month(parts["word"]))
        date = datetime(_year(parts["year"]), int(month), int(day), *_clock(parts), tzinfo=UTC)
        passed = (date - EPOCH) / timedelta(seconds=1) + float((parts.get("second") or "0").replace(",", ".")) % 60
        zone = parts.get("zone", "Z")
        ahead = 60.0 * (60 * int(zone[1:3]) + int(zone[-2:])) if zone[0] in "+-" else 0.0
        return passed + ahead if zone[0] == "-" else passed - ahead

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
    start = word.casefold()[:4]
    if (month := MONTHS.get(start) or MONTHS.get(start[:3])) is None:
        raise ValueError(word)
    return month


def _clock(parts: dict[str, str]) -> tuple[int, int]:
    hour = int(parts.get("hour", "0"))
    if "half" in parts:
        if not 1 <= hour <= 12:
            raise ValueError(parts["hour"])
        hour = hour % 12 + 12 * (parts["half"] in "pP")
    return hour, int(parts.get("minute", "0"))


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


def _reads_all(order: DateOrder, cells: Iterable[str]) -> bool:
    known = False
    try:
        for cell in cells:
            known = math.isfinite(order.read(cell)) or known
    except (ValueError, OverflowError):
        return False
    return known
