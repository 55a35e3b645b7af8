r"""Information-theoretic metric learning.

Problem (5) of Davis et al., with one slack per pair so that pairs may contradict each other: stay close to a prior
:math:`M_0` while positive pairs come nearer than u and negative pairs go farther than l,

.. math::

    \min_{M \succ 0,\ \xi > 0}\ D(M, M_0) + \gamma \sum_c w_c\, D(\xi_c, \xi^0_c) \quad\text{s.t.}\quad
    s_c v_c^T M v_c \le s_c \xi_c, \qquad D(A, B) = \mathrm{tr}(A B^{-1}) - \log\det(A B^{-1}) - d .

==============  ======================================================================================
:math:`v_c`     difference of the two samples of pair c
:math:`s_c`     +1 for a positive and -1 for a negative pair; :math:`\xi^0_c` is u or l accordingly
:math:`w_c`     weight of the pair: w copies of a pair have one slack in common, which costs w times as much
:math:`z_c`     signed multiplier, :math:`s_c z_c \ge 0`
==============  ======================================================================================

With :math:`M(z) = (M_0^{-1} + \sum_c z_c v_c v_c^T)^{-1}` and :math:`1 / \xi_c(z) = 1 / \xi^0_c - z_c / (\gamma w_c)` the
dual is to maximise :math:`\log\det(M(z)^{-1} M_0) + \gamma \sum_c w_c \log(1 - z_c \xi^0_c / (\gamma w_c))`. Maximising
over one :math:`z_c` at a time is the Bregman projection onto pair c, a rank-one update of M.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self
from warnings import warn

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import dgemm, dger
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..supervision import Pairs
from ..supervision.noise import RandomState
from ..supervision.resolve import resolve_pairs
from ._mahalanobis import FloatArray, MahalanobisTransformer

#: Pairs of samples whose distances give the default bounds; their percentiles are good to a few per mille.
N_DISTANCES = 100_000
#: Projections between two updates of the whole matrix: enough to spend the time in matrix products.
BLOCK = 64


class ITML(MahalanobisTransformer):
    r"""Metric nearest to a prior in LogDet divergence that brings positive pairs together and negative ones apart.

    .. math:: \min_{M \succ 0,\ \xi > 0}\ D(M, M_0) + \gamma \sum_c w_c\, D(\xi_c, \xi^0_c) \quad\text{s.t.}\quad
              \|v_c\|_M^2 \le \xi_c\ (+1), \quad \|v_c\|_M^2 \ge \xi_c\ (-1)

    with :math:`\xi^0_c = u` for positive and l for negative pairs. Solved by Bregman projections in blocks until the
    duality gap is small. A sweep over m pairs of d features costs about :math:`4 m d^2`, half of it for sparse data.

    Parameters
    ----------
    gamma : float, default=1.0
        Price of missing the bounds.
    bounds : pair of floats, default=None
        u and l, for *squared* distances under the prior. By default the 5th and 95th percentile between samples.
    prior : "identity", "covariance" or array of shape (n_features, n_features), default="identity"
        :math:`M_0`; "covariance" stands for the inverse of the covariance of the data, which must then be invertible.
    tol : float, default=1e-3
        Duality gap to reach, relative to ``max(1, objective)``.
    max_iter : int, default=1000
        Limit on the number of sweeps.
    random_state : int, RandomState or None
        Draws pairs from labels, and the sample pairs behind the default bounds if there are many.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        L with :math:`M = L^T L`.
    bounds_ : tuple of float
        u and l.
    objective_, dual_gap_ : float
        Value of the problem at M and a bound on its distance to the optimum, from the dual.
    n_iter_ : int
        Number of sweeps.
    converged_ : bool
        Whether the gap was reached.

    Notes
    -----
    Pairs of equal samples say nothing about M and are left out. The update of the paper's Algorithm 1 holds for
    :math:`\gamma = 1` only; here is the one that follows from the problem for any :math:`\gamma` and weight.

    References
    ----------
    J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon. Information-theoretic metric learning. ICML 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Pairs
    >>> from kernelwise.baselines import ITML
    >>> X = np.array([[0.0, 0.0], [0.1, 3.0], [2.0, 0.1], [2.1, 3.1]])
    >>> pairs = Pairs([0, 2, 0, 1], [1, 3, 2, 3], [1, 1, -1, -1], n_samples=4)
    >>> metric = ITML().fit(X, pairs=pairs).get_mahalanobis_matrix()
    >>> bool(metric[0, 0] > 1 > metric[1, 1])
    True
    """

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        bounds: tuple[float, float] | None = None,
        prior: str | ArrayLike = "identity",
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: RandomState = None,
    ) -> None:
        self.gamma = gamma
        self.bounds = bounds
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Labels from which pairs are drawn where none are given.
        pairs : Pairs, default=None
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        self._check_parameters()
        rng = check_random_state(self.random_state)
        pairs = resolve_pairs(pairs, y, X.shape[0], random_state=rng, both_kinds=False)
        assert pairs is not None  # they are required
        root = _prior_root(self.prior, X)
        if root is not None:
            X = X @ root.T
        self.bounds_ = _percentiles(X, rng) if self.bounds is None else _checked_bounds(self.bounds)
        problem = _Problem.of(X, pairs.merged(), self.bounds_, self.gamma)
        solution = _bregman_projections(problem, self.tol, self.max_iter)
        self.components_ = problem.lift(solution.factor) if root is None else problem.lift(solution.factor) @ root
        self.objective_, self.dual_gap_, self.n_iter_ = solution.objective, solution.gap, solution.n_iter
        self.converged_ = bool(solution.gap <= self.tol * max(1.0, solution.objective))
        if not self.converged_:
            warn(
                f"the duality gap is {self.dual_gap_:.2g} at objective {self.objective_:.4g} after {self.n_iter_} sweeps;"
                " raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _check_parameters(self) -> None:
        if not (isinstance(self.gamma, Real) and 0 < self.gamma < np.inf):
            raise ValueError(f"gamma must be a positive number, got {self.gamma!r}")
        if not (isinstance(self.tol, Real) and self.tol > 0):
            raise ValueError(f"tol must be a positive number, got {self.tol!r}")
        if not (isinstance(self.max_iter, int | np.integer) and self.max_iter >= 1):
            raise ValueError(f"max_iter must be a positive int, got {self.max_iter!r}")


@dataclass(frozen=True)
class _Problem:
    """The problem for the prior identity: differences (m x d), signs, targets u or l, and prices gamma w."""

    differences: Any
    signs: FloatArray
    targets: FloatArray
    prices: FloatArray
    basis: FloatArray | None  # of the span of the differences, where they were reduced to coordinates in it

    @classmethod
    def of(cls, X: Any, pairs: Pairs, bounds: tuple[float, float], gamma: float) -> Self:
        differences = X[pairs.rows] - X[pairs.cols]
        informative = _squared_norms(differences) > 0
        differences, signs = differences[informative], pairs.labels[informative].astype(np.float64)
        targets = np.where(signs > 0, *bounds)
        basis = None
        if differences.shape[0] < differences.shape[1]:
            # Orthogonally to the differences M stays the identity; what remains is a problem of m x m.
            basis, coordinates = np.linalg.qr(_dense(differences).T)
            differences = np.ascontiguousarray(coordinates.T)
        return cls(differences, signs, targets, gamma * pairs.weights[informative], basis)

    @property
    def n_pairs(self) -> int:
        return len(self.signs)

    def blocks(self) -> Iterator[slice]:
        size = min(BLOCK, max(8, self.differences.shape[1] // 4))
        return (slice(start, start + size) for start in range(0, self.n_pairs, size))

    def inverse_factor(self, dual: FloatArray) -> FloatArray:
        """The lower triangular L with ``M(z) = L^T L``, and thus ``L^-1 L^-T = I + sum_c z_c v_c v_c^T``."""
        V, n_features = self.differences, self.differences.shape[1]
        inverse = np.eye(n_features) + _dense(V.T @ (sp.diags_array(dual) @ V if sp.issparse(V) else dual[:, None] * V))
        root = scipy.linalg.cholesky(inverse, lower=True, overwrite_a=True, check_finite=False)
        return scipy.linalg.lapack.dtrtri(root, lower=1)[0]

    def distances(self, factor: FloatArray) -> FloatArray:
        """All ``v_c^T M v_c``."""
        return _squared_norms(self.differences @ factor.T)

    def slack_cost(self, slacks: FloatArray) -> FloatArray:
        ratio = slacks / self.targets
        return self.prices * (ratio - np.log(ratio) - 1.0)

    def gap(self, dual: FloatArray, distances: FloatArray) -> float:
        """Objective of M(z), with its best slacks, minus the dual value of z: a sum of non-negative terms."""
        slack_dual = self.prices * np.log1p(-dual * self.targets / self.prices)
        return float(np.sum(self.slack_cost(self.best_slacks(distances)) - slack_dual - dual * distances))

    def best_slacks(self, distances: FloatArray) -> FloatArray:
        """What the slacks must be for these distances: the target where it is met, the distance where it is not."""
        return self.signs * np.maximum(self.signs * distances, self.signs * self.targets)

    def objective(self, dual: FloatArray, distances: FloatArray, log_det: float) -> float:
        """``D(M(z), I)`` plus the price of the slacks, where ``log_det`` is that of M(z)."""
        return float(-dual @ distances - log_det + self.slack_cost(self.best_slacks(distances)).sum())

    def lift(self, factor: FloatArray) -> FloatArray:
        """L in all features from L in the coordinates of the differences."""
        if self.basis is None:
            return factor
        return np.eye(len(self.basis)) + self.basis @ (factor - np.eye(len(factor))) @ self.basis.T


@dataclass(frozen=True)
class _Solution:
    factor: FloatArray
    objective: float
    gap: float
    n_iter: int


def _bregman_projections(problem: _Problem, tol: float, max_iter: int) -> _Solution:
    """Cyclic projections (Algorithm 1) until the duality gap of an exactly recomputed M is below ``tol``."""
    dual, n_features = np.zeros(problem.n_pairs), problem.differences.shape[1]
    metric = np.asfortranarray(np.eye(n_features))
    n_sweeps, log_det, seen = 0, 0.0, np.empty(problem.n_pairs)
    while True:
        for block in problem.blocks():
            log_det += _project_block(problem, block, metric, dual, seen)
        n_sweeps += 1
        # Distances as seen during the sweep are a little stale: they say when it is worth to compute the certificate.
        promising = problem.gap(dual, seen) <= tol * max(1.0, problem.objective(dual, seen, log_det))
        if promising or n_sweeps == max_iter:
            factor = problem.inverse_factor(dual)
            distances, log_det = problem.distances(factor), 2.0 * float(np.log(np.diag(factor)).sum())
            gap, objective = problem.gap(dual, distances), problem.objective(dual, distances, log_det)
            if gap <= tol * max(1.0, objective) or n_sweeps == max_iter:
                return _Solution(factor, objective, gap, n_sweeps)
            metric = np.asfortranarray(factor.T @ factor)


def _project_block(
    problem: _Problem, block: slice, metric: FloatArray, dual: FloatArray, seen: FloatArray
) -> float:
    r"""Project onto the pairs of a block, one after the other; update ``metric``, ``dual`` and ``seen`` in place.

    Only :math:`G = V M V^T` of the block is kept up to date pair by pair. In the end M gets all updates at once,
    :math:`M - M V^T (\Delta^{-1} + V M V^T)^{-1} V M` with :math:`\Delta` the changes of the multipliers.

    Returns the change of :math:`\log\det M`.
    """
    V = problem.differences[block]
    products = V @ metric
    gram = np.asfortranarray(V @ products.T)
    seen[block] = 0.0
    steps, log_det = np.zeros(len(gram)), 0.0
    inner = gram.copy(order="F")
    numbers = zip(problem.signs[block], problem.targets[block], problem.prices[block], dual[block], strict=True)
    for i, (sign, target, price, multiplier) in enumerate(numbers):
        distance = inner[i, i]
        step = price / (price + 1.0) * (1.0 / target - multiplier / price - 1.0 / distance)
        step = sign * max(sign * step, -sign * multiplier)
        seen[block.start + i] = distance
        if step:
            growth = 1.0 + step * distance
            column = inner[:, i].copy()
            dger(-step / growth, column, column, a=inner, overwrite_x=0, overwrite_y=0, overwrite_a=1)
            steps[i] = step
            log_det -= np.log(growth)
    dual[block] += steps
    moved = np.flatnonzero(steps)
    if len(moved):
        products, gram = products[moved], gram[np.ix_(moved, moved)]
        core = np.linalg.solve(np.eye(len(moved)) + steps[moved, None] * gram, np.diag(steps[moved]))
        solved = 0.5 * (core + core.T) @ products
        dgemm(-1.0, products.T, solved.T, beta=1.0, c=metric, trans_b=True, overwrite_c=True)
    return log_det


def _prior_root(prior: str | ArrayLike, X: Any) -> FloatArray | None:
    """The matrix R with ``M0 = R^T R``, or None for the identity."""
    if isinstance(prior, str):
        if prior == "identity":
            return None
        if prior != "covariance":
            raise ValueError(f'prior must be "identity", "covariance" or a matrix, got {prior!r}')
        covariance = np.atleast_2d(np.cov(_dense(X), rowvar=False))
        lower = _cholesky(covariance, 'prior="covariance": the covariance of X')
        return scipy.linalg.lapack.dtrtri(lower, lower=1)[0]
    matrix = np.asarray(prior, dtype=np.float64)
    if matrix.shape != (X.shape[1], X.shape[1]):
        raise ValueError(f"prior must have shape {(X.shape[1], X.shape[1])} (features of X), got {matrix.shape}")
    if not np.allclose(matrix, matrix.T):
        raise ValueError("prior must be symmetric; pass (prior + prior.T) / 2 if it is so in principle")
    return _cholesky(matrix, "prior").T


def _cholesky(matrix: FloatArray, name: str) -> FloatArray:
    try:
        return scipy.linalg.cholesky(matrix, lower=True)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"{name} is not positive definite; add a small multiple of the identity") from error


def _percentiles(X: Any, rng: np.random.RandomState) -> tuple[float, float]:
    """5th and 95th percentile of the squared distances between samples that are not equal."""
    n_samples = X.shape[0]
    if n_samples * (n_samples - 1) // 2 <= N_DISTANCES:
        rows, cols = np.triu_indices(n_samples, k=1)
    else:
        rows = rng.randint(n_samples, size=N_DISTANCES)
        cols = (rows + rng.randint(1, n_samples, size=N_DISTANCES)) % n_samples
    chunks = range(0, len(rows), 4096)
    squares = np.concatenate([_squared_norms(X[rows[c : c + 4096]] - X[cols[c : c + 4096]]) for c in chunks])
    squares = squares[squares > 0]
    if not len(squares):
        return 1.0, 1.0  # all samples are equal: there is no constraint for the bounds to bound
    lower, upper = np.percentile(squares, (5, 95))
    return float(lower), float(upper)


def _checked_bounds(bounds: Any) -> tuple[float, float]:
    values = np.asarray(bounds, dtype=np.float64)
    if values.shape != (2,) or not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"bounds must be two positive squared distances (u, l), got {bounds!r}")
    return float(values[0]), float(values[1])


def _squared_norms(rows: Any) -> NDArray[np.float64]:
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows)


def _dense(values: Any) -> FloatArray:
    return values.toarray() if sp.issparse(values) else np.asarray(values)
