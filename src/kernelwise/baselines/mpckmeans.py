r"""K-means that learns diagonal metrics and pays for violated pairs (MPCK-Means).

The objective of Bilenko et al. (4), over labels :math:`l`, centres :math:`\mu_h` and diagonal metrics :math:`A_h` of the
clusters, one each or one for all,

.. math::

    J = \sum_i \Bigl( \|x_i - \mu_{l_i}\|^2_{A_{l_i}} + \mathrm{tr}(\Lambda A_{l_i}) - \log\det A_{l_i} \Bigr)
      + \sum_{c \in S,\ l_i \ne l_j} \tfrac{w_c}{2} \bigl( \|v_c\|^2_{A_{l_i}} + \|v_c\|^2_{A_{l_j}} \bigr)
      + \sum_{c \in D,\ l_i = l_j} w_c \bigl( F(A_{l_i}) - \|v_c\|^2_{A_{l_i}} \bigr) .

=================  ==================================================================================================
:math:`S, D`       positive (must-link) and negative (cannot-link) pairs c = (i, j) with weight :math:`w_c`
:math:`v_c`        :math:`x_i - x_j`
:math:`F(A)`       largest squared distance between any two samples under A, so that no term is negative
:math:`\Lambda`    diagonal; a small part of the variance of each feature, which bounds the metrics
=================  ==================================================================================================

Each step lowers J: iterated conditional modes for the labels, means for the centres, and for the metrics the minimiser for
the present farthest pair, which is shortened where another pair has become the farthest.
"""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, Self
from warnings import warn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..supervision import Pairs
from ..supervision.noise import RandomState
from ..supervision.resolve import resolve_pairs

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Rows of the distance matrix that are looked at together in the search for the farthest pair.
ROWS_AT_ONCE = 512
#: How often the step to a new metric is halved before the metric is left as it was.
HALVINGS = 10


