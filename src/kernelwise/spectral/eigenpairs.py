"""Leading eigenvectors of a symmetric matrix of which only products are needed, and singular vectors of a tall array.

References
----------
N. Halko, P.-G. Martinsson, J. A. Tropp. Finding structure with randomness. SIAM Review 53, 2011.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dsymv
from scipy.sparse.linalg import ArpackError, LinearOperator, aslinearoperator, eigsh
from sklearn.utils import check_random_state

from ..checks import Array, check_count
from ..samples import persist, reduce_rows
from ..ties import EIGSH_TAKES_GENERATOR
from .block_lanczos import block_lanczos, finds_larger, triangle

RandomState: TypeAlias = int | np.random.RandomState | None

#: If products with S and with its transpose differ by less than this fraction of the largest product, S is symmetric.
ALIKE = 1e-8
#: A direction whose singular value is smaller than this fraction of the largest is rounding.
LEAST_SINGULAR_VALUE = 1e-13
#: The sketch of singular vectors has this many columns more than there are vectors to find.
OVERSAMPLES = 10
_DENSE_SIZE = 200  # up to here a full decomposition is quicker than Lanczos
#: Restarts of the iteration from a single vector; eigenvalues that are not close to each other need fewer.
_MAX_RESTARTS = 50
#: The search for eigenvalues that the iteration from a single vector left out takes one product for this many products
#: of the iteration.
_SEARCH_SHARE = 10


@dataclass(frozen=True, eq=False)
class GramFactor:
    """A similarity given by a factor: ``K = F F^T``.

    Parameters
    ----------
    factor : ndarray or sparse matrix of shape (n, r)
        The matrix F; for a linear kernel, the data.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.spectral import GramFactor, top_eigenpairs
    >>> values, _ = top_eigenpairs(GramFactor(np.array([[2.0], [0.0], [1.0]])), 1)
    >>> values.round(6)
    array([5.])
    """

    factor: Any

    def __post_init__(self) -> None:
        if getattr(self.factor, "ndim", None) != 2 or not hasattr(self.factor, "dtype"):
            raise TypeError(
                f"factor must be a two-dimensional array or sparse matrix, got {type(self.factor).__name__}"
            )

    def as_operator(self) -> LinearOperator:
        """The similarity as a symmetric linear operator."""
        factor = as_float(self.factor)
        return aslinearoperator(factor) @ aslinearoperator(factor.T)


def top_eigenpairs(operator: Any, k: int, *, random_state: RandomState = None, tol: float = 0.0) -> tuple[Array, Array]:
    r"""The k largest eigenvalues of a symmetric matrix with their eigenvectors, by Lanczos iteration.

    .. math:: K u_j = \lambda_j u_j, \qquad \lambda_1 \ge \lambda_2 \ge \dots \ge \lambda_k

    Parameters
    ----------
    operator : ndarray, sparse matrix, LinearOperator or GramFactor of shape (n, n)
        The symmetric matrix. Of a LinearOperator only products are used and symmetry is taken on trust.
    k : int
        Number of eigenpairs, at most n.
    random_state : int, RandomState or None, default=None
        Seed of the starting vector.
    tol : float, default=0.0
        Relative accuracy of the eigenvalues; 0 for machine precision.

    Returns
    -------
    values : ndarray of shape (k,)
        Largest first.
    vectors : ndarray of shape (n, k)
        Orthonormal; the entry of largest magnitude of each is positive.

    Notes
    -----
    Up to 200 samples the matrix is decomposed in full. Otherwise ARPACK iterates from one vector. If ARPACK takes long,
    because eigenvalues are close to each other, or leaves out copies of equal eigenvalues, the iteration is done with
    blocks of vectors instead (:mod:`kernelwise.spectral.block_lanczos`).

    References
    ----------
    R. B. Lehoucq, D. C. Sorensen, C. Yang. ARPACK users' guide. SIAM 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.spectral import top_eigenpairs
    >>> values, vectors = top_eigenpairs(np.diag([3.0, 1.0, 2.0]), 2)
    >>> values
    array([3., 2.])
    >>> vectors
    array([[1., 0.],
           [0., 0.],
           [0., 1.]])
    """
    product = as_symmetric_operator(operator)
    n_samples = product.shape[0]
    check_count("k", k, most=n_samples, limit=", the number of samples")
    if n_samples <= _DENSE_SIZE or k >= n_samples - 1:
        matrix = product.matmat(np.eye(n_samples))
        symmetric = 0.5 * (matrix + matrix.T)
        values, vectors = scipy.linalg.eigh(symmetric, subset_by_index=[n_samples - k, n_samples - 1])
    else:
        start = check_random_state(random_state).uniform(-1.0, 1.0, n_samples)
        values, vectors = _lanczos_eigenpairs(product, k, start, tol)
    order = np.argsort(values)[::-1]
    return values[order], with_signs(vectors[:, order])


def as_symmetric_operator(affinity: Any) -> LinearOperator:
    """Return a similarity as an operator, after a check that it is symmetric where that can be seen."""
    if isinstance(affinity, GramFactor):
        return affinity.as_operator()
    matrix: Any = affinity if isinstance(affinity, LinearOperator) else as_float(affinity)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(
            f"a similarity must be square and not empty, got shape {matrix.shape}; wrap an (n, r) factor in GramFactor"
        )
    if isinstance(matrix, LinearOperator):
        return matrix
    if not is_symmetric(matrix):
        raise ValueError("a similarity must be symmetric; pass (K + K.T) / 2 if it is so in principle")
    return _dense_operator(matrix) if isinstance(matrix, np.ndarray) else aslinearoperator(matrix)


def _dense_operator(matrix: Array) -> LinearOperator:
    """Products that read one triangle of the matrix only: memory limits their speed, so this nearly halves the time."""
    columns = np.asfortranarray(matrix.T)  # the BLAS wants columns; for the usual row-major matrix this is a view
    product = partial(dsymv, 1.0, columns)
    return LinearOperator(matrix.shape, matvec=lambda x: product(x.ravel()), matmat=matrix.dot, dtype=np.float64)


def as_float(matrix: Any) -> Any:
    """Float64 copy if needed; sparse matrices in compressed rows."""
    if hasattr(matrix, "tocsr"):
        return matrix.tocsr().astype(np.float64, copy=False)
    return np.asarray(matrix, dtype=np.float64)


def is_symmetric(similarity: Any) -> bool:
    """Compare the products of S and of its transpose with one vector; without a transpose, trust the user."""
    probe = np.cos(np.arange(similarity.shape[0]))
    right = similarity @ probe
    check_finite_products(right)
    try:
        left = similarity.T @ probe
    except NotImplementedError:
        return True
    return bool(np.abs(right - left).max(initial=0.0) <= ALIKE * np.abs(right).max(initial=0.0))


def check_finite_products(products: Array) -> None:
    """Raise a ValueError if products of a similarity show that it is not finite."""
    if not np.isfinite(products).all():
        raise ValueError("a similarity must be finite, got NaN or infinity; impute those values or remove the samples")


def _lanczos_eigenpairs(product: LinearOperator, k: int, start: Array, tol: float) -> tuple[Array, Array]:
    """Use ARPACK; where ARPACK does not converge or leaves out copies of an eigenvalue, use blocks of vectors."""
    n_products = 0

    def counted(x: Array) -> Array:
        nonlocal n_products
        n_products += 1
        return product.matvec(x)

    more = np.random.default_rng(0)  # not the generator that drew the start: the vectors must differ
    options: Any = {"rng": more} if EIGSH_TAKES_GENERATOR else {}
    operator = LinearOperator(product.shape, matvec=counted, dtype=np.float64)
    try:
        values, vectors = eigsh(operator, k, which="LA", v0=start, tol=tol, maxiter=_MAX_RESTARTS, **options)
    except ArpackError:  # no convergence, or a zero matrix
        return block_lanczos(product, k, more, tol=tol)
    if finds_larger(product, values, vectors, more, n_steps=max(10, n_products // _SEARCH_SHARE)):
        return block_lanczos(product, k, more, tol=tol)
    return values, vectors


def largest_entries(rows: Any) -> Any:
    """Return the entry of largest magnitude of each column, with its sign."""
    return reduce_rows(rows, _largest, lambda left, right: np.where(np.abs(right) > np.abs(left), right, left))


def _largest(rows: Array) -> Array:
    return np.take_along_axis(rows, np.abs(rows).argmax(axis=0)[None, :], axis=0)[0]


def with_signs(vectors: Any) -> Any:
    """Make the entry of largest magnitude of each column positive."""
    return vectors * np.where(np.asarray(largest_entries(vectors)) < 0.0, -1.0, 1.0)


def right_singular_vectors(factor: Any, k: int, *, n_power: int, random_state: Any = None) -> Array:
    r"""The k leading right singular vectors of a tall matrix F, fewer where the rank is lower, by subspace iteration.

    .. math:: Q \leftarrow \mathrm{orth}(F^\top F\, Q), \qquad Q_0 = \mathrm{orth}(\Omega)

    Each of the ``n_power`` steps is one pass over the rows; more steps give more digits where the singular values fall
    slowly. The sketch is drawn, and signs are chosen, as :func:`sklearn.utils.extmath.randomized_svd` does.
    """
    n, d = factor.shape
    width = min(k + OVERSAMPLES, n, d)
    directions = np.linalg.qr(check_random_state(random_state).normal(size=(d, k + OVERSAMPLES))[:, :width])[0]
    for _ in range(n_power if width < d else 0):
        directions = np.linalg.qr(np.asarray(factor.T @ (factor @ directions)))[0]
    rows, small = persist(factor @ directions), np.eye(width)
    for _ in range(2):  # makes ``rows @ small`` orthonormal; the first round loses digits, the second loses none
        _, lengths, turned = scipy.linalg.svd(np.asarray(triangle(rows @ small)), full_matrices=False)
        present = lengths > LEAST_SINGULAR_VALUE * lengths.max(initial=0.0)
        small = small @ (turned[present].T / lengths[present])
    rotation, values, right = scipy.linalg.svd(small.T @ np.asarray(factor.T @ rows).T, full_matrices=False)
    count = min(k, int((values > LEAST_SINGULAR_VALUE * values[0]).sum())) if values.size and values[0] > 0 else 0
    largest = np.asarray(largest_entries(rows @ (small @ rotation[:, :count])))
    return right[:count].T * np.where(largest < 0.0, -1.0, 1.0)
