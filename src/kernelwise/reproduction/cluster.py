"""Experiments on the workers of a Dask cluster, behind the interface of ``concurrent.futures``.

Dask is needed here and nowhere else: ``pip install kernelwise[dask]``.
"""

import asyncio
import json
import logging
import pickle
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from .. import __version__
from .spec import Experiment

#: Seconds in which the scheduler has to answer, and the first worker has to be there.
CONNECT_SECONDS = 10.0

#: Seconds in which all workers have to say which kernelwise they have; the first import may be slow.
ANSWER_SECONDS = 60.0

#: Seconds between two looks at which workers there are.
LOOK_SECONDS = 0.5

_ADDRESS = re.compile(r"(\w+://)?(\[[0-9a-fA-F:.%\w]+\]|[^\s:/\[\]]+):\d{1,5}")


class ClusterError(ConnectionError):
    """A cluster that cannot be used; the message says why and what to do.

    Examples
    --------
    >>> from kernelwise.reproduction import ClusterError
    >>> raise ClusterError("the cluster has no workers; start some")
    Traceback (most recent call last):
    ...
    kernelwise.reproduction.cluster.ClusterError: the cluster has no workers; start some
    """


@contextmanager
def cluster_executor(
    address: str, *, experiment: Experiment | None = None, timeout: float = CONNECT_SECONDS, grace: float = 60.0
) -> Iterator[Executor]:
    """Give an executor that runs on a Dask cluster; leaving it takes back from the cluster what is not finished.

    As many calls are on the cluster at a time as its workers have threads. A call whose worker dies is run again on
    another one; it fails when as many workers died of it as the scheduler allows (four, unless configured otherwise).

    Parameters
    ----------
    address : str
        Of the scheduler, as in ``tcp://host:8786``, or the path of the file that it was told to write.
    experiment : Experiment, optional
        Workers must have the same version of it.
    timeout : float
        Seconds in which the scheduler has to answer, and in which a first worker has to be there.
    grace : float
        Seconds without any worker after which all calls fail with a BrokenExecutor.

    Raises
    ------
    ClusterError
        Where there is no such cluster, or a worker has another kernelwise than this process.
    ImportError
        Where Dask is not installed.

    Examples
    --------
    >>> from distributed import LocalCluster
    >>> from kernelwise.reproduction.cluster import cluster_executor
    >>> here = {"processes": False, "protocol": "tcp://", "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    >>> with LocalCluster(n_workers=1, **here) as cluster, cluster_executor(cluster.scheduler_address) as executor:
    ...     executor.submit(pow, 2, 5).result()
    32
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("running on a cluster needs Dask: pip install kernelwise[dask]") from error
    scheduler = _scheduler_address(address)
    _greet(scheduler, timeout)
    # Not the default client: whoever uses Dask in this process keeps their own.
    client = Client(scheduler, timeout=timeout, set_as_default=False)
    try:
        _wait_for_workers(client, scheduler, timeout)
        _compare_versions(client, experiment)
        executor = _ClusterExecutor(client, grace)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
    finally:
        _close(client)


# --- before any work


def _scheduler_address(address: str) -> str:
    """Return the address of the scheduler, which may be in a file."""
    found = address
    if Path(address).is_file():
        try:
            found = str(json.loads(Path(address).read_bytes())["address"])
        except (ValueError, KeyError, TypeError) as error:
            raise ClusterError(
                f"{address} is not a file of a Dask scheduler; it is written by: dask scheduler --scheduler-file FILE"
            ) from error
    if not _ADDRESS.fullmatch(found):
        raise ClusterError(f"a cluster is given as tcp://host:8786, or by a scheduler file that exists; got {found!r}")
    return found


def _greet(address: str, timeout: float) -> None:
    """Raise a ClusterError unless a scheduler answers in time. A Client waits forever where somebody else listens."""
    from distributed import Security
    from distributed.core import rpc

    async def identity() -> str:
        arguments = Security().get_connection_args("client")
        async with rpc(address, timeout=timeout, connection_args=arguments) as server:
            return str((await server.identity())["type"])

    async def identity_in_time() -> str:
        return await asyncio.wait_for(identity(), timeout)

    try:
        with ThreadPoolExecutor(1) as thread:  # this one may have an event loop already, as in a notebook
            kind = thread.submit(asyncio.run, identity_in_time()).result()
    except Exception as error:
        # Whatever goes wrong with sockets, names, certificates and protocols, it is the address that is of no use.
        late = isinstance(error, TimeoutError) or "Timed out" in str(error)
        reason = f"no answer in {timeout:g} s" if late else error
        raise ClusterError(f"there is no Dask scheduler at {address} ({reason}); is it running?") from error
    if kind != "Scheduler":
        raise ClusterError(f"at {address} there is a Dask {kind.lower()}; give the address of the scheduler")


def _wait_for_workers(client: Any, address: str, timeout: float) -> None:
    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError as error:
        raise ClusterError(
            f"the cluster at {address} has no workers; start some with: dask worker {address} --nthreads 1"
        ) from error


def _compare_versions(client: Any, experiment: Experiment | None) -> None:
    """Raise a ClusterError unless all workers have the kernelwise, and the experiment, that we have."""
    probe = _probe(experiment)
    try:
        answers = client.run(probe, on_error="return", callback_timeout=ANSWER_SECONDS)
    except TimeoutError as error:
        raise ClusterError(f"a worker of the cluster did not answer in {ANSWER_SECONDS:g} s; restart it") from error
    for worker, answer in sorted(answers.items()):
        if isinstance(answer, BaseException):
            reason = f"{type(answer).__name__}: {answer}"
            raise ClusterError(f"worker {worker} cannot run experiments ({reason}); install kernelwise there")
        version, spec = answer
        if version != __version__:
            raise ClusterError(f"worker {worker} has kernelwise {version}, not {__version__} as here; install the same")
        if experiment is not None and spec not in (None, experiment.spec_hash):
            raise ClusterError(
                f"worker {worker} has another version of {experiment.name} (spec {spec}, here {experiment.spec_hash}); "
                "install the same kernelwise"
            )


def _probe(experiment: Experiment | None) -> Callable[[], tuple[str, str | None]]:
    """Return a function that tells the version of kernelwise, and the hash of the experiment, where it is run.

    It is local to this one, so that it is sent as code and can tell where there is no kernelwise to import it from.
    """
    run_cell = pickle.dumps(None if experiment is None else experiment.run_cell)
    # Experiments of others are not in the catalogue, which takes a while to import.
    ours = experiment is not None and experiment.run_cell.__module__.startswith("kernelwise.")
    name = experiment.name if experiment is not None and ours else None

    def found() -> tuple[str, str | None]:
        import pickle

        import kernelwise
        from kernelwise.reproduction import catalogue

        pickle.loads(run_cell)  # the module of the function has to be there, too
        known = {} if name is None else catalogue()
        return kernelwise.__version__, known[name].spec_hash if name in known else None

    return found


# --- the work


def _close(client: Any) -> None:
    """Close a client; one that has lost its scheduler would log that it could not find it again, with a traceback."""
    logger = logging.getLogger("distributed.client")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        client.close(timeout=CONNECT_SECONDS)
    finally:
        logger.setLevel(level)


class _ClusterExecutor(Executor):
    """Sends a call when a thread of a worker is free; the others wait here.

    Dask blames the death of a worker on every call that it had been given, not only on the one that ran; and what waits
    here can be cancelled for certain.
    """

    def __init__(self, client: Any, grace: float) -> None:
        self._client = client
        self._grace = grace
        self._remote = client.get_executor(pure=False)  # run, even if the scheduler remembers a result
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._sent: set[Future[Any]] = set()
        self._broken = ""
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._closed = False
        self._feeder = threading.Thread(target=self._feed, name="kernelwise-cluster", daemon=True)
        self._feeder.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            if self._broken:
                raise BrokenExecutor(self._broken)
            if self._closed:
                raise RuntimeError("this executor has been shut down")
            self._waiting.append((future, partial(self._remote.submit, fn, *args, **kwargs)))
        self._news.set()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            self._closed = True
            waiting = [future for future, _ in self._waiting]
            sent = list(self._sent)
        if cancel_futures:
            for future in waiting:
                future.cancel()
        if wait:
            for future in (*sent, *waiting):
                if not future.cancelled():
                    future.exception()
        self._news.set()

    def _feed(self) -> None:
        """Send calls as threads become free, until this is shut down and all is done."""
        last_seen = time.monotonic()
        while not self._closed or self._waiting or self._sent:
            self._news.wait(LOOK_SECONDS)
            self._news.clear()
            threads = self._count_threads()
            if threads:
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > self._grace:
                lost = (
                    "the connection to the scheduler was lost: no answer" if threads is None else "no workers were left"
                )
                self._break(f"{lost} for {self._grace:g} s")
            while len(self._sent) < (threads or 0) and (call := self._next_call()) is not None:
                self._send(*call)

    def _count_threads(self) -> int | None:
        """Return the threads of the cluster, None where it does not answer."""
        try:
            return sum(self._client.sync(self._client.scheduler.ncores, callback_timeout=CONNECT_SECONDS).values())
        except Exception:  # a scheduler that is lost, or very busy
            return None

    def _next_call(self) -> tuple[Future[Any], Callable[[], Any]] | None:
        """Move the first call that is not cancelled from those that wait to those that are sent."""
        with self._lock:
            while self._waiting:
                future, send = self._waiting.popleft()
                if future.set_running_or_notify_cancel():
                    self._sent.add(future)
                    return future, send
        return None

    def _send(self, future: Future[Any], send: Callable[[], Any]) -> None:
        try:
            send().add_done_callback(partial(self._settle, future))
        except Exception as error:  # what cannot be pickled
            if self._take(future):
                future.set_exception(error)

    def _settle(self, future: Future[Any], remote: Future[Any]) -> None:
        """Hand on what a call came to."""
        if remote.cancelled():
            self._break("the connection to the scheduler was lost, or it was restarted")
        elif self._take(future):
            error = remote.exception()
            if error is None:
                future.set_result(remote.result())
            else:
                future.set_exception(_in_plain_words(error))
        self._news.set()

    def _take(self, future: Future[Any]) -> bool:
        """Whether it is for the caller to settle the future, which is done once."""
        with self._lock:
            if future not in self._sent:
                return False
            self._sent.remove(future)
            return True

    def _break(self, reason: str) -> None:
        """Fail all that is not done."""
        with self._lock:
            self._broken = self._broken or reason
            waiting = [future for future, _ in self._waiting]
            self._waiting.clear()
            sent = list(self._sent)
            self._sent.clear()
        for future in sent + [future for future in waiting if future.set_running_or_notify_cancel()]:
            future.set_exception(BrokenExecutor(self._broken))


def _in_plain_words(error: BaseException) -> BaseException:
    """Return the error without the names of tasks and workers, so that the same failure has the same message."""
    from distributed.scheduler import KilledWorker

    if isinstance(error, KilledWorker):
        deaths = error.allowed_failures + 1
        return ChildProcessError(f"{deaths} workers died while they ran it, perhaps for want of memory")
    return error
