"""Everything random in kernelwise, run once with a seed: ``python tests/determinism_cases.py`` prints a digest of each.

``python tests/determinism_cases.py results.npz`` stores the numbers themselves. Two runs with the same versions and the
same number of threads print the same.
"""

import hashlib
import sys
from dataclasses import fields, is_dataclass

import numpy as np
import scipy.sparse as sp

import kernelwise as kw
from kernelwise.datasets import make_block_similarity
from kernelwise.kernels import gaussian_kernels, linear_kernels

N = 120
Y = np.repeat([0, 1, 2], N // 3)
X = np.random.RandomState(0).randn(N, 4) + 1.5 * np.eye(4)[Y]
TWO = (Y > 0).astype(int)
NAMES = np.array(["ape", "bee", "cat"])[Y]
PAIRS = kw.Pairs.from_labels(Y, n_pairs=300, random_state=0).flip(0.1, random_state=0)
ANSWERS = kw.Answers.from_table(
    np.stack([kw.flip_labels(Y, rate, random_state=source) for source, rate in enumerate((0.1, 0.2, 0.5))], axis=1)
)
SIMILARITY = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4)
WORDS = sp.csr_array(np.random.RandomState(1).poisson(0.05 + 0.3 * np.eye(3)[Y].repeat(10, axis=1)).astype(float))
LINKS = kw.Pairs.from_graph(np.column_stack([PAIRS.positive.rows, PAIRS.positive.cols]), n_samples=N, negatives=None)
FEW = gaussian_kernels([0.25, 1.0], scope="all+each")


def table():
    """A DataFrame with numbers, categories and text."""
    import pandas as pd

    text = [f"{name} and {name} {i % 7}" for i, name in enumerate(NAMES)]
    return pd.DataFrame({"number": X[:, 0], "kind": pd.Categorical(NAMES[::-1]), "text": text})


def classifier(model, data=X, y=TWO):
    fitted = model.fit(data, y)
    return fitted, fitted.predict(data), fitted.predict_proba(data)


def learner(model, data=X, pairs=PAIRS):
    fitted = model.fit(data, pairs=pairs)
    return fitted, fitted.transform(data)


def clusters(model, data=X, pairs=PAIRS):
    return model.fit(data, pairs=pairs)


def completed(seed):
    rows, cols = np.nonzero(np.random.RandomState(2).rand(30, 25) < 0.5)
    values = np.random.RandomState(3).randn(30, 2) @ np.random.RandomState(4).randn(2, 25)
    result = kw.complete_matrix(rows, cols, values[rows, cols], (30, 25), random_state=seed)
    return result.left, result.right, result.certificate.primal, result.certificate.dual


