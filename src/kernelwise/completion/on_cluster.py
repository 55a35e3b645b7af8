"""Similarities in row blocks on the workers: reading and checking them, and their leading eigenvectors."""

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from ..cluster.block_array import BlockArray
from ..cluster.collections import is_dask, read_rows
from ..cluster.engine import Engine
from ..cluster.graph import BlockGraph
from ..kernels.specs import is_sparse
from ..memory import require
from ..optim.sample_arrays import kept, together
from ..spectral import GramFactor, SpectralBasis
from ..spectral.embedding import checked_degrees, inverse_root
from ..spectral.filtered import filtered_eigenpairs, least_eigenvalue, normal_rows, shifted_product
from ..spectral.randomised import randomised_eigenbasis
from ..spectral.tall_arrays import random_rows, triangle, with_signs
from ..supervision import Pairs

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Columns of a factor up to which the matrix of their products is decomposed as a whole.
FEW_COLUMNS = 2000
#: What a known pair takes here, with the copies made on the way.
BYTES_PER_PAIR = 200
#: Arrays up to this size travel whole.
WHOLE_BYTES = 2**25
#: Steps that tell the least eigenvalue of a graph roughly.
LANCZOS_STEPS = 15
#: Eigenvalues below this fraction of the largest are rounding.
NEGLIGIBLE = 1e-10
#: Differences between the two triangles below this fraction of the entries are rounding.
ROUNDING = 1e-9


def read_factor(engine: Engine, factor: Any) -> GramFactor:
    """Return the factor F of a similarity ``F F^T``, in row blocks of finite floating-point numbers."""
    if factor.ndim != 2 or not factor.shape[1] >= 1:
        raise ValueError(f"the factor of a similarity must have rows and columns, got shape {factor.shape}")
    _check_numbers("the factor", factor.dtype)
    (rows,) = read_rows(engine, factor=factor)
    assert rows is not None  # they were given
    floats = rows.map(_as_floats).keep()
    if np.asarray(floats.sum_of(_n_not_finite)) > 0:
        raise ValueError("the similarity contains NaN or infinity; impute those values or remove the samples")
    return GramFactor(floats)


def read_graph(engine: Engine, similarity: Any) -> BlockGraph:
    """Return a square similarity, whose blocks are dense or sparse, by its rows; it is checked to be symmetric."""
    _check_numbers("the similarity", similarity.dtype)
    handles = [engine.start(list(row)) for row in similarity.to_delayed()]
    joined = engine.map(_joined, [list(column) for column in zip(*handles, strict=True)])
    shapes = engine.fetch(engine.map(np.shape, [joined]))
    n_samples = similarity.shape[0]
    lengths = [int(shape[0]) for shape in shapes]
    if sum(lengths) != n_samples or any(shape[1] != n_samples for shape in shapes):
        raise ValueError(
            f"the similarity says that it has shape {similarity.shape}, but its rows of blocks have shapes "
            f"{shapes[:5]}; each needs one column for each of the {n_samples} samples"
        )
    parts = engine.map(_with_touched, [joined])
    _check_symmetric(engine, parts, lengths)
    return BlockGraph(engine, lengths, parts)


def _joined(*blocks: Any) -> Any:
    """Return blocks side by side: CSR where one is sparse."""
    if any(is_sparse(block) for block in blocks):
        return sp.csr_array(sp.hstack(blocks)).astype(np.float64, copy=False)
    return np.hstack([np.asarray(block, dtype=np.float64) for block in blocks])


def _with_touched(rows: Any) -> tuple[Any, Index]:
    if not is_sparse(rows):
        return rows, np.arange(rows.shape[1])
    touched, position = np.unique(rows.indices, return_inverse=True)
    narrow = sp.csr_array((rows.data, position.ravel(), rows.indptr), shape=(rows.shape[0], len(touched)))
    narrow.sum_duplicates()
    return narrow, touched.astype(np.int64)


def _check_symmetric(engine: Engine, parts: list[Any], lengths: list[int]) -> None:
    r"""Compare :math:`x_i^\top S_{ij} y_j` with :math:`x_i^\top S_{ji}^\top y_j` for all blocks and fixed probes."""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    forms = np.stack(engine.fetch(engine.map(_probed, [parts, list(range(len(parts)))], starts=starts)), axis=1)
    direct, mirrored, size = forms[0], forms[1].T, forms[2] + forms[2].T
    if not np.isfinite(size).all():
        raise ValueError("the similarity contains NaN or infinity; impute those values or remove the samples")
    wrong = np.argwhere(np.abs(direct - mirrored) > ROUNDING * size)
    if len(wrong):
        i, j = wrong[0]
        raise ValueError(
            f"the similarity is not symmetric: its rows {starts[i]} to {starts[i + 1] - 1} in the columns {starts[j]} "
            f"to {starts[j + 1] - 1} are not the mirror image of what is on the other side; pass (S + S.T) / 2"
        )


