"""Fill the records: one line of JSON per method, set, cell and seed. What is recorded is not run again.

The scores are computed here, from the answer and the truth, which no method sees. ``seconds`` are seconds of the
processor. A method that refuses a task or is too slow gets a record that says so, without scores; an error in a method
is printed, and the next run tries again.
"""

import json
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from kernelwise.metrics import normalized_mutual_info

from .answers import Answer, Refused, TooSlow
from .draws import Cell, draw
from .methods import METHODS

#: Seconds of processor time that a method may use for one task.
CPU_LIMIT = 60

Place = tuple[str, str, float, int]  # set, number of pairs, flips, seed


def run(folder: Path, methods: Sequence[str], places: Iterable[Place]) -> int:
    """Run what is missing; return how many answers failed."""
    known = {method: {place_of(record) for record in read(folder, method)} for method in methods}
    n_failed = 0
    for place in places:
        missing = [method for method in methods if place not in known[method]]
        if not missing:
            continue
        cell = draw(*place)
        for method in missing:
            where = " ".join(map(str, (method, *place)))
            try:
                record = measured(method, cell)
            except Exception as error:  # a method that fails must not stop the others
                print(f"{where}: FAILED: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                n_failed += 1
                continue
            append(folder, method, record)
            print(f"{where}: {record['status']}, {record['seconds']} s", flush=True)
    return n_failed


def measured(method: str, cell: Cell) -> dict[str, Any]:
    """Ask a method and score what it answers."""
    record = {
        "method": method,
        "set": cell.name,
        "pairs": cell.size,
        "flips": cell.flips,
        "seed": cell.task.seed,
        "n_samples": len(cell.y),
        "n_clusters": cell.task.n_clusters,
    }
    start = processor_seconds()
    try:
        with processor_limit(CPU_LIMIT):
            answer = METHODS[method](cell.task)
    except (Refused, TooSlow) as reason:
        status = "refused" if isinstance(reason, Refused) else "too slow"
        return record | {"status": status, "remark": str(reason), "seconds": _rounded(processor_seconds() - start)}
    seconds = processor_seconds() - start
    return record | {
        "status": "answered",
        **scores(cell, answer),
        "remark": answer.remark,
        "seconds": _rounded(seconds),
    }


def scores(cell: Cell, answer: Answer) -> dict[str, Any]:
    """The scores of an answer; None where the method does not tell."""
    found: dict[str, Any] = dict.fromkeys(("nmi", "found_clusters", "balanced_accuracy", "audit_auc"))
    rows, cols = cell.unseen
    tells = answer.shares_class
    if answer.labels is not None:
        labels = np.asarray(answer.labels)
        found["nmi"] = _rounded(normalized_mutual_info(cell.y, labels))
        found["found_clusters"] = len(np.unique(labels))
        tells = tells or (lambda i, j: labels[i] == labels[j])
    if tells is not None:
        found["balanced_accuracy"] = _rounded(balanced_accuracy_score(cell.y[rows] == cell.y[cols], tells(rows, cols)))
    if answer.quality is not None and cell.wrong.any():
        found["audit_auc"] = _rounded(roc_auc_score(cell.wrong, -answer.quality))
    found["flipped"] = [_rounded(value) for value in cell.flipped_fractions]
    found["rates"] = None if answer.rates is None else [_rounded(value) for value in answer.rates]
    intervals = answer.intervals
    found["intervals"] = None if intervals is None else [[_rounded(end) for end in interval] for interval in intervals]
    return found


@contextmanager
def processor_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TooSlow` once this process has computed for so long."""

    def stop(*_: Any) -> None:
        raise TooSlow(f"stopped after {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def processor_seconds() -> float:
    """Seconds of the processor of this process and of the ended processes that it started."""
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def read(folder: Path, method: str) -> list[dict[str, Any]]:
    path = folder / f"{method}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def append(folder: Path, method: str, record: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{method}.jsonl").open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(record) + "\n")


def place_of(record: dict[str, Any]) -> Place:
    return record["set"], record["pairs"], record["flips"], record["seed"]


def _rounded(value: float) -> float:
    return round(float(value), 5)
