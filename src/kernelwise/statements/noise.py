r"""The pairs that an estimator learns from (:func:`resolve_pairs`), and how noisy pairs are (:class:`PairNoise`)."""

from dataclasses import dataclass, fields
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from ..checks import check_probability
from .graph import RandomState, check_pair_labels, count_pairs, known_codes
from .pairs import Pairs
from .verdicts import Verdicts, draw_weights

Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class PairNoise:
    r"""How far the labels of given pairs can be trusted.

    Let :math:`Y` be the true and :math:`\hat Y` the given label of one of the pairs that are trained on. Then

    .. math:: p_+ = \Pr(Y = +), \qquad d_y = \Pr(Y = y \mid \hat Y = y).

    Parameters
    ----------
    prior : float
        :math:`p_+`, the fraction of the pairs whose ends truly share a class.
    precision_positive, precision_negative : float
        :math:`d_+` and :math:`d_-`, the fractions of the pairs given as +1 and as -1 that are right.

    References
    ----------
    T. Yang, R. Jin, A. K. Jain, "Learning kernel combination from noisy pairwise constraints", IEEE Statistical Signal
    Processing Workshop, 2012 (LKCnpc), section 2.

    Examples
    --------
    >>> noise = PairNoise(prior=0.45, precision_positive=0.74, precision_negative=0.83)
    >>> noise.matrix
    array([[0.74, 0.17],
           [0.26, 0.83]])
    >>> noise.is_singular
    False
    """

    prior: float
    precision_positive: float
    precision_negative: float

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, check_probability(field.name, getattr(self, field.name)))

    @property
    def matrix(self) -> NDArray[np.float64]:
        r"""The mixing matrix :math:`B` of LKCnpc (3); columns, summing to one, belong to the given labels +1 and -1.

        >>> PairNoise(0.5, 1.0, 0.75).matrix
        array([[1.  , 0.25],
               [0.  , 0.75]])
        """
        d_pos, d_neg = self.precision_positive, self.precision_negative
        return np.array([[d_pos, 1 - d_neg], [1 - d_pos, d_neg]])

    @property
    def is_singular(self) -> bool:
        r"""Whether :math:`\det B = d_+ + d_- - 1` is zero: given labels then say nothing about true labels.

        >>> PairNoise(0.7, 0.7, 0.3).is_singular
        True
        """
        return abs(self.precision_positive + self.precision_negative - 1) < 1e-12

    @property
    def flip_rates(self) -> tuple[float, float]:
        r"""The rates :math:`\Pr(\hat Y = - \mid Y = +)` and :math:`\Pr(\hat Y = + \mid Y = -)`.

        The share of the pairs given as +1 follows from the prior and the precisions; where the matrix is singular, the
        share is not known, and both rates are one half.

        >>> PairNoise(prior=0.5, precision_positive=0.8, precision_negative=0.8).flip_rates
        (0.2, 0.2)
        """
        if self.is_singular:
            return 0.5, 0.5
        d_pos, d_neg, prior = self.precision_positive, self.precision_negative, self.prior
        share = min(max((prior - (1 - d_neg)) / (d_pos + d_neg - 1), 0.0), 1.0)
        rates = (1 - d_neg) * (1 - share) / max(prior, 1e-12), (1 - d_pos) * share / max(1 - prior, 1e-12)
        return round(min(rates[0], 1.0), 12), round(min(rates[1], 1.0), 12)

    @classmethod
    def estimate(
        cls,
        pairs: Pairs,
        true_labels: ArrayLike | None = None,
        index: ArrayLike | None = None,
        *,
        checked: "Verdicts | None" = None,
    ) -> Self:
        r"""Estimate the noise of ``pairs`` from a few checked pairs, whose true labels are known.

        The precisions are weighted fractions of the checked pairs. The prior follows from the precisions and from the
        given labels of *all* pairs, :math:`p_+ = d_+ \Pr(\hat Y = +) + (1 - d_-) \Pr(\hat Y = -)`. So it is the prior
        of the pairs trained on even if the checked pairs are not a uniform sample.

        With ``checked`` from :func:`plan_checks`, every checked pair counts as many pairs as it was drawn for, and
        :meth:`guaranteed` has intervals. Pairs that were drawn at random from all pairs are the special case of one
        stratum, in which all checked pairs count the same.

        Parameters
        ----------
        pairs : Pairs
            All given pairs.
        true_labels : array-like of +1 and -1
            The true labels of ``pairs[index]``, in that order. With the true classes ``y`` of the samples, the true
            labels are ``pairs[index].true_labels(y)``.
        index : array-like of int or bool
            Positions of the checked pairs, or a mask.
        checked : Verdicts, optional
            Instead of ``true_labels`` and ``index``: verdicts on positions in the list of pairs.

        Examples
        --------
        >>> from kernelwise import Pairs, Verdicts
        >>> pairs = Pairs([0, 0, 1, 2, 3], [1, 2, 2, 3, 4], [1, 1, 1, -1, -1], n_samples=5)
        >>> PairNoise.estimate(pairs, true_labels=[1, -1, -1], index=[0, 1, 4])
        PairNoise(prior=0.3, precision_positive=0.5, precision_negative=1.0)
        >>> PairNoise.estimate(pairs, checked=Verdicts([0, 1, 4], [1, -1, -1], chance=0.6))
        PairNoise(prior=0.3, precision_positive=0.5, precision_negative=1.0)
        """

        if not isinstance(pairs, Pairs):
            raise TypeError(f"pairs must be a kernelwise.Pairs, got {type(pairs).__name__}")
        if checked is not None and true_labels is None and index is None:
            checked.check_rows(len(pairs), "pairs")
            drawn = draw_weights(checked)
            found = {row: label for row, label in checked.found().items() if label is not None}
            known, truth = pairs[np.array(list(found), dtype=np.int64)], check_pair_labels("checked", [*found.values()])
            weight = known.weights * np.array([drawn.get(row, 1.0) for row in found])
        elif checked is None and true_labels is not None and index is not None:
            known, truth = pairs[index], check_pair_labels("true_labels", true_labels)
            weight = known.weights
            if len(truth) != len(known):
                raise ValueError(f"true_labels has {len(truth)} values but index picks {len(known)} pairs")
        else:
            raise ValueError("give true_labels and index, or checked instead of both")
        right = np.where(known.labels == truth, weight, 0.0)
        precision = {}
        for sign in (1, -1):
            given = known.labels == sign
            if not given.any():
                raise ValueError(
                    f"there is no pair labelled {sign:+d} among the checked pairs; check some to know its precision"
                )
            precision[sign] = right[given].sum() / weight[given].sum()
        given_positive = _positive_fraction(pairs)
        prior = precision[1] * given_positive + (1 - precision[-1]) * (1 - given_positive)
        return cls(prior, precision[1], precision[-1])

    @classmethod
    def guaranteed(cls, pairs: Pairs, checked: Verdicts, *, confidence: float = 0.95) -> dict[str, Interval]:
        """Bound each field of the noise from planned checks, whatever any model believes.

        Each interval is one of :func:`guaranteed_share`. A field of a kind of pairs that is not given is left out.

        Parameters
        ----------
        pairs : Pairs
            All given pairs, of equal weights, since a guarantee counts pairs.
        checked : Verdicts
            With the chances of the draws: see :func:`plan_checks`.
        confidence : float, default=0.95

        Examples
        --------
        >>> from kernelwise import Pairs, Verdicts
        >>> pairs = Pairs(range(200), range(1, 201), [1, -1] * 100, n_samples=201)
        >>> checked = Verdicts(range(20), [1, -1] * 10, chance=0.1)
        >>> low, high = PairNoise.guaranteed(pairs, checked)["precision_positive"]
        >>> round(low, 2), high
        (0.68, 1.0)
        """
        from ..review.guarantee import guaranteed_share  # here, because audits, which it reads, hold this noise

        if len(pairs) and np.ptp(pairs.weights) > 0:
            raise ValueError("pairs differ in weight, but a guarantee counts pairs; give pairs of equal weights")
        different = np.full(len(pairs), -1)
        prior = guaranteed_share(pairs, checked, predictions=different, confidence=confidence)
        bounds = {"prior": (prior.low, prior.high)}
        for name, sign in (("precision_positive", 1), ("precision_negative", -1)):
            if (among := pairs.labels == sign).any():
                wrong = guaranteed_share(pairs, checked, among=among, confidence=confidence)
                bounds[name] = 1 - wrong.high, 1 - wrong.low
        return bounds

    @classmethod
    def clean(cls, pairs: Pairs) -> Self:
        """The noise of pairs that are all right; the prior is the weighted fraction of +1.

        >>> from kernelwise import Pairs
        >>> PairNoise.clean(Pairs([0, 0, 1, 1], [1, 2, 2, 3], [1, -1, -1, -1], n_samples=4))
        PairNoise(prior=0.25, precision_positive=1.0, precision_negative=1.0)
        """
        if not len(pairs):
            raise ValueError("pairs is empty, so it has no prior")
        return cls(_positive_fraction(pairs), 1.0, 1.0)

    @classmethod
    def from_flip_rates(cls, prior: float, rate_positive: float, rate_negative: float) -> Self:
        r"""The noise of pairs after :meth:`Pairs.flip`, by Bayes' rule.

        .. math:: d_+ = \frac{p_+ (1 - r_+)}{p_+ (1 - r_+) + p_- r_-}, \qquad
                  d_- = \frac{p_- (1 - r_-)}{p_- (1 - r_-) + p_+ r_+}

        Parameters
        ----------
        prior : float
            :math:`p_+` before the flips.
        rate_positive, rate_negative : float
            :math:`r_y`, the probability that a pair of true label y gets the other label.

        Examples
        --------
        >>> PairNoise.from_flip_rates(0.5, 0.25, 0.25)
        PairNoise(prior=0.5, precision_positive=0.75, precision_negative=0.75)
        """
        p_pos = check_probability("prior", prior)
        r_pos = check_probability("rate_positive", rate_positive)
        r_neg = check_probability("rate_negative", rate_negative)
        p_neg = 1 - p_pos
        given_pos = p_pos * (1 - r_pos) + p_neg * r_neg
        given_neg = p_neg * (1 - r_neg) + p_pos * r_pos
        if min(given_pos, given_neg) <= 0:
            raise ValueError(
                f"with prior={p_pos}, rate_positive={r_pos} and rate_negative={r_neg} one of the two labels is never"
                " given, so its precision is undefined"
            )
        return cls(p_pos, p_pos * (1 - r_pos) / given_pos, p_neg * (1 - r_neg) / given_neg)


