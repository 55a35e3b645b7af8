"""Functions of rows of words, which also work on blocks of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checks import Array


def are_counts(X: Any) -> bool:
    """Whether each row of non-negative X is a multiple of whole numbers: counts or binary, perhaps scaled by row."""
    X = sp.csr_array(X)
    starts = X.indptr[:-1][np.diff(X.indptr) > 0]
    if not len(starts):
        return True
    smallest = np.minimum.reduceat(X.data, starts)
    multiples = X.data / np.repeat(smallest, np.diff(np.append(starts, X.nnz)))
    return bool(np.allclose(multiples, np.round(multiples), rtol=0, atol=1e-6))


def count_signs(X: Any) -> Array:
    """The numbers of negative and of non-zero entries."""
    values = X if isinstance(X, np.ndarray) else X.data
    return np.array([np.count_nonzero(values < 0), np.count_nonzero(values)], dtype=np.float64)


def each_row(X: Any, *, method: Callable[[Any], Any]) -> Any:
    """Apply a method of scikit-learn, unless there are no rows, which scikit-learn refuses."""
    return method(X) if X.shape[0] else X
