"""A symmetric graph of samples in row blocks, its products, and the rows that blocks need from each other for them."""

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..checks import Array, IntArray
from ..samples import compute
from .block_array import BlockArray
from .collections import check_numbers
from .engine import Engine, Handle

Edges = tuple[IntArray, IntArray, Array]

#: Arrays up to this size are sent whole.
WHOLE_BYTES = 2**25
#: After this many steps the Lanczos recursion gives a rough estimate of the least eigenvalue.
LANCZOS_STEPS = 15
#: A Lanczos residual below this share is rounding.
NEGLIGIBLE = 1e-10
#: A difference between the two triangles below this share of the entries is rounding.
ROUNDING = 1e-9


def first_rows(lengths: Sequence[int]) -> IntArray:
    """Return the first row of every block, and the number of all rows."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


class RowExchange:
    """Sends rows of an array with blocks of ``lengths`` rows to receivers.

    ``needed`` has, for every receiver, a handle of the sorted, distinct positions of the rows that the receiver needs.
    Each receiver takes one task for every block that has such rows, so receivers and blocks should be few.
    """

    def __init__(self, engine: Engine, needed: Sequence[Handle], lengths: Sequence[int]) -> None:
        self.engine, self.lengths, self.n_receivers = engine, tuple(lengths), len(needed)
        starts = first_rows(self.lengths)
        counts = np.array(engine.fetch(engine.map(lambda rows: np.diff(np.searchsorted(rows, starts)), [needed])))
        self.routes = [(int(i), int(j)) for i, j in zip(*np.nonzero(counts), strict=True)]
        self.index: list[Handle] = []
        if self.routes:
            senders = [j for _, j in self.routes]
            self.index = engine.map(_positions_within, [[needed[i] for i, _ in self.routes], senders], starts=starts)

    def bring(self, rows: BlockArray) -> list[list[Handle]]:
        """Return for every sending block a list with the rows for each receiver, None where there are none."""
        blocks = rows.handles
        pieces: list[list[Handle]] = [[None] * self.n_receivers for _ in self.lengths]
        if not self.routes:
            return pieces
        sent = self.engine.map(operator.getitem, [[blocks[j] for _, j in self.routes], self.index])
        for (i, j), piece in zip(self.routes, sent, strict=True):
            pieces[j][i] = piece
        return pieces


def _positions_within(needed: IntArray, sender: int, *, starts: IntArray) -> IntArray:
    low, high = np.searchsorted(needed, starts[sender : sender + 2])
    return needed[low:high] - starts[sender]


class BlockGraph:
    """Weights between samples; ``parts`` has a CSR array for every block, and the samples that its columns stand for.

    Row blocks have ``lengths`` samples. ``graph @ V``, for V in the same row blocks, sends to every block only the rows
    of V that the samples of the block are joined to.
    """

    def __init__(self, engine: Engine, lengths: Sequence[int], parts: Sequence[Handle]) -> None:
        self.engine, self.lengths, self.parts = engine, tuple(lengths), list(parts)
        self.exchange = RowExchange(engine, engine.map(operator.itemgetter(1), [self.parts]), self.lengths)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by samples."""
        return sum(self.lengths), sum(self.lengths)

    def __matmul__(self, rows: BlockArray) -> BlockArray:
        if tuple(rows.lengths) != self.lengths:
            raise ValueError(f"the graph has blocks of {self.lengths} rows, the other factor of {tuple(rows.lengths)}")
        return self.shifted_product(rows, None, 0.0, 1.0)

    def row_sums(self) -> BlockArray:
        """Return the sum of the weights of every sample."""
        sums = self.engine.map(lambda part: np.asarray(part[0].sum(axis=1), dtype=np.float64), [self.parts])
        return BlockArray.of(self.engine, self.lengths, sums, np.empty(0))

    def random_rows(self, n_columns: int, rng: Any) -> BlockArray:
        """Return uniform entries, one row per sample; each block has a seed, so a lost block is drawn again alike."""
        seeds = rng.randint(2**31 - 1, size=len(self.lengths)).tolist()
        handles = self.engine.map(_uniform, [seeds, list(self.lengths)], n_columns=n_columns)
        return BlockArray.of(self.engine, self.lengths, handles, np.empty((0, n_columns)))

    def shifted_product(self, rows: BlockArray, before: Any, center: float, scale: float) -> BlockArray:
        """Return ``scale (A - center I) X - B``, where B may be None for zero.

        Small blocks of X travel whole, so that each block takes one task; of large blocks only the needed rows travel.
        """
        rows = rows.persist()
        prior = [None] * len(rows.lengths) if before is None else before.persist().handles
        if 8 * len(rows) * rows.shape[1] > WHOLE_BYTES:
            pieces, starts = self.exchange.bring(rows), None
        else:
            routes, starts = set(self.exchange.routes), first_rows(rows.lengths)
            receivers = range(len(rows.lengths))
            pieces = [[block if (i, j) in routes else None for i in receivers] for j, block in enumerate(rows.handles)]
        shared = {"starts": starts, "center": center, "scale": scale}
        handles = self.engine.map(_shifted, [self.parts, rows.handles, prior, *pieces], **shared)
        return BlockArray.of(self.engine, rows.lengths, handles, rows.empty)

    def least_eigenvalue(self, random_state: np.random.RandomState) -> float:
        """Return a rough estimate by the Lanczos recursion, with one pass over the samples per step."""
        start = self.random_rows(1, random_state)
        before, now = 0.0 * start, (start / np.sqrt(float((start**2).sum()))).persist()
        diagonal: list[float] = []
        beside: list[float] = [0.0]
        for _ in range(min(LANCZOS_STEPS, self.shape[0])):
            image = self.shifted_product(now, None, 0.0, 1.0)
            along, square = (float(one) for one in compute((now * image).sum(), (image**2).sum()))
            diagonal.append(along)
            left = square - along**2 - beside[-1] ** 2  # the part of the image beyond the last two vectors
            if left <= NEGLIGIBLE * square:
                break
            beside.append(np.sqrt(left))
            before, now = now, ((image - along * now - beside[-2] * before) / beside[-1]).persist()
        return float(scipy.linalg.eigvalsh_tridiagonal(diagonal, beside[1 : len(diagonal)])[0])

    @classmethod
    def from_edges(
        cls, engine: Engine, lengths: Sequence[int], edges: Sequence[Handle], *, mirror: bool
    ) -> "BlockGraph":
        """Return the graph of edges ``(rows, cols, weights)`` in any partition; weights of repeated edges are added."""
        starts, blocks = first_rows(lengths), list(range(len(lengths)))
        cuts = engine.map(_by_block, [edges], starts=starts, mirror=mirror)
        pieces = [engine.map(operator.getitem, [[cut] * len(blocks), blocks]) for cut in cuts]
        return cls(engine, lengths, engine.map(_rows_of_block, [blocks, *pieces], starts=starts))


