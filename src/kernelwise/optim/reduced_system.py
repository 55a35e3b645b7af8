"""The program of the interior point, and its reduced system ``D + B^T C B``: the part that is linear algebra."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..checks import Array, Index
from ..samples import compute, in_memory, persist, reduce_rows
from .cones import Cones, Scaling

#: A function of a solution and its products: returns a result, and sums over samples that the caller needs.
Ahead: TypeAlias = Callable[[Any, Array], tuple[Any, Sequence[Any]]]

#: Added to the diagonal, relative to its largest entry, where rounding has made the reduced system indefinite.
JITTERS = (0.0, 1e-15, 1e-13)
#: The relative residual at which refinement ends.
RESIDUAL = 1e-10
#: The most steps of iterative refinement.
REFINEMENTS = 4
#: Up to this many samples an iteration solves a system of the number of samples, beyond it of the sum of the ranks.
MANY_SAMPLES = 1500
#: Samples that are worked on together where there are many.
SAMPLES_AT_ONCE = 4096
#: The most entries that the Gram matrices of all cones may have together.
GRAM_ENTRIES = 2**26


@dataclass(frozen=True)
class ConeProgram:
    """The data of the program: stacked rows ``B`` (sum of ranks, n) and the bounds."""

    B: Array
    ranks: Index
    curvature: float
    upper: Array
    budget: float | None = None
    balance: Array | None = None

    @cached_property
    def cones(self) -> Cones:
        """The second-order cones, one per kernel."""
        return Cones(self.ranks)

    @cached_property
    def grams(self) -> Array:
        """All ``B_j^T B_j``: with few samples and high ranks, these make an iteration independent of the ranks."""
        return np.stack([tail.T @ tail for tail in np.split(self.B, np.cumsum(self.ranks)[:-1])])

    @property
    def few_samples(self) -> bool:
        """Whether to solve a system of the number of samples rather than of the sum of the ranks."""
        rank, n = self.B.shape
        return in_memory(self.B) and n <= max(rank, MANY_SAMPLES) and len(self.ranks) * n**2 <= GRAM_ENTRIES


def weighted_gram(B: Any, weight: Any) -> Any:
    """Return ``B diag(weight) B^T``, for B with one column per sample."""
    return _gram_of_rows(B.T, weight) if in_memory(B) else reduce_rows(B.T, _gram_of_rows, np.add, weight)


def _gram_of_rows(rows: Array, weight: Array) -> Array:
    n, rank = rows.shape
    gram = np.zeros((rank, rank))
    root = np.sqrt(weight)
    # Pieces stay in the cache, and there is no second copy of B. All pieces are written to the same memory: workers of
    # Dask give memory back at once, and to ask for it again takes as long as the product.
    memory = np.empty((rank, min(n, SAMPLES_AT_ONCE)))
    for start in range(0, n, SAMPLES_AT_ONCE):
        piece = slice(start, start + SAMPLES_AT_ONCE)
        half = np.multiply(rows[piece].T, root[piece], out=memory[:, : min(n - start, SAMPLES_AT_ONCE)])
        gram += half @ half.T
    return gram


def _found(ahead: Ahead, solution: Array, against: Array) -> tuple[Any, Sequence[Any]]:
    made, sums = ahead(solution, np.asarray(against.T @ solution))
    return made, compute(*sums)


class ReducedInverse:
    """Solve with ``D + B^T C B``, C block-diagonal: in n dimensions, or in the rank of B by the Woodbury identity.

    ``first`` is the first right-hand side: the sums for this side are found in the same pass as the matrix.
    """

    def __init__(self, program: ConeProgram, diagonal: Array, scaling: Scaling, *, first: Array):
        self.program, self.B, self.diagonal, self.scaling = program, program.B, diagonal, scaling
        self.first = first
        if not program.few_samples:
            self.gram, *self.first_sums = compute(weighted_gram(self.B, 1.0 / diagonal), *self._sums(first))
        for self.jitter in JITTERS:
            matrix = self._direct_matrix() if program.few_samples else self._woodbury_matrix()
            matrix.flat[:: len(matrix) + 1] += self.jitter * matrix.diagonal().max()
            try:
                self.cholesky = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
                return
            except LinAlgError:
                continue
        raise LinAlgError("the reduced system is singular to working precision")

    def _direct_matrix(self) -> Array:
        scaling, cones = self.scaling, self.scaling.cones
        weighted = (np.sqrt(2.0) * scaling.w.tails / cones.spread(scaling.beta))[:, None] * self.B
        directions = np.add.reduceat(weighted, cones.starts, axis=0)
        matrix = np.tensordot(scaling.beta**-2, self.program.grams, axes=1) + directions.T @ directions
        matrix.flat[:: len(matrix) + 1] += self.diagonal
        return matrix

    def _woodbury_matrix(self) -> Array:
        """``C^-1 + B D^-1 B^T`` with ``C^-1 = beta^2 (I - 2 w1 w1^T / (1 + 2 ||w1||^2))`` for each cone."""
        scaling, cones = self.scaling, self.scaling.cones
        matrix = np.array(self.gram)
        for j, start in enumerate(cones.starts):
            tail = slice(start, start + cones.ranks[j])
            w1 = scaling.w.tails[tail]
            inner = np.eye(len(w1)) - np.outer(w1, w1) * (2.0 / (1.0 + 2.0 * float(w1 @ w1)))
            matrix[tail, tail] += scaling.beta[j] ** 2 * inner
        return matrix

    def solve(self, right: Array, *, against: Array, ahead: Ahead) -> tuple[Any, Sequence[Any]]:
        """Solve for a vector or a few columns; return the result of ``ahead`` for the solution, and the sums.

        ``ahead(x, against^T x)`` returns a result, and the sums over samples that the caller needs next: the pass that
        checks the solution also finds these sums. The solution is refined where the factored matrix is not that of the
        system itself, or where a large ``D^-1`` costs digits.
        """
        if self.program.few_samples and self.jitter == 0:
            return _found(ahead, self._apply(right, None), against)
        known = right is self.first and not self.program.few_samples
        pulled, size = self.first_sums if known else compute(*self._sums(right))
        solution = persist(self._apply(right, pulled))
        for step in range(REFINEMENTS):
            image, products = compute(self.B @ solution, against.T @ solution)
            residual = right - self._multiply(solution, image)
            made, sums = ahead(solution, products)
            left, pulled, *found = compute((residual * residual).sum(), self._pulled(residual), *sums)
            if left <= RESIDUAL**2 * size:
                return made, found
            solution = persist(solution + self._apply(residual, pulled))
            if step == 0 and left <= RESIDUAL * size:
                break  # the second step leaves as small a part of the residual as the first left of the right-hand side
        return _found(ahead, solution, against)

    def _sums(self, right: Array) -> tuple[Any, Any]:
        """Return ``B D^-1 right`` and the squared size of ``right``."""
        return self._pulled(right), (right * right).sum()

    def _pulled(self, right: Array) -> Array | None:
        """Return ``B D^-1 right``, the first product of the Woodbury identity."""
        return None if self.program.few_samples else self.B @ (right / self._beside(right))

    def _apply(self, right: Array, pulled: Array | None) -> Array:
        """Return the factored inverse times ``right``."""
        if pulled is None:
            return cho_solve(self.cholesky, right, check_finite=False)
        inner = cho_solve(self.cholesky, pulled, check_finite=False)
        return (right - self.B.T @ inner) / self._beside(right)

    def _multiply(self, x: Array, image: Array) -> Array:
        """Return ``(D + B^T C B) x`` for a vector or for a few columns, given ``B x``."""
        scaling, cones = self.scaling, self.scaling.cones
        Bx = image if image.ndim == 2 else image[:, None]
        w1 = scaling.w.tails[:, None]
        along = np.repeat(np.add.reduceat(w1 * Bx, cones.starts, axis=0), cones.ranks, axis=0)
        CBx = (Bx + 2.0 * w1 * along) * cones.spread(scaling.beta**-2)[:, None]
        return self._beside(x) * x + self.B.T @ (CBx if image.ndim == 2 else CBx[:, 0])

    def _beside(self, x: Array) -> Array:
        """Return D in a shape that multiplies the rows of ``x``."""
        return self.diagonal if x.ndim == 1 else self.diagonal[:, None]
