"""Experiments on the workers of a Dask cluster: ``Client.get_executor()``, after checks of the cluster.

Dask is optional: ``pip install kernelwise[dask]``.
"""

import asyncio
import json
import logging
import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import __version__
from .spec import Experiment

#: Seconds in which the scheduler has to answer, and in which a first worker has to be connected.
CONNECT_SECONDS = 10.0
#: Seconds in which all workers have to report their version of kernelwise; the first import may be slow.
ANSWER_SECONDS = 60.0


class ClusterError(ConnectionError):
    """A cluster that cannot be used; the message says why and what to do."""


class ClusterExecutor(Executor):
    """The executor of a Dask client, which also says how many calls its cluster can run at a time."""

    def __init__(self, client: Any, grace: float) -> None:
        self._client, self._grace = client, grace
        self._executor = client.get_executor(pure=False)  # run, even if the scheduler remembers a result
        self._last_seen = time.monotonic()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._executor.submit(fn, *args, **kwargs)

    def n_threads(self) -> int:
        """Return the number of threads of all workers; raise a BrokenExecutor if it has been zero for too long."""
        reason = "no workers were left"
        try:
            threads = self._client.sync(self._client.scheduler.ncores, callback_timeout=CONNECT_SECONDS)
        except Exception:  # a scheduler that is lost, or very busy
            threads, reason = {}, "the connection to the scheduler was lost: no answer"
        if threads:
            self._last_seen = time.monotonic()
        elif time.monotonic() - self._last_seen > self._grace:
            raise BrokenExecutor(f"{reason} for {self._grace:g} s")
        return sum(threads.values())


@contextmanager
def cluster_executor(
    address: str, *, experiment: Experiment | None = None, timeout: float = CONNECT_SECONDS, grace: float = 60.0
) -> Iterator[ClusterExecutor]:
    """Give an executor that runs on a Dask cluster; at the end, calls that are not finished are cancelled.

    A call whose worker dies is run again on another worker. The call fails when four workers have died of it, unless
    the scheduler is configured otherwise. ``address`` is as in ``tcp://host:8786``, or the path of a scheduler file; in
    ``timeout`` seconds the scheduler has to answer and a worker has to be connected; after ``grace`` seconds without
    any worker :func:`run` ends with an error. A ClusterError says that there is no such cluster, or that a worker has
    another kernelwise, or another version of the experiment, than this process.
    """
    with connected(address, experiment=experiment, timeout=timeout) as client:
        yield ClusterExecutor(client, grace)


@contextmanager
def connected(address: str, *, experiment: Experiment | None = None, timeout: float = CONNECT_SECONDS) -> Iterator[Any]:
    """Give a client of a Dask cluster that answers, has workers, and has the same kernelwise as this process."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("running on a cluster needs Dask: pip install kernelwise[dask]") from error
    scheduler = _scheduler_address(address)
    _check_scheduler(scheduler, timeout)
    # This is not the default client, so that other code in this process keeps its own client.
    client = Client(scheduler, timeout=timeout, set_as_default=False)
    log = logging.getLogger("distributed.client")
    level = log.level
    try:
        try:
            client.wait_for_workers(1, timeout=timeout)
        except TimeoutError as error:
            remedy = f"start some with: dask worker {scheduler} --nthreads 1"
            raise ClusterError(f"the cluster at {scheduler} has no workers; {remedy}") from error
        _check_versions(client, experiment)
        yield client
    finally:
        log.setLevel(logging.CRITICAL)  # a client that has lost its scheduler would log a traceback
        client.close(timeout=CONNECT_SECONDS)
        log.setLevel(level)


def _scheduler_address(address: str) -> str:
    """Return the address of the scheduler, which may be in a file."""
    if not Path(address).is_file():
        return address
    try:
        return str(json.loads(Path(address).read_bytes())["address"])
    except (ValueError, KeyError, TypeError) as error:
        raise ClusterError(
            f"{address} is not a file of a Dask scheduler; it is written by: dask scheduler --scheduler-file FILE"
        ) from error


def _check_scheduler(address: str, timeout: float) -> None:
    """Raise a ClusterError unless a scheduler answers in time: a Client waits forever where another server listens."""
    from distributed import Security
    from distributed.core import rpc

    async def kind_of_server() -> str:
        arguments = Security().get_connection_args("client")
        async with asyncio.timeout(timeout), rpc(address, timeout=timeout, connection_args=arguments) as server:
            return str((await server.identity())["type"])

    try:
        with ThreadPoolExecutor(1) as thread:  # the current thread may have an event loop already, as in a notebook
            kind = thread.submit(asyncio.run, kind_of_server()).result()
    except Exception as error:
        # Errors of sockets, names, certificates and protocols all mean that the address cannot be used.
        late = isinstance(error, TimeoutError) or "Timed out" in str(error)
        reason = f"no answer in {timeout:g} s" if late else error
        remedy = "is it running? A cluster is given as tcp://host:8786, or by a scheduler file that exists"
        raise ClusterError(f"there is no Dask scheduler at {address!r} ({reason}); {remedy}") from error
    if kind != "Scheduler":
        raise ClusterError(f"at {address} there is a Dask {kind.lower()}; give the address of the scheduler")


def _check_versions(client: Any, experiment: Experiment | None) -> None:
    """Raise a ClusterError unless all workers have the same kernelwise, and the same experiment, as this process."""
    run_cell = None if experiment is None else pickle.dumps(experiment.run_cell)
    # Experiments of other packages are not in the catalogue, and the catalogue is slow to import.
    ours = experiment is not None and experiment.run_cell.__module__.startswith("kernelwise.")
    name, spec = (experiment.name, experiment.spec_hash) if experiment is not None and ours else (None, None)
    here = __version__

    def difference() -> str:  # a local function is sent as code, so it also runs on a worker without kernelwise
        import kernelwise

        if kernelwise.__version__ != here:
            return f"kernelwise {kernelwise.__version__}, not {here} as here"
        if run_cell is not None:
            pickle.loads(run_cell)  # fails if the module of the function is missing
        if name is not None:
            from kernelwise.papers import catalogue

            if (found := catalogue()[name].spec_hash) != spec:
                return f"another version of {name} (spec {found}, here {spec})"
        return ""

    try:
        answers = client.run(difference, on_error="return", callback_timeout=ANSWER_SECONDS)
    except TimeoutError as error:
        raise ClusterError(f"a worker of the cluster did not answer in {ANSWER_SECONDS:g} s; restart it") from error
    for worker, answer in sorted(answers.items()):
        if isinstance(answer, BaseException):
            reason = f"{type(answer).__name__}: {answer}"
            raise ClusterError(f"worker {worker} cannot run experiments ({reason}); install kernelwise there")
        if answer:
            raise ClusterError(f"worker {worker} has {answer}; install the same kernelwise")


def in_plain_words(error: BaseException) -> BaseException:
    """Return the error without the names of tasks and workers, so that the same failure has the same message."""
    if type(error).__name__ != "KilledWorker":  # the name is compared, since Dask may not be installed
        return error
    deaths = error.allowed_failures + 1  # type: ignore[attr-defined]  # an attribute of KilledWorker alone
    return ChildProcessError(f"{deaths} workers died while they ran it, perhaps for want of memory")
