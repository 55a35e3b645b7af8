r"""What features tell of classes, for every sample by a fit to the other samples.

With features :math:`\phi(x)` of several kernels side by side and soft classes :math:`R` (n, K), ridge regression of the
columns of R gives scores :math:`L` that leave out the sample itself, in closed form
(:mod:`kernelwise.labels.views.ridge`). A slope turns scores into log-probabilities,

.. math:: \log P_{ik} = \log \operatorname{softmax}_k(c \, L_{ik}), \qquad
    c \text{ maximises } \textstyle\sum_{ik} R_{ik} \log P_{ik}.

The kernels are linear and Gaussian, the latter with two widths relative to the median distance: one kernel alone fits
some data and not others, and the ridge finds its directions in all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from ...kernels import FactorBank, Gaussian, Kernel, Linear
from ...kernels.specs import squared_distances
from ...labels.views.ridge import RidgeSystem
from ...ties import differ, first_best

Array = NDArray[np.float64]

#: Ridge penalties for features of unit mean squared length per kernel, and slopes of the scores.
PENALTIES = 10.0 ** np.linspace(-2.0, 2.0, 9)
SLOPES = 2.0 ** np.arange(-1, 6)
#: Widths of the Gaussian kernels in units of the median distance, and the number of rows that tell the median.
WIDTHS, MEDIAN_ROWS = (0.4, 0.8), 500
#: Each kernel has at most this many landmarks, and fewer for many samples.
MAX_RANK, MANY_RANK, MANY_SAMPLES = 300, 100, 20_000
#: The number of principal coordinates of the features that are kept.
PRINCIPAL = 100


@dataclass(frozen=True)
class Told:
    """What the features tell: log-probabilities, left out, and the penalty and the slope that they come from."""

    prior: Array
    penalty: int
    slope: float


class ClassFeatures:
    """The features of all samples, decomposed once; every call of :meth:`tell` fits another set of soft classes.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.pairs.classes.features import ClassFeatures
    >>> X = np.repeat([0.0, 1.0], 20)[:, None] + 0.1 * np.random.RandomState(0).randn(40, 1)
    >>> features = ClassFeatures.of_kernels(X, None, np.random.RandomState(0))
    >>> told = features.tell(np.eye(2)[np.repeat([0, 1], 20)])
    >>> bool((told.prior.argmax(axis=1) == np.repeat([0, 1], 20)).all())
    True
    """

    def __init__(self, rows: Array, maps: Sequence[Callable[[Any], Array]]) -> None:
        self.maps = maps
        self.ridge = RidgeSystem.decompose(rows, np.zeros((len(rows), 1)))
        leading = slice(-1, -PRINCIPAL - 1, -1)
        self.principal = self.ridge.left[:, leading] * self.ridge.singular[leading]
        self._leverages: dict[int, Array] = {}

    @classmethod
    def of_kernels(cls, X: Any, kernels: Sequence[Kernel] | None, rng: np.random.RandomState) -> "ClassFeatures":
        """The features of some kernels, each centred and scaled to unit mean squared length."""
        chosen = default_kernels(X) if kernels is None else kernels
        rank = MAX_RANK if X.shape[0] <= MANY_SAMPLES else MANY_RANK
        bank = FactorBank.build(X, chosen, tol=1e-8, max_rank=rank, center=True, scale=True, random_state=rng)
        return cls(np.hstack([bank.factor(j) for j in range(bank.n_kernels)]), bank.maps)

    def tell(self, classes: Array, near: Told | None = None) -> Told:
        """Fit soft classes; ``near`` is an earlier fit to similar classes, whose penalty is close to the best one."""
        ridge, last = replace(self.ridge, targets=classes), len(PENALTIES) - 1
        tried = range(last + 1) if near is None else range(max(near.penalty - 1, 0), min(near.penalty + 1, last) + 1)
        told = [ridge.leave_one_out(PENALTIES[position], leverages=self.leverages(position)) for position in tried]
        best = first_best([-float(((classes - scores) ** 2).sum()) for scores in told])
        fits = [log_softmax(slope * told[best], axis=1) for slope in SLOPES]
        steepest = first_best([float(np.einsum("ik,ik->", classes, logs)) for logs in fits])
        return Told(fits[steepest], tried[best], float(SLOPES[steepest]))

    def leverages(self, position: int) -> Array:
        """The leverages for one of the penalties, computed once."""
        if position not in self._leverages:
            self._leverages[position] = self.ridge.leverages(PENALTIES[position])
        return self._leverages[position]

    def predictor(self, classes: Array, told: Told) -> "ClassPredictor":
        """The class probabilities of new samples, by the fit to soft classes that ``told`` comes from."""
        beta, intercepts = replace(self.ridge, targets=classes).coefficients(PENALTIES[told.penalty])
        return ClassPredictor(tuple(self.maps), told.slope * beta, told.slope * intercepts)


class NoFeatures:
    """Samples without features: all that is known of a class is its share."""

    principal = None

    def tell(self, classes: Array, near: Told | None = None) -> Told:
        """The shares of the classes, for every sample."""
        shares = np.log(classes.mean(axis=0) + np.finfo(float).tiny)
        return Told(np.tile(shares - np.logaddexp.reduce(shares), (len(classes), 1)), 0, 1.0)


@dataclass(frozen=True)
class ClassPredictor:
    """``softmax(phi(x)^T beta + intercepts)`` for new samples."""

    maps: tuple[Callable[[Any], Array], ...]
    beta: Array
    intercepts: Array

    def __call__(self, X: Any) -> Array:
        rows = np.hstack([phi(X) for phi in self.maps])
        return np.asarray(softmax(rows @ self.beta + self.intercepts, axis=1))


def default_kernels(X: Array) -> list[Kernel]:
    """A linear kernel and two Gaussian kernels, narrower than the median distance between samples."""
    few = X[np.linspace(0, len(X) - 1, min(len(X), MEDIAN_ROWS)).astype(np.intp)]
    distances = np.sqrt(squared_distances(few, few))[np.triu_indices(len(few), 1)]
    distances = distances[differ(distances)]  # equal rows do not count
    median = float(np.median(distances)) if len(distances) else 1.0
    return [Linear(), *(Gaussian(width=factor * median) for factor in WIDTHS)]
