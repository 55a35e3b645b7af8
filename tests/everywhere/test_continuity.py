"""Answers do not hang on rounding: features times 1 + 1e-10 z, with z standard normal, hardly move any answer.

Two processors round differently, by about 1e-16. Wherever that decides between two candidates, users get two answers,
and the same decision shows here as a jump. The limits are absolute for numbers up to 1, such as chances and rates, and
relative to the largest number of an output otherwise. Whole numbers, texts and clusters may not change at all.

``python tests/everywhere/test_continuity.py [case ...]`` prints the movements over ten draws.
"""

import sys
import warnings
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pytest

import kernelwise as kw
import public_estimators
from golden import cases
from golden.cases import FEW_KERNELS, SEED, clusters, every, features_moved, moved, pair_audit
from golden.stored import difference, plain
from kernelwise import datasets
from kernelwise.kernels import Gaussian, gaussian_kernels

#: How far an output may move. Chances of single rows, and what is in units of them:
CHANCE = 1e-5
#: ... and rates, intervals, weights, objectives and all other figures.
FIGURE = 1e-6
CHANCES = {
    *("quality", "label_quality", "pair_quality", "calibrated_quality", "label_probabilities", "probabilities"),
    *("calibrated_probabilities", "held_out_probabilities", "pair_probabilities", "same_class", "pair_scores"),
    *("predict_proba", "decision", "decision_function", "transform", "embed", "embedding_", "kernel", "completed"),
}
#: Case, or case and output -> the limit, with the reason.
OTHER_LIMITS: dict[str | tuple[str, str], float] = {}
#: Draws in the quick tests, and in all tests.
FEW_DRAWS, ALL_DRAWS = 1, 10


# More cases: whole numbers, categories and words, with rows that occur twice ------------------------------------------


@cases.features_first
def splice():
    """Categories, so that many distances are equal; more rows than a kernel has landmarks."""
    X, y = datasets.load_splice(return_X_y=True)
    X, y = every(X, 380), every(y, 380)
    return X, kw.Pairs.from_labels(y, n_pairs=900, random_state=SEED).flip(0.2, random_state=SEED)


@cases.features_first
def words():
    X, _, y = cases.papers.__wrapped__()
    return X[:200, ::4], kw.Pairs.from_labels(y[:200], n_pairs=600, random_state=SEED).flip(0.2, random_state=SEED)


def clustering(model, data=cases.heart_and_pairs):
    X, pairs = data()
    model.fit(X, pairs=pairs)
    found = {"labels": clusters(model.labels_)}
    if hasattr(model, "noise_intervals_"):
        found |= {"intervals": model.noise_intervals_, "pair_quality": model.pair_quality_}
    return found


def kernel_of(model, data=cases.heart_and_pairs):
    X, pairs = data()
    model.fit(X, pairs=pairs)
    if hasattr(model, "kernel"):
        return {"kernel": model.kernel(X[:20], X[20:40])}
    rows = model.transform(X[:40])
    return {"kernel": rows[:20] @ rows[20:].T}


def similarity_of(model):
    """A similarity of whole numbers, in which many entries are equal."""
    X, pairs = cases.heart_and_pairs.__wrapped__()
    near = (np.abs(X[:, None] - X) <= X.std(axis=0)).sum(axis=2).astype(np.float64)
    noise = moved(np.ones_like(near))
    model.fit(near * (noise + noise.T) / 2, pairs=pairs)
    if hasattr(model, "labels_"):
        return {"labels": clusters(model.labels_)}
    return {"pair_scores": model.pair_scores(pairs.rows, pairs.cols)}


