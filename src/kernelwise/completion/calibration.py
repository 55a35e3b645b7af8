"""Scores of pairs held out, and probabilities from them.

What is predicted are mostly pairs of samples that were never labelled, so it is samples that are held out, not pairs:
scores of pairs whose ends both helped to fit the core would look too good.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from .known_block import KnownBlock

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

HELD_OUT = 1 / 3
#: With fewer pairs than this on either side there is nothing to learn from holding them out.
LEAST_PAIRS = 20


def hold_out(block: KnownBlock, random_state: np.random.RandomState) -> tuple[Mask, Mask] | None:
    """Known entries to fit and to test; None where there are too few of either.

    A third of the samples is held out: entries of two such samples test, entries of two others fit.
    """
    held = random_state.permutation(len(block.index)) < HELD_OUT * len(block.index)
    n_held = held[block.rows].astype(int) + held[block.cols]
    fitting, testing = n_held == 0, n_held == 2
    return (fitting, testing) if min(fitting.sum(), testing.sum()) >= LEAST_PAIRS else None


class Calibration(NamedTuple):
    """Probability of one class given a score: increasing, and linear between these points."""

    scores: Array
    probabilities: Array

    @classmethod
    def fit(cls, scores: Array, block: KnownBlock, noise_rate: float) -> Self:
        r"""Isotonic regression of the given labels on the scores, corrected for flips: :math:`(p - e) / (1 - 2 e)`."""
        isotonic = IsotonicRegression().fit(scores, block.values, sample_weight=block.weights)
        corrected = (isotonic.y_thresholds_ - noise_rate) / (1.0 - 2.0 * noise_rate)
        doubt = 1.0 / (len(scores) + 2.0)  # nothing is certain: one pair on either side may be the exception
        return cls(isotonic.X_thresholds_, np.clip(corrected, doubt, 1.0 - doubt))

    def __call__(self, scores: Array) -> Array:
        return np.interp(scores, self.scores, self.probabilities)
