"""Scores from many views, each weighed by its loss on samples that it did not see.

A view is a kernel with a path of ridge penalties, or a forest with a path of shrinkages. Each point of a path gives
out-of-sample scores ``l`` on the training rows. With targets ``y`` of +1 and -1, the loss of a point is the loss of
its best multiple,

    mean (y - mean(y) - c l)^2,    c > 0,

because only the direction of a score matters for a decision: without the free multiple, leave-one-out prefers too small
a penalty when many labels are wrong. Points of a path, then views, are averaged with weights
``prior * exp(-trust * n * loss / (2 * least loss))``. An average loses less than a choice that the noise misleads.
Along a path the prior is the penalty itself, since a penalty that is too large costs less than one that is too small.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_ndtr

from ...kernels import FactorBank, Kernel
from ...kernels.landmarks import LandmarkMap
from .diverse_kernels import diverse_kernels
from .forest import SHRINKAGES, ShrunkenForest
from .ridge import RidgeSystem

Array = NDArray[np.float64]
Scorer = Callable[[Any], Array]

#: Ridge penalties for kernels with unit mean diagonal.
PENALTIES = 10.0 ** np.linspace(-2.5, 3.5, 19)
#: How far differences of loss are trusted along a path and, divided by the number of outputs, between views.
TRUST_PATH, TRUST_VIEW = 3.0, 0.4
#: Differences of loss are relative to the least loss, but at least to this loss, so that views which are all nearly
#: perfect get similar weights.
LEAST_LOSS = 0.25
#: Up to ``EXACT`` samples kernels are factored to rounding; up to ``MANY`` samples with ``RANK_SOME`` landmarks, and
#: for more samples with ``RANK_MANY``.
EXACT, MANY, RANK_SOME, RANK_MANY = 1000, 5000, 500, 300
FACTOR_TOL = 1e-8


@dataclass(frozen=True)
class View:
    """One view, averaged over its path: the out-of-sample scores of training rows, and a function that scores new rows.

    All scores are centred.
    """

    name: str
    out_of_sample: Array
    loss: float
    score: Scorer


@dataclass(frozen=True)
class KernelScorer:
    """``(phi(x) - mean)^T beta`` for new samples."""

    feature_map: LandmarkMap
    mean: Array
    beta: Array

    def __call__(self, X: Any) -> Array:
        return (self.feature_map(X) - self.mean) @ self.beta


@dataclass(frozen=True)
class ScorePool:
    """All views with their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.views.pool import fit_pool
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> pool = fit_pool(X, np.sign(X), np.ones(60), np.random.RandomState(0))
    >>> bool(np.mean(np.sign(pool.out_of_sample) == np.sign(X)) > 0.9), pool(X).shape
    (True, (60, 1))
    """

    views: list[View]
    weights: Array
    base: Array

    @property
    def out_of_sample(self) -> Array:
        """The scores of the training rows; each row is scored by models that did not see its label."""
        return self.base + sum(w * view.out_of_sample for w, view in zip(self.weights, self.views, strict=True))

    def settled(self) -> "ScorePool":
        """Return the pool without the scores of the training rows and without the views of weight zero."""
        used = np.flatnonzero(self.weights)
        views = [replace(self.views[j], out_of_sample=np.zeros((0, len(self.base)))) for j in used]
        return ScorePool(views, self.weights[used], self.base)

    def __call__(self, X: Any) -> Array:
        """Return the scores of new rows."""
        return self.base + sum(w * view.score(X) for w, view in zip(self.weights, self.views, strict=True))


def fit_pool(X: Any, Y: Array, weight: Array, random_state: np.random.RandomState) -> ScorePool:
    """Fit every view to targets ``Y`` (n_samples, n_outputs) of +1 and -1, and weigh the views."""
    views = [_kernel_view(kernel, X, Y, weight, random_state) for kernel in diverse_kernels(X)]
    if not sp.issparse(X):
        shares = (0.0, 1.0) if X.shape[1] > 2 else (1.0,)
        views += [_forest_view(ShrunkenForest(share), X, Y, weight, random_state) for share in shares]
    return weigh(views, Y, weight)


def weigh(views: list[View], Y: Array, weight: Array) -> ScorePool:
    """Return the pool of the views, with weights that depend on their losses."""
    losses = np.array([view.loss for view in views])
    weights = _trusted(losses, np.ones(len(views)), TRUST_VIEW * weight.sum() / Y.shape[1])
    weights[weights < 1e-3 / len(weights)] = 0.0
    return ScorePool(views, weights / weights.sum(), weight @ Y / weight.sum())


def _kernel_view(kernel: Kernel, X: Any, Y: Array, weight: Array, random_state: np.random.RandomState) -> View:
    n = X.shape[0]
    rank = None if n <= EXACT else RANK_SOME if n <= MANY else RANK_MANY
    bank = FactorBank.build(
        X, [kernel], tol=FACTOR_TOL, max_rank=rank, center=True, scale=True, random_state=random_state
    )
    system = RidgeSystem.decompose(bank.factor(0), Y, weight)
    # The mean target of all other samples lies away from the target that is left out. It would hide small scores.
    others = (weight @ Y - weight[:, None] * Y) / np.maximum(weight.sum() - weight, 1e-12)[:, None]
    path = [system.leave_one_out(penalty) - others for penalty in PENALTIES]
    mixture, scores, loss = average_path(path, Y, weight, PENALTIES)
    beta = np.zeros((len(system.feature_mean), Y.shape[1]))
    for part, penalty in zip(mixture, PENALTIES, strict=True):
        beta += part * system.coefficients(penalty)[0] if part else 0.0
    return View(kernel.label, scores, loss, KernelScorer(bank.maps[0], system.feature_mean, beta))


def _forest_view(
    forest: ShrunkenForest, X: Array, Y: Array, weight: Array, random_state: np.random.RandomState
) -> View:
    scores = forest.grow(X, Y, weight, random_state).out_of_bag()
    mixture, _, loss = average_path(list(np.moveaxis(scores, 2, 0)), Y, weight, np.maximum(SHRINKAGES, 1.0))
    return View(forest.name, scores @ mixture, loss, forest.settle(mixture))


def average_path(path: list[Array], Y: Array, weight: Array, prior: Array) -> tuple[Array, Array, float]:
    """Return a multiple for each score along a path, the sum of these multiples, and the loss of this sum."""
    centred = Y - weight @ Y / weight.sum()
    total, mass = float(np.sum(weight @ centred**2)), weight.sum() * Y.shape[1]
    agreement = np.array([np.sum(weight @ (scores * centred)) for scores in path])
    power = np.array([np.sum(weight @ scores**2) for scores in path])
    known = power > 0
    spread = np.sqrt(np.where(known, power, 1.0) / total)
    multiple = np.where(known, _positive_mean(agreement / (spread * total), 1 / np.sqrt(mass)) / spread, 0.0)
    losses = (total - 2 * multiple * agreement + multiple**2 * power) / mass
    mixture = _trusted(losses, prior, TRUST_PATH * weight.sum()) * multiple
    combined = sum((part * scores for part, scores in zip(mixture, path, strict=True)), np.zeros_like(Y))
    return mixture, combined, float(np.sum(weight @ (combined - centred) ** 2)) / mass


def _positive_mean(correlation: Array, error: float) -> Array:
    """Return the mean of a correlation that is measured with a normal error and known to be positive.

    A model that learned from labels of which most are right is not worse than chance. Where many labels are wrong, the
    measured correlations of all views may be negative all the same, and then no view would have a positive multiple.
    """
    z = correlation / error
    hazard = np.exp(-(z**2) / 2 - log_ndtr(z)) / np.sqrt(2 * np.pi)
    return correlation + error * hazard


def _trusted(losses: Array, prior: Array, sharpness: float) -> Array:
    least = max(float(losses.min()), LEAST_LOSS)
    weights = prior * np.exp(-sharpness * (losses - losses.min()) / (2 * least))
    return weights / weights.sum()
