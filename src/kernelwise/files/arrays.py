"""Arrays of numpy and scipy: .npy, .npz, Matrix Market, svmlight. Pickled objects are never loaded."""

import io
import math
import sys
import tokenize
import warnings
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..tables.columns import Column, Table
from ..tables.kinds import as_words
from .delimited import read_bytes
from .errors import FileError, explain
from .limits import MAX_COLUMNS, MAX_SAMPLES, MAX_SPARSE_COLUMNS, check_size, open_archive, unpacking
from .matrix_market import matrix_market

__all__ = [
    "arrays_in",
    "check_array",
    "check_characters",
    "read_matrix_market",
    "read_npy",
    "read_npz",
    "read_svmlight",
    "sparse_from",
]

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
            with unpacking(f"{path}: array {name!r} is damaged"), archive.open(member) as stream:
                arrays[name] = _read_array(path, stream, member.file_size, name)
    return arrays


def read_matrix_market(path: Path) -> Table:
    """Read a Matrix Market file of real numbers, integers or a pattern."""
    return Table.of(path, [], block=_checked_block(path, matrix_market(path, read_bytes(path))))


def read_svmlight(path: Path) -> Table:
    """Read an svmlight (libsvm) file: a sparse matrix, and the column "label"."""
    from sklearn.datasets import load_svmlight_file

    content = read_bytes(path)
    if b"\0" in content:
        raise FileError(f"{path} is a binary file, not svmlight; every line must be 'label index:value ...'")
    try:
        features, labels = load_svmlight_file(io.BytesIO(content))
    except (ValueError, OverflowError, IndexError, TypeError) as error:
        raise FileError(
            f"{path} is not in svmlight format ({explain(error)}); every line must be 'label index:value ...'"
        ) from error
    if not features.shape[0]:
        raise FileError(f"{path} has no rows; every line must be 'label index:value ...'")
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
    """Shape, order and type of a .npy stream of ``size`` bytes; a header that declares more bytes is refused.

    Arrays of records, such as the nodes of trees, are refused unless ``records`` allows them.
    """
    where = _array(path, name)
    headers = {(1, 0): (10, np.lib.format.read_array_header_1_0), (2, 0): (12, np.lib.format.read_array_header_2_0)}
    try:
        version = np.lib.format.read_magic(stream)
        if version not in headers:
            raise ValueError(f"version {version} of the format is not read")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns of a header that an old Python wrote
            shape, fortran, dtype = headers[version][1](stream)
        shape = tuple(int(length) for length in shape)  # True is an integer, but no length
    except (ValueError, EOFError, SyntaxError, tokenize.TokenError, TypeError) as error:
        raise FileError(f"{where} is not an array of numpy ({explain(error)}); write it with numpy.save") from error
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
    preferred = [name for name in matrices if name in FEATURES] or matrices
    if len(preferred) > 1:
        raise FileError(f"{path} holds the matrices {', '.join(preferred)}; name the one with the features X")
    block = _checked_block(path, arrays[preferred[0]]) if preferred else None
    columns = []
    for name, array in arrays.items():
        if array.ndim == 1:
            columns.append(_column(name, array))
        elif name not in preferred:
            raise FileError(f"{path}: array {name!r} has shape {array.shape}; columns must be one-dimensional")
    lengths = {column.name: len(column.values) for column in columns}
    if block is not None:
        lengths[preferred[0]] = block.shape[0]
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise FileError(f"{path} holds arrays of different lengths ({sizes}); each must have one entry per row")
    if not lengths or not next(iter(lengths.values())):
        raise FileError(f"{path} has no rows; give an array with at least one")
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
    widest = MAX_SPARSE_COLUMNS if sparse else MAX_COLUMNS
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
    try:
        first, second = (_as_index(array) for array in indices)
        if kind == "coo":
            matrix: Any = sp.coo_array((values, (first, second)), shape=shape)
        else:
            make: Any = sp.csr_array if kind == "csr" else sp.csc_array
            matrix = make((values, first, second), shape=shape)
            matrix.check_format(full_check=True)
        matrix = matrix.tocsr()
    except (ValueError, TypeError, OverflowError) as error:
        raise FileError(f"{path} is a damaged sparse matrix ({explain(error)}); write it anew") from error
    return _checked_block(path, matrix)


def _as_index(array: NDArray[Any]) -> NDArray[np.int64]:
    """Indices as int64, as compiled code needs them; other types and shapes are refused."""
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.max(initial=0) > np.iinfo(np.int64).max:
        raise ValueError(f"indices of type {array.dtype} and shape {array.shape}")
    return array.astype(np.int64)
