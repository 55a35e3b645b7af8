r"""Bounds for a number of errors from stratified random draws: exact for one stratum, conservative for several.

Of ``n`` rows in a stratum, ``m`` were drawn with equal chances, ``k`` of them were errors and ``r = m - k`` were not.
What is known of the errors among the ``n - m`` other rows is a beta-binomial distribution:

    upper bound of Clopper and Pearson:  BetaBinomial(n - m; k + 1, r)
    lower bound of Clopper and Pearson:  BetaBinomial(n - m; k, r + 1)

whose quantiles are the exact hypergeometric bounds. So an upper bound reckons with one more error than was found. With
several strata, one more error in each of them would be far too cautious: one more error *in all* is enough, in the
stratum where it changes the sum most (Fay and Feuer, 1997, say the same for weighted sums of rates). The other strata
have

    BetaBinomial(n - m; s k, s r),    s = (m - 2) / m,

whose variance is, in expectation, that of the estimate ``n k / m``. A stratum with few draws (see
:data:`FEWEST`) has no such variance and reckons with one more error of its own. The bound is a quantile of the sum over
the strata: a convolution of finite distributions, without approximation by normal distributions and without simulation.

Batches that were drawn one after the other are averaged with their numbers of draws as weights: each batch estimates
the same total, the errors that were known before it plus the errors among the rows that it was drawn from. Strata of
equal rank in plans with equally many strata are pooled."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: A stratum with fewer draws than this reckons with one more error of its own; one of two strata if fewer than the
#: second number. By enumeration of all outcomes, coverage stays above the level.
FEWEST, FEWEST_OF_TWO = 8, 5
#: Sums are computed in units of labels such that there are at most this many units.
MOST_UNITS = 4096
#: Probabilities below this are left out.
NEGLIGIBLE = 1e-18
#: Two implementations may differ by rounding; a cumulative probability that misses the level by less reaches it.
ROUNDING = 1e-10


class Stratum(NamedTuple):
    """``drawn`` of ``size`` rows were drawn with equal chances; ``errors`` of the drawn rows are errors.

    The size is no integer where it was estimated.
    """

    size: float
    drawn: int
    errors: int


class Batch(NamedTuple):
    """Strata that were drawn at once, and how many errors were known before, among the rows in none of the strata."""

    known_errors: int
    strata: Sequence[Stratum]


class _Cell(NamedTuple):
    """Pooled strata: the mean number of rows that were not drawn, and the numbers of draws with and without error."""

    others: float
    errors: int
    right: int


def error_bounds(batches: Sequence[Batch], tail: float) -> tuple[float, float]:
    """Return bounds for the number of errors; each bound fails with a chance of at most ``tail``.

    Examples
    --------
    One stratum: 50 of 1,000 rows were drawn, 3 are errors. The upper bound is that of Clopper and Pearson for a finite
    population.

    >>> from kernelwise.supervision.stratified_bounds import Batch, Stratum, error_bounds
    >>> error_bounds([Batch(0, [Stratum(1000, 50, 3)])], 0.025)
    (14.0, 162.0)
    >>> error_bounds([Batch(7, [Stratum(700, 25, 0), Stratum(300, 25, 10)])], 0.025)
    (73.0, 238.0)
    """
    n_draws = [sum(stratum.drawn for stratum in batch.strata) for batch in batches]
    shares = np.array(n_draws, dtype=float) / max(sum(n_draws), 1)
    if not sum(n_draws):
        shares = np.full(len(batches), 1 / len(batches))
    found = float(
        sum(
            share * (batch.known_errors + sum(stratum.errors for stratum in batch.strata))
            for share, batch in zip(shares, batches, strict=True)
        )
    )
    cells = _pooled(batches, shares)
    unit = max(1.0, np.ceil(sum(cell.others for cell in cells) / MOST_UNITS))
    swapped = [_Cell(cell.others, cell.right, cell.errors) for cell in cells]
    most_errors = unit * _quantile(cells, unit, 1 - tail)
    most_right = unit * _quantile(swapped, unit, 1 - tail)
    n_others = sum(cell.others for cell in cells)
    return float(found + max(n_others - most_right, 0.0)), float(found + min(most_errors, n_others))


def _pooled(batches: Sequence[Batch], shares: Array) -> list[_Cell]:
    """Pool strata of equal rank in batches with equally many strata."""
    cells: dict[tuple[int, int], _Cell] = {}
    for share, batch in zip(shares, batches, strict=True):
        for rank, (size, drawn, errors) in enumerate(batch.strata):
            key = len(batch.strata), rank
            others, pooled_errors, right = cells.get(key, _Cell(0.0, 0, 0))
            cells[key] = _Cell(others + share * (size - drawn), pooled_errors + errors, right + drawn - errors)
    return list(cells.values())


def _quantile(cells: Sequence[_Cell], unit: float, level: float) -> int:
    """Return the quantile of the number of errors among the rows that were not drawn, in units; rounded up."""
    gains = [others * right / ((errors + right) * (errors + right + 1) or 1) for others, errors, right in cells]
    most = int(np.argmax(gains))
    enough = FEWEST if len(cells) > 2 else FEWEST_OF_TWO
    total = np.ones(1)
    for number, (others, errors, right) in enumerate(cells):
        drawn = errors + right
        if number == most or drawn < enough:
            shape = errors + 1.0, float(right)
        else:
            shape = errors * (drawn - 2) / drawn, right * (drawn - 2) / drawn
        total = np.convolve(total, _beta_binomial(int(np.ceil(others / unit)), *shape))
    return int(np.searchsorted(np.cumsum(total), level - ROUNDING))


@lru_cache(maxsize=256)
def _beta_binomial(n: int, a: float, b: float) -> Array:
    """Return the probabilities of 0, 1, ... errors among n rows, without a negligible end."""
    if n == 0 or a == 0:
        return np.ones(1)
    if b == 0:
        return np.eye(1, n + 1, n)[0]
    j = np.arange(n)
    logs = np.concatenate([[0.0], np.cumsum(np.log((n - j) * (a + j)) - np.log((j + 1) * (n - 1 - j + b)))])
    weights = np.exp(logs - logs.max())
    probabilities = weights / weights.sum()
    return probabilities[: np.flatnonzero(probabilities > NEGLIGIBLE)[-1] + 1]
