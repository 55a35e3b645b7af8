"""Links between samples that are on a cluster: from pairs or an adjacency in blocks to products with S."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfTransformer

from ..cluster.block_array import BlockArray
from ..cluster.collections import is_dask
from ..cluster.engine import Engine
from ..cluster.graph import BlockGraph
from ..completion.on_cluster import read_graph
from ..optim.sample_arrays import kept
from ..pairs.pair_blocks import read_pairs
from ..supervision import Pairs

Array = NDArray[np.float64]
Edges = tuple[NDArray[np.int64], NDArray[np.int64], Array]


class BlockAdjacency:
    r"""The matrix :math:`S = D^{-1/2} (A + I) D^{-1/2}` of a graph in row blocks, by its products; never formed."""

    def __init__(self, links: BlockGraph | None, samples: BlockArray) -> None:
        self.links = links
        self.degrees = kept((samples.map(_nothing_each) if links is None else links.row_sums()) + 1.0)
        self.scale = kept(1.0 / np.sqrt(self.degrees))

    def __matmul__(self, rows: BlockArray) -> BlockArray:
        if self.links is None:
            return rows
        scaled = kept(self.scale[:, None] * rows)
        return kept(self.scale[:, None] * (self.links @ scaled + scaled))


def read_block_links(engine: Engine, pairs: Any, samples: BlockArray) -> BlockAdjacency:
    """Return S of positive pairs (a frame or in memory), or of an adjacency whose rows are in blocks."""
    if pairs is None:
        return BlockAdjacency(None, samples)
    if is_dask(pairs) and hasattr(pairs, "chunks"):
        edges, mirror = _edges_of_adjacency(engine, pairs, len(samples)), False
    else:
        known = read_pairs(engine, pairs, len(samples), only_links=True)
        edges, mirror = engine.map(_positive_edges, [known.parts]), True
    if not sum(engine.fetch(engine.map(_n_edges, [edges]))):
        warnings.warn("there is no positive pair among pairs, so nothing is smoothed over links", stacklevel=5)
        return BlockAdjacency(None, samples)
    return BlockAdjacency(BlockGraph.from_edges(engine, samples.lengths, edges, mirror=mirror), samples)


def fitted_tfidf(frequencies: Any, n_samples: int) -> TfidfTransformer:
    """Return scikit-learn's tf-idf as fitted on samples with these document frequencies."""
    counts = np.asarray(frequencies, dtype=np.float64)
    transformer = TfidfTransformer()
    transformer.n_features_in_ = len(counts)
    transformer.idf_ = np.log((n_samples + 1.0) / (counts + 1.0)) + 1.0
    return transformer


def document_frequencies(X: Any) -> Array:
    """Return in how many rows every column is not zero."""
    counts = np.count_nonzero(X, axis=0) if isinstance(X, np.ndarray) else np.diff(sp.csc_array(X).indptr)
    return np.asarray(counts, dtype=np.float64)


def _edges_of_adjacency(engine: Engine, adjacency: Any, n_samples: int) -> list[Any]:
    if adjacency.ndim != 2 or adjacency.shape != (n_samples, n_samples):
        raise ValueError(
            f"an adjacency in blocks must have a row and a column for each of the {n_samples} samples of X, got shape "
            f"{adjacency.shape}"
        )
    graph = read_graph(engine, adjacency)
    starts = np.concatenate([[0], np.cumsum(graph.lengths)[:-1]]).astype(np.int64)
    return engine.map(_edges_of_rows, [graph.parts, starts.tolist()])


def _edges_of_rows(part: tuple[Any, NDArray[np.int64]], start: int) -> Edges:
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


def _n_edges(edges: Edges) -> int:
    return len(edges[0])


def _nothing_each(block: Any) -> Array:
    return np.zeros(block.shape[0])
