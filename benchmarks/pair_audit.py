"""Which pairs are wrong, and how many: citations, synthetic documents, and constraints of which 20 % are flipped."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import pairwise_distances, roc_auc_score
from sklearn.preprocessing import StandardScaler

from kernelwise import PairKernelClustering, PairKernelLearner, PairNoise, Pairs, audit_pairs, datasets
from kernelwise.metrics import normalized_mutual_info

from .links_scale import documents
from .measure import in_fresh_process, record

TITLE = "Audits of pairs: AUC of the wrong ones, errors of the estimated fractions of right ones (d+, d-)"

UCI = ("ionosphere", "heart", "sonar", "breast_cancer", "australian")
#: Pairs per sample, and the AUC that is required.
CONSTRAINTS = {3: None, 5: None, 10: 0.85, 20: 0.85}
FLIPPED = 0.2
#: Links between similar samples: per sample, how much more often within classes, and how near the ends are.
SIMILAR_LINKS = ((4, 4.0, 2.0), (6, 10.0, 4.0))
#: How the constraints of blobs are flipped.
FLIPS = {"20 %": 0.2, "30 %": 0.3, "30 % of the positive": {1: 0.3}, "30 % of the negative": {-1: 0.3}}


def run() -> list[dict[str, Any]]:
    """Measure links, constraints, clusters with estimated noise, and size."""
    rows = []
    for name, data, auc in (("Cora", datasets.load_cora(), 0.78), ("Citeseer", datasets.load_citeseer(), 0.72)):
        pairs = Pairs.from_graph(data.edges, n_samples=len(data.target), random_state=0)
        rows += audited(f"{name}, citations", data.data, pairs, data.target, auc=auc, error=0.04, links=True)
        flipped = pairs.flip(FLIPPED, random_state=0)
        rows += audited(f"{name}, 20 % flipped", data.data, flipped, data.target, links=True)
        rows += clustered(f"{name}, 20 % flipped", data.data, flipped, data.target)
    for within in (0.6, 0.8, 0.9):
        X, edges, y = topics_and_links(within)
        pairs = Pairs.from_graph(edges, n_samples=len(y), random_state=0)
        rows += audited(f"synthetic documents, {within:.0%} within", X, pairs, y, links=True)
    for name in ("digits", "wine", "heart", "australian", "ionosphere"):
        X, y = samples(name)
        for degree, lift, nearness in SIMILAR_LINKS:
            edges = similar_links(X, y, degree=degree, lift=lift, nearness=nearness)
            pairs = Pairs.from_graph(edges, n_samples=len(y), random_state=0)
            rows += audited(f"{name}, {degree // 2} n links of similar samples", X, pairs, y, links=True)
    for k in (2, 3, 5):
        X, y = overlapping_blobs(k)
        pairs = Pairs.from_labels(y, n_pairs=10 * len(y), random_state=0)
        for name, rate in FLIPS.items():
            rows += audited(f"{k} blobs, {name} flipped", X, pairs.flip(rate, random_state=0), y, auc=0.85, error=0.04)
    for name in ("digits", *UCI):
        X, y = samples(name)
        for per_sample, auc in CONSTRAINTS.items():
            pairs = Pairs.from_labels(y, n_pairs=per_sample * len(y), random_state=1).flip(FLIPPED, random_state=2)
            rows += audited(f"{name}, {per_sample} n constraints", X, pairs, y, auc=auc)
    X, y = samples("digits")
    pairs = Pairs.from_labels(y, n_pairs=10 * len(y), random_state=0)
    balanced = (pairs.positive + pairs.negative[: len(pairs.positive)]).flip(FLIPPED, random_state=1)
    rows += clustered("digits, 20 % flipped", X / 16, balanced, y)
    large = in_fresh_process(audit_large)
    rows.append(record("50,000 documents, 100,000 links: AUC", large.result, ""))
    rows.append(record("50,000 documents, 100,000 links: time", large.seconds, "s", at_most=300))
    rows.append(record("50,000 documents, 100,000 links: peak memory", large.peak_bytes / 1e9, "GB"))
    return rows


def audited(
    name: str,
    X: Any,
    pairs: Pairs,
    y: Any,
    *,
    auc: float | None = None,
    error: float | None = None,
    links: bool = False,
) -> list[dict[str, Any]]:
    """Return AUC (of links alone, if wanted), errors of d+ and d-, and how far d+ is outside of its interval."""
    audit = audit_pairs(X, pairs, random_state=0)
    wrong, positive = pairs.labels != pairs.true_labels(y), pairs.labels > 0
    judged = positive if links else np.ones(len(pairs), dtype=bool)
    found = audit.noise.precision_positive, audit.noise.precision_negative
    right = 1 - wrong[positive].mean(), 1 - wrong[~positive].mean()
    errors = [found[0] - right[0], found[1] - right[1]]
    low, high = audit.intervals["precision_positive"]
    return [
        record(f"{name}: AUC", roc_auc_score(wrong[judged], 1 - audit.quality[judged]), "", at_least=auc),
        record(f"{name}: |d+ - truth|", abs(errors[0]), "", at_most=error),
        record(f"{name}: |d- - truth|", abs(errors[1]), ""),
        record(f"{name}: d+ outside its interval by", max(low - right[0], right[0] - high, 0.0), ""),
    ]


def clustered(name: str, X: Any, pairs: Pairs, y: Any) -> list[dict[str, Any]]:
    """Return the NMI of clusters by LKCnpc with estimated noise, and what is lost against true rates."""
    truth = PairNoise.estimate(pairs, pairs.true_labels(y), np.arange(len(pairs)))
    scores = {}
    for how, noise in (("estimated", "auto"), ("true", truth)):
        learner = PairKernelLearner(noise=noise, random_state=0)
        model = PairKernelClustering(learner=learner, n_clusters=len(np.unique(y)), random_state=0)
        scores[how] = normalized_mutual_info(y, model.fit(X, pairs=pairs).labels_)
    return [
        record(f"{name}: NMI with estimated noise", scores["estimated"], ""),
        record(f"{name}: NMI lost against true rates", scores["true"] - scores["estimated"], "", at_most=0.02),
    ]


def topics_and_links(within: float, *, n: int = 2000, k: int = 6, n_words: int = 1200) -> tuple[Any, Any, Any]:
    """Return words, edges and topics; topics have subtopics, and samples differ in degree and in how clear they are."""
    rng = np.random.default_rng(int(100 * within))
    y, sub = rng.integers(0, k, n), rng.integers(0, 3, n)
    clarity = rng.beta(2, 4, n)[:, None]
    words, kind = rng.integers(0, n_words, (n, 20)), rng.random((n, 20))
    topic, subtopic = words // k * k + y[:, None], words // (3 * k) * 3 * k + (3 * y + sub)[:, None]
    words = np.where(kind < 0.6 * clarity, topic, np.where(kind < clarity, subtopic, words)) % n_words
    X = sp.csr_array((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 20)), shape=(n, n_words))
    X.sum_duplicates()
    activity = rng.pareto(2.5, n) + 0.3
    ends = rng.choice(n, (40 * n, 2), p=activity / activity.sum())
    same = y[ends[:, 0]] == y[ends[:, 1]]
    kept = 2 * n
    edges = [ends[same][: int(within * kept)], ends[~same][: kept - int(within * kept)]]
    edges = np.concatenate(edges)
    return X, edges[edges[:, 0] != edges[:, 1]], y


def samples(name: str) -> tuple[Any, Any]:
    """Return features and classes of a set."""
    if name in UCI:
        return getattr(datasets, f"load_{name}")(return_X_y=True)
    return {"digits": load_digits, "wine": load_wine}[name](return_X_y=True)


def similar_links(X: Any, y: Any, *, degree: int, lift: float, nearness: float) -> Any:
    """Return edges of chance exp(-nearness d^2 / median), ``lift`` times as often within classes, with hubs."""
    rng, n = np.random.default_rng(0), len(y)
    squares = pairwise_distances(StandardScaler().fit_transform(X), metric="sqeuclidean")
    activity = rng.pareto(2.5, n) + 0.3
    chance = np.exp(-nearness * squares / np.median(squares)) * np.outer(activity, activity)
    chance = np.triu(chance * np.where(np.equal.outer(y, y), lift, 1.0), 1).ravel()
    drawn = rng.choice(n * n, degree * n // 2, replace=False, p=chance / chance.sum())
    return np.column_stack(np.divmod(drawn, n))


def overlapping_blobs(k: int, *, n: int = 150, spread: float = 0.5) -> tuple[Any, Any]:
    """Return k Gaussian classes around the unit vectors, and the classes."""
    y = np.arange(n) % k
    return np.eye(k)[y] + spread * np.random.default_rng(k).standard_normal((n, k)), y


def audit_large() -> float:
    """Return the AUC of 100,000 links of 50,000 synthetic documents."""
    X, links, topics = documents(50_000, words=True, links_per_document=2)
    audit = audit_pairs(X, links, random_state=0)
    return float(roc_auc_score(links.labels != links.true_labels(topics), 1 - audit.quality))
