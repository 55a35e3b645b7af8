"""The classifier to use when some labels are wrong and nobody knows how many."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..samples import (
    LARGEST,
    DistinctSamples,
    check_magnitude,
    distinct_samples,
    power_of_two,
    read_samples,
    read_weights,
    tidy,
)
from ..tables.columns import is_table
from ..tables.preparation import TableFeatures
from .noise_model.explanations import ExplainedNoise, explained
from .noise_model.posterior import fit_label_noise
from .views.margins import margin_views
from .views.pool import ScorePool, fit_pool, weigh

Array = NDArray[np.float64]

#: Standardised features are cut off here, so that one extreme value does not dominate a distance.
CUT = 4.0
#: The number of rows that are kept for feature importances.
IMPORTANCE_ROWS = 100
#: Below this separability, or above this width of the interval, the diagnostic says that results are not reliable.
WEAK_SCORES, WIDE_INTERVAL = 0.55, 0.3
#: Equal samples are separate rows, so that each is left out by itself: up to this number of equal samples, and up to
#: this number of rows in all. Beyond these numbers, equal samples are one row with a larger weight.
MOST_COPIES, MOST_ROWS = 20, 14_000
#: Below this estimate of the noise rate, support vector machines join the views.
LOW_NOISE = 0.15


class NoisyLabelClassifier(ClassifierMixin, BaseEstimator):
    r"""Classify when an unknown share of the labels is wrong; say how many, and which.

    Kernels of many kinds and two forests score every training row out of sample, in closed form. Their weighted mean
    ``s`` enters a noise model (see :mod:`kernelwise.labels.noise_model.posterior`),

    .. math:: P(\text{given} = j \mid s) = \sum_k T_{kj} \, P(\text{true} = k \mid s),

    integrated over its parameters. Predictions are probabilities of the *true* label.

    Parameters
    ----------
    random_state : int, RandomState or None
        For the forests and the landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    noise_rate_ : float
        The estimated share of wrong labels among the training labels.
    noise_interval_ : tuple of two floats
        Where the share of wrong labels lies with 95 % probability, if the noise model holds.
    transition_ : ndarray of shape (n_classes, n_classes)
        P(given | true): rows are true classes, columns are given classes.
    label_quality_ : ndarray of shape (n_samples,)
        The probability that each training label is right, by models that did not see the label.
    label_probabilities_ : ndarray of shape (n_samples, n_classes)
        The probability of each true class for the training rows, which takes the given label into account.
    kernel_names_, kernel_weights_ : list of str, ndarray
        The views and their weights in the score.
    diagnostic_ : dict
        ``separability`` (how well scores rank given labels; 0.5 is chance, and then nothing is known about the noise),
        ``interval_width``, ``disagreement`` (the share of rows on which two views differ), ``least_noise_rate`` (the
        share of wrong labels if labels near the boundary are doubtful because classes overlap), ``largest_noise_rate``
        (the share if classes do not overlap, and these labels are doubtful because they are wrong), ``boundary_errors``
        (the probability of the second case; ``noise_rate_`` is the mean over both cases) and ``reliable``.

    Notes
    -----
    Doubtful labels near the boundary between two classes have two explanations: the classes overlap, or labels near the
    boundary are wrong more often than other labels. The data can only partly distinguish the two, so both explanations
    are averaged (see :mod:`kernelwise.labels.noise_model.explanations`), and the truth may lie anywhere between their
    noise rates.

    Equal rows are treated as different samples that look alike: each row is scored by models that saw the others. If
    equal rows are copies of one record, they also copy its error and confirm each other; give every record once then.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from kernelwise import NoisyLabelClassifier, flip_labels
    >>> X, y = make_moons(400, noise=0.2, random_state=0)
    >>> given = flip_labels(y, 0.3, random_state=0)
    >>> model = NoisyLabelClassifier(random_state=0).fit(X, given)
    >>> bool(model.score(X, y) > 0.85), bool(abs(model.noise_rate_ - 0.3) < 0.1)
    (True, True)
    """

    def __init__(self, *, random_state: Any = None):
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> "NoisyLabelClassifier":
        """Learn from labels of which some are wrong.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            A DataFrame, or an array with strings, may have columns of numbers, dates, categories and text, with
            missing cells. It is prepared as a file is: see :class:`kernelwise.tables.preparation.TableFeatures`.
        y : array-like of shape (n_samples,)
            Labels, of any type that numpy can sort.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of two counts like the sample given twice.

        Returns
        -------
        self
        """
        rng = check_random_state(self.random_state)
        X, y, weight = self._read_training(X, y, sample_weight)
        self.classes_, target = np.unique(y[weight > 0], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"a classifier needs two classes or more among samples with a weight, got one class: {self.classes_}"
            )
        used = np.flatnonzero(weight > 0)
        merged = distinct_samples(X[used], target, weight[used])
        Z = X[used[merged.first]]
        self._scaler = None if sp.issparse(Z) else _Standardiser.fit(Z, merged.weight)
        copies = _copies(merged.weight)
        sample = np.repeat(np.arange(len(copies)), copies)
        Z, given, weight = self._standardised(Z)[sample], target[merged.first][sample], (merged.weight / copies)[sample]
        pool = self._fit_scores(Z, given, weight, rng)
        scores = _columns_per_class(pool.out_of_sample)
        self._keep(pool, Z)
        posterior = self._posterior.label_posterior(scores, given)
        starts = np.cumsum(copies) - copies
        self._audit(X, y, used, merged, np.add.reduceat(posterior, starts) / copies[:, None])
        self._diagnose(pool, scores, given, weight)
        return self

    def _fit_scores(self, Z: Any, given: NDArray[np.intp], weight: Array, rng: np.random.RandomState) -> ScorePool:
        """Fit the pool and the noise model; if the noise rate is low, fit them again with the margin views."""
        Y = _signs(given, len(self.classes_))
        pool = fit_pool(Z, Y, weight, rng)
        noise = fit_label_noise(_columns_per_class(pool.out_of_sample), given, weight)
        if noise.noise_rate < LOW_NOISE and (margins := margin_views(Z, given, Y, weight, rng)):
            pool = weigh(pool.views + margins, Y, weight)
            noise = fit_label_noise(_columns_per_class(pool.out_of_sample), given, weight)
        self._posterior: ExplainedNoise = explained(noise, _columns_per_class(pool.out_of_sample), given, weight)
        return pool

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Array]:
        self._columns = None
        if is_table(X):
            y = validate_data(self, y=y)
            validate_data(self, X, skip_check_array=True)  # the estimator remembers the names of the columns
            if len(y) != len(X):
                raise ValueError(f"X and y must have equally many rows, got {len(X)} and {len(y)}")
            self._columns = TableFeatures(scaled=False).fit(X)
            X = self._columns.transform(X)
        else:
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        X = tidy(X)
        if sp.issparse(X):  # a sparse matrix is not standardised
            check_magnitude(X, "X")
        check_classification_targets(y)
        return X, y, read_weights(sample_weight, X)

    def _standardised(self, X: Any) -> Any:
        return X if self._scaler is None else self._scaler(X)

    def _keep(self, pool: ScorePool, Z: Any) -> None:
        self.kernel_names_ = [view.name for view in pool.views]
        self.kernel_weights_ = pool.weights
        self.noise_rate_ = self._posterior.noise_rate
        self.noise_interval_ = self._posterior.interval(0.95)
        self.transition_ = self._posterior.transition
        rows = np.linspace(0, Z.shape[0] - 1, min(Z.shape[0], IMPORTANCE_ROWS)).astype(np.intp)
        self._pool, self._some_rows = pool.settled(), Z[rows]

    def _audit(
        self, X: Any, y: NDArray[Any], used: NDArray[np.intp], merged: DistinctSamples, posterior: Array
    ) -> None:
        """Give every row the probabilities of its distinct row; rows without weight are scored as new rows."""
        probabilities = np.empty((len(y), len(self.classes_)))
        probabilities[used] = posterior[merged.group]
        unused = np.setdiff1d(np.arange(len(y)), used)
        if unused.size:
            probabilities[unused] = self._posterior.true_probabilities(self._scores(X[unused]))
        column = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        known = self.classes_[column] == y
        self.label_probabilities_ = probabilities
        self.label_quality_ = np.where(known, probabilities[np.arange(len(y)), column], 0.0)

    def _diagnose(self, pool: ScorePool, scores: Array, given: NDArray[np.intp], weight: Array) -> None:
        heaviest = np.argsort(-pool.weights, kind="stable")[:2]
        choices = [_columns_per_class(pool.base + pool.views[view].out_of_sample).argmax(axis=1) for view in heaviest]
        separability = float(np.mean([_ranking(scores[:, k], given == k) for k in range(scores.shape[1])]))
        width = self.noise_interval_[1] - self.noise_interval_[0]
        self.diagnostic_ = {
            "separability": separability,
            "interval_width": width,
            "disagreement": float(weight @ (choices[0] != choices[-1]) / weight.sum()),
            "least_noise_rate": self._posterior.overlap.noise_rate,
            "largest_noise_rate": self._posterior.largest_rate,
            "boundary_errors": self._posterior.boundary_share,
            "reliable": bool(separability >= WEAK_SCORES and width <= WIDE_INTERVAL),
        }

    def _scores(self, X: Any) -> Array:
        return _columns_per_class(self._pool(self._standardised(X)))

    def _read_new(self, X: Any) -> Any:
        check_is_fitted(self)
        if self._columns is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
            return tidy(self._columns.transform(X))
        return read_samples(self, X, reset=False)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class being the *true* label of each sample."""
        X = self._read_new(X)
        return self._posterior.true_probabilities(self._scores(X))

    def decision_function(self, X: Any) -> Array:
        """Return the log-odds of ``classes_[1]`` for two classes, else a log-probability per class."""
        logs = np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable true class of each sample."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return self.classes_[chosen]

    @property
    def feature_importances_(self) -> Array:
        """How much scores change when a feature is shuffled among rows.

        The mean squared change of the score over some training rows, as shares that sum to one; they are computed at
        each access. They describe the model: two features with the same information share their importance.
        """
        check_is_fitted(self)
        given, rng = self._some_rows, np.random.RandomState(0)
        rows, base = given.toarray() if sp.issparse(given) else given, self._pool(given)
        ends = [(j, j + 1) for j in range(rows.shape[1])] if self._columns is None else self._columns.parts
        moved = np.zeros(len(ends))
        for j, part in enumerate(slice(*pair) for pair in ends):
            if np.ptp(rows[:, part], axis=0).any():
                shuffled = rows.copy()
                shuffled[:, part] = rng.permutation(shuffled[:, part])
                moved[j] = np.mean((self._pool(type(given)(shuffled) if sp.issparse(given) else shuffled) - base) ** 2)
        total = moved.sum()
        return moved / total if total > 0 else np.full(len(moved), 1 / len(moved))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Standardiser(NamedTuple):
    """Features with zero mean and unit spread, cut off at :data:`CUT`; constant features become zero."""

    unit: Array  # powers of two near the largest magnitudes: the units of mean and spread
    mean: Array
    spread: Array

    @classmethod
    def fit(cls, X: Array, weight: Array) -> "_Standardiser":
        unit, weight = power_of_two(np.abs(X).max(axis=0)), weight / power_of_two(weight.max())
        Z = X / unit
        mean = weight @ Z / weight.sum()
        spread = np.sqrt(weight @ (Z - mean) ** 2 / weight.sum())
        constant = spread <= 1e-12 * np.maximum(np.abs(mean), np.finfo(float).tiny)
        return cls(unit, mean, np.where(constant, np.inf, spread))

    def __call__(self, X: Array) -> Array:
        with np.errstate(over="ignore"):  # new samples may be beyond all bounds of the training data
            Z = np.clip(X / self.unit, -LARGEST, LARGEST)
            return np.clip((Z - self.mean) / self.spread, -CUT, CUT)


def _copies(weight: Array) -> NDArray[np.intp]:
    """Return the number of rows for each distinct sample: its weight, rounded up, within bounds."""
    most = np.clip(MOST_ROWS // len(weight), 1, MOST_COPIES)
    return np.minimum(np.ceil(weight), most).astype(np.intp)


def _signs(target: NDArray[np.intp], n_classes: int) -> Array:
    """Return one column of +1 and -1 for two classes, or one column per class for more classes."""
    signs = 2.0 * np.eye(n_classes)[target] - 1.0
    return signs[:, 1:] if n_classes == 2 else signs


def _columns_per_class(scores: Array) -> Array:
    return np.column_stack([np.zeros(len(scores)), scores[:, 0]]) if scores.shape[1] == 1 else scores


def _ranking(score: Array, positive: NDArray[np.bool_]) -> float:
    """Return the probability that a positive sample scores higher than a negative sample."""
    from scipy.stats import rankdata

    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    ranks = rankdata(score)[positive].sum()
    return float((ranks - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))
