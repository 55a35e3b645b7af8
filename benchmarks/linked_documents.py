"""Clusters of linked documents: agreement with the classes of two sets of papers, by settings."""

from typing import Any

import numpy as np

from kernelwise import LinkedClustering, Pairs
from kernelwise.datasets import load_citeseer, load_cora
from kernelwise.links.candidates import two_stage_k_means
from kernelwise.metrics import normalized_mutual_info

from .measure import record

TITLE = "Linked documents: LinkedClustering on citations, by settings"

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


def run() -> list[dict[str, Any]]:
    """Measure the agreement on both sets."""
    return [
        *on_citations("Cora", load_cora(), at_least=0.57),
        *on_citations("Citeseer", load_citeseer(), at_least=0.45),
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
    scores = [normalized_mutual_info(data.target, model.fit(data.data, links=links(data)).labels_) for model in models]
    return float(np.mean(scores))


def agreement_by_first_stage(data: Any) -> dict[int, float]:
    """Return the mean NMI over five seeds by how many coordinates more than clusters the starts of k-means see."""
    k = len(data.target_names)
    scores: dict[int, list[float]] = {more: [] for more in (-1, 0, 1, 2, 4, 8)}
    for seed in range(5):
        embedding = LinkedClustering(k, depth=3, random_state=seed).fit(data.data, links=links(data)).embedding_
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
        model.fit(data.data[old], links=pairs.restrict(old))
        given = (None, pairs.to_sparse()[new][:, old])
        predicted = (model.predict(data.data[new], links=cited) for cited in given)
        scores.append([normalized_mutual_info(data.target[new], labels) for labels in predicted])
    by_words, by_links = np.mean(scores, axis=0)
    return by_words, by_links


def links(data: Any) -> Pairs:
    """Return the citations as pairs."""
    return Pairs.from_graph(data.edges, n_samples=len(data.target), negatives=None)
