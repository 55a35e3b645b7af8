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

from ..checks import Array
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
