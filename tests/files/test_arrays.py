"""Binary files: arrays, sparse matrices, Parquet. Headers are not believed, pickles are not loaded."""

import io
import struct
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from kernelwise.files import FileError, corrected_file, read_links, read_table
from kernelwise.files.errors import MAX_BYTES

MM = b"%%MatrixMarket matrix "


class Bomb:
    """An object that leaves a trace if it is ever unpickled."""

    def __reduce__(self):
        return (open, ("unpickled", "w"))


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def header(description):
    text = description.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.fixture
def matrix(rng):
    return rng.normal(size=(6, 3))


def test_npy(tmp_path, matrix):
    for name, array in (("c.npy", matrix), ("f.npy", np.asfortranarray(matrix)), ("s.npy", matrix.astype(np.float32))):
        np.save(tmp_path / name, array)
        np.testing.assert_array_equal(read_table(tmp_path / name).block, array.astype(float))


def test_npz_holds_features_and_columns(tmp_path, matrix):
    np.savez_compressed(tmp_path / "a.npz", X=matrix, y=np.array(list("aabbcc")), n=np.arange(6))
    table = read_table(tmp_path / "a.npz", as_written=["y"])
    np.testing.assert_array_equal(table.block, matrix)
    assert table.required("y") == list("aabbcc")
    assert table["n"].labels() == ["0", "1", "2", "3", "4", "5"]
    with pytest.raises(FileError, match=r"a.npz has no column 'Y'; did you mean 'y'\?"):
        read_table(tmp_path / "a.npz", as_written=["Y"])


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_npz(tmp_path, kind):
    dense = np.array([[0, 1.5], [2, 0], [0, 0]])
    sp.save_npz(tmp_path / "a.npz", sp.coo_array(dense).asformat(kind))
    np.testing.assert_array_equal(read_table(tmp_path / "a.npz").block.toarray(), dense)


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("dense", [False, True])
def test_matrix_market_is_read_as_scipy_writes_it(tmp_path, rng, dense, symmetry):
    array = np.where(rng.random((5, 5)) < 0.5, rng.normal(size=(5, 5)), 0.0)
    array = {"general": array, "symmetric": array + array.T, "skew-symmetric": array - array.T}[symmetry]
    scipy.io.mmwrite(tmp_path / "a.mtx", array if dense else sp.coo_array(array), symmetry=symmetry, precision=17)
    block = read_table(tmp_path / "a.mtx").block
    assert sp.issparse(block) != dense
    np.testing.assert_array_equal(block if dense else block.toarray(), array)


def test_matrix_market_pattern(tmp_path):
    (tmp_path / "a.mtx").write_bytes(MM + b"coordinate pattern general\n% a comment\n\n2 3 2\n1 3\n2 1\n")
    np.testing.assert_array_equal(read_table(tmp_path / "a.mtx").block.toarray(), [[0, 0, 1], [1, 0, 0]])


def test_svmlight(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:0.5 3:2 # comment\n-1 2:1\n")
    table = read_table(tmp_path / "a.svm", as_written=["label"])
    np.testing.assert_array_equal(table.block.toarray(), [[0.5, 0, 2], [0, 1, 0]])
    assert table.required("label") == ["1", "-1"]


def test_links_from_an_adjacency_matrix(tmp_path):
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.coo_array(np.array([[0, 1, 0], [1, 0, 0], [0, 1, 0]])))
    pairs = read_links(tmp_path / "a.mtx", {"a": 0, "b": 1, "c": 2})
    assert sorted(zip(pairs.rows.tolist(), pairs.cols.tolist(), strict=True)) == [(0, 1), (1, 2)]
    with pytest.raises(FileError, match="is 3 x 3; an adjacency matrix of 2 nodes must be 2 x 2"):
        read_links(tmp_path / "a.mtx", {"a": 0, "b": 1})


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return stream.getvalue()