class MPCKMeans(ClusterMixin, BaseEstimator):
    r"""K-means with diagonal metrics learned on the way, and a price for every pair that the clusters contradict.

    .. math:: J = \sum_i \bigl( \|x_i - \mu_{l_i}\|^2_{A_{l_i}} - \log\det A_{l_i} \bigr) + \text{violated pairs}

    A positive pair torn apart costs its weight times its squared distance; a negative pair put together costs its weight
    times the squared distance that it lacks to the farthest pair of samples. Pairs may contradict each other: what is
    paid for is then a compromise. Without pairs it is k-means with learned metrics.

    Parameters
    ----------
    n_clusters : int, default=8
    metric : {"per-cluster", "shared"}, default="per-cluster"
        Whether each cluster has a metric of its own.
    penalty : float, default=1.0
        Price of a violated pair of weight one.
    shrinkage : float, default=0.01
        Fraction of the variance of each feature that is added to its variance within every cluster. It keeps metrics
        finite where a feature is constant in a cluster.
    n_init : int, default=1
        Number of runs, of which the best is kept.
    max_iter : int, default=100
        Limit on the number of rounds of labels, centres and metrics.
    tol : float, default=1e-6
        Relative decrease of the objective below which a run ends.
    random_state : int, RandomState or None
        Draws pairs from labels, seeds, and the order in which samples are assigned.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    metrics_ : ndarray of shape (n_clusters, n_features)
        Diagonals of the metrics.
    objective_ : float
        J.
    inertia_ : float
        The part of J that is the squared distances to the centres.
    n_iter_ : int
        Number of rounds of the best run.
    converged_ : bool
        Whether it ended by itself.

    Notes
    -----
    Centres start at the largest and farthest must-link neighbourhoods, then at samples drawn as in k-means++. Pairs that
    follow from others are not added: one wrong link would spread to whole neighbourhoods. Finding the farthest pair
    costs up to :math:`n^2 d / 2` per metric and round, if there are negative pairs.

    References
    ----------
    M. Bilenko, S. Basu, R. J. Mooney. Integrating constraints and metric learning in semi-supervised clustering.
    ICML 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Pairs
    >>> from kernelwise.baselines import MPCKMeans
    >>> X = np.array([[0.0, 0.0], [0.1, 3.0], [2.0, 0.1], [2.1, 3.1]])
    >>> pairs = Pairs([0, 2, 0, 1], [1, 3, 2, 3], [1, 1, -1, -1], n_samples=4)
    >>> labels = MPCKMeans(n_clusters=2, random_state=0).fit(X, pairs=pairs).labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Literal["per-cluster", "shared"] = "per-cluster",
        penalty: float = 1.0,
        shrinkage: float = 0.01,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.penalty = penalty
        self.shrinkage = shrinkage
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Labels from which pairs are drawn where none are given; -1 for unknown.
        pairs : Pairs, default=None
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        self._check_parameters(X.shape[0])
        rng = check_random_state(self.random_state)
        pairs = resolve_pairs(pairs, y, X.shape[0], random_state=rng, required=False)
        if pairs is None:
            pairs = Pairs([], [], [], n_samples=X.shape[0])
        # Centred, so that squares of large offsets do not drown the differences; sparse data must stay sparse.
        shift = np.zeros(X.shape[1]) if sp.issparse(X) else X.mean(axis=0)
        problem = _Problem.of(X if sp.issparse(X) else X - shift, pairs, self)
        runs = [_run(problem, self.max_iter, self.tol, rng) for _ in range(self.n_init)]
        state, self.objective_, self.n_iter_, self.converged_ = min(runs, key=lambda run: run[1])
        if not self.converged_:
            warn(f"not converged after {self.n_iter_} rounds; raise max_iter", ConvergenceWarning, stacklevel=2)
        self.labels_, self.cluster_centers_ = state.labels, state.centers + shift
        self.metrics_ = state.metrics[problem.groups].copy()
        self._offsets = problem.offsets(state.metrics)
        distances = _squared_distances(problem.X, problem.squares, state.centers, self.metrics_)
        self.inertia_ = float(np.take_along_axis(distances, self.labels_[:, None], axis=1).sum())
        return self

    def predict(self, X: Any) -> IntArray:
        r"""The cluster of least :math:`\|x - \mu_h\|^2_{A_h} + \mathrm{tr}(\Lambda A_h) - \log\det A_h`; pairs play no part."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        centers = self.cluster_centers_
        shift = np.zeros(X.shape[1]) if sp.issparse(X) else centers.mean(axis=0)
        X, centers = (X if sp.issparse(X) else X - shift), centers - shift
        costs = _squared_distances(X, _squared(X), centers, self.metrics_) + self._offsets
        return costs.argmin(axis=1).astype(np.int64)

    def _check_parameters(self, n_samples: int) -> None:
        for name in ("n_clusters", "n_init", "max_iter"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a positive int, got {value!r}")
        if self.n_clusters > n_samples:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the n_samples={n_samples} samples in X")
        if self.metric not in ("per-cluster", "shared"):
            raise ValueError(f'metric must be "per-cluster" or "shared", got {self.metric!r}')
        for name, least in (("penalty", 0.0), ("tol", 0.0), ("shrinkage", np.nextafter(0.0, 1.0))):
            value = getattr(self, name)
            if not (isinstance(value, Real) and least <= value < np.inf):
                raise ValueError(f"{name} must be a {'positive' if least else 'non-negative'} number, got {value!r}")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True)
class _State:
    """Labels (n), centres (k x d), metrics (g x d) for g = 1 or k, and the farthest pair under each metric.

    ``profiles`` are the squared differences of the farthest pairs, so that ``F(A) = profile . diag(A)``.
    """

    labels: IntArray
    centers: FloatArray
    metrics: FloatArray
    profiles: FloatArray


