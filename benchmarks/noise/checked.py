"""What planned checks tell on real noise: ``python -m benchmarks.noise.checked --data FOLDER``.

The rows of each set are audited once; checks are then simulated with the truth, and the posterior of the audit is
calibrated on them, as ``audit_labels(checked=...)`` does. The views are not fitted again, so that many reviews can be
simulated. Printed are the error of the share of wrong labels, the gain of the audit area on unchecked rows, and the
wrong labels found by 100 checks in batches of ten, for plans and for the most suspect rows, ranked again or not.
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from kernelwise import LabelAudit, NoisyLabelClassifier, plan_checks
from kernelwise.labels import classifier as fitting
from kernelwise.labels.audit import audit_by
from kernelwise.labels.checks import recalibrate

from .real import SETS

ROWS, REVIEWS, SIZES, BATCH, BATCHES = 1000, 12, (10, 20, 50, 100), 10, 10
TASKS = (
    ("cifar10n_10k", "random_label1"),
    ("cifar10n_10k", "worse_label"),
    ("hausa_newsclass", "y_noisy"),
    ("labelme_crowd", "y_mv"),
    ("labelme_crowd", "y_one"),
    ("sentiment_crowd", "y_mv"),
    ("sentiment_crowd", "y_one"),
    ("youtube_wrench", "y_mv"),
)

Index = NDArray[np.intp]


@dataclass(frozen=True)
class Task:
    """An audit without checks, what it believes from the scores alone, and the true classes."""

    audit: LabelAudit
    belief: NDArray[np.float64]
    given: Index
    truth: Index

    @property
    def wrong(self) -> NDArray[np.bool_]:
        return self.given != self.truth

    def quality(self, checked: Index) -> NDArray[np.float64]:
        """The qualities of all labels, calibrated on the checked rows."""
        rows = np.arange(len(self.given))
        if not len(checked):
            return self.audit.quality
        how = recalibrate(self.belief, self.audit.probabilities, self.given, checked, self.truth[checked])
        quality = how.posterior(self.belief, self.audit.probabilities, self.given)[rows, self.given]
        quality[checked] = ~self.wrong[checked]
        return np.clip(quality, 0.0, 1.0)


def read(data: Path, name: str, labels: str) -> Task:
    """Audit some rows of a set; keep the belief that the audit is made of."""
    arrays = dict(np.load(data / f"{name}.npz", allow_pickle=False))
    parts = SETS[name].read(arrays, 0, ROWS)
    some = np.sort(np.random.default_rng(0).permutation(parts.X_train.shape[0])[:ROWS])
    given, truth = arrays[labels][parts.rows][some], parts.y_true[some]
    kept: list[NDArray[np.float64]] = []
    calibrated = fitting.calibrated

    def listen(belief: NDArray[np.float64], *others: object) -> object:
        kept.append(belief)
        return calibrated(belief, *others)  # type: ignore[arg-type]

    fitting.calibrated = listen  # type: ignore[assignment]
    try:
        model = NoisyLabelClassifier(random_state=0).fit(parts.X_train[some], given)
    finally:
        fitting.calibrated = calibrated
    codes = [np.searchsorted(model.classes_, values) for values in (given, truth)]
    return Task(audit_by(model, given), kept[0], *codes)


def knowledge(task: Task, n_checks: int) -> tuple[float, float]:
    """Return the mean error of the share of wrong labels, and the mean gain of the area on unchecked rows."""
    found = []
    for seed in range(REVIEWS):
        rows = plan_checks(task.audit, n_checks, random_state=seed).rows
        quality, others = task.quality(rows), np.setdiff1d(np.arange(len(task.given)), rows)
        areas = [roc_auc_score(task.wrong[others], -one[others]) for one in (quality, task.audit.quality)]
        found.append((abs(np.mean(1 - quality) - task.wrong.mean()), areas[0] - areas[1]))
    error, gain = np.mean(found, axis=0)
    return float(error), float(gain)


def search(task: Task, how: str, seed: int) -> tuple[int, float]:
    """Return how many wrong labels 100 checks find, and the error of the share of wrong labels afterwards."""
    known, checked = np.array([], dtype=np.intp), None
    for batch in range(BATCHES):
        audit = task.audit if how == "first" else replace(task.audit, quality=task.quality(known))
        if how == "plan":
            plan = plan_checks(audit, BATCH, checked=checked, random_state=BATCHES * seed + batch)
            verdicts = plan.verdicts(task.truth[plan.rows])
            checked, new = verdicts if checked is None else checked + verdicts, plan.rows
        else:
            new = audit.order[~np.isin(audit.order, known)][:BATCH]
        known = np.concatenate([known, new])
    return int(task.wrong[known].sum()), abs(float(np.mean(1 - task.quality(known)) - task.wrong.mean()))


def main() -> None:
    parser = argparse.ArgumentParser(description="What planned checks tell on real noise.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the .npz files")
    data = parser.parse_args().data
    told, found = [], []
    for name, labels in TASKS:
        task = read(data, name, labels)
        told.append([knowledge(task, n_checks) for n_checks in SIZES])
        found.append(
            [np.mean([search(task, how, seed) for seed in range(3)], axis=0) for how in ("first", "again", "plan")]
        )
        print(f"{name} {labels}: wrong {task.wrong.mean():.3f}, believed {np.mean(1 - task.audit.quality):.3f}")
        for n_checks, (error, gain) in zip(SIZES, told[-1], strict=True):
            print(f"  {n_checks} checks: error of the share {error:.3f}, gain of the area {gain:+.3f}")
        for how, (count, error) in zip(("suspects first", "ranked again", "plans"), found[-1], strict=True):
            print(f"  {how}: {count:.1f} found by {BATCH * BATCHES} checks, error of the share {error:.3f}", flush=True)
    print("mean over sets:", np.mean(told, axis=0).round(4).tolist(), np.mean(found, axis=0).round(3).tolist())


if __name__ == "__main__":
    main()
