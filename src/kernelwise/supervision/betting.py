r"""Bounds that hold after every check at once: a bet against every number of errors that is too small or too large.

The draws come in rounds, one draw from each of ``H`` strata. Before a round, ``C`` errors are known among ``N`` rows,
and stratum ``h`` has ``R_h`` rows left of which an unknown share ``p_h`` are errors; ``x_h`` is 1 if the draw is an
error. With weights ``a_h = R_h / N`` the share of errors is ``mu = C / N + sum_h a_h p_h``. Whoever believes in ``mu``
must accept, for guesses ``g_h`` made before the round and any stake ``l`` that keeps the factors positive,

    E(mu) = prod_h (1 - l a_h (x_h - g_h)) / (1 - l (mu - C / N - sum_h a_h g_h) / H)^H

as a fair bet: the draws are independent, so the mean of the numerator is ``prod_h (1 - l a_h (p_h - g_h))``, which is
at most the denominator, as a geometric mean is at most the arithmetic mean. So the capital, the product over the
rounds, is a supermartingale for the true ``mu`` whatever the shares in the strata are, and exceeds ``1 / tail`` at any
time with a chance of at most ``tail`` (Ville). All ``mu`` at which the capital exceeded this are rejected. The same bet
with ``-l`` rejects values that are too large to be true.

Stakes only decide how narrow the bounds are. They are those that would be best if the guesses were right and the checks
ended with the plan.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: No factor of a bet falls below one minus this.
BOLDEST = 0.75
#: The guess for a stratum without draws; it counts as one draw.
FIRST_GUESS = 0.1
#: Bisections until a bound is exact to double precision.
N_HALVINGS = 60


class Round(NamedTuple):
    """One draw from each stratum.

    ``known`` errors are known before; ``others`` are the rows that are left in each stratum, ``drawn`` and ``errors``
    what was drawn from it before, and ``error`` says whether the draw of this round is an error. The plan has
    ``n_rounds`` rounds.
    """

    known: int
    others: Sequence[int]
    drawn: Sequence[int]
    errors: Sequence[int]
    error: Sequence[bool]
    n_rounds: int


def bounds_at_all_times(
    lowest: Sequence[Round], highest: Sequence[Round], n_rows: int, tail: float
) -> tuple[float, float]:
    """Return bounds for the share of errors that hold after every round at once, each with a chance of ``1 - tail``.

    Where a reviewer could not tell, ``lowest`` takes the label as right, and ``highest`` as an error.

    Examples
    --------
    >>> from kernelwise.supervision.betting import Round, bounds_at_all_times
    >>> rounds = [Round(0, [1000 - t], [t], [0], [False], 50) for t in range(50)]
    >>> low, high = bounds_at_all_times(rounds, rounds, 1000, 0.025)
    >>> low, round(high, 3)
    (0.0, 0.092)
    """
    return _bound(lowest, n_rows, tail, -1), _bound(highest, n_rows, tail, 1)


def _bound(rounds: Sequence[Round], n_rows: int, tail: float, side: int) -> float:
    """Return the upper bound (``side`` 1), or the lower bound (``side`` -1)."""
    if not rounds:
        return 1.0 if side > 0 else 0.0
    wanted = np.log(1 / tail)
    gains, stakes, guesses, n_strata = _bets(rounds, n_rows, wanted, side)
    least = max(one.known for one in rounds) / n_rows
    most = min((one.known + sum(one.others)) / n_rows for one in rounds)
    accepted, rejected = (least, most) if side > 0 else (most, least)
    for _ in range(N_HALVINGS):
        share = (accepted + rejected) / 2
        capital = np.cumsum(gains - n_strata * np.log1p(-side * stakes * (share - guesses) / n_strata))
        if capital.max() >= wanted:
            rejected = share
        else:
            accepted = share
    return float(rejected)


def _bets(rounds: Sequence[Round], n_rows: int, wanted: float, side: int) -> tuple[Array, Array, Array, Array]:
    """Return the logarithms of the numerators, the stakes, the guessed shares of errors and the numbers of strata."""
    n_strata = np.array([len(one.others) for one in rounds], dtype=np.float64)
    others, drawn = _padded([one.others for one in rounds]), _padded([one.drawn for one in rounds])
    errors, hits = _padded([one.errors for one in rounds]), _padded([one.error for one in rounds])
    weights, guess = others / n_rows, (errors + FIRST_GUESS) / (drawn + 1)
    variance = np.sum(weights**2 * guess * (1 - guess), axis=1)
    worst = np.max(weights * (1 - guess if side > 0 else guess), axis=1)
    n_rounds = np.array([one.n_rounds for one in rounds])
    with np.errstate(divide="ignore"):
        stakes = np.where(worst > 0, np.minimum(np.sqrt(2 * wanted / (n_rounds * variance)), BOLDEST / worst), 0.0)
    gains = np.sum(np.log1p(-side * stakes[:, None] * weights * (hits - guess)), axis=1)
    known = np.array([one.known for one in rounds]) / n_rows
    return gains, stakes, known + np.sum(weights * guess, axis=1), n_strata


def _padded(values: Sequence[Sequence[int]]) -> Array:
    """One row per round; a stratum that has no row left is filled up with zeros and has no influence."""
    table = np.zeros((len(values), max(len(row) for row in values)))
    for line, row in zip(table, values, strict=True):
        line[: len(row)] = row
    return table
