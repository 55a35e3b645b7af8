"""The tour: what kernelwise does with supervision that is partly wrong, on the data it ships. Run by `make demo`."""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernelwise import (
    LinkedClustering,
    PairKernelClustering,
    PairKernelLearner,
    PairNoise,
    Pairs,
    RobustMKLClassifier,
    SimpleMKLClassifierCV,
    flip_labels,
)
from kernelwise.datasets import load_breast_cancer, load_cora
from kernelwise.metrics import normalized_mutual_info

OUTPUT = Path("demo-output")


def noisy_links() -> list[dict]:
    """How many citations cross topics, and how well the topics can be told in spite of it."""
    papers = load_cora()
    topics = len(papers.target_names)
    pairs = Pairs.from_graph(papers.edges, n_samples=papers.data.shape[0], random_state=0)
    checked = range(0, len(pairs), 10)
    noise = PairNoise.estimate(pairs, pairs[checked].true_labels(papers.target), checked)
    models = {
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


def noisy_labels() -> list[dict]:
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


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as handle:
        handle.write(text)
    os.replace(handle.name, path)


def main() -> int:
    """Run every part and print one table."""
    OUTPUT.mkdir(exist_ok=True)
    rows = noisy_links() + noisy_labels()
    width = max(len(row["what"]) for row in rows)
    table = "\n".join(f"{row['what']:<{width}}  {row['result']}" for row in rows)
    print("\nkernelwise: learning from supervision that cannot be trusted\n")
    print(table)
    write_whole(OUTPUT / "summary.txt", table + "\n")
    write_whole(OUTPUT / "summary.json", json.dumps(rows, indent=2) + "\n")
    print(f"\nWritten to {OUTPUT}/summary.txt and {OUTPUT}/summary.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
