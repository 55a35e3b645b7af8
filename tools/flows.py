"""How many files and functions one call passes, and how often it crosses from one folder of kernelwise into another.

``python tools/flows.py`` prints a line for each of seven calls: fits of the label model, of noisy pairs, of links, of
the pair completer, and of multiple kernels on a Dask cluster, the audit of record pairs, and the audit of a file by the
command line with its page. A crossing is a pair of files in different folders of ``src/kernelwise`` of which one calls
a function of the other; a folder counts with its subfolders. The depth is the largest number of functions of kernelwise
that wait for one another. ``python tools/flows.py --list`` prints the files with their numbers of functions, and the
crossings.
"""

import contextlib
import importlib
import io
import pkgutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import kernelwise as kw

ROOT = Path(kw.__file__).parent


class Trace:
    """The functions of kernelwise that a call passes, which file calls which, and how deep calls are nested."""

    def __init__(self) -> None:
        self.functions: set[tuple[Path, str, int]] = set()
        self.calls: set[tuple[Path, Path]] = set()
        self.depth = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        callee = _place(frame)
        if event != "call" or callee is None:
            return
        self.functions.add((callee, frame.f_code.co_name, frame.f_code.co_firstlineno))
        callers = []
        before = frame.f_back
        while before is not None:
            if (place := _place(before)) is not None:
                callers.append(place)
            before = before.f_back
        self.depth = max(self.depth, len(callers) + 1)
        if callers and callers[0] != callee:
            self.calls.add((callers[0], callee))

    @property
    def files(self) -> Counter[Path]:
        """The files that were passed, with the number of functions in each."""
        return Counter(place for place, name, _ in self.functions if not name.startswith("<"))

    @property
    def crossings(self) -> list[tuple[Path, Path]]:
        """The calls from one folder into another."""
        return sorted((one, other) for one, other in self.calls if _folder(one) != _folder(other))


def _folder(place: Path) -> str:
    return place.parts[0] if len(place.parts) > 1 else ""


def _place(frame: FrameType) -> Path | None:
    """The file of a function of kernelwise; None for other code, and for modules while they are imported."""
    name = frame.f_code.co_filename
    if not name.startswith(str(ROOT)) or frame.f_code.co_name == "<module>":
        return None
    return Path(name).relative_to(ROOT)


def traced(call: Callable[[], Any]) -> Trace:
    """Make the call and return what it passed."""
    trace = Trace()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.setprofile(trace)
        try:
            call()
        finally:
            sys.setprofile(None)
    return trace


def data() -> tuple[np.ndarray, np.ndarray]:
    """A small set with two classes and some wrong labels."""
    X = np.random.RandomState(0).randn(120, 4)
    y = (X[:, 0] > 0).astype(int)
    y[::9] = 1 - y[::9]
    return X, y


def label_model() -> None:
    """Fit the classifier to use with noisy labels."""
    kw.NoisyLabelClassifier(random_state=0).fit(*data())


def command_line() -> None:
    """Audit the labels of a CSV file and write the review page."""
    from kernelwise.cli import main

    X, y = data()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        table = Path(folder, "table.csv")
        lines = [",".join(f"{value:.4f}" for value in row) + f",{label}" for row, label in zip(X, y, strict=True)]
        table.write_text("\n".join(["a,b,c,d,label", *lines]), encoding="utf-8")
        with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            main(["audit", "labels", str(table), "--label", "label", "--report", str(Path(folder, "page.html"))])


def on_cluster() -> None:
    """Fit a multiple-kernel classifier to a Dask array."""
    import dask.array as da
    from distributed import Client, LocalCluster

    X, y = data()
    model = kw.RobustMKLClassifier(noise_rate=0.1, rank=1e-3, probability=False, random_state=0)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        model.fit(da.from_array(X, chunks=(40, 4)), da.from_array(y, chunks=40))


def completion() -> None:
    """Complete pairs of unknown noise from a similarity."""
    X, y = data()
    similarity = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    pairs = kw.Pairs.from_labels(y, n_pairs=300, random_state=0)
    kw.PairCompleter(5, noise_rate="auto", random_state=0).fit(similarity, pairs=pairs)


def noisy_pairs() -> None:
    """Cluster by features and pairs of unknown noise."""
    X, y = data()
    pairs = kw.Pairs.from_labels(y, n_pairs=300, random_state=0)
    kw.NoisyPairClustering(2, random_state=0).fit(X, pairs=pairs)


def records() -> None:
    """Find wrong answers to the question whether two records are the same."""
    names = [f"{word} street {number}" for number in range(12) for word in ("Oak", "Oak", "Elm", "Elm")]
    rows = np.arange(len(names) - 1)
    labels = np.where(rows % 2 == 0, 1, -1)
    labels[::7] *= -1
    kw.audit_record_pairs(names, kw.Pairs(rows, rows + 1, labels, n_samples=len(names)), random_state=0)


def links() -> None:
    """Cluster documents by words and links."""
    X, y = data()
    pairs = kw.Pairs.from_labels(y, n_pairs=200, random_state=0).positive
    kw.LinkedClustering(2, random_state=0).fit(np.abs(X), pairs=pairs)


FLOWS = {
    "NoisyLabelClassifier.fit": label_model,
    "kernelwise audit labels": command_line,
    "NoisyPairClustering.fit": noisy_pairs,
    "audit_record_pairs": records,
    "LinkedClustering.fit": links,
    "PairCompleter.fit": completion,
    "RobustMKLClassifier.fit on Dask": on_cluster,
}

if __name__ == "__main__":
    for module in pkgutil.walk_packages([str(ROOT)], "kernelwise."):  # so that no import is taken for a call
        if "__main__" not in module.name:
            loaded = importlib.import_module(module.name)
            for name in getattr(loaded, "__all__", ()):  # some packages load their names on the first use
                getattr(loaded, name)
    for name in kw.__all__:
        getattr(kw, name)
    for name, call in FLOWS.items():
        trace = traced(call)
        files = trace.files
        counts = f"files {len(files):3d}   functions {files.total():3d}   crossings {len(trace.crossings):3d}"
        print(f"{name:33s} {counts}   depth {trace.depth:2d}")
        if "--list" in sys.argv:
            for place, count in sorted(files.items()):
                print(f"    {place}: {count}")
            for one, other in trace.crossings:
                print(f"    {one} -> {other}")
