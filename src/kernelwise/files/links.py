"""Pairs of ids in files: links, answers to "the same or different?", and copies in which they are corrected."""

import io
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..statements import Pairs
from ..tables.columns import Table
from ..tables.errors import choices, place
from ..tables.kinds import is_number
from .delimited import decode, find_delimiter, is_header, read_bytes, records, rewritten
from .errors import FileError
from .reading import MATRICES, TEXTS, ending, existing

EDGES = (".edges", ".edgelist")
#: The source of answers of which nobody says who gave them.
NOBODY = "unknown"
#: The usual words for "the same" and "different"; of any two words, it is enough to know one.
SAME = frozenset(
    ["1", "+1", "1.0", "same", "must-link", "must", "yes", "y", "true", "match", "matched", "duplicate", "dup"]
    + ["duplicates", "identical", "equal", "linked", "link"]
)
DIFFERENT = frozenset(
    ["-1", "0", "-1.0", "0.0", "different", "cannot-link", "cannot", "no", "n", "false", "non-match", "nonmatch"]
    + ["no match", "unmatched", "mismatch", "distinct", "unique", "not a duplicate", "other", "unlinked"]
)


@dataclass(frozen=True)
class TwoTables:
    """The rows of two tables, by the ids that each table gives to its rows.

    Parameters
    ----------
    names : pair of str
        The names of the two files.
    rows : pair of mappings of str to int
        The row of every id, where the rows of the second table are counted on from those of the first.
    """

    names: tuple[str, str]
    rows: tuple[Mapping[str, int], Mapping[str, int]]

    def __len__(self) -> int:
        return len(self.rows[0]) + len(self.rows[1])

    def ends(self, path: Path, lines: Sequence[tuple[int, list[str]]]) -> NDArray[np.int64]:
        """The rows of both ids of every line.

        As a rule the first id of a line is of the first table and the second id is of the second table; then both
        tables may use the same ids. Otherwise each id is looked for in both tables, and must be in one of them.
        """
        first, second = self.rows
        one, other = self.names
        known = {**first, **second}
        cells = [(line, cell) for line, row in lines for cell in row[:2]]
        for line, cell in cells:
            if cell not in known:
                hint = choices(cell, [*first, *second], shown=3)
                raise FileError(f"{place(path, line=line)}: {cell!r} is an id neither of {one} nor of {other}; {hint}")
        mixed = [line for line, (left, right, *_) in lines if left not in first or right not in second]
        if not mixed:
            return np.array([[first[left], second[right]] for _, (left, right, *_) in lines], dtype=np.int64)
        for line, cell in cells:
            if cell in first and cell in second:
                raise FileError(
                    f"{place(path, line=line)}: {cell!r} is an id of {one} and of {other}, and line {mixed[0]} does"
                    f" not name a record of {one} first and a record of {other} second; order every line so, or give"
                    " the records different ids"
                )
        return np.array([[known[cell] for cell in row[:2]] for _, row in lines], dtype=np.int64)


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
    if isinstance(ids, TwoTables):
        ends = ids.ends(path, rows)
    else:
        for line, cell in ((line, cell) for line, row in rows for cell in row[:2] if cell not in ids):
            hint = choices(cell, ids, shown=3)
            raise FileError(f"{place(path, line=line)}: {cell!r} is not an id of {nodes}; {hint}")
        ends = np.array([[ids[cell] for cell in row[:2]] for _, row in rows], dtype=np.int64)
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
    from ..labels.leaks import names_annotators

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
    by_source = annotator is not None or (len(header) == 4 and names_annotators(header[3]))
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
    path, rows, delimiter = _records_of_links(path)
    replaced: dict[int, list[str] | None] = {}
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
    return rewritten(path, rows, replaced, delimiter or " ")


def link_words(path: str | Path, same: str | None = None) -> dict[str, int]:
    """The answers in a file of links, the most frequent first, and what they mean: +1 same, -1 different.

    Without ``same``, of two words that are not known the first is taken for "same": corrections exchange them. A file
    without answers has no words.
    """
    path = existing(path)
    if ending(path) not in (*TEXTS, *EDGES):
        return {}
    words = _answer_words([cells for _, _, cells in _records_of_links(path)[1]])
    if not words:
        return {}
    known = same is not None or {word.casefold() for word in words} & (SAME | DIFFERENT)
    meaning = meanings(words, str(path), same if known else max(words, key=words.__getitem__))
    return {word: meaning[word.casefold()] for word, _ in words.most_common() if word.casefold() in meaning}


def link_answers(path: str | Path) -> dict[frozenset[str], set[bool | None]]:
    """What a file of links says of every pair: same (True), different (False), or a word that is not known (None)."""
    path, found, _ = _records_of_links(path)
    rows = [[cell.strip() for cell in cells] for *_, cells in found]
    words = {word.casefold() for word in _answer_words(rows)}
    # The audit was told the meaning of two unusual words by --same, which the file does not hold.
    meaning = meanings(words, str(path)) if words & (SAME | DIFFERENT) else {}
    answers: dict[frozenset[str], set[bool | None]] = {}
    for cells in rows:
        sign = meaning.get(cells[2].casefold()) if len(cells) >= 3 else 1
        answers.setdefault(_pair(cells), set()).add(None if sign is None else sign > 0)
    return answers


def _records_of_links(path: str | Path) -> tuple[Path, list[tuple[int, int, list[str]]], str | None]:
    """The path and the links of a text file, and the character between its cells."""
    path = existing(path)
    if ending(path) not in (*TEXTS, *EDGES):
        raise FileError(f"{path} cannot be corrected: links are corrected in text files only; write them as CSV")
    content = decode(path, read_bytes(path))
    delimiter = link_delimiter(path, content)
    return path, list(link_records(path, content, delimiter)), delimiter


def _pair(cells: list[str]) -> frozenset[str]:
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
