"""Small files of every kind that the commands read, and for every command that writes a file, how to call it."""

import contextlib
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kernelwise import Pairs, flip_labels
from kernelwise.datasets import make_block_similarity


class Command(NamedTuple):
    """How to call a command in the folder of the inputs, and what it writes: paths below the folder ``out``.

    ``keeps_what_is_finished``: whether it writes one file after the other, so that what is finished is not lost.
    """

    arguments: tuple[str, ...]
    writes: tuple[str, ...]
    keeps_what_is_finished: bool = False

    @property
    def name(self) -> str:
        return " ".join(word for word in self.arguments[:2] if word.isalpha())


COMMANDS = [
    Command(
        ("audit", "labels", "people.csv", "--label", "approved", "-o", "out/a.csv", "--report", "out/a.html"),
        ("a.csv", "a.html"),
    ),
    Command(
        ("audit", "pairs", "nodes.csv", "links.csv", "-o", "out/p.csv", "--report", "out/p.html"), ("p.csv", "p.html")
    ),
    Command(("classify", "people.csv", "--label", "approved", "--model", "out/m.skops"), ("m.skops",)),
    Command(("predict", "model.skops", "people.csv", "-o", "out/predicted.csv"), ("predicted.csv",)),
    Command(("cluster", "nodes.csv", "-k", "2", "--links", "links.csv", "-o", "out/clusters.csv"), ("clusters.csv",)),
    Command(("complete", "S.npy", "known.csv", "--query", "asked.csv", "-o", "out/answers.csv"), ("answers.csv",)),
    Command(("plan", "S.npy", "-k", "3", "--components", "3", "-o", "out/plan.csv"), ("plan.csv",)),
    Command(("apply", "people.csv", "corrections.csv", "-o", "out/corrected.csv"), ("corrected.csv",)),
    Command(
        ("reproduce", "lkcnpc-figure1", "--quick", "-o", "out"),
        tuple(f"lkcnpc-figure1/{name}" for name in ("records.jsonl", "table.md", "figure.svg")),
        keeps_what_is_finished=True,
    ),
    Command(("demo", "-o", "out"), ("review.html", "summary.txt", "summary.json"), keeps_what_is_finished=True),
]


def write_inputs(folder: Path, seed: int = 0, *, n_people: int = 80) -> None:
    """Write the files that the commands read, but for the model, which takes a moment: see :func:`write_model`."""
    rng = np.random.default_rng(seed)
    _write_people(folder, rng, n_people)
    _write_nodes(folder, rng)
    similarity, y = make_block_similarity(60, 3, random_state=seed)
    np.save(folder / "S.npy", similarity)
    known = Pairs.from_labels(np.where(np.arange(60) % 2 == 0, y, -1), n_pairs=200, random_state=seed)
    asked = Pairs.from_labels(y, n_pairs=50, random_state=seed + 1)
    (folder / "known.csv").write_text(_lines(known.rows, known.cols, known.labels))
    (folder / "asked.csv").write_text(_lines(asked.rows, asked.cols))


def write_model(folder: Path) -> None:
    """Make ``model.skops`` from ``people.csv``."""
    from kernelwise.cli import main

    arguments = ["classify", str(folder / "people.csv"), "--label", "approved", "-m", str(folder / "model.skops"), "-q"]
    with contextlib.redirect_stdout(io.StringIO()):
        status = main(arguments)
    if status:
        raise RuntimeError("the model could not be made")


def _write_people(folder: Path, rng: np.random.Generator, n: int) -> None:
    X = rng.normal(size=(n, 3))
    truth = np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, "yes", "no")
    given = flip_labels(truth, 0.15, random_state=1)
    rows = [
        f"p{i},{a:.3f},{b:.3f},{c:.3f},{label}\n" for i, ((a, b, c), label) in enumerate(zip(X, given, strict=True))
    ]
    (folder / "people.csv").write_text("person,height,weight,age,approved\n" + "".join(rows))
    wrong = np.flatnonzero(given != truth)
    corrections = [f"{row},approved,{given[row]},{truth[row]},wrong\n" for row in wrong]
    (folder / "corrections.csv").write_text("row,column,given,corrected,decision\n" + "".join(corrections))


def _write_nodes(folder: Path, rng: np.random.Generator) -> None:
    group = np.arange(40) % 2
    X = 0.3 * rng.normal(size=(40, 3))
    X[:, 0] += 4 * group
    rows = [f"{i},{a:.4f},{b:.4f},{c:.4f}\n" for i, (a, b, c) in enumerate(X)]
    (folder / "nodes.csv").write_text("id,a,b,c\n" + "".join(rows))
    same = Pairs.from_labels(group, n_pairs=120, random_state=0).positive
    (folder / "links.csv").write_text("from,to\n" + _lines(same.rows, same.cols))


def _lines(*columns: np.ndarray) -> str:
    return "".join(",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))