#: For each name, what a seed gives.
CASES = {
    "SimpleMKLClassifier": lambda seed: classifier(kw.SimpleMKLClassifier(FEW, random_state=seed), y=NAMES),
    "SimpleMKLClassifier(mirror-prox)": lambda seed: classifier(
        kw.SimpleMKLClassifier(FEW, solver="mirror-prox", tol=0.1, max_iter=100, random_state=seed)
    ),
    "RobustMKLClassifier": lambda seed: classifier(kw.RobustMKLClassifier(FEW, noise_rate="auto", random_state=seed)),
    "BestCaseMKLClassifier": lambda seed: classifier(kw.BestCaseMKLClassifier(FEW, random_state=seed)),
    "SimpleMKLClassifierCV": lambda seed: classifier(
        kw.SimpleMKLClassifierCV(FEW, alphas=[0.1, 0.01], random_state=seed)
    ),
    "RobustMKLClassifierCV": lambda seed: classifier(
        kw.RobustMKLClassifierCV(FEW, alphas=[0.01], budgets=[1.0, 0.8], n_folds=3, random_state=seed)
    ),
    "NoisyLabelClassifier": lambda seed: classifier(kw.NoisyLabelClassifier(random_state=seed), y=NAMES),
    "NoisyLabelClassifier(table)": lambda seed: classifier(kw.NoisyLabelClassifier(random_state=seed), table(), NAMES),
    "estimate_label_noise": lambda seed: kw.estimate_label_noise(X, TWO, random_state=seed),
    "audit_labels": lambda seed: kw.audit_labels(X, TWO, random_state=seed),
    "audit_labels(groups)": lambda seed: kw.audit_labels(X, TWO, groups=np.arange(N) // 3, random_state=seed),
    "audit_answers": lambda seed: kw.audit_answers(X, ANSWERS, random_state=seed),
    "audit_pairs": lambda seed: kw.audit_pairs(X, PAIRS, random_state=seed),
    "audit_pairs(links)": lambda seed: kw.audit_pairs(WORDS, LINKS, random_state=seed),
    "flip_labels": lambda seed: kw.flip_labels(NAMES, 0.2, random_state=seed),
    "Pairs.flip": lambda seed: PAIRS.flip(0.2, random_state=seed),
    "Pairs.from_labels": lambda seed: kw.Pairs.from_labels(NAMES, n_pairs=50, random_state=seed),
    "Pairs.from_graph": lambda seed: kw.Pairs.from_graph(np.array([[0, 1], [5, 9]]), n_samples=N, random_state=seed),
    "make_block_similarity": lambda seed: make_block_similarity(30, 3, random_state=seed),
    "PairKernelLearner": lambda seed: learner(kw.PairKernelLearner(FEW, noise="auto", random_state=seed)),
    "PairKernelLearner(y)": lambda seed: kw.PairKernelLearner(FEW, random_state=seed).fit(X, Y),
    "PairKernelClustering": lambda seed: clusters(
        kw.PairKernelClustering(kw.PairKernelLearner(FEW), n_clusters=3, random_state=seed)
    ),
    "UniformKernel": lambda seed: learner(kw.UniformKernel(linear_kernels(), rank=2, random_state=seed)),
    "SpectralKernelLearner": lambda seed: learner(kw.SpectralKernelLearner(FEW, n_components=8, random_state=seed)),
    "NonparametricKernelLearner": lambda seed: learner(
        kw.NonparametricKernelLearner(loss="squared_hinge", random_state=seed)
    ),
    "MMC": lambda seed: learner(kw.MMC(random_state=seed)),
    "ITML": lambda seed: learner(kw.ITML(random_state=seed)),
    "MPCKMeans": lambda seed: clusters(kw.MPCKMeans(3, random_state=seed)),
    "PairCompleter": lambda seed: learner(kw.PairCompleter([5, 10], noise_rate="auto", random_state=seed), SIMILARITY),
    "PairCompleter(completion)": lambda seed: learner(
        kw.PairCompleter(5, method="completion", noise_rate=0.1, random_state=seed), SIMILARITY
    ),
    "PairCompletionClustering": lambda seed: clusters(
        kw.PairCompletionClustering(3, completer=kw.PairCompleter(5), random_state=seed), SIMILARITY
    ),
    "ConstrainedSpectralClustering": lambda seed: clusters(
        kw.ConstrainedSpectralClustering(3, random_state=seed), SIMILARITY
    ),
    "TransitiveClosure": lambda seed: kw.TransitiveClosure(random_state=seed).fit(pairs=PAIRS),
    "LinkSmoother": lambda seed: learner(
        kw.LinkSmoother(depth=(0, 1, 2), depth_weights="learned", n_components=20, random_state=seed), WORDS, LINKS
    ),
    "LinkedClustering": lambda seed: clusters(kw.LinkedClustering(3, random_state=seed), WORDS, LINKS),
    "plan_labelling": lambda seed: kw.plan_labelling(
        SIMILARITY, 3, completer=kw.PairCompleter(5), shares=(0.2, 0.5), n_repeats=1, random_state=seed
    ),
    "complete_matrix": completed,
}

#: Attributes that hold seconds, which differ from run to run.
TIMED = {"history_", "history"}


def numbers(value, name="result"):
    """Yield (name, array) for every number, text and array inside ``value``, fitted attributes and fields included."""
    if sp.issparse(value):
        value = value.toarray()
    if isinstance(value, bool | int | float | str | np.generic | np.ndarray):
        array = np.asarray(value)
        yield name, array.astype(str) if array.dtype.kind == "O" else array
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from numbers(part, f"{name}.{key}")
    elif isinstance(value, tuple | list) and not hasattr(value, "get_params"):
        for position, part in enumerate(value):
            yield from numbers(part, f"{name}.{position}")
    else:
        yield from numbers(_parts(value), name)


def _parts(value):
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.name not in TIMED}
    names = [*vars(value)] if hasattr(value, "__dict__") else []
    if hasattr(value, "get_params"):
        names = [name for name in names if name.endswith("_") and not name.startswith("_")]
    elif isinstance(value, kw.Pairs):
        names = ["rows", "cols", "labels", "weights"]
    return {name: getattr(value, name) for name in names if name not in TIMED}


def results(seed=0):
    """What every case gives, as arrays by name."""
    return {f"{case}/{name}": array for case, run in CASES.items() for name, array in numbers(run(seed))}


def digest(arrays):
    """A short text that is the same for the same bits."""
    hashed = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        hashed.update(f"{name} {array.dtype} {array.shape}".encode())
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()[:16]


if __name__ == "__main__":
    found = results()
    if len(sys.argv) > 1:
        np.savez(sys.argv[1], **{name.replace("/", "|"): array for name, array in found.items()})
    for case in CASES:
        print(f"{case:35s}", digest({name: array for name, array in found.items() if name.startswith(f"{case}/")}))
