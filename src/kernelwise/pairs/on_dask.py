"""The fits of :class:`PairKernelLearner` and :class:`NoisyPairClustering` on Dask collections of samples or pairs."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from ..checks import Array, Index
from ..dask_rows.bank import Maps
from ..dask_rows.collections import read_samples_in_blocks, sample_rows, working_engine
from ..dask_rows.labelled_pairs import pairs_in_memory, read_pairs, rows_of_pairs, values_of_pairs
from ..dask_rows.landmarks import choose_block_maps
from ..kernels import AttributeBank, linear_kernels
from ..kernels.build import one_linear_kernel_per_attribute
from ..kernels.combined import AttributeFeatures, LandmarkFeatures
from ..kernels.standardize import Standardization
from ..progress import Tell
from ..samples import check_magnitude, is_dask, sample_product
from ..statements import Pairs
from .problem import pair_value_matrix

#: Landmarks are chosen on this many rows.
LANDMARK_ROWS = 20_000
#: With ``noise="auto"``, at most this many pairs are audited.
AUDITED_PAIRS = 50_000


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
        known = read_pairs(engine, pairs, len(samples))
        maps: Maps | None = None
        function: Any = _attribute_values
        shared: Any = standard
        if not one_linear_kernel_per_attribute(specs, samples.shape[1]):
            own = check_random_state(learner.random_state)
            (sample,) = sample_rows([samples], LANDMARK_ROWS, own)
            maps, _ = choose_block_maps(samples, sample, specs, rank=learner.rank, random_state=own)
            function, shared = _landmark_values, maps
        audited: tuple[Any, Any] = None, None
        if isinstance(learner.noise, str):
            audited = rows_of_pairs(known.sample(AUDITED_PAIRS, rng), samples)
        noise = learner._resolve_noise(*audited, rng)
        values = values_of_pairs(known, samples, function, shared, len(specs)).persist()
        learner.kernel_weights_ = weights = learner._learn(values, known, noise)
        active = np.flatnonzero(weights)
        scales = np.sqrt(weights[active])
        if maps is None:
            learner._features = AttributeFeatures(active, scales, standard)
        else:
            learner._features = LandmarkFeatures(active, tuple(maps[j] for j in active), scales)
        learner._warn_of_doubtful_results(noise)
    return learner


def _attribute_values(rows: Any, pairs: Pairs, standard: Standardization | None) -> Any:
    return pair_value_matrix(AttributeBank(rows if standard is None else standard(rows)), pairs)


def _landmark_values(rows: Any, pairs: Pairs, maps: Maps) -> Array:
    values = np.empty((len(pairs), len(maps)))
    for j, feature_map in enumerate(maps):
        features = feature_map(rows)
        values[:, j] = sample_product(features, features, pairs.rows, pairs.cols)
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
