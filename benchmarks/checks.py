"""Simulated reviews: do guaranteed intervals hold, how wide are they, and how many wrong labels are found?

A population has a share of wrong labels, and an audit ranks them with an area under the curve of .9, or is too sure,
shuffled or inverted. Each review draws a plan and computes the interval, the interval of one class, and for some
reviews the anytime interval. Widths are compared with the interval of Clopper and Pearson from a plain random sample of
the same size. ``python -m benchmarks.noise.checked`` does the same with the audits of real sets.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

from kernelwise import LabelAudit, guaranteed_share, plan_checks

from .measure import record

TITLE = "Checked rows: coverage of 95 % intervals, widths beside Clopper-Pearson, and errors found"

N_ROWS, AREA = 2000, 0.9
REVIEWS, PER_POPULATION, ALWAYS_EVERY = 2000, 20, 4
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
        plan = plan_checks(audit, n_checks, random_state=int(rng.integers(2**31)))
        checked = plan.verdicts(truth[plan.rows])
        bound = guaranteed_share(audit, checked)
        sample = int(wrong[rng.choice(len(wrong), n_checks, replace=False)].sum())
        keep(covered=bound.low <= wrong.mean() <= bound.high, width=bound.high - bound.low, found=bound.n_found)
        keep(plain_width=clopper_pearson(sample, n_checks), plain_found=sample)
        members = audit.labels == audit.classes[number % len(audit.classes)]
        if members[plan.rows].sum() >= CLASS_CHECKS:
            bound = guaranteed_share(audit, checked, among=members)
            keep(class_covered=bound.low <= wrong[members].mean() <= bound.high)
        if number % ALWAYS_EVERY == 0:
            bound = guaranteed_share(audit, checked, always=True)
            keep(always_covered=bound.low <= wrong.mean() <= bound.high, always_width=bound.high - bound.low)
    return Reviews(**{name: float(np.mean(values)) if values else np.nan for name, values in seen.items()})


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


def clopper_pearson(errors: int, n_checks: int) -> float:
    """Return the width of the exact 95 % interval of a plain random sample."""
    low = beta.ppf(0.025, errors, n_checks - errors + 1) if errors else 0.0
    high = beta.ppf(0.975, errors + 1, n_checks - errors) if errors < n_checks else 1.0
    return float(high - low)
