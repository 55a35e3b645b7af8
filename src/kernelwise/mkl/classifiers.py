"""SiPMKL and StPMKL: kernels combined by minimising the hinge loss of all samples, or of the worst allowed samples."""

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from ..kernels.specs import is_precomputed
from ..samples import is_dask
from .base import MKLClassifier, Result, WeightedSamples
from .on_dask import some_rows
from .problem import margin_of_confidence


@dataclass(eq=False, repr=False, kw_only=True)
class SimpleMKLClassifier(MKLClassifier):
    r"""Multiple kernel learning with the L1 norm, taking every label as it is: SiPMKL.

    .. math::
        \min_{f_1, \ldots, f_m} \frac{\alpha}{2} \Big( \sum_j \|f_j\| \Big)^2
        + \frac{1}{n} \sum_i \max(0, 1 - y_i \textstyle\sum_j f_j(x_i))

    This is problem (2) of [1]_, and equivalent to learning weights on the simplex [2]_. Few kernels get a weight.

    Parameters
    ----------
    kernels : kernel, family, sequence of these, "precomputed" or None
        None: Gaussian kernels of ten widths on all features and on each feature, ``gaussian_kernels()``.
        "precomputed": ``X`` holds Gram matrices, samples first.
    fit_intercept : bool
        Add an unpenalised constant. The paper has none; wide Gaussian kernels act as a penalised one.
    normalize_kernels : bool
        Centre every kernel in its feature space and scale it to unit variance.
    scale_features : bool
        Scale every feature to [0, 1] by its training range, as in the paper.
    rank : None, int or float
        None: exact kernels. An int: at most this many landmarks per kernel, for large data. A float: the residual of
        the factors to reach.
    solver : {"auto", "column-generation", "mirror-prox", "variational-inequality"}
        "auto" is column generation with an interior point. The last two are the algorithms of the paper.
    tol : float
        The duality gap to reach, relative to what the kernels gain, or to the objective where that is smaller. The gain
        is the objective of f = 0 (with an intercept, of the best constant) minus the optimum.
    max_iter : int or None
        The largest number of iterations of the solver; None: its own default.
    random_state : int, RandomState or None
        Folds for the calibration; landmarks for large data.
    n_jobs : int or None
        Threads for the folds.
    verbose : int
        Above zero, log the gap at every iteration to the logger ``kernelwise``.
    alpha : float
        The strength of the penalty, lambda in the paper. Larger means smoother.
    probability : bool
        Calibrate ``predict_proba`` on out-of-fold decisions. This costs up to five more, warm-started, fits.

    Attributes
    ----------
    classes_ : ndarray
    kernels_ : list of kernels, in the order of ``kernel_weights_``
    kernel_weights_ : ndarray of shape (n_kernels,), or (n_classes, n_kernels) for more than two classes
        ``||f_j|| / sum ||f_j||``.
    dual_coef_ : sparse array of shape (n_kernels, n_samples), or a list of them for more than two classes
        Coefficients ``Z`` with ``f_j = sum_i Z[j, i] k_j(x_i, .)``, signed as in SVC, before any centring of kernels.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    objective_, dual_gap_ : float
        The objective reached and the certified distance to the optimum, summed over one-against-rest problems.
    relative_gap_ : float
        The certified distance to the optimum relative to what the kernels gain, the largest of all problems: at most
        ``tol`` where ``converged_``.
    n_iter_ : int
    converged_ : bool
    history_ : list of histories (iteration, seconds, primal, dual), one per problem

    References
    ----------
    .. [1] Yang, Mahdavi, Jin, Zhang, Zhou. Multiple kernel learning from noisy labels by stochastic programming.
       ICML 2012.
    .. [2] Micchelli, Pontil. Learning the kernel function via regularization. JMLR 2005.

    Examples
    --------
    >>> from kernelwise import SimpleMKLClassifier
    >>> from kernelwise.datasets import load_heart
    >>> X, y = load_heart(return_X_y=True)
    >>> model = SimpleMKLClassifier(random_state=0).fit(X[:200], y[:200])
    >>> bool(model.converged_ and model.score(X[200:], y[200:]) > 0.7)
    True
    >>> sorted(model.kernel_table()[0])
    ['features', 'kernel', 'weight']
    """

    def _solve(self, data: WeightedSamples, *, tol: float, options: dict[str, Any]) -> Result:
        problem = data.problem(penalty=self.alpha, intercept=self.fit_intercept)
        return self._run_solver(problem, tol=tol, options=options)


