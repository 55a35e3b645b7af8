"""Messy files: what people do to a table, one thing at a time."""

import csv
import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from .tables import LABEL, Cells

Change = Callable[[Cells], Cells]


@dataclass(frozen=True)
class Case:
    """A messy file.

    Parameters
    ----------
    name : str
        What is messy, in words.
    table : str
        The clean table.
    change : callable
        What is done to the cells.
    write : callable
        How the cells are written: takes the folder and the cells, returns the path.
    options : tuple of str
        Options of the command line.
    refused : bool
        Whether the file cannot be understood.
    twin : callable, optional
        What is done to the cells of the clean twin.
    left_out : tuple of int
        Rows that the twin does not have, such as one with a typing error in the label.
    """

    name: str
    table: str
    change: Change = lambda cells: cells
    write: Callable[[Path, Cells], Path] = lambda folder, cells: text(folder, cells)
    options: tuple[str, ...] = ()
    refused: bool = False
    twin: Change = lambda cells: cells
    left_out: tuple[int, ...] = ()


def text(
    folder: Path,
    cells: Cells,
    *,
    delimiter: str = ",",
    name: str = "data.csv",
    encoding: str = "utf-8",
    above: str = "",
    end: str = "\n",
    header: bool = True,
) -> Path:
    stream = io.StringIO(newline="")
    rows = [cells.names, *cells.rows] if header else cells.rows
    csv.writer(stream, delimiter=delimiter, lineterminator=end).writerows(rows)
    content = (above + stream.getvalue()).encode(encoding)
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def written(**options: str | bool) -> Callable[[Path, Cells], Path]:
    return lambda folder, cells: text(folder, cells, **options)  # type: ignore[arg-type]


def typed(cell: str) -> object:
    try:
        return float(cell)
    except ValueError:
        return cell or None


def workbook(title: bool = False) -> Callable[[Path, Cells], Path]:
    def write(folder: Path, cells: Cells) -> Path:
        from openpyxl import Workbook

        book = Workbook()
        sheet = book.active
        if title:
            sheet.append(["Measurements of the laboratory, spring"])
            sheet.append([])
        for row in (cells.names, *([typed(cell) for cell in row] for row in cells.rows)):
            sheet.append(list(row))
        book.save(folder / "data.xlsx")
        return folder / "data.xlsx"

    return write


def dated_workbook(folder: Path, cells: Cells) -> Path:
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(list(cells.names))
    for row in cells.rows:
        book.active.append([datetime.fromisoformat(row[0]), *(typed(cell) for cell in row[1:])])
    book.save(folder / "data.xlsx")
    return folder / "data.xlsx"


def columnar(ending: str) -> Callable[[Path, Cells], Path]:
    def write(folder: Path, cells: Cells) -> Path:
        import pyarrow as pa
        import pyarrow.feather as feather
        import pyarrow.parquet as pq

        table = pa.table({name: [typed(cell) for cell in cells.column(name)] for name in cells.names})
        (feather.write_feather if ending == ".feather" else pq.write_table)(table, folder / f"data{ending}")
        return folder / f"data{ending}"

    return write


# ------------------------------------------------------------------------------------------------ changes of cells


def comma(cell: str) -> str:
    return cell.replace(".", ",")


def grouped(mark: str, decimal: str = ".", digits: int = 2, unit: str = "{}") -> Callable[[str], str]:
    def change(cell: str) -> str:
        shown = f"{float(cell):,.{digits}f}".replace(".", "d").replace(",", mark).replace("d", decimal)
        return unit.format(shown)

    return change


def in_column(change: Callable[[str], str], *names: str) -> Change:
    return lambda cells: cells.changed(change, *names)


def numbers(change: Callable[[str], str]) -> Change:
    return lambda cells: cells.changed(change, *cells.names[:-1])


