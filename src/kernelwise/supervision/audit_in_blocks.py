"""An audit of labels whose rows are in the blocks of a Dask cluster."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .audit import LabelAudit, count_worth_checking

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class LabelAuditInBlocks(LabelAudit):
    """How wrong labels are, and which of them, for labels in Dask collections.

    ``labels``, ``quality``, ``suggested`` and ``probabilities`` are Dask arrays, of which the workers hold the
    qualities; the others are computed when they are asked for. All other fields are those of :class:`LabelAudit`.

    Parameters
    ----------
    worst_rows, worst_quality : arrays of shape (n_listed,)
        The most suspect rows, the most suspect first, 10,000 at most, and their qualities.
    n_labelled, n_doubtful : int
        The number of rows with a label, and of those that are more likely wrong than right.
    """

    worst_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    worst_quality: Array = field(default_factory=lambda: np.zeros(0))
    n_labelled: int = 0
    n_doubtful: int = 0

    def __post_init__(self) -> None:
        """The blocks are as their maker says: nothing is read."""

    @property
    def order(self) -> NDArray[np.int64]:
        """Positions of the most suspect rows, the most suspect first: 10,000 at most."""
        return self.worst_rows

    def worth_checking(self, chance: float = 0.5, *, precision: float | None = None) -> int:
        """How many labels to check: see :meth:`LabelAudit.worth_checking`.

        A precision is answered from the rows in :attr:`order`; if it would hold for all of them, it is refused.
        """
        checked = np.isin(self.worst_rows, [] if self.checked is None else list(self.checked.found()))
        others = self.worst_quality[~checked]
        # Rows that were checked and found wrong are the most suspect of all, so they are among the listed rows.
        if precision is None and chance == 0.5:
            return self.n_doubtful - int(np.count_nonzero(self.worst_quality[checked] < 0.5))
        count = count_worth_checking(others, chance, precision=precision)
        if count < len(others) or len(self.worst_rows) == self.n_labelled:
            return count
        if precision is not None:
            raise ValueError(
                f"precision={precision} holds for more than the {len(self.worst_quality)} most suspect rows, which are "
                "all that this process knows of; give a larger precision, or a chance"
            )
        doubtful = int(((1.0 - self.quality) > chance).sum().compute())
        return doubtful - int(np.count_nonzero(1.0 - self.worst_quality[checked] > chance))

    @property
    def alternative(self) -> Any:
        """The most probable other class of every row, as a Dask array."""
        import dask.array as da

        lazily: Any = da.blockwise
        parts = (self.labels, "i", self.probabilities, "ij", self.classes, None)
        return lazily(_alternative, "i", *parts, dtype=self.classes.dtype, concatenate=True)

    def to_frame(self) -> Any:
        """A Dask DataFrame of label, quality and suggested label, one row per sample in the given order."""
        import dask.dataframe as dd

        columns = {"label": self.labels, "quality": self.quality, "suggested": self.suggested}
        frames = [dd.from_dask_array(array, columns=name) for name, array in columns.items()]
        return dd.concat([frame.to_frame() for frame in frames], axis=1)

    def compute(self) -> LabelAudit:
        """The same audit with all arrays in the memory of this process, for plans of checks and for the review page."""
        import dask

        lazy: Any = dask.compute
        labels, quality, suggested, chances = lazy(self.labels, self.quality, self.suggested, self.probabilities)
        return LabelAudit(
            labels=labels,
            quality=quality,
            suggested=suggested,
            probabilities=chances,
            classes=self.classes,
            noise_rate=self.noise_rate,
            noise_interval=self.noise_interval,
            transition=self.transition,
            diagnostic=self.diagnostic,
            checked=self.checked,
        )

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        low, high = self.noise_interval
        rate, n = f"{self.noise_rate:.3g} [{low:.3g}, {high:.3g}]", self.quality.shape[0]
        return f"LabelAuditInBlocks(n_samples={n}, noise_rate={rate}, worth_checking={self.n_doubtful})"


def _alternative(labels: NDArray[Any], probabilities: Array, classes: NDArray[Any]) -> NDArray[Any]:
    others = np.where(classes == labels[:, None], -1.0, probabilities)
    return np.asarray(classes[others.argmax(axis=1)])
