"""Real noise: labels that people or rules gave, with the truth kept apart, read from a folder of .npz files.

A method is made of two parts, the probabilities of the given labels and what is concluded from them. The methods here
combine the parts of this package with those of others, so that a reader sees which part a gain comes from.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from .competitors import (
    LOGISTIC_C,
    Answer,
    Task,
    Tuned,
    ask_cleanlab,
    ask_kernelwise,
    ask_tuned,
    best,
    quiet,
    tune_logistic,
    tune_svc,
)
from .noise import TEST_SHARE, Cell, generator
from .run import FOLDER, append, record_of, version_of
from .tables import OURS, figure, markdown

RECORDS = FOLDER / "real"
MAX_ROWS = 3000
TEST_ROWS = 3000  # of a set that comes without a test part and has many rows
SPARSE_LOGISTIC_C = (0.1, 0.3, 1.0, 3.0, 10.0)
SVC_C = (0.1, 1.0, 10.0)
SVC_GAMMA = (0.25, 1.0, 4.0)  # divided by the number of features and their variance
SPARSE_SVC_GAMMA = (0.3, 1.0, 3.0)
COMPETITORS = ("logistic", "svc", "cleanlab_logistic", "cleanlab_svc")
MIXED = ("noise_model_logistic", "noise_model_svc", "cleanlab_kernelwise")  # our part of one step, theirs of the other
METHODS = (*COMPETITORS, *MIXED, OURS)
SOURCES = ("people", "rules")
METRICS = {
    "audit_auc": "Audit: area under the ROC curve, wrong training labels against right ones",
    "accuracy": "Accuracy on clean test labels",
    "noise_rate_error": "Noise rate: |estimate - share of wrong training labels|",
    "seconds": "CPU seconds",
}

Key = tuple[str, str, int, str]
Records = dict[str, dict[Key, dict[str, Any]]]


@dataclass(frozen=True)
class RealCell(Cell):
    """Training rows with one kind of real labels (``noise`` is its name), test rows, and the truth for both."""

    source: str = "people"

    @property
    def task(self) -> str:
        return f"{self.name} {self.noise}"

    @property
    def key(self) -> Key:
        return self.name, self.noise, self.seed, self.fingerprint

    @property
    def fingerprint(self) -> str:
        """A digest of what a method sees."""
        if not sp.issparse(self.X_train):
            return super().fingerprint
        seen: list[Any] = [self.y_given]
        matrices: tuple[Any, Any] = (self.X_train, self.X_test)
        for X in matrices:
            seen += [X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)]
        return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in seen)).hexdigest()[:12]


@dataclass(frozen=True)
class Parts:
    """Training rows, their numbers in the file and their truth; test rows and their truth."""

    X_train: Any
    rows: NDArray[np.intp]
    y_true: NDArray
    X_test: Any
    y_test: NDArray


@dataclass(frozen=True)
class RealSet:
    """Who gave the labels, the names of the given labels in the file, and how features and truth are read."""

    source: str
    given: tuple[str, ...]
    read: Callable[[Mapping[str, Any], int, int], Parts]


def features_apart(data: Mapping[str, Any], seed: int, rows: int) -> Parts:
    """Features, with a test part of their own."""
    X, X_test = (np.asarray(data[key], dtype=np.float64) for key in ("X", "X_test"))
    return Parts(X, np.arange(len(X)), data["y_true"], X_test, data["y_test"])


def texts_apart(data: Mapping[str, Any], seed: int, rows: int) -> Parts:
    """Texts, with a test part of their own."""
    X, X_test = words(data["text"], data["text_test"])
    return Parts(X, np.arange(X.shape[0]), data["y_true"], X_test, data["y_test"])


def covered_texts(data: Mapping[str, Any], seed: int, rows: int) -> Parts:
    """Texts for which some rule had an answer; 30 % of them are the test."""
    text, truth, covered = data["text"], data["y_true"], np.flatnonzero(data["y_mv"] >= 0)
    state = int(generator("youtube_wrench", "split", seed).integers(2**31))
    train, test = train_test_split(covered, test_size=TEST_SHARE, stratify=truth[covered], random_state=state)
    X, X_test = words(text[train], text[test])
    return Parts(X, train, truth[train], X_test, truth[test])


def many_images(data: Mapping[str, Any], seed: int, rows: int) -> Parts:
    """Features of many images: some are the test, and at most ``rows`` others are for training."""
    X, truth = np.asarray(data["X"], dtype=np.float64), data["clean_label"]
    order = generator("cifar10n_10k", "split", seed).permutation(len(X))
    test, train = order[:TEST_ROWS], order[TEST_ROWS : TEST_ROWS + rows]
    return Parts(X[train], train, truth[train], X[test], truth[test])


def words(text: NDArray, text_test: NDArray) -> tuple[Any, Any]:
    """Weighted words of the training texts, and the same words of the test texts."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    X, X_test = vectorizer.fit_transform(text), vectorizer.transform(text_test)
    for matrix in (X, X_test):
        matrix.sort_indices()  # or a method may do it in place, and the digest of the data would change
    return X, X_test


