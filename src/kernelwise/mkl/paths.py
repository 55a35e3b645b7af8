"""A path of penalties (and budgets), of which cross-validation chooses the best point."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ..checks import Array, Index, check_count
from ..samples import balanced_folds, refuse_dask
from .base import MKLModel, WeightedSamples
from .calibration import chosen_classes, decision_unit, fit_slope, with_exact_ties
from .checkpoint import refuse_checkpoint
from .classifiers import RobustMKLClassifier
from .training import TrainingSet, training_in_memory

#: The relative gap at which a model on the path is good enough to be compared.
PATH_TOL = 1e-5


@dataclass(eq=False, repr=False, kw_only=True)
class PathClassifier(MKLModel):
    """Base of the classifiers that choose a point of a path by cross-validation."""

    alphas: Sequence[float] = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
    n_folds: int = 5
    probability: ClassVar[bool] = True  # the decisions of the chosen point are out of fold already

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, checkpoint: Any = None) -> Self:
        """Follow the path in every fold, choose a point, fit it to all samples; see :meth:`SimpleMKLClassifier.fit`."""
        refuse_dask(self, X, "RobustMKLClassifier or SimpleMKLClassifier with a penalty chosen on a sample")
        refuse_checkpoint(self, checkpoint)
        path, rng = self._path(), check_random_state(self.random_state)
        with training_in_memory(self, X, y, sample_weight, rng) as training:
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
        return self

    def _path(self) -> list[RobustMKLClassifier]:
        """Return a model for every point: budgets in the outer loop, penalties from large to small in the inner."""
        budgets = getattr(self, "budgets", (1.0,))
        if len(self.alphas) == 0 or len(budgets) == 0:
            raise ValueError("alphas and budgets must each hold at least one value")
        check_count("n_folds", self.n_folds, least=2)
        shared = {name: getattr(self, name) for name in ("fit_intercept", "solver", "tol", "max_iter", "verbose")}
        path = [
            RobustMKLClassifier(alpha=float(alpha), budget=float(budget), **shared)
            for budget in sorted(budgets, reverse=True)
            for alpha in sorted(self.alphas, reverse=True)
        ]
        for model in path:
            model._check_options()
        return path

    def _follow_path(self, training: TrainingSet, fold: Index, path: list[RobustMKLClassifier]) -> Array:
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


@dataclass(eq=False, repr=False, kw_only=True)
class RobustMKLClassifierCV(PathClassifier):
    """:class:`RobustMKLClassifier` with ``alpha`` and ``budget`` chosen by cross-validation over a path.

    One bank of kernels serves all folds and all points: the folds differ only in the weights of the samples. Along the
    path, from the largest ``alpha`` down, each problem starts from the kernels of the previous solution.

    Parameters
    ----------
    kernels, fit_intercept, normalize_kernels, scale_features, rank, solver, tol, max_iter
        As in :class:`SimpleMKLClassifier`.
    random_state, n_jobs, verbose
        As in :class:`SimpleMKLClassifier`. The random state also draws the folds.
    alphas : sequence of float
        Penalties to try.
    n_folds : int
        The number of folds; every class is spread evenly over them.
    budgets : sequence of float
        Budgets ``rho / n`` to try, each in (0, 1].

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
    >>> model = RobustMKLClassifierCV(alphas=[0.1, 0.01], budgets=[1.0, 0.7], n_folds=2, random_state=0).fit(X, y)
    >>> model.cv_results_["mean_test_score"].shape
    (4,)
    """

    budgets: Sequence[float] = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)


@dataclass(eq=False, repr=False, kw_only=True)
class SimpleMKLClassifierCV(PathClassifier):
    """:class:`SimpleMKLClassifier` with ``alpha`` chosen by cross-validation over a path.

    One bank of kernels serves all folds and all penalties, as in :class:`RobustMKLClassifierCV`.

    Parameters
    ----------
    kernels, fit_intercept, normalize_kernels, scale_features, rank, solver, tol, max_iter
        As in :class:`SimpleMKLClassifier`.
    random_state, n_jobs, verbose
        As in :class:`SimpleMKLClassifier`. The random state also draws the folds.
    alphas : sequence of float
        Penalties to try.
    n_folds : int
        The number of folds; every class is spread evenly over them.

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
    >>> model = SimpleMKLClassifierCV(alphas=[0.1, 0.01], n_folds=2, random_state=0).fit(X, y)
    >>> model.alpha_ in (0.1, 0.01)
    True
    """


def _fold_scores(training: TrainingSet, fold: Index, decisions: Array, n_folds: int) -> Array:
    """Return the weighted accuracy of every point in every fold."""
    units = decision_unit(np.abs(decisions).max(axis=(1, 2), keepdims=True))
    right = chosen_classes(with_exact_ties(decisions, units)) == training.target
    scores = []
    for k in range(n_folds):
        weight = training.weight * (fold == k)
        scores.append(right @ weight / weight.sum() if weight.sum() > 0 else np.zeros(len(decisions)))
    return np.stack(scores, axis=1)
