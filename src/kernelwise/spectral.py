r"""Leading eigenvectors of a similarity, the embedding they give, and clusters in it.

The normalised affinity of a similarity K with degrees ``d = K 1`` is ``N = D^-1/2 K D^-1/2``, ``D = diag(d)``. Its
leading eigenvectors, with rows scaled to unit length, are the coordinates of spectral clustering. All that is needed of
K is its product with a vector, so K may be a dense or sparse matrix, a linear operator, or a factor with ``K = F F^T``;
nothing of size n x n is ever formed.

References
----------
A. Y. Ng, M. I. Jordan, Y. Weiss. On spectral clustering: analysis and an algorithm. NIPS 2001.
Y. Bengio et al. Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering. NIPS 2003.
"""

from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg.blas import dsymv
from scipy.sparse import diags_array
from scipy.sparse.linalg import LinearOperator, aslinearoperator, eigsh
from sklearn.utils import check_random_state

__all__ = ["GramFactor", "SpectralBasis", "assign_clusters", "spectral_basis", "spectral_embedding", "top_eigenpairs"]

FloatArray = NDArray[np.float64]
RandomState: TypeAlias = int | np.random.RandomState | None

_DENSE_SIZE = 200  # up to here a full decomposition is quicker than Lanczos


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
        factor = _as_float(self.factor)
        return aslinearoperator(factor) @ aslinearoperator(factor.T)


@dataclass(frozen=True, eq=False)
class SpectralBasis:
    """Leading eigenpairs of a (normalised) similarity, and what it takes to place new samples among them.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Eigenvalues, largest first.
    vectors : ndarray of shape (n, k)
        Eigenvectors; the largest entry of each is positive. Rows of isolated samples (degree 0) are zero.
    degrees : ndarray of shape (n,) or None
        Row sums of the similarity if it was normalised.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.spectral import spectral_basis
    >>> similarity = np.kron(np.eye(2), np.ones((3, 3)))
    >>> basis = spectral_basis(similarity, 2)
    >>> bool(np.allclose(basis.extend(similarity[:1]), basis.embedding()[:1]))
    True
    """

    values: FloatArray
    vectors: FloatArray
    degrees: FloatArray | None

    def embedding(self, *, row_normalize: bool = True) -> FloatArray:
        """Rows of the eigenvectors, scaled to unit length if ``row_normalize``; zero rows stay zero."""
        return _unit_rows(self.vectors) if row_normalize else self.vectors.copy()

    def extend(self, cross: Any, *, row_normalize: bool = True) -> FloatArray:
        r"""Place new samples by Nystroem's formula, which gives back the embedding of the old ones.

        .. math:: u(x) = \lambda^{-1} \sum_i \tilde k(x, x_i)\, u_i, \qquad
                  \tilde k(x, x_i) = k(x, x_i) / \sqrt{d(x)\, d_i}

        Parameters
        ----------
        cross : ndarray or sparse matrix of shape (n_new, n)
            Similarities of the new samples to those of the basis.
        row_normalize : bool, default=True
            Scale rows to unit length.

        Returns
        -------
        ndarray of shape (n_new, k)
        """
        if getattr(cross, "ndim", None) != 2 or cross.shape[1] != self.vectors.shape[0]:
            n_samples = self.vectors.shape[0]
            raise ValueError(f"cross must have one column for each of the {n_samples} samples of the basis")
        if not np.all(self.values > 0):
            raise ValueError(f"extend needs positive eigenvalues, the least is {self.values.min():.3g}; ask for fewer")
        cross = _as_float(cross)
        if self.degrees is None:
            rows = cross @ self.vectors / self.values
        else:
            new_degrees = _checked_degrees(cross @ np.ones(cross.shape[1]))
            weighted = _inverse_root(self.degrees)[:, None] * self.vectors
            rows = _inverse_root(new_degrees)[:, None] * (cross @ weighted) / self.values
        return _unit_rows(rows) if row_normalize else rows


def top_eigenpairs(
    operator: Any, k: int, *, random_state: RandomState = None, tol: float = 0.0
) -> tuple[FloatArray, FloatArray]:
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
    product = _as_operator(operator)
    n_samples = product.shape[0]
    _check_count(k, n_samples, "k")
    if n_samples <= _DENSE_SIZE or k >= n_samples - 1:
        values, vectors = _dense_eigenpairs(product, k)
    else:
        start = check_random_state(random_state).uniform(-1.0, 1.0, n_samples)
        values, vectors = eigsh(product, k, which="LA", v0=start, tol=tol)
    order = np.argsort(values)[::-1]
    return values[order], _with_signs(vectors[:, order])


