"""Threads of the linear algebra: a single thread where the matrices are small."""

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

from .reduced_system import MANY_SAMPLES


def suitable_blas_threads(n_samples: int) -> AbstractContextManager[Any]:
    """Return a context with one BLAS thread for few samples, and with as many as before for many.

    An interior point on a few hundred samples makes thousands of small products. A second thread makes them slower:
    waiting for the thread takes several times as long as the work, and more where other programs keep the cores busy.
    """
    if n_samples > MANY_SAMPLES:
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds, so it is done once.
    return ThreadpoolController()
