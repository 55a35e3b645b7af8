"""The fits of :class:`PairKernelLearner` and :class:`NoisyPairClustering` on Dask collections of samples or pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from ..checks import Array, Index
from ..dask_rows.bank import Maps
from ..dask_rows.block_array import BlockArray
from ..dask_rows.collections import read_samples_in_blocks, sample_rows, working_engine
from ..dask_rows.engine import Engine
from ..dask_rows.labelled_pairs import BlockPairs, pairs_in_memory, read_pairs, rows_of_pairs, values_of_pairs
from ..dask_rows.landmarks import choose_block_maps
from ..kernels import AttributeBank, Kernel, linear_kernels
from ..kernels.build import one_linear_kernel_per_attribute, tolerance_and_rank
from ..kernels.combined import AttributeFeatures, LandmarkFeatures
from ..kernels.standardize import Standardization
from ..progress import Tell
from ..samples import check_magnitude, is_dask
from ..statements import Pairs
from .problem import pair_value_matrix

#: Landmarks are chosen on this many rows.
LANDMARK_ROWS = 20_000
#: With ``noise="auto"``, at most this many pairs are audited.
AUDITED_PAIRS = 50_000
#: Features are multiplied for this many pairs at a time.
PAIRS_AT_ONCE = 2**14


@dataclass(frozen=True)
class PairDesign:
    """Pairs, their samples, and the feature maps (None: attributes) that give the kernel values of pairs."""

    pairs: BlockPairs
    X: BlockArray
    maps: Maps | None
    standardization: Standardization | None  # of attributes
    n_kernels: int

    def values(self) -> BlockArray:
        """Return the values of all kernels on all pairs, on the workers."""
        function: Any = _attribute_values if self.maps is None else _landmark_values
        shared: Any = self.standardization if self.maps is None else self.maps
        return values_of_pairs(self.pairs, self.X, function, shared, self.n_kernels).persist()

    def features(self, weights: Array) -> AttributeFeatures | LandmarkFeatures:
        """Return the feature map of the combined kernel."""
        active = np.flatnonzero(weights)
        scales = np.sqrt(weights[active])
        if self.maps is None:
            return AttributeFeatures(active, scales, self.standardization)
        return LandmarkFeatures(active, tuple(self.maps[j] for j in active), scales)


def fit_on_cluster(learner: Any, X: Any, pairs: Any) -> Any:
    """Fit the learner on the workers."""
    if learner._is_precomputed:
        raise ValueError('kernels="precomputed" has a column per sample and is for data in memory; give kernels')
    if pairs is None:
        raise ValueError(
            "pairs must be given where X is a Dask collection: a Dask DataFrame with the columns row, col and label"
        )
    rng = check_random_state(learner.random_state)
    with working_engine() as engine:
        samples = read_samples_in_blocks(engine, learner, X)
        kernels = linear_kernels() if learner.kernels is None else learner.kernels
        specs = learner._name_kernels(kernels, samples.shape[1])
        standard = learner._find_standardization(samples)
        design = read_design(
            engine, samples, pairs, specs, standard, learner.rank, check_random_state(learner.random_state)
        )
        audited: tuple[Any, Any] = None, None
        if isinstance(learner.noise, str):
            audited = rows_of_pairs(design.pairs.sample(AUDITED_PAIRS, rng), design.X)
        noise = learner._resolve_noise(*audited, rng)
        learner.kernel_weights_ = learner._learn(design.values(), design.pairs, noise)
        learner._features = design.features(learner.kernel_weights_)
        learner._warn_of_doubtful_results(noise)
    return learner


def read_design(
    engine: Engine,
    samples: BlockArray,
    pairs: Any,
    specs: Sequence[Kernel],
    standard: Standardization | None,
    rank: Any,
    rng: np.random.RandomState,
) -> PairDesign:
    """Validate the pairs and prepare the kernels."""
    known = read_pairs(engine, pairs, len(samples))
    if one_linear_kernel_per_attribute(specs, samples.shape[1]):
        return PairDesign(known, samples, None, standard, len(specs))
    tol, max_rank = tolerance_and_rank(rank)
    (sample,) = sample_rows([samples], LANDMARK_ROWS, rng)
    maps, _ = choose_block_maps(
        samples, sample, specs, tol=tol, max_rank=max_rank, center=False, scale=False, random_state=rng
    )
    return PairDesign(known, samples, maps, None, len(maps))


def _attribute_values(rows: Any, pairs: Pairs, standard: Standardization | None) -> Any:
    return pair_value_matrix(AttributeBank(rows if standard is None else standard(rows)), pairs)


def _landmark_values(rows: Any, pairs: Pairs, maps: Maps) -> Array:
    values = np.empty((len(pairs), len(maps)))
    for j, feature_map in enumerate(maps):
        features = feature_map(rows)
        for start in range(0, len(pairs), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            values[part, j] = np.einsum("ik,ik->i", features[pairs.rows[part]], features[pairs.cols[part]])
    check_magnitude(values, "the kernels", least=0.0)
    return values


def fit_classes_on_cluster(model: Any, X: Any, y: Any, pairs: Any, checked: Any, tell: Tell) -> Any:
    """Learn classes from some samples in this process, and predict all on the workers; few samples as in memory."""
    if X is None:
        raise ValueError("X is None, so pairs must be a kernelwise.Pairs, which says how many samples there are")
    if not is_dask(X):
        return model.fit(X, y, pairs=pairs_in_memory(pairs, _num_samples(X)), checked=checked, progress=tell)
    if model.metric == "precomputed":
        raise ValueError('metric="precomputed" has a column per sample and is for data in memory; give features')
    if model.sample_size is None:
        raise ValueError("sample_size=None learns from all samples in memory; give a number where X is on a cluster")
    with working_engine() as engine:
        samples = read_samples_in_blocks(engine, model, X)
        n_samples = len(samples)
        known = pairs_in_memory(pairs, n_samples)
        if n_samples > model._most_learned_from:
            return model._fit_rows(samples, n_samples, y, known, checked, tell)
        model._fit_rows(samples.take_rows(np.arange(n_samples)), n_samples, y, known, checked, tell)
    import dask.array as da

    for name in ("labels_", "probabilities_"):
        array = getattr(model, name)
        setattr(model, name, da.from_array(array, chunks=(tuple(samples.lengths), *array.shape[1:])))
    return model


def probabilities_at(probabilities: Any, *positions: Index) -> list[Array]:
    """Return rows of an array in memory or of a Dask array, for several lists of positions."""
    if not is_dask(probabilities):
        return [probabilities[index] for index in positions]
    ends, places = np.unique(np.concatenate(positions), return_inverse=True)
    rows = probabilities[ends].compute()
    return [rows[place] for place in np.split(places, np.cumsum([len(index) for index in positions])[:-1])]
