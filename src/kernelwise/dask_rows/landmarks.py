"""Landmarks for samples in row blocks: they are chosen among a sample of the rows, and checked on all rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..checks import Array
from ..kernels import Kernel
from ..kernels.bank import NEGLIGIBLE
from ..kernels.build import SLACK, tolerance_and_rank, warn_of_residuals
from ..kernels.landmarks import factor_kernel
from .bank import Maps, pieces, projection
from .block_array import BlockArray, stacked

#: The most rounds in which landmarks are added to kernels whose factors leave out too much.
ROUNDS = 8


def choose_block_maps(
    X: BlockArray,
    sample: Any,
    kernels: Sequence[Kernel],
    *,
    rank: int | float | None,
    center: bool = False,
    scale: bool = False,
    random_state: np.random.RandomState,
) -> tuple[Maps, Array]:
    """Choose landmarks among some rows of X, and return the maps of the kernels and their residuals on all rows."""
    tol, max_rank = tolerance_and_rank(rank)
    maps: Maps = [None] * len(kernels)  # type: ignore[list-item]  # the first round fills the list
    residuals, sizes, poor = np.zeros(len(kernels)), np.zeros(len(kernels)), list(range(len(kernels)))
    options: dict[str, Any] = {"tol": tol, "max_rank": max_rank, "center": center, "random_state": random_state}
    for count in range(1 + ROUNDS):
        for j in poor:
            factor = factor_kernel(kernels[j], sample, **options)
            maps[j], residuals[j], sizes[j] = factor.feature_map(kernels[j], sample), factor.residual, factor.size
        if count == ROUNDS:
            break  # what the last landmarks leave of the other rows is not known
        # For every kernel the largest residual of the diagonal, and the row of X where it occurs.
        shared = [X.engine.share(maps)] * len(X.lengths)
        left, worst = X.engine.total(_block_residuals, [X.handles, shared], _merged_residuals)
        residuals = np.maximum(residuals, np.divide(left, sizes, out=np.zeros_like(left), where=sizes > 0))
        may_grow = np.array([max_rank is None or one.rank < max_rank for one in maps])
        poor = np.flatnonzero((residuals > SLACK * tol) & may_grow).tolist()
        if not poor:
            break
        sample = stacked([sample, *(worst[j] for j in poor)])
    warn_of_residuals("the landmarks leave", [kernel.name for kernel in kernels], residuals, tol)
    return _standardised(X, maps, center=center, scale=scale), residuals


def _block_residuals(X: Any, maps: Maps) -> tuple[Array, list[Any]]:
    left, rows = np.zeros(len(maps)), []
    for k, feature_map in enumerate(maps):
        remaining = np.array(feature_map.kernel.diagonal(feature_map.kernel.select(X)), dtype=np.float64)
        for part in pieces(X):
            values = feature_map(X[part])
            remaining[part] -= np.einsum("ik,ik->i", values, values)
        worst = int(np.argmax(remaining))
        left[k] = max(float(remaining[worst]), 0.0)
        rows.append(X[worst : worst + 1])
    return left, rows


def _merged_residuals(parts: Sequence[tuple[Array, list[Any]]]) -> tuple[Array, list[Any]]:
    left = np.stack([part[0] for part in parts])
    chosen = left.argmax(axis=0)
    return left.max(axis=0), [parts[k][1][j] for j, k in enumerate(chosen)]


def _standardised(X: BlockArray, maps: Maps, *, center: bool, scale: bool) -> Maps:
    """Return the maps with means and scales over all samples; each takes one pass over the blocks."""
    if center:
        totals = np.asarray(X.sum_of(lambda rows, own: projection(rows, own, np.ones(rows.shape[0])), X.share(maps)))
        means = np.split(totals / len(X), np.cumsum([one.rank for one in maps])[:-1])
        maps = [replace(one, mean=mean) for one, mean in zip(maps, means, strict=True)]
    if scale:
        powers = np.asarray(X.sum_of(_feature_powers, X.share(maps))) / len(X)
        maps = [
            # A kernel that is zero, or that becomes zero by centring, stays zero.
            replace(one, scale=float(np.sqrt(power))) if power > NEGLIGIBLE * (power + one.mean @ one.mean) else one
            for one, power in zip(maps, powers, strict=True)
        ]
    return maps


def _feature_powers(X: Any, maps: Maps) -> Array:
    return np.array([sum(float((one(X[part]) ** 2).sum()) for part in pieces(X)) for one in maps])
