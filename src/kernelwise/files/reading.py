"""Tables, similarity matrices and pairs from files; the ending of the name of a file says its format."""

import hashlib
import io
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import require
from ..statements import Pairs
from ..tables.columns import Table
from ..tables.errors import choices, place
from ..tables.kinds import Kind, as_words, is_number
from .arrays import read_matrix_market, read_npy, read_npz, read_svmlight
from .delimited import STANDARD_INPUT, decode, find_delimiter, is_header, read_bytes, read_delimited, records
from .errors import FileError, reading_a_table
from .identify import what_is
from .parquet import read_parquet
from .spreadsheet import read_workbook
from .two_tables import TwoTables

MATRICES: dict[str, Callable[[Path], Table]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".mtx": read_matrix_market,
    ".svm": read_svmlight,
    ".svmlight": read_svmlight,
    ".libsvm": read_svmlight,
}
TEXTS = (".csv", ".tsv", ".tab", ".txt")
PARQUET, ARROW, WORKBOOKS = (".parquet", ".pq"), (".feather", ".arrow", ".ipc"), (".xlsx", ".xlsm")
#: The endings that gzip may have packed.
PACKED = (*TEXTS, ".mtx", ".svm", ".svmlight", ".libsvm")
EDGES = (".edges", ".edgelist")
#: The source of answers of which nobody says who gave them.
NOBODY = "unknown"
#: Reading a similarity and comparing it with its transpose takes the memory of so many matrices of its size.
SIMILARITIES = 3
#: The usual words for "the same" and "different"; of any two words, it is enough to know one.
SAME = frozenset(
    ["1", "+1", "1.0", "same", "must-link", "must", "yes", "y", "true", "match", "matched", "duplicate", "dup"]
    + ["duplicates", "identical", "equal", "linked", "link"]
)
DIFFERENT = frozenset(
    ["-1", "0", "-1.0", "0.0", "different", "cannot-link", "cannot", "no", "n", "false", "non-match", "nonmatch"]
    + ["no match", "unmatched", "mismatch", "distinct", "unique", "not a duplicate", "other", "unlinked"]
)


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
        table = read_parquet(path, as_written=as_written)
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


def read_links(
    path: str | Path,
    ids: Mapping[str, int] | TwoTables,
    *,
    nodes: str = "the nodes",
    same: str | None = None,
    annotator: str | None = None,
) -> Pairs:
    """Read pairs of ids: two columns for links, a third one for whether they say "same" or "different".

    A fourth column may say who gave the answer.

    Parameters
    ----------
    path : path
        CSV or TSV, an edge list with blanks between ids (.edges, .edgelist, .txt), or an adjacency matrix (.mtx, .npz).
    ids : mapping of str to int, or TwoTables
        The row of every id.
    nodes : str
        What the ids belong to, for messages.
    same : str, optional
        The word of the third column for "the same", if it is not a usual one such as 1, yes, match or duplicate.
    annotator : str, optional
        The name of the fourth column, if the name does not say itself that the column holds who gave the answer.

    Returns
    -------
    Pairs
        The pairs in the order of the file. Without a third column all labels are +1, and links that are all listed in
        both directions count once, which a warning says.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelwise.files import read_links
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "links.csv"
    ...     _ = path.write_text("a,b\\nb,c\\n")
    ...     pairs = read_links(path, {"a": 0, "b": 1, "c": 2})
    >>> pairs.rows, pairs.cols
    (array([0, 1]), array([1, 2]))
    """
    path = existing(path)
    if ending(path) in MATRICES:
        if isinstance(ids, TwoTables):
            raise FileError(f"{path} is a matrix; with two tables, give a file with two ids per line")
        return _links_of_matrix(path, len(ids))
    known = {*ids.rows[0], *ids.rows[1]} if isinstance(ids, TwoTables) else ids.keys()
    rows, sources = _cells_of_links(path, known, annotator)
    ends = ids.ends(path, rows) if isinstance(ids, TwoTables) else _ends(path, rows, ids, nodes)
    for (line, row), (one, other) in zip(rows, ends, strict=True):
        if one == other:
            raise FileError(f"{place(path, line=line)}: {row[0]!r} is linked to itself; leave the line out")
    labels = np.ones(len(rows), dtype=np.int64)
    if any(len(row) == 3 for _, row in rows):
        words = {position: row[2] for position, (_, row) in enumerate(rows) if len(row) == 3}
        meaning = meanings(set(words.values()), str(path), same)
        for position, word in words.items():
            labels[position] = meaning.get(word.casefold(), 0)
            if not labels[position]:
                raise FileError(
                    f"{place(path, line=rows[position][0])}: {word!r} must be 1 (same) or -1 (different), or one of two"
                    " words; links have no other weight"
                )
    elif not isinstance(ids, TwoTables) and (twice := _listed_twice(ends)).any():
        warnings.warn(f"{path} lists every link in both directions; each link counts once", stacklevel=2)
        ends, labels = ends[~twice], labels[~twice]
    return Pairs(ends[:, 0], ends[:, 1], labels, n_samples=len(ids), sources=sources)


