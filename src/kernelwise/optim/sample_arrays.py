"""What a solver does with arrays that have one row per sample, wherever the rows are.

Solvers write sums over samples as NumPy expressions. An array that is cut into row blocks on other machines answers to
the same expressions, and registers here how it does the few things that it does differently. In memory all of them are
plain NumPy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Samples that are worked on together where there are many.
SAMPLES_AT_ONCE = 4096


@singledispatch
def kept(array: Any) -> Any:
    """Return the array with its expression evaluated, for one that is used again; in memory it always is."""
    return array


@singledispatch
def all_kept(first: Any, *others: Any) -> tuple[Any, ...]:
    """Return several arrays over the same samples with their expressions evaluated, in one pass."""
    return first, *others


def together(*sums: Any) -> tuple[Any, ...]:
    """Return the values of several sums (products, extremes) over samples, in one pass where there are row blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.optim.sample_arrays import together
    >>> x = np.array([1.0, 2.0])
    >>> together(float(x.sum()), float(x @ x))
    (3.0, 5.0)
    """
    pending = [k for k, one in enumerate(sums) if hasattr(one, "__in_one_pass__")]
    if not pending:
        return sums
    values = list(sums)
    found = sums[pending[0]].__in_one_pass__([sums[k] for k in pending])
    for k, value in zip(pending, found, strict=True):
        values[k] = value
    return tuple(values)


@singledispatch
def weighted_gram(B: Any, weight: Any) -> Any:
    """Return ``B diag(weight) B^T``, for B with one column per sample."""
    gram = np.zeros((len(B), len(B)))
    root = np.sqrt(weight)
    for start in range(0, B.shape[1], SAMPLES_AT_ONCE):  # pieces that stay in the cache, and no second copy of B
        piece = slice(start, start + SAMPLES_AT_ONCE)
        half = B[:, piece] * root[piece]
        gram += half @ half.T
    return gram


def in_memory(array: Any) -> bool:
    """Whether the rows are all here."""
    return isinstance(array, np.ndarray)


@singledispatch
def rowwise(first: Any, function: Callable[..., Any], *others: Any, **options: Any) -> Any:
    """Return ``function(first, *others, **options)`` for a function that treats every sample by itself."""
    return function(first, *others, **options)


@singledispatch
def reduced(first: Any, function: Callable[..., Any], rule: Callable[[Any, Any], Any], *others: Any) -> Any:
    """Return ``function(first, *others)``; where there are row blocks, those of all of them, merged by ``rule``."""
    return function(first, *others)


@dataclass(frozen=True)
class Selection:
    """Some of the samples."""

    index: NDArray[np.intp]
    n_samples: int

    def take(self, array: Array) -> Array:
        """Return the rows of the selected samples."""
        return array if self.whole else array[self.index]

    def columns(self, B: Array) -> Array:
        """Return the columns of the selected samples."""
        return B if self.whole else B[:, self.index]

    def put(self, array: Array) -> Array:
        """Return an array over all samples, zero at those that are not selected."""
        if self.whole:
            return array
        spread = np.zeros(self.n_samples)
        spread[self.index] = array
        return spread

    @property
    def whole(self) -> bool:
        """Whether no sample is left out."""
        return len(self.index) == self.n_samples


@singledispatch
def selection(mask: Any) -> Any:
    """Return the samples where ``mask`` holds."""
    return Selection(np.flatnonzero(mask), len(mask))
