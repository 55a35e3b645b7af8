"""Low-rank factors ``K ~ F F^T`` from a few landmark samples.

With landmarks P, ``K_PP = L L^T`` and ``phi(x) = L^-1 k(P, x)``, the matrix with rows ``phi(x_i)`` is the Nystroem
factor of K. Choosing each next landmark where the remaining diagonal is largest is the pivoted Cholesky factorisation,
which stops at a tolerance instead of a rank. A Gaussian kernel of one variable needs 5 to 40 landmarks whatever the
number of samples.
"""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from ..checks import Array, Index, require
from ..ties import first_best
from .specs import Kernel

#: Up to this many samples a kernel of several columns is factored from its whole Gram matrix, by LAPACK.
WHOLE_GRAM = 4000
#: ... unless its rank is limited to so many landmarks: then they are added one at a time. Which they are matters then,
#: and among samples of equal remaining diagonals, of which data of whole numbers have many, the first one is taken.
SHORT = 600
#: With more samples, landmarks are first chosen among this many (or five times the rank asked for, at most 5 SAMPLE).
SAMPLE = 2000
#: Further landmarks are chosen among the samples with the largest remaining diagonal, this many at a time.
WORST = 256
#: Numbers in a kernel matrix that are computed at once while a factor is extended to all samples.
CHUNK = 2**20
#: A remaining diagonal below this fraction of the largest is rounding, not a part of the kernel.
ROUNDING = 1e-13
#: A factor without a cap on its rank may take this much memory; a kernel that needs more has no short factor.
MAX_BYTES = 4 * 2**30
SHORTER = "use rank=500 or so to cap it, a wider kernel, or take a sample of the rows"


@dataclass(frozen=True)
class LandmarkMap:
    """The feature map ``phi(x) = (L^-1 k(P, x) - mean) / scale`` of one kernel.

    Parameters
    ----------
    kernel : Kernel
    landmarks : the samples P, as the kernel's ``take`` returned them
    cholesky : array of shape (rank, rank)
        The lower triangular ``L`` with ``k(P, P) = L L^T``.
    mean : array of shape (rank,)
        Zero unless the kernel is centred.
    scale : float

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels import Linear, LandmarkMap
    >>> phi = LandmarkMap(Linear(), np.array([[2.0]]), np.array([[2.0]]), np.zeros(1))
    >>> phi(np.array([[1.0], [3.0]])).tolist()
    [[1.0], [3.0]]
    """

    kernel: Kernel
    landmarks: Any
    cholesky: Array
    mean: Array
    scale: float = 1.0

    @property
    def rank(self) -> int:
        """The number of landmarks."""
        return len(self.cholesky)

    def __call__(self, X: Any) -> Array:
        """Return ``phi`` of new samples, one row each."""
        if self.rank == 0:
            return np.zeros((X.shape[0], 0))
        cross = self.kernel.evaluate(self.kernel.select(X), self.landmarks)
        return (solve_triangular(self.cholesky, cross.T, lower=True).T - self.mean) / self.scale

    def expansion(self, weight: Array) -> tuple[Array, float]:
        """Return ``(c, b)`` with ``phi(x) . weight = k(x, P) . c + b``: the function as a sum over landmarks."""
        if self.rank == 0:
            return np.zeros(0), 0.0
        coef = solve_triangular(self.cholesky, weight, lower=True, trans="T") / self.scale
        return coef, float(-self.mean @ weight / self.scale)

    def values(self, X: Any, weight: Array) -> Array:
        """Return ``phi(x) . weight`` for new samples by the expansion: a single triangular solve for all of them."""
        if self.rank == 0:
            return np.zeros(X.shape[0])
        coef, constant = self.expansion(weight)
        return self.kernel.evaluate(self.kernel.select(X), self.landmarks) @ coef + constant

    def projection(self, X: Any, v: Array) -> Array:
        """Return ``sum_i v_i phi(x_i)``, the adjoint of :meth:`values`, by a single triangular solve too."""
        if self.rank == 0:
            return np.zeros(0)
        sums = v @ self.kernel.evaluate(self.kernel.select(X), self.landmarks)
        return (solve_triangular(self.cholesky, sums, lower=True) - v.sum() * self.mean) / self.scale


