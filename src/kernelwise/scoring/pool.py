"""Scores of many base models, on the scale of probabilities and mixed by what they say of labels they did not see.

A base model is a kernel with a path of ridge penalties, a logistic regression with a path of penalties, or a forest
with a path of shrinkages. Each point of a ridge or forest path gives out-of-sample scores ``l`` on the training rows.
With targets ``y`` of +1 and -1, the loss of a point is the loss of its best multiple,

    mean (y - mean(y) - c l)^2,    c > 0,

because only the direction of a score matters for a decision: without the free multiple, leave-one-out prefers too small
a penalty when many labels are wrong. Points of a path are averaged with weights
``prior * exp(-trust * n * loss / (2 * least loss))``: an average loses less than a choice that the noise misleads.
Along a path the prior is the penalty itself, since a penalty that is too large costs less than one that is too small.

Every base model then gets a curve ``P_v(given | s)`` (:mod:`kernelwise.scoring.logistic`), and the pool is the mixture

    P(given | x) = sum_v w_v P_v(given | x).

The weights start equal and are improved by some steps of expectation maximisation of the likelihood of the mixture,
which asks of each base model what it adds to the others. A base model that is a little better than another does not
take its place, and no base model alone decides.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_ndtr

from ..kernels.specs import Kernel, Linear
from ..progress import Tell, silent
from .forest import SHRINKAGES, ShrunkenForest
from .kernel_scores import RidgeSystem, diverse_kernels, kernel_features, sum_over_landmarks
from .logistic import N_FOLDS, SoftmaxCurve, fit_softmax, logistic_path
from .rows import grouped_folds, numbered

Array = NDArray[np.float64]
Scorer = Callable[[Any], Array]

#: Ridge penalties for kernels with unit mean diagonal.
PENALTIES = 10.0 ** np.linspace(-2.5, 3.5, 7)
#: How far differences of loss are trusted along a path: 1 is as good, and the best point alone is worse by .002.
TRUST_PATH = 3.0
#: Points of a path whose share is smaller are left out; others lose as much, so that none comes in with a jump.
SMALL = 1e-3
#: Steps of expectation maximisation for the weights of the base models.
N_MIXTURE_STEPS = 100
#: Probabilities have this lower bound when base models are weighed: one label never decides.
FLOOR = 1e-4
#: The common scale of all columns is used if linear ridge regression gains this much log-likelihood by it: its sign
#: alone would often be chance.
GAIN = 2.0
#: Beyond this many columns fewer landmarks are drawn.
MANY_COLUMNS = 100
#: Up to ``EXACT`` samples all are landmarks of a kernel; up to ``MANY`` samples ``RANK_SOME`` are drawn as landmarks,
#: and of more samples ``RANK_MANY``, or ``RANK_WIDE`` where there are many columns: more landmarks gain nothing there,
#: and there are often many classes, which take time.
EXACT, MANY, RANK_SOME, RANK_MANY, RANK_WIDE = 1000, 5000, 500, 600, 300
#: Sparse samples have no good landmarks. Up to these many samples, the Gaussian and the linear kernel are decomposed
#: whole (logistic regression sees linear effects of any number of samples).
EXACT_GAUSSIAN, EXACT_LINEAR = 5000, 2500
#: The penalties of a path are weighed on at most this many rows.
PATH_ROWS = 8000
#: From this size (samples times columns times outputs) on, a small forest shows first whether trees are worth growing.
CHEAP_FOREST = 300_000
TRIAL_TREES, TRIAL_ROWS, TRIAL_WEIGHT = 20, 1500, 0.05


@dataclass(frozen=True)
class View:
    """A base model, averaged over its path: out-of-sample scores of training rows, and a function that scores new rows.

    Scores have one column per class, or one column for two classes.
    """

    name: str
    out_of_sample: Array
    score: Scorer


@dataclass(frozen=True)
class ScaledScorer:
    """A scorer of samples whose columns are multiplied first."""

    columns: Array
    score: Scorer

    def __call__(self, X: Any) -> Array:
        return self.score(X * self.columns)


@dataclass(frozen=True)
class ScorePool:
    """All base models, each with its curve, and their weights in the mixture."""

    views: list[View]
    curves: list[SoftmaxCurve]
    weights: Array

    @property
    def out_of_sample(self) -> Array:
        """The log-probabilities of the given labels; each row is scored by models that did not see its label."""
        return self._mixture(view.out_of_sample for view in self.views)

    def for_prediction(self) -> "ScorePool":
        """Return the pool without the scores of the training rows."""
        nothing = np.zeros((0, self.views[0].out_of_sample.shape[1]))
        return ScorePool([replace(view, out_of_sample=nothing) for view in self.views], self.curves, self.weights)

    def disagreement(self, weight: Array) -> float:
        """Return the share of training rows on which the two base models of largest weight choose different classes."""
        heaviest = np.argsort(-self.weights, kind="stable")[:2]
        scores = [self.curves[j](columns_per_class(self.views[j].out_of_sample)) for j in heaviest]
        return float(weight @ (scores[0].argmax(axis=1) != scores[-1].argmax(axis=1)) / weight.sum())

    def __call__(self, X: Any) -> Array:
        """Return the log-probabilities of given labels for new rows."""
        return self._mixture(view.score(X) for view in self.views)

    def _mixture(self, scores: Iterator[Array]) -> Array:
        parts = zip(self.weights, self.curves, scores, strict=True)
        chances = [weight * np.exp(curve(columns_per_class(score))) for weight, curve, score in parts]
        return np.log(np.maximum(np.sum(chances, axis=0), np.finfo(float).tiny))


def fit_pool(
    X: Any,
    given: NDArray[np.intp],
    n_classes: int,
    weight: Array,
    random_state: np.random.RandomState,
    common: Array | None = None,
    tell: Tell = silent,
    group: NDArray[np.intp] | None = None,
) -> ScorePool:
    """Fit every base model to the given labels, and weigh the base models.

    ``common`` are multiples of the standardised columns that give all columns one scale, and ``tell`` is called
    with the number of base models that are done and the number of all base models. ``group`` is the group of each row,
    numbered from 0: a row is scored by models that saw no row of its group. Without it, each row is a group.
    """
    fitting = _Fitting(X, given, n_classes, weight, random_state, group)
    views: list[View] = []
    for total, view in fitting.sparse_views() if sp.issparse(X) else fitting.dense_views(common):
        views += [] if view is None else [view]
        tell(len(views), total)
    pool = weigh(views, given, weight)
    tell(total, total)
    return pool


def weigh(views: list[View], given: NDArray[np.intp], weight: Array) -> ScorePool:
    """Return the pool of the base models, with a curve for each base model and the weights of their mixture."""
    scores, rows = [columns_per_class(view.out_of_sample) for view in views], np.arange(len(given))
    curves = [fit_softmax(score, given, weight) for score in scores]
    own = [np.exp(curve(score)[rows, given]) for curve, score in zip(curves, scores, strict=True)]
    weights = mixture_weights(np.stack(own, axis=1), weight)
    weights = np.maximum(weights - SMALL / len(weights), 0.0)
    used = np.flatnonzero(weights)
    return ScorePool([views[j] for j in used], [curves[j] for j in used], weights[used] / weights.sum())


def mixture_weights(probabilities: Array, weight: Array) -> Array:
    """Return the weights of a mixture, where each column holds a base model's probabilities of the given labels.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.scoring.pool import mixture_weights
    >>> good, useless = np.full(200, 0.9), np.full(200, 0.5)
    >>> bool(mixture_weights(np.column_stack([good, useless]), np.ones(200))[0] > 0.99)
    True
    """
    own = np.maximum(probabilities, FLOOR)
    weights = np.full(own.shape[1], 1 / own.shape[1])
    for _ in range(N_MIXTURE_STEPS):
        weights = weight @ (own * weights / (own @ weights)[:, None])
        weights = weights / weights.sum()
    return weights


def columns_per_class(scores: Array) -> Array:
    """Return scores with one column per class: a single column is the evidence for the second of two classes."""
    return np.column_stack([np.zeros(len(scores)), scores[:, 0]]) if scores.shape[1] == 1 else scores


@dataclass
class _Fitting:
    """The training rows, and one method for each kind of base model."""

    X: Any
    given: NDArray[np.intp]
    n_classes: int
    weight: Array
    random_state: np.random.RandomState
    group: NDArray[np.intp] | None = None

    def __post_init__(self) -> None:
        self.Y = 2.0 * np.eye(self.n_classes)[self.given] - 1.0
        self.Y = self.Y[:, 1:] if self.n_classes == 2 else self.Y
        own = np.arange(len(self.given)) if self.group is None else self.group
        self.fold = grouped_folds(self.given, own, N_FOLDS, self.random_state)

    def sparse_views(self) -> Iterator[tuple[int, View | None]]:
        """Yield every base model of sparse samples, with the number of all base models."""
        kernels = [*diverse_kernels(self.X), Linear()]
        total = 1 + len(kernels)
        yield total, self.logistic("logistic", None)
        for kernel in kernels:
            yield total, self.kernel(kernel, None)

    def dense_views(self, common: Array | None) -> Iterator[tuple[int, View | None]]:
        """Yield every base model of dense samples, or None for one that is not worth fitting, with their number."""
        linear, found = self.kernel(Linear(), None), [self.logistic("logistic", None)]
        shared = None if common is None else self.kernel(Linear(), common)
        columns: Array | None = None
        if shared is not None and self.loss(linear) - self.loss(shared) > GAIN / self.weight.sum():
            columns, found = common, [*found, shared, self.logistic("logistic, one scale", common)]
        gaussian, laplace = diverse_kernels(self.scaled(columns))[0], diverse_kernels(self.X)[1]
        total = 1 + len(found) + 3
        found = [linear, *found]
        yield from ((total, view) for view in found)
        for kernel, scale in ((gaussian, columns), (laplace, None)):
            found.append(self.kernel(kernel, scale))
            yield total, found[-1]
        yield total, self.forest(found)

    def scaled(self, columns: Array | None) -> Any:
        return self.X if columns is None else self.X * columns

    def loss(self, view: View) -> float:
        """Return the log-loss of the given labels under the curve of a base model."""
        scores = columns_per_class(view.out_of_sample)
        return self.mean_loss(fit_softmax(scores, self.given, self.weight)(scores))

    def mean_loss(self, logs: Array) -> float:
        own = np.maximum(logs[np.arange(len(self.given)), self.given], np.log(FLOOR))
        return -float(self.weight @ own / self.weight.sum())

    def logistic(self, name: str, columns: Array | None) -> View:
        rows = self.scaled(columns)
        scores, scorer = logistic_path(rows, self.given, self.n_classes, self.weight, self.fold, self.mean_loss)
        return View(name, scores, scorer if columns is None else ScaledScorer(columns, scorer))

    def kernel(self, kernel: Kernel, columns: Array | None) -> View:
        """Fit a kernel: with all samples as landmarks, with the columns themselves as features, or with landmarks."""
        X, (n, d), linear = self.scaled(columns), self.X.shape, isinstance(kernel, Linear)
        rank = self._rank(linear)
        if rank == n and (d >= n or not linear or sp.issparse(X)):
            scores, scorer = self._exact(kernel, X)
        else:
            landmarks = X[np.sort(self.random_state.choice(n, rank, replace=False))]
            features = kernel_features(kernel, X, landmarks)
            system = RidgeSystem.decompose(features.rows, self.Y, self.weight)
            mixture, scores = self.path(system)
            beta = np.zeros((features.rows.shape[1], self.Y.shape[1]))
            for multiple, penalty in mixture:
                beta += multiple * system.coefficients(penalty)[0]
            scorer = features.scorer(beta, -system.feature_mean @ beta)
        if columns is None:
            return View(kernel.label, scores, scorer)
        return View(f"{kernel.label}, one scale", scores, ScaledScorer(columns, scorer))

    def _rank(self, linear: bool) -> int:
        """Return the number of landmarks of a kernel."""
        n, d = self.X.shape
        exact = EXACT if not sp.issparse(self.X) else EXACT_LINEAR if linear else EXACT_GAUSSIAN
        if n <= exact:
            return n
        if n <= MANY:
            return RANK_SOME
        return RANK_WIDE if d > MANY_COLUMNS else RANK_MANY

    def _exact(self, kernel: Kernel, X: Any) -> tuple[Array, Scorer]:
        """Return the scores out of sample, and a function that scores new rows, with all samples as landmarks."""
        gram = kernel.evaluate(X, X)
        size = float(gram.trace() / len(gram) - gram.mean()) or 1.0  # the mean of the diagonal of the centred kernel
        system = RidgeSystem.of_gram(gram / size, self.Y, self.weight, single=len(gram) > EXACT_LINEAR)
        mixture, scores = self.path(system)
        coef = np.zeros_like(self.Y)
        for multiple, penalty in mixture:
            coef += multiple * system.dual(penalty) / size
        return scores, sum_over_landmarks(kernel, X, coef, -(self.weight @ gram / self.weight.sum()) @ coef)

    def path(self, system: RidgeSystem) -> tuple[list[tuple[float, float]], Array]:
        """Return the multiple of every penalty that counts, and the sum of these multiples of leave-one-out scores."""
        weight, Y, group = self.weight, self.Y, self.group
        # The mean target of all other samples lies away from the target that is left out. It would hide small scores.
        own, heavy = weight[:, None] * Y, weight
        if group is not None:
            sums: Any = np.stack([np.bincount(group, column) for column in [weight, *own.T]], axis=1)[group]
            own, heavy = sums[:, 1:], sums[:, 0]
        others = (weight @ Y - own) / np.maximum(weight.sum() - heavy, 1e-12)[:, None]
        left_out = system.leave_one_out if group is None else partial(_some_left_out, system, group)
        few = np.linspace(0, len(Y) - 1, min(len(Y), PATH_ROWS)).astype(np.intp)
        points = (left_out(penalty, few) - others[few] for penalty in PENALTIES)
        multiples = average_path(points, Y[few], weight[few], PENALTIES)
        mixture = [(multiple, penalty) for multiple, penalty in zip(multiples, PENALTIES, strict=True) if multiple]
        scores = np.zeros_like(Y)
        for multiple, penalty in mixture:
            scores += multiple * (left_out(penalty) - others)
        return mixture, scores

    def forest(self, found: list[View]) -> View | None:
        """Grow a forest; if that takes long, only where a small forest earns weight beside the base models so far."""
        X, Y, weight, rng = self.X, self.Y, self.weight, self.random_state
        if X.size * Y.shape[1] > CHEAP_FOREST and not self._earns_weight(found):
            return None
        return grown_forest(0.0, X, Y, weight, rng, group=self.group)

    def _earns_weight(self, found: list[View]) -> bool:
        """Whether a small forest on some rows has weight beside the base models so far, and one that knows nothing."""
        rows = np.sort(self.random_state.permutation(self.X.shape[0])[:TRIAL_ROWS])
        group = None if self.group is None else numbered(self.group[rows])
        weight, given, Y = self.weight[rows], self.given[rows], self.Y[rows]
        trial = grown_forest(0.0, self.X[rows], Y, weight, self.random_state, TRIAL_TREES, group).out_of_sample
        candidates = [view.out_of_sample[rows] for view in found] + [np.zeros_like(trial), trial]
        own = np.empty((len(rows), len(candidates)))
        for position, score in enumerate(map(columns_per_class, candidates)):
            own[:, position] = np.exp(fit_softmax(score, given, weight)(score)[np.arange(len(rows)), given])
        return bool(mixture_weights(own, weight)[-1] > TRIAL_WEIGHT)


def _some_left_out(
    system: RidgeSystem, group: NDArray[np.intp], penalty: float, rows: NDArray[np.intp] | None = None
) -> Array:
    """Return the predictions for all rows, or for some, each by the fit to the rows of other groups."""
    found = system.leave_groups_out(penalty, group)
    return found if rows is None else found[rows]


def grown_forest(
    share: float,
    X: Array,
    Y: Array,
    weight: Array,
    random_state: np.random.RandomState,
    n_trees: int | None = None,
    group: NDArray[np.intp] | None = None,
) -> View:
    """Grow a forest that tries this share of the features at each split, averaged over its shrinkages."""
    forest = ShrunkenForest(share).grow(X, Y, weight, random_state, n_trees, group)
    scores = forest.out_of_bag()
    mixture = average_path(iter(np.moveaxis(scores, 2, 0)), Y, weight, np.maximum(SHRINKAGES, 1.0))
    return View(forest.name, scores @ mixture, forest.settle(mixture))


def average_path(path: Iterator[Array], Y: Array, weight: Array, prior: Array) -> Array:
    """Return a multiple for each score along a path, for the sum of these multiples; most are zero."""
    centred = Y - weight @ Y / weight.sum()
    total, mass = float(np.sum(weight @ centred**2)), weight.sum() * Y.shape[1]
    found = [(np.sum(weight @ (scores * centred)), np.sum(weight @ scores**2)) for scores in path]
    agreement, power = np.array(found).T
    known = power > 0
    spread = np.sqrt(np.where(known, power, 1.0) / total)
    multiple = np.where(known, _positive_mean(agreement / (spread * total), 1 / np.sqrt(mass)) / spread, 0.0)
    losses = (total - 2 * multiple * agreement + multiple**2 * power) / mass
    least = max(float(losses.min()), FLOOR)
    shares = prior * np.exp(-TRUST_PATH * weight.sum() * (losses - losses.min()) / (2 * least))
    shares = np.maximum(shares - SMALL * shares.max(), 0.0)
    return shares / shares.sum() * multiple


def _positive_mean(correlation: Array, error: float) -> Array:
    """Return the mean of a correlation that is measured with a normal error and known to be positive.

    A model that learned from labels of which most are right is not worse than chance. Where many labels are wrong, the
    measured correlations of all base models may be negative all the same, and then no base model would have a positive
    multiple. At 40 % noise this costs .005 of audit area and .007 of accuracy (docs/decisions/0013).
    """
    z = correlation / error
    hazard = np.exp(-(z**2) / 2 - log_ndtr(z)) / np.sqrt(2 * np.pi)
    return correlation + error * hazard
