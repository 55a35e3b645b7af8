"""What every part of the label audit earns: each part is left out, or each constant changed, one at a time.

A base model is left out of the mixture, and the weights of the others are found again. A part of the fit or of the
noise model is switched off by another value of a constant or another function, in the installed code. The cells are
those of the spare sets of :mod:`benchmarks.noise` (``python -m benchmarks.noise build`` writes them), and, with
``--data FOLDER``, labels of people and rules. ``python -m benchmarks.parts_labels [--data FOLDER]`` prints a table in
Markdown: what the answers lose without the part.
"""

import argparse
import csv
import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from kernelwise.noise import explanations, posterior, two_classes
from kernelwise.scoring import forest, logistic, pool
from kernelwise.scoring.kernel_scores import _Standardiser

from .measure import record
from .noise.competitors import quiet
from .noise.datasets import FOLDER, names_of
from .noise.noise import Cell, generator, make_cell
from .noise.real import SETS, files_of, real_cells

TITLE = "What every part of the label audit earns: the loss of audit area and accuracy without it"

PARTS = ("base models", "explanations", "noise", "mixture", "fits")
NOISES = ("sym30", "class", "instance")
MAX_ROWS = 1500
DEFECTS = ("activemq-5.0.0", "camel-1.4.0", "derby-10.2.1.6", "hive-0.9.0", "jruby-1.1", "lucene-2.3.0")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """All base models of a cell with their scores of the test rows, and the seconds that each took."""

    cell: Cell
    views: list[pool.View]
    tested: list[Array]
    seconds: dict[str, float]


@dataclass(frozen=True)
class Figures:
    """What is measured of an answer; the range counts as the share of cells in which it holds the truth."""

    audit: float
    accuracy: float
    rate_error: float
    holds: float
    width: float
    seconds: float


def family(name: str) -> str:
    """The name of a base model without its scale and its width, but for the linear ones."""
    return name if name.startswith(("linear", "logistic")) else name.partition("(")[0].partition(",")[0]


def fit(cell: Cell) -> Fitted:
    """Fit all base models, with forests wherever there are dense rows."""
    weight, X, X_test, common = np.ones(len(cell.y_given)), cell.X_train, cell.X_test, None
    if not sp.issparse(X):
        scaler = _Standardiser.fit(X, weight)
        X, X_test, common = scaler(X), scaler(X_test), scaler.common
    kept: list[pool.View] = []
    start = process_time()
    with patch.object(pool, "weigh", lambda views, given, weight: kept.extend(views)):
        pool.fit_pool(X, cell.y_given, n_classes(cell), weight, np.random.RandomState(cell.seed), common)
    seconds = process_time() - start
    return Fitted(cell, kept, [view.score(X_test) for view in kept], {"all": seconds})


def n_classes(cell: Cell) -> int:
    return int(max(cell.y_given.max(), cell.y_true.max())) + 1


def mixed(fitted: Fitted, used: Sequence[int] | None = None) -> pool.ScorePool:
    """The mixture of some base models, or of all; it scores the test rows, whatever it is given."""
    used = range(len(fitted.views)) if used is None else used
    views = [pool.View(str(j), fitted.views[j].out_of_sample, lambda X, j=j: fitted.tested[j]) for j in used]
    return pool.weigh(views, fitted.cell.y_given, np.ones(len(fitted.cell.y_given)))


def measured(fitted: Fitted, mixture: pool.ScorePool, overlap: explanations.Posterior | None = None) -> Figures:
    """The figures of a mixture under the noise model, or under a noise model that was fitted before."""
    cell, start = fitted.cell, process_time()
    weight, rows = np.ones(len(cell.y_given)), np.arange(len(cell.y_given))
    scores = mixture.out_of_sample
    overlap = explanations.fit_label_noise(scores, cell.y_given, weight) if overlap is None else overlap
    noise = explanations.explained(overlap, scores, cell.y_given, weight)
    quality = noise.label_posterior(scores, cell.y_given)[rows, cell.y_given]
    predicted = noise.true_probabilities(mixture(None)).argmax(axis=1)
    low, high = noise.interval
    wrong, rate = cell.flipped, float(np.mean(cell.flipped))
    return Figures(
        float(roc_auc_score(wrong, -quality)),
        float(np.mean(predicted == cell.y_test)) if len(cell.y_test) else np.nan,
        abs(float(np.mean(1 - quality)) - rate),
        float(low <= rate <= high),
        high - low,
        process_time() - start + fitted.seconds["all"],
    )


