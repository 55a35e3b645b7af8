"""The tour: what kernelwise finds in the bundled data, whose labels, links and pairs are partly wrong."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import SVC

from .. import (
    ConstrainedSpectralClustering,
    LabelAudit,
    LinkedClustering,
    NoisyLabelClassifier,
    PairCompleter,
    PairCompletionClustering,
    PairKernelClustering,
    PairKernelLearner,
    Pairs,
    audit_pairs,
    files,
    flip_labels,
)
from ..datasets import load_breast_cancer, load_citeseer, load_cora
from ..labels.describe import figures_of
from ..metrics import normalized_mutual_info
from ..progress import Tell, part
from ..report import PageSettings, label_report, write_report
from ..spectral import GramFactor

#: A finding: what was measured, and the result.
Finding = tuple[str, str]
#: The audit of links takes this share of the time of its part.
AUDITED = 0.7


def noisy_links(folder: Path, tell: Tell) -> list[Finding]:
    """How many citations join papers of different topics, and how well the topics are found all the same."""
    papers = load_cora()
    topics = len(papers.target_names)
    pairs = Pairs.from_graph(papers.edges, n_samples=papers.data.shape[0], random_state=0)
    audit = audit_pairs(papers.data, pairs, random_state=0, progress=part(tell, 0.0, AUDITED))
    mistaken = (pairs.labels > 0) & (pairs.true_labels(papers.target) < 0)
    suspects = [t for t in audit.order if pairs.labels[t] > 0][:200]
    models: dict[str, tuple[Any, Pairs | None]] = {
        "words alone": (PairKernelClustering(n_clusters=topics, random_state=0), None),
        "words, weighted by noisy links": (
            PairKernelClustering(PairKernelLearner(noise=audit.noise), n_clusters=topics, random_state=0),
            pairs,
        ),
        "words, smoothed over the links": (LinkedClustering(topics, random_state=0), pairs),
    }
    found = {}
    for done, (name, (model, given)) in enumerate(models.items(), start=1):
        found[name] = normalized_mutual_info(papers.target, model.fit(papers.data, pairs=given).labels_)
        part(tell, AUDITED, 1.0)(done, len(models))
    linked = len(pairs.positive)
    wrong = round((1 - pairs.positive.agreement(papers.target)) * linked)
    return [
        ("Cora: links taken as 'same topic'", f"{linked}"),
        ("  of which wrong (the papers differ in topic)", f"{wrong} ({wrong / linked:.0%})"),
        ("  estimated without any labels", f"{1 - audit.noise.precision_positive:.0%}"),
        ("  wrong ones among the 200 most suspect links", f"{mistaken[suspects].sum()}"),
        ("  non-links sampled as 'other topic', of which wrong", f"{1 - pairs.negative.agreement(papers.target):.0%}"),
        *((f"  topics found from {name} (NMI, 1 is perfect)", f"{nmi:.2f}") for name, nmi in found.items()),
    ]


def noisy_labels(folder: Path, tell: Tell) -> list[Finding]:
    """Three labels in ten are wrong: estimate this share, learn all the same, and write a page of the suspects."""
    data = load_breast_cancer()
    X, y = data.data, data.target
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: int(0.8 * len(y))], order[int(0.8 * len(y)) :]
    given = flip_labels(y[train], 0.3, random_state=0)
    wrong = given != y[train]
    model = NoisyLabelClassifier(random_state=0).fit(X[train], given, progress=tell)
    grid = {"svc__C": 10.0 ** np.arange(-2, 3), "svc__gamma": [0.01, 0.03, 0.1, 0.3, 1.0]}
    svm = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid).fit(X[train], given)
    names = data.target_names
    audit = LabelAudit(
        names[given],
        model.label_quality_,
        names[model.label_probabilities_.argmax(axis=1)],
        model.label_probabilities_,
        **figures_of(model) | {"classes": names},
    )
    settings = PageSettings(title="Breast cancer, three labels in ten flipped", label_name="diagnosis")
    page = label_report(audit, X=X[train], feature_names=data.feature_names, ids=train.tolist(), settings=settings)
    path = write_report(page, folder / "review.html", force=True)
    low, high = model.noise_interval_
    found = f"{model.noise_rate_:.0%} (between {low:.0%} and {high:.0%})"
    worth = audit.worth_checking()
    suspects = wrong[audit.order[:worth]]
    found_share = suspects.sum() / wrong.sum()
    return [
        ("Breast cancer: training labels that are wrong", f"{wrong.mean():.0%}"),
        ("  estimated from the wrong labels alone", found),
        (
            "  labels worth checking, and how many of them are wrong",
            f"{worth} of {len(given)}; {suspects.sum()} of them, {found_share:.0%} of all wrong ones",
        ),
        ("  right on new cases: SVM tuned on these labels", f"{svm.score(X[test], y[test]):.1%}"),
        (
            "  right on new cases: NoisyLabelClassifier, no parameter",
            f"{model.score(X[test], y[test]):.1%} (one split; docs/how-noisy.md has many sets)",
        ),
        ("  a page to review the suspects, open it in a browser", str(path)),
    ]


def known_pairs(folder: Path, tell: Tell) -> list[Finding]:
    """Complete all pairs of papers, from the similarity of their words and the truth of a few pairs."""
    papers = load_citeseer()
    y, rng = papers.target, np.random.RandomState(0)
    labelled = np.isin(np.arange(len(y)), rng.permutation(len(y))[: len(y) // 5])
    known = Pairs.from_labels(np.where(labelled, y, -1), n_pairs=20_000, random_state=0)
    similarity = GramFactor(normalize(papers.data))
    completed = PairCompletionClustering(6, completer=PairCompleter(50, random_state=0), random_state=0).fit(
        similarity, pairs=known
    )
    substituted = ConstrainedSpectralClustering(6, random_state=0).fit(similarity, pairs=known)
    nmi = [normalized_mutual_info(y, model.labels_) for model in (substituted, completed)]
    every = len(y) * (len(y) - 1) // 2
    completer = completed.completer_
    assert completer is not None  # there were pairs
    asked = Pairs.from_labels(y, n_pairs=100_000, random_state=1)
    right = np.mean(completer.predict_pairs(asked.rows, asked.cols) == asked.labels)
    return [
        ("Citeseer: pairs of papers that are known", f"{len(known)} of {every} ({len(known) / every:.1%})"),
        ("  right on 100,000 other pairs", f"{right:.0%}"),
        ("  topics found with the known pairs put into the similarity (NMI)", f"{nmi[0]:.2f}"),
        ("  topics found by completion (NMI)", f"{nmi[1]:.2f}"),
        (
            "  certified distance of the penalised fit to its optimum",
            f"{completer.solver_certificate_.relative_gap:.0e} of the objective",
        ),
    ]


def tour(
    step: Callable[[str], AbstractContextManager[Tell]], folder: Path
) -> tuple[list[dict[str, str]], str, list[Path]]:
    """Run every part; return the findings, line by line and as one text, and the files in ``folder`` that hold them.

    ``step`` is called with the name of each part and shows how far the part is. The page for review goes to ``folder``,
    too, and all files are written over those of an earlier tour.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files.check_output(folder / "review.html", force=True)
    rows = []
    parts = {"noisy labels": noisy_labels, "noisy links": noisy_links, "a few known pairs": known_pairs}
    for name, find in parts.items():
        with step(name) as tell:
            rows += [{"what": what, "result": result} for what, result in find(folder, tell)]
    width = max(len(row["what"]) for row in rows)
    text = "".join(f"{row['what']:<{width}}  {row['result']}\n" for row in rows)
    told = {folder / "summary.txt": text, folder / "summary.json": json.dumps(rows, indent=2) + "\n"}
    return rows, text, files.write_files(told, force=True)
