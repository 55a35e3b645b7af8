r"""Classes behind noisy pairs: a model that counts the wrong pairs by how pairs contradict each other.

Sample i is of class :math:`z_i`, and pairs given as + and as - occur at random, at rates that only depend on whether
both ends are of one class:

.. math:: \lambda^\pm_{ij} = \theta^\pm_i \theta^\pm_j \,
    \bigl(\omega^\pm_= [z_i = z_j] + \omega^\pm_{\ne} [z_i \ne z_j]\bigr),

with :math:`\theta` proportional to how often a sample occurs. True labels are transitive, so that a - which closes two
+ shows that one of the three is wrong: the rates are identified without any checked pair, even where no score is ever
certain. That pairs of one class may be given more often than others, as links are, is part of the model.

Belief propagation gives the chance that a pair shares a class *without its own label*, from the messages between its
ends; features enter as class probabilities, predicted for samples that they were not fitted to.

References
----------
A. Decelle, F. Krzakala, C. Moore and L. Zdeborova (2011). Asymptotic analysis of the stochastic block model for
modular networks and its algorithmic applications. Physical Review E 84, 066106.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logit, softmax
from sklearn.linear_model import LogisticRegression

from ...supervision import Pairs
from ...supervision.graph import pair_keys

Array = NDArray[np.float64]

#: Rounds of features and messages, and steps of messages in each and after the last one.
N_ROUNDS, N_STEPS, N_LAST_STEPS = 3, 10, 30
#: Trust in the clusters that messages start from.
START_TRUST = 0.8
#: Folds of samples for predicting classes by features, and samples these are fitted to.
N_FOLDS, MAX_FITTED = 3, 5000
#: Least chance of any class by the features, and least number of samples of a class.
LEAST_CHANCE, LEAST_MEMBERS = 1e-3, 5
#: Standard errors by which a number of classes may tell less of the labels than the best one.
MARGIN = 1.5
#: Mean squared length of the features of a sample, which the ridge of logistic regression is measured against.
SQUARED_LENGTH = 20.0


class Rates(NamedTuple):
    """Rates at which pairs of one kind, + or -, are given: of one class, of two classes."""

    same: float
    other: float


class ClassFit(NamedTuple):
    """What the model with one number of classes says."""

    n_classes: int
    same: Array  # Pr(one class) of every pair, its own label included
    score: Array  # log-odds of one class, without the own label
    log_chance: Array  # log Pr(given label | pair is given), without the own label


class PairGraph:
    """The distinct pairs, and messages along them: number t from the first end of pair t to the other, m + t back."""

    def __init__(self, pairs: Pairs) -> None:
        keys = pair_keys(pairs.rows, pairs.cols)
        _, first, self.index = np.unique(keys, return_index=True, return_inverse=True)
        ends = pairs.rows[first], pairs.cols[first]
        given = (pairs.labels > 0).astype(np.float64)
        self.counts = [np.bincount(self.index, weights=kind).astype(np.float64) for kind in (given, 1.0 - given)]
        self.n_samples, self.n_pairs = pairs.n_samples, len(first)
        self.sources, self.back = np.concatenate(ends), np.roll(np.arange(2 * self.n_pairs), self.n_pairs)
        shape, ones = (self.n_samples, 2 * self.n_pairs), np.ones(2 * self.n_pairs)
        self.gather = sp.csr_array((ones, (np.concatenate(ends[::-1]), np.arange(2 * self.n_pairs))), shape=shape)
        self.activity = [self._activity(count) for count in self.counts]

    def _activity(self, count: Array) -> Array:
        """Pairs of one kind at every sample, relative to their mean."""
        degree = np.asarray(self.gather @ np.tile(count, 2))
        return degree / max(float(degree.mean()), 1e-12)

    def start_rates(self) -> list[Rates]:
        """Positive pairs four times as frequent within classes, negative ones less frequent."""
        density = [float(count.sum()) / (0.5 * self.n_samples**2) for count in self.counts]
        return [Rates(2.0 * density[0], 0.5 * density[0]), Rates(0.7 * density[1], 1.1 * density[1])]

    def fit_rates(self, same: Array, classes: Array) -> list[Rates]:
        """Expected pairs of either kind within and between classes, per possible pair of samples."""
        rates = []
        for count, theta in zip(self.counts, self.activity, strict=True):
            within = 0.5 * float(((theta @ classes) ** 2).sum())
            between = 0.5 * float(theta.sum()) ** 2 - within
            # Half a pair more of each, so that no rate is zero.
            expected = float(count @ same) + 0.5, float(count @ (1.0 - same)) + 0.5
            rates.append(Rates(expected[0] / max(within, 1e-9), expected[1] / max(between, 1e-9)))
        return _sided(*rates)

    def odds(self, rates: list[Rates]) -> Array:
        """How many times likelier the labels of each pair are within a class."""
        logs = [count * np.log(rate.same / rate.other) for count, rate in zip(self.counts, rates, strict=True)]
        return np.asarray(np.exp(np.clip(logs[0] + logs[1], -30.0, 30.0)))

    def absences(self, rates: list[Rates], classes: Array) -> Array:
        """Log-chance, per sample and class and up to a constant, that all other pairs of the sample are not given."""
        kinds = zip(rates, self.activity, strict=True)
        logs = [np.outer(theta, (rate.other - rate.same) * (theta @ classes)) for rate, theta in kinds]
        return np.asarray(logs[0] + logs[1])

    def together(self, messages: Array) -> Array:
        """Pr(one class) by the messages between both ends, which know nothing of the labels of the pair."""
        chance = (messages[: self.n_pairs] * messages[self.n_pairs :]).sum(axis=1)
        return np.asarray(np.clip(chance, 1e-9, 1.0 - 1e-9))


def _sided(positive: Rates, negative: Rates) -> list[Rates]:
    """The rates, or where + does not speak for one class or - for two, rates that say nothing."""
    if positive.same < positive.other:
        positive = Rates(positive.other, positive.other)
    if negative.same > negative.other:
        negative = Rates(negative.other, negative.other)
    return [positive, negative]


class Beliefs(NamedTuple):
    """Class probabilities of samples, rates, and Pr(one class) of distinct pairs without their labels."""

    classes: Array
    rates: list[Rates]
    apart: Array


def fit_classes(
    graph: PairGraph,
    labels: NDArray[np.int64],
    clusters: NDArray[np.intp],
    features: Array | None,
    rng: np.random.RandomState,
) -> ClassFit:
    """Learn classes and rates by turns, from ``clusters`` on; ``labels`` are those of all pairs."""
    n_classes = int(clusters.max()) + 1
    classes = START_TRUST * np.eye(n_classes)[clusters] + (1.0 - START_TRUST) / n_classes
    beliefs = Beliefs(classes, graph.start_rates(), np.empty(0))
    for n_steps in [N_STEPS] * N_ROUNDS + [N_LAST_STEPS]:
        prior = np.log(_predicted(features, beliefs.classes, rng))
        beliefs = propagate(graph, prior, beliefs, n_steps)
    apart, positive, negative = beliefs.apart, *beliefs.rates
    same = with_labels(apart, graph.odds(beliefs.rates))
    chances = [apart * rate.same + (1.0 - apart) * rate.other for rate in (positive, negative)]
    given = np.where(labels > 0, chances[0][graph.index], chances[1][graph.index])
    log_chance = np.log(given / (chances[0] + chances[1])[graph.index])
    return ClassFit(n_classes, same[graph.index], logit(apart)[graph.index], log_chance)


def propagate(graph: PairGraph, prior: Array, beliefs: Beliefs, n_steps: int) -> Beliefs:
    """Damped steps of messages, with the rates learned on the way."""
    classes, rates, apart = beliefs
    messages = classes[graph.sources]
    for _ in range(n_steps):
        sent, logs = send(graph, prior + graph.absences(rates, classes), graph.odds(rates), messages)
        change = float(np.abs(sent - messages).mean())
        messages, classes = 0.5 * (messages + sent), softmax(logs, axis=1)
        apart = graph.together(messages)
        rates = graph.fit_rates(with_labels(apart, graph.odds(rates)), classes)
        if change < 1e-4:
            break
    return Beliefs(classes, rates, apart)


def send(graph: PairGraph, prior: Array, odds: Array, messages: Array) -> tuple[Array, Array]:
    """Next messages, and log-probabilities of classes up to a constant per sample."""
    told = np.log1p((np.tile(odds, 2) - 1.0)[:, None] * messages)
    logs = prior + graph.gather @ told
    return np.asarray(softmax(logs[graph.sources] - told[graph.back], axis=1)), np.asarray(logs)


def with_labels(apart: Array, odds: Array) -> Array:
    """Pr(one class) given the labels too."""
    return odds * apart / (odds * apart + 1.0 - apart)


def best_count(fits: Sequence[ClassFit]) -> int:
    """The number of classes that tells the given labels best."""
    return max(fits, key=lambda fit: float(fit.log_chance.mean())).n_classes


def likely_fits(fits: Sequence[ClassFit]) -> list[ClassFit]:
    """The fits that tell the given labels as well as the best one up to 1.5 standard errors, fewest classes first."""
    best = max(fits, key=lambda fit: float(fit.log_chance.mean()))
    losses = [best.log_chance - fit.log_chance for fit in fits]
    likely = [
        fit for fit, loss in zip(fits, losses, strict=True) if loss.mean() <= MARGIN * loss.std() / np.sqrt(len(loss))
    ]
    return sorted(likely, key=lambda fit: (fit.n_classes, -float(fit.log_chance.mean())))


def fits_of_fewer(fits: Sequence[ClassFit], n_classes: int) -> list[ClassFit]:
    """Of every number of classes up to ``n_classes`` the fit that tells the given labels best."""
    counts = {fit.n_classes for fit in fits if fit.n_classes <= n_classes}
    alike = ([fit for fit in fits if fit.n_classes == count] for count in sorted(counts))
    return [max(group, key=lambda fit: float(fit.log_chance.mean())) for group in alike]


def scaled_features(rows: Array) -> Array:
    """Features of a length that suits the ridge of the logistic regression."""
    return rows * np.sqrt(SQUARED_LENGTH / max(float((rows**2).sum(axis=1).mean()), 1e-300))


def _predicted(features: Array | None, classes: Array, rng: np.random.RandomState) -> Array:
    """Class probabilities by the features of samples that were not fitted to, or the shares of classes."""
    nearest = classes.argmax(axis=1)
    members = np.bincount(nearest, minlength=classes.shape[1])
    if features is None or (members >= LEAST_MEMBERS).sum() < 2:
        return np.tile(classes.mean(axis=0) + LEAST_CHANCE, (len(classes), 1))
    chance, fold_of = np.full(classes.shape, LEAST_CHANCE), rng.permutation(len(classes)) % N_FOLDS
    for fold in range(N_FOLDS):
        judged, fitted = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)[:MAX_FITTED]
        known = np.unique(nearest[fitted])
        if len(known) < 2:
            chance[np.ix_(judged, known)] += 1.0
            continue
        model = LogisticRegression(tol=1e-2).fit(features[fitted], nearest[fitted])
        chance[np.ix_(judged, known)] += model.predict_proba(features[judged])
    return chance / chance.sum(axis=1, keepdims=True)
