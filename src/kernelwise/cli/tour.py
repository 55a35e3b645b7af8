"""The tour: what kernelwise does with supervision that is partly wrong, on the data it ships."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from .. import (
    LinkedClustering,
    PairKernelClustering,
    PairKernelLearner,
    PairNoise,
    Pairs,
    RobustMKLClassifier,
    SimpleMKLClassifierCV,
    files,
    flip_labels,
)
from ..datasets import load_breast_cancer, load_cora
from ..metrics import normalized_mutual_info

__all__ = ["tour", "write_summary"]

Row = dict[str, str]


def noisy_links() -> list[Row]:
    """How many citations cross topics, and how well the topics can be told in spite of it."""
    papers = load_cora()
    topics = len(papers.target_names)
    pairs = Pairs.from_graph(papers.edges, n_samples=papers.data.shape[0], random_state=0)
    checked = range(0, len(pairs), 10)
    noise = PairNoise.estimate(pairs, pairs[checked].true_labels(papers.target), checked)
    models: dict[str, tuple[Any, Pairs | None]] = {
        "words alone": (PairKernelClustering(n_clusters=topics, random_state=0), None),
        "words, weighted by noisy links": (
            PairKernelClustering(PairKernelLearner(noise=noise), n_clusters=topics, random_state=0),
            pairs,
        ),
        "words, smoothed over the links": (LinkedClustering(topics, random_state=0), pairs),
    }
    linked = len(pairs.positive)
    wrong = round((1 - pairs.positive.agreement(papers.target)) * linked)
    return [
        {"what": "Cora: links taken as 'same topic'", "result": f"{linked}"},
        {"what": "  of which wrong (the papers differ in topic)", "result": f"{wrong} ({wrong / linked:.0%})"},
        {
            "what": "  non-links sampled as 'other topic', of which wrong",
            "result": f"{1 - pairs.negative.agreement(papers.target):.0%}",
        },
        *(
            {
                "what": f"  topics found from {name} (NMI, 1 is perfect)",
                "result": f"{normalized_mutual_info(papers.target, model.fit(papers.data, pairs=given).labels_):.2f}",
            }
            for name, (model, given) in models.items()
        ),
    ]


def noisy_labels() -> list[Row]:
    """Three labels in ten are wrong. Learn from them all the same, and say how good the answer is."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: int(0.8 * len(y))], order[int(0.8 * len(y)) :]
    given = flip_labels(y[train], 0.3, random_state=0)
    started = time.perf_counter()
    model = SimpleMKLClassifierCV(random_state=0).fit(X[train], given)
    seconds = time.perf_counter() - started
    told = RobustMKLClassifier(noise_rate=0.3, random_state=0).fit(X[train], given)
    grid = {"svc__C": 10.0 ** np.arange(-2, 3), "svc__gamma": [0.01, 0.03, 0.1, 0.3, 1.0]}
    svm = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid).fit(X[train], given)
    best = model.kernel_table()[0]
    return [
        {"what": "Breast cancer: training labels that are wrong", "result": f"{np.mean(given != y[train]):.0%}"},
        {"what": "  right on new cases: SVM tuned on these labels", "result": f"{svm.score(X[test], y[test]):.1%}"},
        {
            "what": "  right on new cases: SimpleMKLClassifierCV, tuned on these labels",
            "result": f"{model.score(X[test], y[test]):.1%} (one split; the tables in docs/reproduction have many)",
        },
        {
            "what": "  right on new cases: RobustMKLClassifier, told the noise rate",
            "result": f"{told.score(X[test], y[test]):.1%}",
        },
        {
            "what": "  certified distance of SimpleMKLClassifierCV to its optimum",
            "result": f"{model.dual_gap_ / model.objective_:.0e} of the objective; whole path in {seconds:.1f} s",
        },
        {
            "what": f"  kernels it uses, of {model.n_kernels_}",
            "result": f"{len(model.kernel_table())}, most of all {best['kernel']} on {best['features']}",
        },
    ]


#: The parts of the tour and what they are about.
PARTS: dict[str, Callable[[], list[Row]]] = {"noisy links": noisy_links, "noisy labels": noisy_labels}


def tour(begin: Callable[[str], None]) -> list[Row]:
    """Run every part, telling ``begin`` its name first, and return what was found, line by line."""
    rows = []
    for name, part in PARTS.items():
        begin(name)
        rows += part()
    return rows


def write_summary(rows: list[Row], folder: Path) -> list[Path]:
    """Write what was found as text and as JSON; an earlier tour is overwritten."""
    folder.mkdir(parents=True, exist_ok=True)
    width = max(len(row["what"]) for row in rows)
    text = "".join(f"{row['what']:<{width}}  {row['result']}\n" for row in rows)
    return [
        files.write_file(folder / "summary.txt", text, force=True),
        files.write_file(folder / "summary.json", json.dumps(rows, indent=2) + "\n", force=True),
    ]