def _probed(part: tuple[Any, Index], block: int, *, starts: Index) -> Array:
    """Return ``x^T S y``, ``y^T S x`` and ``|x|^T |S| |y|`` of one row of blocks."""
    matrix, touched = part
    own = np.arange(starts[block], starts[block + 1])
    (x, y), (x_other, y_other) = ((np.cos(index), np.sin(1.0 + index)) for index in (own, touched))
    with np.errstate(all="ignore"):
        terms = (matrix.T @ x) * y_other, (matrix.T @ y) * x_other, abs(matrix).T @ np.ones(len(own))
    blocks = np.searchsorted(starts, touched, side="right") - 1
    return np.stack([np.bincount(blocks, term, minlength=len(starts) - 1) for term in terms])


def _check_numbers(name: str, dtype: Any) -> None:
    if np.dtype(dtype).kind not in "buif":
        raise ValueError(f"{name} must hold real numbers, got {dtype}; convert it with astype(float)")


def _as_floats(block: Any) -> Any:
    return block.astype(np.float64, copy=False)


def _n_not_finite(block: Any) -> int:
    entries = block.data if is_sparse(block) else block
    return entries.size - int(np.isfinite(entries).sum())


def read_pairs(pairs: Any, n_samples: int) -> Pairs | None:
    """Return known pairs, brought here from a Dask frame with the columns row, col, label and maybe weight."""
    if not is_dask(pairs):
        return pairs
    names = list(getattr(pairs, "columns", []))
    missing = [name for name in ("row", "col", "label") if name not in names]
    if missing:
        raise ValueError(f"pairs must be a frame with the columns row, col and label, and maybe weight; got {names}")
    wanted = [name for name in ("row", "col", "label", "weight") if name in names]
    n_pairs = int(pairs.map_partitions(len).compute().sum())
    require(BYTES_PER_PAIR * n_pairs, f"{n_pairs} known pairs", "pass a sample of them, such as pairs.sample(frac=0.1)")
    frame = pairs[wanted].compute()
    weights = frame["weight"].to_numpy() if "weight" in wanted else None
    ends = frame["row"].to_numpy(), frame["col"].to_numpy()
    return Pairs(*ends, frame["label"].to_numpy(), n_samples=n_samples, weights=weights)


def spectral_blocks(
    matrix: Any, n_components: int, *, normalize: str, tol: float, random_state: np.random.RandomState
) -> SpectralBasis:
    """As :func:`kernelwise.spectral.spectral_basis`, with vectors and degrees in row blocks.

    Parameters
    ----------
    matrix : GramFactor of a BlockArray, or BlockGraph
    n_components : int
        At most as many as samples; of a factor no more come back than it has columns.
    normalize : {"none", "symmetric"}
    tol : float
        For a graph, or a factor of very many columns: residual relative to the largest eigenvalue; 0 for full
        precision.
    random_state : RandomState
    """
    degrees: Any = None
    vectors: Any
    if normalize == "symmetric":
        degrees = checked_degrees(row_sums(matrix)).keep()
        matrix = _scaled(matrix, degrees.map(inverse_root).keep())
    if isinstance(matrix, GramFactor):
        values, vectors = _factor_eigenpairs(matrix.factor, n_components, tol, random_state)
    else:
        values, vectors = filtered_eigenpairs(matrix, n_components, tol=tol, random_state=random_state)
        vectors = kept(with_signs(vectors))
    return SpectralBasis(values, vectors, degrees)


def row_sums(matrix: Any) -> BlockArray:
    """Return the degrees of the samples, in row blocks."""
    if isinstance(matrix, GramFactor):
        factor = matrix.factor
        return (factor @ np.asarray(factor.sum_of(_column_sums))).keep()
    return matrix.row_sums()


def coherence_of_blocks(basis: BlockArray) -> float:
    """As :func:`kernelwise.metrics.coherence`."""
    return float(basis.map(_leverages).max()) * len(basis) / basis.shape[1]


def _leverages(block: Array) -> Array:
    return np.einsum("ij,ij->i", block, block)


def _column_sums(block: Any) -> Array:
    return np.asarray(block.sum(axis=0)).ravel()


def _scaled(matrix: Any, weights: BlockArray) -> Any:
    """Return ``diag(w) K diag(w)``."""
    if isinstance(matrix, GramFactor):
        return GramFactor(matrix.factor.map(_scaled_rows, weights).keep())
    pieces = matrix.exchange.bring(weights)
    parts = matrix.engine.map(_scaled_part, [matrix.parts, weights.handles, *pieces])
    return BlockGraph(matrix.engine, matrix.lengths, parts)


