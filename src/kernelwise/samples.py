"""Arrays with one row per sample: from the arguments of ``fit`` to clean arrays, wherever the rows are.

The first part reads: dense, or sparse in the form that compiled code relies on; magnitudes whose squares neither
overflow nor vanish; repeated samples and their weights; scales of features.

The second part computes. Solvers write sums over samples as NumPy expressions. An array whose rows are cut into blocks
on other machines (:class:`kernelwise.dask_rows.block_array.BlockArray`) answers to the same expressions, but it
remembers an expression and evaluates the expression later, where the blocks are. The few operations that such an array
needs beyond NumPy are functions here: each calls the method of an array in blocks, and is plain NumPy for an array in
memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, validate_data

Array = NDArray[np.float64]


#: This many entries of a product are computed at a time, so that the rows of both factors stay in the cache.
ENTRIES_AT_ONCE = 2**13
#: Sums of squares of entries between these limits neither overflow nor vanish.
LEAST, LARGEST = 1e-152, 1e152
#: Features that differ by less than this share of the largest feature are equal but for rounding.
ALIKE = 1e-7


def read_samples(estimator: Any, X: Any, **options: Any) -> Any:
    """Return X validated by scikit-learn (``options``), in float64, dense or tidy in compressed sparse rows."""
    refuse_collections(estimator, X=X)
    return tidy(validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, **options))


def refuse_collections(estimator: Any, **given: Any) -> None:
    """Raise a TypeError for a Dask collection, which would be pulled into memory; indexes must be those of X."""
    for name, collection in given.items():
        if is_dask(collection):
            kind = ".".join(type(collection).__module__.split(".")[:2])
            raise TypeError(
                f"{type(estimator).__name__} works in memory and takes no Dask collection, but {name} is one ({kind}); "
                f"give {name}.compute(), or use an estimator that works on a cluster (docs/cluster.md lists them)"
            )
    if "X" in given:
        check_index(**given)


def row_index(*containers: Any) -> Any:
    """Return the index of the first container that has one, as frames and series of pandas have; None if none has."""
    for rows in containers:
        if type(rows).__module__.partition(".")[0] == "narwhals" and hasattr(rows, "to_native"):
            rows = rows.to_native()
        if hasattr(rows, "iloc") and not is_dask(rows):
            return rows.index
    return None


def tagged(tags: Tags, *, sparse: bool, pairwise: bool = False, required: bool | None = None) -> Tags:
    """Return the tags of scikit-learn: may the data be sparse, are they similarities, and are labels required?"""
    tags.input_tags.sparse, tags.input_tags.pairwise = sparse, pairwise
    if required is not None:
        tags.target_tags.required = required
    return tags


def check_index(X: Any, **others: Any) -> None:
    """Raise a ValueError where labels or weights of pandas have other row names, or another order, than X of pandas.

    Rows are matched by their position. So a container without an index fits every X, and an index 0, 1, 2, ... is taken
    for positions, unless the other index holds the same numbers in another order. All other indexes must be equal.
    """
    index = row_index(X)
    if index is None:
        return
    from pandas import RangeIndex

    positions = RangeIndex(len(index))
    for name, values in others.items():
        other = row_index(values)
        if other is None or len(other) != len(index) or other.equals(index):
            continue
        counted = index.equals(positions) or other.equals(positions)
        if counted and not (index.isin(other).all() and other.isin(index).all()):
            continue
        row = next(row for row in range(len(index)) if not index[row : row + 1].equals(other[row : row + 1]))
        raise ValueError(
            f"{name} has another index than X: row {row} is {index[row]} in X and {other[row]} in {name}; give "
            f"{name}.loc[X.index], or {name}.to_numpy() if rows are to be matched by their position"
        )


def tidy(X: Any) -> Any:
    """Return X with every non-zero entry stored once, in order, no zero stored, and 32-bit indices where they suffice.

    Trees, nearest neighbours and support vector machines of scikit-learn rely on this form: an entry that is stored
    twice can make them write beyond their memory. The given matrix does not change.
    """
    if not sp.issparse(X):
        return X
    index_type = sp.get_index_dtype(maxval=max(X.nnz, *X.shape))
    if X.indices.dtype == index_type and X.has_canonical_format and X.data.all():
        return X
    own = X.copy()
    own.sum_duplicates()
    own.eliminate_zeros()
    own.indices, own.indptr = own.indices.astype(index_type), own.indptr.astype(index_type)
    return own


def dense(values: Any) -> NDArray[Any]:
    """Return the values in a dense array."""
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def sample_product(left: Array, right: Array, rows: NDArray[Any], cols: NDArray[Any]) -> Array:
    """Return ``(left @ right.T)[rows, cols]``; the time per entry is proportional to the rank."""
    entries = np.empty(len(rows))
    for start in range(0, len(rows), ENTRIES_AT_ONCE):
        piece = slice(start, start + ENTRIES_AT_ONCE)
        np.einsum("ij,ij->i", left.take(rows[piece], axis=0), right.take(cols[piece], axis=0), out=entries[piece])
    return entries


def check_magnitude(values: Any, name: str, *, least: float = LEAST) -> None:
    """Raise a ValueError unless the largest magnitude of ``name`` is zero or its square is a normal number."""
    largest = largest_magnitude(values)
    if largest != 0 and not least <= largest <= LARGEST:
        raise ValueError(
            f"the largest magnitude in {name} is {largest:.3g}, and squares of such numbers are beyond the range of "
            f"floating point; divide {name} by {largest:.3g}"
        )


def largest_magnitude(values: Any) -> float:
    """Return the largest absolute value of the entries, or 0 where there are no entries."""
    entries = values.data if hasattr(values, "tocsr") else np.asarray(values)
    return max(float(entries.max(initial=0.0)), -float(entries.min(initial=0.0)))


def power_of_two(magnitudes: Any) -> NDArray[np.float64]:
    """Return the power of two at or just below each magnitude, or 1 for zero: division by a power of two is exact."""
    sizes = np.asarray(magnitudes, dtype=np.float64)
    powers = np.ldexp(1.0, np.frexp(sizes)[1] - 1)
    # The power is at least the least normal number, whose reciprocal is still finite.
    return np.where(sizes > 0, np.maximum(powers, np.finfo(np.float64).tiny), 1.0)


class DistinctSamples(NamedTuple):
    """Samples that differ in features or label, with the weights of their repetitions added up."""

    first: NDArray[np.intp]  # the position of each distinct sample in the given data
    weight: Array
    group: NDArray[np.intp]  # the position of each given sample among the distinct samples


def read_weights(sample_weight: Any, X: Any) -> Array:
    """Return one weight per row of ``X``, none of them negative; all weights are 1 where none are given."""
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weight < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {weight.min()}; use 0 to leave a sample out")
    with np.errstate(over="ignore"):
        total = weight.sum()
    if np.isinf(total):
        raise ValueError(f"sample_weight must have a finite sum, got {weight.max():.3g} among others; divide by that")
    return weight


def distinct_samples(X: Any, target: NDArray[np.intp], weight: Array) -> DistinctSamples:
    """Merge equal rows with equal labels, in an order that does not depend on that of the rows: weight two is twice."""
    key = _row_keys(X)
    order = np.lexsort((target, key))
    previous = order[:-1], order[1:]
    new = (key[previous[0]] != key[previous[1]]) | (target[previous[0]] != target[previous[1]])
    same_key = np.flatnonzero(~new)
    new[same_key] = _rows_differ(X, order[same_key], order[same_key + 1])
    starts = np.concatenate([[0], np.flatnonzero(new) + 1]).astype(np.intp)
    group = np.empty_like(order)
    group[order] = np.concatenate([[0], np.cumsum(new)])
    return DistinctSamples(order[starts], np.add.reduceat(weight[order], starts), group)


def order_alike(X: Any, target: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return an order of the samples that does not depend on the given order, and where groups of alike samples start.

    Samples are alike if they have the same target and features that differ by rounding at most (:data:`ALIKE` of the
    largest feature). Alike samples stand beside each other, in the given order. So a change of the features in the last
    digits changes neither the order nor the groups.
    """
    key, position = _row_keys(X), np.arange(X.shape[0])
    by_key = np.argsort(key, kind="stable")
    block = np.empty(len(key), dtype=np.intp)
    block[by_key] = np.concatenate([[0], np.cumsum(np.diff(key[by_key]) > ALIKE)])
    order = np.lexsort((position, target, block))
    left, right = order[:-1], order[1:]
    new = (block[left] != block[right]) | (target[left] != target[right])
    same = np.flatnonzero(~new)
    new[same] = _rows_differ(X, left[same], right[same], ALIKE * largest_magnitude(X))
    return order, np.concatenate([[0], np.flatnonzero(new) + 1]).astype(np.intp)


