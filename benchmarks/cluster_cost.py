"""The cost model of a fit on a cluster: coefficients measured here, times predicted for clusters that are not here."""

import logging
import math
import os
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from kernelwise import NoisyLabelClassifier, NoisyPairClustering, Pairs, flip_labels
from kernelwise.dask_rows.block_array import BlockArray
from kernelwise.dask_rows.collections import BLOCKS_PER_THREAD as BLOCKS
from kernelwise.dask_rows.engine import FAN_IN, ClusterEngine
from kernelwise.optim.reduced_system import weighted_gram
from kernelwise.pairs.classes.evidence import PairEvidence, Rates
from kernelwise.pairs.classes.search import N_FROZEN, N_STEPS

from .measure import record

TITLE = "What work on a cluster costs: coefficients measured with one thread, and what they predict"

#: Of one iteration: sums over all samples that the client waits for, and tasks per block.
ROUNDS, TASKS = 7, 21
#: Products with B, each a pass over it, besides the Gram matrix.
PASSES = 30
#: The summed rank of the kernels in use that the prediction assumes.
RANK = 300
#: Rows of the prediction; 10 to 1,000 workers with one thread.
ROWS, WORKERS = 100_000_000, (10, 100, 1_000)
#: Columns and classes of the samples that are judged; the pair model is fitted to this many rows.
COLUMNS, CLASSES, FITTED = 20, 3, 4000
#: Labels are learned from this many rows, and these two numbers of rows are judged.
LEARNED, JUDGED = 6000, (20_000, 60_000)
#: Tasks per block of a judgement of all samples: read, check, judge, and put the rows in pairs back.
JUDGING_TASKS = 4
#: Links: steps of smoothing, sums over all blocks of the decomposition and of k-means, columns, and links per document.
LINK_STEPS, LINK_SUMS, LINK_COLUMNS, LINKS = 3, 60, 50, 10
#: Bytes per second between machines: 10 Gbit/s. This one is not measured here.
NETWORK = 1.25e9


def run() -> list[dict[str, Any]]:
    """Measure the coefficients with one thread, and predict."""
    with threadpool_limits(1):
        multiply, stream = arithmetic()
        by_labels, by_pairs = label_judging_seconds(), pair_judging_seconds()
        message, link = propagation_seconds(), link_seconds()
    task, trip = scheduling()
    rows = [
        record("Gram matrix of 300 rows", multiply / 1e9, "GFlop/s"),
        record("a pass over the same", stream / 1e9, "GB/s"),
        record("a task", 1e3 * task, "ms"),
        record("a sum that the client waits for", 1e3 * trip, "ms"),
    ]
    rows += [
        record("NoisyLabelClassifier judges a million rows of 20 columns and 3 classes", 1e6 * by_labels, "s"),
        record("NoisyPairClustering judges a million rows of 20 columns and 3 classes", 1e6 * by_pairs, "s"),
        record("belief propagation over a million pairs of 8 classes", 8e6 * message, "s"),
        record("a step over ten million links of 50 columns", 1e7 * link, "s"),
    ]
    for workers in WORKERS:
        predicted = {
            "an iteration of multiple kernel learning": iteration(
                ROWS, workers, multiply=multiply, stream=stream, task=task, trip=trip
            ),
            "judging for the audit of labels": judging(ROWS, workers, by_labels, task=task),
            "judging for the pair model": judging(ROWS, workers, by_pairs, task=task),
            "linked clustering": linked(ROWS, workers, link, task=task, trip=trip),
        }
        for what, parts in predicted.items():
            for part, seconds in parts.items():
                rows.append(record(f"{ROWS:,} rows, {workers:,} workers, {what}: {part}", seconds, "s"))
    return rows


def judging(n: int, workers: int, seconds: float, *, task: float) -> dict[str, float]:
    """Return the predicted seconds of one pass that judges all samples."""
    work, scheduler = n / workers * seconds, task * JUDGING_TASKS * BLOCKS * workers
    return {"arithmetic": work, "scheduler": scheduler, "all": work + scheduler}


