"""What true labels say of the noise model: slope and log-odds of the classes given the scores, per noise.

The scores are those of the classifier's pool, out of sample and made from noisy labels. The truth is used here only, to
read off the priors of ``kernelwise.noise.two_classes`` and ``kernelwise.noise.posterior`` (more classes).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from kernelwise.labels.classifier import _Standardiser
from kernelwise.samples import DistinctSamples, distinct_samples
from kernelwise.scoring.pool import ScorePool, fit_pool

from .datasets import MULTICLASS, names_of
from .noise import Cell, make_cell
from .tables import markdown

Floats = NDArray[np.float64]
SYMMETRIC = ("sym00", "sym10", "sym20", "sym30", "sym40")
#: Weak penalties, for sets whose classes are apart or have nothing to do with the scores.
SLOPE_PENALTY, ODDS_PENALTY = 0.05, 0.01


def truth(halves: Sequence[str], seeds: Sequence[int]) -> str:
    """Mean and standard deviation over sets of the logarithm of the slope, and the size of the log-odds."""
    rows = []
    for kind in ("two", "more"):
        names = [name for half in halves for name in names_of(half) if (name in MULTICLASS) == (kind == "more")]
        for noise in SYMMETRIC if names else ():
            found = [slope_and_odds(make_cell(name, noise, seed)) for seed in seeds for name in names]
            slopes, odds = np.array(found).T
            figures = (slopes.mean(), slopes.std(ddof=1), np.sqrt(np.mean(odds**2)))
            rows.append([kind, noise, str(len(names)), *(f"{value:.2f}" for value in figures)])
    return markdown(["classes", "noise", "sets", "log slope, mean", "s.d.", "log-odds, r.m.s."], rows)


def slope_and_odds(cell: Cell) -> tuple[float, float]:
    """The logarithm of the slope that fits true labels best, and the log-odds at a mean score (more classes: s.d.)."""
    scores = out_of_sample_scores(cell)
    scores = scores - scores.mean(axis=0)
    two = scores.shape[1] == 2
    scores /= scores[:, 1].std() if two else np.sqrt(np.mean(scores**2))
    rows = np.arange(len(scores))

    def loss(parameters: Floats) -> float:
        logits = np.exp(parameters[0]) * scores + parameters[1:]
        unexplained = logsumexp(logits, axis=1) - logits[rows, cell.y_true]
        penalty = SLOPE_PENALTY * parameters[0] ** 2 + ODDS_PENALTY * np.sum(parameters[1:] ** 2)
        return float(unexplained.sum() + penalty)

    best = minimize(loss, np.r_[0.5, np.zeros(scores.shape[1])]).x
    return float(best[0]), float(best[2] - best[1] if two else best[1:].std())


def out_of_sample_scores(cell: Cell) -> Floats:
    """The pool's scores of the training rows, one column per class; equal rows with equal labels are scored as one."""
    pool, _, merged = fitted_pool(cell)
    return pool.out_of_sample[merged.group]


def fitted_pool(cell: Cell) -> tuple[ScorePool, _Standardiser, DistinctSamples]:
    """The classifier's views, fitted to the given labels of a cell and weighed."""
    merged = distinct_samples(cell.X_train, cell.y_given, np.ones(len(cell.y_given)))
    X, given = cell.X_train[merged.first], cell.y_given[merged.first]
    standardise = _Standardiser.fit(X, merged.weight)
    n_classes, rng = int(cell.y_true.max()) + 1, np.random.RandomState(cell.seed)
    pool = fit_pool(standardise(X), given, n_classes, merged.weight, rng, standardise.common)
    return pool, standardise, merged
