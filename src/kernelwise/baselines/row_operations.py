"""Operations on the rows of a matrix, dense or sparse alike."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def dense(values: Any) -> FloatArray:
    """Return the values in a dense array."""
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def squared(rows: Any) -> Any:
    """Squares of the entries."""
    return rows.multiply(rows).tocsr() if sp.issparse(rows) else np.square(rows)


def squared_norms(rows: Any) -> FloatArray:
    """Return the squared length of every row."""
    if sp.issparse(rows):
        return np.asarray(squared(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows)


def weighted_gram(rows: Any, weights: FloatArray) -> FloatArray:
    """``sum_c weights_c v_c v_c^T`` of the rows v."""
    if sp.issparse(rows):
        return (rows.T @ (sp.diags_array(weights) @ rows)).toarray()
    return rows.T @ (weights[:, None] * rows)