def _row_keys(X: Any) -> Array:
    """Return one number per row by a fixed random projection, so that equal rows have equal numbers."""
    projection = np.random.RandomState(0).uniform(0.5, 1.5, X.shape[1]) / power_of_two(largest_magnitude(X))
    if sp.issparse(X):
        rows = sp.csr_array(X)
        rows.sort_indices()
        parts = rows.data * projection[rows.indices]
        filled = np.flatnonzero(np.diff(rows.indptr))
        keys = np.zeros(X.shape[0])
        keys[filled] = np.add.reduceat(parts, rows.indptr[filled]) if len(filled) else 0.0
        return keys
    return np.einsum("ij,j->i", X, projection)


def _rows_differ(X: Any, left: NDArray[np.intp], right: NDArray[np.intp], tolerance: float = 0.0) -> NDArray[np.bool_]:
    if sp.issparse(X):
        return np.asarray(abs(X[left] - X[right]).max(axis=1).todense()).ravel() > tolerance
    return (np.abs(X[left] - X[right]) > tolerance).any(axis=1)


def n_rows(X: Any) -> int:
    """Return the number of samples in an input that is not validated yet, or 0 where the input has no length."""
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X) if hasattr(X, "__len__") else 0


def balanced_folds(target: NDArray[np.intp], n_folds: int, random_state: np.random.RandomState) -> NDArray[np.intp]:
    """Assign samples to folds so that every class is spread evenly (in every block, where there are blocks)."""
    return persist(map_rows(target, _folds, n_folds=n_folds, random_state=random_state))


