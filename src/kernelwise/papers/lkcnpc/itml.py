r"""Information-theoretic metric learning.

:class:`ITML` states problem (5) of Davis et al., with one slack per pair so that pairs may contradict each other. M
stays close to a prior :math:`M_0` while positive pairs come nearer than u and negative pairs go farther than l. With
signs, the constraints are :math:`s_c v_c^T M v_c \le s_c \xi_c`.

==============  ======================================================================================
:math:`v_c`     difference of the two samples of pair c
:math:`s_c`     +1 for a positive and -1 for a negative pair; :math:`\xi^0_c` is u or l accordingly
:math:`w_c`     weight of the pair: w copies of a pair have one slack in common, which costs w times as much
:math:`z_c`     signed multiplier, :math:`s_c z_c \ge 0`
==============  ======================================================================================

With :math:`M(z) = (M_0^{-1} + \sum_c z_c v_c v_c^T)^{-1}` and :math:`1 / \xi_c(z) = 1 / \xi^0_c - z_c / (\gamma w_c)`
the dual is to maximise

.. math:: \log\det(M(z)^{-1} M_0) + \gamma \sum_c w_c \log(1 - z_c \xi^0_c / (\gamma w_c)) .

The paper's algorithm maximises over one :math:`z_c` at a time, which is the Bregman projection onto pair c, a rank-one
update of M. Near the optimum projections are slow if pairs are many or disagree, and a quasi-Newton method takes over.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.linalg.blas import dgemm, dger
from scipy.optimize import Bounds, minimize
from sklearn.utils.extmath import row_norms

from ...checks import Array
from ...samples import dense
from ...statements import Pairs
from ...statements.graph import RandomState
from ...ties import differ
from .base import Best, MahalanobisTransformer, weighted_gram

#: Pairs of samples whose distances give the default bounds; their percentiles are good to a few per mille.
N_DISTANCES = 100_000
#: Projections between two updates of the whole matrix: enough to spend the time in matrix products.
PAIRS_AT_ONCE = 128
#: Quasi-Newton steps before projections have their turn again.
ASCENT = 100


@dataclass(eq=False, repr=False, kw_only=True)
class ITML(MahalanobisTransformer):
    r"""Metric nearest to a prior in LogDet divergence that brings positive pairs together and negative ones apart.

    .. math:: \min_{M \succ 0,\ \xi > 0}\ D(M, M_0) + \gamma \sum_c w_c\, D(\xi_c, \xi^0_c) \quad\text{s.t.}\quad
              \|v_c\|_M^2 \le \xi_c\ (+1), \quad \|v_c\|_M^2 \ge \xi_c\ (-1)

    with :math:`D(A, B) = \mathrm{tr}(A B^{-1}) - \log\det(A B^{-1}) - d`, and :math:`\xi^0_c = u` for positive, l for
    negative pairs. Bregman projections, some pairs at a time, and L-BFGS on the same dual alternate until the duality
    gap is small. A pass over m pairs of d features costs about :math:`4 m d^2 + d^3`.

    Parameters
    ----------
    gamma : float, default=1.0
        Price of missing the bounds.
    bounds : pair of floats, default=None
        u and l, for *squared* distances under the prior. By default the 5th and 95th percentile between samples.
    prior : "identity", "covariance" or array of shape (n_features, n_features), default="identity"
        :math:`M_0`; "covariance" stands for the inverse of the covariance of the data, which must then be invertible.
    tol : float, default=1e-12
        Duality gap to reach, relative to ``max(1, objective)``. M is known up to about the root of it.
    max_iter : int, default=1000
        Limit on the number of passes over the pairs, up to the end of a line search.
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
        Number of passes over the pairs.
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
    >>> from kernelwise import ITML
    >>> X = np.array([[0.0, 0.0], [0.1, 3.0], [2.0, 0.1], [2.1, 3.1]])
    >>> pairs = Pairs([0, 2, 0, 1], [1, 3, 2, 3], [1, 1, -1, -1], n_samples=4)
    >>> metric = ITML().fit(X, pairs=pairs).get_mahalanobis_matrix()
    >>> bool(metric[0, 0] > 1 > metric[1, 1])
    True
    """

    gamma: float = 1.0
    bounds: tuple[float, float] | None = None
    prior: str | ArrayLike = "identity"
    tol: float = 1e-12
    max_iter: int = 1000
    random_state: RandomState = None

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        self._check(positive=("gamma", "tol"), counts=("max_iter",))
        X, pairs, rng = self._read(X, y, pairs)
        root = _prior_root(self.prior, X)
        if root is not None:
            X = X @ root.T
        self.bounds_ = _percentiles(X, rng) if self.bounds is None else _checked_bounds(self.bounds)
        problem = _Problem.of(X, pairs.merged(), self.bounds_, self.gamma)
        best = _solve(problem, self.tol, self.max_iter)
        factor = problem.lift(best.primal.factor)
        self.components_ = factor if root is None else factor @ root
        self.objective_, self.dual_gap_ = best.primal.objective, best.gap
        self.n_iter_, self.converged_ = best.n_iter, best.reached
        self._warn_unless_converged("passes", "lower gamma")
        return self


@dataclass(frozen=True)
class _Problem:
    """The problem for the prior identity: differences (m x d), signs, targets u or l, and prices gamma w."""

    differences: Any
    signs: Array
    targets: Array
    prices: Array
    basis: Array | None  # of the span of the differences, where they were reduced to coordinates in it

    @classmethod
    def of(cls, X: Any, pairs: Pairs, bounds: tuple[float, float], gamma: float) -> Self:
        differences = X[pairs.rows] - X[pairs.cols]
        informative = differ(np.sqrt(row_norms(differences, squared=True)))
        differences, signs = differences[informative], pairs.labels[informative].astype(np.float64)
        targets = np.where(signs > 0, *bounds)
        basis = None
        if 0 < differences.shape[0] < differences.shape[1]:
            # Orthogonally to the differences M stays the identity; what remains is a problem of m x m.
            basis, coordinates = np.linalg.qr(dense(differences).T)
            differences = np.ascontiguousarray(coordinates.T)
        return cls(differences, signs, targets, gamma * pairs.weights[informative], basis)

    @property
    def n_pairs(self) -> int:
        return len(self.signs)

    def at(self, dual: Array) -> "_Point | None":
        """M(z) with its values, or None if z is outside of the domain."""
        V, slacks_left = self.differences, 1.0 - dual * self.targets / self.prices
        inverse = np.eye(V.shape[1]) + weighted_gram(V, dual)
        root, failure = scipy.linalg.lapack.dpotrf(inverse, lower=1, overwrite_a=1)
        if failure or not (slacks_left > 0).all() or not np.isfinite(root).all():
            return None
        factor = scipy.linalg.lapack.dtrtri(root, lower=1)[0]
        distances = row_norms(V @ factor.T, squared=True)
        log_det = 2.0 * float(np.log(np.diag(root)).sum())
        # The best slack for a distance is the target where the distance meets the target, otherwise the distance.
        ratio = self.signs * np.maximum(self.signs * distances / self.targets, self.signs)
        slack_cost = self.prices * (ratio - np.log(ratio) - 1.0)
        return _Point(
            dual,
            factor,
            value=log_det + float(self.prices @ np.log(slacks_left)),
            gradient=distances - self.targets / slacks_left,
            objective=log_det - float(dual @ distances) + float(slack_cost.sum()),
        )

    def lift(self, factor: Array) -> Array:
        """L in all features from L in the coordinates of the differences."""
        if self.basis is None:
            return factor
        return np.eye(len(self.basis)) + self.basis @ (factor - np.eye(len(factor))) @ self.basis.T


@dataclass(frozen=True)
class _Point:
    """The multipliers z, L with M(z) = L^T L, the dual value and gradient at z, and the objective at M(z)."""

    dual: Array
    factor: Array
    value: float
    gradient: Array
    objective: float


def _solve(problem: _Problem, tol: float, max_iter: int) -> Best:
    """Alternate projections and quasi-Newton steps, with more projections while projections gain more."""
    best, n_sweeps = Best(tol, max_iter), 1
    best.see(problem.at(np.zeros(problem.n_pairs)), 0)  # M(0) is the identity
    while not best.done:
        before = best.dual.value
        n_sweeps = min(n_sweeps, max_iter - best.n_iter)
        dual = best.dual.dual.copy()
        metric = np.asfortranarray(best.dual.factor.T @ best.dual.factor)
        size = min(PAIRS_AT_ONCE, max(8, len(metric) // 4))
        for _ in range(n_sweeps):  # cyclic projections onto all pairs (Algorithm 1), some pairs at a time
            for first in range(0, problem.n_pairs, size):
                _project_batch(problem, slice(first, first + size), metric, dual)
        best.see(problem.at(dual), n_sweeps)
        between = best.dual.value
        if not best.done:
            _ascend(problem, best)
        n_sweeps = 1 if best.dual.value - between > between - before else 2 * n_sweeps
    return best


def _ascend(problem: _Problem, best: Best) -> None:
    """Maximise the dual by L-BFGS-B from the best point, for a while."""
    lengths = row_norms(problem.differences, squared=True)
    scale = 1.0 / np.hypot(lengths, problem.targets / np.sqrt(problem.prices))  # from the Hessian at z = 0
    caps = np.where(problem.signs > 0, (1.0 - 1e-9) * problem.prices / problem.targets, 0.0)
    floors = np.where(problem.signs > 0, 0.0, -np.inf)

    def negative_dual(scaled: Array) -> tuple[float, Array]:
        point = problem.at(scaled * scale)
        best.see(point)
        if point is None:  # a value that makes the line search come back
            return -best.dual.value + max(1.0, abs(best.dual.value)), np.zeros_like(scaled)
        return -point.value, -point.gradient * scale

    options: Any = {"maxfun": min(ASCENT, best.max_iter - best.n_iter), "maxcor": 20, "ftol": 0.0, "gtol": 0.0}
    bounds, start = Bounds(floors / scale, caps / scale), best.dual.dual / scale
    minimize(negative_dual, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=best.stop, options=options)


def _project_batch(problem: _Problem, batch: slice, metric: Array, dual: Array) -> None:
    r"""Project onto the pairs of a batch, one after the other; ``metric`` and ``dual`` are updated in place.

    Only :math:`G = V M V^T` of the batch is kept up to date pair by pair. In the end M gets all updates at once,
    :math:`M - M V^T (\Delta^{-1} + V M V^T)^{-1} V M` with :math:`\Delta` the changes of the multipliers.
    """
    V = problem.differences[batch]
    products = V @ metric
    gram = np.asfortranarray(V @ products.T)
    inner, steps = gram.copy(order="F"), np.zeros(len(gram))
    numbers = zip(problem.signs[batch], problem.targets[batch], problem.prices[batch], dual[batch], strict=True)
    for i, (sign, target, price, multiplier) in enumerate(numbers):
        distance = inner[i, i]
        step = price / (price + 1.0) * (1.0 / target - multiplier / price - 1.0 / distance)
        steps[i] = step = sign * max(sign * step, -sign * multiplier)  # the multiplier keeps its sign
        if step:
            column = inner[:, i].copy()
            dger(-step / (1.0 + step * distance), column, column, a=inner, overwrite_a=1)
    dual[batch] += steps
    moved = np.flatnonzero(steps)
    if len(moved):
        products, gram = products[moved], gram[np.ix_(moved, moved)]
        core = np.linalg.solve(np.eye(len(moved)) + steps[moved, None] * gram, np.diag(steps[moved]))
        # Made symmetric, because the antisymmetric part of the rounding errors would grow from batch to batch.
        change = 0.5 * (core + core.T) @ products
        dgemm(-1.0, products.T, change.T, beta=1.0, c=metric, trans_b=True, overwrite_c=True)


def _prior_root(prior: str | ArrayLike, X: Any) -> Array | None:
    """The matrix R with ``M0 = R^T R``, or None for the identity."""
    if isinstance(prior, str):
        if prior == "identity":
            return None
        if prior != "covariance":
            raise ValueError(f'prior must be "identity", "covariance" or a matrix, got {prior!r}')
        covariance = np.atleast_2d(np.cov(dense(X), rowvar=False))
        lower = _cholesky(covariance, 'prior="covariance": the covariance of X')
        return scipy.linalg.lapack.dtrtri(lower, lower=1)[0]
    matrix = np.asarray(prior, dtype=np.float64)
    if matrix.shape != (X.shape[1], X.shape[1]):
        raise ValueError(f"prior must have shape {(X.shape[1], X.shape[1])} (features of X), got {matrix.shape}")
    if not np.allclose(matrix, matrix.T):
        raise ValueError("prior must be symmetric; pass (prior + prior.T) / 2 if it is so in principle")
    return _cholesky(matrix, "prior").T


def _cholesky(matrix: Array, name: str) -> Array:
    lower, failure = scipy.linalg.lapack.dpotrf(matrix, lower=1)
    pivots = np.diag(lower)
    # Rounding can let a singular matrix pass, with a pivot that is nothing but rounding.
    if failure or pivots.min() ** 2 <= len(matrix) * np.finfo(np.float64).eps * pivots.max() ** 2:
        raise ValueError(f"{name} is not positive definite; add a small multiple of the identity")
    return lower


def _percentiles(X: Any, rng: np.random.RandomState) -> tuple[float, float]:
    """5th and 95th percentile of the squared distances between samples that are not equal."""
    n_samples = X.shape[0]
    if n_samples * (n_samples - 1) // 2 <= N_DISTANCES:
        rows, cols = np.triu_indices(n_samples, k=1)
    else:
        rows = rng.randint(n_samples, size=N_DISTANCES)
        cols = (rows + rng.randint(1, n_samples, size=N_DISTANCES)) % n_samples
    chunks = range(0, len(rows), 4096)
    squares = np.concatenate([row_norms(X[rows[c : c + 4096]] - X[cols[c : c + 4096]], squared=True) for c in chunks])
    squares = squares[differ(np.sqrt(squares))]
    if not len(squares):
        return 1.0, 1.0  # all samples are equal: there is no constraint for the bounds to bound
    lower, upper = np.percentile(squares, (5, 95))
    return float(lower), float(upper)


def _checked_bounds(bounds: Any) -> tuple[float, float]:
    values = np.asarray(bounds, dtype=np.float64)
    if values.shape != (2,) or not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"bounds must be two positive squared distances (u, l), got {bounds!r}")
    return float(values[0]), float(values[1])
