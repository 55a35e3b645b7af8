"""Bad command lines by the thousand: each must end soon with a documented exit status and a message, not a traceback.

They run in this process's children, a batch in each, through the entry of the command line; a sample of them runs as a
user would run it.
"""

import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

from .bad_files import whole_inputs
from .command_lines import bad_command_line

BATCH = 250
#: Seconds that a command may take.
SLOW = 60
STATUSES = (0, 1, 2)
#: Options that take the next word as their value, whatever it is.
VALUED = {
    *("-o", "--output", "--label", "--id", "--kind", "--report", "--seed", "-k", "--classes", "--clusters", "-m"),
    *("--model", "--query", "--components", "--links", "--jobs", "--accuracy", "--annotator", "--answers", "--ask"),
    *("--consensus", "--group", "--questions", "--source-kind", "--cost", "--checks"),
}
#: Lines on the standard error that come beside the one sentence.
NOTES = ("warning: ",)


@dataclass(frozen=True)
class Outcome:
    """What became of a command: its exit status, what it said, and what is wrong with that."""

    status: int | str
    out: str
    err: str
    seconds: float
    faults: tuple[str, ...]


class TooSlowError(BaseException):
    """Not an Exception, so that no command takes it for one of its own."""


def run_cases(count: int, seed: int, processes: int, folder: Path) -> int:
    """Run cases, print what became of them, and return how many ended as none may."""
    folder.mkdir(parents=True, exist_ok=True)
    statuses: Counter[str] = Counter()
    sentences: Counter[str] = Counter()
    found: list[dict[str, Any]] = []
    slowest = 0.0
    with _inputs() as (whole, place):
        for first in range(0, count, BATCH):
            for row in _batch(range(first, min(first + BATCH, count)), seed, whole, place):
                statuses[str(row["status"])] += 1
                sentences[row["sentence"]] += 1
                slowest = max(slowest, row["seconds"])
                if row["faults"]:
                    found.append(row)
                    print(json.dumps(row)[:1500], flush=True)
        step = max(count // max(processes, 1), 1)
        spawned = [_spawned(number, seed, whole, place) for number in range(0, count, step)[:processes]]
    bad_processes = [row for row in spawned if row["faults"]]
    (folder / "commands.json").write_text(json.dumps(found + bad_processes, indent=1))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{sum(statuses.values())} bad command lines, by exit status: {dict(sorted(statuses.items()))}")
    spent = used.ru_utime + used.ru_stime
    print(f"{len(sentences)} different messages; the slowest took {slowest:.1f} s; {spent:.0f} CPU s in all")
    print(f"{len(spawned)} of them as processes of their own: {dict(Counter(str(row['status']) for row in spawned))}")
    print(f"ended as none may: {len(found)} here, {len(bad_processes)} as processes; see {folder / 'commands.json'}")
    return len(found) + len(bad_processes)


@contextlib.contextmanager
def _inputs() -> Iterator[tuple[dict[str, Path], Path]]:
    shared = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(prefix="kernelwise-commands-", dir=shared if shared.is_dir() else None))
    (root / "whole").mkdir()
    (root / "cases").mkdir()
    try:
        yield whole_inputs(root / "whole"), root / "cases"
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _batch(numbers: range, seed: int, whole: dict[str, Path], place: Path) -> list[dict[str, Any]]:
    """Run cases in a child, and the rest of them in another one where that dies."""
    rows: list[dict[str, Any]] = []
    while len(rows) < len(numbers):
        read_end, write_end = os.pipe()
        child = os.fork()
        if not child:
            os.close(read_end)
            with os.fdopen(write_end, "w") as stream:
                for number in numbers[len(rows) :]:
                    stream.write(json.dumps(_row(number, seed, whole, place)) + "\n")
                    stream.flush()
            os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end) as stream:
            rows += [json.loads(line) for line in stream]
        _, status = os.waitpid(child, 0)
        if status:
            number = numbers[len(rows)]
            arguments = _arguments(number, seed, whole, place)[0]
            rows.append(_summary(number, arguments, Outcome("died", "", "", 0.0, (f"the process died: {status}",))))
    return rows


