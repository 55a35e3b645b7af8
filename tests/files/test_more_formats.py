"""Workbooks, Feather, gzip, UTF-16, titles above the header, and two records in a row."""

import gzip
import io
import sys
from datetime import datetime

import numpy as np
import pytest

from kernelwise.files import FileError, corrected_file, corrected_links, delimited, read_links, read_table
from kernelwise.files.two_records import read_two_records

TEXT = "size,kind,day,label\n1.5,a,2024-05-31,01\n,b,2024-06-01,02\n3.0,a,,01\n"


@pytest.fixture
def clean(tmp_path):
    path = tmp_path / "clean.csv"
    path.write_text(TEXT)
    return read_table(path, as_written=["label"])


def equal(table, other):
    assert table.names == other.names
    for name in table.names:
        assert table[name].kind == other[name].kind
        assert table[name].labels() == other[name].labels(), name


def test_a_workbook_is_the_table_of_its_first_sheet(tmp_path, clean):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    empty = book.active
    empty.title = "empty"
    sheet = book.create_sheet("data")
    sheet.append(["A title", None, None, None])
    sheet.append([])
    for row in (
        ["size", "kind", "day", "label"],
        [1.5, "a", datetime(2024, 5, 31), "01"],
        [None, "b", datetime(2024, 6, 1), "02"],
        [3, "a", None, "01"],
    ):
        sheet.append(row)
    book.save(tmp_path / "a.xlsx")
    table = read_table(tmp_path / "a.xlsx", as_written=["label"])
    equal(table, clean)
    assert table.lines.tolist() == [4, 5, 6]
    assert table.where(1) == f"{tmp_path / 'a.xlsx'}, line 5"
    (tmp_path / "b.xlsx").write_bytes(corrected_file(tmp_path / "a.xlsx", "label", {1: "01"}))
    assert read_table(tmp_path / "b.xlsx", as_written=["label"])["label"].labels() == ["01", "01", "01"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no", b"size,label\n1,a\n"])
def test_what_is_no_workbook_is_refused(tmp_path, content):
    pytest.importorskip("openpyxl")
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(FileError, match="is not a zip archive or is damaged"):
        read_table(tmp_path / "a.xlsx")


def test_feather(tmp_path, clean):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather

    cells = {"size": [1.5, None, 3.0], "kind": ["a", "b", "a"], "day": ["2024-05-31", "2024-06-01", None]}
    feather.write_feather(pa.table({**cells, "label": ["01", "02", "01"]}), tmp_path / "a.feather")
    equal(read_table(tmp_path / "a.feather", as_written=["label"]), clean)
    (tmp_path / "b.arrow").write_bytes(corrected_file(tmp_path / "a.feather", "label", {0: "02"}))
    assert read_table(tmp_path / "b.arrow", as_written=["label"])["label"].labels() == ["02", "02", "01"]
    (tmp_path / "c.feather").write_bytes(b"ARROW1 and no more")
    with pytest.raises(FileError, match="is not a Feather or Arrow file or is damaged"):
        read_table(tmp_path / "c.feather")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv.gz", gzip.compress(TEXT.encode(), mtime=0)),
        ("a.txt", TEXT.replace(",", "\t").encode("utf-16")),
        ("a.csv", ("sep=;\r\n" + TEXT.replace(",", ";")).encode()),
        ("a.csv", ("A list of things\nof 2024\n" + TEXT).encode("utf-8-sig")),
    ],
)
def test_text_in_other_clothes(tmp_path, clean, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    equal(read_table(path, as_written=["label"]), clean)
    corrected = tmp_path / f"b{''.join(path.suffixes)}"
    corrected.write_bytes(corrected_file(path, "label", {0: "03"}))
    assert read_table(corrected, as_written=["label"])["label"].labels() == ["03", "02", "01"]


def test_gzip_that_is_damaged_is_refused(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TEXT.encode(), mtime=0)[:-9])
    with pytest.raises(FileError, match="packed by gzip and damaged"):
        read_table(tmp_path / "a.csv.gz")


def test_the_standard_input(monkeypatch, clean):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    delimited._standard_input.cache_clear()
    equal(read_table("-", as_written=["label"]), clean)
    delimited._standard_input.cache_clear()


def test_answers_in_any_two_words(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("a,b,Duplicate\nb,c,kept apart\n")
    assert read_links(path, {"a": 0, "b": 1, "c": 2}).labels.tolist() == [1, -1]
    assert corrected_links(path, {frozenset("ab"): False}) == b"a,b,kept apart\nb,c,kept apart\n"
    path.write_text("a,b,hit\nb,c,miss\n")
    with pytest.raises(FileError, match=r"answers 'hit' and 'miss'; say which.*--same 'hit'"):
        read_links(path, {"a": 0, "b": 1, "c": 2})
    assert read_links(path, {"a": 0, "b": 1, "c": 2}, same="hit").labels.tolist() == [1, -1]
    assert corrected_links(path, {frozenset("ab"): False}) == b"a,b,miss\nb,c,miss\n"


@pytest.mark.parametrize(
    "header",
    ["left_name,right_name,born_l,x", "name_1,name_2,born,x", "Name A,Name B,born,x", "ltable_name,rtable_name,o,x"],
)
def test_two_records_in_a_row(tmp_path, header):
    path = tmp_path / "pairs.csv"
    path.write_text(header + "\nAnna,Ana,7,dup\nAnna,Otto,8,other\nPeter,Petra,9,dup\n")
    found = read_two_records(path)
    assert found.answer == "x"
    assert [name for name, *_ in found.columns] == ["name"]
    assert found.records["name"].labels() == ["Anna", "Peter", "Ana", "Otto", "Petra"]
    assert found.pairs.rows.tolist() == [0, 0, 1]
    assert found.pairs.cols.tolist() == [2, 3, 4]
    assert found.pairs.labels.tolist() == [1, -1, 1]


def test_what_is_no_file_of_two_records(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("name,town,same\nAnna,Graz,yes\nOtto,Graz,no\n")
    with pytest.raises(FileError, match="has no two columns for one thing in two records, such as left_name"):
        read_two_records(path)
    path.write_text("name_1,name_2,same,paid\nAnna,Ana,yes,no\nOtto,Ana,no,yes\n")
    with pytest.raises(FileError, match="say which column holds the answers"):
        read_two_records(path)
    assert read_two_records(path, answer="paid").pairs.labels.tolist() == [-1, 1]
    path.write_text("name_1,name_2,same\nAnna,Ana,yes\nOtto,Ana,no\nOtto,Anna,perhaps\n")
    with pytest.raises(FileError, match="line 4, column 'same': 'perhaps' is neither"):
        read_two_records(path, answer="same")


def test_ids_of_records_join_rows(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("id_1,id_2,name_1,name_2,same\n5,9,Anna,Ana,yes\n5,8,Anna.,Otto,no\n")
    found = read_two_records(path)
    assert found.pairs.rows.tolist() == [0, 0]
    assert found.records.names == ["name"]
    np.testing.assert_array_equal(found.answers, ["yes", "no"])
