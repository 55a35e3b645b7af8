"""The clean tables, of 120 rows each: names of columns and rows of cells, with some of the labels flipped."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine

from kernelwise import flip_labels
from kernelwise.datasets import load_heart

LABEL = "class"
WRONG = 0.12
N_ROWS = 120


@dataclass(frozen=True)
class Cells:
    """A table of cells; the last column is the label."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> list[str]:
        place = self.names.index(name)
        return [row[place] for row in self.rows]

    def with_column(self, name: str, cells: list[str], *, new: str | None = None) -> "Cells":
        """The table with other cells in a column, or with one more column before the label."""
        if name not in self.names:
            names = (*self.names[:-1], name, self.names[-1])
            return Cells(names, tuple((*row[:-1], cell, row[-1]) for row, cell in zip(self.rows, cells, strict=True)))
        place = self.names.index(name)
        names = (*self.names[:place], new or name, *self.names[place + 1 :])
        pairs = zip(self.rows, cells, strict=True)
        return Cells(names, tuple((*row[:place], cell, *row[place + 1 :]) for row, cell in pairs))

    def changed(self, change: Callable[[str], str], *names: str) -> "Cells":
        """The table with every cell of some columns changed."""
        table = self
        for name in names:
            table = table.with_column(name, [change(cell) for cell in table.column(name)])
        return table

    def without(self, name: str) -> "Cells":
        place = self.names.index(name)
        return replace(
            self,
            names=self.names[:place] + self.names[place + 1 :],
            rows=tuple(row[:place] + row[place + 1 :] for row in self.rows),
        )


def _table(names: list[str], columns: list[list[str]], target: np.ndarray, words: list[str]) -> Cells:
    given = np.array(words)[flip_labels(target, WRONG, random_state=0)]
    return Cells((*names, LABEL), tuple(zip(*columns, given.tolist(), strict=True)))


def wine() -> Cells:
    """Measurements of wines of three grapes."""
    data = load_wine()
    rows = np.random.default_rng(0).permutation(len(data.target))[:N_ROWS]
    chosen = {"alcohol": 0, "acid": 1, "phenols": 5, "colour": 9, "hue": 10, "proline": 12}
    columns = [[f"{value:g}" for value in data.data[rows, place]] for place in chosen.values()]
    return _table(list(chosen), columns, data.target[rows], ["Barolo", "Grignolino", "Barbera"])


def cancer() -> Cells:
    """Measurements of tumours."""
    data = load_breast_cancer()
    rows = np.random.default_rng(0).permutation(len(data.target))[:N_ROWS]
    chosen = {"radius": 0, "texture": 1, "area": 3, "smoothness": 4, "worst area": 23}
    columns = [[f"{value:g}" for value in data.data[rows, place]] for place in chosen.values()]
    return _table(list(chosen), columns, data.target[rows], ["malignant", "benign"])


def heart() -> Cells:
    """Patients, with categories and truth values beside numbers."""
    data = load_heart()
    names = [str(name).replace(" ", "_") for name in data.feature_names]
    columns = [[f"{value:g}" for value in data.data[:N_ROWS, place]] for place in range(data.data.shape[1])]
    rng = np.random.default_rng(1)
    truth = (np.asarray(data.target[:N_ROWS]) > 0).astype(int)
    ward = np.where(rng.random(len(truth)) < 0.75, truth, 1 - truth)
    columns += [[["day clinic", "intensive care"][i] for i in ward], [["false", "true"][i] for i in rng.permuted(ward)]]
    return _table([*names, "ward", "smokes"], columns, truth, ["absent", "present"])


def trips() -> Cells:
    """Rides of a taxi, made up: business rides fall on working days and early hours, and are longer."""
    rng = np.random.default_rng(2)
    business = rng.integers(0, 2, N_ROWS)
    start = datetime(2023, 1, 2)  # a Monday
    days, hours, fares, areas, cards = [], [], [], [], []
    for is_business in business:
        weekday = rng.integers(0, 5) if is_business else rng.integers(4, 7)
        days.append(start + timedelta(days=int(7 * rng.integers(0, 80) + weekday)))
        hours.append(float(np.clip(rng.normal(9 if is_business else 19, 2), 0.2, 23.5)))
        fares.append(rng.gamma(4, 6 if is_business else 3) + 5)
        areas.append(f"z{(rng.integers(0, 12) + 4 * is_business) * 611:05d}")
        cards.append("true" if rng.random() < (0.8 if is_business else 0.4) else "false")
    columns = [
        [f"{day:%Y-%m-%d}" for day in days],
        [f"{int(hour):02d}:{int(60 * (hour % 1)):02d}" for hour in hours],
        [f"{fare:.2f}" for fare in fares],
        areas,
        cards,
    ]
    return _table(["pickup", "time", "fare", "area", "card"], columns, business, ["leisure", "business"])


TABLES = {"wine": wine, "cancer": cancer, "heart": heart, "trips": trips}
