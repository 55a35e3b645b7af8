"""A path of penalties (and budgets), of which cross-validation chooses the best point."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..checks import check_count
from ..optim.threads import suitable_blas_threads
from ..rows import refuse_dask
from ..samples import balanced_folds, n_rows
from .base import WeightedSamples
from .calibration import chosen_classes, decision_unit, fit_slope, settled
from .checkpoint import refuse_checkpoint
from .classifiers import RobustMKLClassifier
from .training import TrainingSet, prepare_training

Array = NDArray[np.float64]

#: The relative gap at which a model on the path is good enough to be compared.
PATH_TOL = 1e-5


class RobustMKLClassifierCV(RobustMKLClassifier):
    """:class:`RobustMKLClassifier` with ``alpha`` and ``budget`` chosen by cross-validation over a path.

    One bank of kernels serves all folds and all points: the folds differ only in the weights of the samples. Along the
    path, from the largest ``alpha`` down, each problem starts from the kernels of the previous solution.

    Parameters
    ----------
    kernels : kernel, family, sequence of these, "precomputed" or None
        None: Gaussian kernels of ten widths on all features and on each feature, ``gaussian_kernels()``.
        "precomputed": ``X`` holds Gram matrices, samples first.
    alphas : sequence of float
        Penalties to try.
    budgets : sequence of float
        Budgets ``rho / n`` to try, each in (0, 1].
    n_folds : int
        The number of folds; every class is spread evenly over them.
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
        Folds for the cross-validation; landmarks for large data.
    n_jobs : int or None
        Threads for the folds.
    verbose : int
        Above zero, log the gap at every iteration to the logger ``kernelwise``.

    Attributes
    ----------
    alpha_, budget_, noise_rate_ : float
        The chosen values. Among equal scores the largest budget wins, then the largest alpha.
    cv_results_ : dict of arrays
        ``alpha``, ``budget``, ``mean_test_score`` and ``std_test_score`` (accuracy on the given labels) of every point.
        All attributes of :class:`SimpleMKLClassifier` are there too.

    Examples
    --------
    >>> from kernelwise import RobustMKLClassifierCV
    >>> from kernelwise.datasets import load_heart
    >>> X, y = load_heart(return_X_y=True)
    >>> model = RobustMKLClassifierCV(alphas=[0.1, 0.01], budgets=[1.0, 0.7], random_state=0).fit(X, y)
    >>> model.cv_results_["mean_test_score"].shape
    (4,)
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        alphas: Sequence[float] = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001),
        budgets: Sequence[float] = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5),
        n_folds: int = 5,
        fit_intercept: bool = False,
        normalize_kernels: bool = False,
        scale_features: bool = True,
        rank: int | float | None = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.alphas = alphas
        self.budgets = budgets
        self.n_folds = n_folds
        self.fit_intercept = fit_intercept
        self.normalize_kernels = normalize_kernels
        self.scale_features = scale_features
        self.rank = rank
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    probability = True  # the decisions of the chosen point are out of fold already

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, checkpoint: Any = None
    ) -> "RobustMKLClassifierCV":
        """Follow the path in every fold, choose a point, fit it to all samples; see :meth:`SimpleMKLClassifier.fit`."""
        refuse_dask(self, X, "RobustMKLClassifier or SimpleMKLClassifier with a penalty chosen on a sample")
        refuse_checkpoint(self, checkpoint)
        path = self._path()
        with suitable_blas_threads(n_rows(X)):
            self._fit_path(path, X, y, sample_weight)
        return self

    def _fit_path(self, path: list[RobustMKLClassifier], X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        rng = check_random_state(self.random_state)
        training = prepare_training(self, X, y, sample_weight, rng)
        self.n_kernels_ = training.bank.n_kernels
        self.total_weight_ = float(training.weight.sum())
        fold = balanced_folds(training.target, self.n_folds, rng)
        decisions = self._follow_path(training, fold, path)
        scores = _fold_scores(training, fold, decisions, self.n_folds)
        # The path is in the order of preference, and rounding of a mean must not choose between equal scores.
        best = int(np.argmax(scores.mean(axis=1).round(12)))
        self.alpha_, self.budget_ = path[best].alpha, float(path[best].budget or 1.0)
        self.noise_rate_ = 1.0 - self.budget_
        self.cv_results_ = {
            "alpha": np.array([model.alpha for model in path]),
            "budget": np.array([model.budget for model in path]),
            "mean_test_score": scores.mean(axis=1),
            "std_test_score": scores.std(axis=1),
        }
        self._keep(training, path[best]._solve_outputs(training, tol=self.tol))
        self._slope = fit_slope(decisions[best], training.target, training.weight)

    def _budgets(self) -> Sequence[float]:
        return self.budgets

    def _path(self) -> list[RobustMKLClassifier]:
        """Return a model for every point: budgets in the outer loop, penalties from large to small in the inner."""
        if len(self.alphas) == 0 or len(self._budgets()) == 0:
            raise ValueError("alphas and budgets must each hold at least one value")
        check_count("n_folds", self.n_folds, least=2)
        shared = {name: getattr(self, name) for name in ("fit_intercept", "solver", "tol", "max_iter", "verbose")}
        path = [
            RobustMKLClassifier(alpha=float(alpha), budget=float(budget), **shared)
            for budget in sorted(self._budgets(), reverse=True)
            for alpha in sorted(self.alphas, reverse=True)
        ]
        for model in path:
            model._check_options()
        return path

    def _follow_path(self, training: TrainingSet, fold: NDArray[np.intp], path: list[RobustMKLClassifier]) -> Array:
        """Return out-of-fold decisions, (n_points, n_samples, n_outputs)."""

        def in_fold(k: int) -> Array:
            left_out = fold == k
            values = np.zeros((len(path), int(left_out.sum()), training.n_outputs))
            actives = None
            for point, model in enumerate(path):
                results = model._solve_outputs(training, tol=PATH_TOL, keep=~left_out, actives=actives)
                actives = [result.point.active for result in results]
                for output, result in enumerate(results):
                    problem = WeightedSamples(training, output, training.weight).problem(penalty=model.alpha)
                    values[point, :, output] = problem.decisions(result.point)[left_out]
            return values

        decisions = np.zeros((len(path), len(fold), training.n_outputs))
        for k, values in enumerate(
            Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(in_fold)(k) for k in range(self.n_folds))
        ):
            decisions[:, fold == k] = values
        return decisions


