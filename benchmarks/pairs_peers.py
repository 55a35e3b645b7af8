"""Metrics and clusters from pairs, against metric-learn (ITML, MMC) and active-semi-supervised-clustering (MPCKMeans).

They need an environment of their own, with an older scikit-learn: ``pip install "scikit-learn==1.7.*"
metric-learn==0.7.0 active-semi-supervised-clustering==0.0.1``. Name its interpreter in the variable
KERNELWISE_PEERS_PYTHON; without it this benchmark says so and measures nothing. Objectives are computed here, from the
answers of both, by formulas of their own.

On Cora, with a citation or its absence for a pair, ITML of metric-learn is given CPU_LIMIT seconds of processor time,
and LKCnpc all the way from pairs to clusters is compared with that. Seconds are of the processor there, with one thread
for both.
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from kernelwise import ITML, MMC, MPCKMeans, PairKernelClustering, PairKernelLearner, PairNoise, Pairs
from kernelwise.datasets import load_cora
from kernelwise.metrics import normalized_mutual_info

from .measure import record

TITLE = (
    "Learning from pairs: ITML and MMC against metric-learn 0.7, MPCKMeans against active-semi-supervised-clustering"
)

FloatArray = NDArray[np.float64]

#: Seconds of processor time after which ITML of metric-learn is stopped on Cora: one of its passes takes minutes there.
CPU_LIMIT = 120

#: Run by the other interpreter on the arrays of one problem; writes the answer and the seconds of the fit.
PEER = """
import resource, sys, time, warnings
import numpy as np

warnings.simplefilter("ignore")
method, source, target = sys.argv[1:]
data = np.load(source)
X, rows, cols, labels = (data[name] for name in ("X", "rows", "cols", "labels"))
if method == "MPCKMeans":
    from active_semi_clustering.semi_supervised.pairwise_constraints import MPCKMeans
    np.random.seed(0)
    must, cannot = ([(i, j) for i, j, sign in zip(rows, cols, labels) if sign == kind] for kind in (1, -1))
    model = MPCKMeans(n_clusters=int(data["n_clusters"]))
    fit = lambda: model.fit(X, ml=must, cl=cannot).labels_
else:
    import metric_learn
    np.seterr(all="ignore")
    couples = np.stack([X[rows], X[cols]], axis=1)
    if method == "ITML, limited":
        model = metric_learn.ITML(random_state=0)
        fit = lambda: model.fit(couples, labels).get_mahalanobis_matrix()
        limit = round(time.process_time() + int(data["limit"]))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    elif method == "ITML":
        model = metric_learn.ITML(random_state=0)
        fit = lambda: model.fit(couples, labels, bounds=data["bounds"]).get_mahalanobis_matrix()
    else:
        model = metric_learn.MMC(diagonal=method == "MMC diagonal", random_state=0)
        fit = lambda: model.fit(couples, labels).get_mahalanobis_matrix()
start, cpu_start = time.perf_counter(), time.process_time()
answer = fit()
seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
np.savez(target, answer=answer, seconds=seconds, cpu_seconds=cpu_seconds)
"""


class Answer(NamedTuple):
    """A matrix or labels, and how long it took."""

    value: NDArray[Any]
    seconds: float


def run() -> list[dict[str, Any]]:
    """Measure all, one after the other."""
    python = os.environ.get("KERNELWISE_PEERS_PYTHON")
    check = [python or "", "-c", "import metric_learn, active_semi_clustering"]
    if not python or not Path(python).exists() or subprocess.run(check, capture_output=True).returncode:
        print(
            "peers are not measured: set KERNELWISE_PEERS_PYTHON to an interpreter that has metric-learn and"
            " active-semi-supervised-clustering installed"
        )
        return []
    return (
        measure_itml(python, n_features=500)
        + measure_mmc(python)
        + measure_mpckmeans(python)
        + measure_pairs_to_clusters(python)
    )


def measure_itml(python: str, *, n_features: int, n_pairs: int = 2000) -> list[dict[str, Any]]:
    """Compare both at their own defaults, with equal bounds, on five Gaussian classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=600)
    X = (0.7 * rng.normal(size=(5, n_features))[y] + rng.normal(size=(600, n_features))) / np.sqrt(n_features)
    pairs = Pairs.from_labels(y, n_pairs=n_pairs, random_state=0)
    low, high = np.percentile(np.sum((X[pairs.rows] - X[pairs.cols]) ** 2, axis=1), (5, 95))
    peer = ask(python, "ITML", X, pairs, bounds=np.array([low, high]))
    ours = timed(lambda: ITML(bounds=(low, high)).fit(X, pairs=pairs).get_mahalanobis_matrix())
    theirs_value, ours_value = (itml_objective(M, X, pairs, low, high) for M in (peer.value, ours.value))
    size = f"ITML, d = {n_features}, {n_pairs} pairs"
    return [
        *both(size, peer, ours, at_least=3),
        record(f"{size}: metric-learn, objective (least is best)", theirs_value, ""),
        record(f"{size}: kernelwise, objective", ours_value, "", at_most=theirs_value * 1.001),
    ]


