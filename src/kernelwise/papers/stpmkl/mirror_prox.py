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

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...mkl.problem import MKLPoint, NoisyLabelProblem
from ...optim import HistoryRow, SolverResult
from .saddle import Saddle, follow

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

    ``step`` is :math:`1 / (\sqrt 2 L)`, the paper's :math:`\sqrt{n / (2m)}`, or a number. The gap is measured at the
    last iterates or at the averages of all iterates, which Theorem 2 is about, and which are far slower.
    """
    saddle = Saddle.of(problem)
    points = _points(saddle, _step_length(saddle, step))
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "check_every": check_every, "callback": callback}
    return follow(saddle, points, iterate=iterate, **options)


def _points(saddle: Saddle, gamma: float) -> Iterator[tuple[Array, Array, Array]]:  # with gamma of line 1
    f, beta = saddle.space.zero(), np.zeros_like(saddle.problem.y)  # line 2
    values = saddle.space.values(f)
    while True:  # line 3
        alpha = saddle.ascend(beta, values, gamma)  # line 4
        f = saddle.shrink(f + gamma * saddle.pull(alpha), gamma)  # line 5
        values = saddle.space.values(f)
        beta = saddle.ascend(beta, values, gamma)  # line 6
        yield f, values, alpha  # line 8 averages them


def _step_length(saddle: Saddle, step: float | str) -> float:
    bank = saddle.problem.bank
    if step == "tight":
        return 1.0 / (np.sqrt(2.0) * saddle.coupling_norm) if saddle.coupling_norm > 0 else 1.0
    if step == "paper":
        return float(np.sqrt(bank.n_samples / (2.0 * bank.n_kernels)))
    if isinstance(step, str) or not 0 < step < np.inf:
        raise ValueError(f'step must be "tight", "paper" or a positive number, got {step!r}')
    return float(step)
