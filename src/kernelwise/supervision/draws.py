"""From verdicts to counts: the strata of every plan with their errors, and the rounds of draws.

A plan was drawn from all rows that were not known before. So its strata and the rows that were known before it are all
rows together; whoever lost verdicts, or mixed plans of different data, breaks this sum and is told so.
"""

from collections.abc import Mapping, Sequence

from .betting import Round
from .stratified_bounds import Batch, Stratum
from .verdicts import Verdicts, read_draw, strata_of

#: Whether each checked row is an error; None where nobody can tell.
Errors = Mapping[int, bool | None]


def drawn_batches(checked: Verdicts, errors: Errors, n_rows: int, *, unclear: bool) -> list[Batch]:
    """Return the strata with their counts, plan by plan.

    Parameters
    ----------
    checked : Verdicts
    errors : mapping of int to bool or None
        For every checked row that has a label.
    n_rows : int
        The number of rows that have a label.
    unclear : bool
        What a row counts for which nobody can tell.

    Examples
    --------
    >>> from kernelwise import Verdicts
    >>> from kernelwise.supervision.draws import drawn_batches
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
        in_work = all(max(one.rows) == 1 for one in strata) or unseen <= _not_yet_checked(checked, number)
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
    is not recorded, but they are ``n_members`` in all; they are shared out as the draws fell.

    Parameters
    ----------
    batches, members : sequences of Batch
        From :func:`drawn_batches`, once for the errors and once with "is in the domain" for an error.
    n_members : int
        The number of rows in the domain.

    Examples
    --------
    Ten of twenty draws fell into a domain of 60 rows, where four or five were expected:

    >>> from kernelwise.supervision.stratified_bounds import Batch, Stratum
    >>> draws, members = [Stratum(200, 10, 2), Stratum(80, 10, 3)], [Stratum(200, 10, 4), Stratum(80, 10, 6)]
    >>> (inside,) = batches_within([Batch(0, draws)], [Batch(0, members)], 60)
    >>> [(round(size, 1), drawn, errors) for size, drawn, errors in inside.strata]
    [(36.2, 4, 2), (23.8, 6, 3)]
    """
    return [
        Batch(batch.known_errors, _strata_within(batch.strata, inside.strata, n_members - inside.known_errors))
        for batch, inside in zip(batches, members, strict=True)
    ]


def _strata_within(strata: Sequence[Stratum], members: Sequence[Stratum], n_members: int) -> list[Stratum]:
    n_drawn = sum(inside.errors for inside in members)
    if not n_drawn:
        return [Stratum(n_members, 0, 0)]
    shares = [(size - drawn) * inside / drawn if drawn else 0.0 for size, drawn, inside in members]
    unit = (n_members - n_drawn) / sum(shares) if sum(shares) else 0.0
    return [
        Stratum(inside.errors + unit * share, inside.errors, stratum.errors)
        for stratum, inside, share in zip(strata, members, shares, strict=True)
    ]


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


def _not_yet_checked(checked: Verdicts, batch: int) -> int:
    """The number of rows that a plan chose and nobody has checked yet."""
    chosen = checked.draw == f"{batch}x"
    return int(checked.drawn_from[chosen].max() - len(set(checked.rows[chosen].tolist()))) if chosen.any() else 0


def rows_stood_for(checked: Verdicts) -> dict[int, float]:
    """Return how many rows each drawn row stands for; the plans share this according to their numbers of draws.

    >>> rows_stood_for(Verdicts([4, 7, 9], ["a", "b", "b"], chance=[0.2, 0.2, 1.0]))
    {4: 5.0, 7: 5.0}
    """
    plans = strata_of(checked)
    n_draws = {number: sum(len(one.rows) for one in strata) for number, strata in plans.items()}
    total = sum(n_draws.values())
    return {
        row: one.size / len(one.rows) * n_draws[number] / total
        for number, strata in plans.items()
        for one in strata
        for row in one.rows.values()
    }


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
