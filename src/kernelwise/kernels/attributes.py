"""One linear kernel per attribute, over a sparse matrix: m kernels in the memory of the data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..checks import check_ends
from ..samples import check_magnitude
from .bank import KernelBank, one_name_each

Array = NDArray[np.float64]


class AttributeBank(KernelBank):
    """The kernels ``K_j = x_j x_j^T``, where ``x_j`` is column j of ``X``; no matrix but ``X`` is ever made.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_kernels)
    names : sequence of str, optional

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import AttributeBank
    >>> bank = AttributeBank(np.array([[1.0, 0.0], [2.0, 3.0]]))
    >>> bank.quadratic_forms([1.0, 1.0]).tolist()
    [9.0, 9.0]
    """

    def __init__(self, X: Any, *, names: Sequence[str] | None = None):
        self.X = sp.csr_array(X, dtype=np.float64)
        check_magnitude(self.X, "X", least=0.0)
        self.n_samples = self.X.shape[0]
        self.ranks = np.ones(self.X.shape[1], dtype=np.intp)
        self.names = one_name_each(names, self.X.shape[1], default="linear")
        self._columns: sp.csc_array | None = None

    def products(self, v: ArrayLike) -> sp.csr_array:
        return sp.csr_array(sp.diags_array(self.X.T @ self._vector(v)) @ self.X.T)

    def quadratic_forms(self, v: ArrayLike) -> Array:
        return (self.X.T @ self._vector(v)) ** 2

    def project(self, v: ArrayLike) -> Array:
        """Return all ``x_j^T v``: the coordinates that first-order methods work with, one per kernel."""
        return np.asarray(self.X.T @ self._vector(v))

    def lift(self, w: Array) -> Array:
        """Return ``sum_j w_j x_j``."""
        return np.asarray(self.X @ w)

    def group_sums(self, w: Array) -> Array:
        """Return the entries of ``w`` as they are, since every kernel has one coordinate."""
        return np.array(w, dtype=np.float64)

    def cross_products(self, X: Any, v: ArrayLike) -> sp.csr_array:
        new = sp.csr_array(X, dtype=np.float64)
        return sp.csr_array(sp.diags_array(self.X.T @ self._vector(v)) @ new.T)

    def factor(self, j: int) -> Array:
        if self._columns is None:
            self._columns = self.X.tocsc()
        return self._columns[:, [j]].toarray()

    def diagonals(self) -> sp.csr_array:
        return sp.csr_array(self.X.T.power(2))

    def pair_values(self, rows: ArrayLike, cols: ArrayLike) -> sp.csr_array:
        left, right = check_ends(rows, cols, self.n_samples)
        return sp.csr_array(self.X[left].multiply(self.X[right]))

    def combined_factor(self, weights: ArrayLike) -> sp.csr_array:
        chosen = self._weights(weights, signed=False)
        active = np.flatnonzero(chosen)
        return sp.csr_array(self.X[:, active] @ sp.diags_array(np.sqrt(chosen[active])))
