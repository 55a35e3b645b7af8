"""Checks of arguments: each returns a clean value, or says which argument is wrong, what was given and what is needed.

A value of the wrong type is a TypeError, a value out of range a ValueError.
"""

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]

#: ``sample_size="auto"``: see ``benchmarks/label_scale.py`` for what fewer rows cost.
AUTO_SAMPLE = 50_000
#: The smallest sample that may be asked for.
SMALLEST_SAMPLE = 500


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number, of Python or numpy; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_missing(value: object) -> bool:
    """Whether a value stands for no value: None, NaN, or what pandas takes for missing."""
    try:
        return value is None or not bool(value == value)  # a missing value is not equal to itself
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return True


def missing_labels(y: ArrayLike) -> NDArray[np.bool_]:
    """Which labels are missing.

    >>> missing_labels(["a", None, float("nan")]).tolist()
    [False, True, True]
    """
    labels = np.asarray(y)
    if labels.dtype.kind in "biuSU" or labels.ndim == 0:
        return np.zeros(labels.shape[0] if labels.ndim else 0, dtype=bool)
    return np.array([is_missing(label) for label in labels], dtype=bool)


def is_count(value: object, least: int = 1) -> TypeGuard[int]:
    """Whether a value is an integer of at least ``least``."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def check_count(name: str, value: object, *, least: int = 1, most: int | None = None, limit: str = "") -> int:
    """An integer of at least ``least``, and of at most ``most``; ``limit`` says what ``most`` is.

    >>> check_count("k", 5, most=4, limit=", the number of samples")
    Traceback (most recent call last):
        ...
    ValueError: k must be an integer between 1 and 4, the number of samples, got 5
    """
    if is_count(value, least) and (most is None or value <= most):
        return int(value)
    error = ValueError if isinstance(value, Integral) and not isinstance(value, bool) else TypeError
    wanted = f"of at least {least}" if most is None else f"between {least} and {most}{limit}"
    raise error(f"{name} must be an integer {wanted}, got {value!r}")


def check_sample_size(sample_size: Any) -> int:
    """The number of rows to learn from, where "auto" is :data:`AUTO_SAMPLE`."""
    if isinstance(sample_size, str):
        if sample_size != "auto":
            raise ValueError(f'sample_size must be "auto" or a number of rows, got {sample_size!r}')
        return AUTO_SAMPLE
    if is_count(sample_size, 0) and sample_size < SMALLEST_SAMPLE:
        raise ValueError(
            f'sample_size={sample_size} is too small to learn from; give at least {SMALLEST_SAMPLE} rows, or "auto"'
        )
    return check_count("sample_size", sample_size, least=SMALLEST_SAMPLE)


def check_positive(name: str, value: object, remedy: str = "") -> float:
    """A positive, finite number.

    >>> check_positive("tol", 0)
    Traceback (most recent call last):
        ...
    ValueError: tol must be a positive number, got 0
    """
    if is_number(value) and 0 < float(value) < np.inf:
        return float(value)
    raise (ValueError if is_number(value) else TypeError)(f"{name} must be a positive number, got {value!r}{remedy}")


def check_probability(name: str, value: object) -> float:
    """A number between 0 and 1."""
    if not is_number(value):
        raise TypeError(f"{name} must be a number between 0 and 1, got {value!r}")
    if not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value}")
    return float(value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """One of a few words.

    >>> check_choice("loss", "cubic", ("linear", "hinge", "squared"))
    Traceback (most recent call last):
        ...
    ValueError: loss must be "linear", "hinge" or "squared", got 'cubic'
    """
    if not isinstance(value, str) or value not in choices:
        *others, last = (f'"{choice}"' for choice in choices)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {value!r}")


def check_vector(name: str, values: ArrayLike, kinds: str, expected: str) -> NDArray[Any]:
    """A one-dimensional array whose dtype is of one of ``kinds``; an empty one may be of any."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if array.size and array.dtype.kind not in kinds:
        raise TypeError(f"{name} must hold {expected}, got dtype {array.dtype}")
    return array


def check_ends(
    rows: ArrayLike, cols: ArrayLike, n_samples: int, *, kind: str = "pair", remedy: str = ""
) -> tuple[IntArray, IntArray]:
    """Both ends of every pair as fresh int64 arrays, known to lie among the samples."""
    rows = check_vector("rows", rows, "iu", "integer indices of samples")
    cols = check_vector("cols", cols, "iu", "integer indices of samples")
    if len(rows) != len(cols):
        raise ValueError(f"rows and cols must have one length, got {len(rows)} and {len(cols)}")
    outside = (rows < 0) | (rows >= n_samples)
    outside |= (cols < 0) | (cols >= n_samples)
    if outside.any():
        first = int(outside.argmax())
        raise ValueError(
            f"{kind} {first} is ({rows[first]}, {cols[first]}), but indices must lie between 0 and {n_samples - 1}"
            f" (n_samples={n_samples}){remedy}"
        )
    return rows.astype(np.int64), cols.astype(np.int64)
