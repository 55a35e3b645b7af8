"""An hour of mixed work in one process: memory stays flat, and no thread, file or process is left behind.

Every fifteen seconds or so, between two jobs, the process looks at itself: resident memory before and after a
collection of garbage (the allocator is not asked to give anything back), threads, open files, child processes and
Python objects. The first quarter is warm-up: modules are loaded, caches filled, the heap finds its size.
"""

import csv
import gc
import io
import json
import os
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import environment, resident_bytes
from kernelwise.papers.figures import render
from kernelwise.whole_files import write_whole

from .jobs import round_of_jobs, run_quietly

#: What memory may differ by between the beginning and the end of the time after warm-up.
TOLERANCE = 0.05
WARM_UP = 0.25
MEGABYTE = 1e6


@dataclass(frozen=True)
class Sample:
    """The process at one moment."""

    seconds: float
    jobs: int
    rss_mb: float
    rss_after_gc_mb: float
    objects: int
    threads: int
    open_files: int
    children: int

    @classmethod
    def now(cls, seconds: float, jobs: int) -> "Sample":
        before = resident_bytes()
        gc.collect()
        return cls(
            seconds=round(seconds, 1),
            jobs=jobs,
            rss_mb=round(before / MEGABYTE, 2),
            rss_after_gc_mb=round(resident_bytes() / MEGABYTE, 2),
            objects=len(gc.get_objects()),
            threads=len(os.listdir("/proc/self/task")),
            open_files=len(os.listdir("/proc/self/fd")),
            children=len(Path("/proc/self/task", str(os.getpid()), "children").read_text().split()),
        )


def soak(minutes: float, output: Path, *, every: float = 15.0) -> dict[str, Any]:
    """Work for some minutes, writing down every sample at once, and return the verdict."""
    started = next_sample = time.monotonic()
    samples: list[Sample] = []
    done: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    seed = 0
    while (passed := time.monotonic() - started) < 60 * minutes:
        for name, job in round_of_jobs(seed):
            try:
                run_quietly(job)
            except Exception:
                failed[name] += 1
                print(f"{name}, round {seed}:\n{traceback.format_exc()}", flush=True)
            done[name] += 1
            if time.monotonic() >= next_sample:
                samples.append(Sample.now(time.monotonic() - started, done.total()))
                write_whole(output / "soak.csv", _csv(samples))
                next_sample = time.monotonic() + every
        seed += 1
        print(f"round {seed}, {passed / 60:.1f} minutes, {samples[-1].rss_after_gc_mb} MB", flush=True)
    verdict = {"minutes": minutes, "rounds": seed, **judge(samples), "jobs": dict(sorted(done.items()))}
    verdict["failed_jobs"] = dict(failed)
    verdict["met"] = verdict["met"] and not failed
    write_whole(output / "soak.json", (json.dumps(verdict | {"environment": environment()}, indent=1) + "\n").encode())
    write_whole(output / "soak.svg", render(draw(samples), "svg", title="An hour of mixed work in one process"))
    return verdict


def judge(samples: Sequence[Sample]) -> dict[str, Any]:
    """Compare the first and the last quarter of the time after warm-up."""
    settled = [sample for sample in samples if sample.seconds >= WARM_UP * samples[-1].seconds]
    quarter = max(1, len(settled) // 4)
    first, last = settled[:quarter], settled[-quarter:]

    def change(name: str) -> float:
        return median(getattr(one, name) for one in last) / median(getattr(one, name) for one in first) - 1

    grown = {name: change(name) for name in ("rss_mb", "rss_after_gc_mb", "objects")}
    most = {
        name: {
            "after_warm_up": max(getattr(one, name) for one in first),
            "at_the_end": max(getattr(one, name) for one in last),
        }
        for name in ("threads", "open_files", "children")
    }
    flat = all(abs(share) <= TOLERANCE for share in grown.values())
    clean = all(counts["at_the_end"] <= counts["after_warm_up"] for counts in most.values())
    return {
        "samples": len(samples),
        "median_rss_after_gc_mb": median(one.rss_after_gc_mb for one in settled),
        "change_after_warm_up": {name: round(share, 4) for name, share in grown.items()},
        **most,
        "met": flat and clean,
    }


def read(path: Path) -> list[Sample]:
    """The samples of an earlier run, finished or not."""
    with path.open(newline="") as stream:
        return [Sample(**{name: float(value) for name, value in row.items()}) for row in csv.DictReader(stream)]


def _csv(samples: Sequence[Sample]) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, [field.name for field in fields(Sample)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(sample) for sample in samples)
    return stream.getvalue().encode()


def draw(samples: Sequence[Sample]) -> Any:
    """Memory above, counts below, both over the time in minutes."""
    from matplotlib.figure import Figure

    minutes = [sample.seconds / 60 for sample in samples]
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    memory, counts = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    memory.plot(minutes, [sample.rss_after_gc_mb for sample in samples], color="#1f6f8b")
    memory.axvspan(0, WARM_UP * minutes[-1], color="#eeeeee", lw=0)
    memory.set(ylabel="resident memory, MB", ylim=(0, 1.15 * max(sample.rss_mb for sample in samples)))
    memory.annotate("warm-up", (0, 0), (4, 4), textcoords="offset points", color="#666666")
    for name, colour in (("threads", "#1f6f8b"), ("open_files", "#b5541c"), ("children", "#555555")):
        counts.plot(minutes, [getattr(sample, name) for sample in samples], color=colour, label=name.replace("_", " "))
    counts.set(xlabel="minutes", ylabel="count", ylim=(0, None))
    counts.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    for axes in (memory, counts):
        axes.spines[["top", "right"]].set_visible(False)
    return figure