def _folds(target: NDArray[np.intp], *, n_folds: int, random_state: np.random.RandomState) -> NDArray[np.intp]:
    fold = np.empty(len(target), dtype=np.intp)
    start = 0
    for label in np.unique(target):
        members = random_state.permutation(np.flatnonzero(target == label))
        fold[members] = (start + np.arange(len(members))) % n_folds
        start += len(members)
    return fold


class FeatureScaler(NamedTuple):
    """Scales features to [0, 1] by training ranges; a sparse matrix is divided by its largest magnitudes instead."""

    shift: Array | None
    scale: Array

    @classmethod
    def fit(cls, X: Any) -> "FeatureScaler":
        """Return the scaler for the ranges of the training data; constant features become zero."""
        if sp.issparse(X):
            largest = np.asarray(abs(X).max(axis=0).todense()).ravel()
            return cls(None, np.where(largest > 0, largest, 1.0))
        low, high = X.min(axis=0), X.max(axis=0)
        with np.errstate(over="ignore"):
            span = high - low
        if np.isinf(span).any():
            column = int(np.argmax(span))
            raise ValueError(
                f"feature {column} of X spans {low[column]:.3g} to {high[column]:.3g}, more than floating point can "
                "subtract; divide it by ten"
            )
        return cls(low, np.where(span > 0, span, 1.0))

    def __call__(self, X: Any) -> Any:
        if self.shift is None:
            return sp.csr_array(X @ sp.diags_array(1.0 / self.scale))
        with np.errstate(over="ignore"):  # new samples may be far beyond the range of the training data
            scaled = (X - self.shift) / self.scale
        return np.clip(scaled, -np.finfo(np.float64).max, np.finfo(np.float64).max, out=scaled)


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