def linked(n: int, workers: int, seconds: float, *, task: float, trip: float) -> dict[str, float]:
    """Return the predicted seconds of a fit with links at random, which join every block to every other."""
    blocks = BLOCKS * workers
    work = LINK_STEPS * seconds * LINKS * n / workers
    needed = n * -math.expm1(-2.0 * LINKS / blocks)  # distinct rows that the links of a block lead to
    moved = LINK_STEPS * BLOCKS * needed * 8.0 * LINK_COLUMNS / NETWORK
    scheduler = task * (LINK_STEPS * blocks**2 + LINK_SUMS * blocks * (1 + 1 / FAN_IN)) + trip * LINK_SUMS
    return {"arithmetic": work, "rows moved": moved, "scheduler": scheduler, "all": work + moved + scheduler}


def label_judging_seconds() -> float:
    """Return the seconds by which a row is judged that was not learned from: what more such rows add to a fit."""
    X, y = _classes(max(JUDGED) + LEARNED)
    model = NoisyLabelClassifier(sample_size=LEARNED, random_state=0)
    fewer, more = (processor_seconds(partial(model.fit, X[: LEARNED + n], y[: LEARNED + n]), 1) for n in JUDGED)
    return (more - fewer) / (JUDGED[1] - JUDGED[0])


def pair_judging_seconds() -> float:
    """Return the seconds by which the pair model judges a row, after a fit to a sample."""
    X, y = _classes(FITTED)
    pairs = Pairs.from_labels(y, n_pairs=3 * FITTED, random_state=0).flip(0.2, random_state=0)
    paired = NoisyPairClustering(CLASSES, random_state=0).fit(X, pairs=pairs)
    return processor_seconds(partial(paired.predict_proba, X)) / FITTED


def _classes(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=n)
    return rng.normal(size=(CLASSES, COLUMNS))[y] + rng.normal(size=(n, COLUMNS)), flip_labels(y, 0.15, random_state=0)


def propagation_seconds(n_pairs: int = 250_000, n_classes: int = 8) -> float:
    """Return the seconds that all steps of messages over a pair take for each class."""
    rng = np.random.default_rng(0)
    rows = rng.integers(n_pairs, size=n_pairs)
    cols = (rows + rng.integers(1, n_pairs, size=n_pairs)) % n_pairs
    labels = rng.random(n_pairs) < 0.5
    evidence = PairEvidence(rows, cols, labels.astype(float), (~labels).astype(float), n_pairs)
    prior = np.log(rng.dirichlet(np.ones(n_classes), n_pairs))
    start = np.exp(prior)[evidence.sources]
    step = partial(evidence.propagate, prior, start, Rates(0.2, 0.2), N_STEPS)
    return N_FROZEN * processor_seconds(step) / (n_pairs * n_classes)


def link_seconds(n: int = 100_000) -> float:
    """Return the seconds of a step of smoothing for each link: its rows are gathered and added at both ends."""
    rng = np.random.default_rng(0)
    ends = rng.integers(n, size=(2, 2 * LINKS * n))
    graph = sp.csr_array((np.ones(ends.shape[1]), ends), shape=(n, n))
    rows = rng.random((n, LINK_COLUMNS))
    everything = np.arange(n)
    return processor_seconds(lambda: graph @ rows[everything]) / (LINKS * n)


def processor_seconds(function: Callable[[], Any], repeats: int = 3) -> float:
    """Return the least processor time of a few calls, on which other work of the machine has little influence."""
    times = []
    for _ in range(repeats + 1):
        start = process_time()
        function()
        times.append(process_time() - start)
    return min(times)


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
    gram = processor_seconds(lambda: weighted_gram(B, weight))
    sweep = processor_seconds(lambda: B @ v)
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
