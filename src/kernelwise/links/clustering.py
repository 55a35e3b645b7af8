"""Cluster documents that have words and links."""

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.preprocessing import normalize
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..checks import Array, Index, check_count
from ..dask_rows.prediction import on_blocks
from ..progress import Progress, Tell, part, teller
from ..samples import check_magnitude, is_dask, largest_magnitude, map_rows, persist, power_of_two, read_samples, tagged
from ..statements import Pairs
from .candidates import DEEPEST, leading_directions, two_stage_k_means
from .choice import MANY_ROWS, Clustering, best_clusters, diagnose, finalists_like, gather_evidence
from .smoothing import LinkSmoother, links_under_one_name, read_links
from .walks import walk_factors
from .words import each_row

#: Steps of smoothing where nothing is chosen and no depth is given.
DEFAULT_DEPTH = 3
#: The share of the time in which candidates are judged; the last candidates take the rest.
JUDGING = 0.75


@dataclass(eq=False, repr=False)
class LinkedClustering(ClusterMixin, BaseEstimator):
    r"""Cluster documents, or other samples with features and links; find out whether the links help.

    Links may be wrong, may join unlike documents, or may follow something else than the features. By default the
    method decides without labels:

    1. Candidates place the documents in different ways: by their features alone, by features averaged over links in 1
       or 3 steps, by all depths side by side, and by random walks beside the features. Rows are as they are or of unit
       length. Averages are plain means, so the length of a row does not depend on the number of links.
    2. Each candidate finds clusters from half of the columns and four fifths of the links. The other columns and links
       judge these clusters: how many bits do the columns tell of the cluster of a sample, and how many bits does one
       end of a link tell of the other end? Links are used only if links that were left out tell of the clusters, and
       if they clearly add bits. Among nearly equal candidates of the same kind, the bits with all data decide.
    3. The last candidates use all data: their rows are projected on their leading right singular vectors, and k-means
       finds clusters in the first ``n_clusters + 1`` coordinates; from there Lloyd's iterations use all coordinates.
       Each of them is tried three times, and the clusters with the most bits are returned.

    With a number of steps, ``depth=3``, nothing is chosen: the features are smoothed, :math:`Z = S^t Z_0`, by
    :class:`LinkSmoother` with its symmetric normalisation, and clustered as in step 3. This was the method of version
    0.1.0. Time and memory grow linearly with documents and links.

    Parameters
    ----------
    n_clusters : int, default=8
    depth : "auto", int or sequence of int, default="auto"
        "auto": choose among the candidates. A number fixes the steps of smoothing, and the kernels of several depths
        are added. If ``depth_weights`` or ``row_normalize`` is given, "auto" means 3 and nothing is chosen.
    depth_weights : sequence of float, "learned" or None, default=None
    tfidf : {"auto"} or bool, default="auto"
    n_components : int or None, default=200
        These three parameters are as in :class:`LinkSmoother`; fewer components save memory.
    embedding_dim : int, default=40
        Number of coordinates of the embedding, increased to ``n_clusters + 1`` if it is smaller.
    row_normalize : "auto" or bool, default="auto"
        Whether rows are scaled to unit length after smoothing. "auto": as the chosen candidate says; False if the depth
        is a number.
    n_init : int, default=10
        Number of starts of k-means.
    random_state : int, RandomState or None, default=None
        Determines the result.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        A Dask array where X is on a cluster.
    links_help_ : bool
        Whether the chosen candidate uses links. Only if something was chosen, like the next three attributes.
    chosen_ : str
        The name of the chosen candidate.
    candidates_ : dict of str to dict
        For every candidate ``{"features": bits per sample, "links": bits per link, "all_data": bits}``. The first two
        are of parts that were left out, as described above. The third is the sum with all data, NaN for candidates that
        were not among the last ones.
    diagnostic_ : dict
        "reason" says in words whether the links help and how this was found. "reliable" is True if the difference
        between the best candidate with links and the best one without is larger than twice its standard error, or if
        links that were left out tell nothing of the clusters.
        "margin_bits" and "margin_standard_error" are these two figures, if there are links.
    embedding_ : ndarray of shape (n_samples, embedding_dim)
        A Dask array where X is on a cluster. In single precision for more than 20,000 documents, if something was
        chosen.
    cluster_centers_ : ndarray of shape (n_clusters, embedding_dim)
        The centres in the embedding.
    singular_values_ : ndarray of shape (embedding_dim,)
    inertia_ : float
        Sum of the squared distances of the documents to their centres.
    smoother_ : LinkSmoother
        Weights words, projects and smooths.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    X. Zhang, H. Liu, Q. Li, X.-M. Wu. Attributed graph clustering via adaptive graph convolution. IJCAI 2019.
    F. Wu et al. Simplifying graph convolutional networks. ICML 2019.
    J. Qiu et al. NetSMF: large-scale network embedding as sparse matrix factorization. WWW 2019.

    Examples
    --------
    >>> from kernelwise import LinkedClustering, Pairs
    >>> from kernelwise.datasets import load_cora
    >>> from kernelwise.metrics import normalized_mutual_info
    >>> cora = load_cora()
    >>> links = Pairs.from_graph(cora.edges, n_samples=len(cora.target), negatives=None)
    >>> model = LinkedClustering(n_clusters=7, random_state=0).fit(cora.data, links=links)
    >>> bool(normalized_mutual_info(cora.target, model.labels_) > 0.5)
    True
    >>> model.links_help_
    True
    """

    n_clusters: int = 8
    _: KW_ONLY
    depth: Literal["auto"] | int | Sequence[int] = "auto"
    depth_weights: Sequence[float] | Literal["learned"] | None = None
    tfidf: bool | Literal["auto"] = "auto"
    n_components: int | None = 200
    embedding_dim: int = 40
    row_normalize: bool | Literal["auto"] = "auto"
    n_init: int = 10
    random_state: Any = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        links: Pairs | None = None,
        pairs: Pairs | None = None,
        progress: Progress = None,
    ) -> Self:
        """Cluster the documents.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : ignored
        links : Pairs, optional
            The positive pairs are the links, as from ``Pairs.from_graph(edges, negatives=None)``; the weights of
            repeated links are added, and only ratios of weights matter to the choice. Negative pairs are used only to
            learn weights of depths. Without links, documents are clustered by their features alone.
        pairs : Pairs, optional
            The name of ``links`` in version 0.1.
        progress : bool or callable, optional
            True prints how much is done, and the time that is left, on the standard error after 10 seconds. A function
            is called with the number of steps that are done, and the number of all steps. On a Dask cluster, and if
            nothing is chosen, nothing is told.

        Returns
        -------
        self

        Notes
        -----
        On a Dask cluster, ``X`` and ``links`` are as in :meth:`LinkSmoother.fit`. Nothing is chosen there:
        ``depth="auto"`` means three steps with the symmetric normalisation, which a warning says. ``labels_`` and
        ``embedding_`` are then Dask arrays whose blocks stay on the workers; ``compute()`` them, or delete them, before
        the model is saved. The starts of k-means are tried on 20,000 rows, and Lloyd's iterations use sums over
        the blocks. Up to 20,000 rows the clusters are the same as in memory.
        """
        for name in ("n_clusters", "embedding_dim", "n_init"):
            check_count(name, getattr(self, name))
        if not isinstance(self.row_normalize, bool | np.bool_) and self.row_normalize != "auto":
            raise ValueError(f'row_normalize must be "auto", True or False, got {self.row_normalize!r}')
        chooses = self._auto_depth and isinstance(self.row_normalize, str) and self.depth_weights is None
        pairs = links_under_one_name(links, pairs)
        if is_dask(X) or is_dask(pairs):
            if chooses:
                warnings.warn(
                    f'depth="auto" chooses nothing on a Dask cluster: it means depth={DEFAULT_DEPTH} there, and '
                    f"whether links help is not found out. Give depth={DEFAULT_DEPTH} if this is wanted, or a "
                    "sample of the documents in memory",
                    stacklevel=2,
                )
            from .on_dask import fit_clusters_on_cluster

            return fit_clusters_on_cluster(self, X, pairs)
        X = read_samples(self, X, ensure_min_samples=2)
        self._check_n_clusters(X)
        for name in ("links_help_", "chosen_", "candidates_", "diagnostic_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        tell = teller(progress, f"clustering {X.shape[0]} rows")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters: some are empty
            if chooses:
                k_means = self._choose_clusters(X, pairs, tell)
            else:
                self.embedding_, options = self._embed_documents(X, pairs)
                k_means = two_stage_k_means(self.embedding_, **options)
        self.labels_, self.cluster_centers_ = k_means.labels_.astype(np.intp), k_means.cluster_centers_
        self.inertia_ = float(k_means.inertia_)
        return self

    def _choose_clusters(self, X: Any, pairs: Any, tell: Tell) -> KMeans:
        """Choose a candidate and its clusters, which Lloyd's iterations on all documents complete."""
        rng = check_random_state(self.random_state)
        self.smoother_ = self._new_smoother(depth=DEEPEST, normalization="mean", random_state=rng)
        self.smoother_._check_options()
        check_magnitude(X, "X")
        self._feature_unit = float(power_of_two(largest_magnitude(X)))  # so that the unit of X does not matter
        X = X / self._feature_unit
        dim = max(self.embedding_dim, self.n_clusters + 1)
        links = read_links(pairs, X.shape[0])
        # A document counts itself like one link of mean weight, so that the unit of the weights does not matter.
        self._link_unit = float(links.data.mean()) if links.nnz else 1.0
        links.data /= self._link_unit
        links = links.astype(np.float32 if X.shape[0] > MANY_ROWS else np.float64, copy=False)
        self.smoother_._fit_in_memory(X, links, None, links.dtype.type).n_features_in_ = self.n_features_in_
        self.smoother_.random_state = self.random_state  # as given: the generator has done its work
        how = Clustering(self.n_clusters, dim, self.n_init, rng)
        evidence = gather_evidence(self.smoother_, X, links, how, part(tell, 0.0, JUDGING))
        best, self.diagnostic_ = diagnose(evidence)
        finalists = finalists_like(best, evidence)
        steps = list(islice(self.smoother_._steps(), DEEPEST + 1))
        walks = walk_factors(links, rng) if any(one.walks for one in finalists) else None
        chosen, all_data = best_clusters(finalists, steps, walks, links, how, part(tell, JUDGING, 1.0))
        self.chosen_, self.links_help_ = chosen.candidate.name, chosen.candidate.uses_links
        if self.chosen_ != best and f'"{best}"' in self.diagnostic_["reason"]:
            self.diagnostic_["reason"] += (
                f' The clusters are those of "{self.chosen_}", which has nearly as many bits '
                f"({evidence[self.chosen_].total:.2f}), and the most with all data."
            )
        self.candidates_ = {
            name: {"features": one.features, "links": one.links, "all_data": all_data.get(name, np.nan)}
            for name, one in evidence.items()
        }
        self._walks = walks if chosen.candidate.walks else None
        self._placing: Any = chosen.embedding
        self.embedding_ = self._placing.place(steps, self._walks)
        self.singular_values_ = np.linalg.norm(self.embedding_, axis=0)
        return KMeans(self.n_clusters, init=chosen.centres, n_init=1, random_state=0).fit(self.embedding_)

    def _embed_documents(self, X: Any, pairs: Any) -> tuple[Any, dict[str, Any]]:
        """Smooth the documents over their links and embed them; return the embedding and the options of k-means."""
        rng = check_random_state(self.random_state)
        self._placing = None
        depth = DEFAULT_DEPTH if self._auto_depth else self.depth
        self.smoother_ = self._new_smoother(depth=depth, depth_weights=self.depth_weights, random_state=rng)
        smoothed = self._scaled(self.smoother_.fit(X, pairs=pairs)._smoothed())
        self._check_n_clusters(smoothed)
        self.smoother_.random_state = self.random_state  # as given: the generator has done its work
        self.singular_values_, self._directions = leading_directions(
            smoothed, max(self.embedding_dim, self.n_clusters + 1)
        )
        # Rows are not centred, so about one direction is that of their mean: hence one coordinate more than clusters.
        options = {"n_clusters": self.n_clusters, "n_leading": self.n_clusters + 1, "n_init": self.n_init, "rng": rng}
        return persist(smoothed @ self._directions), options

    @property
    def _auto_depth(self) -> bool:
        return isinstance(self.depth, str) and self.depth == "auto"

    def _new_smoother(self, **options: Any) -> LinkSmoother:
        return LinkSmoother(tfidf=self.tfidf, n_components=self.n_components, **options)

    def _check_n_clusters(self, rows: Any) -> None:
        if self.n_clusters > rows.shape[0]:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the {rows.shape[0]} samples of X")

    @on_blocks(lambda model: (), dtype=lambda model: np.dtype(np.intp))
    def predict(self, X: Any, *, links: Any = None) -> Index:
        """Clusters of new documents, by the nearest centre.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_new, n_features)
        links : array or sparse matrix of shape (n_new, n_samples), optional
            Weights of links to the documents of ``fit``, in the unit of the weights of ``fit``. A candidate that
            averages features lets a new document take the same steps; with walks, a new document gets the mean of the
            factors of its neighbours. Without links, or if the chosen candidate uses none, a document is assigned by
            its features alone, so a document of ``fit`` may get another cluster than in ``labels_``.

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return pairwise_distances_argmin(self.embed(X, links=links), self.cluster_centers_).astype(np.intp)

    @on_blocks(lambda model: model.singular_values_.shape)
    def embed(self, X: Any, *, links: Any = None) -> Array:
        """Place new documents in the embedding; parameters as in :meth:`predict`."""
        check_is_fitted(self)
        X = read_samples(self, X, reset=False)
        if self._placing is None:
            return self._scaled(self.smoother_.transform(X, links=links)) @ self._directions
        if links is not None:
            links = self.smoother_._check_new_links(links, X.shape[0]) / self._link_unit
        steps = list(islice(self.smoother_._new_steps(X / self._feature_unit, links), DEEPEST + 1))
        return self._placing.place(steps, self._new_walks(links, X.shape[0]))

    def _new_walks(self, links: Any, n_new: int) -> Array | None:
        """Factors of walks of new documents: the mean over their neighbours, and zero without neighbours."""
        if self._walks is None:
            return None
        if links is None:
            return np.zeros((n_new, self._walks.shape[1]))
        return np.asarray(links @ self._walks) / np.maximum(links.sum(axis=1), np.finfo(float).tiny)[:, None]

    def _scaled(self, rows: Array) -> Array:
        unit = self.row_normalize and not isinstance(self.row_normalize, str)
        return map_rows(rows, each_row, method=normalize) if unit else rows

    def __sklearn_tags__(self) -> Tags:
        return tagged(super().__sklearn_tags__(), sparse=True)
