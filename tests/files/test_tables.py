"""Tables, links and similarities in text files: what is read, and what is refused with which words."""

import csv
import io
import os
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwise.files import (
    FileError,
    TableFeatures,
    check_output,
    corrected_file,
    corrected_links,
    file_hash,
    read_links,
    read_similarity,
    read_table,
    write_file,
)
from kernelwise.tables.errors import TableError


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# ---------------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "﻿"])
def test_delimiter_line_ends_and_byte_order_mark(tmp_path, delimiter, ending, mark):
    rows = [["a", "b", "c"], ["1", "x, y; z | w", "2.5"], ["2", 'say "hi"', "-1e3"]]
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, lineterminator=ending).writerows(rows)
    table = read_table(put(tmp_path, "a.csv", mark + stream.getvalue()))
    assert table.names == ["a", "b", "c"]
    assert table["a"].values.tolist() == [1.0, 2.0]
    assert table["b"].values.tolist() == ["x, y; z | w", 'say "hi"']
    assert table["c"].values.tolist() == [2.5, -1000.0]


cell = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=8)


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(cell, cell), min_size=1, max_size=6))
def test_cells_kept_as_written_are_those_that_a_csv_writer_wrote(tmp_path_factory, rows):
    rows = [("v" + a, "w" + b) for a, b in rows]
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([("first", "second"), *rows])
    path = put(tmp_path_factory.mktemp("csv"), "a.csv", stream.getvalue())
    table = read_table(path, as_written=["first", "second"])
    assert table.required("first") == [a.strip() for a, _ in rows]
    assert table.required("second") == [b.strip() for _, b in rows]


def test_row_numbers_are_those_of_a_spreadsheet(tmp_path):
    table = read_table(put(tmp_path, "a.csv", 'note,x\n"two\nlines",1\n\nlast,\n'))
    assert table.lines.tolist() == [2, 4]  # as a spreadsheet numbers the rows
    assert table.missing() == {"x": [4]}


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("age,job\n1,a\n2,b\n", ["age", "job"]),
        ("1,a\n2,b\n", ["column 1", "column 2"]),
        (",age\n0,5\n1,6\n", ["column 1", "age"]),
        ("a,b\na,c\nd,b\n", ["column 1", "column 2"]),  # the first row occurs again below: it is data
    ],
)
def test_header_is_found(tmp_path, content, names):
    assert read_table(put(tmp_path, "a.csv", content)).names == names


def test_a_name_that_the_user_gives_settles_what_is_a_header(tmp_path):
    path = put(tmp_path, "a.csv", "2019,2020\n1,2\n3,4\n")
    assert read_table(path).n_rows == 3
    assert read_table(path, as_written=["2020"]).required("2020") == ["2", "4"]


def test_labels_are_kept_as_they_are_written(tmp_path):
    table = read_table(put(tmp_path, "a.csv", "x,label\n1,01\n2,1.50\n"), as_written=["label"])
    assert table.required("label") == ["01", "1.50"]


