"""Arrays with one row per sample, cut into row blocks that stay on the workers.

A block array remembers an expression such as ``upper - alpha``. The workers evaluate the expression block by block,
next to the data, when a sum over the samples is needed (``x.sum()``, ``x @ y``, ``B @ x``, ``x.min()``) or when the
array is persisted. Only sums and small values travel. Sums are added in a fixed order, so a run can be repeated to the
last bit.
"""

import operator
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from ..checks import Array, Index, Mask
from .engine import Engine, Handle
from .expressions import BY_ROWS, Expression, Leaf, Node, evaluate, evaluate_one, portable, values
from .lazy import array_of

#: Rows that are put into blocks travel in messages of about this many bytes.
PUT_BYTES = 4_000_000


class DelayedSum(NDArrayOperatorsMixin):
    """A sum over all samples that behaves like its value, and that is computed when the value is first needed."""

    def __init__(self, engine: Engine, expression: Node, rule: Callable[[Any, Any], Any]) -> None:
        self.engine, self.expression, self.rule = engine, expression, rule
        self._value: Any = None

    @property
    def value(self) -> Any:
        """The value of the sum, in the calling process."""
        if self._value is None:
            find([self])
        return self._value

    def compute_with(self, pending: Sequence["DelayedSum"]) -> list[Any]:
        """Return the values of several sums, computed in one pass over the blocks."""
        find([one for one in pending if one._value is None])
        return [one._value for one in pending]

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.value, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        values = (one.value if isinstance(one, DelayedSum) else one for one in inputs)
        return getattr(ufunc, method)(*values, **options)


def find(pending: Sequence[DelayedSum]) -> None:
    """Compute several sums in one pass over the blocks."""
    if not pending:
        return
    roots, handles = portable([one.expression for one in pending])
    merge = partial(_merged, rules=[one.rule for one in pending])
    found = pending[0].engine.total(evaluate, handles, merge, roots=roots)
    for one, value in zip(pending, found, strict=True):
        one._value = value


def _merged(parts: Sequence[Sequence[Any]], *, rules: Sequence[Callable[[Any, Any], Any]]) -> list[Any]:
    """Merge the lists of partial results of several blocks, entry by entry."""
    merged = list(parts[0])
    for part in parts[1:]:
        merged = [rule(a, b) for rule, a, b in zip(rules, merged, part, strict=True)]
    return merged


def _dot(left: Any, right: Any) -> Any:
    return left.T @ right


