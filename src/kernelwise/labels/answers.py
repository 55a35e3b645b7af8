"""Several answers per row: the audit of the consensus, and of every source."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, softmax

from ..noise.sources import (
    Shared,
    SourceFit,
    Statements,
    agreement,
    class_shares,
    copied_sources,
    fit_sources,
    learn_shared,
    shared_prior,
    with_shared_errors,
)
from ..progress import Progress, teller
from ..review.answers import AnswerAudit
from ..review.diagnosis import calibrated, found_labels, guarantee_of, transition_of, weights
from ..review.guarantee import Guarantee
from ..samples import is_dask, n_rows, row_index
from ..statements.answers import Answers
from ..statements.verdicts import Verdicts
from .classifier import NoisyLabelClassifier

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Belief from features and consensus are fitted in turn so many times.
ROUNDS = 2
#: The belief from features is learned from at most this many rows.
BELIEF_ROWS = 10_000
#: A belief is kept away from zero by this much.
LEAST_BELIEF = 1e-3
#: A range of the share of wrong classes that is wider than this is not called an answer.
WIDE_RANGE = 0.15
#: Sources take part in shared errors more or less: the standard deviation of an accuracy for this reason.
OWN_SHARE = 0.05
#: The same, without features, of programs that know one class and are compared with few others, and where no row has
#: three answers, because two sources that differ do not show who is right; twice as much where no row has two.
UNCOMPARED = 0.15
#: The 90 % interval of an accuracy, in standard deviations.
INTERVAL = 1.645


def audit_answers(
    X: Any,
    answers: Answers,
    *,
    groups: ArrayLike | None = None,
    checked: Verdicts | None = None,
    sample_size: int | str = "auto",
    random_state: Any = None,
    progress: Progress = None,
) -> AnswerAudit:
    """Find the true class of every row from several answers per row, and how good every source of answers is.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame of shape (n_rows, n_features), or None
        With features, a model that learns from the answers says what it believes of every row without having seen the
        answers to it. None uses the answers alone.
    answers : Answers
        Who said what.
    groups : array-like of shape (n_rows,), optional
        Rows that may share their errors: the belief of a row comes from models that saw no row of its group. See
        :meth:`NoisyLabelClassifier.fit`.
    checked : Verdicts, optional
        The true classes of some rows. They calibrate the sources and all chances; if :func:`plan_checks` drew them, the
        interval is the one that :func:`guaranteed_share` guarantees.
    sample_size : int or "auto"
        The number of rows from which the belief is learned, if there are more; "auto" stands for 10,000.
    random_state : int, RandomState or None
    progress : bool or callable, optional
        See :meth:`NoisyLabelClassifier.fit`.

    Returns
    -------
    AnswerAudit

    Notes
    -----
    How often all sources are wrong together cannot be learned from their answers. The chances use what sets of answers
    with known truth have shown: about 9 % of the rows mislead people, and a third to two thirds mislead language
    models. Checks of a few rows replace this by what holds for your data.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Answers, audit_answers
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(3, size=300)
    >>> given = np.where(rng.random((300, 4)) < [0.9, 0.8, 0.7, 0.0], truth[:, None], rng.integers(3, size=(300, 4)))
    >>> audit = audit_answers(None, Answers.from_table(given, sources=["Ann", "Bob", "Cy", "Dan"]))
    >>> bool(np.mean(audit.labels == truth) > 0.9)
    True
    >>> str(audit.sources["source"][audit.sources["accuracy"].argmin()])
    'Dan'
    """
    if not isinstance(answers, Answers):
        raise TypeError(f"answers must be a kernelwise.Answers, got {type(answers).__name__}")
    if X is None:
        if groups is not None:
            raise ValueError("groups are for the models of features, and X is None; give X or leave out groups")
        return conclude(answers, Fitted(answers, checked), checked, None)
    if is_dask(X):
        raise ValueError("X is a Dask collection, and answers are for rows in memory; give X.compute()")
    size = BELIEF_ROWS if sample_size == "auto" else sample_size
    model = NoisyLabelClassifier(sample_size=size, random_state=random_state)
    fitted = learn_from_answers(model, X, answers, groups, checked, progress)
    return conclude(answers, fitted, checked, row_index(X, None))


class Fitted:
    """Answers as positions, the copies among sources, and the fit so far."""

    def __init__(self, answers: Answers, checked: Verdicts | None):
        truths = found_labels(checked, np.resize(answers.classes, answers.n_rows))
        self.classes = np.unique(np.array([*answers.classes.tolist(), *truths.values()]))
        if len(self.classes) < 2:
            only = self.classes.tolist()[0]
            raise ValueError(f"answers has one class only, {only!r}; two are needed to say who is wrong")
        label = np.searchsorted(self.classes, answers.classes)[answers.label_index]
        m, n_classes = len(answers.source_names), len(self.classes)
        parts = answers.rows, answers.source_index, label, answers.n_rows, m, n_classes
        weight, self.copies = copied_sources(Statements(*parts, np.ones(m)))
        self.statements = Statements(*parts, weight)
        self.truth = np.full(answers.n_rows, -1, dtype=np.intp)
        self.truth[list(truths)] = np.searchsorted(self.classes, list(truths.values()))
        self.believed = False
        self.fit = self.unchecked = fit_sources(self.statements)
        if len(truths):
            self.fit = fit_sources(self.statements, None, self.truth)

    def believe(self, belief: Array, checked: bool) -> None:
        """Fit again, with the belief from features, and with what people found by checking or without it."""
        self.believed = True
        self.fit = fit_sources(self.statements, belief, self.truth if checked else None)
        if not checked:
            self.unchecked = self.fit


def learn_from_answers(
    model: NoisyLabelClassifier,
    X: Any,
    answers: Answers,
    groups: ArrayLike | None,
    checked: Verdicts | None,
    progress: Progress,
) -> Fitted:
    """Fit the model and the sources in turn: the model to the consensus, the sources to answers and its belief."""
    if n_rows(X) != answers.n_rows:
        raise ValueError(f"X has {n_rows(X)} rows, but the answers speak of {answers.n_rows} rows")
    fitted, tell = Fitted(answers, checked), teller(progress, "learning from answers")
    answered = np.bincount(answers.rows, minlength=answers.n_rows) > 0
    if len(np.unique(fitted.unchecked.chances[answered].argmax(axis=1))) < 2:
        raise ValueError(
            "the consensus of the answers is one class for all rows, so there is nothing to learn from features; "
            "X=None audits the answers alone"
        )
    # The consensus is found without the checks, so that they can guarantee how good it is; a last round uses them.
    rounds = [None] * ROUNDS if checked is None else [None] * ROUNDS + [checked]
    beliefs: list[Array] = []
    for step, verdicts in enumerate(rounds):
        chances = fitted.unchecked.chances
        order = np.sort(chances, axis=1)
        # A row counts as far as its two most probable classes differ, so that no tie decides anything.
        margin = np.where(answered, order[:, -1] - order[:, -2], 0.0)
        with warnings.catch_warnings():
            if step:  # what there is to say of the features was said
                warnings.simplefilter("ignore")
            model.fit(X, fitted.classes[chances.argmax(axis=1)], margin, groups=groups, checked=verdicts)
        belief = np.full(chances.shape, LEAST_BELIEF)
        columns = np.searchsorted(fitted.classes, model.classes_)
        belief[:, columns] = np.maximum(model.out_of_sample_probabilities_, LEAST_BELIEF)
        # A model that learned from its own consensus confirms it, so that the rounds before count as much.
        beliefs.append(np.log(belief / belief.sum(axis=1, keepdims=True)))
        fitted.believe(softmax(np.mean(beliefs, axis=0), axis=1), verdicts is not None)
        tell(step + 1, len(rounds))
    return fitted


def _column(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels without missing ones in an array of their own type."""
    return labels if any(label is None for label in labels.tolist()) else np.array(labels.tolist())


