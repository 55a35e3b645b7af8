"""The methods: one function each, from a :class:`Task` to an :class:`Answer`.

Methods that measure distances get standardised features. ``NoisyPairClustering`` and ``PairKernelClustering`` get the
features as they are, since scaling is their own work. What could be chosen for a competitor was chosen for the best
mean over sets with the true classes known, which no user could do; the methods called tuned say among what.
"""

import heapq
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import StandardScaler

from kernelwise import (
    ITML,
    ConstrainedSpectralClustering,
    LinkedClustering,
    MPCKMeans,
    PairCompletionClustering,
    PairKernelClustering,
    PairKernelLearner,
    PairNoise,
    Pairs,
    audit_pairs,
)
from kernelwise.pairs.problem import transition_matrix

from .answers import Answer
from .draws import Task
from .peers import peer

N_INIT = 10


def k_means(task: Task) -> Answer:
    return Answer(_k_means(_standardised(task), task))


def closure(task: Task) -> Answer:
    """Merge samples as far as the majority of pairs between groups is positive, then k-means on means of groups."""
    X = _standardised(task)
    groups = merged_groups(task.pairs)
    sizes = np.bincount(groups)
    means = np.stack([np.bincount(groups, weights=column) / sizes for column in X.T], axis=1)
    n_clusters = min(task.n_clusters, len(sizes))
    model = KMeans(n_clusters, n_init=N_INIT, random_state=task.seed).fit(means, sample_weight=sizes)
    return Answer(model.labels_[groups])


def merged_groups(pairs: Pairs) -> NDArray[np.intp]:
    """Groups that arise by merging the two with the largest surplus of positive pairs, until there is no surplus.

    Where no pair contradicts another, these are the components of the positive pairs.
    """
    links: list[dict[int, float]] = [defaultdict(float) for _ in range(pairs.n_samples)]
    for i, j, sign in zip(pairs.rows.tolist(), pairs.cols.tolist(), pairs.labels.tolist(), strict=True):
        links[i][j] += sign
        links[j][i] += sign
    group = np.arange(pairs.n_samples)
    members = [[i] for i in range(pairs.n_samples)]
    queue = [(-surplus, i, j) for i in range(pairs.n_samples) for j, surplus in links[i].items() if i < j]
    heapq.heapify(queue)
    while queue:
        surplus, i, j = heapq.heappop(queue)
        if surplus >= 0:
            break
        if links[i].get(j) != -surplus:  # one of the two has been merged in the meantime
            continue
        i, j = (i, j) if len(links[i]) >= len(links[j]) else (j, i)
        for other, value in links[j].items():
            del links[other][j]
            if other != i:
                links[i][other] += value
                links[other][i] = links[i][other]
                heapq.heappush(queue, (-links[i][other], *sorted((i, other))))
        links[j] = {}
        members[i] += members[j]
        group[members[j]] = i
    return np.unique(group, return_inverse=True)[1]


def mpck_means(task: Task) -> Answer:
    return _mpck_means(task, penalty=1.0)


def mpck_means_tuned(task: Task) -> Answer:
    """The best of the penalties .1, .3 and 1 with one metric or one per cluster, by the mean over cells."""
    return _mpck_means(task, penalty=0.1)


def _mpck_means(task: Task, penalty: float) -> Answer:
    model = MPCKMeans(task.n_clusters, penalty=penalty, random_state=task.seed)
    return Answer(model.fit(_standardised(task), pairs=task.pairs).labels_)


def pair_kernel(task: Task) -> Answer:
    return _pair_kernel(task, noise=None)


def pair_kernel_auto(task: Task) -> Answer:
    return _pair_kernel(task, noise="auto")


def _pair_kernel(task: Task, noise: Any) -> Answer:
    learner = PairKernelLearner(noise=noise, random_state=task.seed)
    model = PairKernelClustering(learner, n_clusters=task.n_clusters, random_state=task.seed)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(task.X, pairs=task.pairs)
    zero = any("weights are zero" in str(warning.message) for warning in said)
    return Answer(model.labels_, remark="all weights are zero" if zero else "")


