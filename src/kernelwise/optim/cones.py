"""Products of second-order cones ``{(x0, x1) : ||x1|| <= x0}`` and their Nesterov-Todd scaling.

A point of J cones of ranks r_1..r_J is a pair ``(heads, tails)``: J numbers and one stacked vector of ``sum r_j``
entries. The notation is that of Vandenberghe, "The CVXOPT linear and quadratic cone program solvers" (2010), sections
2.2 and 4.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..checks import Array, Index


class ConePoint(NamedTuple):
    """One vector in the product of cones."""

    heads: Array
    tails: Array

    def __add__(self, other: "ConePoint") -> "ConePoint":  # type: ignore[override]  # the sum of two tuples is one longer tuple
        return ConePoint(self.heads + other.heads, self.tails + other.tails)

    def scaled(self, factor: float) -> "ConePoint":
        """Return ``factor`` times the point."""
        return ConePoint(factor * self.heads, factor * self.tails)


@dataclass(frozen=True)
class Cones:
    """J second-order cones with tails of the given ranks (each at least 1)."""

    ranks: Index

    @cached_property
    def starts(self) -> Index:
        """Where the tail of each cone begins."""
        return np.concatenate([[0], np.cumsum(self.ranks)[:-1]]).astype(np.intp)

    def sums(self, tails: Array) -> Array:
        """Sum the tail entries of each cone."""
        return np.add.reduceat(tails, self.starts)

    def spread(self, heads: Array) -> Array:
        """Repeat one number per cone over its tail."""
        return np.repeat(heads, self.ranks)

    def dots(self, x: ConePoint, y: ConePoint) -> Array:
        """Return the inner product of ``x`` and ``y`` in each cone."""
        return x.heads * y.heads + self.sums(x.tails * y.tails)

    def determinant(self, x: ConePoint) -> Array:
        """Return ``x0^2 - ||x1||^2`` per cone, factored to lose as little as possible to cancellation."""
        norms = np.sqrt(self.sums(x.tails**2))
        return (x.heads - norms) * (x.heads + norms)

    def product(self, x: ConePoint, y: ConePoint) -> ConePoint:
        """Return the Jordan product ``(x . y, x0 y1 + y0 x1)``."""
        tails = self.spread(x.heads) * y.tails + self.spread(y.heads) * x.tails
        return ConePoint(self.dots(x, y), tails)

    def divide(self, x: ConePoint, y: ConePoint) -> ConePoint:
        """Return the ``u`` with ``x o u = y``."""
        heads = (x.heads * y.heads - self.sums(x.tails * y.tails)) / self.determinant(x)
        return ConePoint(heads, (y.tails - self.spread(heads) * x.tails) / self.spread(x.heads))

    def longest_step(self, x: ConePoint, direction: ConePoint) -> float:
        """Return the largest a with ``x + a direction`` in the cones (infinity where every a will do)."""
        size = np.sqrt(self.determinant(x))
        unit = ConePoint(x.heads / size, x.tails / self.spread(size))
        head = unit.heads * direction.heads - self.sums(unit.tails * direction.tails)
        tail = direction.tails - self.spread((head + direction.heads) / (unit.heads + 1.0)) * unit.tails
        worst = np.max((np.sqrt(self.sums(tail**2)) - head) / size)
        return float(1.0 / worst) if worst > 0 else np.inf


@dataclass(frozen=True)
class Scaling:
    """The symmetric ``W`` with ``W z = W^-1 s``."""

    cones: Cones
    beta: Array
    w: ConePoint
    v: ConePoint

    @classmethod
    def between(cls, cones: Cones, s: ConePoint, z: ConePoint) -> "Scaling":
        """Return the scaling of the interior points ``s`` and ``z``."""
        size_s, size_z = np.sqrt(cones.determinant(s)), np.sqrt(cones.determinant(z))
        unit_s = ConePoint(s.heads / size_s, s.tails / cones.spread(size_s))
        unit_z = ConePoint(z.heads / size_z, z.tails / cones.spread(size_z))
        gamma = np.sqrt((1.0 + cones.dots(unit_s, unit_z)) / 2.0)
        tails = (unit_s.tails - unit_z.tails) / cones.spread(2.0 * gamma)
        # The head follows from w^T J w = 1, which then holds to rounding.
        w = ConePoint(np.sqrt(1.0 + cones.sums(tails**2)), tails)
        root = np.sqrt(2.0 * (w.heads + 1.0))
        v = ConePoint((w.heads + 1.0) / root, w.tails / cones.spread(root))
        return cls(cones, np.sqrt(size_s / size_z), w, v)

    def apply(self, x: ConePoint) -> ConePoint:
        """Return ``W x``."""
        dot = 2.0 * self.cones.dots(self.v, x)
        heads = self.beta * (self.v.heads * dot - x.heads)
        return ConePoint(heads, self.cones.spread(self.beta) * (self.v.tails * self.cones.spread(dot) + x.tails))

    def solve(self, x: ConePoint) -> ConePoint:
        """Return ``W^-1 x``."""
        dot = 2.0 * (self.v.heads * x.heads - self.cones.sums(self.v.tails * x.tails))
        heads = (self.v.heads * dot - x.heads) / self.beta
        return ConePoint(heads, (x.tails - self.v.tails * self.cones.spread(dot)) / self.cones.spread(self.beta))
