"""A fit whose factors would take all the memory of all workers of a cluster."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from kernelwise.dask_rows.bank import SpillWarning
from kernelwise.kernels import FactorBank, RankWarning

from .cluster import chunk, cluster_of, model, samples_on
from .measure import in_fresh_process, record

TITLE = (
    "Factors as large as the memory of all workers: two worker processes of 1 GiB and one thread each, 10 features, 50 "
    "kernels, rank 1e-4, tol 1e-3"
)

N = 1_100_000
WORKERS, MEMORY = 2, 2**30
#: Seconds between two looks at the workers.
LOOK = 0.2


def run() -> list[dict[str, Any]]:
    """Measure one fit, and what the workers had to bear."""
    measured = in_fresh_process(fit).result
    return [
        record(f"n = {N:,}: whole fit", measured["seconds"], "s"),
        record(f"n = {N:,}: per round of {measured['rounds']}", measured["per_round"], "s"),
        record("relative gap", measured["gap"], "", at_most=1e-3),
        record("factors of all kernels", measured["factors"] / 1e9, "GB", at_least=0.9 * WORKERS * MEMORY / 1e9),
        record("memory of all workers", WORKERS * MEMORY / 1e9, "GB"),
        record("largest process of a worker", measured["largest"] / MEMORY, "of its limit", at_most=0.95),
        record("time that workers were paused", measured["paused"], "of all", at_most=0.05),
        record("workers that were started again", measured["restarted"], "", at_most=0),
    ]


def fit() -> dict[str, Any]:
    """Fit on a cluster with little memory while a thread looks at its workers."""
    with cluster_of(WORKERS, MEMORY) as client, watched(client) as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        warnings.simplefilter("ignore", SpillWarning)
        before = set(client.scheduler_info(n_workers=-1)["workers"])
        X, y = samples_on(client, N)
        start = perf_counter()
        fitted = model().fit(X, y)
        seconds = perf_counter() - start
        after = set(client.scheduler_info(n_workers=-1)["workers"])
    history = fitted.history_[0]
    ranks = FactorBank.build(chunk(0, 20_000)[0], fitted.kernels_, tol=fitted.rank).ranks  # as the fit chooses them
    return {
        "seconds": seconds,
        "per_round": history[-1].seconds / len(history),
        "rounds": len(history),
        "gap": fitted.relative_gap_,
        "factors": 8 * N * int(ranks.sum()),
        "restarted": len(after - before),
        "largest": seen["largest"],
        "paused": seen["paused"] / seen["looks"],
    }


@contextmanager
def watched(client: Any) -> Iterator[dict[str, int]]:
    """Count looks at workers and those at which one was paused, and note the largest process.

    The scheduler is in this process.
    """
    seen, end = {"looks": 0, "paused": 0, "largest": 0}, threading.Event()

    def look_again_and_again() -> None:
        while not end.wait(LOOK):
            for worker in list(client.cluster.scheduler.workers.values()):
                seen["looks"] += 1
                seen["paused"] += worker.status.name == "paused"
                seen["largest"] = max(seen["largest"], worker.memory.process)

    thread = threading.Thread(target=look_again_and_again)
    thread.start()
    try:
        yield seen
    finally:
        end.set()
        thread.join()
