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

from typing import NamedTuple

import numpy as np
from scipy.special import logit

from ...checks import Array, Index, IntArray
from ...progress import Tell, silent
from ...statements import Pairs
from ..classes.evidence import LARGEST_ODDS, PairEvidence, with_labels
from ..classes.features import ClassFeatures, NoFeatures, Told
from ..classes.search import CONVERGED, sharpened

#: Rounds of features and messages, the steps of messages in each round, and the steps in one more round at the end.
N_ROUNDS, N_STEPS, N_LAST_STEPS = 3, 10, 30
#: At the start, a sample is in its cluster with about this probability.
START_TRUST = 0.8


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


class PairGraph:
    """The distinct pairs, and how many pairs of each kind every sample has, relative to the mean."""

    def __init__(self, pairs: Pairs) -> None:
        single = Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=pairs.n_samples)  # weights do not count here
        self.distinct, self.index = PairEvidence.of_pairs(single)
        self.counts = [self.distinct.plus, self.distinct.minus]
        degrees = [np.asarray(self.distinct.gather @ np.tile(count, 2)) for count in self.counts]
        self.activity = [degree / max(float(degree.mean()), 1e-12) for degree in degrees]

    def fit_rates(self, same: Array, classes: Array) -> list[Rates]:
        """Expected pairs of either kind within and between classes, per possible pair of samples.

        Pairs given as + are not less frequent within classes than between classes, and pairs given as - not more.
        """
        rates = []
        for sign, count, theta in zip((1, -1), self.counts, self.activity, strict=True):
            within = 0.5 * float(((theta @ classes) ** 2).sum())
            between = 0.5 * float(theta.sum()) ** 2 - within
            # Half a pair is added to each number, so that no rate is zero.
            expected = float(count @ same) + 0.5, float(count @ (1.0 - same)) + 0.5
            rate = Rates(expected[0] / max(within, 1e-9), expected[1] / max(between, 1e-9))
            rates.append(rate if sign * (rate.same - rate.other) > 0 else Rates(rate.other, rate.other))
        return rates

    def odds(self, rates: list[Rates]) -> Array:
        """How many times likelier the labels of each pair are within a class than between classes."""
        logs = [count * np.log(rate.same / rate.other) for count, rate in zip(self.counts, rates, strict=True)]
        return np.asarray(np.exp(np.clip(logs[0] + logs[1], -LARGEST_ODDS, LARGEST_ODDS)))

    def absences(self, rates: list[Rates], classes: Array) -> Array:
        """Log-chance, for every sample and class up to a constant, that the missing pairs of the sample are missing."""
        kinds = zip(rates, self.activity, strict=True)
        logs = [np.outer(theta, (rate.other - rate.same) * (theta @ classes)) for rate, theta in kinds]
        return np.asarray(logs[0] + logs[1])


def fit_classes(
    graph: PairGraph, labels: IntArray, clusters: Index, features: ClassFeatures | NoFeatures, tell: Tell = silent
) -> ClassFit:
    """Learn classes and rates by turns, starting from ``clusters``; ``labels`` are the labels of all pairs."""
    evidence, n_classes = graph.distinct, int(clusters.max()) + 1
    classes = START_TRUST * np.eye(n_classes)[clusters] + (1.0 - START_TRUST) / n_classes
    density = [float(count.sum()) / (0.5 * evidence.n_samples**2) for count in graph.counts]
    # Pairs given as + start four times as frequent within classes as between classes, pairs given as - less frequent.
    rates = [Rates(2.0 * density[0], 0.5 * density[0]), Rates(0.7 * density[1], 1.1 * density[1])]
    rounds = [N_STEPS] * N_ROUNDS + [N_LAST_STEPS]
    told: Told | None = None
    for done, n_steps in enumerate(rounds):
        told = features.tell(sharpened(classes), told)
        messages = classes[evidence.sources]
        for step in range(n_steps):
            before = classes
            prior = told.prior + graph.absences(rates, classes)
            classes, messages = evidence.propagate(prior, messages, graph.odds(rates), 1)
            apart = evidence.apart(messages)
            rates = graph.fit_rates(with_labels(apart, graph.odds(rates)), classes)
            tell(sum(rounds[:done]) + step + 1, sum(rounds))
            if np.abs(classes - before).mean() < CONVERGED:
                break
    same = with_labels(apart, graph.odds(rates))
    chances = [apart * rate.same + (1.0 - apart) * rate.other for rate in rates]
    given = np.where(labels > 0, chances[0][graph.index], chances[1][graph.index])
    log_chance = np.log(given / (chances[0] + chances[1])[graph.index])
    return ClassFit(n_classes, same[graph.index], logit(apart)[graph.index], log_chance, classes)
