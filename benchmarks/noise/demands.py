"""The demands on the classifier that were written down before any run, and what the records of a group of sets show.

Where a demand names cleanlab, the better of the two cleanlab methods counts.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from .competitors import METHODS
from .run import FOLDER
from .tables import ORDER, OURS, Records, by_noise_and_set, common, load, markdown, mean_ranks

CLEANLAB = ("cleanlab_logistic", "cleanlab_svc")
STRONG = ("sym30", "sym40", "class")  # noise of .3 and more, and unequal rates
NOISY = ("sym20", *STRONG, "instance")  # noise of .2 and more

Finding = tuple[str, bool, str]
Best = Callable[[Iterable[float]], float]


def demands(half: str, folder: Path = FOLDER, ours_folder: Path | None = None) -> str:
    """The demands with what was reached, in Markdown."""
    records = common(load(half, METHODS, folder, ours_folder or folder))
    missing = sorted(set(METHODS) - set(records))
    if missing:
        return f"The {half} sets have no record of {', '.join(missing)} that the other methods share."
    rows = [rank(records), *accuracies(records), *audits(records), rates(records)]
    rows += [probabilities(records, "log_loss", "log-loss"), probabilities(records, "ece", "calibration error")]
    cells = [[demand, "yes" if met else "**no**", found] for demand, met, found in rows]
    return markdown(["demand", "met", "found"], cells)


def rank(records: Records) -> Finding:
    ranks = mean_ranks(records)
    best = min(value for method, (value, _) in ranks.items() if method != OURS)
    own = ranks[OURS][0]
    return "best mean rank by accuracy of all methods", own < best, f"{own:.2f}, next {best:.2f}"


def accuracies(records: Records) -> list[Finding]:
    gaps = against_best(records, "accuracy", ORDER, others(records), max)
    strong = averages(records, "accuracy", STRONG)
    lead = strong[OURS] - max(value for method, value in strong.items() if method != OURS)
    return [
        ("accuracy at most .01 below the best, at every kind of noise", min(gaps.values()) >= -0.01, worst(gaps)),
        ("mean accuracy at .3, .4 and unequal rates: .02 above the best competitor", lead >= 0.02, f"{lead:+.3f}"),
    ]


def audits(records: Records) -> list[Finding]:
    gaps = against_best(records, "audit_auc", ORDER[1:], CLEANLAB, max)
    found = [("audit at least as good as cleanlab's, at every kind of noise", min(gaps.values()) >= 0, worst(gaps))]
    for noise, name in (("sym40", ".4"), ("class", "unequal rates")):
        found.append((f"audit .03 above cleanlab's, at {name}", gaps[noise] >= 0.03, f"{gaps[noise]:+.3f}"))
    return found


def rates(records: Records) -> Finding:
    errors = averages(records, "noise_rate_error", ORDER)
    ratio = errors[OURS] / min(errors[method] for method in CLEANLAB)
    return "error of the estimated noise rate at most two thirds of cleanlab's", ratio <= 2 / 3, f"{ratio:.2f}"


def probabilities(records: Records, metric: str, name: str) -> Finding:
    gaps = against_best(records, metric, NOISY, others(records), min)
    gaps = {noise: -gap for noise, gap in gaps.items()}
    return f"{name} better than all competitors', at every noise of .2 and more", min(gaps.values()) > 0, worst(gaps)


def others(records: Records) -> list[str]:
    return [method for method in records if method != OURS]


def mean_at(records: Records, method: str, metric: str, noise: str) -> float:
    """Mean over sets of means over seeds."""
    return float(np.mean(list(by_noise_and_set(records[method], metric)[noise].values())))


def against_best(
    records: Records, metric: str, noises: Iterable[str], rivals: Sequence[str], best: Best
) -> dict[str, float]:
    """Ours minus the best of the others, noise by noise."""
    return {
        noise: mean_at(records, OURS, metric, noise) - best(mean_at(records, rival, metric, noise) for rival in rivals)
        for noise in noises
    }


def averages(records: Records, metric: str, noises: Iterable[str]) -> dict[str, float]:
    """Mean over noises of the mean over sets, for the methods that have the metric."""
    known = [method for method in records if by_noise_and_set(records[method], metric)]
    return {method: float(np.mean([mean_at(records, method, metric, noise) for noise in noises])) for method in known}


def worst(gaps: dict[str, float]) -> str:
    noise = min(gaps, key=gaps.__getitem__)
    return f"least advantage {gaps[noise]:+.3f}, at {noise}"
