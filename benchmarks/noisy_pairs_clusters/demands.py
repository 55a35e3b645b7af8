"""What is demanded of ``NoisyPairClustering``, and what the records show: rows as ``benchmarks.measure.record`` makes.

A demand without records, such as the comparison with a competitor that was not run, gives no row.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..measure import record as row
from .draws import FLIPS, SIZES
from .records import read
from .tables import SCORES, Record, cell_of, coverage, figure

OURS, AUTO, PLAIN, PROTOTYPE = "noisy_pairs", "noisy_pairs_auto", "kmeans", "prototype"
NMI = SCORES["NMI"]
#: Mean NMI over the nine sets that a prototype reached on draws of its own.
REACHED = {
    ("n", 0.0): 0.855,
    ("n", 0.2): 0.640,
    ("n", 0.4): 0.537,
    ("3n", 0.2): 0.816,
    ("10n", 0.2): 0.954,
    ("10n", 0.4): 0.679,
}
MANY = ("3n", "10n")


def demands(folder: Path, competitors: Sequence[str]) -> list[dict[str, Any]]:
    """Return one row per demand."""
    ours = read(folder, OURS)
    if not ours:
        return []
    others = {method: read(folder, method) for method in (*competitors, PROTOTYPE)}
    return [
        *reached(ours, others[PROTOTYPE]),
        *above_k_means(ours, others.get(PLAIN, [])),
        *above_competitors(ours, {name: own for name, own in others.items() if name not in (OURS, AUTO, PROTOTYPE)}),
        *rates(ours),
        *number_of_clusters(read(folder, AUTO)),
        *pairs(ours),
    ]


def reached(ours: list[Record], prototype: list[Record]) -> list[dict[str, Any]]:
    """Mean NMI against the prototype, on its own draws and, where there are records, on the same draws."""
    rows = []
    for cell, value in REACHED.items():
        found = figure(cell_of(ours, *cell), NMI)
        if found is None:
            continue
        name = f"NMI at {cell[0]} pairs, {cell[1]:.0%} flips ({found.n_sets} sets)"
        rows.append(row(f"{name}, prototype {value}", found.mean, "", at_least=round(value - 0.01, 4)))
        both = matched(cell_of(ours, *cell), cell_of(prototype, *cell))
        if both:
            differences = [a["nmi"] - b["nmi"] for a, b in both]
            rows.append(row(f"{name}: above the prototype on the same draws", np.mean(differences), "", at_least=-0.01))
    return rows


def above_k_means(ours: list[Record], plain: list[Record]) -> list[dict[str, Any]]:
    """The least difference to k-means without pairs, over sets and cells, each a mean over seeds."""
    rows = []
    for label, allowed, levels in (("up to 30 %", 0.02, FLIPS[:-1]), ("40 %", 0.04, FLIPS[-1:])):
        differences: dict[tuple[str, str, float], list[float]] = {}
        for a, b in matched(ours, plain):
            if a["flips"] in levels:
                differences.setdefault((a["set"], a["pairs"], a["flips"]), []).append(a["nmi"] - b["nmi"])
        if differences:
            means = {place: float(np.mean(values)) for place, values in differences.items()}
            place = min(means, key=lambda key: means[key])
            name = f"NMI above k-means, flips {label}: least of {len(means)} ({place[0]}, {place[1]}, {place[2]:g})"
            rows.append(row(name, means[place], "", at_least=-allowed))
            below = sum(value < -allowed for value in means.values())
            rows.append(row(f"... sets and cells below by more than {allowed:g}", below, "", at_most=0))
    return rows


def above_competitors(ours: list[Record], others: dict[str, list[Record]]) -> list[dict[str, Any]]:
    """The least difference of a column mean, on the tasks that the competitor answered."""
    rows = []
    for name, own in others.items():
        differences = {}
        for cell in ((size, flips) for size in SIZES for flips in FLIPS):
            both = matched(cell_of(ours, *cell), cell_of(own, *cell))
            if both:
                differences[cell] = float(np.mean([a["nmi"] - b["nmi"] for a, b in both]))
        if differences:
            cell = min(differences, key=lambda key: differences[key])
            where = f"least of {len(differences)} columns ({cell[0]}, {cell[1]:g})"
            rows.append(row(f"NMI above {name}: {where}", differences[cell], "", at_least=0.0))
    return rows


def rates(ours: list[Record]) -> list[dict[str, Any]]:
    """Errors and intervals of both rates, against the fractions that were flipped."""
    told = [record for record in ours if record.get("rates")]
    many = [record for record in told if record["pairs"] in MANY]
    rows = []
    if many:
        errors = np.abs([np.subtract(record["rates"], record["flipped"]) for record in many])
        rows.append(row("mean error of both rates at 3n pairs and more", errors.mean(), "", at_most=0.05))
        rows.append(row("... fraction of the rates within .05", np.mean(errors <= 0.05), ""))
        rows.append(row("... largest error", errors.max(), ""))
    for name, own in (("all pairs", told), ("3n pairs and more", many)):
        held = [value for value in map(coverage, own) if value is not None]
        if held:
            rows.append(row(f"95 % intervals that hold the fraction, {name}", np.mean(held), "", at_least=0.9))
    return rows


def number_of_clusters(auto: list[Record]) -> list[dict[str, Any]]:
    """Sets where the median of the found numbers over the seeds is right within one, at 3n pairs."""
    rows = []
    for flips in FLIPS[:3]:
        found: dict[str, list[int]] = {}
        for record in cell_of(auto, "3n", flips):
            found.setdefault(record["set"], []).append(record["found_clusters"] - record["n_clusters"])
        if found:
            right = sum(abs(float(np.median(values))) <= 1 for values in found.values())
            name = f'n_clusters="auto" right within one at 3n pairs, {flips:.0%} flips, of {len(found)} sets'
            rows.append(row(name, right, "sets", at_least=8))
    return rows


def pairs(ours: list[Record]) -> list[dict[str, Any]]:
    """Unseen pairs, and the ranking of the given pairs."""
    rows = []
    unseen = figure(cell_of(ours, "3n", 0.2), SCORES["balanced accuracy of unseen pairs"])
    if unseen is not None:
        rows.append(row("balanced accuracy of unseen pairs at 3n pairs, 20 % flips", unseen.mean, "", at_least=0.9))
    noisy = [record for record in ours if record["flips"] > 0]
    ranked = figure(noisy, SCORES["AUC of wrong pairs"])
    if ranked is not None:
        rows.append(row("AUC of wrong pairs, mean over all noisy cells", ranked.mean, "", at_least=0.9))
    return rows


def matched(ours: Iterable[Record], others: Iterable[Record]) -> list[tuple[Record, Record]]:
    """Records of the same tasks that both methods answered with clusters."""

    def place(record: Record) -> tuple[Any, ...]:
        return record["set"], record["pairs"], record["flips"], record["seed"]

    known = {place(record): record for record in others if record.get("nmi") is not None}
    return [(one, known[place(one)]) for one in ours if one.get("nmi") is not None and place(one) in known]
