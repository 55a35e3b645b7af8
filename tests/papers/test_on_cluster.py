import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

import cluster_cells
from command_line import refused, run_here
from dask_cluster import dask_process, kill_worker, local_cluster, worker_pids
from kernelwise.papers import ClusterError, RecordFile, catalogue, cluster_executor, run
from tiny_experiment import slow_sample_mean, tiny
from waiting import PATIENCE, wait_until


@pytest.fixture(scope="module")
def client():
    with local_cluster(n_workers=2) as client:
        yield client


@pytest.fixture(scope="module")
def empty():
    """The scheduler of a cluster without workers."""
    with local_cluster(n_workers=0) as client:
        yield client.cluster.scheduler_address


@pytest.fixture
def address(client):
    """The scheduler of two workers; tests leave it idle and whole, whatever they did to it."""
    yield client.cluster.scheduler_address
    wait_until(lambda: not client.cluster.scheduler.tasks)
    wait_until(lambda: len(client.cluster.scheduler.workers) == 2)


def without_seconds(records):
    return [replace(record, seconds=0.0) for record in records]


def on_disk(folder):
    return RecordFile(Path(folder) / "tiny" / "records.jsonl", tiny().spec_hash).read()


# --- the same results


def test_records_equal_those_of_a_local_run(tmp_path, address):
    with cluster_executor(address, experiment=tiny()) as executor:
        records = run(tiny(), output=tmp_path / "cluster", executor=executor)
    assert without_seconds(records) == without_seconds(run(tiny(), output=tmp_path / "local"))
    assert on_disk(tmp_path / "cluster") == {record.cell: record for record in records}


@pytest.mark.slow
def test_the_command_line_gives_the_table_of_a_local_run(tmp_path, address, capsys):
    chosen = ("reproduce", "tpcmc-figure1", "--quick", "--quiet", "--output")
    assert run_here(capsys, *chosen, tmp_path / "cluster", "--cluster", address)[0] == 0
    assert run_here(capsys, *chosen, tmp_path / "local")[0] == 0
    tables = [(tmp_path / where / "tpcmc-figure1" / "table.md").read_text() for where in ("cluster", "local")]
    assert tables[0] == tables[1]


def test_cells_have_one_blas_thread_and_failures_are_recorded(tmp_path, address):
    with cluster_executor(address) as executor:
        records = run(tiny(cluster_cells.blas_threads), output=tmp_path / "threads", quick=True, executor=executor)
        assert [record.results["mean"] for record in records] == [1] * 4
        records = run(tiny(cluster_cells.raises), output=tmp_path / "raises", quick=True, executor=executor)
        assert {record.message for record in records} == {"ArithmeticError: not on this worker"}


def test_no_more_cells_are_on_the_cluster_than_it_has_threads(tmp_path, address, client):
    seen, finished = [], threading.Event()

    def watch():
        while not finished.wait(0.01):
            seen.append(sum(task.state != "memory" for task in list(client.cluster.scheduler.tasks.values())))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with cluster_executor(address) as executor:
            run(tiny(slow_sample_mean), output=tmp_path, executor=executor)
    finally:
        finished.set()
        watcher.join()
    assert max(seen) == 2


# --- faults


def test_cells_of_a_worker_that_is_killed_are_run_again(tmp_path, address, client):
    before = set(worker_pids(client).values())

    def kill_once(record, done, total):
        if done == 1:
            kill_worker(client)

    with cluster_executor(address) as executor:
        records = run(tiny(slow_sample_mean), output=tmp_path, executor=executor, progress=kill_once)
    assert without_seconds(records) == without_seconds(run(tiny(), output=tmp_path / "local"))
    wait_until(lambda: len(client.cluster.scheduler.workers) == 2)
    assert len(before & set(worker_pids(client).values())) == 1


@pytest.mark.slow
def test_a_cell_that_kills_its_workers_fails_alone_and_is_tried_again_by_the_next_run(tmp_path, address, client):
    scheduler = client.cluster.scheduler
    allowed, scheduler.allowed_failures = scheduler.allowed_failures, 1
    try:
        with cluster_executor(address) as executor:
            records = run(tiny(cluster_cells.kills_its_worker), output=tmp_path, executor=executor)
            assert [record.cell for record in records if not record.ok] == [cluster_cells.DEADLY]
            assert on_disk(tmp_path)[cluster_cells.DEADLY].message == (
                "ChildProcessError: 2 workers died while they ran it, perhaps for want of memory"
            )
            again = run(tiny(), output=tmp_path, executor=executor)
    finally:
        scheduler.allowed_failures = allowed
    assert without_seconds(again) == without_seconds(run(tiny(), output=tmp_path / "local"))


def run_and_lose(process, cluster, output, message):
    """Kill a process when two more cells are done, and expect the run to end with a message."""
    before = len(on_disk(output))

    def lose(record, done, total):
        if done == before + 2:
            process.kill()

    with (
        cluster_executor(cluster, timeout=PATIENCE, grace=1.0) as executor,
        pytest.raises(ChildProcessError, match=f"{message}.*; finished cells are kept: run again to continue"),
    ):
        run(tiny(slow_sample_mean), output=output, executor=executor, progress=lose)
    assert before + 2 <= len(on_disk(output)) < 12


