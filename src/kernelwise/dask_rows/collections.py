"""From Dask arrays and frames to block arrays; the data stay on the workers."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..samples import check_magnitude, is_dask, tidy
from .block_array import BlockArray, stacked
from .engine import ClusterEngine, Engine, LocalEngine
from .lazy import parts_of

#: Blocks per thread of the cluster: enough to share the work evenly, few enough to keep the scheduler's work small.
BLOCKS_PER_THREAD = 2
#: Blocks of fewer samples than this are not worth a task of their own.
SMALL_BLOCK = 2000
#: The share of a worker's memory that one block of the features may take.
BLOCK_SHARE = 1 / 32
#: Samples in memory are sent in pieces of this many bytes, and are refused if they have more bytes than this.
SENT_BYTES, MOST_BYTES = 8 * 2**20, 2**30
#: The share of a worker's memory that samples in memory may take.
SENT_SHARE = 0.25
#: The share of a worker's memory that a chunk of the user's array may take, since a chunk is read whole.
CHUNK_SHARE = 1 / 4


@contextmanager
def working_engine() -> Iterator[Engine]:
    """Give the engine of the current Dask client, or the calling process where there is no client."""
    engine = current_engine()
    try:
        yield engine
    except BaseException:
        engine.cancel()
        raise


def current_engine() -> Engine:
    """Return the engine of the current Dask client, or the calling process where there is no client."""
    if "distributed" not in sys.modules:
        return LocalEngine()
    from distributed import get_client

    try:
        client = get_client()
    except ValueError:
        return LocalEngine()
    return ClusterEngine(client)


def read_rows(engine: Engine, **collections: Any) -> list[Any]:
    """Return block arrays over the same samples, or None, with the blocks of the first collection.

    Collections are Dask arrays or frames, NumPy arrays, or None, by the names that messages use. The first collection
    is the features. Frames may have blocks of unknown length.
    """
    (name, first), *others = collections.items()
    first = _with_suitable_blocks(engine, first, name)
    parts = _parts(engine, first, name)
    lengths = _lengths(engine, parts)
    arrays: list[BlockArray | None] = [_block_array(engine, parts, lengths, first)]
    for other_name, other in others:
        arrays.append(None if other is None else _aligned(engine, other, other_name, lengths, name))
    filled = [k for k, length in enumerate(lengths) if length]
    if not filled:
        raise ValueError(f"{name} has no rows; a fit needs samples")
    return [None if array is None else array.blocks(filled) for array in arrays]


def _with_suitable_blocks(engine: Engine, X: Any, name: str) -> Any:
    """Cut a Dask array into a few row blocks per worker; raise where a chunk is too large for a worker."""
    if not hasattr(X, "chunks"):
        return X
    if np.isnan(X.shape[0]):
        return X.rechunk({1: -1}) if X.ndim > 1 and len(X.chunks[1]) > 1 else X
    check_chunks(engine, X, name)
    limit, row_bytes = min(engine.memory_limits, default=0), _row_bytes(X)
    n = X.shape[0]
    wanted = min(BLOCKS_PER_THREAD * engine.n_workers, max(1, n // SMALL_BLOCK))
    if limit:
        wanted = max(wanted, int(np.ceil(n * row_bytes / (BLOCK_SHARE * limit))))
    rows = int(np.ceil(n / max(wanted, 1)))
    chunks = {0: max(rows, 1)} | ({1: -1} if X.ndim > 1 else {})
    return X.rechunk(chunks)


def check_chunks(engine: Engine, X: Any, name: str) -> None:
    """Refuse chunks that are too large for a worker, before anything is read."""
    limit, longest, row_bytes = min(engine.memory_limits, default=0), max(X.chunks[0]), _row_bytes(X)
    if limit and longest * row_bytes > CHUNK_SHARE * limit:
        rows = max(1, int(BLOCK_SHARE * limit / row_bytes))
        raise ValueError(
            f"a chunk of {name} has {longest} rows, {longest * row_bytes / 1e9:.3g} GB, too much for a worker with "
            f"{limit / 1e9:.3g} GB; use {name}.rechunk({{0: {rows}}}) where it is made, or larger workers"
        )


def _row_bytes(X: Any) -> int:
    """Return the bytes of a row; 0 for sparse rows, of which the number of stored entries is unknown."""
    return 0 if sp.issparse(getattr(X, "_meta", None)) else X.dtype.itemsize * int(np.prod(X.shape[1:], dtype=np.int64))


def _parts(engine: Engine, collection: Any, name: str) -> list[Any]:
    """Start the computation of the blocks and return their handles."""
    if not hasattr(collection, "to_delayed"):
        raise TypeError(f"{name} must be a Dask array or frame, got {type(collection).__name__}")
    return engine.map(_plain_block, [engine.start(parts_of(collection))])


def _plain_block(part: Any) -> Any:
    """Return a block as a NumPy array, or as a CSR array where it is sparse."""
    if sp.issparse(part):
        return sp.csr_array(part)
    return part.to_numpy() if hasattr(part, "to_numpy") else np.asarray(part)


def _lengths(engine: Engine, parts: Sequence[Any]) -> list[int]:
    return [int(shape[0]) for shape in engine.fetch(engine.map(np.shape, [parts]))]


def _block_array(engine: Engine, parts: Sequence[Any], lengths: Sequence[int], collection: Any) -> BlockArray:
    dtype = getattr(collection, "dtype", np.float64)
    columns = () if collection.ndim == 1 else (int(collection.shape[1]),)
    plain = dtype if isinstance(dtype, np.dtype) else np.dtype(object)
    return BlockArray.of(engine, lengths, parts, np.empty((0, *columns), dtype=plain))


def _aligned(engine: Engine, other: Any, name: str, lengths: Sequence[int], first_name: str) -> BlockArray:
    """Return ``other`` in the blocks of the first collection."""
    if not is_dask(other):
        whole = np.asarray(other)
        if whole.shape[:1] != (sum(lengths),):
            raise ValueError(
                f"{name} has shape {whole.shape}, but {first_name} has {sum(lengths)} rows; one entry per row is needed"
            )
        cuts = np.split(whole, np.cumsum(lengths)[:-1])
        return BlockArray.of(engine, lengths, [engine.share(cut) for cut in cuts], whole[:0])
    if hasattr(other, "chunks") and not np.isnan(other.shape[0]):
        if other.shape[0] != sum(lengths):
            raise ValueError(
                f"{name} has {other.shape[0]} rows, but {first_name} has {sum(lengths)}; one entry per row is needed"
            )
        other = other.rechunk({0: tuple(length for length in lengths if length)}) if sum(lengths) else other
        filled = iter(_parts(engine, other, name))
        nothing = np.empty((0, *other.shape[1:]), dtype=other.dtype)
        parts = [next(filled) if length else engine.share(nothing) for length in lengths]
        return _block_array(engine, parts, lengths, other)
    parts = _parts(engine, other, name)
    own = _lengths(engine, parts)
    if own != list(lengths):
        raise ValueError(
            f"the partitions of {name} have {own[:5]}... rows, those of {first_name} {list(lengths)[:5]}...; make both "
            "from one frame, or use to_dask_array(lengths=True) on both"
        )
    return _block_array(engine, parts, lengths, other)


def sample_rows(arrays: Sequence[BlockArray], count: int, random_state: np.random.RandomState) -> list[Any]:
    """Return the same rows of several arrays in memory: all rows, or about ``count`` rows where there are more."""
    lengths = arrays[0].lengths
    share = min(1.0, count / sum(lengths))
    seeds = random_state.randint(2**31 - 1, size=len(lengths)).tolist()
    handles = arrays[0].engine.map(_some, [array.handles for array in arrays] + [seeds], share=share)
    parts = arrays[0].engine.fetch(handles)
    return [stacked([part[k] for part in parts]) for k in range(len(arrays))]


def _some(*blocks: Any, share: float) -> list[Any]:
    *arrays, seed = blocks
    n = arrays[0].shape[0]
    if share >= 1.0:
        return list(arrays)
    index = np.sort(np.random.RandomState(seed).choice(n, size=int(np.ceil(share * n)), replace=False))
    return [array[index] for array in arrays]


def check_numbers(name: str, dtype: Any) -> None:
    """Raise unless the type is one of real numbers, before any block is made."""
    if np.dtype(dtype).kind not in "buif":
        raise ValueError(f"{name} must hold real numbers, got {dtype}; convert it with astype(float)")


def read_samples_in_blocks(engine: Engine, estimator: Any, X: Any) -> BlockArray:
    """Validate samples in a Dask collection or in memory, and let scikit-learn remember their features."""
    names = list(X.columns) if hasattr(X, "columns") else None
    if is_dask(X):
        (given,) = read_rows(engine, X=X)
        samples = given.map_rows(checked_samples).persist()
        _lengths(engine, samples.handles)  # waits for the blocks, so that errors are raised before long work
    else:
        samples = _sent(engine, checked_samples(X))
    if samples.shape[0] < 2:
        raise ValueError(f"X has {samples.shape[0]} sample, and a pair needs two")
    remember_features(estimator, np.zeros((1, samples.shape[1])), names)
    return samples


def remember_features(estimator: Any, rows: Any, names: Sequence[Any] | None) -> None:
    """Let scikit-learn remember the number of features and their names."""
    if names is not None:
        import pandas as pd

        rows = pd.DataFrame(rows, columns=names)
    validate_data(estimator, rows, reset=True, accept_sparse="csr", dtype=np.float64)


def checked_samples(block: Any) -> Any:
    """Return samples as scikit-learn wants them, dense or tidy in compressed sparse rows."""
    checked = check_array(block, accept_sparse="csr", dtype=np.float64, ensure_min_samples=0, input_name="X")
    rows = tidy(sp.csr_array(checked)) if sp.issparse(checked) else checked
    check_magnitude(rows, "X", least=0.0)
    return rows


def _sent(engine: Engine, X: Any) -> BlockArray:
    """Send samples that are in memory to the workers, in pieces."""
    nbytes = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
    limit = min([MOST_BYTES, *(int(SENT_SHARE * memory) for memory in engine.memory_limits)])
    if nbytes > limit:
        raise MemoryError(
            f"X takes {nbytes / 1e9:.3g} GB in this process, and at most {limit / 1e9:.3g} GB are sent to the workers; "
            "make it a Dask array that they read themselves, or dask.array.from_array(X, chunks=(10000, -1))"
        )
    size = max(1, int(X.shape[0] * SENT_BYTES / max(nbytes, SENT_BYTES)))
    pieces = [X[start : start + size] for start in range(0, X.shape[0], size)]
    lengths = [piece.shape[0] for piece in pieces]
    return BlockArray.of(engine, lengths, [engine.share(piece) for piece in pieces], np.empty((0, X.shape[1])))
