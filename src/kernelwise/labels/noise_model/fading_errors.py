r"""A noise model in which labels are wrong more often near the boundary between two classes.

At the boundary ``c`` a label is right or wrong with equal chance; errors become rarer with the *rank* of the distance:

    P(given = 1 | s) = e + (1 - 2 e) T(s),    T(s) = 1/2 + sign(s - c) F(|s - c|)^g / 2,

where ``F`` is the share of the samples that are nearer to ``c``. A sigmoid with unequal flip rates has plateaus, and
this curve has none. So the curve distinguishes two cases that look alike in unbalanced classes: errors near the
boundary, where the rare class hardly gets beyond one half, and a class that has more errors than the other. Priors:
``e`` uniform on [0, 1/2), ``log g`` uniform around zero, ``c`` as the offset of :mod:`.two_classes`: around the
boundary beyond which lies the share of the labels that were given as class 1, with the variance at slope one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .posterior import FLOOR
from .two_classes import (
    LARGEST_RATE,
    N_RATES,
    NODES,
    ODDS,
    THRESHOLD,
    ScoreNodes,
    close_in,
    grid_points,
    log_volumes,
)

Array = NDArray[np.float64]

#: ``g`` lies between 1 / STEEPEST and STEEPEST.
STEEPEST = 2.0
#: The logarithm of a slope at which a sigmoid is a step.
LOG_STEEP = np.array(6.0)
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
    nodes = ScoreNodes.gather(score, given, weight)
    center = float(nodes.offsets_of_share()(LOG_STEEP))
    axes, log_mass = close_in(
        [
            np.linspace(0.0, LARGEST_RATE, N_RATES),
            np.linspace(-np.log(STEEPEST), np.log(STEEPEST), N_SHAPES),
            np.linspace(-2.5, 2.5, N_BOUNDARIES),
        ],
        lambda axes: _evaluate(nodes, center, axes),
    )
    evidence = float(logsumexp(log_mass))
    posterior = np.exp(log_mass - evidence).reshape(len(axes[0]), -1)
    curves = _true(nodes, center, *grid_points(axes[1:]).T)
    true = posterior.sum(axis=0) @ curves
    labels = (axes[0] @ posterior) @ (1 - 2 * curves) + true
    return FadingErrors(evidence, nodes.mean + nodes.spread * NODES, true, labels)


def _true(nodes: ScoreNodes, center: float, log_powers: Array, boundaries: Array) -> Array:
    """Return ``T`` at the nodes, one row per pair of ``log g`` and standard normal ``c``."""
    mass = nodes.counts.sum(axis=0) / nodes.counts.sum()
    below = np.concatenate([[0.0], np.cumsum((mass[1:] + mass[:-1]) / 2)])  # the share of the samples below a node
    c = center + np.hypot(THRESHOLD, ODDS) * boundaries[:, None]
    distance = np.abs(NODES - c)
    nearer = np.interp(c + distance, NODES, below) - np.interp(c - distance, NODES, below)
    return 0.5 + 0.5 * np.sign(NODES - c) * np.clip(nearer, 0.0, 1.0) ** np.exp(log_powers)[:, None]


def _evaluate(nodes: ScoreNodes, center: float, axes: Sequence[Array]) -> tuple[Array, Array]:
    """Return the grid points and the logarithms of likelihood times prior times cell volume."""
    filled = nodes.counts.sum(axis=0) > 0
    points, curves = grid_points(axes), _true(nodes, center, *grid_points(axes[1:]).T)[:, filled]
    found = []
    for rate in axes[0]:
        positive = np.clip(rate + (1 - 2 * rate) * curves, FLOOR, 1 - FLOOR)
        found.append(np.log(positive) @ nodes.counts[1, filled] + np.log1p(-positive) @ nodes.counts[0, filled])
    prior = -0.5 * points[:, 2] ** 2 - 0.5 * np.log(2 * np.pi) - np.log(LARGEST_RATE * 2 * np.log(STEEPEST))
    return points, np.concatenate(found) + prior + log_volumes(axes)
