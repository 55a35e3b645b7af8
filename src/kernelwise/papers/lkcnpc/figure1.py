r"""Kernel combination from noisy pairs as pairs grow in number: Figure 1 of the LKCnpc paper.

As many pairs of one class as of different classes are drawn; their labels are flipped with probability 0.2. The same
learner gets the noisy labels, with the noise known, and the perfect labels. The figure also has:

- the likelihood of the noisy labels without correction, and the same with the statistic kept feasible as a corrected
  statistic would be: this separates the effect of the correction from the effect of feasibility;
- the fits to noisy and to perfect labels as printed in the paper, which does not keep the corrected statistic feasible;
- the distance between the weights from noisy and from perfect labels, which Theorem 2 bounds. With the paper's
  lambda = 0.01 / n the bound grows with n.
"""

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...metrics import normalized_mutual_info
from ...pairs.clustering import PairKernelClustering
from ...statements import PairNoise, Pairs
from ..figures import line_panels, mean_lines
from ..records import Record
from ..spec import Cell, Experiment
from ..tables import Table, distinct, grouped, mean_std
from .citations import LOADERS, TITLES, papers_learner

#: Numbers of pairs, rate of flips, draws of the pairs.
SIZES, FLIPS, DRAWS = (100, 300, 1000, 3000, 10_000), 0.2, 10
PERFECT, NOISY, UNCORRECTED = "perfect labels", "noisy labels", "noisy, not corrected"
FEASIBLE_ONLY = "noisy, only kept feasible"
AS_PRINTED = " (statistic not kept feasible)"
SHOWN = (PERFECT, NOISY, FEASIBLE_ONLY, UNCORRECTED)


def figure_cells(quick: bool) -> list[Cell]:
    """One cell per data set, number of pairs and draw, for all learners together."""
    if quick:
        return [Cell.of(dataset="cora", n_pairs=size, draw=draw) for size in (100, 1000) for draw in range(2)]
    return [Cell.of(dataset=d, n_pairs=n, draw=draw) for draw in range(DRAWS) for d in LOADERS for n in SIZES]


def draw_balanced_pairs(y: NDArray[Any], n_pairs: int, seed: int) -> Pairs:
    """Return truly labelled pairs, drawn uniformly: half of them of one class, half of different classes."""
    rng = np.random.RandomState(seed)
    total = len(y) * (len(y) - 1) // 2
    candidates = Pairs.from_labels(y, n_pairs=min(total, 10 * n_pairs), random_state=rng)
    halves = [kind[rng.permutation(len(kind))[: n_pairs // 2]] for kind in (candidates.positive, candidates.negative)]
    if min(map(len, halves)) < n_pairs // 2:
        raise ValueError(f"n_pairs={n_pairs} is too many: too few of the pairs drawn from y are of one kind")
    return Pairs.concatenate(halves)


def run_figure_cell(cell: Cell, seed: int) -> dict[str, Any]:
    """Return the NMI of all learners, and the distance between the weights from noisy and from perfect labels."""
    data = LOADERS[str(cell["dataset"])]()
    X, y = data.data, data.target
    perfect = draw_balanced_pairs(y, int(cell["n_pairs"]), seed)
    noisy = perfect.flip(FLIPS, random_state=seed)
    clean, flipped = PairNoise(0.5, 1.0, 1.0), PairNoise.from_flip_rates(0.5, FLIPS, FLIPS)
    learners = {
        PERFECT: (papers_learner(noise=clean), perfect),
        NOISY: (papers_learner(noise=flipped), noisy),
        UNCORRECTED: (papers_learner(correction="none"), noisy),
        FEASIBLE_ONLY: (papers_learner(noise=clean), noisy),
        PERFECT + AS_PRINTED: (papers_learner(noise=clean, feasible=None), perfect),
        NOISY + AS_PRINTED: (papers_learner(noise=flipped, feasible=None), noisy),
    }
    n_clusters = len(np.unique(y))
    nmi, weights, gaps = {}, {}, []
    for name, (learner, pairs) in learners.items():
        model = PairKernelClustering(learner, n_clusters=n_clusters, random_state=seed % 2**32).fit(X, pairs=pairs)
        fitted: Any = model.learner_
        nmi[name], weights[name] = normalized_mutual_info(y, model.labels_), fitted.kernel_weights_
        gaps.append(fitted.dual_gap_)
    difference = np.linalg.norm(weights[NOISY] - weights[PERFECT]) / np.linalg.norm(weights[PERFECT])
    return {"nmi": nmi, "weight_difference": float(difference), "largest_dual_gap": max(gaps)}


def summarise_figure(records: Sequence[Record]) -> Table:
    """Return NMI by number of pairs, and the paired difference of perfect and noisy labels."""
    rows = []
    for (dataset, size), own in grouped(records, lambda record: record, "dataset", "n_pairs").items():
        nmi = {name: [record.results["nmi"][name] for record in own] for name in own[0].results["nmi"]}
        differences = [mean_error(nmi[PERFECT + s], nmi[NOISY + s]) for s in ("", AS_PRINTED)]
        apart = mean_std((record.results["weight_difference"] for record in own), digits=2)
        entries = [mean_std(nmi[name]) for name in SHOWN]
        rows.append((TITLES[str(dataset)], f"{size}", *entries, *differences, apart))
    rows.sort(key=lambda row: (list(TITLES.values()).index(row[0]), int(row[1])))
    header = ("data", "pairs", *SHOWN, "perfect - noisy", "... as printed", "weights apart")
    notes = (
        f"NMI, mean ± standard deviation of {len(distinct(records, 'draw'))} draws; differences are paired, mean ± "
        "standard error. As printed: the statistic is not kept feasible.",
        "Weights apart: the distance of the weights from noisy and from perfect labels, relative to the latter.",
    )
    return Table(header, tuple(rows), notes)


def mean_error(first: Sequence[float], second: Sequence[float]) -> str:
    """Return the mean of the paired differences and its standard error."""
    differences = [a - b for a, b in zip(first, second, strict=True)]
    mean = f"{statistics.fmean(differences):.3f}"
    if len(differences) == 1:
        return mean
    return f"{mean} ± {statistics.stdev(differences) / len(differences) ** 0.5:.3f}"


def draw_figure(records: Sequence[Record]) -> Any:
    """Draw NMI against the number of pairs, and below it the difference between perfect and noisy labels."""
    trials = [(TITLES[str(one.cell["dataset"])], one.cell["n_pairs"], one.results["nmi"]) for one in records]
    levels = mean_lines((title, name, size, nmi[name]) for name in SHOWN for title, size, nmi in trials)
    differences = mean_lines(
        (f"{title}, perfect minus noisy labels", name, size, nmi[PERFECT + suffix] - nmi[NOISY + suffix])
        for name, suffix in (("kept feasible", ""), ("as printed", AS_PRINTED))
        for title, size, nmi in trials
    )
    figure = line_panels(
        levels | differences,
        xlabel="number of pairs",
        ylabel="NMI (band: standard deviation of the draws)",
        log_x=True,
        columns=len(levels),
    )
    for axes in figure.axes[len(levels) :]:
        axes.axhline(0.0, color="#000000", linewidth=0.6)
    return figure


EXPERIMENT = Experiment(
    name="lkcnpc-figure1",
    title="Kernel combination from noisy pairs: convergence with the number of pairs",
    citation="LKCnpc, Figure 1",
    cells=figure_cells,
    run_cell=run_figure_cell,
    summarise=summarise_figure,
    draw=draw_figure,
    settings={"flips": FLIPS},
    version=2,
)
