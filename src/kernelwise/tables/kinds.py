"""The kind of a column, found from its cells by one set of rules for files and for data frames.

The first rule that fits decides; missing cells are ignored.

=============  =======================================================================================================
"id"           whole numbers that count the rows from 0 or 1, or that are distinct in a column whose name says "id"
"numeric"      numbers; or "true" and "false"; or so many different numbers that the few other cells must be mistakes
"date"         dates in ISO form, such as 2024-05-31 or 2024-05-31T17:30
"text"         cells of several words that differ from row to row
"id"           single words that are all distinct
"categorical"  all others
=============  =======================================================================================================

The reasons for these rules:

- Truth values are the numbers 0 and 1, as in pandas: one feature says as much as two indicators.
- An infinite number becomes missing, so that the other numbers of the column stay numbers.
- Dates in ISO form are dates although a file holds them as text, and although all of them may be distinct.
- Distinct single words, and numbers that count the rows, name the rows: no two rows share a name, so nothing can be
  learned from the names.
- Long cells that repeat a few phrases, such as the answers of a questionnaire, are categories. Single words are never
  text.
"""

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Kind", "as_numbers", "as_words", "is_missing", "is_number", "kind_of_numbers", "kind_of_words"]

Array = NDArray[np.float64]
Kind = Literal["numeric", "categorical", "text", "date", "id"]

#: Cells that stand for a missing value, in lower case: the cells that pandas takes for missing, and the question mark.
MISSING = frozenset(
    ["", "?", "na", "n/a", "nan", "null", "none", "<na>", "-nan"]
    + ["#n/a", "#n/a n/a", "#na", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"]
)
TRUTH = {"false": 0.0, "true": 1.0}
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Cells of WORDS_OF_PROSE words on average are text. With WORDS_OF_NOTES words, most cells must also be different.
WORDS_OF_PROSE, WORDS_OF_NOTES = 4.0, 2.0
#: At most FEW_PHRASES different cells, each in ROWS_PER_PHRASE rows on average, are categories even if they are long.
FEW_PHRASES, ROWS_PER_PHRASE = 30, 3
#: From this many rows on, a column of distinct words names the rows.
ROWS_FOR_IDS = 8
#: If more than MOSTLY of the cells are numbers, and more than MANY_NUMBERS cells differ, the other cells are mistakes.
MOSTLY, MANY_NUMBERS = 0.8, 50


def is_missing(cell: str) -> bool:
    """Whether a cell stands for a missing value.

    >>> is_missing(" NA "), is_missing("0")
    (True, False)
    """
    return cell.strip().casefold() in MISSING


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number.

    >>> is_number("1e-3"), is_number("1_000"), is_number("inf")
    (True, False, False)
    """
    try:
        return math.isfinite(float(cell)) and "_" not in cell
    except ValueError:
        return False


def as_words(cells: Sequence[str]) -> NDArray[Any]:
    """The cells without blanks around them in an object array, None where missing.

    >>> as_words([" a", "NA"])
    array(['a', None], dtype=object)
    """
    words = np.empty(len(cells), dtype=object)
    words[:] = [None if is_missing(cell) else cell.strip() for cell in cells]
    return words


def as_numbers(cells: Sequence[str]) -> Array | None:
    """The cells as numbers, NaN where missing or infinite; None if a cell is not a number.

    >>> as_numbers(["1", " 2.5", "?", "inf"]), as_numbers(["1", "red"])
    (array([1. , 2.5, nan, nan]), None)
    """
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


def number(word: str) -> float:
    """A number or a truth value; ValueError for anything else.

    >>> number("2.5"), number("True")
    (2.5, 1.0)
    """
    if word.casefold() in TRUTH:
        return TRUTH[word.casefold()]
    if not is_number(word):
        raise ValueError(word)
    return float(word)


def seconds(word: str) -> float:
    """A date in ISO form as seconds since the beginning of 1970; a date without a time zone is in universal time.

    >>> seconds("1970-01-02"), seconds("1970-01-01T01:00:00.5+01:00")
    (86400.0, 0.5)
    """
    date = datetime.fromisoformat(word)
    return ((date if date.tzinfo else date.replace(tzinfo=UTC)) - EPOCH) / timedelta(seconds=1)


def kind_of_numbers(name: str, numbers: Array) -> Kind:
    """The kind of a column of numbers.

    >>> kind_of_numbers("size", np.arange(8.0)), kind_of_numbers("size", np.arange(8.0) ** 2)
    ('id', 'numeric')
    """
    if len(numbers) < ROWS_FOR_IDS or not np.array_equal(numbers, np.floor(numbers)):
        return "numeric"
    if numbers[0] in (0.0, 1.0) and bool((np.diff(numbers) == 1.0).all()):
        return "id"
    called_id = name.casefold() in {"id", "index", "row"} or name.casefold().endswith(("_id", " id"))
    return "id" if called_id and len(np.unique(numbers)) == len(numbers) else "numeric"


def kind_of_words(words: Sequence[str], n_rows: int) -> Kind:
    """The kind of a column of ``n_rows`` cells; ``words`` are the cells that are not missing, not all of them numbers.

    >>> kind_of_words(["red", "blue", "red"], 3), kind_of_words(["2024-05-31"], 3), kind_of_words(["a b c d"], 1)
    ('categorical', 'date', 'text')
    """
    if not words:
        return "categorical"
    if all(word.casefold() in TRUTH for word in words):
        return "numeric"
    if all(map(_is_date, words)):
        return "date"
    distinct = len(set(words))
    numbers = sum(map(is_number, words)) > MOSTLY * len(words)
    if numbers and distinct > MANY_NUMBERS:
        return "numeric"
    length = sum(len(word.split()) for word in words) / len(words)
    phrases = distinct <= FEW_PHRASES and ROWS_PER_PHRASE * distinct <= len(words)
    if length >= WORDS_OF_PROSE and not phrases:
        return "text"
    if length >= WORDS_OF_NOTES:
        return "text" if distinct > len(words) // 2 >= ROWS_FOR_IDS else "categorical"
    return "id" if distinct == n_rows >= ROWS_FOR_IDS and not numbers else "categorical"


def _is_date(word: str) -> bool:
    try:
        return ISO_DATE.fullmatch(word) is not None and math.isfinite(seconds(word))
    except ValueError:  # such as the 30th of February
        return False
