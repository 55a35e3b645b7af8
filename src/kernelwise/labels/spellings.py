"""Labels as people write them: with empty cells, in several spellings, and with typing errors.

What is to be audited is not refused. Spellings that differ in capitals and blanks alone are one class; labels that
differ in a letter or two are classes of their own, and are said to look alike; a label of one row that looks like a
frequent label is taken for a typing error.
"""

import difflib
import re
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tables.kinds import is_number, is_word_for_missing
from .given import codes_missing_label

#: Two labels look alike if this share of their letters is the same, in the same order.
ALIKE = 0.8
#: What people write who cannot say which class it is.
UNDECIDED = re.compile(
    r"(i )?(abstain(ed)?|skip(ped)?|unsure|undecided|unclear|idk|not sure|do(n't| not|nt) know|can(no|')?t (tell|say))"
)
#: A label that may be a typing error occurs in at most this share of the rows of the other label.
RARE = 0.1


def same_label(one: str, other: str) -> bool:
    """Whether two cells hold the same label, though a spreadsheet may have changed the way it is written."""
    if one == other or spelling(one) == spelling(other):
        return True
    one, other = one.strip().replace(",", "."), other.strip().replace(",", ".")
    return is_number(one) and is_number(other) and float(one) == float(other)


def spelling(label: str) -> str:
    """What all spellings of a label have in common: all but capitals and blanks. Single letters differ: A and a."""
    return " ".join(label.casefold().split()) if len(label.strip()) > 1 else label.strip()


def join_spellings(labels: NDArray[Any], *, warn: bool = False) -> tuple[NDArray[Any], dict[str, str]]:
    """Labels in which every spelling of a class is its most frequent one, and the spellings that were replaced."""
    labels = np.asarray(labels)
    if labels.dtype.kind not in "UO" or labels.ndim != 1:
        return labels, {}
    replaced = replaced_spellings(Counter(label for label in labels.tolist() if isinstance(label, str)))
    if not replaced:
        return labels, {}
    if warn:
        warn_of_spellings(replaced, stacklevel=4)
    joined = [replaced.get(label, label) if isinstance(label, str) else label for label in labels.tolist()]
    return np.array(joined, dtype=object if labels.dtype == object else None), replaced


def warn_of_spellings(replaced: Mapping[str, str], *, stacklevel: int) -> None:
    """Warn of spellings that were replaced by others."""
    if replaced:
        listed = ", ".join(f"{label!r} as {other!r}" for label, other in replaced.items())
        sentence = f"labels that differ in capitals or blanks alone are taken as one class: {listed}"
        warnings.warn(sentence, stacklevel=stacklevel)


def replaced_spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """The spellings that are not the most frequent one of their class, and the latter.

    >>> replaced_spellings({"Adelie": 2, "adelie": 1, "Gentoo": 1})
    {'adelie': 'Adelie'}
    """
    usual: dict[str, str] = {}
    for label in sorted(counts, key=lambda label: (-counts[label], label)):
        usual.setdefault(spelling(label), label)
    return {label: usual[spelling(label)] for label in counts if usual[spelling(label)] != label}


def missing_words(counts: Mapping[str, int], n_empty: int = 0) -> list[str]:
    """The labels that say that there is no label, as NA and None do in most files.

    Such a word is a class if it occurs twice or more beside labels that are no numbers, and if a missing label is
    written in another way (``n_empty`` cells are empty), or the word is as frequent as the smallest other class of two
    rows or more, or there is only one other label. Otherwise the cell is taken for empty.

    >>> missing_words({"yes": 90, "no": 80, "NA": 3}), missing_words({"EU": 60, "NA": 39, "OC": 12})
    (['NA'], [])
    >>> missing_words({"yes": 90, "no": 80, "NA": 3}, n_empty=1), missing_words({"1": 40, "0": 50, "NA": 60})
    ([], ['NA'])
    """
    words = [label for label in counts if is_word_for_missing(label)]
    rows = Counter[str]()
    for label, count in counts.items():
        rows[spelling(label)] += count
    missing = {spelling(word) for word in words}
    others = {label: count for label, count in rows.items() if label not in missing}
    if all(is_number(label) for label in others):
        return words
    smallest = min((count for count in others.values() if count > 1), default=0)
    least = 2 if n_empty or len(others) < 2 else max(smallest, 2)
    return [word for word in words if rows[spelling(word)] < least]


def without_missing_words(cells: Sequence[str]) -> tuple[NDArray[Any], dict[str, int]]:
    """The labels in the cells of a column, None where there is none; and what stands there instead, with its number.

    >>> without_missing_words(["yes", "no", "NA", "yes", "no"])
    (array(['yes', 'no', None, 'yes', 'no'], dtype=object), {'NA': 1})
    """
    counts = Counter(cells)
    dropped = {word: counts[word] for word in missing_words(counts - Counter({"": counts[""]}), counts[""])}
    labels = np.array([None if not cell or cell in dropped else cell for cell in cells] + [None], dtype=object)[:-1]
    return labels, dropped | ({"": counts[""]} if counts[""] else {})


