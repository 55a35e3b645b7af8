r"""Several answers per row: which class is the true one, and how good is every source of answers?

Source :math:`j` answers :math:`a` for a row of the class :math:`k` with the chance :math:`T_{jka}`, its *confusion*:

.. math:: q_i(k) \propto b_i(k) \prod_{(j, a) \in \text{answers to } i} T_{jka}^{w_j},
          \qquad T_{jka} = \frac{\sum_i q_i(k) [j \text{ answered } a] + s B_{jka}}
                                {\sum_i q_i(k) [j \text{ answered}] + s}.

=============  ====================================================================================================
:math:`b_i`    what is known without the answers: the belief from features, or the shares of the classes
:math:`q_i`    the chance of each class that the answers speak for (Dawid and Skene 1979, by expectation and
               maximisation)
:math:`B_j`    the pattern of confusion of all sources together, moved to the accuracy of source j, which is drawn
               towards the mean of all sources as far as their spread says
:math:`s`      how many answers the pattern is worth: from little, where every source has a confusion of its own, to
               so much that a source has nothing but its accuracy. Each strength counts by how well it predicts every
               answer from the other ones
:math:`w_j`    one, or less for sources that copy each other: together they count once (:func:`copied_sources`)
=============  ====================================================================================================

Programs that know one class and do not answer otherwise have no confusion that could be learned from their answers;
each of their answers is as good as the mean of them.

**Classes are taken for equally frequent** unless their estimated shares predict answers that were held out better by
more than :data:`SHARES_EARN`. Shares that are always estimated make one class swallow the others where sources err
together. The belief from features has to earn :data:`FEATURES_EARN` in the same way.

**Sources err together.** The class that answers speak for is not always the true one: a row may be misleading for all.
How often cannot be learned from the answers. So with the chance ``shared`` the answers to a row say nothing,

.. math:: P(\text{true} = k) = (1 - \text{shared}) \, q_i(k) + \text{shared} \cdot \text{share of class } k,

where ``shared`` has a prior that was measured on sets of people's and of language models' answers with known truth
(:func:`shared_prior`), and checked rows narrow it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, logit, softmax

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Strengths ``s`` of the common pattern; with the last one sources differ in nothing but their accuracy.
STRENGTHS = (1.0, 3.0, 10.0, 40.0, 1e6)
#: The gain in the mean log-probability of answers that were held out at which estimated shares of classes count a half,
#: and the width of the change (docs/decisions/0015: on 12 sets where they gain less, they cost up to .13 of the right
#: classes; where one class is rare, the gain is .009 to .031, and equal shares cost .10 to .24).
SHARES_EARN = (0.005, 0.0007)
#: The same for the belief from features: it gains .044 to .175 where features show the class, and up to .017 where they
#: show what language models get wrong.
FEATURES_EARN = (0.025, 0.003)
#: Beside the belief from features, answers to a row are misleading with this chance, whatever the sources.
MISLEADING = 0.05
#: EM stops when no chance moves by more, or after so many rounds; while strengths are compared, always after fewer.
STILL, MOST_ROUNDS, ROUNDS_TO_COMPARE = 1e-9, 200, 30
#: Strength and shares are chosen on at most this many rows, by folds of the answers; of more answers than FEW_ANSWERS,
#: one fold is enough.
CHOICE_ROWS, N_FOLDS, FEW_ANSWERS = 20_000, 5, 30_000
#: Accuracies that enter logits are kept inside, and chances of answers above.
INSIDE, LEAST = (0.02, 0.995), 1e-6
#: What is known of accuracies before any answer: their mean, worth so many answers.
USUAL_ACCURACY = (0.75, 20.0)
#: A program knows one class if it gave no other in this many answers.
ANSWERS_OF_ONE_CLASS = 10
#: Two sources are compared if they answered so many rows in common; agreement beyond that of honest sources counts from
#: about this share on, if it is so many standard errors.
COMMON_ROWS, COPIED_SHARE, COPIED_ERRORS = 20, 0.5, 4.0
#: Priors of ``shared``: mean and standard deviation for people and programs. For language models the mean falls with
#: the reliability of their joint answer, from ``MODELS_SHARED[0]`` by ``MODELS_SHARED[1]``, within limits.
PEOPLE_SHARED, MODELS_SHARED, MODELS_LIMITS, MODELS_SPREAD = (0.09, 0.06), (0.91, 0.8), (0.1, 0.71), 0.15
#: Sources of unknown kind are taken for language models, with a chance of at most one half, if the reliability of their
#: joint answer is below ``UNRELIABLE[0]``, or ``UNRELIABLE[0] + UNRELIABLE[1]`` where every source answered every row.
UNRELIABLE, UNRELIABLE_STEP, MODELS_AT_MOST = (0.25, 0.3), 0.05, 0.5


@dataclass(frozen=True)
class Statements:
    """Answers as positions: ``labels[t]`` was said by ``sources[t]`` of ``rows[t]``; ``weight`` is one per source."""

    rows: Index
    sources: Index
    labels: Index
    n_rows: int
    n_sources: int
    n_classes: int
    weight: Array

    @property
    def counts(self) -> Array:
        """How often each source gave each class."""
        cells = np.bincount(self.sources * self.n_classes + self.labels, minlength=self.n_sources * self.n_classes)
        return cells.reshape(self.n_sources, self.n_classes).astype(np.float64)

    @property
    def votes(self) -> Array:
        """The weight of the answers for each class, by row."""
        cells = self.rows * self.n_classes + self.labels
        votes = np.bincount(cells, self.weight[self.sources], self.n_rows * self.n_classes)
        return np.asarray(votes, dtype=np.float64).reshape(self.n_rows, -1)

    @property
    def n_answered(self) -> int:
        return int(np.count_nonzero(np.bincount(self.rows, minlength=self.n_rows)))

    def detectors(self) -> NDArray[np.bool_]:
        """Which sources know one class only; none, unless most answers come from such sources."""
        counts = self.counts
        total = counts.sum(axis=1)
        one = (counts.max(axis=1) == total) & (total >= ANSWERS_OF_ONE_CLASS) & (total < 0.95 * self.n_answered)
        return one if total[one].sum() > total.sum() / 2 else np.zeros_like(one)

    def without(self, out: NDArray[np.bool_]) -> "Statements":
        """All answers but some."""
        parts = self.rows[~out], self.sources[~out], self.labels[~out]
        return Statements(*parts, self.n_rows, self.n_sources, self.n_classes, self.weight)

    def some(self, rows: Index) -> "Statements":
        """The answers to some rows, which are numbered anew."""
        place = np.full(self.n_rows, -1)
        place[rows] = np.arange(len(rows))
        kept = place[self.rows] >= 0
        parts = place[self.rows[kept]], self.sources[kept], self.labels[kept]
        return Statements(*parts, len(rows), self.n_sources, self.n_classes, self.weight)


class Fit(NamedTuple):
    """The chances of the classes and the confusions at the end of EM; ``evidence`` is the logarithm of the product."""

    chances: Array
    evidence: Array
    confusion: Array
    log_prior: Array


@dataclass(frozen=True)
class SourceFit:
    """What answers say of rows and sources, before shared errors.

    Parameters
    ----------
    chances : array of shape (n_rows, n_classes)
        The chance of each class that the answers and the belief speak for.
    confusion : array of shape (n_sources, n_classes, n_classes)
        The chance of each answer (last axis) by source and class.
    evidence : array of shape (n_rows, n_classes)
        The chances by the answers alone, for classes that are equally frequent.
    frequency : array of shape (n_classes,)
        The shares of the classes, as far as they were learned.
    score : float
        The mean log-probability of answers that were held out.
    """

    chances: Array
    confusion: Array
    evidence: Array
    frequency: Array
    score: float


def fit_sources(answers: Statements, belief: Array | None = None, truth: Index | None = None) -> SourceFit:
    """Fit confusions and chances; ``truth`` has the classes of checked rows, and -1 for the others."""
    alone = _averaged(answers, None, truth)
    if belief is None:
        return alone
    seen = _averaged(answers, np.log(np.maximum(belief, 1e-3)), truth)
    share = _earned(seen.score - alone.score, FEATURES_EARN)
    parts = zip(vars(seen).values(), vars(alone).values(), strict=True)
    mixed = SourceFit(*(share * one + (1 - share) * other for one, other in parts))
    unanswered = np.bincount(answers.rows, minlength=answers.n_rows) == 0
    mixed.chances[unanswered] = seen.chances[unanswered]
    return mixed


def _averaged(answers: Statements, log_belief: Array | None, truth: Index | None) -> SourceFit:
    """Average over strengths by how well each predicts answers, and over equal and estimated shares of classes."""
    known = None if truth is None or not (truth >= 0).any() else truth
    rows = np.arange(answers.n_rows)
    if answers.n_rows > CHOICE_ROWS:
        rows = np.linspace(0, answers.n_rows - 1, CHOICE_ROWS).astype(np.intp)
    part = answers if len(rows) == answers.n_rows else answers.some(rows)
    belief = None if log_belief is None else log_belief[rows]
    settings: list[tuple[float, bool, float]] = []
    scores = {}
    for estimated in (False, True) if belief is None and not part.detectors().any() else (False,):
        total = _held_out(part, estimated, belief, None if known is None else known[rows])
        shares = softmax(total)
        scores[estimated] = float(shares @ total) / len(part.rows)
        settings += [(strength, estimated, share) for strength, share in zip(STRENGTHS, shares, strict=True)]
    free = _earned(scores[True] - scores[False], SHARES_EARN) if True in scores else 0.0
    settings = [(strength, kind, share * (free if kind else 1 - free)) for strength, kind, share in settings]
    settings = [setting for setting in settings if setting[2] > 1e-9]
    fits = {(strength, kind): _em(answers, strength, kind, log_belief, known) for strength, kind, _ in settings}
    total_share = sum(share for *_, share in settings)
    chosen = [(fits[strength, kind], share / total_share) for strength, kind, share in settings]
    score = (1 - free) * scores[False] + (free * scores[True] if free else 0.0)
    chances = np.sum([share * _doubted(fit, known) for fit, share in chosen], axis=0)
    confusion = np.sum([share * fit.confusion for fit, share in chosen], axis=0)
    evidence = np.sum([share * softmax(fit.evidence, axis=1) for fit, share in chosen], axis=0)
    learned = free if belief is None else 1.0
    frequency = learned * chances.mean(axis=0) + (1 - learned) / answers.n_classes
    return SourceFit(chances, confusion, evidence, frequency, score)


def _doubted(fit: Fit, truth: Index | None) -> Array:
    """The chances of the classes, where the answers to any row are misleading with a small chance."""
    said = (1 - MISLEADING) * softmax(fit.evidence, axis=1) + MISLEADING / fit.evidence.shape[1]
    return _with_truth(softmax(fit.log_prior + np.log(said), axis=1), truth)


def _with_truth(chances: Array, truth: Index | None) -> Array:
    if truth is not None:
        rows = np.flatnonzero(truth >= 0)
        chances[rows] = np.eye(chances.shape[1])[truth[rows]]
    return chances


def _earned(gain: float, scale: tuple[float, float]) -> float:
    return float(expit((gain - scale[0]) / scale[1]))


def _em(
    answers: Statements,
    strength: float,
    estimated: bool,
    log_belief: Array | None,
    truth: Index | None = None,
    most_rounds: int = MOST_ROUNDS,
) -> Fit:
    """Expectation and maximisation, from the votes."""
    m, n_classes, own = answers.n_sources, answers.n_classes, answers.weight[answers.sources]
    cells = answers.sources * n_classes + answers.labels
    said = sp.csr_array((own, (answers.rows, cells)), shape=(answers.n_rows, m * n_classes))
    detectors = answers.detectors()
    # A row with one answer says nothing about who is right, unless something else is known of the row.
    telling = np.bincount(answers.rows, minlength=answers.n_rows) > 1
    if truth is not None:
        telling |= truth >= 0
    if log_belief is not None:
        telling[:] = True
    single = np.asarray(np.bincount(answers.labels, own * ~telling[answers.rows], n_classes), dtype=np.float64)
    transposed = said.T.tocsr()[:, telling]
    votes = answers.votes + (answers.votes.sum(axis=0) + LEAST) / own.sum()
    chances = votes / votes.sum(axis=1, keepdims=True)
    if log_belief is not None:
        chances = softmax(np.log(chances) + log_belief, axis=1)
    chances = _with_truth(chances, truth)
    for _ in range(most_rounds):
        counts = np.asarray(transposed @ chances[telling]).reshape(m, n_classes, n_classes).transpose(0, 2, 1)
        pattern = _patterns(counts, single)
        confusion = (counts + strength * pattern) / (counts.sum(axis=2, keepdims=True) + strength)
        if detectors.any():
            only = answers.counts[detectors].argmax(axis=1)
            confusion[detectors] = _one_class(counts[detectors], only, seen=log_belief is not None)
        logs = np.log(np.maximum(confusion, LEAST))
        evidence = np.asarray(said @ logs.transpose(0, 2, 1).reshape(m * n_classes, n_classes))
        if log_belief is not None:
            prior = log_belief
        elif estimated:
            prior = np.log((chances.sum(axis=0) + 1) / (len(chances) + n_classes))[None]
        else:
            prior = np.full((1, n_classes), -np.log(n_classes))
        new = _with_truth(softmax(evidence + prior, axis=1), truth)
        moved, chances = np.abs(new - chances).max(), new
        if moved < STILL:
            break
    return Fit(chances, evidence, confusion, np.broadcast_to(prior, chances.shape))


def _held_out(answers: Statements, estimated: bool, log_belief: Array | None, truth: Index | None) -> Array:
    """The log-probability of all answers by strength, where each is predicted from the others by folds."""
    order = np.argsort(answers.rows, kind="stable")
    fold = np.empty(len(order), dtype=np.intp)
    fold[order] = np.arange(len(order)) % N_FOLDS  # the answers to one row are spread over folds
    folds = range(N_FOLDS if len(order) <= FEW_ANSWERS else 1)
    total = np.zeros(len(STRENGTHS))
    for k in folds:
        rest, out = answers.without(fold == k), np.flatnonzero(fold == k)
        i, j, a = answers.rows[out], answers.sources[out], answers.labels[out]
        for position, strength in enumerate(STRENGTHS):
            fit = _em(rest, strength, estimated, log_belief, truth, ROUNDS_TO_COMPARE)
            chance = np.sum(fit.chances[i] * fit.confusion[j, :, a], axis=1)
            total[position] += np.sum(np.log(np.maximum(chance, LEAST)))
    return total * len(order) / max(int(np.count_nonzero(fold < len(folds))), 1)


def _patterns(counts: Array, single: Array) -> Array:
    """The common pattern of confusion, moved to the accuracy of each source.

    ``single`` are the numbers of answers by label in rows with nothing but one answer, which are as good as the others.
    """
    m, n_classes, _ = counts.shape
    each = np.arange(n_classes)
    usual, worth = USUAL_ACCURACY
    right, total = np.trace(counts, axis1=1, axis2=2), counts.sum(axis=(1, 2))
    mean = (right.sum() + worth * usual) / (total.sum() + worth)
    pooled = counts.sum(axis=0) + (worth + single) * np.where(np.eye(n_classes), mean, (1 - mean) / (n_classes - 1))
    pooled /= pooled.sum(axis=1, keepdims=True)
    accuracy = _accuracies(right, total, mean)
    shift = _logit(accuracy) - _logit(mean)
    diagonal = expit(_logit(pooled[each, each]) + shift[:, None])
    # The sources together stay at the common pattern, whatever the spread of their accuracies.
    share = (total + LEAST) / (total.sum() + m * LEAST)
    diagonal = expit(_logit(diagonal) + _logit(pooled[each, each]) - _logit(share @ diagonal))
    wrong = pooled * (1 - np.eye(n_classes))
    wrong /= np.maximum(wrong.sum(axis=1, keepdims=True), LEAST)
    pattern = (1 - diagonal)[:, :, None] * wrong
    pattern[:, each, each] = diagonal
    return pattern


def _logit(chance: Array | float) -> Array:
    return np.asarray(logit(np.clip(chance, *INSIDE)))


def _accuracies(right: Array, total: Array, mean: float) -> Array:
    """The share of right answers of every source, drawn towards the mean of all as far as their spread says."""
    spread = np.sum(total * (right / np.maximum(total, LEAST) - mean) ** 2) / max(total.sum(), LEAST)
    spread = max(spread - mean * (1 - mean) * len(total) / max(total.sum(), 1.0), 1e-4)
    worth = np.clip(mean * (1 - mean) / spread - 1, 1, 200)
    return np.asarray((right + worth * mean) / (total + worth))


def _one_class(counts: Array, only: Index, *, seen: bool) -> Array:
    """The chances of the answers of sources that know one class, ``only``.

    Each answer is as good as the mean of them, unless features say how good every source is.
    """
    n_classes = counts.shape[1]
    right, total = counts[np.arange(len(only)), only, only], counts.sum(axis=(1, 2))
    usual, worth = USUAL_ACCURACY
    mean = (right.sum() + worth * usual) / (total.sum() + worth)
    good = np.clip(_accuracies(right, total, mean) if seen else np.full(len(only), mean), *INSIDE)
    chances = np.full(counts.shape, LEAST)
    for j, label in enumerate(only):
        chances[j, :, label] = np.where(np.arange(n_classes) == label, good[j], (1 - good[j]) / (n_classes - 1))
    return chances


class Copy(NamedTuple):
    """Two sources of which one copies the other in this share of the rows, or both copy a third."""

    one: int
    other: int
    share: float


def copied_sources(answers: Statements) -> tuple[Array, list[Copy]]:
    r"""Return the weight of each source, and the pairs of sources that copy each other.

    Beyond chance, honest sources agree as :math:`\rho_j \rho_l`, where :math:`\rho_j` says how well source j knows the
    truth. The :math:`\rho` are fitted to all pairs of sources, robustly, so that a few copies do not move them.
    """
    m, n_classes = answers.n_sources, answers.n_classes
    by_class = [
        sp.csr_array(
            (np.ones(np.count_nonzero(here)), (answers.rows[here], answers.sources[here])), (answers.n_rows, m)
        )
        for here in (answers.labels == label for label in range(n_classes))
    ]
    every = sp.csr_array(sum(by_class[1:], by_class[0]))
    common = sp.coo_array(sp.triu(every.T @ every, 1))
    enough = common.data >= COMMON_ROWS
    one, other = (axis[enough].astype(np.intp) for axis in common.coords)
    if not len(one):
        return np.ones(m), []
    n_common = common.data[enough]
    alike = sp.csr_array(sum(part.T @ part for part in by_class))[one, other]
    agreed = np.asarray(alike.todense() if sp.issparse(alike) else alike).ravel()
    shares = answers.counts + 0.5
    shares /= shares.sum(axis=1, keepdims=True)
    chance = np.sum(shares[one] * shares[other], axis=1)
    kappa = (agreed / n_common - chance) / (1 - chance)
    rate = (agreed + 1) / (n_common + 2)
    error = np.sqrt(rate * (1 - rate) / n_common) / (1 - chance)
    knowledge = _knowledge(one, other, kappa, error, m)
    expected = knowledge[one] * knowledge[other]
    excess = np.clip((kappa - expected) / (1 - expected), 0, 1)
    sure = expit(2 * ((kappa - expected) / error - COPIED_ERRORS)) * expit((excess - COPIED_SHARE) / 0.03)
    excess *= sure
    weight = 1 / (1 + np.bincount(one, excess, m) + np.bincount(other, excess, m))
    found = [Copy(int(one[t]), int(other[t]), float(excess[t])) for t in np.flatnonzero(sure > 0.5)]
    return weight, sorted(found, key=lambda copy: -copy.share)


def _knowledge(one: Index, other: Index, kappa: Array, error: Array, m: int) -> Array:
    """Fit ``kappa = rho[one] * rho[other]`` with bounded influence of each pair, from the median of every source."""
    rho = np.full(m, 0.3)
    order = np.argsort(np.concatenate([one, other]), kind="stable")
    ends, values = np.concatenate([one, other])[order], np.concatenate([kappa, kappa])[order]
    for part in np.split(np.arange(len(ends)), np.flatnonzero(np.diff(ends)) + 1):
        rho[ends[part[0]]] = np.sqrt(np.clip(np.median(values[part]), 0.0025, 0.98))
    for _ in range(200):
        weight = 1 / (error * (1 + ((kappa - rho[one] * rho[other]) / error / 3) ** 2)) ** 2
        up = np.bincount(one, weight * kappa * rho[other], m) + np.bincount(other, weight * kappa * rho[one], m)
        down = np.bincount(one, weight * rho[other] ** 2, m) + np.bincount(other, weight * rho[one] ** 2, m)
        new = (rho + np.clip(np.where(down > 0, up / np.maximum(down, 1e-12), rho), -0.3, 0.995)) / 2
        moved, rho = np.abs(new - rho).max(), new
        if moved < 1e-9:
            break
    return rho


def agreement(answers: Statements) -> tuple[float, float]:
    """Return the share of pairs of answers to one row that agree, and Krippendorff's alpha; NaN without such pairs.

    >>> import numpy as np
    >>> rows, sources = np.repeat(np.arange(4), 2), np.tile(np.arange(2), 4)
    >>> agreement(Statements(rows, sources, np.array([0, 0, 1, 1, 0, 0, 1, 0]), 4, 2, 2, np.ones(2)))
    (0.75, 0.5333...)
    """
    cells = answers.rows * answers.n_classes + answers.labels
    votes = np.bincount(cells, minlength=answers.n_rows * answers.n_classes).reshape(answers.n_rows, -1).astype(float)
    per_row = votes.sum(axis=1)
    votes, per_row = votes[per_row > 1], per_row[per_row > 1]
    if not len(votes):
        return np.nan, np.nan
    differ = np.sum(votes * (per_row[:, None] - votes), axis=1)
    raw = 1 - differ.sum() / np.sum(per_row * (per_row - 1))
    total = votes.sum(axis=0)
    by_chance = np.sum(total * (total.sum() - total)) / (total.sum() - 1)
    return float(raw), float(1 - np.sum(differ / (per_row - 1)) / by_chance) if by_chance else 1.0


def shared_prior(answers: Statements, models: float, unknown: float) -> tuple[float, float]:
    """Return the mean and the standard deviation of the chance that all sources are misled by a row together.

    ``models`` and ``unknown`` are the shares of the answers that came from language models and from sources of unknown
    kind. The reliability of the joint answer is that of Spearman and Brown, from Krippendorff's alpha and the number of
    answers per row. Measured on 8 sets of people's answers (mean .10 with features, .14 without) and 6 of language
    models (.33 to .89): docs/decisions/0015.
    """
    alpha = agreement(answers)[1]
    per_row = len(answers.rows) / max(answers.n_answered, 1)
    alpha = 1.0 if np.isnan(alpha) else max(alpha, 0.0)
    reliability = per_row * alpha / (1 + (per_row - 1) * alpha)
    misled = float(np.clip(MODELS_SHARED[0] - MODELS_SHARED[1] * reliability, *MODELS_LIMITS))
    bar = UNRELIABLE[0] + UNRELIABLE[1] * per_row / answers.n_sources
    each = np.bincount(answers.rows).astype(np.float64)
    highest = min(alpha + 2 / np.sqrt(max(float(each @ (each - 1)) / 2, 1.0)), 1.0)  # few pairs of answers say little
    highest = per_row * highest / (1 + (per_row - 1) * highest)
    by_models = models + unknown * MODELS_AT_MOST * float(expit((bar - highest) / UNRELIABLE_STEP))
    mean = (1 - by_models) * PEOPLE_SHARED[0] + by_models * misled
    spread = (1 - by_models) * PEOPLE_SHARED[1] ** 2 + by_models * MODELS_SPREAD**2
    spread += by_models * (1 - by_models) * (misled - PEOPLE_SHARED[0]) ** 2
    return mean, float(np.sqrt(spread))


class Shared(NamedTuple):
    """The chance that a row misleads all sources: its values, and the probability of each."""

    values: Array
    probability: Array

    @property
    def mean(self) -> float:
        return float(self.probability @ self.values)

    @property
    def deviation(self) -> float:
        return float(np.sqrt(self.probability @ (self.values - self.mean) ** 2))

    def quantile(self, level: float) -> float:
        return float(np.interp(level, np.cumsum(self.probability), self.values))


def learn_shared(prior: tuple[float, float], chance: Array, share: Array) -> Shared:
    """Return the posterior of the chance that all sources are misled, a beta prior times the checked rows.

    ``chance`` has the chance of the true class of each checked row by the answers to it, and ``share`` the share of
    this class among all rows.
    """
    mean, deviation = prior
    worth = mean * (1 - mean) / deviation**2 - 1
    values = np.linspace(0.0025, 0.9975, 400)
    logs = (worth * mean - 1) * np.log(values) + (worth * (1 - mean) - 1) * np.log1p(-values)
    for right, frequency in zip(chance.tolist(), share.tolist(), strict=True):
        logs = logs + np.log((1 - values) * right + values * frequency + 1e-12)
    return Shared(values, softmax(logs))


def with_shared_errors(fit: SourceFit, shared: float) -> Array:
    """The chances of the true class, where all sources are misled together with the chance ``shared``.

    The shares of the classes are known no better than the rows.
    """
    return (1 - shared) * fit.chances + shared * class_shares(fit, shared)


def class_shares(fit: SourceFit, shared: float) -> Array:
    """The shares of the classes, where all sources are misled together with the chance ``shared``."""
    return (1 - shared) * fit.frequency + shared / len(fit.frequency)
