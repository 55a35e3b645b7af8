r"""The result of an audit: how wrong the given labels or pairs are, and which of them to check first.

An audit gives every label or pair a quality :math:`q_i = \Pr(\text{right})`. The most suspect labels or pairs come
first in ``order``. A check of the first k of them should find :math:`\sum_{i \le k} (1 - q_i)` mistakes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import check_probability, freeze, is_number
from ..noise.pair_sources import accuracies_of
from ..statements.graph import check_pair_labels
from ..statements.noise import PairNoise
from ..statements.pairs import Pairs
from ..statements.verdicts import Verdicts
from ..ties import NEARLY, steady_order

Array = NDArray[np.float64]
Interval = tuple[float, float]


class _Suspects:
    """The methods that need the qualities and what was checked."""

    quality: Array
    checked: Verdicts | None

    @property
    def order(self) -> NDArray[np.intp]:
        """Positions from the most to the least suspect; nearly equal qualities stay in the given order."""
        return steady_order(self.quality)

    def worth_checking(self, chance: float = 0.5, *, precision: float | None = None) -> int:
        r"""How many labels or pairs to check: those that nobody has checked yet, wrong with more than this chance.

        Parameters
        ----------
        chance : float, default=0.5
            At least 0 and below 1. If a check costs c times as much as an error that stays, ``chance=c`` costs least.
        precision : float, optional
            Above 0 and at most 1. Instead of a chance for every one, a fraction of all checks: the largest k with
            :math:`\frac1k \sum_{i \le k} (1 - q_i) \ge` ``precision``, over the k most suspect.
        """
        return count_worth_checking(self.quality[open_suspects(self)], chance, precision=precision)

    def _keep(self, **values: Any) -> None:
        freeze(self, values.items())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]  # every subclass is a dataclass
        return all(_equal(getattr(self, name), getattr(other, name)) for name in names)


def count_worth_checking(quality: Array, chance: float = 0.5, *, precision: float | None = None) -> int:
    """How many of some labels or pairs to check: see :meth:`LabelAudit.worth_checking`."""
    wrong = 1.0 - np.sort(quality[~np.isnan(quality)])
    if precision is None:
        if not is_number(chance) or not 0 <= chance < 1:
            raise ValueError(f"chance must be a number of at least 0 and below 1, got {chance!r}")
        return int(np.count_nonzero(wrong > chance + NEARLY))
    if not is_number(precision) or not 0 < precision <= 1:
        raise ValueError(f"precision must be a number above 0 and at most 1, got {precision!r}")
    # The values fall, so their running mean falls too, and counting is enough.
    means = wrong.cumsum() / np.arange(1, len(wrong) + 1)
    return int(np.count_nonzero(means >= precision - NEARLY))


def open_suspects(audit: _Suspects) -> NDArray[np.intp]:
    """What nobody has checked yet, the most suspect first; rows without a label are left out."""
    checked = [] if audit.checked is None else list(audit.checked.found())
    return audit.order[~np.isin(audit.order, checked) & ~np.isnan(audit.quality[audit.order])]


@dataclass(frozen=True, eq=False, repr=False)
class LabelAudit(_Suspects):
    r"""How wrong labels are, and which of them.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        The labels as given.
    quality : array of shape (n_samples,)
        :math:`q_i = \Pr(\text{label i is right})`; NaN for a row without a label.
    suggested : array of shape (n_samples,)
        The label itself where it is probably right, and otherwise the most probable other class. :attr:`alternative`
        has the most probable other class of every row.
    probabilities : array of shape (n_samples, n_classes)
        The probabilities of the true class.
    classes : array of shape (n_classes,)
        The classes that the columns of ``probabilities`` and ``transition`` belong to.
    noise_rate : float
        The fraction of wrong labels: the mean of ``1 - quality``.
    noise_interval : pair of float
        The range of the fraction over all explanations of the labels.
    transition : array of shape (n_classes, n_classes)
        :math:`T_{cd} = \Pr(\text{given } d \mid \text{true } c)`; rows are true classes and sum to one.
    diagnostic : dict, optional
        How far these figures can be trusted: see :class:`NoisyLabelClassifier`.
    checked : Verdicts, optional
        What people found who checked some rows; these rows are certain.
    index : pandas.Index, optional
        The names of the rows, for :meth:`to_frame`: the index of X, or that of y where X has none.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import LabelAudit
    >>> audit = LabelAudit(
    ...     labels=np.array(["ham", "spam", "ham"]), quality=np.array([0.9, 0.8, 0.1]),
    ...     suggested=np.array(["ham", "spam", "spam"]), probabilities=np.array([[0.9, 0.1], [0.2, 0.8], [0.1, 0.9]]),
    ...     classes=np.array(["ham", "spam"]), noise_rate=0.4, noise_interval=(0.1, 0.7),
    ...     transition=np.array([[0.9, 0.1], [0.5, 0.5]]),
    ... )
    >>> audit
    LabelAudit(n_samples=3, noise_rate=0.4 [0.1, 0.7], worth_checking=1)
    >>> audit.order, audit.worth_checking(precision=0.5)
    (array([2, 1, 0]), 2)
    """

    labels: NDArray[Any]
    quality: Array
    suggested: NDArray[Any]
    probabilities: Array
    classes: NDArray[Any]
    noise_rate: float
    noise_interval: Interval
    transition: Array
    diagnostic: Mapping[str, Any] = field(default_factory=dict)
    checked: Verdicts | None = None
    index: Any = None

    def __post_init__(self) -> None:
        labels, suggested, classes = map(np.asarray, (self.labels, self.suggested, self.classes))
        quality = _check_quality(self.quality, len(labels), "label")
        n_samples, n_classes = len(labels), len(classes)
        probabilities, transition = np.asarray(self.probabilities, float), np.asarray(self.transition, float)
        for name, array, shape in (
            ("suggested", suggested, (n_samples,)),
            ("probabilities", probabilities, (n_samples, n_classes)),
            ("transition", transition, (n_classes, n_classes)),
            *([] if self.index is None else [("index", self.index, (n_samples,))]),
        ):
            if array.shape != shape:
                raise ValueError(
                    f"{name} must have shape {shape} for {n_samples} labels and {n_classes} classes, got {array.shape}"
                )
        self._keep(labels=labels, quality=quality, suggested=suggested, probabilities=probabilities)
        self._keep(classes=classes, noise_rate=check_probability("noise_rate", self.noise_rate))
        self._keep(noise_interval=_check_interval("noise_interval", self.noise_interval), transition=transition)

    @property
    def outliers(self) -> NDArray[np.intp]:
        """Positions of rows that are far from all others, the farthest first: their labels are worth a look, too.

        They are looked for among the rows that were learned from, and not among texts.
        """
        return np.asarray(self.diagnostic.get("outliers", []), dtype=np.intp)

    @property
    def alternative(self) -> NDArray[Any]:
        """The most probable other class of every row: what the label should be if it is wrong."""
        return most_probable_other(self.labels, self.probabilities, self.classes)

    def to_frame(self) -> Any:
        """A pandas DataFrame of label, quality and suggested label, one row per sample in the given order.

        It has the index of the audited frame. ``audit.to_frame().iloc[audit.order]`` has the most suspect label first.
        """
        columns = {"label": self.labels, "quality": self.quality, "suggested": self.suggested}
        return _pandas().DataFrame(columns, index=self.index)

    def __repr__(self) -> str:
        rate = _with_interval(self.noise_rate, self.noise_interval)
        return f"LabelAudit(n_samples={len(self.labels)}, noise_rate={rate}, worth_checking={self.worth_checking()})"


@dataclass(frozen=True, eq=False, repr=False)
class PairAudit(_Suspects):
    r"""How wrong given pairs are, and which of them.

    Parameters
    ----------
    pairs : Pairs
        The pairs as given.
    quality : array of shape (n_pairs,)
        :math:`q_t = \Pr(\text{the label of pair t is right})`.
    suggested : array of +1 and -1 of shape (n_pairs,)
        The more probable label.
    noise : PairNoise
        The fractions of right labels among the pairs given as +1 and as -1, and the fraction of pairs that truly share
        a class.
    intervals : dict of str to pair of float
        Each field of ``noise`` lies in its interval with 95 % probability.
    diagnostic : dict, optional
        What kind of pairs they are, and how far these figures can be trusted, in words.
    checked : Verdicts, optional
        What people found who checked some pairs, by their positions in ``pairs``; these pairs are certain.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import PairAudit, PairNoise, Pairs
    >>> pairs = Pairs([0, 0, 1], [1, 2, 2], [1, 1, -1], n_samples=3)
    >>> audit = PairAudit(
    ...     pairs, quality=np.array([0.9, 0.2, 0.8]), suggested=np.array([1, -1, -1]),
    ...     noise=PairNoise(0.4, 0.55, 0.8), intervals={"precision_positive": (0.3, 0.7)},
    ... )
    >>> audit
    PairAudit(n_pairs=3, precision_positive=0.55 [0.3, 0.7], precision_negative=0.8, worth_checking=1)
    >>> audit.order, audit.worth_checking(precision=0.5)
    (array([1, 2, 0]), 2)
    """

    pairs: Pairs
    quality: Array
    suggested: NDArray[np.int64]
    noise: PairNoise
    intervals: Mapping[str, Interval]
    diagnostic: Mapping[str, Any] = field(default_factory=dict)
    checked: Verdicts | None = None

    def __post_init__(self) -> None:
        for name, kind in (("pairs", Pairs), ("noise", PairNoise)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(
                    f"{name} must be a kernelwise.{kind.__name__}, got {type(getattr(self, name)).__name__}"
                )
        suggested = check_pair_labels("suggested", self.suggested)
        if len(suggested) != len(self.pairs):
            raise ValueError(f"suggested has {len(suggested)} values for {len(self.pairs)} pairs")
        known = [field.name for field in fields(PairNoise)]
        if unknown := [name for name in self.intervals if name not in known]:
            raise ValueError(f"intervals names {unknown[0]!r}, which is not one of {known}")
        intervals = {name: _check_interval(f"intervals[{name!r}]", ends) for name, ends in self.intervals.items()}
        quality = _check_quality(self.quality, len(self.pairs), "pair")
        self._keep(quality=quality, suggested=suggested, intervals=intervals)

    @property
    def sources(self) -> Any:
        """A table of who gave the labels: ``source``, ``n_answers``, ``accuracy`` and its 90 % interval; None without.

        ``pandas.DataFrame(audit.sources)`` makes a frame of it.
        """
        return None if self.pairs.sources is None else accuracies_of(self.pairs.sources, self.quality)

    def to_frame(self) -> Any:
        """A pandas DataFrame of both ends, label, weight, quality and suggested label, one row per pair.

        The rows are in the given order; ``audit.to_frame().iloc[audit.order]`` has the most suspect pair first.
        """
        columns: dict[str, Any] = {"row": self.pairs.rows, "col": self.pairs.cols, "label": self.pairs.labels}
        columns |= {"weight": self.pairs.weights, "quality": self.quality, "suggested": self.suggested}
        return _pandas().DataFrame(columns)

    def __repr__(self) -> str:
        rates = ", ".join(
            f"{name}={_with_interval(getattr(self.noise, name), self.intervals.get(name))}"
            for name in ("precision_positive", "precision_negative")
        )
        return f"PairAudit(n_pairs={len(self.pairs)}, {rates}, worth_checking={self.worth_checking()})"


def most_probable_other(labels: NDArray[Any], probabilities: Array, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the most probable class of every row but its label."""
    return classes[np.where(classes == labels[:, None], -1.0, probabilities).argmax(axis=1)]