def _positive_fraction(pairs: Pairs) -> float:
    return float(np.average(pairs.labels > 0, weights=pairs.weights))


#: At most this many pairs per sample are made from labels: n labels have n (n - 1) / 2 pairs, most of them redundant.
PAIRS_PER_SAMPLE = 20


def resolve_pairs(
    pairs: Pairs | None,
    y: ArrayLike | None,
    n_samples: int,
    *,
    random_state: RandomState,
    required: bool = True,
    both_kinds: bool = True,
    balance: bool = False,
) -> Pairs | None:
    """The pairs to learn from; if there are none, an error if pairs are ``required`` and None otherwise.

    Given ``pairs`` are checked and returned, and ``y`` is ignored. Otherwise up to 20 pairs per sample are drawn from
    the labels ``y``, where -1 means unknown. With ``both_kinds``, required pairs must be positive and negative. With
    ``balance``, positive and negative pairs that are drawn from labels get the same total weight.
    """
    if pairs is not None:
        if not isinstance(pairs, Pairs):
            raise TypeError(
                f"pairs must be a kernelwise.Pairs, got {type(pairs).__name__}; make one with"
                " Pairs(rows, cols, labels, n_samples=...), Pairs.from_graph or Pairs.from_labels"
            )
        if pairs.n_samples != n_samples:
            raise ValueError(
                f"pairs are over n_samples={pairs.n_samples} samples, but X has {n_samples}; for a subset of the"
                " samples pass pairs.restrict(index)"
            )
    elif y is not None:
        codes = known_codes(column_or_1d(y, warn=True))
        if len(codes) != n_samples:
            raise ValueError(f"y has {len(codes)} labels for {n_samples} samples in X")
        if total := count_pairs(int(np.count_nonzero(codes >= 0))):
            n_pairs = min(total, PAIRS_PER_SAMPLE * n_samples)
            pairs = Pairs.from_labels(codes, n_pairs=n_pairs, random_state=random_state)
            pairs = pairs.balanced() if balance else pairs
    if pairs is None or not len(pairs):
        if required:
            raise ValueError(
                "this estimator requires y to be passed, but the target y is None and there are no pairs either"
                if y is None
                else "there is no pair to learn from: fewer than two labels in y are known"
            )
        return None
    if required and both_kinds:
        check_both_kinds(int(np.count_nonzero(pairs.labels > 0)), len(pairs))
    return pairs


def check_both_kinds(n_positive: int, n_pairs: int) -> None:
    """Raise a ValueError unless there are positive as well as negative pairs.

    >>> check_both_kinds(3, 3)
    Traceback (most recent call last):
        ...
    ValueError: there is no negative (-1) pair among the 3 pairs, and both kinds are needed; ...
    """
    counts = {"positive (+1)": n_positive, "negative (-1)": n_pairs - n_positive}
    missing = [name for name, count in counts.items() if not count]
    if missing:
        raise ValueError(
            f"there is no {missing[0]} pair among the {n_pairs} pairs, and both kinds are needed; labels of one"
            " class, or all different, yield only one kind of pair"
        )