# What is left out


def base_models(names: Sequence[str]) -> dict[str, list[int]]:
    """The base models that stay when one of them, or one kind of them, is left out."""
    kinds = [family(name) for name in names]
    groups = {kind: [kind] for kind in dict.fromkeys(kinds)}
    groups |= {
        "linear ridge regression, both scales": ["linear", "linear, one scale"],
        "logistic regression, both scales": ["logistic", "logistic, one scale"],
    }
    stays = {f"without {group}": [j for j, k in enumerate(kinds) if k not in out] for group, out in groups.items()}
    own = ("logistic", "logistic, one scale")
    stays["logistic regression alone"] = [j for j, kind in enumerate(kinds) if kind in own]
    return {part: left for part, left in stays.items() if 0 < len(left) < len(kinds)}


@contextmanager
def changed(*values: tuple[Any, str, Any]) -> Iterator[None]:
    """Other values of names of modules."""
    with ExitStack() as stack:
        for module, name, value in values:
            stack.enter_context(patch.object(module, name, value))
        yield


Change = Callable[[], AbstractContextManager[None]]
#: Parts of the base models: these cells are fitted anew.
FITS: dict[str, Change] = {
    "forests wherever rows are dense": lambda: changed((pool, "CHEAP_FOREST", np.inf)),
    "forests only where a small forest earns weight": lambda: changed((pool, "CHEAP_FOREST", 0)),
    "no common scale": lambda: changed((pool, "GAIN", np.inf)),
    "the common scale always": lambda: changed((pool, "GAIN", -np.inf)),
    "paths: only the best point": lambda: changed((pool, "TRUST_PATH", 1e9)),
    "paths: no positive mean": lambda: changed((pool, "_positive_mean", lambda c, e: np.maximum(c, 0.0))),
    "paths: trust 1": lambda: changed((pool, "TRUST_PATH", 1.0)),
    "paths: 19 penalties": lambda: changed((pool, "PENALTIES", 10.0 ** np.linspace(-2.5, 3.5, 19))),
    "logistic regression: six strengths": lambda: changed((logistic, "STRENGTHS", (0.1, 0.3, 1.0, 3.0, 10.0, 30.0))),
    "logistic regression: only the best penalty": lambda: changed((logistic, "SMALL", 0.999999)),
    "forests: 40 trees": lambda: changed((forest, "MAX_TREES", 40)),
    "forests: no shrinkage": lambda: changed((forest, "SHRINKAGES", (0.0,)), (pool, "SHRINKAGES", (0.0,))),
}
#: Parts of the two explanations: the fitted noise model stays.
EXPLANATIONS: dict[str, Change] = {
    "overlap: half the mean": lambda: changed((explanations, "OVERLAP", 0.125)),
    "overlap: twice the mean": lambda: changed((explanations, "OVERLAP", 0.5)),
    "errors of both kinds are not rarer": lambda: changed((explanations, "SCARCE", np.inf)),
    "steepest 1": lambda: changed((explanations, "STEEPEST", 1.0001)),
    "steepest 4": lambda: changed((explanations, "STEEPEST", 4.0)),
    "the overlap explanation alone": lambda: changed((explanations, "boundary_share", lambda *arguments: 0.0)),
    "both explanations, even": lambda: changed((explanations, "boundary_share", lambda *arguments: 0.5)),
}
#: Parts of the mixture: the base models stay.
MIXTURE: dict[str, Change] = {
    "mixture: no steps of EM": lambda: changed((pool, "N_MIXTURE_STEPS", 0)),
    "mixture: 10 steps of EM": lambda: changed((pool, "N_MIXTURE_STEPS", 10)),
    "mixture: small weights stay": lambda: changed((pool, "SMALL", 0.0)),
}
#: Parts of the noise model: the mixture stays.
NOISE: dict[str, Change] = {
    "two classes: slope does not depend on the rate": lambda: changed(
        (two_classes, "SLOPE_MEAN", (0.3, 0.0)), (two_classes, "SLOPE_SPREAD", (1.2, 0.0))
    ),
    "two classes: slope log-normal(0, 1)": lambda: changed(
        (two_classes, "SLOPE_MEAN", (0.0, 0.0)), (two_classes, "SLOPE_SPREAD", (1.0, 0.0))
    ),
    "two classes: slope log-normal(0, 1.5)": lambda: changed(
        (two_classes, "SLOPE_MEAN", (0.0, 0.0)), (two_classes, "SLOPE_SPREAD", (1.5, 0.0))
    ),
    "two classes: odds 2": lambda: changed((two_classes, "ODDS", 2.0), (explanations, "ODDS", 2.0)),
    "two classes: threshold 1": lambda: changed((two_classes, "THRESHOLD", 1.0), (explanations, "THRESHOLD", 1.0)),
    "two classes: equal rates 1/2": lambda: changed((two_classes, "EQUAL", 0.5)),
    "two classes: differences uniform": lambda: changed(
        (two_classes, "DIFFERENCE", 1e6), (two_classes, "LOG_NORMALISER", 0.0)
    ),
    "more classes: slope log-normal(1/2, 1)": lambda: changed((posterior, "SLOPE", (0.5, 1.0))),
    "more classes: slope log-normal(0, 1.5)": lambda: changed((posterior, "SLOPE", (0.0, 1.5))),
    "more classes: no move to symmetric noise": lambda: changed((posterior, "SYMMETRY", 0.0)),
    "more classes: symmetric transitions": lambda: changed((posterior, "ROWS", 1e9)),
    "more classes: transitions of 10 labels": lambda: changed((posterior, "ROWS", 10.0)),
}


