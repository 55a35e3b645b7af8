"""LKCnpc: weights of kernels, learned from pairs some of which are wrong."""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy.special import rel_entr
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state

from ..checks import Array, check_choice, check_count, is_number
from ..dask_rows.prediction import on_blocks
from ..kernels.combined import CombinedKernelTransformer
from ..optim.bounded_newton import BoundedPoint, SeparableProblem, kkt_residual, minimize_bounded
from ..optim.result import SolverResult, log_row
from ..optim.statistic_likelihood import statistic_problem
from ..review import PairAudit
from ..samples import is_dask
from ..statements import PairNoise, Pairs
from ..statements.noise import resolve_pairs
from .audit.wrong_pairs import audit_pairs
from .problem import forward_problem, pair_value_matrix
from .statistics import PairMeans, check_informative, implied_prior, keep_feasible, mean_magnitudes, true_statistic

CORRECTIONS = ("statistic", "none", "forward")

#: There is a warning if the prior differs by more than this from the prior that fits precisions and given labels.
PRIOR_TOLERANCE = 0.1


@dataclass(eq=False, repr=False)
class PairKernelLearner(CombinedKernelTransformer):
    r"""Learn a non-negative combination of kernels from must-link and cannot-link pairs, some of them wrong (LKCnpc).

    A pair shares a class with probability :math:`\sigma(w^\top k(x, x'))`. The weights maximise the likelihood of the
    *true* labels, whose statistic :math:`b^o \approx E[Y k]` is estimated from the noisy labels:

    .. math::
        \max_{w \ge 0} \; \tfrac12 w^\top b^o - \tfrac\alpha2 \|w\|^2
        - \tfrac1n \sum_i \log\big(e^{w^\top k_i / 2} + e^{-w^\top k_i / 2}\big)

    The problem is strongly convex; a projected Newton method solves it and a dual point certifies the answer.

    This is the method of the paper, made for many sparse attributes such as words. For dense features and pairs of
    unknown noise, :class:`~kernelwise.NoisyPairClustering` finds better classes, and the noise of the pairs with them.

    Parameters
    ----------
    kernels : kernel, family of kernels, sequence of both, "precomputed" or None, default=None
        None: one linear kernel per attribute, as in the paper; sparse data then stays sparse, and measurements are
        standardised (see ``standardize``). "precomputed": X is a stack of Gram matrices, (n, n) or (n, n, n_kernels).
    alpha : float or None, default=None
        The penalty, lambda of the paper. None: 0.01 / n, as in the paper, with n the sum of the weights of the pairs.
    noise : PairNoise, "auto" or None, default=None
        The noise of the labels; :meth:`PairNoise.estimate` finds the noise from a few checked pairs. Its prior is that
        of the pairs trained on, not of all pairs of samples. "auto": :func:`audit_pairs` estimates the noise, without
        checked pairs. None: all labels are taken as right.
    correction : {"statistic", "none", "forward"}, default="statistic"
        How ``noise`` is used. "statistic": as in the paper, with the formula for :math:`b^o` corrected (see
        :mod:`kernelwise.pairs.statistics`). "none": the noise is ignored. "forward": by the likelihood of the noisy
        labels, :math:`\Pr(\hat y) = \sum_y T_{y \hat y} \Pr(y)`, which is **not convex**: the result is a stationary
        point and ``dual_gap_`` is infinite.
    feasible : float or None, default=0.9
        With "statistic", keep :math:`|b^o_j|` below this fraction of the mean of :math:`|k_j|`. The true statistic is
        never above this mean. Without this limit, a few rare attributes can get weights of
        :math:`10^4` and take over the kernel. None or False: no limit, as in the paper. With an intercept such weights
        are possible even with the limit. The limit is not needed, and not used, where no noise is corrected.
    fit_intercept : bool or "auto", default="auto"
        Add a bias without penalty to the log-odds. With non-negative kernels and no bias, every pair gets at least even
        odds. A kernel then gets a weight only if its values on positive pairs have a larger sum than its values on
        negative pairs, and all weights become zero if most pairs are negative, however well the kernels tell the pairs
        apart. The paper has no bias and trains on as many positive as negative pairs. "auto": there is a bias if the
        given signs are so unbalanced that the bias alone pays for itself by the Bayesian information criterion,
        :math:`N \, \mathrm{KL}(\hat p_+ \,\|\, \tfrac12) > \tfrac12 \log N`, with N the sum of the weights of the pairs
        and :math:`\hat p_+` the fraction of pairs that are given as positive. Pairs drawn as in the paper, half of them
        positive, never get a bias.
    standardize : bool, default=True
        With ``kernels=None``, standardise measurements: the columns of dense data with a negative value, or with fewer
        zeros than other values, some of which are not one. Their kernels then have both signs. Sparse matrices, data of
        0 and 1, and attributes that are mostly absent (zero) stay as they are. False: raw columns, as in the paper.
    rank : None, int or float, default=None
        As in :func:`kernelwise.kernels.build_bank`: None for factors that are exact up to rounding.
    tol : float, default=1e-6
        Bound on the relative duality gap and on the residual of the optimality conditions, relative to that of w = 0:
        weights near zero do not count as converged, however large alpha is.
    max_iter : int, default=500
    random_state : int, RandomState or None, default=None
        Draws pairs from ``y`` where no pairs are given, and the landmarks of large data.
    verbose : int, default=0
        Log every iteration to the logger "kernelwise", at level INFO.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
    kernel_names_ : tuple of str
    intercept_ : float
    noise_ : PairNoise
        The noise that was used; if no noise was given, the noise of pairs that are all right.
    audit_ : PairAudit or None
        The audit that estimated the noise, with ``noise="auto"``.
    statistic_ : ndarray of shape (n_kernels,)
        :math:`b^o` as used, or :math:`a^o` of the given labels where no noise was corrected.
    alpha_ : float
    objective_ : float
        Minus the penalised likelihood, the minimum found.
    dual_gap_ : float
        ``objective_`` minus a lower bound on the optimum; infinite for "forward".
    kkt_residual_ : float
        Largest entry of the projected gradient relative to the gradient at w = 0.
    n_iter_ : int
    converged_ : bool
    history_ : tuple of HistoryRow
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    T. Yang, R. Jin, A. K. Jain. Learning kernel combination from noisy pairwise constraints. IEEE Statistical Signal
    Processing Workshop, 2012.

    Examples
    --------
    Links as pairs, a few of which are checked against known classes:

    >>> import numpy as np
    >>> from kernelwise import PairNoise, Pairs
    >>> from kernelwise.datasets import load_cora
    >>> from kernelwise.pairs.learner import PairKernelLearner
    >>> cora = load_cora()
    >>> pairs = Pairs.from_graph(cora.edges, n_samples=len(cora.target), random_state=0)
    >>> checked = np.arange(0, len(pairs), 20)
    >>> noise = PairNoise.estimate(pairs, pairs[checked].true_labels(cora.target), checked)
    >>> learner = PairKernelLearner(noise=noise).fit(cora.data, pairs=pairs)
    >>> learner.converged_, learner.dual_gap_ < 1e-6
    (True, True)
    >>> learner.transform(cora.data).shape == (2708, (learner.kernel_weights_ > 0).sum())
    True
    """

    kernels: Any = None
    _: KW_ONLY
    alpha: float | None = None
    noise: PairNoise | Literal["auto"] | None = None
    correction: Literal["statistic", "none", "forward"] = "statistic"
    feasible: float | Literal[False] | None = 0.9
    fit_intercept: bool | Literal["auto"] = "auto"
    standardize: bool = True
    rank: int | float | None = None
    tol: float = 1e-6
    max_iter: int = 500
    random_state: Any = None
    verbose: int = 0

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            With ``kernels="precomputed"``: Gram matrices, (n_samples, n_samples) or (n_samples, n_samples, n_kernels).
        y : array-like of shape (n_samples,), optional
            Classes, -1 for unknown; pairs are made from the classes if no pairs are given. Positive and negative pairs
            then have the same total weight.
        pairs : Pairs, optional
            Pairs of rows of ``X``; ``y`` is then ignored.

        Returns
        -------
        self

        Notes
        -----
        On a Dask cluster, ``pairs`` is a Dask DataFrame with the columns ``row``, ``col``, ``label`` and, if pairs
        count differently, ``weight``, coded as in :class:`~kernelwise.Pairs`: positions of rows of ``X``, +1 for the
        same class and -1 for different ones, positive weights. ``X`` is a Dask array (of NumPy or SciPy sparse blocks)
        or DataFrame, or in memory; ``pairs`` may be a :class:`~kernelwise.Pairs` if ``X`` is a Dask collection. Rows
        of ``X`` go only to the partitions whose pairs need them. The workers keep one row of kernel values per pair and
        return sums. The result equals the result in memory, up to the order of additions. ``noise="auto"`` audits up to
        50,000 of the pairs, drawn from all partitions. Kernels other than one linear kernel per attribute use landmarks
        that are chosen on 20,000 rows and checked on all rows.
        """
        self._check_options()
        if is_dask(X) or is_dask(pairs):
            from .on_dask import fit_on_cluster

            return fit_on_cluster(self, X, pairs)
        bank = self._fit_bank(X)
        rng = check_random_state(self.random_state)
        known = resolve_pairs(pairs, y, bank.n_samples, random_state=rng, balance=True)
        assert known is not None  # they are required
        noise = self._resolve_noise(X, known, rng)
        weights = self._learn(pair_value_matrix(bank, known), known, noise)
        self._combine(bank, weights)
        self._warn_of_doubtful_results(noise)
        return self

    def _learn(self, values: Any, pairs: Any, noise: PairNoise | None) -> Array:
        """Solve the problem of kernel values on pairs, and return the weights of the kernels."""
        problem = self._problem(values, pairs, noise)
        callback = log_row if self.verbose else None
        result = minimize_bounded(problem, tol=self.tol, max_iter=self.max_iter, callback=callback)
        self._keep(result)
        return result.point.w[: values.shape[1]]

    @on_blocks(lambda model: (len(model.get_feature_names_out()),))
    def transform(self, X: Any) -> Any:
        return super().transform(X)

    transform.__doc__ = CombinedKernelTransformer.transform.__doc__

    def _resolve_noise(self, X: Any, pairs: Any, rng: np.random.RandomState) -> PairNoise | None:
        self.audit_: PairAudit | None = None
        if not isinstance(self.noise, str):
            return self.noise
        if self._is_precomputed:
            grams = np.asarray(X, dtype=np.float64)
            mean = grams if grams.ndim == 2 else grams.mean(axis=2)
            self.audit_ = audit_pairs(mean, pairs, metric="precomputed", random_state=rng)
        else:
            self.audit_ = audit_pairs(X, pairs, random_state=rng)
        if self.correction != "none":
            self._check_noise(self.audit_.noise)
        return self.audit_.noise

    def _problem(self, values: Any, pairs: Any, noise: PairNoise | None) -> SeparableProblem:
        """The problem for the chosen correction; its ingredients become fitted attributes."""
        means = PairMeans.of(pairs, values)
        n_pairs = float(pairs.weights.sum())
        self._fraction_positive = means.fraction_positive
        self.noise_ = PairNoise(means.fraction_positive, 1.0, 1.0) if noise is None else noise
        self.alpha_ = 0.01 / n_pairs if self.alpha is None else float(self.alpha)
        self.statistic_ = means.given_statistic
        prior = means.fraction_positive
        self._has_intercept = self._wants_intercept(means.fraction_positive, n_pairs)
        if noise is not None and self.correction == "forward":
            return forward_problem(values, pairs, noise, penalty=self.alpha_, fit_bias=self._has_intercept)
        if noise is not None and self.correction == "statistic":
            prior = noise.prior
            self.statistic_ = true_statistic(means, noise)
            if self.feasible:
                self.statistic_ = keep_feasible(self.statistic_, mean_magnitudes(pairs, values), self.feasible)
            self._has_intercept &= 0 < prior < 1  # the bias would be infinite
        bias = 2 * prior - 1 if self._has_intercept else None
        return statistic_problem(values, pairs.weights, self.statistic_, penalty=self.alpha_, bias_statistic=bias)

    def _wants_intercept(self, fraction_positive: float, n_pairs: float) -> bool:
        """Whether there is a bias; "auto" asks whether the bias alone pays for itself (see ``fit_intercept``)."""
        if self.fit_intercept != "auto":
            return bool(self.fit_intercept)
        divergence = rel_entr(fraction_positive, 0.5) + rel_entr(1 - fraction_positive, 0.5)
        return bool(n_pairs * divergence > 0.5 * np.log(max(n_pairs, 2.0)))

    def _keep(self, result: SolverResult[BoundedPoint]) -> None:
        self.intercept_ = float(result.point.w[-1]) if self._has_intercept else 0.0
        self.objective_ = result.certificate.primal
        self.dual_gap_ = result.certificate.gap
        self.kkt_residual_ = kkt_residual(result.point)
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self.history_ = result.history

    def _check_options(self) -> None:
        """Refuse options that cannot work, before any data is touched."""
        if self.alpha is not None and not _is_between(self.alpha, 0, np.inf):
            raise ValueError(f"alpha must be a positive number, or None for 0.01 / n_pairs, got {self.alpha!r}")
        check_choice("correction", self.correction, CORRECTIONS)
        off = self.feasible is None or self.feasible is False
        if not off and not (is_number(self.feasible) and 0 < self.feasible <= 1):
            raise ValueError(f"feasible must lie above 0 and be at most 1, or be None or False, got {self.feasible!r}")
        if not isinstance(self.fit_intercept, bool | np.bool_) and self.fit_intercept != "auto":
            raise ValueError(f'fit_intercept must be True, False or "auto", got {self.fit_intercept!r}')
        if not isinstance(self.standardize, bool | np.bool_):
            raise ValueError(f"standardize must be True or False, got {self.standardize!r}")
        if not _is_between(self.tol, 0, 1):
            raise ValueError(f"tol must lie between 0 and 1, got {self.tol!r}")
        check_count("max_iter", self.max_iter)
        if isinstance(self.noise, PairNoise) and self.correction != "none":
            self._check_noise(self.noise)
        elif not isinstance(self.noise, PairNoise | None) and self.noise != "auto":
            raise TypeError(
                'noise must be None, "auto" or a kernelwise.PairNoise, such as PairNoise.estimate(pairs, true_labels, '
                f"index) from a few checked pairs, got {self.noise!r}"
            )

    def _check_noise(self, noise: PairNoise) -> None:
        check_informative(noise)
        if self.fit_intercept is True and not 0 < noise.prior < 1:
            raise ValueError(
                f"fit_intercept needs a prior of noise inside (0, 1), got {noise.prior:g}: the bias would be infinite"
            )

    def _warn_of_doubtful_results(self, noise: PairNoise | None) -> None:
        if noise is not None and self.correction == "statistic":
            fitting = implied_prior(noise, self._fraction_positive)
            if abs(fitting - noise.prior) > PRIOR_TOLERANCE:
                warnings.warn(
                    f"noise.prior={noise.prior:.3g} is far from {fitting:.3g}, which its precisions and the given "
                    "labels imply; it must be the prior of the pairs trained on, not of all pairs of samples",
                    stacklevel=3,
                )
        if not self.converged_:
            warnings.warn(
                f"PairKernelLearner stopped after {self.n_iter_} iterations at a relative residual of "
                f"{self.kkt_residual_:.3g} and a duality gap of {self.dual_gap_:.3g}; raise max_iter, tol or alpha",
                ConvergenceWarning,
                stacklevel=3,
            )
        if not self.kernel_weights_.any():
            warnings.warn(self._why_zero(), stacklevel=3)

    def _why_zero(self) -> str:
        fact = "all kernel weights are zero, so the learned kernel is zero: "
        if self._has_intercept:
            return (
                f"{fact}no kernel is larger on positive pairs than on negative pairs; use other kernels, such as "
                "gaussian_kernels(), or NoisyPairClustering, which models classes of dense features"
            )
        return (
            f"{fact}without an intercept a kernel needs a larger sum over the positive pairs than over the negative "
            f'pairs, and {self._fraction_positive:.0%} of the pairs are positive; use fit_intercept="auto" or True, or '
            "as many positive as negative pairs"
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True  # unless pairs are given, of which scikit-learn knows nothing
        return tags


def _is_between(value: Any, low: float, high: float) -> bool:
    return is_number(value) and low < value < high