def shifted(change: Callable[[float], str], name: str) -> Change:
    """Deviations from the mean, so that some numbers are negative."""

    def apply(cells: Cells) -> Cells:
        values = np.array(cells.column(name), dtype=float)
        return cells.with_column(name, [change(round(float(value - values.mean()), 3)) for value in values])

    return apply


def every(step: int, start: int, change: Callable[[str], str], name: str) -> Change:
    """A change of every so many cells of a column."""

    def apply(cells: Cells) -> Cells:
        column = [change(cell) if k % step == start else cell for k, cell in enumerate(cells.column(name))]
        return cells.with_column(name, column)

    return apply


def only(rows: tuple[int, ...], word: str, name: str = LABEL) -> Change:
    return lambda cells: cells.with_column(
        name, [word if k in rows else cell for k, cell in enumerate(cells.column(name))]
    )


def date(form: str) -> Change:
    return in_column(lambda cell: f"{datetime.fromisoformat(cell):{form}}", "pickup")


def twelve_hours(cell: str) -> str:
    return f"{datetime.strptime(cell, '%H:%M'):%I:%M %p}"


def leak(cells: Cells) -> Cells:
    return cells.with_column("outcome", [{"absent": "1", "present": "2"}[cell] for cell in cells.column(LABEL)])


def with_notes(cells: Cells) -> Cells:
    return cells.with_column("note", [f"seen\ntwice, {k}" if k % 7 else "" for k in range(len(cells.rows))])


def plain_notes(cells: Cells) -> Cells:
    return cells.with_column("note", [f"seen twice, {k}" if k % 7 else "" for k in range(len(cells.rows))])


def numeric_target(cells: Cells) -> Cells:
    return cells.with_column(LABEL, [f"{float(cell):g}" for cell in cells.column("proline")]).without("proline")


def quartiles(cells: Cells) -> Cells:
    values = np.array(cells.column("proline"), dtype=float)
    ends = np.quantile(values, [0.25, 0.5, 0.75], method="inverted_cdf")
    group = np.searchsorted(ends, values)
    return cells.with_column(LABEL, [f"q{k + 1}" for k in group]).without("proline")


def hundredfold(cells: Cells) -> Cells:
    """Whole numbers in place of decimals."""
    return cells.changed(lambda cell: f"{100 * float(cell):.0f}", *cells.names[:-2])


def shout(cell: str) -> str:
    return f" {cell.upper()}  "


