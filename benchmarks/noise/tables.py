"""From records to Markdown tables: means, ranks, and paired differences with errors clustered by data set.

Only cells that every shown method has finished count, and the methods must have seen the same rows and labels.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from .noise import NOISES, STRANGE_NOISES
from .run import FOLDER, Key, key_of, read

OURS = "kernelwise"
ORDER = tuple(sorted(NOISES, key=lambda noise: (not noise.startswith("sym"), noise)))
COLUMNS = (*ORDER, *STRANGE_NOISES)
METRICS = {
    "accuracy": "Accuracy on clean test labels",
    "audit_auc": "Audit: area under the ROC curve, wrong training labels against right ones",
    "noise_rate_error": "Noise rate: |estimate - share of wrong training labels|",
    "log_loss": "Log-loss on clean test labels",
    "ece": "Expected calibration error on clean test labels",
    "seconds": "CPU seconds",
}

Records = dict[str, dict[Key, dict[str, Any]]]


def table(half: str, methods: Sequence[str], folder: Path = FOLDER, ours_folder: Path | None = None) -> str:
    """All tables of a half or of the fresh sets; methods without a record are left out."""
    records = common(load(half, methods, folder, ours_folder or folder))
    if not records:
        return f"No cell of the {half} sets has been finished by every method."
    cells = next(iter(records.values()))
    sets, seeds = {name for name, _, _ in cells}, {seed for _, _, seed in cells}
    parts = [f"# Label noise, {half} sets", f"{len(sets)} sets, {len(seeds)} seeds, {len(cells)} cells per method."]
    versions = sorted({record["version"] for record in records.get(OURS, {}).values()})
    if len(versions) > 1:
        parts.append(f"**The records of {OURS} mix {len(versions)} states of its sources.**")
    if OURS in records and len(records) > 1:
        parts.append("## Paired differences in accuracy, points\n\n" + differences(records, "accuracy", 100))
        parts.append("## Paired differences in audit area, points\n\n" + differences(records, "audit_auc", 100))
        parts.append("## Paired differences in log-loss, hundredths\n\n" + differences(records, "log_loss", 100))
    parts.append("## Mean rank by accuracy over sets and noises (1 is best)\n\n" + ranks(records))
    parts += [f"## {title}\n\n{means(records, metric)}" for metric, title in METRICS.items()]
    return "\n\n".join(parts)


def load(half: str, methods: Sequence[str], folder: Path, ours_folder: Path) -> Records:
    """The records by method and cell; a cell that was run twice counts once, the last time."""
    found = {
        method: {key_of(record): record for record in read(ours_folder if method == OURS else folder, half, method)}
        for method in methods
    }
    return {method: cells for method, cells in found.items() if cells}


def common(records: Records) -> Records:
    """The cells that all methods have; it is an error if two methods did not see the same data in one of them."""
    if not records:
        return {}
    shared = sorted(set.intersection(*(set(cells) for cells in records.values())))
    for key in shared:
        if len({cells[key]["fingerprint"] for cells in records.values()}) > 1:
            raise ValueError(f"the methods saw different data in {key}; run them again on the same sets")
    return {method: {key: cells[key] for key in shared} for method, cells in records.items()} if shared else {}


def by_noise_and_set(cells: dict[Key, dict[str, Any]], metric: str) -> dict[str, dict[str, float]]:
    """Mean over seeds of a metric per noise and set, where it is defined."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (name, noise, _), record in cells.items():
        if record[metric] is not None:
            values[noise][name].append(record[metric])
    return {noise: {name: float(np.mean(found)) for name, found in sets.items()} for noise, sets in values.items()}


def means(records: Records, metric: str) -> str:
    """Mean over sets, per method and noise; the last column is the mean of the others."""
    rows, noises = [], [noise for noise in COLUMNS if any(key[1] == noise for key in next(iter(records.values())))]
    for method, cells in records.items():
        per_noise = by_noise_and_set(cells, metric)
        row = [float(np.mean(list(per_noise[noise].values()))) if noise in per_noise else np.nan for noise in noises]
        if not np.isnan(row).all():
            rows.append([method, *map(figure, row), figure(float(np.nanmean(row)))])
    return markdown(["method", *noises, "mean"], rows)


def ranks(records: Records) -> str:
    """The mean ranks, best first."""
    rows = sorted((rank, error, method) for method, (rank, error) in mean_ranks(records).items())
    return markdown(["method", "mean rank", "s.e."], [[m, f"{rank:.2f}", f"{se:.2f}"] for rank, se, m in rows])


def mean_ranks(records: Records) -> dict[str, tuple[float, float]]:
    """Mean rank of the accuracies (mean over seeds) over sets and noises, with its standard error over sets."""
    per_method = {method: by_noise_and_set(cells, "accuracy") for method, cells in records.items()}
    ranked: dict[str, list[np.ndarray]] = defaultdict(list)
    for noise, sets in next(iter(per_method.values())).items():
        for name in sets:
            ranked[name].append(rankdata([-found[noise][name] for found in per_method.values()]))
    per_set = np.array([np.mean(found, axis=0) for found in ranked.values()])
    error = per_set.std(axis=0, ddof=1) / np.sqrt(len(per_set)) if len(per_set) > 1 else np.full(len(records), np.nan)
    return {method: (float(r), float(e)) for method, r, e in zip(records, per_set.mean(axis=0), error, strict=True)}


def differences(records: Records, metric: str, scale: float) -> str:
    """Ours minus theirs: mean of the means per set, s.e. over sets, sets won and lost; per noise and over all."""
    noises = [noise for noise in COLUMNS if any(key[1] == noise for key in records[OURS])]
    ours = by_noise_and_set(records[OURS], metric)
    rows = []
    for method, cells in records.items():
        theirs = by_noise_and_set(cells, metric)
        if method == OURS or not theirs:
            continue
        gaps = [{name: ours[z][name] - theirs[z][name] for name in theirs[z]} if z in theirs else {} for z in noises]
        pooled: dict[str, list[float]] = defaultdict(list)
        for gap in gaps:
            for name, value in gap.items():
                pooled[name].append(value)
        overall = {name: float(np.mean(values)) for name, values in pooled.items()}
        won, lost = sum(v > 0 for v in overall.values()), sum(v < 0 for v in overall.values())
        rows.append([method, *(with_error(gap, scale) for gap in [*gaps, overall]), f"{won}/{lost}"])
    return markdown([f"{OURS} minus", *noises, "all", "sets won/lost"], rows)


def with_error(per_set: dict[str, float], scale: float) -> str:
    """Mean and standard error of one number per set: cells of a set are not independent, sets are."""
    values = scale * np.array(list(per_set.values()))
    if len(values) < 2:
        return "" if not len(values) else f"{values[0]:+.2f}"
    return f"{values.mean():+.2f} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def figure(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
