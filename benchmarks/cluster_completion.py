"""Pair completion on a Dask cluster: time, and memory of the calling process, which must not grow with the samples."""

import logging
import os
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from kernelwise import PairCompleter, Pairs
from kernelwise.spectral import GramFactor

from .measure import in_fresh_process, peak_resident_bytes, record, resident_bytes

TITLE = (
    "Pair completion on two worker processes of this machine with one thread each: a factor of 20 columns that the "
    "workers make, four classes, 5,000 known pairs of 300 samples, 8 eigenvectors"
)

SIZES = (100_000, 1_000_000)
COLUMNS, CLASSES, LABELLED, KNOWN, ASKED = 20, 4, 300, 5000, 100_000


def run() -> list[dict[str, Any]]:
    """Measure fits and predictions of two sizes."""
    rows: list[dict[str, Any]] = []
    for n in SIZES:
        fit, predict, accuracy, gap, extra = in_fresh_process(partial(measure, n)).result
        rows.append(record(f"n = {n:,}: fit", fit, "s"))
        rows.append(record(f"n = {n:,}: {ASKED:,} pairs", predict, "s"))
        rows.append(record(f"n = {n:,}: accuracy", accuracy, ""))
        rows.append(record(f"n = {n:,}: relative gap", gap, ""))
        rows.append(record(f"n = {n:,}: the calling process, beyond what it had before", extra / 1e6, "MB"))
    return rows


def classes_of(index: Any) -> Any:
    """Return classes that look random and need no memory."""
    return (index * 2654435761 // 2**12) % CLASSES


def features(index: Any, *, centres: Any) -> Any:
    """Return rows around the centres of their classes; a block that is lost comes back as it was."""
    noise = np.random.default_rng(int(index[0]) if len(index) else 0).normal(size=(len(index), COLUMNS))
    return centres[classes_of(index)] + noise


def measure(n: int) -> tuple[float, float, float, float, int]:
    """Return the seconds of the fit and of predictions, their accuracy, the gap, and the memory taken."""
    import dask.array as da
    from distributed import Client, LocalCluster

    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    rng = np.random.default_rng(0)
    centres = 2.0 * rng.normal(size=(CLASSES, COLUMNS))
    index = da.arange(n, chunks=n // 8)
    factor = index.map_blocks(features, centres=centres, new_axis=1, chunks=(index.chunks[0], (COLUMNS,)), dtype=float)
    labelled = np.arange(LABELLED) * (n // LABELLED)
    rows, step = rng.integers(0, LABELLED, KNOWN), rng.integers(1, LABELLED, KNOWN)
    rows, cols = labelled[rows], labelled[(rows + step) % LABELLED]
    known = Pairs(rows, cols, np.where(classes_of(rows) == classes_of(cols), 1, -1), n_samples=n)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=logging.CRITICAL
    )
    with cluster, Client(cluster):
        before, start = resident_bytes(), perf_counter()
        model = PairCompleter(8, random_state=0).fit(GramFactor(factor), pairs=known)
        fitted, extra = perf_counter(), peak_resident_bytes() - before
        left, right = rng.integers(0, n, (2, ASKED))
        asked = perf_counter()
        said = model.predict_pairs(left, right)
        seconds = perf_counter() - asked
    accuracy = float(np.mean(said == np.where(classes_of(left) == classes_of(right), 1, -1)))
    return fitted - start, seconds, accuracy, model.solver_certificate_.relative_gap, extra
