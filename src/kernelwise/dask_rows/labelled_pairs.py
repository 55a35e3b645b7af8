"""Labelled pairs in partitions on the workers, and the values of kernels on these pairs."""

import operator
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..checks import IntArray, require
from ..samples import is_dask
from ..statements import Pairs
from ..statements.noise import check_both_kinds, resolve_pairs
from .block_array import BlockArray, stacked
from .collections import BLOCKS_PER_THREAD
from .engine import Engine, Handle
from .graph import RowExchange
from .lazy import parts_of

#: The columns of a frame of pairs; weights may be left out.
COLUMNS = ("row", "col", "label", "weight")
#: Pairs in memory are cut into pieces of at most this many pairs, 8 MB.
PIECE = 2**18
#: Bytes that a known pair takes in memory, with the copies that are made while it is read.
BYTES_PER_PAIR = 200


class BlockPairs:
    """Pairs in partitions, none of them empty; ``parts`` are handles of :class:`~kernelwise.Pairs`."""

    def __init__(self, engine: Engine, lengths: Sequence[int], parts: Sequence[Handle], n_samples: int) -> None:
        self.engine, self.lengths, self.parts, self.n_samples = engine, tuple(lengths), list(parts), n_samples

    def _column(self, name: str, dtype: Any) -> BlockArray:
        handles = self.engine.map(operator.attrgetter(name), [self.parts])
        return BlockArray.of(self.engine, self.lengths, handles, np.empty(0, dtype=dtype))

    @cached_property
    def labels(self) -> BlockArray:
        """+1 same class, -1 different classes."""
        return self._column("labels", np.int64)

    @cached_property
    def weights(self) -> BlockArray:
        """How much every pair counts."""
        return self._column("weights", np.float64)

    def __len__(self) -> int:
        return sum(self.lengths)

    def sample(self, count: int, random_state: np.random.RandomState) -> Pairs:
        """Return all pairs in memory, or about ``count`` pairs from all partitions where there are more."""
        share = min(1.0, count / len(self))
        seeds = random_state.randint(2**31 - 1, size=len(self.parts)).tolist() if share < 1.0 else [0] * len(self.parts)
        return Pairs.concatenate(self.engine.fetch(self.engine.map(_some, [self.parts, seeds], share=share)))


def read_pairs(engine: Engine, pairs: Any, n_samples: int, *, only_links: bool = False) -> BlockPairs:
    """Validate pairs, which are a :class:`~kernelwise.Pairs` or a Dask frame, partition by partition.

    A frame has the columns ``row``, ``col``, ``label`` and perhaps ``weight``: positions of rows of X, labels +1 (same
    class) and -1 (different classes), positive weights. With ``only_links`` negative pairs are not needed, and all
    pairs of a frame without labels are positive.
    """
    if isinstance(pairs, Pairs):
        resolve_pairs(pairs, None, n_samples, random_state=None, both_kinds=not only_links)  # checks the pairs
        size = min(PIECE, max(1, int(np.ceil(len(pairs) / (BLOCKS_PER_THREAD * engine.n_workers)))))
        parts = [engine.share(pairs[start : start + size]) for start in range(0, len(pairs), size)]
    else:
        frame = _checked_frame(pairs, COLUMNS[:2] if only_links else COLUMNS[:3])
        started = engine.start(parts_of(frame))
        parts = engine.map(_checked_pairs, [started, list(range(len(started)))], n_samples=n_samples)
    counts = engine.fetch(engine.map(lambda some: (len(some), int((some.labels > 0).sum())), [parts]))
    filled = [k for k, (n_pairs, _) in enumerate(counts) if n_pairs]
    if not filled:
        raise ValueError("pairs has no rows: there is no pair to learn from")
    if not only_links:
        check_both_kinds(sum(positive for _, positive in counts), sum(n_pairs for n_pairs, _ in counts))
    return BlockPairs(engine, [counts[k][0] for k in filled], [parts[k] for k in filled], n_samples)


