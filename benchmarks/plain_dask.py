"""Decision 8: the same multiple-kernel fit with arrays in row blocks of our own, and with plain ``dask.array``."""

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from time import perf_counter
from typing import Any
from unittest import mock

import dask
import dask.array as da
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from kernelwise.dask_rows import bank
from kernelwise.kernels import RankWarning
from kernelwise.mkl import on_dask

from .cluster import MEMORY, cluster_of, model, samples_on
from .measure import record

TITLE = "Multiple kernel learning on 2 workers: arrays in row blocks of our own, and plain Dask, fit by fit in turns"

ROWS, FITS = 1_000_000, 3


def run() -> list[dict[str, Any]]:
    """Measure complete fits in turns."""
    rows, ratios = [], []
    with cluster_of(2, MEMORY) as client, warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        X, y = (array.persist() for array in samples_on(client, ROWS))
        for turn in range(1, FITS + 1):
            own, of_own = _fitted(X, y, "own", turn)
            with mock.patch.object(on_dask, "cut_to_fit", plain_blocks):
                plain, of_plain = _fitted(X, y, "plain Dask", turn)
            rows += of_own + of_plain
            ratios.append(plain / own)
    rows.append(record(f"plain Dask over own, per round, n = {ROWS:,}, median of {FITS}", np.median(ratios), "times"))
    return rows


def _fitted(X: Any, y: Any, name: str, turn: int) -> tuple[float, list[dict[str, Any]]]:
    """Return the seconds of a round of column generation, and the records of a fit."""
    start = perf_counter()
    fitted = model().fit(X, y)
    total, history = perf_counter() - start, fitted.history_[0]
    seconds = history[-1].seconds / len(history)
    return seconds, [
        record(f"{name}, fit {turn}: all of it", total, "s"),
        record(f"{name}, fit {turn}: per round of {len(history)}", seconds, "s"),
        record(f"{name}, fit {turn}: relative gap", fitted.relative_gap_, ""),
    ]


def plain_blocks(arrays: Sequence[Any], ranks: Sequence[int]) -> list["Rows"]:
    """Return block arrays as arrays of plain Dask."""
    return [Rows(one.to_dask().persist(), one.engine) for one in bank.cut_to_fit(arrays, ranks)]


class Sum(NDArrayOperatorsMixin):
    """A sum over all samples that is computed when its value is needed."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @cached_property
    def value(self) -> Any:
        """The value, in the calling process."""
        return self.array.compute()

    def compute_with(self, pending: Sequence["Sum"]) -> list[Any]:
        """Return the values of several sums, computed together."""
        for one, value in zip(pending, dask.compute(*(one.array for one in pending)), strict=True):
            one.__dict__["value"] = value
        return [one.value for one in pending]

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.value, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*(one.value if isinstance(one, Sum) else one for one in inputs), **options)


class Rows(NDArrayOperatorsMixin):
    """A Dask array in row blocks, with the few operations that solvers need."""

    def __init__(self, array: Any, engine: Any) -> None:
        self.array, self.engine = array, engine
        self.shape, self.dtype, self.ndim, self.lengths = array.shape, array.dtype, array.ndim, array.chunks[0]

    def __len__(self) -> int:
        return int(self.shape[0])

    def _new(self, array: Any) -> "Rows":
        return Rows(array, self.engine)

    def persist(self) -> "Rows":
        return self._new(self.array.persist())

    def share(self, value: Any) -> Any:
        return dask.delayed(self.engine.share(value))

    def map_rows(self, function: Callable[..., Any], *others: Any, **options: Any) -> "Rows":
        return self._new(_by_block(function, (self, *others), options, by_row=True))

    def sum_of(self, function: Callable[..., Any], *others: Any, **options: Any) -> Sum:
        return self.reduce_rows(function, np.add, *others, **options)

    def reduce_rows(self, function: Callable[..., Any], rule: Any, *others: Any, **options: Any) -> Sum:
        parts = _by_block(function, (self, *others), options, by_row=False)
        return Sum({np.add: parts.sum, max: parts.max}[rule](axis=0, split_every=8))

    def select_rows(self) -> "Everything":
        assert bool(self.array.all().compute())
        return Everything()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is np.matmul:
            left, right = inputs
            if isinstance(right, Rows):
                return left.sum_of(_dot, right)
            return left.map_rows(np.matmul, np.asarray(right))
        return self._new(getattr(ufunc, method)(*map(_plain, inputs), **options))

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return self._new(function(*map(_plain, arguments), **options))

    def __getitem__(self, index: Any) -> "Rows":
        return self._new(self.array[index])

    def sum(self, axis: Any = None) -> Sum:
        return Sum(self.array.sum(axis=axis))

    def min(self, axis: Any = None) -> Sum:
        return Sum(self.array.min(axis=axis))

    def max(self, axis: Any = None) -> Sum:
        return Sum(self.array.max(axis=axis))

    @property
    def T(self) -> "Columns":
        return Columns(self)

    def to_dask(self) -> Any:
        return self.array


class Columns:
    """The same array with one column per sample."""

    __array_ufunc__ = None

    def __init__(self, rows: Rows) -> None:
        self.T, self.shape = rows, rows.shape[::-1]

    def __len__(self) -> int:
        return int(self.shape[0])

    def persist(self) -> "Columns":
        return Columns(self.T.persist())

    def __mul__(self, weight: Rows) -> "Columns":
        return Columns(self.T * weight[:, None])

    def __matmul__(self, other: Rows) -> Sum:
        return self.T.sum_of(_dot, other)


class Everything:
    """All samples."""

    whole = True

    def take(self, array: Any) -> Any:
        return array

    columns = put = take


def _plain(argument: Any) -> Any:
    if isinstance(argument, list | tuple):
        return [_plain(one) for one in argument]
    return argument.array if isinstance(argument, Rows) else argument.value if isinstance(argument, Sum) else argument


def _by_block(function: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any], *, by_row: bool) -> Any:
    """Call the function block by block; stack the results, or put them below one another."""
    pairs: list[Any] = []
    like: list[Any] = []
    for k, one in enumerate(map(_plain, arguments)):
        if isinstance(one, da.Array):
            pairs += [one, "i" if one.ndim == 1 else ("i", f"columns{k}")]
            like.append(np.ones((1, *one.shape[1:]), dtype=one.dtype))
        else:
            pairs += [one, None]
            like.append(dask.compute(one)[0] if hasattr(one, "dask") else one)
    found = np.asarray(function(*like, **options))
    trailing = found.shape[1:] if by_row else found.shape
    axes = {f"new{k}": size for k, size in enumerate(trailing)}
    call = function if by_row else _stacked
    extra = {} if by_row else {"of": function}
    adjust = None if by_row else {"i": 1}
    return da.blockwise(
        call,
        ("i", *axes),
        *pairs,
        new_axes=axes,
        adjust_chunks=adjust,
        dtype=found.dtype,
        concatenate=True,
        meta=np.empty((0,) * (1 + len(trailing)), dtype=found.dtype),
        **extra,
        **options,
    )


def _stacked(*blocks: Any, of: Callable[..., Any], **options: Any) -> Any:
    return np.asarray(of(*blocks, **options))[None]


def _dot(left: Any, right: Any) -> Any:
    return left.T @ right
