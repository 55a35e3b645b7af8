"""Tables and similarity matrices from files, and corrected copies of files; the ending of a name says the format."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import available, require
from ..tables.columns import Table
from ..tables.errors import choices
from ..tables.kinds import Kind, as_words
from .arrays import corrected_arrays, read_matrix_market, read_npy, read_npz, read_svmlight
from .delimited import MEMORY_PER_BYTE, STANDARD_INPUT, corrected_text, read_bytes, read_delimited
from .errors import MAX_TEXT_BYTES, FileError, reading_a_table, what_is
from .spreadsheet import corrected_workbook, read_workbook

SVMLIGHT, TEXTS = (".svm", ".svmlight", ".libsvm"), (".csv", ".tsv", ".tab", ".txt")
MATRICES: dict[str, Callable[[Path], Table]] = {".npy": read_npy, ".npz": read_npz, ".mtx": read_matrix_market}
MATRICES |= dict.fromkeys(SVMLIGHT, read_svmlight)
PARQUET, ARROW, WORKBOOKS = (".parquet", ".pq"), (".feather", ".arrow", ".ipc"), (".xlsx", ".xlsm")
#: The endings that gzip may have packed.
PACKED = (*TEXTS, ".mtx", *SVMLIGHT)
#: Reading a similarity and comparing it with its transpose takes the memory of so many matrices of its size.
SIMILARITIES = 3
#: A table is read in chunks if reading it whole would take more than this share of the memory that is available.
SHARE = 0.5


@reading_a_table()
def read_table(
    path: str | Path,
    *,
    as_written: Collection[str] = (),
    kinds: Mapping[str, Kind] | None = None,
    label: str | Collection[str] = (),
) -> Table:
    """Read a table: CSV, TSV, Excel, Parquet, Feather, .npy, .npz, Matrix Market or svmlight, by its ending.

    Parameters
    ----------
    path : path
        Text may be packed by gzip (.csv.gz). "-" is the standard input, as text.
    as_written : collection of str
        Columns that must exist and are kept as text, such as labels and ids.
    kinds : mapping of str to {"numeric", "categorical", "name", "text", "date", "id"}, optional
        Columns whose kind is not the one that the cells suggest.
    label : str or collection of str
        Columns that are kept as text in which words such as NA and None are not taken for missing cells.

    Returns
    -------
    Table

    Raises
    ------
    FileError
        If the file cannot be used; the message says where the fault is and what it is.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelwise.files import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("age,job,label\\n31,cook,01\\n,baker,02\\n")
    ...     table = read_table(path, as_written=["label"])
    >>> {name: column.kind for name, column in table.columns.items()}
    {'age': 'numeric', 'job': 'categorical', 'label': 'categorical'}
    >>> table.required("label"), table.missing()
    (['01', '02'], {'age': [3]})
    """
    path = existing(path)
    suffix = ending(path)
    labels = [label] if isinstance(label, str) else list(label)
    as_written = [*as_written, *labels]
    if suffix in MATRICES:
        table = MATRICES[suffix](path)
    elif suffix in PARQUET + ARROW:
        table = parquet_module(path).read_parquet(path, as_written=as_written)
    elif suffix in WORKBOOKS:
        table = read_workbook(path, as_written=as_written)
    elif suffix in TEXTS:
        table = read_delimited(path, as_written=as_written)
    else:
        raise FileError(
            f"{path} has an ending that is not known; it is {what_is(path)}. Use .csv, .tsv, .xlsx, .parquet, .feather,"
            " .npz, .npy, .mtx or .svmlight"
        )
    for name in as_written:
        table[name]  # a missing column is found before anything else is done
    cleaned = {
        name: replace(column, values=as_words(column.labels()))
        for name, column in table.columns.items()
        if name in as_written and name not in labels and column.values.dtype == object
    }
    return replace(table, columns=table.columns | cleaned).retyped(kinds or {})


@reading_a_table()
def read_similarity(path: str | Path) -> tuple[NDArray[np.float64], list[str] | None]:
    """Read a symmetric matrix of similarities, and the names of its rows where the file has them.

    Parameters
    ----------
    path : path
        A matrix in any format of :func:`read_table`. A CSV may have a header of names, and a first column of names.

    Returns
    -------
    similarity : ndarray of shape (n, n)
    names : list of str or None
    """
    path = existing(path)
    matrix, names = _matrix_of(read_table(path))
    _check_square(path, matrix.shape)
    uneven = np.abs(matrix - matrix.T) > 1e-8 * max(1.0, float(np.abs(matrix).max()))
    if uneven.any():
        row, column = (int(index) + 1 for index in np.argwhere(uneven)[0])
        raise FileError(
            f"{path} is not symmetric: entries ({row}, {column}) and ({column}, {row}) differ; use (S + S') / 2"
        )
    return matrix, names


def _check_square(path: Path | str, shape: tuple[int, int]) -> None:
    if shape[0] != shape[1]:
        raise FileError(
            f"{path} is {shape[0]} x {shape[1]}; a similarity matrix must be square, with one row and one column per"
            " item"
        )
    remedy = "in Python it may be sparse, a factor or an operator; or take a sample of the items"
    require(SIMILARITIES * 8 * shape[0] ** 2, f"{path}, a similarity of {shape[0]} items,", remedy)


def _matrix_of(table: Table) -> tuple[NDArray[np.float64], list[str] | None]:
    """The numbers of a table, and the names in its first column or in its header, where there are names."""
    if table.block is not None:
        _check_square(table.source, table.block.shape)
        dense = table.block.toarray() if hasattr(table.block, "toarray") else table.block
        return np.asarray(dense, dtype=np.float64), None
    columns = list(table.columns.values())
    labelled = len(columns) == table.n_rows + 1 or columns[0].values.dtype.kind != "f"
    names = columns.pop(0).labels() if labelled and len(columns) > 1 else None
    for column in columns:
        if column.missing.any():
            row = int(np.argmax(column.missing))
            raise FileError(f"{table.where(row, column.name)}: a similarity must be a number; correct the cell")
    header = [column.name for column in columns]
    if names is None and not header[0].startswith("column "):
        names = header
    return np.column_stack([table.numbers(column.name) for column in columns]), names


def ending(path: Path) -> str:
    """The ending of a name, without that of gzip; the standard input is text."""
    if path == STANDARD_INPUT:
        return ".csv"
    inner = path.with_suffix("").suffix.lower() if path.suffix.lower() == ".gz" else ""
    return inner if inner in PACKED else path.suffix.lower()


def existing(path: str | Path) -> Path:
    """The path of a file that exists.

    >>> existing("nowhere.csv")
    Traceback (most recent call last):
    ...
    kernelwise.files.errors.FileError: there is no file nowhere.csv
    """
    path = Path(path)
    if path == STANDARD_INPUT:
        return path
    if path.is_dir():
        raise FileError(f"{path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise FileError(f"{path} is a device or a pipe, which cannot be read twice; write its content to a file first")
    if not path.exists():
        names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = choices(path.name, names)
        raise FileError(f"there is no file {path}" + (f"; {hint}" if hint.startswith("did") else ""))
    return path


def file_hash(path: str | Path) -> str:
    """The SHA-256 of a file: in the card of a model it says which data the model was made from."""
    path = existing(path)
    if path == STANDARD_INPUT:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def data_files(data: Path) -> list[Path]:
    """The files that a name stands for: a file, all files of one format in a folder, or all that match a pattern.

    >>> data_files(Path("nowhere-*.csv"))
    Traceback (most recent call last):
    ...
    kernelwise.files.errors.FileError: there is no file nowhere-*.csv
    """
    if data.is_dir():
        found = sorted(path for path in data.iterdir() if ending(path) in TEXTS + PARQUET and path.is_file())
        if not found:
            raise FileError(f"{data} is a folder without files that can be read in chunks: .csv, .tsv, .parquet")
    elif any(mark in str(data) for mark in "*?[") and not data.exists():
        root = Path(data.anchor) if data.anchor else Path()
        found = sorted(root.glob(str(data.relative_to(data.anchor)) if data.anchor else str(data)))
    else:
        return [existing(data)]
    if not found:
        raise FileError(f"there is no file {data}")
    if len({ending(path) for path in found}) > 1:
        raise FileError(f"{data} has files of several formats, {found[0].name} and others; name those of one format")
    return found


def is_large(paths: Sequence[Path]) -> bool:
    """Whether tables should be read in chunks: several files, or a file that does not fit well into memory."""
    if len(paths) > 1:
        return True
    path, left = paths[0], available()
    if ending(path) in TEXTS and path.is_file():
        size = path.stat().st_size * (4 if path.suffix.lower() == ".gz" else 1)
        return size > MAX_TEXT_BYTES or (left is not None and MEMORY_PER_BYTE * size > SHARE * left)
    if ending(path) in PARQUET and left is not None:
        return bool(parquet_module(path).sizes_of(path)[1] > SHARE * left)
    return False


def parquet_module(path: Path) -> Any:
    """The reader of Parquet, Feather and Arrow files, or an error that says how to install it."""
    try:
        from . import parquet
    except ImportError as error:
        raise FileError(f"{path} needs pyarrow: pip install pyarrow, or convert the file to CSV") from error
    return parquet


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
        return corrected_text(path, column, corrections)
    if ending(path) in PARQUET + ARROW:
        return parquet_module(path).corrected_parquet(path, column, corrections)
    if ending(path) in WORKBOOKS:
        return corrected_workbook(path, column, corrections)
    if ending(path) == ".npz":
        return corrected_arrays(path, column, corrections)
    raise FileError(
        f"{path} cannot be corrected: only CSV, TSV, Excel, Parquet, Feather and .npz files have columns to write to"
    )
