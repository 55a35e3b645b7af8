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

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...checks import check_choice, check_positive
from ...optim import HistoryRow, SolverResult
from ..problem import MKLPoint, NoisyLabelProblem
from .saddle import Average, Incumbent, Saddle

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

    Parameters
    ----------
    problem, tol, check_every, callback
        As for :func:`~kernelwise.mkl.paper_solvers.mirror_prox.solve_by_mirror_prox`.
    max_iter : int
        T: the number of iterations, which also sets the step.
    gamma0 : float
        The step is ``gamma0 / sqrt(max_iter)``. The paper picks the best of .01, .1, 1, 10, 100. Steps longer than
        ``2 / (penalty * n_kernels)`` can diverge; the method then stops as stalled.
    iterate : {"average", "last"}
        The gap is measured at the averages of all iterates, which the theory is about, or at the last iterates.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import DenseBank
    >>> from kernelwise.mkl.problem import NoisyLabelProblem
    >>> from kernelwise.mkl.paper_solvers.variational_inequality import solve_by_variational_inequality
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> bank = DenseBank([np.outer(y, y), np.eye(4)])
    >>> problem = NoisyLabelProblem(bank, y, penalty=0.1, upper=np.ones(4), mass=4.0, budget=3.0)
    >>> result = solve_by_variational_inequality(problem, tol=1e-9, gamma0=10.0, max_iter=400)
    >>> round(result.certificate.dual, 3), round(result.certificate.primal, 3)  # the optimum, 0.05, is between them
    (0.05, 0.053)
    """
    check_choice("iterate", iterate, ("last", "average"))
    check_positive("gamma0", gamma0, "; the paper tries .01 to 100")
    saddle = Saddle.of(problem)
    space = saddle.space
    incumbent = Incumbent(saddle, tol=tol, callback=callback)
    gamma = gamma0 / np.sqrt(max_iter)
    f, alpha = space.zero(), np.zeros_like(problem.y)
    values = space.values(f)
    average = Average()
    iteration = 0
    for iteration in range(1, max_iter + 1):
        toward = gamma * saddle.pull(alpha)
        alpha = saddle.ascend(alpha, values, gamma)
        f = space.scaled(f, 1.0 - gamma * _slopes(saddle, f)) + toward
        values = space.values(f)
        if iterate == "average":
            average.add(f, values, alpha)
        if iteration % check_every == 0 or iteration == max_iter:
            point = average.point if iterate == "average" else (f, values, alpha)
            if incumbent.offer(iteration, *point):
                break
    return incumbent.result(iteration)


def _slopes(saddle: Saddle, f: Array) -> Array:
    """Return ``lam mu / ||f_j||``, which times ``f_j`` is a subgradient of R; zero where ``f_j`` is."""
    norms = saddle.space.norms(f)
    slope = np.full_like(norms, saddle.problem.penalty * norms.sum())
    return np.divide(slope, norms, out=np.zeros_like(norms), where=norms > 0)