def conclude(answers: Answers, fitted: Fitted, checked: Verdicts | None, index: Any) -> AnswerAudit:
    """Return the audit: every figure from the chances with shared errors."""
    statements, fit, truth = fitted.statements, fitted.fit, fitted.truth
    shared = _shared(answers, fitted)
    found = with_shared_errors(fit, shared.mean)
    rows = np.flatnonzero(truth >= 0)
    prior = shared_prior(statements, *_shares_of_kinds(answers, statements))
    column = (found if not len(rows) else with_shared_errors(fitted.unchecked, prior[0])).argmax(axis=1)
    labels = fitted.classes[column].astype(object)
    nothing = (np.bincount(answers.rows, minlength=answers.n_rows) == 0) & (not fitted.believed)
    labels[nothing] = None
    guarantee = guarantee_of(checked, labels)
    found[rows] = np.eye(found.shape[1])[truth[rows]]
    claimed = float(np.mean(1 - found[np.arange(len(found)), column][~nothing]))
    if guarantee is not None and not guarantee.low <= claimed <= guarantee.high:
        # What a checked row is compared with does not know its own class.
        found[rows] = with_shared_errors(fitted.unchecked, shared.mean)[rows]
        known, frequency = ~nothing | (truth >= 0), np.broadcast_to(class_shares(fit, shared.mean), found.shape)
        parts = frequency[known], found[known], column[known], truth[known], weights(checked, len(found))[known]
        found[known] = calibrated(*parts, guarantee)[0]
    quality = np.where(nothing, np.nan, found[np.arange(len(found)), column])
    rate = float(np.nanmean(1 - quality))
    doubt = float(np.mean(_uncompared(fitted)[statements.sources]))
    interval = _range(fit, column, ~nothing, truth, shared, guarantee, rate, doubt)
    raw, alpha = agreement(statements)
    names = answers.source_names
    suggested = np.where(nothing & (truth < 0), labels, fitted.classes[found.argmax(axis=1)].astype(object))
    return AnswerAudit(
        labels=_column(labels),
        quality=quality,
        suggested=_column(suggested),
        probabilities=found,
        classes=fitted.classes,
        noise_rate=rate,
        noise_interval=interval,
        transition=transition_of(found[~nothing], column[~nothing], np.ones(int((~nothing).sum()))),
        diagnostic=_diagnostic(answers, shared, interval, guarantee, len(rows)),
        checked=checked,
        index=index,
        answers=answers,
        answer_quality=found[statements.rows, statements.labels],
        sources=_source_table(answers, fitted, found, shared),
        confusion=fit.confusion,
        copies=[(names[copy.one], names[copy.other], copy.share) for copy in fitted.copies],
        agreement=raw,
        alpha=alpha,
        joint=np.where(truth[:, None] >= 0, found, fit.chances),
    )


