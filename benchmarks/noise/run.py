"""Fill the records: one line of JSON per method, set, noise and seed; what is there already is not run again.

A method gets a ``Task`` without the truth; the scores are computed here from its answer. Progress shows times only, so
that a run that is to confirm a claim can be watched without seeing a result.

The records of the code in use stand in ``records``, one file per method. The records of earlier rules stand in
``history``, one compressed file per group of sets, and are read as if they stood in ``records`` too.
"""

import gzip
import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from .competitors import METHODS, Answer, Task, answer
from .datasets import HALVES, names_of
from .noise import NOISES, Cell, make_cell

FOLDER = Path(__file__).parent / "records"
HISTORY = Path(__file__).parent / "history"
FLOOR = 1e-4  # no probability counts as less, or one leaf of a forest would decide the mean log-loss
N_BINS = 15

Key = tuple[str, str, int]


def run(
    half: str,
    methods: Sequence[str] = METHODS,
    noises: Sequence[str] = NOISES,
    seeds: Sequence[int] = (0, 1, 2),
    names: Sequence[str] = (),
    folder: Path = FOLDER,
) -> int:
    """Run what is missing, seeds outermost; return how many answers failed (they are tried again by the next run)."""
    known = {method: {key_of(record) for record in read(folder, half, method)} for method in methods}
    n_failed = 0
    for seed in seeds:
        for noise in noises:
            for name in names or names_of(half):
                missing = [method for method in methods if (name, noise, seed) not in known[method]]
                if missing:
                    n_failed += run_cell(make_cell(name, noise, seed), missing, path_of(folder, half))
    return n_failed


def run_cell(cell: Cell, methods: Sequence[str], path: Callable[[str], Path]) -> int:
    """Ask every method about one cell and append the records."""
    task = Task(cell.X_train, cell.y_given, cell.X_test, cell.seed)
    n_failed = 0
    for method in methods:
        where = f"{cell.name} {cell.noise} seed {cell.seed} {method}"
        try:
            said, seconds = answer(method, task)
        except Exception as error:  # a method that fails must not stop the others; its cell stays open
            print(f"{where}: FAILED: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            n_failed += 1
            continue
        append(path(method), record_of(cell, method, said, seconds))
        print(f"{where}: {seconds:.2f} s", flush=True)
    return n_failed


def record_of(cell: Cell, method: str, said: Answer, seconds: float) -> dict[str, Any]:
    """The scores of an answer and what they belong to."""
    return {
        "method": method,
        "set": cell.name,
        "noise": cell.noise,
        "seed": cell.seed,
        "fingerprint": cell.fingerprint,
        "n_train": len(cell.y_given),
        "n_classes": int(cell.y_true.max()) + 1,
        **{score: None if value is None else round(value, 6) for score, value in scores(cell, said).items()},
        "seconds": round(seconds, 4),
        "chosen": said.chosen,
        "version": version_of(method),
    }


def scores(cell: Cell, said: Answer) -> dict[str, float | None]:
    """Accuracy, log-loss and calibration on clean test labels; audit and noise rate on training labels."""
    n_classes = int(cell.y_true.max()) + 1
    if said.probabilities.shape != (len(cell.y_test), n_classes) or not np.isfinite(said.probabilities).all():
        raise ValueError(f"probabilities of shape {said.probabilities.shape} with finite values were expected")
    flipped = cell.flipped
    true_rate = float(flipped.mean())
    return {
        "accuracy": float(np.mean(said.predicted == cell.y_test)),
        "log_loss": log_loss(said.probabilities, cell.y_test),
        "ece": calibration_error(said.probabilities, cell.y_test),
        "audit_auc": audit_area(flipped, said.quality),
        "noise_rate": said.noise_rate,
        "true_noise_rate": true_rate,
        "noise_rate_error": None if said.noise_rate is None else abs(said.noise_rate - true_rate),
    }


def audit_area(flipped: NDArray[np.bool_], quality: NDArray | None) -> float | None:
    """P(a wrong label has lower quality than a right one); undefined without labels of both kinds."""
    if quality is None or flipped.all() or not flipped.any():
        return None
    return float(roc_auc_score(flipped, -quality))


def log_loss(probabilities: NDArray, y: NDArray) -> float:
    """Mean of -log P(true class), probabilities at least ``FLOOR``."""
    clipped = np.clip(probabilities, FLOOR, None)
    clipped = clipped / clipped.sum(axis=1, keepdims=True)
    return float(-np.mean(np.log(clipped[np.arange(len(y)), y])))


def calibration_error(probabilities: NDArray, y: NDArray) -> float:
    """Expected calibration error: |accuracy - confidence| of the most probable class, in 15 bins of equal width."""
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == y
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, weights=right - confidence, minlength=N_BINS)
    return float(np.abs(gaps).sum() / len(y))


@cache
def version_of(method: str) -> str:
    """The versions behind a method; for kernelwise also a digest of its sources, which change within a version."""
    if method == "kernelwise":
        import kernelwise

        sources = sorted(Path(kernelwise.__file__).parent.rglob("*.py"))
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:8]
        return f"kernelwise {kernelwise.__version__}, sources {digest}"
    if method.startswith("cleanlab"):
        import cleanlab

        return f"cleanlab {cleanlab.__version__}, scikit-learn {sklearn.__version__}"
    return f"scikit-learn {sklearn.__version__}"


def path_of(folder: Path, half: str) -> Callable[[str], Path]:
    return lambda method: folder / half / f"{method}.jsonl"


def append(path: Path, record: dict[str, Any]) -> None:
    """Add a line in one write, so that a reader or a stopped run never leaves half a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, (json.dumps(record) + "\n").encode())
    finally:
        os.close(handle)


def read(folder: Path, half: str, method: str) -> list[dict[str, Any]]:
    """The records of a method on a group of sets; with the default folder, those of earlier rules come first."""
    if half not in HALVES:
        raise ValueError(f"half must be one of {', '.join(HALVES)}, got {half!r}")
    records = [record for record in archived(half) if record["method"] == method] if folder == FOLDER else []
    path = path_of(folder, half)(method)
    return records + ([json.loads(line) for line in path.read_text().splitlines()] if path.exists() else [])


def archived(half: str) -> list[dict[str, Any]]:
    """The records of earlier rules on a group of sets, of all methods."""
    path = HISTORY / f"{half}.jsonl.gz"
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()] if path.exists() else []


def key_of(record: dict[str, Any]) -> Key:
    return record["set"], record["noise"], record["seed"]
