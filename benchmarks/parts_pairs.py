"""What every part of ``NoisyPairClustering`` earns: the answers without one clustering of the features, start or score.

The nine sets of ``noisy_pairs_clusters``, and seven that were not used before, of at most 400 rows each. All candidates
of a task are computed once: a short run, a long run and runs without held-out pairs for every recipe. Leaving out a
part then only changes which of them are chosen among, so that every figure belongs to the same draws.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from kernelwise import Pairs
from kernelwise import datasets as kernelwise_sets
from kernelwise.metrics import normalized_mutual_info
from kernelwise.pairs.classes import search as parts
from kernelwise.pairs.classes.evidence import PairEvidence
from kernelwise.pairs.classes.features import ClassFeatures, fit_columns
from kernelwise.pairs.classes.search import ClassFit, ClassSearch, Found, Recipe
from kernelwise.ties import first_best, most_probable

from .measure import record
from .noisy_pairs_clusters.sets import SETS
from .noisy_pairs_clusters.sets import load as load_of_nine

TITLE = "What every part of NoisyPairClustering earns: NMI and error of the rates without it"

NEW_SETS = ("sonar", "australian", "cora", "texture", "penbased", "vowel", "twonorm")
SIZES = {"n/2": 0.5, "n": 1.0, "3n": 3.0, "10n": 10.0}
FLIPS = (0.0, 0.1, 0.2, 0.4)
MOST_ROWS = 400

Variant = tuple[tuple[Recipe, ...], tuple[Recipe, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Task:
    """One draw of pairs, and every candidate for it."""

    name: str
    size: str
    flips: float
    y: np.ndarray
    flipped: tuple[float, float]
    alone: dict[Recipe, ClassFit]
    scores: dict[Recipe, dict[str, float]]
    refined: dict[Recipe, ClassFit]
    told: dict[Recipe, np.ndarray]
    same: dict[Recipe, np.ndarray]
    seconds: float

    def answer(self, variant: Variant) -> tuple[float, float]:
        """NMI and the mean error of both rates, if only some parts are there."""
        alone, recipes, scores = variant
        left = [recipe for recipe in alone if recipe in self.alone]
        tried = [recipe for recipe in recipes if recipe in self.scores]
        best = dict.fromkeys(tried[first_best([self.scores[recipe][one] for recipe in tried])] for one in scores)
        candidates = [self.alone[recipe] for recipe in left] + [self.refined[recipe] for recipe in best]
        chosen = [*left, *best]
        found = Found(
            candidates, np.array([self.told[one] for one in chosen]), np.array([self.same[one] for one in chosen])
        )
        nmi = normalized_mutual_info(self.y, most_probable(found.fit.belief))
        return float(nmi), float(np.abs(np.subtract(found.fit.rates, self.flipped)).mean())


def run() -> list[dict[str, Any]]:
    """Measure the whole method, and the method without each part."""
    alone, recipes, scores = parts.ALONE, parts.RECIPES, ("cautious", "bold")
    variants: dict[str, Variant] = {"all parts": (alone, recipes, scores)}
    variants |= {f"without {one.start} alone": (without(alone, one), recipes, scores) for one in alone}
    variants |= {f"without {words(one)}": (alone, without(recipes, one), scores) for one in recipes}
    variants |= {f"{one} score only": (alone, recipes, (one,)) for one in scores}
    answers: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
    for task in tasks((*SETS, *NEW_SETS), seeds=(0,)):
        for name, variant in variants.items():
            answers[name].append(task.answer(variant))
    rows = []
    for name, figures in answers.items():
        nmi, error = np.mean(figures, axis=0)
        rows += [record(f"NMI {name}", nmi, ""), record(f"error of rates {name}", error, "")]
    return rows


def without(all_parts: Sequence[Recipe], one: Recipe) -> tuple[Recipe, ...]:
    """All but one."""
    return tuple(part for part in all_parts if part != one)


def words(recipe: Recipe) -> str:
    """A recipe in words."""
    return f'"{recipe.start}"{", trusting" if recipe.trusting else ""}{", finer" if recipe.finer else ""}'


def tasks(names: Sequence[str], seeds: Sequence[int]) -> Iterator[Task]:
    """All sets, numbers of pairs and rates of flips."""
    for seed, name, (size, share), flips in product(seeds, names, SIZES.items(), FLIPS):
        yield task(name, size, share, flips, seed)


def task(name: str, size: str, share: float, flips: float, seed: int) -> Task:
    """Draw pairs, and compute every candidate."""
    X, y = load(name)
    pairs = Pairs.from_labels(y, n_pairs=round(share * len(y)), random_state=seed)
    true = pairs.labels
    given = pairs.flip(flips, random_state=seed + 1)
    rng = np.random.RandomState(seed)
    evidence, _ = PairEvidence.of_pairs(given)
    start = process_time()
    columns = fit_columns(X, "features", rng)(X)
    search = ClassSearch(columns, ClassFeatures.of_kernels(columns, None, rng), evidence, int(y.max()) + 1, seed)
    alone = search.features_alone()
    fits = search.short_runs(parts.RECIPES)
    refined = [search.refine(fit, parts.N_LONG) for fit in fits]
    told, same = search.told_of_held_out_pairs([*alone, *refined])
    recipes = [fit.recipe for fit in (*alone, *refined)]
    wrong = given.labels != true
    flipped = float(wrong[true > 0].mean()), float(wrong[true < 0].mean())
    scores: dict[str, Callable[[ClassFit], float]] = {"cautious": ClassFit.cautious, "bold": ClassFit.bold}
    return Task(
        name,
        size,
        flips,
        y,
        flipped,
        {fit.recipe: fit for fit in alone},
        {fit.recipe: {one: score(fit) for one, score in scores.items()} for fit in fits},
        {fit.recipe: fit for fit in refined},
        dict(zip(recipes, told, strict=True)),
        dict(zip(recipes, same, strict=True)),
        process_time() - start,
    )


@cache
def load(name: str) -> tuple[Any, np.ndarray]:
    """At most 400 rows of a set, with the shares of its classes."""
    if name in SETS:
        X, y = load_of_nine(name)
    elif name in ("sonar", "australian", "cora"):
        table = getattr(kernelwise_sets, f"load_{name}")()
        X, y = table.data, table.target
    else:
        X, y = _from_keel(name)
    y = np.unique(y, return_inverse=True)[1]
    if len(y) > MOST_ROWS:
        chosen = train_test_split(np.arange(len(y)), train_size=MOST_ROWS, stratify=y, random_state=0)[0]
        X, y = X[chosen], y[chosen]
    return X, y


def _from_keel(name: str) -> tuple[np.ndarray, np.ndarray]:
    from tools.build_datasets import Shelf

    from .noise.datasets import keel, rows_of

    with tempfile.TemporaryDirectory() as folder:
        rows = rows_of(Shelf(Path(folder)), keel(name))
    return np.array([row[:-1] for row in rows], dtype=np.float64), np.array([row[-1] for row in rows])
