"""Cluster documents that have words and links."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin
from sklearn.preprocessing import normalize
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..checks import check_count
from ..cluster.prediction import on_blocks
from ..rows import is_dask, map_rows, persist
from ..samples import read_samples
from ..spectral.tall_arrays import with_signs
from ..supervision import Pairs
from .on_cluster import fit_clusters_on_cluster
from .smoothing import LinkSmoother
from .words import each_row

__all__ = ["LinkedClustering"]

Array = NDArray[np.float64]


class LinkedClustering(ClusterMixin, BaseEstimator):
    r"""Cluster documents, or other samples with features and links; some of the links may be wrong.

    1. The features are smoothed over the links, :math:`Z = S^t Z_0`, by :class:`LinkSmoother`.
    2. The embedding is :math:`E = Z V = U \Sigma`, with V the leading right singular vectors of Z. It is neither
       centred nor, by default, scaled to unit rows: a document whose words agree with its links has a long row, and
       long rows count more.
    3. k-means in its first ``n_clusters + 1`` coordinates, the best of ``n_init`` starts; from there Lloyd's
       iterations in all coordinates.

    Time and memory grow linearly with documents and links.

    Parameters
    ----------
    n_clusters : int, default=8
    depth : int or sequence of int, default=3
        Steps of smoothing; 2 to 4 steps give similar results on citations. The kernels of several depths are added.
    depth_weights : sequence of float, "learned" or None, default=None
    tfidf : {"auto"} or bool, default="auto"
    n_components : int or None, default=200
        These three parameters are as in :class:`LinkSmoother`; fewer components save memory.
    embedding_dim : int, default=40
        Number of coordinates of the embedding, increased to ``n_clusters + 1`` if it is smaller.
    row_normalize : bool, default=False
        Scale rows to unit length after smoothing. This is worse on the citations of Cora and Citeseer. It is better if
        words carry little information, because most long rows then belong to documents with few links.
    n_init : int, default=10
        Number of starts of k-means.
    random_state : int, RandomState or None, default=None
        Determines the result.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        A Dask array where X is on a cluster.
    embedding_ : ndarray of shape (n_samples, embedding_dim)
        A Dask array where X is on a cluster.
    cluster_centers_ : ndarray of shape (n_clusters, embedding_dim)
        The centres in the embedding.
    singular_values_ : ndarray of shape (embedding_dim,)
    inertia_ : float
        Sum of the squared distances of the documents to their centres.
    smoother_ : LinkSmoother
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    X. Zhang, H. Liu, Q. Li, X.-M. Wu. Attributed graph clustering via adaptive graph convolution. IJCAI 2019.
    F. Wu et al. Simplifying graph convolutional networks. ICML 2019.

    Examples
    --------
    >>> from kernelwise import LinkedClustering, Pairs
    >>> from kernelwise.datasets import load_cora
    >>> from kernelwise.metrics import normalized_mutual_info
    >>> cora = load_cora()
    >>> links = Pairs.from_graph(cora.edges, n_samples=len(cora.target), negatives=None)
    >>> model = LinkedClustering(n_clusters=7, random_state=0).fit(cora.data, pairs=links)
    >>> bool(normalized_mutual_info(cora.target, model.labels_) > 0.55)
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        depth: int | Sequence[int] = 3,
        depth_weights: Sequence[float] | Literal["learned"] | None = None,
        tfidf: bool | Literal["auto"] = "auto",
        n_components: int | None = 200,
        embedding_dim: int = 40,
        row_normalize: bool = False,
        n_init: int = 10,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.depth = depth
        self.depth_weights = depth_weights
        self.tfidf = tfidf
        self.n_components = n_components
        self.embedding_dim = embedding_dim
        self.row_normalize = row_normalize
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Cluster the documents.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : ignored
        pairs : Pairs, optional
            The positive pairs are the links, as from ``Pairs.from_graph(edges, negatives=None)``. Negative pairs are
            used only to learn weights of depths. Without pairs, documents are clustered by their features alone.

        Returns
        -------
        self

        Notes
        -----
        On a Dask cluster, ``X`` and ``pairs`` are as in :meth:`LinkSmoother.fit`. ``labels_`` and ``embedding_`` are
        then Dask arrays whose blocks stay on the workers; ``compute()`` them, or delete them, before the model is
        saved. The starts of k-means are tried on 20,000 rows, and Lloyd's iterations use sums over the blocks. Up to
        20,000 rows the clusters are the same as in memory.
        """
        for name in ("n_clusters", "embedding_dim", "n_init"):
            check_count(name, getattr(self, name))
        if is_dask(X) or is_dask(pairs):
            return fit_clusters_on_cluster(self, X, pairs)
        X = read_samples(self, X, ensure_min_samples=2)
        self._check_n_clusters(X)
        self.embedding_, options = self._embed_documents(X, pairs)
        k_means = two_stage_k_means(self.embedding_, **options)
        self.labels_, self.cluster_centers_ = k_means.labels_.astype(np.intp), k_means.cluster_centers_
        self.inertia_ = float(k_means.inertia_)
        return self

    def _embed_documents(self, X: Any, pairs: Any) -> tuple[Any, dict[str, Any]]:
        """Smooth the documents over their links and embed them; return the embedding and the options of k-means."""
        rng = check_random_state(self.random_state)
        self.smoother_ = LinkSmoother(
            depth=self.depth,
            depth_weights=self.depth_weights,
            tfidf=self.tfidf,
            n_components=self.n_components,
            random_state=rng,
        )
        smoothed = self._scaled(self.smoother_.fit(X, pairs=pairs)._smoothed())
        self._check_n_clusters(smoothed)
        self.smoother_.random_state = self.random_state  # as given: the generator has done its work
        self.singular_values_, self._directions = leading_directions(
            smoothed, max(self.embedding_dim, self.n_clusters + 1)
        )
        # Rows are not centred, so about one direction is that of their mean: hence one coordinate more than clusters.
        options = {"n_clusters": self.n_clusters, "n_leading": self.n_clusters + 1, "n_init": self.n_init, "rng": rng}
        return persist(smoothed @ self._directions), options

    def _check_n_clusters(self, rows: Any) -> None:
        if self.n_clusters > rows.shape[0]:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the {rows.shape[0]} samples of X")

    @on_blocks(lambda model: (), dtype=lambda model: np.dtype(np.intp))
    def predict(self, X: Any, *, links: Any = None) -> NDArray[np.intp]:
        """Clusters of new documents, by the nearest centre.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_new, n_features)
        links : array or sparse matrix of shape (n_new, n_samples), optional
            Weights of links to the documents of ``fit``. Without links, a document is assigned by its features alone,
            so a document of ``fit`` may get another cluster than in ``labels_``.

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return pairwise_distances_argmin(self.embed(X, links=links), self.cluster_centers_).astype(np.intp)

    @on_blocks(lambda model: (model._directions.shape[1],))
    def embed(self, X: Any, *, links: Any = None) -> Array:
        """Place new documents in the embedding; parameters as in :meth:`predict`."""
        check_is_fitted(self)
        X = read_samples(self, X, reset=False)
        return self._scaled(self.smoother_.transform(X, links=links)) @ self._directions

    def _scaled(self, rows: Array) -> Array:
        return map_rows(rows, each_row, method=normalize) if self.row_normalize else rows

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def leading_directions(rows: Any, count: int) -> tuple[Array, Array]:
    r"""The largest singular values of a tall matrix and their right singular vectors, from :math:`Z^\top Z`.

    The largest entry of each vector is positive.
    """
    n_columns = rows.shape[1]
    first = max(n_columns - count, 0)
    squares, vectors = scipy.linalg.eigh(np.asarray(rows.T @ rows), subset_by_index=[first, n_columns - 1])
    return np.sqrt(np.maximum(squares[::-1], 0.0)), with_signs(vectors[:, ::-1])


def two_stage_k_means(
    embedding: Array, n_clusters: int, *, n_leading: int, n_init: int, rng: np.random.RandomState
) -> KMeans:
    """k-means in the leading coordinates, where starts matter less, then Lloyd's iterations in all coordinates."""
    few = np.ascontiguousarray(embedding[:, :n_leading])
    start = KMeans(n_clusters, n_init=n_init, random_state=rng).fit(few)
    if few.shape[1] == embedding.shape[1]:
        return start
    members = sp.csc_array((np.ones(len(few)), start.labels_, np.arange(len(few) + 1)), shape=(n_clusters, len(few)))
    counts = np.maximum(members.sum(axis=1), 1.0)  # with fewer distinct points than clusters, some clusters are empty
    return KMeans(n_clusters, init=(members @ embedding) / counts[:, None], n_init=1, random_state=0).fit(embedding)