def _scaled_part(part: tuple[Any, Index], weights: Array, *pieces: Any) -> tuple[Any, Index]:
    matrix, touched = part
    others = np.concatenate([np.zeros(0), *(piece for piece in pieces if piece is not None)])
    rows = _scaled_rows(matrix, weights)
    return sp.csr_array(rows @ sp.diags_array(others)) if is_sparse(rows) else rows * others, touched


def _scaled_rows(block: Any, weights: Array) -> Any:
    return sp.csr_array(sp.diags_array(weights) @ block) if is_sparse(block) else weights[:, None] * block


@normal_rows.register
def _normal_blocks(operator: BlockGraph, n_columns: int, random_state: np.random.RandomState) -> BlockArray:
    return random_rows(operator, n_columns, random_state)


@shifted_product.register
def _product_of_blocks(operator: BlockGraph, rows: BlockArray, before: Any, center: float, scale: float) -> BlockArray:
    """One task per block where the rows are few enough to travel as they are; else only those that are needed do."""
    rows = rows.keep()
    prior = [None] * len(rows.lengths) if before is None else before.keep().handles
    if 8 * len(rows) * rows.shape[1] > WHOLE_BYTES:
        pieces, starts = operator.exchange.bring(rows), None
    else:
        routes, starts = set(operator.exchange.routes), np.concatenate([[0], np.cumsum(rows.lengths)]).astype(np.int64)
        receivers = range(len(rows.lengths))
        pieces = [[block if (i, j) in routes else None for i in receivers] for j, block in enumerate(rows.handles)]
    shared = {"starts": starts, "center": center, "scale": scale}
    handles = operator.engine.map(_shifted, [operator.parts, rows.handles, prior, *pieces], **shared)
    return BlockArray.of(operator.engine, rows.lengths, handles, rows.empty)


def _shifted(
    part: tuple[Any, Index], own: Array, before: Array | None, *pieces: Any, starts: Any, center: float, scale: float
) -> Array:
    matrix, touched = part
    if starts is not None:
        cuts = np.searchsorted(touched, starts)
        pieces = tuple(
            None if block is None else block[touched[cuts[j] : cuts[j + 1]] - starts[j]]
            for j, block in enumerate(pieces)
        )
    needed = np.concatenate([own[:0], *(piece for piece in pieces if piece is not None)])
    moved = scale * (np.asarray(matrix @ needed) - center * own)
    return moved if before is None else moved - before


@least_eigenvalue.register
def _least_of_graph(operator: BlockGraph, random_state: np.random.RandomState) -> float:
    """By the Lanczos recursion, with one sum over the samples per step."""
    start = random_rows(operator, 1, random_state)
    before, now = 0.0 * start, (start / np.sqrt(float((start**2).sum()))).keep()
    diagonal: list[float] = []
    beside: list[float] = [0.0]
    for _ in range(min(LANCZOS_STEPS, operator.shape[0])):
        image = shifted_product(operator, now, None, 0.0, 1.0)
        along, square = (float(one) for one in together((now * image).sum(), (image**2).sum()))
        diagonal.append(along)
        left = square - along**2 - beside[-1] ** 2  # of the image, beyond the last two vectors
        if left <= NEGLIGIBLE * square:
            break
        beside.append(np.sqrt(left))
        before, now = now, ((image - along * now - beside[-2] * before) / beside[-1]).keep()
    return float(scipy.linalg.eigvalsh_tridiagonal(diagonal, beside[1 : len(diagonal)])[0])


class _ColumnProducts:
    """``F^T F``, known by its products: one pass over the rows each."""

    def __init__(self, factor: BlockArray) -> None:
        self.factor, self.shape = factor, (factor.shape[1], factor.shape[1])

    def __matmul__(self, columns: Array) -> Array:
        return np.asarray(self.factor.T @ (self.factor @ columns))


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
        values, turned = randomised_eigenbasis(_ColumnProducts(factor), count, tol=tol, random_state=random_state)
    known = values > NEGLIGIBLE * max(float(values[0]), 0.0)
    if not known.any():
        return values[:1], (factor @ np.zeros((n_columns, 1))).keep()
    vectors = kept(factor @ (turned[:, known] / np.sqrt(values[known])))
    # Vectors of small eigenvalues have lost digits; the nearest orthonormal ones have them again.
    _, lengths, axes = scipy.linalg.svd(np.asarray(triangle(vectors)))
    return values[known], kept(with_signs(kept(vectors @ ((axes.T / lengths) @ axes))))


def _gram(block: Any) -> Array:
    product = block.T @ block
    return product.toarray() if is_sparse(product) else product
