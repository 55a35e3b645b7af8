"""The statistical answers of every public estimator and function, on small data.

Each case returns a dictionary of outputs, which ``tests/golden/stored`` holds. Data sets are subsampled, so that all
cases together take some seconds. Clusters have no names of their own: they are numbered in the order of their first
members. Eigenvectors are left out, because their signs are free.

Inside :func:`features_moved` every case sees features with errors of a relative size of 1e-10, about a million times
the rounding of a processor: ``tests/everywhere/test_continuity.py`` asks how far the outputs move.
"""

import warnings
from contextlib import contextmanager
from functools import cache, wraps

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.naive_bayes import GaussianNB

import kernelwise as kw
from kernelwise import datasets
from kernelwise.kernels import gaussian_kernels

FEW_KERNELS = gaussian_kernels([0.25, 1.0, 4.0], scope="all")
#: Passed with every random choice.
SEED = 0


# Data -----------------------------------------------------------------------------------------------------------------

#: The relative error of moved features.
MOVEMENT = 1e-10
#: The seed of the errors, or none.
_draws = [None]


@contextmanager
def features_moved(draw):
    """Let all cases see features times 1 + 1e-10 z, with z standard normal for every cell and drawn by this seed."""
    _draws.append(draw)
    try:
        yield
    finally:
        _draws.pop()


def moved(values):
    """Features as they are, or moved; a data frame has numbers to move, and a sparse matrix entries."""
    if _draws[-1] is None:
        return values
    if hasattr(values, "select_dtypes"):
        numbers = values.select_dtypes("float")
        return values.assign(**{name: moved(column.to_numpy()) for name, column in numbers.items()})
    if sp.issparse(values):
        return sp.csr_array((moved(values.data), values.indices, values.indptr), shape=values.shape)
    return values * (1.0 + MOVEMENT * np.random.RandomState(_draws[-1]).standard_normal(values.shape))


def features_first(make):
    """Make data once; the first of them are features, which may be moved."""
    made = cache(make)

    @wraps(make)
    def data(*arguments):
        X, *others = made(*arguments)
        return moved(X), *others

    return data


def every(values, count=10):
    """The values at so many evenly spaced rows."""
    return values[np.linspace(0, len(values) - 1, min(count, len(values))).astype(int)]


