"""The fit of :class:`PairCompleter` where the similarity is in row blocks on the workers of a Dask cluster.

The file has four parts: the fit, the basis that stays on the workers, the similarity and its leading eigenvectors, and
products of rows of a factor that is a Dask array. Every piece of the pairs gets the rows of its samples from the
blocks: no worker holds all rows of the factor, and the memory of a worker grows with the number of pairs in a piece.
"""

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator
from sklearn.utils import check_random_state

from ..checks import Array, Index, IntArray
from ..dask_rows.block_array import BlockArray
from ..dask_rows.collections import check_numbers, read_rows, working_engine
from ..dask_rows.engine import Engine
from ..dask_rows.graph import BlockGraph, read_graph
from ..dask_rows.labelled_pairs import pairs_in_memory
from ..dask_rows.lazy import array_of, call, opaque, parts_of
from ..kernels.specs import is_precomputed
from ..samples import is_dask, persist, sample_product
from ..spectral import GramFactor, SpectralBasis
from ..spectral.block_lanczos import block_lanczos, triangle
from ..spectral.eigenpairs import with_signs
from ..spectral.embedding import checked_degrees, inverse_root
from ..spectral.filtered import filtered_eigenpairs
from ..statements.noise import resolve_pairs
from .basis import ExtendedBasis, Similarity, n_samples_of
from .core import known_block
from .held_out import candidates

Check = Callable[[Any, Any], tuple[Index, Index]]

#: For a factor F with at most this many columns, ``F^T F`` is decomposed as a whole.
FEW_COLUMNS = 2000
#: Up to this many samples, the fit in memory computes all eigenvectors and draws no random numbers.
FULL = 200
#: This many random numbers are drawn at a time.
PIECE = 2**16
#: Eigenvalues below this fraction of the largest are rounding.
NEGLIGIBLE = 1e-10


def fit_on_cluster(completer: Any, X: Any, y: Any, pairs: Any) -> Any:
    """Fit the completer on the workers; errors in the pairs are reported before the similarity is computed."""
    n_samples = _n_samples(completer, X)
    rng = check_random_state(completer.random_state)
    with working_engine() as engine:
        similarity = None if n_samples is not None else _read_similarity(completer, X, engine)
        n_samples = similarity.n_samples if similarity is not None else n_samples
        assert n_samples is not None  # one or the other
        known = resolve_pairs(pairs_in_memory(pairs, n_samples), y, n_samples, random_state=rng, both_kinds=False)
        assert known is not None  # they are required
        candidates(completer.n_components, len(known_block(known).index), n_samples)
        return completer._complete(similarity or _read_similarity(completer, X, engine), known, rng)


def _n_samples(estimator: Any, X: Any) -> int | None:
    """Check a similarity in blocks before any block is computed; return the number of samples, None if unknown."""
    if not is_precomputed(estimator.kernels):
        raise ValueError(
            f"kernels={estimator.kernels!r} of features in a Dask array are not computed here; pass "
            'GramFactor(features) with kernels="precomputed", where features is a Dask array whose inner products are '
            "the similarity, such as those of sklearn.kernel_approximation.Nystroem by map_blocks"
        )
    given = X.factor if isinstance(X, GramFactor) else X
    if not isinstance(X, GramFactor) and (given.ndim != 2 or given.shape[0] != given.shape[1]):
        raise ValueError(
            f"a similarity must be a square matrix, got shape {given.shape}; wrap an (n, r) factor of it in "
            "kernelwise.spectral.GramFactor, and give a Dask array of unknown length its compute_chunk_sizes()"
        )
    return None if np.isnan(given.shape[0]) else int(given.shape[0])


def _read_similarity(estimator: Any, X: Any, engine: Engine) -> "BlockSimilarity":
    """Validate a similarity in row blocks on the workers."""
    matrix = read_factor(engine, X.factor) if isinstance(X, GramFactor) else read_graph(engine, X)
    estimator.n_features_in_ = n_samples_of(matrix)
    return BlockSimilarity(matrix)


class BlockBasis(ExtendedBasis):
    """Leading eigenvectors in row blocks."""

    def to_dask(self) -> "BasisOnWorkers":
        """Return the basis with Dask arrays in place of block arrays."""
        vectors = self.vectors.to_dask()
        if self.degree_weights is None:
            return BasisOnWorkers(self.values, vectors, None, vectors / self.values, None, self.least_degree)
        weights = self.projection.to_dask(), self.degree_weights.to_dask()
        return BasisOnWorkers(self.values, vectors, None, *weights, self.least_degree)


class BasisOnWorkers(ExtendedBasis):
    """Leading eigenvectors as Dask arrays, for a fitted model."""

    def extend(self, X: Any) -> Any:
        """Rows of the basis for new samples, computed block by block."""
        if self.degree_weights is None:
            return rows_times(X, self.projection, n_columns=len(self.values))
        weights = np.concatenate([self.projection, self.degree_weights[:, None]], axis=1)
        return rows_times(X, weights, n_columns=len(self.values), least_degree=self.least_degree)


