"""What is killed: writers of every kind of file, a download, and experiments in one process and in several.

A victim does its work in a folder, in a process of its own. ``check`` says what is wrong after a kill, ``recover``
works once without being disturbed and says what is wrong then; both give sentences, and none where all is well.
"""

import contextlib
import functools
import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from kernelwise import NoisyLabelClassifier, RobustMKLClassifier, audit_labels
from kernelwise.datasets import _gisette as gisette
from kernelwise.files import SavedModel, TableFeatures, corrected_file, load_model, make_card, read_table, save_model
from kernelwise.files import write_file as write_data
from kernelwise.kernels import gaussian_kernels
from kernelwise.papers import Cell, Record, RecordFile, run
from kernelwise.report import Correction, label_report, read_corrections, write_corrections, write_report

from .inputs import write_inputs
from .means import MEANS, run_means, without_times


class Victim(Protocol):
    """Something that writes into a folder until it is killed."""

    name: str
    #: The names that may be in the folder; anything else is litter.
    expected: frozenset[str]

    def begin(self, folder: Path) -> int:
        """Start a process that works in the folder, as the leader of its group, and return its number."""

    def duration(self, folder: Path) -> float:
        """The seconds that the moments of killing are spread over."""

    def check(self, folder: Path) -> list[str]: ...

    def recover(self, folder: Path) -> list[str]: ...


