"""Coverage-guided fuzzing of the readers with atheris: one process per target, bounded in memory and time.

A finding is an error that is not documented, more memory than allowed, a read that takes too long, or a crash of
compiled code. Its input is kept; one per place in the code.
"""

import contextlib
import functools
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from . import samples
from .targets import TARGETS, Reader, damaged_archive

#: The address space of a target; a reader that asks for more than what it says it needs gets a MemoryError.
MEMORY = 6 * 2**30
#: What the process may hold, in megabytes, as libFuzzer measures it.
RESIDENT_MB = 2048
#: What the fuzzer sees the branches of.
INSTRUMENTED = [
    "kernelwise.files",
    "kernelwise.report.corrections",
    "kernelwise.papers.records",
    "zipfile",
    "skops",
]
#: Seconds that one input may take.
SLOW = 10
#: Characters of input: enough for two dozen rows, and small enough to be quick.
LONGEST = {"model": 400_000, "parquet": 16_384, "parquet-corrected": 16_384}


class Findings:
    """Inputs that did what none may do, one for each place in the code."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.places: set[tuple[str, str]] = set()
        self.outcomes = {"read": 0, "refused": 0, "found": 0}

    def keep(self, content: bytes, error: BaseException) -> None:
        """Write the input and the traceback, unless an error of this type and place is known."""
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "kernelwise" in frame.filename]
        where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
        self.outcomes["found"] += 1
        if (type(error).__name__, where) in self.places:
            return
        self.places.add((type(error).__name__, where))
        name = hashlib.sha256(content).hexdigest()[:12]
        (self.folder / f"{name}.bin").write_bytes(content)
        (self.folder / f"{name}.txt").write_text("".join(traceback.format_exception(error))[-8000:], "utf-8", "replace")
        print(f"finding {name}: {type(error).__name__} at {where}: {str(error)[:200]!r}", file=sys.stderr, flush=True)

    def note(self) -> None:
        """Write how often what happened."""
        (self.folder / "outcomes.json").write_text(json.dumps(self.outcomes))


def fuzz_all(names: list[str], seconds: float, folder: Path) -> int:
    """Fuzz targets in turn, each in a process of its own, and print a line for each; return the number of findings."""
    total = 0
    print(f"{'target':20}{'executions':>12}{'read':>10}{'CPU s':>8}{'findings':>10}", flush=True)
    for name in names:
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "benchmarks.fuzzing", "reader", name, "--seconds", str(seconds)]
        with (place / "log").open("wb") as log:
            status = subprocess.run([*command, "--folder", str(place)], stdout=log, stderr=log, check=False).returncode
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found = sum(len(list(place.glob(pattern))) for pattern in ("*.bin", "crash-*", "oom-*", "timeout-*"))
        noted = place / "outcomes.json"
        outcomes = json.loads(noted.read_text()) if noted.exists() else {"read": 0}
        ended = "" if status == 0 else f"   ended with status {status}, see {place / 'log'}"
        print(f"{name:20}{sum(outcomes.values()):12}{outcomes['read']:10}{spent:8.0f}{found:10}{ended}", flush=True)
        total += found + (status != 0)
    return total


def fuzz_here(name: str, seconds: float, folder: Path) -> None:
    """Fuzz one target until its processor time is spent; this ends the process."""
    try:
        import atheris
    except ImportError as error:
        raise SystemExit("fuzzing the readers needs atheris: pip install --group fuzz") from error
    target = TARGETS[name]
    with atheris.instrument_imports(include=INSTRUMENTED):
        _import_readers()
    seeds = _write_seeds(target.seeds(), folder / "corpus")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    read, findings = Reader(target, folder / "files"), Findings(folder)
    started = time.process_time()

    def one_input(content: bytes) -> None:
        try:
            findings.outcomes[read(content)] += 1
        except Exception as error:
            findings.keep(content, error)
        over = time.process_time() > started + seconds
        if over or sum(findings.outcomes.values()) % 100 == 0:
            findings.note()
        if over:
            os._exit(0)  # libFuzzer itself counts seconds on the clock, whoever else uses the machine

    def mutate(content: bytes, longest: int, seed: int) -> bytes:
        damage = functools.partial(_damage, atheris.Mutate)
        changed = damaged_archive(content, damage, seed) if seed % 8 else None
        changed = atheris.Mutate(content, longest) if changed is None else changed
        return changed if len(changed) <= longest else content

    (folder / "words.dict").write_text("".join(f'"{_escaped(word)}"\n' for word in samples.WORDS))
    options = [
        f"-timeout={SLOW}",
        f"-rss_limit_mb={RESIDENT_MB}",
        f"-max_len={LONGEST.get(name, 4096)}",
        f"-len_control={0 if target.archive else 100}",
        f"-dict={folder / 'words.dict'}",
        f"-artifact_prefix={folder}/",
        "-seed=1",
        str(seeds),
    ]
    atheris.Setup([sys.argv[0], *options], one_input, custom_mutator=mutate if target.archive else None)
    atheris.Fuzz()


def _import_readers() -> None:
    import kernelwise.files
    import kernelwise.papers.records
    import kernelwise.report.corrections

    for name in kernelwise.files.__all__:
        getattr(kernelwise.files, name)
    with contextlib.suppress(ImportError):
        import skops.io  # noqa: F401


def _damage(mutate: Callable[[bytes, int], bytes], part: bytes) -> bytes:
    return mutate(part, len(part) + 64)


def _write_seeds(seeds: list[bytes], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(seeds):
        (folder / f"seed-{number}").write_bytes(content)
    return folder


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)
