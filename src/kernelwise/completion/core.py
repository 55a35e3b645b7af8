r"""The label matrix of all samples from known pairs of a few: ``Z' = U M U^T`` with a core matrix M of size s x s.

The labelled samples have the m rows :math:`\hat U` of the basis :math:`U` (n x s). Their m x m label matrix
:math:`\hat Z`, 1 for pairs of one class and 0 for other pairs, is known in the entries :math:`\Sigma`. There are two
ways to find the core:

.. math::

    \text{reconstruction (5):} \quad & M = \hat U^\dagger \hat Z (\hat U^\dagger)^\top
        = \arg\min_M \|\hat U M \hat U^\top - \hat Z\|_F^2 \quad\text{with $\hat Z$ completed first} \\
    \text{direct:} \quad & \min_{M \succeq 0}\ \tfrac12 \sum_{(i,j) \in \Sigma} w_{ij}
        (\hat u_i^\top M \hat u_j - \hat Z_{ij})^2 + c\, \mathrm{tr}(\hat U M \hat U^\top)

The direct fit is the penalised completion of :math:`\hat Z` within the span of the basis: the penalty is the nuclear
norm of the fitted block. The direct fit is not in the paper. Its cost is linear in the number of known pairs, and no
matrix of size m x m is made.

Both are solved in coordinates in which the labelled rows are orthonormal, :math:`\hat U = V \Sigma W^\top`,
:math:`M = (W \Sigma^{-1}) C (W \Sigma^{-1})^\top`: (5) is then :math:`C = V^\top \hat Z V`, and the Hessian of the
direct problem is close to a multiple of the identity where pairs are known at random, so that a gradient method needs
some twenty iterations.

========================  ====================================
here                      in the paper
========================  ====================================
``basis``                 :math:`U_s`
``core``                  :math:`\sum_k a_k a_k^\top`, M above
``KnownBlock``            :math:`\hat Z_\Sigma`
``index``                 :math:`\hat{\mathcal D}_m`
========================  ====================================

References
----------
T. Yang, R. Jin. Extracting certainty from uncertainty: transductive pairwise classification from pairwise similarities.
NIPS 2014, section 3.
M. Xu, R. Jin, Z.-H. Zhou. Speedup matrix completion with side information. NIPS 2013.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..checks import Array, Index, Mask
from ..optim import Certificate, HistoryRow, SolverResult, Status
from ..samples import sample_product
from ..spectral.eigenpairs import with_signs
from ..statements import Pairs

#: Singular values of the labelled rows below this fraction of the largest count as zero.
RANK_TOLERANCE = 1e-8
#: If at least this share of the entries is known, whole rows are computed.
MANY_KNOWN = 0.03
#: Whole rows are computed in pieces of about this many numbers, so that memory does not grow with the pairs.
CHUNK_VALUES = 2**21
#: The norm of a symmetric matrix of independent noise is twice the standard deviation of the noise times the square
#: root of the size of the matrix. A penalty somewhat above this norm removes every direction that is noise.
NOISE_MULTIPLE = 2.5
#: With few pairs per unknown of the core, such a penalty would remove the classes too. The multiple is then lower: the
#: first number times the pairs per unknown, and at least the second number. Both numbers were found by simulation.
PER_UNKNOWN, LEAST_MULTIPLE = 0.25, 0.8
#: The refit in the directions found keeps this share of the penalty, because the dual bound needs a positive penalty.
REFIT = 1e-3
#: Rounds of the fit with an unknown noise level; without noise the level falls geometrically to its floor.
MAX_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class KnownBlock:
    """The known entries of the label matrix of the m labelled samples; :func:`known_block` makes this object.

    ``index`` (m,) are the samples that occur in a pair, ascending. Entry t is at the positions ``rows[t] < cols[t]`` of
    ``index``, each entry once and row after row; the diagonal is known to be one. ``values`` are 1 for the same class,
    0 for different classes, a number in between where pairs contradict each other, and ``weights`` have a mean of one.
    """

    index: Index
    rows: Index
    cols: Index
    values: Array
    weights: Array

    @property
    def share(self) -> float:
        """The fraction of the entries off the diagonal that is known."""
        m = len(self.index)
        return 2.0 * len(self.rows) / (m * (m - 1))

    @cached_property
    def row_starts(self) -> Index:
        """Where the entries of each row begin, and the number of entries at the end."""
        return np.searchsorted(self.rows, np.arange(len(self.index) + 1))

    def matrix(self, entries: Array) -> sp.csr_array:
        """The m x m matrix with these numbers at the known entries, which are above the diagonal."""
        m = len(self.index)
        return sp.csr_array((entries, self.cols, self.row_starts), shape=(m, m))

    def corrected(self, noise_rate: float) -> "KnownBlock":
        r"""Values :math:`(z - e) / (1 - 2 e)`, which are right in the mean if a fraction e of the labels is flipped."""
        values = (self.values - noise_rate) / (1.0 - 2.0 * noise_rate)
        return replace(self, values=values)

    def among(self, kept: Mask) -> "KnownBlock":
        """The block of some entries; samples that occur in none of these entries are left out."""
        present = np.zeros(len(self.index), dtype=bool)
        present[self.rows[kept]] = present[self.cols[kept]] = True
        position = np.cumsum(present) - 1
        rows, cols = position[self.rows[kept]], position[self.cols[kept]]
        return KnownBlock(self.index[present], rows, cols, self.values[kept], self.weights[kept])


def known_block(pairs: Pairs) -> KnownBlock:
    """The known entries of the label matrix of the samples that occur in pairs; repeated evidence is averaged."""
    index, position = np.unique(np.concatenate([pairs.rows, pairs.cols]), return_inverse=True)
    first, second = position[: len(pairs)], position[len(pairs) :]
    keys, entry = np.unique(
        np.minimum(first, second) * np.int64(len(index)) + np.maximum(first, second), return_inverse=True
    )
    weights = np.bincount(entry, pairs.weights)
    values = np.bincount(entry, pairs.weights * (pairs.labels > 0)) / weights
    rows, cols = np.divmod(keys, len(index))
    return KnownBlock(index, rows, cols, values, weights / weights.mean())


def flip_variance(noise_rate: float) -> float:
    r"""The variance that flips add to a corrected value: :math:`e (1 - e) / (1 - 2 e)^2`."""
    return noise_rate * (1.0 - noise_rate) / (1.0 - 2.0 * noise_rate) ** 2


class LabelledBasis(NamedTuple):
    r"""The labelled rows of a basis, :math:`\hat U = V \Sigma W^\top`: ``left`` is V (m x k), ``lift`` is W / Sigma."""

    left: Array
    lift: Array

    @property
    def rank(self) -> int:
        """The number k of directions that the labelled rows determine, at most s."""
        return self.left.shape[1]


def labelled_basis(rows: Array) -> LabelledBasis:
    """Orthonormal coordinates of the labelled rows, without directions that they do not determine (as in a pinv)."""
    left, values, right = scipy.linalg.svd(rows, full_matrices=False)
    kept = values > RANK_TOLERANCE * values.max(initial=0.0)
    return LabelledBasis(left[:, kept], right[kept].T / values[kept])


def reconstruct_core(labelled: LabelledBasis, left: Array, right: Array) -> Array:
    r"""Equation (5) in orthonormal coordinates: :math:`C = V^\top L R^\top V` of a completed block :math:`L R^\top`."""
    core = (labelled.left.T @ left) @ (labelled.left.T @ right).T
    return 0.5 * (core + core.T)  # symmetric but for rounding


def symmetric_root(core: Array) -> Array:
    """L with ``L L^T`` equal to the positive part of a symmetric matrix, which is the matrix if it is semi-definite."""
    values, vectors = scipy.linalg.eigh(core)
    kept = values > 1e-12 * max(float(values[-1]), 0.0)
    root = vectors[:, kept] * np.sqrt(values[kept])
    return with_signs(root[:, ::-1])


def labelled_for_recovery(coherence: float, n_components: int) -> int:
    r"""Theorem 2: the least m from which on the labelled rows determine the core, :math:`m \ge 8 \mu_s s \log(m^2 s)`.

    If m is larger than n, the theorem promises nothing.
    """

    def holds(m: int) -> bool:
        return m >= 8 * coherence * n_components * math.log(m**2 * n_components)

    high = 2
    while not holds(high) or not holds(2 * high):
        high *= 2
    return bisect_left(range(high), True, lo=high // 2 + 1, key=holds)


@dataclass(frozen=True, eq=False)
class CoreProblem:
    r"""The direct fit in orthonormal coordinates.

    .. math:: \min_{C \succeq 0} P(C) = \sum_t w_t (v_{i_t}^\top C v_{j_t} - z_t)^2 + c\, \mathrm{tr}\, C

    (every known pair stands for two entries, hence there is no factor one half). ``left`` is V, with orthonormal
    columns, and ``penalty`` is c, which is positive. With ``A*(y)`` the symmetric part of :math:`\sum_t y_t v_{i_t}
    v_{j_t}^\top`, the dual is

    .. math:: \max_y\ \sum_t y_t z_t - \tfrac14 \sum_t y_t^2 / w_t \quad\text{s.t.}\quad A^*(y) \preceq c\, I
    """

    left: Array
    block: KnownBlock
    penalty: float

    def entries(self, core: Array) -> Array:
        """The values of ``V C V^T`` on the known entries."""
        rows, cols, moved = self.block.rows, self.block.cols, self.left @ core
        if self.block.share >= MANY_KNOWN:  # then products of whole rows cost less than gathering single entries
            found, size = np.empty(len(rows)), max(1, CHUNK_VALUES // len(self.left))
            for first in range(0, len(self.left), size):
                last = min(first + size, len(self.left))
                part = slice(*self.block.row_starts[[first, last]])
                later = self.left[first:]  # no known entry is below the diagonal
                flat = (rows[part] - first) * len(later) + (cols[part] - first)
                np.take(moved[first:last] @ later.T, flat, out=found[part])
            return found
        return sample_product(moved, self.left, rows, cols)

    def with_penalty(self, penalty: float) -> "CoreProblem":
        """The same problem with another penalty; the curvature, which does not depend on it, is not computed again."""
        other = replace(self, penalty=penalty)
        if "curvature" in vars(self):
            vars(other)["curvature"] = self.curvature
        return other

    def value(self, core: Array, residual: Array) -> float:
        """P(C), given the residual ``v_i^T C v_j - z``."""
        return float(self.block.weights @ residual**2) + self.penalty * float(np.trace(core))

    def gradient(self, residual: Array) -> Array:
        """The gradient of the loss alone, ``A*(2 w (v_i^T C v_j - z))``."""
        moved: Array = self.left.T @ np.asarray(self.block.matrix(2.0 * self.block.weights * residual) @ self.left)
        return 0.5 * (moved + moved.T)

    def dual_value(self, residual: Array, gradient: Array) -> float:
        """The dual value of the best feasible multiple of the residual."""
        multipliers = -2.0 * self.block.weights * residual
        largest = float(scipy.linalg.eigvalsh(-gradient, subset_by_index=[len(gradient) - 1] * 2)[0])
        linear = float(multipliers @ self.block.values)
        quadratic = 0.5 * float(multipliers @ (multipliers / self.block.weights))
        if linear <= 0.0:
            return 0.0
        best = linear / quadratic
        scale = min(best, self.penalty / largest) if largest > 0 else best
        return scale * linear - 0.5 * scale**2 * quadratic

    @cached_property
    def curvature(self) -> float:
        """The largest eigenvalue of the Hessian of the loss, by power iteration, plus a margin of 5 %."""
        rank = self.left.shape[1]
        direction = np.eye(rank) + 0.1 * np.cos(np.add.outer(np.arange(rank), np.arange(rank)))
        length = 0.0
        for _ in range(30):
            direction = self.gradient(self.entries(direction / np.linalg.norm(direction)))
            previous, length = length, float(np.linalg.norm(direction))
            if abs(length - previous) <= 1e-3 * length:
                break
        return 1.05 * length


def fit_core(
    problem: CoreProblem, *, start: Array | None = None, tol: float = 1e-4, max_iter: int = 1000
) -> SolverResult[Array]:
    """Find C by accelerated projected gradients with restarts, until the relative duality gap is at most ``tol``.

    ``start`` is a positive semi-definite matrix, or None for the zero matrix.

    References
    ----------
    B. O'Donoghue, E. Candes. Adaptive restart for accelerated gradient schemes. Foundations of Computational
    Mathematics, 2015.
    """
    began, step, momentum = perf_counter(), 1.0 / max(problem.curvature, np.finfo(float).tiny), 1.0
    shrinkage = step * problem.penalty
    rank = problem.left.shape[1]
    core = np.zeros((rank, rank)) if start is None else start
    residual = problem.entries(core) - problem.block.values
    ahead, ahead_residual = core, residual
    best, certificate, history = core, Certificate(math.inf, -math.inf), []
    status = Status.MAX_ITER
    for iteration in range(1, max_iter + 1):
        gradient = problem.gradient(ahead_residual)
        new = _shrink(ahead - step * gradient, shrinkage)
        new_residual = problem.entries(new) - problem.block.values
        primal = problem.value(new, new_residual)
        best = new if primal <= certificate.primal else best
        certificate = certificate.merge(Certificate(primal, problem.dual_value(ahead_residual, gradient)))
        history.append(HistoryRow(iteration, perf_counter() - began, certificate.primal, certificate.dual))
        if certificate.gap <= tol * max(abs(certificate.primal), np.finfo(float).tiny):
            status = Status.CONVERGED
            break
        if np.vdot(ahead - new, new - core) > 0.0:
            momentum = 1.0
        next_momentum = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        carry = (momentum - 1.0) / next_momentum
        ahead, ahead_residual = new + carry * (new - core), new_residual + carry * (new_residual - residual)
        core, residual, momentum = new, new_residual, next_momentum
    return SolverResult(best, certificate, status, len(history), tuple(history))


def _shrink(matrix: Array, amount: float) -> Array:
    """The prox of ``amount * trace`` over the positive semi-definite matrices."""
    values, vectors = scipy.linalg.eigh(matrix)
    kept = values > amount
    return (vectors[:, kept] * (values[kept] - amount)) @ vectors[:, kept].T


def fit_core_to_noise(
    left: Array, block: KnownBlock, *, noise_rate: float = 0.0, tol: float = 1e-4, max_iter: int = 1000
) -> tuple[SolverResult[Array], CoreProblem]:
    r"""The direct fit with a penalty for the noise level that is found; returns the result and the problem.

    Noise of variance :math:`\sigma^2` on a share p of the entries becomes, in k orthonormal coordinates, a symmetric
    matrix of norm about :math:`2 \sigma \sqrt{p k}`. The part of the label matrix that the basis cannot express acts as
    noise too. So the noise level and the core are found by turns until the level settles (the scaled lasso), and the
    level is never below the level of the flips. The block must be corrected for ``noise_rate`` already.

    References
    ----------
    T. Sun, C.-H. Zhang. Scaled sparse linear regression. Biometrika, 2012.
    """
    mean = np.average(block.values, weights=block.weights)
    deviation = float(np.sqrt(np.average((block.values - mean) ** 2, weights=block.weights)))
    floor = max(math.sqrt(flip_variance(noise_rate)), 1e-3 * deviation, 1e-6)
    level, core = max(deviation, floor), None
    n_unknowns = left.shape[1] * (left.shape[1] + 1) / 2
    multiple = float(np.clip(PER_UNKNOWN * len(block.values) / n_unknowns, LEAST_MULTIPLE, NOISE_MULTIPLE))
    problem = CoreProblem(left, block, 1.0)
    for _ in range(MAX_ROUNDS):
        problem = problem.with_penalty(multiple * level * math.sqrt(block.share * left.shape[1]))
        result = fit_core(problem, start=core, tol=max(tol, 1e-3), max_iter=max_iter)
        core = result.point
        residual = problem.entries(core) - block.values
        found = max(float(np.sqrt(np.average(residual**2, weights=block.weights))), floor)
        if abs(found - level) <= 0.02 * level:
            break
        level = found
    return fit_core(problem, start=core, tol=tol, max_iter=max_iter), problem


def refit_core(problem: CoreProblem, core: Array, *, tol: float = 1e-4, max_iter: int = 1000) -> Array:
    """Undo the shrinkage: fit again, with hardly any penalty, within the directions that the penalised fit found."""
    values, vectors = scipy.linalg.eigh(core)
    kept = values > RANK_TOLERANCE * max(float(values[-1]), 0.0)
    if not kept.any():
        return core
    directions = vectors[:, kept]
    narrow = CoreProblem(problem.left @ directions, problem.block, REFIT * problem.penalty)
    found = fit_core(narrow, start=np.diag(values[kept]), tol=tol, max_iter=max_iter).point
    return directions @ found @ directions.T
