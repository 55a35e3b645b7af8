"""Which answers to "are these two records the same?" are wrong: records of two tables with flipped answers, and answers
that people gave. The sets are read from a folder; see ``SETS`` for the names and ``read`` for what a file holds."""

from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelwise import Pairs, audit_labels, audit_record_pairs, pair_features
from kernelwise.statements.graph import pair_keys

from .measure import record

TITLE = "Pairs of records: AUC of wrong answers, right answers called wrong, and whether intervals hold the truth"

FLIPPED = ("er_dm_structured_beer", "er_dm_structured_itunes_amazon", "er_dm_structured_dblp_acm")
CROWD = "er_product"
SETS = (*FLIPPED, CROWD)
#: How answers are flipped; the last noise spares most of the pairs that differ.
NOISES = {"5 %": 0.05, "10 %": 0.1, "20 %": 0.2, "20 % of the same, 5 % of the different": {1: 0.2, -1: 0.05}}
#: Three answers to every pair, each flipped on its own, for the sets without people.
N_ANSWERS = 3
N_SEEDS = 3
#: audit_labels fits kernels too, which takes minutes for more pairs than this.
MOST_FOR_KERNELS = 1000
SIMPLE = ("trigram cosine", "logistic regression")


def run(data: Path) -> list[dict[str, Any]]:
    """Measure every set of the folder ``data``."""
    if missing := [name for name in SETS if not (data / f"{name}.npz").exists()]:
        raise SystemExit(f"{data} has no {missing[0]}.npz; give the folder of the record pairs with --data FOLDER")
    rows, held = [], []
    for name in SETS:
        records, truth, answers = read(data / f"{name}.npz")
        seconds = []
        for noise, given in noisy(truth, answers):
            found: dict[str, list[float]] = {}
            said: list[tuple[float, float, bool]] = []
            for seed, (pairs, true) in enumerate(given):
                start = process_time()
                audit = audit_record_pairs(records, pairs, random_state=seed)
                seconds.append(process_time() - start)
                held += in_interval(audit, true)
                wrong = pairs.labels != true
                if not wrong.any():
                    called = float(np.mean(audit.quality < 0.5))
                    rows.append(record(f"{name}: right answers called wrong", called, "", at_most=0.05))
                    continue
                for method, quality in {"audit_record_pairs": audit.quality, **simple(records, pairs, seed)}.items():
                    found.setdefault(method, []).append(roc_auc_score(wrong, -quality))
                said.append((float(1 - audit.quality.mean()), float(wrong.mean()), audit.diagnostic["reliable"]))
            rows += compared(f"{name}, {noise}", found) + shares(f"{name}, {noise}", said)
        rows.append(record(f"{name}, {len(truth):,} pairs: processor time", float(np.median(seconds)), "s", at_most=60))
    rows.append(
        record("truth in its interval, share of all precisions and priors", float(np.mean(held)), "", at_least=0.9)
    )
    return rows


def read(path: Path) -> tuple[Any, Pairs, dict[str, tuple[Any, Any]]]:
    """Return records, the true pairs, and by name the answers of people: the positions of pairs, and the labels.

    Pairs that the file calls both the same and different are left out: nobody can tell which answer is right.
    """
    stored = np.load(path, allow_pickle=False)
    columns = (
        [stored["records"]] if "records" in stored else [stored[name] for name in ("rec_name", "description", "price")]
    )
    records = np.column_stack(columns).astype(object)
    ends = stored["pairs"]
    truth = Pairs(ends[:, 0], ends[:, 1], np.where(stored["y_true"] > 0, 1, -1), n_samples=len(records))
    names = {"y_one": "one worker", "y_mv": "majority of workers"}
    everyone = np.arange(len(ends))
    answers = {word: (everyone, np.where(stored[key] > 0, 1, -1)) for key, word in names.items() if key in stored}
    if "answers" in stored:
        answers["all answers of workers"] = stored["answers"][:, 0], np.where(stored["answers"][:, 2] > 0, 1, -1)
    keys = np.sort(ends, axis=1) @ np.array([len(records), 1])
    both = np.intersect1d(keys[truth.labels > 0], keys[truth.labels < 0])
    kept = ~np.isin(keys, both)
    position = np.cumsum(kept) - 1
    known = {word: (position[of][kept[of]], labels[kept[of]]) for word, (of, labels) in answers.items()}
    return records, truth[kept], known


