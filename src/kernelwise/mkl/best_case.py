"""MiPMKL: multiple kernel learning that picks the samples it trusts."""

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from ..rows import refuse_dask
from .base import MKLClassifier, Result, WeightedSamples
from .best_case_problem import solve_best_case
from .checkpoint import refuse_checkpoint
from .classifiers import check_budget_options, used_noise_rate


class BestCaseMKLClassifier(MKLClassifier):
    r"""Multiple kernel learning with the robust hinge loss: MiPMKL, the best case over who is mislabelled.

    .. math::
        \min_{f, p} \frac{\alpha}{2} \Big( \sum_j \|f_j\| \Big)^2 + \frac{1}{n} \sum_i (p_i \ell_i + 1 - p_i),
        \quad p \in [0, 1]^n, \; \sum_i p_i \le \rho

    The baseline of [1]_, after [2]_. The problem is not convex: it is solved by alternation from several starts, and
    the best local minimum is kept. ``dual_gap_`` certifies the functions for the final p, not that no better p exists.

    Parameters
    ----------
    kernels, alpha
        As for :class:`SimpleMKLClassifier`, and so are all the parameters not listed here.
    noise_rate : float or "auto"
        The share of wrong labels, in [0, 0.5): ``rho = (1 - noise_rate) n``; "auto": as :func:`estimate_label_noise`
        finds it.
    budget : float or None
        ``rho / n`` in (0, 1]; takes the place of ``noise_rate``.
    n_starts : int
        The first start trusts everybody, the others a random share of the size of the budget.

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

    def __init__(
        self,
        kernels: Any = None,
        *,
        alpha: float = 0.01,
        noise_rate: float | Literal["auto"] = 0.1,
        budget: float | None = None,
        n_starts: int = 3,
        fit_intercept: bool = False,
        normalize_kernels: bool = False,
        scale_features: bool = True,
        rank: int | float | None = None,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        probability: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.alpha = alpha
        self.noise_rate = noise_rate
        self.budget = budget
        self.n_starts = n_starts
        self.fit_intercept = fit_intercept
        self.normalize_kernels = normalize_kernels
        self.scale_features = scale_features
        self.rank = rank
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.probability = probability
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_options(self) -> None:
        super()._check_options()
        check_budget_options(self.noise_rate, self.budget, None)
        if self.n_starts < 1:
            raise ValueError(f"n_starts must be at least 1, got {self.n_starts!r}")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, checkpoint: Any = None) -> "BestCaseMKLClassifier":
        self._check_options()
        refuse_dask(self, X, "RobustMKLClassifier")
        refuse_checkpoint(self, checkpoint)
        self.noise_rate_ = used_noise_rate(self, X, y)
        super().fit(X, y, sample_weight)
        self.budget_ = self._share()
        return self

    def _share(self) -> float:
        return 1.0 - self.noise_rate_ if self.budget is None else float(self.budget)

    def _solve(self, data: WeightedSamples, *, tol: float, options: dict[str, Any]) -> Result:
        rng = check_random_state(self.random_state)
        n = len(data.y)
        # A warm start comes from a fold of the calibration, where one start is enough.
        n_random = self.n_starts - 1 if options["active"] is None else 0
        random_starts = [(rng.permutation(n) < self._share() * n).astype(float) for _ in range(n_random)]
        return solve_best_case(
            lambda trust: data.problem(penalty=self.alpha, bound=trust, intercept=self.fit_intercept),
            lambda problem, used: self._run_solver(
                problem, tol=tol, options={"active": options["active"] if used is None else used}
            ),
            weight=data.weight,
            budget=self._share() * data.mass,
            starts=[np.ones(n), *random_starts],
            tol=tol,
        )
