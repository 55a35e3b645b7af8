"""Simulated reviews: do guaranteed intervals hold, how wide are they, and how many wrong labels are found?

A population has a share of wrong labels, and an audit ranks them with an area under the curve of .9, or is too sure,
shuffled or inverted. Each review draws a plan and computes the interval, the interval of one class, and for some
reviews the anytime interval. Widths are compared with the interval of Clopper and Pearson from a plain random sample of
the same size. ``python -m benchmarks.noise.checked`` does the same with the audits of real sets.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

from kernelwise import LabelAudit, guaranteed_share, plan_checks
from kernelwise.review.bounds import Batch, Round, Stratum, batches_within, bounds_at_all_times, error_bounds
from kernelwise.review.plan import strata
from kernelwise.statements.verdicts import read_draw

from .measure import record

TITLE = "Checked rows: coverage of 95 % intervals, widths beside Clopper-Pearson, and errors found"

N_ROWS, AREA = 2000, 0.9
REVIEWS, PER_POPULATION, ALWAYS_EVERY, TAIL = 2000, 50, 4, 0.025
MODELS = ("calibrated", "overconfident", "shuffled", "inverted")
SHARES, SIZES = (0.05, 0.15, 0.3), (10, 20, 50, 100, 200)
#: The shares of the classes; a class is judged where at least so many checks fell into it.
CLASS_SHARES, CLASS_CHECKS = (0.5, 0.3, 0.2), 10
#: The largest mean ratio of widths with a calibrated audit, by the number of checks; with a useless one WORST.
WIDEST, WORST, ALWAYS = {50: 1.1, 100: 1.0, 200: 0.9}, 1.3, 1.5

Population = tuple[NDArray[np.intp], LabelAudit]


class Reviews(NamedTuple):
    """Means over the reviews of one setting; ``class_covered`` is NaN if no class had enough checks."""

    covered: float
    class_covered: float
    always_covered: float
    width: float
    always_width: float
    plain_width: float
    found: float
    plain_found: float


def run() -> list[dict[str, Any]]:
    """Simulate all settings."""
    rows = []
    for model in MODELS:
        for n_checks in SIZES:
            done = [simulate(model, share, n_checks) for share in SHARES]
            case = f"{model}, {n_checks} checks"
            for name, field in (("", "covered"), (" of one class", "class_covered"), (", always", "always_covered")):
                shares = [share for one in done if not np.isnan(share := getattr(one, field))]
                if shares:  # no class may have had enough checks
                    rows.append(record(f"{case}: least coverage{name}", min(shares), "", at_least=0.945))
            ratios = [one.width / one.plain_width for one in done]
            limit = {"at_most": WIDEST[n_checks]} if model == "calibrated" and n_checks in WIDEST else {}
            rows.append(record(f"{case}: width beside Clopper-Pearson, mean", float(np.mean(ratios)), "", **limit))
            limit = {"at_most": WORST} if model == "shuffled" else {}
            rows.append(record(f"{case}: width, largest", max(ratios), "", **limit))
            always = float(np.mean([one.always_width / one.width for one in done]))
            limit = {"at_most": ALWAYS} if n_checks == 100 else {}
            rows.append(record(f"{case}: always beside at the end", always, "", **limit))
            found = float(np.mean([one.found / one.plain_found for one in done]))
            limit = {"at_least": 2.0} if model == "calibrated" and n_checks >= 50 else {}
            rows.append(record(f"{case}: errors found beside a random sample", found, "", **limit))
    return rows


def simulate(model: str, share: float, n_checks: int, seed: int = 0) -> Reviews:
    """Return the means over simulated reviews of made populations."""
    rng = np.random.default_rng([seed, MODELS.index(model), n_checks, round(1000 * share)])
    return review(lambda: population(rng, model, share), n_checks, rng)


def review(draw: Callable[[], Population], n_checks: int, rng: np.random.Generator) -> Reviews:
    """Return the means over simulated reviews; ``draw`` returns true labels and an audit of the given labels."""
    seen: dict[str, list[float]] = {name: [] for name in Reviews._fields}

    def keep(**values: float) -> None:
        for name, value in values.items():
            seen[name].append(float(value))

    for number in range(REVIEWS):
        if number % PER_POPULATION == 0:
            truth, audit = draw()
            wrong = truth != audit.labels
            plan = Plan(audit, truth, n_checks, int(rng.integers(2**31)))
        drawn = plan.draw(rng)
        low, high = plan.interval(drawn)
        sample = int(wrong[rng.choice(len(wrong), n_checks, replace=False)].sum())
        found = sum(int(wrong[rows].sum()) for rows in drawn)
        keep(covered=low <= wrong.mean() <= high, width=high - low, found=found)
        keep(plain_width=clopper_pearson(sample, n_checks), plain_found=sample)
        members = audit.labels == audit.classes[number % len(audit.classes)]
        if sum(members[rows].sum() for rows in drawn) >= CLASS_CHECKS:
            low, high = plan.interval(drawn, members)
            keep(class_covered=low <= wrong[members].mean() <= high)
        if number % ALWAYS_EVERY == 0:
            low, high = plan.interval_at_all_times(drawn)
            keep(always_covered=low <= wrong.mean() <= high, always_width=high - low)
    return Reviews(**{name: float(np.mean(values)) if values else np.nan for name, values in seen.items()})


class Plan:
    """The strata of a plan, from which thousands of reviews can be drawn quickly.

    Intervals depend on counts alone, and the same counts come again and again. The intervals of the plan itself are
    compared with those of :func:`guaranteed_share`.
    """

    def __init__(self, audit: LabelAudit, truth: NDArray[Any], n_checks: int, seed: int):
        plan = plan_checks(audit, n_checks, random_state=seed)
        letters = np.array([read_draw(name).letter for name in plan.draw.tolist()])
        first = [plan.rows[letters == letter] for letter in np.unique(letters)]
        self.wrong, self.n_drawn = truth != audit.labels, [len(rows) for rows in first]
        stratum = strata(1 - audit.quality, len(first))
        self.rows = [np.flatnonzero(stratum == h) for h in range(len(first))]
        checked, members = plan.verdicts(truth[plan.rows]), audit.labels == audit.classes[0]
        for ours, theirs in (
            (self.interval(first), guaranteed_share(audit, checked)),
            (self.interval(first, members), guaranteed_share(audit, checked, among=members)),
            (self.interval_at_all_times(first), guaranteed_share(audit, checked, always=True)),
        ):
            if not np.allclose(ours, (theirs.low, theirs.high), atol=1e-12):
                raise AssertionError(f"the interval by counts is {ours}, that of guaranteed_share {theirs}")

    def draw(self, rng: np.random.Generator) -> list[NDArray[np.intp]]:
        """Return the rows that another review draws from each stratum."""
        parts = zip(self.rows, self.n_drawn, strict=True)
        return [rng.choice(rows, n_drawn, replace=False) for rows, n_drawn in parts]

    def interval(
        self, drawn: Sequence[NDArray[np.intp]], members: NDArray[np.bool_] | None = None
    ) -> tuple[float, float]:
        """Return the 95 % interval for the share of wrong labels, in all or among the members of a class."""
        wrong = self.wrong if members is None else self.wrong & members
        errors = tuple(int(wrong[rows].sum()) for rows in drawn)
        sizes = tuple(len(rows) for rows in self.rows)
        if members is None:
            n_rows, n_seen, inside = len(wrong), sum(self.n_drawn), None
        else:
            inside = tuple(int(members[rows].sum()) for rows in drawn)
            n_rows, n_seen = int(members.sum()), sum(inside)
        low, high = _bounds(sizes, tuple(self.n_drawn), errors, inside, n_rows)
        return max(low, sum(errors)) / n_rows, min(high, n_rows - n_seen + sum(errors)) / n_rows

    def interval_at_all_times(self, drawn: Sequence[NDArray[np.intp]]) -> tuple[float, float]:
        """Return the 95 % interval that holds after every check at once; it uses the complete rounds."""
        errors = [self.wrong[rows] for rows in drawn]
        sizes, n_rounds = [len(rows) for rows in self.rows], max(self.n_drawn)
        rounds = []
        for number in range(n_rounds):
            open_ = [h for h, size in enumerate(sizes) if size > number]
            if any(self.n_drawn[h] <= number for h in open_):
                break  # the last round is not complete
            known = sum(int(hits[:number].sum()) for hits in errors)
            others, past = [sizes[h] - number for h in open_], [int(errors[h][:number].sum()) for h in open_]
            now = [bool(errors[h][number]) for h in open_]
            rounds.append(Round(known, others, [number] * len(open_), past, now, n_rounds))
        low, high = bounds_at_all_times(rounds, rounds, len(self.wrong), TAIL)
        found = sum(int(hits.sum()) for hits in errors)
        n_right = sum(self.n_drawn) - found
        return max(low, found / len(self.wrong)), min(high, 1 - n_right / len(self.wrong))


@lru_cache(maxsize=100_000)
def _bounds(
    sizes: tuple[int, ...], drawn: tuple[int, ...], errors: tuple[int, ...], inside: tuple[int, ...] | None, n_rows: int
) -> tuple[float, float]:
    """Return bounds for the number of errors, from the counts of each stratum."""
    batches = [Batch(0, [Stratum(*counts) for counts in zip(sizes, drawn, errors, strict=True)])]
    bounds = [error_bounds(batches, TAIL)]
    if inside is not None:
        members = [Batch(0, [Stratum(*counts) for counts in zip(sizes, drawn, inside, strict=True)])]
        bounds.append(error_bounds(batches_within(batches, members, n_rows), TAIL))
    return min(low for low, _ in bounds), max(high for _, high in bounds)


def population(rng: np.random.Generator, model: str, share: float) -> Population:
    """Return true labels, and an audit of given labels that believes what the model says."""
    given = rng.choice(3, N_ROWS, p=CLASS_SHARES)
    wrong = rng.random(N_ROWS) < share
    shift = np.sqrt(2) * norm.ppf(AREA)
    logit = np.log(share / (1 - share)) + shift * (rng.normal(size=N_ROWS) + shift * wrong) - shift**2 / 2
    chance = 1 / (1 + np.exp(-(3 if model == "overconfident" else 1) * logit))
    chance = {"shuffled": rng.permutation(chance), "inverted": 1 - chance}.get(model, chance)
    other = (given + 1) % 3
    audit = LabelAudit(
        labels=given,
        quality=1 - chance,
        suggested=given,
        probabilities=(1 - chance)[:, None] * np.eye(3)[given] + chance[:, None] * np.eye(3)[other],
        classes=np.arange(3),
        noise_rate=float(chance.mean()),
        noise_interval=(0.0, 1.0),
        transition=np.eye(3),
    )
    return np.where(wrong, other, given), audit


@lru_cache
def clopper_pearson(errors: int, n_checks: int) -> float:
    """Return the width of the exact 95 % interval of a plain random sample."""
    low = beta.ppf(TAIL, errors, n_checks - errors + 1) if errors else 0.0
    high = beta.ppf(1 - TAIL, errors + 1, n_checks - errors) if errors < n_checks else 1.0
    return float(high - low)
