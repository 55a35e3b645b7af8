"""Clusters from features and must-link / cannot-link pairs, some of them wrong: nine sets, all competitors.

Pairs are drawn uniformly at random among all pairs of samples: n/2, n, 3n or 10n of them, with 0 to 40 % of the labels
flipped, three draws each. ``python -m benchmarks noisy_pairs_clusters`` runs ``NoisyPairClustering`` and k-means
without pairs over the whole grid and compares the figures with what is demanded; records of an earlier run are used.
``python -m benchmarks.noisy_pairs_clusters`` runs single methods, sets and cells, and prints tables.
"""

from typing import Any

TITLE = "Features and noisy pairs: NoisyPairClustering on nine sets, against k-means and all recorded competitors"


def run() -> list[dict[str, Any]]:
    """Fill the records of NoisyPairClustering and k-means, and return what is demanded."""
    from . import __main__ as line
    from .demands import AUTO, OURS, PLAIN, demands
    from .draws import FLIPS, SEEDS, SIZES
    from .methods import METHODS
    from .records import run as fill
    from .sets import SETS

    grid = [(size, flips) for size in SIZES for flips in FLIPS]
    fill(line.RESULTS, (PLAIN, OURS), line.places(SETS, grid, SEEDS))
    fill(line.RESULTS, (AUTO,), line.places(SETS, [("3n", flips) for flips in FLIPS[:3]], SEEDS))
    return demands(line.RESULTS, tuple(METHODS))
