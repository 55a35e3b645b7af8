"""Several answers per row: who said what.

An answer is a statement of a source about a row: its class. A row may have any number of answers, also none, and a
source may answer any rows. Answers that are missing are no statements.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import check_choice, check_count, freeze, is_missing, missing_labels

KINDS = ("person", "program", "language model")
#: Names of language models, as sources are called after them.
MODEL_NAMES = re.compile(
    r"gpt|llama|claude|gemini|gemma|palm|bard|mistral|mixtral|qwen|deepseek|davinci|curie|babbage|text-ada|flan|"
    r"(?<![a-z0-9])[mu]?t5(?![a-z0-9])|falcon|vicuna|alpaca|bloomz?|command-r|(?<![a-z])phi-?\d|(?<![a-z])opt-\d|"
    r"(?<![a-z])(?:llm|ul2|grok|olmo|yi-\d)",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False, repr=False)
class Answers:
    """Answers of several sources: person, program or language model ``sources[t]`` says ``labels[t]`` of ``rows[t]``.

    Parameters
    ----------
    rows : array-like of int
        The position of the row that each answer speaks of.
    sources : array-like
        Who gave the answer: names or numbers.
    labels : array-like
        The answers. A missing one (None, NaN) is left out. -1 is a missing answer beside the whole numbers 0, 1, ...
    n_rows : int
        The number of rows of the data.
    kinds : mapping of source to str, or str, optional
        "person", "program" or "language model", for each source or for all. A source that is called after a language
        model, such as "gpt-4o" or "flan-t5-xl", is taken for one; the kind of other sources is unknown without this.

    Attributes
    ----------
    source_names, classes : ndarray
        The sources and the classes, sorted.

    Notes
    -----
    If a source says the same of a row twice, it counts once. If it says two things of one row, both count.

    Examples
    --------
    >>> from kernelwise import Answers
    >>> answers = Answers([0, 0, 1], ["Ann", "Bob", "Ann"], ["cat", "dog", "cat"], n_rows=3)
    >>> answers
    Answers(n_rows=3, n_answers=3, n_sources=2, classes=['cat', 'dog'])
    >>> Answers.from_table({"Ann": ["cat", "cat", None], "Bob": ["dog", None, None]}) == answers
    True
    """

    rows: NDArray[np.int64]
    sources: NDArray[Any]
    labels: NDArray[Any]
    n_rows: int
    kinds: Mapping[Any, str]

    def __init__(
        self,
        rows: ArrayLike,
        sources: ArrayLike,
        labels: ArrayLike,
        *,
        n_rows: int,
        kinds: Mapping[Any, str] | str | None = None,
    ):
        n_rows = check_count("n_rows", n_rows)
        positions, names, said = np.asarray(rows), _cells(sources), _cells(labels)
        if said.dtype.kind in "OUT":
            blank = np.array([isinstance(cell, str) and not cell.strip() for cell in said.tolist()], dtype=bool)
            said = np.where(blank, np.array(None), said) if blank.any() else said
        if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
            raise TypeError(
                f"rows must hold integer positions of rows, got {positions.dtype} of shape {positions.shape}; where "
                "ids name rows, give pandas.Index(ids).get_indexer(rows)"
            )
        for what, values in (("sources", names), ("labels", said)):
            if values.shape != positions.shape:
                raise ValueError(f"{what} must hold one value for each of {len(positions)} answers, got {values.shape}")
        kept = ~missing_labels(said) & ~_codes_of_none(said)
        if (nameless := kept & missing_labels(names)).any():
            raise ValueError(f"sources lacks the name of who gave answer {int(nameless.argmax())}")
        positions, names, said = positions[kept].astype(np.int64), _plain(names[kept]), _plain(said[kept])
        outside = (positions < 0) | (positions >= n_rows)
        if outside.any():
            unknown = ", which pandas gives for an unknown id" if positions[outside][0] == -1 else ""
            raise ValueError(
                f"rows must lie between 0 and {n_rows - 1}, got {positions[outside][0]}{unknown}; leave such answers "
                "out, or give a larger n_rows"
            )
        if not len(positions):
            raise ValueError("there is no answer: every label is missing")
        source_names, source_index = np.unique(names, return_inverse=True)
        classes, label_index = np.unique(said, return_inverse=True)
        _warn_of_spellings(classes)
        cells = (positions * len(source_names) + source_index) * len(classes) + label_index
        once = np.sort(np.unique(cells, return_index=True)[1])
        if isinstance(kinds, str):
            kinds = dict.fromkeys(source_names.tolist(), kinds)
        for source, kind in (kinds or {}).items():
            check_choice(f"kinds[{source!r}]", kind, KINDS)
            if source not in source_names:
                raise ValueError(f"kinds names the source {source!r}, which gave no answer")
        fields: dict[str, Any] = {"rows": positions[once], "sources": names[once], "labels": said[once]}
        fields |= {"n_rows": n_rows, "kinds": dict(kinds or {}), "source_names": source_names, "classes": classes}
        fields |= {"source_index": source_index[once], "label_index": label_index[once]}
        freeze(self, fields.items())

    source_names: NDArray[Any] = None  # type: ignore[assignment]  # arrays after __init__
    classes: NDArray[Any] = None  # type: ignore[assignment]
    source_index: NDArray[np.intp] = None  # type: ignore[assignment]
    label_index: NDArray[np.intp] = None  # type: ignore[assignment]

    @classmethod
    def from_table(
        cls, table: Any, *, sources: Sequence[Any] | None = None, kinds: Mapping[Any, str] | str | None = None
    ) -> "Answers":
        """Answers from a table with a row per row and a column per source.

        Parameters
        ----------
        table : DataFrame, mapping of source to column, or array of shape (n_rows, n_sources)
            An empty cell is a missing answer.
        sources : sequence, optional
            The columns of a frame that are sources, or the names of the columns of an array. By default all columns,
            and their numbers.
        kinds : mapping of source to str, or str, optional

        Examples
        --------
        >>> import numpy as np
        >>> from kernelwise import Answers
        >>> Answers.from_table(np.array([[0, 1], [1, 1], [-1, 0]]))
        Answers(n_rows=3, n_answers=5, n_sources=2, classes=[0, 1])
        """
        if hasattr(table, "columns") or isinstance(table, Mapping):
            names = list(table.columns if hasattr(table, "columns") else table) if sources is None else list(sources)
            if unknown := [name for name in names if name not in table]:
                raise ValueError(f"sources names {unknown[0]!r}, which is no column of the table")
            columns = [_cells(table[name]) for name in names]
        else:
            cells = np.asarray(table)
            if cells.ndim != 2:
                raise ValueError(f"table must have a row per row and a column per source, got shape {cells.shape}")
            names = list(range(cells.shape[1])) if sources is None else list(sources)
            if len(names) != cells.shape[1]:
                raise ValueError(f"sources must name {cells.shape[1]} columns, got {len(names)} names")
            columns = list(cells.T)
        if not columns:
            raise ValueError("the table has no column, so there is no source")
        n_rows = len(columns[0])
        for name, column in zip(names, columns, strict=True):
            if len(column) != n_rows:
                counts = f"{names[0]!r} has {n_rows}, {name!r} {len(column)}"
                raise ValueError(f"table must have a cell per row in every column, but {counts}; fill up with None")
        source = np.empty(len(names), dtype=object)
        source[:] = names
        rows, labels = np.tile(np.arange(n_rows), len(names)), np.concatenate(columns)
        return cls(rows, np.repeat(_plain(source), n_rows), labels, n_rows=n_rows, kinds=kinds)

    @classmethod
    def from_column(
        cls, labels: ArrayLike, sources: ArrayLike, *, kinds: Mapping[Any, str] | str | None = None
    ) -> "Answers":
        """Answers from one column of labels and a column that says who gave each.

        Examples
        --------
        >>> from kernelwise import Answers
        >>> Answers.from_column(["cat", "dog", None], ["Ann", "Bob", "Ann"])
        Answers(n_rows=3, n_answers=2, n_sources=2, classes=['cat', 'dog'])
        """
        said = _cells(labels)
        return cls(np.arange(len(said)), sources, said, n_rows=len(said), kinds=kinds)

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Answers):
            return NotImplemented
        same = self.n_rows == other.n_rows and self.kinds == other.kinds
        return same and sorted(self._triples()) == sorted(other._triples())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        classes = str(self.classes.tolist()) if len(self.classes) <= 10 else str(len(self.classes))
        sizes = f"n_rows={self.n_rows}, n_answers={len(self)}, n_sources={len(self.source_names)}"
        return f"Answers({sizes}, classes={classes})"

    @cached_property
    def source_kinds(self) -> list[str | None]:
        """The kind of each source; None if it is unknown."""
        return [
            self.kinds.get(name, "language model" if MODEL_NAMES.search(str(name)) else None)
            for name in self.source_names.tolist()
        ]

    def _triples(self) -> list[tuple[int, Any, Any]]:
        return list(zip(self.rows.tolist(), self.sources.tolist(), self.labels.tolist(), strict=True))


def _cells(values: Any) -> NDArray[Any]:
    """The values as an array of their own type; of Python objects if they are mixed, or if text is missing."""
    if isinstance(values, list | tuple):
        cells = np.empty(len(values), dtype=object)
        cells[:] = values
        return cells
    return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)


def _plain(cells: NDArray[Any]) -> NDArray[Any]:
    """Present values as text, or as numbers; what is mixed becomes text, and whole numbers become integers."""
    if cells.dtype == object:
        text = any(isinstance(cell, str) for cell in cells.tolist())
        cells = np.array([str(cell) for cell in cells.tolist()]) if text else np.array(cells.tolist())
    whole = cells.dtype.kind == "f" and cells.size and np.all(cells == np.round(cells)) and np.abs(cells).max() < 2**53
    return cells.astype(np.int64) if whole else cells


def _warn_of_spellings(classes: NDArray[Any]) -> None:
    """Warn of classes that differ in capitals or blanks alone; single letters differ."""
    if classes.dtype.kind != "U":
        return
    usual: dict[str, str] = {}
    for one in classes.tolist():
        other = usual.setdefault(" ".join(one.casefold().split()), one)
        if other != one and len(one.strip()) > 1:
            warnings.warn(
                f"labels holds {other!r} and {one!r}, which differ in capitals or blanks alone, and each is taken for "
                "a class; write them alike, for instance by labels.str.strip().str.lower()",
                UserWarning,
                stacklevel=3,
            )
            return


def _codes_of_none(cells: NDArray[Any]) -> NDArray[np.bool_]:
    """Which labels are -1 beside the codes 0, 1, ... of classes."""
    if cells.dtype == object:
        present = [cell for cell in cells.tolist() if not is_missing(cell)]
        if all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in present) and 0 in present:
            return np.array([not is_missing(cell) and cell == -1 for cell in cells.tolist()], dtype=bool)
    elif cells.dtype.kind in "if" and np.any(cells == 0):
        return np.asarray(cells == -1)
    return np.zeros(len(cells), dtype=bool)