def damaged_csr():
    stream = io.BytesIO()
    parts = {"indices": np.array([0, 7]), "indptr": np.array([0, 1, 2]), "data": np.ones(2)}
    np.savez(stream, format=b"csr", shape=np.array([2, 2]), **parts)
    return stream.getvalue()


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000000), }"
LONG = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000, 1000), }"
CODE = "{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os').getcwd(),), }"
PICKLE = npy(np.array([Bomb()], dtype=object), allow_pickle=True)
BAD = {
    "pickled npy": ("a.npy", PICKLE, "pickled objects.*never loaded"),
    "pickled npz": ("a.npz", zipped(y__npy=PICKLE), "array 'y' holds pickled"),
    "no npy": ("a.npy", b"hello", "not an array of numpy"),
    "empty npy": ("a.npy", b"", "not an array of numpy"),
    "huge npy": ("a.npy", header(HUGE), "declares .* TB"),
    "short npy": ("a.npy", header(LONG) + bytes(80), "declares shape .1000, 1000., for which the file is too short"),
    "code in a header": ("a.npy", header(CODE), "not an array of numpy"),
    "structured": ("a.npy", npy(np.zeros(2, dtype=[("a", float)])), "only numbers and text are read"),
    "complex": ("a.npy", npy(np.zeros((2, 2), complex)), "only numbers and text are read"),
    "nan": ("a.npy", npy(np.array([[1.0, 2.0], [3.0, np.nan]])), "row 2, column 2: a missing or infinite number"),
    "three axes": ("a.npy", npy(np.zeros((2, 2, 2))), "shape .2, 2, 2.; columns must be one-dimensional"),
    "no rows": ("a.npy", npy(np.zeros((0, 2))), "a matrix must have rows and columns"),
    "no zip": ("a.npz", b"PK not really", "not a zip archive"),
    "other member": ("a.npz", zipped(x__py="print()"), "'x.py', which is no array"),
    "no arrays": ("a.npz", zipped(), "holds no arrays"),
    "lengths": ("a.npz", zipped(X__npy=npy(np.zeros((3, 2))), y__npy=npy(np.zeros(2))), "different lengths .y 2, X 3."),
    "two matrices": ("a.npz", zipped(a__npy=npy(np.eye(2)), b__npy=npy(np.eye(2))), "name the one with the features X"),
    "bad indices": ("a.npz", damaged_csr(), "damaged sparse matrix"),
    "no banner": ("a.mtx", b"1 2 3\n", "does not begin with '%%MatrixMarket matrix'"),
    "short mtx": ("a.mtx", MM + b"coordinate real general\n9 9 99999\n1 1 1\n", "line 2: 99999 entries"),
    "wide mtx": ("a.mtx", MM + b"coordinate real general\n9 999999999999 1\n1 1 1\n", "a side is the most"),
    "huge dense mtx": ("a.mtx", MM + b"array real general\n90000 90000\n1\n", "file is too short"),
    "complex mtx": ("a.mtx", MM + b"coordinate complex general\n1 1 1\n1 1 1 1\n", "only matrices of real"),
    "outside mtx": ("a.mtx", MM + b"coordinate real general\n2 2 1\n3 1 1\n", "entry at .3, 1., outside 2 x 2"),
    "no size": ("a.mtx", MM + b"coordinate real general\n% nothing\n", "ends before"),
    "bad svm": ("a.svm", b"1 1:0.5\nred 2:1\n", "not in svmlight format"),
    "wide svm": ("a.svm", b"1 99999999999999999999:1\n", "svmlight|more than is read"),
    "no parquet": ("a.parquet", b"PAR1 not really", "not a Parquet file"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_file_is_refused(tmp_path, monkeypatch, case):
    name, content, message = BAD[case]
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=message):
        read_table(tmp_path / name)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]  # nothing was unpickled


def test_zip_bomb_is_refused_before_it_is_unpacked(tmp_path):
    size = MAX_BYTES + 1
    path = tmp_path / "a.npz"
    path.write_bytes(zipped(X__npy=bytes(1000)))
    content = bytearray(path.read_bytes())
    directory = content.index(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = b"\xff\xff\xff\xff"  # the size of the member, 4 GB
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"not an array of numpy|unpacks to"):
        read_table(path)
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(3):
            archive.writestr(f"{number}.npy", b"x")
    content = bytearray(path.read_bytes())
    start = 0
    while (start := content.find(b"PK\x01\x02", start)) >= 0:
        content[start + 24 : start + 28] = b"\xfe\xff\xff\xff"
        start += 1
    path.write_bytes(content)
    assert size < 3 * 0xFFFFFFFE
    with pytest.raises(FileError, match=r"unpacks to 12.9 GB"):
        read_table(path)


