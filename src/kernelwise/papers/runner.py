"""Runs experiments in parallel, stores every finished cell on the disk, and continues a run that was stopped."""

import difflib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeAlias

from threadpoolctl import threadpool_limits

from ..environment import versions
from ..json_values import plain
from ..whole_files import write_whole
from .on_dask import ClusterExecutor, cluster_executor, in_plain_words
from .records import Record, RecordFile
from .spec import Cell, Experiment, seed_of

#: Seconds between two looks at how many workers a cluster has.
LOOK_SECONDS = 0.5

#: Called after each cell with its record, the number of cells done and the number of all.
Progress: TypeAlias = Callable[[Record, int, int], None]


def run(
    experiment: Experiment,
    *,
    output: str | Path,
    quick: bool = False,
    resume: bool = True,
    n_jobs: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> list[Record]:
    """Run the cells that are not finished yet, and return the records of all cells, in the order of the cells.

    A cell that raises is recorded as failed and does not stop the others; the next run tries it again. Finished cells
    are kept whatever stops a run: run again to continue. After Ctrl-C the cells under way are still finished.

    Records go to ``output/<name of the experiment>/records.jsonl``; ``resume=False`` starts afresh and renames the
    records that exist. There are ``n_jobs`` processes with one BLAS thread each, or an ``executor`` to run on, for
    example the :func:`cluster_executor` of a Dask cluster, which is not shut down.
    """
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs < 1:
        raise ValueError(f"n_jobs must be a number of processes, at least 1, got {n_jobs!r}")
    cells = experiment.distinct_cells(quick)
    file = RecordFile(Path(output) / experiment.name / "records.jsonl", experiment.spec_hash)
    with file.held():
        if not resume:
            file.set_aside()
        latest = file.read()
        todo = [cell for cell in cells if cell not in latest or not latest[cell].ok]
        done = len(cells) - len(todo)
        with file.appending() as append, closing(_outcomes(experiment, todo, n_jobs, executor)) as outcomes:
            for record in outcomes:
                append(record)
                latest[record.cell] = record
                done += 1
                if progress is not None:
                    progress(record, done, len(cells))
    return [latest[cell] for cell in cells]


def _outcomes(
    experiment: Experiment, todo: Sequence[Cell], n_jobs: int, executor: Executor | None
) -> Generator[Record, None, None]:
    """Yield the records of ``todo`` as they are finished."""
    jobs = [(experiment.run_cell, cell, seed_of(experiment.name, cell), experiment.spec_hash) for cell in todo]
    if executor is not None:
        yield from _parallel_outcomes(executor, jobs)
    elif n_jobs == 1 or len(todo) < 2:
        for job in jobs:
            yield run_one(*job)
    else:
        # Not forked: a forked process may inherit the locks of BLAS threads.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(n_jobs, len(todo)), mp_context=context, initializer=_start_worker) as pool:
            yield from _parallel_outcomes(pool, jobs)


def _parallel_outcomes(executor: Executor, jobs: Sequence[tuple[Any, ...]]) -> Generator[Record, None, None]:
    """Yield records as they are finished; say in one sentence where the executor is broken."""
    under_way: dict[Future[Record], tuple[Any, ...]] = {}
    try:
        yield from _as_finished(executor, deque(jobs), under_way)
    except KeyboardInterrupt:
        # All cells that a cluster has are running; other executors may have cells that still wait.
        running = [future for future in under_way if isinstance(executor, ClusterExecutor) or not future.cancel()]
        with suppress(BrokenExecutor):
            for future in as_completed(running):
                yield _record_of(future, *under_way[future])
        raise
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "a worker process died, perhaps for want of memory; finished cells are kept: run again with fewer jobs"
        ) from error
    except BrokenExecutor as error:
        raise ChildProcessError(f"{error}; finished cells are kept: run again to continue") from error
    finally:
        for future in under_way:
            future.cancel()


