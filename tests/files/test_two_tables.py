"""Records in two tables, and pairs of their ids."""

import csv
import json

import numpy as np
import pytest

from command_line import refused, run_here
from kernelwise.files import FileError, TwoTables, join_tables, read_links, read_table

NAMES = [f"{letter}{other}{number}" for letter in "abcdefghij" for other in "uvwxyz" for number in (7, 31)][:60]


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)
    return path


@pytest.fixture
def folder(tmp_path):
    """Two tables of 60 records each, with two kinds of ids; one table of both; answers of which some are wrong."""
    rng = np.random.default_rng(0)
    price = rng.integers(10, 999, 60)
    left = [[name, f"{amount}"] for name, amount in zip(NAMES, price, strict=True)]
    right = [[f"{name[:2]}-{name[2:]}", f"{amount}.5"] for name, amount in zip(NAMES, price, strict=True)]
    header = ["id", "name", "price"]
    write(tmp_path / "left.csv", [header, *([f"L{row}", *cells] for row, cells in enumerate(left))])
    write(tmp_path / "right.csv", [[*header, "shelf"], *([f"R{k}", *cells, k % 3] for k, cells in enumerate(right))])
    joined = [[f"L{k}", *cells] for k, cells in enumerate(left)] + [[f"R{k}", *cells] for k, cells in enumerate(right)]
    write(tmp_path / "both.csv", [header, *joined])
    write(tmp_path / "one.csv", [header, *([row, *cells] for row, cells in enumerate(left))])
    write(tmp_path / "other.csv", [header, *([row, *cells] for row, cells in enumerate(right))])
    ends = [(row, row) for row in range(60)] + [(row, int(rng.integers(60))) for row in range(60)]
    said = ["match" if (row == col) != (t % 10 == 0) else "no match" for t, (row, col) in enumerate(ends)]
    write(tmp_path / "pairs.csv", [[f"L{i}", f"R{j}", word] for (i, j), word in zip(ends, said, strict=True)])
    write(tmp_path / "numbers.csv", [[i, j, word] for (i, j), word in zip(ends, said, strict=True)])
    return tmp_path


@pytest.fixture
def audit(capsys, folder):
    def found(*arguments):
        named = [folder / one if one.endswith(".csv") else one for one in arguments]
        status, out, err = run_here(capsys, "audit", "pairs", *named, "--json")
        assert status == 0, err
        return json.loads(out)

    return found


def test_two_tables_give_the_answer_of_one_table_of_both(folder, audit):
    one = audit("both.csv", "pairs.csv", "--id", "id", "--about", "records")
    two = audit("left.csv", "pairs.csv", "--second", "right.csv", "--id", "id")
    assert two["wrong"] == one["wrong"]
    assert two["suspects"] == one["suspects"]
    assert two["notes"] == [f"Not compared, because {folder / 'left.csv'} has no such column: 'shelf'."]


def test_the_same_ids_in_both_tables_are_told_apart_by_their_place(audit):
    two = audit("left.csv", "pairs.csv", "--second", "right.csv", "--id", "id")
    same = audit("one.csv", "numbers.csv", "--second", "other.csv", "--id", "id")
    assert [one["row"] for one in same["suspects"]] == [one["row"] for one in two["suspects"]]
    assert [one["quality"] for one in same["suspects"]] == [one["quality"] for one in two["suspects"]]


def test_kinds_that_the_user_says_hold_for_both_tables(audit):
    found = audit("left.csv", "pairs.csv", "--second", "right.csv", "--id", "id", "--kind", "name=categorical")
    becomes = {one["column"]: one["becomes"] for one in found["nodes"]["columns"]}
    assert becomes["name"].startswith("indicators")


BOTH = TwoTables(("a.csv", "b.csv"), ({"1": 0, "2": 1, "u": 2}, {"1": 3, "2": 4, "x": 5}))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("1,1\n2,9\n", "line 2: '9' is an id neither of a.csv nor of b.csv; it has '1', '2', 'u' and 3 more"),
        ("1,1\nx,u\n", "line 1: '1' is an id of a.csv and of b.csv, and line 2 does not name a record of a.csv first"),
        ("u,u\n", "line 1: 'u' is linked to itself"),
    ],
)
def test_ids_of_neither_or_of_both_tables_are_refused(tmp_path, lines, said):
    path = tmp_path / "pairs.csv"
    path.write_text(lines)
    with pytest.raises(FileError) as error:
        read_links(path, BOTH)
    assert said in str(error.value)


def test_pairs_within_a_table_need_ids_of_one_table(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("u,x\nx,u\n")
    assert np.column_stack([*(getattr(read_links(path, BOTH), end) for end in ("rows", "cols"))]).tolist() == [
        [2, 5],
        [5, 2],
    ]


def test_decimal_commas_in_one_table_alone_are_read(tmp_path):
    one, other = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("name;price\nann;1,5\nbob;1.234,25\n")
    other.write_text("name,price\ncem,1.125\ndee,7\n")
    both, _ = join_tables(read_table(one), read_table(other))
    assert both["price"].values.tolist() == [1.5, 1234.25, 1.125, 7]


def test_tables_without_a_common_column_and_dates_in_two_orders_are_refused(tmp_path):
    one, other = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("name,born\nann,31.05.1980\nbob,30.06.1981\n")
    other.write_text("title,born\ncem,05/31/1980\ndee,06/30/1981\n")
    with pytest.raises(FileError, match="write the dates in column 'born' in two ways"):
        join_tables(read_table(one), read_table(other))
    with pytest.raises(FileError, match="no column in common"):
        join_tables(read_table(one), read_table(other), left_out=["born"])


def test_a_second_table_needs_pairs(capsys, folder):
    done = run_here(capsys, "audit", "pairs", folder / "left.csv", "--second", folder / "right.csv")
    refused(done, "--second needs a file of pairs")
