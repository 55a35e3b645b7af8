"""Theorems of the papers as functions. The tests watch them hold; nothing of the package needs them."""

import math
from typing import NamedTuple

import numpy as np

from kernelwise.mkl.problem import margin_of_confidence


class DualBounds(NamedTuple):
    """The set ``Q = {0 <= alpha_i <= upper, sum_i alpha_i <= budget}`` of problem (11)."""

    budget: float
    upper: float


def budget_from_noise_rate(noise_rate, n_samples, *, risk=1.0):
    r"""Return the budget and the upper bound of problem (11) for a known noise rate: Proposition 1.

    .. math:: \rho = (1 - q + \tau + \tau / \sqrt n) \, n, \qquad 0 \le \alpha_i \le 1 + \tau

    (11) relaxes (10) where tau > 0: at a risk of .05, tau is 1.22, and for q = .2 and n = 300 the budget is 94 % of the
    sum of the upper bounds, so that it hardly binds. Hence the paper's experiments, and the default of the package,
    have tau = 0. Proposition 1 and Lemma 1 need independent noise of the samples; the paper says otherwise.
    """
    tau = margin_of_confidence(risk)
    return DualBounds(budget=(1 - noise_rate + tau + tau / math.sqrt(n_samples)) * n_samples, upper=1 + tau)


def generalization_bound(
    worst_loss,
    *,
    n_samples,
    noise_rate,
    penalty,
    risk=1.0,
    delta=0.05,
):
    r"""Return the right-hand side of Theorem 1, which bounds the expected hinge loss on clean labels.

    .. math::
        \mathbb{E}\,\ell(y f(x)) \le \frac{1}{n (1 - q)} \max_{p \in Q} \sum_i p_i \ell(y_i f(x_i))
        + \sqrt{\frac{2 (1 + \tau)}{n (1 - q) \lambda}}
        \left[ 4 + \sqrt{\Big(1 + \frac{\lambda}{2 (1 + \tau)}\Big) \ln \frac{1}{\delta}} \right]

    The bound needs independent samples, at most ``q n`` wrong labels among them, right labels that are a fair sample of
    the clean distribution, kernels with :math:`k_j(x, x) \le 1`, no intercept, and f the minimiser of (10). The values
    are seldom below 1. The number of kernels does not appear, so the bound cannot hold for every number of kernels:
    bounds for L1-MKL have :math:`\sqrt{\ln m}` in the place of the constant 4.
    """
    slope = 1 + margin_of_confidence(risk)
    n_right = n_samples * (1 - noise_rate)
    radius = math.sqrt(2 * slope / (n_right * penalty))
    return worst_loss / n_right + radius * (4 + math.sqrt((1 + penalty / (2 * slope)) * math.log(1 / delta)))


def mirror_prox_iterations(gap, *, norm_f, norm_alpha, n_samples, n_kernels):
    r"""Return the T that Theorem 2 asks for: iterations of Algorithm 1 after which its averages have at most this gap.

    .. math:: T = \left\lceil \frac{(\|f^*\|^2 + \|\alpha^*\|^2) \sqrt m}{\sqrt{2 n} \; \mathrm{gap}} \right\rceil

    This is for the paper's step :math:`\sqrt{n / (2m)}` and kernels with :math:`k_j(x, x) \le 1`. By this count the
    paper's own setting (ionosphere, a gap of .01) needs more than the 1000 iterations of the paper.
    """
    return math.ceil((norm_f**2 + norm_alpha**2) * math.sqrt(n_kernels / (2 * n_samples)) / gap)


def budget_multiplier(problem, decisions):
    r"""Return the multiplier eta of the budget: the loss of the sample at which the budget runs out.

    The worst use of a budget has the form of a nu-SVM,

    .. math:: \max_{\alpha \in Q} \sum_i \alpha_i (1 - y_i f_i)
              = \min_{\eta \ge 0} \; \rho \eta + \sum_i c_i [1 - \eta - y_i f_i]_+

    and the best eta is the loss at which the sum of the bounds c_i, in the order of falling losses, reaches rho. If the
    sum reaches rho between two samples, every eta between their losses is optimal, and the middle is returned.
    """
    losses = np.maximum(0.0, 1.0 - problem.y * np.asarray(decisions, dtype=np.float64))
    order = np.argsort(-losses)
    spent = np.cumsum(problem.upper[order])
    if not problem.budget < spent[-1]:
        return 0.0
    rounding = 1e-12 * spent[-1]
    before = int(np.searchsorted(spent, problem.budget - rounding))
    after = int(np.searchsorted(spent, problem.budget + rounding))
    return float(losses[order[before]] + losses[order[min(after, len(order) - 1)]]) / 2


def equivalent_penalty(problem, decisions):
    r"""Return the penalty with which plain L1-MKL decides as a solution of the budgeted problem does.

    Put :math:`f = r g` with :math:`r = 1 - \eta` into the form of :func:`budget_multiplier`: for a fixed r the problem
    becomes r times problem (2) with penalty :math:`\lambda r`. Hence

    .. math:: f_{\mathrm{St}}(\lambda, \rho) = r \, f_{\mathrm{Si}}(\lambda r), \qquad r = 1 - \eta ,

    and the signs are the same. So the budget acts as a limit on the penalty, and it is enough to tune one of the two.
    """
    ratio = 1.0 - budget_multiplier(problem, decisions)
    return problem.penalty * max(ratio, 0.0)


def pair_weight_bound(
    n_pairs,
    n_kernels,
    *,
    penalty,
    noise,
    largest=1.0,
    rarer_fraction=0.5,
    risk=0.05,
):
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
    """
    d_pos, d_neg = noise.precision_positive, noise.precision_negative
    e, f = d_pos + d_neg - 1, 1 + abs(d_pos - d_neg)
    squared_prior = noise.prior**2 + (1 - noise.prior) ** 2
    constant = 4 * f**4 / (squared_prior * e**4) + 32 * (e**6 * f + f**7) / (rarer_fraction**2 * e**8)
    confidence = np.sqrt(constant * np.log(12 * n_kernels / risk)) + np.sqrt(np.log(4 * n_kernels / risk))
    return float(np.sqrt(2 * n_kernels * largest**2 / n_pairs) * confidence / penalty)
