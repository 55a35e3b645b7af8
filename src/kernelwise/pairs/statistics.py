r"""The mean kernel values of truly labelled pairs, estimated from noisily labelled pairs: LKCnpc, section 2.

The log-likelihood of pairs depends on their labels only through the statistic :math:`E^o[k] = E[Y k(X^1, X^2)]`. Given
labels :math:`\hat Y` mix the class means, (3) of the paper,

.. math:: (\hat E_+, \hat E_-) = (E_+, E_-) B, \qquad
          B = \begin{pmatrix} d_+ & 1 - d_- \\ 1 - d_+ & d_- \end{pmatrix},

and the means over all pairs are known, (5): :math:`p_+ E_+ + p_- E_- = a`. For every kernel, the paper solves

.. math:: \min_b \| b B - \hat A \|^2 \quad \text{s.t.} \quad b\, p = a .

Let :math:`h = B^{-1} p` be the fractions of given labels that the noise implies. The constraint is then
:math:`(b B) h = a`. So the solution moves the observed means to the nearest means that satisfy the constraint, and
multiplies by :math:`B^{-1}`:

.. math:: b = \Big( \hat A + \frac{(a - \hat A h)\, h^\top}{h^\top h} \Big) B^{-1} .

This equals equation (6) of the paper, with a transpose that is missing in the paper:
:math:`b = (\hat A B^\top + (a - \hat A B^\top G p)\, p^\top / (p^\top G p))\, G`, :math:`G = (B B^\top)^{-1}`. If the
prior is that of the pairs trained on, h are the observed fractions of their labels, the constraint holds without a
move, and :math:`b = \hat A B^{-1}`.

============================  =========================================================================
here                          in the paper
============================  =========================================================================
``PairMeans.given_positive``  :math:`\hat a^c_+[k]`, mean kernel values over the pairs given as +1
``PairMeans.given_negative``  :math:`\hat a^c_-[k]`
``PairMeans.overall``         :math:`a[k]`
``true_class_means``          :math:`(b^c_+[k], b^c_-[k])`
``true_statistic``            :math:`b^o[k]`
============================  =========================================================================

References
----------
T. Yang, R. Jin, A. K. Jain. Learning kernel combination from noisy pairwise constraints. IEEE Statistical Signal
Processing Workshop, 2012.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import Array, check_positive
from ..samples import compute, map_rows
from ..statements import PairNoise, Pairs


@dataclass(frozen=True)
class PairMeans:
    """Weighted means of every kernel over the given pairs, before any correction of the labels."""

    given_positive: Array
    given_negative: Array
    overall: Array
    fraction_positive: float

    @classmethod
    def of(cls, pairs: Pairs, values: Any) -> "PairMeans":
        """Means of ``values`` (n_pairs, n_kernels), dense, sparse or in blocks; both labels must occur."""
        positive = pairs.labels > 0
        if_positive, if_negative = np.where(positive, pairs.weights, 0.0), np.where(positive, 0.0, pairs.weights)
        mass_positive, mass_negative, sum_positive, sum_negative = compute(
            if_positive.sum(), if_negative.sum(), values.T @ if_positive, values.T @ if_negative
        )
        mass = mass_positive + mass_negative
        for sign, mass_of_sign in ((1, mass_positive), (-1, mass_negative)):
            if not mass_of_sign > 0:  # weights are positive
                raise ValueError(f"pairs holds no pair labelled {sign:+d}; kernels are learned by comparing the two")
        return cls(
            sum_positive / mass_positive,
            sum_negative / mass_negative,
            (sum_positive + sum_negative) / mass,
            float(mass_positive / mass),
        )

    @property
    def given_statistic(self) -> Array:
        """The statistic ``mean of y k`` of the given, noisy labels: :math:`a^o[k]` of the paper."""
        return self.fraction_positive * self.given_positive - (1 - self.fraction_positive) * self.given_negative


def implied_prior(noise: PairNoise, fraction_positive: float) -> float:
    r"""The prior of the pairs trained on that fits precisions and labels, :math:`p_+ = d_+ \hat p_+ + (1 - d_-) \hat
    p_-`.
    """
    return noise.precision_positive * fraction_positive + (1 - noise.precision_negative) * (1 - fraction_positive)


def check_informative(noise: PairNoise) -> None:
    """Raise a ValueError unless the given labels carry information about the true labels."""
    if noise.is_singular:
        raise ValueError(
            "noise has precision_positive + precision_negative = 1 "
            f"({noise.precision_positive:g} + {noise.precision_negative:g}), so a pair is as likely to be truly "
            "positive when it is given as +1 as when it is given as -1: the given labels carry no information. "
            "Check the precisions, or get other pairs"
        )


def true_class_means(means: PairMeans, noise: PairNoise) -> tuple[Array, Array]:
    """Mean kernel values over truly positive and truly negative pairs, the corrected (6) of LKCnpc."""
    check_informative(noise)
    d_pos, d_neg = noise.precision_positive, noise.precision_negative
    # For d+ and d- near one half, these differences are exact; B^-1 needs nothing but the determinant.
    determinant = (d_pos - 0.5) + (d_neg - 0.5)
    h_pos = (noise.prior - (1 - d_neg)) / determinant
    h_neg = ((1 - noise.prior) - (1 - d_pos)) / determinant
    violation = means.overall - (h_pos * means.given_positive + h_neg * means.given_negative)
    shift = violation / (h_pos**2 + h_neg**2)
    positive, negative = means.given_positive + shift * h_pos, means.given_negative + shift * h_neg
    return (
        (d_neg * positive - (1 - d_pos) * negative) / determinant,
        (d_pos * negative - (1 - d_neg) * positive) / determinant,
    )


def true_statistic(means: PairMeans, noise: PairNoise) -> Array:
    """The statistic of truly labelled pairs, :math:`b^o = p_+ b_+ - p_- b_-`, estimated from noisy labels."""
    positive, negative = true_class_means(means, noise)
    return noise.prior * positive - (1 - noise.prior) * negative


def mean_magnitudes(pairs: Pairs, values: Any) -> Array:
    """The mean of :math:`|k|` over all pairs; for a kernel that is not negative this is :math:`a[k]`."""
    return PairMeans.of(pairs, map_rows(values, abs)).overall


def keep_feasible(statistic: Array, magnitudes: Array, strength: float) -> Array:
    r"""Limit a statistic to the values that a true statistic can have: :math:`|b^o| \le s\, E|k|`.

    The labels are signs, so :math:`|E[Y k]| \le E|k|`, and :math:`E|k| = a` for a kernel that is not negative. The
    estimate for a rare attribute can break this inequality. The likelihood then grows without end in the weight of the
    attribute, the penalty alone stops the weight, at :math:`(b^o - E|k|) / (2 \lambda)`, and a few rare attributes take
    over. The paper does not discuss this. A strength s below one leaves room for the doubt that remains after a few
    pairs; a constant kernel that is the only one then has a weight of at most :math:`\log((1 + s) / (1 - s)) / k`.
    """
    limit = strength * magnitudes
    return np.clip(statistic, -limit, limit)


def pair_weight_bound(
    n_pairs: int,
    n_kernels: int,
    *,
    penalty: float,
    noise: PairNoise,
    largest: float = 1.0,
    rarer_fraction: float = 0.5,
    risk: float = 0.05,
) -> float:
    r"""Theorem 2 of LKCnpc: the distance between weights learned from noisy pairs and weights learned from true pairs.

    With probability at least :math:`1 - \delta`,

    .. math::
        \| w_a - w_b \|_2 \le \frac1\lambda \sqrt{\frac{2 m R^2}{n}}
        \Big( \sqrt{C \ln\tfrac{12 m}{\delta}} + \sqrt{\ln\tfrac{4 m}{\delta}} \Big), \qquad
        C = \frac{4 f^4}{\|p\|_2^2 e^4} + \frac{32 (e^6 f + f^7)}{\rho^2 e^8},

    where :math:`e = d_+ + d_- - 1` and :math:`f = 1 + |d_+ - d_-|`. The theorem is a statement about rates: the bound
    falls as :math:`n^{-1/2}` for a fixed penalty, and the bound is far above observed distances. The paper omits the
    proof of C. Lemma 1 of the paper holds with 1/(2 lambda) in place of 1/lambda, because the statistic enters the
    objective halved. The bound is for the statistic as estimated, without :func:`keep_feasible`.

    Parameters
    ----------
    n_pairs, n_kernels : int
        n and m.
    penalty : float
        lambda.
    noise : PairNoise
        p, d+ and d-, which are taken as known, not as estimated.
    largest : float, default=1.0
        R, a bound on the absolute kernel values.
    rarer_fraction : float, default=0.5
        rho, the fraction of the pairs that have the rarer of the two given labels.
    risk : float, default=0.05
        delta.

    Returns
    -------
    float

    References
    ----------
    Yang, Jin, Jain (2012), Theorem 2.

    Examples
    --------
    >>> from kernelwise import PairNoise
    >>> from kernelwise.pairs.statistics import pair_weight_bound
    >>> noise = PairNoise(0.5, 0.8, 0.8)
    >>> bound = pair_weight_bound(10_000, 10, penalty=0.1, noise=noise)
    >>> round(bound, 1)
    113.0
    >>> round(bound / pair_weight_bound(40_000, 10, penalty=0.1, noise=noise), 6)
    2.0
    """
    positive = {"n_pairs": n_pairs, "n_kernels": n_kernels, "penalty": penalty, "largest": largest}
    for name, value in positive.items():
        check_positive(name, value)
    if not 0 < rarer_fraction <= 0.5:
        raise ValueError(f"rarer_fraction must lie above 0 and be at most 0.5, got {rarer_fraction!r}")
    if not 0 < risk < 1:
        raise ValueError(f"risk must lie between 0 and 1, got {risk!r}")
    check_informative(noise)
    d_pos, d_neg = noise.precision_positive, noise.precision_negative
    e, f = d_pos + d_neg - 1, 1 + abs(d_pos - d_neg)
    squared_prior = noise.prior**2 + (1 - noise.prior) ** 2
    constant = 4 * f**4 / (squared_prior * e**4) + 32 * (e**6 * f + f**7) / (rarer_fraction**2 * e**8)
    confidence = np.sqrt(constant * np.log(12 * n_kernels / risk)) + np.sqrt(np.log(4 * n_kernels / risk))
    return float(np.sqrt(2 * n_kernels * largest**2 / n_pairs) * confidence / penalty)
