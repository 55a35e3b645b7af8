"""NoisyPairClustering on a cluster: many samples on two workers, the same number of pairs in the calling process."""

import itertools
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np

from kernelwise import NoisyPairClustering, Pairs
from kernelwise.metrics import normalized_mutual_info

from .cluster import cluster_of
from .cluster_links import cpu_seconds
from .cluster_memory import watched
from .measure import Fresh, in_fresh_process, record

TITLE = (
    "Features and noisy pairs on a cluster: two worker processes of 2 GiB and one thread each, 20 columns, 8 classes, "
    "200,000 pairs of which 20 % are wrong"
)

N_CLASSES, N_COLUMNS, N_PAIRS, FLIPS = 8, 20, 200_000, 0.2
SIZES, CHUNKS = (100_000, 2_000_000), 20
WORKERS, MEMORY = 2, 2 * 2**30


def run() -> list[dict[str, Any]]:
    """Measure both sizes, each with a calling process and workers of its own."""
    measured = {n: in_fresh_process(partial(fit, n)) for n in SIZES}
    rows = [row for n, fresh in measured.items() for row in describe(n, fresh)]
    growth = measured[SIZES[1]].peak_bytes / measured[SIZES[0]].peak_bytes
    return [*rows, record("memory of the client: growth", growth, "times", at_most=1.1)]


def fit(n: int) -> dict[str, float]:
    """Cluster the samples on new workers."""
    import dask
    import dask.array as da

    starts = np.linspace(0, n, CHUNKS + 1).astype(int).tolist()
    blocks = [
        da.from_delayed(dask.delayed(samples)(low, high), (high - low, N_COLUMNS), float)
        for low, high in itertools.pairwise(starts)
    ]
    pairs = noisy_pairs(n)
    with cluster_of(WORKERS, MEMORY) as client, watched(client) as seen:
        before = client.run(cpu_seconds)
        start, own = perf_counter(), process_time()
        model = NoisyPairClustering(N_CLASSES, random_state=0).fit(da.concatenate(blocks), pairs=pairs)
        labels = model.labels_.astype(np.int8).compute()
        seconds, own = perf_counter() - start, process_time() - own
        after = client.run(cpu_seconds)
    return {
        "nmi": normalized_mutual_info(classes(0, n), labels),
        "seconds": seconds,
        "client_seconds": own,
        "worker_seconds": sum(after[worker] - before[worker] for worker in before),
        "largest": seen["largest"],
        "rate": float(model.noise_.flip_rates[0]),
    }


def classes(low: int, high: int) -> Any:
    """Return the classes of some samples: sample i is of class ``i % 8``."""
    return (np.arange(low, high) % N_CLASSES).astype(np.int8)


def samples(low: int, high: int) -> Any:
    """Return normal clouds that overlap."""
    means = np.random.default_rng(0).normal(size=(N_CLASSES, N_COLUMNS))
    return means[classes(low, high)] + np.random.default_rng([1, low]).normal(size=(high - low, N_COLUMNS))


def noisy_pairs(n: int) -> Pairs:
    """Return pairs of any samples, of which as many share a class as do not; some are wrong."""
    rng = np.random.default_rng(2)
    rows, cols = rng.integers(n // N_CLASSES, size=(2, N_PAIRS)) * N_CLASSES
    first = rng.integers(N_CLASSES, size=N_PAIRS)
    second = np.where(rng.random(N_PAIRS) < 0.5, first, rng.integers(N_CLASSES, size=N_PAIRS))
    rows, cols = rows + first, cols + second
    apart = rows != cols
    truth = np.where(first == second, 1, -1)
    labels = np.where(rng.random(N_PAIRS) < FLIPS, -truth, truth)
    return Pairs(rows[apart], cols[apart], labels[apart], n_samples=n)


def describe(n: int, fresh: Fresh) -> list[dict[str, Any]]:
    """Return the rows of one run."""
    case, found = f"{n:,} samples", fresh.result
    return [
        record(f"{case}: NMI", found["nmi"], "", at_least=0.85),
        record(
            f"{case}: estimated share of wrong pairs within a class", found["rate"], "", at_least=0.17, at_most=0.23
        ),
        record(f"{case}: time", found["seconds"], "s"),
        record(f"{case}: processor time of the workers", found["worker_seconds"], "s"),
        record(f"{case}: processor time of the client and the scheduler", found["client_seconds"], "s"),
        record(f"{case}: peak memory of the client and the scheduler", fresh.peak_bytes / 1e6, "MB"),
        record(f"{case}: largest worker", found["largest"] / 1e6, "MB"),
    ]
