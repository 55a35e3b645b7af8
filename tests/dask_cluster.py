"""Real Dask clusters of worker processes for tests: on this machine only, without a dashboard, closed when left."""

import logging
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import dask
from distributed import Client, LocalCluster

from waiting import PATIENCE, wait_until


@contextmanager
def local_cluster(n_workers=2, memory_limit="1GiB"):
    """Give a Client of a new cluster of ``n_workers`` processes with one thread each; it is ``client.cluster``.

    Workers import what the tests import, the modules of this folder too, and have one BLAS thread. A worker that is
    killed is started again.
    """
    with (
        # Some time after a kill the cluster gives up the worker if it is away, be it for a second kill: never here.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"}),
        TemporaryDirectory(ignore_cleanup_errors=True) as folder,  # a worker that was killed leaves files behind
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=memory_limit,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # a free port: with None a second cluster warns about the first one's
            scheduler_kwargs={"dashboard": False},
            local_directory=folder,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, timeout=PATIENCE) as client,
    ):
        if n_workers:
            client.wait_for_workers(n_workers, timeout=PATIENCE)
        yield client


def worker_pids(client):
    """The process ids of the workers by their addresses."""
    return client.run(os.getpid)


def kill_worker(client, address=None):
    """Kill a worker, the first one unless ``address`` says which, as the kernel does where memory is short."""
    pids = worker_pids(client)
    os.kill(pids[min(pids) if address is None else address], signal.SIGKILL)


@contextmanager
def killed_at(client, task):
    """Kill a worker as soon as the scheduler knows a task of this name; it must do so before the block is left."""
    killed, left = threading.Event(), threading.Event()

    def kill():
        tasks = client.cluster.scheduler.tasks
        wait_until(lambda: left.is_set() or any(task in str(key) for key in list(tasks)))
        if not left.is_set():
            kill_worker(client)
            killed.set()

    killer = threading.Thread(target=kill)
    killer.start()
    yield
    in_time = killed.is_set()
    left.set()
    killer.join()
    assert in_time


@contextmanager
def dask_process(*arguments, python_path=()):
    """Run ``dask ...``, for example ``dask worker``, as a user does; give the process, which is killed at the end.

    It finds modules in the folders of ``python_path`` first, and then what the tests find.
    """
    folders = [str(folder) for folder in (*python_path, Path(__file__).parent)]
    with TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *map(str, arguments), "--host", "127.0.0.1", "--no-dashboard"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(folders), "DASK_TEMPORARY_DIRECTORY": scratch},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
