"""How people write numbers, times and truth values, found from all cells of a column together.

A cell alone is often ambiguous: 1,234 is a thousand in one country and a little more than one in another. So a notation
is chosen that reads *every* cell of the column, and where two notations do, the habits of the other columns decide
(:class:`Habits`). A notation that was found is kept with the column, said to the user, and used again for new rows.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol


class Notation(Protocol):
    """A way of writing numbers or dates in cells."""

    def read(self, cell: str) -> float:
        """The number that a cell stands for; ValueError if the cell is written in another way."""

    @property
    def said(self) -> str:
        """The notation in a few words."""


@dataclass(frozen=True)
class Habits:
    """What the other columns of a table show about the country it comes from; None where they show nothing."""

    decimal_comma: bool | None = None
    day_first: bool | None = None


#: Characters that look like another one, which keyboards have.
LOOK_ALIKES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-", "\uff05": "%"})
#: Cells with which spreadsheets and people say "nothing" in a column of numbers.
DASHES = frozenset({"-", "--", "\u2013", "\u2014"})
MONEY = "$ € £ ¥ ₹ ₽ ₩ ₺ zł Kč Ft kr Fr. US$ A$ C$ R$ CHF EUR USD GBP JPY CNY INR SEK NOK DKK PLN CZK HUF CAD AUD NZD"
CURRENCIES = frozenset(MONEY.split())
PERCENT = ("%", "\u2030")
_CURRENCY = "|".join(sorted(map(re.escape, CURRENCIES), key=lambda name: (-len(name), name)))
#: A number with a unit in front of it or behind it. A unit of letters stands behind a blank: A12 and 12a are codes.
PARTS = re.compile(
    rf"(?P<open>\()?(?P<sign>[+-]?) ?(?P<before>{_CURRENCY})? ?(?P<inner>[+-]?)"
    r"(?P<number>[\d.,' ]*\d[.,]?(?:[eE][+-]?\d+)?)"
    rf"(?: ?(?P<behind>{_CURRENCY}|[%\u2030])| (?P<unit>[A-Za-zµμ°²³/]{{1,8}}))?(?P<close>\))?",
    re.ASCII,
)
#: Numbers without a unit are taken in the unit of the others if at least this share of the numbers has it.
SOME_UNITS = 0.1
#: Decimal mark and thousands mark; the first pair that reads all cells is taken.
MARKS = ((".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", " "), (".", "'"), (",", "'"))


def _number_form(decimal: str, thousands: str) -> re.Pattern[str]:
    """Digits in groups of three; people in India write groups of two before the last three."""
    point, mark = re.escape(decimal), re.escape(thousands)
    grouped = rf"|[1-9]\d{{0,2}}(?:{mark}\d{{2,3}})*{mark}\d{{3}}" if thousands else ""
    return re.compile(rf"(?:(?:\d+{grouped})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?", re.ASCII)


_NUMBERS = {marks: _number_form(*marks) for marks in MARKS}
#: So many numbers with three digits behind the point, beside numbers without a point, have points between thousands.
MANY_POINTS = 8
NAMES_OF_MARKS = {",": "commas", ".": "points", " ": "blanks", "'": "apostrophes"}


@dataclass(frozen=True)
class Amounts:
    """Numbers with a decimal mark, a thousands mark and a unit, each of which may be empty but the first.

    A number without a unit is taken in the unit of the others, but not in percent: .05 may be five percent.
    ``doubtful``: the thousands mark could also be a decimal mark. ``partly``: some numbers had no unit.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    doubtful: bool = False
    partly: bool = field(default=False, repr=False)

    def read(self, cell: str) -> float:
        if cell.strip() in DASHES:
            return float("nan")
        if (parts := _cut(cell)) is None or not self._fits(parts):
            raise ValueError(cell)
        sign, digits, _ = parts
        return sign * float(digits.replace(self.thousands or " ", "").replace(self.decimal, "."))

    def _fits(self, parts: tuple[float, str, str]) -> bool:
        """Whether a number has these marks and this unit; without a unit it means the same, but not in percent."""
        lacks_unit = not parts[2] and (self.unit not in PERCENT or not _is_bare(parts))
        if parts[2] != self.unit and not lacks_unit:
            return False
        return _NUMBERS[self.decimal, self.thousands].fullmatch(parts[1]) is not None

    @property
    def said(self) -> str:
        marks = ["decimal comma"] if self.decimal == "," and not self.doubtful else []
        marks += [f"{NAMES_OF_MARKS[self.thousands]} between thousands"] if self.thousands else []
        unit = "percent" if self.unit in PERCENT else self.unit + ", also where no unit is written" * self.partly
        said = " ".join([f"with {' and '.join(marks)}"] * bool(marks) + [f"in {unit}"] * bool(unit))
        mark = {",": "comma", ".": "point"}.get(self.thousands)
        if not self.doubtful or mark is None:
            return said
        return f"{said} (every {mark} has three digits behind it; if it is a decimal {mark}, write decimal points)"


