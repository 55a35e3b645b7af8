"""Parquet files, where pyarrow is installed."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from .errors import FileError, explain
from .limits import MAX_COLUMNS, check_size
from .table import Column, Table, as_words

__all__ = ["load_parquet", "read_parquet"]


def read_parquet(path: Path, *, as_written: Collection[str] = ()) -> Table:
    """Read a Parquet file of numbers, truth values, text, dates and dictionaries of them.

    Parameters
    ----------
    path : Path
    as_written : collection of str
        Columns kept as text.
    """
    content = load_parquet(path)
    if not content.num_rows:
        raise FileError(f"{path} has no rows; give a file with at least one")
    columns = [
        _column(path, name, content.column(position), as_text=name in as_written)
        for position, name in enumerate(content.column_names)
    ]
    return Table.of(path, columns)


def load_parquet(path: Path) -> Any:
    """The content of a Parquet file, which, unpacked, is within the limits, as a table of pyarrow."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise FileError(f"{path} needs pyarrow: pip install pyarrow, or convert the file to CSV") from error
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path} is not a Parquet file or is damaged ({explain(error)})") from error
    groups = (file.metadata.row_group(position) for position in range(file.metadata.num_row_groups))
    check_size(path, sum(group.total_byte_size for group in groups), what="unpacks to")
    check_size(path, 8 * file.metadata.num_rows * file.metadata.num_columns, what="declares")
    if file.metadata.num_columns > MAX_COLUMNS:
        raise FileError(f"{path} has {file.metadata.num_columns} columns, and {MAX_COLUMNS} is the most that is read")
    try:
        return file.read()
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path} cannot be read ({explain(error)}); write it anew") from error


def _column(path: Path, name: str, values: Any, *, as_text: bool) -> Column:
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        raise FileError(f"{path}, column {name!r}: values of type {kind} are not read; leave the column out")
    if types.is_integer(kind) and _beyond_floats(values):
        return Column(name, "id", as_words(_cells(values)))
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
    if numeric and not as_text:
        return Column.of_numbers(name, np.asarray(values.cast(pa.float64()).to_numpy(), dtype=np.float64))
    return Column(name, "categorical", as_words(_cells(values))) if as_text else Column.of(name, _cells(values))


def _cells(values: Any) -> list[str]:
    return ["" if value is None else str(value) for value in values.to_pylist()]


def _beyond_floats(integers: Any) -> bool:
    """Whether integers are so large that they must be names rather than amounts."""
    import pyarrow.compute as pc

    ends = [end for end in pc.min_max(integers).as_py().values() if end is not None]
    return any(abs(end) > 2**53 for end in ends)
