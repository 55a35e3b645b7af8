"""The result of a solver: a point, a certificate of its distance to the optimum, and why the solver stopped.

Solvers minimise. A certificate is a pair of bounds, ``dual <= optimum <= primal``, never a step length.
"""

import logging
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

Point = TypeVar("Point")

#: A start that is within this share of the lower bound is optimal: an interior point without anything to gain comes as
#: close before rounding stops it, and the gain is far larger wherever there is one.
AGREE = 1e-7
#: Gaps below this share of the start are rounding.
ROUNDING = 1e-12


class Status(StrEnum):
    """Why a solver stopped."""

    CONVERGED = "converged"  #: The requested gap is reached.
    MAX_ITER = "max_iter"  #: The iterations ran out first.
    ESTIMATED = "estimated"  #: The gap is reached by an estimate of a bound; the estimate is not proven.
    STALLED = "stalled"  #: Rounding, or an inexact sub-solver, keeps the gap from closing further.
    REFITTED = "refitted"  #: The gap was reached, and the point was then moved away from the optimum, as asked.


@dataclass(frozen=True)
class Certificate:
    """Bounds around the optimum of a minimisation: ``dual <= optimum <= primal``.

    Parameters
    ----------
    primal : float
        Objective of a feasible point; ``inf`` if there is none yet.
    dual : float
        Objective of a dual feasible point; ``-inf`` if there is none yet.
    start : float, optional
        Objective of the point that has learned nothing, such as f = 0. Where it is given, the relative gap is relative
        to ``start - optimum``, what there is to gain, where that is less than the objective.

    Attributes
    ----------
    gap : float
    relative_gap : float

    Examples
    --------
    >>> from kernelwise.optim import Certificate
    >>> early, late = Certificate(primal=1.5, dual=0.5), Certificate(primal=2.0, dual=1.0)
    >>> early.merge(late)
    Certificate(primal=1.5, dual=1.0, start=None)
    >>> early.merge(late).gap
    0.5

    A gap of .001 is small beside an objective of one, and large if the optimum is hardly better than the start:

    >>> round(Certificate(primal=0.998, dual=0.997).relative_gap, 3)
    0.001
    >>> round(Certificate(primal=0.998, dual=0.997, start=1.0).relative_gap, 3)
    0.5
    """

    primal: float
    dual: float
    start: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("primal", self.primal), ("dual", self.dual)):
            if math.isnan(value):
                raise ValueError(f"{name} must be a number, got nan; use an infinite bound where there is none")

    @property
    def gap(self) -> float:
        """``primal - dual``; below zero by rounding only, by more if one of the bounds is wrong."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap beside the size of the objective; unchanged when the objective is rescaled.

        The size is ``max(|primal|, |dual|)``, or ``start - primal`` where there is a start and this is smaller. So a
        relative gap of ``tol`` proves ``primal - optimum <= tol * (start - optimum)``. Where the start itself is
        optimal there is nothing to gain: if both bounds agree with the start to seven digits (:data:`AGREE`), the
        relative gap is 0.

        Two bounds of zero agree too. An optimum of zero has no scale: look at ``gap``. Without both bounds the
        relative gap is ``inf``.
        """
        if math.isinf(max(abs(self.primal), abs(self.dual))):
            return math.inf
        if self.start is not None and max(self.start - self.dual, self.gap) <= AGREE * abs(self.start):
            return 0.0
        return self.gap / self._size if self._size > 0.0 else 0.0 if self.start is None else math.inf

    def allowed(self, tol: float) -> float:
        """Return the gap at which the relative gap is at most ``tol``, for the primal bound of now."""
        if self.start is not None and self.start - self.primal <= AGREE * abs(self.start):
            return ROUNDING * abs(self.start)  # nothing is gained yet
        return tol * self._size

    @property
    def _size(self) -> float:
        size = max(abs(self.primal), abs(self.dual))
        return size if self.start is None else max(min(size, self.start - self.primal), 0.0)

    def merge(self, other: "Certificate") -> "Certificate":
        """Tightest bounds of both: the smaller primal and the larger dual."""
        return Certificate(min(self.primal, other.primal), max(self.dual, other.dual), self.start)


class HistoryRow(NamedTuple):
    """Bounds after an iteration, with the seconds since the start.

    Examples
    --------
    >>> from kernelwise.optim import HistoryRow
    >>> HistoryRow(iteration=1, seconds=0.25, primal=2.0, dual=1.0).seconds
    0.25
    """

    iteration: int
    seconds: float
    primal: float
    dual: float


def log_row(row: HistoryRow) -> None:
    """Write the bounds of an iteration to the log of the package, for ``verbose``."""
    bounds = row.iteration, row.seconds, row.dual, row.primal
    logging.getLogger("kernelwise").info("iteration %d, %.2f s: %.6g <= optimum <= %.6g", *bounds)


@dataclass(frozen=True, eq=False)
class SolverResult(Generic[Point]):
    """The best point a solver has seen and the certificate that goes with it."""

    point: Point
    certificate: Certificate  # the best bounds of all iterates, not the bounds of the last iterate
    status: Status
    n_iter: int
    history: tuple[HistoryRow, ...] = ()

    @property
    def converged(self) -> bool:
        """Whether the requested gap is reached."""
        return self.status is Status.CONVERGED
