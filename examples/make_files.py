"""Write the files of the three journeys of the README to the folder that you name: ``python examples/make_files.py``.

``cards.csv``: applications for a credit card; one decision in seven is wrong. ``papers.csv`` and ``citations.csv``:
words of papers, and who cites whom. ``products.csv``: two names of products per row, and the answer of a person to the
question whether both are the same product; one answer in ten is wrong.
"""

import csv
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from kernelwise import flip_labels
from kernelwise.datasets import load_australian, load_cora


def main(folder: Path) -> None:
    """Write the four files."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {"cards.csv": cards(), "papers.csv": papers(), "citations.csv": citations(), "products.csv": products()}
    for name, rows in tables.items():
        with (folder / name).open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows(rows)
        print(folder / name)


def cards() -> Iterable[list[str]]:
    """The Australian credit data with flipped decisions."""
    data = load_australian()
    decisions = np.where(flip_labels(data.target, 0.15, random_state=0) > 0, "yes", "no")
    yield ["applicant", *data.feature_names, "approved"]
    for i, (row, decision) in enumerate(zip(data.data, decisions, strict=True)):
        yield [f"a{i:03d}", *map(str, row), decision]


def papers() -> Iterable[list[str]]:
    """The papers of Cora and their words."""
    data = load_cora()
    yield ["paper", "words"]
    for i, paper in enumerate(data.paper_ids):
        yield [paper, " ".join(data.feature_names[j] for j in data.data[[i]].indices)]


def citations() -> Iterable[list[str]]:
    """The citations of Cora."""
    data = load_cora()
    yield ["citing", "cited"]
    yield from data.paper_ids[data.edges].tolist()


def products() -> Iterable[list[str]]:
    """Pairs of made-up products of the same brand and kind, as two shops name them."""
    rng = np.random.default_rng(0)
    brands, kinds = ["Sona", "Belkor", "Vantec", "Orimo"], ["speaker", "camera", "printer", "radio"]
    made = [
        (rng.choice(brands), rng.choice(kinds), rng.choice(list("ABXZ")), rng.integers(100, 999), rng.integers(20, 400))
        for _ in range(250)
    ]
    colours = rng.choice(["black", "white", "red"], len(made))
    yield ["left_name", "left_price", "right_name", "right_price", "answer"]
    for i, (brand, kind, letter, number, price) in enumerate(made):
        for j, (other_brand, other_kind, other_letter, other_number, other_price) in enumerate(made):
            if (brand, kind) != (other_brand, other_kind) or (i != j and rng.random() > 0.2):
                continue
            same = (i == j) != (rng.random() < 0.1)  # one answer in ten is wrong
            left = [f"{brand} {kind} {letter}{number} {colours[i]}", str(price)]
            right = [f"{other_brand.upper()} {other_letter}-{other_number} {other_kind}", f"{other_price}.99"]
            yield [*left, *right, "duplicate" if same else "different"]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
