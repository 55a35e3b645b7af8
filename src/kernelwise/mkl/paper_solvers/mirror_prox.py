r"""The accelerated mirror prox of the noisy-label paper (Algorithm 1), with exact steps and a certificate.

Three things differ from the printed page, and only these:

* the shrinkage of line 5 has no factor 1/2 (with Lemma 3 as printed the duality gap never closes);
* the projection of lines 4 and 6 and the threshold of line 5 are exact, where the paper bisects;
* the default step is the longest that the analysis allows, :math:`1 / (\sqrt 2 L)` with
  :math:`L^2 = \lambda_{\max}(\sum_j K_j) / N^2`. The paper's :math:`\sqrt{n / (2m)}` is the same with the bound
  :math:`\lambda_{\max} \le m n`, which holds for kernels with :math:`k_j(x, x) \le 1`.

References
----------
T. Yang, M. Mahdavi, R. Jin, L. Zhang, Y. Zhou. Multiple Kernel Learning from Noisy Labels by Stochastic Programming.
ICML 2012, Algorithm 1, Lemmas 2 and 3, Theorem 2.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...checks import check_choice
from ...optim import HistoryRow, SolverResult
from ..problem import MKLPoint, NoisyLabelProblem
from .saddle import Average, Incumbent, Saddle

Array = NDArray[np.float64]


def solve_by_mirror_prox(
    problem: NoisyLabelProblem,
    *,
    tol: float = 1e-2,
    max_iter: int = 1000,
    step: float | Literal["tight", "paper"] = "tight",
    iterate: Literal["last", "average"] = "last",
    check_every: int = 10,
    callback: Callable[[HistoryRow], None] | None = None,
) -> SolverResult[MKLPoint]:
    r"""Solve ``problem`` to a duality gap of ``tol``, relative to the gain of the kernels, by the paper's Algorithm 1.

    Parameters
    ----------
    problem, tol, callback
        As for :func:`~kernelwise.mkl.column_generation.solve_by_column_generation`.
    max_iter : int
        T of the algorithm.
    step : {"tight", "paper"} or float
        The step gamma: :math:`1 / (\sqrt 2 L)`, the paper's :math:`\sqrt{n / (2m)}`, or a number.
    iterate : {"last", "average"}
        The gap is measured at the last iterates or at the averages of all iterates. Theorem 2 is about the averages
        (line 8 of the algorithm), which are far slower in practice.
    check_every : int
        Iterations between two evaluations of the bounds.

    See Also
    --------
    solve_by_column_generation : The default, which reaches a gap of 1e-6 before mirror prox reaches 1e-2.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import DenseBank
    >>> from kernelwise.mkl.paper_solvers.mirror_prox import solve_by_mirror_prox
    >>> from kernelwise.mkl.problem import NoisyLabelProblem
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> bank = DenseBank([np.outer(y, y), np.eye(4)])
    >>> problem = NoisyLabelProblem(bank, y, penalty=0.1, upper=np.ones(4), mass=4.0, budget=3.0)
    >>> result = solve_by_mirror_prox(problem, tol=1e-3)
    >>> result.status, round(result.certificate.primal, 3)  # the first kernel alone separates: 0.1 / 2 * 1^2
    (<Status.CONVERGED: 'converged'>, 0.05)
    """
    check_choice("iterate", iterate, ("last", "average"))
    saddle = Saddle.of(problem)
    space = saddle.space
    incumbent = Incumbent(saddle, tol=tol, callback=callback)
    gamma = _step_length(saddle, step)  # line 1
    f, beta = space.zero(), np.zeros_like(problem.y)  # line 2
    values = space.values(f)
    average = Average()
    iteration = 0
    for iteration in range(1, max_iter + 1):  # line 3
        alpha = saddle.ascend(beta, values, gamma)  # line 4
        f = saddle.shrink(f + gamma * saddle.pull(alpha), gamma)  # line 5
        values = space.values(f)
        beta = saddle.ascend(beta, values, gamma)  # line 6
        if iterate == "average":
            average.add(f, values, alpha)  # line 8
        if iteration % check_every == 0 or iteration == max_iter:
            point = average.point if iterate == "average" else (f, values, alpha)
            if incumbent.offer(iteration, *point):
                break
    return incumbent.result(iteration)


def _step_length(saddle: Saddle, step: float | str) -> float:
    bank = saddle.problem.bank
    if step == "tight":
        return 1.0 / (np.sqrt(2.0) * saddle.coupling_norm) if saddle.coupling_norm > 0 else 1.0
    if step == "paper":
        return float(np.sqrt(bank.n_samples / (2.0 * bank.n_kernels)))
    if isinstance(step, str) or not 0 < step < np.inf:
        raise ValueError(f'step must be "tight", "paper" or a positive number, got {step!r}')
    return float(step)
