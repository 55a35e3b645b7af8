r"""Classes that overlap, or labels that are wrong near the boundary? Average over both explanations.

The model of :mod:`kernelwise.problems.label_noise` reads the noise rate ``r`` where scores are clear, and takes what
they leave open in the middle for *overlap* of the classes. *Errors near the boundary* explain the middle as well: then
classes do not overlap, no class has more errors than another at the same place, and every label that differs from the
most probable one is wrong, a share ``q > r`` of all. Nothing in the data tells the two apart; how much there is to
explain, ``b = q - r``, says which to expect:

=================  =====================================================================================
explanation        density of ``b``
=================  =====================================================================================
overlap            exponential with mean :data:`OVERLAP`: most classes overlap little, some a lot
errors             ``48 b (1/2 - b)`` on [0, 1/2]: few need no telling, and no label is wrong more often than
                   right; times ``exp(-r / SCARCE)``, since errors of both kinds at once are rarer
=================  =====================================================================================

With even odds before, the probability of errors follows by Bayes' rule, and everything is averaged with it.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from .label_noise import NoisePosterior, fit_label_noise, interval_of

Array = NDArray[np.float64]
Value = TypeVar("Value", float, Array)

#: The mean of ``b`` on 69 sets with clean labels (benchmarks/noise).
OVERLAP = 0.118
#: The rate of other errors at which errors near the boundary become e times rarer.
SCARCE = 0.15
#: If classes do not overlap, probabilities are sharper than labels let them look: they are raised to this power.
SHARPER = 1.25
#: The normal error of counting, as so many equally likely values.
N_ATOMS = 9
#: No class loses all of its probability when errors are taken off: it keeps this share at least.
KEPT = 0.02


@dataclass(frozen=True)
class ExplainedNoise:
    """The noise under both explanations.

    Parameters
    ----------
    overlap : NoisePosterior
        The noise if classes overlap.
    boundary_share : float
        The probability that labels are wrong near the boundary instead.
    largest_rate, largest_transition : float, array of shape (n_classes, n_classes)
        The share of wrong labels, and P(given | true), if they are.
    counting_error : float
        The standard error of ``largest_rate``.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.problems.label_noise_boundary import explain_label_noise
    >>> score = np.linspace(-1, 1, 400)
    >>> chance = np.random.default_rng(0).random(400)
    >>> given = (chance < 0.5 + 0.5 * score).astype(int)  # overlap, or errors near zero?
    >>> noise = explain_label_noise(np.column_stack([np.zeros(400), score]), given)
    >>> bool(noise.overlap.noise_rate < 0.1), bool(0.2 < noise.largest_rate < 0.3), bool(noise.boundary_share > 0.5)
    (True, True, True)
    """

    overlap: NoisePosterior
    boundary_share: float
    largest_rate: float
    largest_transition: Array
    counting_error: float

    @property
    def noise_rate(self) -> float:
        """The mean share of wrong labels."""
        return self._mean(self.overlap.noise_rate, self.largest_rate)

    @property
    def transition(self) -> Array:
        """The mean of P(given | true): rows are true classes, columns given ones."""
        return self._mean(self.overlap.transition, self.largest_transition)

    def interval(self, mass: float = 0.9) -> tuple[float, float]:
        """Return the bounds that the share of wrong labels lies between with this probability."""
        atoms = self.largest_rate + self.counting_error * norm.ppf((np.arange(N_ATOMS) + 0.5) / N_ATOMS)
        rates = np.concatenate([self.overlap.rates, atoms])
        shares = (1 - self.boundary_share) * self.overlap.weights, np.full(N_ATOMS, self.boundary_share / N_ATOMS)
        return interval_of(rates, np.concatenate(shares), mass, self.overlap.counting_error)

    def true_probabilities(self, scores: Array) -> Array:
        """Return P(true = k | scores) for samples whose label was not seen."""
        belief = self.overlap.true_probabilities(scores)
        return self._mean(belief, _belief_if_errors(belief @ self.overlap.transition, self.overlap.noise_rate))

    def label_posterior(self, scores: Array, given: NDArray[np.intp]) -> Array:
        """Return P(true = k | scores, given label) for scores that the given label had no part in."""
        labels, rows = self.overlap.true_probabilities(scores) @ self.overlap.transition, np.arange(len(given))
        wrong, per_label = _boundary_flips(labels)
        flips = per_label * labels[rows, given][:, None]
        flips[rows, given] = 1 - wrong
        found = _belief_if_errors(labels, self.overlap.noise_rate) * flips
        found /= found.sum(axis=1, keepdims=True)
        return self._mean(self.overlap.label_posterior(scores, given), found)

    def _mean(self, overlap: Value, errors: Value) -> Value:
        return (1 - self.boundary_share) * overlap + self.boundary_share * errors


def explain_label_noise(scores: Array, given: NDArray[np.intp], weight: Array | None = None) -> ExplainedNoise:
    """Fit the noise model and return it with its other explanation; parameters as in :func:`fit_label_noise`."""
    return explained(fit_label_noise(scores, given, weight), scores, weight)


def explained(overlap: NoisePosterior, scores: Array, weight: Array | None = None) -> ExplainedNoise:
    """Return a fitted noise model with its other explanation."""
    weight = np.ones(len(scores)) if weight is None else weight
    labels = overlap.true_probabilities(scores) @ overlap.transition
    belief = weight[:, None] * _belief_if_errors(labels, overlap.noise_rate)
    wrong, per_label = _boundary_flips(labels)
    transition = (belief * per_label).T @ labels
    np.fill_diagonal(transition, (1 - wrong) @ belief + np.finfo(float).tiny)  # a class that nobody has keeps its label
    transition /= transition.sum(axis=1, keepdims=True)
    rate = float(weight @ wrong / weight.sum())
    return ExplainedNoise(
        overlap,
        _probability_of_errors(rate - overlap.noise_rate, overlap.noise_rate),
        rate,
        transition,
        float(np.sqrt(rate * (1 - rate) / weight.sum())),
    )


def _probability_of_errors(unexplained: float, rate: float) -> float:
    """Bayes' rule for ``b`` left to explain at a rate ``r`` of other errors."""
    b = float(np.clip(unexplained, 0.0, 0.5))
    errors, overlap = 48 * b * (0.5 - b) * np.exp(-rate / SCARCE), np.exp(-b / OVERLAP) / OVERLAP
    return float(errors / (errors + overlap))


def _belief_if_errors(labels: Array, rate: float) -> Array:
    """P(true = k | s) if classes do not overlap: P(given | s) without errors of one rate for all, sharpened."""
    off = rate / (labels.shape[1] - 1)
    sharp = np.maximum(labels - off, KEPT * labels) ** SHARPER
    return sharp / sharp.sum(axis=1, keepdims=True)


def _boundary_flips(labels: Array) -> tuple[Array, Array]:
    """How often a label is wrong here, and P(given = j | true = k, s) / P(given = j | s) for every ``k``, not ``j``.

    ``labels`` are P(given | s). A label is wrong as often as it differs from the most probable one, whatever the true
    one, and then one of those that are given here.
    """
    wrong = 1 - labels.max(axis=1)
    return wrong, wrong[:, None] / np.maximum(1 - labels, np.finfo(float).tiny)
