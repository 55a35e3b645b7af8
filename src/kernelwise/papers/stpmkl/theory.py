r"""The results of the StPMKL paper as functions: the budget, the risk bound, the iterations; and an identity.

========================  ================================================================
here                      in the paper
========================  ================================================================
``noise_rate``            q, the expected fraction of wrong labels
``risk``                  epsilon, the probability with which the chance constraint (5) may fail
``margin_of_confidence``  tau
``penalty``               lambda
``delta``                 delta, the probability with which the bound of Theorem 1 may fail
========================  =======================================================

References
----------
T. Yang, M. Mahdavi, R. Jin, L. Zhang, Y. Zhou. Multiple Kernel Learning from Noisy Labels by Stochastic Programming.
ICML 2012.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...checks import check_count, check_positive
from ...mkl.problem import NoisyLabelProblem, margin_of_confidence


class DualBounds(NamedTuple):
    """The set ``Q = {0 <= alpha_i <= upper, sum_i alpha_i <= budget}`` of problem (11)."""

    budget: float
    upper: float


def budget_from_noise_rate(noise_rate: float, n_samples: int, *, risk: float = 1.0) -> DualBounds:
    r"""Return the budget and the upper bound of problem (11) for a known noise rate: Proposition 1.

    .. math:: \rho = (1 - q + \tau + \tau / \sqrt n) \, n, \qquad 0 \le \alpha_i \le 1 + \tau

    Parameters
    ----------
    noise_rate : float in [0, 1)
        q.
    n_samples : int
        n.
    risk : float in (0, 1], default=1.0
        epsilon. See the notes before lowering it.

    Returns
    -------
    DualBounds
        ``budget``, in samples (divide by n for the ``budget`` of an estimator), and ``upper``.

    Notes
    -----
    (11) relaxes (10) where tau > 0: at a risk of .05, tau is 1.22, and for q = .2 and n = 300 the budget is 94 % of the
    sum of the upper bounds, so that it hardly binds. Hence the paper's experiments, and the default here, have tau = 0.
    Proposition 1 and Lemma 1, which define tau, need independent noise of the samples; the paper says otherwise.

    Examples
    --------
    >>> from kernelwise.papers.stpmkl.theory import budget_from_noise_rate
    >>> budget_from_noise_rate(0.2, 100)
    DualBounds(budget=80.0, upper=1.0)
    >>> bounds = budget_from_noise_rate(0.2, 300, risk=0.05)
    >>> round(bounds.budget / (300 * bounds.upper), 3)
    0.942
    """
    _check_noise_and_samples(noise_rate, n_samples)
    tau = margin_of_confidence(risk)
    return DualBounds(budget=(1 - noise_rate + tau + tau / math.sqrt(n_samples)) * n_samples, upper=1 + tau)


def generalization_bound(
    worst_loss: float,
    *,
    n_samples: int,
    noise_rate: float,
    penalty: float,
    risk: float = 1.0,
    delta: float = 0.05,
) -> float:
    r"""Return the right-hand side of Theorem 1, which bounds the expected hinge loss on clean labels.

    .. math::
        \mathbb{E}\,\ell(y f(x)) \le \frac{1}{n (1 - q)} \max_{p \in Q} \sum_i p_i \ell(y_i f(x_i))
        + \sqrt{\frac{2 (1 + \tau)}{n (1 - q) \lambda}}
        \left[ 4 + \sqrt{\Big(1 + \frac{\lambda}{2 (1 + \tau)}\Big) \ln \frac{1}{\delta}} \right]

    Parameters
    ----------
    worst_loss : float
        :math:`\max_{p \in Q} \sum_i p_i \ell_i`, a sum over samples and not a mean. With tau = 0 it is
        ``NoisyLabelProblem.worst_loss(decisions)``.
    n_samples : int
        n.
    noise_rate : float in [0, 1)
        q.
    penalty : float
        lambda.
    risk : float in (0, 1], default=1.0
        epsilon; 1 for tau = 0.
    delta : float in (0, 1), default=0.05
        The probability with which the bound may fail.

    Notes
    -----
    The bound needs independent samples, at most ``q n`` wrong labels among them, right labels that are a fair sample of
    the clean distribution, kernels with :math:`k_j(x, x) \le 1`, no intercept, and f the minimiser of (10). The values
    are seldom below 1. The number of kernels does not appear, so the bound cannot hold for every number of kernels:
    bounds for L1-MKL have :math:`\sqrt{\ln m}` in the place of the constant 4.

    Examples
    --------
    >>> from kernelwise.papers.stpmkl.theory import generalization_bound
    >>> round(generalization_bound(20.0, n_samples=10_000, noise_rate=0.2, penalty=1.0), 3)
    0.099
    """
    _check_noise_and_samples(noise_rate, n_samples)
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1), got {delta}; it is the probability that the bound fails")
    if not worst_loss >= 0:
        raise ValueError(f"worst_loss must not be negative, got {worst_loss}; it is a sum of hinge losses")
    check_positive("penalty", penalty)
    slope = 1 + margin_of_confidence(risk)
    n_right = n_samples * (1 - noise_rate)
    radius = math.sqrt(2 * slope / (n_right * penalty))
    return worst_loss / n_right + radius * (4 + math.sqrt((1 + penalty / (2 * slope)) * math.log(1 / delta)))


def _check_noise_and_samples(noise_rate: float, n_samples: int) -> None:
    if not 0 <= noise_rate < 1:
        raise ValueError(f"noise_rate must lie in [0, 1), got {noise_rate}; it is the fraction of wrong labels")
    check_count("n_samples", n_samples)


def mirror_prox_iterations(gap: float, *, norm_f: float, norm_alpha: float, n_samples: int, n_kernels: int) -> int:
    r"""Return the T that Theorem 2 asks for: iterations of Algorithm 1 after which its averages have at most this gap.

    .. math:: T = \left\lceil \frac{(\|f^*\|^2 + \|\alpha^*\|^2) \sqrt m}{\sqrt{2 n} \; \mathrm{gap}} \right\rceil

    Parameters
    ----------
    gap : float
        The absolute duality gap wanted.
    norm_f, norm_alpha : float
        :math:`(\sum_j \|f_j^*\|^2)^{1/2}` and :math:`\|\alpha^*\|`; the latter is at most ``upper * sqrt(n)``.
    n_samples, n_kernels : int
        n and m.

    This is for the paper's step :math:`\sqrt{n / (2m)}` and kernels with :math:`k_j(x, x) \le 1`.

    Examples
    --------
    By this count the paper's own setting (ionosphere, a gap of .01) needs more than the 1000 iterations of the paper:

    >>> from kernelwise.papers.stpmkl.theory import mirror_prox_iterations
    >>> mirror_prox_iterations(0.01, norm_f=2.0, norm_alpha=10.0, n_samples=280, n_kernels=350)
    8222
    """
    check_positive("gap", gap)
    check_count("n_samples", n_samples)
    check_count("n_kernels", n_kernels)
    return math.ceil((norm_f**2 + norm_alpha**2) * math.sqrt(n_kernels / (2 * n_samples)) / gap)


def budget_multiplier(problem: NoisyLabelProblem, decisions: ArrayLike) -> float:
    r"""Return the multiplier eta of the budget: the loss of the sample at which the budget runs out.

    The worst use of a budget has the form of a nu-SVM,

    .. math:: \max_{\alpha \in Q} \sum_i \alpha_i (1 - y_i f_i)
              = \min_{\eta \ge 0} \; \rho \eta + \sum_i c_i [1 - \eta - y_i f_i]_+

    and the best eta is the loss at which the sum of the bounds c_i, in the order of falling losses, reaches rho. If the
    sum reaches rho between two samples, every eta between their losses is optimal, and the middle is returned.

    Parameters
    ----------
    problem : NoisyLabelProblem
    decisions : array-like of shape (n_samples,)
        f on the training samples.

    Returns
    -------
    float
        At least 0; 0 where the budget does not bind.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import DenseBank
    >>> from kernelwise.mkl.problem import NoisyLabelProblem
    >>> from kernelwise.papers.stpmkl.theory import budget_multiplier
    >>> bank, ones = DenseBank(np.eye(3)), np.ones(3)
    >>> problem = NoisyLabelProblem(bank, ones, penalty=1.0, upper=ones, mass=3.0, budget=1.5)
    >>> budget_multiplier(problem, [0.0, 0.75, 0.9])
    0.25
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


