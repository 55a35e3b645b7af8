"""Support vector machines for problems that are nearly separable.

Squared loss asks a function to be equal to +1 and -1; a margin only asks it to be beyond +1 and -1. This helps a lot
where few labels are wrong and the boundary is intricate, and does not help where many labels are wrong. So these views
are fitted only if the noise rate without them is low. Their scores, cut off at the margins, come from five folds.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from ...kernels import Gaussian
from ...samples import balanced_folds
from .diverse_kernels import diverse_kernels
from .pool import View, average_path

Array = NDArray[np.float64]

N_FOLDS = 5
COSTS = (3.0, 100.0)
#: A machine that does not converge is stopped: it fits wrong labels, and its out-of-fold loss will be large.
MAX_ITER = 20_000
#: Beyond this many samples the machines would take longer than everything else.
MAX_SAMPLES = 2000


def margin_views(
    X: Any, target: NDArray[np.intp], Y: Array, weight: Array, random_state: np.random.RandomState
) -> list[View]:
    """Return a view per Gaussian kernel, each averaged over costs; none where a class is too small or X too large.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.views.margins import margin_views
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> views = margin_views(X, (X[:, 0] > 0).astype(int), np.sign(X), np.ones(60), np.random.RandomState(0))
    >>> len(views), views[0].out_of_sample.shape
    (2, (60, 1))
    """
    if len(target) > MAX_SAMPLES or np.bincount(target).min() < N_FOLDS:
        return []
    fold = balanced_folds(target, N_FOLDS, random_state)
    # The narrowest kernel separates any samples, and says nothing about new ones.
    widths = [kernel.width for kernel in diverse_kernels(X) if isinstance(kernel, Gaussian)][1:]
    return [_margin_view(width, X, target, Y, weight, fold) for width in widths]


@dataclass(frozen=True)
class MarginScorer:
    """The sum of multiples of the centred decisions of several machines."""

    machines: list[SVC]
    centres: list[Array]
    multiples: Array

    def __call__(self, X: Any) -> Array:
        parts = zip(self.multiples, self.machines, self.centres, strict=True)
        return sum((multiple * (_decisions(svc, X) - center) for multiple, svc, center in parts), np.zeros(1))


def _margin_view(
    width: float, X: Any, target: NDArray[np.intp], Y: Array, weight: Array, fold: NDArray[np.intp]
) -> View:
    path, machines, centres = [], [], []
    for cost in COSTS:
        scores = np.empty_like(Y)
        for k in range(N_FOLDS):
            kept = np.flatnonzero(fold != k)
            scores[fold == k] = _decisions(_machine(width, cost, X[kept], target[kept], weight[kept]), X[fold == k])
        centres.append(weight @ scores / weight.sum())
        path.append(scores - centres[-1])
        machines.append(_machine(width, cost, X, target, weight))
    multiples, scores, loss = average_path(path, Y, weight, np.ones(len(COSTS)))
    return View(f"margin, gaussian(width={width:g})", scores, loss, MarginScorer(machines, centres, multiples))


def _machine(width: float, cost: float, X: Any, target: NDArray[np.intp], weight: Array) -> SVC:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return SVC(C=cost, gamma=0.5 / width**2, max_iter=MAX_ITER, random_state=0).fit(X, target, weight)


def _decisions(svc: SVC, X: Any) -> Array:
    """Return decisions cut off at -1 and +1, in one column for two classes and one per class for more."""
    decisions = svc.decision_function(X)
    if decisions.ndim == 1:
        return np.clip(decisions, -1, 1)[:, None]
    # One against one: the winner has a vote against every other class, and the other classes have at least one less.
    return np.clip(2 * (decisions - decisions.shape[1] + 1.5), -1, 1)
