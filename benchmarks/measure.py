"""How things are measured: medians of repeated calls, fresh processes for memory, thread counts beside every figure."""

import multiprocessing
import platform
import resource
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from threadpoolctl import threadpool_info


class Fresh(NamedTuple):
    """What a function returned in a process of its own, its seconds, and the memory of that process in bytes."""

    result: Any
    seconds: float
    peak_bytes: int
    baseline_bytes: int

    @property
    def extra_bytes(self) -> int:
        """The peak above what was there before the function ran: interpreter, imports and data."""
        return self.peak_bytes - self.baseline_bytes


def in_fresh_process(function: Callable[..., Any], *, prepare: Callable[[], tuple[Any, ...]] = tuple) -> Fresh:
    """Run ``function(*prepare())`` in a new interpreter and measure ``function`` there.

    Both must be importable, and the result small: it is sent back through a pipe.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_measure_here, args=(sender, function, prepare))
    child.start()
    sender.close()
    try:
        measured = receiver.recv()
    except EOFError:
        child.join()
        raise RuntimeError(f"the process that ran {function.__name__} ended with code {child.exitcode}") from None
    child.join()
    return Fresh(*measured)


def _measure_here(sender: Any, function: Callable[..., Any], prepare: Callable[[], tuple[Any, ...]]) -> None:
    arguments = prepare()
    baseline = resident_bytes()
    start = perf_counter()
    result = function(*arguments)
    seconds = perf_counter() - start
    sender.send((result, seconds, peak_resident_bytes(), baseline))


def peak_resident_bytes() -> int:
    """Return the largest resident set of this process so far.

    Linux carries the peak of ``getrusage`` over from the parent process; the figure in ``/proc`` starts anew.
    """
    return _from_proc("VmHWM:") or _from_rusage()


def resident_bytes() -> int:
    """Return the resident set of this process now, or the largest so far where the system does not tell."""
    return _from_proc("VmRSS:") or _from_rusage()


def _from_proc(field: str) -> int:
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    lines = (line.split() for line in status.read_text().splitlines())
    return next((1024 * int(words[1]) for words in lines if words[0] == field), 0)


def _from_rusage() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def median_seconds(function: Callable[[], Any], *, repeats: int = 7) -> float:
    """Return the median time of ``repeats`` calls, after one that does not count."""
    function()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return statistics.median(times)


def thread_count() -> int:
    """Return how many threads linear algebra may use."""
    import scipy.linalg  # noqa: F401  (brings its own copy of the library)

    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


def record(
    measurement: str, value: float, unit: str, *, at_least: float | None = None, at_most: float | None = None
) -> dict[str, Any]:
    """Return one measurement as a row: what, how much, what is required, and with how many threads."""
    limits = {"at least": at_least, "at most": at_most}
    required = ", ".join(f"{word} {limit:g}" for word, limit in limits.items() if limit is not None)
    met = (at_least is None or value >= at_least) and (at_most is None or value <= at_most)
    return {
        "measurement": measurement,
        "value": float(value),
        "unit": unit,
        "required": required,
        "met": bool(met),
        "threads": thread_count(),
    }


def environment() -> dict[str, str]:
    """Return what a figure depends on besides the code."""
    import numpy
    import scipy
    import sklearn

    versions = {module.__name__: module.__version__ for module in (numpy, scipy, sklearn)}
    return {"python": platform.python_version(), "machine": platform.machine(), **versions}
