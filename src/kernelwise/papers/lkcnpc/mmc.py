r"""Mahalanobis metric for clustering, called GDM (global distance metric) in papers that compare with it.

Problem (3)-(5) of Xing et al., which :class:`MMC` states, moves negative pairs as far apart as possible while positive
pairs stay close together: :math:`\mathrm{tr}(A M) = \sum_{c \in S} w_c \|v_c\|_M^2` without shrinkage.

=============  =====================================================================================
:math:`S, D`   positive and negative pairs
:math:`v_c`    difference of the two samples of pair c; :math:`\|v\|_M = \sqrt{v^T M v}` is not squared
:math:`w_c`    weight of the pair
=============  =====================================================================================

Let :math:`A = C C^T` and :math:`M = B^T B` with :math:`B = L C^{-1}`. Then :math:`\mathrm{tr}(AM) = \|L\|_F^2`, and up
to the length of L the problem is to minimise the function g of the paper, unconstrained,

.. math:: g(L) = \|L\|_F^2 - \log f(L), \qquad f(L) = \sum_{c \in D} w_c \|L u_c\|, \qquad u_c = C^{-1} v_c .

For a diagonal M, L is a vector and :math:`C = \sqrt{\mathrm{diag} A}`. As f is concave in :math:`N = L^T L` and of
degree 1/2, with :math:`H = \frac12 \sum_c w_c u_c u_c^T / \|L u_c\|` and :math:`\|L\| = 1`,

.. math:: f(L) \le \max f \le \sqrt{2 f(L)\, \lambda_{\max}(H)} ,

with equality at the optimum: a certificate from one eigenvalue (for a diagonal M, the largest diagonal entry of H).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from sklearn.utils.extmath import row_norms

from ...checks import Array, check_probability
from ...samples import power_of_two
from ...spectral import top_eigenpairs
from ...statements import Pairs
from ...statements.graph import RandomState
from .base import MahalanobisTransformer, squared, weighted_gram

#: Steps between two looks at the certificate, which costs about as much as two or three of them.
LOOK = 10


@dataclass(eq=False, repr=False, kw_only=True)
class MMC(MahalanobisTransformer):
    r"""Metric that moves negative pairs far apart while positive pairs stay close (Xing et al., GDM).

    .. math:: \max_{M \succeq 0}\ \sum_{c \in D} w_c \|v_c\|_M \quad\text{s.t.}\quad \mathrm{tr}(A M) \le 1, \qquad
              A = (1 - \rho) A_S + \rho\, \tfrac{\mathrm{tr} A_S}{d} I, \quad A_S = \sum_{c \in S} w_c v_c v_c^T

    Solved to a certified gap by L-BFGS on a factor of M, in place of the paper's gradient steps with a sequence of
    projections (full M) and Newton steps (diagonal M).

    Parameters
    ----------
    diagonal : bool, default=False
        Whether to restrict M to diagonal matrices: weights of the features.
    shrinkage : float in [0, 1], default=1e-3
        :math:`\rho`. Without it the problem is unbounded as soon as negative pairs differ in a direction in which no
        positive pair does, for instance if there are fewer positive pairs than features.
    tol : float, default=1e-3
        Gap to reach, relative to the objective.
    max_iter : int, default=1000
        Limit on the number of L-BFGS steps.
    random_state : int, RandomState or None
        Draws pairs from labels, and the start if M is full and has more features than rank.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L with :math:`M = L^T L`. For a full M, n_components is n_features or, if that is less, r with
        :math:`r (r + 1) / 2` just above the number of negative pairs, as there is always a solution of such a rank.
    objective_, dual_gap_ : float
        The sum of distances reached, and a bound on its distance to the optimum.
    n_iter_ : int
        Number of L-BFGS steps.
    converged_ : bool
        Whether the gap was reached.

    Notes
    -----
    A full M costs :math:`d^3` once and :math:`r d^2` plus a product with the differences per step: for 1433 features
    and 5000 pairs a few seconds. Optimal metrics are of low rank, often below the number of classes, and a diagonal
    optimum uses few features. Both can cluster worse than the Euclidean distance. A solver that stops early stays near
    the Euclidean distance, so this is a property of the problem and not of the solver.

    References
    ----------
    E. P. Xing, A. Y. Ng, M. I. Jordan, S. Russell. Distance metric learning with application to clustering with
    side-information. NIPS 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Pairs
    >>> from kernelwise import MMC
    >>> X = np.array([[0.0, 0.0], [0.1, 3.0], [2.0, 0.1], [2.1, 3.1]])
    >>> pairs = Pairs([0, 2, 0, 1], [1, 3, 2, 3], [1, 1, -1, -1], n_samples=4)
    >>> metric = MMC(diagonal=True).fit(X, pairs=pairs).get_mahalanobis_matrix()
    >>> bool(metric[0, 0] > 100 * metric[1, 1])
    True
    """

    diagonal: bool = False
    shrinkage: float = 1e-3
    tol: float = 1e-3
    max_iter: int = 1000
    random_state: RandomState = None

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn the metric, from at least one positive and one negative pair of samples that differ.

        The parameters are the same as for :meth:`ITML.fit`.
        """
        self._check(positive=("tol",), counts=("max_iter",))
        check_probability("shrinkage", self.shrinkage)
        X, pairs, rng = self._read(X, y, pairs, both_kinds=True)
        pairs = pairs.merged()
        root = float(power_of_two(np.sqrt(pairs.weights.max())))  # of the unit in which weights are counted
        near = _differences(X, pairs.positive, "positive", root**2)
        far = _differences(X, pairs.negative, "negative", root**2)
        spread = (_DiagonalSpread if self.diagonal else _FullSpread).of(near, far, self.shrinkage)
        (point, objective, gap), self.n_iter_ = _solve(spread, spread.start(rng), self.tol, self.max_iter)
        self.components_ = spread.components(point) / root
        self.objective_, self.dual_gap_ = root * objective, root * gap
        self.converged_ = gap <= self.tol * objective
        self._warn_unless_converged("steps", "shrinkage if the features are nearly dependent")
        return self


