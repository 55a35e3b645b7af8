"""Spectral clustering of a learned kernel."""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from ..checks import Array, Index, check_choice, check_count
from ..kernels.combined import CombinedKernelTransformer
from ..samples import refuse_collections, tagged, tidy
from ..spectral import GramFactor, SpectralBasis, spectral_basis
from ..spectral.embedding import nystroem_rows, nystroem_weights, possible_normalization, settled_clusters, unit_rows
from ..statements import Pairs
from ..statements.noise import resolve_pairs
from .learner import PairKernelLearner

#: A row sum is rounding if it is below this multiple of what it would be if all entries were as large as the largest.
ROUNDING = 1e-13


@dataclass(eq=False, repr=False)
class PairKernelClustering(ClusterMixin, BaseEstimator):
    r"""Learn a kernel from pairs, then cluster by the leading eigenvectors of its normalised affinity.

    With features :math:`F` such that :math:`K = F F^\top` and degrees :math:`d = K 1`,

    .. math:: D^{-1/2} F F^\top D^{-1/2} u_j = \lambda_j u_j,

    and k-means on the rows of the eigenvectors. No matrix of size n x n is formed. A new sample is placed by
    Nystroem's formula, :math:`u_j(x) = \lambda_j^{-1} d(x)^{-1/2} \phi(x)^\top F^\top D^{-1/2} u_j`, and assigned to
    the nearest centre.

    With the default learner this is the method of the LKCnpc paper, made for many sparse attributes such as words. For
    dense features with must-link and cannot-link pairs, some of them wrong, use
    :class:`~kernelwise.NoisyPairClustering`: k-means that ignores the pairs is often better than this method there.

    Parameters
    ----------
    learner : transformer, "precomputed" or None, default=None
        An object with ``fit(X, y, pairs=pairs)`` and a ``transform`` whose inner products are the learned kernel:
        :class:`PairKernelLearner` (the default), ``UniformKernel``, ``ITML`` and so on. A copy is fitted.
        "precomputed": X is the kernel itself, (n, n) in ``fit`` and (n_new, n) in ``predict``, and nothing is learned.
    n_clusters : int, default=8
    n_components : int or None, default=None
        Number of eigenvectors; ``n_clusters`` by default. Fewer are used where the kernel has a lower rank.
    normalize : {"auto", "symmetric", "none"}, default="auto"
        "symmetric": the normalised affinity as above, which needs row sums that are not negative. "none": the
        eigenvectors of K itself. "auto": "symmetric" where it is possible, otherwise "none".
    row_normalize : bool, default=True
        Scale the rows of the embedding to unit length, where it has more than one column.
    n_init : int, default=10
        Number of starts of k-means.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    embedding_ : ndarray of shape (n_samples, n_components)
    eigenvalues_ : ndarray of shape (n_components,)
    cluster_centers_ : ndarray of shape (n_clusters, n_components)
        In the embedding.
    learner_ : the fitted learner; None for "precomputed"
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    A. Y. Ng, M. I. Jordan, Y. Weiss. On spectral clustering: analysis and an algorithm. NIPS 2001.
    T. Yang, R. Jin, A. K. Jain. Learning kernel combination from noisy pairwise constraints. IEEE Statistical Signal
    Processing Workshop, 2012.

    Examples
    --------
    Two groups that differ in the first attribute; the second is noise, and pairs tell which is which:

    >>> import numpy as np
    >>> from kernelwise import Pairs
    >>> from kernelwise.pairs.clustering import PairKernelClustering
    >>> X = np.array([[1, 0, 1], [1, 0, 0], [1, 0, 1], [0, 1, 1], [0, 1, 0], [0, 1, 1]], dtype=float)
    >>> pairs = Pairs([0, 1, 3, 0, 2], [1, 2, 4, 3, 5], [1, 1, 1, -1, -1], n_samples=6)
    >>> model = PairKernelClustering(n_clusters=2, random_state=0).fit(X, pairs=pairs)
    >>> a, b = model.labels_[0], model.labels_[3]
    >>> model.labels_.tolist() == [a, a, a, b, b, b] and bool(a != b)
    True
    >>> bool(model.predict([[0, 1, 1]])[0] == b)
    True
    """

    learner: Any = None
    _: KW_ONLY
    n_clusters: int = 8
    n_components: int | None = None
    normalize: Literal["auto", "symmetric", "none"] = "auto"
    row_normalize: bool = True
    n_init: int = 10
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn the kernel and cluster the samples.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Known classes, -1 for unknown; pairs are made from the classes if no pairs are given.
        pairs : Pairs, optional
            With neither ``pairs`` nor ``y``, the kernels of the learner get equal weights. The weights are also equal,
            with a warning, if all weights that the learner finds are zero.

        Returns
        -------
        self
        """
        self._check_options()
        checked = self._read(X, fitting=True)
        n_samples = _num_samples(checked)
        if self.n_clusters > n_samples:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the {n_samples} samples of X")
        rng = check_random_state(self.random_state)
        self.learner_ = None if self._is_precomputed else self._fit_learner(X, y, pairs, n_samples)
        features = self._features(checked)
        basis = self._basis(features, rng)
        self.eigenvalues_ = basis.values
        # Of a single coordinate, unit length would leave nothing but the sign.
        self._unit_rows = self.row_normalize and len(basis.values) > 1
        self.embedding_ = basis.embedding(row_normalize=self._unit_rows)
        self.labels_, self.cluster_centers_ = settled_clusters(
            self.embedding_, self.n_clusters, n_init=self.n_init, random_state=rng
        )
        self._nystroem_weights = nystroem_weights(basis, None if self.learner_ is None else features)
        return self

    def predict(self, X: Any) -> Index:
        """Clusters of new samples, by the nearest centre in the embedding.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            For learner="precomputed": kernel values between the new samples and the samples of ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return pairwise_distances_argmin(self.embed(X), self.cluster_centers_).astype(np.intp)

    def embed(self, X: Any) -> Array:
        """Place samples in the embedding; a sample of ``fit`` gets its row of ``embedding_``.

        A sample whose similarities to the samples of ``fit`` do not have a positive sum is placed at the origin.
        """
        check_is_fitted(self)
        rows = nystroem_rows(self._features(self._read(X, fitting=False)), *self._nystroem_weights)
        return unit_rows(rows) if self._unit_rows else rows

    def _fit_learner(self, X: Any, y: Any, pairs: Pairs | None, n_samples: int) -> Any:
        learner = PairKernelLearner(random_state=self.random_state) if self.learner is None else clone(self.learner)
        known = resolve_pairs(pairs, y, n_samples, random_state=check_random_state(self.random_state), required=False)
        if known is None and isinstance(learner, CombinedKernelTransformer):
            return learner._fit_equal_weights(X)
        learner.fit(X, y, pairs=pairs)
        if isinstance(learner, CombinedKernelTransformer) and not learner.kernel_weights_.any():
            warnings.warn(
                "all kernel weights are zero, so the pairs have no influence on the clusters: the samples were "
                "clustered by the kernels with equal weights instead",
                stacklevel=3,
            )
            return clone(learner)._fit_equal_weights(X)
        return learner

    def _features(self, X: Any) -> Any:
        """The rows F with ``K = F F^T``; for learner="precomputed", the rows of K itself."""
        return X if self.learner_ is None else self.learner_.transform(X)

    def _basis(self, features: Any, rng: np.random.RandomState) -> SpectralBasis:
        """Leading eigenpairs of the affinity that have a positive eigenvalue."""
        affinity = features if self.learner_ is None else GramFactor(features)
        n_samples = features.shape[0]
        normalize = self.normalize
        if normalize == "auto":
            ones = np.ones(n_samples)
            degrees = features @ (ones if self.learner_ is None else features.T @ ones)
            diagonal = features.diagonal() if self.learner_ is None else row_norms(features, squared=True)
            # Row sums of a centred kernel are nothing but rounding.
            centred = np.abs(degrees).max() <= ROUNDING * n_samples * np.abs(diagonal).max()
            normalize = "none" if centred else possible_normalization(degrees)
        n_components = min(self.n_components or self.n_clusters, n_samples)
        basis = spectral_basis(affinity, n_components, normalize=normalize, random_state=rng).positive()
        if not len(basis.values):
            raise ValueError(
                "the kernel is zero on all samples, so there is nothing to cluster by; use kernels that are not, such "
                "as learner=PairKernelLearner(gaussian_kernels())"
            )
        return basis

    def _read(self, X: Any, *, fitting: bool) -> Any:
        """Validate X; for a learner return X as it was given, so that the learner sees the names of the columns."""
        refuse_collections(self, X=X)
        tags = self.__sklearn_tags__().input_tags
        if tags.pairwise and not self._is_precomputed:  # a stack of kernels, which only the learner understands
            validate_data(self, X, reset=fitting, skip_check_array=True)
            return X
        sparse, minimum = "csr" if tags.sparse else False, 2 if fitting else 1
        checked = tidy(
            validate_data(self, X, accept_sparse=sparse, dtype=np.float64, reset=fitting, ensure_min_samples=minimum)
        )
        if not self._is_precomputed:
            return X
        if fitting and checked.shape[0] != checked.shape[1]:
            raise ValueError(f'with learner="precomputed" X must be a square kernel matrix, got shape {checked.shape}')
        return checked

    def _check_options(self) -> None:
        if isinstance(self.learner, str) and self.learner != "precomputed":
            raise ValueError(f'learner must be a transformer, "precomputed" or None, got {self.learner!r}')
        check_choice("normalize", self.normalize, ("auto", "symmetric", "none"))
        check_count("n_clusters", self.n_clusters)
        check_count("n_init", self.n_init)
        if self.n_components is not None:
            check_count("n_components", self.n_components)

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.learner, str) and self.learner == "precomputed"

    def __sklearn_tags__(self) -> Tags:
        own = self._is_precomputed
        inner = get_tags(PairKernelLearner() if self.learner is None or own else self.learner).input_tags
        return tagged(super().__sklearn_tags__(), sparse=own or inner.sparse, pairwise=own or inner.pairwise)
