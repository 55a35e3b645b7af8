"""An experiment of a moment; in a file of its own, since every process that runs it loads this file."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from kernelwise.papers import Cell, Experiment, Record, run


def _cells(quick: bool) -> list[Cell]:
    return [Cell.of(size=size, trial=trial) for size in (10, 1000) for trial in range(15)]


def _mean(cell: Cell, seed: int) -> dict[str, Any]:
    time.sleep(0.005)
    return {"mean": np.random.default_rng(seed).normal(size=int(cell["size"])).mean()}


def _nothing(records: Any) -> Any:
    raise NotImplementedError


MEANS = Experiment("means", "Sample means", "Nobody", _cells, _mean, _nothing, _nothing)


def run_means(folder: Path, n_jobs: int, finished: Path) -> None:
    """Run the experiment and write down every cell that it says is finished."""
    descriptor = os.open(finished, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    run(
        MEANS,
        output=folder,
        n_jobs=n_jobs,
        progress=lambda record, done, total: os.write(descriptor, f"{record.cell.key}\n".encode()),
    )


def without_times(records: list[Record]) -> list[dict[str, Any]]:
    """What must be the same in every run."""
    return [{**json.loads(record.to_line()), "seconds": 0} for record in records]


if __name__ == "__main__":
    run_means(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
