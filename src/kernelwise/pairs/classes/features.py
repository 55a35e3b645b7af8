r"""From samples to columns, what columns tell of classes, and clusters to start from.

Dense columns are standardised. Words (sparse rows, or dense rows that are mostly zero) become leading coordinates of
their tf-idf. A similarity becomes its leading eigenvectors, scaled by the roots of their eigenvalues. Coordinates, of
which the scales mean something, stay as they are.

With features :math:`\phi(x)` of several kernels side by side and soft classes :math:`R` (n, K), ridge regression of the
columns of R gives scores :math:`L` that leave out the sample itself, in closed form
(:mod:`kernelwise.scoring.kernel_scores`). A slope turns scores into log-probabilities,

.. math:: \log P_{ik} = \log \operatorname{softmax}_k(c \, L_{ik}), \qquad
    c \text{ maximises } \textstyle\sum_{ik} R_{ik} \log P_{ik}.

The kernels are linear and Gaussian, the latter with two widths relative to the median distance: one kernel alone fits
some data and not others, and the ridge finds its directions in all of them.

No start is good for all data. Clusters of the features are good where pairs are few or mostly wrong. A core fitted to
the labels is good where features hold the classes in directions of small variance: labels that are flipped at random
only shrink the core. Eigenvectors of features and pairs together lie between the two.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator
from scipy.special import log_softmax, softmax
from sklearn.cluster import KMeans
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

from ...checks import Array, Index
from ...kernels import FactorBank, Gaussian, Kernel, Linear
from ...kernels.specs import squared_distances
from ...links.smoothing import LinkSmoother
from ...samples import power_of_two
from ...scoring.kernel_scores import RidgeSystem
from ...spectral import spectral_basis, top_eigenpairs
from ...ties import differ, first_best, repeatable_eigsh, stirred
from .evidence import PairEvidence

Columns = Callable[[Any], Array]

#: Non-negative dense data with at most this fraction of non-zero entries is treated as words. The limit is lower than
#: that of LinkSmoother, whose rows are documents: tables of yes and no are half zero, and are no words.
DENSEST_WORDS = 0.2
#: The number of coordinates of words, and of eigenvectors of a similarity.
N_COORDINATES = 200
#: Standardised columns are cut at this many standard deviations, so that one mistyped number does not make a cluster.
LARGEST_DEVIATION = 5.0


@dataclass(frozen=True)
class StandardColumns:
    """Standardised columns, cut at five standard deviations."""

    sizes: Array
    scaler: StandardScaler

    @classmethod
    def fit(cls, X: Array) -> "StandardColumns":
        """Learn means and deviations; columns are divided by a power of two first, so that no square overflows."""
        sizes = power_of_two(np.abs(X).max(axis=0))
        return cls(sizes, StandardScaler().fit(X / sizes))

    def __call__(self, X: Any) -> Array:
        return np.clip(self.scaler.transform(as_they_are(X) / self.sizes), -LARGEST_DEVIATION, LARGEST_DEVIATION)


@dataclass(frozen=True)
class WordColumns:
    """Leading coordinates of weighted words."""

    smoother: LinkSmoother

    @classmethod
    def fit(cls, X: Any, rng: np.random.RandomState) -> "WordColumns":
        """Learn the weights of the words and the leading directions."""
        return cls(LinkSmoother(depth=0, n_components=N_COORDINATES, random_state=rng).fit(X))

    def __call__(self, X: Any) -> Array:
        return self.smoother.transform(X)


@dataclass(frozen=True)
class SimilarityColumns:
    """Leading eigenvectors of a similarity; new samples are placed by their similarities to the samples of ``fit``."""

    projection: Array

    @classmethod
    def fit(cls, similarity: Any, rng: np.random.RandomState) -> "SimilarityColumns":
        """Find the leading eigenvectors with a positive eigenvalue."""
        count = min(N_COORDINATES // 2, similarity.shape[0])
        basis = spectral_basis(similarity, count, normalize="none", random_state=rng).positive()
        return cls(basis.vectors / np.sqrt(basis.values))

    def __call__(self, similarity: Any) -> Array:
        return np.asarray(similarity @ self.projection)


def mostly_zero(X: Any) -> bool:
    """Whether samples look like words: sparse, or dense with few entries that are not zero."""
    return sp.issparse(X) or np.count_nonzero(X) <= DENSEST_WORDS * X.size


def as_they_are(X: Any) -> Array:
    """Return the coordinates themselves as a dense array."""
    return X.toarray() if sp.issparse(X) else X


def fit_columns(X: Any, metric: str, rng: np.random.RandomState) -> Columns:
    """Choose and fit the columns for samples, for coordinates or for a similarity."""
    if metric == "coordinates":
        return as_they_are
    if metric == "precomputed":
        return SimilarityColumns.fit(X, rng)
    if mostly_zero(X) and not ((X.data if sp.issparse(X) else X) < 0).any():
        return WordColumns.fit(X, rng)
    return StandardColumns.fit(as_they_are(X))


#: Ridge penalties for features of unit mean squared length per kernel, and slopes of the scores.
PENALTIES = 10.0 ** np.linspace(-2.0, 2.0, 9)
SLOPES = 2.0 ** np.arange(-1, 6)
#: Widths of the Gaussian kernels in units of the median distance, and the number of rows that tell the median.
WIDTHS, MEDIAN_ROWS = (0.4, 0.8), 500
#: Each kernel has at most this many landmarks, and fewer for many samples.
MAX_RANK, MANY_RANK, MANY_SAMPLES = 300, 100, 20_000
#: The number of principal coordinates of the features that are kept.
PRINCIPAL = 100


@dataclass(frozen=True)
class Told:
    """What the features tell: log-probabilities, left out, and the penalty and the slope that they come from."""

    prior: Array
    penalty: int
    slope: float


class ClassFeatures:
    """The features of all samples, decomposed once; every call of :meth:`tell` fits another set of soft classes."""

    def __init__(self, rows: Array, maps: Sequence[Callable[[Any], Array]]) -> None:
        self.maps = maps
        self.ridge = RidgeSystem.decompose(rows, np.zeros((len(rows), 1)))
        leading = slice(-1, -PRINCIPAL - 1, -1)
        self.principal = self.ridge.left[:, leading] * self.ridge.singular[leading]
        self._leverages: dict[int, Array] = {}

    @classmethod
    def of_kernels(cls, X: Any, kernels: Sequence[Kernel] | None, rng: np.random.RandomState) -> "ClassFeatures":
        """The features of some kernels, each centred and scaled to unit mean squared length."""
        chosen = default_kernels(X) if kernels is None else kernels
        rank = MAX_RANK if X.shape[0] <= MANY_SAMPLES else MANY_RANK
        bank = FactorBank.build(X, chosen, tol=1e-8, max_rank=rank, center=True, scale=True, random_state=rng)
        return cls(np.hstack([bank.factor(j) for j in range(bank.n_kernels)]), bank.maps)

    def tell(self, classes: Array, near: Told | None = None) -> Told:
        """Fit soft classes; ``near`` is an earlier fit to similar classes, whose penalty is close to the best one."""
        ridge, last = replace(self.ridge, targets=classes), len(PENALTIES) - 1
        tried = range(last + 1) if near is None else range(max(near.penalty - 1, 0), min(near.penalty + 1, last) + 1)
        told = [ridge.leave_one_out(PENALTIES[position], leverages=self.leverages(position)) for position in tried]
        best = first_best([-float(((classes - scores) ** 2).sum()) for scores in told])
        fits = [log_softmax(slope * told[best], axis=1) for slope in SLOPES]
        steepest = first_best([float(np.einsum("ik,ik->", classes, logs)) for logs in fits])
        return Told(fits[steepest], tried[best], float(SLOPES[steepest]))

    def leverages(self, position: int) -> Array:
        """The leverages for one of the penalties, computed once."""
        if position not in self._leverages:
            self._leverages[position] = self.ridge.leverages(PENALTIES[position])
        return self._leverages[position]

    def predictor(self, classes: Array, told: Told) -> "ClassPredictor":
        """The class probabilities of new samples, by the fit to soft classes that ``told`` comes from."""
        beta, intercepts = replace(self.ridge, targets=classes).coefficients(PENALTIES[told.penalty])
        return ClassPredictor(tuple(self.maps), told.slope * beta, told.slope * intercepts)


class NoFeatures:
    """Samples without features: all that is known of a class is its share."""

    principal = None

    def tell(self, classes: Array, near: Told | None = None) -> Told:
        """The shares of the classes, for every sample."""
        shares = np.log(classes.mean(axis=0) + np.finfo(float).tiny)
        return Told(np.tile(shares - np.logaddexp.reduce(shares), (len(classes), 1)), 0, 1.0)


@dataclass(frozen=True)
class ClassPredictor:
    """``softmax(phi(x)^T beta + intercepts)`` for new samples."""

    maps: tuple[Callable[[Any], Array], ...]
    beta: Array
    intercepts: Array

    def __call__(self, X: Any) -> Array:
        rows = np.hstack([phi(X) for phi in self.maps])
        return np.asarray(softmax(rows @ self.beta + self.intercepts, axis=1))


def default_kernels(X: Array) -> list[Kernel]:
    """A linear kernel and two Gaussian kernels, narrower than the median distance between samples."""
    few = X[np.linspace(0, len(X) - 1, min(len(X), MEDIAN_ROWS)).astype(np.intp)]
    distances = np.sqrt(squared_distances(few, few))[np.triu_indices(len(few), 1)]
    distances = distances[differ(distances)]  # equal rows do not count
    median = float(np.median(distances)) if len(distances) else 1.0
    return [Linear(), *(Gaussian(width=factor * median) for factor in WIDTHS)]


Clusters = Index

#: Weights of the pairs beside the features in the eigenvectors of both together.
PAIR_WEIGHTS = {"features and pairs": 1.0, "pairs, some features": 3.0}
#: The core is fitted in this many leading coordinates of the features, to at most this many pairs, with these
#: penalties relative to the largest eigenvalue of the normal equations.
CORE_DIM, CORE_PAIRS = 25, 50_000
CORE_PENALTIES = 10.0 ** np.arange(-5, 1)
#: k-means is fitted to at most this many samples.
MAX_FITTED = 20_000
#: Every sample is joined to this many nearest neighbours; the graph is made for at most so many samples.
N_NEIGHBOURS, MOST_IN_GRAPH = 10, 20_000


def starting_clusters(
    name: str, columns: Any, principal: Any, evidence: PairEvidence, n_classes: int, seed: int
) -> Clusters:
    """The clusters of one start; ``columns`` are the samples themselves, ``principal`` their leading coordinates.

    Without features both are None, and "pairs" is the only start.
    """
    rng = np.random.RandomState(seed)
    if name == "pairs":
        return k_means(joint_embedding(None, evidence, 1.0, n_classes, rng), n_classes, 5, rng)
    if name in PAIR_WEIGHTS:
        return k_means(joint_embedding(principal, evidence, PAIR_WEIGHTS[name], n_classes, rng), n_classes, 5, rng)
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
    graph = graph + graph.T
    roots = sp.diags_array(1.0 / np.sqrt(graph.sum(axis=1)))
    return top_eigenpairs(roots @ graph @ roots, n_classes, random_state=rng)[1]


def centred_labels(evidence: PairEvidence) -> Array:
    """The share of + labels of every distinct pair, minus its mean."""
    share = evidence.plus / (evidence.plus + evidence.minus)
    return share - share.mean() if len(share) else share


def joint_embedding(
    principal: Array | None, evidence: PairEvidence, weight: float, n_classes: int, rng: np.random.RandomState
) -> Array:
    """The leading eigenvectors of the weighted matrix of centred labels plus the kernel of the features, if given."""
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
    r"""Factors of :math:`Z M Z^\top`, with :math:`z_i^\top M z_j` regressed on labels, by the best leave-one-out
    penalty.
    """
    Z = principal / principal.std(axis=0).mean()
    chosen = rng.permutation(evidence.n_pairs)[:CORE_PAIRS]
    left, right, target = Z[evidence.rows[chosen]], Z[evidence.cols[chosen]], centred_labels(evidence)[chosen]
    design = symmetric_products(left, right)
    squares, vectors = np.linalg.eigh(design.T @ design)
    rotated, moment = design @ vectors, vectors.T @ (design.T @ target)
    errors, fits = [], []
    for penalty in squares[-1] * CORE_PENALTIES:
        damped = np.maximum(squares, 0.0) + penalty
        leverage = (rotated**2) @ (1.0 / damped)
        fits.append(vectors @ (moment / damped))
        errors.append(float((((target - design @ fits[-1]) / np.maximum(1.0 - leverage, 1e-3)) ** 2).sum()))
    values, axes = np.linalg.eigh(symmetric_core(fits[first_best(-np.array(errors))], Z.shape[1]))
    count = min(n_classes, len(values))
    return Z @ (axes[:, -count:] * np.sqrt(np.maximum(values[-count:], 1e-12)))


def symmetric_products(left: Array, right: Array) -> Array:
    """Products of coordinates, in which ``z_i' M z_j`` is linear with coefficients of the norm of M."""
    first, second = np.triu_indices(left.shape[1])
    return (left[:, first] * right[:, second] + left[:, second] * right[:, first]) * _scale(first, second)


def symmetric_core(coefficients: Array, size: int) -> Array:
    """M from the coefficients of :func:`symmetric_products`."""
    first, second = np.triu_indices(size)
    M = np.zeros((size, size))
    M[first, second] = coefficients * _scale(first, second)
    return M + M.T


def _scale(first: Clusters, second: Clusters) -> Array:
    return np.where(first == second, 0.5, np.sqrt(0.5))


def k_means(points: Array, n_clusters: int, n_init: int, rng: np.random.RandomState) -> Clusters:
    """Clusters by k-means, fitted to some of many samples."""
    points = stirred(points)
    fitted = points if len(points) <= MAX_FITTED else points[np.sort(rng.permutation(len(points))[:MAX_FITTED])]
    model = KMeans(n_clusters, n_init=n_init, random_state=rng).fit(fitted)
    return np.asarray(model.labels_ if fitted is points else model.predict(points), dtype=np.intp)
