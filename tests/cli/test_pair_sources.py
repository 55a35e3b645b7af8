"""Pairs and records that several people answered about, on the command line: how good each of them is."""

import csv
import json
from functools import partial

import numpy as np
import pytest

from command_line import refused, run_here

WRONG = {"Ann": 0.05, "Bob": 0.1, "Cy": 0.45}
HEADER = ("first", "second", "answer", "worker")


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return partial(run_here, capsys)


@pytest.fixture
def asked(tmp_path):
    """Eighty products, each in two spellings; 500 pairs of them, and who said what of each."""
    rng = np.random.default_rng(0)
    words = [
        "red",
        "blue",
        "large",
        "small",
        "steel",
        "oak",
        "round",
        "plain",
        "fast",
        "silent",
        "heavy",
        "light",
        "north",
        "river",
        "stone",
        "glass",
    ]
    names = [" ".join(rng.choice(words, 4, replace=False)) for _ in range(80)]
    records = [*names, *(f"{name.title()} {100 + k}" for k, name in enumerate(names))]
    write(tmp_path / "products.csv", ("id", "name"), [(f"p{k}", name) for k, name in enumerate(records)])
    same = rng.random(500) < 0.5
    left = rng.integers(80, size=500)
    right = 80 + np.where(same, left, (left + rng.integers(1, 80, size=500)) % 80)
    who = rng.choice(list(WRONG), size=500)
    wrong = rng.random(500) < [WRONG[name] for name in who]
    answers = np.where(same != wrong, "same", "different")
    rows = [(f"p{a}", f"p{b}", said, name) for a, b, said, name in zip(left, right, answers, who, strict=True)]
    write(tmp_path / "asked.csv", HEADER, rows)
    two = [(records[a], records[b], said, name) for a, b, said, name in zip(left, right, answers, who, strict=True)]
    write(tmp_path / "two.csv", ("left_name", "right_name", "answer", "labeled_by"), two)
    return rows


def write(path, header, rows):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])


def result_of(call, *arguments):
    status, out, err = call(*arguments, "--json", "-q")
    assert status == 0, err
    return json.loads(out)


@pytest.mark.parametrize("files", [("products.csv", "asked.csv", "--id", "id"), ("two.csv",)], ids=["pairs", "records"])
def test_the_worst_source_comes_first(asked, tmp_path, call, files):
    found = result_of(call, "audit", "pairs", *files, "--report", "page.html")
    sources = found["sources"]
    assert sources[0]["source"] == "Cy"
    assert {one["source"]: one["answers"] for one in sources} == {
        name: sum(row[3] == name for row in asked) for name in WRONG
    }
    low, high = sources[0]["interval"]
    assert low <= sources[0]["accuracy"] <= high < 0.75
    status, out, _ = call("audit", "pairs", *files)
    assert status == 0
    assert "Sources, the least accurate first" in out
    assert "who gave each answer" in out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = json.loads(page.split('id="report-data">')[1].split("</script>")[0])
    assert shown["sources"]["names"] == [one["source"] for one in sources]
    assert [one["accuracy"] for one in shown["sources"]["table"]] == pytest.approx([one["accuracy"] for one in sources])
    row, given = (shown["suspects"][key][0] for key in ("row", "given"))
    assert shown["sources"]["said"][0] == [shown["sources"]["names"].index(asked[row][3]), given]


def test_the_column_of_sources_may_be_named(asked, tmp_path, call):
    write(tmp_path / "other.csv", ("first", "second", "answer", "team"), asked)
    refused(call("audit", "pairs", "products.csv", "other.csv", "--id", "id"), "--annotator COLUMN")
    found = result_of(call, "audit", "pairs", "products.csv", "other.csv", "--id", "id", "--annotator", "team")
    assert found["sources"][0]["source"] == "Cy"
    wrong_name = ("audit", "pairs", "products.csv", "other.csv", "--id", "id", "--annotator", "worker")
    refused(call(*wrong_name), "has no fourth column 'worker'")
    write(tmp_path / "plain.csv", HEADER[:3], [row[:3] for row in asked])
    without = result_of(call, "audit", "pairs", "products.csv", "plain.csv", "--id", "id")
    assert without["sources"] == []
    refused(call("audit", "pairs", "two.csv", "--annotator", "left_name"), "is a column of the records")


def test_corrections_keep_who_gave_the_answer(asked, tmp_path, call):
    call("audit", "pairs", "products.csv", "asked.csv", "--id", "id", "-o", "suspects.csv", "-q")
    text = (tmp_path / "suspects.csv").read_text(encoding="utf-8-sig").replace("skip", "wrong", 1)
    (tmp_path / "suspects.csv").write_text(text, encoding="utf-8")
    first = next(csv.DictReader(text.splitlines()))
    status, _, err = call("apply", "asked.csv", "suspects.csv")
    assert status == 0, err
    after = list(csv.reader((tmp_path / "asked-corrected.csv").read_text().splitlines()))[1:]
    changed = [row for row, old in zip(after, asked, strict=True) if tuple(row) != old]
    assert changed
    assert all({*row[:2]} == {first["id"], first["other_id"]} and row[2] == first["corrected"] for row in changed)
    assert [row[3] for row in after] == [old[3] for old in asked]
