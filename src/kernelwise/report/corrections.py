"""The corrections that a review page exports: reading, writing and applying them.

The format is described in ``docs/corrections-format.md``; the page's own writer is ``assets/csv.js``.
"""

import csv
import io
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..files import FileError, write_file
from ..labels.spellings import meant_label, same_label
from ..statements import Verdicts
from ..statements.verdicts import left_out_draws

DECISIONS = ("correct", "wrong", "unclear", "skip")
#: A cell that a spreadsheet would take for a formula, perhaps behind apostrophes that :func:`neutralise` has added.
FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
REQUIRED = ("row", "given", "corrected", "decision")
#: The first row of the data stands in line 2 of a spreadsheet.
FIRST_LINE = 2


class CorrectionsError(FileError):
    """A file of corrections that cannot be read, or that belongs to other data.

    Examples
    --------
    >>> from kernelwise.report import CorrectionsError
    >>> issubclass(CorrectionsError, ValueError)
    True
    """


@dataclass(frozen=True)
class Correction:
    """The decision of a reviewer about one label or pair.

    Parameters
    ----------
    row : int
        The position of the label in the data, or of the pair in the list of pairs, from zero.
    given, corrected : str
        The label as it was, and as it should be; for a pair "1" (same) or "-1" (different),
        or the words of the file of pairs. The corrected label of a
        skipped row, or of a row whose label is correct, counts for nothing.
    decision : {"correct", "wrong", "unclear", "skip"}
        "unclear" says that the reviewer looked and could not tell, "skip" that there is no decision yet.
    id, other_id : str
        The name of the row, or the names of the two ends of a pair.
    column : str
        The column of the label.
    reviewed_at : str
        Date and time in ISO 8601, in UTC.
    chance, draw, drawn_from : str
        How a plan drew the row: see :class:`kernelwise.Verdicts`. Empty if it did not.
    reviewer, comment : str
        Who decided, and what he or she wrote about it.
    how : str
        How the decision came about if nobody looked at the row itself, such as "in bulk at 95 %". Empty otherwise.

    Examples
    --------
    >>> from kernelwise.report import Correction
    >>> Correction(row=7, given="ham", corrected="spam", decision="wrong").changes
    True
    """

    row: int
    given: str
    corrected: str
    decision: str
    id: str = ""
    other_id: str = ""
    column: str = ""
    reviewed_at: str = ""
    chance: str = ""
    draw: str = ""
    drawn_from: str = ""
    reviewer: str = ""
    comment: str = ""
    how: str = ""

    @property
    def changes(self) -> bool:
        """Whether the label becomes another one."""
        return self.decision == "wrong" and self.corrected != self.given


def neutralise(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe goes before =, +, -, @, tab and line ends."""
    return "'" + cell if FORMULA.match(cell) else cell


def restore(cell: str) -> str:
    """The inverse of :func:`neutralise`."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def read_corrections(path: str | os.PathLike[str]) -> list[Correction]:
    """Read the corrections that a review page has exported.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with the columns row, given, corrected and decision, separated by commas, semicolons or tabs
        as a spreadsheet saved it. The names of columns and the decisions may have capital letters. Instead of ``row`` a
        column ``line`` may count as a spreadsheet does, where the first row of the data is line 2. The columns id,
        other_id, column, reviewed_at, reviewer, how, comment, chance, draw and drawn_from are optional; other columns
        are ignored.

    Returns
    -------
    list of Correction
        The corrections in the order of the file. A :exc:`CorrectionsError` names the line of the first fault.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from kernelwise.report import read_corrections
    >>> path = pathlib.Path(tempfile.mkdtemp(), "corrections.csv")
    >>> _ = path.write_text("row,given,corrected,decision\\n7,'-1,1,wrong\\n")
    >>> read_corrections(path)[0].given
    '-1'
    """
    try:
        content = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorrectionsError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})") from None
    header = content.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)  # the one that occurs most
    reader = csv.DictReader(io.StringIO(content, newline=""), strict=True, delimiter=delimiter)
    try:
        reader.fieldnames = names = [name.strip().lower() for name in reader.fieldnames or []]
        missing = [name for name in REQUIRED if name not in names and not (name == "row" and "line" in names)]
        if missing:
            raise CorrectionsError(f"{path} has no column {missing[0]!r}; it needs {', '.join(REQUIRED)}")
        return [_correction(cells, f"{path}, line {reader.line_num}") for cells in reader]
    except csv.Error as error:
        raise CorrectionsError(f"{path}, line {reader.line_num}: {error}") from None


