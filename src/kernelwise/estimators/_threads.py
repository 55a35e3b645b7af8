"""Threads of the linear algebra: none beyond one where the matrices are small."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import threadpool_limits

from ..optim.cone_program import MANY_SAMPLES


def suitable_blas_threads(X: Any) -> AbstractContextManager[Any]:
    """Return a context with one BLAS thread for small data, and with as many as before for large.

    An interior point on a few hundred samples makes thousands of small products. A second thread gains nothing on them,
    and where other programs keep the cores busy, waiting for it takes up to a hundred times as long as the work.
    """
    shape = getattr(X, "shape", None)
    n_samples = shape[0] if shape else len(X) if hasattr(X, "__len__") else 0
    return threadpool_limits(1, user_api="blas") if n_samples <= MANY_SAMPLES else nullcontext()