class _Differences(NamedTuple):
    """The differences of the pairs of one kind, with the weights of the pairs."""

    rows: Any
    weights: Array


@dataclass(frozen=True)
class _FullSpread:
    """The sum f of the distances of negative pairs as a function of L, a vector of all entries of L."""

    far: _Differences
    root: Array  # C, lower triangular

    @classmethod
    def of(cls, near: _Differences, far: _Differences, shrinkage: float) -> Self:
        A = weighted_gram(near.rows, near.weights)
        target = np.trace(A) / len(A)
        A *= 1.0 - shrinkage
        A[np.diag_indices_from(A)] += shrinkage * target
        try:
            return cls(far, scipy.linalg.cholesky(A, lower=True))
        except np.linalg.LinAlgError as error:
            raise ValueError(_UNBOUNDED.format(shrinkage=shrinkage)) from error

    def start(self, rng: np.random.RandomState) -> Array:
        n_features = len(self.root)
        rank = int(np.sqrt(2.0 * (len(self.far.weights) + 1))) + 1
        return (np.eye(n_features) if rank >= n_features else rng.standard_normal((rank, n_features))).ravel()

    def components(self, point: Array) -> Array:
        L = point.reshape(-1, len(self.root))
        return solve_triangular(self.root, L.T, lower=True, trans="T", check_finite=False).T

    def value_and_gradient(self, point: Array) -> tuple[float, Array]:
        images = self.far.rows @ self.components(point).T
        distances = np.linalg.norm(images, axis=1)
        outer = self.far.rows.T @ ((self.far.weights / distances)[:, None] * images)
        gradient = solve_triangular(self.root, outer, lower=True, check_finite=False).T
        return float(self.far.weights @ distances), gradient.ravel()

    def slope(self, point: Array) -> float:
        """Return the largest eigenvalue of H."""
        distances = np.linalg.norm(self.far.rows @ self.components(point).T, axis=1)
        H = 0.5 * weighted_gram(self.far.rows, self.far.weights / distances)
        H = solve_triangular(self.root, H, lower=True, check_finite=False)
        H = solve_triangular(self.root, H.T, lower=True, check_finite=False)
        return float(top_eigenpairs(0.5 * (H + H.T), 1, random_state=0)[0][0])