def suggested_classes(found: Array, column: NDArray[np.intp], quality: Array) -> NDArray[np.intp]:
    """Return the class to suggest for every row: its own unless it is doubtful; column -1 is no label."""
    rows, known = np.arange(len(column)), column >= 0
    others = found.copy()
    others[rows[known], column[known]] = -1.0
    # A label that is wrong with a chance of one half or more is not suggested again, even if no other is more probable.
    suspect = known & (quality <= 0.5)
    return np.where(suspect, others.argmax(axis=1), np.where(known, column, found.argmax(axis=1)))


def whole_numbers(shares: tuple[float, float], n_rows: int) -> tuple[int, int]:
    """A range of shares as numbers of rows: the whole numbers inside, or the nearest one if there is none."""
    low, high = int(np.ceil(shares[0] * n_rows - 1e-6)), int(np.floor(shares[1] * n_rows + 1e-6))
    nearest = round((shares[0] + shares[1]) / 2 * n_rows)
    return (low, high) if low <= high else (nearest, nearest)


def _equal(one: Any, other: Any) -> bool:
    if hasattr(one, "equals"):  # an index
        return bool(one.equals(other))
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else bool(one is other or np.all(one == other))


def _check_quality(quality: Any, count: int, what: str) -> Array:
    quality = np.asarray(quality, dtype=np.float64)
    if quality.shape != (count,):
        raise ValueError(f"quality must hold one probability for each {what}, {count} in all, got {quality.shape}")
    outside = ~((quality >= 0) & (quality <= 1) | np.isnan(quality))
    if outside.any():
        first = int(outside.argmax())
        raise ValueError(f"quality must hold probabilities between 0 and 1, got {quality[first]} at {what} {first}")
    return quality


def _check_interval(name: str, ends: Interval) -> Interval:
    low, high = (check_probability(name, end) for end in ends)
    if low > high:
        raise ValueError(f"{name} must be a pair (low, high) with low <= high, got {ends}")
    return low, high


def _with_interval(value: float, interval: Interval | None) -> str:
    return f"{value:.3g}" if interval is None else f"{value:.3g} [{interval[0]:.3g}, {interval[1]:.3g}]"


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("to_frame needs pandas; run: pip install pandas") from missing
    return pandas
