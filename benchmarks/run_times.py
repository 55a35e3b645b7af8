"""What a fit costs at 1,000, 10,000 and 100,000 rows: processor seconds of one thread, with default settings."""

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

from kernelwise import (
    LinkedClustering,
    NoisyLabelClassifier,
    NoisyPairClustering,
    PairCompleter,
    Pairs,
    SimpleMKLClassifier,
    audit_labels,
)

from .label_speed import overlapping
from .links_scale import N_CLASSES, documents
from .measure import record

TITLE = "Run times: processor seconds of one thread at 1,000, 10,000 and 100,000 rows"

SIZES = (1_000, 10_000, 100_000)
#: A size is left out if ten times the seconds of the size before are more than this.
MOST_SECONDS = 300.0
#: The table: columns of numbers, classes, and the share of rows that lie on the side of another class.
N_COLUMNS, N_LABELS, OVERLAP = 20, 3, 0.1
WRONG_PAIRS = 0.2
N_NEIGHBORS, N_COMPONENTS, MOST_LABELLED = 20, 50, 2_000
RANK = 100


def run() -> list[dict[str, Any]]:
    """Measure every case at every size that a few minutes allow."""
    rows = []
    for case, prepare in CASES.items():
        seconds = 0.0
        for n in SIZES:
            if 10 * seconds > MOST_SECONDS:
                break
            seconds = processor_seconds(prepare(n))
            rows.append(record(f"{case}, {n:,} rows", seconds, "s"))
    return rows


def processor_seconds(fit: Callable[[], Any]) -> float:
    """Return the processor time of one fit with one thread."""
    with threadpool_limits(1):
        start = process_time()
        fit()
        return process_time() - start


def label_audit(n: int) -> Callable[[], Any]:
    X, _, given = overlapping(n, N_COLUMNS, N_LABELS, OVERLAP)
    return lambda: audit_labels(X, given, random_state=0)


def label_classifier(n: int) -> Callable[[], Any]:
    X, _, given = overlapping(n, N_COLUMNS, N_LABELS, OVERLAP)
    return lambda: NoisyLabelClassifier(random_state=0).fit(X, given)


def pair_clustering(n: int) -> Callable[[], Any]:
    X, true, _ = overlapping(n, N_COLUMNS, N_LABELS, OVERLAP)
    pairs = Pairs.from_labels(true, n_pairs=n, random_state=0).flip(WRONG_PAIRS, random_state=0)
    return lambda: NoisyPairClustering(N_LABELS, random_state=0).fit(X, pairs=pairs)


def linked_clustering(n: int) -> Callable[[], Any]:
    X, links, _ = documents(n, words=True)
    return lambda: LinkedClustering(N_CLASSES, random_state=0).fit(X, links=links)


def pair_completer(n: int) -> Callable[[], Any]:
    """A graph of nearest neighbours; a tenth of the pairs among some labelled rows is known."""
    X, true, _ = overlapping(n, N_COLUMNS, N_LABELS, OVERLAP)
    graph = kneighbors_graph(X, N_NEIGHBORS)
    labelled = min(n // 5, MOST_LABELLED)
    partly = np.where(np.arange(n) < labelled, true, -1)
    known = Pairs.from_labels(partly, n_pairs=labelled * (labelled - 1) // 20, random_state=0)
    similarity = sp.csr_array(graph.maximum(graph.T))
    return lambda: PairCompleter(N_COMPONENTS, normalize="symmetric", random_state=0).fit(similarity, pairs=known)


def kernel_classifier(n: int) -> Callable[[], Any]:
    X, _, given = overlapping(n, N_COLUMNS, N_LABELS, OVERLAP)
    return lambda: SimpleMKLClassifier(rank=RANK, random_state=0).fit(X, given)


CASES: dict[str, Callable[[int], Callable[[], Any]]] = {
    "audit_labels": label_audit,
    "NoisyLabelClassifier": label_classifier,
    "NoisyPairClustering, a pair per row": pair_clustering,
    "LinkedClustering, ten links per row": linked_clustering,
    "PairCompleter, a fifth of the rows labelled, at most 2,000": pair_completer,
    f"SimpleMKLClassifier, rank={RANK}": kernel_classifier,
}
