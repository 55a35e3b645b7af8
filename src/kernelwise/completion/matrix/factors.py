r"""Nuclear-norm completion by descent on factors whose rank grows as the dual asks for it.

With :math:`M = L R^\top` the nuclear norm is the least :math:`\frac12 (\|L\|^2 + \|R\|^2)`, so the penalised problem is
smooth:

.. math::
    \min_{L, R} \; \frac{c}{2} \big( \|L\|^2 + \|R\|^2 \big)
    + \frac12 \sum_\Omega w_{ij} \big( (L R^\top)_{ij} - t_{ij} \big)^2

Every iteration

1. descends on the factors (L-BFGS; values and gradients take time linear in the observed entries),
2. finds the largest singular values of the sparse residual :math:`Y = w (t - M)` (Lanczos): singular vectors with a
   value above c are directions in which a larger rank lowers the objective, and Y, scaled, is the dual point of the
   certificate,
3. adds these directions and drops directions whose singular value has vanished.

A symmetric matrix is :math:`M = L S L^\top` with a diagonal S of signs: S = I if M is to be positive semi-definite, and
otherwise a direction gets the sign of the eigenvalue of Y that asks for it.

For noisy observations t = v, and c is lowered to the penalty in a few steps. For exact observations this is the method
of multipliers: t = v + c y with y = Y / c from the iteration before. It converges for every c, faster for smaller c.
"""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ...checks import Array
from ...optim import Certificate, HistoryRow, SolverResult, Status
from .problem import LARGEST_SIDE, CompletionProblem, Factors, ObservedEntries, Triples

#: The first ridge c, as a share of the largest singular value of the data; a smaller ridge starts at a higher rank.
FIRST_RIDGE = 0.15
#: The method of multipliers does not take c below this share of the first c: factors converge slowly for small c.
LAST_RIDGE = 0.02
#: L-BFGS steps per iteration, and the number of steps that L-BFGS remembers.
DESCENT_STEPS, MEMORY = 50, 6
#: The number of directions in the first iteration.
FIRST_DIRECTIONS = 8
#: Singular values below this share of the largest one are dropped.
LEAST_SINGULAR_VALUE = 1e-6
#: Iterations without a better gap after which the solver gives up, unless the gaps of the iterates themselves still
#: fall: where a dual point from before is the best for long, they alone show progress.
PATIENCE = 20
#: A spectrum that falls by this factor from one value to the next has ended there.
CLEAR_FALL = 5.0
#: Ridges of the refit, as shares of the largest singular value.
REFIT_RIDGES = (1e-4, 1e-9)


@dataclass(frozen=True, eq=False)
class Stage:
    """The penalised problem that one iteration descends on."""

    weights: Array
    targets: Array
    ridge: float


@dataclass(frozen=True, eq=False)
class Iterate:
    """Factors, their bounds (perhaps by estimates) and residual, and the directions in which their rank should grow."""

    factors: Factors
    entries: Array
    residual: Array
    triples: Triples
    certificate: Certificate
    misfit: float


def solve_by_factors(
    problem: CompletionProblem, *, tol: float, max_iter: int, max_rank: int, rng: np.random.RandomState
) -> SolverResult[Factors]:
    """Solve until the relative gap and misfit are below ``tol``; the best point of all iterations is returned."""
    observed, exact = problem.observed, problem.penalty is None
    record, wanted = Record(problem, tol, rng), min(FIRST_DIRECTIONS, max_rank)
    stage = Stage(np.ones(observed.size) if exact else observed.weights, observed.values, np.inf)
    zero = Factors(np.zeros((observed.shape[0], 0)), np.zeros((observed.shape[1], 0)), np.zeros(0))
    iterate = evaluate(problem, zero, stage, wanted, rng=rng, tol=record.spectral_tol)
    status = record.add(iterate)
    stage = replace(stage, ridge=max(problem.penalty or 0.0, FIRST_RIDGE * iterate.triples.bound))
    last_ridge, excess = LAST_RIDGE * stage.ridge, iterate.triples.values - stage.ridge
    while status is None and record.n_iter < max_iter:
        grown = grow(observed, stage, iterate, excess, max_rank)
        accuracy = min(1e-2, 0.1 * iterate.misfit) if exact else 0.1 * tol
        factors, finished = descend(observed, stage, grown, accuracy)
        found, before = int(np.sum(excess > 0)), iterate
        wanted = min(2 * found if found == wanted else max(2, found), max_rank)
        iterate = evaluate(problem, factors, stage, wanted, rng=rng, tol=record.spectral_tol)
        status = record.add(iterate)
        if exact:
            slow = finished and iterate.misfit > 0.25 * before.misfit
            ridge = max(stage.ridge / 3, last_ridge) if slow else stage.ridge
            multipliers, values = iterate.residual / stage.ridge, ridge / stage.ridge * iterate.triples.values
            stage = replace(stage, targets=observed.values + ridge * multipliers, ridge=ridge)
        else:
            stage, values = replace(stage, ridge=max(problem.penalty or 0.0, stage.ridge / 4)), iterate.triples.values
        excess = values - (1 + 0.5 * tol) * stage.ridge
    certificate = record.certificate or record.proven_certificate()[0]
    return SolverResult(record.best.factors, certificate, status or Status.MAX_ITER, record.n_iter, record.history)


