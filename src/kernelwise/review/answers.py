"""The result of an audit of several answers per row, and whom to ask next."""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import check_count, check_positive
from ..statements.answers import Answers
from .audit import LabelAudit, _check_quality
from .diagnosis import WIDE_RANGE, transition_of

Array = NDArray[np.float64]

#: A confusion is named if a source answers so in this share of the rows of a class.
OFTEN = 0.15
#: Plans weigh this many sources for every row: those that would tell most about a row of which nothing is known.
SOURCES_AT_ONCE = 30
#: A nat of information is worth so many right labels.
IN_NATS = 0.1


@dataclass(frozen=True, eq=False, repr=False)
class AnswerAudit(LabelAudit):
    """What several answers per row say: the consensus, how sure it is, and how good every source is.

    All attributes of :class:`LabelAudit` speak of the consensus: ``labels`` are its classes, None for a row of which
    nothing is known, and ``quality`` the chance of each to be right. So :func:`plan_checks` and
    :func:`guaranteed_share` take this audit as they take that of single labels. The consensus is that of the answers;
    what people found by checking is in ``suggested``, ``quality`` and all other figures.

    Parameters
    ----------
    answers : Answers
    answer_quality : array of shape (n_answers,)
        The chance of each answer to be right.
    sources : structured array with one row per source
        ``source``, ``n_answers``, ``accuracy`` (the expected share of right answers) and its 90 % interval ``low``,
        ``high``. ``pandas.DataFrame(audit.sources)`` makes a frame of it.
    confusion : array of shape (n_sources, n_classes, n_classes)
        The chance of each answer (last axis) of each source for a row of each class.
    copies : list of (source, source, share)
        Sources that give the same answers, errors included, in this share of the rows; together they count once.
    agreement, alpha : float
        The share of pairs of answers to one row that agree, and Krippendorff's alpha; NaN if no row has two answers.
    """

    answers: Answers = None  # type: ignore[assignment]  # given by audit_answers
    answer_quality: Array = None  # type: ignore[assignment]
    sources: Any = None
    confusion: Array = None  # type: ignore[assignment]
    copies: list[tuple[Any, Any, float]] = field(default_factory=list)
    agreement: float = np.nan
    alpha: float = np.nan
    joint: Array = None  # type: ignore[assignment]  # the chance of the class that the answers to each row speak for

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.answers, Answers):
            raise TypeError(f"answers must be a kernelwise.Answers, got {type(self.answers).__name__}")
        self._keep(answer_quality=_check_quality(self.answer_quality, len(self.answers), "answer"))

    def errors_of(self, source: Any) -> list[str]:
        """Where a source errs, in words, the most frequent confusion first."""
        names = self.answers.source_names
        if source not in names:
            raise ValueError(f"source must be one of those who answered, got {source!r}")
        chances = self.confusion[int(np.flatnonzero(names == source)[0])]
        found = [
            (chances[k, a], f"says {self.classes[a]} for {chances[k, a]:.0%} of {self.classes[k]}")
            for k, a in np.argwhere((chances >= OFTEN) & ~np.eye(len(chances), dtype=bool)).tolist()
        ]
        return [words for _, words in sorted(found, reverse=True)]

    def labels_of(self, source: Any) -> LabelAudit:
        """The audit of the labels that one source gave: None where it did not answer.

        All other answers, and the features, say which of them are wrong.
        """
        names = self.answers.source_names
        if source not in names:
            raise ValueError(f"source must be one of those who answered, got {source!r}")
        return self._audit_of(np.flatnonzero(self.answers.source_index == np.flatnonzero(names == source)[0]))

    def given_labels(self) -> LabelAudit:
        """The audit of the given labels, where every row has one answer at most: of one column that sources share."""
        if np.bincount(self.answers.rows).max() > 1:
            raise ValueError(
                "some rows have several answers, so there is no given label; labels_of(source) audits the labels of one"
            )
        return self._audit_of(np.arange(len(self.answers)))

    def _audit_of(self, which: NDArray[np.intp]) -> LabelAudit:
        """The audit of some answers as labels; of two answers of a source to one row the first counts."""
        answers, first = self.answers, np.unique(self.answers.rows[which], return_index=True)[1]
        which = which[first]
        rows, quality = answers.rows[which], self.answer_quality[which]
        places = np.searchsorted(self.classes, answers.classes)[answers.label_index[which]]
        labels, all_quality = np.full(answers.n_rows, None, dtype=object), np.full(answers.n_rows, np.nan)
        labels[rows], all_quality[rows] = answers.labels[which].tolist(), quality
        suggested = self.classes[self.probabilities.argmax(axis=1)].astype(object)
        suggested[rows] = np.where(quality > 0.5, labels[rows], suggested[rows])
        counts = np.bincount(answers.source_index[which], minlength=len(self.sources)) / len(which)
        rate = float(np.mean(1 - quality))
        low = min(float(counts @ (1 - self.sources["high"])), rate)
        high = max(float(counts @ (1 - self.sources["low"])), rate)
        reason = (
            f"By the accuracy of the sources, between {low:.1%} and {high:.1%} of the given labels are wrong. Errors "
            "that follow the features in all sources alike cannot be seen. Checks of a few rows narrow this."
        )
        return LabelAudit(
            labels=labels,
            quality=all_quality,
            suggested=suggested,
            probabilities=self.probabilities,
            classes=self.classes,
            noise_rate=rate,
            noise_interval=(low, high),
            transition=transition_of(self.probabilities[rows], places, np.ones(len(which))),
            diagnostic={
                **self.diagnostic,
                "reliable": bool(high - low <= WIDE_RANGE),
                "reason": reason,
                "claim": "The figures speak of the given labels, and not of the consensus.",
                "interval_width": high - low,
            },
            checked=self.checked,
            index=self.index,
        )

    def to_frame(self) -> Any:
        """A pandas DataFrame of the consensus, its quality and the number of answers, one row per row of the data."""
        frame = super().to_frame().drop(columns="suggested")
        frame["n_answers"] = np.bincount(self.answers.rows, minlength=self.answers.n_rows)
        return frame

    def __repr__(self) -> str:
        sizes = f"n_rows={len(self.labels)}, n_answers={len(self.answers)}, n_sources={len(self.sources)}"
        low, high = self.noise_interval
        return f"AnswerAudit({sizes}, noise_rate={self.noise_rate:.3g} [{low:.3g}, {high:.3g}])"


