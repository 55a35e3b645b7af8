"""Documents and links on a Dask cluster: the fits of :class:`LinkSmoother` and :class:`LinkedClustering`."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.utils import check_random_state

from ..checks import Array, IntArray
from ..dask_rows.block_array import BlockArray
from ..dask_rows.collections import read_samples_in_blocks, working_engine
from ..dask_rows.engine import Engine
from ..dask_rows.graph import BlockGraph, first_rows, read_graph
from ..dask_rows.k_means import two_stage_block_k_means
from ..dask_rows.labelled_pairs import read_pairs
from ..samples import is_dask, persist, reduce_rows
from ..statements import Pairs

Edges = tuple[IntArray, IntArray, Array]


class BlockAdjacency:
    r"""The operator :math:`S = D^{-1/2} (A + I) D^{-1/2}` of a graph in row blocks; the matrix is never formed.

    With the normalisation "mean" the operator is :math:`D^{-1} (A + I)`.
    """

    def __init__(self, links: BlockGraph, normalization: str) -> None:
        self.links, self.symmetric = links, normalization == "symmetric"
        degrees = persist(links.row_sums() + 1.0)
        self.scale = persist(1.0 / (np.sqrt(degrees) if self.symmetric else degrees))

    def __matmul__(self, rows: BlockArray) -> BlockArray:
        scaled = persist(self.scale[:, None] * rows) if self.symmetric else rows
        return persist(self.scale[:, None] * (self.links @ scaled + scaled))


def fit_smoother_on_cluster(smoother: Any, X: Any, pairs: Any) -> Any:
    """Fit the smoother on the workers."""
    if isinstance(smoother.depth_weights, str) and len(smoother._depths) > 1:
        raise ValueError(
            'depth_weights="learned" is for data in memory; learn them there on some of the documents, and give '
            "their numbers"
        )
    with working_engine() as engine:
        samples = read_samples_in_blocks(engine, smoother, X)
        smoother._links = read_block_links(engine, pairs, samples, smoother.normalization)
        smoother.adjacency_ = smoother.degrees_ = None
        smoother._weighting = smoother._choose_weighting(samples)
        smoother._tfidf = None
        if smoother._weighting == "tfidf":
            smoother._tfidf = fitted_tfidf(reduce_rows(samples, document_frequencies, np.add), len(samples))
        smoother.idf_ = None if smoother._tfidf is None else smoother._tfidf.idf_
        weighted = persist(smoother._weighted(samples))
        smoother.components_ = smoother._leading_directions(weighted, check_random_state(smoother.random_state))
        smoother._rows = persist(smoother._projected(weighted))
        smoother.depth_weights_ = smoother._choose_depth_weights(None, None, None)
        smoother._n_features_out = smoother._rows.shape[1] * len(smoother._depths)
    return smoother


def fit_clusters_on_cluster(model: Any, X: Any, pairs: Any) -> Any:
    """Cluster the documents on the workers; labels and embedding stay there as Dask arrays."""
    with working_engine():
        embedding, options = model._embed_documents(X, pairs)
        labels, model.cluster_centers_, model.inertia_ = two_stage_block_k_means(embedding, **options)
        model.embedding_, model.labels_ = embedding.to_dask(), labels.to_dask()
    model.n_features_in_ = model.smoother_.n_features_in_
    if hasattr(model.smoother_, "feature_names_in_"):
        model.feature_names_in_ = model.smoother_.feature_names_in_
    return model


def read_block_links(engine: Engine, pairs: Any, samples: BlockArray, normalization: str) -> BlockAdjacency:
    """Return S from positive pairs, in a frame or in memory, or from an adjacency matrix in row blocks."""
    if pairs is None:
        edges, mirror = [engine.share(_positive_edges(Pairs([], [], [], n_samples=len(samples))))], False
    elif is_dask(pairs) and hasattr(pairs, "chunks"):
        edges, mirror = _edges_of_adjacency(engine, pairs, len(samples)), False
    else:
        known = read_pairs(engine, pairs, len(samples), only_links=True)
        edges, mirror = engine.map(_positive_edges, [known.parts]), True
    if pairs is not None and not sum(engine.fetch(engine.map(lambda part: len(part[0]), [edges]))):
        warnings.warn("there is no positive pair among pairs, so nothing is smoothed over links", stacklevel=5)
    return BlockAdjacency(BlockGraph.from_edges(engine, samples.lengths, edges, mirror=mirror), normalization)


def fitted_tfidf(frequencies: Any, n_samples: int) -> TfidfTransformer:
    """Return scikit-learn's tf-idf as if it were fitted on samples with these document frequencies."""
    counts = np.asarray(frequencies, dtype=np.float64)
    transformer = TfidfTransformer()
    transformer.n_features_in_ = len(counts)
    transformer.idf_ = np.log((n_samples + 1.0) / (counts + 1.0)) + 1.0
    return transformer


def document_frequencies(X: Any) -> Array:
    """Return, for every column, the number of rows in which the column is not zero."""
    counts = np.count_nonzero(X, axis=0) if isinstance(X, np.ndarray) else np.diff(sp.csc_array(X).indptr)
    return np.asarray(counts, dtype=np.float64)


def _edges_of_adjacency(engine: Engine, adjacency: Any, n_samples: int) -> list[Any]:
    if adjacency.ndim != 2 or adjacency.shape != (n_samples, n_samples):
        raise ValueError(
            f"an adjacency in blocks must have a row and a column for each of the {n_samples} samples of X, got shape "
            f"{adjacency.shape}"
        )
    graph = read_graph(engine, adjacency)
    return engine.map(_edges_of_rows, [graph.parts, first_rows(graph.lengths)[:-1].tolist()])


def _edges_of_rows(part: tuple[Any, IntArray], start: int) -> Edges:
    matrix, touched = part
    entries = sp.coo_array(matrix)
    if (entries.data < 0).any():
        raise ValueError(f"links must have non-negative weights, the least is {entries.data.min():g}")
    rows, cols = entries.row + start, touched[entries.col]
    others = (rows != cols) & (entries.data > 0)  # a link to itself says nothing
    return rows[others], cols[others], entries.data[others].astype(np.float64)


def _positive_edges(pairs: Pairs) -> Edges:
    links = pairs.positive
    return links.rows, links.cols, links.weights