def said_unlabelled(unlabelled: Mapping[str, int]) -> str:
    """The number of rows without a label, and what stands in their cells.

    >>> said_unlabelled({"NA": 39, "": 2}), said_unlabelled({"": 1})
    ("; 41 rows have no label: 39 'NA', 2 empty", '; 1 row has no label')
    """
    total = sum(unlabelled.values())
    if not total:
        return ""
    parts = [f"{count} {word!r}" if word else f"{count} empty" for word, count in unlabelled.items()]
    listed = f": {', '.join(parts)}" if any(unlabelled) else ""
    return f"; {total} {'row has' if total == 1 else 'rows have'} no label{listed}"


def label_notes(
    counts: Mapping[str, int], replaced: Mapping[str, str], before: Mapping[str, int], errors: Collection[str] = ()
) -> list[str]:
    """Sentences about labels: words and codes that may mean no label, spellings that were joined, and look-alikes.

    ``counts`` has the number of rows of each class, and ``before`` that of each label before spellings were replaced;
    ``errors`` are labels that are taken for typing errors.

    >>> label_notes({"NA": 39, "EU": 60}, {}, {})
    ["The label 'NA' (39 rows) is taken for a class; where it says that there is no label, leave the cells empty."]
    """
    signs = [word for word in counts if not any(map(str.isalnum, word))]
    notes = [
        f"The label {word!r} ({_rows(count)}) is taken for a class; where it says that there is no label, leave the "
        "cells empty."
        for word, count in counts.items()
        if is_word_for_missing(word) or UNDECIDED.fullmatch(spelling(word)) or (len(signs) == 1 and word in signs)
    ]
    if codes_missing_label(counts):
        rows = _rows(sum(count for name, count in counts.items() if float(name) == -1))
        notes.append(f"The label -1 ({rows}) is taken for a class; where it says that there is no label, leave it out.")
    notes += [
        f"Label {other!r} ({_rows(before[other])}) is taken as {usual!r}: they differ in capitals or blanks alone."
        for other, usual in replaced.items()
    ]
    return notes + [
        f"Label {rare!r} ({_rows(counts[rare])}) looks like {usual!r} ({_rows(counts[usual])}); "
        + ("it is taken for a typing error." if rare in errors else "it is a class of its own until it is corrected.")
        for rare, usual in look_alikes(counts)
    ]


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def look_alikes(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """Pairs of a rare label and a frequent label that look alike, from the number of rows of each label."""
    worded = [label for label in counts if any(map(str.isalpha, label)) and not any(map(str.isdigit, label))]
    return [
        (rare, usual)
        for rare in sorted(worded)
        for usual in sorted(worded)
        if counts[rare] <= max(1.0, RARE * counts[usual])
        and counts[rare] < counts[usual]
        and difflib.SequenceMatcher(None, spelling(rare), spelling(usual)).ratio() >= ALIKE
    ]


def typing_errors(labels: NDArray[Any]) -> dict[str, str]:
    """Labels of one row each that differ by one slip of a finger from one frequent label, and that label.

    There are none if fewer than two classes would remain.
    """
    counts = Counter(label for label in np.asarray(labels, dtype=object).tolist() if isinstance(label, str))
    meant: dict[str, list[str]] = {}
    for rare, usual in look_alikes(counts):
        if counts[rare] == 1 <= RARE * counts[usual] and _one_slip(spelling(rare), spelling(usual)):
            meant.setdefault(rare, []).append(usual)
    errors = {rare: usual[0] for rare, usual in meant.items() if len(usual) == 1}
    return errors if len(counts) - len(errors) >= 2 else {}


def meant_label(label: str, labels: NDArray[Any]) -> str | None:
    """The frequent label that was probably meant by a label that no row has, if the two differ by one slip of a finger.

    >>> meant_label("spm", np.array(["spam"] * 20 + ["ham"] * 20)), meant_label("eggs", np.array(["spam", "ham"]))
    ('spam', None)
    """
    return typing_errors(np.array([*np.asarray(labels, dtype=object).tolist(), label], dtype=object)).get(label)


def _one_slip(one: str, other: str) -> bool:
    """Whether two words differ in one letter, in one letter more, or in the order of two neighbouring letters.

    >>> _one_slip("barollo", "barolo"), _one_slip("adelei", "adelie"), _one_slip("north", "south")
    (True, True, False)
    """
    while one and other and one[0] == other[0]:
        one, other = one[1:], other[1:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return max(len(one), len(other)) <= 1 or (len(one) == 2 and one == other[::-1])