def _listed_twice(ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which links stand before in the other direction, if all links of the file are listed in both directions."""
    first: dict[tuple[int, int], int] = {}
    for position, (one, other) in enumerate(ends.tolist()):
        first.setdefault((one, other), position)
    if any((other, one) not in first for one, other in first):
        return np.zeros(len(ends), dtype=bool)
    return np.array([first[other, one] < first[one, other] for one, other in ends.tolist()], dtype=bool)


def _ends(path: Path, rows: Sequence[tuple[int, list[str]]], ids: Mapping[str, int], nodes: str) -> NDArray[np.int64]:
    """The rows of both ids of every line."""
    for line, row in rows:
        for cell in row[:2]:
            if cell not in ids:
                hint = choices(cell, ids, shown=3)
                raise FileError(f"{place(path, line=line)}: {cell!r} is not an id of {nodes}; {hint}")
    return np.array([[ids[cell] for cell in row[:2]] for _, row in rows], dtype=np.int64)


def meanings(words: Collection[str], source: str, same: str | None = None) -> dict[str, int]:
    """What answers mean, in lower case: +1 for "the same", -1 for "different"; of two words one must be known."""
    folded = sorted({word.casefold() for word in words})
    if same is None:
        known = {word: 1 if word in SAME else -1 for word in folded if word in SAME | DIFFERENT}
    elif same.casefold() in folded:
        known = {same.casefold(): 1}
    else:
        raise FileError(f"{source} has no answer {same!r}; it has {', '.join(map(repr, folded[:5]))}")
    others = [word for word in folded if word not in known]
    if len(folded) == 2 and len(others) == 1:
        if not is_number(others[0]) or same is not None:  # a weight such as 0.5 is no answer
            known[others[0]] = -sum(known.values())
    elif len(folded) == 2 and not known:
        raise FileError(
            f"{source} has the answers {folded[0]!r} and {folded[1]!r}; say which of them means that the two are the"
            f" same: --same {folded[0]!r}"
        )
    return known


def answer_labels(table: Table, column: str, same: str | None = None) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The answers in a column as +1 and -1, and as words in the most frequent spelling of each."""
    words = table.required(column)
    meaning = meanings(set(words), f"{table.source}, column {column!r}", same)
    labels = np.array([meaning.get(word.casefold(), 0) for word in words], dtype=np.int64)
    if not labels.all():
        row = int(np.argmin(np.abs(labels)))
        raise FileError(
            f"{table.where(row, column)}: {words[row]!r} is neither the word for the same nor that for different; an"
            " answer is one of two words"
        )
    usual = {
        label: Counter(word for word, of in zip(words, labels, strict=True) if of == label).most_common(1)[0][0]
        for label in set(labels.tolist())
    }
    return labels, np.array([usual[label] for label in labels.tolist()])


def _cells_of_links(
    path: Path, ids: Set[str], annotator: str | None
) -> tuple[list[tuple[int, list[str]]], list[str] | None]:
    """The line and the two or three cells of each link, and who gave the answers if a fourth column says so.

    A first row of names that are no ids is a header.
    """
    text = decode(path, read_bytes(path))
    found = [(first, [cell.strip() for cell in row]) for first, _, row in link_records(path, text)]
    rows = [(line, row) for line, row in found if any(row)]
    header: list[str] = []
    if rows and not {*rows[0][1][:2]} & ids and is_header([row for _, row in rows]):
        header, rows = rows[0][1], rows[1:]
    if annotator is not None and header[3:] != [annotator]:
        raise FileError(
            f"{path} has no fourth column {annotator!r}; name the columns in its first line, in this order: two ids, "
            "the answer, and who gave it"
        )
    if not rows:
        raise FileError(f"{path} holds no links; every line must name two ids")
    by_source = annotator is not None or (len(header) == 4 and _names_annotators(header[3]))
    for line, row in rows:
        if by_source and len(row) != 4:
            raise FileError(
                f"{place(path, line=line)}: a line has two ids, an answer and who gave it, not {len(row)} cells"
            )
        if not by_source and len(row) not in (2, 3):
            more = "; if the fourth cell says who gave the answer, name that column: --annotator COLUMN"
            raise FileError(
                f"{place(path, line=line)}: a link has two ids and perhaps a label, not {len(row)} cells"
                f"{more if len(row) == 4 else ''}"
            )
    if not by_source:
        return rows, None
    return [(line, row[:3]) for line, row in rows], [row[3] or NOBODY for _, row in rows]


def _names_annotators(name: str) -> bool:
    from ..labels.annotators import names_annotators

    return names_annotators(name)


def link_delimiter(path: Path, text: str) -> str | None:
    """The character between the ids of a file of links; None for blanks."""
    if ending(path) in EDGES or (ending(path) == ".txt" and not any(mark in text for mark in ",;|\t")):
        return None
    return find_delimiter(path, text)


def link_records(path: Path, text: str, delimiter: str | None = None) -> Iterator[tuple[int, int, list[str]]]:
    """The first line, the last line and the cells of every link of a file; comments of an edge list are left out."""
    delimiter = delimiter or link_delimiter(path, text)
    if delimiter is not None:
        yield from records(path, text, delimiter)
        return
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        cells = line.split()
        if cells and not cells[0].startswith(("#", "%")):
            yield number, number, cells


def ending(path: Path) -> str:
    """The ending of a name, without that of gzip; the standard input is text."""
    if path == STANDARD_INPUT:
        return ".csv"
    inner = path.with_suffix("").suffix.lower() if path.suffix.lower() == ".gz" else ""
    return inner if inner in PACKED else path.suffix.lower()


def _links_of_matrix(path: Path, n_nodes: int) -> Pairs:
    import scipy.sparse as sp

    block: Any = MATRICES[ending(path)](path).block
    if block is None or block.shape != (n_nodes, n_nodes):
        shape = "no matrix" if block is None else f"{block.shape[0]} x {block.shape[1]}"
        raise FileError(f"{path} is {shape}; an adjacency matrix of {n_nodes} nodes must be {n_nodes} x {n_nodes}")
    pairs = Pairs.from_graph(sp.csr_array(block), negatives=None)
    if not len(pairs):
        raise FileError(f"{path} holds no links")
    return pairs


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
