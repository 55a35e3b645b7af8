"""The audit of labels at any size: what a sample costs, and time and memory in memory, in chunks and on a cluster."""

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score

from kernelwise import NoisyLabelClassifier, flip_labels
from kernelwise.labels.large import fit_in_blocks
from kernelwise.labels.sample import slices

from .cluster import cluster_of
from .measure import in_fresh_process, record

TITLE = "Labels at any size: a sample is learned from, every row is judged; 20 columns, a fifth of the labels wrong"

COLUMNS, WRONG = 20, 0.2
#: What learning from a sample may cost in the area under the curve of the audit.
MOST_LOST = 0.003
IN_MEMORY, ON_CLUSTER, OUT_OF_CORE = 1_000_000, 2_000_000, 5_000_000
WORKERS, WORKER_MEMORY = 2, 2 * 10**9
#: Rows of a chunk on the cluster, and of a row group of the file.
CHUNK, GROUP = 50_000, 100_000


def run(data: Path | None = None) -> list[dict[str, Any]]:
    """Measure everything, the heavy parts last and each in a process of its own."""
    rows = equality()
    for kind in ("curved", "clusters"):
        rows += cost_of_a_sample(kind, *made(kind, 100_000), "auto")
    if data is not None and (data / "cifar10n_10k.npz").exists():
        with np.load(data / "cifar10n_10k.npz") as stored:
            given, truth = stored["worse_label"], stored["clean_label"]
            rows += cost_of_a_sample("cifar10n, human labels", stored["X"].astype(float), given, truth, 5000)
    return rows + in_memory() + on_cluster() + killed() + out_of_core()