@dataclass(frozen=True)
class _Edges:
    """The distinct unordered pairs with their prices, and the edges of every sample in compressed rows."""

    rows: IntArray
    cols: IntArray
    must: FloatArray
    cannot: FloatArray
    squares: Any  # (x_i - x_j)^2 by feature
    starts: IntArray
    neighbours: IntArray
    numbers: IntArray

    @classmethod
    def of(cls, X: Any, pairs: Pairs, penalty: float) -> Self:
        n_samples, pairs = X.shape[0], pairs.merged()
        keys, position = np.unique(pairs.rows * n_samples + pairs.cols, return_inverse=True)
        rows, cols = keys // n_samples, keys % n_samples
        must, cannot = (
            penalty * np.bincount(position, np.where(pairs.labels == sign, pairs.weights, 0.0), minlength=len(keys))
            for sign in (1, -1)
        )
        ends, others = np.concatenate([rows, cols]), np.concatenate([cols, rows])
        order = np.argsort(ends, kind="stable")
        starts = np.searchsorted(ends[order], np.arange(n_samples + 1))
        numbers = np.tile(np.arange(len(keys)), 2)[order]
        return cls(rows, cols, must, cannot, _squared(X[rows] - X[cols]), starts, others[order], numbers)

    def of_sample(self, i: int) -> tuple[IntArray, IntArray]:
        """The other ends of the edges of sample i, and the numbers of these edges."""
        part = slice(self.starts[i], self.starts[i + 1])
        return self.neighbours[part], self.numbers[part]


@dataclass(frozen=True)
class _Problem:
    X: Any
    squares: Any
    floors: FloatArray  # the diagonal of Lambda
    edges: _Edges
    groups: IntArray  # the metric of every cluster

    @classmethod
    def of(cls, X: Any, pairs: Pairs, model: MPCKMeans) -> Self:
        squares = _squared(X)
        variances = np.asarray(squares.mean(axis=0)).ravel() - np.square(np.asarray(X.mean(axis=0)).ravel())
        # Constant features get metric one in every cluster.
        floors = np.where(variances > 1e-12 * variances.max(initial=0.0), model.shrinkage * variances, 1.0)
        shared = model.metric == "shared"
        groups = np.zeros(model.n_clusters, dtype=np.int64) if shared else np.arange(model.n_clusters)
        return cls(X, squares, floors, _Edges.of(X, pairs, model.penalty), groups)

    def offsets(self, metrics: FloatArray) -> FloatArray:
        """``tr(Lambda A_h) - log det A_h`` of every cluster."""
        return (metrics @ self.floors - np.log(metrics).sum(axis=1))[self.groups]

    def own_costs(self, state: _State) -> FloatArray:
        """What every sample would cost in every cluster, apart from pairs (n x k)."""
        distances = _squared_distances(self.X, self.squares, state.centers, state.metrics[self.groups])
        return distances + self.offsets(state.metrics)

    def edge_costs(self, state: _State) -> tuple[FloatArray, FloatArray]:
        """For every edge and cluster: half the price of tearing it, and the price of putting it together (m x k)."""
        distances = self.edges.squares @ state.metrics.T
        diameters = np.einsum("gd,gd->g", state.profiles, state.metrics)
        torn = 0.5 * self.edges.must[:, None] * distances
        joined = self.edges.cannot[:, None] * (diameters - distances)
        return torn[:, self.groups], joined[:, self.groups]

    def objective(self, state: _State) -> float:
        labels, (torn, joined) = state.labels, self.edge_costs(state)
        own = np.take_along_axis(self.own_costs(state), labels[:, None], axis=1).sum()
        left, right, edge = labels[self.edges.rows], labels[self.edges.cols], np.arange(len(self.edges.rows))
        of_pairs = np.where(left == right, joined[edge, left], torn[edge, left] + torn[edge, right])
        return float(own + of_pairs.sum())

    def profiles(self, metrics: FloatArray) -> FloatArray:
        """The squared differences of the farthest pair under every metric; zero if no pair needs them."""
        if not self.edges.cannot.any():
            return np.zeros_like(metrics)
        return np.array([_farthest_profile(self.X, metric) for metric in metrics])


