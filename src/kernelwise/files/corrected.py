"""A copy of a data file in which some cells are corrected and all others stay as they are."""

import gzip
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from .arrays import corrected_arrays
from .delimited import csv_line, cut, decode, encoding, read_bytes, records
from .errors import FileError, check_fit
from .reading import ARROW, PARQUET, TEXTS, WORKBOOKS, ending, existing, parquet_module
from .spreadsheet import corrected_workbook


def corrected_file(path: str | Path, column: str, corrections: Mapping[int, str]) -> bytes:
    r"""The content of a data file with some cells of a column replaced.

    In a text file, the bytes of all other rows stay the same.

    Parameters
    ----------
    path : path
        CSV, TSV, Excel, Parquet, Feather or .npz.
    column : str
    corrections : mapping of int to str
        New values by row, counted from zero.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelwise.files import corrected_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_bytes(b'"id", label\r\n"1",ham\r\n"2",ham\r\n')
    ...     corrected_file(path, "label", {1: "spam"})
    b'"id", label\r\n"1",ham\r\n2,spam\r\n'
    """
    path = existing(path)
    if ending(path) in TEXTS:
        content = decode(path, read_bytes(path))
        table = cut(path, content, names=[column])
        check_fit(path, column, table.names, corrections, len(table.rows))
        position = table.names.index(column)
        replaced: dict[int, list[str] | None] = {}
        for row, value in corrections.items():
            cells = table.rows[row]
            replaced[int(table.lines[row])] = [*cells[:position], value, *cells[position + 1 :]]
        return rewritten(path, records(path, content, table.delimiter), replaced, table.delimiter)
    if ending(path) in PARQUET + ARROW:
        return parquet_module(path).corrected_parquet(path, column, corrections)
    if ending(path) in WORKBOOKS:
        return corrected_workbook(path, column, corrections)
    if ending(path) == ".npz":
        return corrected_arrays(path, column, corrections)
    raise FileError(
        f"{path} cannot be corrected: only CSV, TSV, Excel, Parquet, Feather and .npz files have columns to write to"
    )


def rewritten(
    path: Path, rows: Iterable[tuple[int, int, list[str]]], replaced: Mapping[int, list[str] | None], delimiter: str
) -> bytes:
    """The file in which the rows that start at some lines are replaced, or left out where the new row is None."""
    content = read_bytes(path)
    lines = list(io.StringIO(decode(path, content), newline=""))
    kept: list[str] = []
    end = 0
    for first, last, _ in rows:
        if first in replaced:
            kept += lines[end : first - 1]
            ending = lines[last - 1][len(lines[last - 1].rstrip("\r\n")) :]
            cells = replaced[first]
            kept += [] if cells is None else [csv_line(cells, delimiter) + ending]
            end = last
    written = "".join(kept + lines[end:]).encode(encoding(content))
    return gzip.compress(written, mtime=0) if path.suffix.lower() == ".gz" else written
