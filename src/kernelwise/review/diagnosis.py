r"""What a few checked labels tell of the labels that nobody checked, and what may be said of the share of wrong labels.

The noise model says :math:`P(\text{true} = k \mid s)` from the scores alone, the *belief*, and :math:`P(\text{true} = k
\mid s, \text{given})`, the *posterior*; the ratio of the two is the *evidence* of the given label. Which explanation of
the labels holds, how often each class is wrong and how far scores can be trusted is what the labels alone cannot tell
and checked rows can. With ``g`` the given label,

.. math:: P(\text{true} = k) \propto \exp\bigl( e^a \log \text{belief}_k + e^b \log \text{evidence}_k
          + (c + c_g) [k = g] + d_k \bigr),

where all of ``a, b, c, c_g, d_k`` are zero without checks: the model as it was. They have normal priors around zero
and are fitted to the labels that people found, so ten checks correct the share of wrong labels (``c``), and a hundred
checks correct much more. A checked row itself is certain.

How far the model may be from the truth is unknown, too: scores of people's errors are nearly right, and where errors
follow the features they mean next to nothing. Therefore there are several priors (:data:`PRIORS`), from narrow to wide.
The evidence of each, :math:`\int P(\text{found labels} \mid z) \, P(z) \, dz` by Laplace's approximation, says how well
it foretells what people found, and the posteriors are averaged with it.

Rows that were drawn at random tell how many labels are wrong. Rows that were *chosen* because they are suspect are
wrong more often or less often than the model says, for reasons of their own; they have a further ``f [k = g]``, which
no other row has. So they tell which labels are wrong, and the share of wrong labels is left to the drawn rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_softmax, logit, softmax
from scipy.stats import norm, rankdata

from ..noise.explanations import ExplainedNoise
from ..statements import PairNoise, Pairs
from ..statements.verdicts import Verdicts, draw_weights, strata_of
from .guarantee import Guarantee, guaranteed_share

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Interval = tuple[float, float]
#: Standard deviations under each prior: of ``a`` and ``b``, of ``c`` and ``f``, of each ``c_g`` and of each ``d_k``.
PRIORS = ((0.1, 1.0, 0.2, 0.1), (0.3, 1.0, 0.5, 0.25), (1.0, 1.0, 1.0, 0.5))
#: Batch size: so many numbers at a time.
AT_ONCE = 1_000_000
#: Probabilities are kept away from zero, so that no checked row is impossible; log-odds are moved by less than this.
LOWEST, FARTHEST = 1e-9, 30.0
#: Below this separability, nothing is known about the noise.
WEAK_SCORES = 0.55
#: A range that is wider than this is not called an answer.
WIDE_RANGE = 0.15
#: What every figure of an audit of labels speaks of.
CLAIM = (
    "Errors that follow a rule in the features are not counted: such an error looks like the truth, and nobody can see "
    "it in the labels alone."
)
#: What a person can do about a wide range.
REMEDY = "Checking a few dozen rows, drawn at random, would settle it."
#: What the figures speak of when checked rows were drawn by a plan.
CHECKED_CLAIM = (
    "The range follows from the rows that were drawn at random and checked; it holds for all errors, whatever the "
    "model believes. The chances of single labels are the model's, calibrated on the checked rows."
)


@dataclass(frozen=True)
class Recalibration:
    """The fitted parameters under each prior, and the probability of each prior.

    Parameters
    ----------
    shares : array of shape (n_priors,)
    slopes : array of shape (n_priors, 2)
        exp(a) and exp(b).
    offsets, classes : arrays of shape (n_priors, n_classes)
        c + c_g by given class, and d_k.
    """

    shares: Array
    slopes: Array
    offsets: Array
    classes: Array

    def posterior(self, belief: Array, posterior: Array, given: Index) -> Array:
        """Return P(true | row), where ``given`` is the position of the given class."""
        prior, evidence = _log(belief), _log(posterior) - _log(belief)
        found = np.zeros_like(prior)
        for share, (a, b), offsets, classes in self._each_prior():
            logits = a * prior + b * evidence + classes
            logits[np.arange(len(given)), given] += offsets[given]
            found += share * softmax(logits, axis=1)
        return found

    def true_probabilities(self, belief: Array) -> Array:
        """Return P(true | row) for rows whose label was not seen."""
        prior = _log(belief)
        parts = (share * softmax(a * prior + classes, axis=1) for share, (a, _), _, classes in self._each_prior())
        return np.sum(list(parts), axis=0)

    def _each_prior(self) -> Iterator[tuple[float, Array, Array, Array]]:
        return zip(self.shares.tolist(), self.slopes, self.offsets, self.classes, strict=True)


def recalibrate(
    belief: Array,
    posterior: Array,
    given: Index,
    rows: Index,
    truth: Index,
    weight: Array | None = None,
    chosen: NDArray[np.bool_] | None = None,
) -> Recalibration:
    """Fit the parameters to the true classes of the checked ``rows``.

    ``given`` and ``truth`` are positions of columns; ``weight`` says how much each checked row counts, and ``chosen``
    which of them were chosen, while others were drawn at random.
    """
    n_classes = belief.shape[1]
    checked = _CheckedRows(
        _log(belief[rows]),
        _log(posterior[rows]) - _log(belief[rows]),
        given[rows],
        truth,
        np.ones(len(rows)) if weight is None else weight,
        np.zeros(len(rows)) if chosen is None else chosen.astype(np.float64),
    )
    fits = [checked.fit(np.repeat(prior, [2, 2, n_classes, n_classes])) for prior in PRIORS]
    z = np.array([best for best, _ in fits])
    by_given, by_true = slice(4, 4 + n_classes), slice(4 + n_classes, None)
    shares = softmax([evidence for _, evidence in fits])
    return Recalibration(shares, np.exp(z[:, :2]), z[:, 2:3] + z[:, by_given], z[:, by_true])


class _CheckedRows(NamedTuple):
    """What the model says of the checked rows, and what people found; ``z`` is (a, b, c, f, c_1 .., d_1 ..)."""

    prior: Array
    evidence: Array
    given: Index
    truth: Index
    weight: Array
    chosen: Array

    def fit(self, spread: Array) -> tuple[Array, float]:
        """Return the most probable ``z``, and the logarithm of the evidence of its prior (Laplace)."""
        true = np.eye(self.prior.shape[1])[self.truth]

        def loss(z: Array) -> tuple[float, Array]:
            logs, features = self._log_chances(z), self._shared_features(z)
            excess = self.weight[:, None] * (np.exp(logs) - true)
            kept = excess[np.arange(len(excess)), self.given]
            by_given = np.bincount(self.given, kept, minlength=excess.shape[1])
            slope = np.concatenate([np.tensordot(features, excess, 2), by_given, excess.sum(axis=0)])
            fit = -np.sum(self.weight[:, None] * logs * true)
            return float(fit + 0.5 * np.sum((z / spread) ** 2)), slope + z / spread**2

        best = minimize(loss, np.zeros(len(spread)), jac=True, method="L-BFGS-B")
        information = spread[:, None] * self._information(best.x) * spread
        return best.x, float(-best.fun - 0.5 * np.linalg.slogdet(information + np.eye(len(spread)))[1])

    def _own(self) -> Array:
        return np.eye(self.prior.shape[1])[self.given]

    def _shared_features(self, z: Array) -> Array:
        """The derivatives of the logits by a, b, c and f: an array of shape (4, n_checked, n_classes)."""
        own = self._own()
        return np.stack([np.exp(z[0]) * self.prior, np.exp(z[1]) * self.evidence, own, self.chosen[:, None] * own])

    def _log_chances(self, z: Array) -> Array:
        n_classes = self.prior.shape[1]
        offset = z[2] + z[3] * self.chosen + z[4 : 4 + n_classes][self.given]
        logits = np.exp(z[0]) * self.prior + np.exp(z[1]) * self.evidence + offset[:, None] * self._own()
        return log_softmax(logits + z[4 + n_classes :], axis=1)

    def _information(self, z: Array) -> Array:
        """Fisher's information about ``z``: the sum over rows of the covariances of the derivatives of the logits."""
        chances, shared = np.exp(self._log_chances(z)), self._shared_features(z)
        n_rows, n_classes = chances.shape
        total = np.zeros((len(z), len(z)))
        for part in np.array_split(np.arange(n_rows), -(-n_rows * n_classes * len(z) // AT_ONCE)):
            features = np.zeros((len(part), n_classes, len(z)))
            features[:, :, :4] = np.moveaxis(shared[:, part], 0, 2)
            features[np.arange(len(part)), self.given[part], 4 + self.given[part]] = 1
            features[:, np.arange(n_classes), 4 + n_classes + np.arange(n_classes)] = 1
            features -= np.einsum("ik,ikj->ij", chances[part], features)[:, None]
            features *= np.sqrt(self.weight[part, None] * chances[part])[:, :, None]
            total += np.tensordot(features, features, ([0, 1], [0, 1]))
        return total


def calibrated(
    belief: Array, posterior: Array, given: Index, truth: Index, weight: Array, guarantee: Guarantee | None
) -> tuple[Array, Recalibration | None]:
    """Return the posterior, calibrated on the checked rows and certain for them, and how it was calibrated.

    ``truth`` has the true classes of the checked rows, and -1 for the other rows; ``weight`` is from :func:`weights`.
    Drawn rows need no weights if strata follow the model, since the model knows where it looks closely. But if the
    calibrated share of wrong labels is outside of the guarantee, each drawn row counts as much as the rows it was drawn
    from, and chosen rows do not count. If it still is outside, the log-odds of all labels are moved to the next end.
    """
    rows = np.flatnonzero(truth >= 0)
    if not len(rows):
        return posterior, None
    low, high = (0.0, 1.0) if guarantee is None else (guarantee.low, guarantee.high)
    for counts in (np.ones(len(rows)), weight[rows]):
        how = recalibrate(belief, posterior, given, rows, truth[rows], counts, weight[rows] == 0)
        found = how.posterior(belief, posterior, given)
        found[rows] = np.eye(belief.shape[1])[truth[rows]]
        rate = np.mean(1 - found[np.arange(len(given)), given])
        if low <= rate <= high:
            break
    else:
        found = _with_share(found, given, truth < 0, float(np.clip(rate, low, high)))
    return found, how


def _with_share(posterior: Array, given: Index, free: NDArray[np.bool_], share: float) -> Array:
    """Move the log-odds of the given labels of the free rows alike, so that this share of all labels is wrong."""
    kept = np.where(free, np.clip(posterior[np.arange(len(given)), given], LOWEST, 1 - LOWEST), 1.0)
    certain = np.sum(1 - posterior[~free, given[~free]])

    def excess(step: float) -> float:
        return float(np.sum(1 - expit(logit(kept[free]) + step)) + certain) / len(given) - share

    if excess(-FARTHEST) < 0 or excess(FARTHEST) > 0:
        return posterior
    moved = np.where(free, expit(logit(np.where(free, kept, 0.5)) + brentq(excess, -FARTHEST, FARTHEST)), kept)
    found = posterior * np.where(free, (1 - moved) / np.maximum(1 - kept, LOWEST), 1.0)[:, None]
    found[free, given[free]] = moved[free]
    return found


def found_labels(checked: Verdicts | None, y: NDArray[Any]) -> dict[int, Any]:
    """Return the true labels of the rows about which people could tell; refuse verdicts that do not fit.

    >>> found_labels(Verdicts([0, 2], ["ham", None]), np.array(["ham", "ham", "spam"]))
    {0: 'ham'}
    """
    if checked is None:
        return {}
    if not isinstance(checked, Verdicts):
        raise TypeError(f"checked must be a kernelwise.Verdicts, got {type(checked).__name__}")
    checked.check_rows(len(y))
    found = {row: label for row, label in checked.found().items() if label is not None}
    are_text = y.dtype.kind in "USO" and any(isinstance(label, str) for label in y[:1].tolist())
    for row, label in found.items():
        if isinstance(label, str) != are_text:
            kind = "text" if are_text else "numbers"
            raise ValueError(
                f"checked says {label!r} for row {row}, but the labels are {kind}; give labels of the same kind"
            )
    if len(found) > 1 and not set(found.values()) & set(y.tolist()):
        some = ", ".join(map(repr, list(dict.fromkeys(found.values()))[:3]))
        raise ValueError(
            f"checked says {some}, and no row has one of these labels; give the labels as the data write them, such as "
            f"{y[:1].tolist()[0]!r}"
        )
    return found


def weights(checked: Verdicts | None, n_rows: int) -> Array:
    """Return how much each row counts in the calibration, if it was checked.

    A drawn row counts for the rows that it was drawn from, so a plan that looks closely at suspects does not make all
    rows look suspect. A chosen row counts for no other row and has the weight zero. The drawn rows together count as
    many rows as they are; if no row was drawn, each counts one.

    >>> weights(Verdicts([0, 1, 2], ["a", "a", "a"], chance=[0.1, 0.3, 1.0]), 4).round(2).tolist()
    [1.54, 0.46, 0.0, 0.0]
    """
    drawn = {} if checked is None else draw_weights(checked)
    if not drawn:
        return np.ones(n_rows)
    unit = sum(drawn.values()) / len(drawn)
    counts = np.zeros(n_rows)
    counts[list(drawn)] = np.array(list(drawn.values())) / unit
    return counts


def _log(probabilities: Any) -> Array:
    return np.log(np.maximum(probabilities, LOWEST))


def guarantee_of(checked: Verdicts | None, labels: Any) -> Guarantee | None:
    """Return the bounds from checked rows; None if no row was drawn at random."""
    if checked is None or not strata_of(checked):
        return None
    return guaranteed_share(labels, checked)


def range_of(
    posterior: ExplainedNoise, rate: float, guarantee: Guarantee | None, error: float = 0.0
) -> tuple[float, float]:
    """Return the range of the share of wrong labels: the guaranteed one, or that over the explanations.

    ``error`` is the standard error of the share if the model learned from a sample of the rows; the range over the
    explanations contains the 95 % interval of this error.
    """
    if guarantee is not None:
        return min(guarantee.low, rate), max(guarantee.high, rate)
    low, high = posterior.interval
    margin = float(norm.ppf(0.975)) * error
    return max(min(low, rate - margin), 0.0), min(max(high, rate + margin), 1.0)


def diagnose(
    posterior: ExplainedNoise,
    rate: float,
    interval: tuple[float, float],
    scores: Array,
    given: NDArray[np.intp],
    n_checked: int = 0,
    guarantee: Guarantee | None = None,
) -> dict[str, Any]:
    """Return the diagnostic: whether the range is an answer, the reason in words, and what it was made from.

    The range is that of the first two explanations. Of errors that follow the features the labels say nothing at all,
    so that any share is possible. Rows that were drawn at random and checked say more: their guarantee is the range.
    """
    present = np.unique(given)
    separability = float(np.mean([_ranking(scores[:, k], given == k) for k in present]))
    width = interval[1] - interval[0]
    shown = f"between {interval[0]:.1%} and {interval[1]:.1%} of the labels are wrong"
    if guarantee is not None:
        reason = str(guarantee)
    elif separability < WEAK_SCORES:
        reason = f"The features hardly tell the given labels apart, so nothing is known about wrong labels. {REMEDY}"
    elif width > WIDE_RANGE:
        reason = (
            f"Classes that overlap and labels that are wrong look alike here: {shown}, without errors that follow a "
            f"rule in the features. {REMEDY}"
        )
    else:
        reason = (
            f"Whether classes overlap or not makes little difference here: {shown}, without errors that follow a rule "
            "in the features."
        )
    if n_checked and guarantee is None:
        reason += f" The {n_checked} checked rows were not drawn at random, so they guarantee nothing about the others."
    unseen = (0.0, 1.0) if guarantee is None else (guarantee.low, guarantee.high)
    return {
        "reliable": bool((separability >= WEAK_SCORES or guarantee is not None) and width <= WIDE_RANGE),
        "reason": reason,
        "claim": CLAIM if guarantee is None else CHECKED_CLAIM,
        "explanations": posterior.explanations | {"errors follow the features": unseen},
        "separability": separability,
        "interval_width": width,
        "least_noise_rate": min(posterior.overlap.noise_rate, rate),
        "largest_noise_rate": max(posterior.largest_rate, rate),
        "boundary_errors": posterior.boundary_share,
    }


def transition_of(probabilities: Array, given: NDArray[np.intp], weight: Array) -> Array:
    """Return P(given | true) from the probabilities of the true classes; a class without samples keeps its label."""
    return conditional(joint_counts(probabilities, given, weight))


def joint_counts(probabilities: Array, given: NDArray[np.intp], weight: Array) -> Array:
    """Return the expected weight of the samples by true class (rows) and given class (columns)."""
    n_classes = probabilities.shape[1]
    joint = np.zeros((n_classes, n_classes))
    for label in range(n_classes):
        rows = given == label
        joint[:, label] = weight[rows] @ probabilities[rows]
    return joint


def conditional(joint: Array) -> Array:
    """Return P(given | true) from the expected weights."""
    joint = joint + np.finfo(float).tiny * np.eye(len(joint))
    return joint / joint.sum(axis=1, keepdims=True)


def _ranking(score: Array, positive: NDArray[np.bool_]) -> float:
    """Return the probability that a positive sample scores higher than a negative sample."""
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    ranks = rankdata(score)[positive].sum()
    return float((ranks - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


class CheckedPairs(NamedTuple):
    """Verdicts on given pairs, for each distinct pair.

    ``truth`` is 1 for the same class, -1 for different classes, and 0 where nobody knows, and ``weight`` is how much a
    checked pair counts in the calibration. ``guarantee`` is that of the share of wrong pairs, None if no pair was drawn
    at random, or if pairs differ in weight, since the guarantee counts pairs; ``intervals`` are the guaranteed
    intervals of the fields of the noise.
    """

    truth: NDArray[np.int64]
    weight: Array
    guarantee: Guarantee | None
    intervals: dict[str, Interval]
    checked: Verdicts | None

    @classmethod
    def of(cls, checked: Verdicts | None, pairs: Pairs, index: Index, n_distinct: int) -> "CheckedPairs":
        """Read verdicts on given pairs; ``index`` is the position of each given pair among the distinct pairs."""
        truth, weight = np.zeros(n_distinct, dtype=np.int64), np.ones(n_distinct)
        if checked is None:
            return cls(truth, weight, None, {}, None)
        if not isinstance(checked, Verdicts):
            raise TypeError(f"checked must be a kernelwise.Verdicts, got {type(checked).__name__}")
        checked.check_rows(len(pairs), "pairs")
        for row, label in zip(checked.rows.tolist(), checked.labels.tolist(), strict=True):
            if label not in (1, -1, None):
                raise ValueError(
                    f"checked says {label!r} for pair {row}; a pair is 1 (the same class), -1 (different classes) or "
                    "None (cannot tell)"
                )
        for position, label in Verdicts(index[checked.rows], checked.labels).found().items():
            truth[position] = label or 0
        weight[index[checked.rows]] = weights(checked, len(pairs))[checked.rows]
        guarantee = guarantee_of(checked, pairs) if np.ptp(pairs.weights) == 0 else None
        intervals = {} if guarantee is None else PairNoise.guaranteed(pairs, checked)
        return cls(truth, weight, guarantee, intervals, checked)

    def calibrated(self, apart: Array, same: Array, positive: NDArray[np.bool_]) -> Array:
        """Return the chances that pairs share a class, calibrated on the checked pairs, which are certain.

        ``apart`` and ``same`` are the chances without and with the given label, which is "the same" where ``positive``.
        """
        if not self.truth.any():
            return same
        belief, posterior = (np.column_stack([1.0 - chance, chance]) for chance in (apart, same))
        known = np.where(self.truth == 0, -1, self.truth > 0).astype(np.intp)
        return calibrated(belief, posterior, positive.astype(np.intp), known, self.weight, self.guarantee)[0][:, 1]

    def guaranteed(self, noise: PairNoise, intervals: dict[str, Interval]) -> dict[str, Interval]:
        """Replace intervals of the model by guaranteed intervals, which include the estimates."""
        return intervals | {
            name: (min(low, getattr(noise, name)), max(high, getattr(noise, name)))
            for name, (low, high) in self.intervals.items()
        }

    def words(self, widest: float) -> dict[str, Any]:
        """What the diagnostic says of the guarantee: ``reliable`` if the share of wrong pairs is known that well."""
        if self.guarantee is None:
            return {}
        width = self.guarantee.high - self.guarantee.low
        return {"reliable": bool(width <= widest), "reason": str(self.guarantee), "claim": CHECKED_CLAIM}
