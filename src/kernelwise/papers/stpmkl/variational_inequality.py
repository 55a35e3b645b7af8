r"""Gradient descent in f and ascent in alpha: the baseline that the noisy-label paper compares its algorithm with.

Problem (11) is the variational inequality of the monotone operator :math:`(\partial_f F, -\partial_\alpha F)`. The
oldest method for it takes a step against the operator and projects:

.. math::
    f^t = f^{t-1} - \gamma \, g(f^{t-1}, \alpha^{t-1}), \qquad
    \alpha^t = \Pi_Q [\alpha^{t-1} + \gamma \nabla_\alpha L(f^{t-1}, \alpha^{t-1})], \qquad \gamma = \gamma_0 / \sqrt T

R is not smooth, so g is a subgradient: :math:`g_j = \lambda \mu f_j / \|f_j\| + \nabla_{f_j} L` with
:math:`\mu = \sum_j \|f_j\|`, and :math:`\nabla_{f_j} L` alone for a part that is zero. The gap of the averages falls
like :math:`1 / \sqrt T`.

References
----------
A. Nemirovski. Efficient methods in convex programming. Lecture notes, Technion, 1994.

T. Yang, M. Mahdavi, R. Jin, L. Zhang, Y. Zhou. Multiple Kernel Learning from Noisy Labels by Stochastic Programming.
ICML 2012, section 4.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...checks import check_positive
from ...mkl.problem import MKLPoint, NoisyLabelProblem
from ...optim import HistoryRow, SolverResult
from .saddle import Saddle, follow

Array = NDArray[np.float64]


def solve_by_variational_inequality(
    problem: NoisyLabelProblem,
    *,
    tol: float = 1e-2,
    max_iter: int = 1000,
    gamma0: float = 1.0,
    iterate: Literal["last", "average"] = "average",
    check_every: int = 10,
    callback: Callable[[HistoryRow], None] | None = None,
) -> SolverResult[MKLPoint]:
    r"""Run the paper's baseline on ``problem``, until the relative duality gap is ``tol`` or the iterations run out.

    The step is ``gamma0 / sqrt(max_iter)``. Steps longer than ``2 / (penalty * n_kernels)`` can diverge; the method
    then stops as stalled.
    """
    check_positive("gamma0", gamma0, "; the paper tries .01 to 100")
    saddle = Saddle.of(problem)
    points = _points(saddle, gamma0 / np.sqrt(max_iter))
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "check_every": check_every, "callback": callback}
    return follow(saddle, points, iterate=iterate, **options)


def _points(saddle: Saddle, gamma: float) -> Iterator[tuple[Array, Array, Array]]:
    f, alpha = saddle.space.zero(), np.zeros_like(saddle.problem.y)
    values = saddle.space.values(f)
    while True:
        toward = gamma * saddle.pull(alpha)
        alpha = saddle.ascend(alpha, values, gamma)
        f = saddle.space.scaled(f, 1.0 - gamma * _slopes(saddle, f)) + toward
        values = saddle.space.values(f)
        yield f, values, alpha


def _slopes(saddle: Saddle, f: Array) -> Array:
    """Return ``lam mu / ||f_j||``, which times ``f_j`` is a subgradient of R; zero where ``f_j`` is."""
    norms = saddle.space.norms(f)
    slope = np.full_like(norms, saddle.problem.penalty * norms.sum())
    return np.divide(slope, norms, out=np.zeros_like(norms), where=norms > 0)
