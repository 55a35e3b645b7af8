"""The methods: each sees training rows, given labels and test rows, and answers with probabilities.

Every competitor is tuned on the given labels alone, by accuracy in stratified cross-validation (five folds; three for
boosting; out-of-bag rows for the forest), ties to the more regular model. The out-of-sample probabilities of the chosen
setting give its audit: the quality of a label is its probability. cleanlab works on the same tuned base models and the
same out-of-sample probabilities, and its time includes their tuning.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from time import process_time
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.svm import SVC

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

WIDTHS = 2.0 ** np.arange(-3, 7)
SVC_C = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
RBF_C = SVC_C
RBF_GAMMA = (0.125, 0.5, 2.0, 8.0)  # times 1 / (d var X), scikit-learn's "scale"
LOGISTIC_C = (0.001, 0.01, 0.1, 1.0, 10.0)
FOREST_LEAF = (20, 5, 1)
BOOSTING_ROUNDS = (10, 25, 50, 100)
BOOSTING_LEAVES = (4, 16)
GRIDS = {
    "svc_mean": f"C {SVC_C}; 5 folds",
    "svc_rbf": f"C {RBF_C} x gamma {RBF_GAMMA} / (d var X); 5 folds",
    "logistic": f"C {LOGISTIC_C}, standardised; 5 folds",
    "forest": f"min_samples_leaf {FOREST_LEAF}, 100 trees; out of bag",
    "boosting": f"rounds {BOOSTING_ROUNDS} x leaves {BOOSTING_LEAVES}, learning_rate 0.1; 3 folds",
    "cleanlab_logistic": "CleanLearning on the tuned logistic",
    "cleanlab_svc": "CleanLearning on the tuned svc_rbf",
    "kernelwise": "NoisyLabelClassifier() without parameters",
}
MAX_ITER = 100_000  # steps of libsvm; a guard against C = 100 on random labels


@dataclass
class Answer:
    """What a method says: P(class) per test row; if it can, quality per training label and the noise rate.

    The interval of the noise rate, and whether the method calls it reliable, are for those that have them.
    """

    probabilities: Floats
    predicted: Labels
    chosen: str
    quality: Floats | None = None
    noise_rate: float | None = None
    interval: tuple[float, float] | None = None
    reliable: bool | None = None


@dataclass
class Task:
    """What a method sees. Tuned base models are kept, with their CPU seconds, for the methods built on them."""

    X: Any  # an array or, where features are words, a sparse matrix
    y: Labels
    X_test: Any
    seed: int
    tuned: dict[str, "Tuned"] = field(default_factory=dict)

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    def folds(self, n_folds: int = 5) -> list[tuple[NDArray, NDArray]]:
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=self.seed)
        return list(splitter.split(self.X, self.y))


@dataclass
class Tuned:
    """A base model with the chosen setting, not yet fitted, and its out-of-sample probabilities."""

    model: Any
    chosen: str
    out_of_sample: Floats
    seconds: float


class CalibratedSVC(ClassifierMixin, BaseEstimator):
    """An SVC on the mean of ten Gaussian kernels, or on one, with probabilities from out-of-fold decision values.

    Platt's method: a (multinomial) logistic regression of the given label on decision values out of five folds.
    ``scaling`` is that of :func:`scaler`.
    """

    def __init__(
        self, C: float = 1.0, gamma: float | None = None, random_state: int = 0, scaling: str = "range"
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.random_state = random_state
        self.scaling = scaling

    def fit(self, X: Any, y: Labels, sample_weight: Floats | None = None) -> Self:
        self.classes_ = np.unique(y)
        self.scaler_ = scaler(X, self.scaling).fit(X)
        self.X_ = self.scaler_.transform(X)
        self.gamma_ = None if self.gamma is None else self.gamma / scale_of(self.X_)
        K = kernel(self.X_, self.X_, self.gamma_)
        folds = StratifiedKFold(5, shuffle=True, random_state=self.random_state).split(X, y)
        self.out_of_fold_ = decisions_out_of_fold(K, y, self.C, list(folds), sample_weight)
        self.calibrator_ = LogisticRegression(C=100.0, max_iter=500).fit(self.out_of_fold_, y, sample_weight)
        self.svc_ = machine(self.C).fit(K, y, sample_weight)
        return self

    def decision(self, X: Any) -> Floats:
        return column(self.svc_.decision_function(kernel(self.scaler_.transform(X), self.X_, self.gamma_)))

    def predict_proba(self, X: Any) -> Floats:
        return self.calibrator_.predict_proba(self.decision(X))

    def predict(self, X: Any) -> Labels:
        d = self.decision(X)
        return self.classes_[(d[:, 0] > 0).astype(int) if d.shape[1] == 1 else d.argmax(axis=1)]


def machine(C: float) -> SVC:
    return SVC(C=C, kernel="precomputed", max_iter=MAX_ITER, cache_size=100)


def scaler(X: Any, scaling: str) -> Any:
    """The range [0, 1] or unit variance of every column, or one scale for all; sparse features stay as they are."""
    if sp.issparse(X):
        return FunctionTransformer()
    return {"range": MinMaxScaler(clip=True), "columns": StandardScaler(), "one": OneScale()}[scaling]


class OneScale(TransformerMixin, BaseEstimator):
    """Columns around their means, divided by one number: the root of the mean variance."""

    def fit(self, X: Floats, y: Labels | None = None) -> Self:
        self.mean_, self.scale_ = X.mean(axis=0), float(np.sqrt(X.var(axis=0).mean())) or 1.0
        return self

    def transform(self, X: Floats) -> Floats:
        return (X - self.mean_) / self.scale_


def scale_of(X: Any) -> float:
    """d var X, the reciprocal of scikit-learn's gamma="scale"; 1 for sparse features, whose rows have unit length."""
    return 1.0 if sp.issparse(X) else float(X.shape[1] * X.var())