KINDS = {
    "numeric": ["1.5", "2", "NA", "7", "8", "9", "1", "3", "4", "5"],
    "categorical": ["red", "blue", "red", "", "blue", "red", "red", "blue", "red", "red"],
    "text": [f"this is sentence number {i} of the story" for i in range(10)],
    "date": [f"2024-05-{i:02d}" for i in range(10, 20)],
    "id": [f"p{i}" for i in range(10)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_kind_is_found(tmp_path, kind):
    content = "first,second\n" + "".join(f"0.5,{value}\n" for value in KINDS[kind])
    assert read_table(put(tmp_path, "a.csv", content))["second"].kind == kind


def test_row_numbers_and_distinct_numbers_called_id_are_ids(tmp_path):
    content = ",user_id,size\n" + "".join(f"{i},{1000 - 7 * i},{i * i}\n" for i in range(12))
    kinds = [column.kind for column in read_table(put(tmp_path, "a.csv", content)).columns.values()]
    assert kinds == ["id", "id", "numeric"]


def test_ids_are_kept_as_they_are_written(tmp_path):
    content = "user_id,x\n" + "".join(f"{i * i:06d},{i}.5\n" for i in range(12))
    assert list(read_table(put(tmp_path, "a.csv", content)).distinct("user_id"))[:3] == ["000000", "000001", "000004"]


BAD_TABLES = {
    "empty": (b"", "a.csv is empty"),
    "blank": (b"\n\n  \n", "only blank lines"),
    "header only": (b"a,b\n", "has a header but no rows"),
    "ragged": (b"a,b\n1,2\n3\n", r"a.csv, line 3: 1 cell where the header has 2"),
    "too long": (b"a,b\n1,2\n3,4,5\n", r"line 3: 3 cells where the header has 2; quote cells that hold a comma"),
    "latin-1": ("a,b\n1,é\n".encode("latin-1"), r"a.csv, line 2: byte 0xe9 is not UTF-8; save the file as UTF-8"),
    "utf-16": ("a,b\n1,2\n".encode("utf-16")[:-1], "is in UTF-16 and damaged; save it as UTF-8"),
    "binary": (bytes(range(256)), "is a binary file"),
    "open quote": (b'a,b\n1,"2\n3,4\n', r'line 2: a quoted cell that starts here has no closing "'),
    "quote within": (b'a,b\n1,"2"x\n', "line 2: the row cannot be cut into cells"),
    "twice": (b"a,b,a\n1,2,3\n", "two columns named 'a', number 1 and 3; rename one"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_table_is_refused(tmp_path, case):
    content, message = BAD_TABLES[case]
    with pytest.raises(FileError, match=message):
        read_table(put(tmp_path, "a.csv", content))


def test_a_text_file_that_would_not_fit_in_memory_is_refused_unread(tmp_path):
    path = tmp_path / "a.csv"
    with path.open("wb") as stream:
        stream.truncate(2**29 + 1)  # a hole: it takes no room on the disk
    with pytest.raises(FileError, match=r"holds 536.9 MB, and 536.9 MB is the most that is read; take a sample"):
        read_table(path)


def test_missing_column_suggests_the_nearest(tmp_path):
    path = put(tmp_path, "a.csv", "age,Label\n1,a\n2,b\n")
    with pytest.raises(FileError, match=r"a.csv has no column 'lable'; did you mean 'Label'\?"):
        read_table(path, as_written=["lable"])
    with pytest.raises(FileError, match="has no column 'zzz'; it has 'age', 'Label'"):
        read_table(path, as_written=["zzz"])


def test_missing_label_and_repeated_id_are_named_by_line(tmp_path):
    table = read_table(put(tmp_path, "a.csv", "id,y\nu,1\nv,\nu,?\n"), as_written=["id", "y"])
    with pytest.raises(TableError, match=r"line 3, column 'y': no value \(and 1 more rows\)"):
        table.required("y")
    with pytest.raises(TableError, match="line 4, column 'id': 'u' is also the id of line 2; ids must be distinct"):
        table.distinct("id")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("data.xyz", "an ending that is not known"),
        ("folder.csv", "is a folder"),
        ("peopel.csv", "did you mean 'people.csv'"),
    ],
)
def test_bad_path(tmp_path, name, message):
    put(tmp_path, "people.csv", "a\n1\n")
    put(tmp_path, "data.xyz", "a\n1\n")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError, match=message):
        read_table(tmp_path / name)


def test_kinds_given_by_the_user(tmp_path):
    path = put(tmp_path, "a.csv", "code,x\n" + "".join(f"{i % 3},{i}.5\n" for i in range(9)))
    assert read_table(path, kinds={"code": "categorical"})["code"].values.tolist()[:3] == ["0", "1", "2"]
    with pytest.raises(
        FileError, match="'colour' is not a kind of column; use one of numeric, categorical, name, text, date"
    ):
        read_table(path, kinds={"code": "colour"})
    with pytest.raises(FileError, match="no column 'cod'; did you mean 'code'"):
        read_table(path, kinds={"cod": "id"})
    words = put(tmp_path, "b.csv", "v\n1\n2\nlow\n")
    with pytest.raises(FileError, match="line 4, column 'v': 'low' is not a number"):
        read_table(words, kinds={"v": "numeric"})
    with pytest.raises(FileError, match="line 2, column 'v': '1' is not a date such as 2024-05-31"):
        read_table(words, kinds={"v": "date"})
    days = put(tmp_path, "c.csv", "day,x\n20240531,1\n,2\n")
    assert TableFeatures().fit(read_table(days, as_written=["day"], kinds={"day": "numeric"})).unused_.keys() == {"day"}
    assert read_table(days, as_written=["day"], kinds={"day": "date"}).seconds("day")[0] == 1717113600.0


def test_fifty_thousand_rows_of_twenty_columns_take_a_few_seconds(tmp_path, rng):
    numbers = rng.normal(size=(50_000, 20))
    stream = io.StringIO()
    np.savetxt(stream, numbers, delimiter=",", fmt="%.6g", header=",".join(f"x{j}" for j in range(20)), comments="")
    path = put(tmp_path, "large.csv", stream.getvalue())
    started = time.process_time()
    table = read_table(path)
    assert time.process_time() - started < 6.0
    read = np.column_stack([column.values for column in table.columns.values()])
    np.testing.assert_allclose(read, numbers, rtol=1e-5)


# ---------------------------------------------------------------------------------------------- features


def people(tmp_path, rows):
    return read_table(put(tmp_path, "a.csv", "age,job,label\n" + rows), as_written=["label"])


def test_numbers_are_scaled_and_filled_and_categories_become_indicators(tmp_path):
    table = people(tmp_path, "20,cook,a\n40,baker,b\n,cook,a\n")
    features = TableFeatures(leave_out=["label"]).fit(table)
    values = np.array([20.0, 40.0, 30.0])  # 30 is the median
    expected = np.column_stack([(values - 30) / 10, [0, 1, 0], [1, 0, 1]])
    np.testing.assert_allclose(features.transform(table), expected)
    assert features.feature_names == ["age", "job=baker", "job=cook"]
    assert features.describe() == [
        {"column": "age", "becomes": "scaled, 1 missing filled with the median 30"},
        {"column": "job", "becomes": "indicators of 2 categories"},
    ]


def test_new_rows_use_what_was_learned(tmp_path):
    features = TableFeatures(leave_out=["label"]).fit(people(tmp_path, "20,cook,a\n40,baker,b\n"))
    np.testing.assert_allclose(features.transform(people(tmp_path, "50,pilot,a\n")), [[2.0, 0.0, 0.0]])


def test_rare_categories_share_an_indicator(tmp_path):
    cells = [f"c{i}" for i in range(80)] * 2 + ["common"] * 9
    content = "kind,x\n" + "".join(f"{cell},{i / 7:.3f}\n" for i, cell in enumerate(cells))
    table = read_table(put(tmp_path, "a.csv", content))
    features = TableFeatures(leave_out=["x"]).fit(table)
    matrix = features.transform(table)
    assert features.feature_names[-1] == "kind=(rare)"
    assert matrix.shape == (169, 51)
    np.testing.assert_array_equal(matrix.sum(axis=1), 1.0)
    assert matrix[:, -1].sum() == 2 * (80 - 49)


def test_text_is_the_tf_idf_of_scikit_learn(tmp_path):
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [f"the {animal} sat on the {thing} today" for animal in ("cat", "dog") for thing in ("mat", "rug")]
    table = read_table(put(tmp_path, "a.csv", "note\n" + "\n".join(texts) + "\n"), kinds={"note": "text"})
    features = TableFeatures().fit(table)
    oracle = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\b\w+\b")
    expected = oracle.fit_transform(texts).toarray()
    np.testing.assert_allclose(features.transform(table).toarray(), expected)


def test_text_beside_numbers_is_sparse(tmp_path):
    rows = [f"{i % 5}.5,some words about topic {i} here" for i in range(24)]
    table = read_table(put(tmp_path, "a.csv", "size,note\n" + "\n".join(rows) + "\n"))
    features = TableFeatures().fit(table)
    matrix = features.transform(table)
    assert matrix.shape == (24, len(features.feature_names))
    assert features.feature_names[:2] == ["size", "note:about"]
    np.testing.assert_allclose(np.square(matrix.toarray()[:, 1:]).sum(axis=1), 1.0)


def test_a_column_of_numbers_with_a_mistake_is_refused_by_line(tmp_path):
    content = "age,x\n" + "".join(f"{i}.5,{i * i}\n" for i in range(70)) + "twelve,3\n"
    table = read_table(put(tmp_path, "a.csv", content))
    with pytest.raises(TableError, match=r"line 72, column 'age': 'twelve' is not a number; .*--kind 'age'=cat"):
        TableFeatures().fit(table)
    features = TableFeatures().fit(table.retyped({"age": "categorical"}))  # as the message proposes
    assert features.feature_names[50:] == ["age=(rare)", "x"]


def test_no_features_at_all(tmp_path):
    table = read_table(put(tmp_path, "a.csv", "label\na\nb\n"), as_written=["label"])
    with pytest.raises(TableError, match="no column to learn from besides label"):
        TableFeatures(leave_out=["label"]).fit(table)


def test_a_file_without_a_column_that_the_model_needs(tmp_path):
    features = TableFeatures(leave_out=["label"]).fit(people(tmp_path, "20,cook,a\n40,baker,b\n"))
    with pytest.raises(TableError, match="has no column 'age'"):
        features.transform(read_table(put(tmp_path, "b.csv", "ages of all,job\n1,cook\n")))


# ---------------------------------------------------------------------------------------------- links and similarities

IDS = {"a": 0, "b": 1, "c": 2, "10": 3}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("l.csv", "from,to\na,b\nb,c\n"),
        ("l.csv", "a,b\nb,c\n"),
        ("l.tsv", "a\tb\nb\tc\n"),
        ("l.txt", "a b\nb  c\n"),
        ("l.edges", "# two links\na b\n\nb c\n"),
    ],
)
def test_links_of_many_forms(tmp_path, name, content):
    pairs = read_links(put(tmp_path, name, content), IDS)
    assert (pairs.rows.tolist(), pairs.cols.tolist(), pairs.labels.tolist()) == ([0, 1], [1, 2], [1, 1])
    assert pairs.n_samples == 4