class Record:
    """The best iterate and the best dual point so far, and whether they are good enough."""

    def __init__(self, problem: CompletionProblem, tol: float, rng: np.random.RandomState) -> None:
        self.problem, self.tol, self.rng, self.start = problem, tol, rng, perf_counter()
        self.best: Iterate
        self.dual_point: Iterate
        self.estimates = Certificate(np.inf, -np.inf)
        self.certificate: Certificate | None = None  # of the point that is returned, once the gap is reached
        self.history: tuple[HistoryRow, ...] = ()
        self.shortfall, self.since = np.inf, 0
        self.own_shortfalls: list[float] = []  # by the bounds of each iterate alone

    @property
    def n_iter(self) -> int:
        return len(self.history) - 1

    @property
    def spectral_tol(self) -> float:
        """Accuracy of singular values: a hundredth of the gap so far, and not finer than a tenth of ``tol``."""
        return float(np.clip(0.01 * self.shortfall, 0.1 * self.tol, 1e-2))

    def add(self, iterate: Iterate) -> Status | None:
        """Add the bounds of an iterate, and return the reason to stop, or None to go on."""
        if iterate.certificate.dual > self.estimates.dual:
            self.dual_point = iterate
        self.estimates = self.estimates.merge(iterate.certificate)
        seconds, bounds = perf_counter() - self.start, self.estimates
        self.history += (HistoryRow(len(self.history), seconds, bounds.primal, bounds.dual),)
        shortfall = self._shortfall(iterate, Certificate(iterate.certificate.primal, bounds.dual))
        self.since = 0 if shortfall < 0.99 * self.shortfall else self.since + 1
        self.own_shortfalls.append(self._shortfall(iterate, iterate.certificate))
        if shortfall <= self.shortfall:
            self.shortfall, self.best = shortfall, iterate
        if shortfall <= self.tol:
            certificate, proven = self.proven_certificate()
            if self._shortfall(iterate, certificate) <= self.tol:
                self.certificate = certificate
                return Status.CONVERGED if proven and np.isfinite(certificate.gap) else Status.ESTIMATED
        if self.since < PATIENCE:
            return None
        earlier, later = np.mean(np.reshape(self.own_shortfalls[-PATIENCE:], (2, -1)), axis=1)
        return None if later < 0.99 * earlier else Status.STALLED

    def proven_certificate(self) -> tuple[Certificate, bool]:
        """Return the bounds of the best iterate and of the best dual point, and whether both are proven."""
        best, dual_point = self.best, self.dual_point
        if min(self.problem.observed.shape) > LARGEST_SIDE:
            return Certificate(best.certificate.primal, dual_point.certificate.dual), False
        primal, primal_is_proven = self.problem.primal_bound(best.factors, best.entries, self.rng, prove=True)
        observed, residual, estimate = self.problem.observed, dual_point.residual, dual_point.triples.bound
        norm = observed.proven_bound(residual, estimate, both_ends=self.problem.both_ends)
        dual = self.problem.dual_bound(residual, estimate if norm is None else norm)
        return Certificate(primal, dual), primal_is_proven and norm is not None

    def _shortfall(self, iterate: Iterate, bounds: Certificate) -> float:
        """Return the relative gap, or the misfit of exact observations if larger; without an upper bound, the norm is
        used.
        """
        primal = bounds.primal if np.isfinite(bounds.primal) else iterate.factors.norm
        gap = abs(Certificate(primal, bounds.dual).relative_gap)
        return max(gap, iterate.misfit) if self.problem.penalty is None else gap


def grow(observed: ObservedEntries, stage: Stage, iterate: Iterate, excess: Array, max_rank: int) -> Factors:
    """Add the directions whose singular value exceeds the ridge, each with its best step over the number of steps."""
    factors, triples = iterate.factors, iterate.triples
    chosen = np.flatnonzero(excess > 0)[: max_rank - factors.rank]
    left, right = triples.left[:, chosen], triples.right[:, chosen]
    curvature = [
        observed.inner(stage.weights, observed.sample(u[:, None], v[:, None]) ** 2)
        for u, v in zip(left.T, right.T, strict=True)
    ]
    steps = excess[chosen] / np.maximum(curvature, np.finfo(float).tiny) / max(len(chosen), 1)
    roots, spectrum = np.sqrt(steps), np.concatenate([factors.spectrum, steps])
    if observed.symmetric:
        signs = np.concatenate([factors.signs, np.sign(np.sum(left * right, axis=0))])
        return Factors.symmetric(np.hstack([factors.left, left * roots]), spectrum, signs)
    left, right = np.hstack([factors.left, left * roots]), np.hstack([factors.right, right * roots])
    return Factors(left, right, spectrum)


