r"""Multiple kernel learning from noisy labels: problems (2) and (11) of the StPMKL paper.

The problem, with :math:`f = \sum_j f_j + b`:

.. math::
    \min_{f} \max_{\alpha \in Q} \; \frac{\lambda}{2} \Big( \sum_j \|f_j\| \Big)^2
    + \frac{1}{N} \sum_i \alpha_i (1 - y_i f(x_i)),
    \qquad Q = \{ 0 \le \alpha_i \le c_i, \; \sum_i \alpha_i \le \rho \}

and its dual, with :math:`v = \alpha \circ y`:

.. math::
    \max_{\alpha \in Q} \; \frac{1}{N} \sum_i \alpha_i - \frac{1}{2 \lambda N^2} \max_j v^\top K_j v .

======================  ===============================================================================
here                    in the paper
======================  ===============================================================================
``penalty``             lambda
``upper``               c_i: 1 + tau, times the sample weight
``budget``              rho; infinity gives problem (2), SiPMKL
``mass``                N: n, or the sum of the sample weights
``alpha``               alpha
``parts[j]``            f_j in the coordinates of the factor ``K_j = F_j F_j^T``: ``f_j = F_j w_j``
======================  ===============================================================================

A weight of two is the same as the sample given twice. The intercept b, not in the paper, is optional and unpenalised;
it adds the constraint ``y^T alpha = 0`` to the dual.

Gaps are relative to what the kernels gain, :math:`F(b_0) - F^*`, with :math:`b_0` the best constant (zero where there
is no intercept). The objective itself is no measure: for a large penalty it is near :math:`F(0)`, whatever f is.

**Large penalties only shrink the function.** Around the best constant the loss is positively homogeneous: for
:math:`|h| \le 1`, :math:`L(b_0 + h) = L(b_0) + L'(b_0; h)`. With :math:`R^2` the largest diagonal entry of all kernels,
the solution has :math:`\sum_j \|f_j\| \le R F(b_0) / \lambda`, thus values below one for
:math:`\lambda \ge \lambda_0 = R^2 F(b_0)` (twice as much with an intercept, which moves by as much as the values do).
From there on :math:`f_\lambda - b_0 = (\lambda_0 / \lambda) (f_{\lambda_0} - b_0)`,
:math:`F_\lambda(b_0) - F_\lambda^* = (\lambda_0 / \lambda) (F_{\lambda_0}(b_0) - F_{\lambda_0}^*)`, and the predictions
are those of :math:`\lambda_0`.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..checks import Array, Index
from ..kernels import KernelBank
from ..optim import Certificate, largest_spending
from ..samples import compute, persist


@dataclass(frozen=True)
class MKLPoint:
    """A pair of a primal and a dual point."""

    alpha: Array
    parts: dict[int, Array]
    intercept: float = 0.0

    @property
    def active(self) -> Index:
        """The kernels with more than a negligible part of the function, from which a nearby problem should start."""
        norms = {j: float(np.linalg.norm(w)) for j, w in self.parts.items()}
        total = sum(norms.values())
        return np.array(sorted(j for j, norm in norms.items() if norm > 1e-4 * total), dtype=np.intp)

    def norms(self, n_kernels: int) -> Array:
        """Return ``||f_j||`` for every kernel."""
        norms = np.zeros(n_kernels)
        for j, w in self.parts.items():
            norms[j] = np.linalg.norm(w)
        return norms


@dataclass(frozen=True)
class NoisyLabelProblem:
    """One binary problem over a bank of kernels; evaluates the primal and the dual, and so certifies any answer."""

    bank: KernelBank
    y: Array
    penalty: float
    upper: Array
    mass: float
    budget: float = np.inf
    intercept: bool = False

    @cached_property
    def budget_binds(self) -> bool:
        """Whether the budget excludes anything that the bounds allow."""
        return bool(self.budget < float(self.upper.sum()))

    @cached_property
    def best_constant(self) -> float:
        """The best function without kernels; the loss of a constant is piecewise linear with corners at -1, 0 and 1."""
        constants = (0.0, 1.0, -1.0) if self.intercept else (0.0,)
        return min(constants, key=lambda b: self.worst_loss(np.full_like(self.y, b)))

    @cached_property
    def start(self) -> float:
        """The objective of the best constant, from which gains are measured."""
        return self.worst_loss(np.full_like(self.y, self.best_constant)) / self.mass

    def shrinks_from(self, prices: Array) -> float:
        """Return a penalty above which the solution only shrinks (see above), given prices at ``feasible(upper)``."""
        if self.start <= 0 or self.penalty <= float(prices.max()) / (self.mass**2 * self.start):
            return np.inf
        return (2.0 if self.intercept else 1.0) * self.bank.largest_diagonal() * self.start

    def worst_loss(self, decisions: Array) -> float:
        """Return ``max over Q of sum_i alpha_i (1 - y_i f_i)``: the bounds, spent on the largest losses first."""
        losses = np.maximum(0.0, 1.0 - self.y * decisions)
        if not self.budget_binds:
            return float(self.upper @ losses)
        return largest_spending(losses, upper=self.upper, budget=self.budget)

    def primal_value(self, decisions: Array, norms: Array) -> float:
        """Return the objective of ``f`` given its values on the samples and the norms of its parts."""
        return 0.5 * self.penalty * float(norms.sum()) ** 2 + self.worst_loss(decisions) / self.mass

    def prices(self, alpha: Array) -> Array:
        """Return ``v^T K_j v`` for every kernel: one pass over the bank."""
        return self.bank.quadratic_forms(alpha * self.y)

    def dual_value(self, alpha: Array, prices: Array | None = None) -> float:
        """Return the dual objective of the best multiple of a feasible ``alpha``: a lower bound on the optimum.

        ``theta alpha`` is feasible for theta in [0, 1]; its value ``theta a - theta^2 b / 2`` is largest at
        ``min(1, a/b)``. Where the prices of ``alpha`` are given, the pass over the bank is saved.
        """
        gain = float(alpha.sum()) / self.mass
        highest = float((self.prices(alpha) if prices is None else prices).max())
        cost = highest / (self.penalty * self.mass**2)
        theta = 1.0 if cost <= gain else gain / cost
        return theta * gain - 0.5 * theta**2 * cost

    def feasible(self, alpha: Array) -> Array:
        """Return ``alpha`` moved into Q (and onto ``y^T alpha = 0`` where there is an intercept) by shrinking alone."""
        inside = np.clip(alpha, 0.0, self.upper)
        positive, total = compute((inside * (self.y > 0)).sum(), inside.sum())
        if self.intercept:
            negative = total - positive
            smaller = min(positive, negative)
            scale_positive = smaller / positive if positive > 0 else 0.0
            scale_negative = smaller / negative if negative > 0 else 0.0
            inside = inside * np.where(self.y > 0, scale_positive, scale_negative)
            total = 2.0 * smaller
        return persist(inside * (self.budget / total) if total > self.budget else inside)

    def decisions(self, point: MKLPoint) -> Array:
        """Return ``f(x_i)`` on the training samples."""
        if not point.parts:
            return np.full_like(self.y, point.intercept)
        return self.bank.values(point.parts) + point.intercept

    def certificate(self, point: MKLPoint, prices: Array | None = None) -> Certificate:
        """Evaluate the primal and the dual at a point with a feasible ``alpha``; ``prices`` belong to ``alpha``."""
        primal = self.primal_value(self.decisions(point), point.norms(self.bank.n_kernels))
        return Certificate(primal=primal, dual=self.dual_value(point.alpha, prices), start=self.start)


def margin_of_confidence(risk: float) -> float:
    r"""Return :math:`\tau = \sqrt{\ln(1/\epsilon) / 2}`, the deviation that Hoeffding's inequality allows.

    Parameters
    ----------
    risk : float in (0, 1]
        epsilon. The paper's experiments use 1, which gives 0.

    Examples
    --------
    >>> from kernelwise.mkl.problem import margin_of_confidence
    >>> margin_of_confidence(1.0), round(margin_of_confidence(0.05), 2)
    (0.0, 1.22)
    """
    if not 0 < risk <= 1:
        raise ValueError(f"risk must lie in (0, 1], got {risk}; it is the probability that the chance constraint fails")
    return math.sqrt(-math.log(risk) / 2) if risk < 1 else 0.0
