"""Where the blocks of an array live, and how work is brought to them.

Two engines with the same few operations: the calling process, and the workers of a Dask cluster. Dask keeps, for every
block, the recipe by which it was made; the blocks of a worker that is lost are made again elsewhere.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias
from uuid import uuid4
from weakref import WeakSet

#: A block: itself in the calling process, a future on a cluster.
Handle: TypeAlias = Any

#: Partial results that one task adds up.
FAN_IN = 8
#: Seconds without any worker after which a cluster is given up.
GRACE = 30.0
#: Seconds between two looks at a cluster that is working.
LOOK = 2.0


class ClusterLost(RuntimeError):
    """No worker is left, or a task killed every worker that tried it."""


class Engine(ABC):
    """Brings work to blocks."""

    @abstractmethod
    def map(self, function: Callable[..., Any], blocks: Sequence[Sequence[Handle]], **shared: Any) -> list[Handle]:
        """Apply ``function(*blocks, **shared)`` to the k-th blocks of the lists, for every k; results stay there."""

    @abstractmethod
    def total(
        self,
        function: Callable[..., Any],
        blocks: Sequence[Sequence[Handle]],
        merge: Callable[[Sequence[Any]], Any],
        **shared: Any,
    ) -> Any:
        """Do the same, merge the results in the order of the blocks, and bring what is left here."""

    @abstractmethod
    def start(self, delayed: Sequence[Any]) -> list[Handle]:
        """Start the computation of Dask's delayed values, and keep them where they are made."""

    @abstractmethod
    def share(self, value: Any) -> Handle:
        """Return a handle of something that many blocks need."""

    @abstractmethod
    def fetch(self, handles: Sequence[Handle]) -> list[Any]:
        """Bring blocks here; for those that are small."""

    @property
    @abstractmethod
    def n_workers(self) -> int:
        """The number of blocks that can be worked on at the same time."""

    @property
    @abstractmethod
    def memory_limits(self) -> list[int]:
        """The bytes that each worker may use; empty where nothing is known."""

    @abstractmethod
    def cancel(self) -> None:
        """Stop what is under way."""


class LocalEngine(Engine):
    """The calling process."""

    def map(self, function: Callable[..., Any], blocks: Sequence[Sequence[Handle]], **shared: Any) -> list[Handle]:
        return [function(*some, **shared) for some in zip(*blocks, strict=True)]

    def total(
        self,
        function: Callable[..., Any],
        blocks: Sequence[Sequence[Handle]],
        merge: Callable[[Sequence[Any]], Any],
        **shared: Any,
    ) -> Any:
        parts = iter(zip(*blocks, strict=True))
        merged = function(*next(parts), **shared)
        for some in parts:
            merged = merge([merged, function(*some, **shared)])
        return merged

    def start(self, delayed: Sequence[Any]) -> list[Handle]:
        import dask

        return list(dask.compute(*delayed))

    def share(self, value: Any) -> Handle:
        return value

    def fetch(self, handles: Sequence[Handle]) -> list[Any]:
        return list(handles)

    def cancel(self) -> None:
        """Do nothing: what is interrupted here has stopped."""

    @property
    def n_workers(self) -> int:
        return 1

    @property
    def memory_limits(self) -> list[int]:
        return []


class ClusterEngine(Engine):
    """The workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._futures: WeakSet[Any] = WeakSet()
        # What was sent since the last result: a block that is given back before the scheduler has read the work that
        # needs it takes that work with it.
        self._sent: list[Any] = []

    def map(self, function: Callable[..., Any], blocks: Sequence[Sequence[Handle]], **shared: Any) -> list[Handle]:
        name = f"kernelwise-{getattr(function, '__name__', 'work').strip('_')}-{uuid4().hex}"
        keys = [f"{name}-{k}" for k in range(len(blocks[0]))]
        futures = list(self.client.map(function, *blocks, key=keys, pure=False, **shared))
        self._futures.update(futures)
        self._sent.append(blocks)
        return futures

    def total(
        self,
        function: Callable[..., Any],
        blocks: Sequence[Sequence[Handle]],
        merge: Callable[[Sequence[Any]], Any],
        **shared: Any,
    ) -> Any:
        parts = self.map(function, blocks, **shared)
        while len(parts) > FAN_IN:
            groups = [parts[k : k + FAN_IN] for k in range(0, len(parts), FAN_IN)]
            parts = [self.client.submit(merge, group, pure=False) for group in groups]
            self._sent.append(groups)
        return merge(self.fetch(parts))

    def start(self, delayed: Sequence[Any]) -> list[Handle]:
        # These may be the caller's own blocks under their own names: given back when nobody holds them, not cancelled.
        return list(self.client.compute(list(delayed)))

    def share(self, value: Any) -> Handle:
        # Not scattered: what is scattered cannot be made again when its worker is lost.
        future = self.client.submit(_itself, value, pure=False)
        self._futures.add(future)
        return future

    def fetch(self, handles: Sequence[Handle]) -> list[Any]:
        self._wait(handles)
        self._sent.clear()
        return list(self.client.gather(list(handles)))

    def _wait(self, futures: Sequence[Any]) -> None:
        """Wait for results, but not for ever for a cluster that has no worker any more."""
        from distributed import wait
        from distributed.scheduler import KilledWorker

        alone_since: float | None = None
        while True:
            try:
                wait(futures, timeout=LOOK)
                break
            except TimeoutError:
                workers = self.client.nthreads()
                if workers:
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
        # What nobody wants is not worked on. Client.cancel fails in the scheduler, and takes the connection with it,
        # where a task still has dependents whose own futures are gone.
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
