"""The classifier to use when some labels are wrong and nobody knows how many."""

import copy
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..checks import check_sample_size, missing_labels
from ..dask_rows.prediction import on_blocks
from ..noise.explanations import ExplainedNoise, explain_label_noise
from ..progress import Progress, Tell, teller
from ..review.diagnosis import calibrated, diagnose, found_labels, guarantee_of, range_of, transition_of, weights
from ..review.guarantee import Guarantee
from ..samples import is_dask, n_rows, order_alike, read_samples, read_weights, refuse_collections, tidy
from ..scoring.groups import read_groups, refuse_groups
from ..scoring.kernel_scores import _Standardiser
from ..scoring.outliers import find_outliers
from ..scoring.pool import fit_pool
from ..statements.answers import Answers
from ..statements.verdicts import Verdicts
from ..tables.frames import as_table, is_table, native_frame
from .describe import shuffled_importances
from .given import read_labels, read_training, refuse_single_column, warn_of_numbers
from .large import fit_in_memory
from .sample import Sample
from .witnesses import conclude_copies, find_witnesses

Array = NDArray[np.float64]

#: The number of rows that are kept for feature importances.
IMPORTANCE_ROWS = 100


class NoisyLabelClassifier(ClassifierMixin, BaseEstimator):
    r"""Classify when an unknown share of the labels is wrong; say how many, and which.

    Two kernels, linear models and a forest score every training row out of sample. Their mixture
    ``s`` (:mod:`kernelwise.scoring.pool`) enters a noise model (:mod:`kernelwise.noise.posterior`),

    .. math:: P(\text{given} = j \mid s) = \sum_k T_{kj} \, P(\text{true} = k \mid s),

    integrated over its parameters. Predictions are probabilities of the *true* label.

    Parameters
    ----------
    sample_size : int or "auto"
        With more rows than this, base models and noise model are learned from a random sample of about this many rows,
        and every other row is scored by models that did not see its label. The sample has at least 30 rows of each
        class, and all rows that were checked. "auto" stands for 50,000 rows: see :mod:`kernelwise.labels.sample`.
    random_state : int, RandomState or None
        For the sample, the forests and the landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    noise_rate_ : float
        The estimated share of wrong labels among the training labels: the mean of ``1 - label_quality_``. Labels of one
        given class are weighted by ``sample_weight``, and every given class counts as often as it was given.
    noise_interval_ : tuple of two floats
        The range of this share over the explanations in ``diagnostic_["explanations"]``, for errors that do not follow
        the features. With checked rows that were drawn by a plan, the 95 % interval of :func:`guaranteed_share`, which
        holds for all errors. If the model learned from a sample, the interval contains the error of the sample.
    transition_ : ndarray of shape (n_classes, n_classes)
        P(given | true): rows are true classes, columns are given classes.
    label_quality_ : ndarray of shape (n_samples,)
        The probability that each training label is right, by models that did not see the label; NaN for rows without a
        label.
    label_probabilities_ : ndarray of shape (n_samples, n_classes)
        The probability of each true class for the training rows, which takes the given label into account.
    out_of_sample_probabilities_ : ndarray of shape (n_samples, n_classes)
        The probability of each true class for the training rows, by models that did not see the label of the row.
    model_names_, model_weights_ : list of str, ndarray
        The base models and their weights in the mixture.
    diagnostic_ : dict
        ``reliable`` (whether the range is narrow enough to be called an answer), ``reason`` (why, in words), ``claim``
        (what the figures speak of), ``explanations`` (the range of the share of wrong labels under each explanation;
        nothing is known of errors that follow the features), ``separability`` (how well scores rank given labels; 0.5
        is chance, and then nothing is known about the noise), ``interval_width``, ``disagreement`` (the share of rows
        on which the two base models of largest weight differ), ``least_noise_rate`` (the share of wrong labels if
        labels near the boundary are doubtful because classes overlap), ``largest_noise_rate`` (the share if classes do
        not overlap, and these labels are doubtful because they are wrong), ``boundary_errors`` (the probability of
        the second case), ``copies`` (what was found of equal rows and near copies: ``equal_rows``, of which
        ``equal_by_chance``, as in a table of few categories; ``contradicting_rows``, which equal a row that has another
        label; ``certain_errors``, how many of their labels must be wrong; ``near_copies``; ``share``, the share of
        copies; ``one_witness``, whether copies count as one row; ``sentence``) and ``outliers`` (the positions of rows
        that are far from all others, the farthest first). If the model learned from a sample of the rows, also
        ``learned_from`` (the number of its rows) and ``sampling_error`` (the standard error of the share of wrong
        labels from so many rows, at most ``1 / (2 * sqrt(learned_from))`` where the sample has the same share of every
        class).

    Notes
    -----
    Doubtful labels near the boundary between two classes have two explanations: the classes overlap, or labels near the
    boundary are wrong more often than other labels. The data can only partly distinguish the two, so both explanations
    are averaged (see :mod:`kernelwise.noise.explanations`), and the truth may lie anywhere between their
    noise rates. Errors that follow a rule in the features look like the truth to any method that has only the labels:
    all figures speak of errors that do not follow the features.

    Copies of one record copy its error and would confirm each other. So equal rows and near copies are a group, unless
    chance or their labels say otherwise: see :mod:`kernelwise.scoring.copies` and :mod:`kernelwise.labels.witnesses`.

    All answers are continuous in the features: features times ``1 + 1e-10 z``, with ``z`` standard normal, move
    probabilities by less than 1e-5 and the share of wrong labels by less than 1e-6, as a test says.

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

    def __init__(self, *, sample_size: int | str = "auto", random_state: Any = None):
        self.sample_size = sample_size
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike | Answers,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        checked: Verdicts | None = None,
        progress: Progress = None,
    ) -> "NoisyLabelClassifier":
        """Learn from labels of which some are wrong.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            A DataFrame of pandas, polars or narwhals, or an array with strings, may have columns of numbers, dates,
            categories, names and text, with missing cells. It is prepared as a file is: see
            :class:`kernelwise.tables.preparation.TableFeatures`. An array of numbers may have missing ones (NaN), too.
            A column from which the label can be read off is named in a warning, and so is a column that says who gave
            the label, which is left out. Dask arrays and DataFrames stay on the
            workers: see docs/cluster.md. A ``numpy.memmap`` is read block by block if it is larger than the sample.
        y : array-like of shape (n_samples,), frame of one column, or Answers
            Labels, of any type that numpy can sort; or several answers per row, of which the consensus is learned
            from, and what is said of labels is said of the consensus (``answer_audit_``, see :func:`audit_answers`). A
            row whose label is None or NaN is not learned from; its ``label_probabilities_`` are those of a prediction.
            Numbers that look like amounts, and -1 beside two or more other classes, are taken for classes with a
            warning. Rows are matched by position: if X and y are of pandas, a y (or ``sample_weight``) with another
            index than X is refused, unless one of the two has the index 0, 1, 2, ... and the other one has other row
            names.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts. Ratios of weights among the rows that were given the same label count in the
            likelihood; the mean weights of the classes change predictions alone, which are made for rows as the weights
            have them. So equal weights change nothing, and weights that balance the classes do not change the audit. A
            row of weight two is one row: it is not two equal rows, which vouch for each other.
        groups : array-like of shape (n_samples,), optional
            Rows that may share their errors, such as the visits of one patient: rows of one group have equal values,
            and a row with None or NaN is a group of its own. A row is scored by models that saw no row of its group.
            Without groups, copies that are found among the rows are groups; ``numpy.arange(len(X))`` says that each row
            was labelled by itself. Groups need rows in memory.
        checked : Verdicts, optional
            What people found who checked some rows: see :func:`plan_checks`. Checked rows are learned from with their
            true labels, and they calibrate the probabilities of all other rows.
        progress : bool or callable, optional
            True prints how much is done, and the time that is left, on the standard error after 10 seconds. A function
            is called with how much is done and how much there is to do: the number of base models that are fitted and
            of all base models, or thousandths if the model learns from a sample.

        Returns
        -------
        self
        """
        if isinstance(y, Answers):
            from .answers import fit_to_answers

            if sample_weight is not None:
                raise ValueError("sample_weight is for labels; with answers, rows count as far as the answers agree")
            fit_to_answers(self, X, y, groups, checked, progress)
            return self
        size, tell = check_sample_size(self.sample_size), teller(progress, "learning from labels")
        if is_dask(X):
            from .on_dask import fit_on_cluster

            refuse_groups(groups)
            return fit_on_cluster(self, X, y, sample_weight, checked=checked, progress=tell)
        refuse_collections(self, X=X, y=y, sample_weight=sample_weight, groups=groups)
        X, y = native_frame(np.asarray(X) if isinstance(X, list) else X), read_labels(y)
        refuse_single_column(X)
        group = read_groups(groups, n_rows(X))
        if n_rows(X) > size and n_rows(X) == n_rows(y):
            weight = None if sample_weight is None else read_weights(sample_weight, X)
            fit_in_memory(self, X, np.asarray(y), weight, checked, tell, group)
            return self
        if (labels := np.asarray(y)).ndim == 1:
            warn_of_numbers(Counter(labels[~missing_labels(labels)].tolist()))
        self._conclude(self._learn(X, y, sample_weight, checked=checked, progress=tell, group=group))
        return self

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        checked: Verdicts | None,
        progress: Tell,
        sample: Sample | None = None,
        group: NDArray[np.intp] | None = None,
    ) -> "_Learned":
        """Fit the base models and the noise model, and score the rows; ``sample`` says how they were drawn."""
        rng = check_random_state(self.random_state) if sample is None else sample.random_state
        X, y, weight, labelled = read_training(self, X, y, sample_weight, sample is not None and sample.lacks_cells)
        counted = labelled & (weight > 0)
        truths = found_labels(checked, y)
        self._find_classes(y[counted], list(truths.values()))
        truth = np.full(len(y), -1, dtype=np.intp)
        truth[list(truths)] = np.searchsorted(self.classes_, list(truths.values()))
        used = np.flatnonzero(counted & ((truth < 0) | np.isin(truth, self._learned)))
        n_classes, column = len(self._learned), np.searchsorted(self.classes_[self._learned], y[used])
        known = np.where(truth[used] >= 0, np.searchsorted(self._learned, truth[used]), -1)
        learned = np.where(known >= 0, known, column)  # base models learn from what is known to be true
        by_class = np.bincount(column, weight[used], n_classes) / np.bincount(column, minlength=n_classes)
        self._class_weights = np.ones(len(self.classes_))
        self._class_weights[self._learned] = by_class
        counts = weight[used] / by_class[column] * (1.0 if sample is None else sample.weight[used])
        counts = counts / counts.max()
        counts *= counts.sum() / (
            counts @ counts
        )  # they sum to the number of rows of equal weight that say as much (Kish)
        self._scaler = None if sp.issparse(X) else _Standardiser.fit(X[used], counts)
        Z = X[used] if self._scaler is None else self._scaler(X[used])
        order, starts = order_alike(Z, learned * n_classes + column)
        Z, given, counts = Z[order], column[order], counts[order]
        common = None if self._scaler is None else self._scaler.common
        seen = find_witnesses(Z, given, None if group is None else group[used][order], self._columns)
        pool = fit_pool(Z, learned[order], n_classes, counts * seen.learning, rng, common, progress, seen.group)
        scores = pool.out_of_sample
        self._posterior: ExplainedNoise = explain_label_noise(scores, given, counts * seen.counting)
        self._posterior = seen.of_rows(self._posterior, scores, given, counts)
        # A prediction is for rows as the weights have them, where a class may be more frequent than it was given.
        self._frequency = self._posterior.overlap.transition @ (by_class / by_class.max())
        self.model_names_ = [view.name for view in pool.views]
        self.model_weights_ = pool.weights
        rows = np.linspace(0, Z.shape[0] - 1, min(Z.shape[0], IMPORTANCE_ROWS)).astype(np.intp)
        self._pool, self._some_rows = pool.for_prediction(), Z[rows]
        self._importances: Array | None = None
        belief, posterior = self._posterior.true_probabilities(scores), seen.posterior(self._posterior, scores, given)
        sizes = np.diff([*starts, len(order)])
        for found in (belief, posterior):  # alike rows with the same label get the same answer, in the given order
            found[order] = np.repeat(np.add.reduceat(found, starts) / sizes[:, None], sizes, axis=0)
        if sample is not None:
            guarantee = sample.guarantee
        elif np.ptp(weight[counted]) == 0:  # the guarantee counts rows
            guarantee = guarantee_of(checked, np.where(counted, y.astype(object), np.array(None)))
        else:
            guarantee = None
        posterior, self._recalibration = calibrated(
            belief, posterior, column, known, weights(checked, len(y))[used], guarantee
        )
        belief = belief if self._recalibration is None else self._recalibration.true_probabilities(belief)
        self._audit(X, y, labelled, weight, used, belief, posterior, truth)
        n_learned = None if sample is None or sample.whole else float(counts.sum())
        figures = len(truths), guarantee, pool.disagreement(counts), n_learned
        return _Learned(scores, given, *figures, seen.copies, used[find_outliers(X[used])])

    def _find_classes(self, given: NDArray[Any], found: list[Any]) -> None:
        """Set the classes among the given labels and those that people found."""
        self.classes_ = np.unique(np.array([*given.tolist(), *found]))
        # A class that only verdicts have is known for the checked rows, and not learned: no label was given as it.
        self._learned = np.flatnonzero(np.isin(self.classes_, given))
        if len(self._learned) < 2:
            raise ValueError(
                "a classifier needs two classes or more among samples with a label and a weight, got "
                f"{'none' if not len(self._learned) else f'one class: {self.classes_[self._learned]}'}"
            )

    def _conclude(self, learned: "_Learned") -> None:
        """Set the interval and the diagnostic, once the share of wrong labels among all rows is known."""
        rate, n_rows, guarantee = self.noise_rate_, learned.n_rows, learned.guarantee
        error = 0.0 if n_rows is None else float(np.sqrt(rate * (1 - rate) / n_rows))
        self.noise_interval_ = range_of(self._posterior, rate, guarantee, error)
        self.diagnostic_ = diagnose(
            self._posterior, rate, self.noise_interval_, learned.scores, learned.given, learned.n_checked, guarantee
        ) | {"disagreement": learned.disagreement}
        self.diagnostic_ = conclude_copies(self.diagnostic_, learned.copies, self.noise_interval_)
        self.diagnostic_["outliers"] = learned.outliers.tolist()
        if n_rows is not None:
            self.diagnostic_ |= {"learned_from": len(learned.given), "sampling_error": error}

    def _audit(
        self,
        X: Any,
        y: NDArray[Any],
        labelled: NDArray[np.bool_],
        weight: Array,
        used: NDArray[np.intp],
        belief: Array,
        posterior: Array,
        truth: NDArray[np.intp],
    ) -> None:
        """Keep the probabilities of all rows; rows without weight or label are scored as new rows."""
        probabilities = np.zeros((len(y), len(self.classes_)))
        probabilities[np.ix_(used, self._learned)] = posterior
        unused = np.setdiff1d(np.arange(len(y)), used)
        if unused.size:
            probabilities[unused] = self._true_probabilities(self._scores(X[unused]))
            certain = unused[truth[unused] >= 0]
            probabilities[certain] = np.eye(len(self.classes_))[truth[certain]]
        column = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        known = self.classes_[column] == y
        quality = np.where(known, probabilities[np.arange(len(y)), column], 0.0)
        self.label_probabilities_ = probabilities
        self.out_of_sample_probabilities_ = probabilities.copy()
        self.out_of_sample_probabilities_[np.ix_(used, self._learned)] = belief
        self.label_quality_ = np.where(labelled, quality, np.nan)
        counted = np.flatnonzero(labelled & (weight > 0))
        weight = weight / self._class_weights[column]
        self.noise_rate_ = float(weight[counted] @ (1 - quality[counted]) / weight[counted].sum())
        self.transition_ = transition_of(probabilities[counted], column[counted], weight[counted])

    def _belief(self, scores: Array) -> Array:
        """Return the probabilities of the learned classes for rows whose label was not seen, calibrated on checks."""
        belief = self._posterior.true_probabilities(scores)
        return belief if self._recalibration is None else self._recalibration.true_probabilities(belief)

    def _true_probabilities(self, scores: Array) -> Array:
        probabilities = np.zeros((len(scores), len(self.classes_)))
        learned = self._belief(scores) * self._frequency
        probabilities[:, self._learned] = learned / learned.sum(axis=1, keepdims=True)
        return probabilities

    def _scores(self, X: Any) -> Array:
        return self._pool(X if self._scaler is None else self._scaler(X))

    def _with_and_without_label(self, X: Any, column: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return P(true) of the rows of a block with the labels in ``column``, and without them; -1 is no label."""
        if self._columns is not None:
            X = self._columns.transform(as_table(X, self._columns.names_, guess=False))
        else:
            X = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X", ensure_min_samples=0)
        scores = self._scores(tidy(X))
        without = np.zeros((len(scores), len(self.classes_)))
        without[:, self._learned] = self._belief(scores)
        found, rows = without.copy(), np.flatnonzero(np.isin(column, self._learned))
        given = np.searchsorted(self._learned, column[rows])
        posterior = self._posterior.label_posterior(scores[rows], given)
        if self._recalibration is not None:
            belief = self._posterior.true_probabilities(scores[rows])
            posterior = self._recalibration.posterior(belief, posterior, given)
        found[np.ix_(rows, self._learned)] = posterior
        return found, without

    def _for_workers(self) -> "NoisyLabelClassifier":
        """Return a copy of the fitted model that predicts, without what has a row for every row."""
        own = copy.copy(self)
        for name in ("label_quality_", "label_probabilities_", "out_of_sample_probabilities_"):
            delattr(own, name)
        return own

    def _read_new(self, X: Any) -> Any:
        check_is_fitted(self)
        refuse_collections(self, X=X)
        X = native_frame(np.asarray(X) if isinstance(X, list) else X)
        if self._columns is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
            return tidy(self._columns.transform(X))
        if is_table(X) and isinstance(X, np.ndarray) and X.dtype.kind == "f":
            row, column = np.argwhere(np.isnan(X))[0]
            raise ValueError(
                f"X contains NaN in row {row}, column {column}, but the rows that the model learned from have no "
                "missing value, so nothing tells what to fill in; fill it in, or fit to rows of which some have NaN"
            )
        return read_samples(self, X, reset=False)

    @on_blocks(lambda model: (len(model.classes_),))
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class being the *true* label of each sample."""
        X = self._read_new(X)
        return self._true_probabilities(self._scores(X))

    @on_blocks(lambda model: () if len(model.classes_) == 2 else (len(model.classes_),))
    def decision_function(self, X: Any) -> Array:
        """Return the log-odds of ``classes_[1]`` for two classes, else a log-probability per class."""
        logs = np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs

    @on_blocks(lambda model: (), dtype=lambda model: model.classes_.dtype)
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable true class of each sample."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return self.classes_[chosen]

    @property
    def kernel_names_(self) -> list[str]:
        """The old name of ``model_names_``."""
        return self._renamed("model_names_")

    @property
    def kernel_weights_(self) -> Array:
        """The old name of ``model_weights_``."""
        return self._renamed("model_weights_")

    def _renamed(self, name: str) -> Any:
        check_is_fitted(self)
        old = name.replace("model", "kernel")
        warnings.warn(f"{old} goes in 0.4: use {name}, since not all base models are kernels", FutureWarning, 3)
        return getattr(self, name)

    @property
    def feature_importances_(self) -> Array:
        """How much scores change when a feature is shuffled among rows.

        The mean squared change of the log-probabilities over some training rows, as shares that sum to one; they are
        computed at the first access. They describe the model: two features with the same information share their
        importance.
        """
        check_is_fitted(self)
        if self._importances is None:
            self._importances = shuffled_importances(self, None if self._columns is None else self._columns.parts)
        return self._importances

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class _Learned(NamedTuple):
    """What the diagnostic needs of the rows that were learned from."""

    scores: Array
    given: NDArray[np.intp]
    n_checked: int
    guarantee: Guarantee | None
    disagreement: float
    n_rows: float | None  # how many equally weighted rows the sample is worth; None if it is all rows
    copies: dict[str, Any]
    outliers: NDArray[np.intp]
