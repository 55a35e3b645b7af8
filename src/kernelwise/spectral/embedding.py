"""Coordinates of spectral clustering, the coordinates of new samples, and clusters in these coordinates."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array
from scipy.sparse.linalg import aslinearoperator
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin

from ..checks import Array, Index, check_choice, check_count
from ..samples import map_rows
from ..ties import stirred
from .eigenpairs import RandomState, as_float, as_symmetric_operator, top_eigenpairs

#: Eigenvalues and row sums below this fraction of the largest are rounding.
ROUNDING = 1e-10
#: Rounds of means and nearest means after k-means; each round lowers the objective, and a few rounds are enough.
MAX_SETTLING = 100


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

    values: Array
    vectors: Array
    degrees: Array | None

    def embedding(self, *, row_normalize: bool = True) -> Array:
        """Rows of the eigenvectors, scaled to unit length if ``row_normalize``; zero rows stay zero."""
        return unit_rows(self.vectors) if row_normalize else self.vectors.copy()

    def positive(self) -> "SpectralBasis":
        """The basis without eigenvectors of eigenvalue zero or less."""
        kept = self.values > ROUNDING * max(float(self.values[0]), 0.0)
        return SpectralBasis(self.values[kept], self.vectors[:, kept], self.degrees)

    def extend(self, cross: Any, *, row_normalize: bool = True) -> Array:
        r"""Place new samples by Nystroem's formula; samples of the basis get the rows that they have in the embedding.

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
        rows = nystroem_rows(as_float(cross), *nystroem_weights(self))
        return unit_rows(rows) if row_normalize else rows


def spectral_basis(
    affinity: Any,
    n_components: int,
    *,
    normalize: Literal["symmetric", "none"] = "symmetric",
    random_state: RandomState = None,
    tol: float = 0.0,
    solver: Callable[..., tuple[Array, Array]] = top_eigenpairs,
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
        Whether to take the eigenpairs of N or of K itself.
    random_state : int, RandomState or None, default=None
        Seed of the starting vector.
    tol : float, default=0.0
        Relative accuracy of the eigenvalues; 0 for machine precision.
    solver : function, default=:func:`top_eigenpairs`
        Finds eigenpairs of an operator: ``solver(operator, n_components, tol=tol, random_state=random_state)``.

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
    check_choice("normalize", normalize, ("symmetric", "none"))
    product = as_symmetric_operator(affinity)
    n_samples = product.shape[0]
    check_count("n_components", n_components, most=n_samples, limit=", the number of samples")
    options: Any = {"random_state": random_state, "tol": tol}
    if normalize == "none":
        return SpectralBasis(*solver(product, n_components, **options), None)
    degrees = checked_degrees(product.matvec(np.ones(n_samples)))
    scale = aslinearoperator(diags_array(inverse_root(degrees)))
    values, vectors = solver(scale @ product @ scale, n_components, **options)
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
) -> Array:
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
) -> Index:
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
    embedding = np.asarray(embedding, dtype=np.float64)
    if embedding.ndim != 2:
        raise ValueError(f"embedding must have one row per sample, got shape {embedding.shape}")
    check_count("n_clusters", n_clusters, most=embedding.shape[0], limit=", the number of samples")
    k_means = KMeans(n_clusters, init="k-means++", n_init=n_init, random_state=random_state)
    return k_means.fit(stirred(embedding)).labels_.astype(np.intp)


def settled_clusters(
    embedding: Array, n_clusters: int, *, n_init: int, random_state: RandomState
) -> tuple[Index, Array]:
    """Labels and centres of :func:`assign_clusters`, iterated until every row has the label of the nearest centre."""
    labels = assign_clusters(embedding, n_clusters, n_init=n_init, random_state=random_state)
    centers = np.zeros((n_clusters, embedding.shape[1]))
    for _ in range(MAX_SETTLING):
        for cluster in np.unique(labels):
            centers[cluster] = embedding[labels == cluster].mean(axis=0)
        nearest = pairwise_distances_argmin(embedding, centers).astype(np.intp)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
    return labels, centers


def nystroem_weights(basis: SpectralBasis, factor: Any = None) -> tuple[Any, Any, float]:
    r"""What :func:`nystroem_rows` needs of the samples of the basis.

    These are :math:`F^\top D^{-1/2} U \Lambda^{-1}` and, if the similarity was normalised, :math:`F^\top 1` and the
    degree up to which a sample is isolated. F is the factor of the similarity, or the identity for None.
    """
    rows, degree_weights, least = basis.vectors / basis.values, None, 0.0
    if basis.degrees is not None:
        least = ROUNDING * float(basis.degrees.max())
        rows = rows * map_rows(basis.degrees, inverse_root, least)[:, None]
        ones = np.ones_like(basis.degrees)
        degree_weights = ones if factor is None else np.asarray(factor.T @ ones)
    return rows if factor is None else np.asarray(factor.T @ rows), degree_weights, least


def nystroem_rows(features: Any, projection: Any, degree_weights: Any, least: float) -> Array:
    """Rows of the basis for new samples; a sample whose degree is not above ``least`` gets zeros."""
    rows = np.asarray(features @ projection)
    if degree_weights is not None:
        rows *= inverse_root(np.asarray(features @ degree_weights), least)[:, None]
    return rows


def checked_degrees(degrees: Any) -> Any:
    """Row sums, in memory or in row blocks, with rounding around zero removed."""
    if not len(degrees):
        return degrees
    largest, least = float(np.abs(degrees).max()), float(degrees.min())
    rounding = len(degrees) * np.finfo(np.float64).eps * largest
    if least < -rounding:
        raise ValueError(
            f"row sums of the similarity must not be negative, the least is {least:.3g}; "
            'clip or shift the similarities to be non-negative, or pass normalize="none"'
        )
    return np.where(degrees > rounding, degrees, 0.0)


def possible_normalization(degrees: Array) -> Literal["symmetric", "none"]:
    """Choose "symmetric" where no row sum is negative, up to rounding."""
    return "symmetric" if degrees.min() >= -ROUNDING * np.abs(degrees).max() else "none"


def inverse_root(degrees: Array, least: float = 0.0) -> Array:
    """``d^-1/2``, and 0 for isolated samples, whose degree is not above ``least``."""
    return np.divide(1.0, np.sqrt(np.abs(degrees)), out=np.zeros_like(degrees), where=degrees > least)


def unit_rows(rows: Array) -> Array:
    """Rows scaled to unit length; zero rows stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0.0)