def forked(work: Callable[[], object]) -> int:
    """Do something in a copy of this process, which has loaded everything already."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            work()
            status = 0
        finally:
            os._exit(status)  # and never back into the copy of whoever called
    return child


def finish(child: int) -> None:
    """Wait for a process that is not killed."""
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError("an undisturbed run failed")


class Writer:
    """Writes one file over and over, with two contents in turn."""

    def __init__(self, name: str, write: Callable[[Path, int], object], read: Callable[[Path], int]) -> None:
        self.name = name
        self.write, self.read = write, read
        self.expected = frozenset({name})

    def begin(self, folder: Path) -> int:
        def work() -> None:
            for turn in itertools.count():
                self.write(folder / self.name, turn % 2)

        if not (folder / self.name).exists():
            self.write(folder / self.name, 0)
        return forked(work)

    @functools.cache  # noqa: B019 (victims live as long as the program)
    def duration(self, folder: Path) -> float:
        """Of three writes, so that a kill falls into any part of one."""
        started = time.perf_counter()
        for turn in range(3):
            self.write(folder / self.name, turn % 2)
        return time.perf_counter() - started

    def check(self, folder: Path) -> list[str]:
        try:
            known = self.read(folder / self.name) in (0, 1)
        except Exception as error:
            return [f"{self.name} cannot be read: {error}"]
        return [] if known else [f"{self.name} holds something that nobody wrote"]

    def recover(self, folder: Path) -> list[str]:
        self.write(folder / self.name, 1)
        return [] if self.read(folder / self.name) == 1 else [f"{self.name} was not written"]


def writers(folder: Path) -> list[Writer]:
    """A writer for each kind of file: a model, a page for review, corrected data, a list of corrections."""
    write_inputs(folder)
    table = read_table(folder / "people.csv", as_written=["approved"])
    features = TableFeatures(leave_out=["approved"]).fit(table)
    X, y = features.transform(table), np.array(table.required("approved"))
    estimator = NoisyLabelClassifier(random_state=0).fit(X, y)
    models = [SavedModel(estimator, features, make_card(label="approved", version=version)) for version in (0, 1)]
    pages = [label_report(audit_labels(X, y, random_state=0), X=X[:, :columns]) for columns in (1, 2)]
    lists = [[Correction(row, "no", "yes", "wrong") for row in range(length)] for length in (200, 4000)]
    every = range(table.n_rows)
    data = [corrected_file(folder / "people.csv", "approved", dict.fromkeys(every, label)) * 50 for label in ("a", "b")]
    digests = [hashlib.sha256(content).digest() for content in data]
    rendered = [write_report(page, folder / "page.html", force=True).read_bytes() for page in pages]
    return [
        Writer(
            "model.skops",
            lambda path, version: save_model(path, models[version], force=True),
            lambda path: int(load_model(path).card["version"]),
        ),
        Writer(
            "review.html",
            lambda path, version: write_report(pages[version], path, force=True),
            lambda path: rendered.index(path.read_bytes()),
        ),
        Writer(
            "corrected.csv",
            lambda path, version: write_data(path, data[version], force=True),
            lambda path: digests.index(hashlib.sha256(path.read_bytes()).digest()),
        ),
        Writer(
            "corrections.csv",
            lambda path, version: write_corrections(lists[version], path, force=True),
            lambda path: lists.index(read_corrections(path)),
        ),
    ]


# --- a cache that is filled from a server


class _SlowPages(BaseHTTPRequestHandler):
    """Sends a file in pieces, with pauses, so that a download takes a moment."""

    def do_GET(self) -> None:
        content = Download.contents[self.path.rsplit("/", 1)[-1]]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # whoever asked was killed
            for start in range(0, len(content), 1 << 18):
                time.sleep(0.005)
                self.wfile.write(content[start : start + (1 << 18)])

    def log_message(self, *words: Any) -> None:
        pass


class Download:
    """Fills the folder of a data set from a server of our own."""

    name = "cache of a data set"
    contents: ClassVar = {"small.data": b"0 1 2 3 4 5 6 7 8 9\n" * 100_000, "small.labels": b"1\n-1\n" * 50_000}
    expected = frozenset(contents)

    def __init__(self) -> None:
        server = HTTPServer(("127.0.0.1", 0), _SlowPages)
        self.address = f"http://127.0.0.1:{server.server_port}"
        self.part = {name: hashlib.sha256(text).hexdigest() for name, text in self.contents.items()}
        self.server = forked(server.serve_forever)
        server.server_close()
        os.environ["no_proxy"] = "127.0.0.1"

    def close(self) -> None:
        """End the server."""
        os.kill(self.server, signal.SIGKILL)
        os.waitpid(self.server, 0)

    def begin(self, folder: Path) -> int:
        return forked(lambda: gisette.provide([self.part], folder, self.address, None))

    @functools.cache  # noqa: B019
    def duration(self, folder: Path) -> float:
        started = time.perf_counter()
        self.recover(folder)
        return time.perf_counter() - started

    def check(self, folder: Path) -> list[str]:
        there = [(name, folder / name) for name in self.contents if (folder / name).exists()]
        return [f"{name} is not whole" for name, path in there if path.read_bytes() != self.contents[name]]

    def recover(self, folder: Path) -> list[str]:
        gisette.provide([self.part], folder, self.address, None)
        faults = self.check(folder) + [f"{name} is missing" for name in self.contents if not (folder / name).exists()]
        for name in self.contents:
            (folder / name).unlink(missing_ok=True)  # the next download starts afresh
        return faults


# --- experiments


class Fitter:
    """Fits with a checkpoint, and continues from it where it was killed."""

    name = "fit with a checkpoint"
    expected = frozenset({"fit.json"})

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.X = rng.random((1000, 4))
        score = np.sin(6 * self.X[:, 0]) + 2 * self.X[:, 1] * self.X[:, 2]
        self.y = np.where(rng.random(1000) < 0.1, score <= 0.9, score > 0.9)
        self.reference = self.fit(None)

    def fit(self, folder: Path | None) -> RobustMKLClassifier:
        """Fit to a tight gap, which takes several rounds."""
        kernels = gaussian_kernels(scope="each")
        model = RobustMKLClassifier(kernels, rank=1e-4, alpha=1e-3, tol=1e-6, probability=False, random_state=0)
        return model.fit(self.X, self.y, checkpoint=None if folder is None else folder / "fit.json")

    def begin(self, folder: Path) -> int:
        return forked(lambda: self.fit(folder))

    @functools.cache  # noqa: B019
    def duration(self, folder: Path) -> float:
        started = time.perf_counter()
        self.fit(folder)
        return time.perf_counter() - started

    def check(self, folder: Path) -> list[str]:
        path = folder / "fit.json"
        try:
            if path.exists():
                json.loads(path.read_text())
        except ValueError as error:
            return [f"{path.name} is half: {error}"]
        return []

    def recover(self, folder: Path) -> list[str]:
        model = self.fit(folder)
        apart = float(np.abs(model.kernel_weights_ - self.reference.kernel_weights_).max())
        faults = [] if apart <= 1e-6 else [f"the weights are {apart:.1e} from those of an undisturbed fit"]
        if (folder / "fit.json").exists():
            faults.append("the checkpoint of a finished fit was left behind")
        return faults


class Experimenter:
    """Runs a small experiment, and continues it where it was killed."""

    expected = frozenset({"means", "records.jsonl"})

    def __init__(self, n_jobs: int, scratch: Path) -> None:
        self.name = f"experiment, {n_jobs} process{'es' if n_jobs > 1 else ''}"
        self.n_jobs = n_jobs
        self.finished = scratch / f"finished-{n_jobs}"
        self.seen: dict[Cell, Record] = {}
        self.reference = without_times(run(MEANS, output=scratch / f"reference-{n_jobs}"))

    def begin(self, folder: Path) -> int:
        if self.n_jobs == 1:
            return forked(lambda: run_means(folder, 1, self.finished))
        arguments = [str(folder), str(self.n_jobs), str(self.finished)]
        command = [sys.executable, "-m", "benchmarks.reliability.means", *arguments]
        return subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL).pid

    @functools.cache  # noqa: B019
    def duration(self, folder: Path) -> float:
        started = time.perf_counter()
        finish(self.begin(folder))
        seconds = time.perf_counter() - started
        self.recover(folder)
        return seconds

    def check(self, folder: Path) -> list[str]:
        there = RecordFile(folder / "means" / "records.jsonl", MEANS.spec_hash).read()
        said = self.finished.read_text().splitlines() if self.finished.exists() else []
        faults = [f"{key} was finished and is lost" for key in said if Cell(key) not in there]
        faults += [f"{cell} has changed" for cell, record in self.seen.items() if there.get(cell) != record]
        self.seen = there
        return faults

    def recover(self, folder: Path) -> list[str]:
        finish(self.begin(folder))
        records = RecordFile(folder / "means" / "records.jsonl", MEANS.spec_hash).read()
        faults = self.check(folder)
        if without_times([records[cell] for cell in MEANS.cells(False)]) != self.reference:
            faults.append("the results are not those of an undisturbed run")
        (folder / "means" / "records.jsonl").unlink()
        self.finished.unlink()
        self.seen = {}
        return faults


# --- commands, as a user runs them


class Commander:
    """Runs a command of the command line over the results of an earlier run, which are the same to the byte."""

    def __init__(self, name: str, arguments: list[str], inputs: Path, names: frozenset[str]) -> None:
        self.name, self.inputs = name, inputs
        self.arguments = arguments
        self.expected = names
        self.content: dict[str, bytes] = {}

    def begin(self, folder: Path) -> int:
        arguments = [word.replace("OUT", str(folder)) for word in self.arguments]
        command = [sys.executable, "-m", "kernelwise", *arguments, "-q"]
        nowhere = subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=self.inputs, start_new_session=True, stdout=nowhere, stderr=nowhere)
        return process.pid

    @functools.cache  # noqa: B019
    def duration(self, folder: Path) -> float:
        started = time.perf_counter()
        finish(self.begin(folder))
        seconds = time.perf_counter() - started
        self.content = self._files(folder)
        self.restart(folder)
        return seconds

    def restart(self, folder: Path) -> None:
        """Half of what was written becomes something old, and half is missing."""
        for place, path in enumerate(sorted(folder.rglob("*.*"))):
            path.unlink()
            if place % 2 and path.suffix != ".jsonl":
                path.write_bytes(b"old")

    def check(self, folder: Path) -> list[str]:
        written = self._files(folder)
        return [
            f"{name} is neither old nor new"
            for name in self.expected & written.keys()
            if written[name] not in (b"old", self.content[name]) and not name.endswith(".jsonl")
        ]

    def recover(self, folder: Path) -> list[str]:
        finish(self.begin(folder))
        written = self._files(folder)
        faults = [f"{name} is not as it was" for name in self.expected if written.get(name) != self.content[name]]
        self.restart(folder)
        return faults

    def _files(self, folder: Path) -> dict[str, bytes]:
        """The files by name, records without the time that they took."""
        files = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for name in files.keys() & {"records.jsonl"}:
            lines = [json.loads(line) | {"seconds": 0} for line in files[name].split(b"\n")[:-1]]
            files[name] = json.dumps(lines, sort_keys=True).encode()
        return files