class SimpleMKLClassifierCV(RobustMKLClassifierCV):
    """:class:`SimpleMKLClassifier` with ``alpha`` chosen by cross-validation over a path.

    One bank of kernels serves all folds and all penalties, as in :class:`RobustMKLClassifierCV`.

    Parameters
    ----------
    kernels : kernel, family, sequence of these, "precomputed" or None
        None: Gaussian kernels of ten widths on all features and on each feature, ``gaussian_kernels()``.
        "precomputed": ``X`` holds Gram matrices, samples first.
    alphas : sequence of float
        Penalties to try.
    n_folds : int
        The number of folds; every class is spread evenly over them.
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
        Folds for the cross-validation; landmarks for large data.
    n_jobs : int or None
        Threads for the folds.
    verbose : int
        Above zero, log the gap at every iteration to the logger ``kernelwise``.

    Attributes
    ----------
    alpha_ : float
        The chosen penalty. Among equal scores the largest penalty wins.
    cv_results_ : dict of arrays
        ``alpha``, ``mean_test_score`` and ``std_test_score`` (accuracy on the given labels) of every penalty;
        ``budget`` is 1 everywhere.
        All attributes of :class:`SimpleMKLClassifier` are there too.

    Examples
    --------
    >>> from kernelwise import SimpleMKLClassifierCV
    >>> from kernelwise.datasets import load_heart
    >>> X, y = load_heart(return_X_y=True)
    >>> model = SimpleMKLClassifierCV(alphas=[0.1, 0.01], random_state=0).fit(X, y)
    >>> model.alpha_ in (0.1, 0.01)
    True
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        alphas: Sequence[float] = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001),
        n_folds: int = 5,
        fit_intercept: bool = False,
        normalize_kernels: bool = False,
        scale_features: bool = True,
        rank: int | float | None = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.alphas = alphas
        self.n_folds = n_folds
        self.fit_intercept = fit_intercept
        self.normalize_kernels = normalize_kernels
        self.scale_features = scale_features
        self.rank = rank
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _budgets(self) -> Sequence[float]:
        return (1.0,)


def _fold_scores(training: TrainingSet, fold: NDArray[np.intp], decisions: Array, n_folds: int) -> Array:
    """Return the weighted accuracy of every point in every fold."""
    units = decision_unit(np.abs(decisions).max(axis=(1, 2), keepdims=True))
    right = chosen_classes(settled(decisions, units)) == training.target
    scores = []
    for k in range(n_folds):
        weight = training.weight * (fold == k)
        scores.append(right @ weight / weight.sum() if weight.sum() > 0 else np.zeros(len(decisions)))
    return np.stack(scores, axis=1)
