"""The function for users: check the observations, solve, and return factors with a certificate."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ...checks import Array, Index, check_count, check_positive, check_vector, require
from ...optim import Certificate, HistoryRow, Status
from ...samples import check_magnitude, sample_product
from .factors import refit, solve_by_factors
from .problem import CompletionProblem, ObservedEntries

#: Exact observations of one entry may differ by this much, relative to the largest value, because of rounding.
ROUNDING = 1e-12


def check_observations(
    rows: ArrayLike,
    cols: ArrayLike,
    values: ArrayLike,
    shape: tuple[int, int],
    symmetric: bool,
    weights: ArrayLike | None,
    exact: bool,
    definite: bool = True,
) -> ObservedEntries:
    """Check the observations of the user, and merge repeated observations."""
    size = _shape(shape, symmetric)
    row_index, col_index = check_indices("rows", rows, size[0]), check_indices("cols", cols, size[1])
    numbers = _numbers("values", values)
    weight = np.ones(len(numbers)) if weights is None else _numbers("weights", weights)
    lengths = {"rows": len(row_index), "cols": len(col_index), "values": len(numbers), "weights": len(weight)}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"one row, column, value and weight per observation is needed, got lengths {lengths}")
    if np.any(weight < 0):
        raise ValueError(f"weights must not be negative, got {weight[weight < 0][0]}; 0 leaves an observation out")
    if not np.any(weight > 0):
        raise ValueError("nothing is observed: give at least one entry with a positive weight")
    check_magnitude(numbers[weight > 0], "values")
    check_magnitude(weight, "weights", least=0.0)
    check_magnitude(weight * numbers, "weights * values", least=0.0)
    observed = ObservedEntries.merge(row_index, col_index, numbers, weight, size, symmetric)
    if exact:
        _check_agreement(observed, row_index, col_index, numbers, weight)
        if definite:
            _check_minors(observed)
    return observed


def _check_agreement(observed: ObservedEntries, rows: Index, cols: Index, values: Array, weight: Array) -> None:
    """Check that repeated exact observations of an entry are equal to their mean."""
    kept = weight > 0
    rows, cols, values = rows[kept], cols[kept], values[kept]
    if len(values) == observed.size:
        return
    low, high = (np.minimum(rows, cols), np.maximum(rows, cols)) if observed.symmetric else (rows, cols)
    keys = observed.rows * observed.shape[1] + observed.cols
    mean = observed.values[np.searchsorted(keys, low * observed.shape[1] + high)]
    wrong = np.abs(values - mean) > ROUNDING * np.max(np.abs(values))
    if np.any(wrong):
        first = int(np.argmax(wrong))
        raise ValueError(
            f"entry ({rows[first]}, {cols[first]}) is observed with different values, {values[first]:g} among them:"
            " exact observations must agree; pass a penalty for noisy ones"
        )


def _check_minors(observed: ObservedEntries) -> None:
    """Check that no minor of one or two rows is negative, as in every positive semi-definite matrix."""
    if not observed.has_diagonal:
        return
    diagonal = np.full(observed.shape[0], np.inf)
    on_diagonal = observed.rows == observed.cols
    diagonal[observed.rows[on_diagonal]] = observed.values[on_diagonal]
    i, j = observed.rows, observed.cols
    size = np.max(np.abs(observed.values))
    if np.any(diagonal < 0):
        first = int(np.argmin(diagonal))
        raise ValueError(
            f"the diagonal entry ({first}, {first}) is {diagonal[first]:g}, and that of a positive semi-definite matrix"
            " is never negative; pass a penalty for noisy observations, or symmetric=False"
        )
    both = np.isfinite(diagonal[i]) & np.isfinite(diagonal[j])
    wrong = both & (observed.values**2 > np.where(both, diagonal[i] * diagonal[j], 0.0) + ROUNDING * size**2)
    if np.any(wrong):
        first = int(np.argmax(wrong))
        raise ValueError(
            f"no positive semi-definite matrix has the entry ({i[first]}, {j[first]}) = {observed.values[first]:g} with"
            f" the diagonal entries {diagonal[i[first]]:g} and {diagonal[j[first]]:g}; pass a penalty for noisy"
            " observations, or symmetric=False"
        )


def _shape(shape: tuple[int, int], symmetric: bool) -> tuple[int, int]:
    sizes = tuple(shape) if isinstance(shape, tuple | list | np.ndarray) else ()
    if len(sizes) != 2:
        raise ValueError(f"shape must be two positive ints, got {shape!r}")
    m, n = (check_count("shape", size) for size in sizes)
    if symmetric and m != n:
        raise ValueError(f"a symmetric matrix is square, got shape {(m, n)}; use symmetric=False")
    return m, n


def check_indices(name: str, index: ArrayLike, size: int) -> Index:
    """Check that indices of rows or columns lie in the matrix."""
    array = check_vector(name, index, "iu", "integer indices")
    if array.size and (array.min() < 0 or array.max() >= size):
        wrong = array[(array < 0) | (array >= size)][0]
        raise ValueError(f"{name} must lie between 0 and {size - 1}, got {wrong}; indices count from 0")
    return array.astype(np.intp)


def _numbers(name: str, numbers: ArrayLike) -> Array:
    array = check_vector(name, numbers, "biuf", "numbers").astype(np.float64)
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}; leave unknown entries out")
    return array


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
