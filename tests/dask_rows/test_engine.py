"""Messages to a cluster: a Ctrl-C at the worst moment leaves no work behind."""

import signal
import threading
import time
from pathlib import Path

import pytest

from kernelwise.dask_rows.engine import ClusterEngine, interrupts_wait
from waiting import wait_until


class InterruptedClient:
    """A client whose user presses Ctrl-C as soon as work has been sent to the scheduler."""

    def __init__(self, client):
        self.client = client

    def map(self, *arguments, **options):
        futures = self.client.map(*arguments, **options)
        signal.raise_signal(signal.SIGINT)
        return futures

    def submit(self, *arguments, **options):
        future = self.client.submit(*arguments, **options)
        signal.raise_signal(signal.SIGINT)
        return future


@pytest.fixture
def ctrl_c():
    """Python's own answer to Ctrl-C: shells have it ignored for processes in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def work_until_told(file):
    """Work that ends by itself only when the test is over, so that no cancelled work is taken for finished work."""
    while not Path(file).exists():
        time.sleep(0.05)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize(
    "send", [lambda engine, end: engine.map(work_until_told, [[end] * 4]), lambda engine, end: engine.share(3)]
)
def test_work_that_was_just_sent_is_cancelled_while_the_traceback_lives(client, send, tmp_path):
    tasks = client.cluster.scheduler.tasks
    before = set(tasks)
    engine = ClusterEngine(InterruptedClient(client))
    end = tmp_path / "end"
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            send(engine, str(end))
        wait_until(lambda: set(tasks) - before)
        engine.cancel()
        wait_until(lambda: not set(tasks) - before)
        assert caught.tb is not None  # its frames refer to the futures
    finally:
        end.touch()  # the workers are free again


@pytest.mark.usefixtures("ctrl_c")
def test_interrupts_wait_for_the_end_of_the_block_and_are_not_lost():
    reached = []

    def work():
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(ZeroDivisionError), interrupts_wait():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_do_not_touch_the_handler():
    handlers = []

    def work():
        with interrupts_wait():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]
