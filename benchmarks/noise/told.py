"""What could be reached if somebody told the true noise rates: the classifier's scores with flip rates known.

Two classes. The pool of views is that of the classifier; of the noise model only slope and offset are integrated over,
with the flip rates fixed at those of the cell. What is missing then is missing in the scores, not in the estimate.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from kernelwise.noise.two_classes import ScoreNodes, grid_points, slopes_and_offsets

from .competitors import METHODS
from .datasets import MULTICLASS, names_of
from .demands import STRONG
from .noise import Cell, make_cell
from .run import FOLDER, audit_area
from .tables import OURS, load, markdown
from .truth import fitted_pool

Floats = NDArray[np.float64]


def told(half: str, seeds: Sequence[int]) -> str:
    """Mean accuracy and audit area over the sets of two classes, at strong noise: rates told, and by the records."""
    names, records = [name for name in names_of(half) if name not in MULTICLASS], load(half, METHODS, FOLDER, FOLDER)
    rows = []
    for noise in STRONG:
        cells = [(name, noise, seed) for seed in seeds for name in names]
        reached = np.mean([scores_if_told(make_cell(*cell)) for cell in cells], axis=0)
        row = [noise, str(len(names))]
        for value, metric in zip(reached, ("accuracy", "audit_auc"), strict=True):
            means = {method: np.mean([found[cell][metric] for cell in cells]) for method, found in records.items()}
            best = max(mean for method, mean in means.items() if method != OURS)
            row += [f"{value:.3f}", f"{means[OURS]:.3f}", f"{best:.3f}"]
        rows.append(row)
    head = [f"{metric}, {who}" for metric in ("accuracy", "audit") for who in ("told", OURS, "best other")]
    return markdown(["noise", "sets", *head], rows)


def scores_if_told(cell: Cell) -> tuple[float, float]:
    """Accuracy on clean test labels and audit area of a cell."""
    flips = [float(np.mean(cell.flipped[cell.y_true == label])) for label in (0, 1)]
    pool, standardise, merged = fitted_pool(cell)
    scores, weight = log_odds(pool.out_of_sample), merged.weight
    given = cell.y_given[merged.first]
    nodes = ScoreNodes.gather(scores, given, weight)
    points = grid_points([np.linspace(-2.6, 2.6, 40), np.linspace(-2.2, 2.2, 61)])
    rates = np.array([flips])
    slopes, offsets = slopes_and_offsets(rates, points, nodes.offsets_of_share())
    posterior = softmax(nodes.log_likelihood(rates, slopes, offsets)[0] - 0.5 * np.sum(points**2, axis=1))
    kept = posterior > 1e-6 * posterior.max()

    def positive(score: Floats) -> Floats:
        return (
            expit(slopes[0, kept] * ((score[:, None] - nodes.mean) / nodes.spread - offsets[0, kept])) @ posterior[kept]
        )

    accuracy = float(np.mean((positive(log_odds(pool(standardise(cell.X_test)))) > 0.5) == cell.y_test))
    true = positive(scores)
    likely = np.column_stack([1 - true, true]) * np.array([[1 - flips[0], flips[0]], [flips[1], 1 - flips[1]]]).T[given]
    quality = likely[np.arange(len(given)), given] / likely.sum(axis=1)
    area = audit_area(cell.flipped, quality[merged.group])
    return accuracy, 0.5 if area is None else area


def log_odds(logs: Floats) -> Floats:
    """The log-odds of the second of two classes."""
    return logs[:, 1] - logs[:, 0]
