"""Links that help and links that mislead: clusters of real and made graphs, chosen without labels.

``python -m benchmarks pairs_real --data FOLDER`` reads attributed graphs from the ``.npz`` files of the folder that
have the arrays ``x_data``, ``x_indices``, ``x_indptr``, ``x_shape`` (features, sparse by rows), ``edges`` and ``y``.
Cora and Citeseer are always measured, and so are graphs that are made here: ten that show one situation each, and
graphs with settings drawn at random, which nobody looked at when the method was developed.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from kernelwise import LinkedClustering, LinkSmoother, Pairs
from kernelwise.datasets import load_citeseer, load_cora
from kernelwise.links.candidates import CANDIDATES, Embedding, two_stage_k_means
from kernelwise.links.choice import take_steps
from kernelwise.links.walks import walk_factors
from kernelwise.metrics import normalized_mutual_info

from .measure import record

TITLE = "Links that help and links that mislead: NMI with the classes, means of 3 seeds and their standard errors"

SEEDS = range(3)
#: The number of graphs with random settings; each is clustered once.
N_DRAWN = 24
#: What the choice has to reach.
REQUIRED = {
    "acm": 0.66,
    "amazon_photo": 0.66,
    "dblp": 0.36,
    "webkb_cornell": 0.33,
    "wiki_chameleon_filtered": 0.08,
    "Cora": 0.57,
    "Citeseer": 0.45,
}
#: NMI that others published for the same graphs; not measured here.
PUBLISHED = {
    "Cora": {"AGC, published by Zhang et al. 2019": 0.537},
    "Citeseer": {"AGC, published by Zhang et al. 2019": 0.411},
}
#: On made and drawn graphs, the choice may lie this much below the better of features alone and three steps.
TOLERATED = 0.05
OURS, OLD, FEATURES = "LinkedClustering", "three steps, as in 0.1.0", "features alone"


class Graph(NamedTuple):
    """Features, links and classes."""

    name: str
    X: Any
    pairs: Pairs
    y: Any


def run(data: Path | None = None) -> list[dict[str, Any]]:
    """Measure the graphs of a folder, the bundled ones, and the made ones."""
    rows = []
    for graph in real_graphs(data):
        found = [{**usual(graph, seed), **each_candidate(graph, seed)} for seed in SEEDS]
        rows += measured(graph, found, REQUIRED.get(graph.name))
    for graph in made_graphs():
        found = [usual(graph, seed) for seed in SEEDS]
        better = np.mean([(one[OLD], one[FEATURES]) for one in found], axis=0).max()
        rows += measured(graph, found, better - TOLERATED)
    gaps, gains = [], []
    for graph in drawn_graphs():
        one = usual(graph, 0)
        gaps.append(one[OURS] - max(one[OLD], one[FEATURES]))
        gains.append(one[OURS] - one[OLD])
        rows.append(record(f"{graph.name}: {OURS} above the better of the two others", gaps[-1], "NMI"))
    rows.append(record(f"{N_DRAWN} drawn graphs: the least of these", min(gaps), "NMI", at_least=-TOLERATED))
    rows.append(record(f"{N_DRAWN} drawn graphs: mean above {OLD}", float(np.mean(gains)), "NMI"))
    return rows


def measured(graph: Graph, found: list[dict[str, float]], least: float | None) -> list[dict[str, Any]]:
    """Return the rows of one graph: the means over the seeds, and what others published."""
    rows = []
    for name in found[0]:
        values = [one[name] for one in found]
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        required = least if name == OURS else None
        rows.append(record(f"{graph.name}: {name}", float(np.mean(values)), f"NMI ± {error:.3f}", at_least=required))
    return rows + [record(f"{graph.name}: {name}", nmi, "NMI") for name, nmi in PUBLISHED.get(graph.name, {}).items()]


def usual(graph: Graph, seed: int) -> dict[str, float]:
    """NMI of the choice, of the old default and of features alone."""
    k = len(np.unique(graph.y))
    labels = {
        OURS: LinkedClustering(k, random_state=seed).fit(graph.X, links=graph.pairs).labels_,
        OLD: LinkedClustering(k, depth=3, random_state=seed).fit(graph.X, links=graph.pairs).labels_,
        FEATURES: KMeans(k, n_init=10, random_state=seed).fit(features_of(graph, seed)).labels_,
    }
    return {name: normalized_mutual_info(graph.y, found) for name, found in labels.items()}


def each_candidate(graph: Graph, seed: int) -> dict[str, float]:
    """NMI of links alone and of each candidate, from all features and all links."""
    k, rng = len(np.unique(graph.y)), np.random.RandomState(seed)
    links = graph.pairs.to_sparse()
    links.data /= links.data.mean()
    steps, walks = take_steps(features_of(graph, seed), links), walk_factors(links, rng)
    labels = {"links alone": KMeans(k, n_init=10, random_state=seed).fit(normalize(walks)).labels_}
    for candidate in CANDIDATES:
        rows = Embedding.fit(candidate, steps, walks, max(40, k + 1)).place(steps, walks)
        labels[f"candidate {candidate.name}"] = two_stage_k_means(rows, k, n_leading=k + 1, n_init=10, rng=rng).labels_
    return {name: normalized_mutual_info(graph.y, found) for name, found in labels.items()}


def features_of(graph: Graph, seed: int) -> Any:
    """The features, weighted and projected but not smoothed."""
    return LinkSmoother(depth=0, random_state=seed).fit_transform(graph.X)


def real_graphs(folder: Path | None) -> Iterator[Graph]:
    """Cora, Citeseer, and the graphs of a folder."""
    for name, load in (("Cora", load_cora), ("Citeseer", load_citeseer)):
        papers = load()
        pairs = Pairs.from_graph(papers.edges, n_samples=len(papers.target), negatives=None)
        yield Graph(name, papers.data, pairs, papers.target)
    for path in sorted(folder.glob("*.npz")) if folder else ():
        with np.load(path, allow_pickle=False) as arrays:
            if {"x_data", "edges", "y"} <= set(arrays):
                X = sp.csr_array((arrays["x_data"], arrays["x_indices"], arrays["x_indptr"]), shape=arrays["x_shape"])
                rows, cols = arrays["edges"][arrays["edges"][:, 0] != arrays["edges"][:, 1]].T
                pairs = Pairs(rows, cols, np.ones(len(rows), dtype=int), n_samples=X.shape[0])
                yield Graph(path.stem, X, pairs, arrays["y"])


def made_graphs(n: int = 1500, k: int = 5) -> Iterator[Graph]:
    """Graphs of blocks with words or numbers: links agree, lead elsewhere, are noise, or are all there is."""
    chance = 1.0 / k
    for words in (True, False):
        kind = "words" if words else "numbers"
        for name, signal, within, shift, per_sample, tail in (
            ("links agree", 1.0, 0.7, 0, 6, 2.5),
            ("links lead to the next class", 1.5, 0.8, 1, 6, 2.5),
            ("links are noise", 1.5, chance, 0, 6, 2.5),
            ("features are noise", 0.0, 0.85, 0, 10, 2.5),
            ("hubs, many links, weak features", 0.5, 0.5, 0, 50, 1.3),
        ):
            rng = np.random.default_rng(0)
            y = rng.integers(0, k, n)
            X = word_counts(rng, y, 0.3 * signal) if words else numbers(rng, y, 0.5 * signal)
            yield Graph(f"made, {kind}, {name}", X, block_links(rng, y, within, shift, per_sample, tail), y)


def drawn_graphs(count: int = N_DRAWN) -> Iterator[Graph]:
    """Graphs whose settings are drawn from wide ranges: sizes, classes, words or numbers, and kinds of links."""
    for number in range(count):
        rng = np.random.default_rng(1000 + number)
        n, k = int(rng.integers(400, 1600)), int(rng.integers(2, 10))
        y = rng.choice(k, n, p=rng.dirichlet(np.full(k, 5.0)))
        y = np.unique(y, return_inverse=True)[1]
        words, signal = bool(rng.integers(2)), float(rng.uniform(0.0, 1.5))
        X = word_counts(rng, y, 0.3 * signal) if words else numbers(rng, y, 0.5 * signal)
        # A third of the graphs links samples of a class, a third leads to another class, a third has random links.
        kind = ("the same class", "another class", "anywhere")[int(rng.integers(3))]
        within = 1.0 / k if kind == "anywhere" else float(rng.uniform(1.0 / k, 0.9))
        per_sample, tail = int(rng.integers(3, 40)), float(rng.uniform(1.2, 4.0))
        pairs = block_links(rng, y, within, int(kind == "another class"), per_sample, tail)
        name = (
            f"drawn {number}: {n} samples, {k} classes, {'words' if words else 'numbers'} {signal:.1f}, {per_sample} "
            f"links per sample, {within:.0%} to {kind}"
        )
        yield Graph(name, X, pairs, y)


def numbers(rng: np.random.Generator, y: Any, spread: float, n_columns: int = 20) -> Any:
    """Columns of numbers; the means of the classes have this standard deviation."""
    return rng.normal(size=(len(y), n_columns)) + spread * rng.normal(size=(int(y.max()) + 1, n_columns))[y]


def word_counts(rng: np.random.Generator, y: Any, on_topic: float, n_words: int = 500, length: int = 20) -> Any:
    """Documents of a fixed length; this share of the words belongs to the class."""
    k = int(y.max()) + 1
    words = rng.integers(0, n_words, (len(y), length))
    words = np.where(rng.random(words.shape) < on_topic, words // k * k + y[:, None], words) % n_words
    counts = sp.coo_array((np.ones(words.size), (np.repeat(np.arange(len(y)), length), words.ravel())))
    return sp.csr_array(counts.tocsr(), shape=(len(y), n_words))


def block_links(rng: np.random.Generator, y: Any, within: float, shift: int, per_sample: int, tail: float) -> Pairs:
    """Links whose ends have unequal chances; this share leads to the class ``shift`` further, the others anywhere."""
    n, k = len(y), int(y.max()) + 1
    chances = rng.pareto(tail, n) + 1.0
    rows = rng.choice(n, per_sample * n // 2, p=chances / chances.sum())
    cols = rng.choice(n, len(rows), p=chances / chances.sum())
    aimed = rng.random(len(rows)) < (within - 1.0 / k) / (1.0 - 1.0 / k)
    for group in range(k):
        members = np.flatnonzero(y == (group + shift) % k)
        here = aimed & (y[rows] == group)
        cols[here] = rng.choice(members, here.sum(), p=chances[members] / chances[members].sum())
    apart = rows != cols
    return Pairs(rows[apart], cols[apart], np.ones(apart.sum(), dtype=int), n_samples=n)
