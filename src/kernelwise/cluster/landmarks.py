"""Landmarks for samples in row blocks: chosen on a sample of the rows, checked on all of them."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import Kernel, RankWarning
from ..kernels.bank import NEGLIGIBLE
from ..kernels.landmarks import factor_kernel
from .bank import PIECE, Maps, share
from .block_array import BlockArray
from .collections import stacked

Array = NDArray[np.float64]

#: Rounds in which landmarks are added where the sample did not show what a kernel needs.
ROUNDS = 8
#: A residual of this many times what was asked for counts as reached.
SLACK = 2.0


@dataclass
class _Chosen:
    """The map of one kernel, what its factor leaves out, and the size that this is relative to."""

    kernel: Kernel
    feature_map: Any
    residual: float
    size: float


def choose_block_maps(
    X: BlockArray,
    sample: Any,
    kernels: Sequence[Kernel],
    *,
    tol: float,
    max_rank: int | None,
    center: bool,
    scale: bool,
    random_state: np.random.RandomState,
) -> tuple[Maps, Array]:
    """Choose landmarks on a sample, check them on all blocks, and add what they miss; return maps and residuals.

    Parameters
    ----------
    X : BlockArray
    sample : array
        Rows of X to choose landmarks from; all of them where they are few.
    kernels : sequence of Kernel
    tol, max_rank, center, scale
        As for a bank in memory.
    random_state : RandomState
    """

    def choose(kernel: Kernel) -> _Chosen:
        factor = factor_kernel(kernel, sample, tol=tol, max_rank=max_rank, center=center, random_state=random_state)
        return _Chosen(kernel, factor.feature_map(kernel, sample), factor.residual, factor.size)

    chosen = [choose(kernel) for kernel in kernels]
    for _ in range(ROUNDS):
        left, worst = _largest_residuals(X, [one.feature_map for one in chosen])
        for one, remaining in zip(chosen, left, strict=True):
            one.residual = max(one.residual, remaining / one.size if one.size > 0 else 0.0)
        poor = [
            j
            for j, one in enumerate(chosen)
            if one.residual > SLACK * tol and (max_rank is None or one.feature_map.rank < max_rank)
        ]
        if not poor:
            break
        sample = stacked([sample, *(worst[j] for j in poor)])
        for j in poor:
            chosen[j] = choose(chosen[j].kernel)
    _warn_of_residuals(chosen, tol)
    maps = _standardised(X, [one.feature_map for one in chosen], center=center, scale=scale)
    return maps, np.array([one.residual for one in chosen])


def _largest_residuals(X: BlockArray, maps: Maps) -> tuple[Array, list[Any]]:
    """Return what every factor leaves of the diagonal, and the row of X where it leaves most."""
    return X.engine.total(_block_residuals, [X.handles, [X.engine.share(maps)] * len(X.lengths)], _merged_residuals)


def _block_residuals(X: Any, maps: Maps) -> tuple[Array, list[Any]]:
    left, rows = np.zeros(len(maps)), []
    for k, feature_map in enumerate(maps):
        remaining = np.array(feature_map.kernel.diagonal(feature_map.kernel.select(X)), dtype=np.float64)
        for start in range(0, X.shape[0], PIECE):
            part = slice(start, start + PIECE)
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


def _warn_of_residuals(chosen: Sequence[_Chosen], tol: float) -> None:
    poor = [one for one in chosen if one.residual > SLACK * tol]
    if not poor:
        return
    worst = max(poor, key=lambda one: one.residual)
    warnings.warn(
        f"the landmarks leave out a part of {len(poor)} of {len(chosen)} kernels; most of {worst.kernel.name}: up to "
        f"{worst.residual:.2g} of its diagonal, where {tol:.2g} was asked for. This is another model than the exact "
        "one; raise rank, or leave such narrow kernels out",
        RankWarning,
        stacklevel=3,
    )


def _standardised(X: BlockArray, maps: Maps, *, center: bool, scale: bool) -> Maps:
    """Return the maps with the means and the scales of all samples: a pass over the blocks for each."""
    if center:
        totals = np.asarray(X.sum_of(_feature_sums, share(X, maps)))
        means = np.split(totals / len(X), np.cumsum([one.rank for one in maps])[:-1])
        maps = [replace(one, mean=mean) for one, mean in zip(maps, means, strict=True)]
    if scale:
        powers = np.asarray(X.sum_of(_feature_powers, share(X, maps))) / len(X)
        maps = [
            # A kernel that is zero, or becomes zero by centring, is left at zero.
            replace(one, scale=float(np.sqrt(power))) if power > NEGLIGIBLE * (power + one.mean @ one.mean) else one
            for one, power in zip(maps, powers, strict=True)
        ]
    return maps


def _feature_sums(X: Any, maps: Maps) -> Array:
    pieces = range(0, X.shape[0], PIECE)
    ones = np.ones(X.shape[0])
    return np.concatenate([sum(one.projection(X[s : s + PIECE], ones[s : s + PIECE]) for s in pieces) for one in maps])


def _feature_powers(X: Any, maps: Maps) -> Array:
    pieces = range(0, X.shape[0], PIECE)
    return np.array([sum(float((one(X[start : start + PIECE]) ** 2).sum()) for start in pieces) for one in maps])