class BlockSimilarity(Similarity):
    """A similarity in row blocks on the workers."""

    basis_class = BlockBasis

    def eigenvectors(self, count: int, normalize: Any, tol: float, random_state: Any) -> SpectralBasis:
        """Return leading eigenvectors in row blocks, of full accuracy where ``tol`` is zero."""
        own = np.random.RandomState(0)
        for start in range(0, self.n_samples if self.n_samples > FULL else 0, PIECE):
            # The fit in memory draws a starting vector. The same draws here make both fits hold out the same pairs.
            random_state.uniform(size=min(PIECE, self.n_samples - start))
        return spectral_blocks(self.matrix, count, normalize=normalize, tol=tol, random_state=own)


def read_factor(engine: Engine, factor: Any) -> GramFactor:
    """Return the factor F of a similarity ``F F^T``, in row blocks of finite floating-point numbers."""
    if factor.ndim != 2 or not factor.shape[1] >= 1:
        raise ValueError(f"the factor of a similarity must have rows and columns, got shape {factor.shape}")
    check_numbers("the factor", factor.dtype)
    (rows,) = read_rows(engine, factor=factor)
    floats = rows.map_rows(lambda block: block.astype(np.float64, copy=False)).persist()
    if np.asarray(floats.sum_of(_n_not_finite)) > 0:
        raise ValueError("the similarity contains NaN or infinity; impute those values or remove the samples")
    return GramFactor(floats)


def _n_not_finite(block: Any) -> int:
    entries = block.data if sp.issparse(block) else block
    return entries.size - int(np.isfinite(entries).sum())


def spectral_blocks(
    matrix: Any, n_components: int, *, normalize: str, tol: float, random_state: np.random.RandomState
) -> SpectralBasis:
    """As :func:`kernelwise.spectral.spectral_basis`, with vectors and degrees in row blocks."""
    degrees: Any = None
    vectors: Any
    if normalize == "symmetric":
        degrees = checked_degrees(row_sums(matrix)).persist()
        matrix = _scaled(matrix, degrees.map_rows(inverse_root).persist())
    if isinstance(matrix, GramFactor):
        values, vectors = _factor_eigenpairs(matrix.factor, n_components, tol, random_state)
    else:
        values, vectors = filtered_eigenpairs(matrix, n_components, tol=tol, random_state=random_state)
        vectors = persist(with_signs(vectors))
    return SpectralBasis(values, vectors, degrees)


def row_sums(matrix: Any) -> BlockArray:
    """Return the degrees of the samples, in row blocks."""
    if isinstance(matrix, GramFactor):
        factor = matrix.factor
        return (factor @ np.asarray(factor.sum_of(lambda block: np.asarray(block.sum(axis=0)).ravel()))).persist()
    return matrix.row_sums()


def _scaled(matrix: Any, weights: BlockArray) -> Any:
    """Return ``diag(w) K diag(w)``."""
    if isinstance(matrix, GramFactor):
        return GramFactor(matrix.factor.map_rows(_scaled_rows, weights).persist())
    pieces = matrix.exchange.bring(weights)
    parts = matrix.engine.map(_scaled_part, [matrix.parts, weights.handles, *pieces])
    return BlockGraph(matrix.engine, matrix.lengths, parts)


def _scaled_part(part: tuple[Any, IntArray], weights: Array, *pieces: Any) -> tuple[Any, IntArray]:
    matrix, touched = part
    others = np.concatenate([np.zeros(0), *(piece for piece in pieces if piece is not None)])
    rows = _scaled_rows(matrix, weights)
    return sp.csr_array(rows @ sp.diags_array(others)) if sp.issparse(rows) else rows * others, touched


def _scaled_rows(block: Any, weights: Array) -> Any:
    return sp.csr_array(sp.diags_array(weights) @ block) if sp.issparse(block) else weights[:, None] * block


def _factor_eigenpairs(
    factor: BlockArray, count: int, tol: float, random_state: np.random.RandomState
) -> tuple[Array, BlockArray]:
    r"""Return eigenpairs of ``F F^T`` from those of the small ``F^T F``: :math:`U = F V \Lambda^{-1/2}`."""
    n_columns = factor.shape[1]
    count = min(count, *factor.shape)
    if n_columns <= FEW_COLUMNS:
        gram = np.asarray(factor.sum_of(_gram))
        values, turned = scipy.linalg.eigh(gram, subset_by_index=[n_columns - count, n_columns - 1])
        values, turned = values[::-1], turned[:, ::-1]
    else:
        # Every product is one pass over the rows of F.
        def product(columns: Array) -> Array:
            return np.asarray(factor.T @ (factor @ columns))

        operator = LinearOperator((n_columns, n_columns), matvec=product, matmat=product, dtype=np.float64)
        values, turned = block_lanczos(operator, count, random_state, tol=tol)
    known = values > NEGLIGIBLE * max(float(values[0]), 0.0)
    if not known.any():
        return values[:1], (factor @ np.zeros((n_columns, 1))).persist()
    vectors = persist(factor @ (turned[:, known] / np.sqrt(values[known])))
    # Vectors of small eigenvalues are not quite orthonormal any more; the nearest orthonormal vectors replace them.
    _, lengths, axes = scipy.linalg.svd(np.asarray(triangle(vectors)))
    return values[known], persist(with_signs(persist(vectors @ ((axes.T / lengths) @ axes))))


