"""The objective J of MPCK-Means and the steps that lower it; ``mpckmeans.py`` has the formula."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.utils.extmath import row_norms

from ...checks import Array, IntArray
from ...samples import dense
from ...statements import Pairs
from ...ties import NEARLY, first_best, steady_order
from .base import squared

#: Rows of the distance matrix that are looked at together in the search for the farthest pair.
ROWS_AT_ONCE = 512
#: The step to a new metric is halved this often; after that the old metric stays.
HALVINGS = 4


@dataclass(frozen=True)
class State:
    """Labels (n), centres (k x d), metrics (g x d) for g = 1 or k, and the farthest pair under each metric.

    ``profiles`` are the squared differences of the farthest pairs, so that ``F(A) = profile . diag(A)``.
    """

    labels: IntArray
    centers: Array
    metrics: Array
    profiles: Array


@dataclass(frozen=True)
class Edges:
    """The distinct unordered pairs with their prices, and the edges of every sample in compressed rows."""

    rows: IntArray
    cols: IntArray
    must: Array
    cannot: Array
    squares: Any  # (x_i - x_j)^2 by feature
    starts: IntArray
    neighbours: IntArray
    numbers: IntArray

    @classmethod
    def of(cls, X: Any, pairs: Pairs, penalty: float) -> Self:
        """Merge pairs that are given more than once or in both directions."""
        n_samples, pairs = X.shape[0], pairs.merged()
        keys, position = np.unique(pairs.rows * n_samples + pairs.cols, return_inverse=True)
        rows, cols = keys // n_samples, keys % n_samples
        prices = np.zeros((2, len(keys)))
        np.add.at(prices, ((pairs.labels < 0).astype(np.int64), position), penalty * pairs.weights)
        ends, others = np.concatenate([rows, cols]), np.concatenate([cols, rows])
        order = np.argsort(ends, kind="stable")
        starts = np.searchsorted(ends[order], np.arange(n_samples + 1))
        numbers = np.tile(np.arange(len(keys)), 2)[order]
        return cls(rows, cols, prices[0], prices[1], squared(X[rows] - X[cols]), starts, others[order], numbers)


@dataclass(frozen=True)
class Problem:
    """The objective J: samples, pairs with their prices, and which clusters share a metric."""

    X: Any
    squares: Any
    floors: Array  # the diagonal of Lambda
    edges: Edges
    groups: IntArray  # the metric of every cluster
    neighbourhoods: NDArray[np.int32]  # of every sample: tied together by positive pairs

    @classmethod
    def of(cls, X: Any, pairs: Pairs, n_clusters: int, *, shared: bool, penalty: float, shrinkage: float) -> Self:
        squares = squared(X)
        variances = np.asarray(squares.mean(axis=0)).ravel() - np.square(np.asarray(X.mean(axis=0)).ravel())
        # Constant features, whose computed variance may be rounding, get metric one in every cluster.
        varying = (dense(X.max(axis=0)) > dense(X.min(axis=0))).ravel() & (variances > 0)
        floors = np.where(varying, shrinkage * variances, 1.0)
        groups = np.zeros(n_clusters, dtype=np.int64) if shared else np.arange(n_clusters)
        ends = pairs.positive.rows, pairs.positive.cols
        graph = sp.coo_array((np.ones(len(ends[0])), ends), shape=(pairs.n_samples, pairs.n_samples))
        neighbourhoods = connected_components(graph, directed=False)[1]
        return cls(X, squares, floors, Edges.of(X, pairs, penalty), groups, neighbourhoods)

    def offsets(self, metrics: Array) -> Array:
        """``tr(Lambda A_h) - log det A_h`` of every cluster."""
        return (metrics @ self.floors - np.log(metrics).sum(axis=1))[self.groups]

    def own_costs(self, state: State) -> Array:
        """What every sample would cost in every cluster, apart from pairs (n x k)."""
        distances = squared_distances(self.X, self.squares, state.centers, state.metrics[self.groups])
        return distances + self.offsets(state.metrics)

    def edge_costs(self, state: State) -> tuple[Array, Array]:
        """For every edge and cluster: half the price of tearing it, and the price of putting it together (m x k)."""
        distances = self.edges.squares @ state.metrics.T
        diameters = np.einsum("gd,gd->g", state.profiles, state.metrics)
        torn = 0.5 * self.edges.must[:, None] * distances
        joined = self.edges.cannot[:, None] * (diameters - distances)
        return torn[:, self.groups], joined[:, self.groups]

    def objective(self, state: State) -> float:
        labels, (torn, joined) = state.labels, self.edge_costs(state)
        own = np.take_along_axis(self.own_costs(state), labels[:, None], axis=1).sum()
        left, right, edge = labels[self.edges.rows], labels[self.edges.cols], np.arange(len(self.edges.rows))
        of_pairs = np.where(left == right, joined[edge, left], torn[edge, left] + torn[edge, right])
        return float(own + of_pairs.sum())

    def profiles(self, metrics: Array) -> Array:
        """Return the squared differences of the farthest pair under every metric; zero without negative pairs."""
        if not self.edges.cannot.any():
            return np.zeros_like(metrics)
        return np.array([_farthest_profile(self.X, metric) for metric in metrics])


def run(problem: Problem, max_iter: int, tol: float, rng: np.random.RandomState) -> tuple[State, float, int, bool]:
    """Improve one start in rounds; return the state, its objective, the number of rounds, and whether they ended."""
    state, objective = _start(problem, rng), np.inf
    for n_iter in range(1, max_iter + 1):
        previous = objective
        state = _with_labels(problem, _with_seeded_empty_clusters(problem, state), rng)
        state = _with_centers(problem, state)
        state = _with_metrics(problem, state)
        objective = problem.objective(state)
        if previous - objective <= tol * abs(objective):
            return state, objective, n_iter, True
    return state, objective, max_iter, False


def _with_labels(problem: Problem, state: State, rng: np.random.RandomState) -> State:
    """Improve the present labels and labels of whole neighbourhoods, and return the better result."""
    fresh = replace(state, labels=_labels_of_neighbourhoods(problem, state))
    ends = [_refined(problem, start, rng) for start in (state, fresh)]
    return ends[first_best([-problem.objective(end) for end in ends])]


def _labels_of_neighbourhoods(problem: Problem, state: State) -> IntArray:
    """Return labels that put each neighbourhood into the one cluster where it costs least, apart from pairs."""
    n_parts = int(problem.neighbourhoods.max()) + 1
    costs = _indicator(problem.neighbourhoods, n_parts) @ problem.own_costs(state)
    return costs.argmin(axis=1)[problem.neighbourhoods]


def _refined(problem: Problem, state: State, rng: np.random.RandomState) -> State:
    """Iterated conditional modes: samples move to the cluster of least cost given the labels of all other samples.

    Up to a constant, the cost of sample i in cluster h is its own cost, plus torn[c, h] over its edges c, plus
    joined[c, h] - 2 torn[c, h] over its edges with the other end in h. Each move updates these sums.
    """
    edges, labels = problem.edges, state.labels.copy()
    torn, joined = problem.edge_costs(state)
    together = joined - 2.0 * torn
    costs = problem.own_costs(state)
    for ends in (edges.rows, edges.cols):
        np.add.at(costs, ends, torn)
    for ends, others in ((edges.rows, labels[edges.cols]), (edges.cols, labels[edges.rows])):
        np.add.at(costs, (ends, others), np.take_along_axis(together, others[:, None], axis=1).ravel())
    alone = np.diff(edges.starts) == 0
    labels[alone] = costs[alone].argmin(axis=1)
    n_moved = 1
    while n_moved:
        n_moved = 0
        for i in rng.permutation(np.flatnonzero(costs.argmin(axis=1) != labels)):
            old, new = labels[i], costs[i].argmin()
            # A gain within rounding could go back and forth for ever.
            if costs[i, old] - costs[i, new] <= 1e-12 * abs(costs[i, old]):
                continue
            labels[i], n_moved = new, n_moved + 1
            own = slice(edges.starts[i], edges.starts[i + 1])  # the other ends of the edges of i, and their numbers
            neighbours, numbers = edges.neighbours[own], edges.numbers[own]
            costs[neighbours, old] -= together[numbers, old]
            costs[neighbours, new] += together[numbers, new]
    return replace(state, labels=labels)


def _with_centers(problem: Problem, state: State) -> State:
    """Move the centres to the means of the clusters; the centre of an empty cluster stays."""
    members = _indicator(state.labels, len(state.centers))
    sizes = np.asarray(members.sum(axis=1)).ravel()
    sums = dense(members @ problem.X)
    return replace(state, centers=np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1.0)[:, None], state.centers))


def _with_metrics(problem: Problem, state: State) -> State:
    r"""Lower :math:`c \cdot a - n \sum \log a + W F(a)` for each metric a, where c collects the terms linear in a.

    For the present farthest pair q the minimum is :math:`a = n / (c + W q)`. As :math:`F(a) \ge q \cdot a` can be
    larger there, the way from the old metric to it is halved until the objective is not above the old one.
    """
    edges, n_groups = problem.edges, len(state.metrics)
    left, right = state.labels[edges.rows], state.labels[edges.cols]
    own_group = problem.groups[state.labels]
    sizes = np.bincount(own_group, minlength=n_groups).astype(np.float64)
    # Per metric, the squares of the centres times the sizes of their clusters.
    weighted = np.bincount(state.labels, minlength=len(state.centers))[:, None] * np.square(state.centers)
    of_centers = dense(_indicator(problem.groups, n_groups) @ weighted)
    residuals = dense(_indicator(own_group, n_groups) @ problem.squares) - of_centers
    linear = residuals + sizes[:, None] * problem.floors
    for ends in (left, right):
        linear += dense(_indicator(problem.groups[ends], n_groups, 0.5 * edges.must * (left != right)) @ edges.squares)
    violated = edges.cannot * (left == right)
    linear -= dense(_indicator(problem.groups[left], n_groups, violated) @ edges.squares)
    prices = np.bincount(problem.groups[left], violated, minlength=n_groups)

    def values(metrics: Array, profiles: Array) -> Array:
        linear_part = ((linear + prices[:, None] * profiles) * metrics).sum(axis=1)
        return linear_part - sizes * np.log(metrics).sum(axis=1)

    metrics, profiles = state.metrics.copy(), state.profiles.copy()
    old = values(metrics, profiles)
    denominators = np.maximum(linear + prices[:, None] * profiles, sizes[:, None] * problem.floors)
    targets = np.divide(sizes[:, None], denominators, out=metrics.copy(), where=sizes[:, None] > 0)
    open_groups, step = np.flatnonzero(sizes > 0), 1.0
    for _ in range(HALVINGS):
        trial = metrics.copy()
        trial[open_groups] = ((1.0 - step) * metrics + step * targets)[open_groups]
        trial_profiles = profiles.copy()
        trial_profiles[open_groups] = problem.profiles(trial[open_groups])
        better = open_groups[(values(trial, trial_profiles) <= old)[open_groups]]
        metrics[better], profiles[better] = trial[better], trial_profiles[better]
        open_groups, step = np.setdiff1d(open_groups, better), 0.5 * step
        if not len(open_groups):
            break
    return replace(state, metrics=metrics, profiles=profiles)


def _with_seeded_empty_clusters(problem: Problem, state: State) -> State:
    """Move the centre of every empty cluster to a costly sample, which leaves the objective unchanged."""
    empty = np.setdiff1d(np.arange(len(state.centers)), state.labels)
    if not len(empty):
        return state
    own = np.take_along_axis(problem.own_costs(state), state.labels[:, None], axis=1).ravel()
    worst = steady_order(-own)[: len(empty)]
    centers, metrics, profiles = state.centers.copy(), state.metrics.copy(), state.profiles.copy()
    donors = problem.groups[state.labels[worst]]
    centers[empty] = dense(problem.X[worst])
    metrics[problem.groups[empty]], profiles[problem.groups[empty]] = metrics[donors], profiles[donors]
    return replace(state, centers=centers, metrics=metrics, profiles=profiles)


def _start(problem: Problem, rng: np.random.RandomState) -> State:
    """Seeds, Euclidean metrics, and each neighbourhood in the cluster of the nearest seed."""
    metrics = np.ones((problem.groups.max() + 1, problem.X.shape[1]))
    nowhere = np.zeros(problem.X.shape[0], dtype=np.int64)
    state = State(nowhere, _seeds(problem, rng), metrics, problem.profiles(metrics))
    return replace(state, labels=_labels_of_neighbourhoods(problem, state))


def _seeds(problem: Problem, rng: np.random.RandomState) -> Array:
    """Centroids of neighbourhoods, large ones far from each other first; then samples as in k-means++."""
    X, n_clusters = problem.X, len(problem.groups)
    sizes = np.bincount(problem.neighbourhoods)
    large = sizes > 1
    centroids = dense(_indicator(problem.neighbourhoods, len(sizes)) @ X)[large] / sizes[large, None]
    centers = list(centroids[_weighted_farthest_first(centroids, sizes[large], n_clusters)])
    while len(centers) < n_clusters:
        chances = np.ones(X.shape[0])
        if centers:
            squares = squared_distances(X, problem.squares, np.array(centers), np.ones((len(centers), X.shape[1])))
            chances = np.maximum(squares.min(axis=1), 0.0)
        total = chances.sum()  # zero if every sample is a centre already
        centers.append(dense(X[[rng.choice(X.shape[0], p=chances / total if total else None)]])[0])
    return np.array(centers)


def _weighted_farthest_first(points: Array, weights: IntArray, count: int) -> list[int]:
    """Choose the heaviest point, then points of the largest weight times distance to the chosen points."""
    chosen: list[int] = []
    nearest = np.ones(len(points))
    while len(chosen) < min(count, len(points)):
        scores = weights * nearest
        scores[chosen] = -1.0
        chosen.append(first_best(scores))
        distances = np.linalg.norm(points - points[chosen[-1]], axis=1)
        nearest = distances if len(chosen) == 1 else np.minimum(nearest, distances)
    return chosen


def _farthest_profile(X: Any, metric: Array) -> Array:
    """The squared differences, by feature, of the two samples that are farthest apart under a metric."""
    Z = X @ sp.diags_array(np.sqrt(metric)) if sp.issparse(X) else X * np.sqrt(metric)
    norms = row_norms(Z, squared=True)
    # Two steps to the farthest sample, from the sample of largest norm, give a lower bound on the largest distance.
    # Samples whose norm is too small for a distance above this bound are left out.
    first = first_best(norms)
    for _ in range(2):
        distances = norms + norms[first] - 2.0 * dense(Z @ Z[[first]].T).ravel()
        first, least = first_best(distances), float(distances.max())
    lengths = np.sqrt(norms)
    candidates = np.flatnonzero(lengths + lengths.max() >= np.sqrt(max(least, 0.0)) * (1.0 - 1e-9))
    Z, norms, best, ends = Z[candidates], norms[candidates], 0.0, (0, 0)
    for start in range(0, len(candidates), ROWS_AT_ONCE):
        stop = start + ROWS_AT_ONCE
        distances = norms[start:stop, None] + norms[start:] - 2.0 * dense(Z[start:stop] @ Z[start:].T)
        position = first_best(distances.ravel())
        if distances.flat[position] > best * (1.0 + NEARLY):
            best, (i, j) = float(distances.flat[position]), np.unravel_index(position, distances.shape)
            ends = (int(candidates[start + i]), int(candidates[start + j]))
    return np.square(dense(X[[ends[0]]] - X[[ends[1]]])[0])


def squared_distances(X: Any, squares: Any, centers: Array, metrics: Array) -> Array:
    """``||x_i - mu_h||^2`` under the metric of h, for all samples and clusters."""
    return squares @ metrics.T - 2.0 * (X @ (metrics * centers).T) + (metrics * np.square(centers)).sum(axis=1)


def _indicator(groups: NDArray[np.integer], n_groups: int, weights: Array | None = None) -> sp.csr_array:
    """Return the matrix whose product with a matrix of samples sums the rows of each group."""
    values = np.ones(len(groups)) if weights is None else weights
    return sp.csr_array((values, (groups, np.arange(len(groups)))), shape=(n_groups, len(groups)))
