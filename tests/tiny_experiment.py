"""Small experiments for the tests of the runner; importable, so that worker processes find their functions."""

import sys
import time
from unittest import mock

import numpy as np

from kernelwise.cli import main
from kernelwise.papers import Cell, Experiment, Line, Table, grouped, line_panels, mean_std, run


def cells(quick):
    return [Cell.of(size=size, trial=trial) for size in (10, 1000) for trial in range(2 if quick else 6)]


def sample_mean(cell, seed):
    return {"mean": np.random.default_rng(seed).normal(size=cell["size"]).mean()}


def slow_sample_mean(cell, seed):
    time.sleep(0.1)
    return sample_mean(cell, seed)


def fails_once(cell, seed):
    if cell == Cell.of(size=10, trial=1):
        raise ArithmeticError("no mean today")
    return sample_mean(cell, seed)


def not_finite(cell, seed):
    return {"mean": np.array([np.nan])}


def dies(cell, seed):
    import os

    os._exit(9)


def summarise(records):
    means = grouped(records, lambda record: record.results["mean"], "size")
    return Table(("size", "mean"), tuple((str(size), mean_std(values)) for (size,), values in means.items()))


def draw(records):
    means = grouped(records, lambda record: record.results["mean"], "size")
    return line_panels(
        {"means": {f"size {size}": Line(range(len(values)), values) for (size,), values in means.items()}},
        xlabel="trial",
        ylabel="mean",
    )


def tiny(run_cell=sample_mean, **changes):
    return Experiment("tiny", "Sample means", "Nobody, Figure 0", cells, run_cell, summarise, draw, **changes)


def reproduce(experiment, *arguments):
    """Run the command that reproduces this experiment, and return its exit status."""
    with mock.patch("kernelwise.papers.catalogue", return_value={experiment.name: experiment}):
        return main(["reproduce", experiment.name, *map(str, arguments)])


if __name__ == "__main__":
    # Run the slow version in the folder of the first argument with as many processes as the second one says.
    run(tiny(slow_sample_mean), output=sys.argv[1], n_jobs=int(sys.argv[2]))