@pytest.mark.parametrize("words", [("1", "-1"), ("1", "0"), ("same", "Different"), ("must-link", "cannot-link")])
def test_constraints_have_a_third_column(tmp_path, words):
    pairs = read_links(put(tmp_path, "l.csv", f"u,v,says\na,b,{words[0]}\nb,10,{words[1]}\n"), IDS)
    assert pairs.labels.tolist() == [1, -1]


BAD_LINKS = {
    "unknown": ("a,b\nb,x9\n", r"l.csv, line 2: 'x9' is not an id of nodes.csv"),
    "self": ("a,b\nc,c\n", "line 2: 'c' is linked to itself"),
    "weight": ("a,b,1\nb,c,0.7\n", "line 2: '0.7' must be 1 .same. or -1 .different."),
    "one": ("a\nb\n", "a link has two ids and perhaps a label, not 1 cells"),
    "four": ("a,b,1,2\n", "not 4 cells"),
    "none": ("from,to\n", "holds no links"),
}


@pytest.mark.parametrize("case", BAD_LINKS)
def test_bad_links_are_refused(tmp_path, case):
    content, message = BAD_LINKS[case]
    with pytest.raises(FileError, match=message):
        read_links(put(tmp_path, "l.csv", content), IDS, nodes="nodes.csv")