def _by_block(edges: Edges, *, starts: IntArray, mirror: bool) -> list[Edges]:
    """Return for every block the edges that begin in the block."""
    rows, cols, weights = edges
    if mirror:
        rows, cols, weights = np.append(rows, cols), np.append(cols, rows), np.append(weights, weights)
    order = np.argsort(rows, kind="stable")
    cuts = np.searchsorted(rows[order], starts)
    pieces = [order[low:high] for low, high in itertools.pairwise(cuts)]
    return [(rows[piece], cols[piece], weights[piece]) for piece in pieces]


def _rows_of_block(block: int, *pieces: Edges, starts: IntArray) -> tuple[Any, IntArray]:
    rows, cols, weights = (np.concatenate([piece[k] for piece in pieces]) for k in range(3))
    touched, position = np.unique(cols, return_inverse=True)
    shape = int(starts[block + 1] - starts[block]), len(touched)
    matrix = sp.csr_array(sp.coo_array((weights, (rows - starts[block], position)), shape=shape))  # adds repeated edges
    return matrix, touched


def _uniform(seed: int, length: int, *, n_columns: int) -> Array:
    return np.random.RandomState(seed).uniform(-1.0, 1.0, (length, n_columns))


def _shifted(
    part: tuple[Any, IntArray], own: Array, before: Array | None, *pieces: Any, starts: Any, center: float, scale: float
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


def read_graph(engine: Engine, similarity: Any) -> BlockGraph:
    """Return a square Dask array of dense or sparse blocks as a graph, and check that it is symmetric."""
    check_numbers("the similarity", similarity.dtype)
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
    """Return blocks side by side, in CSR where a block is sparse."""
    if any(sp.issparse(block) for block in blocks):
        return sp.csr_array(sp.hstack(blocks)).astype(np.float64, copy=False)
    return np.hstack([np.asarray(block, dtype=np.float64) for block in blocks])


def _with_touched(rows: Any) -> tuple[Any, IntArray]:
    if not sp.issparse(rows):
        return rows, np.arange(rows.shape[1])
    touched, position = np.unique(rows.indices, return_inverse=True)
    narrow = sp.csr_array((rows.data, position.ravel(), rows.indptr), shape=(rows.shape[0], len(touched)))
    narrow.sum_duplicates()
    return narrow, touched.astype(np.int64)


def _check_symmetric(engine: Engine, parts: list[Any], lengths: list[int]) -> None:
    r"""Compare :math:`x_i^\top S_{ij} y_j` with :math:`x_i^\top S_{ji}^\top y_j` for all blocks and fixed probes."""
    starts = first_rows(lengths)
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


def _probed(part: tuple[Any, IntArray], block: int, *, starts: IntArray) -> Array:
    """Return ``x^T S y``, ``y^T S x`` and ``|x|^T |S| |y|`` of one row of blocks."""
    matrix, touched = part
    own = np.arange(starts[block], starts[block + 1])
    (x, y), (x_other, y_other) = ((np.cos(index), np.sin(1.0 + index)) for index in (own, touched))
    with np.errstate(all="ignore"):
        terms = (matrix.T @ x) * y_other, (matrix.T @ y) * x_other, abs(matrix).T @ np.ones(len(own))
    blocks = np.searchsorted(starts, touched, side="right") - 1
    return np.stack([np.bincount(blocks, term, minlength=len(starts) - 1) for term in terms])
