"""The common part of the multiple-kernel classifiers: one problem per output, a small model, and its predictions."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..checks import Array, Index, Mask, check_choice, check_count, check_positive
from ..dask_rows.prediction import on_blocks
from ..kernels import Kernel, KernelExpansion
from ..kernels.specs import is_precomputed
from ..optim import SolverResult, Status
from ..optim.result import log_row
from ..papers.stpmkl.saddle import solve_by_mirror_prox, solve_by_variational_inequality
from ..samples import LARGEST, LEAST, balanced_folds, compute, in_memory, is_dask, persist, power_of_two
from .calibration import chosen_classes, class_probabilities, decision_unit, fit_slope, with_exact_ties
from .checkpoint import Checkpoint, OutputRounds
from .column_generation import solve_by_column_generation
from .problem import MKLPoint, NoisyLabelProblem
from .training import TrainingSet, read_features, training_in_memory

Result = SolverResult[MKLPoint]

#: The solvers of the noisy-label problem by the names that the parameter ``solver`` takes.
SOLVERS: Mapping[str, Callable[..., SolverResult[MKLPoint]]] = {
    "auto": solve_by_column_generation,
    "column-generation": solve_by_column_generation,
    "mirror-prox": solve_by_mirror_prox,
    "variational-inequality": solve_by_variational_inequality,
}
#: Probabilities are calibrated on decisions out of this many folds, each solved to this gap.
CALIBRATION_FOLDS, CALIBRATION_TOL = 5, 1e-3
#: Weights of samples below this share of their mean make no difference to any sum.
LEAST_WEIGHT = 1e-15
#: Tables leave out kernels with a weight below this, which the solver does not use.
SHOWN = 1e-10


def _calibrates(estimator: Any) -> bool:
    if not estimator.probability:
        raise AttributeError("predict_proba needs probability=True when the model is made")
    return True


@dataclass(eq=False, repr=False)
class MKLModel(ClassifierMixin, BaseEstimator):
    """The parameters that all classifiers have, and the fitted model with its predictions."""

    kernels: Any = None
    _: KW_ONLY
    fit_intercept: bool = False
    normalize_kernels: bool = False
    scale_features: bool = True
    rank: int | float | None = None
    solver: str = "auto"
    tol: float = 1e-6
    max_iter: int | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def _keep(self, training: TrainingSet, results: list[Result]) -> None:
        """Store the attributes for prediction and inspection; the model keeps landmarks and no other samples."""
        bank = training.bank
        points = [result.point for result in results]
        norms = np.stack([point.norms(bank.n_kernels) for point in points])
        totals = norms.sum(axis=1, keepdims=True)
        weights = np.divide(norms, totals, out=np.zeros_like(norms), where=totals > 0)
        single = training.n_outputs == 1
        self.n_kernels_, self.total_weight_ = bank.n_kernels, float(training.weight.sum())
        self.classes_ = training.classes
        self.kernels_: list[Kernel] = [feature_map.kernel for feature_map in bank.maps]
        self.kernel_weights_ = weights[0] if single else weights
        if in_memory(training.weight):
            coefs = [
                _kernel_coefficients(training, output, point, row)
                for output, (point, row) in enumerate(zip(points, norms, strict=True))
            ]
            self.dual_coef_ = coefs[0] if single else coefs
        self.intercept_ = np.array([point.intercept for point in points])
        self._scaler = training.scaler
        samples = [WeightedSamples(training, output, training.weight) for output in range(training.n_outputs)]
        values = [data.problem(penalty=1.0).decisions(point) for data, point in zip(samples, points, strict=True)]
        self._unit = float(decision_unit(max(compute(*[np.abs(column).max() for column in values]))))
        self._function = KernelExpansion.from_parts(bank, [point.parts for point in points], self.intercept_)
        self._keep_certificates(results)

    def _keep_certificates(self, results: list[Result]) -> None:
        """Store how far the solver came, and warn where it did not converge."""
        self.objective_ = float(sum(result.certificate.primal for result in results))
        self.dual_gap_ = float(sum(result.certificate.gap for result in results))
        self.relative_gap_ = max(result.certificate.relative_gap for result in results)
        self.n_iter_ = max(result.n_iter for result in results)
        self.converged_ = all(result.status == Status.CONVERGED for result in results)
        self.history_ = [result.history for result in results]
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__} stopped after {self.n_iter_} iterations at a duality gap of "
                f"{self.dual_gap_:.3g}, which is {self.relative_gap_:.3g} of what the kernels gain over a constant; "
                "raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _decisions(self, X: Any) -> Array:
        check_is_fitted(self)
        X, _ = read_features(self, X)
        return self._function(X if self._scaler is None else self._scaler(X))

    @on_blocks(lambda model: () if len(model.classes_) == 2 else (len(model.classes_),))
    def decision_function(self, X: Any) -> Array:
        """Return ``f(x)``: a number per sample for two classes (positive means ``classes_[1]``), else one per class."""
        decisions = self._decisions(X)
        return decisions[:, 0] if len(self.classes_) == 2 else decisions

    @on_blocks(lambda model: (), dtype=lambda model: model.classes_.dtype)
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every sample; the first class where decisions agree to five digits of the largest."""
        decisions = self._decisions(X)
        return self.classes_[chosen_classes(with_exact_ties(decisions, self._unit))]

    @available_if(_calibrates)
    @on_blocks(lambda model: (len(model.classes_),))
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every label, calibrated on out-of-fold decisions.

        These are probabilities of the *observed* label, noise included, because the probabilities are calibrated on
        observed labels.
        """
        return class_probabilities(with_exact_ties(self._decisions(X), self._unit), self._slope)

    def kernel_table(self, *, as_frame: bool = False) -> Any:
        """Return the kernels in use, the heaviest first: which kernel, on which features, with which weight.

        Parameters
        ----------
        as_frame : bool
            Return a pandas DataFrame instead of a list of dicts.
        """
        check_is_fitted(self)
        weights = np.atleast_2d(self.kernel_weights_)
        names = getattr(self, "feature_names_in_", None)
        rows = []
        for output, per_kernel in enumerate(weights):
            for j in np.argsort(-per_kernel, kind="stable"):
                if per_kernel[j] <= SHOWN:
                    break
                row = _describe(self.kernels_[j], names) | {"weight": float(per_kernel[j])}
                rows.append(row if len(weights) == 1 else {"class": self.classes_[output]} | row)
        if not as_frame:
            return rows
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("as_frame=True needs pandas: pip install pandas") from error
        return pd.DataFrame(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not is_precomputed(self.kernels)
        tags.input_tags.pairwise = is_precomputed(self.kernels)
        tags.input_tags.three_d_array = is_precomputed(self.kernels)
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class MKLClassifier(MKLModel):
    """Base of the classifiers of one penalty; ``_solve`` of a subclass has the problem that the subclass minimises."""

    alpha: float = 0.01
    probability: bool = True

    @abstractmethod
    def _solve(self, data: "WeightedSamples", *, tol: float, options: dict[str, Any]) -> Result:
        """Solve the binary problem of one output on weighted samples."""

    def _run_solver(self, problem: NoisyLabelProblem, *, tol: float, options: dict[str, Any]) -> Result:
        """Run the chosen solver; only column generation uses the options, which say where to start."""
        common: dict[str, Any] = {"tol": tol, "callback": log_row if self.verbose else None}
        if self.max_iter is not None:
            common["max_iter"] = self.max_iter
        by_columns = self.solver in ("auto", "column-generation")
        return SOLVERS[self.solver](problem, **common, **(options if by_columns else {}))

    def _check_options(self) -> None:
        """Refuse options that cannot work, before any data is touched."""
        check_positive("alpha", self.alpha, "; larger means smoother")
        if not LEAST <= self.alpha <= LARGEST:
            raise ValueError(f"alpha must lie between {LEAST:g} and {LARGEST:g}, got {self.alpha!r}; scale the kernels")
        if not 0 < self.tol < 1:
            raise ValueError(f"tol, the relative duality gap to reach, must lie between 0 and 1, got {self.tol!r}")
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter)
        check_choice("solver", self.solver, SOLVERS)

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, checkpoint: str | Path | None = None
    ) -> "MKLClassifier":
        """Learn the functions and the weights of the kernels.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            With ``kernels="precomputed"``: Gram matrices of shape (n_samples, n_samples) or
            (n_samples, n_samples, n_kernels).
            A Dask array or DataFrame stays on the workers of the current client, which do the work. There is no
            ``dual_coef_`` then, because it would have a column per sample.
        y : array-like of shape (n_samples,)
            Labels, of any type that numpy can sort; for a Dask X, a Dask array or Series beside it.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of two counts like the sample given twice.
        checkpoint : path, optional
            A file that is written after every round of column generation, and removed at the end. Where the file
            exists, the fit continues from the file: for long fits on machines that may fail.

        Returns
        -------
        self
        """
        self._check_options()
        progress = None if checkpoint is None else Checkpoint(checkpoint, self)
        rng = check_random_state(self.random_state)
        prepared: Any = training_in_memory
        if is_dask(X):
            from .on_dask import training_on_cluster as prepared
        with prepared(self, X, y, sample_weight, rng) as training:
            results = self._solve_outputs(training, tol=self.tol, progress=progress)
            self._keep(training, results)
            if self.probability:
                fold = balanced_folds(training.target, CALIBRATION_FOLDS, rng)
                actives = [result.point.active for result in results]
                decisions = self._out_of_fold(training, fold, tol=max(self.tol, CALIBRATION_TOL), actives=actives)
                self._slope = fit_slope(decisions, training.target, training.weight)
        if progress is not None:
            progress.remove()
        return self

    def _solve_outputs(
        self,
        training: TrainingSet,
        *,
        tol: float,
        keep: Mask | None = None,
        actives: list[Index] | None = None,
        progress: Checkpoint | None = None,
    ) -> list[Result]:
        """Solve every output on the samples of ``keep``, starting from the kernels in ``actives``."""
        weight = training.weight if keep is None else persist(training.weight * keep)
        results = []
        for output in range(training.n_outputs):
            options: dict[str, Any] = {"active": None if actives is None else actives[output]}
            if progress is not None:
                options["rounds"] = OutputRounds(progress, str(output))
            results.append(self._solve(WeightedSamples(training, output, weight), tol=tol, options=options))
        return results

    def _out_of_fold(self, training: TrainingSet, fold: Index, *, tol: float, actives: list[Index] | None) -> Array:
        """Return decisions on every sample by models that did not see the label of the sample."""

        def held_out(k: int) -> tuple[Mask, list[Result]]:
            return fold == k, self._solve_outputs(training, tol=tol, keep=fold != k, actives=actives)

        folds = [k for k in range(CALIBRATION_FOLDS) if _divides(training.weight, fold, k)]
        columns = [np.zeros_like(training.weight) for _ in range(training.n_outputs)]
        # Threads share the bank; the work is in BLAS, which releases the interpreter.
        for left_out, results in Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(held_out)(k) for k in folds):
            for output, result in enumerate(results):
                problem = WeightedSamples(training, output, training.weight).problem(penalty=self.alpha)
                columns[output] = persist(np.where(left_out, problem.decisions(result.point), columns[output]))
        return np.stack(columns, axis=1)


def _divides(weight: Array, fold: Index, k: int) -> bool:
    """Whether fold k has samples, and the other folds have samples with a weight to learn from."""
    members, rest = compute((fold == k).sum(), (weight * (fold != k)).sum())
    return bool(members > 0 and rest > 0)


class WeightedSamples:
    """One output of a training set with weights of the samples: a binary problem without its parameters."""

    def __init__(self, training: TrainingSet, output: int, weight: Array):
        self.bank, self.y, self.total = training.bank, training.signs(output), float(weight.sum())
        # In units of a power of two near their mean: the problem is the same, and no number is huge or tiny.
        weight = weight / float(power_of_two(self.total / len(weight)))
        self.weight = persist(weight * (weight > LEAST_WEIGHT))
        self.mass = float(self.weight.sum())

    def problem(
        self, *, penalty: float, bound: float | Array = 1.0, budget: float = np.inf, intercept: bool = False
    ) -> NoisyLabelProblem:
        """Return the problem with ``upper = bound * weight`` and ``budget`` in units of the total weight."""
        return NoisyLabelProblem(
            self.bank, self.y, penalty, bound * self.weight, self.mass, budget * self.mass, intercept
        )


def _kernel_coefficients(training: TrainingSet, output: int, point: MKLPoint, norms: Array) -> sp.csr_array:
    """Return ``Z`` (n_kernels, n_samples) with ``f_j = sum_i Z[j, i] k_j(x_i, .)``, from the dual solution.

    At the optimum ``f_j`` is a multiple of ``K_j v`` with ``v = alpha * y``; the norm of ``f_j`` gives the multiple.
    """
    v = point.alpha * training.signs(output)
    lengths = np.sqrt(training.bank.quadratic_forms(v))
    used = np.flatnonzero((norms > 0) & (lengths > 0))
    support = np.flatnonzero(point.alpha)
    values = np.outer(norms[used] / lengths[used], v[support])
    shape = (training.bank.n_kernels, training.n_given)
    places = np.repeat(used, len(support)), np.tile(training.index[support], len(used))
    return sp.csr_array((values.ravel(), places), shape=shape)


def _describe(kernel: Kernel, names: Any) -> dict[str, Any]:
    columns = (kernel if names is None else kernel.renamed(lambda column: str(names[column]))).columns
    features = "all" if columns is None else ", ".join(map(str, columns if isinstance(columns, tuple) else (columns,)))
    return {"kernel": kernel.label, "features": features}