CIFAR_LABELS = ("random_label1", "random_label2", "random_label3", "aggre_label", "worse_label")
SETS = {
    "labelme_crowd": RealSet("people", ("y_one", "y_mv"), features_apart),
    "sentiment_crowd": RealSet("people", ("y_one", "y_mv"), texts_apart),
    "cifar10n_10k": RealSet("people", CIFAR_LABELS, many_images),
    "youtube_wrench": RealSet("rules", ("y_mv",), covered_texts),
    "hausa_newsclass": RealSet("rules", ("y_noisy",), texts_apart),
}


def real(
    data: Path,
    names: Sequence[str] = (),
    methods: Sequence[str] = METHODS,
    rows: int = MAX_ROWS,
    seed: int = 0,
    folder: Path = RECORDS,
) -> tuple[str, int]:
    """Run what is missing; return all tables in Markdown, and how many answers failed."""
    if rows < 1:
        raise SystemExit(f"--rows must be one or more, got {rows}")
    there = files_of(data, names or tuple(SETS))
    if any("cleanlab" in method for method in methods) and find_spec("cleanlab") is None:
        raise SystemExit("cleanlab is not installed; run: pip install cleanlab, or name other methods by --methods")
    known: Records = {method: {key_of(record): record for record in read(folder, method)} for method in methods}
    versions = {method: version_of_real(method) for method in methods}  # before somebody changes the sources
    cells, n_failed = [], 0
    for cell in real_cells(there, rows, seed):
        cells.append(cell)
        task = Task(cell.X_train, cell.y_given, cell.X_test, cell.seed)
        for method in methods:
            if cell.key in known[method]:
                continue
            try:
                said, seconds = answer(method, task)
                record = real_record(cell, method, said, seconds) | {"version": versions[method]}
            except Exception as error:  # a method that fails must not stop the others; its cell stays open
                print(f"{cell.task} {method}: FAILED: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                n_failed += 1
                continue
            append(folder / f"{method}.jsonl", record)
            known[method][cell.key] = record
            print(f"{cell.task} {method}: {seconds:.2f} s", flush=True)
    return tables(cells, known), n_failed


def files_of(data: Path, names: Sequence[str]) -> dict[str, Path]:
    """The files of the sets that are in the folder; a file that is missing is named."""
    there = {name: data / f"{name}.npz" for name in names if (data / f"{name}.npz").is_file()}
    if not there:
        raise SystemExit(f"{data} holds no file of real noise; expected are {', '.join(f'{n}.npz' for n in names)}")
    for name in names:
        if name not in there:
            print(f"{name}.npz is not in {data}; the set is left out.", flush=True)
    return there


def real_cells(there: Mapping[str, Path], rows: int, seed: int) -> Iterator[RealCell]:
    """The tasks of the sets of these files."""
    for name in there:
        kind = SETS[name]
        with np.load(there[name], allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
        parts = kind.read(arrays, seed, rows)
        for given in kind.given:
            y_given, y_true, y_test = (
                labels.astype(np.int64) for labels in (arrays[given][parts.rows], parts.y_true, parts.y_test)
            )
            yield RealCell(name, given, seed, parts.X_train, y_given, y_true, parts.X_test, y_test, kind.source)


# Methods


def tune_real_logistic(task: Task) -> Tuned:
    costs = SPARSE_LOGISTIC_C if sp.issparse(task.X) else LOGISTIC_C
    return better_scaling(task, lambda scaling: tune_logistic(task, costs, scaling))


def tune_real_svc(task: Task) -> Tuned:
    gammas = SPARSE_SVC_GAMMA if sp.issparse(task.X) else SVC_GAMMA
    return better_scaling(task, lambda scaling: tune_svc(task, gammas, SVC_C, scaling))


def better_scaling(task: Task, tune: Callable[[str], Tuned]) -> Tuned:
    """The scaling of the columns is a part of the grid: unit variance of each, or one scale for all."""
    if sp.issparse(task.X):
        return tune("columns")
    tuned = {scaling: tune(scaling) for scaling in ("columns", "one")}
    scaling = best({name: one.out_of_sample for name, one in tuned.items()}, task.y)
    chosen, seconds = tuned[scaling], sum(one.seconds for one in tuned.values())
    return Tuned(chosen.model, f"{chosen.chosen} scaling={scaling}", chosen.out_of_sample, seconds)


def ask_noise_model(task: Task, tuned: Tuned) -> Answer:
    """Our noise model on the probabilities of another model, whose predictions stay."""
    import kernelwise

    audit = kernelwise.audit_labels(None, task.y, probabilities=tuned.out_of_sample)
    said = ask_tuned(task, tuned)
    said.quality, said.noise_rate, said.interval = audit.quality, audit.noise_rate, audit.noise_interval
    said.reliable = audit.diagnostic.get("reliable")
    return said


def ask_cleanlab_about_pool(task: Task) -> Answer:
    """cleanlab on the out-of-sample probabilities of our views; predictions are the most probable given labels."""
    from cleanlab.count import estimate_joint
    from cleanlab.rank import get_label_quality_scores

    from kernelwise.labels.classifier import _Standardiser
    from kernelwise.scoring.pool import fit_pool

    weight, X, X_test, common = np.ones(len(task.y)), task.X, task.X_test, None
    if not sp.issparse(X):
        standardise = _Standardiser.fit(X, weight)
        X, X_test, common = standardise(X), standardise(X_test), standardise.common
    pool = fit_pool(X, task.y, task.n_classes, weight, np.random.RandomState(task.seed), common)
    belief, tested = (
        np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True) for logs in (pool.out_of_sample, pool(X_test))
    )
    rate = float(1 - np.trace(estimate_joint(task.y, belief)))
    return Answer(tested, tested.argmax(axis=1), "", get_label_quality_scores(task.y, belief), rate)


TUNERS: dict[str, Callable[[Task], Tuned]] = {"logistic": tune_real_logistic, "svc": tune_real_svc}
WAYS: dict[str, Callable[[Task, Tuned], Answer]] = {
    "": ask_tuned,
    "cleanlab": ask_cleanlab,
    "noise_model": ask_noise_model,
}
WHOLE: dict[str, Callable[[Task], Answer]] = {OURS: ask_kernelwise, "cleanlab_kernelwise": ask_cleanlab_about_pool}


def answer(method: str, task: Task) -> tuple[Answer, float]:
    """What a method says, and its CPU seconds: tuning, fit, test predictions and audit."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    with quiet():
        start = process_time()
        if method in WHOLE:
            return WHOLE[method](task), process_time() - start
        way, _, base = method.rpartition("_")
        if base not in task.tuned:
            task.tuned[base] = TUNERS[base](task)
        start = process_time()
        said = WAYS[way](task, task.tuned[base])
        return said, task.tuned[base].seconds + process_time() - start


# Records


def real_record(cell: RealCell, method: str, said: Answer, seconds: float) -> dict[str, Any]:
    """The scores of an answer, and what it says of its own certainty."""
    record = record_of(cell, method, said, seconds) | {"source": cell.source, "interval": None, "holds": None}
    if said.interval is not None:
        low, high = map(float, said.interval)
        holds = low <= float(cell.flipped.mean()) <= high
        record |= {"interval": [round(low, 6), round(high, 6)], "holds": holds}
    return record | {"reliable": None if said.reliable is None else bool(said.reliable)}


def version_of_real(method: str) -> str:
    """The versions behind a method, of both packages where it is made of two."""
    if method == "cleanlab_kernelwise":
        return f"{version_of('cleanlab')}, {version_of(OURS)}"
    return version_of(OURS if method.startswith("noise_model") else method)


def read(folder: Path, method: str) -> list[dict[str, Any]]:
    path = folder / f"{method}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def key_of(record: dict[str, Any]) -> Key:
    return record["set"], record["noise"], record["seed"], record["fingerprint"]


# Tables


def tables(cells: Sequence[RealCell], records: Records) -> str:
    """All tables: scores, intervals, and kernelwise against the best competitor."""
    wrong = [f"| {cell.task} | {cell.source} | {len(cell.y_given)} | {cell.flipped.mean():.3f} |" for cell in cells]
    parts = ["# Label noise, real labels", "| task | labels by | training rows | wrong |\n| --- | --- | --- | --- |"]
    parts[-1] += "".join(f"\n{line}" for line in wrong)
    found = [record for known in records.values() for cell in cells if (record := known.get(cell.key))]
    states = {part for record in found for part in record["version"].split(", ") if part.startswith("sources ")}
    if len(states) > 1:
        parts.append(f"**The records of {OURS} mix {len(states)} states of its sources.**")
    parts += [f"## {title}\n\n{scores_table(cells, records, metric)}" for metric, title in METRICS.items()]
    parts.append("## Intervals of the noise rate\n\n" + intervals_table(cells, records))
    if OURS in records and set(COMPETITORS) & set(records):
        parts.append(f"## {OURS} minus the best competitor, points\n\n" + gains_table(cells, records))
    return "\n\n".join(parts)


def value_of(records: Records, method: str, cell: RealCell, metric: str) -> float:
    """A score, NaN where there is none."""
    value = records[method].get(cell.key, {}).get(metric)
    return np.nan if value is None else float(value)


def scores_table(cells: Sequence[RealCell], records: Records, metric: str) -> str:
    """One row per task, then the means over labels by people and by rules; no mean where a task is missing."""
    values = np.array([[value_of(records, method, cell, metric) for method in records] for cell in cells])
    shown = ~np.isnan(values).all(axis=0)
    rows = [[cell.task, *map(figure, row)] for cell, row in zip(cells, values[:, shown], strict=True)]
    for source in SOURCES:
        of_source = [cell.source == source for cell in cells]
        if any(of_source):
            means = values[of_source][:, shown].mean(axis=0)
            rows.append([f"**mean, {source}**", *map(figure, means)])
    return markdown(["task", *np.array(list(records))[shown].tolist()], rows)


def intervals_table(cells: Sequence[RealCell], records: Records) -> str:
    """Per method and task: the truth, the estimate, its interval, whether it holds the truth, and the own verdict."""
    rows = []
    for method, known in records.items():
        told = [(cell, known[cell.key]) for cell in cells if known.get(cell.key, {}).get("interval")]
        for cell, record in told:
            low, high = record["interval"]
            rate, truth = figure(record["noise_rate"]), figure(record["true_noise_rate"])
            answers = ["yes" if record[key] else "**no**" if key == "holds" else "no" for key in ("holds", "reliable")]
            rows.append([method, cell.task, truth, rate, f"{low:.3f} to {high:.3f}", *answers])
        for source in SOURCES:
            of_source = [record for cell, record in told if cell.source == source]
            if of_source:
                holds, reliable = (sum(bool(r[key]) for r in of_source) for key in ("holds", "reliable"))
                n = len(of_source)
                rows.append([method, f"**all, {source}**", "", "", "", f"{holds} of {n}", f"{reliable} of {n}"])
    return markdown(["method", "task", "truth", "estimate", "interval", "holds the truth", "reliable"], rows)


def gains_table(cells: Sequence[RealCell], records: Records) -> str:
    """How much better kernelwise is than the competitor that is best in this task; more is better in every column."""
    theirs = [method for method in COMPETITORS if method in records]
    gains: dict[str, list[float]] = {metric: [] for metric in ("audit_auc", "accuracy", "noise_rate_error")}
    rows = []
    for cell in cells:
        row = [cell.task]
        for metric, column in gains.items():
            sign = -1 if metric == "noise_rate_error" else 1
            others = {method: sign * value_of(records, method, cell, metric) for method in theirs}
            others = {method: value for method, value in others.items() if not np.isnan(value)}
            best = max(others, key=lambda method: others[method]) if others else None
            ours = sign * value_of(records, OURS, cell, metric)
            column.append(np.nan if best is None else 100 * (ours - others[best]))
            row.append("" if np.isnan(column[-1]) else f"{column[-1]:+.1f} ({best})")
        rows.append(row)
    for source in SOURCES:
        of_source = [cell.source == source for cell in cells]
        if any(of_source):
            columns = [np.array(column)[of_source] for column in gains.values()]
            rows.append([f"**mean, {source}**", *map(mean_and_wins, columns)])
    return markdown(["task", "audit area", "accuracy", "error of the noise rate, theirs minus ours"], rows)


def mean_and_wins(gains: NDArray) -> str:
    gains = gains[~np.isnan(gains)]
    return f"{gains.mean():+.1f}, better in {np.sum(gains > 0)} of {len(gains)}" if len(gains) else ""
