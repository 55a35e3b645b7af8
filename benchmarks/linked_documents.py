"""Clusters of linked documents: agreement with the classes of two sets of papers, and growth to a million documents."""

import math
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelwise import LinkedClustering, Pairs
from kernelwise.datasets import load_citeseer, load_cora
from kernelwise.links.clustering import two_stage_k_means
from kernelwise.metrics import normalized_mutual_info

from .measure import Fresh, in_fresh_process, record

TITLE = "Linked documents: LinkedClustering on citations, and on up to a million synthetic documents with 50 components"

N_TOPICS = 10
N_WORDS = 20_000
WORDS_PER_DOCUMENT = 20
#: Settings of the fixed method: three steps, 200 components, 40 coordinates, rows as they are; then others.
SETTINGS: list[dict[str, Any]] = [
    {},
    *({"depth": depth} for depth in (0, 1, 2, 4, 5, 6, (1, 2, 3), (2, 3, 4), (0, 1, 2, 3, 4))),
    {"depth": (0, 1, 2, 3, 4), "depth_weights": "learned"},
    *({"n_components": count} for count in (50, 100, 300, None)),
    *({"embedding_dim": count} for count in (1, 20, 80)),
    {"tfidf": False},
    {"row_normalize": True},
]
#: A word is one of the topic with this probability, and a link stays within the topic with this one.
ON_TOPIC, WITHIN_TOPIC = 0.4, 0.8


def run() -> list[dict[str, Any]]:
    """Measure the agreement, the middle size with default settings, and the growth."""
    middle = fit_in_fresh_process(20_000, 44_000, n_components=200)
    sizes = {100_000: 1_000_000, 1_000_000: 10_000_000}
    growing = {n: fit_in_fresh_process(n, n_links, n_components=50) for n, n_links in sizes.items()}
    return [
        *on_citations("Cora", load_cora(), at_least=0.57),
        *on_citations("Citeseer", load_citeseer(), at_least=0.45),
        *describe("20,000 documents, 44,000 links, 200 components", middle, seconds=30),
        *describe("100,000 documents, 1,000,000 links", growing[100_000]),
        *describe("1,000,000 documents, 10,000,000 links", growing[1_000_000], gigabytes=8),
        growth(growing, 100_000, 1_000_000),
    ]


def on_citations(name: str, data: Any, *, at_least: float) -> list[dict[str, Any]]:
    """Return the NMI with the classes of the papers: the defaults, other settings, and papers left out of the fit."""
    by_words, by_links = agreement_of_new(data)
    first_stage = agreement_by_first_stage(data)
    return [
        record(f"{name}, NMI, mean of 5 seeds", agreement(data), "", at_least=at_least),
        *(record(f"{name}, NMI, {one}", agreement(data, **one), "") for one in ({"depth": 3} | s for s in SETTINGS)),
        *(record(f"{name}, NMI, starts in k + {more} coordinates", nmi, "") for more, nmi in first_stage.items()),
        record(f"{name}, NMI of a fifth predicted by words", by_words, ""),
        record(f"{name}, NMI of a fifth predicted by words and links", by_links, ""),
    ]


def agreement(data: Any, **setting: Any) -> float:
    """Return the mean NMI with the classes over five seeds."""
    models = (LinkedClustering(len(data.target_names), random_state=seed, **setting) for seed in range(5))
    scores = [normalized_mutual_info(data.target, model.fit(data.data, pairs=links(data)).labels_) for model in models]
    return float(np.mean(scores))


def agreement_by_first_stage(data: Any) -> dict[int, float]:
    """Return the mean NMI over five seeds by how many coordinates more than clusters the starts of k-means see."""
    k = len(data.target_names)
    scores: dict[int, list[float]] = {more: [] for more in (-1, 0, 1, 2, 4, 8)}
    for seed in range(5):
        embedding = LinkedClustering(k, depth=3, random_state=seed).fit(data.data, pairs=links(data)).embedding_
        for more, found in scores.items():
            rng = np.random.RandomState(seed)
            labels = two_stage_k_means(embedding, k, n_leading=k + more, n_init=10, rng=rng).labels_
            found.append(normalized_mutual_info(data.target, labels))
    return {more: float(np.mean(found)) for more, found in scores.items()}