def kernel(X: Any, Z: Any, gamma: float | None) -> Floats:
    """exp(-gamma ||x - z||^2), or its mean over gamma = 1 / (2 s^2) for the ten widths s."""
    squared = euclidean_distances(X, Z, squared=True)
    if gamma is not None:
        return np.exp(-gamma * squared)
    return np.mean([np.exp(-squared / (2 * width**2)) for width in WIDTHS], axis=0)


def column(decision: Floats) -> Floats:
    return decision[:, None] if decision.ndim == 1 else decision


def decisions_out_of_fold(
    K: Floats, y: Labels, C: float, folds: Sequence[tuple[NDArray, NDArray]], sample_weight: Floats | None = None
) -> Floats:
    """Decision values of every row from the machine that did not see it."""
    n_classes = len(np.unique(y))
    found = np.empty((len(y), 1 if n_classes == 2 else n_classes))
    for train, test in folds:
        weight = None if sample_weight is None else sample_weight[train]
        svc = machine(C).fit(K[np.ix_(train, train)], y[train], weight)
        found[test] = column(svc.decision_function(K[np.ix_(test, train)]))
    return found


def tune_svc(task: Task, gammas: Sequence[float | None], costs: Sequence[float], scaling: str = "range") -> Tuned:
    start = process_time()
    folds = task.folds()
    X = scaler(task.X, scaling).fit_transform(task.X)
    scored: list[tuple[float, float, float | None]] = []
    for gamma in gammas:
        K = kernel(X, X, None if gamma is None else gamma / scale_of(X))
        for C in costs:
            d = decisions_out_of_fold(K, task.y, C, folds)
            predicted = (d[:, 0] > 0).astype(int) if d.shape[1] == 1 else d.argmax(axis=1)
            scored.append((float(np.mean(predicted == task.y)), C, gamma))
    _, C, gamma = max(scored, key=lambda entry: (entry[0], -entry[1]))
    model = CalibratedSVC(C, gamma, task.seed, scaling).fit(task.X, task.y)
    belief = model.calibrator_.predict_proba(model.out_of_fold_)
    return Tuned(model, f"C={C} gamma={gamma}", belief, process_time() - start)


def tune_svc_mean(task: Task) -> Tuned:
    return tune_svc(task, (None,), SVC_C)


def tune_svc_rbf(task: Task) -> Tuned:
    return tune_svc(task, RBF_GAMMA, RBF_C)


def best(beliefs: dict[Any, Floats], y: Labels) -> Any:
    """The first setting, from the most regular on, whose most probable classes agree best with the given labels."""
    return max(beliefs, key=lambda setting: np.mean(beliefs[setting].argmax(axis=1) == y))


def tune_logistic(task: Task, costs: Sequence[float] = LOGISTIC_C, scaling: str = "columns") -> Tuned:
    start = process_time()
    models = {C: make_pipeline(scaler(task.X, scaling), LogisticRegression(C=C, max_iter=300)) for C in costs}
    beliefs = {C: np.empty((len(task.y), task.n_classes)) for C in costs}
    for (train, test), C in product(task.folds(), costs):
        beliefs[C][test] = models[C].fit(task.X[train], task.y[train]).predict_proba(task.X[test])
    C = best(beliefs, task.y)
    return Tuned(models[C].fit(task.X, task.y), f"C={C}", beliefs[C], process_time() - start)


