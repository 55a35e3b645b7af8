"""Simulated reviews: do guaranteed intervals hold, how wide are they, and how many wrong labels are found?

A population has a share of wrong labels, and an audit ranks them with an area under the curve of .9, or is too sure,
shuffled or inverted. Each review draws a plan and computes the interval, and the anytime interval for some reviews.
Widths are compared with the interval of Clopper and Pearson from a plain random sample of the same size.
"""

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
#: The largest mean ratio of widths with a calibrated audit, by the number of checks; with a useless one WORST.
WIDEST, WORST, ALWAYS = {50: 1.1, 100: 1.0, 200: 0.9}, 1.3, 1.5


class Reviews(NamedTuple):
    """Means over the reviews of one setting."""

    covered: float
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
            ratios = [one.width / one.plain_width for one in done]
            rows.append(record(f"{case}: least coverage", min(one.covered for one in done), "", at_least=0.945))
            rows.append(
                record(f"{case}: least coverage, always", min(one.always_covered for one in done), "", at_least=0.945)
            )
            limit = {"at_most": WIDEST[n_checks]} if model == "calibrated" and n_checks in WIDEST else {}
            rows.append(record(f"{case}: width beside Clopper-Pearson, mean", float(np.mean(ratios)), "", **limit))
            rows.append(
                record(
                    f"{case}: width, largest", max(ratios), "", **({"at_most": WORST} if model == "shuffled" else {})
                )
            )
            always = float(np.mean([one.always_width / one.width for one in done]))
            rows.append(
                record(
                    f"{case}: always beside at the end", always, "", **({"at_most": ALWAYS} if n_checks == 100 else {})
                )
            )
            found = float(np.mean([one.found / one.plain_found for one in done]))
            limit = {"at_least": 2.0} if model == "calibrated" and n_checks >= 50 else {}
            rows.append(record(f"{case}: errors found beside a random sample", found, "", **limit))
    return rows


def simulate(model: str, share: float, n_checks: int, seed: int = 0) -> Reviews:
    """Return the means over simulated reviews."""
    rng = np.random.default_rng([seed, MODELS.index(model), n_checks, round(1000 * share)])
    given, sums, n_always = np.zeros(N_ROWS, int), np.zeros(7), 0
    for review in range(REVIEWS):
        if review % PER_POPULATION == 0:
            truth, audit = population(rng, model, share)
        plan = plan_checks(audit, n_checks, random_state=int(rng.integers(2**31)))
        checked = plan.verdicts(truth[plan.rows])
        bound = guaranteed_share(given, checked)
        sample = int(truth[rng.choice(N_ROWS, n_checks, replace=False)].sum())
        sums[[0, 2, 4, 5, 6]] += [
            bound.low <= truth.mean() <= bound.high,
            bound.high - bound.low,
            clopper_pearson(sample, n_checks),
            bound.n_found,
            sample,
        ]
        if review % ALWAYS_EVERY == 0:
            bound, n_always = guaranteed_share(given, checked, always=True), n_always + 1
            sums[[1, 3]] += [bound.low <= truth.mean() <= bound.high, bound.high - bound.low]
    return Reviews(*(sums / np.where(np.isin(np.arange(7), [1, 3]), n_always, REVIEWS)))


def population(rng: np.random.Generator, model: str, share: float) -> tuple[NDArray[np.intp], LabelAudit]:
    """Return the truth, 1 for a wrong label, and an audit that believes what the model says."""
    truth = (rng.random(N_ROWS) < share).astype(int)
    shift = np.sqrt(2) * norm.ppf(AREA)
    logit = np.log(share / (1 - share)) + shift * (rng.normal(size=N_ROWS) + shift * truth) - shift**2 / 2
    chance = 1 / (1 + np.exp(-(3 if model == "overconfident" else 1) * logit))
    chance = {"shuffled": rng.permutation(chance), "inverted": 1 - chance}.get(model, chance)
    labels = np.zeros(N_ROWS, int)
    return truth, LabelAudit(
        labels=labels,
        quality=1 - chance,
        suggested=labels,
        probabilities=np.column_stack([1 - chance, chance]),
        classes=np.array([0, 1]),
        noise_rate=float(chance.mean()),
        noise_interval=(0.0, 1.0),
        transition=np.eye(2),
    )


def clopper_pearson(errors: int, n_checks: int) -> float:
    """Return the width of the exact 95 % interval of a plain random sample."""
    low = beta.ppf(0.025, errors, n_checks - errors + 1) if errors else 0.0
    high = beta.ppf(0.975, errors + 1, n_checks - errors) if errors < n_checks else 1.0
    return float(high - low)
