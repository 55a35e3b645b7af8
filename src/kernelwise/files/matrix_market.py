"""Matrix Market files. The reader of scipy is faster, but some damaged files crash it."""

import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .errors import FileError, explain, place
from .limits import MAX_SAMPLES, check_size

__all__ = ["matrix_market"]

#: The bytes of the shortest entry: "1 1" or "0", and the end of the line.
BYTES_PER_ENTRY = {"coordinate": 4, "array": 2}
FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
SYMMETRIES = {"general": 0.0, "symmetric": 1.0, "skew-symmetric": -1.0}


@dataclass(frozen=True)
class Header:
    """The format and the size that the first lines of a file declare."""

    layout: str
    field: str
    symmetry: str
    n_rows: int
    n_columns: int
    n_entries: int


def matrix_market(path: Path, content: bytes) -> Any:
    r"""The matrix of a file, sparse or dense as the file is.

    >>> text = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 0.5\n2 1 3\n"
    >>> matrix_market(Path("a.mtx"), text).toarray()
    array([[0.5, 3. ],
           [3. , 0. ]])
    """
    lines = io.BytesIO(content)
    header = _header(path, lines, len(content))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # numpy warns of a file without entries
            entries = np.loadtxt(lines, comments="%", ndmin=2, dtype=np.float64, encoding="latin-1")
    except (ValueError, OverflowError) as error:
        raise FileError(f"{path} has entries that are not numbers ({explain(error)})") from error
    if len(entries) != header.n_entries:
        raise FileError(f"{path} declares {header.n_entries} entries and holds {len(entries)}; write it anew")
    return _sparse(path, header, entries) if header.layout == "coordinate" else _dense(path, header, entries)


def _header(path: Path, lines: io.BytesIO, size: int) -> Header:
    """Read the first lines and compare what they declare with the length of the file."""
    banner = lines.readline(1024).decode("latin-1").lower().split()
    if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"]:
        raise FileError(f"{path} does not begin with '%%MatrixMarket matrix'; it is not a Matrix Market file")
    layout, field, symmetry = banner[2:]
    if layout not in BYTES_PER_ENTRY or field not in FIELDS or symmetry not in SYMMETRIES:
        raise FileError(f"{path} holds {layout} {field} {symmetry} entries; only matrices of real numbers are read")
    numbered = enumerate(iter(lines.readline, b""), start=2)
    number, line = next((item for item in numbered if item[1].strip() and not item[1].startswith(b"%")), (0, b""))
    if not line:
        raise FileError(f"{path} ends before it says how large the matrix is")
    try:
        sizes = [int(cell) for cell in line.split()]
        n_rows, n_columns, *rest = sizes
        (n_entries,) = rest if layout == "coordinate" else [_listed(n_rows, n_columns, symmetry)]
    except ValueError as error:
        raise FileError(f"{place(path, line=number)}: the size of the matrix is expected here") from error
    if min(sizes) < 0 or n_entries * BYTES_PER_ENTRY[layout] > size:
        raise FileError(
            f"{place(path, line=number)}: {n_entries} entries are declared, for which the file is too short"
        )
    if max(n_rows, n_columns) > MAX_SAMPLES:
        raise FileError(f"{path} declares {n_rows} x {n_columns}, and {MAX_SAMPLES} a side is the most that is read")
    if symmetry != "general" and n_rows != n_columns:
        raise FileError(f"{path} declares a {symmetry} matrix of {n_rows} x {n_columns}, which is not square")
    check_size(path, 24 * n_entries, what="declares")
    return Header(layout, field, symmetry, n_rows, n_columns, n_entries)


def _listed(n_rows: int, n_columns: int, symmetry: str) -> int:
    """How many numbers a file lists of a dense matrix: all, or the lower half where the matrix is symmetric."""
    listed = {"general": n_rows * n_columns, "symmetric": n_rows * (n_rows + 1) // 2}
    return listed.get(symmetry, n_rows * (n_rows - 1) // 2)


def _sparse(path: Path, header: Header, entries: NDArray[np.float64]) -> sp.csr_array:
    width = 2 if header.field == "pattern" else 3
    entries = entries.reshape(-1, width) if not len(entries) else entries
    if entries.shape[1] != width:
        raise FileError(f"{path} has {entries.shape[1]} numbers per entry where {header.field} ones have {width}")
    ends = entries[:, :2]
    inside = (ends >= 1) & (ends <= [header.n_rows, header.n_columns]) & (ends == np.floor(ends))
    if not inside.all():
        row, column = ends[int(np.argmin(inside.all(axis=1)))]
        raise FileError(f"{path} has an entry at ({row:g}, {column:g}), outside {header.n_rows} x {header.n_columns}")
    rows, columns = (ends.astype(np.int64) - 1).T
    values = entries[:, 2] if width == 3 else np.ones(len(entries))
    shape = (header.n_rows, header.n_columns)
    matrix = sp.csr_array((values, (rows, columns)), shape=shape)
    sign = SYMMETRIES[header.symmetry]
    if not sign:
        return matrix
    off = rows != columns
    return sp.csr_array(matrix + sign * sp.csr_array((values[off], (columns[off], rows[off])), shape=shape))


def _dense(path: Path, header: Header, entries: NDArray[np.float64]) -> NDArray[np.float64]:
    if entries.shape[1] != 1:
        raise FileError(f"{path} has {entries.shape[1]} numbers in a line; a dense matrix has one")
    values, shape = entries[:, 0], (header.n_rows, header.n_columns)
    sign = SYMMETRIES[header.symmetry]
    if not sign:
        return values.reshape(shape, order="F")
    matrix = np.zeros(shape)
    columns, rows = np.triu_indices(header.n_rows, k=0 if sign > 0 else 1)  # the lower half, column by column
    matrix[rows, columns] = values
    matrix[columns, rows] = sign * values
    return matrix