def tune_boosting(task: Task) -> Tuned:
    """Early stopping by cross-validation: one fit per fold gives the scores of every number of rounds."""
    start = process_time()
    beliefs = {
        setting: np.empty((len(task.y), task.n_classes)) for setting in product(BOOSTING_ROUNDS, BOOSTING_LEAVES)
    }
    for (train, test), leaves in product(task.folds(3), BOOSTING_LEAVES):
        model = boosting(max(BOOSTING_ROUNDS), leaves, task.seed).fit(task.X[train], task.y[train])
        for n_rounds, belief in enumerate(model.staged_predict_proba(task.X[test]), start=1):
            if n_rounds in BOOSTING_ROUNDS:
                beliefs[n_rounds, leaves][test] = belief
    n_rounds, leaves = chosen = best(beliefs, task.y)
    model = boosting(n_rounds, leaves, task.seed).fit(task.X, task.y)
    return Tuned(model, f"rounds={n_rounds} leaves={leaves}", beliefs[chosen], process_time() - start)


def boosting(n_rounds: int, leaves: int, seed: int) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        learning_rate=0.1, max_iter=n_rounds, max_leaf_nodes=leaves, early_stopping=False, random_state=seed
    )


def tune_forest(task: Task) -> Tuned:
    start = process_time()
    forests = {
        f"leaf={leaf}": RandomForestClassifier(
            100, min_samples_leaf=leaf, oob_score=True, random_state=task.seed, n_jobs=1
        ).fit(task.X, task.y)
        for leaf in FOREST_LEAF
    }
    chosen = max(forests, key=lambda setting: forests[setting].oob_score_)
    belief = np.nan_to_num(forests[chosen].oob_decision_function_, nan=1 / task.n_classes)
    return Tuned(forests[chosen], chosen, belief, process_time() - start)


TUNERS: dict[str, Callable[[Task], Tuned]] = {
    "logistic": tune_logistic,
    "svc_rbf": tune_svc_rbf,
    "svc_mean": tune_svc_mean,
    "forest": tune_forest,
    "boosting": tune_boosting,
}
CLEANLAB_BASE = {"cleanlab_logistic": "logistic", "cleanlab_svc": "svc_rbf"}
COMPETITORS = (*TUNERS, *CLEANLAB_BASE)
METHODS = (*COMPETITORS, "kernelwise")


def answer(method: str, task: Task) -> tuple[Answer, float]:
    """What a method says, and its CPU seconds: tuning, fit, test predictions and audit."""
    with quiet():
        start = process_time()
        if method == "kernelwise":
            return ask_kernelwise(task), process_time() - start
        base = CLEANLAB_BASE.get(method, method)
        if base not in TUNERS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        if base not in task.tuned:
            task.tuned[base] = TUNERS[base](task)
        tuned = task.tuned[base]
        start = process_time()
        said = ask_cleanlab(task, tuned) if method in CLEANLAB_BASE else ask_tuned(task, tuned)
        return said, tuned.seconds + process_time() - start


@contextmanager
def quiet() -> Iterator[None]:
    """A solver stopped by its guard is part of the comparison, not news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield


def ask_tuned(task: Task, tuned: Tuned) -> Answer:
    quality = tuned.out_of_sample[np.arange(len(task.y)), task.y]
    belief, predicted = tuned.model.predict_proba(task.X_test), tuned.model.predict(task.X_test)
    return Answer(belief, predicted, tuned.chosen, quality)


def ask_cleanlab(task: Task, tuned: Tuned) -> Answer:
    from cleanlab.classification import CleanLearning
    from cleanlab.count import estimate_joint
    from cleanlab.rank import get_label_quality_scores
    from sklearn.base import clone

    belief = tuned.out_of_sample
    learner = CleanLearning(clone(tuned.model), seed=task.seed)
    learner.fit(task.X, task.y, pred_probs=belief)
    joint = estimate_joint(task.y, belief)
    return Answer(
        np.asarray(learner.predict_proba(task.X_test)),
        np.asarray(learner.predict(task.X_test)),
        tuned.chosen,
        get_label_quality_scores(task.y, belief),
        float(1 - np.trace(joint)),
    )


def ask_kernelwise(task: Task) -> Answer:
    """The classifier as it comes; its own audit where it has one, the audit functions otherwise."""
    import kernelwise

    model = kernelwise.NoisyLabelClassifier()
    if "random_state" in model.get_params():
        model.set_params(random_state=task.seed)
    model.fit(task.X, task.y)
    quality = getattr(model, "label_quality_", None)
    rate = getattr(model, "noise_rate_", None)
    if quality is None:
        quality = kernelwise.audit_labels(task.X, task.y, random_state=task.seed).quality
    if rate is None:
        rate = kernelwise.estimate_label_noise(task.X, task.y, random_state=task.seed).noise_rate
    belief, predicted = model.predict_proba(task.X_test), model.predict(task.X_test)
    return Answer(
        np.asarray(belief),
        np.asarray(predicted),
        "",
        np.asarray(quality, dtype=float),
        float(rate),
        getattr(model, "noise_interval_", None),
        getattr(model, "diagnostic_", {}).get("reliable"),
    )
