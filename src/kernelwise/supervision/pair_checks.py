"""Checks of pairs and of labels: each check returns a clean array, or says what is wrong and what to do."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import IntArray, check_vector

# Keys of pairs (see graph.py) stay below 2^61, which leaves room for a label bit.
MAX_SAMPLES = 2**31


def check_pair_labels(name: str, labels: ArrayLike) -> IntArray:
    """Labels of pairs, each +1 or -1."""
    labels = check_vector(name, labels, "iuf", "the numbers +1 and -1 (from 0/1 or booleans: 2 * labels - 1)")
    wrong = (labels != 1) & (labels != -1)
    if wrong.any():
        first = int(wrong.argmax())
        raise ValueError(
            f"{name} must be +1 (same class) or -1 (different classes), got {labels[first]} at pair {first};"
            " if yours are 0/1, pass 2 * labels - 1"
        )
    return labels.astype(np.int64)


def check_weights(weights: ArrayLike) -> NDArray[np.float64]:
    """Weights of pairs: positive, with a finite sum."""
    weights = check_vector("weights", weights, "iuf", "numbers")
    wrong = ~((weights > 0) & (weights < np.inf))
    if wrong.any():
        first = int(wrong.argmax())
        raise ValueError(
            f"weights must be positive and finite, got {weights[first]} at pair {first};"
            " leave out pairs that do not count"
        )
    weights = weights.astype(np.float64)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if np.isinf(total):
        raise ValueError(f"weights must have a finite sum, and the largest is {weights.max():.3g}; divide them by it")
    return weights


def check_subset(index: ArrayLike, n_samples: int) -> IntArray:
    """Check that indices of samples, or the indices from a mask, are distinct and in range."""
    index = check_vector("index", index, "iub", "integer indices or booleans")
    if index.dtype.kind == "b":
        if len(index) != n_samples:
            raise ValueError(f"index is a mask of {len(index)} values for n_samples={n_samples} samples")
        index = np.flatnonzero(index)
    if not len(index):
        raise ValueError("index selects no sample")
    outside = (index < 0) | (index >= n_samples)
    if outside.any():
        raise ValueError(
            f"index holds {index[outside][0]}, but samples are numbered 0 to {n_samples - 1} (n_samples={n_samples})"
        )
    values, counts = np.unique(index, return_counts=True)
    if len(values) < len(index):
        raise ValueError(f"index holds sample {values[counts > 1][0]} more than once; indices must be distinct")
    return index


def check_positions(index: Any, n_pairs: int) -> NDArray[Any]:
    """An index into an array of pairs: positions or a mask."""
    if np.ndim(index) == 0 or isinstance(index, tuple):
        raise TypeError(f"index pairs with a slice, an int array or a mask (one pair: pairs[[3]]), got {index!r}")
    index = check_vector("index", index, "iub", "integer positions or booleans")
    if index.dtype.kind == "b" and len(index) != n_pairs:
        raise ValueError(f"index is a mask of {len(index)} values for {n_pairs} pairs")
    return index if index.size else np.empty(0, dtype=np.int64)


def class_codes(y: ArrayLike) -> tuple[NDArray[Any], IntArray]:
    """Sorted classes of ``y`` and the position of every label among them."""
    y = np.asarray(y)
    if y.ndim != 1 or y.size == 0:
        raise ValueError(f"y must be a non-empty one-dimensional array of labels, got shape {y.shape}")
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise ValueError(f"y has a missing label (NaN) at position {int(np.isnan(y).argmax())}; drop it first")
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"y has missing labels or mixes types that cannot be sorted ({error})") from error
    return classes, codes.astype(np.int64, copy=False)


def known_codes(y: ArrayLike) -> IntArray:
    """A non-negative integer for every class, and -1 where ``y`` is the number -1, which means unknown."""
    classes, codes = class_codes(y)
    if classes.tolist() == [-1, 1]:
        raise ValueError(
            "y holds only -1 and 1, and -1 means unknown here; if it is a class, pass (y > 0), and if it is not,"
            " rename the class 1"
        )
    unknown = np.asarray(classes == -1)
    return np.where(unknown[codes], -1, codes)
