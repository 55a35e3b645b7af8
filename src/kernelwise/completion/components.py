"""How many eigenvectors carry the label matrix, and how likely a score makes one class: pairs held out tell both.

What is predicted are mostly pairs of samples that were never labelled, so it is samples that are held out, not pairs:
scores of pairs whose ends both helped to fit the core would look too good.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from ..checks import is_count
from .core_fit import CoreFitter
from .known_block import KnownBlock
from .matrix.observed import sample_product

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Numbers of eigenvectors that n_components="auto" tries.
GRID = (5, 10, 20, 50, 100, 200)
#: More eigenvectors are not tried once the error exceeds the least one by this factor.
WORSE = 1.05
#: The fraction of the labelled samples that is held out.
HELD_OUT = 1 / 3
#: With fewer pairs than this on either side there is nothing to learn from holding them out.
LEAST_PAIRS = 20


def check_components(n_components: Any) -> None:
    """Refuse what cannot be a number of eigenvectors, whatever the data."""
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


class ComponentChoice(NamedTuple):
    """The number of eigenvectors, the errors of those tried, and probabilities from the pairs held out, if any."""

    n_components: int
    errors: dict[int, float]
    calibration: Calibration | None


def hold_out(block: KnownBlock, random_state: np.random.RandomState) -> tuple[Mask, Mask] | None:
    """Known entries to fit and to test; None where there are too few of either.

    A third of the samples is held out: entries of two such samples test, entries of two others fit.
    """
    held = random_state.permutation(len(block.index)) < HELD_OUT * len(block.index)
    n_held = held[block.rows].astype(int) + held[block.cols]
    fitting, testing = n_held == 0, n_held == 2
    return (fitting, testing) if min(fitting.sum(), testing.sum()) >= LEAST_PAIRS else None


def choose_components(
    fitter: CoreFitter,
    labelled: Array,
    block: KnownBlock,
    counts: Sequence[int],
    *,
    calibrate: bool,
    random_state: np.random.RandomState,
) -> ComponentChoice:
    """The number of eigenvectors of least error on pairs of samples held out; the first where none can be.

    ``labelled`` are the rows of the basis at ``block.index``.
    """
    split = hold_out(block, random_state) if calibrate or len(counts) > 1 else None
    if split is None:
        return ComponentChoice(counts[0], {}, None)
    rest, held = block.among(split[0]), block.among(split[1])
    fitting, testing = (labelled[np.searchsorted(block.index, part.index)] for part in (rest, held))
    completion = fitter.complete(rest, random_state)
    truth, scores = held.corrected(fitter.noise_rate).values, {}
    errors: dict[int, float] = {}
    for count in counts:
        rows = testing[:, :count] @ fitter.fit(fitting[:, :count], rest, completion, random_state).root
        scores[count] = sample_product(rows, rows, held.rows, held.cols)
        errors[count] = float(np.average((scores[count] - truth) ** 2, weights=held.weights))
        if errors[count] > WORSE * min(errors.values()):
            break  # the cost grows with the square of their number
    best = min(errors, key=errors.__getitem__)
    return ComponentChoice(best, errors, Calibration.fit(scores[best], held, fitter.noise_rate) if calibrate else None)