def _cut(cell: str) -> tuple[float, str, str] | None:
    """The sign, the digits with their marks, and the unit of a cell; None if it is no number."""
    found = PARTS.fullmatch(cell.strip().translate(LOOK_ALIKES))
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    units = [unit for unit in (found["before"], found["behind"], found["unit"]) if unit]
    signs = found["sign"] + found["inner"]
    if len(units) > 1 or len(signs) > 1 or (found["open"] and signs):
        return None
    negative = signs == "-" or found["open"]
    return -1.0 if negative else 1.0, found["number"].strip(), units[0] if units else ""


def _is_bare(parts: tuple[float, str, str]) -> bool:
    """Whether a number other than zero stands without a unit."""
    return not parts[2] and bool(parts[1].strip("0.,"))


def distinct_cells(cells: Iterable[str]) -> list[str]:
    """The different cells, without those that say "nothing" by a dash."""
    return [cell for cell in dict.fromkeys(cells) if cell.strip() not in DASHES]


def find_amounts(cells: Iterable[str], habits: Habits, *, share: float = 1.0) -> Amounts | None:
    """The notation that reads the cells, or at least a ``share`` of them; None if there is none."""
    distinct = distinct_cells(cells)
    known = [parts for cell in distinct if (parts := _cut(cell)) is not None]
    if not known or len(known) < share * len(distinct) or (common := _common_unit(known)) is None:
        return None
    unit, partly = common
    notations = [Amounts(*marks, unit, partly=partly) for marks in MARKS]
    fitting = [notation for notation in notations if sum(map(notation._fits, known)) >= share * len(distinct)]
    numbers = [digits for _, digits, _ in known]
    marked = any(mark in digits for digits in numbers for mark in ",.")
    if habits.decimal_comma is None and points_group_thousands(numbers, money=unit in CURRENCIES):
        return Amounts(",", ".", unit, doubtful=True, partly=partly)
    return _preferred(fitting, habits, marked=marked)


def _common_unit(known: Sequence[tuple[float, str, str]]) -> tuple[str, bool] | None:
    """The unit of all numbers, and whether some are written without it; None if there are several units."""
    units = {unit for _, _, unit in known if unit}
    if len(units) > 1:
        return None
    unit = units.pop() if units else ""
    bare = sum(map(_is_bare, known)) if unit and unit not in CURRENCIES else 0
    return (unit, bare > 0) if bare <= (1 - SOME_UNITS) * len(known) else None


def several_notations(cells: Iterable[str]) -> str | None:
    """What differs where every cell is a number, but no notation reads them all; None where cells are not numbers."""
    distinct = distinct_cells(cells)
    known = [parts for cell in distinct if (parts := _cut(cell)) is not None]
    numbers = [digits for _, digits, _ in known if any(form.fullmatch(digits) for form in _NUMBERS.values())]
    if not numbers or len(numbers) < len(distinct):
        return None
    units = sorted({unit for _, _, unit in known if unit})
    if len(units) > 1:
        return f"the units {', '.join(map(repr, units[:-1]))} and {units[-1]!r}"
    if find_amounts(numbers, Habits()) is None:
        return "the decimal marks '.' and ','"
    return f"the unit: some have {units[0]!r} and others have none" if units else None


