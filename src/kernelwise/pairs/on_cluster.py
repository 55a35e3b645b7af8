"""What :class:`PairKernelLearner` learns from where pairs or samples are Dask collections."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..cluster.bank import Maps
from ..cluster.block_array import BlockArray
from ..cluster.collections import is_dask, read_rows, sample_rows
from ..cluster.engine import Engine
from ..cluster.landmarks import choose_block_maps
from ..kernels import AttributeBank, Kernel
from ..kernels.build import one_linear_kernel_per_attribute, tolerance_and_rank
from ..kernels.combined import AttributeFeatures, LandmarkFeatures
from ..kernels.magnitudes import check_magnitude
from ..kernels.reading import tidy
from ..kernels.specs import is_sparse
from ..supervision import Pairs
from .pair_blocks import BlockPairs, read_pairs, values_of_pairs
from .problem import pair_value_matrix

Array = NDArray[np.float64]

#: Rows from which landmarks are chosen.
LANDMARK_ROWS = 20_000
#: Samples in memory are sent in pieces of this many bytes, and refused above the other number.
SENT_BYTES, MOST_BYTES = 8 * 2**20, 2**30
#: The share of a worker's memory that samples in memory may take.
SHARE = 0.25
#: Pairs whose features are multiplied at once.
PAIRS_AT_ONCE = 2**14


@dataclass(frozen=True)
class PairDesign:
    """Pairs, the samples that they are about, and how to value kernels on them."""

    pairs: BlockPairs
    X: BlockArray
    maps: Maps | None
    residuals: Array
    n_kernels: int

    def values(self) -> BlockArray:
        """Return the values of all kernels on all pairs, on the workers."""
        function = _attribute_values if self.maps is None else _landmark_values
        return values_of_pairs(self.pairs, self.X, function, self.maps, self.n_kernels).keep()

    def slack(self) -> float | Array:
        """Return how far off a value of each kernel can be."""
        if self.maps is None:
            return 0.0
        largest = self.X.reduce_of(_largest_diagonals, np.maximum, maps=self.maps)
        return self.residuals * np.asarray(largest) / np.maximum(1.0 - self.residuals, 0.1)

    def features(self, weights: Array) -> AttributeFeatures | LandmarkFeatures:
        """Return the feature map of the combined kernel."""
        active = np.flatnonzero(weights)
        scales = np.sqrt(weights[active])
        if self.maps is None:
            return AttributeFeatures(active, scales)
        return LandmarkFeatures(active, tuple(self.maps[j] for j in active), scales)


def read_block_samples(engine: Engine, estimator: Any, X: Any) -> BlockArray:
    """Validate samples, a Dask collection or in memory, and let scikit-learn note their features."""
    names = list(X.columns) if hasattr(X, "columns") else None
    if is_dask(X):
        (given,) = read_rows(engine, X=X)
        assert given is not None
        samples = given.map(_checked_samples).keep()
        engine.fetch(engine.map(_nothing, [samples.handles]))  # so that what is wrong is said before long work
    else:
        samples = _sent(engine, _checked_samples(X))
    if samples.shape[0] < 2:
        raise ValueError(f"X has {samples.shape[0]} sample, and a pair needs two")
    first: Any = np.zeros((1, samples.shape[1]))
    if names is not None:
        import pandas as pd

        first = pd.DataFrame(first, columns=names)
    validate_data(estimator, first, reset=True, dtype=np.float64)
    return samples


def read_design(
    engine: Engine, samples: BlockArray, pairs: Any, specs: Sequence[Kernel], rank: Any, rng: np.random.RandomState
) -> PairDesign:
    """Validate the pairs and prepare the kernels."""
    known = read_pairs(engine, pairs, len(samples))
    if one_linear_kernel_per_attribute(specs, samples.shape[1]):
        return PairDesign(known, samples, None, np.zeros(len(specs)), len(specs))
    tol, max_rank = tolerance_and_rank(rank)
    (sample,) = sample_rows([samples], LANDMARK_ROWS, rng)
    maps, residuals = choose_block_maps(
        samples, sample, specs, tol=tol, max_rank=max_rank, center=False, scale=False, random_state=rng
    )
    return PairDesign(known, samples, maps, residuals, len(maps))


def _checked_samples(block: Any) -> Any:
    """Return samples as scikit-learn wants them, dense or tidy in compressed sparse rows."""
    checked = check_array(block, accept_sparse="csr", dtype=np.float64, ensure_min_samples=0, input_name="X")
    rows = tidy(sp.csr_array(checked)) if is_sparse(checked) else checked
    check_magnitude(rows, "X", least=0.0)
    return rows


def _nothing(block: Any) -> None:
    return None


def _sent(engine: Engine, X: Any) -> BlockArray:
    """Send samples that are in memory to the workers, in pieces."""
    nbytes = X.data.nbytes + X.indices.nbytes if is_sparse(X) else X.nbytes
    limit = min([MOST_BYTES, *(int(SHARE * memory) for memory in engine.memory_limits)])
    if nbytes > limit:
        raise MemoryError(
            f"X takes {nbytes / 1e9:.3g} GB in this process, and at most {limit / 1e9:.3g} GB are sent to the workers; "
            "make it a Dask array that they read themselves, or dask.array.from_array(X, chunks=(10000, -1))"
        )
    size = max(1, int(X.shape[0] * SENT_BYTES / max(nbytes, SENT_BYTES)))
    pieces = [X[start : start + size] for start in range(0, X.shape[0], size)]
    lengths = [piece.shape[0] for piece in pieces]
    return BlockArray.of(engine, lengths, [engine.share(piece) for piece in pieces], np.empty((0, X.shape[1])))


def _attribute_values(rows: Any, pairs: Pairs, shared: None) -> Any:
    return pair_value_matrix(AttributeBank(rows), pairs)


def _landmark_values(rows: Any, pairs: Pairs, maps: Maps) -> Array:
    values = np.empty((len(pairs), len(maps)))
    for j, feature_map in enumerate(maps):
        features = feature_map(rows)
        for start in range(0, len(pairs), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            values[part, j] = np.einsum("ik,ik->i", features[pairs.rows[part]], features[pairs.cols[part]])
    check_magnitude(values, "the kernels", least=0.0)
    return values


def _largest_diagonals(rows: Any, *, maps: Maps) -> Array:
    return np.array([np.max((feature_map(rows) ** 2).sum(axis=1), initial=0.0) for feature_map in maps])