def _as_finished(
    executor: Executor, waiting: deque[tuple[Any, ...]], under_way: dict[Future[Record], tuple[Any, ...]]
) -> Generator[Record, None, None]:
    """Start what waits and yield what is finished; a cluster gets at most as many cells at a time as it has threads."""
    # Dask blames the death of a worker on all calls that the worker had, not only on the running call.
    while waiting or under_way:
        places = executor.n_threads() if isinstance(executor, ClusterExecutor) else len(waiting) + len(under_way)
        while waiting and len(under_way) < places:
            job = waiting.popleft()
            under_way[executor.submit(run_one, *job)] = job
        if not under_way:
            time.sleep(LOOK_SECONDS)  # until there is a worker
        for future in wait(under_way, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED).done:
            yield _record_of(future, *under_way.pop(future))


def _record_of(future: Future[Record], run_cell: Any, cell: Cell, seed: int, spec: str) -> Record:
    """Return the record of a cell, also if the executor could not run the cell or could not return its results."""
    try:
        return future.result()
    except BrokenExecutor:
        raise
    except CancelledError as error:
        raise BrokenExecutor("the connection to the scheduler was lost, or it was restarted") from error
    except Exception as error:
        reason = in_plain_words(error)
        return Record(cell, {}, 0.0, versions(), spec, "failed", f"{type(reason).__name__}: {reason}")


def _start_worker() -> None:
    """Leave Ctrl-C, which reaches every process of a terminal, to the parent, and end when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # no process is left to store the results of this worker


def run_one(run_cell: Callable[[Cell, int], dict[str, Any]], cell: Cell, seed: int, spec: str) -> Record:
    """Run one cell, with one BLAS thread, and return its record, whether the cell succeeds or fails."""
    started = time.perf_counter()
    results: dict[str, Any] = {}
    message = ""
    try:
        with threadpool_limits(limits=1):
            results = plain(run_cell(cell, seed))
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
    seconds = round(time.perf_counter() - started, 3)
    return Record(cell, results, seconds, versions(), spec, "failed" if message else "ok", message)


def chosen(known: Mapping[str, Experiment], name: str | None, *, n_jobs: int, cluster: str | None) -> Experiment:
    """Return the experiment of that name; raise a ValueError if there is none, or if jobs go with a cluster."""
    if name is None:
        raise ValueError("name an experiment, or use --list to see them")
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "use --list to see them"
        raise ValueError(f"there is no experiment {name}; {hint}")
    if cluster is not None and n_jobs > 1:
        raise ValueError("--jobs is for this machine; leave it out where --cluster says where to run")
    return known[name]


def reproduce(
    experiment: Experiment, *, output: Path, cluster: str | None = None, **options: Any
) -> tuple[list[Record], list[Path]]:
    """Run an experiment, on a cluster if its address is given, and publish the results in ``output/<its name>``."""
    place = nullcontext() if cluster is None else cluster_executor(cluster, experiment=experiment)
    with place as executor:
        records = run(experiment, output=output, executor=executor, **options)
    return records, publish(experiment, records, output / experiment.name)


def publish(experiment: Experiment, records: Sequence[Record], folder: Path) -> list[Path]:
    """Write ``table.md``, ``figure.svg`` and ``figure.png`` and return their paths; cells that failed are left out."""
    from .figures import render

    good = [record for record in records if record.ok]
    if not good:
        raise ValueError(f"no cell of {experiment.name} succeeded, so there is nothing to show")
    folder.mkdir(parents=True, exist_ok=True)
    table, svg, png = folder / "table.md", folder / "figure.svg", folder / "figure.png"
    write_whole(table, _markdown(experiment, records, good).encode())
    figure = experiment.draw(good)
    for path in (svg, png):
        write_whole(path, render(figure, path.suffix[1:], title=experiment.title))
    return [table, svg, png]


def _markdown(experiment: Experiment, records: Sequence[Record], good: Sequence[Record]) -> str:
    """Return the table with its heading, and with the cells that failed."""
    parts = [f"# {experiment.title}", f"{experiment.citation}.", experiment.summarise(good).markdown()]
    failed: dict[str, list[Cell]] = {}
    for record in records:
        if not record.ok:
            failed.setdefault(record.message, []).append(record.cell)
    if failed:
        more = {message: f" and {len(cells) - 1} more" if len(cells) > 1 else "" for message, cells in failed.items()}
        lines = [f"- {cells[0]}{more[message]}: {message}" for message, cells in failed.items()]
        parts.append("\n".join(["Missing:", "", *lines]))
    return "\n\n".join(parts) + "\n"