def points_group_thousands(numbers: Sequence[str], *, money: bool = False) -> bool:
    """Whether points stand between thousands, as in 1.065 beside 735.

    Numbers that are rounded to three digits behind a decimal point either all have a point, or lose their last zeros,
    so that some have fewer digits behind it. Amounts of money do not have three such digits.
    """
    pointed = [number for number in numbers if "." in number]
    plain = len(pointed) < len(numbers)
    if len(pointed) < (1 if money else MANY_POINTS) or not (plain or money):
        return False
    form = _NUMBERS[",", "."]
    return all("," in number or len(number) <= 3 for number in numbers if "." not in number) and all(
        form.fullmatch(number) for number in pointed
    )


def _preferred(fitting: Sequence[Amounts], habits: Habits, *, marked: bool) -> Amounts | None:
    """The first notation; but if commas or points (``marked``) may be both marks, the habits of the table decide."""
    if not fitting:
        return None
    decimal_commas = [notation for notation in fitting if notation.decimal == ","]
    if habits.decimal_comma and decimal_commas and marked:
        return decimal_commas[0]
    commas = {(".", ","), (",", "")} <= {(notation.decimal, notation.thousands) for notation in fitting}
    if commas and fitting[0].thousands == "," and habits.decimal_comma is None:
        return replace(fitting[0], decimal=".", thousands=",", doubtful=True)
    return fitting[0]


def shows_decimal_comma(cells: Iterable[str]) -> bool | None:
    """What a column shows about decimal commas: True or False if it can be read in one way only, else None."""
    found = find_amounts(cells, Habits())
    if found is None or found.doubtful or not any("," in cell or "." in cell for cell in cells):
        return None
    other = find_amounts(cells, Habits(decimal_comma=True))
    return None if other is not None and other.decimal != found.decimal else found.decimal == ","


#: Words for "no" and "yes", "false" and "true", in several languages. Which of two words is larger does not matter.
TRUTH_WORDS = (
    "false/true f/t no/yes n/y off/on nein/ja nee/ja n/j nej/ja non/oui n/o no/si no/sí não/sim nao/sim falsch/wahr"
    " faux/vrai falso/verdadero falso/vero nie/tak нет/да hayır/evet いいえ/はい 否/是 absent/present"
)
TRUTHS = tuple(tuple(words.split("/")) for words in TRUTH_WORDS.split())


@dataclass(frozen=True)
class TruthWords:
    """Two words for false (0) and true (1), with or without capitals."""

    no: str = "false"
    yes: str = "true"

    def read(self, cell: str) -> float:
        return float((self.no, self.yes).index(cell.strip().casefold()))

    @property
    def said(self) -> str:
        return "" if self.no == "false" else f"{self.no} is 0 and {self.yes} is 1"


def find_truth(cells: Iterable[str]) -> TruthWords | None:
    """The two words that the cells consist of."""
    words = {cell.strip().casefold() for cell in cells}
    for no, yes in TRUTHS:
        if words == {no, yes} or (words <= {no, yes} and no == "false"):
            return TruthWords(no, yes)
    return None


CLOCK = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d(?:[.,]\d+)?))?(?: ?([ap])\.?m\.?)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Times:
    """Times of day and durations, such as 17:30, 5:30 pm and 1:02:03.5, as hours."""

    def read(self, cell: str) -> float:
        if cell.strip() in DASHES:
            return float("nan")
        found = CLOCK.fullmatch(cell.strip().translate(LOOK_ALIKES))
        if found is None:
            raise ValueError(cell)
        hours, minutes, seconds, half = found.groups()
        hour = int(hours)
        if half:
            if not 1 <= hour <= 12:
                raise ValueError(cell)
            hour = hour % 12 + 12 * (half.lower() == "p")
        return hour + int(minutes) / 60 + float((seconds or "0").replace(",", ".")) / 3600

    @property
    def said(self) -> str:
        return "times as hours"


def find_times(cells: Iterable[str]) -> Times | None:
    """The notation of times, if all cells are times."""
    try:
        for cell in cells:
            Times().read(cell)
    except ValueError:
        return None
    return Times()
