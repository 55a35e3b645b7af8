"""NoisyPairClustering on many samples and pairs: seconds, memory, and agreement with the classes."""

from functools import partial
from typing import Any

import numpy as np

from kernelwise import NoisyPairClustering, Pairs
from kernelwise.metrics import normalized_mutual_info

from .measure import in_fresh_process, record

TITLE = "Features and noisy pairs: growth to 100,000 samples with a million pairs"

N_CLASSES, N_COLUMNS, FLIPS = 8, 20, 0.2
SIZES = (10_000, 100_000)
PAIRS_PER_SAMPLE = 10
#: What a fit of the largest size may take.
MOST_SECONDS, MOST_GIGABYTES = 180, 4


def run() -> list[dict[str, Any]]:
    """Measure every size in a process of its own."""
    rows = []
    for n in SIZES:
        fresh = in_fresh_process(fit, prepare=partial(samples, n))
        case, largest = f"{n:,} samples, {PAIRS_PER_SAMPLE * n:,} pairs, {FLIPS:.0%} wrong", n == max(SIZES)
        rows += [
            record(f"{case}: NMI", fresh.result, "", at_least=0.9),
            record(f"{case}: time", fresh.seconds, "s", at_most=MOST_SECONDS if largest else None),
            record(f"{case}: peak memory", fresh.peak_bytes / 1e9, "GB", at_most=MOST_GIGABYTES if largest else None),
        ]
    return rows


def samples(n: int) -> tuple[Any, Pairs, Any]:
    """Return normal clouds that overlap, pairs of which some are wrong, and the classes."""
    rng = np.random.RandomState(0)
    y = rng.randint(N_CLASSES, size=n)
    X = rng.normal(size=(N_CLASSES, N_COLUMNS))[y] + rng.normal(size=(n, N_COLUMNS))
    return X, Pairs.from_labels(y, n_pairs=PAIRS_PER_SAMPLE * n, random_state=0).flip(FLIPS, random_state=0), y


def fit(X: Any, pairs: Pairs, y: Any) -> float:
    """Return the NMI with the classes."""
    return normalized_mutual_info(y, NoisyPairClustering(N_CLASSES, random_state=0).fit(X, pairs=pairs).labels_)