def _uncompared(fitted: Fitted) -> Array:
    """The standard deviation of the accuracy of every source, for want of answers to compare its answers with."""
    statements = fitted.statements
    if fitted.believed:
        return np.zeros(statements.n_sources)
    most = int(np.bincount(statements.rows).max())
    return np.where(statements.detectors(), UNCOMPARED, UNCOMPARED * max(3 - most, 0))


def _shared(answers: Answers, fitted: Fitted) -> Shared:
    """What is known of the chance that a row misleads all sources."""
    statements, truth = fitted.statements, fitted.truth
    rows = np.flatnonzero((truth >= 0) & (np.bincount(answers.rows, minlength=answers.n_rows) > 0))
    prior = shared_prior(statements, *_shares_of_kinds(answers, statements))
    said = fitted.fit.evidence[rows, truth[rows]]
    return learn_shared(prior, said, fitted.fit.frequency[truth[rows]])


def _shares_of_kinds(answers: Answers, statements: Statements) -> tuple[float, float]:
    """The shares of the answers of language models, and of sources of unknown kind."""
    n_answers = np.bincount(statements.sources, minlength=statements.n_sources) / len(answers)
    detectors = statements.detectors()
    kinds = ["program" if detector else kind for kind, detector in zip(answers.source_kinds, detectors, strict=True)]
    of_models, unknown = (n_answers @ np.array([kind == one for kind in kinds]) for one in ("language model", None))
    return float(of_models), float(unknown)