def test_similarity_with_and_without_names(tmp_path):
    plain, none = read_similarity(put(tmp_path, "s.csv", "1,0.5\n0.5,1\n"))
    np.testing.assert_array_equal(plain, [[1, 0.5], [0.5, 1]])
    assert none is None
    named, names = read_similarity(put(tmp_path, "t.csv", ",u,v\nu,1,0.5\nv,0.5,1\n"))
    np.testing.assert_array_equal(named, plain)
    assert names == ["u", "v"]
    headed, names = read_similarity(put(tmp_path, "u.csv", "u,v\n1,0.5\n0.5,1\n"))
    np.testing.assert_array_equal(headed, plain)
    assert names == ["u", "v"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1,0\n0,1\n0,0\n", "is 3 x 2; a similarity matrix must be square"),
        ("1,0.5\n0.4,1\n", r"not symmetric: entries \(1, 2\) and \(2, 1\) differ"),
        ("a,b\n1,x\n0.5,1\n", "line 2, column 'b': 'x' is not a number"),
        ("1,?\n0.5,1\n", "line 1, column 'column 2': a similarity must be a number"),
    ],
)
def test_bad_similarity(tmp_path, content, message):
    with pytest.raises(FileError, match=message):
        read_similarity(put(tmp_path, "s.csv", content))


