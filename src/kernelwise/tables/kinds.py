"""The kind of a column, found from its cells by one set of rules for files and for data frames.

The first rule that fits decides; missing cells are ignored.

=============  =======================================================================================================
"id"           whole numbers that count the rows from 0 or 1, or that are distinct in a column whose name says "id"
"date"         eight digits that are all dates, such as 20240531
"numeric"      numbers without leading zeros; numbers in one notation of :mod:`.notation`; two words for yes and no;
               times; or so many different numbers that the few other cells must be mistakes
"date"         dates in one of the forms of :mod:`.dates`
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
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .dates import is_compact_date

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
    return all(value == math.floor(value) and is_compact_date(f"{value:.0f}") for value in present)


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
    """The share of the words that occur in two cells or more."""
    counts = Counter(word for cell in cells for word in {*cell.casefold().split()})
    return sum(count for count in counts.values() if count > 1) / max(counts.total(), 1)
