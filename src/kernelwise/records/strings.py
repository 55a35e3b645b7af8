r"""How alike two strings are, seen in several ways, each between 0 and 1.

Let :math:`a` and :math:`b` be two cells of a column, in lower case, and let :math:`w_t` be the idf weight of a word or
trigram t: rare words count more. The ways differ in what they forgive:

=======================  ===========================================================================================
equal                    :math:`[a = b]`; forgives case, punctuation and blanks
characters in common     cosine of tf-idf trigrams; forgives typing errors and another order of the words
words in common          cosine of tf-idf words; forgives another order
shorter within longer    :math:`\sum_{t \in a \cap b} w_t / \min(\sum_{t \in a} w_t, \sum_{t \in b} w_t)` over words;
                         forgives additions
letters in order         :math:`2 \, \mathrm{lcs}(a, b) / (|a| + |b|)` with the longest common subsequence; forgives
                         letters that are missing or added
numbers in common        shorter within longer, over the words that hold a digit: model numbers, years, sizes
length                   :math:`\min(|a|, |b|) / \max(|a|, |b|)`
=======================  ===========================================================================================

A way that does not apply to a pair, because a cell is missing or holds no number, gives NaN.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from ..checks import Array, IntArray
from ..tables.kinds import MOSTLY
from ..tables.notation import Amounts, Habits, find_amounts

#: The longest common subsequence is that of the first so many characters: in longer texts nearly every letter recurs.
LONGEST = 200
BLANKS = re.compile(r"[\W_]+")
#: A number within a text. A minus stands behind a blank and before the digits, or before a currency: AM-53 is a name.
NUMBER = re.compile(
    r"(?P<minus>(?<![^\s(])[-\u2212](?=[$€£¥]?[.,]?\d))?[$€£¥]?(?P<digits>(?:\d+(?:[.,]\d+)*|(?<![\w.,])[.,]\d+))"
)


def tidy_string(cell: str | None) -> str:
    """Return a cell in lower case with single blanks in place of everything that is no letter or digit."""
    return "" if cell is None else BLANKS.sub(" ", cell.casefold()).strip()


def compare_strings(cells: Sequence[str | None], rows: IntArray, cols: IntArray) -> dict[str, Array]:
    """Return every way of comparing ``cells[rows]`` with ``cells[cols]``, by its name."""
    written, position = np.unique([tidy_string(cell) for cell in cells], return_inverse=True)
    strings: list[str] = written.tolist()
    left, right = position[rows], position[cols]
    missing = (written == "")[left] | (written == "")[right]
    lengths = np.array([len(string) for string in strings], dtype=np.float64)
    shorter, longer = np.minimum(lengths[left], lengths[right]), np.maximum(lengths[left], lengths[right])
    codes = _codes(cells, position, len(strings))
    documents = [strings[place] for place in position]
    found = {
        "equal": (left == right).astype(np.float64),
        "characters in common": _cosine(strings, documents, left, right, analyzer="char_wb", ngram_range=(3, 3)),
        "words in common": _cosine(strings, documents, left, right, analyzer=str.split),
        "shorter within longer": _within(strings, documents, left, right),
        "letters in order": _in_order(strings, left, right),
        "numbers in common": _within(codes, [codes[place] for place in position], left, right),
        "length": shorter / np.maximum(longer, 1.0),
    }
    return {name: np.where(missing, np.nan, values) for name, values in found.items()}


def first_numbers(cells: Sequence[str | None], habits: Habits = Habits()) -> Array | None:  # noqa: B008  # immutable
    """Return the number in each cell, NaN where there is none; None unless most cells hold exactly one number.

    Numbers are read as those of a column of numbers: in the notation that reads nearly all of them, given the habits of
    the table, and otherwise one by one, as records of two sources may be written in two ways. What no notation reads,
    as 1.2.3, is no number.
    """
    found = [list(NUMBER.finditer(cell)) if cell else [] for cell in cells]
    if 2 * sum(len(numbers) == 1 for numbers in found) <= sum(bool(cell) for cell in cells):
        return None
    first = [numbers[0] if numbers else None for numbers in found]
    written = [number["digits"] for number in first if number]
    common = find_amounts(written, habits) or find_amounts(written, habits, share=MOSTLY)
    value = {digits: _value(digits, common, habits) for digits in dict.fromkeys(written)}
    return np.array([np.nan if one is None else (-1 if one["minus"] else 1) * value[one["digits"]] for one in first])


def common_subsequence(first: str, second: str) -> int:
    """Return the length of the longest common subsequence.

    The bits of one whole number are a row of the usual table: bit i is zero where the length grows at letter i. Adding
    carries each match to the end of its run of ones (Hyyrö 2004), so a letter costs four operations on whole numbers.
    """
    place: dict[str, int] = {}
    for i, letter in enumerate(first):
        place[letter] = place.get(letter, 0) | 1 << i
    everything = (1 << len(first)) - 1
    row = everything
    for letter in second:
        matches = row & place.get(letter, 0)
        if matches:
            row = ((row + matches) | (row - matches)) & everything
    return len(first) - row.bit_count()


def _value(digits: str, common: Amounts | None, habits: Habits) -> float:
    """Return a number in the common notation, or in one of its own, or NaN."""
    for notation in (common, find_amounts([digits], habits)):
        try:
            if notation is not None:
                return notation.read(digits)
        except ValueError:
            continue
    return np.nan


def _codes(cells: Sequence[str | None], position: IntArray, n_strings: int) -> list[str]:
    """Return the words that hold a digit, for every distinct string; punctuation within a word is left out."""
    codes = [""] * n_strings
    for cell, place in zip(cells, position, strict=True):
        if cell is not None and not codes[place]:
            words = (BLANKS.sub("", word) for word in cell.casefold().split())
            codes[place] = " ".join(word for word in words if any(map(str.isdigit, word)))
    return codes


def _cosine(strings: list[str], documents: list[str], left: IntArray, right: IntArray, **options: Any) -> Array:
    """Return the cosines of tf-idf vectors; weights come from all records, so that frequent values weigh little."""
    if not any(string for string in strings):
        return np.zeros(len(left))
    vectors = TfidfVectorizer(**options).fit(documents).transform(strings)
    return np.clip(np.asarray(vectors[left].multiply(vectors[right]).sum(axis=1)).ravel(), 0.0, 1.0)


def _within(strings: list[str], documents: list[str], left: IntArray, right: IntArray) -> Array:
    """Return the share of the lighter string's words, by weight, that the other one has; NaN for a string of none."""
    if not any(string for string in strings):
        return np.full(len(left), np.nan)
    words = TfidfVectorizer(analyzer=str.split, binary=True, norm=None).fit(documents).transform(strings)
    weight = np.asarray(words.sum(axis=1)).ravel()
    shared = np.asarray(words[left].minimum(words[right]).sum(axis=1)).ravel()
    lighter = np.minimum(weight[left], weight[right])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(lighter > 0, shared / lighter, np.nan)


def _in_order(strings: list[str], left: IntArray, right: IntArray) -> Array:
    cut = [string[:LONGEST] for string in strings]
    shares = np.ones(len(left))
    for t in np.flatnonzero(left != right):
        first, second = cut[left[t]], cut[right[t]]
        shares[t] = 2 * common_subsequence(first, second) / max(len(first) + len(second), 1)
    return shares
