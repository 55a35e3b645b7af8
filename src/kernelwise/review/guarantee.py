"""A guarantee from checked rows, whatever a model believes: how many labels are wrong, with a confidence.

Only the draws count. Rows that a plan drew at random stand for the stratum that they were drawn from; all other checked
rows are known, and stand for themselves. Any statement about a checked row that is true or false can be counted: "the
label is wrong", "the prediction is wrong", "the label is wrong and the row is one of the first 100 suspects".

A row for which nobody could tell counts as an error in the upper bound, and as no error in the lower bound.

Of a part of the rows, such as a class, the draws tell in two ways. All draws bound the number of errors that lie in the
part, and this bound holds over repeated draws. But where many draws happened to fall into the part, they find many of
its errors, and where few did, few. The draws that fell into the part are a random sample of its rows, whose number is
known, and bound its errors given how many the draws are. The guarantee for a part spans both.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import check_choice, is_number, missing_labels
from ..statements.pairs import Pairs
from ..statements.verdicts import Verdicts
from .audit import LabelAudit, PairAudit, whole_numbers
from .bounds import Batch, Stratum, batches_within, bounds_at_all_times, drawn_batches, drawn_rounds, error_bounds

Mask = NDArray[np.bool_]

#: ``checks_needed`` gives up beyond this multiple of the checks so far.
MOST_TIMES = 1000


@dataclass(frozen=True)
class Guarantee:
    """Bounds for a number of errors that hold with a confidence in repeated sampling.

    Parameters
    ----------
    low, high : float
        The share of errors lies between these bounds.
    estimate : float
        The share by the weighted counts of the draws.
    n_rows : int
        The number of rows that the share is of.
    n_checked, n_found, n_unclear : int
        The checked rows among these, the errors among the checked rows, and the rows for which nobody could tell.
    confidence : float
        The chance that the bounds hold, over repeated draws.
    what : str
        What the errors are.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Verdicts, guaranteed_share
    >>> given = np.zeros(2000, int)
    >>> checked = Verdicts(np.arange(100), [1] * 3 + [0] * 97, chance=0.05)
    >>> print(guaranteed_share(given, checked, side="upper"))
    With 95 % confidence, at most 7.4 % of 2,000 labels are wrong (at most 149). Checked: 100, found wrong: 3.
    """

    low: float
    high: float
    estimate: float
    n_rows: int
    n_checked: int
    n_found: int
    n_unclear: int
    confidence: float
    what: str = "labels are wrong"

    @property
    def counts(self) -> tuple[int, int]:
        """The bounds as numbers of errors."""
        return whole_numbers((self.low, self.high), self.n_rows)

    @property
    def remaining(self) -> tuple[float, float]:
        """Bounds for the share of errors that are left after the errors that were found are corrected."""
        low, high = (max(share * self.n_rows - self.n_found, 0) / self.n_rows for share in (self.low, self.high))
        return low, high

    def __str__(self) -> str:
        low, high = self.counts
        level = f"With {100 * self.confidence:g} % confidence,"
        checked = f"Checked: {self.n_checked:,}, found wrong: {self.n_found:,}."
        unclear = f" Nobody could tell for {self.n_unclear:,}." if self.n_unclear else ""
        if self.low == 0 and self.high < 1:
            said = f"at most {100 * self.high:.1f} % of {self.n_rows:,} {self.what} (at most {high:,})."
        elif self.high == 1 and self.low > 0:
            said = f"at least {100 * self.low:.1f} % of {self.n_rows:,} {self.what} (at least {low:,})."
        else:
            shares = f"between {100 * self.low:.1f} % and {100 * self.high:.1f} %"
            said = f"{shares} of {self.n_rows:,} {self.what} ({low:,} to {high:,})."
        return f"{level} {said} {checked}{unclear}"


def guaranteed_share(
    labels: Any,
    checked: Verdicts,
    *,
    predictions: ArrayLike | None = None,
    among: ArrayLike | None = None,
    confidence: float = 0.95,
    side: str = "both",
    always: bool = False,
) -> Guarantee:
    """Bound the share of wrong labels from checked rows, whatever any model believes.

    Parameters
    ----------
    labels : array-like of shape (n_rows,), LabelAudit, Pairs or PairAudit
        The labels as given. Rows without a label do not count.
    checked : Verdicts
        With the chances of the draws: see :func:`plan_checks`.
    predictions : array-like of shape (n_rows,), optional
        Bound the share of wrong predictions instead: one minus the accuracy on the true labels.
    among : array-like of bool or of int, optional
        Bound the share among these rows only, given by a mask or by positions: ``labels == "spam"`` for one class,
        ``audit.order[:100]`` for the precision of the first 100 suspects. The rows must not depend on the verdicts.
    confidence : float, default=0.95
    side : {"both", "upper", "lower"}, default="both"
        Two bounds, or one bound with the whole confidence.
    always : bool, default=False
        Whether the bounds hold after every check at once, for those who look after every check and stop when they like
        what they see. Such bounds are wider, and use the draws in the order of the plan.

    Returns
    -------
    Guarantee

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Verdicts, guaranteed_share
    >>> given = np.zeros(1000, int)
    >>> checked = Verdicts(np.arange(50), [1] * 3 + [0] * 47, chance=0.05)
    >>> guaranteed_share(given, checked).counts
    (14, 162)
    >>> guaranteed_share(given, checked, predictions=np.ones(1000, int)).counts
    (838, 986)
    """
    if not is_number(confidence) or not 0 < confidence < 1:
        raise ValueError(f"confidence must be a number between 0 and 1, got {confidence!r}")
    check_choice("side", side, ("both", "upper", "lower"))
    given = _given(labels)
    counted = ~missing_labels(given)
    checked.check_rows(len(given))
    compared = given if predictions is None else np.asarray(predictions)
    if len(compared) != len(given):
        raise ValueError(f"predictions must hold one label for each of {len(given)} rows, got {len(compared)}")
    domain = counted & _mask(among, len(given))
    if not domain.any():
        raise ValueError("among selects no row that has a label")
    errors = _errors(checked, compared, domain, counted)
    tail = (1 - confidence) / (2 if side == "both" else 1)
    n_rows, n_domain = int(counted.sum()), int(domain.sum())
    if always:
        lowest, highest = (drawn_rounds(checked, errors, n_rows, unclear=unclear) for unclear in (False, True))
        low, high = (n_rows * share for share in bounds_at_all_times(lowest, highest, n_rows, tail))
        estimate = _estimate(drawn_batches(checked, errors, n_rows, unclear=False))
    else:
        kinds = (False, True) if None in errors.values() else (False,)
        ways = [[drawn_batches(checked, errors, n_rows, unclear=unclear) for unclear in kinds]]
        if n_domain < n_rows:  # the bounds span both ways
            members = drawn_batches(checked, {row: bool(domain[row]) for row in errors}, n_rows, unclear=False)
            ways.append([batches_within(batches, members, n_domain) for batches in ways[0]])
        bounds = [[error_bounds(batches, tail) for batches in way] for way in ways]
        low, high = min(way[0][0] for way in bounds), max(way[-1][1] for way in bounds)
        estimate = _estimate(ways[-1][0])
    seen = Counter(value for row, value in errors.items() if domain[row])
    low, high = max(low, seen[True]), min(high, n_domain - seen[False])
    what = "labels are wrong" if predictions is None else "predictions are wrong"
    return Guarantee(
        low=0.0 if side == "upper" else min(low, high) / n_domain,
        high=1.0 if side == "lower" else max(low, high) / n_domain,
        estimate=float(np.clip(estimate, seen[True], n_domain - seen[False])) / n_domain,
        n_rows=n_domain,
        n_checked=seen.total(),
        n_found=seen[True],
        n_unclear=seen[None],
        confidence=float(confidence),
        what=what.replace("labels", "pairs") if isinstance(labels, Pairs | PairAudit) else what,
    )


def checks_needed(
    labels: Any, checked: Verdicts, at_most: float, *, remaining: bool = False, confidence: float = 0.95
) -> int | None:
    """How many more random checks will bound the share of wrong labels, if they find errors as often as so far.

    Parameters
    ----------
    labels, checked, confidence
        As in :func:`guaranteed_share`.
    at_most : float
        The wanted upper bound, one-sided.
    remaining : bool, default=False
        Whether the bound is for the errors that are left after those that were found are corrected.

    Returns
    -------
    int or None
        None if the errors are so many that no number of random checks would give this bound.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Verdicts, checks_needed
    >>> given = np.zeros(2000, int)
    >>> checked = Verdicts(np.arange(40), [0] * 40, chance=0.02)
    >>> checks_needed(given, checked, 0.02)
    100
    """
    if not is_number(at_most) or not 0 < at_most < 1:
        raise ValueError(f"at_most must be a number between 0 and 1, got {at_most!r}")
    given = _given(labels)
    counted = ~missing_labels(given)
    checked.check_rows(len(given))
    n_rows = int(counted.sum())
    batches = drawn_batches(checked, _errors(checked, given, counted, counted), n_rows, unclear=True)
    n_drawn = sum(stratum.drawn for batch in batches for stratum in batch.strata)
    n_left = n_rows - len(checked.found())

    def bound(more: int) -> float:
        grown = [_grown(batch, 1 + more / n_drawn) for batch in batches]
        found = max(batch.known_errors + sum(stratum.errors for stratum in batch.strata) for batch in grown)
        return (error_bounds(grown, 1 - confidence)[1] - (found if remaining else 0)) / n_rows

    most = min(n_left, MOST_TIMES * n_drawn)
    if bound(0) <= at_most:
        return 0
    if bound(most) > at_most:
        return None
    enough, too_few = most, 0
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        enough, too_few = (middle, too_few) if bound(middle) <= at_most else (enough, middle)
    return enough


def _grown(batch: Batch, times: float) -> Batch:
    """The batch if more rows were drawn, with the same shares of errors; errors are rounded up."""
    strata = []
    for size, drawn, errors in batch.strata:
        more = min(int(np.ceil(times * drawn - 1e-9)), int(size))
        strata.append(Stratum(size, more, min(int(np.ceil(errors * more / drawn - 1e-9)), more) if drawn else 0))
    return Batch(batch.known_errors, strata)


def _given(labels: Any) -> NDArray[Any]:
    if isinstance(labels, LabelAudit):
        return labels.labels
    if isinstance(labels, PairAudit):
        return labels.pairs.labels
    return np.asarray(labels.labels if isinstance(labels, Pairs) else labels)


def _mask(among: ArrayLike | None, n_rows: int) -> Mask:
    if among is None:
        return np.ones(n_rows, dtype=bool)
    chosen = np.asarray(among)
    if chosen.dtype == bool:
        if chosen.shape != (n_rows,):
            raise ValueError(f"among must hold one truth value for each of {n_rows} rows, got shape {chosen.shape}")
        return chosen
    if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or (chosen < 0).any() or (chosen >= n_rows).any():
        raise ValueError(f"among must be a mask, or positions of rows between 0 and {n_rows - 1}")
    mask = np.zeros(n_rows, dtype=bool)
    mask[chosen] = True
    return mask


def _errors(checked: Verdicts, compared: NDArray[Any], domain: Mask, counted: Mask) -> dict[int, bool | None]:
    """Whether each checked row is an error; None where nobody can tell. Rows outside of the domain are no errors."""
    return {
        row: False if not domain[row] else None if label is None else bool(compared[row] != label)
        for row, label in checked.found().items()
        if counted[row]
    }


def _estimate(batches: Sequence[Batch]) -> float:
    """The number of errors by the weighted counts, without a bound."""
    draws = [sum(stratum.drawn for stratum in batch.strata) for batch in batches]
    totals = [
        batch.known_errors + sum(size * errors / drawn for size, drawn, errors in batch.strata if drawn)
        for batch in batches
    ]
    return float(np.average(totals, weights=draws)) if sum(draws) else 0.0