def _run(
    problem: _Problem, max_iter: int, tol: float, rng: np.random.RandomState
) -> tuple[_State, float, int, bool]:
    """Rounds of labels, centres and metrics from one start; the state, its objective, the rounds, whether it ended."""
    centers = _seeds(problem, rng)
    metrics = np.ones((problem.groups.max() + 1, problem.X.shape[1]))
    unlabelled = np.full(problem.X.shape[0], -1, dtype=np.int64)
    state, objective = _State(unlabelled, centers, metrics, problem.profiles(metrics)), np.inf
    for n_iter in range(1, max_iter + 1):
        before, previous = state.labels, objective
        state = _with_labels(problem, _with_seeded_empty_clusters(problem, state), rng)
        state = _with_centers(problem, state)
        state = _with_metrics(problem, state)
        objective = problem.objective(state)
        if np.array_equal(before, state.labels) or previous - objective <= tol * abs(objective):
            return state, objective, n_iter, True
    return state, objective, max_iter, False


def _with_labels(problem: _Problem, state: _State, rng: np.random.RandomState) -> _State:
    r"""Iterated conditional modes: samples move to the cluster of least cost given the labels of all others.

    Up to a constant, the cost of sample i in cluster h is its own plus :math:`\sum_{c \ni i}` torn[c, h], plus, for every
    neighbour in h, joined[c, h] - 2 torn[c, h]. These sums are kept up to date, so that only moves cost time.
    """
    edges, labels = problem.edges, state.labels.copy()
    torn, joined = problem.edge_costs(state)
    together = joined - 2.0 * torn
    costs = problem.own_costs(state)
    for ends in (edges.rows, edges.cols):
        np.add.at(costs, ends, torn)
    for ends, others in ((edges.rows, edges.cols), (edges.cols, edges.rows)):
        known = np.flatnonzero(labels[others] >= 0)
        np.add.at(costs, (ends[known], labels[others[known]]), together[known, labels[others[known]]])
    alone = np.diff(edges.starts) == 0
    labels[alone] = costs[alone].argmin(axis=1)
    # The first time nobody has a label and everybody moves; later, those who would gain by it.
    movers = np.flatnonzero(~alone & (costs.argmin(axis=1) != labels))
    while len(movers):
        n_moved = 0
        for i in rng.permutation(movers):
            old, new = labels[i], costs[i].argmin()
            # A gain within rounding could go back and forth for ever.
            if old >= 0 and costs[i, old] - costs[i, new] <= 1e-12 * abs(costs[i, old]):
                continue
            labels[i], n_moved = new, n_moved + 1
            neighbours, numbers = edges.of_sample(i)
            costs[neighbours, new] += together[numbers, new]
            if old >= 0:
                costs[neighbours, old] -= together[numbers, old]
        movers = np.flatnonzero(~alone & (costs.argmin(axis=1) != labels)) if n_moved else movers[:0]
    return replace(state, labels=labels)


def _with_centers(problem: _Problem, state: _State) -> _State:
    """Means of the clusters; the centre of an empty one stays."""
    members = _indicator(state.labels, len(state.centers))
    sizes = np.asarray(members.sum(axis=1)).ravel()
    sums = _dense(members @ problem.X)
    return replace(state, centers=np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1.0)[:, None], state.centers))