def write_corrections(corrections: Iterable[Correction], path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write corrections in the format of the review page, which :func:`read_corrections` reads.

    Parameters
    ----------
    corrections : iterable of Correction
    path : path
    force : bool, default=False
        Whether to overwrite a file that exists.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from kernelwise.report import Correction, read_corrections, write_corrections
    >>> path = pathlib.Path(tempfile.mkdtemp(), "corrections.csv")
    >>> corrections = [Correction(7, given="=1", corrected="2", decision="wrong", id="a, b")]
    >>> read_corrections(write_corrections(corrections, path)) == corrections
    True
    """
    names = ["row", "id", "other_id", "column", "given", "corrected", "decision", "reviewed_at", "reviewer", "how"]
    names += ["comment", "chance", "draw", "drawn_from"]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(names)
    for correction in corrections:
        writer.writerow([neutralise(str(getattr(correction, name))) for name in names])
    return write_file(Path(path), stream.getvalue().encode("utf-8-sig"), force=force)


def apply_corrections(labels: ArrayLike, corrections: Iterable[Correction]) -> NDArray[Any]:
    """A copy of the labels with the corrections applied.

    The given label of every correction must be the label of its row: otherwise the corrections belong to other data,
    and an error is raised. If a row has several corrections, the last one counts.

    Parameters
    ----------
    labels : array-like of shape (n,)
    corrections : iterable of Correction

    Returns
    -------
    ndarray of shape (n,)
        An array of the type of ``labels``, wide enough for new text.

    Examples
    --------
    >>> from kernelwise.report import Correction, apply_corrections
    >>> apply_corrections([1, -1, 1], [Correction(2, given="1", corrected="-1", decision="wrong")])
    array([ 1, -1, -1])
    """
    labels = np.asarray(labels)
    known = {str(label): label for label in labels.tolist()}
    corrected: list[Any] = labels.tolist()
    for correction in corrections:
        _check_row(correction, corrected)
        if not same_label(str(labels[correction.row]), correction.given):
            raise CorrectionsError(
                f"row {correction.row} has the label {str(labels[correction.row])!r}, but the correction was made for "
                f"{correction.given!r}; these corrections are of other data, or were applied already"
            )
        if correction.decision in ("correct", "wrong"):
            corrected[correction.row] = _as_label(correction.corrected, known, labels.dtype)
    return np.array(corrected, dtype=None if labels.dtype.kind in "US" else labels.dtype)


def verdicts_of(
    corrections: Iterable[Correction],
    labels: ArrayLike,
    ids: Sequence[str] | None = None,
    other_ids: Sequence[str] | None = None,
    *,
    in_bulk: bool = False,
) -> Verdicts:
    """The verdicts that decisions stand for; rows that were skipped have none.

    A decision that was accepted in bulk is no verdict, because nobody looked at the row: a warning says how many
    there are.

    The given label of every correction must be the label of its row, and its id the id of the row: otherwise the
    corrections belong to other data, or to another version of the data.

    Parameters
    ----------
    corrections : iterable of Correction
    labels : array-like of shape (n,)
        The labels as given; for pairs 1 and -1.
    ids, other_ids : sequences of str, optional
        The names of the rows, or of both ends of each pair.
    in_bulk : bool, default=False
        Whether decisions that were accepted in bulk count as verdicts all the same. Then what the verdicts guarantee is
        only as good as the suggestions that were accepted.

    Examples
    --------
    >>> from kernelwise.report import Correction, verdicts_of
    >>> verdicts_of([Correction(2, given="b", corrected="A", decision="wrong")], ["a", "a", "b"]).found()
    {2: 'a'}
    """
    labels = np.asarray(labels)
    values = labels.tolist()
    corrections = list(corrections)
    for one in corrections:
        _check_row(one, values)
        _check_identity(one, str(values[one.row]), {"id": ids, "other_id": other_ids})
    decided = [one for one in corrections if one.decision != "skip"]
    made = [one for one in decided if in_bulk or not one.how]
    known = {str(label): label for label in values}
    draws: dict[str, Any] = {
        "chance": [_number(one, "chance", float) or np.nan for one in made],
        "draw": [one.draw for one in made],
        "drawn_from": [_number(one, "drawn_from", int) or 0 for one in made],
    }
    found = [_found_label(one, known, labels) for one in made]
    try:
        verdicts = Verdicts(np.array([one.row for one in made], dtype=np.int64), found, **draws)
    except ValueError as error:
        raise CorrectionsError(str(error)) from None
    if n_unseen := len(decided) - len(made):
        rows, they = ("1 decision was", "it does") if n_unseen == 1 else (f"{n_unseen} decisions were", "they do")
        said = f"{rows} accepted in bulk; nobody looked at the rows, so {they} not count as checks"
        warnings.warn(said, stacklevel=2)
    if n_left_out := left_out_draws(verdicts):
        rows = "1 planned row was" if n_left_out == 1 else f"{n_left_out} planned rows were"
        said = (
            f"{rows} left out, though rows that come later in the plan were checked. The guarantee holds only if no "
            "one picked rows; check what was left out, too"
        )
        warnings.warn(said, stacklevel=2)
    return verdicts


def _check_row(one: Correction, labels: Sequence[Any]) -> None:
    if not 0 <= one.row < len(labels):
        raise CorrectionsError(f"row {one.row} is not one of the {len(labels)} rows; these decisions are of other data")


def _check_identity(one: Correction, given: str, names: Mapping[str, Sequence[str] | None]) -> None:
    """Refuse a decision about a row that has another label, or other names, than the decision was made for."""
    named = {name: said[one.row] for name, said in names.items() if said is not None}
    if same_label(given, one.given) and all(getattr(one, name) in ("", value) for name, value in named.items()):
        return
    ours = "".join(f" and the {name} {value!r}" for name, value in named.items())
    theirs = "".join(f" and the {name} {getattr(one, name)!r}" for name in named if getattr(one, name))
    raise CorrectionsError(
        f"row {one.row} has the label {given!r}{ours}, but the verdict was made for the label {one.given!r}{theirs};"
        " these verdicts are of other data, or of another version of the data"
    )


def _found_label(one: Correction, known: dict[str, Any], labels: NDArray[Any]) -> Any:
    """The label that a reviewer found, in the spelling of the data; None if it is unclear."""
    if one.decision == "unclear":
        return None
    name = one.given if one.decision == "correct" else one.corrected
    if name not in known:
        name = {label.casefold(): label for label in known}.get(name.casefold(), name)
    if name not in known and one.decision == "wrong" and (meant := meant_label(name, labels)):
        raise CorrectionsError(
            f"row {one.row} is corrected to {name!r}, a label that no row of the data has; write {meant!r}, if it is a "
            "typing error"
        )
    return _as_label(name, known, labels.dtype)


def _number(one: Correction, name: str, kind: type) -> Any:
    """The number in a cell, also with a decimal comma; None for an empty cell."""
    cell = getattr(one, name).strip().replace(",", ".")
    if not cell:
        return None
    try:
        value = kind(cell)
    except ValueError:
        raise CorrectionsError(f"row {one.row}: {name} must be a number, got {cell!r}") from None
    if value <= 0:
        raise CorrectionsError(f"row {one.row}: {name} must be above zero, got {cell}; leave it empty if unknown")
    return value


def _as_label(value: str, known: dict[str, Any], dtype: np.dtype[Any]) -> Any:
    if value in known:
        return known[value]
    if dtype.kind in "UOT":
        return value
    with suppress(ValueError, OverflowError):
        if dtype.kind in "iuf":
            return dtype.type(value).item()
    raise CorrectionsError(f"the corrected label {value!r} does not fit labels of type {dtype}")


def _correction(cells: dict[str | None, Any], place: str) -> Correction:
    if None in [*cells, *cells.values()]:
        raise CorrectionsError(f"{place}: not as many cells as columns")
    values: dict[str, Any] = {
        field.name: restore(cells[field.name]) for field in fields(Correction) if field.name in cells
    }
    values["decision"] = values["decision"].strip().lower()
    counted, first = ("row", 0) if "row" in values else ("line", FIRST_LINE)
    number = cells[counted].strip()
    if not re.fullmatch(r"[0-9]{1,18}", number) or int(number) < first:
        raise CorrectionsError(
            f"{place}: {counted} must be a whole number from {first or 'zero'}, got {cells[counted]!r}"
        )
    values["row"] = int(number) - first
    if values["decision"] not in DECISIONS:
        raise CorrectionsError(f"{place}: decision must be one of {', '.join(DECISIONS)}; got {values['decision']!r}")
    if values["decision"] == "correct" and "quality" in cells:  # a list of suspects, with suggestions as corrections
        values["corrected"] = values["given"]
    made = Correction(**values)
    if made.decision == "wrong" and made.corrected.strip() in ("", made.given.strip()):
        held = "holds the same label" if made.corrected.strip() else "is empty"
        raise CorrectionsError(
            f"{place}: the label {made.given!r} is said to be wrong, but the column 'corrected' {held}; write the "
            "right label there, or the decision 'unclear' if nobody knows it"
        )
    if made.decision == "correct" and made.corrected not in (made.given, ""):
        raise CorrectionsError(
            f"{place}: the label is said to be correct, yet {made.given!r} becomes {made.corrected!r}; empty the cell "
            "in the column 'corrected', or write the decision 'wrong'"
        )
    return made