def _gram(block: Any) -> Array:
    product = block.T @ block
    return product.toarray() if sp.issparse(product) else product


def pair_products(factor: Any, rows: Any, cols: Any, check: Check) -> Any:
    """Return ``f_i^T f_j`` for pairs (i, j) that ``check`` validates; a Dask array if the pairs are one."""
    blocks, starts = _row_blocks(factor)
    given = is_dask(rows) or is_dask(cols)
    pieces, lengths = _pieces(rows, cols) if given else ([check(rows, cols)], [len(rows)])
    scores = []
    for left, right in pieces:
        ends = call(_distinct_ends, left, right, check=check)
        found = [call(_rows_between, block, ends, start) for block, start in zip(blocks, starts, strict=True)]
        scores.append(call(_products, ends, found))
    return array_of(scores, lengths, (), np.float64) if given else scores[0].compute()


def rows_times(X: Any, factor: Any, *, n_columns: int, least_degree: float | None = None) -> Any:
    """Return ``X @ factor`` for a Dask array ``factor``, a Dask array if X is one.

    With a least degree, the last column of the product has the degrees, by whose roots the other columns are divided.
    """
    blocks, starts = _row_blocks(factor)

    def finished(pieces: Sequence[Any]) -> Any:
        products = [call(operator.matmul, piece, block) for piece, block in zip(pieces, blocks, strict=True)]
        return call(_finished, products, least_degree)

    if not is_dask(X):
        cuts = zip(starts, [*starts[1:], factor.shape[0]], strict=True)
        return finished([X[:, low:high] for low, high in cuts]).compute()
    X = X.rechunk({1: factor.chunks[0]})
    return array_of([finished(pieces) for pieces in X.to_delayed()], X.chunks[0], (n_columns,), np.float64)


def _row_blocks(factor: Any) -> tuple[list[Any], list[int]]:
    """Return the blocks of rows, and the number of the first row of every block."""
    if not is_dask(factor):
        return [opaque(factor)], [0]
    if len(factor.chunks[1]) > 1:
        factor = factor.rechunk({1: -1})
    starts = np.concatenate([[0], np.cumsum(factor.chunks[0])[:-1]]).astype(int)
    return parts_of(factor), starts.tolist()


def _pieces(rows: Any, cols: Any) -> tuple[list[tuple[Any, Any]], Sequence[float]]:
    """Return pieces of ``rows`` and ``cols``, both cut at the same places, and the lengths of the pieces."""
    import dask.array as da

    given = (one if is_dask(one) else da.asarray(np.asarray(one)) for one in (rows, cols))
    left, right = (one.to_dask_array() if hasattr(one, "to_dask_array") else one for one in given)
    for name, one in (("rows", left), ("cols", right)):
        if one.ndim != 1 or one.dtype.kind not in "iu":
            raise ValueError(f"{name} must be a list of sample indices, got shape {one.shape} of {one.dtype}")
    if not (np.isnan(left.shape[0]) or np.isnan(right.shape[0])):
        if left.shape != right.shape:
            raise ValueError(f"rows and cols must have one length, got {left.shape[0]} and {right.shape[0]}")
        right = right.rechunk(left.chunks)
    if left.numblocks != right.numblocks:
        raise ValueError(
            f"rows has {left.numblocks[0]} partitions and cols {right.numblocks[0]}; take both from one frame"
        )
    return list(zip(left.to_delayed(), right.to_delayed(), strict=True)), left.chunks[0]


def _distinct_ends(rows: Any, cols: Any, *, check: Check) -> tuple[Index, Index, Index]:
    """Return the samples that occur in pairs, in ascending order, and the positions of ``rows`` and ``cols`` there."""
    left, right = check(rows, cols)
    index, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    return index, place[: len(left)], place[len(left) :]


def _rows_between(block: Array, ends: tuple[Index, Index, Index], start: int) -> Array:
    index = ends[0]
    return block[index[slice(*np.searchsorted(index, [start, start + len(block)]))] - start]


def _products(ends: tuple[Index, Index, Index], found: list[Array]) -> Array:
    rows = np.concatenate(found)
    return sample_product(rows, rows, ends[1], ends[2])


def _finished(products: list[Array], least_degree: float | None) -> Array:
    rows = reduce(np.add, products)
    return rows if least_degree is None else rows[:, :-1] * inverse_root(rows[:, -1], least_degree)[:, None]