def _with_metrics(problem: _Problem, state: _State) -> _State:
    r"""Lower :math:`c \cdot a - n \sum \log a + W F(a)` for each metric a, c collecting what is linear in it.

    For the present farthest pair q the minimum is :math:`a = n / (c + W q)`. As :math:`F(a) \ge q \cdot a` can be larger
    there, the way from the old metric to it is halved until the objective is not above the old one.
    """
    edges, n_groups = problem.edges, len(state.metrics)
    left, right = state.labels[edges.rows], state.labels[edges.cols]
    own_group = problem.groups[state.labels]
    sizes = np.bincount(own_group, minlength=n_groups).astype(np.float64)
    residuals = _dense(_indicator(own_group, n_groups) @ problem.squares) - _center_squares(problem, state)
    linear = residuals + sizes[:, None] * problem.floors
    for ends in (left, right):
        linear += _dense(_indicator(problem.groups[ends], n_groups, 0.5 * edges.must * (left != right)) @ edges.squares)
    violated = edges.cannot * (left == right)
    linear -= _dense(_indicator(problem.groups[left], n_groups, violated) @ edges.squares)
    prices = np.bincount(problem.groups[left], violated, minlength=n_groups)

    def values(metrics: FloatArray, profiles: FloatArray) -> FloatArray:
        linear_part = ((linear + prices[:, None] * profiles) * metrics).sum(axis=1)
        return linear_part - sizes * np.log(metrics).sum(axis=1)

    metrics, profiles = state.metrics.copy(), state.profiles.copy()
    old = values(metrics, profiles)
    denominators = np.maximum(linear + prices[:, None] * profiles, sizes[:, None] * problem.floors)
    targets = np.divide(sizes[:, None], denominators, out=metrics.copy(), where=sizes[:, None] > 0)
    open_groups, step = np.flatnonzero(sizes > 0), 1.0
    for _ in range(HALVINGS):
        trial = metrics.copy()
        trial[open_groups] += step * (targets - metrics)[open_groups]
        trial_profiles = profiles.copy()
        trial_profiles[open_groups] = problem.profiles(trial[open_groups])
        better = open_groups[(values(trial, trial_profiles) <= old)[open_groups]]
        metrics[better], profiles[better] = trial[better], trial_profiles[better]
        open_groups, step = np.setdiff1d(open_groups, better), 0.5 * step
        if not len(open_groups):
            break
    return replace(state, metrics=metrics, profiles=profiles)


def _center_squares(problem: _Problem, state: _State) -> FloatArray:
    """Per metric, the squares of the centres times the sizes of their clusters: what scatter is short of squares."""
    sizes = np.bincount(state.labels, minlength=len(state.centers))
    weighted = sizes[:, None] * np.square(state.centers)
    return _dense(_indicator(problem.groups, len(state.metrics)) @ weighted)


def _with_seeded_empty_clusters(problem: _Problem, state: _State) -> _State:
    """Put the centre of every empty cluster on a costly sample; as it has no members, that costs nothing."""
    if (state.labels < 0).any():
        return state
    empty = np.setdiff1d(np.arange(len(state.centers)), state.labels)
    if not len(empty):
        return state
    own = np.take_along_axis(problem.own_costs(state), state.labels[:, None], axis=1).ravel()
    worst = np.argsort(own)[::-1][: len(empty)]
    centers, metrics, profiles = state.centers.copy(), state.metrics.copy(), state.profiles.copy()
    donors = problem.groups[state.labels[worst]]
    centers[empty] = _dense(problem.X[worst])
    metrics[problem.groups[empty]], profiles[problem.groups[empty]] = metrics[donors], profiles[donors]
    return replace(state, centers=centers, metrics=metrics, profiles=profiles)


