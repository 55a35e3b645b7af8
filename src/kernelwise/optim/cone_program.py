"""An interior-point method for the dual of hinge-loss multiple kernel learning.

The program, in ``alpha`` (n) and ``t``::

    minimise    -sum(alpha) + curvature t^2 / 2
    subject to  ||B_j alpha|| <= t  for every cone j,   0 <= alpha <= upper,   sum(alpha) <= budget,   e^T alpha = 0

where the last two constraints are optional. The method is primal-dual path following with Nesterov-Todd scaling and
Mehrotra's corrector. A starting point that is strictly feasible in both the program and its dual can be written down,
so every iterate is strictly feasible, and ``s^T z`` is the gap.

Each iteration needs one Gram matrix of the rows of B (weighted over samples) and a few products with B. These are sums
over samples, so arrays with an entry per sample may be cut into row blocks on other machines (``samples.py``). The
cones, whose size is the sum of the ranks, are always in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from ..checks import Array
from ..samples import compute, persist
from .cones import ConePoint, Scaling
from .reduced_system import ConeProgram, ReducedInverse

#: After this many steps without a smaller gap, rounding is taken to prevent any further progress.
PATIENCE = 5


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
        solved = best.gap <= tol * abs(best.objective)
        moved = None if solved or since_best >= PATIENCE else _newton_step(state)
        if moved is None:
            return ConeSolution(best.point, best.gap, iteration)
        state = moved
        best, since_best = (state, 0) if state.gap < best.gap else (best, since_best + 1)
    return ConeSolution(best.point, best.gap, max_iter)


def _newton_step(state: "_State") -> "_State | None":
    """Predict, correct, and move; return None where rounding prevents progress."""
    try:
        system = _NewtonSystem(state)
    except LinAlgError:
        return None
    longest = min(1.0, state.longest_step(system.predictor))
    corrector = system.corrector((1.0 - longest) ** 3)
    return state.moved(corrector, min(1.0, 0.99 * state.longest_step(corrector)))


def _starting_point(program: ConeProgram) -> Iterate:
    """Write down a strictly feasible point of the program and of its dual."""
    share = 0.5 * program.upper
    if program.balance is not None:
        mass = program.balance * share
        above, below = compute(np.maximum(mass, 0.0).sum(), np.maximum(-mass, 0.0).sum())
        smaller = min(above, below)
        share = share * np.where(program.balance > 0, smaller / above, smaller / below)
    total = float(share.sum())
    if program.budget is not None:
        fraction = min(1.0, 0.99 * program.budget / total)
        share, total = share * fraction, total * fraction
    cones = program.cones
    longest = float(np.sqrt(cones.sums(np.asarray(program.B @ share) ** 2)).max())
    # The multiple of `share` that balances the two terms of the objective, as far as the bounds allow.
    best = total / (program.curvature * longest**2) if longest > 0 else 1.0
    scale = min(1.0, best)
    # Where the cones hardly restrict alpha, t is kept from vanishing beside the value that balances the objective.
    t = 1.5 * max(longest * scale, 1e-3 * float(np.sqrt(scale * total / program.curvature)))
    slack = np.inf if program.budget is None else program.budget - scale * total
    eta = min(0.5, 0.5 / slack)
    alpha, lower = persist(share * scale), persist(np.full_like(share, 0.5))
    heads = np.full(len(program.ranks), program.curvature * t / len(program.ranks))
    return Iterate(alpha, t, lower, persist(lower + 1.0 - eta), eta, 0.0, ConePoint(heads, np.zeros(len(program.B))))


@dataclass(frozen=True)
class _State:
    """An iterate with its slacks."""

    program: ConeProgram
    point: Iterate

    @cached_property
    def room(self) -> Array:
        """The slack of ``alpha <= upper``."""
        return self.program.upper - self.point.alpha

    @cached_property
    def _sums(self) -> tuple[Array, float, float, float, float]:
        """``B alpha``, ``sum(alpha)``, the gap of the bounds, their smallest slack or multiplier, and the balance."""
        x, room, balance = self.point, self.room, self.program.balance
        smallest = np.minimum(np.minimum(x.alpha, room), np.minimum(x.lower, x.upper)).min()
        gap = (x.lower * x.alpha + x.upper * room).sum()
        unbalanced = 0.0 if balance is None else balance @ x.alpha
        return compute(self.program.B @ x.alpha, x.alpha.sum(), gap, smallest, unbalanced)

    @cached_property
    def s(self) -> ConePoint:
        """``(t, B alpha)``, the slack of the cones."""
        return ConePoint(np.full(len(self.program.ranks), self.point.t), self._sums[0])

    @cached_property
    def left(self) -> float:
        """The slack of the budget."""
        return np.inf if self.program.budget is None else self.program.budget - float(self._sums[1])

    @cached_property
    def unbalanced(self) -> float:
        """The value of ``e^T alpha``, which is zero up to rounding."""
        return float(self._sums[4])

    @cached_property
    def gap(self) -> float:
        """``s^T z`` over all constraints."""
        x = self.point
        linear = self._sums[2] + (x.eta * self.left if x.eta > 0 else 0.0)
        return float(linear + self.program.cones.dots(self.s, x.z).sum())

    @property
    def inside(self) -> bool:
        """Whether every slack and every multiplier is positive, which rounding can prevent."""
        cones = self.program.cones
        smallest = min(self._sums[3], self.left, cones.determinant(self.s).min(), cones.determinant(self.point.z).min())
        return bool(smallest > 0 and np.isfinite(self.gap))

    @property
    def objective(self) -> float:
        return float(-self._sums[1] + self.program.curvature * self.point.t**2 / 2)

    @property
    def degree(self) -> int:
        return 2 * len(self.point.alpha) + len(self.program.ranks) + (self.program.budget is not None)

    def longest_step(self, d: "_Direction") -> float:
        x, cones = self.point, self.program.cones
        worst = d.worst
        if self.program.budget is not None:
            worst = max(worst, d.total / self.left, -d.eta / x.eta)
        linear = 1.0 / worst if worst > 0 else np.inf
        return min(linear, cones.longest_step(self.s, d.s), cones.longest_step(x.z, d.z))

    def moved(self, d: "_Direction", step: float) -> "_State | None":
        """Return the state after a step, or None where rounding has taken the state out of the interior."""
        x = self.point
        alpha, lower, upper = (
            persist(now + step * change) for now, change in ((x.alpha, d.alpha), (x.lower, d.lower), (x.upper, d.upper))
        )
        z = x.z + d.z.scaled(step)
        point = Iterate(alpha, x.t + step * d.t, lower, upper, x.eta + step * d.eta, x.bias + step * d.bias, z)
        state = _State(self.program, point)
        return state if state.inside else None


class _Change(NamedTuple):
    """The change of the variables of the samples, and in ``rest`` the change of t, eta and the bias."""

    alpha: Array
    lower: Array
    upper: Array
    rest: NDArray[np.floating[Any]]


class _Direction(NamedTuple):
    alpha: Array
    t: float
    lower: Array
    upper: Array
    eta: float
    bias: float
    z: ConePoint
    s: ConePoint  # the change of the cone slacks (t, B alpha)
    total: float  # the sum over alpha
    worst: float  # the inverse of the step at which a bound or its multiplier reaches zero


class _Sides(NamedTuple):
    """The right-hand sides of the linearised conditions: complementarity of bounds, budget and cones."""

    lower: Array
    upper: Array
    eta: float
    pull: ConePoint  # the part of the change of z that does not depend on the change of s


class _NewtonSystem:
    """The linearised optimality conditions at a state, reduced to ``alpha``: one factor for several right-hand sides.

    With ``D = lower/alpha + upper/room`` and the cone scaling W, the reduced matrix is ``D + B^T C B`` (C the tail
    part of ``W^-2``) bordered by the budget, t and the bias.
    """

    def __init__(self, state: _State):
        program, x = state.program, state.point
        self.state, self.cones = state, program.cones
        self.scaling = Scaling.between(self.cones, state.s, x.z)
        self.scaled_point = self.scaling.apply(x.z)
        self.affine = self._sides(centering=0.0, correction=None)
        # The border and the affine side are known at the same time, so they are found and solved in the same passes.
        head, beta, tails = self.scaling.w.heads, self.scaling.beta, self.scaling.w.tails
        column_t = -2.0 * tails * self.cones.spread(head / beta**2)
        corner = [program.curvature + float(((2.0 * head**2 - 1.0) / beta**2).sum())]
        images = program.B.T @ np.stack([column_t, self._pulls(self.affine)], axis=1)
        columns = [images[:, 0]]
        if program.budget is not None:
            columns.append(np.ones_like(x.alpha))
            corner.append(-state.left / x.eta)
        if program.balance is not None:
            columns.append(program.balance)
            corner.append(0.0)
        sides = persist(np.stack([*columns, self._pushes(self.affine) + images[:, 1]], axis=1))
        diagonal = persist(x.lower / x.alpha + x.upper / state.room)
        self.border, self.corner = sides[:, :-1], np.diag(corner)
        self.inverse = ReducedInverse(program, diagonal, self.scaling, first=sides)
        solved = self.inverse.solve(sides, against=self.border, ahead=self._first_change)
        self.predictor = self._direction(self.affine, *solved)  # towards the solution of the linearised conditions

    def corrector(self, centering: float) -> _Direction:
        """Return the direction to a point of the central path, corrected for the error of linearising."""
        sides = self._sides(centering=centering, correction=self.predictor)
        top = persist(self._pushes(sides) + self.state.program.B.T @ self._pulls(sides))
        solved = self.inverse.solve(top, against=self.border, ahead=partial(self._change, sides))
        return self._direction(sides, *solved)

    def _sides(self, *, centering: float, correction: _Direction | None) -> _Sides:
        state, x, scaling, cones = self.state, self.state.point, self.scaling, self.cones
        target = centering * state.gap / state.degree
        lower, upper = target - x.lower * x.alpha, target - x.upper * state.room
        eta = target - x.eta * state.left if state.program.budget is not None else 0.0
        cone = cones.product(self.scaled_point, self.scaled_point).scaled(-1.0)
        cone = ConePoint(cone.heads + target, cone.tails)
        if correction is not None:
            lower = lower - correction.lower * correction.alpha
            upper = upper + correction.upper * correction.alpha
            eta = eta + correction.eta * correction.total
            product = cones.product(scaling.solve(correction.s), scaling.apply(correction.z))
            cone = cone + product.scaled(-1.0)
        return _Sides(lower, upper, eta, scaling.solve(cones.divide(self.scaled_point, cone)))

    def _pulls(self, sides: _Sides) -> Array:
        """Return the part of the right-hand side of alpha that comes through ``B^T``."""
        return sides.pull.tails + self.state.point.z.tails

    def _pushes(self, sides: _Sides) -> Array:
        """Return the rest of the right-hand side of alpha, after all other variables are eliminated.

        The gradient of the Lagrangian, which is zero up to rounding, is subtracted so that rounding does not build up.
        """
        program, x = self.state.program, self.state.point
        gradient = x.upper - x.lower - 1.0 + x.eta
        if program.balance is not None:
            gradient = gradient + x.bias * program.balance
        return sides.lower / x.alpha - sides.upper / self.state.room - gradient

    def _first_change(self, solved: Array, products: Array) -> tuple[_Change, tuple[Any, Any, Any]]:
        """Keep the solution for the border, which is used again, and return the change for the affine side."""
        self.solved_border, self.schur = solved[:, :-1], self.corner - products[:, :-1]
        return self._change(self.affine, solved[:, -1], products[:, -1])

    def _change(self, sides: _Sides, solved: Array, products: Array) -> tuple[_Change, tuple[Any, Any, Any]]:
        """Solve the bordered system, given the solution of the reduced system for the right-hand side of alpha.

        For the change d of alpha, the sums are ``B d``, ``sum(d)``, and the inverse of the step at which a bound or its
        multiplier reaches zero.
        """
        state, x, program = self.state, self.state.point, self.state.program
        stationarity_t = float(program.curvature * x.t - x.z.heads.sum())
        bottom = [sides.pull.heads.sum() - stationarity_t]
        if program.budget is not None:
            bottom.append(-sides.eta / x.eta)
        if program.balance is not None:
            bottom.append(-state.unbalanced)
        rest = np.linalg.solve(self.schur, np.array(bottom) - products)
        move = solved - self.solved_border @ rest
        alpha = persist(move)
        lower = persist((sides.lower - x.lower * alpha) / x.alpha)
        upper = persist((sides.upper + x.upper * alpha) / state.room)
        ratios = np.maximum(
            np.maximum(-alpha / x.alpha, alpha / state.room), np.maximum(-lower / x.lower, -upper / x.upper)
        )
        return _Change(alpha, lower, upper, rest), (program.B @ alpha, alpha.sum(), ratios.max())

    def _direction(self, sides: _Sides, change: _Change, sums: Sequence[Any]) -> _Direction:
        """Return the change of all variables from the change of alpha."""
        program, scaling, (image, total, worst) = self.state.program, self.scaling, sums
        alpha, lower, upper, rest = change
        d_t = float(rest[0])
        d_eta = float(rest[1]) if program.budget is not None else 0.0
        d_bias = float(rest[-1]) if program.balance is not None else 0.0
        d_s = ConePoint(np.full(len(program.ranks), d_t), image)
        d_z = sides.pull + scaling.solve(scaling.solve(d_s)).scaled(-1.0)
        return _Direction(alpha, d_t, lower, upper, d_eta, d_bias, d_z, d_s, float(total), float(worst))
