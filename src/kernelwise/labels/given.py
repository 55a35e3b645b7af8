"""What users give: a column of labels, labels that are numbers, columns that repeat the label, and rows to learn from.

Numbers may be classes, or amounts that are cut into groups; -1 may be a code for "no label".
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from .. import checks
from ..checks import is_missing, missing_labels
from ..samples import check_magnitude, read_weights, tidy
from ..tables.frames import as_table, is_table
from ..tables.notation import Amounts, Habits, find_amounts
from ..tables.preparation import TableFeatures
from .leaks import find_annotator_columns, find_leaks, leaking_numbers, said_of_annotators, warn_of_leaks

Array = NDArray[np.float64]
NO_LABEL = np.array(None)
#: Numbers are amounts and not classes if more than FEW_NUMBERS are different (of whole numbers more than
#: MANY_WHOLE_NUMBERS) and each occurs in fewer than ROWS_PER_CLASS rows on average.
FEW_NUMBERS, MANY_WHOLE_NUMBERS, ROWS_PER_CLASS = 10, 20, 10
#: Amounts are cut into so many groups of equal size.
N_GROUPS = 4


def read_labels(y: Any) -> Any:
    """Labels as one column: of a frame or an array with one column, that column."""
    if type(y).__module__.partition(".")[0] == "narwhals" and hasattr(y, "to_native"):
        y = y.to_native()
    shape = getattr(y, "shape", None)
    if shape is not None and len(shape) == 2:
        if shape[1] != 1:
            raise ValueError(
                f"y must hold one label for each row, got {shape[1]} columns; give one column of labels, for "
                "indicators of classes the position of the one: indicators.argmax(axis=1); for answers of several "
                "sources Answers.from_table(y)"
            )
        cells = np.asarray(y).ravel()
        if isinstance(y, np.ndarray):
            warnings.warn(
                f"A column-vector y was passed when a 1d array was expected: its shape is {shape}, and its only column "
                "is taken; give y.ravel()",
                DataConversionWarning,
                stacklevel=4,
            )
        worded = cells.dtype == object and any(isinstance(cell, str) for cell in cells)
        return np.array([None if is_missing(cell) else cell for cell in cells], dtype=object) if worded else cells
    if type(y).__module__.partition(".")[0] in ("polars", "pyarrow"):
        return np.array(y.to_list(), dtype=object) if any(value is None for value in y.to_list()) else np.asarray(y)
    return y


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
    try:
        numbers = np.unique([float(label) for label in classes])
    except ValueError:
        return False
    return bool(len(numbers) > 2 and numbers[0] == -1 and numbers[1] >= 0 and (numbers == np.floor(numbers)).all())


def warn_of_numbers(counts: Mapping[Any, int], *, stacklevel: int = 3) -> None:
    """Warn of labels that are whole numbers and look like amounts, or like classes with a code for "no label".

    ``counts`` has the number of rows of each label. Labels that are words are as the user wants them, and other
    numbers are refused by the estimators.
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
    """Groups of labels that are amounts rather than classes, and the group of every label; None if they are classes."""
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


def read_training(
    model: Any, X: Any, y: Any, sample_weight: Any, lacks_cells: bool
) -> tuple[Any, NDArray[Any], Array, NDArray[np.bool_]]:
    """Return samples, labels (any label where there is none), weights, and which samples have a label.

    The model keeps how the columns of a table became numbers, and their names.
    """
    model._columns = None
    missing = missing_labels(y)
    if len(missing) and missing.all():
        raise ValueError("y has no label in any row; NoisyLabelClassifier needs labels of two classes or more")
    if missing.any():
        y = np.array(y, dtype=object)
        y[missing] = y[~missing][0]
        y = np.array(y.tolist())
    if is_table(X) or lacks_cells:
        y = validate_data(model, y=y)
        validate_data(model, X, skip_check_array=True)  # the estimator remembers the names of the columns
        if len(y) != len(X):
            raise ValueError(f"X and y must have equally many rows, got {len(X)} and {len(y)}")
        table, known = as_table(X), np.where(missing, NO_LABEL, y.astype(object))
        if annotators := find_annotator_columns(table, known):
            warnings.warn(said_of_annotators(annotators), stacklevel=4)
            table = table.retyped(dict.fromkeys(annotators, "id"))
        warn_of_leaks(find_leaks(table, known))
        model._columns = TableFeatures(scaled=False).fit(table)
        X = model._columns.transform(table)
    else:
        X, y = validate_data(model, X, y, accept_sparse="csr", dtype=np.float64)
        warn_of_leaks(leaking_numbers(X, np.where(missing, NO_LABEL, y.astype(object))))
    X = tidy(X)
    if sp.issparse(X):  # a sparse matrix is not standardised
        check_magnitude(X, "X")
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise ValueError(
            f"{error} Cut the numbers into groups first, for instance into four: "
            "numpy.digitize(y, numpy.quantile(y, [0.25, 0.5, 0.75]))"
        ) from None
    return X, y, read_weights(sample_weight, X), ~missing


def refuse_single_column(X: Any) -> None:
    """Say how to give one column of texts, which is a natural mistake."""
    if getattr(X, "ndim", 2) == 1 and getattr(getattr(X, "dtype", None), "kind", "O") in "OUST":
        raise ValueError(
            "X is one column of texts, and must be a table with a row for each label; give frame[['text']] instead of "
            "frame['text'], or numpy.array(texts)[:, None] for a list"
        )