def noisy(truth: Pairs, answers: dict[str, tuple[Any, Any]]) -> Iterator[tuple[str, list[tuple[Pairs, Any]]]]:
    """Yield the name of a noise, and pairs with this noise beside the true labels.

    The answers are those of people, or flipped ones for several seeds.
    """
    yield "nothing wrong", [(truth, truth.labels)]
    if answers:
        for word, (of, labels) in answers.items():
            yield word, [(Pairs(truth.rows[of], truth.cols[of], labels, n_samples=truth.n_samples), truth.labels[of])]
        return
    for word, rate in NOISES.items():
        yield f"{word} wrong", [(truth.flip(rate, random_state=seed), truth.labels) for seed in range(N_SEEDS)]
    repeated = truth[np.tile(np.arange(len(truth)), N_ANSWERS)]
    for word in ("20 %", "20 % of the same, 5 % of the different"):
        flipped = [repeated.flip(NOISES[word], random_state=seed) for seed in range(N_SEEDS)]
        yield f"{N_ANSWERS} answers each, {word} wrong", [(pairs, repeated.labels) for pairs in flipped]


def simple(records: Any, pairs: Pairs, seed: int) -> dict[str, Any]:
    """Return the quality of every answer by methods that a person would try first, and by audit_labels alone."""
    found, positive = pair_features(records, pairs), pairs.labels > 0
    cosine = found.values[:, found.names.index("whole record: characters in common")]
    usual = found.values[:, [", lead" not in name for name in found.names]]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=seed)  # answers to one pair are in one fold
    _, pair = np.unique(pair_keys(pairs.rows, pairs.cols), return_inverse=True)
    chance = cross_val_predict(model, usual, positive, groups=pair, cv=folds, method="predict_proba")[:, 1]
    qualities = {name: np.where(positive, same, 1 - same) for name, same in zip(SIMPLE, (cosine, chance), strict=True)}
    if len(pairs) <= MOST_FOR_KERNELS:
        qualities["audit_labels of the features"] = audit_labels(found.values, positive, random_state=seed).quality
    return qualities


def compared(name: str, found: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Return the mean AUC of each method over the seeds; ours is required to reach the best simple one."""
    if not found:
        return []
    means = {method: float(np.mean(values)) for method, values in found.items()}
    required = {"audit_record_pairs": max(means[method] for method in SIMPLE)}
    return [
        record(f"{name}: AUC of {method}", mean, "", at_least=required.get(method)) for method, mean in means.items()
    ]


def shares(name: str, said: list[tuple[float, float, bool]]) -> list[dict[str, Any]]:
    """Return the share of wrong answers that the audit says, the true one, and how often it calls itself reliable."""
    if not said:
        return []
    share, true, reliable = np.mean(said, axis=0)
    title = f"{name}: share of wrong answers (true: {true:.3f}; called reliable: {reliable:.0%})"
    return [record(title, float(share), "")]


def in_interval(audit: Any, true: Any) -> list[bool]:
    """Return whether each figure of the noise lies in its interval."""
    positive, right = audit.pairs.labels > 0, audit.pairs.labels == true
    values = {"prior": np.mean(true > 0), "precision_positive": np.mean(right[positive])}
    values["precision_negative"] = np.mean(right[~positive])
    return [bool(audit.intervals[name][0] <= value <= audit.intervals[name][1]) for name, value in values.items()]
