"""Clusters to start from: of features, of features and pairs together, and of pairs alone.

No start is good for all data. Clusters of the features are good where pairs are few or mostly wrong. A core fitted to
the labels is good where features hold the classes in directions of small variance: labels that are flipped at random
only shrink the core. Eigenvectors of features and pairs together lie between the two.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator
from sklearn.cluster import KMeans
from sklearn.neighbors import kneighbors_graph

from ...spectral import spectral_embedding
from ...spectral.eigenpairs import repeatable_eigsh
from ...ties import first_best, stirred
from .evidence import PairEvidence

Array = NDArray[np.float64]
Clusters = NDArray[np.intp]

#: Weights of the pairs beside the features in the eigenvectors of both together; the last start needs no features.
PAIR_WEIGHTS = {"features, some pairs": 0.3, "features and pairs": 1.0, "pairs, some features": 3.0, "pairs": 30.0}
#: The core is fitted in this many leading coordinates of the features, to at most this many pairs, with these
#: penalties relative to the largest eigenvalue of the normal equations.
CORE_DIM, CORE_PAIRS = 25, 50_000
CORE_PENALTIES = 10.0 ** np.arange(-5, 1)
#: k-means is fitted to at most this many samples.
MAX_FITTED = 20_000
#: Starts that do not look at the pairs; "self-taught" is made of "kernel k-means" in the search.
FROM_FEATURES = ("k-means", "kernel k-means", "self-taught", "neighbours")
#: Every sample is joined to this many nearest neighbours; the graph is made for at most so many samples.
N_NEIGHBOURS, MOST_IN_GRAPH = 10, 20_000


def starting_clusters(
    name: str, columns: Array | None, principal: Array | None, evidence: PairEvidence, n_classes: int, seed: int
) -> Clusters:
    """The clusters of one start; ``columns`` are the samples themselves, ``principal`` their leading coordinates."""
    rng = np.random.RandomState(seed)
    if name in PAIR_WEIGHTS:
        return k_means(joint_embedding(principal, evidence, PAIR_WEIGHTS[name], n_classes, rng), n_classes, 5, rng)
    assert columns is not None  # the other starts are those of features
    assert principal is not None
    if name == "core":
        return k_means(core_embedding(principal[:, :CORE_DIM], evidence, n_classes, rng), n_classes, 5, rng)
    if name == "neighbours":
        return k_means(neighbour_embedding(columns, n_classes, rng), n_classes, 5, rng)
    points = columns if name == "k-means" else principal[:, : 2 * n_classes + 8]
    return k_means(points, n_classes, 10, rng)


def enough_neighbours(n_samples: int) -> bool:
    """Whether the graph of nearest neighbours can be made."""
    return 2 * N_NEIGHBOURS < n_samples <= MOST_IN_GRAPH


def neighbour_embedding(columns: Array, n_classes: int, rng: np.random.RandomState) -> Array:
    """Coordinates of spectral clustering on the graph of nearest neighbours: classes of any shape, divided by gaps."""
    graph = sp.csr_array(kneighbors_graph(stirred(columns), N_NEIGHBOURS, include_self=True))
    return spectral_embedding(0.5 * (graph + graph.T), n_classes, row_normalize=False, random_state=rng)


def centred_labels(evidence: PairEvidence) -> Array:
    """The share of + labels of every distinct pair, minus its mean."""
    share = evidence.plus / (evidence.plus + evidence.minus)
    return share - share.mean() if len(share) else share


def joint_embedding(
    principal: Array | None, evidence: PairEvidence, weight: float, n_classes: int, rng: np.random.RandomState
) -> Array:
    """The leading eigenvectors of the kernel of the features plus the weighted matrix of centred labels."""
    n = evidence.n_samples
    ends = np.concatenate([evidence.rows, evidence.cols]), np.concatenate([evidence.cols, evidence.rows])
    degree = max(1.0, 2.0 * evidence.n_pairs / n)
    W = sp.csr_array((np.tile(weight * centred_labels(evidence) / np.sqrt(degree), 2), ends), shape=(n, n))
    if principal is None:
        product: Any = W.__matmul__
    else:
        scaled = principal / np.linalg.norm(principal[:, min(n_classes, principal.shape[1] - 1)])

        def product(v: Array) -> Array:
            return np.asarray(W @ v + scaled @ (scaled.T @ v))

    count, start = min(n_classes, n - 1), rng.uniform(size=n)
    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    if n <= 4 * count:
        values, vectors = np.linalg.eigh(operator @ np.eye(n))
        values, vectors = values[-count:], vectors[:, -count:]
    else:
        values, vectors = repeatable_eigsh(operator, count, which="LA", v0=start, tol=1e-3)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def core_embedding(principal: Array, evidence: PairEvidence, n_classes: int, rng: np.random.RandomState) -> Array:
    r"""An embedding E with :math:`E E^\top` near Z M Z^T, where :math:`z_i^\top M z_j` is regressed on the labels.

    The penalty of the ridge regression has the least error on labels that are left out.
    """
    Z = principal / principal.std(axis=0).mean()
    chosen = rng.permutation(evidence.n_pairs)[:CORE_PAIRS]
    left, right, target = Z[evidence.rows[chosen]], Z[evidence.cols[chosen]], centred_labels(evidence)[chosen]
    first, second = np.triu_indices(Z.shape[1])
    design = (left[:, first] * right[:, second] + left[:, second] * right[:, first]) * _scale(first, second)
    squares, vectors = np.linalg.eigh(design.T @ design)
    rotated, moment = design @ vectors, vectors.T @ (design.T @ target)
    errors, fits = [], []
    for penalty in squares[-1] * CORE_PENALTIES:
        damped = np.maximum(squares, 0.0) + penalty
        leverage = (rotated**2) @ (1.0 / damped)
        fits.append(vectors @ (moment / damped))
        errors.append(float((((target - design @ fits[-1]) / np.maximum(1.0 - leverage, 1e-3)) ** 2).sum()))
    core = np.zeros((Z.shape[1], Z.shape[1]))
    core[first, second] = fits[first_best(-np.array(errors))] * _scale(first, second)
    values, axes = np.linalg.eigh(core + core.T)
    count = min(n_classes, len(values))
    return Z @ (axes[:, -count:] * np.sqrt(np.maximum(values[-count:], 1e-12)))


def _scale(first: Clusters, second: Clusters) -> Array:
    """Factors by which the coefficients of products have the norm of the symmetric matrix M."""
    return np.where(first == second, 0.5, np.sqrt(0.5))


def k_means(points: Array, n_clusters: int, n_init: int, rng: np.random.RandomState) -> Clusters:
    """Clusters by k-means, fitted to some of many samples."""
    points = stirred(points)
    fitted = points if len(points) <= MAX_FITTED else points[np.sort(rng.permutation(len(points))[:MAX_FITTED])]
    model = KMeans(n_clusters, n_init=n_init, random_state=rng).fit(fitted)
    return np.asarray(model.labels_ if fitted is points else model.predict(points), dtype=np.intp)
