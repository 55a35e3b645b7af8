r"""What noisy pairs tell of the classes of their samples.

Sample i is of class :math:`z_i`, one of K. A pair of samples was labelled one or several times, each label + ("the same
class") or - ("different classes") with

.. math:: a = \Pr(- \mid z_i = z_j), \qquad b = \Pr(+ \mid z_i \ne z_j), \qquad a + b < 1.

The labels of one pair are then likelier within a class than between classes by the factor

.. math:: \omega_{ij} = \Bigl(\frac{1-a}{b}\Bigr)^{n^+_{ij}} \Bigl(\frac{a}{1-b}\Bigr)^{n^-_{ij}}.

True labels are transitive, so that contradictions between pairs tell :math:`a` and :math:`b` without any checked pair.
Belief propagation gives, for every pair, the chance that both samples share a class *without the labels of the pair*:
with mean-field beliefs a wrong pair would vouch for itself, and the rates would be too small.

==================  =================================================================================
``prior`` (n, K)    log-probabilities of the classes by the features, with the shares of the classes
``messages``        one row of class probabilities per direction of a pair: sample i without its pair with j
``belief`` (n, K)   class probabilities of every sample by features and all pairs
``apart``           Pr(one class) of every distinct pair, without its own labels
``same``            Pr(one class) of every distinct pair, with its own labels
==================  =================================================================================

References
----------
J. S. Yedidia, W. T. Freeman, Y. Weiss. Constructing free-energy approximations and generalized belief propagation
algorithms. IEEE Transactions on Information Theory 51, 2005.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from ...checks import Array, Index, IntArray, Mask
from ...statements import Pairs
from ...statements.graph import count_pairs, key_pairs, pair_keys, sorted_distinct, unlinked_keys

#: Rates are at least this, because no source is always right; both together stay below one by twice this.
LEAST_RATE = 0.005
#: The rates are estimated as if, among some more labels, these many were wrong and these many right.
EXTRA_WRONG, EXTRA_RIGHT = 1.0, 3.0
#: The share of the old message in the new one: undamped messages can oscillate.
DAMPING = 0.5
#: Messages of more pairs are kept in single precision, of which processors compute logarithms several times as fast.
MANY_PAIRS = 5_000
#: Log-odds of one pair are cut here. A verdict of a person who checked a pair has these log-odds.
LARGEST_ODDS, VERDICT_ODDS = 30.0, 10.0


class Rates(NamedTuple):
    """How often a label is wrong: + or - within a class (``split``), and between classes (``joined``)."""

    split: float  # a = Pr(- | one class)
    joined: float  # b = Pr(+ | different classes)


class PairEvidence:
    """The m distinct pairs with the weights of their + and - labels, and the log-odds that verdicts add to them.

    Message t goes from the first to the second sample of pair t, and message m + t goes back.
    """

    def __init__(
        self, rows: Index, cols: Index, plus: Array, minus: Array, n_samples: int, verdicts: Array | None = None
    ) -> None:
        self.rows, self.cols, self.plus, self.minus = rows, cols, plus, minus
        self.verdicts = np.zeros(len(rows)) if verdicts is None else verdicts
        self.n_samples, self.n_pairs = n_samples, len(rows)
        self.dtype: Any = np.float64 if len(rows) <= MANY_PAIRS else np.float32

    @cached_property
    def sources(self) -> Index:
        """The sample that each message comes from."""
        return np.concatenate([self.rows, self.cols])

    @cached_property
    def gather(self) -> Any:
        """The sparse matrix (n, 2m) that adds up the messages to each sample."""
        ends, positions = np.concatenate([self.cols, self.rows]), np.arange(2 * self.n_pairs)
        shape = (self.n_samples, 2 * self.n_pairs)
        return sp.csr_array((np.ones(2 * self.n_pairs, dtype=self.dtype), (ends, positions)), shape=shape)

    @classmethod
    def of_pairs(cls, pairs: Pairs) -> tuple["PairEvidence", Index]:
        """The evidence of given pairs, and for every given pair its position among the distinct pairs."""
        _, first, index = np.unique(pair_keys(pairs.rows, pairs.cols), return_index=True, return_inverse=True)
        kinds = [np.where(pairs.labels == label, pairs.weights, 0.0) for label in (1, -1)]
        plus, minus = (np.bincount(index, weights=weights, minlength=len(first)).astype(float) for weights in kinds)
        return cls(pairs.rows[first], pairs.cols[first], plus, minus, pairs.n_samples), index

    def part(self, chosen: Mask) -> "PairEvidence":
        """Some of the distinct pairs."""
        parts = self.rows[chosen], self.cols[chosen], self.plus[chosen], self.minus[chosen]
        return PairEvidence(*parts, self.n_samples, self.verdicts[chosen])

    def among(self, samples: Index) -> "PairEvidence":
        """The pairs whose samples are both among ``samples``, which are in ascending order and numbered anew."""
        inside = np.isin(self.rows, samples) & np.isin(self.cols, samples)
        rows, cols = (np.searchsorted(samples, ends[inside]) for ends in (self.rows, self.cols))
        return PairEvidence(rows, cols, self.plus[inside], self.minus[inside], len(samples), self.verdicts[inside])

    def checked(self, truth: IntArray) -> "PairEvidence":
        """The same pairs, of which people found some to be of one class (+1) or not (-1); 0 where nobody knows."""
        verdicts = VERDICT_ODDS * truth.astype(np.float64)
        return PairEvidence(self.rows, self.cols, self.plus, self.minus, self.n_samples, verdicts)

    def odds(self, rates: Rates) -> Array:
        """How many times likelier the labels of each pair are within a class than between classes."""
        split, joined = rates
        logs = self.plus * np.log((1.0 - split) / joined) + self.minus * np.log(split / (1.0 - joined))
        return np.asarray(np.exp(np.clip(logs + self.verdicts, -LARGEST_ODDS, LARGEST_ODDS)))

    def likelihood(self, same: Array, rates: Rates) -> Array:
        """The log-probability of the labels of each pair, if its samples share a class with chance ``same``."""
        between = self.plus * np.log(rates.joined) + self.minus * np.log(1.0 - rates.joined)
        return between + np.log1p((self.odds(rates) - 1.0) * same)

    def propagate(self, prior: Array, messages: Array, odds: Array, n_steps: int) -> tuple[Array, Array]:
        """Take damped steps of messages, given the ``odds`` of every distinct pair; return beliefs and messages."""
        excess = np.tile(odds - 1.0, 2)[:, None].astype(self.dtype)
        half = self.n_pairs
        messages = messages.astype(self.dtype, copy=False)
        for _ in range(n_steps):
            told = _log_ratios(excess, messages)
            # What a sample sends along a pair excludes the incoming message of this pair.
            cavity = (prior + self.gather @ told).astype(self.dtype, copy=False)[self.sources]
            cavity[:half] -= told[half:]
            cavity[half:] -= told[:half]
            messages = DAMPING * messages + (1.0 - DAMPING) * row_softmax(cavity)
        return row_softmax(prior + self.gather @ _log_ratios(excess, messages)), messages

    def apart(self, messages: Array) -> Array:
        """Pr(one class) of every distinct pair, without its own labels."""
        chance = np.einsum("tk,tk->t", messages[: self.n_pairs], messages[self.n_pairs :], dtype=np.float64)
        return np.clip(chance, 1e-9, 1.0 - 1e-9)

    def together(self, belief: Array) -> Array:
        """Pr(one class) of every distinct pair, by the beliefs about its two samples."""
        return np.clip(np.einsum("tk,tk->t", belief[self.rows], belief[self.cols]), 1e-9, 1.0 - 1e-9)

    def same(self, apart: Array, rates: Rates) -> Array:
        """Pr(one class) of every distinct pair, with its own labels; a checked pair is certain."""
        return np.where(self.verdicts == 0, with_labels(apart, self.odds(rates)), self.verdicts > 0)

    def fit_rates(self, same: Array) -> Rates:
        """The rates, given the chance of every distinct pair to share a class."""
        kinds = ((same, self.minus), (1.0 - same, self.plus))
        labels = self.plus + self.minus
        wrong, right = EXTRA_WRONG, EXTRA_RIGHT
        split, joined = (float((part @ flipped + wrong) / (part @ labels + wrong + right)) for part, flipped in kinds)
        return informative(Rates(split, joined))

    def evidence(self, prior: Array, messages: Array, rates: Rates) -> float:
        """The logarithm of Pr(labels | features), by Bethe's approximation: exact if the pairs form no circle."""
        excess, apart = self.odds(rates) - 1.0, self.apart(messages)
        logs = prior + self.gather @ np.log1p(np.tile(excess, 2)[:, None] * messages)
        between = self.plus * np.log(rates.joined) + self.minus * np.log(1.0 - rates.joined)
        return float(between.sum() + logsumexp(logs, axis=1).sum() - np.log1p(excess * apart).sum())


