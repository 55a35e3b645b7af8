"""What an audit of labels costs beside logistic regression, and whether many classes get an honest range."""

from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from kernelwise import NoisyLabelClassifier

from .measure import in_fresh_process, record

TITLE = "Label audit: overlapping classes, 15 % flips; processor seconds beside logistic regression, one thread"

FLIPS = 0.15
#: Rows, columns, classes, and the largest ratio of processor seconds that is allowed.
SHAPES = (
    (2000, 64, 10, 5.0),
    (20_000, 64, 10, 5.0),
    (2000, 512, 10, 12.0),
    (5000, 64, 10, None),
    (5000, 64, 50, None),
)
#: Rows and columns of tables with more columns than rows, and the most processor seconds that a fit may take: a third
#: of what it took before parts that earned nothing were left out (docs/decisions/0013).
WIDE, WIDE_SECONDS = (1500, 3284), 12.7
LARGE = (50_000, 512, 100)
#: Classes and Bayes errors of the sets on which the range is checked.
CLASSES, OVERLAPS = (10, 20, 50, 100), (0.1, 0.3, 0.5)


def run() -> list[dict[str, Any]]:
    """Measure the ratios in one process, the large set in a process of its own, and the ranges of many classes."""
    rows = []
    for n, d, n_classes, allowed in SHAPES:
        X, true, given = overlapping(n, d, n_classes, 0.3)
        with threadpool_limits(1):
            start = process_time()
            tuned(X, given)
            logistic, start = process_time() - start, process_time()
            model = NoisyLabelClassifier(random_state=0).fit(X, given)
            ours = process_time() - start
        case = f"{n} x {d}, {n_classes} classes"
        area = roc_auc_score(given != true, -model.label_quality_)
        rows += [
            record(f"{case}: logistic regression, five C in five folds", logistic, "s"),
            record(f"{case}: NoisyLabelClassifier", ours, "s"),
            record(f"{case}: ratio", ours / logistic, "", **({} if allowed is None else {"at_most": allowed})),
            record(f"{case}: audit area", float(area), ""),
        ]
    for kind in ("categories", "measurements"):
        X, true, given = wide(kind)
        with threadpool_limits(1):
            start = process_time()
            model = NoisyLabelClassifier(random_state=0).fit(X, given)
            ours = process_time() - start
        case = "{} x {}, ".format(*WIDE) + kind
        area = roc_auc_score(given != true, -model.label_quality_)
        rows += [record(f"{case}: processor seconds", ours, "s", at_most=WIDE_SECONDS)]
        rows += [record(f"{case}: audit area", float(area), "")]
    large = in_fresh_process(fit_large, prepare=large_set)
    case = "{} x {}, {} classes".format(*LARGE)
    rows += [
        record(f"{case}: seconds by the clock, all cores", large.seconds, "s", at_most=300.0),
        record(f"{case}: peak memory", large.peak_bytes / 2**30, "GiB", at_most=6.0),
    ]
    for n_classes in CLASSES:
        for overlap in OVERLAPS:
            rows += many_classes(n_classes, overlap)
    return rows


def many_classes(n_classes: int, overlap: float) -> list[dict[str, Any]]:
    """Whether the estimate is within .05 of the truth or the range holds it, and the audit beside that of logistic."""
    X, true, given = overlapping(max(2000, 40 * n_classes), max(20, n_classes // 2), n_classes, overlap)
    wrong = given != true
    with threadpool_limits(1):
        model = NoisyLabelClassifier(random_state=0).fit(X, given)
        search = tuned(X, given)
    low, high = model.noise_interval_
    held = low <= wrong.mean() <= high or abs(model.noise_rate_ - wrong.mean()) <= 0.05
    rows = np.arange(len(given))
    area = roc_auc_score(wrong, -model.label_quality_) - roc_auc_score(wrong, -search[rows, given])
    case = f"{n_classes} classes, Bayes error {overlap}"
    return [
        record(f"{case}: range {low:.3f} to {high:.3f} for {wrong.mean():.3f}, held", float(held), "", at_least=1.0),
        record(f"{case}: audit area beyond tuned logistic regression", float(area), "", at_least=-0.002),
    ]


def overlapping(n: int, d: int, n_classes: int, overlap: float) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return normal classes with this Bayes error, their true labels, and labels of which 15 % are flipped."""
    rng = np.random.default_rng([n, d, n_classes, round(100 * overlap)])
    means, true, noise = rng.normal(size=(n_classes, d)), rng.integers(0, n_classes, n), rng.normal(size=(n, d))
    few = slice(0, min(n, 4000))

    def excess(scale: float) -> float:
        X = scale * means[true[few]] + noise[few]
        scores = X @ (scale * means).T - 0.5 * scale**2 * np.sum(means**2, axis=1)
        return float(np.mean(scores.argmax(axis=1) != true[few])) - overlap

    X = brentq(excess, 0.01, 5.0, xtol=1e-3) * means[true] + noise
    flipped = rng.random(n) < FLIPS
    return X, true, np.where(flipped, (true + rng.integers(1, n_classes, n)) % n_classes, true)


def wide(kind: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return four classes in many columns, their true labels, and labels of which 15 % are flipped.

    The columns are indicators of categories with 5 to 199 levels and 20 numbers, or noisy measurements of 30 numbers.
    """
    (n, d), rng = WIDE, np.random.default_rng(0)
    true = rng.integers(0, 4, n)
    if kind == "categories":
        parts, left = [rng.normal(size=(n, 20)) + 0.3 * true[:, None]], d - 20
        while left:
            n_levels = min(left, int(rng.integers(5, 200)))
            shares = rng.dirichlet(np.full(n_levels, 0.3), size=4)
            shares = 0.15 * shares + 0.85 * shares.mean(axis=0)
            parts.append(np.eye(n_levels)[[rng.choice(n_levels, p=shares[label]) for label in true]])
            left -= n_levels
        X = np.hstack(parts)
    else:
        few = rng.normal(size=(n, 30))
        few[:, :4] += 1.5 * np.eye(4)[true]
        X = few @ rng.normal(size=(30, d)) + 3 * rng.normal(size=(n, d))
    flipped = rng.random(n) < FLIPS
    return X, true, np.where(flipped, (true + rng.integers(1, 4, n)) % 4, true)


def tuned(X: NDArray[Any], given: NDArray[Any]) -> NDArray[Any]:
    """Tune a logistic regression over five costs in five folds, and return its probabilities out of fold."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(model, {"logisticregression__C": [0.001, 0.01, 0.1, 1.0, 10.0]}, cv=folds).fit(X, given)
    return cross_val_predict(search.best_estimator_, X, given, cv=folds, method="predict_proba")


def large_set() -> tuple[NDArray[Any], NDArray[Any]]:
    X, _, given = overlapping(*LARGE, 0.1)
    return X, given


def fit_large(X: NDArray[Any], given: NDArray[Any]) -> float:
    return NoisyLabelClassifier(random_state=0).fit(X, given).noise_rate_
