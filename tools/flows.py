"""How many files one call passes, and how often it crosses from one folder of kernelwise into another.

``python tools/flows.py`` prints a line for each of four calls: a fit of the label model, the audit of a file by the
command line with its page, a fit on a Dask cluster, and a fit of the pair completer. A crossing is a pair of files in
different folders of ``src/kernelwise`` of which one calls a function of the other; a folder counts with its subfolders.
``python tools/flows.py --list`` prints the crossings themselves.
"""

import contextlib
import importlib
import io
import pkgutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import kernelwise as kw

ROOT = Path(kw.__file__).parent


class Trace:
    """The files of kernelwise that a call passes, and which file calls which."""

    def __init__(self) -> None:
        self.files: set[Path] = set()
        self.calls: set[tuple[Path, Path]] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        callee = _place(frame)
        if event != "call" or callee is None:
            return
        self.files.add(callee)
        before = frame.f_back
        while before is not None and not before.f_code.co_filename.startswith(str(ROOT)):
            before = before.f_back
        caller = None if before is None else _place(before)
        if caller is not None and caller != callee:
            self.calls.add((caller, callee))

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


FLOWS = {
    "NoisyLabelClassifier.fit": label_model,
    "kernelwise audit labels": command_line,
    "RobustMKLClassifier.fit on Dask": on_cluster,
    "PairCompleter.fit": completion,
}

if __name__ == "__main__":
    for module in pkgutil.walk_packages([str(ROOT)], "kernelwise."):  # so that no import is taken for a call
        if "__main__" not in module.name:
            importlib.import_module(module.name)
    for name, call in FLOWS.items():
        trace = traced(call)
        print(f"{name:33s} files {len(trace.files):3d}   crossings {len(trace.crossings):3d}")
        if "--list" in sys.argv:
            for one, other in trace.crossings:
                print(f"    {one} -> {other}")
