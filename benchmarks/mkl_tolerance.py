"""Whether the default tolerance of the multiple-kernel classifiers predicts what a far smaller one predicts."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernelwise import BestCaseMKLClassifier, RobustMKLClassifier, SimpleMKLClassifier, datasets, flip_labels

from .measure import record

TITLE = (
    "Tolerance of the kernel classifiers: rows predicted alike at the default tol and at 1e-8, 2/3 of the rows fitted"
)

SETS = ("heart", "sonar", "ionosphere")
ALPHAS = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)
CLASSIFIERS: dict[str, Any] = {
    "SimpleMKLClassifier": SimpleMKLClassifier(),
    "RobustMKLClassifier": RobustMKLClassifier(noise_rate=0.2),
    # Not convex: each tolerance alternates on its own, from the same three starts, and the minima found are compared.
    "BestCaseMKLClassifier": BestCaseMKLClassifier(noise_rate=0.2),
}


def run() -> list[dict[str, Any]]:
    """Fit every classifier at every penalty with 0 and 40 % flips, at both tolerances."""
    rows = []
    for name, model in CLASSIFIERS.items():
        alike, certified, gaps, tight = [], [], [], []
        for data in SETS:
            for rate in (0.0, 0.4):
                for alpha in ALPHAS:
                    shares = _fits(model, data, rate, alpha)
                    for kept, value in zip((alike, certified, gaps, tight), shares, strict=True):
                        kept.append(value)
        fits = f"{name}, {len(alike)} fits"
        rows += [
            record(f"{fits}: rows predicted alike, all fits", float(np.mean(alike)), "", at_least=0.995),
            record(f"{fits}: rows predicted alike, worst fit", min(alike), "", at_least=0.995),
            record(f"{fits}: certified at the default", float(np.mean(certified)), "", at_least=1.0),
            record(f"{fits}: largest relative gap at the default", max(gaps), "", at_most=1e-6),
            record(f"{fits}: certified at 1e-8", float(np.mean(tight)), ""),
        ]
    return rows


def _fits(model: Any, data: str, rate: float, alpha: float) -> tuple[float, bool, float, bool]:
    """Return the share of rows predicted alike, whether each fit is certified, and the gap at the default."""
    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    given = flip_labels(y, rate, random_state=1) if rate > 0 else y
    fitted = np.random.default_rng(1).permutation(len(y))[: 2 * len(y) // 3]
    model.set_params(alpha=alpha, probability=False, random_state=0)
    default = model.tol
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is measured
        model.fit(X[fitted], given[fitted])
        predicted, certified, gap = model.predict(X), model.converged_, model.relative_gap_
        model.set_params(tol=1e-8).fit(X[fitted], given[fitted])
    model.set_params(tol=default)
    return float(np.mean(predicted == model.predict(X))), certified, gap, model.converged_