# ---------------------------------------------------------------------------------------------- writing


def test_nothing_is_overwritten_without_force(tmp_path):
    path = put(tmp_path, "a.txt", "old")
    with pytest.raises(FileError, match="exists; use --force"):
        write_file(path, "new")
    assert path.read_text() == "old"
    assert write_file(path, "new", force=True).read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_write_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        write_file(tmp_path / "a.txt", [1, 2])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions as on POSIX systems")
def test_a_written_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "plain").touch()
    write_file(tmp_path / "ours", "x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_output_is_checked_before(tmp_path):
    with pytest.raises(FileError, match="there is no folder"):
        check_output(tmp_path / "nowhere" / "a.csv")
    with pytest.raises(FileError, match="is a folder"):
        check_output(tmp_path, force=True)


def test_hash_is_that_of_the_content(tmp_path):
    import hashlib

    assert file_hash(put(tmp_path, "a", b"abc")) == hashlib.sha256(b"abc").hexdigest()


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_corrections_leave_other_lines_as_they_are_to_the_byte(tmp_path, mark):
    lines = [b'"id";label\r\n', b'"1";"=A1"\r\n', b"\r\n", b'2;"two\nlines"\r\n', b"3;c"]
    path = put(tmp_path, "a.csv", mark + b"".join(lines))
    assert corrected_file(path, "label", {}) == path.read_bytes()
    lines[3] = b"2;-x\r\n"
    assert corrected_file(path, "label", {1: "-x"}) == mark + b"".join(lines)


def test_corrections_that_do_not_fit(tmp_path):
    path = put(tmp_path, "a.csv", "id,label\n1,a\n2,b\n")
    with pytest.raises(FileError, match="has 2 rows, none of which is number 2; the corrections are of other data"):
        corrected_file(path, "label", {2: "x"})
    with pytest.raises(FileError, match="no column 'labels'; did you mean 'label'"):
        corrected_file(path, "labels", {0: "x"})


def test_wrong_links_are_left_out_or_relabelled(tmp_path):
    wrong = {frozenset({"a", "b"}): False, frozenset({"b", "c"}): True}
    assert corrected_links(put(tmp_path, "l.edges", "# x\nb a\nb c\n"), wrong) == b"# x\nb c\n"
    three = put(tmp_path, "l.csv", "u,v,same\na,b,1\nc,b,0\na,c,1\n")
    assert corrected_links(three, wrong) == b"u,v,same\na,b,0\nc,b,1\na,c,1\n"  # in the words of the file
    with pytest.raises(FileError, match=r"l\.csv has no pair a - x; the corrections are of other data"):
        corrected_links(three, {frozenset({"x", "a"}): False})
