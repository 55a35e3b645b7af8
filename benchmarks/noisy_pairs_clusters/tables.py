"""The records as tables in Markdown: means over the sets, with standard errors over the seeds."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .draws import FLIPS, SIZES
from .records import read

Record = dict[str, Any]

#: What is shown of every method: a title, and the value of a record (None where the method does not tell).
SCORES: dict[str, Callable[[Record], float | None]] = {
    "NMI": lambda record: record.get("nmi"),
    "balanced accuracy of unseen pairs": lambda record: record.get("balanced_accuracy"),
    "AUC of wrong pairs": lambda record: record.get("audit_auc"),
    "error of the flip rates (mean of both)": lambda record: rate_error(record),
    "intervals that hold the flipped fractions": lambda record: coverage(record),
    "processor seconds": lambda record: record["seconds"] if record["status"] == "answered" else None,
}


class Figure(NamedTuple):
    """A mean over sets and seeds, its standard error over the seeds, and the number of sets in it."""

    mean: float
    error: float
    n_sets: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.error:.3f}" if np.isfinite(self.error) else f"{self.mean:.3f}"


def rate_error(record: Record) -> float | None:
    """The mean distance of both told rates from the fractions of the given pairs that were flipped."""
    if not record.get("rates"):
        return None
    return float(np.abs(np.subtract(record["rates"], record["flipped"])).mean())


def coverage(record: Record) -> float | None:
    """The fraction of the two intervals that hold the flipped fraction."""
    if not record.get("intervals"):
        return None
    pairs = zip(record["intervals"], record["flipped"], strict=True)
    return float(np.mean([low <= truth <= high for (low, high), truth in pairs]))


def figure(records: Iterable[Record], score: Callable[[Record], float | None]) -> Figure | None:
    """Average over the sets first, then over the seeds; None without a value."""
    by_seed: dict[int, list[float]] = {}
    sets = set()
    for record in records:
        value = score(record)
        if value is not None:
            by_seed.setdefault(record["seed"], []).append(value)
            sets.add(record["set"])
    if not by_seed:
        return None
    means = [float(np.mean(values)) for values in by_seed.values()]
    error = float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else np.nan
    return Figure(float(np.mean(means)), error, len(sets))


def cell_of(records: Iterable[Record], size: str, flips: float) -> list[Record]:
    return [record for record in records if (record["pairs"], record["flips"]) == (size, flips)]


def table(folder: Path, methods: Sequence[str], sets: Sequence[str]) -> str:
    """One table per score; a method that did not answer on all sets shows the number of sets in brackets."""
    records = {m: [record for record in read(folder, m) if record["set"] in sets] for m in methods}
    records = {method: own for method, own in records.items() if own}
    cells = [(size, flips) for size in SIZES for flips in FLIPS]
    cells = [cell for cell in cells if any(cell_of(own, *cell) for own in records.values())]
    parts = []
    for title, score in SCORES.items():
        lines = []
        for method, own in records.items():
            figures = [figure(cell_of(own, *cell), score) for cell in cells]
            if any(figures):
                lines.append(f"| {method} | {' | '.join(_shown(found, len(sets)) for found in figures)} |")
        if lines:
            head = " | ".join(f"{size}, {flips:g}" for size, flips in cells)
            parts.append("\n".join([f"**{title}**\n", f"| | {head} |", "|---" * (len(cells) + 1) + "|", *lines]))
    return "\n\n".join([*parts, _not_answered(records)])


def _shown(found: Figure | None, n_sets: int) -> str:
    if found is None:
        return "-"
    return str(found) if found.n_sets == n_sets else f"{found} ({found.n_sets} sets)"


def _not_answered(records: dict[str, list[Record]]) -> str:
    lines = []
    for method, own in records.items():
        for status in ("refused", "too slow"):
            count = sum(record["status"] == status for record in own)
            if count:
                lines.append(f"{method}: {status} {count} of {len(own)} tasks.")
        remarks = sum(record.get("remark") == "all weights are zero" for record in own)
        if remarks:
            lines.append(f"{method}: all weights were zero in {remarks} of {len(own)} tasks.")
    return "\n".join(lines)
