"""Choose the number of eigenvectors, and learn probabilities from scores, both by pairs of held-out samples.

Most pairs that users ask for are pairs of samples without any known pair. So samples are held out, not pairs: if both
samples of a pair have helped to fit the core, the score of the pair looks too good.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from ..checks import is_count
from ..progress import Tell, silent
from ..ties import first_best
from .core_fit import CoreFitter
from .known_block import KnownBlock
from .matrix.observed import sample_product

Array = NDArray[np.float64]

#: Numbers of eigenvectors that n_components="auto" tries.
GRID = (5, 10, 20, 50, 100, 200)
#: More eigenvectors are not tried once the error is more than this many times the least error.
WORSE = 1.05
#: The fraction of the labelled samples that is held out.
HELD_OUT = 1 / 3
#: With fewer pairs than this to fit or to test, no sample is held out.
LEAST_PAIRS = 20


def check_components(n_components: Any) -> None:
    """Refuse an ``n_components`` that is wrong for any data."""
    if isinstance(n_components, str):
        if n_components != "auto":
            raise ValueError(f'n_components must be an int, several, or "auto", got {n_components!r}')
        return
    counts: list[Any] = list(n_components) if np.iterable(n_components) else [n_components]
    if not counts or not all(map(is_count, counts)):
        raise ValueError(f'n_components must be a positive int, several of them, or "auto", got {n_components!r}')


def candidates(n_components: Any, n_labelled: int, n_samples: int) -> list[int]:
    """The numbers of eigenvectors to try, all less than the number of labelled samples."""
    if isinstance(n_components, str):
        return [count for count in GRID if count < n_labelled] or [max(1, n_labelled - 1)]
    given: Any = [n_components] if isinstance(n_components, Integral) else n_components
    counts = sorted({int(count) for count in given})
    if counts[-1] > n_samples:
        raise ValueError(f"n_components={counts[-1]} is more than the {n_samples} samples")
    if counts[-1] >= n_labelled:
        raise ValueError(
            f"n_components={counts[-1]} must be less than the {n_labelled} labelled samples, those that occur in "
            'known pairs; label more of them, lower n_components, or set n_components="auto"'
        )
    return counts


class Calibration(NamedTuple):
    """The probability of one class as a function of the score: increasing, and linear between these points."""

    scores: Array
    probabilities: Array

    @classmethod
    def fit(cls, scores: Array, block: KnownBlock, noise_rate: float) -> Self:
        r"""Isotonic regression of the given labels on the scores, corrected for flips: :math:`(p - e) / (1 - 2 e)`."""
        isotonic = IsotonicRegression().fit(scores, block.values, sample_weight=block.weights)
        corrected = (isotonic.y_thresholds_ - noise_rate) / (1.0 - 2.0 * noise_rate)
        doubt = 1.0 / (len(scores) + 2.0)  # no probability is 0 or 1, as if one more pair of either label were known
        return cls(isotonic.X_thresholds_, np.clip(corrected, doubt, 1.0 - doubt))

    def __call__(self, scores: Array) -> Array:
        return np.interp(scores, self.scores, self.probabilities)


def choose_components(
    fitter: CoreFitter,
    labelled: Array,
    block: KnownBlock,
    counts: Sequence[int],
    *,
    calibrate: bool,
    random_state: np.random.RandomState,
    tell: Tell = silent,
) -> tuple[int, dict[int, float], Calibration | None]:
    """The number of eigenvectors with the least error on pairs of held-out samples, all errors, and probabilities.

    A third of the samples is held out. Entries of two held-out samples test, and entries of two other samples fit. If
    there are too few entries, the first number is taken. ``labelled`` are the rows of the basis at ``block.index``.
    """
    if not calibrate and len(counts) == 1:
        return counts[0], {}, None
    held_out = random_state.permutation(len(block.index)) < HELD_OUT * len(block.index)
    n_held = held_out[block.rows].astype(int) + held_out[block.cols]
    if min((n_held == 0).sum(), (n_held == 2).sum()) < LEAST_PAIRS:
        return counts[0], {}, None
    rest, held = block.among(n_held == 0), block.among(n_held == 2)
    fitting, testing = (labelled[np.searchsorted(block.index, part.index)] for part in (rest, held))
    completion = fitter.complete(rest, random_state)
    truth, scores = held.corrected(fitter.noise_rate).values, {}
    errors: dict[int, float] = {}
    for count in counts:
        rows = testing[:, :count] @ fitter.fit(fitting[:, :count], rest, completion, random_state).root
        scores[count] = sample_product(rows, rows, held.rows, held.cols)
        errors[count] = float(np.average((scores[count] - truth) ** 2, weights=held.weights))
        tell(len(errors), len(counts))
        if errors[count] > WORSE * min(errors.values()):
            break  # the cost grows with the square of the number of eigenvectors
    best = list(errors)[first_best([-error for error in errors.values()])]
    return best, errors, Calibration.fit(scores[best], held, fitter.noise_rate) if calibrate else None
