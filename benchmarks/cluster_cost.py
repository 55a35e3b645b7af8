"""The cost model of a fit on a cluster: coefficients measured here, times predicted for clusters that are not here."""

import logging
import math
import os
from time import perf_counter
from typing import Any

import numpy as np

from kernelwise.cluster.block_array import BlockArray
from kernelwise.cluster.engine import FAN_IN, ClusterEngine
from kernelwise.optim.reduced_system import weighted_gram

from .measure import median_seconds, record

TITLE = "Cost of one interior-point iteration on a cluster: measured coefficients, and what they predict"

#: Of one iteration: sums over all samples that the client waits for, and tasks per block.
ROUNDS, TASKS = 7, 14
#: Products with B, each a pass over it, besides the Gram matrix.
PASSES = 30
#: The summed rank of the kernels in use that the prediction assumes.
RANK = 300
#: Blocks per worker thread, as the library cuts them.
BLOCKS = 2
#: Rows of the prediction; 10 to 1,000 workers with one thread.
ROWS, WORKERS = 100_000_000, (10, 100, 1_000)
#: Bytes per second between machines: 10 Gbit/s. This one is not measured here.
NETWORK = 1.25e9


def run() -> list[dict[str, Any]]:
    """Measure the coefficients with one thread, and predict."""
    multiply, stream = arithmetic()
    task, trip = scheduling()
    rows = [
        record("Gram matrix of 300 rows", multiply / 1e9, "GFlop/s"),
        record("a pass over the same", stream / 1e9, "GB/s"),
        record("a task", 1e3 * task, "ms"),
        record("a sum that the client waits for", 1e3 * trip, "ms"),
    ]
    for workers in WORKERS:
        parts = iteration(ROWS, workers, multiply=multiply, stream=stream, task=task, trip=trip)
        for part, seconds in parts.items():
            rows.append(record(f"{ROWS:,} rows, {workers:,} workers, an iteration: {part}", seconds, "s"))
    return rows


def iteration(n: int, workers: int, *, multiply: float, stream: float, task: float, trip: float) -> dict[str, float]:
    """Return the predicted seconds of the parts of an iteration, and their sum."""
    blocks = BLOCKS * workers
    work = (n / workers) * (2.0 * RANK**2 / multiply + 8.0 * PASSES * RANK / stream)
    levels = math.ceil(math.log(max(blocks, 2), FAN_IN))
    moved = levels * FAN_IN * 8.0 * RANK**2 / NETWORK
    scheduler = task * TASKS * blocks * (1 + 1 / FAN_IN) + trip * ROUNDS
    return {"arithmetic": work, "sums moved": moved, "scheduler": scheduler, "all": work + moved + scheduler}


def arithmetic(n: int = 200_000) -> tuple[float, float]:
    """Return flops per second of the Gram matrix, and bytes per second of a pass over B."""
    rng = np.random.default_rng(0)
    B, weight, v = rng.random((RANK, n)), rng.random(n), rng.random(n)
    gram = median_seconds(lambda: weighted_gram(B, weight), repeats=3)
    sweep = median_seconds(lambda: B @ v, repeats=5)
    return 2.0 * n * RANK**2 / gram, 8.0 * n * RANK / sweep


def scheduling() -> tuple[float, float]:
    """Return the seconds that a task costs, and those of a sum over a few blocks that the client waits for."""
    from distributed import Client, LocalCluster

    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=logging.CRITICAL
    )
    with cluster, Client(cluster) as client:
        few, many = (seconds_of_a_sum(ClusterEngine(client), blocks) for blocks in (8, 264))
    task = (many - few) / 256
    return task, max(few - 8 * task, 0.0)


def seconds_of_a_sum(engine: ClusterEngine, blocks: int) -> float:
    """Return the median seconds of a sum over tiny blocks."""
    handles = engine.map(np.ones, [[4] * blocks])
    x = BlockArray.of(engine, [4] * blocks, handles, np.ones(0))
    times = []
    for _ in range(12):
        start = perf_counter()
        float((x * 2.0).sum())
        times.append(perf_counter() - start)
    return float(np.median(times[2:]))