COMMAS = numbers(comma)
CASES = (
    # numbers
    Case("semicolons and decimal commas", "wine", COMMAS, written(delimiter=";")),
    Case("tabs and decimal commas", "cancer", COMMAS, written(delimiter="\t", name="data.tsv")),
    Case("commas between cells, quoted decimal commas", "wine", COMMAS),
    Case("commas between thousands", "wine", in_column(grouped(",", digits=0), "proline")),
    Case("points between thousands, decimal commas", "cancer", lambda cells: COMMAS(cells.changed(
        grouped("", digits=1), "area", "worst area")).changed(lambda cell: grouped(".", ",", 1)(cell.replace(",", ".")),
        "area", "worst area"), written(delimiter=";")),
    Case("points between thousands, whole numbers everywhere", "wine",
         lambda cells: hundredfold(cells).changed(grouped(".", digits=0), "proline"),
         twin=lambda cells: hundredfold(cells)),
    Case("blanks (no-break) between thousands, decimal commas", "cancer",
         lambda cells: COMMAS(cells).changed(lambda cell: grouped("\u00a0", ",", 1)(cell.replace(",", ".")), "area"),
         written(delimiter=";"), twin=in_column(lambda cell: f"{float(cell):.1f}", "area")),
    Case("apostrophes between thousands", "cancer", in_column(grouped("'", digits=1), "area", "worst area"),
         twin=in_column(lambda cell: f"{float(cell):.1f}", "area", "worst area")),
    Case("percent signs", "wine", in_column(lambda cell: f"{cell} %", "alcohol")),
    Case("dollars in front, commas between thousands", "trips",
         in_column(lambda cell: f"${100 * float(cell):,.2f}", "fare"),
         twin=in_column(lambda cell: f"{100 * float(cell):.2f}", "fare")),
    Case("euros behind, decimal commas", "trips", in_column(lambda cell: comma(cell) + " €", "fare"),
         written(delimiter=";")),
    Case("negative amounts in brackets", "cancer", shifted(lambda v: f"({-v:,.3f})" if v < 0 else f"{v:,.3f}", "area"),
         twin=shifted(lambda v: f"{v:.3f}", "area")),
    Case("a typographic minus", "cancer", shifted(lambda v: f"{v:.3f}".replace("-", "\u2212"), "texture"),
         twin=shifted(lambda v: f"{v:.3f}", "texture")),
    Case("powers of ten (1.3e+01)", "wine", numbers(lambda cell: f"{float(cell):.6e}")),
    Case("powers of ten with decimal commas (1,3e+01)", "wine", numbers(lambda cell: comma(f"{float(cell):.6e}")),
         written(delimiter=";")),
    Case("units behind the numbers (14.2 mm)", "cancer", in_column(lambda cell: f"{cell} mm", "radius")),
    Case("two units in a column (mm and cm)", "cancer",
         lambda cells: every(3, 1, lambda cell: f"{float(cell[:-3]) / 10:g} cm", "radius")(
             cells.changed(lambda cell: f"{cell} mm", "radius")), refused=True),
    Case("decimal commas and decimal points in one column", "cancer", every(3, 1, comma, "texture"), refused=True),
    Case("one number with a typing error (14.2o)", "cancer", only((17,), "14.2o", "texture"), refused=True),
    # missing cells
    Case("-999 for missing numbers", "cancer", every(9, 2, lambda _: "-999", "texture"),
         twin=every(9, 2, lambda _: "", "texture")),
    Case("dashes for missing numbers", "cancer", every(9, 2, lambda _: "\u2013", "texture"),
         twin=every(9, 2, lambda _: "", "texture")),
    Case("n/a, NULL, ? and #N/A in one column", "heart",
         lambda cells: every(8, 0, lambda _: "n/a", "ward")(every(8, 3, lambda _: "NULL", "ward")(
             every(8, 5, lambda _: "?", "ward")(every(8, 6, lambda _: "#N/A", "ward")(cells)))),
         twin=lambda cells: every(8, 0, lambda _: "", "ward")(every(8, 3, lambda _: "", "ward")(
             every(8, 5, lambda _: "", "ward")(every(8, 6, lambda _: "", "ward")(cells))))),
    Case("errors of a spreadsheet (#DIV/0!)", "cancer", every(11, 4, lambda _: "#DIV/0!", "smoothness"),
         twin=every(11, 4, lambda _: "", "smoothness")),
    # dates and times
    Case("dates as 31.05.2024", "trips", date("%d.%m.%Y")),
    Case("dates as 31/05/2024", "trips", date("%d/%m/%Y")),
    Case("dates as 05/31/2024", "trips", date("%m/%d/%Y")),
    Case("dates as 31/05/24", "trips", date("%d/%m/%y")),
    Case("dates as 31 May 2024", "trips", date("%d %b %Y")),
    Case("dates as May 31, 2024", "trips", date("%B %d, %Y")),
    Case("dates as 20240531", "trips", date("%Y%m%d")),
    Case("dates as 2024-05-31T00:00:00Z", "trips", date("%Y-%m-%dT00:00:00Z")),
    Case("dates as 5/31/2024 12:00 AM, kind given", "trips", date("%m/%d/%Y 12:00 AM"),
         options=("--kind", "pickup=date")),
    Case("dates with the day first and dates with the month first", "trips",
         lambda cells: every(4, 1, lambda cell: f"{datetime.strptime(cell, '%d/%m/%Y'):%m/%d/%Y}", "pickup")(
             date("%d/%m/%Y")(cells)), refused=True),
    Case("one date that does not exist (31.02.2024)", "trips",
         lambda cells: only((9,), "31.02.2024", "pickup")(date("%d.%m.%Y")(cells)), refused=True),
    Case("times as 05:30 PM", "trips", in_column(twelve_hours, "time")),
    # words
    Case("Yes and No", "heart", in_column(lambda cell: "Yes" if cell == "true" else "No", "smokes")),
    Case("ja and nein, with capitals here and there", "heart",
         lambda cells: every(3, 0, str.upper, "smokes")(
             cells.changed(lambda cell: "ja" if cell == "true" else "nein", "smokes"))),
    Case("Y and N", "trips", in_column(lambda cell: "Y" if cell == "true" else "N", "card")),
    Case("codes with leading zeros (00611)", "trips", in_column(lambda cell: cell[1:], "area")),
    Case("categories in several spellings (DAY CLINIC)", "heart", every(5, 2, shout, "ward")),
    # labels
    Case("labels in several spellings (BAROLO)", "wine", every(6, 1, shout, LABEL)),
    Case("one label with a typing error (Barollo)", "wine", only((0,), "Barollo"), left_out=(0,)),
    Case("four rows without a label", "wine", only((3, 40, 60, 100), ""), left_out=(3, 40, 60, 100)),
    Case("numbers in the column of labels", "wine", numeric_target, twin=quartiles),
    Case("a column that repeats the label, left out by --ignore", "heart", leak, options=("--ignore", "outcome")),
    # files
    Case("a workbook (.xlsx)", "wine", write=workbook()),
    Case("a workbook with a title above the header", "wine", write=workbook(title=True)),
    Case("a workbook with cells that are dates", "trips", write=dated_workbook),
    Case("packed by gzip (.csv.gz)", "wine", write=written(name="data.csv.gz")),
    Case("Parquet", "wine", write=columnar(".parquet")),
    Case("Feather", "wine", write=columnar(".feather")),
    Case("standard input", "wine", options=("-",)),
    Case("UTF-16 with tabs, as 'Unicode text' of a spreadsheet", "wine",
         write=written(delimiter="\t", name="data.txt", encoding="utf-16")),
    Case("a byte order mark and line ends of Windows", "wine", write=written(encoding="utf-8-sig", end="\r\n")),
    Case("a first line sep=;", "wine", COMMAS, written(delimiter=";", above="sep=;\n")),
    Case("two title lines above the header", "wine", write=written(above="Wines of 1990\nall from one region\n")),
    Case("bars between cells", "wine", write=written(delimiter="|")),
    Case("a delimiter at the end of every line", "wine", lambda cells: Cells(
        (*cells.names, ""), tuple((*row, "") for row in cells.rows))),
    Case("row numbers in a first column without a name", "wine", lambda cells: Cells(
        ("", *cells.names), tuple((str(k), *row) for k, row in enumerate(cells.rows)))),
    Case("line ends inside of cells", "wine", with_notes, twin=plain_notes),
    Case("umlauts in Latin-1", "wine", in_column(lambda cell: cell.replace("Barolo", "Bärolo"), LABEL),
         written(encoding="latin-1"), refused=True),
    Case("a row with a cell too many", "wine", write=lambda folder, cells: text(
        folder, Cells(cells.names, (*cells.rows[:9], (*cells.rows[9], "extra"), *cells.rows[10:]))), refused=True),
    Case("two columns of one name", "wine", lambda cells: Cells(
        ("acid", *cells.names[1:]), cells.rows), refused=True),
    Case("no header", "wine", write=written(header=False), refused=True),
    Case("an empty file", "wine", write=lambda folder, cells: text(folder, Cells((), ()), header=False), refused=True),
)  # fmt: skip
