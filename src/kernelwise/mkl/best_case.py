r"""The best case over the wrong labels: MiPMKL, the robust hinge loss that the StPMKL paper compares with.

.. math::
    \min_{f} \min_{p \in P} \; \frac{\lambda}{2} \Big( \sum_j \|f_j\| \Big)^2
    + \frac{1}{N} \sum_i w_i \big( p_i \ell_i + 1 - p_i \big),
    \qquad P = \{ p \in [0, 1]^n, \; \sum_i w_i p_i \le \rho \}

The problem is not convex. The method alternates: for a given f, the best p trusts the samples of smallest loss; for a
given p, the best f solves a weighted SiPMKL problem. Every step lowers the objective, so the method ends in a local
minimum, which depends on the start. The best of several starts is kept.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from ..checks import Array, Index, check_count
from ..optim import Certificate, HistoryRow, SolverResult, Status
from ..samples import refuse_dask
from .base import Result, WeightedSamples
from .checkpoint import refuse_checkpoint
from .classifiers import NoisyMKLClassifier
from .problem import MKLPoint, NoisyLabelProblem

#: The method gives up a start after this many alternations; usually about five are enough.
MAX_ALTERNATIONS = 30
#: Losses are compared as multiples of this; the losses of samples on the margin, 0 and 1, are such multiples.
STEP = 2.0**-16


def trusted_share(losses: Array, weight: Array, budget: float) -> Array:
    """Return the best p for given losses: one for the smallest losses below one, until the budget is spent.

    Losses are compared as multiples of :data:`STEP`, and equal losses share what is left of the budget: many losses are
    zero up to rounding, and rounding is no reason to trust one sample and not the other.
    """
    levels, level = np.unique(np.round(losses / STEP), return_inverse=True)
    held = np.bincount(level, weights=weight, minlength=len(levels))
    before = np.cumsum(held) - held
    share = np.clip((budget - before) / np.where(held > 0, held, 1.0), 0.0, 1.0) * (levels * STEP < 1.0)
    return share[level] * (weight > 0)


def alternate(
    problem_given: Callable[[Array], NoisyLabelProblem],
    solve: Callable[[NoisyLabelProblem, Index | None], SolverResult[MKLPoint]],
    trust: Array,
    *,
    weight: Array,
    budget: float,
    tol: float,
) -> SolverResult[MKLPoint]:
    """Alternate from a first trust p until a new p lowers the objective by at most ``tol`` times what f gained over 0.

    ``problem_given(p)`` is the convex problem for a given p, and ``solve`` may start from the kernels that the previous
    solution used. ``budget`` is in the units of ``weight``. The certificate of the result bounds the convex problem for
    the final p: the bound holds for f, and says nothing about other p.
    """
    started = time.perf_counter()
    history: list[HistoryRow] = []
    active: Index | None = None
    while True:
        problem = problem_given(trust)
        result = solve(problem, active)
        active = result.point.active
        # Samples that are not trusted cost one each, for every f.
        cost = float(weight @ (1.0 - trust)) / problem.mass
        found = result.certificate
        bounds = Certificate(found.primal + cost, found.dual + cost, problem.start + cost)
        history.append(HistoryRow(len(history) + 1, time.perf_counter() - started, bounds.primal, bounds.dual))
        losses = np.maximum(0.0, 1.0 - problem.y * problem.decisions(result.point))
        update = trusted_share(losses, weight, budget)
        gain = float(weight @ ((update - trust) * (1.0 - losses))) / problem.mass
        allowed = weight @ trust <= budget * (1.0 + 1e-12)  # the first trust may be above the budget
        done = (allowed and gain <= tol * (problem.start - found.primal)) or not (update > 0).any()
        if done or len(history) == MAX_ALTERNATIONS:
            status = result.status if done else Status.MAX_ITER
            return SolverResult(result.point, bounds, status, len(history), tuple(history))
        trust = update


@dataclass(eq=False, repr=False, kw_only=True)
class BestCaseMKLClassifier(NoisyMKLClassifier):
    r"""Multiple kernel learning with the robust hinge loss: MiPMKL, the best case over the wrong labels.

    .. math::
        \min_{f, p} \frac{\alpha}{2} \Big( \sum_j \|f_j\| \Big)^2 + \frac{1}{n} \sum_i (p_i \ell_i + 1 - p_i),
        \quad p \in [0, 1]^n, \; \sum_i p_i \le \rho

    The baseline of [1]_, after [2]_. The problem is not convex: the method alternates between f and p from several
    starts, and keeps the best local minimum. ``objective_`` is the objective for the final p, which is within ``tol``
    of the objective for the best p given f: one for the smallest losses below one, until the budget is spent.
    ``dual_gap_`` bounds how much a better f could gain for the final p; another f and p together may gain more.

    Parameters
    ----------
    kernels, fit_intercept, normalize_kernels, scale_features, rank, solver, tol, max_iter
        As in :class:`SimpleMKLClassifier`.
    random_state, n_jobs, verbose
        As in :class:`SimpleMKLClassifier`. The random state also draws the starts.
    alpha, probability : float, bool
        As in :class:`SimpleMKLClassifier`.
    noise_rate : float or "auto"
        The share of wrong labels, in [0, 0.5): ``rho = (1 - noise_rate) n``. With "auto",
        :func:`estimate_label_noise` estimates the share.
    budget : float or None
        ``rho / n`` in (0, 1]; takes the place of ``noise_rate``.
    n_starts : int
        The first start trusts all samples; every other start trusts a random share of the samples, of the size of the
        budget.

    Attributes
    ----------
    noise_rate_, budget_ : float
        All attributes of :class:`SimpleMKLClassifier` are there too.

    References
    ----------
    .. [1] Yang, Mahdavi, Jin, Zhang, Zhou. Multiple kernel learning from noisy labels by stochastic programming.
       ICML 2012.
    .. [2] Xu, Crammer, Schuurmans. Robust support vector machine training via convex outlier ablation. AAAI 2006.

    Examples
    --------
    >>> from kernelwise import BestCaseMKLClassifier, flip_labels
    >>> from kernelwise.datasets import load_heart
    >>> X, y = load_heart(return_X_y=True)
    >>> noisy = flip_labels(y[:200], 0.2, random_state=0)
    >>> model = BestCaseMKLClassifier(noise_rate=0.2, random_state=0).fit(X[:200], noisy)
    >>> bool(model.score(X[200:], y[200:]) > 0.7)
    True
    """

    n_starts: int = 3

    def _check_options(self) -> None:
        super()._check_options()
        check_count("n_starts", self.n_starts)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        refuse_dask(self, X, "RobustMKLClassifier")
        refuse_checkpoint(self, checkpoint)
        return super().fit(X, y, sample_weight)

    def _bound_and_budget(self, mass: float) -> tuple[float, float]:
        return 1.0, 1.0 - self.noise_rate_ if self.budget is None else float(self.budget)

    def _solve(self, data: WeightedSamples, *, tol: float, options: dict[str, Any]) -> Result:
        rng = check_random_state(self.random_state)
        n = len(data.y)
        # A warm start comes from a fold of the calibration, where one start is enough.
        n_random = self.n_starts - 1 if options["active"] is None else 0
        _, share = self._bound_and_budget(data.total)
        random_starts = [(rng.permutation(n) < share * n).astype(float) for _ in range(n_random)]

        def problem_given(trust: Array) -> NoisyLabelProblem:
            return data.problem(penalty=self.alpha, bound=trust, intercept=self.fit_intercept)

        def solve(problem: NoisyLabelProblem, used: Index | None) -> Result:
            return self._run_solver(problem, tol=tol, options={"active": options["active"] if used is None else used})

        results = [
            alternate(problem_given, solve, trust, weight=data.weight, budget=share * data.mass, tol=tol)
            for trust in [np.ones(n), *random_starts]
        ]
        best = min((result.certificate for result in results), key=lambda bounds: bounds.primal)
        # Several starts often end in the same minimum, and then rounding should not choose between them.
        enough = best.primal + 10 * tol * max(1.0 - best.primal, 0.0)
        return next(result for result in results if result.certificate.primal <= enough)
