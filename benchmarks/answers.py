"""Several answers per row: is the consensus right, how good is every source, and are the chances true?

``python -m benchmarks answers --data FOLDER`` reads sets of answers with known truth from the ``.npz`` files of the
folder and of its folders ``crowd`` and ``llm``. Competitors are the majority, the aggregators of crowd-kit, and, where
there are features, CROWDLAB of cleanlab with logistic regression tuned on the majority's labels; those that are not
installed are left out.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.preprocessing import StandardScaler

import kernelwise as kw

from .measure import in_fresh_process, record

TITLE = "Several answers per row: right consensus labels, accuracies of sources, and whether chances are true"

OURS, WITHOUT = "kernelwise with features", "kernelwise without features"
LOGISTIC_C = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
#: A consensus may be so much worse than the best competitor of its set, and claim so much more or less than is true.
BEHIND, OFF = 0.005, 0.12
#: The mean over sets has to be above that of the best competitor by so much: with features, and without.
AHEAD, AHEAD_WITHOUT = 0.015, 0.005
#: ... and the mean distance between claimed and true shares is at most this.
OFF_IN_THE_MEAN = 0.05
#: The accuracies of sources are off by at most this in the mean over sets, and their intervals hold this share of them.
SOURCES_OFF, SOURCES_COVERED = 0.04, 0.9
#: Seconds and bytes for many answers, with features and without.
SECONDS, SECONDS_WITHOUT, MEMORY = 120, 20, 3e9
#: With so many answers per row, the consensus is not worse than the majority.
MANY = 10


class Crowd(NamedTuple):
    """Answers as positions, with the truth (-1 where it is not known) and the features, if there are any."""

    name: str
    X: Any
    rows: NDArray[np.intp]
    sources: NDArray[Any]
    labels: NDArray[np.intp]
    truth: NDArray[np.intp]

    @property
    def answers(self) -> kw.Answers:
        return kw.Answers(self.rows, self.sources, self.labels, n_rows=len(self.truth))

    @property
    def known(self) -> NDArray[np.bool_]:
        """The rows with an answer whose truth is known."""
        return (self.truth >= 0) & (np.bincount(self.rows, minlength=len(self.truth)) > 0)


def crowds(data: Path) -> Iterator[Crowd]:
    """All sets of answers below a folder."""
    read = _reader(data)
    z = read("labelme_crowd")
    yield from _wide("labelme", PCA(64, random_state=0).fit_transform(z["X"].astype(float)), z["answers"], z["y_true"])
    z = read("sentiment_crowd")
    some = np.random.RandomState(0).permutation(len(z["y_true"]))[:1500]
    yield from _wide("sentiment", words(z["text"][some]), z["answers"][some], z["y_true"][some])
    z = read("cifar10n_10k")
    some = np.random.RandomState(0).permutation(len(z["X"]))[:2000]
    given = np.stack([z[f"random_label{k}"][some] for k in (1, 2, 3)], axis=1)
    yield from _wide("cifar10n", z["X"][some][:, :64].astype(float), given, z["clean_label"][some])
    z = read("crowd/noisyag_3annotators")
    yield from _wide("noisyag", words(z["text"]), z["answers"], z["y_true"])
    z = read("youtube_wrench")
    yield from _wide("youtube (rules)", words(z["text"]), z["weak"], z["y_true"])
    for name in ("rte", "dog", "web"):
        z = read(f"crowd/{name}")
        yield Crowd(name, None, *z["answers"].astype(np.intp).T, z["y_true"].astype(np.intp))
    z = read("er_product")
    yield Crowd("products", None, *z["answers"].astype(np.intp).T, z["y_true"].astype(np.intp))
    for path in sorted((data / "llm").glob("*.npz")):
        z = read(f"llm/{path.stem}")
        classes = np.unique(z["y_true"].astype(str))
        place = {label: k for k, label in enumerate(classes.tolist())}
        given = np.array([[place.get(cell, -1) for cell in row] for row in z["answers"].astype(str).tolist()])
        truth = np.searchsorted(classes, z["y_true"].astype(str))
        names = z["annotators"].astype(str)
        yield from _wide(f"models: {path.stem}", words(z["text"]), given, truth, names)


def _reader(data: Path) -> Callable[[str], Any]:
    return lambda name: np.load(data / f"{name}.npz", allow_pickle=False)


def _wide(name: str, X: Any, given: Any, truth: Any, names: Any = None) -> Iterator[Crowd]:
    rows, sources = np.nonzero(np.asarray(given) >= 0)
    labels = np.asarray(given)[rows, sources].astype(np.intp)
    yield Crowd(name, X, rows, sources if names is None else names[sources], labels, np.asarray(truth, dtype=np.intp))


def words(texts: Any) -> Any:
    """Texts as tf-idf of their words."""
    return TfidfVectorizer(min_df=2, max_features=5000, sublinear_tf=True).fit_transform(texts)


def majority(crowd: Crowd) -> NDArray[np.intp]:
    """The label with most answers; a draw among equals."""
    votes = np.zeros((len(crowd.truth), 1 + max(crowd.labels.max(), crowd.truth.max())))
    np.add.at(votes, (crowd.rows, crowd.labels), 1)
    return np.asarray((votes + 1e-6 * np.random.RandomState(0).rand(*votes.shape)).argmax(axis=1))


def competitors(crowd: Crowd) -> dict[str, float]:
    """The share of right labels of every competitor that is installed."""
    found = {"majority": _right(crowd, majority(crowd))}
    with suppress(ImportError):
        found |= _crowd_kit(crowd)
    if crowd.X is not None:
        with suppress(ImportError):
            found["CROWDLAB"] = _crowdlab(crowd)
    return found


def _crowd_kit(crowd: Crowd) -> dict[str, float]:
    import pandas as pd
    from crowdkit.aggregation import GLAD, MACE, DawidSkene, OneCoinDawidSkene

    frame = pd.DataFrame({"task": crowd.rows, "worker": crowd.sources, "label": crowd.labels})
    methods = {
        "Dawid-Skene": DawidSkene(n_iter=100),
        "one-coin": OneCoinDawidSkene(n_iter=100),
        "GLAD": GLAD(n_iter=50),
        "MACE": MACE(n_iter=30, n_restarts=5, random_state=0),
    }
    found = {}
    for name, method in methods.items():
        labels = np.full(len(crowd.truth), -1)
        answer = method.fit_predict(frame)
        labels[answer.index.to_numpy()] = answer.to_numpy()
        found[name] = _right(crowd, labels)
    return found


def _crowdlab(crowd: Crowd) -> float:
    import pandas as pd
    from cleanlab.multiannotator import get_label_quality_multiannotator

    answered = np.flatnonzero(np.bincount(crowd.rows, minlength=len(crowd.truth)) > 0)
    names, source = np.unique(crowd.sources, return_inverse=True)
    table = np.full((len(crowd.truth), len(names)), np.nan)
    table[crowd.rows, source] = crowd.labels
    given = majority(crowd)[answered]
    classes, given = np.unique(given, return_inverse=True)
    X = crowd.X[answered]
    X = X if sp.issparse(X) else StandardScaler().fit_transform(X)
    models = [LogisticRegression(C=C, max_iter=1000) for C in LOGISTIC_C]
    best = max(models, key=lambda model: cross_val_score(model, X, given, cv=5, scoring="neg_log_loss").mean())
    chances = cross_val_predict(best, X, given, cv=5, method="predict_proba")
    frame = pd.DataFrame(np.searchsorted(classes, np.where(np.isnan(table[answered]), classes[0], table[answered])))
    frame = frame.where(~np.isnan(table[answered])).dropna(axis=1, how="all")
    found = get_label_quality_multiannotator(frame, chances, verbose=False)["label_quality"]["consensus_label"]
    labels = np.full(len(crowd.truth), -1)
    labels[answered] = classes[found.to_numpy().astype(int)]
    return _right(crowd, labels)


def _right(crowd: Crowd, labels: NDArray[Any]) -> float:
    return float(np.mean(labels[crowd.known] == crowd.truth[crowd.known]))


def audited(crowd: Crowd, X: Any) -> dict[str, float]:
    """What our audit finds, beside the truth."""
    start = process_time()
    audit = kw.audit_answers(X, crowd.answers, random_state=0)
    seconds, known = process_time() - start, crowd.known
    labels = np.array([-1 if label is None else int(label) for label in audit.labels.tolist()])
    right = labels[known] == crowd.truth[known]
    claimed = audit.quality[known].mean()
    low, high = audit.noise_interval
    wrong = 1 - right.mean()
    said = crowd.truth[crowd.rows] >= 0
    correct = crowd.labels == crowd.truth[crowd.rows]
    errors, held = [], []
    for source, accuracy, least, most in audit.sources[["source", "accuracy", "low", "high"]].tolist():
        own = said & (crowd.sources == source)
        if own.sum() >= 20:
            share = correct[own].mean()
            errors.append(abs(accuracy - share))
            held.append(least <= share <= most)
    audit_areas = [
        roc_auc_score(correct[own], audit.answer_quality[own])
        for source in np.unique(crowd.sources)
        if 0 < correct[own := said & (crowd.sources == source)].mean() < 1 and own.sum() >= 100
    ]
    return {
        "right": float(right.mean()),
        "claimed": float(claimed),
        "range_holds": float(low - 1e-9 <= wrong <= high + 1e-9),
        "range_width": high - low,
        "source_error": float(np.mean(errors)) if errors else np.nan,
        "sources_covered": float(np.mean(held)) if held else np.nan,
        "answer_area": float(np.mean(audit_areas)) if audit_areas else np.nan,
        "seconds": seconds,
    }


def run(data: Path) -> list[dict[str, Any]]:
    """Measure every set, then the means over sets."""
    rows: list[dict[str, Any]] = []
    with_features: list[tuple[dict[str, float], dict[str, float]]] = []
    without: list[tuple[dict[str, float], dict[str, float]]] = []
    final: list[dict[str, float]] = []
    for crowd in crowds(data):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            others, alone = competitors(crowd), audited(crowd, None)
            seen = alone if crowd.X is None else audited(crowd, crowd.X)
        rows += [record(f"{crowd.name}: {name}", right, "right") for name, right in others.items()]
        rows.append(record(f"{crowd.name}: {WITHOUT}", alone["right"], "right"))
        floor = max(others.values()) - BEHIND
        if len(crowd.rows) >= MANY * len(crowd.truth):
            floor = max(floor, others["majority"])
        rows.append(record(f"{crowd.name}: {OURS}", seen["right"], "right", at_least=floor))
        off = abs(seen["claimed"] - seen["right"])
        rows.append(record(f"{crowd.name}: |claimed - true|", off, "", at_most=OFF))
        rows += [record(f"{crowd.name}: {name}", seen[name], "") for name in seen if name not in ("right", "claimed")]
        without.append(({name: right for name, right in others.items() if name != "CROWDLAB"}, alone))
        final.append(seen)
        if crowd.X is not None:
            with_features.append((others, seen))
    rows.append(_ahead("with features", with_features, AHEAD))
    rows.append(_ahead("without features", without, AHEAD_WITHOUT))
    rows.append(record("mean over sets without features: |claimed - true|", _mean_off([one for _, one in without]), ""))
    off = _mean_off(final)
    rows.append(record("mean over sets: |claimed - true|", off, "", at_most=OFF_IN_THE_MEAN))
    off, covered = (float(np.nanmean([one[name] for one in final])) for name in ("source_error", "sources_covered"))
    rows.append(record("mean over sets: accuracies of sources off by", off, "", at_most=SOURCES_OFF))
    rows.append(record("mean over sets: sources covered", covered, "", at_least=SOURCES_COVERED))
    return [*rows, *of_one_model(data), *random_source(), *planned(data), *of_many_answers()]


def _mean_off(found: list[dict[str, float]]) -> float:
    return float(np.mean([abs(one["claimed"] - one["right"]) for one in found]))


def _ahead(what: str, found: list[tuple[dict[str, float], dict[str, float]]], at_least: float) -> dict[str, Any]:
    """How far the mean over sets is above that of the single competitor with the highest mean."""
    names = set.intersection(*(set(others) for others, _ in found))
    best = max(float(np.mean([others[name] for others, _ in found])) for name in names)
    ours = float(np.mean([one["right"] for _, one in found]))
    return record(f"mean over sets {what}: above the best competitor", ours - best, "right", at_least=at_least)


def of_one_model(data: Path) -> list[dict[str, Any]]:
    """The labels of one language model, audited by the answers of the others: area under the curve."""
    areas, alone = [], []
    for crowd in crowds(data):
        if not crowd.name.startswith("models"):
            continue
        own = crowd.sources == "chatgpt"
        wrong = crowd.labels[own] != crowd.truth[crowd.rows[own]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            quality = kw.audit_answers(crowd.X, crowd.answers, random_state=0).labels_of("chatgpt").quality
        given = np.full(len(crowd.truth), -1)
        given[crowd.rows[own]] = crowd.labels[own]
        others = ~own & (given[crowd.rows] >= 0)
        differ = np.bincount(crowd.rows[others], crowd.labels[others] != given[crowd.rows[others]], len(crowd.truth))
        differ = differ / np.maximum(np.bincount(crowd.rows[others], minlength=len(crowd.truth)), 1)
        areas.append(roc_auc_score(wrong, 1 - quality[crowd.rows[own]]))
        alone.append(roc_auc_score(wrong, differ[crowd.rows[own]]))
        print(crowd.name, round(areas[-1], 3), round(alone[-1], 3))
    return [
        record("labels of one language model: disagreement alone", float(np.mean(alone)), "area"),
        record("labels of one language model", float(np.mean(areas)), "area", at_least=0.72),
    ]


def random_source(n_seeds: int = 20) -> list[dict[str, Any]]:
    """One column of labels, a column that says who of four gave it, and one of them answers at random."""
    found = []
    for load in (load_wine, load_breast_cancer, load_iris):
        X, y = load(return_X_y=True)
        named = 0
        for seed in range(n_seeds):
            draw = np.random.RandomState(seed)
            who = np.array(list("ABCD"))[draw.randint(4, size=len(y))]
            given = np.where(who == "C", draw.randint(y.max() + 1, size=len(y)), y)
            audit = kw.audit_answers(X, kw.Answers.from_column(given, who), random_state=seed)
            named += audit.sources["source"][audit.sources["accuracy"].argmin()] == "C"
        found.append(record(f"a random source among four, {load.__name__[5:]}", named, "seeds", at_least=n_seeds))
    return found


def planned(data: Path, n_seeds: int = 8) -> list[dict[str, Any]]:
    """Planned answers, asked for in ten rounds, beside twice as many random ones, from recorded answers."""
    wanted = {"dog": 2, "rte": 2, "sentiment": 3}
    found = []
    for crowd in crowds(data):
        if crowd.name not in wanted:
            continue
        gain = np.mean([_simulate(crowd, wanted[crowd.name], seed) for seed in range(n_seeds)], axis=0)
        print(crowd.name, "at first, as many random, twice as many random, planned:", gain.round(3).tolist())
        found.append(record(f"{crowd.name}: planned - twice as many", gain[3] - gain[2], "right", at_least=-0.005))
    return found


def _simulate(crowd: Crowd, at_first: int, seed: int, n_rounds: int = 10) -> tuple[float, float, float, float]:
    draw = np.random.RandomState(seed)
    order = draw.permutation(len(crowd.rows))
    by_row = order[np.argsort(crowd.rows[order], kind="stable")]
    starts = np.searchsorted(crowd.rows[by_row], np.arange(len(crowd.truth)))
    place = np.arange(len(by_row)) - starts[crowd.rows[by_row]]
    known = np.zeros(len(order), dtype=bool)
    known[by_row[place < at_first]] = True
    extra = int(known.sum()) // 2

    def audit(mask: NDArray[np.bool_]) -> Any:
        answers = kw.Answers(crowd.rows[mask], crowd.sources[mask], crowd.labels[mask], n_rows=len(crowd.truth))
        return kw.audit_answers(None, answers)

    def right(found: Any) -> float:
        return _right(crowd, np.array([-1 if label is None else int(label) for label in found.labels.tolist()]))

    first, rest = audit(known), draw.permutation(np.flatnonzero(~known))
    random = []
    for some in (rest[:extra], rest[: 2 * extra]):
        more = known.copy()
        more[some] = True
        random.append(right(audit(more)))
    found = first
    for part in range(n_rounds):
        left = extra * (part + 1) // n_rounds - extra * part // n_rounds
        open_ones: dict[int, list[int]] = {}
        for answer in np.flatnonzero(~known).tolist():
            open_ones.setdefault(int(crowd.rows[answer]), []).append(answer)
        plan = kw.plan_answers(found, 4 * left)
        for row, source in zip(plan.rows.tolist(), plan.sources.tolist(), strict=True):
            if left and (recorded := open_ones.get(row)):
                of_source = [answer for answer in recorded if crowd.sources[answer] == source]
                answer = of_source[0] if of_source else recorded[draw.randint(len(recorded))]
                recorded.remove(answer)
                known[answer] = True
                left -= 1
        found = audit(known)
    return right(first), *random, right(found)


def of_many_answers() -> list[dict[str, Any]]:
    """Time and memory: 100,000 rows with 20 features and 5 answers each of 1,000 sources; 1,000,000 answers alone."""
    found = []
    for name, seconds, n_rows, n_sources, n_features in (
        ("100,000 rows, 5 answers each, 1,000 sources", SECONDS, 100_000, 1_000, 20),
        ("1,000,000 answers without features", SECONDS_WITHOUT, 200_000, 2_000, 0),
    ):
        fresh = in_fresh_process(_audit_many, prepare=partial(_many, n_rows, n_sources, n_features))
        found.append(record(f"{name}: right", fresh.result, "right"))
        found.append(record(f"{name}: seconds", fresh.seconds, "s", at_most=seconds))
        found.append(record(f"{name}: memory", fresh.peak_bytes, "bytes", at_most=MEMORY))
    return found


def _many(n_rows: int, n_sources: int, n_features: int) -> tuple[Any, kw.Answers, NDArray[np.intp]]:
    """Answers of sources that are right in .5 to .95 of the rows, to rows of three classes."""
    draw = np.random.RandomState(0)
    truth = draw.randint(3, size=n_rows)
    X = draw.randn(n_rows, n_features) + draw.randn(3, n_features)[truth] if n_features else None
    steps = draw.randint(1, n_sources // 5, size=(n_rows, 5))  # so that the five sources of a row differ
    rows, sources = (
        np.repeat(np.arange(n_rows), 5),
        steps.cumsum(axis=1).ravel() + np.repeat(draw.randint(n_sources, size=n_rows), 5),
    )
    sources %= n_sources
    right = draw.rand(len(rows)) < draw.uniform(0.5, 0.95, n_sources)[sources]
    return (
        X,
        kw.Answers(rows, sources, np.where(right, truth[rows], draw.randint(3, size=len(rows))), n_rows=n_rows),
        truth,
    )


def _audit_many(X: Any, answers: kw.Answers, truth: NDArray[np.intp]) -> float:
    return float(np.mean(kw.audit_answers(X, answers, random_state=0).labels == truth))