def measure_mmc(python: str) -> list[dict[str, Any]]:
    """Compare both at their own defaults on digits with 500 positive and 500 negative pairs."""
    X, y = digits()
    pairs = balanced_pairs(y, 1000)
    rows = []
    for method in ("MMC full", "MMC diagonal"):
        peer = ask(python, method, X, pairs)
        model = MMC(diagonal=method == "MMC diagonal", random_state=0)
        ours = timed(lambda model=model: model.fit(X, pairs=pairs).get_mahalanobis_matrix())
        theirs_value, ours_value = (mmc_objective(M, X, pairs) for M in (peer.value, ours.value))
        rows += [
            *both(f"{method}, digits, 1000 pairs", peer, ours),
            record(f"{method}: metric-learn, objective (most is best)", theirs_value, ""),
            record(f"{method}: kernelwise, objective", ours_value, "", at_least=theirs_value),
            record(f"{method}: metric-learn, NMI of k-means", k_means_score(peer.value, X, y), ""),
            record(f"{method}: kernelwise, NMI of k-means", k_means_score(ours.value, X, y), ""),
        ]
    return rows


def measure_mpckmeans(python: str) -> list[dict[str, Any]]:
    """Compare both with one metric for all clusters on 1000 digits with 1000 pairs and all that follow from them."""
    X, y = (part[:1000] for part in digits())
    X = X[:, X.std(axis=0) > 0.01]
    pairs = closure(Pairs.from_labels(y, n_pairs=1000, random_state=0))
    peer = ask(python, "MPCKMeans", X, pairs, n_clusters=np.array(10))
    model = MPCKMeans(10, metric="shared", shrinkage=1e-6, random_state=0)
    ours = timed(lambda: model.fit(X, pairs=pairs).labels_)
    theirs_value, ours_value = (mpck_objective(labels, X, pairs) for labels in (peer.value, ours.value))
    size = f"MPCKMeans, digits, n = 1000, 1000 pairs ({len(pairs)} with those that follow)"
    return [
        *both(size, peer, ours, at_least=20),
        record("MPCKMeans: active-semi-supervised-clustering, objective (least is best)", theirs_value, ""),
        record("MPCKMeans: kernelwise, objective", ours_value, "", at_most=theirs_value),
        record("MPCKMeans: active-semi-supervised-clustering, NMI", normalized_mutual_info(y, peer.value), ""),
        record("MPCKMeans: kernelwise, NMI", normalized_mutual_info(y, ours.value), ""),
    ]


def measure_pairs_to_clusters(python: str) -> list[dict[str, Any]]:
    """Compare LKCnpc from pairs to clusters with the metric of ITML alone, on the noisy pairs of Cora."""
    cora = load_cora()
    pairs = Pairs.from_graph(cora.edges, n_samples=len(cora.target), random_state=0)
    checked = np.random.default_rng(0).permutation(len(pairs))[:100]
    noise = PairNoise.estimate(pairs, pairs[checked].true_labels(cora.target), checked)
    model = PairKernelClustering(PairKernelLearner(noise=noise), n_clusters=7, random_state=0)
    with threadpool_limits(1):
        start = process_time()
        labels = model.fit(cora.data, pairs=pairs).labels_
        ours = process_time() - start
        theirs, stopped = ask_within_limit(python, cora.data.toarray(), pairs)
        size = f"Cora, {len(pairs)} pairs, seconds of the processor"
        ending = f": stopped after {CPU_LIMIT} s" if stopped else ""
        return [
            record(f"{size}: ITML of metric-learn, the metric alone{ending}", theirs, "s"),
            record(f"{size}: LKCnpc, from pairs to clusters", ours, "s"),
            record(f"{size}: {'more than so many ' if stopped else ''}times faster", theirs / ours, "", at_least=20),
            record("Cora: LKCnpc, NMI", normalized_mutual_info(cora.target, labels), ""),
        ]


def ask_within_limit(python: str, X: FloatArray, pairs: Pairs) -> tuple[float, bool]:
    """Return the processor seconds of ITML with one thread, and whether it was stopped at the limit."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "problem.npz", Path(folder) / "answer.npz"
        np.savez(source, X=X, rows=pairs.rows, cols=pairs.cols, labels=pairs.labels, limit=CPU_LIMIT)
        command = [python, "-c", PEER, "ITML, limited", str(source), str(target)]
        code = subprocess.run(command, env=os.environ | threads).returncode
        if code == -signal.SIGXCPU:
            return float(CPU_LIMIT), True
        if code:
            raise RuntimeError(f"the other interpreter ended with code {code}")
        with np.load(target) as answer:
            return float(answer["cpu_seconds"]), False


def both(size: str, peer: Answer, ours: Answer, at_least: float | None = None) -> list[dict[str, Any]]:
    """Return the seconds of both, and their ratio."""
    return [
        record(f"{size}: peer", peer.seconds, "s"),
        record(f"{size}: kernelwise", ours.seconds, "s"),
        record(f"{size}: times faster", peer.seconds / ours.seconds, "", at_least=at_least),
    ]


def timed(fit: Callable[[], NDArray[Any]]) -> Answer:
    start = perf_counter()
    value = fit()
    return Answer(value, perf_counter() - start)


def ask(python: str, method: str, X: FloatArray, pairs: Pairs, **arrays: NDArray[Any]) -> Answer:
    """Let the other interpreter solve the problem."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "problem.npz", Path(folder) / "answer.npz"
        np.savez(source, X=X, rows=pairs.rows, cols=pairs.cols, labels=pairs.labels, **arrays)
        subprocess.run([python, "-c", PEER, method, str(source), str(target)], check=True)
        with np.load(target) as answer:
            return Answer(answer["answer"], float(answer["seconds"]))


