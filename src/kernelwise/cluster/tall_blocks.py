"""Decompositions of arrays in row blocks: only matrices of a few columns by a few columns travel."""

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..spectral.tall_arrays import NEGLIGIBLE, beside, largest_entries, orthonormal, triangle
from .block_array import BlockArray, Pending

Array = NDArray[np.float64]


@beside.register
def _blocks_beside(left: BlockArray, right: BlockArray) -> BlockArray:
    return left.map(_side_by_side, right)


def _side_by_side(left: Array, right: Array) -> Array:
    return np.hstack([left, right])


@triangle.register
def _triangle_of_blocks(rows: BlockArray) -> Pending:
    """The triangles of the blocks, stacked, have the triangle of all."""
    return rows.reduce_of(_upper, _upper_of_both)


def _upper(block: Array) -> Array:
    return np.asarray(np.linalg.qr(block, mode="r"))


def _upper_of_both(left: Array, right: Array) -> Array:
    return _upper(np.vstack([left, right]))


@largest_entries.register
def _largest_of_blocks(rows: BlockArray) -> Pending:
    return rows.reduce_of(largest_entries.dispatch(np.ndarray), _larger)


def _larger(left: Array, right: Array) -> Array:
    return np.where(np.abs(right) > np.abs(left), right, left)


@orthonormal.register
def _orthonormal_blocks(block: BlockArray, basis: Any = None) -> BlockArray:
    """Like in memory, with the triangle of all blocks in place of a factorisation with pivots."""
    for _ in range(2):
        lengths = np.sqrt(np.asarray((block**2).sum(axis=0)))
        block = block[:, lengths > 0.0] * (1.0 / lengths[lengths > 0.0])
        if basis is not None:
            block = block - basis @ np.asarray(basis.T @ block)
        block = block.keep()
        _, sizes, turned = scipy.linalg.svd(np.asarray(triangle(block)), full_matrices=False)
        left = sizes > NEGLIGIBLE
        block = (block @ (turned[left].T / sizes[left])).keep()
    return block