class BlockArray(NDArrayOperatorsMixin):
    """An expression over row blocks that are kept by an engine; ``lengths`` are the numbers of rows of the blocks."""

    def __init__(self, engine: Engine, lengths: Sequence[int], expression: Expression) -> None:
        self.engine, self.lengths, self.expression = engine, tuple(lengths), expression

    @classmethod
    def of(cls, engine: Engine, lengths: Sequence[int], handles: Sequence[Handle], empty: Any) -> "BlockArray":
        """Return the array of blocks that exist already; ``empty`` is a block without rows."""
        return cls(engine, lengths, Leaf(handles, empty))

    @cached_property
    def empty(self) -> Any:
        """The array without its rows, which tells the type and the trailing shape."""
        return self.expression.empty if isinstance(self.expression, Leaf) else values([self.expression], [])[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole array."""
        return (sum(self.lengths), *self.empty.shape[1:])

    @property
    def ndim(self) -> int:
        """One for a vector over samples, two for several."""
        return int(self.empty.ndim)

    @property
    def dtype(self) -> Any:
        """The type of the entries."""
        return self.empty.dtype

    def __len__(self) -> int:
        return sum(self.lengths)

    def blocks(self, chosen: Sequence[int]) -> "BlockArray":
        """Return the array of some of the blocks."""
        handles = self.handles
        return BlockArray.of(self.engine, [self.lengths[k] for k in chosen], [handles[k] for k in chosen], self.empty)

    @property
    def handles(self) -> tuple[Handle, ...]:
        """The blocks of the array, persisted first where the array is still an expression."""
        leaf = self.persist().expression
        assert isinstance(leaf, Leaf)
        return leaf.handles

    def map_rows(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> "BlockArray":
        """Return the array of the blocks ``function(block, *arguments, **options)``, which has one row for each row."""
        return self._new(function, (self, *arguments), options)

    def sum_of(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> DelayedSum:
        """Return the sum of ``function(block, *arguments, **options)`` over the blocks."""
        return self.reduce_rows(function, np.add, *arguments, **options)

    def reduce_rows(
        self, function: Callable[..., Any], rule: Callable[[Any, Any], Any], *arguments: Any, **options: Any
    ) -> DelayedSum:
        """Return ``function(block, *arguments, **options)`` of all blocks, merged two at a time by ``rule``."""
        return DelayedSum(self.engine, _node(function, (self, *arguments), options), rule)

    def persist(self) -> "BlockArray":
        """Evaluate the expression and keep the blocks on the workers."""
        if isinstance(self.expression, Leaf):
            return self
        (root,), needed = portable([self.expression])
        handles = self.engine.map(evaluate_one, needed, root=root)
        return BlockArray.of(self.engine, self.lengths, handles, self.empty)

    def select_rows(self) -> "BlockSelection":
        """Return the samples at which this mask holds."""
        return BlockSelection(self)

    def share(self, value: Any) -> "BlockArray":
        """Return a value that every block needs, as an array that takes part in expressions with this one."""
        return BlockArray(self.engine, self.lengths, Leaf([self.engine.share(value)] * len(self.lengths), value))

    def take_rows(self, index: Index) -> Any:
        """Return a few rows in memory; ``index`` is distinct and in ascending order."""
        if not len(index):
            return np.asarray(self.empty)
        some = [pair for pair in zip(self.handles, self._by_block(index), strict=True) if len(pair[1])]
        return stacked(self.engine.fetch(self.engine.map(operator.getitem, list(zip(*some, strict=True)))))

    def put_rows(self, index: Index, rows: Array) -> "BlockArray":
        """Return the array with other rows at ``index``, which is distinct and in ascending order."""
        handles = list(self.handles)
        at_once = max(1, PUT_BYTES // max(rows[:1].nbytes, 1))
        for start in range(0, len(index), at_once):
            local = self._by_block(index[start : start + at_once])
            cuts = np.split(rows[start : start + at_once], np.cumsum([len(part) for part in local])[:-1])
            changed = [k for k, part in enumerate(local) if len(part)]
            blocks = [[lists[k] for k in changed] for lists in (handles, local, cuts)]
            for k, handle in zip(changed, self.engine.map(_replaced, blocks), strict=True):
                handles[k] = handle
        return BlockArray.of(self.engine, self.lengths, handles, self.empty)

    def _by_block(self, index: Index) -> list[Index]:
        """Return the positions ``index`` of rows as a list of positions within each block."""
        bounds = np.concatenate([[0], np.cumsum(self.lengths)])
        cuts = np.searchsorted(index, bounds)
        return [index[cuts[k] : cuts[k + 1]] - bounds[k] for k in range(len(self.lengths))]

    def to_dask(self) -> Any:
        """Return a Dask array of the blocks, which stay where they are for as long as the Dask array lives."""
        return array_of(self.handles, self.lengths, self.shape[1:], self.dtype)

    def _new(self, function: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any]) -> "BlockArray":
        return BlockArray(self.engine, self.lengths, _node(function, arguments, options))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "reduce":
            return self._reduce(ufunc, options.get("axis", 0))
        if method != "__call__" or options.get("out") is not None:
            return NotImplemented
        if ufunc is np.matmul:
            return self._matmul(*inputs)
        return self._new(ufunc, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if function not in BY_ROWS or (function is np.stack and options.get("axis") != 1):
            return NotImplemented
        return self._new(function, arguments, options)

    def _reduce(self, operation: Any, axis: Any) -> DelayedSum:
        if axis not in (0, None):
            raise ValueError(f"block arrays are summed over samples, axis 0 or None, got axis={axis!r}")
        return self.reduce_rows(lambda block: operation.reduce(block, axis=axis), operation)

    def sum(self, axis: int | None = None) -> DelayedSum:
        """Return the sum over the samples (``axis=0``), or over everything."""
        return self._reduce(np.add, axis)

    def min(self, axis: int | None = None) -> DelayedSum:
        """Return the smallest entry."""
        return self._reduce(np.minimum, axis)

    def max(self, axis: int | None = None) -> DelayedSum:
        """Return the largest entry."""
        return self._reduce(np.maximum, axis)

    def _matmul(self, left: Any, right: Any) -> Any:
        if isinstance(left, BlockArray) and not isinstance(right, BlockArray):
            return left.map_rows(
                lambda rows, other: rows @ other, np.asarray(right)
            )  # numpy.matmul knows no sparse rows
        if isinstance(left, BlockArray) and left.ndim == 1:
            return left.sum_of(_dot, right)
        raise ValueError("a product with a block array has the samples in the middle, or one row per sample")

    def __getitem__(self, index: Any) -> "BlockArray":
        if not (isinstance(index, tuple) and index and isinstance(index[0], slice) and index[0] == slice(None)):
            raise IndexError("only columns of a block array can be taken: x[:, j], x[:, None]")
        return self.map_rows(lambda block: block[index])

    @property
    def T(self) -> "Transposed":
        """One column per sample."""
        return Transposed(self)


class Transposed:
    """A block array with one column per sample; a product with it is a sum over the samples."""

    __array_ufunc__ = None

    def __init__(self, rows: BlockArray) -> None:
        self.T = rows

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape: samples last."""
        return self.T.shape[::-1]

    def __len__(self) -> int:
        return int(self.T.empty.shape[1])

    def persist(self) -> "Transposed":
        """Evaluate the expression and keep the blocks on the workers."""
        return Transposed(self.T.persist())

    def __mul__(self, weight: BlockArray) -> "Transposed":
        return Transposed(self.T * weight[:, None])

    def __matmul__(self, other: Any) -> DelayedSum:
        if not isinstance(other, BlockArray):
            raise TypeError(f"the other factor must be a block array over the same samples, got {type(other).__name__}")
        return self.T.sum_of(_dot, other)


def _node(function: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any]) -> Node:
    return Node(function, [_expression(argument) for argument in arguments], options)


