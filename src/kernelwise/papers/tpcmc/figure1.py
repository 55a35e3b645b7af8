r"""Pair completion on synthetic data: Section 5.1 and Figure 1 of the TPCMC paper.

1,000 examples in 4 classes; the similarity is the label matrix plus uniform noise between 0 and 0.5. With s = 20 the
coherence is about 2; m = 4 s mu = 160 examples are labelled and 2 m r^2 = 5,120 entries of their block are known, which
are 2,560 unordered pairs since the block is symmetric. The error ratio is :math:`\|Z - Z'\|_F / \|Z - S\|_F`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import Array, IntArray
from ...completion.completer import PairCompleter
from ...datasets import make_block_similarity
from ...metrics import coherence
from ...spectral import top_eigenpairs
from ...statements import Pairs
from ..figures import blank_figure, style_axes
from ..lkcnpc.transitive_closure import TransitiveClosure
from ..records import Record
from ..spec import Cell, Experiment
from ..tables import Table, grouped, mean_std

SAMPLES, CLASSES, COMPONENTS, LABELLED, KNOWN, TRIALS = 1000, 4, 20, 160, 2560, 20
SIZES = (5, 10, 15, 20, 25, 30, 40, 50)
METHODS: dict[str, dict[str, Any]] = {
    "TPCMC": {"method": "completion", "refine": False},
    "TPCMC, direct": {"method": "direct", "refine": False},
    "direct, refined": {"method": "direct", "refine": True},
}
CLOSURE = "closure"


def synthetic_cells(quick: bool) -> list[Cell]:
    """One cell per trial."""
    return [Cell.of(trial=trial) for trial in range(1 if quick else TRIALS)]


def make_synthetic_trial(seed: int) -> tuple[Array, IntArray, Pairs]:
    """Return the similarity, the classes and the known pairs of a trial."""
    rng = np.random.RandomState(seed % 2**32)
    similarity, y = make_block_similarity(SAMPLES, CLASSES, random_state=rng)
    seen = np.full(SAMPLES, -1)
    labelled = rng.permutation(SAMPLES)[:LABELLED]
    seen[labelled] = y[labelled]
    return similarity, y, Pairs.from_labels(seen, n_pairs=KNOWN, random_state=rng)


def run_synthetic_cell(cell: Cell, seed: int) -> dict[str, Any]:
    """Return the coherence by number of eigenvectors, and the error ratio and wrong pairs of each method."""
    similarity, y, known = make_synthetic_trial(seed)
    truth = (y[:, None] == y[None, :]).astype(float)
    _, vectors = top_eigenpairs(similarity, max(SIZES), random_state=0)
    results: dict[str, Any] = {"coherence": {str(s): coherence(vectors[:, :s]) for s in SIZES}}
    for name, options in METHODS.items():
        model = PairCompleter(COMPONENTS, random_state=0, **options).fit(similarity, pairs=known)
        estimate = model.label_matrix()
        results[name] = {
            "error_ratio": float(np.linalg.norm(truth - estimate) / np.linalg.norm(truth - similarity)),
            "wrong_pairs": float(np.mean((estimate >= 0.5) != (truth == 1))),
            "relative_gap": model.solver_certificate_.relative_gap,
        }
    rows, cols = np.triu_indices(SAMPLES, k=1)
    closure = TransitiveClosure().fit(pairs=known)
    estimate = np.eye(SAMPLES)
    estimate[rows, cols] = estimate[cols, rows] = closure.pair_scores(rows, cols)
    results[CLOSURE] = {
        "error_ratio": float(np.linalg.norm(truth - estimate) / np.linalg.norm(truth - similarity)),
        "wrong_pairs": float(np.mean((closure.predict_pairs(rows, cols) > 0) != (truth[rows, cols] == 1))),
    }
    return results


def summarise_synthetic(records: Sequence[Record]) -> Table:
    """Return the error ratio of each method beside the error ratio of the paper."""
    rows = []
    for name in (*METHODS, CLOSURE):
        own = [record.results[name] for record in records]
        ratio, wrong = (mean_std((result[key] for result in own), digits=4) for key in ("error_ratio", "wrong_pairs"))
        rows.append((name, "0.5" if name == "TPCMC" else "", ratio, wrong))
    mu = grouped(records, lambda record: record.results["coherence"][str(COMPONENTS)])[()]
    notes = (
        f"Mean ± standard deviation of {len(records)} trials. Wrong pairs: scores on the wrong side of 1/2.",
        "Closure: what the known pairs imply by logic alone; 1/2 where nothing follows, which counts as different.",
        f"Coherence of {COMPONENTS} eigenvectors: {mean_std(mu, digits=2)} (paper: roughly 2).",
    )
    return Table(("method", "error ratio, paper", "error ratio", "wrong pairs"), tuple(rows), notes)


def draw_synthetic(records: Sequence[Record]) -> Any:
    """Draw the coherence, the true label matrix, the similarity and the estimate, of one trial."""
    similarity, y, known = make_synthetic_trial(0)
    estimate = PairCompleter(COMPONENTS, random_state=0, **METHODS["TPCMC"]).fit(similarity, pairs=known).label_matrix()
    truth = (y[:, None] == y[None, :]).astype(float)
    figure = blank_figure(10.5, 2.9)
    curve, *pictures = figure.subplots(1, 4, width_ratios=(1.3, 1, 1, 1))
    means = [float(np.mean([record.results["coherence"][str(s)] for record in records])) for s in SIZES]
    curve.plot(SIZES, means, "o-", color="#0072B2", markersize=4)
    curve.set_xlabel("number of eigenvectors s", fontsize=9)
    curve.set_ylim(bottom=0)
    style_axes(curve, "coherence")
    titles = ("true label matrix", "similarity", "estimated label matrix")
    for axes, matrix, title in zip(pictures, (truth, similarity, estimate), titles, strict=True):
        image = axes.imshow(matrix[::5, ::5], cmap="gray_r", vmin=0.0, vmax=1.5, interpolation="nearest")
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xticks([])
        axes.set_yticks([])
    figure.colorbar(image, ax=pictures, shrink=0.8).ax.tick_params(labelsize=8)
    return figure


EXPERIMENT = Experiment(
    name="tpcmc-figure1",
    title="Pair completion: the label matrix behind a noisy similarity",
    citation="TPCMC, Section 5.1 and Figure 1",
    cells=synthetic_cells,
    run_cell=run_synthetic_cell,
    summarise=summarise_synthetic,
    draw=draw_synthetic,
    version=3,
    settings={"labelled": LABELLED, "known": KNOWN, "components": COMPONENTS},
)
