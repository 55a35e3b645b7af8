r"""Which answers to "are these two records the same?" are wrong: features, answers and other pairs in one posterior.

Entities number thousands, with two or three records each, so a model of classes has nothing to learn. What repeats from
pair to pair is how *alike* two records of one entity are. So the pairs themselves are the samples: their features
(:mod:`.features`) and their labels are the data of the label noise model (:mod:`kernelwise.noise`). With
the score :math:`s_{ab}` of a pair out of sample and its answers :math:`y_1, y_2, \dots`, the log-odds of "the same" are

.. math::
   l_{ab} = \operatorname{logit} P(+ \mid s_{ab})
   + \sum_t w_t \log \frac{P(y_t \mid +, s_{ab})}{P(y_t \mid -, s_{ab})} + \tau_{ab},

where :math:`\tau_{ab}` is what the triangles of the pair say (:mod:`.transitivity`). Every figure comes from these
log-odds: the quality of an answer is the chance that the pair is as the answer says, and the precisions are the means
of these qualities.

Where ten pairs or more have both answers, the disagreement tells the rates (:mod:`.repeated`), and takes the place of
the label noise model.

What is known of a precision is less than its estimate. If classes overlap, the settings of the noise model give a range
of precisions; if they do not, every label that is not the most probable label at its score is wrong. The interval holds
both, with the error of counting.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, softmax
from scipy.stats import norm
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from ..checks import Array, Index, Mask
from ..noise.explanations import ExplainedNoise, explain_label_noise
from ..noise.two_classes import TwoClassPosterior, interval_of
from ..progress import Progress, Tell, teller
from ..review import PairAudit
from ..review.audit import Interval
from ..review.diagnosis import WEAK_SCORES, WIDE_RANGE, CheckedPairs, diagnose
from ..samples import balanced_folds
from ..scoring.logistic import logistic_path
from ..scoring.pool import ScorePool, View, grown_forest, weigh
from ..statements import PairNoise, Pairs
from ..statements.graph import key_pairs, pair_keys
from ..statements.verdicts import Verdicts
from ..ties import NEARLY, most_probable
from .features import CUT, pair_features
from .repeated import answers_differ, explain_repeated_answers
from .transitivity import add_transitivity

#: The least number of different pairs: fewer pairs do not tell what pairs of one entity look like.
LEAST_PAIRS = 20
N_FOLDS = 5
#: A precision whose interval is wider is not known. The share of all wrong answers may be known all the same, because
#: pairs given as the same are a minority.
WIDE_PRECISION = 0.3
#: Chances of labels have this lower bound, as in the noise model.
FLOOR = 1e-4
#: The log-odds of a checked pair in triangles.
CERTAIN = 10.0


def audit_record_pairs(
    records: Any, pairs: Pairs, *, checked: Verdicts | None = None, random_state: Any = None, progress: Progress = None
) -> PairAudit:
    """Find wrong answers to the question whether two records describe the same thing; no checked answer is needed.

    Use this function for duplicates and for matches between two tables, where an entity has a few records. For pairs
    that speak of a few large classes use :func:`audit_pairs`.

    Parameters
    ----------
    records : DataFrame, array or list of rows, list of strings, or matrix of numbers, of n_samples records
        See :func:`pair_features`. Rows of two tables are put below each other.
    pairs : Pairs
        +1: the two records are said to be the same. -1: they are said to differ. Answers of several people are several
        entries of the same pair; each entry is a vote. Weights are votes too, relative to the mean weight. Give all
        answers rather than their majority: where answers to the same pair differ, they tell how often answers are
        wrong, and the share of wrong answers is known far better.
    checked : Verdicts, optional
        What people found who checked some answers: positions in the list of pairs, with 1 or -1. See
        :func:`plan_checks`. The truth of a checked pair is learned from instead of its answers, it is certain, also in
        triangles, and it calibrates the qualities of all other answers. If the pairs were drawn by a plan, the
        intervals are those of :meth:`PairNoise.guaranteed`.
    random_state : int, RandomState or None, default=None
        For the folds and the forests.
    progress : bool or callable, optional
        True prints how much is done, and the time that is left, on the standard error after 10 seconds. A function is
        called with the number of steps that are done, and the number of all steps.

    Returns
    -------
    PairAudit
        ``quality`` of every answer, ``order``, ``suggested`` labels, ``noise`` (a :class:`PairNoise`), ``intervals``,
        and ``diagnostic``: ``kind`` ("records"), ``reliable`` and ``reason`` (whether the figures are an answer, in
        words), ``wrong_interval`` (the range of the share of wrong answers of both kinds together),
        ``separability`` (how well the features tell the given labels apart; 0.5 is chance), ``n_triangles`` (the number
        of triples of records whose three pairs are all given) and ``n_differing`` (the number of pairs with both
        answers).

    Notes
    -----
    Answers that follow the features are taken for right: if everybody calls a product and its spare part the same, the
    audit learns it from them. Intervals speak of other errors only.

    Time grows linearly with the number of pairs, apart from triangles.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Pairs, audit_record_pairs
    >>> rng = np.random.default_rng(0)
    >>> names = ["".join(rng.choice(list("abcdefghij"), 8)) for _ in range(60)]
    >>> records = names + [name[:3] + "x" + name[3:] for name in names]  # every name again, with a typing error
    >>> rows, cols = np.tile(np.arange(60), 3), 60 + np.concatenate([np.arange(60), rng.integers(0, 60, 120)])
    >>> truth = np.where(cols - 60 == rows, 1, -1)
    >>> given = np.where(np.arange(180) % 15 == 0, -truth, truth)
    >>> audit = audit_record_pairs(records, Pairs(rows, cols, given, n_samples=120), random_state=0)
    >>> bool((given != truth)[audit.order[:12]].all())
    True
    """
    if not isinstance(pairs, Pairs):
        raise TypeError(f"pairs must be a kernelwise.Pairs, got {type(pairs).__name__}")
    keys, position = np.unique(pair_keys(pairs.rows, pairs.cols), return_inverse=True)
    _check_enough(pairs, len(keys))
    tell = teller(progress, "comparing records")
    rng = check_random_state(random_state)
    rows, cols = key_pairs(keys)
    # The votes for -1 and for +1 on each distinct pair, in units of the mean weight of an entry.
    weights = pairs.weights / pairs.weights.mean()
    votes: Any = np.stack([np.bincount(position, weights * (pairs.labels == sign), len(keys)) for sign in (-1, 1)])
    found = CheckedPairs.of(checked, pairs, position, len(keys))
    learned = np.where(found.truth == 0, votes, [found.truth < 0, found.truth > 0])
    distinct = Pairs(rows, cols, np.where(votes[1] > votes[0], 1, -1), n_samples=pairs.n_samples)
    features = pair_features(records, distinct).values
    tell(1, N_STEPS)
    scores = _scores(np.clip(StandardScaler().fit_transform(features), -CUT, CUT), learned, rng, tell)
    answered, label = np.nonzero(votes.T > 0)
    weight = votes[label, answered]
    if answers_differ(votes):
        noise, own = explain_repeated_answers(scores, votes, rng)
        probable = most_probable(noise.true_probabilities(scores))
    else:
        noise = explain_label_noise(scores[answered], label, weight)
        own, probable = _log_odds(noise, scores, votes), most_probable(scores)
    known = np.where(found.truth == 0, own, CERTAIN * found.truth)
    log_odds, n_triangles = add_transitivity(known, rows, cols, pairs.n_samples)
    belief = noise.true_probabilities(scores)[:, 1]
    # What a checked pair is compared with in the calibration does not know its own verdict.
    same = found.calibrated(belief, expit(log_odds - known + own), votes[1] > votes[0])[position]
    tell(N_STEPS, N_STEPS)
    answers = Answers(scores[answered], label, weight, probable[answered] == label)
    counts = {"n_triangles": n_triangles, "n_differing": int((votes.min(axis=0) > 0).sum())}
    audit = _summary(pairs, same, noise, answers, counts)
    intervals, words = found.guaranteed(audit.noise, dict(audit.intervals)), found.words(WIDE_RANGE)
    return replace(audit, intervals=intervals, diagnostic={**audit.diagnostic, **words}, checked=checked)


class Answers(NamedTuple):
    """The distinct answers: scores and label of each, its votes, and whether the records make it the more probable."""

    scores: Array
    label: Index
    weight: Array
    probable: Mask


#: The features, three views of the pairs, and the noise model with the triangles.
N_STEPS = 5


def _check_enough(pairs: Pairs, n_distinct: int) -> None:
    for sign, word in ((1, "the same (+1)"), (-1, "different (-1)")):
        if not (pairs.labels == sign).any():
            raise ValueError(
                f"pairs has no pair that is given as {word}, so nothing tells what such pairs look like; add some, for "
                "instance pairs drawn at random for -1"
            )
    if n_distinct < LEAST_PAIRS:
        raise ValueError(f"pairs has {n_distinct} different pairs, too few to judge each other; give {LEAST_PAIRS}")


def _scores(Z: Array, votes: Array, rng: np.random.RandomState, tell: Tell) -> Array:
    """Return log-probabilities of the answers -1 and +1 for every pair, by models that did not see its answers."""
    decided = np.flatnonzero(votes[0] != votes[1])
    given = (votes[1] > votes[0])[decided].astype(np.intp)
    if len(np.unique(given)) < 2:
        raise ValueError("pairs agree on one label wherever their votes are not equal; add pairs with the other label")
    X, Y, weight = Z[decided], 2.0 * given[:, None] - 1.0, np.ones(len(decided))

    def mean_loss(logs: Array) -> float:
        return -float(np.maximum(logs[np.arange(len(given)), given], np.log(FLOOR)).mean())

    fold = balanced_folds(given, N_FOLDS, rng)
    views = [View("logistic", *logistic_path(X, given, 2, weight, fold, mean_loss))]
    tell(2, N_STEPS)
    for step, share in enumerate((0.0, 1.0), start=3):
        views.append(grown_forest(share, X, Y, weight, rng))
        tell(step, N_STEPS)
    pool: ScorePool = weigh(views, given, weight)
    scores = np.empty((len(Z), 2))
    scores[decided] = pool.out_of_sample
    if len(tied := np.setdiff1d(np.arange(len(Z)), decided)):
        scores[tied] = pool(Z[tied])
    return scores


def _log_odds(noise: ExplainedNoise, scores: Array, votes: Array) -> Array:
    """Return the log-odds of "the same" by features and answers; each vote adds what one answer adds at its score."""

    def odds(probabilities: Array) -> Array:
        return logit(np.clip(probabilities[:, 1], FLOOR, 1 - FLOOR))

    before = odds(noise.true_probabilities(scores))
    found = before.copy()
    for label in (0, 1):
        found += votes[label] * (odds(noise.label_posterior(scores, np.full(len(scores), label))) - before)
    return found


def _summary(pairs: Pairs, same: Array, noise: ExplainedNoise, answers: Answers, counts: dict[str, int]) -> PairAudit:
    """Return the audit; ``same`` are the chances of all entries of ``pairs``."""
    positive = pairs.labels > 0
    quality = np.where(positive, same, 1.0 - same)
    d_neg, d_pos = (float(np.average(quality[kind], weights=pairs.weights[kind])) for kind in (~positive, positive))
    share = float(np.average(positive, weights=pairs.weights))
    ranges = _ranges(noise, answers)
    low, high = (
        [min(ranges[0][0], d_neg), min(ranges[1][0], d_pos)],
        [max(ranges[0][1], d_neg), max(ranges[1][1], d_pos)],
    )
    intervals: dict[str, Interval] = {
        "prior": (share * low[1] + (1 - share) * (1 - high[0]), share * high[1] + (1 - share) * (1 - low[0])),
        "precision_positive": (low[1], high[1]),
        "precision_negative": (low[0], high[0]),
    }
    rate = 1.0 - float(np.average(quality, weights=pairs.weights))
    interval = min(noise.interval[0], rate), max(noise.interval[1], rate)
    diagnostic = diagnose(noise, rate, interval, answers.scores, answers.label) | {"kind": "records"} | counts
    diagnostic["wrong_interval"] = interval
    diagnostic |= _verdict(interval, (low[1], high[1]), diagnostic["separability"])
    return PairAudit(
        pairs,
        quality,
        np.where(same >= 0.5 - NEARLY, 1, -1),
        PairNoise(share * d_pos + (1 - share) * (1 - d_neg), d_pos, d_neg),
        intervals,
        diagnostic,
    )


def _verdict(wrong: Interval, precision: Interval, separability: float) -> dict[str, Any]:
    """Return whether the figures are an answer, and why, from ranges of wrong answers and of right ones among +1."""
    remedy = "Checking a few dozen pairs, drawn at random from each kind, would settle it."
    shown = (
        f"between {wrong[0]:.1%} and {wrong[1]:.1%} of the answers are wrong, without errors that follow a rule in the "
        f"records. Of the pairs given as the same, between {precision[0]:.1%} and {precision[1]:.1%} are right."
    )
    if separability < WEAK_SCORES:
        reason = (
            "The records hardly tell pairs that are given as the same from pairs that are given as different, so the "
            f"records say nothing about wrong answers. {remedy}"
        )
        return {"reliable": False, "reason": reason}
    if wrong[1] - wrong[0] > WIDE_RANGE or precision[1] - precision[0] > WIDE_PRECISION:
        reason = f"Records that only look alike and answers that are wrong cannot be told apart here: {shown} {remedy}"
        return {"reliable": False, "reason": reason}
    return {"reliable": True, "reason": shown[0].upper() + shown[1:]}


def _ranges(noise: ExplainedNoise, answers: Answers) -> list[Interval]:
    """Return the range of the share of right answers among the answers -1 and among the answers +1."""
    overlap, found = noise.overlap, []
    for given in (0, 1):
        mine = answers.label == given
        rows, mass = answers.scores[mine], answers.weight[mine]
        if isinstance(overlap, TwoClassPosterior):
            right, widths = overlap.right[:, given], overlap.widths
        else:
            right, widths = np.empty(len(overlap.weights)), None
            for setting, (slope, offset, transition) in enumerate(
                zip(overlap.slopes, overlap.offsets, overlap.transitions, strict=True)
            ):
                true = softmax(slope * rows + offset, axis=1) * np.maximum(transition[:, given], FLOOR)
                right[setting] = mass @ (true[:, given] / true.sum(axis=1)) / mass.sum()
        apart = float(mass @ answers.probable[mine] / mass.sum())  # if classes do not overlap
        # As if there were one more right and one more wrong answer, so that no error is zero.
        error = np.sqrt((apart * (1 - apart) + 1 / mass.sum()) / mass.sum())
        low, high = interval_of(right, overlap.weights, 0.95, float(error), widths)
        margin = float(norm.ppf(0.975) * error)
        found.append((max(min(low, apart - margin), 0.0), min(max(high, apart + margin), 1.0)))
    return found
