"""A copy of a data file in which some cells are corrected and all others stay as they are."""

import gzip
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import arrays_in
from .delimited import csv_line, cut, decode, encoding, is_header, read_bytes, records
from .errors import FileError, explain
from .parquet import load_parquet
from .reading import (
    ARROW,
    DIFFERENT,
    EDGES,
    PARQUET,
    SAME,
    TEXTS,
    WORKBOOKS,
    ending,
    existing,
    link_delimiter,
    link_records,
    meanings,
)
from .spreadsheet import check_fit, corrected_workbook


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
        return _corrected_text(path, column, corrections)
    if ending(path) in PARQUET + ARROW:
        return _corrected_parquet(path, column, corrections)
    if ending(path) in WORKBOOKS:
        return corrected_workbook(path, column, corrections)
    if ending(path) == ".npz":
        return _corrected_arrays(path, column, corrections)
    raise FileError(
        f"{path} cannot be corrected: only CSV, TSV, Excel, Parquet, Feather and .npz files have columns to write to"
    )


def corrected_links(path: str | Path, corrections: Mapping[frozenset[str], bool]) -> bytes:
    r"""The content of a file of links after corrections: a pair is of the same class (True) or not (False).

    The third column gets the new answer, in the words of the file. Without a third column, a link between different
    classes is left out.

    Parameters
    ----------
    path : path
        A text file that :func:`read_links` reads.
    corrections : mapping of sets of two ids to bool
        A pair that is not in the file is a :exc:`FileError`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelwise.files import corrected_links
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "links.csv"
    ...     _ = path.write_bytes(b"from,to\na,b\nb,c\n")
    ...     corrected_links(path, {frozenset({"c", "b"}): False})
    b'from,to\na,b\n'
    """
    path, content, delimiter = _text_of_links(path)
    replaced: dict[int, list[str] | None] = {}
    rows = list(link_records(path, content, delimiter))
    words = _answer_words([cells for _, _, cells in rows])
    found: set[frozenset[str]] = set()
    for first, _, cells in rows:
        found.add(_pair(cells))
        same = corrections.get(_pair(cells))
        if same is not None and len(cells) >= 3:
            given = cells[2].strip()
            answer = _answer(same, given, words)
            if answer != given:
                replaced[first] = [*cells[:2], answer, *cells[3:]]
        elif same is False:
            replaced[first] = None
    if other := [pair for pair in corrections if pair not in found]:
        raise FileError(f"{path} has no pair {' - '.join(sorted(other[0]))}; the corrections are of other data")
    return _rewritten(path, rows, replaced, delimiter or " ")


def link_words(path: str | Path, same: str | None = None) -> dict[str, int]:
    """The answers in a file of links, the most frequent first, and what they mean: +1 same, -1 different.

    Without ``same``, of two words that are not known the first is taken for "same": corrections exchange them. A file
    without answers has no words.
    """
    path = existing(path)
    if ending(path) not in (*TEXTS, *EDGES):
        return {}
    path, content, delimiter = _text_of_links(path)
    words = _answer_words([cells for _, _, cells in link_records(path, content, delimiter)])
    if not words:
        return {}
    known = same is not None or {word.casefold() for word in words} & (SAME | DIFFERENT)
    meaning = meanings(words, str(path), same if known else max(words, key=words.__getitem__))
    return {word: meaning[word.casefold()] for word, _ in words.most_common() if word.casefold() in meaning}


def link_answers(path: str | Path) -> dict[frozenset[str], set[bool | None]]:
    """What a file of links says of every pair: same (True), different (False), or a word that is not known (None)."""
    path, content, delimiter = _text_of_links(path)
    rows = [[cell.strip() for cell in cells] for _, _, cells in link_records(path, content, delimiter)]
    words = {word.casefold() for word in _answer_words(rows)}
    # The audit was told the meaning of two unusual words by --same, which the file does not hold.
    meaning = meanings(words, str(path)) if words & (SAME | DIFFERENT) else {}
    answers: dict[frozenset[str], set[bool | None]] = {}
    for cells in rows:
        sign = meaning.get(cells[2].casefold()) if len(cells) >= 3 else 1
        answers.setdefault(_pair(cells), set()).add(None if sign is None else sign > 0)
    return answers


def _text_of_links(path: str | Path) -> tuple[Path, str, str | None]:
    """The path and the text of a file of links, and the character between its cells."""
    path = existing(path)
    if ending(path) not in (*TEXTS, *EDGES):
        raise FileError(f"{path} cannot be corrected: links are corrected in text files only; write them as CSV")
    content = decode(path, read_bytes(path))
    return path, content, link_delimiter(path, content)


def _pair(cells: list[str]) -> frozenset[str]:
    """The two ids of a link, in whatever order."""
    return frozenset(cell.strip() for cell in cells[:2])


def _answer_words(rows: list[list[str]]) -> Counter[str]:
    """How often each answer occurs; a first row of names, none of which occurs below it, has no answer."""
    words = Counter(cells[2].strip() for cells in rows if len(cells) >= 3)
    if words and len(rows[0]) >= 3 and is_header(rows):
        named = _pair(rows[0])
        if words[rows[0][2].strip()] == 1 and not any(named & _pair(cells) for cells in rows[1:]):
            del words[rows[0][2].strip()]
    return words


def _answer(same: bool, given: str, words: Mapping[str, int]) -> str:
    """The answer "same" or "different" in the words of the file; if neither word is known, the other one."""
    known = {word: word.casefold() in SAME for word in words if word.casefold() in SAME | DIFFERENT}
    fitting = [word for word, means_same in known.items() if means_same == same]
    if given in fitting:
        return given
    if fitting:
        return max(fitting, key=words.__getitem__)
    others = [word for word in words if word != given and word not in known]
    return others[0] if len(others) == 1 else ("1" if same else "-1")


def _corrected_text(path: Path, column: str, corrections: Mapping[int, str]) -> bytes:
    content = decode(path, read_bytes(path))
    table = cut(path, content, names=[column])
    check_fit(path, column, table.names, corrections, len(table.rows))
    position = table.names.index(column)
    replaced: dict[int, list[str] | None] = {}
    for row, value in corrections.items():
        cells = table.rows[row]
        replaced[int(table.lines[row])] = [*cells[:position], value, *cells[position + 1 :]]
    return _rewritten(path, records(path, content, table.delimiter), replaced, table.delimiter)


def _rewritten(
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


def _corrected_parquet(path: Path, column: str, corrections: Mapping[int, str]) -> bytes:
    table = load_parquet(path)

    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    check_fit(path, column, table.column_names, corrections, table.num_rows)
    old = table.column(column)
    plain = old.type.value_type if pa.types.is_dictionary(old.type) else old.type
    values = old.cast(plain).to_pylist()
    try:
        for row, value in corrections.items():
            values[row] = pa.scalar(value, pa.string()).cast(plain).as_py()
        new = pa.array(values, type=plain).cast(old.type)
    except (pa.ArrowException, ValueError) as error:
        raise FileError(f"{path}, column {column!r} holds {plain}: {explain(error)}") from error
    stream = io.BytesIO()
    corrected = table.set_column(table.column_names.index(column), column, new)
    if ending(path) in ARROW:
        feather.write_feather(corrected, stream)
    else:
        pq.write_table(corrected, stream)
    return stream.getvalue()


def _corrected_arrays(path: Path, column: str, corrections: Mapping[int, str]) -> bytes:
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