def _seeds(problem: _Problem, rng: np.random.RandomState) -> FloatArray:
    """Centroids of must-link neighbourhoods, large ones far from each other first; then samples as in k-means++."""
    X, edges, n_clusters = problem.X, problem.edges, len(problem.groups)
    n_samples = X.shape[0]
    linked = edges.must > 0
    graph = sp.coo_array((edges.must[linked], (edges.rows[linked], edges.cols[linked])), shape=(n_samples, n_samples))
    n_parts, part = connected_components(graph, directed=False)
    sizes = np.bincount(part, minlength=n_parts)
    centroids = _dense(_indicator(part, n_parts) @ X)[sizes > 1] / sizes[sizes > 1, None]
    chosen = _weighted_farthest_first(centroids, sizes[sizes > 1], n_clusters)
    centers = list(centroids[chosen])
    while len(centers) < n_clusters:
        if centers:
            nearest = _squared_distances(X, problem.squares, np.array(centers), np.ones((len(centers), X.shape[1])))
            chances = np.maximum(nearest.min(axis=1), 0.0)
        if not centers or chances.sum() == 0:
            chances = np.ones(n_samples)
        centers.append(_dense(X[[rng.choice(n_samples, p=chances / chances.sum())]])[0])
    return np.array(centers)


def _weighted_farthest_first(points: FloatArray, weights: IntArray, count: int) -> list[int]:
    """Up to ``count`` points, each of the largest weight times distance to those before it; first, the heaviest."""
    chosen: list[int] = []
    nearest = np.ones(len(points))
    while len(chosen) < min(count, len(points)):
        scores = weights * nearest
        scores[chosen] = -1.0
        chosen.append(int(scores.argmax()))
        distances = np.linalg.norm(points - points[chosen[-1]], axis=1)
        nearest = distances if len(chosen) == 1 else np.minimum(nearest, distances)
    return chosen


def _farthest_profile(X: Any, metric: FloatArray) -> FloatArray:
    """The squared differences, by feature, of the two samples that are farthest apart under a metric."""
    Z = X @ sp.diags_array(np.sqrt(metric)) if sp.issparse(X) else X * np.sqrt(metric)
    norms = np.asarray(_squared(Z).sum(axis=1)).ravel()
    # The farthest from the longest, and the farthest from that: nobody too short to be in a longer pair is looked at.
    first = int(norms.argmax())
    for _ in range(2):
        distances = norms + norms[first] - 2.0 * _dense(Z @ Z[[first]].T).ravel()
        first, least = int(distances.argmax()), float(distances.max())
    lengths = np.sqrt(norms)
    candidates = np.flatnonzero(lengths + lengths.max() >= np.sqrt(max(least, 0.0)) * (1.0 - 1e-9))
    Z, norms, best, ends = Z[candidates], norms[candidates], -1.0, (0, 0)
    for start in range(0, len(candidates), ROWS_AT_ONCE):
        stop = start + ROWS_AT_ONCE
        distances = norms[start:stop, None] + norms[start:] - 2.0 * _dense(Z[start:stop] @ Z[start:].T)
        position = int(distances.argmax())
        if distances.flat[position] > best:
            best, (i, j) = float(distances.flat[position]), np.unravel_index(position, distances.shape)
            ends = (int(candidates[start + i]), int(candidates[start + j]))
    return np.square(_dense(X[[ends[0]]] - X[[ends[1]]])[0])


def _squared_distances(X: Any, squares: Any, centers: FloatArray, metrics: FloatArray) -> FloatArray:
    """``||x_i - mu_h||^2`` under the metric of h, for all samples and clusters."""
    return squares @ metrics.T - 2.0 * (X @ (metrics * centers).T) + (metrics * np.square(centers)).sum(axis=1)


def _indicator(groups: IntArray, n_groups: int, weights: FloatArray | None = None) -> sp.csr_array:
    """The matrix whose product with rows sums them by group."""
    values = np.ones(len(groups)) if weights is None else weights
    return sp.csr_array((values, (groups, np.arange(len(groups)))), shape=(n_groups, len(groups)))


def _squared(rows: Any) -> Any:
    return rows.multiply(rows).tocsr() if sp.issparse(rows) else np.square(rows)


def _dense(values: Any) -> FloatArray:
    return values.toarray() if sp.issparse(values) else np.asarray(values)
