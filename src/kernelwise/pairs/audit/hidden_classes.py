r"""A model of hidden classes behind noisy pairs, which estimates the number of wrong pairs from contradictions.

Sample i is of class :math:`z_i`. Pairs given as + and as - occur at random, at rates that depend only on whether both
samples are of one class:

.. math:: \lambda^\pm_{ij} = \theta^\pm_i \theta^\pm_j \,
    \bigl(\omega^\pm_= [z_i = z_j] + \omega^\pm_{\ne} [z_i \ne z_j]\bigr),

with :math:`\theta` proportional to the number of pairs of a sample. True labels are transitive: if i, j are given as +,
j, k as + and i, k as -, one of the three labels is wrong. So the rates can be estimated without any checked pair, even
if no single pair is certain. Pairs of one class may be given more often than other pairs, as links are.

Belief propagation gives the chance that a pair shares a class *without its own label*, from the messages between its
two samples. Features enter as class probabilities, predicted for samples that the prediction was not fitted to.

References
----------
A. Decelle, F. Krzakala, C. Moore and L. Zdeborova (2011). Asymptotic analysis of the stochastic block model for
modular networks and its algorithmic applications. Physical Review E 84, 066106.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, softmax
from sklearn.linear_model import LogisticRegression

from ...progress import Tell, part, silent
from ...statements import Pairs
from ...ties import NEARLY, first_best, most_probable, steady_order
from ..classes.evidence import PairEvidence

Array = NDArray[np.float64]

#: Rounds of features and messages, the steps of messages in each round, and the steps in one more round at the end.
N_ROUNDS, N_STEPS, N_LAST_STEPS = 3, 10, 30
#: At the start, a sample is in its cluster with about this probability.
START_TRUST = 0.8
#: Folds of samples for predicting classes by features, and the largest number of samples to fit to.
N_FOLDS, MAX_FITTED = 3, 5000
#: The least chance of any class by the features, and the number of samples from which on a class counts.
LEAST_CHANCE, LEAST_MEMBERS = 1e-3, 5
#: A number of classes is likely if it predicts the labels as well as the best number up to this many standard errors.
MARGIN = 1.5
#: Features are scaled to this mean squared length, because the ridge of logistic regression depends on their length.
SQUARED_LENGTH = 20.0


class Rates(NamedTuple):
    """Rates at which pairs of one kind, + or -, are given: within a class and between classes."""

    same: float
    other: float


class ClassFit(NamedTuple):
    """The result of the model for one number of classes."""

    n_classes: int
    same: Array  # Pr(one class) of every pair, its own label included
    score: Array  # log-odds of one class, without the own label
    log_chance: Array  # log Pr(given label | pair is given), without the own label
    classes: Array  # class probabilities of every sample

    @property
    def likelihood(self) -> float:
        """The mean log-probability of the given labels, each predicted without itself."""
        return float(self.log_chance.mean())


class PairGraph:
    """The m distinct pairs; message t goes from the first to the second sample of pair t, message m + t back."""

    def __init__(self, pairs: Pairs) -> None:
        single = Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=pairs.n_samples)  # weights do not count here
        self.distinct, self.index = PairEvidence.of_pairs(single)
        self.counts = [self.distinct.plus, self.distinct.minus]
        self.n_samples, self.n_pairs, self.sources = pairs.n_samples, self.distinct.n_pairs, self.distinct.sources
        self.gather, self.back = self.distinct.gather, np.roll(np.arange(2 * self.n_pairs), self.n_pairs)
        degrees = [np.asarray(self.gather @ np.tile(count, 2)) for count in self.counts]
        self.activity = [degree / max(float(degree.mean()), 1e-12) for degree in degrees]  # relative to the mean

    def start_rates(self) -> list[Rates]:
        """Positive pairs four times as frequent within classes as between classes, negative pairs less frequent."""
        density = [float(count.sum()) / (0.5 * self.n_samples**2) for count in self.counts]
        return [Rates(2.0 * density[0], 0.5 * density[0]), Rates(0.7 * density[1], 1.1 * density[1])]

    def fit_rates(self, same: Array, classes: Array) -> list[Rates]:
        """Expected pairs of either kind within and between classes, per possible pair of samples."""
        rates = []
        for count, theta in zip(self.counts, self.activity, strict=True):
            within = 0.5 * float(((theta @ classes) ** 2).sum())
            between = 0.5 * float(theta.sum()) ** 2 - within
            # Half a pair is added to each number, so that no rate is zero.
            expected = float(count @ same) + 0.5, float(count @ (1.0 - same)) + 0.5
            rates.append(Rates(expected[0] / max(within, 1e-9), expected[1] / max(between, 1e-9)))
        return _sided(*rates)

    def odds(self, rates: list[Rates]) -> Array:
        """How many times likelier the labels of each pair are within a class than between classes."""
        logs = [count * np.log(rate.same / rate.other) for count, rate in zip(self.counts, rates, strict=True)]
        return np.asarray(np.exp(np.clip(logs[0] + logs[1], -30.0, 30.0)))

    def absences(self, rates: list[Rates], classes: Array) -> Array:
        """Log-chance, for every sample and class up to a constant, that the missing pairs of the sample are missing."""
        kinds = zip(rates, self.activity, strict=True)
        logs = [np.outer(theta, (rate.other - rate.same) * (theta @ classes)) for rate, theta in kinds]
        return np.asarray(logs[0] + logs[1])


def _sided(positive: Rates, negative: Rates) -> list[Rates]:
    """The rates; where + is not more frequent within classes, or - not between classes, two equal rates."""
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
    tell: Tell = silent,
) -> ClassFit:
    """Learn classes and rates by turns, starting from ``clusters``; ``labels`` are the labels of all pairs."""
    n_classes = int(clusters.max()) + 1
    classes = START_TRUST * np.eye(n_classes)[clusters] + (1.0 - START_TRUST) / n_classes
    beliefs = Beliefs(classes, graph.start_rates(), np.empty(0))
    rounds = [N_STEPS] * N_ROUNDS + [N_LAST_STEPS]
    for done, n_steps in enumerate(rounds):
        prior = np.log(_predicted(features, beliefs.classes, rng))
        before, after = (sum(rounds[:end]) / sum(rounds) for end in (done, done + 1))
        beliefs = propagate(graph, prior, beliefs, n_steps, part(tell, before, after))
    apart, positive, negative = beliefs.apart, *beliefs.rates
    same = with_labels(apart, graph.odds(beliefs.rates))
    chances = [apart * rate.same + (1.0 - apart) * rate.other for rate in (positive, negative)]
    given = np.where(labels > 0, chances[0][graph.index], chances[1][graph.index])
    log_chance = np.log(given / (chances[0] + chances[1])[graph.index])
    return ClassFit(n_classes, same[graph.index], logit(apart)[graph.index], log_chance, beliefs.classes)


def propagate(graph: PairGraph, prior: Array, beliefs: Beliefs, n_steps: int, tell: Tell = silent) -> Beliefs:
    """Damped steps of messages, with the rates learned on the way."""
    classes, rates, apart = beliefs
    messages = classes[graph.sources]
    for step in range(n_steps):
        sent, logs = send(graph, prior + graph.absences(rates, classes), graph.odds(rates), messages)
        change = float(np.abs(sent - messages).mean())
        messages, classes = 0.5 * (messages + sent), softmax(logs, axis=1)
        apart = graph.distinct.apart(messages)
        rates = graph.fit_rates(with_labels(apart, graph.odds(rates)), classes)
        tell(step + 1, n_steps)
        if change < 1e-4:
            break
    return Beliefs(classes, rates, apart)


def send(graph: PairGraph, prior: Array, odds: Array, messages: Array) -> tuple[Array, Array]:
    """Next messages, and log-probabilities of classes up to a constant per sample."""
    told = np.log1p((np.tile(odds, 2) - 1.0)[:, None] * messages)
    logs = prior + graph.gather @ told
    return np.asarray(softmax(logs[graph.sources] - told[graph.back], axis=1)), np.asarray(logs)


def with_labels(apart: Array, odds: Array) -> Array:
    """Pr(one class) that takes the labels of the pair into account."""
    return odds * apart / (odds * apart + 1.0 - apart)


def best_fit(fits: Sequence[ClassFit]) -> ClassFit:
    """The fit that predicts the given labels best."""
    return fits[first_best([fit.likelihood for fit in fits])]


def likely_fits(fits: Sequence[ClassFit]) -> list[ClassFit]:
    """The fits that predict the labels as well as the best fit up to 1.5 standard errors, fewest classes first."""
    best = best_fit(fits)
    losses = [best.log_chance - fit.log_chance for fit in fits]
    margins = [MARGIN * float(loss.std()) / np.sqrt(len(loss)) + NEARLY for loss in losses]
    likely = [fit for fit, loss, margin in zip(fits, losses, margins, strict=True) if loss.mean() <= margin]
    in_order = [likely[place] for place in steady_order([-fit.likelihood for fit in likely])]
    return sorted(in_order, key=lambda fit: fit.n_classes)


def fits_of_fewer(fits: Sequence[ClassFit], n_classes: int) -> list[ClassFit]:
    """For every number of classes up to ``n_classes``, the fit that predicts the given labels best."""
    counts = {fit.n_classes for fit in fits if fit.n_classes <= n_classes}
    alike = ([fit for fit in fits if fit.n_classes == count] for count in sorted(counts))
    return [best_fit(group) for group in alike]


def scaled_features(rows: Array) -> Array:
    """Features, scaled to a length that suits the ridge of the logistic regression."""
    return rows * np.sqrt(SQUARED_LENGTH / max(float((rows**2).sum(axis=1).mean()), 1e-300))


def _predicted(features: Array | None, classes: Array, rng: np.random.RandomState) -> Array:
    """Class probabilities of every sample, predicted from features by a fit to other samples; else class shares."""
    nearest = most_probable(classes)
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
