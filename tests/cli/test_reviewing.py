"""Pictures on the page of a file, and the corrections of several reviewers."""

import json
import re

import numpy as np
import pytest

from command_line import refused, run_here


@pytest.fixture
def call(capsys):
    return lambda *words: run_here(capsys, *words)


@pytest.fixture
def scans(tmp_path, monkeypatch):
    """Sixty rows with a picture each; a folder beside is for the page."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["ink,paper,scan,digit"]
    (tmp_path / "pictures").mkdir()
    for row in range(60):
        (tmp_path / "pictures" / f"{row}.png").write_bytes(b"picture %d" % row)
        lines.append(f"{rng.normal() + 4 * (row % 2):.3f},{row % 3},pictures/{row}.png,{'one' if row % 2 else 'two'}")
    (tmp_path / "scans.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    (tmp_path / "pages").mkdir()
    return tmp_path


def data_of(page):
    (stored,) = re.findall(r'id="report-data">(.*?)</script>', page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return json.loads(stored)


def test_a_column_of_paths_becomes_pictures(scans, call):
    status, _, err = call("audit", "labels", "scans.csv", "--label", "digit", "--report", "pages/review.html", "-q")
    assert status == 0, err
    data = data_of(scans / "pages" / "review.html")
    first = data["suspects"]["row"][0]
    assert data["suspects"]["image"][0] == f"../pictures/{first}.png"
    assert all(near["image"] == f"../pictures/{near['row']}.png" for near in data["details"][0]["near"])
    assert data["figures"]["columns"]["by"] == "model"


def test_pictures_can_be_embedded(scans, call):
    words = ("--label", "digit", "--report", "review.html", "--image", "scan", "--embed", "-q")
    status, _, err = call("audit", "labels", "scans.csv", *words)
    assert status == 0, err
    data = data_of(scans / "review.html")
    assert all(link.startswith("data:image/png;base64,") for link in data["suspects"]["image"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--report", "r.html", "--image", "ink"], "does not hold paths of pictures"),
        (["--report", "r.html", "--image", "skan"], "did you mean 'scan'?"),
        (["--image", "scan"], "--image is for the review page; add --report"),
        (["--embed"], "--embed is for the review page; add --report"),
    ],
)
def test_what_is_no_picture_is_refused_before_the_work(scans, call, words, message):
    refused(call("audit", "labels", "scans.csv", "--label", "digit", *words), message)


def test_merge_tells_the_agreement_and_the_rows_to_talk_about(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    head = "row,id,given,corrected,decision,reviewer,comment\n"
    (tmp_path / "a.csv").write_text(f"{head}1,x,no,yes,wrong,Ann,sure\n2,y,no,no,correct,Ann,\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text(f"{head}1,x,no,yes,wrong,Bob,\n2,y,no,yes,wrong,Bob,\n", encoding="utf-8")
    status, out, err = call("merge", "a.csv", "b.csv", "-o", "both.csv")
    assert (status, err) == (0, "")
    assert "Ann and Bob agree on 1 of 2 rows that both decided (Cohen's kappa 0.00)." in out
    assert "Rows to talk about: y" in out
    lines = (tmp_path / "both.csv").read_text(encoding="utf-8-sig").splitlines()
    assert [line.split(",")[6] for line in lines] == ["decision", "wrong", "unclear"]
    refused(call("merge", "a.csv", "b.csv", "-o", "both.csv"), "exists")
    refused(call("merge", "a.csv"), "two reviewers")
    told = json.loads(call("merge", "a.csv", "b.csv", "--json")[1])
    assert told["disputed"] == [{"row": 2, "id": "y"}]
    assert told["agreements"][0]["kappa"] == 0
