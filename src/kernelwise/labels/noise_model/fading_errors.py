r"""A noise model in which labels are wrong more often near the boundary between two classes.

At the boundary ``c`` a label is right or wrong with equal chance; errors become rarer with the *rank* of the distance:

    P(given = 1 | s) = e + (1 - 2 e) T(s),    T(s) = 1/2 + sign(s - c) F(|s - c|)^g / 2,

where ``F`` is the share of the samples that are nearer to ``c``. A sigmoid with unequal flip rates has plateaus, and
this curve has none. So the curve distinguishes two cases that look alike in unbalanced classes: errors near the
boundary, where the rare class hardly gets beyond one half, and a class that has more errors than the other. Priors:
``e`` uniform on [0, 1/2), ``log g`` uniform around zero, ``c`` as the offset of
:mod:`kernelwise.labels.noise_model.posterior` at slope one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .posterior import (
    FLOOR,
    LARGEST_RATE,
    N_RATES,
    ODDS,
    THRESHOLD,
    BinnedScores,
    grid_points,
    log_volumes,
    mean_and_spread,
    zoom_in,
)

Array = NDArray[np.float64]

#: ``g`` lies between 1 / STEEPEST and STEEPEST.
STEEPEST = 2.0
#: Points per axis of the grid.
N_SHAPES, N_BOUNDARIES = 5, 41


@dataclass(frozen=True)
class FadingErrors:
    """The curves P(true | s) and P(given | s), averaged over the posterior and tabulated at some scores.

    Parameters
    ----------
    log_evidence : float
        The logarithm of the mean likelihood.
    scores, true, given : arrays of shape (n_points,)
        P(true = 1 | s) and P(given = 1 | s) at scores in increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.noise_model.fading_errors import fit_fading_errors
    >>> score = np.linspace(-3, 1, 400)
    >>> wrong = np.random.default_rng(0).random(400) < 0.5 - np.argsort(np.argsort(np.abs(score))) / 800
    >>> errors = fit_fading_errors(score, np.where(wrong, score < 0, score > 0).astype(int), np.ones(400))
    >>> belief, labels = errors.probabilities(np.array([-2.0]))
    >>> bool(belief[0, 1] < 0.3), bool(labels[0, 1] < 0.3)
    (True, True)
    """

    log_evidence: float
    scores: Array
    true: Array
    given: Array

    def probabilities(self, score: Array) -> tuple[Array, Array]:
        """Return P(true | s) and P(given | s), one column per class."""
        curves = [np.interp(score, self.scores, curve) for curve in (self.true, self.given)]
        return np.column_stack([1 - curves[0], curves[0]]), np.column_stack([1 - curves[1], curves[1]])


def fit_fading_errors(score: Array, given: NDArray[np.intp], weight: Array) -> FadingErrors:
    """Return the curves for one out-of-sample score per sample and the given labels 0 and 1."""
    mean, spread = mean_and_spread(score, weight)
    binned = BinnedScores.gather((score - mean) / spread, given, weight)
    axes = [
        np.linspace(0.0, LARGEST_RATE, N_RATES),
        np.linspace(-np.log(STEEPEST), np.log(STEEPEST), N_SHAPES),
        np.linspace(-2.5, 2.5, N_BOUNDARIES),
    ]
    points, log_mass = zoom_in(axes, lambda axes: _evaluate(binned, axes))
    evidence = float(logsumexp(log_mass))
    posterior = np.exp(log_mass - evidence)
    likely = posterior > 1e-6 * posterior.max()
    posterior, points = posterior[likely] / posterior[likely].sum(), points[likely]
    curves = _true(binned, *points[:, 1:].T)
    labels = posterior @ (points[:, :1] + (1 - 2 * points[:, :1]) * curves)
    return FadingErrors(evidence, mean + spread * binned.centres, posterior @ curves, labels)


def _true(binned: BinnedScores, log_powers: Array, boundaries: Array) -> Array:
    """Return ``T`` at the centres of the bins, one row per pair of ``log g`` and standard normal ``c``."""
    signed = binned.centres - np.hypot(THRESHOLD, ODDS) * boundaries[:, None]
    order = np.argsort(np.abs(signed), axis=1)
    mass = np.take_along_axis(np.broadcast_to(binned.counts.sum(axis=0), signed.shape), order, axis=1)
    nearer = np.empty_like(signed)
    np.put_along_axis(nearer, order, (np.cumsum(mass, axis=1) - mass / 2) / mass.sum(axis=1, keepdims=True), axis=1)
    return 0.5 + 0.5 * np.sign(signed) * nearer ** np.exp(log_powers)[:, None]


def _evaluate(binned: BinnedScores, axes: Sequence[Array]) -> tuple[Array, Array]:
    """Return the grid points and the logarithms of likelihood times prior times cell volume."""
    points, curves = grid_points(axes), _true(binned, *grid_points(axes[1:]).T)
    found = []
    for rate in axes[0]:
        positive = np.clip(rate + (1 - 2 * rate) * curves, FLOOR, 1 - FLOOR)
        found.append(np.log(positive) @ binned.counts[1] + np.log1p(-positive) @ binned.counts[0])
    prior = -0.5 * points[:, 2] ** 2 - 0.5 * np.log(2 * np.pi) - np.log(LARGEST_RATE * 2 * np.log(STEEPEST))
    return points, np.concatenate(found) + prior + log_volumes(axes)
