"""The noise model for three classes or more.

    P(true = k | s) = softmax_k(a s_k + b_k),    P(given = j | s) = sum_k T[k, j] P(true = k | s).

Row ``k`` of ``T`` has a Dirichlet prior around symmetric noise of rate ``e``, worth :data:`ROWS` labels. For each ``e``
on a grid, expectation maximisation finds ``(a, b, T)``; the rates are then weighed by their likelihood, with the rows
of ``T`` integrated out over the expected counts.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, softmax

from .posterior import FLOOR, NoisePosterior

Array = NDArray[np.float64]

#: The rates at which symmetric noise is tried.
RATES = (0.003, 0.03, 0.07, 0.12, 0.18, 0.25, 0.32, 0.4, 0.48, 0.56, 0.64)
#: The prior of a row of T is worth this many labels.
ROWS = 120.0
#: Mean and standard deviation of the logarithm of the slope: about the values for true labels on 23 data sets.
SLOPE = (0.57, 0.6)
#: Precision of the prior on the offsets.
RIDGE = 1.0
N_ROUNDS = 30


def fit_many_classes(scores: Array, given: NDArray[np.intp], weight: Array) -> NoisePosterior:
    """Return the posterior over symmetric rates, each with its own best slope, offsets and transition matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.labels.noise_model.many_classes import fit_many_classes
    >>> true = np.repeat([0, 1, 2], 100)
    >>> given = true.copy()
    >>> given[::5] = (given[::5] + 1) % 3
    >>> posterior = fit_many_classes(np.eye(3)[true], given, np.ones(300))
    >>> bool(abs(posterior.noise_rate - 0.2) < 0.05)
    True
    """
    center = weight @ scores / weight.sum()
    spread = float(np.sqrt(weight @ ((scores - center) ** 2).mean(axis=1) / weight.sum())) or 1.0
    problem = _Mixture((scores - center) / spread, given, weight)
    found = [problem.maximise(rate) for rate in RATES]
    logs = np.array([setting[0] for setting in found]) + np.log(np.gradient(RATES))
    slopes = np.array([setting[1] for setting in found]) / spread
    posterior = NoisePosterior(
        np.exp(logs - logsumexp(logs)),
        slopes,
        np.stack([setting[2] for setting in found]) - slopes[:, None] * center,
        np.stack([setting[3] for setting in found]),
        np.stack([setting[4] for setting in found]),
    )
    rate = posterior.noise_rate
    return replace(posterior, counting_error=float(np.sqrt(rate * (1 - rate) / weight.sum())))


class _Mixture:
    """Standardised scores with given labels, and expectation maximisation for their noise model."""

    def __init__(self, scores: Array, given: NDArray[np.intp], weight: Array):
        self.scores, self.given, self.weight = scores, given, weight
        self.n_classes = scores.shape[1]
        self.counted = np.eye(self.n_classes)[given] * weight[:, None]

    def maximise(self, rate: float) -> tuple[float, float, Array, Array, Array]:
        """Return (log-evidence, slope, offsets, transition, class shares) at a prior rate."""
        K = self.n_classes
        prior = np.full((K, K), rate / (K - 1))
        np.fill_diagonal(prior, 1 - rate)
        T, slope, offsets = prior, float(np.exp(SLOPE[0])), np.log(self.counted.sum(axis=0) + 1)
        offsets -= offsets.mean()
        for _ in range(N_ROUNDS):
            responsibility = softmax(slope * self.scores + offsets, axis=1) * T[:, self.given].T
            responsibility /= np.maximum(responsibility.sum(axis=1, keepdims=True), FLOOR**2)
            counts = responsibility.T @ self.counted
            T = (counts + ROWS * prior) / (counts.sum(axis=1, keepdims=True) + ROWS)
            for _ in range(2):
                slope, offsets = self._newton(responsibility, slope, offsets)
        true = softmax(slope * self.scores + offsets, axis=1)
        likelihood = self.weight @ np.log(np.maximum((true @ T)[np.arange(len(true)), self.given], FLOOR))
        evidence = likelihood - np.sum(counts * np.log(T)) + _log_dirichlet(counts, ROWS * prior + 1)
        evidence -= 0.5 * ((np.log(slope) - SLOPE[0]) / SLOPE[1]) ** 2
        evidence -= 0.5 * RIDGE * np.sum((offsets - offsets.mean()) ** 2)
        return float(evidence), slope, offsets, T, self.weight @ true / self.weight.sum()

    def _newton(self, responsibility: Array, slope: float, offsets: Array) -> tuple[float, Array]:
        """Make one damped Newton step for the slope, and one for the offsets, of the expected log-posterior."""
        true = softmax(slope * self.scores + offsets, axis=1)
        excess = self.weight[:, None] * (responsibility - true)
        mean = np.sum(true * self.scores, axis=1)
        pull = (np.log(slope) - SLOPE[0]) / (SLOPE[1] ** 2 * slope)
        curvature = self.weight @ (np.sum(true * self.scores**2, axis=1) - mean**2) + 1 / (SLOPE[1] * slope) ** 2
        step = (np.sum(excess * self.scores) - pull) / curvature
        weighted = self.weight[:, None] * true
        hessian = np.diag(weighted.sum(axis=0)) - true.T @ weighted + RIDGE * np.eye(self.n_classes)
        offsets = offsets + np.linalg.solve(hessian, excess.sum(axis=0) - RIDGE * (offsets - offsets.mean()))
        return float(np.clip(slope + np.clip(step, -slope / 2, slope), 0.2, 60.0)), offsets


def _log_dirichlet(counts: Array, prior: Array) -> float:
    """Return the logarithm of the mean of ``prod T^counts`` over Dirichlet rows."""
    after = prior + counts
    rows = gammaln(prior.sum(axis=1)) - gammaln(after.sum(axis=1)) + np.sum(gammaln(after) - gammaln(prior), axis=1)
    return float(rows.sum())
