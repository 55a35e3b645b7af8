"""The function for users: check the observations, solve, and return factors with a certificate."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ...checks import check_count, check_positive
from ...memory import require
from ...optim import Certificate, HistoryRow, Status
from .entry_checks import check_indices, check_observations
from .factors import refit, solve_by_factors
from .observed import sample_product
from .problem import CompletionProblem

Array = NDArray[np.float64]

__all__ = ["Completion", "complete_matrix"]

#: ``to_dense`` refuses to make a matrix that is larger than this.
DENSE_BYTES = 2**31
#: The relative error of a debiased matrix on exact observations may be this large, or as large as the error before.
GOOD_FIT = 1e-5
#: The gap ``tol`` is reached, with proof or by an estimate.
CLOSED = (Status.CONVERGED, Status.ESTIMATED)


@dataclass(frozen=True, eq=False)
class Completion:
    r"""A completed matrix :math:`M = L R^\top` with bounds around the optimum; :func:`complete_matrix` returns it.

    Parameters
    ----------
    left, right : arrays of shapes (m, rank) and (n, rank)
        The factors. For a positive semi-definite matrix both are the same array; for another symmetric matrix the
        columns of ``right`` are those of ``left`` times 1 or -1.
    certificate : Certificate
        Bounds around the optimum of the convex problem. The upper bound belongs to the matrix that is returned: it is
        its objective, or, for exact observations, its nuclear norm plus the cost of repairing its last small errors on
        the observed entries.
    status : Status
        Why the solver stopped. "estimated" instead of "converged": the bounds rest on eigenvalues that Lanczos
        iteration has estimated, because the matrix is too large for a proof (more than 500 rows and columns), or
        there is no upper bound, because a part of the diagonal of a definite matrix is observed. "refitted": the
        solution of the convex problem had the gap ``tol``, and the debiased matrix, which is returned, has not.
    n_iter : int
        Iterations done.
    history : tuple of HistoryRow
        The bounds after every iteration; row 0 is the zero matrix.
    residual : float
        The largest error on an observed entry, relative to the largest observed value.

    Attributes
    ----------
    rank : int
    shape : tuple of two ints
    converged : bool

    Examples
    --------
    >>> import kernelwise
    >>> completion = kernelwise.complete_matrix([0, 0, 1], [0, 1, 1], [1.0, 2.0, 4.0], (2, 2), debias=True)
    >>> completion.rank, completion.entries([1], [0]).round(2)
    (1, array([2.]))
    """

    left: Array
    right: Array
    certificate: Certificate
    status: Status
    n_iter: int
    history: tuple[HistoryRow, ...]
    residual: float

    @property
    def rank(self) -> int:
        """Number of columns of the factors."""
        return self.left.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix."""
        return len(self.left), len(self.right)

    @property
    def converged(self) -> bool:
        """Whether the matrix that is returned has a finite gap of at most ``tol``."""
        return self.status in CLOSED and math.isfinite(self.certificate.gap)

    @property
    def nuclear_norm(self) -> float:
        """Nuclear norm of M: half the sum of the squared norms of the factors, since the factors are balanced."""
        return 0.5 * float(np.sum(self.left**2) + np.sum(self.right**2))

    def entries(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        """Return ``M[rows, cols]``; the time per entry is proportional to the rank."""
        rows, cols = check_indices("rows", rows, self.shape[0]), check_indices("cols", cols, self.shape[1])
        if len(rows) != len(cols):
            raise ValueError(f"rows and cols must be of equal length, got {len(rows)} and {len(cols)}")
        return sample_product(self.left, self.right, rows, cols)

    def to_dense(self) -> Array:
        """Return M as one array; raise a MemoryError if M takes more than 2 GB."""
        n_bytes = 8 * self.shape[0] * self.shape[1]
        if n_bytes > DENSE_BYTES:
            raise MemoryError(
                f"a dense matrix of shape {self.shape} takes {n_bytes / 1e9:.1f} GB; use entries(rows, cols), or the"
                " factors: M = left @ right.T"
            )
        require(n_bytes, f"a dense matrix of shape {self.shape}", "use entries(rows, cols), or the factors")
        return self.left @ self.right.T


def complete_matrix(
    rows: ArrayLike,
    cols: ArrayLike,
    values: ArrayLike,
    shape: tuple[int, int],
    *,
    symmetric: bool = False,
    definite: bool = True,
    penalty: float | None = None,
    weights: ArrayLike | None = None,
    max_rank: int | None = None,
    debias: bool = False,
    tol: float = 1e-4,
    max_iter: int = 200,
    random_state: int | np.random.RandomState | None = None,
) -> Completion:
    r"""Complete a matrix from some of its entries: find the matrix with the smallest nuclear norm.

    .. math::
        \min_M \|M\|_* \;\; \text{s.t.} \; M_{ij} = v_{ij}
        \qquad \text{or, with a penalty,} \qquad
        \min_M \; \tfrac12 \sum w_{ij} (M_{ij} - v_{ij})^2 + c \, \|M\|_*

    over the observed entries. No dense matrix and no full singular value decomposition is ever made: an iteration takes
    time and memory linear in the number of observed entries, times the rank. The rank need not be known. Rows and
    columns without any observation are zero in the solution.

    Parameters
    ----------
    rows, cols : arrays of ints
        The indices of the observed entries.
    values : array
        The values of the observed entries.
    shape : tuple of two ints
        Shape of the matrix.
    symmetric : bool, default=False
        Ask for a symmetric matrix. An entry is given once and stands for both triangles, also in the sum over errors.
        The diagonal counts as observed only where it is given.
    definite : bool, default=True
        Ask a symmetric matrix to be positive semi-definite, which makes the norm the trace. False: the minimum over all
        matrices with the entries of both triangles, which a symmetric matrix attains.
    penalty : float, default=None
        c; None for exact observations.
    weights : array, default=None
        w, one weight per observation; all 1 if None. An observation of weight zero is left out. Other weights matter
        with a penalty only. Repeated observations are merged: their weights add up, and the value is the weighted mean.
        Repeated exact observations must agree.
    max_rank : int, default=None
        Limit on the rank of the factors. If the limit is too small, the gap does not close.
    debias : bool, default=False
        Fit exact observations once more without the norm, at a rank where the spectrum falls sharply. This recovers
        matrices of low rank from slightly fewer entries than the nuclear norm needs. The new fit is kept only if it is
        as good. Certificate and status belong to the new fit. Where the convex problem recovers the matrix, its gap
        is small as well; elsewhere it leaves the optimum on purpose, and the status is "refitted". The last row of
        ``history`` has the bounds of the solution before.
    tol : float, default=1e-4
        Relative duality gap to reach and, for exact observations, relative residual.
    max_iter : int, default=200
        Limit on iterations.
    random_state : int, RandomState or None, default=None
        Draws the start vectors of the Lanczos iteration.

    Returns
    -------
    Completion

    References
    ----------
    Candès and Recht, Exact matrix completion via convex optimization, 2009. Burer and Monteiro, A nonlinear
    programming algorithm for solving semidefinite programs via low-rank factorization, 2003.

    Examples
    --------
    Which samples share a class, from a few pairs (0 and 2 are never compared) and the diagonal:

    >>> from kernelwise import complete_matrix
    >>> rows, cols, same = [0, 1, 0, 0, 1, 2, 3], [1, 2, 3, 0, 1, 2, 3], [1, 1, 0, 1, 1, 1, 1]
    >>> completion = complete_matrix(rows, cols, same, (4, 4), symmetric=True, random_state=0)
    >>> completion.rank, completion.converged
    (2, True)
    >>> completion.entries([0, 1], [2, 3]).round(2) + 0.0
    array([1., 0.])
    """
    observed = check_observations(rows, cols, values, shape, symmetric, weights, penalty is None, definite)
    limit = check_count(
        "max_rank",
        min(observed.shape) if max_rank is None else max_rank,
        most=min(observed.shape),
        limit=", the smaller side of the matrix",
    )
    if debias and penalty is not None:
        raise ValueError("debias=True is for exact observations: leave penalty=None, or debias=False")
    problem = CompletionProblem(observed, None if penalty is None else check_positive("penalty", penalty), definite)
    rng = check_random_state(random_state)
    tol, max_iter = check_positive("tol", tol), check_count("max_iter", max_iter)
    result = solve_by_factors(problem, tol=tol, max_iter=max_iter, max_rank=limit, rng=rng)
    if result.certificate.gap < -tol * result.certificate.primal:  # the bounds can cross only if no such matrix exists
        raise ValueError(
            "no positive semi-definite matrix has these entries: the trace would be"
            f" {result.certificate.primal:g} and at least {result.certificate.dual:g}; pass a penalty for noisy"
            " observations, or symmetric=False"
        )
    factors, certificate, status = result.point, result.certificate, result.status
    residual = problem.misfit(observed.sample(factors.left, factors.right))
    if debias and factors.rank > 0:
        factors = refit(problem, factors, min(tol, max(residual, GOOD_FIT)))
        entries = observed.sample(factors.left, factors.right)
        residual = problem.misfit(entries)
        certificate = Certificate(problem.primal_bound(factors, entries, rng, prove=True)[0], certificate.dual)
        if status in CLOSED and certificate.relative_gap > tol:
            status = Status.REFITTED
    return Completion(factors.left, factors.right, certificate, status, result.n_iter, result.history, residual)
