"""Clusters from a similarity and a few known pairs: spectral clustering of the estimated label matrix."""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from ..checks import Array, Index, check_choice, check_count
from ..samples import read_samples
from ..spectral import GramFactor
from ..spectral.embedding import possible_normalization, settled_clusters, unit_rows
from ..statements import Pairs
from ..statements.noise import resolve_pairs
from .basis import (
    ExtendedBasis,
    Similarity,
    is_in_blocks,
    is_operator,
    leading_basis,
    n_samples_of,
    read_similarity,
    refuse_distances,
)
from .completer import PairCompleter


@dataclass(eq=False, repr=False)
class PairCompletionClustering(ClusterMixin, BaseEstimator):
    r"""Estimate which pairs share a class, then cluster by the leading eigenvectors of the estimate.

    With the factor F of :class:`PairCompleter`, :math:`Z' = F F^\top`, and degrees :math:`d = Z' 1`,

    .. math:: D^{-1/2} F F^\top D^{-1/2} u_j = \lambda_j u_j,

    and k-means on the rows of the eigenvectors, scaled to unit length. No matrix of size n x n is formed.

    Parameters
    ----------
    n_clusters : int, default=8
    completer : PairCompleter or None, default=None
        A copy of the completer is fitted. None: ``PairCompleter("auto")``, which chooses the number of eigenvectors by
        held-out pairs.
    normalize : {"auto", "symmetric", "none"}, default="auto"
        "symmetric": as above, which needs degrees that are not negative. "none": the eigenvectors of Z' itself. "auto":
        "symmetric" where it is possible, otherwise "none".
    n_init : int, default=10
        Number of starts of k-means.
    random_state : int, RandomState or None, default=None
        The completer uses it too, unless the completer has a ``random_state`` of its own.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    embedding_ : ndarray of shape (n_samples, n_coordinates)
    cluster_centers_ : ndarray of shape (n_clusters, n_coordinates)
    completer_ : PairCompleter or None
        None if there were no pairs, or the estimated label matrix was zero, and the similarity itself was clustered.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    T. Yang, R. Jin. Extracting certainty from uncertainty: transductive pairwise classification from pairwise
    similarities. NIPS 2014, section 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import PairCompletionClustering, Pairs
    >>> from kernelwise.datasets import make_block_similarity
    >>> from kernelwise.metrics import clustering_accuracy
    >>> S, y = make_block_similarity(200, 4, random_state=0)
    >>> known = Pairs.from_labels(np.where(np.arange(200) % 10 < 3, y, -1), n_pairs=600, random_state=0)
    >>> model = PairCompletionClustering(4, random_state=0).fit(S, pairs=known)
    >>> clustering_accuracy(y, model.labels_)
    1.0
    """

    n_clusters: int = 8
    _: KW_ONLY
    completer: PairCompleter | None = None
    normalize: Literal["auto", "symmetric", "none"] = "auto"
    n_init: int = 10
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Complete and cluster.

        Parameters
        ----------
        X : array, sparse matrix, LinearOperator or GramFactor of shape (n_samples, n_samples)
            The similarity; features where the completer has kernels.
        y : array-like of shape (n_samples,), optional
            Known classes, -1 for unknown; pairs are made from the classes if no pairs are given.
        pairs : Pairs, optional
            With neither ``pairs`` nor ``y`` the similarity itself is clustered.

        Returns
        -------
        self
        """
        self._check_options()
        n_samples = self._read(X)
        if self.n_clusters > n_samples:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the {n_samples} samples")
        rng = check_random_state(self.random_state)
        known = resolve_pairs(pairs, y, n_samples, random_state=rng, required=False)
        completer = clone(self._completer)
        if completer.random_state is None:
            completer.random_state = rng
        self.completer_ = None if known is None else completer.fit(X, pairs=known)
        completer.random_state = self._completer.random_state  # as given: the generator has done its work
        if self.completer_ is not None and not self.completer_.factor_.any():
            warnings.warn(
                "the estimated label matrix is zero; the similarity itself is clustered instead", stacklevel=2
            )
            self.completer_ = None
        if self.completer_ is None:
            similarity = read_similarity(completer, X)
            refuse_distances(similarity.matrix, known)
            basis = self._basis(similarity, rng)
        else:
            factor = self.completer_.factor_
            basis = self._basis(Similarity(GramFactor(factor), factor), rng)
        self._extended, self._unit_rows = basis, basis.vectors.shape[1] > 1
        self.embedding_ = self._rows(basis.vectors)
        self.labels_, self.cluster_centers_ = settled_clusters(
            self.embedding_, self.n_clusters, n_init=self.n_init, random_state=rng
        )
        return self

    def predict(self, X: Any) -> Index:
        """Clusters of new samples, by the nearest centre in the embedding.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_new, n_samples)
            Similarities of new samples to the samples of ``fit``; features where the completer has kernels.

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return pairwise_distances_argmin(self.embed(X), self.cluster_centers_).astype(np.intp)

    def embed(self, X: Any) -> Array:
        """Place samples in the embedding by Nystroem's formula; a sample of ``fit`` gets its row of ``embedding_``."""
        check_is_fitted(self)
        checked = read_samples(self, X, reset=False)
        rows = checked if self.completer_ is None else self.completer_.transform(X)
        return self._rows(self._extended.extend(rows))

    def _basis(self, similarity: Similarity, rng: np.random.RandomState) -> ExtendedBasis:
        normalize: Any = self.normalize
        if normalize == "auto":
            ones, factor = np.ones(similarity.n_samples), similarity.factor
            degrees = similarity.matrix @ ones if factor is None else factor @ (factor.T @ ones)
            normalize = possible_normalization(np.asarray(degrees))
        return leading_basis(similarity, self.n_clusters, normalize=normalize, tol=0.0, random_state=rng)

    def _rows(self, vectors: Array) -> Array:
        """Rows of unit length, unless there is a single coordinate: then only its sign would be left."""
        return unit_rows(vectors) if self._unit_rows else vectors

    def _read(self, X: Any) -> int:
        """Validate X and return the number of samples; the completer gets X as given, to see the column names."""
        if is_in_blocks(X):
            return read_similarity(self._completer, X).n_samples  # this raises an error
        if is_operator(X):
            self.n_features_in_ = n_samples_of(X)
            return self.n_features_in_
        checked = read_samples(self, X, ensure_min_samples=2)
        return int(checked.shape[0])

    @property
    def _completer(self) -> PairCompleter:
        return PairCompleter("auto") if self.completer is None else self.completer

    def _check_options(self) -> None:
        if self.completer is not None and not isinstance(self.completer, PairCompleter):
            raise TypeError(f"completer must be a PairCompleter or None, got {self.completer!r}")
        check_choice("normalize", self.normalize, ("auto", "symmetric", "none"))
        check_count("n_clusters", self.n_clusters)
        check_count("n_init", self.n_init)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._completer).input_tags
        return tags
