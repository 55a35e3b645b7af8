"""An interior-point method for the dual of hinge-loss multiple kernel learning.

The program, in ``alpha`` (n) and ``t``::

    minimise    -sum(alpha) + curvature t^2 / 2
    subject to  ||B_j alpha|| <= t  for every block j,   0 <= alpha <= upper,   sum(alpha) <= budget,   e^T alpha = 0

where the last two are optional. Primal-dual path following with Nesterov-Todd scaling and Mehrotra's corrector. Every
iterate is strictly feasible in both the program and its dual, because such a starting point can be written down, so
``s^T z`` is the gap.

Each iteration needs one Gram matrix of the rows of B (weighted over samples) and a few products with B: sums over
samples.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .cones import ConePoint, Cones, Scaling

Array = NDArray[np.float64]

#: Steps without a smaller gap before rounding is taken to have the last word.
PATIENCE = 5
#: Added to the diagonal, relative to its largest entry, where rounding has made the reduced system indefinite.
JITTERS = (0.0, 1e-15, 1e-13)
#: Samples that are worked on together where there are many.
BLOCK = 4096
#: The most steps of iterative refinement.
REFINEMENTS = 4
#: Up to this many samples an iteration is done in their number, beyond it in the summed ranks.
MANY_SAMPLES = 1500
#: The most entries that the Gram matrices of all blocks may have together.
GRAM_ENTRIES = 2**26


@dataclass(frozen=True)
class ConeProgram:
    """The data of the program: stacked rows ``B`` (sum of ranks, n) and the bounds."""

    B: Array
    ranks: NDArray[np.intp]
    curvature: float
    upper: Array
    budget: float | None = None
    balance: Array | None = None

    @cached_property
    def cones(self) -> Cones:
        """The second-order cones, one per block."""
        return Cones(self.ranks)

    @cached_property
    def grams(self) -> Array:
        """All ``B_j^T B_j``: with few samples and high ranks, these make an iteration independent of the ranks."""
        return np.stack([block.T @ block for block in np.split(self.B, np.cumsum(self.ranks)[:-1])])

    @property
    def few_samples(self) -> bool:
        """Whether to solve in the dimension of the samples rather than in that of the ranks."""
        rank, n = self.B.shape
        return n <= max(rank, MANY_SAMPLES) and len(self.ranks) * n**2 <= GRAM_ENTRIES


class Iterate(NamedTuple):
    """A strictly feasible primal-dual point."""

    alpha: Array
    t: float
    lower: Array  # multipliers of alpha >= 0
    upper: Array  # multipliers of alpha <= upper
    eta: float  # multiplier of the budget
    bias: float  # multiplier of e^T alpha = 0
    z: ConePoint  # multipliers of the cones


class ConeSolution(NamedTuple):
    """The last iterate with its complementarity gap ``s^T z``."""

    iterate: Iterate
    gap: float
    n_iter: int


def solve_cone_program(program: ConeProgram, *, tol: float, max_iter: int = 60) -> ConeSolution:
    """Solve to a gap of ``tol`` relative to the objective, or until rounding stops the progress."""
    state = best = _State(program, _starting_point(program))
    since_best = 0
    for iteration in range(max_iter):
        if best.gap <= tol * abs(best.objective):
            return ConeSolution(best.point, best.gap, iteration)
        moved = _newton_step(state)
        if moved is None or since_best >= PATIENCE:
            return ConeSolution(best.point, best.gap, iteration)
        state = moved
        best, since_best = (state, 0) if state.gap < best.gap else (best, since_best + 1)
    return ConeSolution(best.point, best.gap, max_iter)


def _newton_step(state: "_State") -> "_State | None":
    """Predict, correct, and move; None where rounding leaves nothing to gain."""
    try:
        system = _NewtonSystem(state)
    except LinAlgError:
        return None
    predictor = system.direction(centering=0.0, correction=None)
    longest = min(1.0, state.longest_step(predictor))
    corrector = system.direction(centering=(1.0 - longest) ** 3, correction=predictor)
    return state.moved(corrector, min(1.0, 0.99 * state.longest_step(corrector)))


def _starting_point(program: ConeProgram) -> Iterate:
    """Write down a strictly feasible point of the program and of its dual."""
    share = 0.5 * program.upper
    if program.balance is not None:
        sides = np.sign(program.balance)
        weight = np.abs(program.balance)
        masses = {side: float(weight[sides == side] @ share[sides == side]) for side in (-1.0, 1.0)}
        share = share * np.where(sides > 0, min(masses.values()) / masses[1.0], min(masses.values()) / masses[-1.0])
    if program.budget is not None:
        share = share * min(1.0, 0.99 * program.budget / share.sum())
    cones = program.cones
    longest = float(np.sqrt(cones.sums((program.B @ share) ** 2)).max())
    # The multiple of `share` that balances the two terms of the objective, as far as the bounds allow.
    best = share.sum() / (program.curvature * longest**2) if longest > 0 else 1.0
    scale = min(1.0, best)
    alpha = share * scale
    # Where the cones hardly restrict alpha, t is kept from vanishing beside the value that balances the objective.
    t = 1.5 * max(longest * scale, 1e-3 * float(np.sqrt(alpha.sum() / program.curvature)))
    slack = np.inf if program.budget is None else program.budget - alpha.sum()
    eta = min(0.5, 0.5 / slack)
    lower = np.full_like(alpha, 0.5)
    heads = np.full(len(program.ranks), program.curvature * t / len(program.ranks))
    return Iterate(alpha, t, lower, lower + 1.0 - eta, eta, 0.0, ConePoint(heads, np.zeros(len(program.B))))


@dataclass(frozen=True)
class _State:
    """An iterate with its slacks."""

    program: ConeProgram
    point: Iterate

    @cached_property
    def s(self) -> ConePoint:
        """``(t, B alpha)``, the slack of the cones."""
        return ConePoint(np.full(len(self.program.ranks), self.point.t), self.program.B @ self.point.alpha)

    @cached_property
    def room(self) -> Array:
        """The slack of ``alpha <= upper``."""
        return self.program.upper - self.point.alpha

    @cached_property
    def left(self) -> float:
        """The slack of the budget."""
        return np.inf if self.program.budget is None else self.program.budget - float(self.point.alpha.sum())

    @cached_property
    def gap(self) -> float:
        """``s^T z`` over all constraints."""
        x = self.point
        linear = x.lower @ x.alpha + x.upper @ self.room + (x.eta * self.left if x.eta > 0 else 0.0)
        return float(linear + self.program.cones.dots(self.s, x.z).sum())

    @property
    def objective(self) -> float:
        return float(-self.point.alpha.sum() + self.program.curvature * self.point.t**2 / 2)

    @property
    def degree(self) -> int:
        return 2 * len(self.point.alpha) + len(self.program.ranks) + (self.program.budget is not None)

    def longest_step(self, d: "_Direction") -> float:
        x, cones = self.point, self.program.cones
        ratios = [
            _ratio(d.alpha, x.alpha),
            _ratio(-d.alpha, self.room),
            _ratio(d.lower, x.lower),
            _ratio(d.upper, x.upper),
        ]
        if self.program.budget is not None:
            ratios += [_ratio(-d.alpha.sum(), self.left), _ratio(d.eta, x.eta)]
        worst = max(ratios)
        linear = 1.0 / worst if worst > 0 else np.inf
        return min(linear, cones.longest_step(self.s, d.s), cones.longest_step(x.z, d.z))

    def moved(self, d: "_Direction", step: float) -> "_State | None":
        """Return the state after a step, or None where rounding has taken it out of the interior."""
        x = self.point
        z = x.z + d.z.scaled(step)
        point = Iterate(
            x.alpha + step * d.alpha,
            x.t + step * d.t,
            x.lower + step * d.lower,
            x.upper + step * d.upper,
            x.eta + step * d.eta,
            x.bias + step * d.bias,
            z,
        )
        state = _State(self.program, point)
        cones = self.program.cones
        inside = min(point.alpha.min(), state.room.min(), state.left, cones.determinant(state.s).min())
        inside = min(inside, point.lower.min(), point.upper.min(), cones.determinant(z).min())
        return state if inside > 0 and np.isfinite(state.gap) else None


def _ratio(direction: Array | float, value: Array | float) -> float:
    return float(np.max(-np.asarray(direction) / value))


class _Direction(NamedTuple):
    alpha: Array
    t: float
    lower: Array
    upper: Array
    eta: float
    bias: float
    z: ConePoint
    s: ConePoint  # the change of the cone slacks (t, B alpha)


class _NewtonSystem:
    """The linearised optimality conditions at a state, reduced to ``alpha``, factored once, solved for several sides.

    With ``D = lower/alpha + upper/room`` and the cone scaling W, the reduced matrix is ``D + B^T C B`` (C the tail
    part of ``W^-2``) bordered by the budget, t and the bias.
    """

    def __init__(self, state: _State):
        program, x = state.program, state.point
        self.state, self.cones = state, program.cones
        self.scaling = Scaling.between(self.cones, state.s, x.z)
        self.scaled_point = self.scaling.apply(x.z)
        self.inverse = _ReducedInverse(program, x.lower / x.alpha + x.upper / state.room, self.scaling)
        self.stationarity = self._stationarity_alpha()
        self._border()

    def _border(self) -> None:
        """Solve for the few dense columns beside ``D + B^T C B``: t, then budget, then bias."""
        program, x, scaling = self.state.program, self.state.point, self.scaling
        n = len(x.alpha)
        head, beta = scaling.w.heads, scaling.beta
        columns = [program.B.T @ (-2.0 * scaling.w.tails * self.cones.spread(head / beta**2))]
        corner = [program.curvature + float(((2.0 * head**2 - 1.0) / beta**2).sum())]
        if program.budget is not None:
            columns.append(np.ones(n))
            corner.append(-self.state.left / x.eta)
        if program.balance is not None:
            columns.append(program.balance)
            corner.append(0.0)
        self.border = np.stack(columns, axis=1)
        self.solved_border = self.inverse.solve(self.border)
        self.schur = np.diag(corner) - self.border.T @ self.solved_border

    def direction(self, *, centering: float, correction: "_Direction | None") -> _Direction:
        state, x, scaling, cones = self.state, self.state.point, self.scaling, self.cones
        program = state.program
        target = centering * state.gap / state.degree
        r_lower, r_upper = target - x.lower * x.alpha, target - x.upper * state.room
        r_eta = target - x.eta * state.left if program.budget is not None else 0.0
        r_cone = cones.product(self.scaled_point, self.scaled_point).scaled(-1.0)
        r_cone = ConePoint(r_cone.heads + target, r_cone.tails)
        if correction is not None:
            r_lower = r_lower - correction.lower * correction.alpha
            r_upper = r_upper + correction.upper * correction.alpha
            r_eta = r_eta + correction.eta * float(correction.alpha.sum())
            product = cones.product(scaling.solve(correction.s), scaling.apply(correction.z))
            r_cone = r_cone + product.scaled(-1.0)
        pull = scaling.solve(cones.divide(self.scaled_point, r_cone))

        top = r_lower / x.alpha - r_upper / state.room + program.B.T @ pull.tails - self.stationarity
        bottom = [pull.heads.sum() - self._stationarity_t()]
        if program.budget is not None:
            bottom.append(-r_eta / x.eta)
        if program.balance is not None:
            bottom.append(-float(program.balance @ x.alpha))
        solved = self.inverse.solve(top)
        rest = np.linalg.solve(self.schur, np.array(bottom) - self.border.T @ solved)
        d_alpha = solved - self.solved_border @ rest
        d_t = float(rest[0])
        d_eta = float(rest[1]) if program.budget is not None else 0.0
        d_bias = float(rest[-1]) if program.balance is not None else 0.0

        d_s = ConePoint(np.full(len(program.ranks), d_t), program.B @ d_alpha)
        d_z = pull + scaling.solve(scaling.solve(d_s)).scaled(-1.0)
        d_lower = (r_lower - x.lower * d_alpha) / x.alpha
        d_upper = (r_upper + x.upper * d_alpha) / state.room
        return _Direction(d_alpha, d_t, d_lower, d_upper, d_eta, d_bias, d_z, d_s)

    def _stationarity_alpha(self) -> Array:
        """The gradient of the Lagrangian in alpha: zero up to rounding, put back so that rounding does not build up."""
        program, x = self.state.program, self.state.point
        gradient = x.upper - x.lower - 1.0 + x.eta - program.B.T @ x.z.tails
        return gradient if program.balance is None else gradient + x.bias * program.balance

    def _stationarity_t(self) -> float:
        return float(self.state.program.curvature * self.state.point.t - self.state.point.z.heads.sum())


class _ReducedInverse:
    """Solve with ``D + B^T C B``, C block-diagonal: in n dimensions, or in the rank of B by the Woodbury identity."""

    def __init__(self, program: ConeProgram, diagonal: Array, scaling: Scaling):
        self.program, self.B, self.diagonal, self.scaling = program, program.B, diagonal, scaling
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
        """``C^-1 + B D^-1 B^T`` with ``C^-1 = beta^2 (I - 2 w1 w1^T / (1 + 2 ||w1||^2))`` in each block."""
        scaling, cones = self.scaling, self.scaling.cones
        matrix = np.zeros((len(self.B), len(self.B)))
        for start in range(0, self.B.shape[1], BLOCK):  # pieces that stay in the cache, and no second copy of B
            piece = slice(start, start + BLOCK)
            half = self.B[:, piece] / np.sqrt(self.diagonal[piece])
            matrix += half @ half.T
        for j, start in enumerate(cones.starts):
            block = slice(start, start + cones.ranks[j])
            w1 = scaling.w.tails[block]
            inner = np.eye(len(w1)) - np.outer(w1, w1) * (2.0 / (1.0 + 2.0 * float(w1 @ w1)))
            matrix[block, block] += scaling.beta[j] ** 2 * inner
        return matrix

    def solve(self, right: Array) -> Array:
        """Solve, and refine where the factorisation is not that of the system itself, or loses digits to large D^-1."""
        solution = self._solve_once(right)
        if self.program.few_samples and self.jitter == 0:
            return solution
        for _ in range(REFINEMENTS):
            residual = right - self._multiply(solution)
            if np.linalg.norm(residual) <= 1e-9 * np.linalg.norm(right):
                break
            solution = solution + self._solve_once(residual)
        return solution

    def _solve_once(self, right: Array) -> Array:
        if self.program.few_samples:
            return cho_solve(self.cholesky, right, check_finite=False)
        return self._woodbury_solve(right)

    def _woodbury_solve(self, right: Array) -> Array:
        D = self.diagonal if right.ndim == 1 else self.diagonal[:, None]
        inner = cho_solve(self.cholesky, self.B @ (right / D), check_finite=False)
        return (right - self.B.T @ inner) / D

    def _multiply(self, x: Array) -> Array:
        """Return ``(D + B^T C B) x`` for a vector or for a few columns."""
        scaling, cones = self.scaling, self.scaling.cones
        columns = x if x.ndim == 2 else x[:, None]
        Bx = self.B @ columns
        w1 = scaling.w.tails[:, None]
        along = np.repeat(np.add.reduceat(w1 * Bx, cones.starts, axis=0), cones.ranks, axis=0)
        CBx = (Bx + 2.0 * w1 * along) * cones.spread(scaling.beta**-2)[:, None]
        product = self.diagonal[:, None] * columns + self.B.T @ CBx
        return product if x.ndim == 2 else product[:, 0]


__all__ = ["ConeProgram", "ConeSolution", "Iterate", "solve_cone_program"]