def test_without_workers_a_run_ends_and_the_next_one_continues(tmp_path, empty):
    with dask_process("worker", empty, "--no-nanny", "--nthreads", "1") as worker:
        run_and_lose(worker, empty, tmp_path, "no workers were left for 1 s")
    kept = on_disk(tmp_path)
    records = run(tiny(), output=tmp_path)
    assert kept.items() <= {record.cell: record for record in records}.items()
    assert without_seconds(records) == without_seconds(run(tiny(), output=tmp_path / "local"))


@pytest.mark.slow
def test_a_scheduler_in_a_file_and_the_loss_of_it(tmp_path):
    file = tmp_path / "scheduler.json"
    with dask_process("scheduler", "--port", "0", "--scheduler-file", file) as scheduler:
        wait_until(file.exists)
        with dask_process("worker", "--scheduler-file", file, "--no-nanny", "--nthreads", "1"):
            run_and_lose(scheduler, str(file), tmp_path, "the connection to the scheduler was lost")


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_leaves_nothing_on_the_cluster(tmp_path, address, client):
    program = Path(cluster_cells.__file__)
    process = subprocess.Popen(
        [sys.executable, program, "--cluster", address, "--output", tmp_path],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # shells have it ignored in the background
    )
    with process:
        wait_until(lambda: on_disk(tmp_path), process=process)  # the first cell is done
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith("kernelwise: stopped")
    wait_until(lambda: not client.cluster.scheduler.tasks)
    kept = on_disk(tmp_path)
    assert 1 <= len(kept) < 12
    assert all(record.ok for record in kept.values())


# --- refusals


@pytest.fixture
def silent():
    """A port where somebody listens and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "A cluster is given as tcp://host:8786"),
        ("localhost", "A cluster is given as tcp://host:8786"),
        ("tcp://localhost:port", "A cluster is given as tcp://host:8786"),
        ("missing.json", "no Dask scheduler at 'missing.json'.* a scheduler file that exists"),
        ("http://127.0.0.1:1", "unknown address scheme 'http'"),
        ("tcp://127.0.0.1:1", r"no Dask scheduler at 'tcp://127.0.0.1:1' \(no answer in 0.5 s\)"),
        ("tcp://127.0.0.1:99999", r"no Dask scheduler at"),
        (str(Path(__file__)), "is not a file of a Dask scheduler"),
    ],
)
def test_what_is_no_cluster_is_refused(given, message):
    with pytest.raises(ClusterError, match=message), cluster_executor(given, timeout=0.5):
        pass


def test_a_silent_port_a_worker_and_a_cluster_without_workers_are_refused(silent, client, empty):
    with pytest.raises(ClusterError, match=r"no answer in 0\.5 s"), cluster_executor(silent, timeout=0.5):
        pass
    worker = min(client.cluster.scheduler.workers)
    with pytest.raises(ClusterError, match="there is a Dask worker; give"), cluster_executor(worker):
        pass
    with (
        pytest.raises(ClusterError, match="has no workers; start some with: dask worker tcp://"),
        cluster_executor(empty, timeout=2),
    ):
        pass


OTHER = '__version__ = "0.0.1"'
BROKEN = 'raise ImportError("libfortran is missing")'


@pytest.mark.parametrize(
    ("kernelwise", "message"),
    [(OTHER, "has kernelwise 0.0.1, not "), (BROKEN, "cannot run experiments .*libfortran is missing")],
)
def test_a_worker_with_another_kernelwise_is_refused_before_any_work(tmp_path, empty, kernelwise, message):
    (tmp_path / "kernelwise").mkdir()
    (tmp_path / "kernelwise" / "__init__.py").write_text(kernelwise)
    with (
        dask_process("worker", empty, "--no-nanny", python_path=[tmp_path]),
        pytest.raises(ClusterError, match=message),
        cluster_executor(empty, timeout=PATIENCE),
    ):
        pass


def test_a_worker_with_another_version_of_the_experiment_or_without_its_module_is_refused(address, monkeypatch):
    changed = replace(catalogue()["tpcmc-figure1"], version=99)
    with (
        pytest.raises(ClusterError, match="another version of tpcmc-figure1"),
        cluster_executor(address, experiment=changed),
    ):
        pass
    module = type(sys)("only_here")
    exec("def run_cell(cell, seed): return {}", vars(module))
    monkeypatch.setitem(sys.modules, "only_here", module)
    with (
        pytest.raises(ClusterError, match="ModuleNotFoundError: No module named 'only_here'"),
        cluster_executor(address, experiment=tiny(module.run_cell)),
    ):
        pass


def test_bad_use_of_the_command_line_has_status_2_and_writes_nothing(tmp_path, capsys):
    command = ("reproduce", "tpcmc-figure1", "--output", tmp_path, "--cluster")
    refused(run_here(capsys, *command, "nowhere"), "A cluster is given as tcp://host:8786")
    refused(run_here(capsys, *command, "tcp://127.0.0.1:1", "--jobs", "2"), "--jobs is for this machine")
    assert not list(tmp_path.iterdir())


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install kernelwise\[dask\]"), cluster_executor("tcp://127.0.0.1:1"):
        pass