def _expression(argument: Any) -> Any:
    if isinstance(argument, BlockArray):
        return argument.expression
    if isinstance(argument, DelayedSum):
        return argument.value
    if isinstance(argument, list | tuple):
        return [_expression(item) for item in argument]
    return argument


def stacked(parts: Sequence[Any]) -> Any:
    """Return arrays one below the other, dense or sparse."""
    return sp.csr_array(sp.vstack(parts)) if sp.issparse(parts[0]) else np.concatenate(parts)


class BlockSelection:
    """Some of the samples: the rows of every block at which a mask holds."""

    def __init__(self, mask: BlockArray) -> None:
        self.mask = mask.persist()
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
        return BlockArray(array.engine, self.lengths, array.map_rows(operator.getitem, self.mask).expression)

    def columns(self, B: Transposed) -> Transposed:
        """Return the columns of the selected samples."""
        return Transposed(self.take(B.T))

    def put(self, array: BlockArray) -> BlockArray:
        """Return an array over all samples that is zero at the samples that are not selected."""
        return array if self.whole else self.mask.map_rows(_expand, array)


def _expand(mask: Mask, block: Array) -> Array:
    spread = np.zeros(len(mask))
    spread[mask] = block
    return spread


def _replaced(block: Array, index: Index, rows: Array) -> Array:
    changed = block.copy()
    changed[index] = rows
    return changed