@dataclass(frozen=True)
class Factor:
    """A factor of one Gram matrix: ``rows[k, i] = phi_k(x_i)``, the positions of the landmarks, and the residual.

    ``residual`` is the largest remaining diagonal entry relative to ``size``, the largest entry of the kernel (or of
    the centred kernel). ``cholesky`` is the lower triangular ``L`` with ``K_PP = L L^T``.
    """

    rows: Array
    pivots: Index
    cholesky: Array
    residual: float
    size: float

    def feature_map(self, kernel: Kernel, X: Any) -> LandmarkMap:
        """Return the map that takes new samples to these features."""
        landmarks = kernel.take(kernel.select(X), self.pivots)
        return LandmarkMap(kernel, landmarks, self.cholesky, np.zeros(len(self.pivots)))


def factor_kernel(
    kernel: Kernel,
    X: Any,
    *,
    tol: float,
    max_rank: int | None = None,
    center: bool = False,
    random_state: np.random.RandomState,
) -> Factor:
    """Factor one Gram matrix until its diagonal is matched to ``tol`` times its largest entry, or up to ``max_rank``.

    With ``center`` the largest entry is that of the centred kernel: a wide kernel is nearly constant, and a tolerance
    relative to the constant would be larger than the whole centred kernel.
    """
    S = kernel.select(X)
    partial = PartialCholesky(kernel, S, max_rank)
    threshold = max(tol, ROUNDING) * partial.largest
    one_column = getattr(S, "ndim", 0) == 2 and S.shape[1] == 1
    if one_column or (max_rank is not None and partial.cap <= SHORT):
        at_once = 1
    else:
        at_once = WORST
        partial.add_landmarks(_first_candidates(partial.n_samples, max_rank, random_state), threshold)
        partial.refuse_if_hopeless()
    partial.reduce_below(threshold, at_once=at_once)
    while center and threshold > max(tol * partial.largest_centred(), ROUNDING * partial.largest):
        threshold = max(threshold / 10, ROUNDING * partial.largest)
        partial.reduce_below(threshold, at_once=at_once)
    cholesky = np.tril(partial.rows[:, partial.pivots].T)
    residual, size = partial.residual(center=center)
    return Factor(partial.rows, partial.pivots, cholesky, residual, size)


def _first_candidates(n: int, max_rank: int | None, random_state: np.random.RandomState) -> Index:
    if n <= WHOLE_GRAM:
        return np.arange(n)
    size = SAMPLE if max_rank is None else max(SAMPLE, 5 * min(max_rank, SAMPLE))
    return np.sort(random_state.choice(n, size=min(n, size), replace=False))


