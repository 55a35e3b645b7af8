"""Parquet, Feather and Arrow files, where pyarrow is installed: this file is imported where one of them is read."""

import io
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import feather, types
from pyarrow import parquet as pq

from ..checks import require
from ..tables.columns import CELLS_FOR_HABITS, Column, Table, habits_of
from ..tables.kinds import as_words
from ..tables.notation import Habits
from .errors import FileError, check_columns, check_fit, check_names, check_size, explain, refusing
from .reading import ARROW

#: A cell takes so many bytes as an object of Python, besides its text.
CELL = 64
#: The errors that reading a damaged file raises.
ERRORS = (pa.ArrowException, OSError, ValueError, OverflowError, LookupError, TypeError)


def read_parquet(path: Path, *, as_written: Collection[str] = ()) -> Table:
    """Read a file of numbers, truth values, text, dates and dictionaries; columns ``as_written`` stay text."""
    content = load_parquet(path)
    if not content.num_rows:
        raise FileError(f"{path} has no rows; give a file with at least one")
    columns, shown = [], []
    for name, column in zip(content.column_names, content.columns, strict=True):
        with reading_arrow(f"{path}, column {name!r}"):
            shown.append(cells_of(column.slice(0, CELLS_FOR_HABITS)))
    habits = habits_of(shown)
    for position, name in enumerate(content.column_names):
        with reading_arrow(f"{path}, column {name!r}"):
            columns.append(_column(name, content.column(position), habits, as_text=name in as_written))
    return Table.of(path, columns, habits=habits)


def load_parquet(path: Path) -> Any:
    """The content of a file as a table of pyarrow; a file that unpacks beyond the limits is refused."""
    remedy = "take a sample of its rows, or leave columns of text out"
    if path.suffix.lower() in ARROW:  # it is unpacked in memory: the size of its buffers is checked
        check_size(path, path.stat().st_size)
        with reading_arrow(f"{path} is not a Feather or Arrow file or is damaged:"):
            content = feather.read_table(path)
            content.validate(full=True)
        check_size(path, content.nbytes, what="unpacks to")
        check_types(path, content.schema)
        require(CELL * content.num_rows * content.num_columns, f"reading {path}", remedy)
        return content
    with reading_arrow(f"{path} is not a Parquet file or is damaged:"):
        metadata, schema = pq.read_metadata(path), pq.read_schema(path)
        groups = [metadata.row_group(position) for position in range(metadata.num_row_groups)]
    check_size(path, sum(group.total_byte_size for group in groups), what="unpacks to")
    check_size(path, 8 * metadata.num_rows * metadata.num_columns, what="declares")
    check_columns(path, metadata.num_columns)
    check_types(path, schema)
    texts = [field.name for field in schema if types.is_string(field.type) or types.is_large_string(field.type)]
    with reading_arrow(f"{path}"):
        # A text that occurs a million times is stored once: its size is checked before the text is repeated.
        content = pq.ParquetFile(path, read_dictionary=texts).read()
        content.validate(full=True)
        check_size(path, sum(_unpacked(content.column(name)) for name in texts), what="unpacks to")
        require(CELL * content.num_rows * content.num_columns, f"reading {path}", remedy)
        return content.cast(schema)


def check_types(path: Path, schema: Any) -> None:
    """Refuse columns of values that are not read."""
    for field in schema:
        if not _is_read(field.type):
            raise FileError(
                f"{path}, column {field.name!r}: values of type {field.type} are not read; leave the column out"
            )


def reading_arrow(where: str) -> AbstractContextManager[None]:
    """Turn the errors of pyarrow into a :exc:`FileError` that says where the file cannot be read."""
    return refusing(f"{where} cannot be read", ERRORS, remedy="write it anew")