def agreement_of_new(data: Any) -> tuple[float, float]:
    """Return the NMI of papers left out of the fit, placed by words, and by words and links; means of five draws."""
    pairs, scores = links(data), []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(data.target))
        new, old = np.split(order, [len(order) // 5])
        model = LinkedClustering(len(data.target_names), random_state=seed)
        model.fit(data.data[old], pairs=pairs.restrict(old))
        given = (None, pairs.to_sparse()[new][:, old])
        predicted = (model.predict(data.data[new], links=cited) for cited in given)
        scores.append([normalized_mutual_info(data.target[new], labels) for labels in predicted])
    by_words, by_links = np.mean(scores, axis=0)
    return by_words, by_links


def links(data: Any) -> Pairs:
    """Return the citations as pairs."""
    return Pairs.from_graph(data.edges, n_samples=len(data.target), negatives=None)


def fit_in_fresh_process(n: int, n_links: int, *, n_components: int) -> Fresh:
    """Cluster synthetic documents; report the NMI with their topics."""
    return in_fresh_process(partial(fit, n_components=n_components), prepare=partial(documents, n, n_links))


def documents(n: int, n_links: int) -> tuple[Any, Pairs, Any]:
    """Return words, links and topics: some words belong to the topic, and most links stay within it."""
    rng = np.random.default_rng(0)
    topics = np.arange(n) % N_TOPICS
    words = rng.integers(0, N_WORDS, (n, WORDS_PER_DOCUMENT), dtype=np.int32)
    on_topic = rng.random((n, WORDS_PER_DOCUMENT)) < ON_TOPIC
    words = np.where(on_topic, words // N_TOPICS * N_TOPICS + topics[:, None], words).astype(np.int32)
    indptr = np.arange(0, words.size + 1, WORDS_PER_DOCUMENT)
    X = sp.csr_array((np.ones(words.size), words.ravel(), indptr), shape=(n, N_WORDS))
    X.sum_duplicates()
    rows, cols = rng.integers(0, n, n_links), rng.integers(0, n, n_links)
    within = rng.random(n_links) < WITHIN_TOPIC
    cols[within] = cols[within] // N_TOPICS * N_TOPICS + topics[rows[within]]
    rows = np.where(rows == cols, (cols + N_TOPICS) % n, rows)
    return X, Pairs(rows, cols, np.ones(n_links, dtype=int), n_samples=n), topics


def fit(X: Any, pairs: Pairs, topics: Any, *, n_components: int) -> float:
    """Return the NMI with the topics."""
    model = LinkedClustering(N_TOPICS, n_components=n_components, random_state=0).fit(X, pairs=pairs)
    return normalized_mutual_info(topics, model.labels_)


def describe(
    case: str, fresh: Fresh, *, seconds: float | None = None, gigabytes: float | None = None
) -> list[dict[str, Any]]:
    """Return the rows of one run."""
    return [
        record(f"{case}: NMI", fresh.result, "", at_least=0.5),
        record(f"{case}: time", fresh.seconds, "s", at_most=seconds),
        record(f"{case}: peak memory of the process", fresh.peak_bytes / 1e9, "GB", at_most=gigabytes),
        record(f"{case}: of which beyond the data", fresh.extra_bytes / 1e9, "GB"),
    ]


def growth(runs: dict[int, Fresh], small: int, large: int) -> dict[str, Any]:
    """Return the exponent of the memory beyond the data between two sizes."""
    exponent = math.log(runs[large].extra_bytes / runs[small].extra_bytes) / math.log(large / small)
    return record(f"memory beyond the data from n = {small:,} to {large:,}: exponent", exponent, "", at_most=1.1)
