"""Whole inputs of every command, and what can be wrong with them."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np

from . import samples

N_ROWS = 24
JUNK = [
    *samples.WORDS,
    b"=cmd|' /C calc'!A0",
    b"<script>alert(1)</script>",
    "\u2028\u202e\U0001f600".encode(),
    b"9" * 400,
]


def whole_inputs(folder: Path) -> dict[str, Path]:
    """Write one good file of every role that a command has for files."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=N_ROWS)
    people = [f"p{i},{x[i]:.3f},{'uv'[i % 2]},some words for row {i % 5},{'ab'[int(x[i] > 0)]}" for i in range(N_ROWS)]
    links = [f"p{i},p{(i + 2) % N_ROWS}" for i in range(N_ROWS)]
    same = [1 if (x[i] > 0) == (x[(i + 1) % N_ROWS] > 0) else -1 for i in range(N_ROWS)]
    said = [f"p{i},{who},{'ab'[int(x[i] > 0) ^ (i % 5 == 0)]}" for i in range(N_ROWS) for who in ("u", "v")]
    contents = {
        "people.csv": "\n".join(["id,x,kind,note,label", *people]).encode() + b"\n",
        "said.csv": "\n".join(["id,who,label", *said]).encode() + b"\n",
        "links.csv": "\n".join(["from,to", *links]).encode() + b"\n",
        "judged.csv": "\n".join(
            ["one,two,answer,worker", *(f"p{i},p{(i + 1) % N_ROWS},{s},w{i % 3}" for i, s in enumerate(same))]
        ).encode()
        + b"\n",
        "pairs.tsv": "\n".join(f"p{i}\tp{(i + 1) % N_ROWS}\t{s}" for i, s in enumerate(same)).encode() + b"\n",
        "edges.edges": "\n".join(link.replace(",", " ") for link in links).encode(),
        "similarity.npy": samples.npy(np.exp(-((x[:, None] - x) ** 2))),
        "similarity.csv": "\n".join(",".join(f"{np.exp(-((a - b) ** 2)):.6f}" for b in x) for a in x).encode(),
        "known.csv": "\n".join(f"{i},{(i + 1) % N_ROWS},{s}" for i, s in enumerate(same)).encode() + b"\n",
        "asked.csv": "\n".join(f"{i},{(i + 3) % N_ROWS}" for i in range(N_ROWS)).encode() + b"\n",
        "corrections.csv": f"row,given,corrected,decision,column\n0,{people[0][-1]},c,wrong,label\n".encode(),
        "people.npz": samples.zipped(
            {"X.npy": samples.npy(x[:, None]), "y.npy": samples.npy((x > 0).astype(np.int64))}
        ),
        "people.svm": "\n".join(f"{int(v > 0)} 1:{v:.3f} 3:1" for v in x).encode() + b"\n",
        "people.mtx": samples.MARKET,
        "people.parquet": samples.parquets()[0],
        "model.skops": samples.models()[0],
        "older.skops": samples.models()[1],
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in contents}


Damage = Callable[[bytes, random.Random], bytes]


