"""What an experiment is: a frozen list of cells, a function that runs a cell, and functions that show the results."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .records import Record
    from .tables import Table

Scalar: TypeAlias = str | int | float | bool


@dataclass(frozen=True)
class Cell(Mapping[str, Scalar]):
    """One combination of parameters, which is run once: a read-only mapping that can be a key.

    ``key`` is JSON with sorted names, the same in every process and every version of Python. Make cells with
    :meth:`of`.
    """

    key: str

    @classmethod
    def of(cls, /, **parameters: Scalar) -> "Cell":
        """Return the cell of these parameters: strings, booleans and finite numbers, of Python or numpy."""
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}
        for name, value in plain.items():
            if not isinstance(value, str | int | float):
                raise TypeError(f"parameter {name} of a cell must be a string, a number or a boolean, got {value!r}")
            if isinstance(value, float) and not np.isfinite(value):
                raise ValueError(f"parameter {name} of a cell must be finite, got {value}")
        return cls(json.dumps(plain, sort_keys=True, separators=(",", ":")))

    def only(self, *names: str) -> "Cell":
        """Return the cell of some of the parameters, for example to give several cells one seed."""
        return Cell.of(**{name: self[name] for name in names})

    @cached_property
    def _parameters(self) -> dict[str, Scalar]:
        parameters: dict[str, Scalar] = json.loads(self.key)
        return parameters

    def __getitem__(self, name: str) -> Scalar:
        return self._parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.items())


def seed_of(name: str, cell: Cell) -> int:
    """Return the seed of a cell of the experiment ``name``, which is the same on every machine."""
    digest = hashlib.sha256(f"{name}\n{cell.key}".encode()).digest()
    return int(np.random.SeedSequence(int.from_bytes(digest[:16], "big")).generate_state(1)[0])


@dataclass(frozen=True, eq=False)
class Experiment:
    """A published table or figure, or a comparison of our own, as a frozen specification.

    ``run_cell(cell, seed)`` returns the results of a cell: numbers, strings, lists and dicts. It must be a function of
    a module, since other processes run it. Results with different ``spec_hash`` are never mixed.
    """

    name: str  # also the folder of the results
    title: str
    citation: str
    cells: Callable[[bool], list[Cell]]  # with True: a version that takes seconds
    run_cell: Callable[[Cell, int], dict[str, Any]]
    summarise: Callable[[Sequence["Record"]], "Table"]
    draw: Callable[[Sequence["Record"]], "Figure"]
    settings: Mapping[str, Any] = field(default_factory=dict)  # what all cells share: grids, tolerances, conventions
    version: int = 1  # to be increased when run_cell computes something else

    def __post_init__(self) -> None:
        if not self.name or set(self.name) & set("/\\ "):
            raise ValueError(f"name must be usable as a folder, without slashes and spaces, got {self.name!r}")
        if "<" in getattr(self.run_cell, "__qualname__", "<"):
            raise ValueError(f"run_cell of {self.name} must be a function of a module, so that other processes find it")

    def __str__(self) -> str:
        return f"{self.name:30}{self.citation}: {self.title}"

    @property
    def spec_hash(self) -> str:
        """Twelve hexadecimal digits of the name, the version and the settings."""
        frozen = json.dumps([self.name, self.version, dict(self.settings)], sort_keys=True)
        return hashlib.sha256(frozen.encode()).hexdigest()[:12]

    def distinct_cells(self, quick: bool) -> list[Cell]:
        """Return the cells; raise a ValueError if one is listed twice, since only one of its results would be kept."""
        cells = self.cells(quick)
        if len(set(cells)) < len(cells):
            cell = max(cells, key=cells.count)
            raise ValueError(f"experiment {self.name} lists the cell {cell} twice; add a parameter that differs")
        return cells
