r"""Which rows to check next: a random plan that finds many errors, and from which a guarantee follows.

Rows are drawn at random within strata of like chances to be wrong. With :math:`w_i` the chance that label ``i`` is
wrong by the audit, a row should be drawn about as often as

.. math:: u_i \propto f \frac 1 n + (1 - f) \frac{w_i}{\sum_j w_j}

says: a part ``f`` of the checks is spread over all rows, and the others go where errors are likely. The rows are sorted
by :math:`w_i` and cut into strata of equal sums of :math:`u_i`, and equally many rows are drawn from each. So small
strata of suspect rows are searched closely, and the large stratum of rows that look right is never forgotten.

How far can the audit be trusted? If it is worth nothing, an interval from such draws is wider than an interval from a
plain random sample by the factor :math:`\sqrt{H \sum_h (n_h / n)^2}` with ``H`` strata of ``n_h`` rows. The smallest
``f`` is taken for which the factor is at most :data:`WORST`: a useless audit costs little, and a good audit finds two
to three times as many errors as a plain random sample.

Checking the most suspect rows, one after the other, finds more errors still, but tells nothing of the others: the share
of wrong labels among the suspects is not that of all labels. A plan may *choose* such rows besides; what is found there
is known and counts for itself."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..checks import check_count, is_number
from ..statements.verdicts import STRATA, Verdicts, draw_weights
from ..ties import NEARLY
from .audit import LabelAudit, PairAudit
from .bounds import FEWEST, FEWEST_OF_TWO

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: If the audit is useless, an interval may be this many times as wide as that of a plain random sample.
WORST = 1.18
#: The number of strata; fewer if there would be too few draws from each.
MOST_STRATA = 4
#: At least this share of all checks is drawn at random. The first plan draws all its rows, so that later plans draw
#: none until there are many more checks.
DRAWN_IN_ALL = 0.1
#: The steps in which ``f`` is tried.
N_STEPS = 100


@dataclass(frozen=True)
class CheckPlan:
    """The rows to check next, in the order in which to check them, and how each was drawn.

    Parameters
    ----------
    rows : ndarray of shape (n_checks,)
        Positions of rows: first rows that were chosen because they are suspect, then the drawn rows, round by round.
    chance, draw, drawn_from : ndarrays of shape (n_checks,)
        See :class:`Verdicts`.

    Examples
    --------
    See :func:`plan_checks`.
    """

    rows: Index
    chance: Array
    draw: NDArray[np.str_]
    drawn_from: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def cells(self) -> dict[int, tuple[str, str, str]]:
        """The chance, the draw and the size of the stratum of every row, as the corrections file has them."""
        return self.verdicts([None] * len(self)).cells()

    def verdicts(self, labels: Sequence[Any] | NDArray[Any]) -> Verdicts:
        """The verdicts on these rows: one label for each row of the plan, in its order; None for "cannot tell".

        If the review stops early, give the labels of the first rows only: the rows of a plan come in random order.
        """
        if isinstance(labels, Mapping):
            raise TypeError(
                "labels must be a list with one label for each row of the plan, in its order, got a mapping"
            )
        found = list(labels)
        if len(found) > len(self.rows):
            raise ValueError(
                f"labels must hold at most {len(self.rows)} labels, one for each row of the plan, got {len(found)}"
            )
        done = slice(len(found))
        return Verdicts(
            self.rows[done], found, chance=self.chance[done], draw=self.draw[done], drawn_from=self.drawn_from[done]
        )


def plan_checks(
    audit: LabelAudit | PairAudit,
    n_checks: int,
    *,
    checked: Verdicts | None = None,
    suspects: float | None = None,
    again: bool = False,
    random_state: Any = None,
) -> CheckPlan:
    """Plan which rows to check next, so that a guarantee follows whatever the audit believes.

    Parameters
    ----------
    audit : LabelAudit or PairAudit
        Its qualities decide where to look closely. A wrong audit makes the plan less efficient, never invalid.
    n_checks : int
    checked : Verdicts, optional
        All verdicts so far; their rows are not planned again. By default the verdicts that the audit was made with.
    suspects : float, optional
        The share of the checks that go to the most suspect rows, one after the other, with certainty. The other rows
        are drawn at random, and only they tell of the rows that nobody looked at. By default a first plan draws all its
        rows, which tells how bad it is, and later plans find the errors: they choose the most suspect rows, as long as
        a tenth of all checks so far was drawn. ``suspects=0`` draws again, which tells what remains.
    again : bool, default=False
        Whether to plan checked rows a second time, for a second opinion: rows on which nobody could tell,
        or on which verdicts contradict each other, come first. Second opinions are chosen and not drawn.
    random_state : int, RandomState or None

    Returns
    -------
    CheckPlan

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from kernelwise import audit_labels, flip_labels, guaranteed_share, plan_checks
    >>> X, truth = make_moons(300, noise=0.1, random_state=0)
    >>> given = flip_labels(truth, 0.2, random_state=0)
    >>> audit = audit_labels(X, given, random_state=0)
    >>> plan = plan_checks(audit, 40, random_state=0)
    >>> checked = plan.verdicts(truth[plan.rows])  # here a person looks at the rows
    >>> bound = guaranteed_share(given, checked)
    >>> bool(bound.low < np.mean(given != truth) < bound.high)
    True
    """
    if not isinstance(audit, LabelAudit | PairAudit):
        raise TypeError(f"audit must be a LabelAudit or a PairAudit, got {type(audit).__name__}")
    checked = audit.checked if checked is None else checked
    known = np.array([], dtype=np.intp)
    if checked is not None:
        checked.check_rows(len(audit.quality))
        known = np.array(list(checked.found()), dtype=np.intp)
    labelled = ~np.isnan(audit.quality)
    rng = check_random_state(random_state)
    if again:
        limit = ", the number of checked rows"
        n_checks = check_count("n_checks", n_checks, most=len(known), limit=limit)
        return _second_opinions(n_checks, checked or Verdicts([], []), rng)
    is_open = labelled.copy()
    is_open[known] = False
    n_checks = check_count(
        "n_checks", n_checks, most=int(is_open.sum()), limit=", the number of labels that nobody checked"
    )
    batch = (checked.last_batch if checked is not None else 0) + 1
    n_drawn = _n_drawn(n_checks, suspects, checked)
    ranked = audit.order[is_open[audit.order]]
    chosen, others = ranked[: n_checks - n_drawn], np.sort(ranked[n_checks - n_drawn :])
    # Fewer strata for few draws; draws of earlier plans count, because strata of equal rank are pooled.
    n_draws = n_drawn + (0 if checked is None else len(draw_weights(checked)))
    n_strata = min(MOST_STRATA, max(n_draws // FEWEST, 2 if n_draws >= 2 * FEWEST_OF_TWO else 1), n_drawn)
    drawn = _draw(others, 1 - audit.quality[others], n_drawn, n_strata, batch, rng)
    names = np.full(len(chosen), f"{batch}x")
    return CheckPlan(
        np.concatenate([chosen, drawn.rows]),
        np.concatenate([np.ones(len(chosen)), drawn.chance]),
        np.concatenate([names, drawn.draw]) if len(drawn) else names,
        np.concatenate([np.full(len(chosen), len(chosen), np.int64), drawn.drawn_from]),
    )


def strata(wrong: Array, n_strata: int) -> NDArray[np.intp]:
    """Return the stratum of each row, 0 for the rows that look right, from the chances to be wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.review.plan import strata
    >>> strata(np.repeat([0.9, 0.01, 0.02], [40, 60, 20]), 2)[[39, 40, 119]]
    array([1, 0, 0])
    """
    order, n_rows = np.argsort(np.round(wrong / NEARLY), kind="stable"), len(wrong)
    likely = np.maximum(wrong[order], 0.0)
    likely = likely / likely.sum() if likely.sum() > 0 else np.full(n_rows, 1 / n_rows)

    def cut(step: int) -> Index:
        spread = step / N_STEPS
        drawn_often = spread / n_rows + (1 - spread) * likely
        below = np.cumsum(drawn_often) - drawn_often / 2
        return np.minimum((below * n_strata + NEARLY).astype(np.intp), n_strata - 1)  # at a border, the upper one

    def costs_little(step: int) -> bool:
        sizes = np.bincount(cut(step), minlength=n_strata)
        return bool(sizes.min() > 0 and np.sqrt(n_strata * np.sum((sizes / n_rows) ** 2)) <= WORST)

    # The more is spread over all rows, the more equal are the strata, so that halving finds the smallest step.
    stratum = np.empty(n_rows, dtype=np.intp)
    stratum[order] = cut(bisect_left(range(N_STEPS), True, key=costs_little))
    return stratum


def _n_drawn(n_checks: int, suspects: float | None, checked: Verdicts | None) -> int:
    if suspects is not None:
        if not is_number(suspects) or not 0 <= suspects <= 1:
            raise ValueError(f"suspects must be a share between 0 and 1, got {suspects!r}")
        return n_checks - int(suspects * n_checks)
    n_before = 0 if checked is None else len(draw_weights(checked))
    if checked is None or not n_before:
        return n_checks
    wanted = int(np.ceil(DRAWN_IN_ALL * (len(checked.found()) + n_checks)))
    return min(max(wanted - n_before, 0), n_checks)


def _draw(rows: Index, wrong: Array, n_drawn: int, n_strata: int, batch: int, rng: np.random.RandomState) -> CheckPlan:
    """Draw from strata in rounds: one row of each stratum, in random order within the stratum."""
    if not n_drawn:
        return CheckPlan(rows[:0], np.zeros(0), np.array([], dtype=str), np.zeros(0, np.int64))
    stratum = strata(wrong, min(n_strata, len(rows)))
    order = rng.permutation(len(rows))  # of all rows, so that a row in another stratum does not change all draws
    shuffled = [rows[order[stratum[order] == h]] for h in range(stratum.max() + 1)]
    picks: list[tuple[int, int, int]] = []  # number of the round, stratum, row
    number = 0
    while len(picks) < n_drawn:
        number += 1
        picks += [(number, h, int(part[number - 1])) for h, part in enumerate(shuffled) if len(part) >= number]
    picks = picks[:n_drawn]
    planned = np.bincount([h for _, h, _ in picks], minlength=len(shuffled))
    sizes = np.array([len(part) for part in shuffled])
    at = np.array([h for _, h, _ in picks])
    return CheckPlan(
        np.array([row for _, _, row in picks], dtype=np.intp),
        (planned / sizes)[at],
        np.array([f"{batch}{STRATA[h]}{number}" for number, h, _ in picks]),
        sizes[at].astype(np.int64),
    )


def _second_opinions(n_checks: int, checked: Verdicts, rng: np.random.RandomState) -> CheckPlan:
    """Checked rows once more: first the rows on which nobody could tell, or verdicts contradict each other."""
    found = checked.found()
    shuffled = rng.permutation(np.array(list(found), dtype=np.intp))
    rows = np.array(sorted(shuffled.tolist(), key=lambda row: found[row] is not None)[:n_checks], dtype=np.intp)
    name = str(checked.last_batch or "")
    return CheckPlan(rows, np.full(len(rows), np.nan), np.full(len(rows), name), np.zeros(len(rows), np.int64))
