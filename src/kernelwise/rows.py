"""Arrays with one row per sample, wherever the rows are.

Solvers write sums over samples as NumPy expressions. An array whose rows are cut into blocks on other machines
(:class:`kernelwise.dask_rows.block_array.BlockArray`) answers to the same expressions, but it remembers an expression
and evaluates the expression later, where the blocks are. This module has the few operations that such an array needs
beyond NumPy: each function calls the method of an array in blocks, and is plain NumPy for an array in memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
F = TypeVar("F", bound=Callable[..., Any])


def is_dask(collection: Any) -> bool:
    """Return whether this is a Dask array or frame, without importing Dask."""
    return hasattr(collection, "__dask_graph__") and hasattr(collection, "__dask_keys__")


def refuse_dask(estimator: Any, X: Any, instead: str) -> None:
    """Raise a TypeError where a Dask collection is given to an estimator that works only in memory."""
    if is_dask(X):
        raise TypeError(
            f"{type(estimator).__name__} works on data in memory, got a {type(X).__name__} of Dask; use {instead}, or "
            "X.compute() where it fits"
        )


def in_memory(array: Any) -> bool:
    """Return whether all rows are in a NumPy array."""
    return isinstance(array, np.ndarray)


def persist(array: Any) -> Any:
    """Return the array with its expression evaluated, for an array that is used more than once."""
    return array.persist() if hasattr(array, "persist") else array


def compute(*sums: Any) -> tuple[Any, ...]:
    """Return the values of several sums (products, extremes) over samples, found in one pass over the blocks."""
    delayed = [k for k, one in enumerate(sums) if hasattr(one, "compute_with")]
    if not delayed:
        return sums
    found = dict(zip(delayed, sums[delayed[0]].compute_with([sums[k] for k in delayed]), strict=True))
    return tuple(found.get(k, one) for k, one in enumerate(sums))


def map_rows(first: Any, function: Callable[..., Any], *others: Any, **options: Any) -> Any:
    """Return ``function(first, *others, **options)`` for a function that treats every sample by itself."""
    if hasattr(first, "map_rows"):
        return first.map_rows(function, *others, **options)
    return function(first, *others, **options)


def reduce_rows(
    first: Any, function: Callable[..., Any], rule: Callable[[Any, Any], Any], *others: Any, **options: Any
) -> Any:
    """Return ``function(first, *others, **options)``; the results of several blocks are merged by ``rule``."""
    if hasattr(first, "reduce_rows"):
        return first.reduce_rows(function, rule, *others, **options)
    return function(first, *others, **options)


def share_with(array: Any, value: Any) -> Any:
    """Return a value that every block of the array needs, for :func:`map_rows`; it is sent once to each worker."""
    return array.share(value) if hasattr(array, "share") else value


def take_rows(array: Any, index: NDArray[np.intp]) -> Any:
    """Return some rows in memory; ``index`` is distinct and in ascending order."""
    return array.take_rows(index) if hasattr(array, "take_rows") else array[index]


def put_rows(array: Any, index: NDArray[np.intp], rows: Array) -> Any:
    """Return the array with other rows at ``index``, which is distinct and in ascending order."""
    if hasattr(array, "put_rows"):
        return array.put_rows(index, rows)
    changed = array.copy()
    changed[index] = rows
    return changed


def for_users(array: Any) -> Any:
    """Return the array as users get it: a NumPy array, or a Dask array whose blocks stay where they are."""
    return array.to_dask() if hasattr(array, "to_dask") else array


def by_rows(function: F) -> F:
    """Mark a function that may get some rows of a block at a time: it returns one result per row, or sums over rows."""
    function.works_by_rows = True  # type: ignore[attr-defined]  # mypy does not know that functions take attributes
    return function


@dataclass(frozen=True)
class Selection:
    """Some of the samples, in memory: the positions ``index`` of ``n_samples``."""

    index: NDArray[np.intp]
    n_samples: int

    def take(self, array: Array) -> Array:
        """Return the rows of the selected samples."""
        return array if self.whole else array[self.index]

    def columns(self, B: Array) -> Array:
        """Return the columns of the selected samples."""
        return B if self.whole else B[:, self.index]

    def put(self, array: Array) -> Array:
        """Return an array over all samples that is zero at the samples that are not selected."""
        if self.whole:
            return array
        spread = np.zeros(self.n_samples)
        spread[self.index] = array
        return spread

    @property
    def whole(self) -> bool:
        """Whether no sample is left out."""
        return len(self.index) == self.n_samples


def select_rows(mask: Any) -> Any:
    """Return the samples at which ``mask`` holds."""
    return mask.select_rows() if hasattr(mask, "select_rows") else Selection(np.flatnonzero(mask), len(mask))
