"""What the soak test does over and over: every estimator, the audits, files, pages, commands and an experiment."""

import contextlib
import io
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import kernelwise as kw
from kernelwise import files, report
from kernelwise.cli import main
from kernelwise.datasets import make_block_similarity
from kernelwise.kernels import Gaussian, gaussian_kernels
from kernelwise.papers import Cell, Experiment, Line, Record, Table, grouped, line_panels, mean_std, publish, run

from .inputs import COMMANDS, write_inputs, write_model

Job = Callable[[], object]

FEW = gaussian_kernels([0.25, 1.0], scope="all+each")


def round_of_jobs(seed: int) -> Iterator[tuple[str, Job]]:
    """The jobs of a round, in a random order, on data of their own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 4))
    truth = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)
    y = kw.flip_labels(truth, 0.15, random_state=seed)
    jobs = {**_label_jobs(X, y), **_pair_jobs(X, truth, seed), **_similarity_jobs(seed), **_file_jobs(seed)}
    for name in rng.permutation(list(jobs)):
        yield str(name), jobs[name]


def run_quietly(job: Job) -> None:
    """Run a job without its output and warnings: a fit that was stopped early warns, as it should."""
    nowhere = io.StringIO()
    with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        job()


def _label_jobs(X: np.ndarray, y: np.ndarray) -> dict[str, Job]:
    models = [
        kw.NoisyLabelClassifier(random_state=0),
        kw.SimpleMKLClassifier(FEW, random_state=0),
        kw.RobustMKLClassifier(FEW, noise_rate=0.1, random_state=0),
        kw.BestCaseMKLClassifier(FEW, n_starts=1, random_state=0),
        kw.SimpleMKLClassifierCV(FEW, alphas=[0.1, 0.01], n_folds=2, random_state=0),
        kw.RobustMKLClassifierCV(FEW, alphas=[0.01], budgets=[1.0, 0.8], n_folds=2, random_state=0),
    ]

    def fit(model: Any) -> Job:
        return lambda: model.fit(X, y).predict_proba(X)

    def audit() -> None:
        found = kw.audit_labels(X, y, random_state=0)
        with tempfile.TemporaryDirectory() as folder:
            report.write_report(report.label_report(found, X=X), Path(folder) / "review.html")

    return {type(model).__name__: fit(model) for model in models} | {
        "audit_labels": audit,
        "estimate_label_noise": lambda: kw.estimate_label_noise(X, y, random_state=0),
    }


def _pair_jobs(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Job]:
    pairs = kw.Pairs.from_labels(y, n_pairs=300, random_state=seed).flip(0.1, random_state=seed)
    wide = Gaussian(width=4.0)
    learners = [
        kw.PairKernelLearner(FEW, random_state=0),
        kw.UniformKernel(FEW, random_state=0),
        kw.SpectralKernelLearner(wide, n_components=5, random_state=0),
        kw.NonparametricKernelLearner(n_neighbors=3, random_state=0),
        kw.ITML(random_state=0),
        kw.MMC(random_state=0),
        kw.MPCKMeans(2, n_init=2, random_state=0),
        kw.PairKernelClustering(n_clusters=2, n_init=2, random_state=0),
        kw.LinkSmoother(random_state=0),
        kw.LinkedClustering(2, n_init=2, random_state=0),
        kw.PairCompletionClustering(2, completer=kw.PairCompleter(3, kernels=wide), n_init=2, random_state=0),
        kw.ConstrainedSpectralClustering(2, kernels=wide, n_init=2, random_state=0),
        kw.TransitiveClosure(),
    ]

    def fit(model: Any) -> Job:
        return lambda: model.fit(X, pairs=pairs)

    def audit() -> None:
        found = kw.audit_pairs(X, pairs, random_state=0)
        with tempfile.TemporaryDirectory() as folder:
            report.write_report(report.pair_report(found, X=X), Path(folder) / "review.html")

    return {type(model).__name__: fit(model) for model in learners} | {"audit_pairs": audit}


def _similarity_jobs(seed: int) -> dict[str, Job]:
    similarity, y = make_block_similarity(80, 3, random_state=seed)
    known = kw.Pairs.from_labels(np.where(np.arange(80) % 2 == 0, y, -1), n_pairs=300, random_state=seed)
    entries = np.random.default_rng(seed).integers(0, 80, size=(2, 2000))
    values = np.where(y[entries[0]] == y[entries[1]], 1.0, -1.0)
    return {
        "PairCompleter": lambda: kw.PairCompleter(3, random_state=0).fit(similarity, pairs=known).label_matrix(),
        "complete_matrix": lambda: kw.complete_matrix(*entries, values, (80, 80)),
        "plan_labelling": lambda: kw.plan_labelling(
            similarity, 3, completer=kw.PairCompleter(3), n_repeats=1, random_state=0
        ),
    }


def _file_jobs(seed: int) -> dict[str, Job]:
    def commands() -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            write_inputs(Path(folder), seed)
            write_model(Path(folder))
            Path("out").mkdir()
            for command in COMMANDS:
                if not command.keeps_what_is_finished and main([*command.arguments, "-q"]):
                    raise RuntimeError(f"{command.name} failed")
            files.load_model("model.skops")

    def refusals() -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            Path("bad.csv").write_text("a,b\n1\n")
            for arguments in (["classify", "bad.csv", "--label", "b", "-m", "m"], ["predict", "bad.csv", "bad.csv"]):
                if main(arguments) != 2:
                    raise RuntimeError("a bad file was accepted")

    def experiment(n_jobs: int) -> Job:
        def job() -> None:
            with tempfile.TemporaryDirectory() as folder:
                publish(SMALL, run(SMALL, output=folder, n_jobs=n_jobs), Path(folder) / "small")

        return job

    jobs: dict[str, Job] = {"commands": commands, "refusals": refusals, "experiment, one process": experiment(1)}
    return jobs | ({"experiment, two processes": experiment(2)} if seed % 4 == 0 else {})


# --- an experiment of a moment, whose functions other processes can import


def _cells(quick: bool) -> list[Cell]:
    return [Cell.of(size=size, trial=trial) for size in (10, 1000) for trial in range(6)]


def _mean(cell: Cell, seed: int) -> dict[str, Any]:
    return {"mean": np.random.default_rng(seed).normal(size=int(cell["size"])).mean()}


def _means(records: Any) -> Any:
    return grouped(records, lambda record: record.results["mean"], "size").items()


def _summarise(records: "list[Record]") -> Table:
    return Table(("size", "mean"), tuple((str(size), mean_std(values)) for (size,), values in _means(records)))


def _draw(records: "list[Record]") -> Any:
    lines = {f"size {size}": Line(range(len(values)), values) for (size,), values in _means(records)}
    return line_panels({"means": lines}, xlabel="trial", ylabel="mean")


SMALL = Experiment("small", "Sample means", "Nobody, Figure 0", _cells, _mean, _summarise, _draw)