def pairs_of_one_answer():
    table, pairs = cases.register()
    return pair_audit(kw.audit_record_pairs(table, pairs[: len(pairs) // 2], random_state=SEED))


MORE = {
    "noisy pairs, auto": lambda: clustering(kw.NoisyPairClustering(random_state=SEED)),
    "noisy pairs, splice": lambda: clustering(kw.NoisyPairClustering(3, random_state=SEED), splice),
    "noisy pairs, words": lambda: clustering(kw.NoisyPairClustering(7, random_state=SEED), words),
    "noisy pairs, kernels": lambda: clustering(kw.NoisyPairClustering(2, kernels=FEW_KERNELS, random_state=SEED)),
    "audit of pairs": lambda: pair_audit(kw.audit_pairs(*cases.heart_and_pairs(), kind="classes", random_state=SEED)),
    "audit of links": lambda: pair_audit(
        kw.audit_pairs(*cases.heart_and_pairs(), kind="links", n_folds=3, random_state=SEED)
    ),
    "records, one answer": pairs_of_one_answer,
    "PairKernelLearner": lambda: kernel_of(kw.PairKernelLearner(FEW_KERNELS, random_state=SEED)),
    "PairKernelClustering": lambda: clustering(kw.PairKernelClustering(n_clusters=2, random_state=SEED)),
    "UniformKernel": lambda: kernel_of(kw.UniformKernel(gaussian_kernels([0.25, 1.0]), random_state=SEED)),
    "SpectralKernelLearner": lambda: kernel_of(kw.SpectralKernelLearner(Gaussian(width=4.0), random_state=SEED)),
    "NonparametricKernelLearner": lambda: kernel_of(kw.NonparametricKernelLearner(random_state=SEED)),
    "ITML": lambda: kernel_of(kw.ITML(random_state=SEED)),
    "MMC": lambda: kernel_of(kw.MMC(random_state=SEED)),
    "MPCKMeans": lambda: clustering(kw.MPCKMeans(2, random_state=SEED)),
    "PairCompleter": lambda: similarity_of(kw.PairCompleter("auto", random_state=SEED)),
    "PairCompletionClustering": lambda: similarity_of(kw.PairCompletionClustering(2, random_state=SEED)),
    "ConstrainedSpectralClustering": lambda: similarity_of(kw.ConstrainedSpectralClustering(2, random_state=SEED)),
    "LinkedClustering": lambda: clustering(kw.LinkedClustering(2, random_state=SEED), words),
}


def of_estimator(case):
    """The outputs of a public estimator on small whole numbers."""

    def outputs():
        X = moved(case.data())
        X = (X + X.T) / 2 if case.takes == "similarity" else X
        return public_estimators.outputs(case.fit(X), X)

    return outputs


PUBLIC = {f"{case.name} on whole numbers": of_estimator(case) for case in public_estimators.CASES}
CASES = cases.CASES | MORE | PUBLIC
#: Cases that take more than a second and are left to the slow tests.
LONG = {
    *("noisy_label_classifier_ionosphere", "noisy_label_classifier_splice", "noisy_label_classifier_twelve_classes"),
    *("audit_pairs_features", "audit_pairs_similarity", "audit_pairs_links", "pair_kernel_learner", "checks_of_pairs"),
    *("noisy pairs, auto", "noisy pairs, splice", "audit of pairs", "audit of links", "records, one answer"),
    *("noisy_label_classifier_heart", "pair_completer", "LinkedClustering", "robust_mkl"),
}


def movements(name, draws):
    """The largest movement of every output over the draws."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        still = plain(CASES[name]())
        largest = dict.fromkeys(still, 0.0)
        for draw in draws:
            with features_moved(draw):
                now = plain(CASES[name]())
            assert now.keys() == still.keys()
            largest = {key: max(largest[key], difference(still[key], now[key])) for key in still}
    return largest


def limit(name, output):
    usual = CHANCE if output in CHANCES else FIGURE
    return OTHER_LIMITS.get((name, output), OTHER_LIMITS.get(name, usual))


def too_far(name, draws):
    return {key: far for key, far in movements(name, draws).items() if not far <= limit(name, key)}


@pytest.mark.parametrize("name", [name for name in CASES if name not in LONG])
def test_rounding_hardly_moves_an_answer(name):
    assert not too_far(name, range(FEW_DRAWS))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_rounding_hardly_moves_an_answer_in_ten_draws(name):
    assert not too_far(name, range(ALL_DRAWS))


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        found = movements(name, range(ALL_DRAWS))
        print(f"{name:45s}", {key: f"{far:.1e}" for key, far in found.items()}, flush=True)
