"""How many labels are wrong, and which: two functions for users who want no classifier."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state, indexable

from ..checks import missing_labels
from ..noise.explanations import explain_label_noise
from ..noise.two_classes import FLOOR
from ..progress import Progress, teller
from ..review.audit import LabelAudit, suggested_classes
from ..review.diagnosis import calibrated, diagnose, found_labels, guarantee_of, range_of, transition_of, weights
from ..samples import is_dask, refuse_collections, row_index
from ..scoring.rows import grouped_folds, read_groups, refuse_groups
from ..statements.answers import Answers
from ..statements.verdicts import Verdicts
from .classifier import NoisyLabelClassifier
from .describe import figures_of
from .given import read_labels, warn_of_numbers
from .spellings import join_spellings, typing_errors

Array = NDArray[np.float64]

N_FOLDS = 5
#: The chance that a label of one row is right, though it looks like a typing error of a frequent label.
NO_TYPING_ERROR = 0.05


@dataclass(frozen=True)
class LabelNoiseEstimate:
    """The result of :func:`estimate_label_noise`.

    Parameters
    ----------
    noise_rate : float
        The share of wrong labels.
    interval : tuple of two floats
        The range of this share over all explanations of the labels, for errors that do not follow the features.
    transition : ndarray of shape (n_classes, n_classes)
        P(given | true): rows are true classes, columns are given classes.
    classes : ndarray of shape (n_classes,)
    diagnostic : dict
        See :class:`NoisyLabelClassifier`.
    """

    noise_rate: float
    interval: tuple[float, float]
    transition: Array
    classes: NDArray[Any]
    diagnostic: dict[str, Any]

    @property
    def class_rates(self) -> dict[Any, float]:
        """The share of wrong labels among samples of each true class."""
        rates = 1 - np.diag(self.transition)
        return dict(zip(self.classes.tolist(), rates.tolist(), strict=True))


def estimate_label_noise(
    X: Any,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    checked: Verdicts | None = None,
    sample_size: int | str = "auto",
    random_state: Any = None,
) -> LabelNoiseEstimate:
    """Estimate the share of wrong labels and the transition matrix; no clean labels are needed.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of which some may be wrong.
    groups : array-like of shape (n_samples,), optional
        Rows that may share their errors: see :meth:`NoisyLabelClassifier.fit`.
    checked : Verdicts, optional
        What people found who checked some rows: see :func:`plan_checks`.
    sample_size : int or "auto"
        The number of rows to learn from, if there are more: see :class:`NoisyLabelClassifier`.
    random_state : int, RandomState or None

    Returns
    -------
    LabelNoiseEstimate

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernelwise import estimate_label_noise, flip_labels
    >>> X, y = make_moons(400, noise=0.2, random_state=0)
    >>> found = estimate_label_noise(X, flip_labels(y, 0.3, random_state=0), random_state=0)
    >>> found.interval[0] < 0.3 < found.interval[1]
    True
    """
    model = NoisyLabelClassifier(sample_size=sample_size, random_state=random_state)
    model.fit(X, y, groups=groups, checked=checked)
    return LabelNoiseEstimate(
        model.noise_rate_, model.noise_interval_, model.transition_, model.classes_, model.diagnostic_
    )


def audit_labels(
    X: Any,
    y: ArrayLike,
    *,
    estimator: Any = None,
    probabilities: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    checked: Verdicts | None = None,
    sample_size: int | str = "auto",
    random_state: Any = None,
    progress: Progress = None,
) -> LabelAudit:
    """Estimate how many labels are wrong, and rank the labels so that suspect labels come first.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame of shape (n_samples, n_features), or None
        May be None where ``probabilities`` are given.
    y : array-like of shape (n_samples,) or frame of one column
        A row whose label is None or NaN has no quality; the audit suggests a label for it. Labels that differ in
        capitals or blanks alone are one class, which a warning says. A label of one row that looks like a frequent
        label is taken for a typing error, which a warning says too: its row is suspect, and is not learned from.
        If X and y both are of pandas, their indexes must be equal, as in :meth:`NoisyLabelClassifier.fit`.
    estimator : classifier, optional
        Any scikit-learn classifier with ``predict_proba``; it scores each sample out of sample, in five folds. The
        default is :class:`NoisyLabelClassifier`.
    probabilities : array-like of shape (n_samples, n_classes), optional
        Out-of-sample probabilities of the *given* labels by a model of your own, one column per class in sorted order:
        what cleanlab calls ``pred_probs``.
    groups : array-like of shape (n_samples,), optional
        Rows that may share their errors, such as the visits of one patient: see :meth:`NoisyLabelClassifier.fit`. With
        an estimator, the rows of a group are in one fold.
    checked : Verdicts, optional
        What people found who checked some rows: see :func:`plan_checks`. They calibrate the qualities of all rows.
    sample_size : int or "auto"
        The number of rows to learn from, if there are more: see :class:`NoisyLabelClassifier`.
    random_state : int, RandomState or None
    progress : bool or callable, optional
        See :meth:`NoisyLabelClassifier.fit`.

    Returns
    -------
    LabelAudit
        If X and y are Dask collections, its arrays are Dask arrays, and ``order`` has the 10,000 most suspect rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from kernelwise import audit_labels
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> y[:5] = 1 - y[:5]
    >>> audit = audit_labels(X, y, random_state=0)
    >>> sorted(audit.order[:5].tolist())
    [0, 1, 2, 3, 4]
    """
    if isinstance(y, Answers):
        raise TypeError("y holds several answers per row; give them to audit_answers(X, answers)")
    model = NoisyLabelClassifier(sample_size=sample_size, random_state=random_state)
    if is_dask(X):
        if estimator is not None or probabilities is not None:
            raise ValueError(
                "X is a Dask collection, and estimator and probabilities are for rows in memory; leave them out, or "
                "give X.compute()"
            )
        from .on_dask import audit_on_cluster

        refuse_groups(groups)
        return audit_on_cluster(model, X, y, checked=checked, progress=teller(progress, "learning from labels"))
    refuse_collections(model, X=X, y=y, groups=groups)
    index = row_index(X, y)
    labels = join_spellings(np.asarray(read_labels(y)), warn=True)[0]
    if estimator is not None and probabilities is not None:
        raise ValueError("give estimator or probabilities, not both: probabilities already are an estimator's answer")
    if estimator is None and probabilities is None:
        learned, errors = without_typing_errors(labels, checked)
        for error, usual in errors.items():
            warnings.warn(f"label {error!r} of one row is taken for a typing error of {usual!r}", stacklevel=2)
        audit = audit_by(model.fit(X, learned, groups=groups, checked=checked, progress=progress), labels, checked)
    else:
        if groups is not None and probabilities is not None:
            raise ValueError("probabilities are made already: leave out groups, and keep a group in one fold")
        group = read_groups(groups, len(labels))
        audit = _audit_by_others(X, labels, estimator, probabilities, checked, random_state, group)
    return replace(audit, index=index)


def _audit_by_others(
    X: Any,
    labels: NDArray[Any],
    estimator: Any,
    probabilities: ArrayLike | None,
    checked: Verdicts | None,
    random_state: Any,
    group: NDArray[np.intp] | None,
) -> LabelAudit:
    """Return the audit by the probabilities of the given labels that another model has out of sample."""
    if (missing := missing_labels(labels)).any():
        raise ValueError(
            f"y has no label in row {int(missing.argmax())}; with estimator or probabilities every row needs a label. "
            "Leave the row out"
        )
    classes, given = np.unique(labels, return_inverse=True)
    warn_of_numbers(dict(zip(classes.tolist(), np.bincount(given).tolist(), strict=True)), stacklevel=4)
    if len(classes) < 2:
        raise ValueError(f"an audit needs two classes or more, got one class: {classes}")
    known = found_labels(checked, labels)
    if new := sorted({str(label) for label in known.values() if label not in set(classes.tolist())}):
        raise ValueError(
            f"checked introduces the class {new[0]!r}, for which no label was given; with estimator or probabilities, "
            "correct the labels of this class first"
        )
    truth = np.full(len(labels), -1, dtype=np.intp)
    truth[list(known)] = np.searchsorted(classes, list(known.values()))
    if probabilities is None:
        seed = check_random_state(random_state).randint(2**31)
        learned = classes[np.where(truth >= 0, truth, given)]
        probabilities = _out_of_fold(clone(estimator), X, learned, classes, given, seed, group)
    scores = np.log(np.clip(_check_probabilities(probabilities, len(labels), classes), FLOOR, None))
    noise = explain_label_noise(scores, given)
    guarantee = guarantee_of(checked, labels)
    belief, posterior = noise.true_probabilities(scores), noise.label_posterior(scores, given)
    found, _ = calibrated(belief, posterior, given, truth, weights(checked, len(labels)), guarantee)
    rate = float(np.mean(1 - found[np.arange(len(labels)), given]))
    interval = range_of(noise, rate, guarantee)
    return _audit(
        labels,
        found,
        checked,
        classes=classes,
        noise_rate=rate,
        noise_interval=interval,
        transition=transition_of(found, given, np.ones(len(labels))),
        diagnostic=diagnose(noise, rate, interval, scores, given, len(known), guarantee),
    )


def without_typing_errors(y: NDArray[Any], checked: Verdicts | None = None) -> tuple[NDArray[Any], dict[str, str]]:
    """Return the labels to learn from, None where a typing error was made, and the typing errors with what was meant.

    A row that people have checked is learned from in any case.

    >>> labels, errors = without_typing_errors(np.array(["Adelei"] + ["Adelie"] * 20 + ["Gentoo"] * 20))
    >>> labels[:2].tolist(), errors
    ([None, 'Adelie'], {'Adelei': 'Adelie'})
    """
    seen = set(y[list(found_labels(checked, y))].tolist())
    errors = {error: usual for error, usual in typing_errors(y).items() if error not in seen}
    return (np.where(np.isin(y, list(errors)), np.array(None), y) if errors else y), errors


def audit_by(model: NoisyLabelClassifier, y: ArrayLike, checked: Verdicts | None = None) -> LabelAudit:
    """Return the audit of the labels ``y`` to which the model was fitted, with the verdicts it was fitted with.

    The model may have been fitted without the typing errors among the labels: see :func:`without_typing_errors`.
    """
    labels, known = np.asarray(y), set(model.classes_.tolist())
    errors = {error: usual for error, usual in typing_errors(labels).items() if error not in known}
    learned = np.where(np.isin(labels, list(errors)), np.array(None), labels) if errors else y
    audit = _audit(learned, model.label_probabilities_, checked, **figures_of(model))
    return _with_typing_errors(audit, labels, errors) if errors else audit


def _with_typing_errors(audit: LabelAudit, labels: NDArray[Any], errors: dict[str, str]) -> LabelAudit:
    """Return the audit of all labels, where the typing errors are suspects, and the other rows stay as they are."""
    rows = np.flatnonzero(np.isin(labels, list(errors)))
    classes = np.unique(np.concatenate([audit.classes, list(errors)]).astype(labels.dtype))
    found = np.zeros((len(labels), len(classes)))
    found[:, np.searchsorted(classes, audit.classes.astype(labels.dtype))] = audit.probabilities
    meant = [errors[label] for label in labels[rows].tolist()]
    found[rows] = 0.0
    found[rows, np.searchsorted(classes, labels[rows])] = NO_TYPING_ERROR
    found[rows, np.searchsorted(classes, np.array(meant, dtype=labels.dtype))] = 1.0 - NO_TYPING_ERROR
    audited = np.flatnonzero(~missing_labels(labels))

    def among_all(share: float) -> float:
        wrong = share * (len(audited) - len(rows)) + (1.0 - NO_TYPING_ERROR) * len(rows)
        return float(wrong / len(audited))

    given = np.searchsorted(classes, labels[audited])
    return _audit(
        labels,
        found,
        audit.checked,
        classes=classes,
        noise_rate=among_all(audit.noise_rate),
        noise_interval=(among_all(audit.noise_interval[0]), among_all(audit.noise_interval[1])),
        transition=transition_of(found[audited], given, np.ones(len(audited))),
        diagnostic=dict(audit.diagnostic),
    )


def _out_of_fold(
    estimator: Any,
    X: Any,
    labels: NDArray[Any],
    classes: NDArray[Any],
    given: NDArray[np.intp],
    seed: int,
    group: NDArray[np.intp] | None,
) -> Array:
    """Return the probabilities of the labels by fits that did not see them; rare classes may be missing from a fold."""
    belief, X = np.zeros((len(labels), len(classes))), indexable(X)[0]
    fold = grouped_folds(given, np.arange(len(given)) if group is None else group, N_FOLDS, np.random.RandomState(seed))
    for k in np.unique(fold):
        rows, others = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        model = clone(estimator).fit(_safe_indexing(X, others), labels[others])
        columns = np.searchsorted(classes, model.classes_)
        belief[np.ix_(rows, columns)] = model.predict_proba(_safe_indexing(X, rows))
    return belief


def _check_probabilities(probabilities: ArrayLike, n_samples: int, classes: NDArray[Any]) -> Array:
    belief = np.asarray(probabilities, dtype=np.float64)
    if belief.shape != (n_samples, len(classes)):
        raise ValueError(
            f"probabilities must have shape {(n_samples, len(classes))}, one column for each of {classes}, "
            f"got {belief.shape}"
        )
    if not np.isfinite(belief).all() or belief.min() < 0 or np.abs(belief.sum(axis=1) - 1).max() > 1e-3:
        raise ValueError("probabilities must be finite, not negative and sum to one in each row")
    return belief


def _audit(
    y: ArrayLike, found: Array, checked: Verdicts | None, *, classes: NDArray[Any], **figures: Any
) -> LabelAudit:
    labels, missing = np.asarray(y), missing_labels(y)
    filled = np.where(missing, np.asarray(classes[0], dtype=object), np.asarray(y, dtype=object)).tolist()
    column = np.minimum(np.searchsorted(classes, filled), len(classes) - 1)
    known = ~missing & (classes[column] == np.array(filled))
    quality = np.where(missing, np.nan, np.where(known, found[np.arange(len(labels)), column], 0.0))
    suggested = classes[suggested_classes(found, np.where(known, column, -1), quality)]
    return LabelAudit(labels, quality, suggested, found, classes, checked=checked, **figures)