@dataclass(eq=False, repr=False, kw_only=True)
class NoisyMKLClassifier(MKLClassifier):
    """Base of the classifiers that expect a share of the labels to be wrong."""

    noise_rate: float | Literal["auto"] = 0.1
    budget: float | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, checkpoint: str | Path | None = None) -> Self:
        self._check_options()
        self.noise_rate_ = self._used_noise_rate(X, y)
        super().fit(X, y, sample_weight, checkpoint=checkpoint)
        self.budget_ = self._bound_and_budget(self.total_weight_)[1]
        return self

    @abstractmethod
    def _bound_and_budget(self, mass: float) -> tuple[float, float]:
        """Return ``1 + tau`` and ``rho / n``."""

    def _check_options(self) -> None:
        """Refuse a noise rate or a budget that has no meaning."""
        super()._check_options()
        noise_rate, budget = self.noise_rate, self.budget
        automatic = isinstance(noise_rate, str) and noise_rate == "auto"
        if not automatic and (isinstance(noise_rate, str) or not 0 <= noise_rate < 0.5):
            raise ValueError(
                f'noise_rate must lie in [0, 0.5) or be "auto", got {noise_rate!r}; with half of the labels wrong they '
                "say nothing"
            )
        if budget is not None and not 0 < budget <= 1:
            raise ValueError(f"budget, the share rho / n, must lie in (0, 1], got {budget!r}")

    def _used_noise_rate(self, X: Any, y: Any) -> float:
        """Return the share of labels taken to be wrong: as passed, implied by the budget, or estimated."""
        if self.budget is not None:
            return 1.0 - float(self.budget)
        if self.noise_rate != "auto":
            return float(self.noise_rate)
        if is_precomputed(self.kernels):
            raise ValueError(
                'noise_rate="auto" needs features, but kernels="precomputed"; give a number between 0 and 0.5'
            )
        from ..labels.audit import estimate_label_noise

        if is_dask(X):
            X, y = some_rows(self, X, y)
        return min(estimate_label_noise(X, y, random_state=self.random_state).noise_rate, 0.49)


@dataclass(eq=False, repr=False, kw_only=True)
class RobustMKLClassifier(NoisyMKLClassifier):
    r"""Multiple kernel learning that expects a share of the labels to be wrong: StPMKL.

    .. math::
        \min_{f_1, \ldots, f_m} \max_{a \in Q} \frac{\alpha}{2} \Big( \sum_j \|f_j\| \Big)^2
        + \frac{1}{n} \sum_i a_i (1 - y_i f(x_i)), \quad
        Q = \{ 0 \le a_i \le 1 + \tau, \; \textstyle\sum_i a_i \le \rho \}

    Problem (11) of [1]_. Three ways to say how wrong the labels are:

    * ``noise_rate=q``: ``rho = (1 - q) n``, ``tau = 0``;
    * ``noise_rate=q, risk=eps``: the paper's chance constraint, ``tau = sqrt(ln(1/eps) / 2)`` and
      ``rho = (1 - q + tau + tau / sqrt(n)) n``;
    * ``budget=b``: the paper's practical form, ``rho = b n`` and ``tau = 0``, with b to be tuned.

    Where the budget binds, ``f_St(alpha, rho) = r f_Si(alpha r)`` for some r in (0, 1]. This classifier is therefore
    :class:`SimpleMKLClassifier` with an upper bound on the penalty, and a well-tuned :class:`SimpleMKLClassifier`
    predicts as well. See ``docs/reproduction/noisy-labels.md``.

    Parameters
    ----------
    kernels, fit_intercept, normalize_kernels, scale_features, rank, solver, tol, max_iter
        As in :class:`SimpleMKLClassifier`.
    random_state, n_jobs, verbose, alpha, probability
        As in :class:`SimpleMKLClassifier`.
    noise_rate : float or "auto"
        The share of wrong labels, in [0, 0.5). With "auto", :func:`estimate_label_noise` estimates the share.
    budget : float or None
        ``rho / n`` in (0, 1]; takes the place of ``noise_rate``.
    risk : float or None
        The probability epsilon with which the loss bound may fail, in (0, 1); None: ``tau = 0``.

    Attributes
    ----------
    noise_rate_, budget_ : float
        The rate that was used and ``rho / n``.
        All attributes of :class:`SimpleMKLClassifier` are there too.

    References
    ----------
    .. [1] Yang, Mahdavi, Jin, Zhang, Zhou. Multiple kernel learning from noisy labels by stochastic programming.
       ICML 2012.

    Examples
    --------
    >>> from kernelwise import RobustMKLClassifier, flip_labels
    >>> from kernelwise.datasets import load_heart
    >>> X, y = load_heart(return_X_y=True)
    >>> noisy = flip_labels(y[:200], 0.2, random_state=0)
    >>> model = RobustMKLClassifier(noise_rate=0.2, random_state=0).fit(X[:200], noisy)
    >>> bool(model.score(X[200:], y[200:]) > 0.7)
    True
    """

    risk: float | None = None

    def _check_options(self) -> None:
        super()._check_options()
        if self.risk is not None and not 0 < self.risk < 1:
            raise ValueError(f"risk must lie between 0 and 1, got {self.risk!r}")
        if self.risk is not None and self.budget is not None:
            raise ValueError(f"give either risk or budget, got risk={self.risk!r} and budget={self.budget!r}")

    def _bound_and_budget(self, mass: float) -> tuple[float, float]:
        """Return ``1 + tau`` and ``rho / n``."""
        if self.budget is not None:
            return 1.0, float(self.budget)
        tau = 0.0 if self.risk is None else margin_of_confidence(self.risk)
        return 1.0 + tau, 1.0 - self.noise_rate_ + tau + tau / np.sqrt(mass)

    def _solve(self, data: WeightedSamples, *, tol: float, options: dict[str, Any]) -> Result:
        bound, budget = self._bound_and_budget(data.total)
        problem = data.problem(penalty=self.alpha, bound=bound, budget=budget, intercept=self.fit_intercept)
        return self._run_solver(problem, tol=tol, options=options)
