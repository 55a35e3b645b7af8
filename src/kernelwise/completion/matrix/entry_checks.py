"""Checks of observed entries: each check returns a clean value, or says what is wrong and what to do."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import check_count, check_vector
from ...samples import check_magnitude
from .observed import ObservedEntries

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: Exact observations of one entry may differ by this much, relative to the largest value, because of rounding.
ROUNDING = 1e-12


def check_observations(
    rows: ArrayLike,
    cols: ArrayLike,
    values: ArrayLike,
    shape: tuple[int, int],
    symmetric: bool,
    weights: ArrayLike | None,
    exact: bool,
    definite: bool = True,
) -> ObservedEntries:
    """Check the observations of the user, and merge repeated observations."""
    size = _shape(shape, symmetric)
    row_index, col_index = check_indices("rows", rows, size[0]), check_indices("cols", cols, size[1])
    numbers = _numbers("values", values)
    weight = np.ones(len(numbers)) if weights is None else _numbers("weights", weights)
    lengths = {"rows": len(row_index), "cols": len(col_index), "values": len(numbers), "weights": len(weight)}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"one row, column, value and weight per observation is needed, got lengths {lengths}")
    if np.any(weight < 0):
        raise ValueError(f"weights must not be negative, got {weight[weight < 0][0]}; 0 leaves an observation out")
    if not np.any(weight > 0):
        raise ValueError("nothing is observed: give at least one entry with a positive weight")
    check_magnitude(numbers[weight > 0], "values")
    check_magnitude(weight, "weights", least=0.0)
    check_magnitude(weight * numbers, "weights * values", least=0.0)
    observed = ObservedEntries.merge(row_index, col_index, numbers, weight, size, symmetric)
    if exact:
        _check_agreement(observed, row_index, col_index, numbers, weight)
        if definite:
            _check_minors(observed)
    return observed


def _check_agreement(observed: ObservedEntries, rows: IntArray, cols: IntArray, values: Array, weight: Array) -> None:
    """Check that repeated exact observations of an entry are equal to their mean."""
    kept = weight > 0
    rows, cols, values = rows[kept], cols[kept], values[kept]
    if len(values) == observed.size:
        return
    low, high = (np.minimum(rows, cols), np.maximum(rows, cols)) if observed.symmetric else (rows, cols)
    keys = observed.rows * observed.shape[1] + observed.cols
    mean = observed.values[np.searchsorted(keys, low * observed.shape[1] + high)]
    wrong = np.abs(values - mean) > ROUNDING * np.max(np.abs(values))
    if np.any(wrong):
        first = int(np.argmax(wrong))
        raise ValueError(
            f"entry ({rows[first]}, {cols[first]}) is observed with different values, {values[first]:g} among them:"
            " exact observations must agree; pass a penalty for noisy ones"
        )


def _check_minors(observed: ObservedEntries) -> None:
    """Check that no minor of one or two rows is negative, as in every positive semi-definite matrix."""
    if not observed.has_diagonal:
        return
    diagonal = np.full(observed.shape[0], np.inf)
    on_diagonal = observed.rows == observed.cols
    diagonal[observed.rows[on_diagonal]] = observed.values[on_diagonal]
    i, j = observed.rows, observed.cols
    size = np.max(np.abs(observed.values))
    if np.any(diagonal < 0):
        first = int(np.argmin(diagonal))
        raise ValueError(
            f"the diagonal entry ({first}, {first}) is {diagonal[first]:g}, and that of a positive semi-definite matrix"
            " is never negative; pass a penalty for noisy observations, or symmetric=False"
        )
    both = np.isfinite(diagonal[i]) & np.isfinite(diagonal[j])
    wrong = both & (observed.values**2 > np.where(both, diagonal[i] * diagonal[j], 0.0) + ROUNDING * size**2)
    if np.any(wrong):
        first = int(np.argmax(wrong))
        raise ValueError(
            f"no positive semi-definite matrix has the entry ({i[first]}, {j[first]}) = {observed.values[first]:g} with"
            f" the diagonal entries {diagonal[i[first]]:g} and {diagonal[j[first]]:g}; pass a penalty for noisy"
            " observations, or symmetric=False"
        )


def _shape(shape: tuple[int, int], symmetric: bool) -> tuple[int, int]:
    sizes = tuple(shape) if isinstance(shape, tuple | list | np.ndarray) else ()
    if len(sizes) != 2:
        raise ValueError(f"shape must be two positive ints, got {shape!r}")
    m, n = (check_count("shape", size) for size in sizes)
    if symmetric and m != n:
        raise ValueError(f"a symmetric matrix is square, got shape {(m, n)}; use symmetric=False")
    return m, n


def check_indices(name: str, index: ArrayLike, size: int) -> IntArray:
    """Check that indices of rows or columns lie in the matrix."""
    array = check_vector(name, index, "iu", "integer indices")
    if array.size and (array.min() < 0 or array.max() >= size):
        wrong = array[(array < 0) | (array >= size)][0]
        raise ValueError(f"{name} must lie between 0 and {size - 1}, got {wrong}; indices count from 0")
    return array.astype(np.intp)


def _numbers(name: str, numbers: ArrayLike) -> Array:
    array = check_vector(name, numbers, "biuf", "numbers").astype(np.float64)
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}; leave unknown entries out")
    return array
