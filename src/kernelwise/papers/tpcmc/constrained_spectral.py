"""SC with constraints: spectral clustering of a similarity whose entries of known pairs are replaced."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags, check_random_state

from ...checks import Array, Index, check_choice, check_count
from ...completion.basis import n_samples_of, read_similarity, refuse_distances
from ...completion.core import known_block
from ...kernels.specs import is_precomputed
from ...samples import ENTRIES_AT_ONCE, sample_product, tagged
from ...spectral import GramFactor, assign_clusters, spectral_basis
from ...spectral.eigenpairs import as_float
from ...spectral.embedding import possible_normalization
from ...statements import Pairs
from ...statements.noise import resolve_pairs

#: Of an operator, so many columns are computed at a time.
COLUMNS = 64


@dataclass(eq=False, repr=False)
class ConstrainedSpectralClustering(ClusterMixin, BaseEstimator):
    r"""Replace the similarities of known pairs by 1 or 0, then cluster spectrally.

    .. math:: \tilde S_{ij} = 1 \text{ for pairs of one class}, \quad 0 \text{ for pairs of different classes}, \quad
              S_{ij} \text{ otherwise},

    then k-means on the rows, scaled to unit length, of the leading eigenvectors of
    :math:`D^{-1/2} \tilde S D^{-1/2}`. The known pairs are a sparse correction to S, so no second n x n matrix is made.
    Similarities should be on the scale of the new values, between 0 and 1, as cosines are.

    Parameters
    ----------
    n_clusters : int, default=8
    kernels : "precomputed" or kernels, default="precomputed"
        "precomputed": ``fit`` gets the similarity. Otherwise ``fit`` gets features, and the similarity is the mean of
        these kernels.
    normalize : {"auto", "symmetric", "none"}, default="auto"
        "symmetric" is the formula above, which needs row sums that are not negative; "none" takes eigenvectors of the
        similarity itself; "auto" is "symmetric" where that is possible.
    n_components : int or None, default=None
        Number of eigenvectors; ``n_clusters`` by default.
    n_init : int, default=10
        Number of starts of k-means.
    rank : None, int or float, default=None
        For kernels on features: as in :func:`kernelwise.kernels.build_bank`.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    embedding_ : ndarray of shape (n_samples, n_components)
    eigenvalues_ : ndarray of shape (n_components,)
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    A. Y. Ng, M. I. Jordan, Y. Weiss. On spectral clustering: analysis and an algorithm. NIPS 2001. The substitution is
    that of T. Yang, R. Jin (NIPS 2014), section 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Pairs
    >>> from kernelwise import ConstrainedSpectralClustering
    >>> S = np.full((6, 6), 0.5)
    >>> pairs = Pairs.from_labels([0, 0, 0, 1, 1, 1])
    >>> labels = ConstrainedSpectralClustering(2, random_state=0).fit(S, pairs=pairs).labels_
    >>> bool(labels[0] == labels[2] != labels[3] == labels[5])
    True
    """

    n_clusters: int = 8
    _: KW_ONLY
    kernels: Any = "precomputed"
    normalize: Literal["auto", "symmetric", "none"] = "auto"
    n_components: int | None = None
    n_init: int = 10
    rank: int | float | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Substitute and cluster.

        Parameters
        ----------
        X : array, sparse matrix, LinearOperator or GramFactor of shape (n_samples, n_samples)
            The similarity. With ``kernels``, features of shape (n_samples, n_features).
        y : array-like of shape (n_samples,), optional
            Known classes, -1 for unknown, of which pairs are made if none are given.
        pairs : Pairs, optional
            With neither ``pairs`` nor ``y`` this is plain spectral clustering.

        Returns
        -------
        self
        """
        self._check_options()
        similarity = read_similarity(self, X).matrix
        n_samples = n_samples_of(similarity)
        if self.n_clusters > n_samples:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the {n_samples} samples")
        rng = check_random_state(self.random_state)
        known = resolve_pairs(pairs, y, n_samples, random_state=rng, required=False)
        refuse_distances(similarity, known)
        affinity = similarity if known is None else with_known_pairs(similarity, known)
        count = min(self.n_components or self.n_clusters, n_samples)
        normalize: Any = self.normalize
        if normalize == "auto":
            operator = affinity.as_operator() if isinstance(affinity, GramFactor) else affinity
            normalize = possible_normalization(operator @ np.ones(operator.shape[0]))
        basis = spectral_basis(affinity, count, normalize=normalize, random_state=rng)
        self.eigenvalues_ = basis.values
        self.embedding_ = basis.embedding(row_normalize=count > 1)
        self.labels_ = assign_clusters(self.embedding_, self.n_clusters, n_init=self.n_init, random_state=rng)
        return self

    def _check_options(self) -> None:
        check_count("n_clusters", self.n_clusters)
        check_count("n_init", self.n_init)
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        check_choice("normalize", self.normalize, ("auto", "symmetric", "none"))

    def __sklearn_tags__(self) -> Tags:
        return tagged(super().__sklearn_tags__(), sparse=True, pairwise=is_precomputed(self.kernels))


def with_known_pairs(similarity: Any, pairs: Pairs) -> Any:
    """Return the similarity with the entries of known pairs replaced; pairs that are given twice are averaged."""
    block = known_block(pairs)
    rows, cols = block.index[block.rows], block.index[block.cols]
    change = block.values - entries(similarity, rows, cols)
    ends = np.concatenate([rows, cols]), np.concatenate([cols, rows])
    shape = (pairs.n_samples, pairs.n_samples)
    correction = sp.csr_array((np.concatenate([change, change]), ends), shape=shape)
    if sp.issparse(similarity):
        changed: Any = similarity + correction
        return changed.tocsr()
    operator = similarity.as_operator() if isinstance(similarity, GramFactor) else aslinearoperator(similarity)
    return operator + aslinearoperator(correction)


def entries(similarity: Any, rows: Index, cols: Index) -> Array:
    """Return single entries of a similarity of any type."""
    if isinstance(similarity, LinearOperator):
        return _entries_of_operator(similarity, rows, cols)
    if isinstance(similarity, GramFactor):
        factor = as_float(similarity.factor)
        if not sp.issparse(factor):
            return sample_product(factor, factor, rows, cols)
        pieces = (slice(start, start + ENTRIES_AT_ONCE) for start in range(0, len(rows), ENTRIES_AT_ONCE))
        products = [factor[rows[piece]].multiply(factor[cols[piece]]).sum(axis=1) for piece in pieces]
        return np.concatenate([np.zeros(0), *products])
    found: Any = similarity[rows, cols]
    return np.asarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64).ravel()


def _entries_of_operator(operator: LinearOperator, rows: Index, cols: Index) -> Array:
    """Return single entries of a matrix that is known by its products: the columns in use, some at a time."""
    needed, position = np.unique(cols, return_inverse=True)
    found = np.empty(len(rows))
    for start in range(0, len(needed), COLUMNS):
        units = np.zeros((operator.shape[1], min(COLUMNS, len(needed) - start)))
        units[needed[start : start + COLUMNS], np.arange(units.shape[1])] = 1.0
        wanted = (position >= start) & (position < start + COLUMNS)
        found[wanted] = (operator @ units)[rows[wanted], position[wanted] - start]
    return found
