r"""Kernel combination from noisy pairs: problem (7) of the LKCnpc paper, and its variants.

A pair of samples shares a class with probability :math:`\Pr(y = +1) = \sigma(w^\top k + \beta)`. With the statistic
:math:`b^o` of the true labels estimated from noisy ones (see :mod:`.statistics`), the weights solve

.. math::
    \min_{w \ge 0, \beta} \; F(w, \beta) = \frac\lambda2 \|w\|^2 - \frac12 \big( w^\top b^o + \beta b^o_0 \big)
    + \frac1N \sum_i \omega_i L(w^\top k_i + \beta), \qquad L(s) = \log(e^{s/2} + e^{-s/2}),

which is minus the paper's objective. The dual, with :math:`L^*(u) = q \log q + (1 - q) \log(1 - q)` at
:math:`q = u + \frac12`:

.. math::
    \max_u \; - \frac1{2\lambda} \big\| [v]_+ \big\|^2 - \frac1N \sum_i \omega_i L^*(u_i), \qquad
    v = \tfrac12 b^o - \frac1N \sum_i \omega_i u_i k_i, \qquad \frac1N \sum_i \omega_i u_i = \tfrac12 b^o_0 .

At :math:`u_i = L'(s_i)` the Fenchel terms cancel and the duality gap is a function of the gradient alone,

.. math:: \frac1{2\lambda} \big\| \lambda w - [v]_+ \big\|^2 + w^\top [-v]_+ ,

for any :math:`w \ge 0` once :math:`\beta` is the best one for that w. For a w without a positive derivative off the
bound this is :math:`\|\text{projected gradient}\|^2 / (2 \lambda)`, the bound that strong convexity gives.

======================  ===============================================================================
here                    in the paper
======================  ===============================================================================
``penalty``             :math:`\lambda`
``statistic``           :math:`b^o[k]`; with :math:`a^o[k]` of the noisy labels this is problem (2)
``values[i, j]``        :math:`k_j(x^1_i, x^2_i)`
``weights``             :math:`\omega_i / N`; 1/n in the paper
``bias_statistic``      :math:`b^o_0 = p_+ - p_-`, the statistic of the constant kernel; no bias in the paper
======================  ===============================================================================

A pair of weight two is the same as the pair given twice. The bias, optional and not penalised, matters for non-negative
kernels: without it every probability is at least one half.

:class:`ForwardPairProblem` is the alternative that models how labels became noisy, :math:`\Pr(\hat y) = \sum_y
T_{y \hat y} \Pr(y)`. This problem is smooth but **not convex**: a solver finds a stationary point, and no duality gap
says how good this point is.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from ..checks import Array
from ..kernels import AttributeBank, KernelBank
from ..optim.bounded_newton import SeparableProblem
from ..optim.statistic_likelihood import with_bias
from ..samples import check_magnitude, compute, persist
from ..statements import PairNoise, Pairs

#: Probabilities are never taken to be smaller than this.
TINY = 1e-300
#: Kernel values are computed for this many pairs at a time.
PAIRS_AT_ONCE = 2**17
#: A matrix with a larger fraction of non-zero entries than this is stored as a dense matrix.
DENSE = 0.3


@dataclass(frozen=True)
class ForwardPairProblem(SeparableProblem):
    r"""The forward-corrected likelihood: minus the log-probability of the *given* labels. Not convex.

    .. math:: \ell(s) = -\log q(s), \qquad q(s) = T_{+\hat y}\, \sigma(s) + T_{-\hat y}\, \sigma(-s)

    The second derivative of the loss can be negative. The solver gets the second derivative or Fisher's information,
    whichever is larger: never negative and never below the second derivative, so that steps are cautious.
    :func:`forward_problem` makes this object.
    """

    weights: Array
    if_positive: Array  # T_{+ yhat} of every pair: the probability of its label if it is truly positive
    if_negative: Array  # T_{- yhat}

    def losses(self, scores: Array) -> Array:
        return -self.weights * np.log(self._probability(scores))

    def slopes(self, scores: Array) -> Array:
        return -self.weights * self._change(scores) / self._probability(scores)

    def curvatures(self, scores: Array) -> Array:
        q, change = self._probability(scores), self._change(scores)
        other = (1.0 - self.if_positive) * expit(scores) + (1.0 - self.if_negative) * expit(-scores)
        information = change**2 / np.maximum(q * other, TINY)
        second_derivative = (change / q) ** 2 + change / q * np.tanh(0.5 * scores)
        return self.weights * np.maximum(information, second_derivative)

    def _probability(self, scores: Array) -> Array:
        return np.maximum(self.if_positive * expit(scores) + self.if_negative * expit(-scores), TINY)

    def _change(self, scores: Array) -> Array:
        return (self.if_positive - self.if_negative) * expit(scores) * expit(-scores)


def forward_problem(
    values: Any, pairs: Pairs, noise: PairNoise, *, penalty: float, fit_bias: bool = False
) -> ForwardPairProblem:
    """The forward-corrected likelihood of given pairs; transitions follow by Bayes' rule, without the prior of
    ``noise``.
    """
    positive = pairs.labels > 0
    mass, mass_positive = compute(pairs.weights.sum(), np.where(positive, pairs.weights, 0.0).sum())
    if_positive, if_negative = transition_matrix(noise, float(mass_positive) / float(mass))
    linear = np.zeros(values.shape[1])
    design, linear, penalties, lower = with_bias(values, linear, penalty, 0.0 if fit_bias else None)
    shares, *given = (
        persist(array)
        for array in (pairs.weights / float(mass), np.where(positive, *if_positive), np.where(positive, *if_negative))
    )
    return ForwardPairProblem(design, linear, penalties, lower, shares, *given)


def pair_value_matrix(bank: KernelBank, pairs: Pairs) -> Any:
    """The values of all kernels on all pairs, (n_pairs, n_kernels), sparse where most are zero, made piece by piece."""
    if not isinstance(bank, AttributeBank):
        dense = np.ascontiguousarray(bank.pair_values(pairs.rows, pairs.cols))
        check_magnitude(dense, "the kernels", least=0.0)
        return dense
    pieces = [slice(start, start + PAIRS_AT_ONCE) for start in range(0, len(pairs), PAIRS_AT_ONCE)]
    values = sp.csr_array(sp.vstack([bank.pair_values(pairs.rows[piece], pairs.cols[piece]) for piece in pieces]))
    check_magnitude(values, "the kernels", least=0.0)
    return values.toarray() if values.nnz > DENSE * values.shape[0] * values.shape[1] else values


def transition_matrix(noise: PairNoise, fraction_positive: float) -> Array:
    """Probabilities of the given label (columns +1, -1) for each true label (rows +1, -1)."""
    joint = noise.matrix * np.array([fraction_positive, 1.0 - fraction_positive])
    true = joint.sum(axis=1, keepdims=True)
    # A true label that never occurs has no transitions; nothing is ever multiplied by its row, so any row is good.
    return np.divide(joint, true, out=np.full((2, 2), 0.5), where=true > 0)
