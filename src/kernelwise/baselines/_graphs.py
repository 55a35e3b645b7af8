"""Graphs of samples, as sparse symmetric matrices of weights."""

from typing import Any

import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors


def neighbor_graph(neighbors: NearestNeighbors) -> sp.csr_array:
    """Links of weight one between samples of which one is among the nearest of the other.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import NearestNeighbors
    >>> from kernelwise.baselines._graphs import neighbor_graph
    >>> neighbor_graph(NearestNeighbors(n_neighbors=1).fit(np.array([[0.0], [1.0], [3.0]]))).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    directed = neighbors.kneighbors_graph(mode="connectivity")
    return sp.csr_array(directed.maximum(directed.T))


def linear_graph(X: Any) -> sp.csr_array:
    """Links between all samples, weighted by their inner products.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.baselines._graphs import linear_graph
    >>> linear_graph(np.array([[1.0], [2.0]])).toarray()
    array([[1., 2.],
           [2., 4.]])
    """
    inner = sp.csr_array(X @ X.T)
    if inner.nnz and inner.data.min() < 0:
        raise ValueError(
            f'graph="linear" needs inner products that are not negative, the least is {inner.data.min():.3g}; use '
            'features that are not negative, or graph="neighbors"'
        )
    return inner