@dataclass(frozen=True)
class AnswerPlan:
    """Whom to ask about which row next: ``sources[t]`` about ``rows[t]``, the answer that is worth most per cost first.

    ``information`` is how much the answer is expected to tell about the row, in nats.
    """

    rows: NDArray[np.intp]
    sources: NDArray[Any]
    information: Array

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> Any:
        """A pandas DataFrame of row, source and information."""
        from .audit import _pandas

        columns = {"row": self.rows, "source": self.sources, "information": self.information}
        return _pandas().DataFrame(columns)


def plan_answers(audit: AnswerAudit, n_answers: int, *, costs: Mapping[Any, float] | None = None) -> AnswerPlan:
    r"""Choose the rows that are worth another answer, and whom to ask.

    The answer of source j to row i tells, with :math:`q_i` the chances so far and :math:`T_j` the confusion of j,

    .. math:: H\Bigl(\sum_k q_{ik} T_{jk}\Bigr) - \sum_k q_{ik} H(T_{jk})

    nats about the class, where H is the entropy. What it is worth is the expected gain in right labels,
    :math:`\sum_a \max_k q_{ik} T_{jka} - \max_k q_{ik}`, and a tenth of this information, so that a row that needs two
    answers to change its label is asked about, too. A second answer to the same row is expected to tell less, in
    proportion to what is not yet known.

    Parameters
    ----------
    audit : AnswerAudit
    n_answers : int
        How many answers to ask for.
    costs : mapping of source to float, optional
        What an answer of each source costs; one where a source is not named.

    Returns
    -------
    AnswerPlan
        No source is asked about a row that it has answered. Fewer answers than asked for, if nobody is left to ask.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Answers, audit_answers, plan_answers
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=200)
    >>> given = np.where(rng.random((200, 3)) < 0.8, truth[:, None], 1 - truth[:, None])
    >>> given[:100, 2] = -1
    >>> plan = plan_answers(audit_answers(None, Answers.from_table(given)), 20)
    >>> len(plan), bool((plan.rows < 100).all())
    (20, True)
    """
    if not isinstance(audit, AnswerAudit):
        raise TypeError(f"audit must come from audit_answers, got {type(audit).__name__}")
    n_answers, answers = check_count("n_answers", n_answers), audit.answers
    names = answers.source_names.tolist()
    if unknown := [source for source in costs or {} if source not in names]:
        raise ValueError(f"costs names the source {unknown[0]!r}, which gave no answer")
    cost = np.array([check_positive(f"costs[{name!r}]", (costs or {}).get(name, 1.0)) for name in names])
    even = np.full((1, audit.joint.shape[1]), 1 / audit.joint.shape[1])
    useful = np.argsort(-(_information(even, audit.confusion)[0] / cost), kind="stable")[:SOURCES_AT_ONCE]
    told = _information(audit.joint, audit.confusion[useful])
    place = np.full(len(names), -1)
    place[useful] = np.arange(len(useful))
    asked = place[answers.source_index] >= 0
    told[answers.rows[asked], place[answers.source_index[asked]]] = 0.0
    if audit.checked is not None:
        told[[row for row, label in audit.checked.found().items() if label is not None]] = 0.0
    uncertainty = _entropy(audit.joint)
    value = np.where(told > 0, _gain(audit.joint, audit.confusion[useful]) + IN_NATS * told, 0.0) / cost[useful]
    best = value.argmax(axis=1)
    queue = [(-value[row, j], row, j) for row, j in enumerate(best.tolist()) if value[row, j] > 0]
    heapq.heapify(queue)
    left_open = np.ones(len(value))  # the share of what is not known of each row after the planned answers
    plan: list[tuple[int, int, float]] = []
    while queue and len(plan) < n_answers:
        _, row, j = heapq.heappop(queue)
        plan.append((row, int(useful[j]), left_open[row] * told[row, j]))
        left = max(1 - told[row, j] / max(uncertainty[row], 1e-12), 0.0)
        left_open[row] *= left
        value[row] *= left
        value[row, j] = 0.0
        if value[row].max() > 0:
            heapq.heappush(queue, (-value[row].max(), row, int(value[row].argmax())))
    rows, asked_of = np.array([step[:2] for step in plan], dtype=np.intp).reshape(-1, 2).T
    return AnswerPlan(rows, answers.source_names[asked_of], np.array([information for *_, information in plan]))


def _gain(chances: Array, confusion: Array) -> Array:
    """The expected gain in right labels by an answer of each source (columns) about each row."""
    after = [
        np.sum([(chances * of_source[:, a]).max(axis=1) for a in range(of_source.shape[1])], axis=0)
        for of_source in confusion
    ]
    return np.maximum(np.stack(after, axis=1) - chances.max(axis=1, keepdims=True), 0.0)


def _entropy(chances: Array) -> Array:
    return -np.sum(chances * np.log(np.maximum(chances, 1e-300)), axis=-1)


def _information(chances: Array, confusion: Array) -> Array:
    """What an answer of each source (columns) would tell about each row, in nats."""
    answered = np.stack([_entropy(chances @ of_source) for of_source in confusion], axis=1)
    return np.maximum(answered - chances @ _entropy(confusion).T, 0.0)
