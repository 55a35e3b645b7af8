"""Whole files of every kind that is read, small, from which damaged ones are made."""

import io
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

TABLE = b'id,age,job,note,label\na,31,cook,"one, two three four",01\nb,,baker,five six seven eight,02\n'
LINKS = b"from,to,same\na,b,1\nb,c,-1\n"
CORRECTIONS = b"row,id,column,given,corrected,decision\n0,a,label,01,02,wrong\n1,'=b,label,'-1,1,skip\n"
MARKET = b"%%MatrixMarket matrix coordinate real symmetric\n% by hand\n3 3 2\n1 1 0.5\n3 2 -1e3\n"
SVMLIGHT = b"1 1:0.5 3:2 # a comment\n-1 2:1e5\n+1 qid:3 1:-2\n"
#: Parts of the formats, for a fuzzer to put in.
WORDS = [
    *(b'"', b'""', b"\r\n", b"\t", b";", b"|", b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"nan", b"inf", b"1e999", b"1_0"),
    *(b"%%MatrixMarket", b"array", b"coordinate", b"pattern", b"integer", b"skew-symmetric", b"general", b"99999999"),
    *(b"'descr'", b"'shape'", b"'fortran_order'", b"True", b"|O", b"<U0", b"|V0", b"<f8", b"(1,)", b"(0, 9999)", b"-1"),
    *(b"qid:1", b"1:1", b"-1:1", b"0:1", b"#", b"\x93NUMPY", b"PK\x01\x02", b"PK\x05\x06", b"PAR1", b"ARROW:schema"),
    *(b'"cell"', b'"results"', b'"spec"', b'"status"', b"NaN", b"[[[[", b"{}", b"null", b"wrong", b"correct", b"skip"),
    *(b'"__class__"', b'"__loader__"', b'"__module__"', b'"__id__"', b"ObjectNode", b"NdArrayNode", b"TreeNode"),
]


def npy(array: Any, **options: Any) -> bytes:
    """The content of a .npy file."""
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """The content of a zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def unzipped(content: bytes) -> dict[str, bytes] | None:
    """The members of an archive that is whole and small; None for any other."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > 2**22:
                return None
            return {member.filename: archive.read(member) for member in archive.infolist()}
    except Exception:  # whatever a damaged archive raises
        return None


def arrays() -> list[bytes]:
    """Files of one array."""
    kinds = (np.eye(3), np.arange(4), np.array(["a", "bc"]), np.asfortranarray(np.ones((2, 3), dtype=">f4")))
    return [npy(array) for array in (*kinds, np.array([b"a", b"\xff"]), np.array([True, False]))]


def archives() -> list[bytes]:
    """Files of several arrays, and sparse matrices."""
    stored = [zipped({"X.npy": npy(np.eye(3)), "y.npy": npy(np.array(["a", "b", "a"]))})]
    for kind in ("csr", "csc", "coo"):
        stream = io.BytesIO()
        sp.save_npz(stream, sp.coo_array(np.eye(3)).asformat(kind))
        stored.append(stream.getvalue())
    return stored


def matrices() -> list[bytes]:
    """Matrix Market files."""
    written = [MARKET, b"%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 3\n2 1\n"]
    for symmetry in ("general", "symmetric", "skew-symmetric"):
        stream = io.BytesIO()
        values = np.zeros((3, 3)) if symmetry == "skew-symmetric" else np.eye(3)
        scipy.io.mmwrite(stream, values, symmetry=symmetry)
        written.append(stream.getvalue())
    return written


def parquets() -> list[bytes]:
    """Parquet files of numbers, text, dictionaries, dates and truth values."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers = pa.table({"n": [1, None, 3], "x": [0.5, 1.5, float("nan")], "flag": [True, None, False]})
    words = pa.table(
        {"label": pa.array(["a", "b", None]).dictionary_encode(), "big": [2**60, 1, 2], "t": ["x", "", "z"]}
    )
    dates = pa.table({"day": pa.array([1, 2, 3], pa.timestamp("us")), "d": pa.array([1, 2, 3], pa.date32())})
    written = []
    for table in (numbers, words, dates):
        for options in ({"compression": "none"}, {"compression": "snappy", "data_page_version": "2.0"}):
            stream = io.BytesIO()
            pq.write_table(table, stream, **options)
            written.append(stream.getvalue())
    return written


def records() -> list[bytes]:
    """Records of an experiment."""
    from kernelwise.papers import Cell, Record

    ok = Record(Cell.of(trial=0, rate=0.1, name="a"), {"accuracy": 0.9}, 1.5, {"numpy": "2"}, spec="0123")
    failed = Record(Cell.of(trial=1), {}, 0.1, {}, spec="0123", status="failed", message="no")
    return [f"{ok.to_line()}\n{failed.to_line()}\n{ok.to_line()[:9]}".encode()]


@cache
def models() -> list[bytes]:
    """Models of one classifier each, with short forests."""
    from kernelwise import NoisyLabelClassifier, SimpleMKLClassifier
    from kernelwise.files import SavedModel, TableFeatures, make_card, read_table, save_model

    rng = np.random.default_rng(0)
    saved = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        words = ["red hot chili pepper", "green cold sweet pear", "blue warm sour plum"]
        lines = [f"{x:.3f},{'uv'[i % 2]},{words[i % 3]},{'ab'[int(x > 0)]}" for i, x in enumerate(rng.normal(size=24))]
        path.write_text("\n".join(["x,kind,note,label", *lines]) + "\n")
        table = read_table(path, as_written=["label"])
        features = TableFeatures(leave_out=["label"]).fit(table)
        for classifier in (NoisyLabelClassifier(random_state=0), SimpleMKLClassifier(random_state=0)):
            fitted = classifier.fit(features.transform(table), np.array(table.required("label")))
            _shorten(fitted)
            card = make_card(label="label", classes=["a", "b"])
            model = save_model(path.with_suffix(".skops"), SavedModel(fitted, features, card), force=True)
            saved.append(zipped(unzipped(model.read_bytes()) or {}))
    return saved


def _shorten(model: Any) -> None:
    """Leave two trees in each forest and no history, so that a model is of some kilobytes."""
    from kernelwise.files.models import _parts
    from kernelwise.scoring.forest import SettledForest

    for part in list(_parts(model)):
        if isinstance(part, SettledForest):
            part.trees, part.values = part.trees[:2], part.values[:2]
    if hasattr(model, "history_"):
        model.history_ = model.history_[:1]