def spectral_basis(
    affinity: Any,
    n_components: int,
    *,
    normalize: Literal["symmetric", "none"] = "symmetric",
    random_state: RandomState = None,
    tol: float = 0.0,
) -> SpectralBasis:
    r"""Leading eigenpairs of a similarity or of its normalised form.

    .. math:: N = D^{-1/2} K D^{-1/2}, \qquad D = \mathrm{diag}(K \mathbf 1)

    Parameters
    ----------
    affinity : ndarray, sparse matrix, LinearOperator or GramFactor of shape (n, n)
        The symmetric similarity K. Row sums must not be negative; a sample whose row sums to zero is isolated and gets
        a row of zeros.
    n_components : int
        Number of eigenpairs, at most n.
    normalize : {"symmetric", "none"}, default="symmetric"
        Whether to take those of N or of K itself.
    random_state : int, RandomState or None, default=None
        Seed of the starting vector.
    tol : float, default=0.0
        Relative accuracy of the eigenvalues; 0 for machine precision.

    Returns
    -------
    SpectralBasis

    References
    ----------
    Ng, Jordan, Weiss (NIPS 2001).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.spectral import spectral_basis
    >>> spectral_basis(np.kron(np.eye(2), np.ones((3, 3))), 2).values.round(6)
    array([1., 1.])
    """
    if normalize not in ("symmetric", "none"):
        raise ValueError(f'normalize must be "symmetric" or "none", got {normalize!r}')
    product = _as_operator(affinity)
    n_samples = product.shape[0]
    _check_count(n_components, n_samples, "n_components")
    if normalize == "none":
        return SpectralBasis(*top_eigenpairs(product, n_components, random_state=random_state, tol=tol), None)
    degrees = _checked_degrees(product.matvec(np.ones(n_samples)))
    scale = aslinearoperator(diags_array(_inverse_root(degrees)))
    values, vectors = top_eigenpairs(scale @ product @ scale, n_components, random_state=random_state, tol=tol)
    vectors[degrees == 0.0] = 0.0  # exact zeros: scaled to unit length, rounding would become a direction
    return SpectralBasis(values, vectors, degrees)


def spectral_embedding(
    affinity: Any,
    n_components: int,
    *,
    normalize: Literal["symmetric", "none"] = "symmetric",
    row_normalize: bool = True,
    random_state: RandomState = None,
    tol: float = 0.0,
) -> FloatArray:
    r"""Coordinates of spectral clustering: rows of the leading eigenvectors, scaled to unit length.

    .. math:: z_i = u_{i\cdot} / \|u_{i\cdot}\|, \qquad D^{-1/2} K D^{-1/2} u_j = \lambda_j u_j

    Parameters
    ----------
    affinity : ndarray, sparse matrix, LinearOperator or GramFactor of shape (n, n)
        The symmetric similarity K, as in :func:`spectral_basis`.
    n_components : int
        Number of coordinates, at most n.
    row_normalize : bool, default=True
        Scale rows to unit length; zero rows stay zero.
    normalize, random_state, tol
        As in :func:`spectral_basis`.

    Returns
    -------
    ndarray of shape (n, n_components)
        The coordinates of Ng, Jordan and Weiss (NIPS 2001).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.spectral import assign_clusters, spectral_embedding
    >>> embedding = spectral_embedding(np.kron(np.eye(2), np.ones((3, 3))), 2)
    >>> labels = assign_clusters(embedding, 2, random_state=0)
    >>> bool(labels[0] == labels[2] != labels[3] == labels[5])
    True
    """
    basis = spectral_basis(affinity, n_components, normalize=normalize, random_state=random_state, tol=tol)
    return basis.embedding(row_normalize=row_normalize)