def made(kind: str, n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return samples, given labels and true labels: a curved boundary, or five classes of three clusters each."""
    if kind == "clusters":
        X, truth = make_classification(
            n,
            COLUMNS,
            n_informative=10,
            n_redundant=4,
            n_classes=5,
            n_clusters_per_class=3,
            class_sep=1.2,
            random_state=3,
        )
    else:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, COLUMNS))
        score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5
        truth = (score + 0.3 * rng.normal(size=n) > 0).astype(int)
    return X, flip_labels(truth, WRONG, random_state=1), truth


def equality() -> list[dict[str, Any]]:
    """Compare the qualities of 20,000 rows in memory, in chunks and on a cluster, learned from the same 2,000 rows."""
    import dask.array as da

    X, given, _ = made("curved", 20_000)
    whole = model(2000).fit(X, given).label_quality_
    results = fit_in_blocks(model(2000), slices(X, given, None, 3001)).results
    in_chunks = np.concatenate([part.quality for part in results])
    with cluster_of(WORKERS, WORKER_MEMORY):
        lazy = da.from_array(X, chunks=(3700, COLUMNS)), da.from_array(given, chunks=3700)
        in_blocks = model(2000).fit(*lazy).label_quality_.compute()
    return [
        record("largest difference of a quality: chunks", np.abs(in_chunks - whole).max(), "", at_most=1e-9),
        record("largest difference of a quality: cluster", np.abs(in_blocks - whole).max(), "", at_most=1e-9),
    ]


def cost_of_a_sample(name: str, X: Any, given: Any, truth: Any, size: int | str) -> list[dict[str, Any]]:
    """Compare the audit that learns from a sample with the audit that learns from all rows."""
    found = {}
    for sample_size in (size, len(given)):
        start = time.process_time()
        fitted = model(sample_size).fit(X, given)
        quality = 1 - fitted.label_quality_
        found[sample_size] = roc_auc_score(given != truth, quality), fitted.noise_rate_, time.process_time() - start
    (some, rate, quick), (every, other_rate, slow) = found.values()
    case = f"{name}, {len(given):,} rows, sample_size={size}"
    return [
        record(f"{case}: audit AUC with all rows", every, ""),
        record(f"{case}: audit AUC lost", every - some, "", at_most=MOST_LOST if size == "auto" else None),
        record(f"{case}: difference of the noise rate", abs(rate - other_rate), ""),
        record(f"{case}: processor time", quick, "s"),
        record(f"{case}: processor time with all rows", slow, "s"),
    ]


def model(sample_size: int | str = "auto") -> NoisyLabelClassifier:
    return NoisyLabelClassifier(sample_size=sample_size, random_state=0)


def in_memory() -> list[dict[str, Any]]:
    """Fit to rows in memory."""
    rows, times = [], {}
    for n in (IN_MEMORY // 10, IN_MEMORY):
        fresh = in_fresh_process(_fit, prepare=partial(_given, n))
        times[n], last = fresh.result, n == IN_MEMORY
        rows += [
            record(f"in memory, {n:,} rows: time", fresh.seconds, "s", at_most=360 if last else None),
            record(f"in memory, {n:,} rows: processor time", fresh.result, "s"),
            record(f"in memory, {n:,} rows: peak", fresh.peak_bytes / 1e9, "GB", at_most=6 if last else None),
        ]
    exponent = float(np.log10(times[IN_MEMORY] / times[IN_MEMORY // 10]))
    return [*rows, record("in memory: exponent of the time", exponent, "", at_most=1.1)]


def _given(n: int) -> tuple[Any, Any]:
    return made("curved", n)[:2]


def _fit(X: Any, given: Any) -> float:
    start = time.process_time()
    model().fit(X, given)
    return time.process_time() - start


def on_cluster() -> list[dict[str, Any]]:
    """Fit to rows that the workers make; the peak is that of the process that calls."""
    rows, peaks = [], {}
    for n in (ON_CLUSTER // 20, ON_CLUSTER):
        fresh = in_fresh_process(partial(_fit_on_cluster, n))
        peaks[n] = fresh.peak_bytes
        rows += [
            record(f"{WORKERS} workers of 2 GB, {n:,} rows: time", fresh.result, "s"),
            record(f"{WORKERS} workers of 2 GB, {n:,} rows: peak of the caller", fresh.peak_bytes / 1e6, "MB"),
        ]
    ratio = peaks[ON_CLUSTER] / peaks[ON_CLUSTER // 20]
    return [*rows, record("peak of the caller: most rows by fewest", ratio, "", at_most=1.1)]


def _lazily(n: int, chunk: int = CHUNK) -> tuple[Any, Any]:
    """Return Dask arrays whose blocks are made by the workers."""
    import dask
    import dask.array as da

    parts = [dask.delayed(made, pure=True)("curved", chunk, seed) for seed in range(n // chunk)]
    X = da.concatenate([da.from_delayed(part[0], (chunk, COLUMNS), dtype=float) for part in parts])
    return X, da.concatenate([da.from_delayed(part[1], (chunk,), dtype=int) for part in parts])


def _fit_on_cluster(n: int) -> float:
    with cluster_of(WORKERS, WORKER_MEMORY):
        start = time.perf_counter()
        model().fit(*_lazily(n))
        return time.perf_counter() - start


def killed() -> list[dict[str, Any]]:
    """Kill a worker while rows are judged, and compare."""
    quiet, disturbed = (in_fresh_process(partial(_qualities, kill)).result for kill in (False, True))
    return [
        record("a worker is killed: largest difference of a quality", np.abs(quiet - disturbed).max(), "", at_most=1e-9)
    ]


def _qualities(kill: bool) -> Any:
    with cluster_of(WORKERS, WORKER_MEMORY) as client:
        pids = client.run(os.getpid)
        left = [next(iter(pids.values()))] if kill else []

        def watch(done: int, total: int) -> None:
            if left and done > 0.5 * total:
                os.kill(left.pop(), signal.SIGKILL)

        fitted = model(5000).fit(*_lazily(100_000, 5000), progress=watch)
        assert not left
        return fitted.label_quality_.compute()


def out_of_core() -> list[dict[str, Any]]:
    """Audit a Parquet file in chunks, by the command line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, OUT_OF_CORE)
        fresh = in_fresh_process(partial(_audit_file, path))
        case = f"out of core, {OUT_OF_CORE:,} rows, {path.stat().st_size / 1e9:.1f} GB of Parquet"
    return [
        record(f"{case}: peak", fresh.peak_bytes / 1e9, "GB", at_most=4),
        record(f"{case}: time", fresh.seconds, "s"),
        record(f"{case}: processor time", fresh.result, "s"),
    ]


def write_rows(path: Path, n: int) -> None:
    """Write a Parquet file, one row group after the other."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for table in _groups(n):
        content = pa.table(table)
        writer = writer or pq.ParquetWriter(path, content.schema)
        writer.write_table(content)
    writer.close()


def _groups(n: int) -> Iterator[dict[str, Any]]:
    for seed in range(n // GROUP):
        X, given, _ = made("curved", GROUP, seed)
        yield {f"x{j}": X[:, j] for j in range(COLUMNS)} | {"label": np.where(given == 1, "yes", "no")}


def _audit_file(path: Path) -> float:
    from kernelwise.cli import main

    start = time.process_time()
    arguments = ["audit", "labels", str(path), "--label", "label", "--chunk-rows", str(GROUP), "--quiet"]
    assert main([*arguments, "--output", str(path.parent / "suspects")]) == 0
    return time.process_time() - start
