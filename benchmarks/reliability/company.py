"""Several processes at once: at one file, at one folder of results, at one cache."""

import itertools
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import environment
from kernelwise.datasets import _gisette as gisette
from kernelwise.files import FileError, write_file
from kernelwise.papers import RecordError, RecordFile, run
from kernelwise.whole_files import write_whole

from .means import MEANS, without_times
from .victims import Download, forked

LETTERS = "abcdef"
SIZE = 300_000


def measure(output: Path, *, rounds: int = 20) -> dict[str, Any]:
    """Let several processes do the same at the same time, and write down what was found."""
    found: dict[str, Any] = {}
    for meeting in (same_file, same_new_file, same_experiment, same_cache):
        with tempfile.TemporaryDirectory() as folder:
            found[meeting.__name__] = meeting(Path(folder), rounds)
            print(meeting.__name__, found[meeting.__name__], flush=True)
    found = {"met": not any(part["faults"] for part in found.values()), **found, "environment": environment()}
    write_whole(output / "company.json", (json.dumps(found, indent=1) + "\n").encode())
    return found


def together(works: list[Callable[[], int]]) -> list[int]:
    """Do several things at once, each in a process of its own, and return their exit statuses."""
    start = time.monotonic() + 0.02

    def after_the_whistle(work: Callable[[], int]) -> Callable[[], None]:
        def wait_and_work() -> None:
            time.sleep(max(0.0, start - time.monotonic()))
            os._exit(work())

        return wait_and_work

    children = [forked(after_the_whistle(work)) for work in works]
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def same_file(folder: Path, rounds: int) -> dict[str, Any]:
    """Six writers, each with a letter of its own, and a reader who must never see two letters or a short file."""
    path = folder / "a.txt"
    write_file(path, LETTERS[0] * SIZE)

    def writer(letter: str) -> Callable[[], int]:
        def work() -> int:
            for _ in range(rounds):
                write_file(path, letter * SIZE, force=True)
            return 0

        return work

    def reader() -> int:
        seen = [path.read_text() for _ in range(10 * rounds)]
        return sum(text != text[:1] * SIZE for text in seen)

    statuses = together([*(writer(letter) for letter in LETTERS), reader])
    faults = [f"exit statuses {statuses}"] if any(statuses) else []
    return {"writes": rounds * len(LETTERS), "reads": 10 * rounds, "faults": faults + _litter(folder, {"a.txt"})}


def same_new_file(folder: Path, rounds: int) -> dict[str, Any]:
    """Six writers of a file that is not there yet: one writes it, five are told that it exists."""
    faults = []
    for turn in range(rounds):
        path = folder / f"{turn}.txt"

        def work(letter: str, path: Path = path) -> int:
            try:
                write_file(path, letter * SIZE)
            except FileError as error:
                return 2 if "exists; use --force" in str(error) else 3
            return 0

        statuses = together([lambda letter=letter: work(letter) for letter in LETTERS])
        winner = LETTERS[statuses.index(0)] if 0 in statuses else "nobody"
        if sorted(statuses) != [0, 2, 2, 2, 2, 2] or path.read_text() != winner * SIZE:
            faults.append(f"exit statuses {statuses}")
    return {"files": rounds, "faults": faults + _litter(folder, {f"{turn}.txt" for turn in range(rounds)})}


def same_experiment(folder: Path, rounds: int) -> dict[str, Any]:
    """Three runs in one folder, one of which may start afresh: one does the work, two say that it is being done."""
    reference = without_times(run(MEANS, output=folder / "reference"))
    faults = []
    refused = 0
    for turn in range(rounds):
        place = folder / str(turn)

        def work(resume: bool, place: Path = place) -> int:
            try:
                run(MEANS, output=place, resume=resume)
            except RecordError as error:
                return 2 if "another run is writing" in str(error) else 3
            return 0

        resume = turn % 2 == 0
        statuses = together([lambda: work(True), lambda: work(True), lambda resume=resume: work(resume)])
        refused += statuses.count(2)
        lines = (place / "means" / "records.jsonl").read_text().splitlines()
        records = RecordFile(place / "means" / "records.jsonl", MEANS.spec_hash).read()
        if not set(statuses) <= {0, 2} or 0 not in statuses:
            faults.append(f"exit statuses {statuses}")
        if without_times([records[cell] for cell in MEANS.cells(False)]) != reference or len(lines) != len(reference):
            faults.append("the records are not those of one run")
    return {"meetings": rounds, "refused": refused, "faults": faults}


def same_cache(folder: Path, rounds: int) -> dict[str, Any]:
    """Three processes that fill the same cache: all of them find it whole."""
    download = Download()
    faults = []
    try:
        for turn in range(rounds):
            place = folder / str(turn)

            def work(place: Path = place) -> int:
                gisette.provide([download.part], place, download.address, None)
                return len(download.check(place))

            statuses = together(list(itertools.repeat(work, 3)))
            faults += [f"exit statuses {statuses}"] if any(statuses) else []
            faults += _litter(place, set(download.contents))
    finally:
        download.close()
    return {"meetings": rounds, "faults": faults}


def _litter(folder: Path, expected: set[str]) -> list[str]:
    return [f"{path.name} is litter" for path in folder.iterdir() if path.name not in expected]