def _is_read(kind: Any) -> bool:
    if types.is_dictionary(kind):
        return _is_read(kind.value_type)
    nested = types.is_nested(kind) or types.is_union(kind)
    return not (nested or types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _unpacked(texts: Any) -> int:
    """The bytes of a column of text when every text is written out."""
    total = 0
    for chunk in texts.chunks:
        if types.is_dictionary(chunk.type):
            lengths = pc.binary_length(chunk.dictionary).cast("int64")
            total += pc.sum(lengths.take(chunk.indices)).as_py() or 0
        else:
            total += chunk.nbytes
    return total


def _column(name: str, values: Any, habits: Habits, *, as_text: bool) -> Column:
    values = decoded(values)
    ends = pc.min_max(values).as_py().values() if types.is_integer(values.type) else ()
    if any(end is not None and abs(end) > 2**53 for end in ends):  # so large that they must be names
        return Column(name, "id", as_words(cells_of(values)))
    if as_text:
        return Column(name, "categorical", as_words(cells_of(values), keep_words=True))
    numbers = as_floats(values)
    return Column.of(name, cells_of(values), habits) if numbers is None else Column.of_numbers(name, numbers)


def decoded(values: Any) -> Any:
    """The values themselves where a dictionary holds them."""
    return values.cast(values.type.value_type) if types.is_dictionary(values.type) else values


def as_floats(values: Any) -> Any:
    """Numbers and truth values as floats, NaN where missing; None for values of other types."""
    kind = values.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        return np.asarray(values.cast(pa.float64()), dtype=np.float64)
    return None


def cells_of(values: Any) -> list[str]:
    """The values as a CSV file would hold them."""
    return ["" if value is None else str(value) for value in values.to_pylist()]


def _opened(path: Path) -> Any:
    with reading_arrow(f"{path} is not a Parquet file or is damaged:"):
        return pq.ParquetFile(path)


def sizes_of(path: Path) -> tuple[int, int]:
    """The number of row groups of a Parquet file, and the memory that its cells take as objects of Python."""
    metadata = _opened(path).metadata
    return metadata.num_row_groups, CELL * metadata.num_rows * metadata.num_columns


def parquet_chunks(
    path: Path, group: int | None, rows: int, columns: Collection[str], only: str | None
) -> Iterator[Table]:
    """The rows of a Parquet file, or of one row group, some at a time: see :func:`.chunks.read_chunks`."""
    file = _opened(path)
    check_names(path, file.schema_arrow.names, columns)
    check_types(path, file.schema_arrow)
    groups = None if group is None else [group]
    batches = file.iter_batches(batch_size=rows, row_groups=groups, columns=None if only is None else [only])
    with reading_arrow(f"{path}"):
        for batch in batches:
            made = []
            for name in batch.schema.names:
                values = decoded(batch.column(name))
                numbers = None if name in columns else as_floats(values)
                if numbers is None:
                    words = as_words(cells_of(values), keep_words=name in columns)
                    made.append(Column(name, "categorical", words))
                else:
                    made.append(Column(name, "numeric", np.where(np.isfinite(numbers), numbers, np.nan)))
            yield Table.of(path, made)


def corrected_parquet(path: Path, column: str, corrections: Mapping[int, str]) -> bytes:
    """The content of a file with some cells of a column replaced."""
    table = load_parquet(path)
    check_fit(path, column, table.column_names, corrections, table.num_rows)
    old = table.column(column)
    plain = old.type.value_type if types.is_dictionary(old.type) else old.type
    values = old.cast(plain).to_pylist()
    try:
        for row, value in corrections.items():
            values[row] = pa.scalar(value, pa.string()).cast(plain).as_py()
        new = pa.array(values, type=plain).cast(old.type)
    except (pa.ArrowException, ValueError) as error:
        raise FileError(f"{path}, column {column!r} holds {plain}: {explain(error)}") from error
    stream = io.BytesIO()
    corrected = table.set_column(table.column_names.index(column), column, new)
    if path.suffix.lower() in ARROW:
        feather.write_feather(corrected, stream)
    else:
        pq.write_table(corrected, stream)
    return stream.getvalue()