def digits() -> tuple[FloatArray, NDArray[np.int64]]:
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def balanced_pairs(y: NDArray[np.int64], n_pairs: int) -> Pairs:
    """Half of the pairs positive, half negative."""
    every = Pairs.from_labels(y)
    rng = np.random.default_rng(0)
    chosen = [rng.choice(np.flatnonzero(every.labels == sign), n_pairs // 2, replace=False) for sign in (1, -1)]
    return every[np.concatenate(chosen)]


def closure(pairs: Pairs) -> Pairs:
    """All pairs that follow from consistent ones: positive within, negative between neighbourhoods."""
    n, near, far = pairs.n_samples, pairs.positive, pairs.negative
    graph = coo_array((np.ones(len(near)), (near.rows, near.cols)), shape=(n, n))
    n_parts, part = connected_components(graph, directed=False)
    members = [np.flatnonzero(part == p) for p in range(n_parts)]
    apart = {(min(a, b), max(a, b)) for a, b in zip(part[far.rows], part[far.cols], strict=True)}
    within = [(i, j) for group in members for k, i in enumerate(group) for j in group[k + 1 :]]
    between = [(i, j) for a, b in sorted(apart) for i in members[a] for j in members[b]]
    rows, cols = np.array(within + between).T
    return Pairs(rows, cols, np.repeat([1, -1], [len(within), len(between)]), n_samples=n)


def k_means_score(M: FloatArray, X: FloatArray, y: NDArray[np.int64]) -> float:
    values, vectors = np.linalg.eigh(M)
    Z = X @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    labels = KMeans(len(np.unique(y)), n_init=5, random_state=0).fit_predict(Z)
    return normalized_mutual_info(y, labels)


def itml_objective(M: FloatArray, X: FloatArray, pairs: Pairs, low: float, high: float) -> float:
    """``D(M, I) + sum_c D(xi_c, xi0_c)`` with the best slacks."""
    V = X[pairs.rows] - X[pairs.cols]
    distances = np.einsum("ci,ij,cj->c", V, M, V, optimize=True)
    near = pairs.labels > 0
    targets = np.where(near, low, high)
    ratio = np.where(near, np.maximum(distances, targets), np.minimum(distances, targets)) / targets
    return float(np.trace(M) - np.linalg.slogdet(M)[1] - len(M) + np.sum(ratio - np.log(ratio) - 1.0))


def mmc_objective(M: FloatArray, X: FloatArray, pairs: Pairs) -> float:
    """``sum_D ||v||_M`` after M is scaled to ``sum_S ||v||_M^2 = 1``."""
    V = X[pairs.rows] - X[pairs.cols]
    squares = np.maximum(np.einsum("ci,ij,cj->c", V, M, V, optimize=True), 0.0)
    return float(np.sqrt(squares[pairs.labels < 0]).sum() / np.sqrt(squares[pairs.labels > 0].sum()))


def mpck_objective(labels: NDArray[Any], X: FloatArray, pairs: Pairs) -> float:
    """The objective of MPCK-Means with one metric, for given labels: at their means and at the best metric found."""
    centers = np.array([X[labels == h].mean(axis=0) if (labels == h).any() else X[0] for h in range(10)])
    V = (X[pairs.rows] - X[pairs.cols]) ** 2
    same = labels[pairs.rows] == labels[pairs.cols]
    torn, joined = (pairs.labels > 0) & ~same, (pairs.labels < 0) & same
    linear = ((X - centers[labels]) ** 2).sum(axis=0) + V[torn].sum(axis=0) - V[joined].sum(axis=0)
    metric, least = np.ones(X.shape[1]), np.inf
    for _ in range(20):
        distances = cdist(X * np.sqrt(metric), X * np.sqrt(metric), "sqeuclidean")
        i, j = np.unravel_index(distances.argmax(), distances.shape)
        total = linear + joined.sum() * (X[i] - X[j]) ** 2
        least = min(least, float(total @ metric - len(X) * np.log(metric).sum()))
        metric = len(X) / np.maximum(total, 1e-9)
    return least