def linked(task: Task) -> Answer:
    model = LinkedClustering(task.n_clusters, random_state=task.seed)
    return Answer(model.fit(_standardised(task), pairs=task.pairs).labels_)


def completion(task: Task) -> Answer:
    model = PairCompletionClustering(task.n_clusters, random_state=task.seed)
    model.fit(_similarity(task), pairs=task.pairs)
    completer = model.completer_
    tells = None if completer is None else lambda rows, cols: completer.predict_pairs(rows, cols) > 0
    return Answer(model.labels_, shares_class=tells)


def itml(task: Task) -> Answer:
    return _itml(task, gamma=1.0)


def itml_tuned(task: Task) -> Answer:
    """The best gamma of .01, .1 and 1, by the mean over cells."""
    return _itml(task, gamma=0.1)


def _itml(task: Task, gamma: float) -> Answer:
    metric = ITML(gamma=gamma, random_state=task.seed).fit(_standardised(task), pairs=task.pairs)
    return Answer(_k_means(metric.transform(_standardised(task)), task))


def constrained_spectral(task: Task) -> Answer:
    model = ConstrainedSpectralClustering(task.n_clusters, random_state=task.seed)
    return Answer(model.fit(_similarity(task), pairs=task.pairs).labels_)


def audit(task: Task) -> Answer:
    """``audit_pairs``: rates and suspects, no clusters."""
    found = audit_pairs(_standardised(task), task.pairs, random_state=task.seed)
    return Answer(rates=_rates(found.noise, task.pairs), quality=found.quality)


def noisy_pairs(task: Task) -> Answer:
    return _noisy_pairs(task, task.n_clusters)


def noisy_pairs_auto(task: Task) -> Answer:
    return _noisy_pairs(task, "auto")


def _noisy_pairs(task: Task, n_clusters: Any) -> Answer:
    from kernelwise import NoisyPairClustering

    model = NoisyPairClustering(n_clusters=n_clusters, random_state=task.seed).fit(task.X, pairs=task.pairs)
    ends = model.noise_intervals_
    return Answer(
        model.labels_,
        model.noise_.flip_rates,
        (ends["flipped_positive"], ends["flipped_negative"]),
        model.pair_quality_,
        lambda rows, cols: model.predict_pairs(rows, cols) > 0,
    )


def _rates(noise: PairNoise, pairs: Pairs) -> tuple[float, float]:
    transition = transition_matrix(noise, float((pairs.labels > 0).mean()))
    return float(transition[0, 1]), float(transition[1, 0])


def _standardised(task: Task) -> NDArray[np.float64]:
    return StandardScaler().fit_transform(task.X)


def _similarity(task: Task) -> NDArray[np.float64]:
    """A Gaussian of the distances between standardised features, as wide as their median; of .3, .5, 1, 2 medians."""
    distances = pairwise_distances(_standardised(task))
    width = np.median(distances[np.triu_indices(len(distances), 1)])
    return np.exp(-0.5 * (distances / width) ** 2)


def _k_means(X: NDArray[np.float64], task: Task) -> NDArray[Any]:
    return KMeans(task.n_clusters, n_init=N_INIT, random_state=task.seed).fit(X).labels_


METHODS: dict[str, Callable[[Task], Answer]] = {
    "kmeans": k_means,
    "noisy_pairs": noisy_pairs,
    "noisy_pairs_auto": noisy_pairs_auto,
    "closure": closure,
    "mpckmeans": mpck_means,
    "mpckmeans_tuned": mpck_means_tuned,
    "pair_kernel": pair_kernel,
    "pair_kernel_auto": pair_kernel_auto,
    "linked": linked,
    "completion": completion,
    "itml": itml,
    "itml_tuned": itml_tuned,
    "spectral": constrained_spectral,
    "audit_pairs": audit,
    "peer_pckmeans": peer("PCKMeans"),
    "peer_mpckmeans": peer("MPCKMeans"),
    "peer_copkmeans": peer("COPKMeans"),
}