class PartialCholesky:
    """A factor that grows: ``F F^T`` is exact on the landmarks, and ``remaining`` is the diagonal of ``K - F F^T``."""

    def __init__(self, kernel: Kernel, S: Any, max_rank: int | None):
        self.kernel, self.S = kernel, S
        self.remaining = np.array(kernel.diagonal(S), dtype=np.float64)
        self.n_samples = len(self.remaining)
        self.largest = float(self.remaining.max(initial=0.0))
        self.cap = self.n_samples if max_rank is None else min(max_rank, self.n_samples)
        self.uncapped = max_rank is None
        self.pivots = np.zeros(0, dtype=np.intp)
        self._buffer = np.zeros((0, self.n_samples))

    @property
    def rank(self) -> int:
        return len(self.pivots)

    @property
    def rows(self) -> Array:
        return self._buffer[: self.rank]

    def reduce_below(self, threshold: float, *, at_once: int) -> None:
        """Add the ``at_once`` samples of the largest remaining diagonals, until no diagonal is above the threshold."""
        while self.rank < self.cap and self.remaining.max(initial=0.0) > threshold:
            self.add_landmarks(_largest(self.remaining, at_once, threshold), threshold)

    def add_landmarks(self, candidates: Index, threshold: float) -> None:
        """Make landmarks of the candidates whose remaining diagonal, given all landmarks, is above a threshold."""
        residual = self.kernel.evaluate(self.S[candidates], self.kernel.take(self.S, candidates))
        if self.rank:
            known = self.rows[:, candidates]
            residual = residual - known.T @ known
        # Computed again, so that a candidate that is refused below is not chosen again.
        self.remaining[candidates] = residual.diagonal()
        rows, order = _pivoted_cholesky(residual, threshold, self.cap - self.rank)
        landmarks = candidates[order]
        if landmarks.size == 0:
            return
        if len(candidates) == self.n_samples and self.rank == 0:
            self._buffer = rows
        else:
            self._extend(landmarks, np.tril(rows[:, order].T))
        start, self.pivots = self.rank, np.concatenate([self.pivots, landmarks])
        added = self.rows[start:]
        self.remaining -= np.einsum("ki,ki->i", added, added)
        # A landmark is matched exactly; rounding must not choose it again.
        self.remaining[self.pivots] = 0.0

    def _extend(self, landmarks: Index, L: Array) -> None:
        """Write ``L^-1 (k(P, x_i) - F_P F^T)`` for new landmarks P and all samples behind the rows so far."""
        start, stop = self.rank, self.rank + len(landmarks)
        self._reserve(stop)
        rows, T = self._buffer, self.kernel.take(self.S, landmarks)
        known = rows[:start, landmarks].T
        step = max(CHUNK // len(landmarks), 1)
        for first in range(0, self.n_samples, step):
            part = slice(first, first + step)
            cross = self.kernel.evaluate(self.S[part], T).T
            rows[start:stop, part] = _eliminate(cross, known, rows[:start, part], L)

    def _reserve(self, rank: int) -> None:
        held = len(self._buffer)
        if rank <= held:
            return
        affordable = MAX_BYTES // (8 * self.n_samples) if self.uncapped else self.cap
        if rank > affordable:
            self._refuse()
        rows = min(max(rank, 2 * held, 16), self.cap, affordable)
        require(8 * rows * self.n_samples, f"a factor of {rows} columns of kernel {self.kernel.name}", SHORTER)
        larger = np.empty((rows, self.n_samples))
        larger[: self.rank] = self.rows
        self._buffer = larger

    def refuse_if_hopeless(self) -> None:
        """Raise before the long work where every candidate so far is a landmark and not all samples have room."""
        n = self.n_samples
        if self.uncapped and n > WHOLE_GRAM and self.rank >= min(SAMPLE, n) and 8 * n * n > MAX_BYTES:
            self._refuse()

    def _refuse(self) -> NoReturn:
        n = self.n_samples
        raise ValueError(
            f"kernel {self.kernel.name} has no short factor: more than {self.rank} of {n} samples would be landmarks, "
            f"and a factor may take {MAX_BYTES / 2**30:.0f} GiB. Use rank=500 or so to cap it, a wider kernel, or "
            'kernels of single columns (scope="each")'
        )

    def largest_centred(self) -> float:
        """The largest diagonal entry of ``H F F^T H``, with ``H`` the centring matrix."""
        rows, mean = self.rows, self.rows.mean(axis=1)
        # The expanded ||phi_i - mean||^2 would cancel for wide kernels, for which this method is needed.
        squares = np.zeros(self.n_samples)
        for row, center in zip(rows, mean, strict=True):
            squares += (row - center) ** 2
        return float(squares.max(initial=0.0))

    def residual(self, *, center: bool) -> tuple[float, float]:
        """Return the largest remaining diagonal entry relative to that of the (centred) kernel, and the latter."""
        left = max(float(self.remaining.max(initial=0.0)), 0.0)
        size = self.largest_centred() + left if center else self.largest
        return (left / size if size > 0 else 0.0), size


def _eliminate(cross: Array, known: Array, rows: Array, L: Array) -> Array:
    """Return ``L^-1 (cross - known rows)``."""
    if len(L) == 1:
        # A few passes over memory can be quicker than starting the threads of the linear algebra library.
        return (cross - np.einsum("k,ki->i", known[0], rows)) / L[0, 0]
    return solve_triangular(L, cross - known @ rows, lower=True)


def _largest(values: Array, count: int, threshold: float) -> Index:
    if count == 1:
        return np.array([first_best(values)])
    above = np.flatnonzero(values > threshold)
    if len(above) <= count:
        return above
    return above[np.argpartition(values[above], -count)[-count:]]


def _pivoted_cholesky(gram: Array, threshold: float, cap: int) -> tuple[Array, Index]:
    """Return ``(rows, order)`` with ``rows.T @ rows ~ gram``, exact on ``order`` and its diagonal to a threshold."""
    packed, order, rank, _ = dpstrf(gram, lower=1, tol=threshold)
    order = order.astype(np.intp) - 1
    # LAPACK compares every pivot with the threshold but the first.
    rank = min(int(rank), cap) if gram.diagonal().max(initial=0.0) > threshold else 0
    rows = np.empty((rank, len(gram)))
    rows[:, order] = np.tril(packed[:, :rank]).T
    return rows, order[:rank]