def _flip(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _insert(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(JUNK) + content[at:]


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _drop(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + content[at + rng.randint(1, 40) :]


def _lines(change: Callable[[list[bytes], random.Random], list[bytes]]) -> Damage:
    return lambda content, rng: b"\n".join(change(content.split(b"\n"), rng))


def _cells(change: Callable[[bytes, random.Random], bytes]) -> Damage:
    """Change one cell of one line, or the same cell of all lines."""

    def damage(content: bytes, rng: random.Random) -> bytes:
        lines = content.split(b"\n")
        delimiter = b"\t" if b"\t" in lines[0] else b"," if b"," in lines[0] else b" "
        column = rng.randrange(lines[0].count(delimiter) + 1)
        rows = range(len(lines)) if rng.random() < 0.3 else [rng.randrange(len(lines))]
        for row in rows:
            cells = lines[row].split(delimiter)
            if column < len(cells) and (row or len(list(rows)) == 1):
                cells[column] = change(cells[column], rng)
                lines[row] = delimiter.join(cells)
        return b"\n".join(lines)

    return damage


def _repeated(lines: list[bytes], rng: random.Random) -> list[bytes]:
    at = rng.randrange(len(lines))
    return lines[: at + 1] + [lines[at]] * rng.choice([1, 3, 50]) + lines[at + 1 :]


def _doubled_header(lines: list[bytes], rng: random.Random) -> list[bytes]:
    cells = lines[0].split(b",")
    return [b",".join([*cells[:-1], rng.choice(cells)]), *lines[1:]]


def _contradicted(lines: list[bytes], rng: random.Random) -> list[bytes]:
    """Every pair once more with the other label."""
    others = [line[:-2] + b"1" if line.endswith(b"-1") else line[:-1] + b"-1" for line in lines if line]
    return [*lines[:-1], *others] if rng.random() < 0.5 else [line for line in lines if not line.endswith(b"-1")]


VALUES = [
    b"",
    b"nan",
    b"NA",
    b"inf",
    b"-inf",
    b"1e400",
    b"1e308",
    b"-1e308",
    b"9" * 30,
    b"0x10",
    b"1,5",
    b"\xe9",
    b"x" * 5000,
]
VALUES += [
    b'"',
    b'"a"b"',
    b"'",
    b"=1+1",
    b"-1",
    b"<b>",
    b"\x00",
    b"\xff\xfe",
    "\u2028".encode(),
    b"p999",
    b"p1",
    b"1e-320",
]
DAMAGES: dict[str, Damage] = {
    "empty": lambda content, rng: b"",
    "noise": lambda content, rng: rng.randbytes(rng.choice([1, 16, 3000])),
    "bytes flipped": _flip,
    "junk inserted": _insert,
    "cut short": _cut,
    "bytes lost": _drop,
    "in UTF-16": lambda content, rng: content.decode("latin-1").encode("utf-16"),
    "with a mark": lambda content, rng: b"\xef\xbb\xbf" + content,
    "mixed encodings": lambda content, rng: content + "café,\n".encode() + "naïve,\n".encode("latin-1"),
    "old line ends": lambda content, rng: content.replace(b"\n", rng.choice([b"\r", b"\r\n", b"\n\r", b"\n\n"])),
    "header only": _lines(lambda lines, rng: lines[:1]),
    "no header": _lines(lambda lines, rng: lines[1:]),
    "one row": _lines(lambda lines, rng: lines[:2]),
    "few rows": _lines(lambda lines, rng: lines[: rng.randint(2, 6)]),
    "blank lines": _lines(lambda lines, rng: [b""] * rng.randint(1, 9)),
    "repeated rows": _lines(_repeated),
    "a name twice": _lines(_doubled_header),
    "one class": lambda content, rng: content.replace(b",b\n", b",a\n"),
    "a class each": _lines(
        lambda lines, rng: [lines[0], *(b"%s%d" % (line, row) for row, line in enumerate(lines[1:]))]
    ),
    "contradictory pairs": _lines(_contradicted),
    "another delimiter": lambda content, rng: content.replace(b",", rng.choice([b";", b"|", b"\t", b" ", b"::"])),
    "a bad cell": _cells(lambda cell, rng: rng.choice(VALUES)),
    "a quote": _cells(lambda cell, rng: b'"' + cell),
    "a wide row": _cells(lambda cell, rng: cell + b"," * rng.choice([1, 300])),
    "a constant column": _cells(lambda cell, rng: b"7"),
    "huge numbers": _cells(lambda cell, rng: b"%de%d" % (rng.randint(-9, 9), rng.randint(290, 320))),
}


def damaged(source: Path, folder: Path, rng: random.Random) -> Path:
    """A copy of a file, in another folder, with something wrong with it, or with its name."""
    kind = rng.random()
    target = folder / source.name
    if kind < 0.04:
        return folder / rng.choice(["missing.csv", "no/such.csv", "\udcff.csv", "x" * 300 + ".csv", "", "nul\0.csv"])
    if kind < 0.06:
        target.mkdir()
    elif kind < 0.08:
        os.mkfifo(target)
    elif kind < 0.10:
        target.symlink_to(rng.choice([target.name, "gone", source.name]))
    elif kind < 0.14:
        target = target.with_suffix(
            rng.choice([".txt", ".xlsx", "", ".npy", ".npz", ".mtx", ".svm", ".parquet", ".csv.gz"])
        )
        target.write_bytes(source.read_bytes())
    elif kind < 0.17:
        name = source.stem + rng.choice([" x", "[red]", "<b>", "é", "'", "\n", "\udcfe", "-corrected", "%s{0}"])
        target = target.with_name(name + source.suffix)
        target.write_bytes(source.read_bytes())
    else:
        content = source.read_bytes()
        for _ in range(rng.choice([1, 1, 2, 3])):
            content = rng.choice(list(DAMAGES.values()))(content, rng)
        target.write_bytes(content)
    return target
