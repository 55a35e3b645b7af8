"""Arrays of numpy and scipy: .npy, .npz, Matrix Market, svmlight. Pickled objects are never loaded."""

import io
import math
import sys
import tokenize
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..tables.columns import Column, Table
from ..tables.errors import place
from ..tables.kinds import as_words
from . import errors
from .delimited import read_bytes
from .errors import MAX_SAMPLES, FileError, check_fit, check_size, explain, open_archive, refusing

#: The bytes of the shortest entry: "1 1" or "0", and the end of the line.
BYTES_PER_ENTRY = {"coordinate": 4, "array": 2}
FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
SYMMETRIES = {"general": 0.0, "symmetric": 1.0, "skew-symmetric": -1.0}


class Header(NamedTuple):
    """The format and the size that the first lines of a file declare."""

    layout: str
    field: str
    symmetry: str
    n_rows: int
    n_columns: int
    n_entries: int


def matrix_market(path: Path, content: bytes) -> Any:
    """The matrix of a file, sparse or dense as the file is; ``scipy.io.mmread`` crashes on some damaged files."""
    lines = io.BytesIO(content)
    header = _header(path, lines, len(content))
    problem = f"{path} has entries that are not numbers"
    with refusing(problem, (ValueError, OverflowError), remedy="write it anew"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # numpy warns of a file without entries
        entries = np.loadtxt(lines, comments="%", ndmin=2, dtype=np.float64, encoding="latin-1")
    if len(entries) != header.n_entries:
        raise FileError(f"{path} declares {header.n_entries} entries and holds {len(entries)}; write it anew")
    return _sparse(path, header, entries) if header.layout == "coordinate" else _dense(path, header, entries)


def _header(path: Path, lines: io.BytesIO, size: int) -> Header:
    """Read the first lines and compare what they declare with the length of the file, and with the limits."""
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
        n_rows, n_columns, *listed = (int(cell) for cell in line.split())
        half = n_rows * (n_rows + 1) // 2 if symmetry == "symmetric" else n_rows * (n_rows - 1) // 2
        (n_entries,) = listed if layout == "coordinate" else [half if symmetry != "general" else n_rows * n_columns]
    except ValueError as error:
        raise FileError(f"{place(path, line=number)}: the size of the matrix is expected here") from error
    if min(n_rows, n_columns, n_entries) < 0 or n_entries * BYTES_PER_ENTRY[layout] > size:
        raise FileError(
            f"{place(path, line=number)}: {n_entries} entries are declared, for which the file is too short"
        )
    if max(n_rows, n_columns) > MAX_SAMPLES:
        raise FileError(f"{path} declares {n_rows} x {n_columns}, and {MAX_SAMPLES} a side is the most that is read")
    if symmetry != "general" and n_rows != n_columns:
        raise FileError(f"{path} declares a {symmetry} matrix of {n_rows} x {n_columns}, which is not square")
    check_size(path, 24 * n_entries, what="declares")
    return Header(layout, field, symmetry, n_rows, n_columns, n_entries)


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


#: The names that the matrix of features may have in an archive of arrays.
FEATURES = ("X", "x", "data", "features")


def read_npy(path: Path) -> Table:
    """Read a .npy file of numbers: a matrix, or a vector, which becomes the only column."""
    with path.open("rb") as stream:
        array = _read_array(path, stream, path.stat().st_size)
    return _table_of_arrays(path, {"X": array})


def read_npz(path: Path) -> Table:
    """Read a .npz file: the features under X, data or features and columns under their names; or a sparse matrix."""
    arrays = arrays_in(path, path)
    if not arrays:
        raise FileError(f"{path} holds no arrays; write it with numpy.savez(path, X=features, y=labels)")
    if {"format", "shape", "data"} <= arrays.keys():
        return Table.of(path, [], block=sparse_from(path, arrays))
    return _table_of_arrays(path, arrays)


def arrays_in(path: Path, content: Path | IO[bytes]) -> dict[str, NDArray[Any]]:
    """The arrays of the archive ``content``, by name; ``path`` is for messages."""
    arrays = {}
    with open_archive(path, content) as archive:
        for member in archive.infolist():
            if not member.filename.endswith(".npy"):
                raise FileError(f"{path} holds {member.filename!r}, which is no array; write it with numpy.savez")
            name = member.filename.removesuffix(".npy")
            with refusing(f"{path}: array {name!r} is damaged"), archive.open(member) as stream:
                arrays[name] = _read_array(path, stream, member.file_size, name)
    return arrays


def read_matrix_market(path: Path) -> Table:
    """Read a Matrix Market file of real numbers, integers or a pattern."""
    return Table.of(path, [], block=_checked_block(path, matrix_market(path, read_bytes(path))))


def read_svmlight(path: Path) -> Table:
    """Read an svmlight (libsvm) file: a sparse matrix, and the column "label"."""
    from sklearn.datasets import load_svmlight_file

    content, form = read_bytes(path), "every line must be 'label index:value ...'"
    if b"\0" in content:
        raise FileError(f"{path} is a binary file, not svmlight; {form}")
    kinds = (ValueError, OverflowError, IndexError, TypeError)
    with refusing(f"{path} is not in svmlight format", kinds, remedy=form):
        features, labels = load_svmlight_file(io.BytesIO(content))
    if not features.shape[0]:
        raise FileError(f"{path} has no rows; {form}")
    label = Column("label", "categorical", as_words([f"{label:.15g}" for label in labels]))
    return Table.of(path, [label], block=_checked_block(path, sp.csr_array(features)))


def _read_array(path: Path, stream: IO[bytes], size: int, name: str | None = None) -> NDArray[Any]:
    shape, fortran, dtype = check_array(path, stream, size, name)
    declared = math.prod(shape) * dtype.itemsize
    content = stream.read(declared)
    if len(content) < declared:
        raise FileError(f"{_array(path, name)} is cut short; write it anew")
    if dtype.kind == "U":
        check_characters(_array(path, name), content, dtype)
    return np.frombuffer(content, dtype=dtype).reshape(shape, order="F" if fortran else "C")


def check_characters(where: str, content: bytes, dtype: np.dtype[Any]) -> None:
    """Refuse text with numbers that are no characters, or with halves of characters: it can crash Python."""
    codes = np.frombuffer(content, dtype=np.dtype("u4").newbyteorder(dtype.byteorder))
    if codes.max(initial=0) > sys.maxunicode or ((codes >= 0xD800) & (codes <= 0xDFFF)).any():
        raise FileError(f"{where} holds text that is not made of characters; it is damaged, write it anew")


def check_array(
    path: Path, stream: IO[bytes], size: int, name: str | None = None, *, records: bool = False
) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type of a .npy stream; more than ``size`` bytes, and records unless allowed, are refused."""
    where = _array(path, name)
    headers = {(1, 0): (10, np.lib.format.read_array_header_1_0), (2, 0): (12, np.lib.format.read_array_header_2_0)}
    kinds = (ValueError, EOFError, SyntaxError, tokenize.TokenError, TypeError)
    with refusing(f"{where} is not an array of numpy", kinds, remedy="write it with numpy.save"):
        version = np.lib.format.read_magic(stream)
        if version not in headers:
            raise ValueError(f"version {version} of the format is not read")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns of a header that an old Python wrote
            shape, fortran, dtype = headers[version][1](stream)
        shape = tuple(int(length) for length in shape)  # True is an integer, but no length
    if dtype.hasobject:
        raise FileError(
            f"{where} holds pickled objects, which can run code and are never loaded; save it as numbers or text, for"
            " example numpy.save(path, array.astype(str))"
        )
    if dtype.kind not in ("biufUSV" if records else "biufUS"):
        raise FileError(f"{where} has the type {dtype}, and only numbers and text are read; convert it before saving")
    if not dtype.itemsize:
        raise FileError(f"{where} has entries of the type {dtype}, without any content; it is damaged, write it anew")
    declared = math.prod(shape) * dtype.itemsize  # integers of Python do not overflow
    check_size(path, declared, what="declares")
    if min(shape, default=0) < 0 or max(shape, default=0) > sys.maxsize or declared > size - headers[version][0]:
        raise FileError(
            f"{where} declares shape {shape}, for which the file is too short; it is damaged, write it anew"
        )
    return shape, fortran, dtype


def _array(path: Path, name: str | None) -> str:
    return f"{path}" if name is None else f"{path}, array {name!r}"


def _table_of_arrays(path: Path, arrays: dict[str, NDArray[Any]]) -> Table:
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    preferred = sorted({*matrices} & {*FEATURES}) or matrices
    if len(preferred) > 1:
        raise FileError(f"{path} holds the matrices {', '.join(preferred)}; name the one with the features X")
    single = {name: array for name, array in arrays.items() if name not in preferred}
    for name, array in single.items():
        if array.ndim != 1:
            raise FileError(f"{path}: array {name!r} has shape {array.shape}; columns must be one-dimensional")
    block = _checked_block(path, arrays[preferred[0]]) if preferred else None
    lengths = {name: len(arrays[name]) for name in [*single, *preferred]}
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise FileError(f"{path} holds arrays of different lengths ({sizes}); each must have one entry per row")
    if not any(lengths.values()):
        raise FileError(f"{path} has no rows; give an array with at least one")
    columns = [_column(name, array) for name, array in single.items()]
    return Table.of(path, columns, block=block)


def _column(name: str, array: NDArray[Any]) -> Column:
    if array.dtype.kind in "US":
        cells = np.char.decode(array, "utf-8", "replace") if array.dtype.kind == "S" else array
        return Column.of(name, [str(cell) for cell in cells])
    return Column.of_numbers(name, array.astype(np.float64))


def _checked_block(path: Path, matrix: Any) -> Any:
    """The matrix in float64; a matrix that is empty, too large or not finite is refused."""
    if matrix.ndim != 2 or not all(matrix.shape):
        raise FileError(f"{path} has shape {matrix.shape}; a matrix must have rows and columns")
    sparse = sp.issparse(matrix)
    widest = errors.MAX_SPARSE_COLUMNS if sparse else errors.MAX_COLUMNS
    if matrix.shape[0] > MAX_SAMPLES or matrix.shape[1] > widest:
        raise FileError(
            f"{path} is {matrix.shape[0]} x {matrix.shape[1]}, which is more than is read: {MAX_SAMPLES} rows and"
            f" {widest} columns at most"
        )
    if matrix.dtype.kind not in "biuf":
        raise FileError(f"{path} holds {matrix.dtype} entries; a matrix must hold real numbers")
    matrix = matrix.astype(np.float64)
    finite = np.isfinite(matrix.data if sparse else matrix)
    if not finite.all():
        if sparse:
            entries, first = matrix.tocoo(), np.argmin(finite)
            row, column = entries.row[first], entries.col[first]
        else:
            row, column = np.argwhere(~finite)[0]
        raise FileError(
            f"{path}, row {row + 1}, column {column + 1}: a missing or infinite number; fill it in or leave the row out"
        )
    return matrix


def sparse_from(path: Path, arrays: dict[str, NDArray[Any]]) -> Any:
    """The matrix that scipy.sparse.save_npz wrote; the indices are checked before they are used."""
    kind = arrays["format"].item() if arrays["format"].ndim == 0 else ""
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    parts = {"csr": ("data", "indices", "indptr"), "csc": ("data", "indices", "indptr"), "coo": ("data", "row", "col")}
    if kind not in parts or not {*parts[kind]} <= arrays.keys() or arrays["shape"].shape != (2,):
        raise FileError(f"{path} is a sparse matrix in the format {kind!r}; save it with scipy.sparse.save_npz as csr")
    shape = tuple(int(length) for length in arrays["shape"])
    if not 0 < min(shape) <= max(shape) <= MAX_SAMPLES:
        raise FileError(f"{path} declares {shape[0]} x {shape[1]} entries, and {MAX_SAMPLES} a side is the most read")
    values, *indices = (arrays[part] for part in parts[kind])
    with refusing(f"{path} is a damaged sparse matrix", (ValueError, TypeError, OverflowError), remedy="write it anew"):
        for array in indices:
            if array.ndim != 1 or array.dtype.kind not in "iu" or array.max(initial=0) > np.iinfo(np.int64).max:
                raise ValueError(f"indices of type {array.dtype} and shape {array.shape}")
        first, second = (array.astype(np.int64) for array in indices)  # as compiled code needs them
        if kind == "coo":
            matrix: Any = sp.coo_array((values, (first, second)), shape=shape)
        else:
            make: Any = sp.csr_array if kind == "csr" else sp.csc_array
            matrix = make((values, first, second), shape=shape)
            matrix.check_format(full_check=True)
        matrix = matrix.tocsr()
    return _checked_block(path, matrix)


def corrected_arrays(path: Path, column: str, corrections: Mapping[int, str]) -> bytes:
    """The content of an archive of arrays with some entries of an array replaced."""
    arrays = arrays_in(path, path)
    vectors = {name: len(array) for name, array in arrays.items() if array.ndim == 1}
    check_fit(path, column, vectors, corrections, vectors.get(column, 0))
    values: list[object] = arrays[column].tolist()
    kind = arrays[column].dtype
    try:
        for row, value in corrections.items():
            values[row] = value if kind.kind == "U" else np.array(value).astype(kind).item()
    except ValueError as error:
        raise FileError(f"{path}, column {column!r} holds {kind}: {explain(error)}") from error
    stream = io.BytesIO()
    replaced: dict[str, Any] = arrays | {column: np.array(values, dtype=None if kind.kind == "U" else kind)}
    np.savez(stream, **replaced)
    return stream.getvalue()
