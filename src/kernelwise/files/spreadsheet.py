"""Workbooks of spreadsheet programs (.xlsx), where openpyxl is installed."""

import io
import math
from collections.abc import Collection, Mapping
from contextlib import closing
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from ..checks import require
from ..tables.columns import Table
from .delimited import cut_rows, table_of
from .errors import FileError, check_columns, check_fit, open_archive, refusing

#: A cell takes so many bytes while it is read.
CELL = 200
AGAIN = "save it again as .xlsx"


def read_workbook(path: Path, *, as_written: Collection[str] = ()) -> Table:
    """Read the first sheet of a workbook that has cells; columns ``as_written`` stay text."""
    rows, numbers = _rows(path, _open(path, read_only=True))
    return table_of(path, cut_rows(path, rows, numbers, names=as_written), as_written)


def corrected_workbook(path: Path, column: str, corrections: Mapping[int, str]) -> bytes:
    """The content of a workbook with some cells of a column replaced; formulas and formats stay."""
    rows, numbers = _rows(path, _open(path, read_only=True))
    text = cut_rows(path, rows, numbers, names=[column])
    check_fit(path, column, text.names, corrections, len(text.rows))
    workbook = _open(path, read_only=False)
    sheet = _filled_sheet(path, workbook)
    position = text.names.index(column) + 1
    for row, value in corrections.items():
        cell = sheet.cell(row=int(text.lines[row]), column=position)
        cell.value = _typed(value, cell.value)
    stream = io.BytesIO()
    workbook.save(stream)
    return stream.getvalue()


def _open(path: Path, *, read_only: bool) -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise FileError(
            f"{path} needs openpyxl: pip install kernelwise[excel], or save the sheet as CSV UTF-8"
        ) from error
    with open_archive(path):  # refuses archives that are made to fill the memory
        pass
    # A damaged workbook can raise any error.
    with refusing(f"{path} is not a workbook or is damaged", (Exception,), remedy=AGAIN):
        return openpyxl.load_workbook(path, read_only=read_only, data_only=read_only)


def _filled_sheet(path: Path, workbook: Any) -> Any:
    for sheet in workbook.worksheets:
        if any(cell is not None for row in sheet.iter_rows(values_only=True) for cell in row):
            return sheet
    raise FileError(f"{path} has no cells; give a workbook with a header and at least one row")


def _rows(path: Path, workbook: Any) -> tuple[list[list[str]], list[int]]:
    """The cells of the first sheet that has some as text, without empty rows, and the numbers of the rows."""
    with closing(workbook), refusing(f"{path} is damaged", (Exception,), remedy=AGAIN):
        sheet = _filled_sheet(path, workbook)
        size = (sheet.max_row or 0) * (sheet.max_column or 0)
        check_columns(path, sheet.max_column or 0)
        require(CELL * size, f"reading {path}", "take a sample of its rows, or save it as CSV")
        rows = enumerate(sheet.iter_rows(values_only=True), start=1)
        found = [(number, [_written(cell) for cell in row]) for number, row in rows]
    filled = [(number, cells) for number, cells in found if any(cells)]
    width = max(max(place for place, cell in enumerate(cells, start=1) if cell) for _, cells in filled)
    return [(cells + [""] * width)[:width] for _, cells in filled], [number for number, _ in filled]


def _written(cell: Any) -> str:
    """A cell as a CSV file would hold it."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return f"{cell:.0f}" if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(sep=" ")
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return f"{cell.total_seconds() / 3600:g}"
    return str(cell)


def _typed(value: str, old: Any) -> Any:
    """A corrected label as a number where the label was a number."""
    if isinstance(old, bool):
        return {"true": True, "false": False}.get(value, value)
    if isinstance(old, int | float):
        try:
            number = float(value)
        except ValueError:
            return value
        return int(number) if math.isfinite(number) and number.is_integer() else number
    return value