# Cells


def cells(data: Path | None) -> Iterator[tuple[str, Cell]]:
    """The spare sets in four kinds of noise, then labels of people and rules, with the kind of each cell."""
    for name in names_of("spare"):
        if (FOLDER / f"{name}.npz").exists():
            for noise in NOISES:
                yield f"spare, {noise}", make_cell(name, noise, 0)
    if data is None:
        return
    for cell in real_cells(files_of(data, tuple(SETS)), MAX_ROWS, 0):
        if cell.noise not in ("random_label2", "random_label3", "aggre_label"):
            yield "people and rules", some_rows(cell)
    for release in DEFECTS:
        yield "people and rules", defects(data / "defects" / f"{release}.csv.gz", release)


def some_rows(cell: Cell) -> Cell:
    """The cell with at most :data:`MAX_ROWS` training rows."""
    rows = np.sort(generator(cell.name, "rows", 0).permutation(len(cell.y_given))[:MAX_ROWS])
    X = cell.X_train[rows]
    return Cell(cell.name, cell.noise, 0, X, cell.y_given[rows], cell.y_true[rows], cell.X_test, cell.y_test)


def defects(path: Path, name: str) -> Cell:
    """Files of a release, half of them for the test; the labels are those of a rule."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    labels = {key: np.array([row[key] in ("1", "True", "true") for row in rows]) for key in ("y_given", "y_true")}
    columns = [column for column in rows[0] if column not in ("file", "y_given", "y_true")]
    X = np.array([[float(row[column] or 0.0) for column in columns] for row in rows])
    X = np.sign(X) * np.log1p(np.abs(X))
    order = generator(name, "split", 0).permutation(len(X))
    train, test = order[: min(len(X) // 2, MAX_ROWS)], order[len(X) // 2 :]
    given, true = (labels[key].astype(np.int64) for key in ("y_given", "y_true"))
    return Cell(name, "rules", 0, X[train], given[train], true[train], X[test], true[test])


# Tables

Results = dict[str, dict[tuple[str, str, str], Figures]]


def measure(data: Path | None, parts: Sequence[str] = PARTS) -> Results:
    """The figures of every part in every cell; "as it is" is the whole."""
    found: Results = {}

    def keep(part: str, kind: str, cell: Cell, figures: Figures) -> None:
        found.setdefault(part, {})[kind, cell.name, cell.noise] = figures

    with threadpool_limits(1), quiet():
        for kind, cell in cells(data):
            whole = fit(cell)
            mixture = mixed(whole)
            overlap = explanations.fit_label_noise(mixture.out_of_sample, cell.y_given)
            keep("as it is", kind, cell, measured(whole, mixture, overlap))
            if "base models" in parts:
                for part, used in base_models([view.name for view in whole.views]).items():
                    keep(part, kind, cell, measured(whole, mixed(whole, used)))
            for part, change in EXPLANATIONS.items() if "explanations" in parts else ():
                with change():
                    keep(part, kind, cell, measured(whole, mixture, overlap))
            other = "more classes" if n_classes(cell) == 2 else "two classes"
            for part, change in NOISE.items() if "noise" in parts else ():
                if not part.startswith(other):
                    with change():
                        keep(part, kind, cell, measured(whole, mixture))
            for part, change in MIXTURE.items() if "mixture" in parts else ():
                with change():
                    keep(part, kind, cell, measured(whole, mixed(whole)))
            for part, change in FITS.items() if "fits" in parts else ():
                with change():
                    again = fit(cell)
                    keep(part, kind, cell, measured(again, mixed(again)))
            print(f"{cell.name} {cell.noise}", flush=True)
    return found


def losses(found: Results, part: str) -> dict[str, tuple[float, float, float, float, float, float]]:
    """Per kind of cells: what is lost of area and accuracy without a part, and the change of the other figures."""
    whole, without, means = found["as it is"], found[part], {}
    for kind in [*dict.fromkeys(key[0] for key in whole), "all cells"]:
        keys = [key for key in without if kind in (key[0], "all cells")]
        if keys:
            pairs = [(whole[key], without[key]) for key in keys]
            signs: Mapping[str, int] = {"audit": 1, "accuracy": 1, "rate_error": -1, "holds": 1, "width": -1}
            gaps = [
                float(np.nanmean([sign * (getattr(a, name) - getattr(b, name)) for a, b in pairs]))
                for name, sign in signs.items()
            ]
            speed = float(np.sum([b.seconds for _, b in pairs]) / np.sum([a.seconds for a, _ in pairs]))
            means[kind] = (*gaps, speed)
    return means


def table(found: Results) -> str:
    """All parts in Markdown; more is worse, so a part with a loss near zero earns nothing."""
    head = "| part | cells | area lost | accuracy lost | error of the rate | range holds, lost | width | seconds |"
    lines = [head, "|---|---|---|---|---|---|---|---|"]
    for part in found:
        if part != "as it is":
            for kind, figures in losses(found, part).items():
                shown = [f"{figure:+.4f}" for figure in figures[:-1]]
                lines.append(f"| {part} | {kind} | {' | '.join(shown)} | x {figures[-1]:.2f} |")
    return "\n".join(lines)


def run(data: Path | None = None) -> list[dict[str, Any]]:
    """The loss of area and of accuracy without each part, over all cells."""
    found, rows = measure(data), []
    for part in found:
        if part != "as it is":
            area, accuracy = losses(found, part)["all cells"][:2]
            rows += [record(f"{part}: area lost", area, ""), record(f"{part}: accuracy lost", accuracy, "")]
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--data", type=Path, help="folder with labels of people and rules")
    parser.add_argument("--parts", nargs="*", default=PARTS)
    options = parser.parse_args()
    print(table(measure(options.data, options.parts)))