def descend(observed: ObservedEntries, stage: Stage, factors: Factors, accuracy: float) -> tuple[Factors, bool]:
    """Minimise over the factors; return them balanced, and whether the gradient became small."""
    (m, n), rank = observed.shape, factors.rank
    if rank == 0:
        return factors, True
    size = m if observed.symmetric else m + n
    signs = factors.signs if observed.symmetric else np.ones(rank)
    definite = bool(np.all(signs > 0))

    def half_value_and_gradient(x: Array) -> tuple[float, Array]:
        X = unit * x.reshape(size, rank)
        left, right = (X, X if definite else X * signs) if observed.symmetric else (X[:m], X[m:])
        error = observed.sample(left, right) - stage.targets
        weighted = stage.weights * error
        T = observed.matrix(weighted)
        share = 0.25 if observed.symmetric else 0.5  # for a symmetric matrix |L| = |R|, so all terms are halved
        value = share * observed.inner(weighted, error) / (stage.ridge * unit**2) + 0.5 * float(x @ x)
        pull = T @ right + T.T @ right if observed.symmetric else np.vstack([T @ right, T.T @ left])
        return value, x + pull.ravel() / (stage.ridge * unit)

    X = factors.left if observed.symmetric else np.vstack([factors.left, factors.right])
    unit = float(np.max(np.abs(X)))  # L-BFGS-B works with numbers of the order of one
    options: Any = {"maxiter": DESCENT_STEPS, "maxcor": MEMORY, "gtol": accuracy, "ftol": 1e-15}
    found = minimize(half_value_and_gradient, X.ravel() / unit, jac=True, method="L-BFGS-B", options=options)
    X = unit * found.x.reshape(size, rank)
    balanced = balance_symmetric(X, signs) if observed.symmetric else balance(X[:m], X[m:])
    return balanced, bool(found.nit < DESCENT_STEPS)


def balance_symmetric(left: Array, signs: Array) -> Factors:
    """Return balanced factors of ``left @ diag(signs) @ left.T``, without its negligible eigenvalues."""
    if np.all(signs > 0):
        U, root, _ = np.linalg.svd(left, full_matrices=False)
        values = root**2
    else:
        Q, A = np.linalg.qr(left)
        values, V = np.linalg.eigh((A * signs) @ A.T)
        order = np.argsort(-np.abs(values))
        U, values = Q @ V[:, order], values[order]
    spectrum = np.abs(values)
    kept = spectrum > LEAST_SINGULAR_VALUE * np.max(spectrum, initial=0.0)
    return Factors.symmetric(U[:, kept] * np.sqrt(spectrum[kept]), spectrum[kept], np.sign(values[kept]))


def balance(left: Array, right: Array) -> Factors:
    """Return balanced factors of the same product, without its negligible singular values."""
    (P, A), (Q, B) = np.linalg.qr(left), np.linalg.qr(right)
    U, spectrum, Vt = np.linalg.svd(A @ B.T)
    kept = spectrum > LEAST_SINGULAR_VALUE * np.max(spectrum, initial=0.0)
    root = np.sqrt(spectrum[kept])
    return Factors(P @ (U[:, kept] * root), Q @ (Vt[kept].T * root), spectrum[kept])


def refit(problem: CompletionProblem, factors: Factors, tolerance: float) -> Factors:
    """Fit exact observations without the norm, at the smallest rank where the spectrum falls and the fit is good."""
    observed, spectrum = problem.observed, factors.spectrum
    falls = np.append(spectrum[:-1] > CLEAR_FALL * spectrum[1:], True)
    for rank in np.flatnonzero(falls) + 1:
        left, right = factors.left[:, :rank], factors.right[:, :rank]
        fitted = Factors(left, left if factors.left is factors.right else right, spectrum[:rank])
        for ridge in REFIT_RIDGES:
            stage = Stage(np.ones(observed.size), observed.values, ridge * float(spectrum[0]))
            fitted, _ = descend(observed, stage, fitted, 1e-2)
        if problem.misfit(observed.sample(fitted.left, fitted.right)) <= tolerance:
            return fitted
    return factors


def evaluate(
    problem: CompletionProblem, factors: Factors, stage: Stage, count: int, *, rng: np.random.RandomState, tol: float
) -> Iterate:
    """Return the bounds that factors and their residual give, and ``count`` directions to grow in."""
    entries = problem.observed.sample(factors.left, factors.right)
    residual = stage.weights * (stage.targets - entries)
    triples = problem.top(residual, count, rng, tol)
    primal, _ = problem.primal_bound(factors, entries, rng)
    bounds = Certificate(primal, problem.dual_bound(residual, triples.bound))
    return Iterate(factors, entries, residual, triples, bounds, problem.misfit(entries))
