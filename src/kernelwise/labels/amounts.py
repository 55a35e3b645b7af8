"""Labels that are numbers: classes, or amounts that are cut into groups; and the code -1 for "no label"."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import checks
from ..tables.kinds import is_number
from ..tables.notation import Amounts, Habits, find_amounts

__all__ = ["NumberGroups", "are_amounts", "codes_missing_label", "group_numbers", "warn_of_numbers"]

Array = NDArray[np.float64]

#: Numbers are amounts and not classes if more than FEW_NUMBERS are different (of whole numbers more than
#: MANY_WHOLE_NUMBERS) and each occurs in fewer than ROWS_PER_CLASS rows on average.
FEW_NUMBERS, MANY_WHOLE_NUMBERS, ROWS_PER_CLASS = 10, 20, 10
#: Amounts are cut into so many groups of equal size.
N_GROUPS = 4


@dataclass(frozen=True)
class NumberGroups:
    """Amounts cut into groups: ``cuts`` are the largest numbers of all groups but the last.

    ``notation`` is how the numbers are written.
    """

    cuts: tuple[float, ...]
    notation: Amounts = field(default=Amounts(), repr=False)

    @property
    def names(self) -> list[str]:
        """The names of the groups, in order.

        >>> NumberGroups((2.0, 5.0)).names
        ['1: up to 2', '2: above 2, up to 5', '3: above 5']
        """
        ends = [f"{cut:g}" for cut in self.cuts]
        inner = [f"above {low}, up to {high}" for low, high in pairwise(ends)]
        return [f"{k}: {said}" for k, said in enumerate([f"up to {ends[0]}", *inner, f"above {ends[-1]}"], start=1)]

    def group_of(self, cell: str) -> str:
        """The group of a number as it is written; the name of a group, or what is no number, stays as it is.

        >>> NumberGroups((2.0, 5.0)).group_of("3.5"), NumberGroups((2.0, 5.0)).group_of("3: above 5")
        ('2: above 2, up to 5', '3: above 5')
        """
        try:
            number = self.notation.read(cell)
        except ValueError:
            return cell
        return cell if np.isnan(number) else str(self(np.array([number]))[0])

    def __call__(self, numbers: Array) -> NDArray[Any]:
        """The name of the group of every number, None where the number is missing."""
        groups = np.array(self.names, dtype=object)[np.searchsorted(self.cuts, numbers)]
        return np.where(np.isnan(numbers), np.array(None), groups)


def are_amounts(numbers: Array, n_distinct: int) -> bool:
    """Whether labels that are numbers, ``n_distinct`` of them different, are amounts rather than classes.

    >>> are_amounts(np.arange(60.0), 60), are_amounts(np.arange(60.0) % 5, 5)
    (True, False)
    """
    whole = bool((numbers == np.floor(numbers)).all())
    few = n_distinct <= (MANY_WHOLE_NUMBERS if whole else FEW_NUMBERS)
    return not few and len(numbers) < ROWS_PER_CLASS * n_distinct


def codes_missing_label(classes: Iterable[Any]) -> bool:
    """Whether -1 stands beside two or more classes that are whole numbers from 0 on, where it often says "no label".

    >>> codes_missing_label([-1, 0, 1]), codes_missing_label(["-1", "0", "1"]), codes_missing_label([-1, 1])
    (True, True, False)
    """
    names = [str(label) for label in classes]
    if not all(is_number(name) for name in names):
        return False
    numbers = np.unique([float(name) for name in names])
    return bool(len(numbers) > 2 and numbers[0] == -1 and numbers[1] >= 0 and (numbers == np.floor(numbers)).all())


def warn_of_numbers(counts: Mapping[Any, int], *, stacklevel: int = 3) -> None:
    """Warn of labels that are whole numbers and look like amounts, or like classes with a code for "no label".

    ``counts`` has the number of rows of each label. Labels that are words are as the user wants them, and other
    numbers are refused by the estimators.

    >>> warn_of_numbers({"-1": 5, "0": 20, "1": 20})
    """
    classes = [label for label in counts if checks.is_number(label)]
    if not classes or len(classes) < len(counts) or any(label % 1 for label in classes):
        return
    numbers = np.repeat(np.array(classes, dtype=np.float64), [counts[label] for label in classes])
    if are_amounts(numbers, len(classes)):
        warnings.warn(
            f"y holds {len(classes)} different numbers in {len(numbers)} rows, which look like amounts, and each of "
            "them is taken for a class. Cut them into groups, for instance into four: numpy.digitize(y, "
            "numpy.quantile(y, [0.25, 0.5, 0.75])); if they are classes, give y.astype(str)",
            UserWarning,
            stacklevel=stacklevel,
        )
    elif codes_missing_label(classes):
        warnings.warn(
            "y holds -1 beside other classes, and -1 is taken for a class. If it says that a row has no label, give "
            "None or NaN instead: numpy.where(y == -1, numpy.nan, y); if it is a class, y.astype(str) says so",
            UserWarning,
            stacklevel=stacklevel,
        )


def group_numbers(labels: Sequence[str | None], habits: Habits = Habits()) -> tuple[NumberGroups, NDArray[Any]] | None:  # noqa: B008  # immutable
    """Groups of labels that are amounts rather than classes, and the group of every label; None if they are classes.

    >>> groups, names = group_numbers([str(i / 8) for i in range(40)])
    >>> groups.cuts, names[39]
    ((1.125, 2.375, 3.625), '4: above 3.625')
    """
    present = [label for label in labels if label is not None]
    notation = find_amounts(present, habits) if present else None
    if notation is None:
        return None
    numbers = np.array([np.nan if label is None else notation.read(label) for label in labels])
    known = numbers[~np.isnan(numbers)]
    distinct = np.unique(known)
    if not are_amounts(known, len(distinct)):
        return None
    shares = np.arange(1, N_GROUPS) / N_GROUPS
    cuts = np.unique(np.quantile(known, shares, method="inverted_cdf"))
    groups = NumberGroups(tuple(float(cut) for cut in cuts[cuts < distinct[-1]]), notation)
    return (groups, groups(numbers)) if groups.cuts else None
