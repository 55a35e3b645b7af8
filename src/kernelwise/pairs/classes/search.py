r"""Classes and rates from features and noisy pairs, for a given number of classes.

From every start, four steps by turns: the features are fitted to the beliefs, the pairs correct what the features tell,
and the rates follow from both,

.. math:: R \to T \propto R^2 \to P \text{ (features, left out)} \to R \text{ (pairs)} \to (a, b).

The beliefs are sharpened, because a classifier that is fitted to its own soft answers flattens until it says nothing.

Two sums compare fits: what the fit tells of each label *without this label*, and what features tell of each sample
*without this sample*. A fit that is bent to wrong pairs has much of the first sum and little of the second. Both sums
are still computed from the pairs that the fit was made of, so held-out pairs decide: classes that use the pairs are
taken only if they predict held-out labels better than the clusters of the features alone. Ignoring the
pairs is always among the candidates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...checks import Array
from ...progress import Tell, part, silent
from ...ties import first_best, most_probable
from .evidence import PairEvidence, Rates
from .features import ClassFeatures, Clusters, NoFeatures, Told, enough_neighbours, starting_clusters

#: Rounds of a short run from every start, of a long run from the best ones, and of a run without held-out pairs: more
#: rounds hardly change the classes, and what held-out pairs score should be like what is returned.
N_SHORT, N_LONG, N_HELD = 8, 10, 10
#: Steps of messages in every round, and rounds of rates where the features stay as they are.
N_STEPS, N_FROZEN = 3, 10
#: A run ends when beliefs change by less than this in the mean.
CONVERGED = 1e-4
#: At the start, a sample is in its cluster with this probability; the rest is shared by the other classes.
START_TRUST = 0.9
#: The weight of features against labels: a bold and a cautious choice.
BOLD, CAUTIOUS = 0.1, 0.5
#: The number of folds of held-out pairs, and the gain in standard errors that classes from pairs have to show.
N_FOLDS, LEAST_GAIN = 4, 0.5
#: Nats of all pairs together that are rounding: the two classes are the same.
NO_GAIN = 1e-6
#: For the progress: the shares of the time after which the clusters of the features, and the short runs, are done.
ALONE_DONE, SHORT_DONE = 0.15, 0.5
#: With fewer pairs, pairs correct the clusters of the features and do not change the classes.
FEWEST_PAIRS = 20


class Recipe(NamedTuple):
    """A start, and whether it trusts the pairs at first or takes the rates from its clusters.

    ``frozen`` classes stay the clusters of the start, and the pairs correct single samples only. A ``finer`` start has
    twice as many classes. After a run, the two classes between which the labels speak most for one class are merged,
    until the number is right. So a class that was split and two classes that were taken for one are both mended, which
    no step from sample to sample does.
    """

    start: str
    trusting: bool = False
    frozen: bool = False
    finer: bool = False


#: Clusters of the features, which no pair has shaped: no way to cluster is good for all data, so the pairs choose one.
ALONE = tuple(Recipe(start, frozen=True) for start in ("kernel k-means", "self-taught", "neighbours"))
#: What each start earns is measured in ``benchmarks/parts_pairs.py``.
RECIPES = (
    Recipe("features and pairs"),
    Recipe("pairs, some features", trusting=True),
    Recipe("pairs", trusting=True),
    Recipe("core", trusting=True),
    Recipe("core", trusting=True, finer=True),
)
#: Numbers of classes are compared without finer starts, which take most of the time: classes are merged there anyway.
COUNTED = tuple(recipe for recipe in RECIPES if not recipe.finer)
WITHOUT_FEATURES = (Recipe("pairs"), Recipe("pairs", trusting=True))
#: A problem is large if its messages have more entries than this. Then held-out runs have fewer rounds and folds.
LARGE, LARGE_HELD, LARGE_FOLDS = 1_000_000, 5, 2
#: The rates of a trusting start.
TRUSTED = Rates(0.1, 0.1)


@dataclass(frozen=True, eq=False)
class ClassFit:
    """Beliefs, messages and rates, and what the features tell."""

    evidence: PairEvidence
    recipe: Recipe
    belief: Array
    messages: Array
    rates: Rates
    told: Any  # what features tell; None before the first round

    @cached_property
    def apart(self) -> Array:
        """Pr(one class) of every distinct pair, without its own labels."""
        return self.evidence.apart(self.messages)

    @cached_property
    def same(self) -> Array:
        """Pr(one class) of every distinct pair, with its own labels."""
        return self.evidence.same(self.apart, self.rates)

    @cached_property
    def log_chance(self) -> Array:
        """The log-probability of the labels of every distinct pair, told by everything else."""
        return self.evidence.likelihood(self.apart, self.rates)

    @property
    def n_used(self) -> int:
        """The number of classes that have members."""
        return len(np.unique(most_probable(self.belief)))

    @cached_property
    def told_by_features(self) -> float:
        """How many nats the features tell of the classes of all samples, each sample left out."""
        shares = np.log(self.belief.mean(axis=0) + np.finfo(float).tiny)
        return float(np.einsum("ik,ik->", self.belief, self.told.prior - shares))

    def bold(self) -> float:
        """A score by which pairs may bend the classes."""
        return float(self.log_chance.sum()) + BOLD * self.told_by_features

    def cautious(self) -> float:
        """A score by which features have to tell the classes, too."""
        evidence = self.evidence.evidence(self.told.prior, self.messages, self.rates)
        return evidence + CAUTIOUS * self.told_by_features


@dataclass(frozen=True, eq=False)
class Found:
    """The candidates, those of features alone first, and what each tells of every held-out pair.

    ``held_out`` and ``held_same`` (n_candidates, n_pairs) are the log-probability of the labels of every distinct pair
    and the chance that it shares a class, by a run without the pair.
    """

    candidates: list[ClassFit]
    held_out: Array
    held_same: Array

    @cached_property
    def best_alone(self) -> int | None:
        """The position of the best candidate that no pair has shaped; None without features."""
        alone = [j for j, fit in enumerate(self.candidates) if fit.recipe.frozen]
        return alone[first_best(self.held_out[alone].sum(axis=1))] if alone else None

    @cached_property
    def best(self) -> int:
        """The position of the chosen candidate: classes from pairs have to tell more by a margin.

        Among classes from pairs two sums count alike. The likelihood of held-out pairs measures the recipe, since its
        runs without these pairs may end elsewhere. The leave-one-out likelihood of each label measures the fit.
        """
        told = self.held_out.sum(axis=1) + [float(fit.log_chance.sum()) for fit in self.candidates]
        shaped = [j for j, fit in enumerate(self.candidates) if not fit.recipe.frozen]
        best = shaped[first_best(told[shaped])] if shaped else self.best_alone
        assert best is not None  # there is a candidate
        if self.best_alone is None:
            return best
        gain = self.held_out[best] - self.held_out[self.best_alone]
        return best if gain.sum() > LEAST_GAIN * np.sqrt(np.sum(gain**2)) + NO_GAIN else self.best_alone

    @property
    def fit(self) -> ClassFit:
        """The chosen candidate."""
        return self.candidates[self.best]

    @property
    def ignores_pairs(self) -> bool:
        """Whether the classes are clusters of the features, which pairs correct for single samples only."""
        return self.fit.recipe.frozen


class ClassSearch:
    """One problem: samples, what their features tell, pairs and a number of classes."""

    def __init__(
        self,
        columns: Array | None,
        features: ClassFeatures | NoFeatures,
        evidence: PairEvidence,
        n_classes: int,
        seed: int,
    ) -> None:
        self.columns, self.features, self.evidence = columns, features, evidence
        self.n_classes, self.seed = n_classes, seed
        self._told: dict[str, tuple[Clusters, Told]] = {}
        self.large = 2 * evidence.n_pairs * n_classes > LARGE

    def find(self, tell: Tell = silent) -> Found:
        """Search from all starts, and keep the classes that held-out pairs prefer."""
        alone = [] if self.columns is None else self.features_alone()
        if alone and self.evidence.n_pairs < FEWEST_PAIRS:
            return Found(alone[:1], alone[0].log_chance[None], alone[0].apart[None])
        recipes = WITHOUT_FEATURES if self.columns is None else RECIPES
        fits = self.short_runs(recipes, part(tell, ALONE_DONE, SHORT_DONE))
        scores: tuple[Callable[[ClassFit], float], ...] = (ClassFit.cautious, ClassFit.bold)
        best = {id(fit): fit for fit in (fits[first_best([*map(score, fits)])] for score in scores)}
        candidates = alone + [self.refine(fit, N_LONG) for fit in best.values()]
        return Found(candidates, *self.told_of_held_out_pairs(candidates, part(tell, SHORT_DONE, 1.0)))

    def short_runs(self, recipes: Sequence[Recipe], tell: Tell = silent) -> list[ClassFit]:
        """A short run of every recipe that is possible."""
        possible = [recipe for recipe in recipes if self.possible(recipe)]
        fits = []
        for done, recipe in enumerate(possible, start=1):
            fits.append(self.run(recipe, self.evidence, N_SHORT))
            tell(done, len(possible))
        return fits

    def possible(self, recipe: Recipe) -> bool:
        """Whether there are enough samples for the clusters of a recipe; two classes need no finer start."""
        n_samples = self.evidence.n_samples
        if recipe.start == "neighbours":
            return enough_neighbours(n_samples)
        return not recipe.finer or 2 < self.n_classes <= n_samples // 4

    def clusters(self, start: str, evidence: PairEvidence, n_classes: int | None = None) -> Clusters:
        """The clusters of a start; None: as many as classes are asked for."""
        if start == "self-taught":  # the rounds of every run, without any pair
            no_pairs = self.evidence.part(np.zeros(self.evidence.n_pairs, dtype=bool))
            return most_probable(self.run(Recipe("kernel k-means"), no_pairs, N_HELD).belief)
        count = n_classes or self.n_classes
        return starting_clusters(start, self.columns, self.features.principal, evidence, count, self.seed)

    def run(self, recipe: Recipe, evidence: PairEvidence, n_rounds: int) -> ClassFit:
        """A run of one recipe."""
        if recipe.frozen:
            return self.corrected(recipe, evidence)
        n_classes = 2 * self.n_classes if recipe.finer else self.n_classes
        clusters = self.clusters(recipe.start, evidence, n_classes)
        belief = softened(clusters, n_classes)
        rates = TRUSTED if recipe.trusting else _rates_within(clusters, evidence)
        fit = self.refine(ClassFit(evidence, recipe, belief, belief[evidence.sources], rates, None), n_rounds)
        return self.refine(merged(fit, self.n_classes), n_rounds) if recipe.finer else fit

    def refine(self, fit: ClassFit, n_rounds: int) -> ClassFit:
        """Rounds of features, pairs and rates."""
        evidence, belief, messages, rates = fit.evidence, fit.belief, fit.messages, fit.rates
        told = fit.told
        for _ in range(n_rounds):
            before, told = belief, self.features.tell(sharpened(belief), told)
            belief, messages = evidence.propagate(told.prior, messages, evidence.odds(rates), N_STEPS)
            rates = evidence.fit_rates(evidence.same(evidence.apart(messages), rates))
            if np.abs(belief - before).mean() < CONVERGED:
                break
        return ClassFit(evidence, fit.recipe, belief, messages, rates, told)

    def features_alone(self) -> list[ClassFit]:
        """The clusters of the features in several ways; one way for a large problem."""
        recipes = ALONE[:1] if self.large or not self.evidence.n_pairs else ALONE
        return [self.corrected(recipe, self.evidence) for recipe in recipes if self.possible(recipe)]

    def corrected(self, recipe: Recipe, evidence: PairEvidence) -> ClassFit:
        """Clusters of the features, which pairs correct for single samples only."""
        clusters, told = self.told_of_clusters(recipe.start)
        belief, rates = softened(clusters, self.n_classes), _rates_within(clusters, evidence)
        return corrected_by_pairs(evidence, recipe, belief, rates, told)

    def told_of_clusters(self, start: str) -> tuple[Clusters, Told]:
        """Clusters of the features, and what the features tell of them; kept, because no pair changes either."""
        if start not in self._told:
            clusters = self.clusters(start, self.evidence)
            told = self.features.tell(np.eye(self.n_classes)[clusters])
            prior = np.log(with_trust_in_clusters(clusters, np.exp(told.prior)))
            self._told[start] = clusters, Told(prior, told.penalty, told.slope)
        return self._told[start]

    def told_of_held_out_pairs(self, candidates: list[ClassFit], tell: Tell = silent) -> tuple[Array, Array]:
        """What runs of every candidate's recipe without a pair tell of the pair, for all pairs."""
        evidence = self.evidence
        n_folds, n_rounds = (LARGE_FOLDS, LARGE_HELD) if self.large else (N_FOLDS, N_HELD)
        fold = np.random.RandomState(self.seed).permutation(evidence.n_pairs) % n_folds
        told, same = np.empty((2, len(candidates), evidence.n_pairs))
        for k in range(n_folds):
            kept, held = evidence.part(fold != k), evidence.part(fold == k)
            for j, candidate in enumerate(candidates):
                fit = self.run(candidate.recipe, kept, n_rounds)
                same[j, fold == k] = together = held.together(fit.belief)
                told[j, fold == k] = held.likelihood(together, fit.rates)
                tell(k * len(candidates) + j + 1, n_folds * len(candidates))
        return told, same


