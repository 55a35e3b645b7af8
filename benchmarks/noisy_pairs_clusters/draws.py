"""Cells of the grid: pairs drawn uniformly at random among all pairs of samples, and labels of which some are flipped.

A cell draws m distinct pairs (i < j) for the methods and 2,000 others, which no method sees, for the score of unseen
pairs. The label of a given pair is +1 where the classes are equal and -1 otherwise, and is flipped with the same
probability whatever it is. The draws depend on the set, the number of pairs and the seed only: a larger probability
flips the same labels and some more.
"""

from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from kernelwise import Pairs

from .sets import load

#: Numbers of pairs as multiples of the number of samples.
SIZES = {"n/2": 0.5, "n": 1.0, "3n": 3.0, "10n": 10.0}
FLIPS = (0.0, 0.1, 0.2, 0.3, 0.4)
SEEDS = (0, 1, 2)
N_UNSEEN = 2000


@dataclass(frozen=True)
class Task:
    """What a method is told."""

    X: NDArray[np.float64]
    pairs: Pairs
    n_clusters: int
    seed: int


@dataclass(frozen=True)
class Cell:
    """A task and what is needed to score the answer."""

    name: str
    size: str
    flips: float
    task: Task
    y: NDArray[np.int64]
    truth: NDArray[np.int64]  # +1 or -1 of the given pairs
    unseen: tuple[NDArray[np.int64], NDArray[np.int64]]

    @property
    def wrong(self) -> NDArray[np.bool_]:
        return self.task.pairs.labels != self.truth

    @property
    def flipped_fractions(self) -> tuple[float, float]:
        """The fractions of wrong labels among the given pairs that truly share a class, and among the others."""
        same = self.truth > 0
        return float(self.wrong[same].mean()), float(self.wrong[~same].mean())


def draw(name: str, size: str, flips: float, seed: int) -> Cell:
    """Return the cell of a set, a number of pairs ("n/2", "n", "3n" or "10n"), a rate of flips and a seed."""
    table = load(name)
    n_samples = len(table.y)
    n_pairs = round(SIZES[size] * n_samples)
    rng = np.random.default_rng([seed, crc32(name.encode()), n_pairs])
    keys = rng.choice(n_samples * (n_samples - 1) // 2, n_pairs + N_UNSEEN, replace=False)
    rows, cols = _ends(keys)
    truth = np.where(table.y[rows] == table.y[cols], 1, -1)
    given = truth[:n_pairs] * np.where(rng.random(n_pairs) < flips, -1, 1)
    pairs = Pairs(rows[:n_pairs], cols[:n_pairs], given, n_samples=n_samples)
    task = Task(table.X, pairs, table.n_clusters, seed)
    return Cell(name, size, flips, task, table.y, truth[:n_pairs], (rows[n_pairs:], cols[n_pairs:]))


def _ends(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pair (i < j) with number ``j (j - 1) / 2 + i``."""
    cols = ((1 + np.sqrt(1 + 8 * keys.astype(np.float64))) / 2).astype(np.int64)
    cols -= cols * (cols - 1) // 2 > keys  # rounding of the square root
    cols += cols * (cols + 1) // 2 <= keys
    return keys - cols * (cols - 1) // 2, cols
