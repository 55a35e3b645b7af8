r"""The logistic likelihood of pairs whose labels are known through one statistic only: problem (7) of the LKCnpc paper.

.. math::
    \min_{w \ge 0, \beta} \; F(w, \beta) = \frac\lambda2 \|w\|^2 - \frac12 \big( w^\top b^o + \beta b^o_0 \big)
    + \frac1N \sum_i \omega_i L(w^\top k_i + \beta), \qquad L(s) = \log(e^{s/2} + e^{-s/2}) .

:mod:`kernelwise.pairs.problem` has the derivation, the dual and the table of symbols. The problem is in this package
because two tasks solve the problem: kernels learned from pairs, and depths of smoothing learned from links.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from ..checks import Array
from ..samples import compute, map_rows, persist
from .bounded_newton import BoundedPoint, SeparableProblem


@dataclass(frozen=True)
class PairLikelihoodProblem(SeparableProblem):
    """Problem (7): the convex likelihood with a given statistic. Made by :func:`statistic_problem`."""

    weights: Array
    has_bias: bool

    def losses(self, scores: Array) -> Array:
        size = np.abs(scores)
        return self.weights * (0.5 * size + np.log1p(np.exp(-size)))

    def slopes(self, scores: Array) -> Array:
        return self.weights * 0.5 * np.tanh(0.5 * scores)

    def curvatures(self, scores: Array) -> Array:
        return self.weights * expit(scores) * expit(-scores)

    def dual_value(self, point: BoundedPoint) -> float:
        """Return the dual objective at ``u = L'(s)``, after the bias is set to its best value for these weights."""
        best = self.at(self._with_best_bias(point)) if self.has_bias else point
        kernels = slice(None, -1) if self.has_bias else slice(None)
        w, v, penalty = best.w[kernels], -best.smooth_gradient[kernels], float(self.penalties[0])
        pull = np.maximum(v, 0.0)
        gap = float(np.sum((penalty * w - pull) ** 2)) / (2 * penalty) + float(w @ (pull - v))
        return best.value - gap

    def _with_best_bias(self, point: BoundedPoint) -> Array:
        """Solve ``mean of u = b_0 / 2`` for the bias by Newton steps safeguarded by bisection."""
        base = persist(point.scores - point.w[-1])
        low, high, bias = -np.inf, np.inf, float(point.w[-1])
        for _ in range(100):
            total, curvature = compute(self.slopes(base + bias).sum(), self.curvatures(base + bias).sum())
            excess = float(total) - self.linear[-1]
            low, high = (low, bias) if excess > 0 else (bias, high)
            step = excess / max(float(curvature), np.finfo(float).tiny)
            trial = bias - float(np.clip(step, -10.0, 10.0))
            trial = trial if low <= trial <= high else 0.5 * (low + high)
            if abs(excess) <= 1e-15 or trial == bias:
                break
            bias = trial
        return np.append(point.w[:-1], bias)


def statistic_problem(
    values: Any, weights: Array, statistic: Array, *, penalty: float, bias_statistic: float | None = None
) -> PairLikelihoodProblem:
    """Problem (7) for given pair values and a given statistic."""
    design, linear, penalties, lower = with_bias(values, 0.5 * statistic, penalty, bias_statistic)
    shares = persist(weights / float(weights.sum()))
    return PairLikelihoodProblem(design, linear, penalties, lower, shares, bias_statistic is not None)


def with_bias(
    values: Any, linear: Array, penalty: float, bias_statistic: float | None
) -> tuple[Any, Array, Array, Array]:
    """Return the design, linear term, penalties and bounds; the bias is a last, free column of ones."""
    n_kernels = values.shape[1]
    penalties, lower = np.full(n_kernels, penalty), np.zeros(n_kernels)
    if bias_statistic is None:
        return values, linear, penalties, lower
    design = persist(map_rows(values, _beside_ones))
    return design, np.append(linear, 0.5 * bias_statistic), np.append(penalties, 0.0), np.append(lower, -np.inf)


def _beside_ones(values: Any) -> Any:
    ones: Any = np.ones((values.shape[0], 1))
    return np.hstack([values, ones]) if isinstance(values, np.ndarray) else sp.csr_array(sp.hstack([values, ones]))
