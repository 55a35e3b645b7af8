"""Files made to do harm: they are refused with a sentence, run nothing, write nothing and take no memory to speak of.

What the fuzzers of ``benchmarks/fuzzing`` found once is kept here.
"""

import io
import json
import os
import struct
import subprocess
import sys
import warnings
import zipfile
import zlib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from command_line import refused, run_here
from kernelwise.files import (
    FileError,
    SavedModel,
    TableFeatures,
    corrected_file,
    load_model,
    make_card,
    read_links,
    read_similarity,
    read_table,
    save_model,
)
from kernelwise.files.errors import LARGE, MAX_COLUMNS
from kernelwise.papers import RecordFile
from kernelwise.papers.records import RecordError

ROOT = Path(__file__).parents[2]


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def header(description, body=b""):
    text = description.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


def shaped(dtype, shape, body=b""):
    return header(f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}", body)


def zipped(members, method=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", method) as archive:
        warnings.simplefilter("ignore")  # of names given twice
        for name, content in members:
            archive.writestr(name, content)
    return stream.getvalue()


def sparse_npz(kind, **changed):
    stream = io.BytesIO()
    sp.save_npz(stream, sp.coo_array(np.eye(3)).asformat(kind), compressed=False)
    stream.seek(0)
    with np.load(stream) as content:
        parts = {name: content[name] for name in content.files} | changed
    return zipped([(f"{name}.npy", npy(part)) for name, part in parts.items()])


def member(name="X.npy", content=None, **state):
    """A zip archive of one member with some fields of its directory changed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = state.pop("external_attr", 0)
        archive.writestr(info, npy(np.eye(2)) if content is None else content)
    packed = bytearray(stream.getvalue())
    at = packed.index(b"PK\x01\x02")
    for offset, value in state.pop("patches", {}).items():
        packed[at + offset : at + offset + len(value)] = value
    return bytes(packed)


def overlapping(n_members=40):
    """An archive whose directory names one packed member many times, as the worst bombs do."""
    kernel = zlib.compress(bytes(2**20), 9)[2:-4]
    crc = zlib.crc32(bytes(2**20))
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, 0, 0, crc, len(kernel), 2**20, 5, 0) + b"0.npy" + kernel
    fields = struct.pack("<6H3L5H2L", 20, 20, 0, 8, 0, 0, crc, len(kernel), 2**20, 5, 0, 0, 0, 0, 0, 0)
    directory = b"".join(b"PK\x01\x02" + fields + f"{number:05d}".encode() for number in range(n_members))
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, n_members, n_members, len(directory), len(local), 0)
    return local + directory + end


def bomb(name, size=2 * LARGE):
    """An archive that says that it unpacks to hundreds of megabytes."""
    return member(name, bytes(1000), patches={24: struct.pack("<L", size)})


MARKET = b"%%MatrixMarket matrix "
RECORDS = "{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (1,), }"
#: Files by case: name, content, what the refusal says.
BAD = {
    "numbers that are no characters": ("a.npy", shaped("<U1", (3,), b"\xff\xff\xff\x7f" * 3), "not made of characters"),
    "the same, bytes swapped": ("a.npy", shaped(">U1", (3,), b"\x7f\xff\xff\xff" * 3), "not made of characters"),
    "halves of characters": ("a.npy", shaped("<U1", (2,), b"\x00\xd8\x00\x00" * 2), "not made of characters"),
    "entries of no size": ("a.npy", shaped("<U0", (10**15,)), "without any content"),
    "records of no size": ("a.npy", shaped("|V0", (5,)), "only numbers and text are read"),
    "a truth value as a length": ("a.npy", shaped("<f8", (True, True, 1), bytes(8)), "columns must be one-dimensional"),
    "a negative length": ("a.npy", shaped("<f8", (-4, -1), bytes(32)), "for which the file is too short"),
    "a huge shape": ("a.npy", shaped("<f8", (2**40, 2**40)), "declares .* TB"),
    "a huge shape of nothing": ("a.npy", shaped("<f8", (0, 2**70)), "declares shape"),
    "a header of signs": ("a.npy", header("{'descr': '<f8', 'shape': (" + "-" * 60 + "1,)}"), "not an array of numpy"),
    "a deep header": ("a.npy", header("(" * 110), "not an array of numpy"),
    "a long header": ("a.npy", b"\x93NUMPY\x02\x00" + struct.pack("<L", 2**31) + b"{", "not an array of numpy"),
    "objects": ("a.npy", npy(np.array([{}]), allow_pickle=True), "pickled objects"),
    "objects in records": ("a.npy", header(RECORDS), "pickled"),
    "objects in an archive": ("a.npz", zipped([("y.npy", npy(np.array([{}]), allow_pickle=True))]), "pickled objects"),
    "unsigned pointers": (
        "a.npz",
        sparse_npz("csc", indptr=np.array([0, 2**63 + 1, 2, 2**64 - 3], dtype=np.uint64)),
        "damaged sparse matrix",
    ),
    "pointers that fall": ("a.npz", sparse_npz("csr", indptr=np.array([0, 3, 1, 3])), "damaged sparse matrix"),
    "pointers of floats": ("a.npz", sparse_npz("csr", indptr=np.array([0.0, 1, 2, 3])), "damaged sparse matrix"),
    "rows outside": ("a.npz", sparse_npz("coo", row=np.array([0, 1, 9])), "damaged sparse matrix"),
    "rows below zero": ("a.npz", sparse_npz("coo", row=np.array([0, -1, 2])), "damaged sparse matrix"),
    "text for numbers": ("a.npz", sparse_npz("csr", data=np.array(["a", "b", "c"])), "sparse matrix|real numbers"),
    "a huge sparse shape": ("a.npz", sparse_npz("csr", shape=np.array([2**62, 2**62])), "is the most read"),
    "a name that climbs": ("a.npz", member("../../x.npy"), "leads elsewhere"),
    "an absolute name": ("a.npz", member("/tmp/x.npy"), "leads elsewhere"),
    "a name of Windows": ("a.npz", member("..\\x.npy", patches={46: b"..\\x.npy"}), "leads elsewhere|damaged|no array"),
    "a folder": ("a.npz", member("x/", b""), "leads elsewhere"),
    "a link": ("a.npz", member("x", b"/etc/passwd", external_attr=0o120777 << 16), "which is no array"),
    "a link to an array": ("a.npz", member("x.npy", b"/etc/passwd", external_attr=0o120777 << 16), "not an array"),
    "a name twice": ("a.npz", zipped([("X.npy", npy(np.eye(2))), ("X.npy", npy(np.eye(3)))]), "name that is taken"),
    "an encrypted member": ("a.npz", member(patches={8: b"\x01\x00"}), "packed in a way that is not read"),
    "another packing": ("a.npz", zipped([("X.npy", npy(np.eye(2)))], zipfile.ZIP_LZMA), "packed in a way"),
    "members that overlap": ("a.npz", overlapping(), "overlap"),
    "a bomb": ("a.npz", bomb("X.npy"), "made to fill memory"),
    "an archive in an archive": (
        "a.npz",
        zipped([("a.npz", zipped([("X.npy", npy(np.eye(2)))]))]),
        "which is no array",
    ),
    "huge numbers of entries": ("a.mtx", MARKET + b"coordinate real general\n9 9 " + b"9" * 30 + b"\n", "too short"),
    "a huge dense matrix": ("a.mtx", MARKET + b"array real general\n99999999999 99999999999\n", "too short"),
    "a huge sparse matrix": ("a.mtx", MARKET + b"coordinate real general\n99999999999 1 1\n1 1 1\n", "is the most"),
    "a size of many digits": ("a.mtx", MARKET + b"coordinate real general\n" + b"9" * 5000 + b" 1 1\n", "size of the"),
    "a size below zero": ("a.mtx", MARKET + b"array real general\n-2 -2\n1\n1\n1\n1\n", "too short"),
    "a huge column": ("a.svm", b"1 99999999999:1\n", "svmlight|more than is read"),
    "too many sparse columns": ("a.svm", b"1 49999999:1\n", "1 x 49999999, which is more than is read"),
    "a column below zero": ("a.svm", b"1 -5:1\n", "svmlight"),
    "too many columns": ("a.csv", b"a," * MAX_COLUMNS + b"a\n", f"{MAX_COLUMNS + 1} columns"),
    "an open quote": ("a.csv", b'a,b\n"' + b"x" * 100_000, "no closing"),
    "two names": ("a.csv", b"a,a\n1,2\n", "two columns named 'a'"),
    "zeros": ("a.csv", bytes(1000), "binary file"),
    "no parquet": ("a.parquet", b"PAR1" + b"\xff" * 50 + b"PAR1", "not a Parquet file"),
}


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """A folder within a folder, in which nothing may appear but what the test writes."""
    inner = tmp_path / "one" / "two"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    return inner


def tree(folder):
    return sorted((str(path), path.stat().st_size) for path in folder.rglob("*"))


@pytest.mark.parametrize("case", BAD)
def test_bad_file_is_refused(watched, tmp_path, case):
    name, content, message = BAD[case]
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    path = watched / name
    path.write_bytes(content)
    before = tree(tmp_path)
    with pytest.raises(FileError, match=message):
        read_table(path)
    for read in (read_similarity, lambda path: read_links(path, {"a": 0, "b": 1})):
        with pytest.raises(FileError):
            read(path)
    assert tree(tmp_path) == before


@pytest.mark.slow
def test_memory_stays_bounded(watched):
    """All bad files at once, in a process that tells how much memory it took at most."""
    pytest.importorskip("resource")
    for number, (name, content, _) in enumerate(BAD.values()):
        (watched / f"{number}{Path(name).suffix}").write_bytes(content)
    (watched / "wide.csv").write_bytes(b"," * 1_000_000 + b"\n")
    (watched / "empty.mtx").write_bytes(MARKET + b"coordinate real general\n4000000 4000000 1\n1 1 1\n")
    program = """
import resource, sys
from pathlib import Path
from kernelwise.files import FileError, read_similarity, read_table
read_table(Path(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sorted(Path().iterdir()):
    try:
        read_similarity(path)
    except (FileError, MemoryError):
        continue
    raise AssertionError(f"{path} was read")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""
    good = watched.parent / "good.csv"
    good.write_text("a,b\n1,2\n")
    done = subprocess.run(
        [sys.executable, "-c", program, str(good)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 200 * 2**20


def test_a_sparse_similarity_is_not_made_dense_beyond_memory(watched):
    (watched / "a.mtx").write_bytes(MARKET + b"coordinate real general\n4000000 4000000 1\n1 1 1\n")
    with pytest.raises(MemoryError, match=r"similarity of 4000000 items, needs 384000.0 GB of memory, and .* GB is"):
        read_similarity(watched / "a.mtx")


# ------------------------------------------------------------------------------------------------------------- Parquet


class TestParquet:
    @pytest.fixture
    def pq(self):
        pytest.importorskip("pyarrow")
        return import_module("pyarrow.parquet")

    def test_a_text_repeated_beyond_memory_is_refused(self, watched, pq):
        pa = import_module("pyarrow")
        once = pa.array(["x" * 2**20])
        texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(5000, dtype=np.int32)), once)
        pq.write_table(pa.table({"t": texts}).cast(pa.schema([("t", pa.dictionary(pa.int32(), pa.string()))])), "a.pq")
        schema = pa.schema([("t", pa.string())])
        plain = pq.read_table("a.pq").replace_schema_metadata(None)
        with pq.ParquetWriter("b.pq", plain.schema, store_schema=False, compression="snappy") as writer:
            writer.write_table(plain)
        assert pq.read_schema("b.pq").equals(schema)
        assert Path("b.pq").stat().st_size < 2**20
        with pytest.raises(FileError, match=r"b.pq unpacks to 5.2 GB, and 4.3 GB is the most"):
            read_table("b.pq")

    @pytest.mark.parametrize(
        ("column", "message"),
        [
            ({"type": "timestamp[us]", "values": [2**60]}, "column 'x' cannot be read"),
            ({"type": "list<item: int64>", "values": [[1]]}, "values of type list.* are not read"),
            ({"type": "binary", "values": [b"a"]}, "values of type binary are not read"),
        ],
    )
    def test_values_that_are_not_read(self, watched, pq, column, message):
        pa = import_module("pyarrow")
        kinds = {"timestamp[us]": pa.timestamp("us"), "list<item: int64>": pa.list_(pa.int64()), "binary": pa.binary()}
        array = pa.array(column["values"], kinds[column["type"]])
        pq.write_table(pa.table({"x": array}), "a.parquet", version="2.6")
        with pytest.raises(FileError, match=message):
            read_table("a.parquet")

    def test_damaged_text_and_indices(self, watched, pq):
        """One byte after the other is damaged: the file is read, or refused, and nothing else."""
        pa = import_module("pyarrow")
        table = pa.table({"label": pa.array(["ab", "cd", None]).dictionary_encode(), "n": [1, 2, 3]})
        pq.write_table(table, "a.parquet", compression="none")
        content = Path("a.parquet").read_bytes()
        refusals = 0
        for at in range(4, len(content) - 8, 3):
            Path("a.parquet").write_bytes(content[:at] + bytes([content[at] ^ 0xA5]) + content[at + 1 :])
            try:
                read_table("a.parquet")
                corrected_file("a.parquet", "label", {0: "x"})
            except FileError:
                refusals += 1
        assert refusals > 10


# -------------------------------------------------------------------------------------------------------------- models


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    pytest.importorskip("skops")
    path = tmp_path_factory.mktemp("model") / "m.skops"
    features = TableFeatures().fit(read_table_of("x,kind\n1,a\n2,b\n3,a\n", path.with_suffix(".csv")))
    return save_model(path, SavedModel(TableFeatures(), features, make_card(label="y")))


def read_table_of(text, path):
    path.write_text(text)
    return read_table(path)


def repacked(saved, *, schema=None, more=()):
    """A model with its schema changed, and with more members."""
    with zipfile.ZipFile(saved) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    if schema is not None:
        members = [(name, schema(json.loads(c)) if name == "schema.json" else c) for name, c in members]
    return zipped([*members, *more])


def with_estimator(module, name, loader="ObjectNode", **others):
    def change(schema):
        node = {"__class__": name, "__module__": module, "__loader__": loader, "__id__": 1, **others}
        schema["content"]["estimator"] = node
        return json.dumps(schema)

    return change


def swollen_npz():
    """A sparse matrix that can be read, whose last part says that there is much more of it."""
    content = bytearray(sparse_npz("csr"))
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = struct.pack("<L", LARGE - 1000)
    return bytes(content)


BAD_MODELS = {
    "a function": ({"schema": with_estimator("os", "system", "FunctionNode")}, "'os.system'"),
    "a type": ({"schema": with_estimator("subprocess", "Popen")}, "'subprocess.Popen'"),
    "a method": (
        {"schema": with_estimator("numpy", "ndarray", "MethodNode", content={"func": "tofile"})},
        "MethodNode",
    ),
    "a partial": ({"schema": with_estimator("functools", "partial", "PartialNode")}, "'functools.partial'"),
    "a type in a name": ({"schema": with_estimator("builtins", "eval", "TypeNode")}, "'builtins.eval'"),
    "a pickle": ({"more": [("x.pkl", b"\x80\x04N.")]}, "'x.pkl', which is no part of a model"),
    "a name that climbs": ({"more": [("../x.npy", npy(np.eye(2)))]}, "leads elsewhere"),
    "a second schema": ({"more": [("schema.json", b"{}")]}, "name that is taken"),
    "a bomb": ({"more": [("x.npz", bomb("data.npy"))]}, "made to fill memory"),
    "bombs below the limit": (
        {"more": [(f"{i}.npz", swollen_npz()) for i in range(17)]},
        "unpacks to 4.3 GB",
    ),
    "a huge array": ({"more": [("x.npy", shaped("<f8", (2**40,)))]}, "declares 8.8 TB"),
    "a loop": (
        {"schema": with_estimator("kernelwise.tables.preparation", "TableFeatures", content={"__id__": 1, "x": 1})},
        "cannot be loaded",
    ),
    "no state": ({"schema": with_estimator("sklearn.tree._tree", "Tree", "TreeNode")}, "cannot be loaded"),
    "deep nesting": ({"schema": lambda schema: '{"a":' * 50_000}, "is damaged"),
}


@pytest.mark.parametrize("case", BAD_MODELS)
def test_bad_model_is_refused(watched, tmp_path, saved, case):
    change, message = BAD_MODELS[case]
    (watched / "m.skops").write_bytes(repacked(saved, **change))
    before = tree(tmp_path)
    with pytest.raises(FileError, match=message):
        load_model(watched / "m.skops")
    assert tree(tmp_path) == before


def test_a_model_that_does_not_fit_its_parts_is_a_refusal(watched, saved, capsys):
    load_model(saved)
    (watched / "rows.csv").write_text("x,kind\n1,a\n")
    refused(run_here(capsys, "predict", saved, "rows.csv"), "rows.csv and the model do not go together")


# ------------------------------------------------------------------------------------------------------------- records


@pytest.mark.parametrize(
    "content",
    [b"\xf7\xbb\n", b"[" * 100_000 + b"\n", b"[]\n", b"{}\n", b'{"cell": []}\n', b'{"cell": {"a": []}}\n', b"\n\n"],
)
def test_bad_records_are_refused(tmp_path, content):
    path = tmp_path / "records.jsonl"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=r"line 1 of .*records.jsonl is not a record"):
        RecordFile(path, spec="0123").read()


# ------------------------------------------------------------------------------------------------------------ commands


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_pipes_are_refused_and_not_waited_for(watched, capsys):
    os.mkfifo(watched / "pipe.npy")
    os.mkfifo(watched / "pipe.csv")
    Path("a.csv").write_text("row,given,corrected,decision\n")
    refused(run_here(capsys, "plan", "pipe.npy", "-k", "2"), "is a device or a pipe")
    refused(run_here(capsys, "apply", "a.csv", "pipe.csv"), "is a device or a pipe")
    refused(run_here(capsys, "apply", "a.csv", "a.csv", "-o", "pipe.csv", "--force"), "is a device or a pipe")


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no text exist on Linux only")
def test_names_that_are_no_text(watched, capsys):
    name = os.fsdecode(b"\xff.csv")
    Path("a.csv").write_text("id,label\na,x\nb,y\n")
    Path("corrections.csv").write_text("row,given,corrected,decision,column\n0,x,y,wrong,label\n")
    for option in ([], ["--json"]):
        status, out, err = run_here(capsys, "apply", "a.csv", "corrections.csv", "-o", name, "--force", *option)
        assert (status, err) == (0, "")
        assert "udcff.csv" in out
    assert json.loads(out)["file"] == name


def test_no_arguments_show_the_help(capsys):
    status, out, err = run_here(capsys)
    assert (status, err) == (0, "")
    assert "audit" in out


def test_bad_command_lines(tmp_path, monkeypatch):
    """Some of those that ``python -m benchmarks.fuzzing commands`` runs by the thousand."""
    pytest.importorskip("skops")
    pytest.importorskip("pyarrow")
    monkeypatch.syspath_prepend(str(ROOT))
    commands = import_module("benchmarks.fuzzing.commands")
    whole_inputs = import_module("benchmarks.fuzzing.bad_files").whole_inputs
    (tmp_path / "whole").mkdir()
    (tmp_path / "cases").mkdir()
    whole = whole_inputs(tmp_path / "whole")
    rows = [commands._row(number, 0, whole, tmp_path / "cases") for number in range(40)]
    assert [row for row in rows if row["faults"]] == []
    assert {row["status"] for row in rows} <= {0, 1, 2}
