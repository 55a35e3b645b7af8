"""What checked pairs tell: their own truth, the chances of the pairs that nobody checked, and guaranteed intervals.

A verdict on one entry of the list of pairs speaks of the pair, so all entries of this pair are known. The chances of
the other pairs are calibrated as those of labels are (``diagnosis.py``), with two classes: "different"
and "the same".
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..statements import PairNoise, Pairs
from ..statements.verdicts import Verdicts
from .diagnosis import CHECKED_CLAIM, calibrated, guarantee_of, weights
from .guarantee import Guarantee

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Interval = tuple[float, float]


class CheckedPairs(NamedTuple):
    """Verdicts on given pairs, for each distinct pair.

    ``truth`` is 1 for the same class, -1 for different classes, and 0 where nobody knows, and ``weight`` is how much a
    checked pair counts in the calibration. ``guarantee`` is that of the share of wrong pairs, None if no pair was drawn
    at random, or if pairs differ in weight, since the guarantee counts pairs; ``intervals`` are the guaranteed
    intervals of the fields of the noise.
    """

    truth: NDArray[np.int64]
    weight: Array
    guarantee: Guarantee | None
    intervals: dict[str, Interval]
    checked: Verdicts | None

    @classmethod
    def of(cls, checked: Verdicts | None, pairs: Pairs, index: Index, n_distinct: int) -> "CheckedPairs":
        """Read verdicts on given pairs; ``index`` is the position of each given pair among the distinct pairs."""
        truth, weight = np.zeros(n_distinct, dtype=np.int64), np.ones(n_distinct)
        if checked is None:
            return cls(truth, weight, None, {}, None)
        check_verdicts(checked, pairs)
        for position, label in Verdicts(index[checked.rows], checked.labels).found().items():
            truth[position] = label or 0
        weight[index[checked.rows]] = weights(checked, len(pairs))[checked.rows]
        guarantee = guarantee_of(checked, pairs) if np.ptp(pairs.weights) == 0 else None
        intervals = {} if guarantee is None else PairNoise.guaranteed(pairs, checked)
        return cls(truth, weight, guarantee, intervals, checked)

    def calibrated(self, apart: Array, same: Array, positive: NDArray[np.bool_]) -> Array:
        """Return the chances that pairs share a class, calibrated on the checked pairs, which are certain.

        ``apart`` and ``same`` are the chances without and with the given label, which is "the same" where ``positive``.
        """
        if not self.truth.any():
            return same
        belief, posterior = (np.column_stack([1.0 - chance, chance]) for chance in (apart, same))
        known = np.where(self.truth == 0, -1, self.truth > 0).astype(np.intp)
        return calibrated(belief, posterior, positive.astype(np.intp), known, self.weight, self.guarantee)[0][:, 1]

    def guaranteed(self, noise: PairNoise, intervals: dict[str, Interval]) -> dict[str, Interval]:
        """Replace intervals of the model by guaranteed intervals, which include the estimates."""
        return intervals | {
            name: (min(low, getattr(noise, name)), max(high, getattr(noise, name)))
            for name, (low, high) in self.intervals.items()
        }

    def words(self, widest: float) -> dict[str, Any]:
        """What the diagnostic says of the guarantee: ``reliable`` if the share of wrong pairs is known that well."""
        if self.guarantee is None:
            return {}
        width = self.guarantee.high - self.guarantee.low
        return {"reliable": bool(width <= widest), "reason": str(self.guarantee), "claim": CHECKED_CLAIM}


def check_verdicts(checked: Verdicts, pairs: Pairs) -> None:
    """Refuse verdicts that do not speak of these pairs."""
    if not isinstance(checked, Verdicts):
        raise TypeError(f"checked must be a kernelwise.Verdicts, got {type(checked).__name__}")
    checked.check_rows(len(pairs), "pairs")
    for row, label in zip(checked.rows.tolist(), checked.labels.tolist(), strict=True):
        if label not in (1, -1, None):
            raise ValueError(
                f"checked says {label!r} for pair {row}; a pair is 1 (the same class), -1 (different classes) or None "
                "(cannot tell)"
            )
