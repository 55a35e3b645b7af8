"""The problem behind NPK and its solution; :mod:`kernelwise.papers.lkcnpc.nonparametric_kernel` has the formulas."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.optimize import Bounds, minimize

from ...checks import Array
from ...statements import Pairs
from .base import Best


@dataclass(frozen=True)
class KernelPoint:
    """K(alpha) by its positive eigenvalues and their vectors, the norm of A_+, and the values of K on the pairs."""

    values: Array
    vectors: Array
    norm: float
    margins: Array  # y_t K_t
    smoothness: float  # tr(L K)
    objective: float = np.inf
    value: float = -np.inf  # of the dual at alpha


@dataclass(frozen=True)
class KernelMatrixProblem:
    """The problem without its loss: Laplacian, distinct pairs, C, p and B."""

    laplacian: sp.csr_array
    pairs: Pairs
    C: float
    p: float
    bound: float

    @property
    def prices(self) -> Array:
        """C w_t."""
        return self.C * self.pairs.weights

    def at(self, alpha: Array) -> KernelPoint:
        """K(alpha), from the eigenvectors of A(alpha) of positive eigenvalue."""
        pairs, n = self.pairs, self.pairs.n_samples
        half = sp.coo_array((0.5 * alpha * pairs.labels, (pairs.rows, pairs.cols)), shape=(n, n))
        A = (half + half.T - self.laplacian).toarray(order="F")
        rounding = n * np.finfo(np.float64).eps * np.abs(A).sum(axis=0).max()
        eigenvalues, vectors = eigh(A, subset_by_value=(rounding, np.inf), overwrite_a=True, check_finite=False)
        q = self.p / (self.p - 1.0)
        top = float(eigenvalues.max(initial=0.0))
        # Relative to the largest, lest powers overflow for p near one.
        norm = top * float(((eigenvalues / top) ** q).sum()) ** (1.0 / q) if top else 0.0
        values = self.bound ** (1.0 / self.p) * (eigenvalues / norm) ** (q - 1.0) if top else eigenvalues
        K = (vectors * values) @ vectors.T
        smoothness = float(values @ np.einsum("ik,ik->k", vectors, self.laplacian @ vectors))
        return KernelPoint(values, vectors, norm, pairs.labels * K[pairs.rows, pairs.cols], smoothness)

    def support(self, point: KernelPoint) -> float:
        """The maximum of <A, K> over the admissible kernels."""
        return self.bound ** (1.0 / self.p) * point.norm


def solve_linear(problem: KernelMatrixProblem, tol: float, max_iter: int) -> Best:
    """The closed form: one point, whatever ``tol`` and ``max_iter`` are."""
    best, point = Best(tol, max_iter), problem.at(problem.prices)
    objective = point.smoothness - float(problem.prices @ point.margins)
    best.see(replace(point, objective=objective, value=-problem.support(point)))
    return best


def solve_squared_hinge(problem: KernelMatrixProblem, tol: float, max_iter: int) -> Best:
    """Maximise D by L-BFGS-B from the solution for the linear loss, until the gap is small."""
    best, prices = Best(tol, max_iter), problem.prices
    roots = np.sqrt(prices)

    def negative_dual(scaled: Array) -> tuple[float, Array]:
        alpha = scaled * roots
        point = problem.at(alpha)
        hinge = np.maximum(0.0, 1.0 - point.margins)
        objective = point.smoothness + 0.5 * float(prices @ hinge**2)
        dual = float(alpha.sum() - 0.5 * scaled @ scaled) - problem.support(point)
        best.see(replace(point, objective=objective, value=dual))
        return -dual, scaled - roots * (1.0 - point.margins)

    minimize(
        negative_dual,
        roots,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(np.zeros(len(prices)), np.full(len(prices), np.inf)),
        callback=best.stop,
        options={"maxfun": max_iter, "maxiter": max_iter, "ftol": 0.0, "gtol": 0.0, "maxcor": 20},
    )
    return best