def _checked_frame(pairs: Any, required: Sequence[str]) -> Any:
    if not is_dask(pairs) or not hasattr(pairs, "columns"):
        raise TypeError(
            "pairs must be a Dask DataFrame with the columns row, col, label and maybe weight, or a kernelwise.Pairs, "
            f"got {type(pairs).__name__}"
        )
    missing = [name for name in required if name not in pairs.columns]
    if missing:
        raise ValueError(
            f"pairs has no column {missing[0]!r}; it needs row, col and label, and may have weight, but its columns are"
            f" {list(pairs.columns)[:10]}"
        )
    return pairs[[name for name in COLUMNS if name in pairs.columns]]


def _checked_pairs(frame: Any, number: int, *, n_samples: int) -> Pairs:
    try:
        return _pairs_of(frame, n_samples)
    except (TypeError, ValueError) as error:
        raise type(error)(f"partition {number} of pairs: {error}") from error


def _pairs_of(frame: Any, n_samples: int) -> Pairs:
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    labels = columns["label"] if "label" in columns else np.ones(len(frame), dtype=np.int64)
    return Pairs(columns["row"], columns["col"], labels, n_samples=n_samples, weights=columns.get("weight"))


def _some(pairs: Pairs, seed: int, *, share: float) -> Pairs:
    if share >= 1.0:
        return pairs
    count = int(np.ceil(share * len(pairs)))
    return pairs[np.sort(np.random.RandomState(seed).choice(len(pairs), size=count, replace=False))]


def values_of_pairs(
    pairs: BlockPairs, X: BlockArray, function: Callable[[Any, Pairs, Any], Any], shared: Any, n_values: int
) -> BlockArray:
    """Return the ``n_values`` values ``function(rows, pairs, shared)`` of every pair, dense or sparse.

    The function is called once for every partition. ``rows`` are the rows of X that the pairs of the partition touch,
    and the pairs are numbered as in these rows. Only these rows travel: X is nowhere put together.
    """
    engine = pairs.engine
    touched = engine.map(_touched, [pairs.parts])
    pieces = RowExchange(engine, touched, X.lengths).bring(X.persist())
    common = [engine.share(shared)] * len(pairs.parts)
    handles = engine.map(_values, [pairs.parts, touched, common, *pieces], value=function)
    return BlockArray.of(engine, pairs.lengths, handles, np.empty((0, n_values)))


def rows_of_pairs(pairs: Pairs, X: BlockArray) -> tuple[Any, Pairs]:
    """Return the rows of X that a few pairs touch, in memory, and the pairs numbered as in these rows."""
    engine, touched = X.engine, _touched(pairs)
    pieces = RowExchange(engine, [engine.share(touched)], X.lengths).bring(X.persist())
    sent = engine.fetch([piece for (piece,) in pieces if piece is not None])
    return stacked(sent), pairs.restrict(touched)


def _touched(pairs: Pairs) -> IntArray:
    return np.unique(np.concatenate([pairs.rows, pairs.cols]))


def _values(pairs: Pairs, touched: IntArray, shared: Any, *pieces: Any, value: Callable[[Any, Pairs, Any], Any]) -> Any:
    rows = stacked([piece for piece in pieces if piece is not None])
    ends = np.searchsorted(touched, pairs.rows), np.searchsorted(touched, pairs.cols)
    here = Pairs(*ends, pairs.labels, n_samples=len(touched), weights=pairs.weights)
    return value(rows, here, shared)


def pairs_in_memory(pairs: Any, n_samples: int) -> Pairs | None:
    """Return known pairs in memory; a Dask frame with the columns row, col, label and maybe weight is computed."""
    if not is_dask(pairs):
        return pairs
    frame = _checked_frame(pairs, COLUMNS[:3])
    n_pairs = int(frame.map_partitions(len).compute().sum())
    require(BYTES_PER_PAIR * n_pairs, f"{n_pairs} known pairs", "pass a sample of them, such as pairs.sample(frac=0.1)")
    return _pairs_of(frame.compute(), n_samples)
