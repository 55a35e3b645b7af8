r"""Pair completion on real data: Figures 2 to 4 and Table 1 of the TPCMC paper.

Of n examples, m = 20 % ... 90 % are labelled, and 10 % of the pairs among them are known. The similarity is the cosine
of the features, s = 50 eigenvectors are used, and the estimated label matrix is clustered. What the paper leaves open,
and what is done here:

- 10 % of the m x m entries are read as 10 % of the unordered pairs, since the matrix is symmetric.
- Splice has letters, coded A=1, G=2, C=3, T=4: only this order of the letters gives the printed coherence.
- SKL gets the known pairs with weights that make both kinds of pairs count alike. With equal weights negative pairs
  prevail in six classes, no admissible kernel is aligned with the pairs, and all eigenvalues are zero.
- "Direct, refined" is the default of :class:`~kernelwise.PairCompleter`, which also adjusts the labelled examples to
  their own pairs. The other two variants of TPCMC place all examples by the basis alone, as the paper does.
- Accuracy is the accuracy of clusters that are matched to classes one to one.
- "Closure", which is not in the paper, is what the known pairs imply by logic alone: must-links joined by chains are a
  cluster, and an example of which nothing follows is a cluster of its own. "Closure, nearest" has a cluster per class:
  the largest groups, and every other example goes to the group to which it is most similar on average.
- Gisette has to be downloaded. Where a reconstruction from MNIST is on the machine instead, it is run in its place,
  under the name "gisette, reconstructed" in records, table and figure.

All methods of a trial get the same examples and the same pairs.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from ... import datasets
from ...checks import Array
from ...completion.clustering import PairCompletionClustering
from ...completion.completer import PairCompleter
from ...datasets._gisette import load_gisette_reconstruction
from ...metrics import clustering_accuracy, coherence, normalized_mutual_info, pairwise_f_score
from ...pairs.clustering import PairKernelClustering
from ...spectral import GramFactor, top_eigenpairs
from ...statements import Pairs
from ..figures import line_panels, mean_lines
from ..lkcnpc.spectral_kernel import SpectralKernelLearner
from ..lkcnpc.transitive_closure import TransitiveClosure
from ..records import Record
from ..spec import Cell, Experiment
from ..tables import Table, distinct, grouped, mean_std
from .constrained_spectral import ConstrainedSpectralClustering

RATIOS, KNOWN, COMPONENTS, TRIALS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), 0.1, 50, 10
SCORES: dict[str, Callable[[Any, Any], float]] = {
    "NMI": normalized_mutual_info,
    "pairwise F": pairwise_f_score,
    "accuracy": clustering_accuracy,
}
RECONSTRUCTED = "gisette, reconstructed"
LOADERS: dict[str, Callable[[], Any]] = {
    "splice": lambda: datasets.load_splice(letter_order="AGCT"),
    "gisette": lambda: datasets.fetch_gisette(subset="all", download_if_missing=False),
    RECONSTRUCTED: load_gisette_reconstruction,
    "citeseer": datasets.load_citeseer,
}
EIGENVECTORS = "seconds of the eigenvectors"
#: The last column of Table 1.
PUBLISHED_COHERENCE = {"splice": 1.97, "gisette": 4.17, RECONSTRUCTED: 4.17, "citeseer": 2.22}


NOT_GENUINE = (
    'Gisette is a reconstruction from MNIST: rows and columns are of the same kind, but not the same. The figures of "'
    f'{RECONSTRUCTED}" are no figures of Gisette.'
)


@dataclass
class _Closure:
    """The groups that known pairs imply, as a clustering; ``nearest``: the other examples join the nearest group."""

    n_clusters: int
    nearest: bool
    random_state: Any = None

    def fit(self, similarity: GramFactor, *, pairs: Pairs) -> Self:
        groups = TransitiveClosure().fit(pairs=pairs).groups_
        if self.nearest:
            sizes = np.bincount(groups)
            largest = np.argsort(-sizes, kind="stable")[: self.n_clusters]
            members = (groups[:, None] == largest) / sizes[largest]
            closest = np.argmax(similarity.as_operator() @ members, axis=1)
            position = np.full(len(sizes), -1)
            position[largest] = np.arange(len(largest))
            groups = np.where(position[groups] >= 0, position[groups], closest)
        self.labels_ = groups
        return self


def _clusterings(n_clusters: int, seed: int) -> dict[str, Any]:
    common: dict[str, Any] = {"n_clusters": n_clusters, "random_state": seed}
    return {
        "TPCMC": PairCompletionClustering(completer=_completer("completion", False, seed), **common),
        "TPCMC, direct": PairCompletionClustering(completer=_completer("direct", False, seed), **common),
        "direct, refined": PairCompletionClustering(completer=_completer("direct", True, seed), **common),
        "SKL": PairKernelClustering(SpectralKernelLearner(n_components=COMPONENTS), **common),
        "SC": ConstrainedSpectralClustering(**common),
        "closure": _Closure(nearest=False, **common),
        "closure, nearest": _Closure(nearest=True, **common),
    }


def _completer(method: Literal["completion", "direct"], refine: bool, seed: int) -> PairCompleter:
    return PairCompleter(COMPONENTS, method=method, refine=refine, calibrate=False, random_state=seed)


METHODS = tuple(_clusterings(2, 0))
#: The methods that use more of the similarity than its leading eigenvectors.
WHOLE_SIMILARITY = ("SC", "closure", "closure, nearest")


def available(dataset: str) -> bool:
    """Return whether the data are on this machine: Gisette has to be downloaded first."""
    try:
        LOADERS[dataset]()
    except OSError:
        return False
    return True


def figure_cells(quick: bool) -> list[Cell]:
    """One cell per data set, share of labelled examples and trial, for all methods together."""
    if quick:
        return [Cell.of(dataset="citeseer", ratio=0.2, trial=0)]
    present = [dataset for dataset in LOADERS if available(dataset)]
    if "gisette" in present and RECONSTRUCTED in present:
        present.remove(RECONSTRUCTED)
    return [Cell.of(dataset=d, ratio=r, trial=t) for t in range(TRIALS) for d in present for r in RATIOS]


def draw_known_pairs(y: NDArray[Any], ratio: float, seed: int) -> Pairs:
    """Return 10 % of the pairs, truly labelled, among a share of the examples, all drawn uniformly."""
    rng = np.random.RandomState(seed)
    labelled = rng.permutation(len(y))[: round(ratio * len(y))]
    codes = np.unique(y, return_inverse=True)[1]
    seen = np.full(len(y), -1)
    seen[labelled] = codes[labelled]
    n_pairs = round(KNOWN * len(labelled) * (len(labelled) - 1) / 2)
    return Pairs.from_labels(seen, n_pairs=n_pairs, random_state=rng)


class _Prepared(NamedTuple):
    """A data set: its classes, the cosine similarity, and features whose similarity is cut to the eigenvectors used."""

    classes: NDArray[Any]
    similarity: GramFactor
    leading: Array
    coherence: float
    seconds: float


@lru_cache(maxsize=1)  # cells of one data set follow each other
def _prepared(dataset: str) -> _Prepared:
    data = LOADERS[dataset]()
    similarity = GramFactor(normalize(data.data))
    started = time.process_time()
    values, vectors = top_eigenpairs(similarity, COMPONENTS, random_state=0)
    seconds = time.process_time() - started
    return _Prepared(data.target, similarity, vectors * np.sqrt(values), coherence(vectors), seconds)


def run_figure_cell(cell: Cell, seed: int) -> dict[str, Any]:
    """Return the scores and the seconds of every method; of trial 0 also the coherence and the eigenvectors' seconds.

    TPCMC and SKL see nothing of the similarity but its leading eigenvectors, so these are computed once: a similarity
    that is cut to them has the same leading eigenvectors, and so has the mean of the linear kernels of its features.
    """
    data = _prepared(str(cell["dataset"]))
    pairs = draw_known_pairs(data.classes, float(cell["ratio"]), seed)
    results: dict[str, Any] = {}
    for name, model in _clusterings(len(np.unique(data.classes)), seed % 2**32).items():
        X: Any = data.similarity if name in WHOLE_SIMILARITY else GramFactor(data.leading)
        X, given = (data.leading, pairs.balanced()) if name == "SKL" else (X, pairs)
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the scores are those of the fit as it is
            model.fit(X, pairs=given)
        seconds = time.process_time() - started
        scores = {score: function(data.classes, model.labels_) for score, function in SCORES.items()}
        results[name] = {**scores, "seconds": round(seconds, 3)}
    if int(cell["trial"]) == 0:
        results |= {"coherence": data.coherence, EIGENVECTORS: round(data.seconds, 3)}
    return results


def summarise_figure(records: Sequence[Record]) -> Table:
    """Return the scores by data set, share of labelled examples and method; the coherence in the notes."""
    rows = []
    for (dataset, ratio), own in sorted(grouped(records, lambda record: record.results, "dataset", "ratio").items()):
        for method in METHODS:
            scores = [mean_std(result[method][score] for result in own) for score in SCORES]
            seconds = np.median([result[method]["seconds"] for result in own])
            rows.append((str(dataset), f"{ratio:.0%}", method, *scores, f"{seconds:.2f}"))
    rows.sort(key=lambda row: list(LOADERS).index(row[0]))
    return Table(("data", "labelled", "method", *SCORES, "seconds"), tuple(rows), tuple(_notes(records)))


def _notes(records: Sequence[Record]) -> list[str]:
    """Return what the table says below its rows: trials, seconds and coherence of the eigenvectors, missing data."""
    trials = grouped(records, lambda record: record.cell["trial"], "dataset")
    counts = ", ".join(f"{len(set(numbers))} trials on {dataset}" for (dataset,), numbers in trials.items())
    first = {str(record.cell["dataset"]): record.results for record in records if "coherence" in record.results}
    eigenvectors = ", ".join(f"{results[EIGENVECTORS]:.2g} on {dataset}" for dataset, results in first.items())
    coherences = ", ".join(
        f"{dataset} {results['coherence']:.2f} (paper {PUBLISHED_COHERENCE[dataset]:.2f})"
        for dataset, results in first.items()
    )
    notes = [
        f"Mean ± standard deviation of {counts}; median processor seconds of a fit.",
        f"The seconds of TPCMC and SKL do not contain the seconds of the eigenvectors: {eigenvectors}.",
        f"Table 1, coherence of 50 eigenvectors: {coherences}.",
    ]
    run = distinct(records, "dataset")
    for dataset in ("splice", "gisette", "citeseer"):
        if dataset not in run:
            reason = "kernelwise.datasets.fetch_gisette() downloads it" if dataset == "gisette" else "not of this run"
            notes.append(f"{dataset}: no figures, its data are not on this machine ({reason}).")
    return [*notes, NOT_GENUINE] if RECONSTRUCTED in run else notes


def draw_figure(records: Sequence[Record]) -> Any:
    """Draw the three scores against the share of labelled examples; each data set has a row of panels."""
    trials = [
        (f"{dataset}: {score}", method, record.cell["ratio"], record.results[method][score])
        for dataset in distinct(records, "dataset")
        for score in SCORES
        for method in METHODS
        for record in records
        if record.cell["dataset"] == dataset
    ]
    return line_panels(
        mean_lines(trials),
        xlabel="share of the examples that is labelled",
        ylabel="score (band: standard deviation of the trials)",
        columns=len(SCORES),
    )


EXPERIMENT = Experiment(
    name="tpcmc-figures2to4",
    title="Pair completion: clusters from a similarity and a few known pairs",
    citation="TPCMC, Figures 2 to 4 and Table 1",
    cells=figure_cells,
    run_cell=run_figure_cell,
    summarise=summarise_figure,
    draw=draw_figure,
    version=2,
    settings={"known": KNOWN, "components": COMPONENTS},
)