@dataclass(frozen=True)
class _DiagonalSpread:
    """The same function for a diagonal M."""

    squares: Any  # of the entries of u_c
    weights: Array
    root: Array  # the diagonal of C

    @classmethod
    def of(cls, near: _Differences, far: _Differences, shrinkage: float) -> Self:
        near_squares, far_squares = squared(near.rows), squared(far.rows)
        diagonal = near_squares.T @ near.weights
        diagonal = (1.0 - shrinkage) * diagonal + shrinkage * diagonal.mean()
        if (diagonal[far_squares.T @ far.weights > 0] == 0).any():
            raise ValueError(_UNBOUNDED.format(shrinkage=shrinkage))
        inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
        scaled = far_squares @ sp.diags_array(inverse) if sp.issparse(far_squares) else far_squares * inverse
        return cls(scaled, far.weights, np.sqrt(inverse))

    def start(self, rng: np.random.RandomState) -> Array:
        return np.ones(len(self.root))

    def components(self, point: Array) -> Array:
        return np.diag(np.abs(point) * self.root)

    def value_and_gradient(self, point: Array) -> tuple[float, Array]:
        distances = np.sqrt(self.squares @ np.square(point))
        return float(self.weights @ distances), point * (self.squares.T @ (self.weights / distances))

    def slope(self, point: Array) -> float:
        distances = np.sqrt(self.squares @ np.square(point))
        return float(0.5 * (self.squares.T @ (self.weights / distances)).max())


_UNBOUNDED = (
    "the positive pairs do not differ in every direction, so the distances of negative pairs can grow without bound:"
    " raise shrinkage={shrinkage}"
)


def _solve(
    spread: _FullSpread | _DiagonalSpread, start: Array, tol: float, max_iter: int
) -> tuple[tuple[Array, float, float], int]:
    """Minimise g by L-BFGS until the gap is small; return the certified point and the number of steps.

    L-BFGS ends where rounding hides a decrease of g, at a relative gap near 1e-8. From there on steps to the gradient,
    f being convex and homogeneous in L, raise f on the unit sphere without comparing values.
    """
    n_iter = 0

    def g(point: Array) -> tuple[float, Array]:
        value, gradient = spread.value_and_gradient(point)
        return float(point @ point) - np.log(value), 2.0 * point - gradient / value

    def look(xk: Array) -> None:
        nonlocal n_iter
        n_iter += 1
        if n_iter % LOOK == 0:
            _, objective, gap = _certified(spread, xk)
            if gap <= tol * objective:
                raise StopIteration

    options: Any = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": 20, "ftol": 0.0, "gtol": 0.0}
    unit = start / (np.sqrt(2.0) * np.linalg.norm(start))  # at the optimum ||L||^2 = 1/2
    certified = _certified(spread, minimize(g, unit, jac=True, method="L-BFGS-B", callback=look, options=options).x)
    while certified[2] > tol * certified[1] and n_iter < max_iter:
        certified = _certified(spread, spread.value_and_gradient(certified[0])[1])
        n_iter += 1
    return certified, n_iter


def _certified(spread: _FullSpread | _DiagonalSpread, point: Array) -> tuple[Array, float, float]:
    """Return the point at unit length, its objective, and a bound on the distance of the objective to the optimum."""
    unit = point / np.linalg.norm(point)
    objective = spread.value_and_gradient(unit)[0]
    bound = np.sqrt(2.0 * objective * spread.slope(unit))
    return unit, objective, max(float(bound - objective), 0.0)


def _differences(X: Any, pairs: Pairs, kind: str, unit: float) -> _Differences:
    rows = X[pairs.rows] - X[pairs.cols]
    differ = row_norms(rows, squared=True) > 0
    if not differ.any():
        raise ValueError(f"every {kind} pair joins two equal samples, which says nothing about a metric")
    return _Differences(rows[differ], pairs.weights[differ] / unit)
