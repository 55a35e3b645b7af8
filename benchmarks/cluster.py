"""What a Dask cluster costs and gains: the same fit in memory, on one worker and on two, at three sizes."""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from kernelwise import RobustMKLClassifier
from kernelwise.kernels import RankWarning, gaussian_kernels

from .measure import Fresh, in_fresh_process, record

TITLE = (
    "Multiple kernel learning on a cluster of processes of this machine: 10 features, 50 kernels, rank 1e-4, tol 1e-3, "
    "each fit in a fresh process; workers have one thread each, memory has the threads of the last column"
)

FEATURES = 10
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
SIZES = (10_000, 100_000, 1_000_000)
MEMORY = "9GiB"
#: Rows of a chunk; chunks are made by the workers, as they would be read from files there.
CHUNK = 50_000


def run() -> list[dict[str, Any]]:
    """Measure fits of three sizes on three set-ups."""
    rows: list[dict[str, Any]] = []
    seconds: dict[tuple[str, int], float] = {}
    memory: dict[int, int] = {}
    for n in SIZES:
        for setup, workers in (("in memory", 0), ("1 worker", 1), ("2 workers", 2)):
            measured = in_fresh_process(partial(fit, n, workers))
            total, per_round, rounds, gap = measured.result
            seconds[setup, n] = per_round
            rows.append(record(f"{setup}, n = {n:,}: whole fit", total, "s"))
            rows.append(record(f"{setup}, n = {n:,}: per round of {rounds}", per_round, "s"))
            rows.append(record(f"{setup}, n = {n:,}: relative gap", gap, ""))
            rows.append(record(f"{setup}, n = {n:,}: peak of the calling process", _megabytes(measured), "MB"))
            if workers == 2:
                memory[n] = measured.peak_bytes
    ratio = seconds["2 workers", SIZES[-1]] / seconds["in memory", SIZES[-1]]
    growth = memory[SIZES[-1]] / memory[SIZES[-2]]
    rows.append(record("2 workers over memory, per round, n = 1,000,000", ratio, "times", at_most=1.3))
    rows.append(record("memory of the client, n = 1,000,000 over 100,000", growth, "times", at_most=1.1))
    return rows


def _megabytes(measured: Fresh) -> float:
    return measured.peak_bytes / 1e6


def model() -> RobustMKLClassifier:
    """Return the model that is fitted everywhere."""
    kernels = gaussian_kernels(WIDTHS, scope="each")
    return RobustMKLClassifier(kernels, noise_rate=0.2, rank=1e-4, tol=1e-3, probability=False, random_state=0)


def fit(n: int, workers: int) -> tuple[float, float, int, float]:
    """Return the seconds of the fit, those of a round of its solver, the rounds, and the relative gap."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        if workers == 0:
            parts = [chunk(start, length) for start, length in zip(*cuts(n), strict=True)]
            return timed(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        return on_cluster(n, workers)


def cuts(n: int) -> tuple[list[int], list[int]]:
    """Return where the chunks of n rows begin, and how long they are."""
    starts = list(range(0, n, CHUNK))
    return starts, [min(CHUNK, n - start) for start in starts]


def on_cluster(n: int, workers: int) -> tuple[float, float, int, float]:
    """Do the same on a local cluster of processes with one thread each."""
    with cluster_of(workers, MEMORY) as client:
        return timed(*samples_on(client, n))


@contextmanager
def cluster_of(workers: int, memory: str | int) -> Iterator[Any]:
    """Give the client of a local cluster of processes with one thread and so much memory each."""
    from distributed import Client, LocalCluster

    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=memory,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def samples_on(client: Any, n: int) -> tuple[Any, Any]:
    """Return features and labels as Dask arrays, made by the workers."""
    import dask.array as da

    starts, lengths = cuts(n)
    parts = client.map(chunk, starts, lengths)
    X = da.concatenate(
        [da.from_delayed(_delayed(part, 0), (rows, FEATURES), float) for part, rows in zip(parts, lengths, strict=True)]
    )
    y = da.concatenate(
        [da.from_delayed(_delayed(part, 1), (rows,), float) for part, rows in zip(parts, lengths, strict=True)]
    )
    return X, y


def _delayed(part: Any, item: int) -> Any:
    from dask import delayed

    return delayed(part)[item]


def chunk(start: int, length: int) -> tuple[Any, Any]:
    """Return rows ``start`` to ``start + length``: labels that depend on four features, a fifth of them flipped."""
    rng = np.random.default_rng([0, start])
    X = rng.random((length, FEATURES))
    score = np.sin(6 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + 4 * (X[:, 3] - 0.5) ** 2
    y = np.where(score > 1.0, 1.0, -1.0)
    return X, np.where(rng.random(length) < 0.2, -y, y)


def timed(X: Any, y: Any) -> tuple[float, float, int, float]:
    """Fit and report."""
    start = perf_counter()
    fitted = model().fit(X, y)
    total = perf_counter() - start
    history = fitted.history_[0]
    return total, history[-1].seconds / len(history), len(history), fitted.relative_gap_
