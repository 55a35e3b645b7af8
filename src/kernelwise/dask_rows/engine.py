"""Where the blocks of an array live, and how work is brought to the blocks.

Two engines have the same few operations: the calling process, and the workers of a Dask cluster. Dask remembers how
each block was made, so the blocks of a lost worker are made again on another worker.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias
from uuid import uuid4
from weakref import WeakSet

#: A block: the block itself in the calling process, a future on a cluster.
Handle: TypeAlias = Any
#: For every argument of a function, the handles of its blocks.
BlockLists: TypeAlias = Sequence[Sequence[Handle]]
Function: TypeAlias = Callable[..., Any]
#: A function that merges a few partial results into one.
Merge: TypeAlias = Callable[[Sequence[Any]], Any]

#: The number of partial results that one task merges.
FAN_IN = 8
#: Seconds without any worker after which a fit on a cluster ends with an error.
GRACE = 30.0
#: Seconds between two looks at a cluster that is working.
LOOK = 2.0


class ClusterLost(RuntimeError):
    """No worker is left, or a task killed every worker that tried it."""


class LocalEngine:
    """Works on blocks in the calling process, and says what every operation of an engine does."""

    def map(self, function: Function, blocks: BlockLists, **shared: Any) -> list[Handle]:
        """Call ``function`` with the k-th blocks of all lists, for every k; the results stay where the blocks are."""
        return [function(*some, **shared) for some in zip(*blocks, strict=True)]

    def total(self, function: Function, blocks: BlockLists, merge: Merge, **shared: Any) -> Any:
        """Apply the function as ``map`` does, merge the results in the order of the blocks, and return what remains."""
        parts = iter(zip(*blocks, strict=True))
        merged = function(*next(parts), **shared)
        for some in parts:
            merged = merge([merged, function(*some, **shared)])
        return merged

    def start(self, delayed: Sequence[Any]) -> list[Handle]:
        """Start the computation of delayed values of Dask, and keep the values where they are made."""
        import dask

        return list(dask.compute(*delayed))

    def share(self, value: Any) -> Handle:
        """Return a handle of a value that many blocks need."""
        return value

    def fetch(self, handles: Sequence[Handle]) -> list[Any]:
        """Bring small blocks into the calling process."""
        return list(handles)

    def cancel(self) -> None:
        """Stop the work that is under way. Here an interrupt has stopped the work already."""

    @property
    def n_workers(self) -> int:
        """The number of blocks that can be worked on at the same time."""
        return 1

    @property
    def memory_limits(self) -> list[int]:
        """The bytes that each worker may use; empty where nothing is known."""
        return []


class ClusterEngine:
    """Works on blocks on the workers of a Dask cluster, with the operations of :class:`LocalEngine`."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._futures: WeakSet[Any] = WeakSet()
        # The blocks of all work since the last result. If a block were released before the scheduler has read the
        # work that needs the block, the scheduler would drop that work too.
        self._sent: list[Any] = []

    def map(self, function: Function, blocks: BlockLists, **shared: Any) -> list[Handle]:
        name = f"kernelwise-{getattr(function, '__name__', 'work').strip('_')}-{uuid4().hex}"
        keys = [f"{name}-{k}" for k in range(len(blocks[0]))]
        with interrupts_wait():  # until cancel() knows the futures
            futures = list(self.client.map(function, *blocks, key=keys, pure=False, **shared))
            self._futures.update(futures)
        self._sent.append(blocks)
        return futures

    def total(self, function: Function, blocks: BlockLists, merge: Merge, **shared: Any) -> Any:
        parts = self.map(function, blocks, **shared)
        while len(parts) > FAN_IN:
            groups = [parts[k : k + FAN_IN] for k in range(0, len(parts), FAN_IN)]
            parts = [self._submit(merge, group) for group in groups]
            self._sent.append(groups)
        return merge(self.fetch(parts))

    def start(self, delayed: Sequence[Any]) -> list[Handle]:
        # These blocks may belong to the caller, so they are not among the futures that cancel() releases.
        return list(self.client.compute(list(delayed)))

    def share(self, value: Any) -> Handle:
        # The value is not scattered, because Dask cannot make a scattered value again when its worker is lost.
        return self._submit(_itself, value)

    def _submit(self, function: Function, value: Any) -> Handle:
        with interrupts_wait():
            future = self.client.submit(function, value, pure=False)
            self._futures.add(future)
        return future

    def fetch(self, handles: Sequence[Handle]) -> list[Any]:
        self._wait(handles)
        self._sent.clear()
        return list(self.client.gather(list(handles)))

    def _wait(self, futures: Sequence[Any]) -> None:
        """Wait for results, and raise where the cluster has had no worker for a while."""
        from distributed import wait
        from distributed.scheduler import KilledWorker

        alone_since: float | None = None
        while True:
            try:
                wait(futures, timeout=LOOK)
                break
            except TimeoutError:
                if self.client.nthreads():
                    alone_since = None
                    continue
                alone_since = alone_since or time.monotonic()
                if time.monotonic() - alone_since > GRACE:
                    raise ClusterLost(
                        f"no worker has been left at {self.client.scheduler.address} for {GRACE:.0f} s; start workers "
                        "and fit again, with the same checkpoint to continue from it"
                    ) from None
        for future in futures:
            if future.status == "error":
                try:
                    future.result()
                except KilledWorker as error:
                    raise ClusterLost(
                        f"workers were killed while they worked on a block, most often for want of memory: {error}. "
                        "Use smaller chunks, a lower rank, or workers with more memory; the same checkpoint continues"
                    ) from error
            elif future.status in ("cancelled", "lost"):
                raise ClusterLost("the work was cancelled on the cluster")

    def cancel(self) -> None:
        # Dask does not work on a task whose future is released. Client.cancel is no alternative: it fails in the
        # scheduler, and closes the connection, where a task still has dependents whose own futures are gone.
        for future in list(self._futures):
            future.release()

    @property
    def n_workers(self) -> int:
        return max(1, sum(self.client.nthreads().values()))

    @property
    def memory_limits(self) -> list[int]:
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return [int(worker["memory_limit"]) for worker in workers if worker["memory_limit"]]


def _itself(value: Any) -> Any:
    return value


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Let a Ctrl-C take effect only when the block is left. Python brings it to the main thread, so others do nothing.

    Otherwise a Ctrl-C between the start of work on the cluster and the note of its futures would leave work that nobody
    cancels.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[tuple[Any, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])


Engine: TypeAlias = LocalEngine | ClusterEngine