def softened(clusters: Clusters, n_classes: int) -> Array:
    """Class probabilities that trust the clusters nearly."""
    return START_TRUST * np.eye(n_classes)[clusters] + (1.0 - START_TRUST) / n_classes


def with_trust_in_clusters(clusters: Clusters, chances: Array) -> Array:
    """Class probabilities with equal trust in clusters and features: without pairs, no sample leaves its cluster."""
    return 0.5 * np.eye(chances.shape[1])[clusters] + 0.5 * chances


def corrected_by_pairs(evidence: PairEvidence, recipe: Recipe, belief: Array, rates: Rates, told: Told) -> ClassFit:
    """What features tell stays as it is; the pairs correct single samples, and the rates follow."""
    messages = belief[evidence.sources]
    for _ in range(N_FROZEN):
        belief, messages = evidence.propagate(told.prior, messages, evidence.odds(rates), N_STEPS)
        rates = evidence.fit_rates(evidence.same(evidence.apart(messages), rates))
    return ClassFit(evidence, recipe, belief, messages, rates, told)


def merged(fit: ClassFit, n_classes: int) -> ClassFit:
    """Merge classes, two at a time, where the labels between them speak most for one class."""
    evidence, (split, joined) = fit.evidence, fit.rates
    speaks = evidence.plus * np.log((1.0 - split) / joined) + evidence.minus * np.log(split / (1.0 - joined))
    belief, messages = fit.belief.copy(), fit.messages.copy()
    gain = belief[evidence.rows].T @ (speaks[:, None] * belief[evidence.cols])
    gain = gain + gain.T
    np.fill_diagonal(gain, -np.inf)
    while len(gain) > n_classes:
        one, other = sorted(np.unravel_index(gain.argmax(), gain.shape))
        for array in (belief, messages, gain, gain.T):
            array[:, one] += array[:, other]
        belief, messages = np.delete(belief, other, axis=1), np.delete(messages, other, axis=1)
        gain = np.delete(np.delete(gain, other, axis=0), other, axis=1)
        np.fill_diagonal(gain, -np.inf)
    return ClassFit(evidence, fit.recipe, belief, messages, fit.rates, None)


def _rates_within(clusters: Clusters, evidence: PairEvidence) -> Rates:
    return evidence.fit_rates((clusters[evidence.rows] == clusters[evidence.cols]).astype(np.float64))


def sharpened(belief: Array) -> Array:
    """Squared probabilities, scaled to sum to one."""
    squares = belief**2
    return squares / squares.sum(axis=1, keepdims=True)