@features_first
def bundled(name, n_rows, rate):
    """Evenly spaced rows of a bundled set, and its labels with a share of errors."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return every(X, n_rows), kw.flip_labels(every(y, n_rows), rate, random_state=SEED)


@features_first
def heart_with_repetitions():
    """Six rows occur twice, most of them with other labels."""
    X, y = bundled.__wrapped__("heart", 100, 0.25)
    return np.vstack([X, X[:6]]), np.append(y, y[5::-1])


@features_first
def twelve_classes():
    y = np.arange(204) % 12
    X = np.random.RandomState(SEED).randn(204, 5) + 4.0 * np.random.RandomState(1).randn(12, 5)[y]
    return X, kw.flip_labels(y, 0.2, random_state=SEED)


@features_first
def mixed_table():
    """A data frame with numbers, categories and texts."""
    import pandas as pd

    kinds, draw = np.array(["ape", "bee", "cat"]), np.random.RandomState(SEED)
    true = np.arange(90) % 3
    seen = np.where(draw.rand(90) < 0.7, true, draw.randint(3, size=90))
    words = [" ".join(draw.choice([kinds[k], "runs", "eats", "and", "sleeps"], 4)) for k in seen]
    numbers = true + draw.randn(90)
    table = pd.DataFrame({"number": numbers, "kind": pd.Categorical(kinds[draw.permutation(seen)]), "text": words})
    return table, kw.flip_labels(kinds[true], 0.15, random_state=SEED)


@features_first
def papers():
    """The first papers of Cora: their words, the distinct links between them and their classes."""
    cora, n_papers = datasets.load_cora(), 400
    inside = cora.edges[(cora.edges < n_papers).all(axis=1)]
    return sp.csr_array(cora.data[:n_papers]), np.unique(np.sort(inside, axis=1), axis=0), cora.target[:n_papers]


@features_first
def three_groups():
    """Features, classes and pairs with errors."""
    y = np.repeat([0, 1, 2], 30)
    X = np.random.RandomState(SEED).randn(90, 4) + 2.0 * np.eye(4)[y]
    return X, y, kw.Pairs.from_labels(y, n_pairs=500, random_state=SEED).flip(0.15, random_state=SEED)


def similarity():
    """A similarity of the three groups and few pairs."""
    X, y, _ = three_groups()
    known = np.where(np.arange(90) % 3 < 2, y, -1)
    pairs = kw.Pairs.from_labels(known, n_pairs=250, random_state=SEED).flip(0.1, random_state=SEED)
    return np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4), pairs


@features_first
def register():
    """Records of sixty people, each given twice with errors and gaps, and who is who by two people who err."""
    import pandas as pd

    draw = np.random.RandomState(SEED)
    letters, person = np.array(list("abcdefghij")), np.repeat(np.arange(60), 2)
    names = ["".join(name) for name in draw.choice(letters, (60, 7))]
    towns, sizes = draw.choice(["Ulm", "Bern", "Graz"], 60), draw.randint(150, 200, 60) / 100
    record = [(names[k][: draw.randint(4, 8)] + draw.choice(letters), towns[k], sizes[k]) for k in person]
    table = pd.DataFrame(record, columns=["name", "town", "size"])
    table.loc[::9, "town"], table.loc[4::11, "size"] = None, np.nan
    rows, cols = np.tile(np.arange(0, 120, 2), 3), np.concatenate([np.arange(1, 120, 2), draw.randint(120, size=120)])
    apart = rows != cols
    truth = np.where(person[rows[apart]] == person[cols[apart]], 1, -1)
    pairs = kw.Pairs(rows[apart], cols[apart], truth, n_samples=120)
    return table, kw.Pairs.concatenate([pairs.flip(0.1, random_state=seed) for seed in (0, 1)])


@features_first
def heart_and_pairs():
    """Whole numbers, rows that occur twice, and pairs of which a fifth is wrong."""
    X, y = bundled.__wrapped__("heart", 90, 0.0)
    X, y = np.vstack([X, X[:6]]), np.append(y, y[:6])
    return X, kw.Pairs.from_labels(y, n_pairs=300, random_state=SEED).flip(0.2, random_state=SEED)


def out_of_sample_probabilities(n_classes, n_samples, sharpness, *, rate=0.0, fading=0.0, skewed=False):
    """Probabilities as a user's own model may give them, and labels.

    The labels have errors of one rate, or more of them in one class (``skewed``), and errors near the boundary
    (``fading``).
    """
    draw = np.random.RandomState(n_classes)
    scores = sharpness * draw.randn(n_samples, n_classes)
    belief = softmax(moved(scores), axis=1)
    true = (softmax(scores, axis=1).cumsum(axis=1) < draw.rand(n_samples, 1)).sum(axis=1)
    margin = np.ptp(np.sort(softmax(scores, axis=1), axis=1)[:, -2:], axis=1)
    rates = rate * np.where(true == 0, 2.0, 0.5) if skewed else np.full(n_samples, rate)
    wrong = draw.rand(n_samples) < rates + fading * (1 - margin)
    return belief, np.where(wrong, (true + 1 + draw.randint(n_classes - 1, size=n_samples)) % n_classes, true)


# Outputs --------------------------------------------------------------------------------------------------------------


def label_audit(audit):
    return {
        "noise_rate": audit.noise_rate,
        "noise_interval": audit.noise_interval,
        "transition": audit.transition,
        "quality": every(audit.quality),
        "mean_quality": audit.quality.mean(),
        "suggested": every(audit.suggested),
        "probabilities": every(audit.probabilities, 5),
        "most_suspect": audit.order[:10],
        "worth_checking": audit.worth_checking(),
    }


def noisy_labels(X, y, new, **options):
    model = kw.NoisyLabelClassifier(random_state=SEED).fit(X, y, **options)
    probabilities = model.predict_proba(new)
    return {
        "noise_rate": model.noise_rate_,
        "noise_interval": model.noise_interval_,
        "transition": model.transition_,
        "label_quality": every(model.label_quality_),
        "mean_label_quality": model.label_quality_.mean(),
        "label_probabilities": every(model.label_probabilities_, 5),
        "view_weights": dict(zip(model.model_names_, model.model_weights_, strict=True)),
        "diagnostic": model.diagnostic_,
        "prediction": every(model.predict(new)),
        "probabilities": every(probabilities, 5),
        "mean_probabilities": probabilities.mean(axis=0),
        "decision": every(model.decision_function(new), 3),
        "feature_importances": every(model.feature_importances_, 5),
    }


def pair_audit(audit):
    return {
        "prior": audit.noise.prior,
        "precision_positive": audit.noise.precision_positive,
        "precision_negative": audit.noise.precision_negative,
        "intervals": audit.intervals,
        "quality": every(audit.quality),
        "mean_quality": audit.quality.mean(),
        "suggested": every(audit.suggested),
        "most_suspect": audit.order[:10],
        "worth_checking": audit.worth_checking(),
    }


def clusters(labels):
    """Thirty labels, after the clusters are numbered in the order of their first members."""
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    return every(np.argsort(np.argsort(first))[number], 30)


def certified(model):
    return {"objective": model.objective_, "kernel_weights": model.kernel_weights_}


# Cases ----------------------------------------------------------------------------------------------------------------


def audit_own_probabilities(*arguments, **options):
    belief, given = out_of_sample_probabilities(*arguments, **options)
    return label_audit(kw.audit_labels(None, given, probabilities=belief))


def ionosphere():
    X, y = bundled("ionosphere", 100, 0.04)
    return noisy_labels(X, y, X[::2])


def heart():
    """Weights: some rows count twice, some do not count, and some rows are the same."""
    X, y = heart_with_repetitions()
    weight = np.tile([1.0, 2.0, 0.5, 0.0, 1.0, 1.5], 18)[: len(X)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # many copies
        return noisy_labels(X, y, X[1::2], sample_weight=weight)


def splice():
    X, y = bundled("splice", 120, 0.1)
    return noisy_labels(X, y, X[::2])


def groups():
    """Groups of three rows that are near each other and have one label."""
    X, y = bundled("heart", 90, 0.0)
    given = np.repeat(kw.flip_labels(y[::3], 0.2, random_state=SEED), 3)
    noise = np.random.RandomState(SEED).randn(*X.shape)
    found = kw.audit_labels(
        np.repeat(X[::3], 3, axis=0) + 0.1 * noise * X.std(axis=0), given, groups=np.arange(90) // 3, random_state=SEED
    )
    return label_audit(found)


def copied():
    """Fifteen rows that are repeated three times with a wrong label, exactly or nearly, and one row with two labels."""
    X, y = bundled("ionosphere", 90, 0.0)
    wrong = np.arange(0, 90, 6)
    y = np.where(np.isin(np.arange(90), wrong), 1 - y, y)
    rows = np.concatenate([np.arange(90), np.tile(wrong, 3), [20]])
    away = 1e-3 * np.random.RandomState(SEED).randn(136, X.shape[1]) * X.std(axis=0)
    away[:90] = away[90::2] = away[-1] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # many copies
        return label_audit(kw.audit_labels(X[rows] + away, np.append(y[rows[:-1]], 1 - y[20]), random_state=SEED))


def many_classes():
    X, y = twelve_classes()
    return noisy_labels(X, y, X[::3])


def table():
    X, y = mixed_table()
    return noisy_labels(X, y, X.iloc[::2])


def words():
    X, _, y = papers()
    y = kw.flip_labels(y, 0.2, random_state=SEED)
    X = X[:, ::8]  # fewer words
    return noisy_labels(X[:150], y[:150], X[150:])


def answer_audit(X, answers):
    audit = kw.audit_answers(X, answers, random_state=SEED)
    sources = {name: audit.sources[name] for name in ("accuracy", "low", "high")}
    found = {"probabilities": every(audit.probabilities, 20), "noise_rate": audit.noise_rate}
    plan = kw.plan_answers(audit, 5)
    found |= {"noise_interval": audit.noise_interval, "alpha": audit.alpha, "information": plan.information}
    return found | sources | {"answer_quality": every(audit.answer_quality, 20)}


def made_answers():
    """Six sources, of which one answers at random and one copies another; a third of the answers is missing."""
    draw, truth = np.random.RandomState(SEED), np.arange(240) % 3
    rates = (0.1, 0.2, 0.3, 0.35, 1.0)
    given = np.stack([np.where(draw.rand(240) < rate, draw.randint(3, size=240), truth) for rate in rates], axis=1)
    given = np.column_stack([given, given[:, 1]])
    return kw.Answers.from_table(np.where(draw.rand(240, 6) < 0.33, -1, given))


def answers_on_heart():
    X, y = bundled("heart", 100, 0.0)
    given = [kw.flip_labels(y, rate, random_state=source) for source, rate in enumerate((0.1, 0.2, 0.45))]
    return answer_audit(X, kw.Answers.from_table(np.stack(given, axis=1)))


def estimate():
    found = kw.estimate_label_noise(*bundled("heart", 90, 0.15), random_state=SEED)
    return {
        "noise_rate": found.noise_rate,
        "interval": found.interval,
        "transition": found.transition,
        "class_rates": {str(name): rate for name, rate in found.class_rates.items()},
        "diagnostic": found.diagnostic,
    }


def audit_pairs_of_words_and_links():
    X, links, _ = papers()
    pairs = kw.Pairs.from_graph(links, n_samples=X.shape[0], negatives=None)
    return pair_audit(kw.audit_pairs(X, pairs, n_folds=3, random_state=SEED))


def audit_pairs_of_features():
    X, _, pairs = three_groups()
    return pair_audit(kw.audit_pairs(X, pairs, n_folds=4, random_state=SEED))


def audit_pairs_alone():
    y = np.arange(48) % 4
    pairs = kw.Pairs.from_labels(y, n_pairs=500, random_state=SEED).flip(0.1, random_state=SEED)
    return pair_audit(kw.audit_pairs(None, pairs, random_state=SEED))


def audit_pairs_by_similarity():
    S, pairs = similarity()
    return pair_audit(kw.audit_pairs(S, pairs, metric="precomputed", n_folds=3, random_state=SEED))


def learner():
    X, _, pairs = three_groups()
    model = kw.PairKernelLearner(FEW_KERNELS, noise="auto", random_state=SEED).fit(X, pairs=pairs)
    noise = model.noise_
    return certified(model) | {
        "noise": [noise.prior, noise.precision_positive, noise.precision_negative],
        "statistic": model.statistic_,
        "kernel": every(model.kernel(X[:10], X[10:20]), 3),
    }


def kernel_clustering():
    X, _, pairs = three_groups()
    model = kw.PairKernelClustering(kw.PairKernelLearner(FEW_KERNELS), n_clusters=3, random_state=SEED)
    model.fit(X, pairs=pairs)
    return {"labels": clusters(model.labels_), "eigenvalues": model.eigenvalues_}


def noisy_pairs():
    X, pairs = heart_and_pairs()
    model = kw.NoisyPairClustering(2, random_state=SEED).fit(X, pairs=pairs)
    noise = model.noise_
    return {
        "labels": clusters(model.labels_),
        "noise": [noise.prior, noise.precision_positive, noise.precision_negative],
        "intervals": model.noise_intervals_,
        "pair_quality": every(model.pair_quality_),
        "mean_pair_quality": model.pair_quality_.mean(),
        "held_out_probabilities": every(model.held_out_probabilities_),
        "pair_probabilities": model.pair_probabilities(np.arange(0, 40, 4), np.arange(50, 90, 4)),
        "same_class": every(model.predict_proba(X[::5]) @ model.predict_proba(X[1::5])[:10].T, 3),
        "pairs_help": model.pairs_help_,
        "diagnostic": [model.diagnostic_[name] for name in ("gain", "gain_error", "feature_bits", "reliable")],
    }


def record_pairs():
    audit = kw.audit_record_pairs(*register(), random_state=SEED)
    figures = ("wrong_interval", "separability", "n_triangles", "n_differing", "reliable")
    return pair_audit(audit) | {"diagnostic": [audit.diagnostic[name] for name in figures]}


def guarantee_of(found):
    return [found.low, found.high, found.estimate, found.n_checked, found.n_found, found.n_unclear]


def checks_of_labels():
    """Two plans of checks, what follows from them for certain, and the audit that knows the verdicts."""
    belief, given = out_of_sample_probabilities(3, 300, 2.0, rate=0.25)
    _, truth = out_of_sample_probabilities(3, 300, 2.0)
    audit = kw.audit_labels(None, given, probabilities=belief)
    first = kw.plan_checks(audit, 40, random_state=SEED)
    checked = first.verdicts(np.where(np.arange(40) % 13 == 0, None, truth[first.rows]))
    again = kw.audit_labels(None, given, probabilities=belief, checked=checked)
    second = kw.plan_checks(again, 30, random_state=SEED)
    both = checked + second.verdicts(truth[second.rows])
    last = kw.audit_labels(None, given, probabilities=belief, checked=both)
    shares = {
        "share": kw.guaranteed_share(given, checked),
        "share_after_both": kw.guaranteed_share(given, both),
        "share_of_suspects": kw.guaranteed_share(given, both, among=audit.order[:60], side="upper"),
        "share_of_predictions": kw.guaranteed_share(given, both, predictions=audit.suggested),
        "share_at_all_times": kw.guaranteed_share(given, both, always=True),
    }
    return (
        {"plan": first.rows, "chance": every(first.chance), "second_plan": second.rows}
        | {name: guarantee_of(found) for name, found in shares.items()}
        | {f"calibrated_{name}": value for name, value in label_audit(last).items()}
        | {"checks_needed": kw.checks_needed(given, both, 0.3)}
    )


def checks_of_pairs():
    X, _, pairs = three_groups()
    audit = kw.audit_pairs(X, pairs, kind="classes", random_state=SEED)
    truth = kw.Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=90).true_labels(np.repeat([0, 1, 2], 30))
    plan = kw.plan_checks(audit, 40, random_state=SEED)
    checked = plan.verdicts(truth[plan.rows])
    model = kw.NoisyPairClustering(3, random_state=SEED).fit(X, pairs=pairs, checked=checked)
    noise = model.noise_
    return {
        "plan": plan.rows,
        "share": guarantee_of(kw.guaranteed_share(pairs, checked)),
        "noise": [noise.prior, noise.precision_positive, noise.precision_negative],
        "intervals": model.noise_intervals_,
        "pair_quality": every(model.pair_quality_),
    }


def linked_clustering():
    X, links, _ = papers()
    pairs = kw.Pairs.from_graph(links, n_samples=X.shape[0], negatives=None)
    model = kw.LinkedClustering(4, n_components=40, embedding_dim=8, random_state=SEED).fit(X, pairs=pairs)
    return {
        "labels": clusters(model.labels_),
        "singular_values": model.singular_values_,
        "inertia": model.inertia_,
    }


def completer():
    S, pairs = similarity()
    model = kw.PairCompleter([4, 8], noise_rate="auto", random_state=SEED).fit(S, pairs=pairs)
    ends = np.arange(0, 80, 8), np.arange(3, 90, 9)
    return {
        "noise_rate": model.noise_rate_,
        "penalty": model.penalty_,
        "eigenvalues": model.eigenvalues_,
        "coherence": model.coherence_,
        "core_trace": np.trace(model.core_),
        "component_errors": {str(count): error for count, error in model.component_errors_.items()},
        "pair_scores": model.pair_scores(*ends),
        "pair_probabilities": model.predict_proba_pairs(*ends),
        "predicted_pairs": model.predict_pairs(*ends),
    }


def completion_clustering():
    S, pairs = similarity()
    model = kw.PairCompletionClustering(3, completer=kw.PairCompleter(4), random_state=SEED).fit(S, pairs=pairs)
    return {"labels": clusters(model.labels_), "eigenvalues": model.completer_.eigenvalues_}


def plan():
    S, _ = similarity()
    found = kw.plan_labelling(
        S, 3, completer=kw.PairCompleter(4), shares=(0.2, 0.5), n_labelled=(12, 30), n_repeats=1, random_state=SEED
    )
    rows = found.to_frame()
    return {name: rows[name].to_numpy() for name in rows} | {
        "coherence": found.coherence,
        "class_shares": np.sort(found.class_shares),
        "uncovered": found.uncovered,
    }


def matrix():
    rows, cols = np.nonzero(np.random.RandomState(2).rand(30, 25) < 0.5)
    values = np.random.RandomState(3).randn(30, 2) @ np.random.RandomState(4).randn(2, 25)
    found = kw.complete_matrix(rows, cols, moved(values[rows, cols]), (30, 25), random_state=SEED)
    return {
        "primal": found.certificate.primal,
        "completed": every(found.left @ found.right.T, 3),
    }


def multiple_kernels(model, name):
    X, y = bundled(name, 80, 0.15)
    model.fit(X, y)
    rate = {"noise_rate": model.noise_rate_} if hasattr(model, "noise_rate_") else {}
    return (
        certified(model)
        | rate
        | {
            "prediction": every(model.predict(X)),
            "decision": every(model.decision_function(X)),
            "probabilities": every(model.predict_proba(X), 5),
        }
    )


#: Cases that grow trees, which scikit-learn drew otherwise before version 1.9. All other cases agree from the oldest
#: supported versions to the newest, and all of them with any number of threads.
WITH_TREES = {
    "audit_labels_ionosphere",
    "audit_answers_heart",
    "audit_labels_groups",
    "audit_labels_copies",
    "estimate_label_noise_heart",
    "noisy_label_classifier_ionosphere",
    "noisy_label_classifier_heart",
    "noisy_label_classifier_splice",
    "noisy_label_classifier_twelve_classes",
    "robust_mkl",
    "audit_record_pairs",
}

#: What to run for each name, cheap ones first.
CASES = {
    "audit_labels_two_classes": lambda: audit_own_probabilities(2, 150, 1.5, rate=0.2),
    "audit_labels_few_labels": lambda: audit_own_probabilities(2, 40, 0.7, rate=0.1),
    "audit_labels_unequal_rates": lambda: audit_own_probabilities(2, 300, 3.0, rate=0.2, skewed=True),
    "audit_labels_errors_near_the_boundary": lambda: audit_own_probabilities(2, 250, 1.0, rate=0.02, fading=0.4),
    "audit_labels_three_classes": lambda: audit_own_probabilities(3, 150, 2.0, rate=0.2, skewed=True),
    "audit_labels_twelve_classes": lambda: audit_own_probabilities(12, 400, 3.0, rate=0.1, fading=0.2),
    "audit_labels_estimator": lambda: label_audit(
        kw.audit_labels(*bundled("heart", 150, 0.15), estimator=GaussianNB(), random_state=SEED)
    ),
    "audit_labels_ionosphere": lambda: label_audit(kw.audit_labels(*bundled("ionosphere", 70, 0.2), random_state=SEED)),
    "audit_answers_alone": lambda: answer_audit(None, made_answers()),
    "audit_answers_heart": answers_on_heart,
    "audit_labels_groups": groups,
    "audit_labels_copies": copied,
    "estimate_label_noise_heart": estimate,
    "noisy_label_classifier_ionosphere": ionosphere,
    "noisy_label_classifier_heart": heart,
    "noisy_label_classifier_splice": splice,
    "noisy_label_classifier_twelve_classes": many_classes,
    "noisy_label_classifier_table": table,
    "noisy_label_classifier_words": words,
    "simple_mkl": lambda: multiple_kernels(kw.SimpleMKLClassifier(FEW_KERNELS, random_state=SEED), "ionosphere"),
    "robust_mkl": lambda: multiple_kernels(
        kw.RobustMKLClassifier(FEW_KERNELS, noise_rate="auto", random_state=SEED), "heart"
    ),
    "audit_pairs_alone": audit_pairs_alone,
    "audit_pairs_features": audit_pairs_of_features,
    "audit_pairs_similarity": audit_pairs_by_similarity,
    "audit_pairs_links": audit_pairs_of_words_and_links,
    "pair_kernel_learner": learner,
    "pair_kernel_clustering": kernel_clustering,
    "noisy_pair_clustering": noisy_pairs,
    "audit_record_pairs": record_pairs,
    "checks_of_labels": checks_of_labels,
    "checks_of_pairs": checks_of_pairs,
    "linked_clustering": linked_clustering,
    "complete_matrix": matrix,
    "pair_completer": completer,
    "pair_completion_clustering": completion_clustering,
    "plan_labelling": plan,
}
