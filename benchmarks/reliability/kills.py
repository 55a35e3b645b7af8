"""Kills at random moments: nothing that was finished is lost, no file is half, no litter piles up."""

import itertools
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import environment
from kernelwise.whole_files import write_whole

from .inputs import write_inputs
from .victims import Commander, Download, Experimenter, Fitter, Victim, writers

#: Kills before the victim is left in peace once, to see that it recovers.
IN_A_ROW = 4


@dataclass
class Tally:
    """What was seen of one victim."""

    victim: str
    kills: int = 0
    too_late: int = 0
    seconds_spread_over: float = 0.0
    left_litter: int = 0
    most_litter: int = 0
    litter_after_recovery: int = 0
    recoveries: int = 0
    faults: list[str] = field(default_factory=list)


def kill_often(victim: Victim, folder: Path, kills: int, rng: np.random.Generator) -> Tally:
    """Kill a victim at moments that are spread evenly over its work, and look at what is left each time."""
    tally = Tally(victim.name, seconds_spread_over=round(victim.duration(folder), 3))
    for number in itertools.count(1):
        group = victim.begin(folder)
        time.sleep(rng.uniform(0, victim.duration(folder)))
        os.kill(group, signal.SIGKILL)
        killed = os.WIFSIGNALED(os.waitpid(group, 0)[1])
        tally.kills += killed
        tally.too_late += not killed
        if not gone(group):
            tally.faults.append("processes outlive the one that was killed")
        tally.faults += victim.check(folder)
        left = litter(victim, folder)
        tally.left_litter += left > 0
        tally.most_litter = max(tally.most_litter, left)
        last = tally.kills >= kills or number >= 3 * kills
        if number % IN_A_ROW == 0 or last or not killed:
            tally.faults += victim.recover(folder)
            tally.recoveries += 1
            tally.litter_after_recovery = max(tally.litter_after_recovery, litter(victim, folder))
        if last:
            return tally
    raise AssertionError


def litter(victim: Victim, folder: Path) -> int:
    """How many files nobody asked for are there."""
    return sum(path.is_file() and path.name not in victim.expected for path in folder.rglob("*"))


def gone(group: int, patience: float = 30.0) -> bool:
    """Whether all processes of a group end soon; those that do not are ended."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    os.killpg(group, signal.SIGKILL)
    return False


@contextmanager
def victims(scratch: Path, names: tuple[str, ...]) -> Iterator[list[tuple[Victim, int]]]:
    """The victims, with the part of the kills that each is to get."""
    write_inputs(scratch)
    download = Download()
    labels = ["people.csv", "--label", "approved", "--force"]
    figure = "lkcnpc-figure1"
    kinds: list[tuple[Victim, int]] = [
        *((writer, 40) for writer in writers(scratch)),
        (download, 40),
        (Fitter(), 30),
        (Experimenter(1, scratch), 60),
        (Experimenter(2, scratch), 20),
        (
            Commander(
                "kernelwise audit labels",
                ["audit", "labels", *labels, "-o", "OUT/review.csv", "--report", "OUT/review.html"],
                scratch,
                frozenset({"review.csv", "review.html"}),
            ),
            14,
        ),
        (
            Commander(
                "kernelwise reproduce",
                ["reproduce", figure, "--quick", "-o", "OUT"],
                scratch,
                frozenset({"records.jsonl", "table.md", "figure.svg", "figure.png"}),
            ),
            14,
        ),
    ]
    try:
        yield [(victim, part) for victim, part in kinds if not names or victim.name in names]
    finally:
        download.close()


def measure(kills: int, seed: int, output: Path, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """Kill about as many processes as asked for, of every kind, and write down what was found."""
    rng = np.random.default_rng(seed)
    tallies = []
    with tempfile.TemporaryDirectory() as root, victims(Path(root), names) as kinds:
        whole = sum(part for _, part in kinds)
        for place, (victim, part) in enumerate(kinds):
            folder = Path(root, f"folder-{place}")
            folder.mkdir()
            tallies.append(kill_often(victim, folder, max(1, round(kills * part / whole)), rng))
            print(asdict(tallies[-1]), flush=True)
    total = sum(tally.kills for tally in tallies)
    met = not any(tally.faults or tally.litter_after_recovery for tally in tallies)
    found = {"met": met, "seed": seed, "kills": total, "victims": [asdict(tally) for tally in tallies]}
    found["environment"] = environment()
    write_whole(output / "kills.json", (json.dumps(found, indent=1) + "\n").encode())
    write_whole(output / "kills.md", table(tallies).encode())
    return found


def table(tallies: list[Tally]) -> str:
    """The tallies in Markdown."""
    head = (
        "| killed while writing or running | kills | left a temporary file | most at once | after recovery | faults |"
    )
    rows = [
        f"| {one.victim} | {one.kills} | {one.left_litter} | {one.most_litter} | {one.litter_after_recovery} "
        f"| {len(one.faults)} |"
        for one in tallies
    ]
    total = f"| together | {sum(one.kills for one in tallies)} | | | | {sum(len(one.faults) for one in tallies)} |"
    return "\n".join([head, "|---|---|---|---|---|---|", *rows, total, ""])
