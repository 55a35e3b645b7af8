"""What planned checks tell on real noise: ``python -m benchmarks.noise.checked --data FOLDER``.

People who check are simulated with the truth. Figures come from fits with ``checked=``, as users make them; that of
the calibration does not:

- ``knowledge``: the error of the share of wrong labels, the gain of the audit area on unchecked rows, and the gain of
  the accuracy over a fit in which only the labels of the checked rows are corrected, after one plan.
- ``calibration``: the error of the share and the gain of the area if nothing is learned anew and the checks only
  calibrate the chances of the first fit, over many more plans; it takes a minute.
- ``search``: the wrong labels found by 100 checks in batches of ten, and the error of the share of wrong labels
  afterwards, for plans, and for the most suspect rows of the first audit and of an audit that is made again after each
  batch.
- ``coverage``: how often guaranteed intervals hold, over thousands of simulated reviews of each audit.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from kernelwise import LabelAudit, NoisyLabelClassifier, Verdicts, guaranteed_share, plan_checks
from kernelwise.labels.audit import audit_by
from kernelwise.review.diagnosis import calibrated, weights

from ..checks import review
from .real import SETS

ROWS, REVIEWS, SIZES, COVERED, BATCH, BATCHES = 1000, 3, (10, 20, 50, 100), (10, 50, 200), 10, 10
#: Accuracies are compared after so many checks.
COMPARED = 50
TASKS = (
    "cifar10n_10k random_label1",
    "cifar10n_10k worse_label",
    "hausa_newsclass y_noisy",
    "labelme_crowd y_mv",
    "labelme_crowd y_one",
    "sentiment_crowd y_mv",
    "sentiment_crowd y_one",
    "youtube_wrench y_mv",
)
PARTS = ("knowledge", "calibration", "search", "coverage")
#: The number of plans of the calibration.
PLANS = 12

Labels = NDArray[Any]


@dataclass(frozen=True)
class Task:
    """Rows with given and true labels, rows for a test, and the fit and the audit without checks."""

    X: Any
    given: Labels
    truth: Labels
    X_test: Any
    y_test: Labels
    model: NoisyLabelClassifier
    audit: LabelAudit

    @property
    def wrong(self) -> NDArray[np.bool_]:
        return self.given != self.truth

    def fit(self, checked: Verdicts | None) -> tuple[NoisyLabelClassifier, LabelAudit]:
        model = NoisyLabelClassifier(random_state=0).fit(self.X, self.given, checked=checked)
        return model, audit_by(model, self.given, checked)


def read(data: Path, task: str, rows: int) -> Task:
    """Audit some rows of a set."""
    name, labels = task.split()
    arrays = dict(np.load(data / f"{name}.npz", allow_pickle=False))
    parts = SETS[name].read(arrays, 0, rows)
    some = np.sort(np.random.default_rng(0).permutation(parts.X_train.shape[0])[:rows])
    X, given = parts.X_train[some], arrays[labels][parts.rows][some]
    model = NoisyLabelClassifier(random_state=0).fit(X, given)
    return Task(X, given, parts.y_true[some], parts.X_test, parts.y_test, model, audit_by(model, given))


def knowledge(task: Task, n_checks: int) -> NDArray[np.float64]:
    """Return the error of the share of wrong labels, and the gains of the area and of the accuracy; means."""
    found = []
    for seed in range(REVIEWS):
        plan = plan_checks(task.audit, n_checks, random_state=seed)
        model, audit = task.fit(plan.verdicts(task.truth[plan.rows]))
        others = np.setdiff1d(np.arange(len(task.given)), plan.rows)
        areas = [roc_auc_score(task.wrong[others], -one.quality[others]) for one in (audit, task.audit)]
        gain = np.nan
        if n_checks == COMPARED:
            fixed = task.given.copy()
            fixed[plan.rows] = task.truth[plan.rows]
            plain = NoisyLabelClassifier(random_state=0).fit(task.X, fixed)
            gain = model.score(task.X_test, task.y_test) - plain.score(task.X_test, task.y_test)
        found.append((abs(audit.noise_rate - task.wrong.mean()), areas[0] - areas[1], gain))
    return np.mean(found, axis=0)


def calibration(task: Task, n_checks: int) -> NDArray[np.float64]:
    """Return the error of the share of wrong labels and the gain of the area by calibration alone; means."""
    belief, posterior = task.model.out_of_sample_probabilities_, task.model.label_probabilities_
    column, true = (np.searchsorted(task.model.classes_, labels) for labels in (task.given, task.truth))
    found = []
    for seed in range(PLANS):
        plan = plan_checks(task.audit, n_checks, random_state=seed)
        checked = plan.verdicts(task.truth[plan.rows])
        known = np.full(len(column), -1)
        known[plan.rows] = true[plan.rows]
        bound = guaranteed_share(task.given, checked)
        chances, _ = calibrated(
            belief, posterior, column, known, weights(checked, len(column)), (bound.low, bound.high)
        )
        quality, others = chances[np.arange(len(column)), column], known < 0
        areas = [roc_auc_score(task.wrong[others], -one[others]) for one in (quality, task.audit.quality)]
        found.append((abs(np.mean(1 - quality) - task.wrong.mean()), areas[0] - areas[1]))
    return np.mean(found, axis=0)


def search(task: Task, how: str) -> tuple[int, float]:
    """Return how many wrong labels 100 checks find, and the error of the share of wrong labels afterwards."""
    audit, checked = task.audit, Verdicts([], [])
    for batch in range(BATCHES):
        if how == "plans":
            plan = plan_checks(audit, BATCH, checked=checked, random_state=batch)
            new = plan.verdicts(task.truth[plan.rows])
        else:
            rows = audit.order[~np.isin(audit.order, checked.rows)][:BATCH]
            new = Verdicts(rows, task.truth[rows])
        checked = checked + new
        if how != "suspects first" or batch == BATCHES - 1:
            audit = task.fit(checked)[1]
    return int(task.wrong[checked.rows].sum()), abs(audit.noise_rate - task.wrong.mean())


def coverage(task: Task, n_checks: int) -> tuple[float, float]:
    """Return the shares of simulated reviews whose intervals hold, for all labels and for one class."""
    done = review(lambda: (task.truth, task.audit), n_checks, np.random.default_rng(n_checks))
    return done.covered, done.class_covered


def main() -> None:
    parser = argparse.ArgumentParser(description="What planned checks tell on real noise.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the .npz files")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    parser.add_argument("--tasks", nargs="+", default=TASKS, metavar="TASK", help='for instance "labelme_crowd y_mv"')
    parser.add_argument("--rows", type=int, default=ROWS, help="the number of rows of each set")
    chosen = parser.parse_args()
    means: dict[str, list[Any]] = {}

    def tell(what: str, *values: float) -> None:
        means.setdefault(what, []).append(values)
        print(f"  {what}: {' '.join(f'{value:.4g}' for value in values)}", flush=True)

    for name in chosen.tasks:
        task = read(chosen.data, name, chosen.rows)
        print(f"{name}: wrong {task.wrong.mean():.3f}, believed {task.audit.noise_rate:.3f}", flush=True)
        if "knowledge" in chosen.parts:
            for n_checks in SIZES:
                what = f"{n_checks} checks: error of the share, gain of the area, gain of the accuracy"
                tell(what, *knowledge(task, n_checks))
        if "calibration" in chosen.parts:
            for n_checks in SIZES:
                what = f"{n_checks} checks, calibration alone: error of the share, gain of the area"
                tell(what, *calibration(task, n_checks))
        if "search" in chosen.parts:
            for how in ("suspects first", "ranked again", "plans"):
                tell(f"{how}: found by {BATCH * BATCHES} checks, error of the share", *search(task, how))
        if "coverage" in chosen.parts:
            for n_checks in COVERED:
                tell(f"{n_checks} checks: coverage in all, of one class", *coverage(task, n_checks))
    print(f"mean over {len(chosen.tasks)} tasks")
    for what, values in means.items():
        print(f"  {what}: {' '.join(f'{value:.4g}' for value in np.mean(values, axis=0))}")


if __name__ == "__main__":
    main()
