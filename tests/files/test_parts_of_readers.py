"""The functions that readers of files are made of."""

import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from kernelwise.files.arrays import matrix_market
from kernelwise.files.chunks import parts_of
from kernelwise.files.delimited import csv_line, cut, decode, encoding, find_delimiter, is_header, records
from kernelwise.files.errors import FileError, check_size, explain, human, refusing, what_is
from kernelwise.files.links import TwoTables, link_answers, link_delimiter, link_records, link_words, meanings
from kernelwise.files.models import check_native_parts
from kernelwise.files.reading import ending


def test_parts_of() -> None:
    assert repr(parts_of([Path("a.csv")])) == "[FilePart(path=PosixPath('a.csv'), group=None)]"


def test_link_words() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        _ = path.write_text("1,2,Yes\n2,3,No\n3,4,Yes\n")
        assert link_words(path) == {"Yes": 1, "No": -1}


def test_link_answers() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        _ = path.write_text("1,2,duplicate\n2,3,kept apart\n")
        answers = link_answers(path)
    assert answers[frozenset({"1", "2"})] == {True}
    assert answers[frozenset({"3", "2"})] == {False}


def test_texttable() -> None:
    text = cut(Path("a.csv"), 'age;job\n31;"cook; baker"\n')
    assert text.header == ["age", "job"]
    assert text.rows == [["31", "cook; baker"]]
    np.testing.assert_allclose(text.lines, [2], atol=1e-6)


def test_decode() -> None:
    with pytest.raises(FileError, match="byte 0xe9 is not UTF"):
        decode(Path("a.csv"), b"caf\xe9\n")


def test_encoding() -> None:
    assert encoding(b"a") == "utf-8"
    assert encoding("a".encode("utf-8-sig")) == "utf-8-sig"
    assert encoding("a".encode("utf-16")) == "utf-16"


def test_find_delimiter() -> None:
    assert find_delimiter(Path("a.csv"), "a;b\n1,5;2\n") == ";"
    assert find_delimiter(Path("a.csv"), "a\n1\n") == ","


def test_is_header() -> None:
    assert is_header([["age", "job"], ["31", "cook"]])
    assert not is_header([["31", "cook"], ["45", "baker"]])


def test_records() -> None:
    assert list(records(Path("a.csv"), 'a,b\n"1\n2",3\n', ",")) == [(1, 1, ["a", "b"]), (2, 3, ["1\n2", "3"])]


def test_csv_line() -> None:
    assert csv_line(["a", "b c", 'd"e', "f\rg"]) == 'a,b c,"d""e","f\rg"'


def test_explain() -> None:
    assert explain(ValueError("a\n b")) == "a b"


def test_what_is() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        _ = path.write_text("height,label\n1,a\n2,b\n")
        assert what_is(path) == "a text table whose first line is 'height,label'"


def test_human() -> None:
    assert human(3_000_000_000) == "3.0 GB"


def test_check_size() -> None:
    with pytest.raises(FileError, match="3 GB is the most that is read"):
        check_size(Path("a.npy"), 9 * 10**14, what="declares")


def test_refusing() -> None:
    with pytest.raises(FileError, match="npz is damaged"), refusing("a.npz is damaged"):
        raise zipfile.BadZipFile("bad CRC")


def test_matrix_market() -> None:
    text = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 0.5\n2 1 3\n"
    np.testing.assert_allclose(matrix_market(Path("a.mtx"), text).toarray(), [[0.5, 3.0], [3.0, 0.0]], atol=1e-6)


def test_check_native_parts() -> None:
    tree = DecisionTreeRegressor().fit(np.eye(3), [0, 1, 2])
    check_native_parts(Path("m.skops"), [tree.tree_], n_features=3)
    with pytest.raises(FileError, match="skops holds a damaged Tree"):
        check_native_parts(Path("m.skops"), [tree.tree_], n_features=2)


def test_meanings() -> None:
    assert meanings({"Duplicate", "kept apart"}, "a.csv") == {"duplicate": 1, "kept apart": -1}


def test_link_delimiter() -> None:
    assert link_delimiter(Path("a.edges"), "1 2") is None
    assert link_delimiter(Path("a.txt"), "1,2") == ","


def test_link_records() -> None:
    assert list(link_records(Path("a.edges"), "# from to\n1 2\n")) == [(2, 2, ["1", "2"])]


def test_ending() -> None:
    assert ending(Path("a.CSV")) == ".csv"
    assert ending(Path("a.csv.gz")) == ".csv"
    assert ending(Path("-")) == ".csv"


def test_twotables_ends() -> None:
    both = TwoTables(("a.csv", "b.csv"), ({"1": 0, "2": 1}, {"1": 2, "x": 3}))
    assert both.ends(Path("pairs.csv"), [(1, ["1", "1"]), (2, ["2", "x"])]).tolist() == [[0, 2], [1, 3]]
    assert both.ends(Path("pairs.csv"), [(1, ["x", "2"])]).tolist() == [[3, 1]]
