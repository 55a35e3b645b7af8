"""How arrays in blocks do the few things that solvers ask of arrays over samples."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..optim.sample_arrays import all_kept, kept, reduced, rowwise, selection, weighted_gram
from .block_array import BlockArray, Pending, Transposed
from .expressions import Leaf, by_rows, evaluate_all, portable

Array = NDArray[np.float64]


@by_rows
def _gram(rows: Array, weight: Array) -> Array:
    return weighted_gram.dispatch(np.ndarray)(rows.T, weight)


class BlockSelection:
    """Some of the samples: the rows of every block where a mask holds."""

    def __init__(self, mask: BlockArray) -> None:
        self.mask = mask.keep()
        counts = mask.engine.map(np.count_nonzero, [self.mask.handles])
        self.lengths = [int(count) for count in mask.engine.fetch(counts)]

    @property
    def whole(self) -> bool:
        """Whether no sample is left out."""
        return sum(self.lengths) == len(self.mask)

    def take(self, array: BlockArray) -> BlockArray:
        """Return the rows of the selected samples."""
        if self.whole:
            return array
        return BlockArray(array.engine, self.lengths, array.map(_compress, self.mask).expression)

    def columns(self, B: Transposed) -> Transposed:
        """Return the columns of the selected samples."""
        return Transposed(self.take(B.T))

    def put(self, array: BlockArray) -> BlockArray:
        """Return an array over all samples, zero at those that are not selected."""
        return array if self.whole else self.mask.map(_expand, array)


def _compress(block: Array, mask: NDArray[np.bool_]) -> Array:
    return block[mask]


def _expand(mask: NDArray[np.bool_], block: Array) -> Array:
    spread = np.zeros(len(mask))
    spread[mask] = block
    return spread


@selection.register
def _select_rows(mask: BlockArray) -> BlockSelection:
    return BlockSelection(mask)


@rowwise.register
def _rowwise(first: BlockArray, function: Callable[..., Any], *others: Any, **options: Any) -> BlockArray:
    return first.map(function, *others, **options)


@reduced.register
def _reduced_blocks(
    first: BlockArray, function: Callable[..., Any], rule: Callable[[Any, Any], Any], *others: Any
) -> Pending:
    return first.reduce_of(function, rule, *others)


@kept.register
def _keep_blocks(array: BlockArray) -> BlockArray:
    return array.keep()


@all_kept.register
def _keep_all_blocks(first: BlockArray, *others: BlockArray) -> tuple[BlockArray, ...]:
    arrays = (first, *others)
    roots, leaves = portable([array.expression for array in arrays])
    handles = tuple(first.engine.map(evaluate_all, leaves, roots=roots))
    return tuple(
        BlockArray(first.engine, array.lengths, Leaf(handles, array.empty, item)) for item, array in enumerate(arrays)
    )


@kept.register
def _keep_transposed(array: Transposed) -> Transposed:
    return Transposed(array.T.keep())


@weighted_gram.register
def _gram_of_blocks(B: Transposed, weight: BlockArray) -> Pending:
    return B.T._pending(_gram, (B.T, weight), {}, np.add)
