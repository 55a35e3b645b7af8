"""Copies, groups, leaks and annotators in audits of labels: what is found, and what it costs where there is nothing.

*Copied errors*: thirty rows get a wrong label and are repeated five more times, exactly or with noise of .01 standard
deviations. *Twins*: thirty rows are repeated once with another label. *Groups of five*: 120 groups of rows that are
near each other and share their label, of which one in five is wrong; the peers are tuned and scored in grouped folds.
*Equal by chance*: tables of categories, audited as usual and with ``groups=numpy.arange(n)``. *Leaks*: a copy of the
label of which 3 % of the cells are drawn anew or 30 % are blank, a score, a text that holds the label, a code that
begins with any letter, and a date; each beside the columns of a clean table, with 15 % of the labels wrong.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets as others
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernelwise import NoisyLabelClassifier, audit_labels, datasets, flip_labels
from kernelwise.labels.leaks import find_leaks
from kernelwise.tables.frames import as_table

from .clean_tables import BUNDLED, SEVERAL, clean_tables
from .measure import record

TITLE = "Audits of labels with copies, groups and leaks"
N_SEEDS, N_GROUP_SEEDS, MOST_ROWS = 3, 8, 300
CATEGORIES = ("breast_cancer", "splice")
PEERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "logistic regression": (LogisticRegression(max_iter=2000), {"C": [0.01, 0.1, 1.0, 10.0]}),
    "RBF SVC": (SVC(), {"C": [0.1, 1.0, 10.0], "gamma": ["scale", 0.03, 0.3]}),
    "random forest": (RandomForestClassifier(200, random_state=0), {"min_samples_leaf": [3, 15]}),
}

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


def tables() -> Iterator[tuple[str, Array, Labels]]:
    """Tables of numbers without copies."""
    for name in BUNDLED:
        if name not in CATEGORIES:
            yield name, *bundled(name)
    for name in ("wine", "breast_cancer"):
        data = getattr(others, f"load_{name}")()
        yield f"scikit-learn's {name}", *some_rows(data.data, data.target, MOST_ROWS)
    yield "made", *others.make_classification(MOST_ROWS, 10, n_informative=5, flip_y=0, random_state=0)


def bundled(name: str, n_rows: int = MOST_ROWS) -> tuple[Array, Labels]:
    data = getattr(datasets, f"load_{name}")()
    return some_rows(np.asarray(data.data, dtype=float), np.unique(data.target, return_inverse=True)[1], n_rows)


def some_rows(X: Array, y: Labels, n_rows: int) -> tuple[Array, Labels]:
    few = np.linspace(0, len(y) - 1, min(n_rows, len(y))).astype(np.intp)
    return X[few], y[few]


def audited(X: Array, given: Labels, wrong: NDArray[np.bool_], **options: Any) -> tuple[float, bool, bool]:
    """Return the area under the curve, whether the range holds the truth, and whether it is called reliable."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # many copies
        audit = audit_labels(X, given, random_state=0, **options)
    low, high = audit.noise_interval
    area = float(roc_auc_score(wrong, -audit.quality))
    return area, bool(low <= wrong.mean() <= high), bool(audit.diagnostic["reliable"])


def other_label(y: Labels, rows: NDArray[np.intp], draw: np.random.RandomState) -> Labels:
    n_classes = int(y.max()) + 1
    changed = y.copy()
    changed[rows] = (y[rows] + draw.randint(1, n_classes, len(rows))) % n_classes
    return changed


def copied(X: Array, y: Labels, away: float, seed: int, *, twins: bool = False) -> tuple[Array, Labels, Any]:
    draw = np.random.RandomState(seed)
    chosen = draw.choice(len(y), 30, replace=False)
    rows = np.concatenate([np.arange(len(y)), np.tile(chosen, 1 if twins else 5)])
    moved = away * draw.randn(len(rows), X.shape[1]) * X.std(axis=0) * (np.arange(len(rows)) >= len(y))[:, None]
    given = other_label(y, chosen, draw)[rows]
    if twins:
        given[: len(y)] = y
    return X[rows] + moved, given, given != y[rows]


def copies() -> list[dict[str, Any]]:
    measured = []
    for kind, away, twins in (("exact copies", 0.0, False), ("near copies", 0.01, False), ("twins", 0.0, True)):
        found = [
            (name, *audited(*copied(X, y, away, seed, twins=twins)))
            for name, X, y in tables()
            for seed in range(N_SEEDS)
        ]
        areas = {name: np.mean([one[1] for one in found if one[0] == name]) for name, *_ in found}
        for name, area in areas.items():
            measured.append(record(f"{kind}, {name}: AUC of wrong labels", float(area), "", at_least=0.85))
        reliable = float(np.mean([one[3] for one in found]))
        measured.append(record(f"{kind}: called reliable", reliable, "share of fits", at_most=0.0))
        holds = float(np.mean([one[2] for one in found]))
        measured.append(record(f"{kind}: the range holds the truth", holds, "share of fits", at_least=0.9))
    return measured


