"""Bounds for a number of errors from random draws: from counts in strata, after every draw, and from verdicts.

**From counts.** Of ``n`` rows in a stratum, ``m`` were drawn with equal chances, ``k`` of them were errors and ``r = m
- k`` were not. What is known of the errors among the ``n - m`` other rows is a beta-binomial distribution:

upper bound of Clopper and Pearson: BetaBinomial(n - m; k + 1, r) lower bound of Clopper and Pearson: BetaBinomial(n -
m; k, r + 1)

whose quantiles are the exact hypergeometric bounds. So an upper bound reckons with one more error than was found. With
several strata, one more error in each of them would be far too cautious: one more error *in all* is enough, in the
stratum where it changes the sum most (Fay and Feuer, 1997, say the same for weighted sums of rates). The other strata
have

    BetaBinomial(n - m; s k, s r),    s = (m - 2) / m,

whose variance is, in expectation, that of the estimate ``n k / m``. A stratum with few draws (see :data:`FEWEST`) has
no such variance and reckons with one more error of its own. The bound is a quantile of the sum over the strata: a
convolution of finite distributions, without approximation by normal distributions and without simulation.

Batches that were drawn one after the other are averaged with their numbers of draws as weights: each batch estimates
the same total, the errors that were known before it plus the errors among the rows that it was drawn from. Strata of
equal rank in plans with equally many strata are pooled.

**After every draw at once**, by bets against every number of errors that is too small or too large. The draws come in
rounds, one draw from each of ``H`` strata. Before a round, ``C`` errors are known among ``N`` rows, and stratum ``h``
has ``R_h`` rows left of which an unknown share ``p_h`` are errors; ``x_h`` is 1 if the draw is an error. With weights
``a_h = R_h / N`` the share of errors is ``mu = C / N + sum_h a_h p_h``. Whoever believes in ``mu`` must accept, for
guesses ``g_h`` made before the round and any stake ``l`` that keeps the factors positive,

    E(mu) = prod_h (1 - l a_h (x_h - g_h)) / (1 - l (mu - C / N - sum_h a_h g_h) / H)^H

as a fair bet: the draws are independent, so the mean of the numerator is ``prod_h (1 - l a_h (p_h - g_h))``, which is
at most the denominator, as a geometric mean is at most the arithmetic mean. So the capital, the product over the
rounds, is a supermartingale for the true ``mu`` whatever the shares in the strata are, and exceeds ``1 / tail`` at any
time with a chance of at most ``tail`` (Ville). All ``mu`` at which the capital exceeded this are rejected. The same bet
with ``-l`` rejects values that are too large to be true.

Stakes only decide how narrow the bounds are. They are those that would be best if the guesses were right and the checks
ended with the plan.

**From verdicts to counts.** A plan was drawn from all rows that were not known before. So its strata and the rows that
were known before it are all rows together; whoever lost verdicts, or mixed plans of different data, breaks this sum and
is told so."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..statements.verdicts import Verdicts, read_draw, strata_of

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
#: No factor of a bet falls below one minus this.
BOLDEST = 0.75
#: The guess for a stratum without draws; it counts as one draw.
FIRST_GUESS = 0.1
#: Bisections until a bound is exact to double precision.
N_HALVINGS = 60
#: Whether each checked row is an error; None where nobody can tell.
Errors = Mapping[int, bool | None]


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
    """Return bounds for the number of errors; each bound fails with a chance of at most ``tail``."""
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
    pooled: dict[tuple[int, int], _Cell] = {}  # strata of equal rank in batches with equally many strata
    for share, batch in zip(shares, batches, strict=True):
        for rank, (size, drawn, errors) in enumerate(batch.strata):
            others, pooled_errors, right = pooled.get((len(batch.strata), rank), _Cell(0.0, 0, 0))
            cell = _Cell(others + share * (size - drawn), pooled_errors + errors, right + drawn - errors)
            pooled[len(batch.strata), rank] = cell
    cells = list(pooled.values())
    unit = max(1.0, np.ceil(sum(cell.others for cell in cells) / MOST_UNITS))
    swapped = [_Cell(cell.others, cell.right, cell.errors) for cell in cells]
    most_errors = unit * _quantile(cells, unit, 1 - tail)
    most_right = unit * _quantile(swapped, unit, 1 - tail)
    n_others = sum(cell.others for cell in cells)
    return float(found + max(n_others - most_right, 0.0)), float(found + min(most_errors, n_others))


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


def drawn_batches(checked: Verdicts, errors: Errors, n_rows: int, *, unclear: bool) -> list[Batch]:
    """Return the strata with their counts, plan by plan; ``unclear`` says how unclear rows are counted.

    ``errors`` has every checked row that has a label, and ``n_rows`` is the number of rows that have one.

    >>> checked = Verdicts([4, 7, 9], ["a", "b", "b"], chance=[0.2, 0.2, 1.0])
    >>> drawn_batches(checked, {4: False, 7: True, 9: True}, 11, unclear=True)
    [Batch(known_errors=1, strata=[Stratum(size=10, drawn=2, errors=1)])]
    """
    batches = []
    for number, strata in strata_of(checked).items():
        counted = [Stratum(one.size, len(one.rows), _count(errors, one.rows.values(), unclear)) for one in strata]
        n_others = n_rows - sum(one.size for one in strata)
        before = known_before(checked, number, n_others, set(errors))
        unseen = n_others - len(before)
        chosen = checked.draw == f"{number}x"
        unchecked = checked.drawn_from[chosen].max(initial=0) - len(set(checked.rows[chosen].tolist()))
        in_work = all(max(one.rows) == 1 for one in strata) or unseen <= unchecked
        if unseen > 0 and in_work:  # a stratum without a verdict yet, or chosen rows without one: nothing is known
            counted.append(Stratum(unseen, 0, 0))
        elif unseen:
            raise ValueError(
                f"plan {number} was drawn when {n_others} of {n_rows} labels were known, but the verdicts tell of "
                f"{len(before)} before it; rows of the plan were picked instead of checked in their order, verdicts "
                "are missing, plans were mixed up, or the data have changed. Give the verdicts of all plans, for the "
                "labels as they were when the plan was drawn"
            )
        batches.append(Batch(_count(errors, before, unclear), counted))
    if not batches:
        raise ValueError(
            "checked has no row that was drawn at random with a recorded chance, so nothing can be guaranteed; draw "
            "rows with plan_checks, or give the chance: 0.05 if 50 rows were drawn at random out of 1,000"
        )
    return batches


def batches_within(batches: Sequence[Batch], members: Sequence[Batch], n_members: int) -> list[Batch]:
    """Return the strata within a domain of known size: what the draws say, given how many of them fell into the domain.

    The drawn rows of the domain are a random sample of its rows in their stratum. How many of these rows a stratum has
    is not recorded, but they are ``n_members`` in all; they are shared out as the draws fell. ``members`` are the
    batches with "is in the domain" in place of "is an error".
    """
    found = []
    for batch, known in zip(batches, members, strict=True):
        n_left, n_drawn = n_members - known.known_errors, sum(inside.errors for inside in known.strata)
        shares = [(size - drawn) * inside / drawn if drawn else 0.0 for size, drawn, inside in known.strata]
        unit = (n_left - n_drawn) / sum(shares) if sum(shares) else 0.0
        strata = [
            Stratum(inside.errors + unit * share, inside.errors, stratum.errors)
            for stratum, inside, share in zip(batch.strata, known.strata, shares, strict=True)
        ]
        found.append(Batch(batch.known_errors, strata if n_drawn else [Stratum(n_left, 0, 0)]))
    return found


def drawn_rounds(checked: Verdicts, errors: Errors, n_rows: int, *, unclear: bool) -> list[Round]:
    """Return the rounds that are complete: one draw from each stratum, in the order of the plan."""
    rounds: list[Round] = []
    n_rounds = 0
    batches = drawn_batches(checked, errors, n_rows, unclear=unclear)
    for batch, strata in zip(batches, strata_of(checked).values(), strict=True):
        if len(batch.strata) > len(strata):
            break  # a stratum has no verdict yet
        n_rounds += max(one.planned for one in strata)
        found = [0] * len(strata)
        for number in range(1, max(one.planned for one in strata) + 1):
            open_ = [h for h, one in enumerate(strata) if one.size >= number]
            if any(number not in strata[h].rows for h in open_):
                break
            hits = [bool(_count(errors, [strata[h].rows[number]], unclear)) for h in open_]
            others, past = [strata[h].size - number + 1 for h in open_], [found[h] for h in open_]
            rounds.append(
                Round(batch.known_errors + sum(found), others, [number - 1] * len(open_), past, hits, n_rounds)
            )
            for h, hit in zip(open_, hits, strict=True):
                found[h] += hit
    return rounds


def _count(errors: Errors, rows: object, unclear: bool) -> int:
    return sum(unclear if errors[row] is None else bool(errors[row]) for row in rows)  # type: ignore[attr-defined]


def known_before(checked: Verdicts, batch: int, expected: int, counted: set[int]) -> set[int]:
    """The rows that were known before a plan; rows of unknown date are among them if the numbers say so."""
    before: set[int] = set()
    undated: set[int] = set()
    for row, name in zip(checked.rows.tolist(), checked.draw.tolist(), strict=True):
        if row not in counted:
            continue
        if not name:
            undated.add(row)
        elif read_draw(name).batch < batch or name == f"{batch}x":
            before.add(row)
    return before | undated if len(before | undated) == expected else before
