"""Samples as they are given, made into what compiled code takes for granted."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from .specs import is_sparse


def read_samples(estimator: Any, X: Any, **options: Any) -> Any:
    """Validate X as scikit-learn does, to float64, dense or tidy in compressed sparse rows.

    Parameters
    ----------
    estimator : estimator
        Remembers the number and the names of the features.
    X : array, sparse matrix or DataFrame
    **options
        Of :func:`sklearn.utils.validation.validate_data`.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from kernelwise import UniformKernel
    >>> from kernelwise.kernels.reading import read_samples
    >>> twice = sp.csr_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 1))
    >>> read_samples(UniformKernel(), twice).data.tolist()
    [3.0]
    """
    return tidy(validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, **options))


def tidy(X: Any) -> Any:
    """X with every non-zero entry stored once, in order, no zero stored, and 32-bit indices where they suffice.

    Trees, nearest neighbours and support vector machines of scikit-learn rely on all of that: an entry stored twice can
    make them write where they must not. The matrix that was given stays as it is.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from kernelwise.kernels.reading import tidy
    >>> tidy(sp.csr_array(([1.0, 0.0, 1.0], [1, 0, 1], [0, 3]), shape=(1, 2))).data.tolist()
    [2.0]
    """
    if not is_sparse(X):
        return X
    index_type = sp.get_index_dtype(maxval=max(X.nnz, *X.shape))
    if X.indices.dtype == index_type and X.has_canonical_format and X.data.all():
        return X
    own = X.copy()
    own.sum_duplicates()
    own.eliminate_zeros()
    own.indices, own.indptr = own.indices.astype(index_type), own.indptr.astype(index_type)
    return own