def groups() -> list[dict[str, Any]]:
    """Audits of groups of five, against peers with grouped folds."""
    areas: dict[str, list[float]] = {name: [] for name in ("kernelwise", *PEERS)}
    for seed in range(N_GROUP_SEEDS):
        X, y = others.make_classification(120, 8, n_informative=4, flip_y=0, random_state=seed)
        group, draw = np.repeat(np.arange(120), 5), np.random.RandomState(seed)
        X = X[group] + 0.05 * draw.randn(600, 8) * X.std(axis=0)
        wrong = (draw.rand(120) < 0.2)[group]
        given = np.where(wrong, 1 - y[group], y[group])
        areas["kernelwise"].append(audited(X, given, wrong, groups=group)[0])
        for name, (model, grid) in PEERS.items():
            steps = make_pipeline(StandardScaler(), model)
            path = {f"{steps.steps[-1][0]}__{key}": values for key, values in grid.items()}
            best = GridSearchCV(steps, path, cv=GroupKFold(5)).fit(X, given, groups=group).best_estimator_
            method = "decision_function" if isinstance(model, SVC) else "predict_proba"
            said = cross_val_predict(best, X, given, groups=group, cv=GroupKFold(5), method=method)
            score = said if said.ndim == 1 else said[:, 1] - 0.5
            areas[name].append(float(roc_auc_score(wrong, np.where(given == 1, -score, score))))
    means = {name: float(np.mean(values)) for name, values in areas.items()}
    least = {"kernelwise": max(means[name] for name in PEERS) - 0.02}
    return [
        record(f"groups of five, {name}: AUC of wrong labels", mean, "", at_least=least.get(name))
        for name, mean in means.items()
    ]


def equal_by_chance() -> list[dict[str, Any]]:
    """What the search for copies costs on tables of categories with independent errors."""
    measured = []
    draw = np.random.RandomState(0)
    party = draw.randint(2, size=(400, 1))
    sets = [(name, *bundled(name, 800)) for name in CATEGORIES]
    sets += [("votes", np.where(draw.rand(400, 10) < 0.85, party, 1 - party).astype(float), party.ravel())]
    for name, X, y in sets:
        given = flip_labels(y, 0.2, random_state=0)
        areas = [
            roc_auc_score(given != y, -NoisyLabelClassifier(random_state=0).fit(X, given, groups=one).label_quality_)
            for one in (None, np.arange(len(y)))
        ]
        measured.append(record(f"equal by chance, {name}: change of AUC", areas[0] - areas[1], "", at_least=-0.002))
    return measured


def leaking(given: NDArray[Any], draw: np.random.RandomState) -> dict[str, Any]:
    """Columns that were made from the labels, and lost something."""
    n, code = len(given), np.unique(given, return_inverse=True)[1]
    anew = np.where(draw.rand(n) < 0.03, draw.choice(given, n), given)
    towns = draw.choice(["Ulm", "Bern", "Graz", "Linz"], (n, 3))
    late = pd.to_datetime("2024-01-01") + pd.to_timedelta(400 * code + draw.randint(300, size=n), unit="D")
    return {
        "3 % drawn anew": anew,
        "30 % blank": np.where(draw.rand(n) < 0.3, None, given),
        "a score": code + 0.2 * draw.randn(n),
        "a text": [f"{' and '.join(names)} a {label} case" for names, label in zip(towns, given, strict=True)],
        "a code of many values": [f"{k}{one}" for k, one in zip(draw.choice(list("abc"), n), anew, strict=True)],
        "a date": pd.Series(late),
    }


def leaks() -> list[dict[str, Any]]:
    """Leaks that are found in clean tables, and clean tables of which a column is named."""
    found: dict[str, list[bool]] = {}
    alarms: dict[float, list[bool]] = {0.0: [], 0.15: []}
    several: list[bool] = []
    for seed, (name, frame, y) in enumerate(clean_tables()):
        for rate, named in alarms.items():
            given = np.char.add("class ", flip_labels(y, rate, random_state=0).astype(str)).astype(object)
            (several if name in SEVERAL else named).append(bool(find_leaks(as_table(frame), given)))
        for kind, column in leaking(given, np.random.RandomState(seed)).items():
            own = [one.column for one in find_leaks(as_table(frame.assign(late=column)), given)]
            found.setdefault(kind, []).append(own == ["late"])
    measured = [
        record(f"leak, {kind}: named", float(np.mean(values)), "share of tables", at_least=0.8)
        for kind, values in found.items()
    ]
    for rate, named in alarms.items():
        what = f"no leak, {rate:.0%} of the labels wrong, {len(named)} tables: a column is named"
        measured.append(record(what, float(np.mean(named)), "share of tables", at_most=0.0))
    what = "no leak, several columns each tell nearly all: named"
    measured.append(record(what, float(np.mean(several)), "share of tables"))
    for right in (0.94, 0.95, 0.97):
        honest = [bool(find_leaks(*one_strong_category(right, np.random.RandomState(seed)))) for seed in range(10)]
        what = f"no leak, one category tells {right:.0%} of 1,000 labels: named"
        measured.append(record(what, float(np.mean(honest)), "share of tables"))
    return measured


def one_strong_category(right: float, draw: np.random.RandomState) -> tuple[Any, NDArray[Any]]:
    """A table in which a category tells this share of the labels, all of them right, and the other columns little."""
    y = draw.randint(2, size=1000)
    told = np.where(draw.rand(1000) < right, y, 1 - y)
    frame = pd.DataFrame(draw.randn(1000, 3) + 0.4 * y[:, None]).add_prefix("x")
    return as_table(frame.assign(strong=np.array(["oak", "fir"])[told])), np.array(["no", "yes"], dtype=object)[y]


def run() -> list[dict[str, Any]]:
    return copies() + groups() + equal_by_chance() + leaks()