def equivalent_penalty(problem: NoisyLabelProblem, decisions: ArrayLike) -> float:
    r"""Return the penalty with which plain L1-MKL decides as a solution of the budgeted problem does.

    Put :math:`f = r g` with :math:`r = 1 - \eta` into the form of :func:`budget_multiplier`: for a fixed r the problem
    becomes r times problem (2) with penalty :math:`\lambda r`. Hence

    .. math:: f_{\mathrm{St}}(\lambda, \rho) = r \, f_{\mathrm{Si}}(\lambda r), \qquad r = 1 - \eta ,

    and the signs are the same. So the budget acts as a limit on the penalty, and it is enough to tune one of the two.

    Parameters
    ----------
    problem : NoisyLabelProblem
        With the budget; the plain problem has the same bounds c_i, the same mass and the budget infinity.
    decisions : array-like of shape (n_samples,)
        Its solution on the training samples, with the intercept if there is one.

    Returns
    -------
    float
        :math:`\lambda r`, from 0 (the budget is so small that f = 0 is optimal, and no penalty is equivalent) to lambda
        (the budget does not bind).

    Notes
    -----
    The result is as exact as the decisions are: solve to a small gap first. Bounds of ``c = 1 + tau`` instead of 1 have
    the same effect as dividing lambda and rho by c.

    References
    ----------
    B. Schölkopf, A. Smola, R. Williamson, P. Bartlett. New support vector algorithms. Neural Computation 12 (2000), for
    one kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import DenseBank
    >>> from kernelwise.mkl.problem import NoisyLabelProblem
    >>> from kernelwise.papers.stpmkl.theory import equivalent_penalty
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> problem = NoisyLabelProblem(DenseBank(np.outer(y, y)), y, penalty=2.0, upper=np.ones(4), mass=4.0, budget=2.0)
    >>> equivalent_penalty(problem, 0.25 * y)  # min over f of f^2 + (1 - f)/2 is at f = 1/4, so r = 1/4
    0.5
    """
    ratio = 1.0 - budget_multiplier(problem, decisions)
    return problem.penalty * max(ratio, 0.0)