def _row(number: int, seed: int, whole: dict[str, Path], place: Path) -> dict[str, Any]:
    arguments, folder = _arguments(number, seed, whole, place)
    before = _snapshot(whole, folder)
    outcome = run_here(arguments, folder)
    if outcome.status == 2 and _snapshot(whole, folder) != before:
        outcome = Outcome(*(*list(vars(outcome).values())[:4], (*outcome.faults, "refused, yet something was written")))
    shutil.rmtree(folder, ignore_errors=True)
    return _summary(number, arguments, outcome)


def _arguments(number: int, seed: int, whole: dict[str, Path], place: Path) -> tuple[list[str], Path]:
    folder = place / str(number)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.mkfifo(folder / "pipe.csv")
    return bad_command_line(whole, folder, random.Random(f"{seed}-{number}")), folder


def _summary(number: int, arguments: list[str], outcome: Outcome) -> dict[str, Any]:
    return {
        "case": number,
        "arguments": [argument[-200:] for argument in arguments],
        "status": outcome.status,
        "sentence": outcome.err.strip()[-300:],
        "seconds": round(outcome.seconds, 2),
        "faults": list(outcome.faults),
        "err": outcome.err[-3000:] if outcome.faults else "",
    }


def run_here(arguments: list[str], folder: Path) -> Outcome:
    """Run a command in this process, and look at how it ended."""
    from kernelwise.cli import main

    # As the streams of a process are: the output is strict, complaints are never lost.
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)
    status: int | str
    signal.signal(signal.SIGALRM, _too_slow)
    signal.alarm(SLOW)
    started = time.process_time()
    here = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(arguments)
    except BaseException as error:  # a traceback is what this is about
        status = type(error).__name__
        err.write("".join(traceback.format_exception(error)))
    finally:
        signal.alarm(0)
        os.chdir(here)
    said, complained = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    faults = tuple(_faults(arguments, status, said, complained))
    return Outcome(status, said, complained, time.process_time() - started, faults)


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlowError(f"more than {SLOW} s")


def _faults(arguments: list[str], status: int | str, out: str, err: str) -> Iterator[str]:
    if status not in STATUSES:
        yield f"exit status {status}"
    if "Traceback (most recent call last)" in err:
        yield "a traceback"
    if status == 2:
        lines = [line for line in err.splitlines() if not line.startswith(NOTES) and not line.endswith(" s")]
        if len(lines) != 1 or not lines[0].startswith("kernelwise: ") or len(lines[0]) < 25:
            yield f"{len(lines)} lines where one sentence is expected"
        if out:
            yield "output beside the refusal"
    if status == 0 and _asks_for_json(arguments):
        try:
            json.loads(out)
        except ValueError:
            yield "output that is not JSON"


def _asks_for_json(arguments: list[str]) -> bool:
    """Whether --json is an option, rather than the value of one, and nothing is asked that is answered at once."""
    asked = any(word == "--json" and before not in VALUED for before, word in pairwise(["", *arguments]))
    return asked and not {"--help", "--version"} & {*arguments}


def _snapshot(whole: dict[str, Path], folder: Path) -> list[tuple[str, int, int]]:
    """Names, sizes and times of all files that a command could reach."""
    found = []
    for root in (next(iter(whole.values())).parent, folder):
        for path in sorted(root.rglob("*")):
            state = path.lstat()
            found.append(
                (str(path), state.st_size if path.is_file() else 0, state.st_mtime_ns if path.is_file() else 0)
            )
    return found


def _spawned(number: int, seed: int, whole: dict[str, Path], place: Path) -> dict[str, Any]:
    arguments, folder = _arguments(number, seed, whole, place)
    if any("\0" in argument for argument in arguments):  # which no process can be given
        arguments = [argument.replace("\0", "") for argument in arguments]
    command = [sys.executable, "-m", "kernelwise", *arguments]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=10 * SLOW, check=False)
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    faults = tuple(_faults(arguments, done.returncode, out, err))
    shutil.rmtree(folder, ignore_errors=True)
    return _summary(number, arguments, Outcome(done.returncode, out, err, time.perf_counter() - started, faults))