def with_labels(apart: Array, odds: Array) -> Array:
    """Pr(one class) with the labels of the pair, which are ``odds`` times likelier within a class."""
    return odds * apart / (odds * apart + 1.0 - apart)


def with_both_kinds(pairs: Pairs, rng: np.random.RandomState) -> Pairs:
    """The pairs; if all are of one kind, with as many pairs of the other kind drawn among the pairs not given.

    Random pairs are wrong as often as chance has it. The rates of the model allow for that: what tells the classes is
    that given pairs and random pairs differ.
    """
    if not len(pairs) or not (pairs.labels == pairs.labels[0]).all():
        return pairs
    given = sorted_distinct(pair_keys(pairs.rows, pairs.cols))
    count = min(len(given), count_pairs(pairs.n_samples) - len(given))
    if count == 0:
        return pairs
    rows, cols = key_pairs(unlinked_keys(given, pairs.n_samples, count, rng))
    return pairs + Pairs(rows, cols, np.full(count, -pairs.labels[0]), n_samples=pairs.n_samples)


def _log_ratios(excess: Array, messages: Array) -> Array:
    """How much likelier the labels of a pair are if its sample is of each class: ``log(1 + excess * messages)``.

    The least odds exp(-30) are lost in single precision, so that zeros are raised to the least positive number.
    """
    ratios = excess * messages
    if ratios.dtype == np.float64:
        return np.log1p(ratios, out=ratios)
    ratios += 1.0
    np.maximum(ratios, np.finfo(ratios.dtype).tiny, out=ratios)
    return np.log(ratios, out=ratios)


def row_softmax(logs: Array) -> Array:
    """Probabilities that are proportional to the exponentials of each row; ``logs`` is overwritten."""
    top = logs[:, 0].copy()
    for column in logs.T[1:]:  # several times as fast as a maximum over short rows
        np.maximum(top, column, out=top)
    logs -= top[:, None]
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=1, keepdims=True)
    return logs


def informative(rates: Rates) -> Rates:
    """The nearest rates with a label + that speaks for one class and not against it."""
    excess = max(rates.split + rates.joined + 2.0 * LEAST_RATE - 1.0, 0.0) / 2.0
    low, high = LEAST_RATE, 1.0 - LEAST_RATE
    return Rates(float(np.clip(rates.split - excess, low, high)), float(np.clip(rates.joined - excess, low, high)))