def test_corrected_arrays_keep_their_types(tmp_path, matrix):
    np.savez(tmp_path / "a.npz", X=matrix, y=np.arange(6, dtype=np.int32), name=np.array(list("abcdef")))
    (tmp_path / "b.npz").write_bytes(corrected_file(tmp_path / "a.npz", "y", {2: "7"}))
    with np.load(tmp_path / "b.npz") as content:
        assert content["y"].tolist() == [0, 1, 7, 3, 4, 5]
        assert content["y"].dtype == np.int32
        np.testing.assert_array_equal(content["X"], matrix)
    with pytest.raises(FileError, match="column 'y' holds int32"):
        corrected_file(tmp_path / "a.npz", "y", {2: "red"})


class TestParquet:
    @pytest.fixture
    def path(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        label = pa.array(["a", "b", None]).dictionary_encode()
        columns = {"n": pa.array([1, None, 3]), "flag": [True, False, True], "label": label, "big": [2**40, 1, 2]}
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        return tmp_path / "a.parquet"

    def test_read(self, path):
        table = read_table(path, as_written=["big"])
        np.testing.assert_array_equal(table["n"].values, [1, np.nan, 3])
        assert table["flag"].values.tolist() == [1.0, 0.0, 1.0]
        assert table["label"].values.tolist() == ["a", "b", None]
        assert table.required("big") == ["1099511627776", "1", "2"]
        assert table.missing() == {"n": [2], "label": [3]}

    def test_corrected(self, path):
        import pyarrow.parquet as pq

        fixed = io.BytesIO(corrected_file(path, "label", {0: "c"}))
        before, after = pq.read_table(path), pq.read_table(fixed)
        assert after.schema.equals(before.schema)
        assert after["label"].to_pylist() == ["c", "b", None]
        assert after.drop_columns(["label"]).equals(before.drop_columns(["label"]))
        with pytest.raises(FileError, match="column 'n' holds int64"):
            corrected_file(path, "n", {0: "red"})

    def test_huge_integers_are_names(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"user": [2**60, 2**60 + 1], "n": [5, 5]}), tmp_path / "b.parquet")
        table = read_table(tmp_path / "b.parquet")
        assert (table["user"].kind, table["n"].kind) == ("id", "numeric")
        assert list(table.distinct("user")) == [str(2**60), str(2**60 + 1)]

    def test_nested_values_are_refused(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"x": [[1, 2], [3]]}), tmp_path / "b.parquet")
        with pytest.raises(FileError, match=r"column 'x': values of type list.*are not read"):
            read_table(tmp_path / "b.parquet")


def whole_files():
    """One small file of each kind that can be damaged."""
    sparse, market = io.BytesIO(), io.BytesIO()
    sp.save_npz(sparse, sp.csr_array(np.eye(4)))
    scipy.io.mmwrite(market, sp.coo_array(np.eye(4)))
    return {
        "a.csv": b'id,age,note,label\n1,3.5,"a, b",x\n2,,c d e f g,y\n',
        "a.npy": npy(np.eye(4)),
        "a.npz": zipped(X__npy=npy(np.eye(4)), y__npy=npy(np.arange(4))),
        "b.npz": sparse.getvalue(),
        "a.mtx": market.getvalue(),
        "a.svm": b"1 1:0.5 3:2\n-1 2:1\n",
    }


@pytest.mark.parametrize("name", whole_files())
def test_damaged_files_are_read_or_refused_and_nothing_else(tmp_path, rng, name):
    whole, path = whole_files()[name], tmp_path / name
    junk = [b"\n", b",", b'"', b"9999999999", b"nan", b"-", b"\0", b"\xff", b"_", b"("]
    refusals = 0
    for _ in range(100):
        content = bytearray(whole)
        for _ in range(rng.integers(1, 6)):
            at = int(rng.integers(len(content)))
            if rng.random() < 0.5:
                content[at] = rng.integers(256)
            elif rng.random() < 0.5:
                content[at:at] = junk[rng.integers(len(junk))]
            else:
                del content[at : at + int(rng.integers(1, 9))]
        path.write_bytes(content)
        for read in (read_table, lambda path: read_links(path, {"1": 0, "2": 1})):
            try:
                read(path)
            except FileError:
                refusals += 1
    assert refusals > 100  # of 200
