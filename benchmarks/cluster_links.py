"""LinkedClustering on a cluster: a million documents with ten million links on two workers.

The workers make the documents and the links, as if they read them from files. Document i is of class ``i % 10``. Ends
of links are drawn with unequal chances, and most links stay within a class.
"""

import itertools
import resource
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelwise import LinkedClustering
from kernelwise.metrics import normalized_mutual_info

from .cluster import cluster_of
from .cluster_memory import watched
from .measure import Fresh, in_fresh_process, record

TITLE = "Linked documents on a cluster: two worker processes of 6 GiB and one thread each, ten classes, three steps"

N_CLASSES, N_WORDS, N_COLUMNS, WORDS_PER_DOCUMENT, LINKS_PER_DOCUMENT = 10, 20_000, 50, 20, 10
#: The share of words of the class, the spread of the means of classes, and the share of links aimed at the same class.
ON_TOPIC, SPREAD, WITHIN_CLASS = 0.3, 0.3, 0.67
#: The larger, the more unequal are the numbers of links.
SKEW = 1.5
SIZES, CHUNKS = (100_000, 1_000_000), 20
WORKERS, MEMORY = 2, 6 * 2**30


def run() -> list[dict[str, Any]]:
    """Measure both sizes with numbers and with words, each with a calling process and workers of its own."""
    rows = []
    for words in (False, True):
        clients = {}
        for n in SIZES:
            fresh = in_fresh_process(partial(fit, n, words))
            rows += describe(n, "words" if words else "numbers", fresh)
            clients[n] = fresh.peak_bytes
        growth = clients[SIZES[1]] / clients[SIZES[0]]
        rows.append(record(f"memory of the client, {'words' if words else 'numbers'}: growth", growth, "times"))
    return rows


def fit(n: int, words: bool) -> dict[str, float]:
    """Cluster the documents on new workers."""
    import dask
    import dask.array as da
    import dask.dataframe as dd

    starts = np.linspace(0, n, CHUNKS + 1).astype(int).tolist()
    bounds = list(itertools.pairwise(starts))
    with cluster_of(WORKERS, MEMORY) as client, watched(client) as seen:
        make, width = (word_counts, N_WORDS) if words else (numbers, N_COLUMNS)
        parts = [dask.delayed(make)(low, high) for low, high in bounds]
        meta = sp.csr_array((0, width)) if words else np.empty((0, width))
        blocks = [
            da.from_delayed(part, (high - low, width), meta=meta)
            for part, (low, high) in zip(parts, bounds, strict=True)
        ]
        links = dd.from_delayed(
            [dask.delayed(links_between)(n, k) for k in range(CHUNKS)], meta=links_between(10, 0, 1)
        )
        before = client.run(cpu_seconds)
        start, own = perf_counter(), process_time()
        model = LinkedClustering(N_CLASSES, depth=3, random_state=0).fit(da.concatenate(blocks), links=links)
        labels = model.labels_.compute()
        seconds, own = perf_counter() - start, process_time() - own
        after = client.run(cpu_seconds)
        busy = [after[worker] - before[worker] for worker in before]
    return {
        "nmi": normalized_mutual_info(np.arange(n) % N_CLASSES, labels),
        "seconds": seconds,
        "client_seconds": own,
        "worker_seconds": sum(busy),
        "largest": seen["largest"],
    }


def cpu_seconds() -> float:
    """Return the processor seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def numbers(low: int, high: int) -> Any:
    """Return the columns of some documents: normal clouds that overlap much."""
    means = SPREAD * np.random.default_rng(0).normal(size=(N_CLASSES, N_COLUMNS))
    y = np.arange(low, high) % N_CLASSES
    return means[y] + np.random.default_rng([1, low]).normal(size=(high - low, N_COLUMNS))


def word_counts(low: int, high: int) -> Any:
    """Return the words of some documents, of which a share belongs to the class."""
    rng, n = np.random.default_rng([2, low]), high - low
    words = rng.integers(0, N_WORDS, (n, WORDS_PER_DOCUMENT))
    topical = words // N_CLASSES * N_CLASSES + (np.arange(low, high) % N_CLASSES)[:, None]
    words = np.where(rng.random(words.shape) < ON_TOPIC, topical, words)
    documents = np.repeat(np.arange(n), WORDS_PER_DOCUMENT)
    return sp.csr_array(sp.coo_array((np.ones(words.size), (documents, words.ravel())), shape=(n, N_WORDS)))


def links_between(n: int, part: int, count: int | None = None) -> Any:
    """Return one of the parts of the links as a frame with the columns row and col."""
    import pandas as pd

    rng, count = np.random.default_rng([3, part]), LINKS_PER_DOCUMENT * n // CHUNKS if count is None else count
    rows, cols = ((n * rng.random(count) ** SKEW).astype(np.int64) for _ in range(2))
    within = rng.random(count) < WITHIN_CLASS
    cols = np.where(within, cols // N_CLASSES * N_CLASSES + rows % N_CLASSES, cols)
    apart = rows != cols
    return pd.DataFrame({"row": rows[apart], "col": cols[apart]})


def describe(n: int, kind: str, fresh: Fresh) -> list[dict[str, Any]]:
    """Return the rows of one run."""
    case, found = f"{n:,} documents with {kind}, {LINKS_PER_DOCUMENT * n:,} links", fresh.result
    return [
        record(f"{case}: NMI", found["nmi"], "", at_least=0.5),
        record(f"{case}: time", found["seconds"], "s"),
        record(f"{case}: processor time of the workers", found["worker_seconds"], "s"),
        record(f"{case}: processor time of the client and the scheduler", found["client_seconds"], "s"),
        record(f"{case}: peak memory of the client and the scheduler", fresh.peak_bytes / 1e6, "MB"),
        record(f"{case}: largest worker", found["largest"] / 1e6, "MB"),
    ]
