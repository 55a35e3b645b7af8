"""Does the range of the share of wrong labels hold the truth where one class is rare?

Five shapes of data, from .5 to 10 % positives, and three kinds of labels: clean, 40 % of the positives missed, and 1 %
of the negatives called positive. A measurement is the share of the fits in which the range holds the share of wrong
labels, or the share of the fits that were called reliable in which it does.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelwise import NoisyLabelClassifier

from .measure import record

TITLE = "The range of the share of wrong labels with a rare class"
N_ROWS, N_SEEDS = 600, 10
SHARES = (0.005, 0.01, 0.02, 0.05, 0.1)
#: P(given positive | true negative) and P(given negative | true positive).
LABELS = {"clean": (0.0, 0.0), "40 % missed": (0.0, 0.4), "1 % false": (0.01, 0.0)}
REQUIRED = 0.9

Array = NDArray[np.float64]
Draw = Callable[[NDArray[np.bool_], np.random.RandomState], Array]


def shifted(true: NDArray[np.bool_], draw: np.random.RandomState) -> Array:
    """Two Gaussians that overlap."""
    X = draw.randn(len(true), 6)
    X[true, :3] += 1.5
    return X


def far(true: NDArray[np.bool_], draw: np.random.RandomState) -> Array:
    """Two Gaussians that hardly overlap."""
    X = draw.randn(len(true), 4)
    X[true, :2] += 4.0
    return X


def ring(true: NDArray[np.bool_], draw: np.random.RandomState) -> Array:
    """Positives around the negatives."""
    X = draw.randn(len(true), 2)
    radius = np.where(true, 3.5, 1.2 * draw.rand(len(true)) ** 0.5)
    return X / np.linalg.norm(X, axis=1, keepdims=True) * (radius + 0.3 * draw.randn(len(true)))[:, None]


def clusters(true: NDArray[np.bool_], draw: np.random.RandomState) -> Array:
    """Positives in two of eight clusters."""
    centres = np.random.RandomState(7).randn(8, 5) * 2.5
    which = np.where(true, draw.randint(2, size=len(true)), 2 + draw.randint(6, size=len(true)))
    return centres[which] + draw.randn(len(true), 5)


def many_columns(true: NDArray[np.bool_], draw: np.random.RandomState) -> Array:
    """Forty columns of which five say something."""
    X = draw.randn(len(true), 40)
    X[true, :5] += 1.0
    return X


SHAPES: dict[str, Draw] = {
    draw.__name__.replace("_", " "): draw for draw in (shifted, far, ring, clusters, many_columns)
}


def one_fit(shape: str, share: float, labels: str, seed: int, n_rows: int = N_ROWS) -> dict[str, Any]:
    """Fit once; return the truth and what was said of it."""
    draw = np.random.RandomState(1000 * seed + round(1000 * share))
    true = np.zeros(n_rows, dtype=bool)
    true[draw.permutation(n_rows)[: max(round(share * n_rows), 2)]] = True
    X = SHAPES[shape](true, draw)
    false, missed = LABELS[labels]
    given = np.where(true, draw.rand(n_rows) >= missed, draw.rand(n_rows) < false)
    if given.sum() < 2:
        given[np.flatnonzero(true)[:2]] = True
    model = NoisyLabelClassifier(random_state=0).fit(X, given.astype(int))
    low, high = model.noise_interval_
    wrong = float(np.mean(given != true))
    return {
        "wrong": wrong,
        "rate": model.noise_rate_,
        "low": low,
        "high": high,
        "holds": low <= wrong <= high,
        "reliable": model.diagnostic_["reliable"],
        "explanations": model.diagnostic_["explanations"],
        "rate_inside": min(a for a, _ in list(model.diagnostic_["explanations"].values())[:2]) - 1e-9
        <= model.noise_rate_
        <= max(b for _, b in list(model.diagnostic_["explanations"].values())[:2]) + 1e-9,
    }


def run(shapes: Sequence[str] = tuple(SHAPES), n_seeds: int = N_SEEDS) -> list[dict[str, Any]]:
    """Measure every cell."""
    measured, by_labels = [], defaultdict(list)
    for share in SHARES:
        for labels in LABELS:
            fits = [one_fit(shape, share, labels, seed) for shape in shapes for seed in range(n_seeds)]
            by_labels[labels] += fits
            holds = float(np.mean([fit["holds"] for fit in fits]))
            widths = [fit["high"] - fit["low"] for fit in fits]
            called = [fit["holds"] for fit in fits if fit["reliable"]]
            measured += [
                record(f"{share:.1%} positives, {labels}: the range holds", holds, "share of fits", at_least=REQUIRED),
                record(f"{share:.1%} positives, {labels}: mean width", float(np.mean(widths)), ""),
                record(f"{share:.1%} positives, {labels}: called reliable", len(called) / len(fits), "share of fits"),
                record(
                    f"{share:.1%} positives, {labels}: reliable and right",
                    float(np.mean(called)) if called else 1.0,
                    "share of these",
                    at_least=REQUIRED,
                ),
            ]
    fits = [fit for part in by_labels.values() for fit in part]
    inside = float(np.mean([fit["rate_inside"] for fit in fits]))
    measured.append(record("the rate lies in its explanations", inside, "share of fits", at_least=1.0))
    return measured