def _range(
    fit: SourceFit,
    column: Index,
    counted: NDArray[np.bool_],
    truth: Index,
    shared: Shared,
    guarantee: Guarantee | None,
    rate: float,
    doubt: float,
) -> tuple[float, float]:
    """The range of the share of wrong classes: over what is known of shared errors, or the guaranteed one.

    ``doubt`` is the standard deviation of the share for other reasons.
    """
    if guarantee is not None:
        return min(guarantee.low, rate), max(guarantee.high, rate)
    ends = []
    for level in (0.025, 0.975):
        wrong = 1 - with_shared_errors(fit, shared.quantile(level))[np.arange(len(column)), column]
        ends.append(float(np.mean(np.where(truth >= 0, 0.0, wrong)[counted])))
    low, high = min(*ends, rate), max(*ends, rate)
    below, above = np.hypot([rate - low, high - rate], 2 * doubt)
    return max(rate - float(below), 0.0), min(rate + float(above), 1.0)


def _source_table(answers: Answers, fitted: Fitted, found: Array, shared: Shared) -> Any:
    """The accuracy of every source, with an interval for the chance of its answers and of shared errors."""
    statements, n_classes = fitted.statements, len(fitted.classes)
    n_answers = np.bincount(statements.sources, minlength=statements.n_sources)
    accuracy = np.bincount(statements.sources, found[statements.rows, statements.labels]) / n_answers
    inside = np.clip(accuracy, 0.01, 0.99)
    variance = inside * (1 - inside) / (n_answers + 2) + ((inside - 1 / n_classes) * shared.deviation) ** 2
    variance += np.maximum(_uncompared(fitted), OWN_SHARE) ** 2
    margin = INTERVAL * np.sqrt(variance) / (inside * (1 - inside))
    kinds = np.array([kind or "" for kind in answers.source_kinds])
    low, high = expit(logit(inside) - margin), expit(logit(inside) + margin)
    parts: Any = (
        answers.source_names,
        kinds,
        n_answers,
        accuracy,
        np.minimum(low, accuracy),
        np.maximum(high, accuracy),
    )
    return np.rec.fromarrays(parts, names="source, kind, n_answers, accuracy, low, high")  # type: ignore[call-overload]


def _diagnostic(
    answers: Answers, shared: Shared, interval: tuple[float, float], guarantee: Guarantee | None, n_checked: int
) -> dict[str, Any]:
    """Whether the range is an answer, and why, in words."""
    width = interval[1] - interval[0]
    models = "language model" in answers.source_kinds
    who = "Language models" if models else "Sources"
    if guarantee is not None:
        reason = str(guarantee)
    else:
        reason = (
            f"{who} err together, and how often cannot be seen in their answers: between {interval[0]:.1%} and "
            f"{interval[1]:.1%} of the consensus is wrong, as far as similar data have shown"
        )
        reason += f" and {n_checked} checks say." if n_checked else ". Checks of a few rows narrow this."
    return {
        "reliable": bool(width <= WIDE_RANGE and (guarantee is not None or not models)),
        "reason": reason,
        "claim": "Every figure speaks of the consensus of all answers.",
        "explanations": {"sources err together": interval},
        "interval_width": width,
        "shared_errors": shared.mean,
        "separability": np.nan,
    }


def fit_to_answers(
    model: NoisyLabelClassifier,
    X: Any,
    answers: Answers,
    groups: ArrayLike | None,
    checked: Verdicts | None,
    progress: Progress,
) -> None:
    """Fit a classifier to several answers per row; what it says of labels, it says of the consensus."""
    if is_dask(X):
        raise ValueError("X is a Dask collection, and answers are for rows in memory; give X.compute()")
    fitted = learn_from_answers(model, X, answers, groups, checked, progress)
    audit = conclude(answers, fitted, checked, row_index(X))
    columns = np.searchsorted(audit.classes, model.classes_)
    model.label_probabilities_ = audit.probabilities[:, columns]
    model.label_quality_, model.noise_rate_, model.noise_interval_ = (
        audit.quality,
        audit.noise_rate,
        audit.noise_interval,
    )
    model.transition_, model.diagnostic_ = audit.transition[np.ix_(columns, columns)], dict(audit.diagnostic)
    model.answer_audit_ = audit
