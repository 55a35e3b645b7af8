"""What is fuzzed: every reader, as a function of bytes that may raise its documented errors and no others."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import samples

IDS = {"a": 0, "b": 1, "c": 2}


@dataclass(frozen=True)
class Target:
    """A reader.

    Parameters
    ----------
    names : tuple of str
        Names of the file; the reader goes by the ending.
    read : callable
        Reads the file at a path.
    seeds : callable
        Returns whole files.
    archive : bool
        Whether the file is a zip archive, of which the members are damaged one at a time.
    """

    names: tuple[str, ...]
    read: Callable[[Path], Any]
    seeds: Callable[[], list[bytes]]
    archive: bool = False


def _table(path: Path) -> None:
    """Read a table and make features of it, as all commands do."""
    from kernelwise.files import TableFeatures, read_table

    table = read_table(path)
    for name in table.names:
        table[name].labels()
    TableFeatures().fit(table).transform(table)


def _matrix(path: Path) -> None:
    """Read a matrix as features, and as links."""
    from kernelwise.files import read_links
    from kernelwise.tables.errors import TableError

    try:
        _table(path)
    except TableError:
        read_links(path, IDS)


def _similarity(path: Path) -> None:
    from kernelwise.files import read_similarity

    read_similarity(path)


def _links(path: Path) -> None:
    from kernelwise.files import corrected_links, read_links

    read_links(path, IDS)
    corrected_links(path, {frozenset({"a", "b"}): False})


def _corrected(path: Path) -> None:
    """Correct a cell of a table; what comes of it can be read again."""
    from kernelwise.files import corrected_file, read_table

    column = next(iter(read_table(path).names), "label")
    changed = path.with_name(f"changed{path.suffix}")
    changed.write_bytes(corrected_file(path, column, {0: "1"}))
    read_table(changed)


def _corrections(path: Path) -> None:
    """Read corrections; what is written of them is read as the same."""
    from kernelwise.report import read_corrections, write_corrections

    made = read_corrections(path)
    if read_corrections(write_corrections(made, path.with_name("again.csv"), force=True)) != made:
        raise AssertionError("corrections change when they are written and read")


def _records(path: Path) -> None:
    from kernelwise.papers import RecordFile

    file = RecordFile(path, spec="0123")
    for record in file.read().values():
        record.to_line()


def _model(path: Path) -> None:
    """Load a model and predict, as the command does."""
    from kernelwise.files import load_model, read_table

    model = load_model(path)
    rows = path.with_name("rows.csv")
    if not rows.exists():
        rows.write_bytes(b"x,kind,note\n0.5,u,red hot cold plum\n-1,w,\n")
    model.predict_proba(read_table(rows, as_written=model.features.worded))


TARGETS = {
    "csv": Target(("a.csv", "a.tsv"), _table, lambda: [samples.TABLE]),
    "corrected": Target(("a.csv",), _corrected, lambda: [samples.TABLE]),
    "links": Target(("a.csv", "a.edges", "a.txt"), _links, lambda: [samples.LINKS, samples.LINKS.replace(b",", b" ")]),
    "similarity": Target(("a.csv",), _similarity, lambda: [b",a,b\na,1,0.5\nb,0.5,1\n", b"1,0\n0,1\n"]),
    "corrections": Target(("a.csv",), _corrections, lambda: [samples.CORRECTIONS]),
    "records": Target(("a.jsonl",), _records, samples.records),
    "npy": Target(("a.npy",), _matrix, samples.arrays),
    "npz": Target(("a.npz",), _matrix, samples.archives, archive=True),
    "npz-corrected": Target(("a.npz",), _corrected, samples.archives, archive=True),
    "matrix-market": Target(("a.mtx",), _matrix, samples.matrices),
    "svmlight": Target(("a.svm",), _matrix, lambda: [samples.SVMLIGHT]),
    "parquet": Target(("a.parquet",), _table, samples.parquets),
    "parquet-corrected": Target(("a.parquet",), _corrected, samples.parquets),
    "model": Target(("a.skops",), _model, samples.models, archive=True),
}


def documented_errors() -> tuple[type[Exception], ...]:
    """What may come of a file that cannot be used."""
    from kernelwise.papers.records import RecordError
    from kernelwise.tables.errors import TableError

    return (TableError, RecordError)  # an error of a file is one of a table


class Reader:
    """A target that takes bytes: each of its names, in a folder, gets them in turn."""

    def __init__(self, target: Target, folder: Path):
        self.target, self.folder = target, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.documented = documented_errors()

    def __call__(self, content: bytes) -> str:
        """Read; return "read" or "refused", and let any other error pass."""
        outcome = "refused"
        for name in self.target.names:
            path = self.folder / name
            path.write_bytes(content)
            try:
                self.target.read(path)
                outcome = "read"
            except self.documented:
                continue
        return outcome


def damaged_archive(content: bytes, damage: Callable[[bytes], bytes], seed: int) -> bytes | None:
    """An archive with one member damaged and all checksums right; None if it is no archive."""
    members = samples.unzipped(content)
    if not members:
        return None
    rng = random.Random(seed)
    # The schema says what everything is; the arrays are many.
    name = "schema.json" if "schema.json" in members and rng.random() < 0.5 else rng.choice(sorted(members))
    if rng.random() < 0.05:
        members[damage(name.encode()).decode("utf-8", "replace").replace("\0", "") or "x"] = members.pop(name)
    elif name == "schema.json" and rng.random() < 0.7:
        members[name] = _swapped_nodes(members[name], rng)
    else:
        members[name] = damage(members[name])
    return samples.zipped(members)


def _swapped_nodes(schema: bytes, rng: random.Random) -> bytes:
    """A schema in which one value has become another one, or one of the same name."""
    import json

    try:
        root = json.loads(schema)
    except ValueError:
        return schema
    places: list[tuple[Any, Any]] = []
    pending = [root]
    while pending:
        node = pending.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []
        places += [(node, key) for key in keys]
        pending += [node[key] for key in keys]
    if not places:
        return schema
    owner, key = rng.choice(places)
    kind = rng.random()
    if kind < 0.4:
        alike = [node[other] for node, other in places if other == key]
        owner[key] = rng.choice(alike)
    elif kind < 0.8:
        other, name = rng.choice(places)
        owner[key] = rng.choice([other[name], None, -1, 10**9, 0.5, "x", [], {}, True])
    elif isinstance(owner, dict):
        del owner[key]
    try:
        return json.dumps(root).encode()
    except (ValueError, RecursionError):  # a node within itself
        return schema
