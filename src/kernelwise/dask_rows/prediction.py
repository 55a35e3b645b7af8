"""Methods of fitted models that take Dask collections, work block by block, and return Dask arrays."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..samples import is_dask

if TYPE_CHECKING:
    from .engine import Engine

Shape = tuple[int, ...]

#: A value of more bytes is not sent to a cluster without a warning of Dask.
LARGE_GRAPH = 2**31


def on_blocks(
    columns: Callable[[Any], Shape],
    *,
    dtype: Callable[[Any], Any] = lambda model: np.dtype(np.float64),
    sent: Callable[[Any], Any] = lambda model: model,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a method ``f(self, X)`` whose result has one row for each row of X take Dask collections too.

    ``columns`` returns the shape of the result for one sample, ``dtype`` its type, and ``sent`` what the workers need
    of the model; all three get the fitted model.
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def dispatching(self: Any, X: Any, *args: Any, **options: Any) -> Any:
            if not is_dask(X):
                return method(self, X, *args, **options)
            check_is_fitted(self)
            given = [name for name, value in options.items() if value is not None]
            if args or given:
                raise ValueError(
                    f"{method.__name__} of a Dask collection takes nothing beside X; leave out {given or args}"
                )
            return _per_block(method, sent(self), X, columns(self), dtype(self))

        return dispatching

    return decorate


def shared_value(value: Any, engine: "Engine | None" = None) -> Any:
    """Return a large value as one value on the cluster, or as a delayed value where there is no cluster."""
    # A value within the graph of every call would be sent again with every call, and Dask warns of large graphs.
    import dask

    from .collections import current_engine
    from .lazy import opaque

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}):
        return opaque((engine or current_engine()).share(value))


def _per_block(method: Callable[..., Any], model: Any, X: Any, columns: Shape, dtype: Any) -> Any:
    from .lazy import array_of, call, opaque, parts_of

    shared = shared_value(model._for_workers()) if hasattr(model, "_for_workers") else opaque(model)
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * X.npartitions
    if hasattr(X, "chunks") and X.ndim > 1 and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    return array_of([call(method, shared, part) for part in parts_of(X)], lengths, columns, dtype)