def assign_clusters(
    embedding: NDArray[Any], n_clusters: int, *, n_init: int = 10, random_state: RandomState = None
) -> NDArray[np.intp]:
    r"""Clusters of the rows of an embedding by k-means, the best of several k-means++ starts.

    .. math:: \min_{c, \ell} \sum_i \| z_i - c_{\ell_i} \|^2

    Parameters
    ----------
    embedding : ndarray of shape (n, d)
        One row per sample.
    n_clusters : int
        Number of clusters, at most n.
    n_init : int, default=10
        Number of starts.
    random_state : int, RandomState or None, default=None
        Seed of the starts; the labels are determined by it.

    Returns
    -------
    ndarray of shape (n,)
        Labels 0, ..., n_clusters - 1.

    References
    ----------
    D. Arthur, S. Vassilvitskii. k-means++: the advantages of careful seeding. SODA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.spectral import assign_clusters
    >>> assign_clusters(np.array([[0.0], [0.1], [5.0]]), 3, random_state=0).size
    3
    """
    from sklearn.cluster import KMeans

    embedding = np.asarray(embedding, dtype=np.float64)
    if embedding.ndim != 2:
        raise ValueError(f"embedding must have one row per sample, got shape {embedding.shape}")
    _check_count(n_clusters, embedding.shape[0], "n_clusters")
    k_means = KMeans(n_clusters, init="k-means++", n_init=n_init, random_state=random_state)
    return k_means.fit(embedding).labels_.astype(np.intp)


def _as_operator(affinity: Any) -> LinearOperator:
    if isinstance(affinity, GramFactor):
        return affinity.as_operator()
    matrix: Any = affinity if isinstance(affinity, LinearOperator) else _as_float(affinity)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(
            f"a similarity must be square and not empty, got shape {matrix.shape}; wrap an (n, r) factor in GramFactor"
        )
    if isinstance(matrix, LinearOperator):
        return matrix
    _check_symmetric(matrix)
    return _dense_operator(matrix) if isinstance(matrix, np.ndarray) else aslinearoperator(matrix)


def _dense_operator(matrix: FloatArray) -> LinearOperator:
    """Products that read one triangle only: they are bound by memory, so this nearly halves their time."""
    columns = np.asfortranarray(matrix.T)  # the BLAS wants columns; for the usual row-major matrix this is a view
    product = partial(dsymv, 1.0, columns)
    return LinearOperator(matrix.shape, matvec=lambda x: product(x.ravel()), matmat=matrix.dot, dtype=np.float64)


def _as_float(matrix: Any) -> Any:
    """Float64 copy if needed; sparse matrices in compressed rows."""
    if hasattr(matrix, "tocsr"):
        return matrix.tocsr().astype(np.float64, copy=False)
    return np.asarray(matrix, dtype=np.float64)


def _check_symmetric(matrix: Any) -> None:
    """Compare products from both sides with one probe: two passes instead of the many of an entry-wise check."""
    probe = np.cos(np.arange(matrix.shape[0]))
    right, left = matrix @ probe, matrix.T @ probe
    if not np.isfinite(right).all():
        raise ValueError("a similarity must be finite, got NaN or infinity; impute or remove those samples first")
    if np.abs(right - left).max() > 1e-8 * np.abs(right).max():
        raise ValueError("a similarity must be symmetric; pass (K + K.T) / 2 if it is so in principle")


def _check_count(count: int, limit: int, name: str) -> None:
    if not isinstance(count, Integral) or not 1 <= count <= limit:
        raise ValueError(f"{name} must be an integer between 1 and the number of samples, {limit}, got {count!r}")


def _dense_eigenpairs(product: LinearOperator, k: int) -> tuple[FloatArray, FloatArray]:
    n_samples = product.shape[0]
    matrix = product.matmat(np.eye(n_samples))
    return scipy.linalg.eigh(0.5 * (matrix + matrix.T), subset_by_index=[n_samples - k, n_samples - 1])


def _with_signs(vectors: FloatArray) -> FloatArray:
    """Make the entry of largest magnitude of each column positive."""
    peaks = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None, :], axis=0)
    return np.where(peaks < 0.0, -vectors, vectors)


def _checked_degrees(degrees: FloatArray) -> FloatArray:
    """Row sums with rounding around zero removed."""
    rounding = degrees.size * np.finfo(np.float64).eps * np.abs(degrees).max(initial=0.0)
    if np.any(degrees < -rounding):
        raise ValueError(
            f"row sums of the similarity must not be negative, the least is {degrees.min():.3g}; "
            'clip or shift the similarities to be non-negative, or pass normalize="none"'
        )
    return np.where(degrees > rounding, degrees, 0.0)


def _inverse_root(degrees: FloatArray) -> FloatArray:
    """``d^-1/2``, and 0 for isolated samples."""
    return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0.0)


def _unit_rows(rows: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0.0)
