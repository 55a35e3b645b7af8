"""How many eigenvectors carry the label matrix: as told, or those that best predict pairs of samples held out."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checks import is_count
from .calibration import Calibration, hold_out
from .core_fit import CoreFitter
from .entries import inner_products
from .known_block import KnownBlock

Array = NDArray[np.float64]

#: Numbers of eigenvectors that n_components="auto" tries.
GRID = (5, 10, 20, 50, 100, 200)
#: More eigenvectors are not tried once the error exceeds the least one by this factor.
WORSE = 1.05


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


class ComponentChoice(NamedTuple):
    """The number of eigenvectors, the errors of those tried, and probabilities from the pairs held out, if any."""

    n_components: int
    errors: dict[int, float]
    calibration: Calibration | None


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
        scores[count] = inner_products(rows, held.rows, held.cols)
        errors[count] = float(np.average((scores[count] - truth) ** 2, weights=held.weights))
        if errors[count] > WORSE * min(errors.values()):
            break  # the cost grows with the square of their number
    best = min(errors, key=errors.__getitem__)
    return ComponentChoice(best, errors, Calibration.fit(scores[best], held, fitter.noise_rate) if calibrate else None)
