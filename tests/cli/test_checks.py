"""The loop for people with files: plan, check, continue, apply."""

import csv
import json
import re
from functools import partial

import numpy as np
import pytest

from command_line import refused, run_here
from kernelwise import Pairs, flip_labels
from kernelwise.review.audit import whole_numbers

pytest.importorskip("skops")


@pytest.fixture
def mails(tmp_path, monkeypatch):
    """A file with 120 rows, and the truth."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = np.where(np.arange(120) % 2 == 1, "spam", "ham")
    X = rng.normal(size=(120, 2)) + 2.0 * (truth == "spam")[:, None]
    given = flip_labels(truth, 0.2, random_state=0)
    lines = ["id,x,z,kind", *(f"m{i},{X[i, 0]:.3f},{X[i, 1]:.3f},{given[i]}" for i in range(120))]
    (tmp_path / "mails.csv").write_text("\n".join(lines) + "\n")
    return tmp_path, truth


def table(path, delimiter=","):
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines(), delimiter=delimiter))


def page_data(path):
    (stored,) = re.findall(r'id="report-data">(.*?)</script>', path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return json.loads(stored)


def fill_in(path, truth, delimiter=",", upper=False, n_rows=24):
    """Decide about the first rows as a person does in a spreadsheet, and save it as spreadsheets do."""
    rows = table(path)
    for row in rows[:n_rows]:
        found = truth[int(row["row"])]
        row["decision"], row["corrected"] = ("correct" if found == row["given"] else "wrong"), found
    rows.sort(key=lambda row: row["id"])  # people sort their tables
    header = list(rows[0])
    shown = [name.upper() if upper else name for name in [*header, "remark"]]
    cells = [
        [*(row[name].upper() if upper and name == "decision" else row[name] for name in header), "x"] for row in rows
    ]
    path.write_text("\n".join(delimiter.join(line) for line in [shown, *cells]) + "\n")


def test_plan_check_continue_apply(mails, capsys):
    folder, truth = mails
    call = partial(run_here, capsys)
    status, out, err = call(
        "audit", "labels", "mails.csv", "--label", "kind", "--checks", 24, "-o", "review.csv", "--json"
    )
    assert status == 0, err
    assert len(json.loads(out)["plan"]) == 24
    fill_in(folder / "review.csv", truth, delimiter=";", upper=True)
    again = ("audit", "labels", "mails.csv", "--label", "kind", "--checked", "review.csv", "--checks", 8)
    status, out, err = call(*again, "-o", "second.csv", "--report", "second.html", "--json")
    assert status == 0, err
    result = json.loads(out)
    bound = result["guarantee"]
    given = np.array([line.split(",")[3] for line in (folder / "mails.csv").read_text().splitlines()[1:]])
    assert bound["checked"] == 24
    assert bound["low"] <= np.mean(given != truth) <= bound["high"]
    assert result["noise_interval"] == [
        min(bound["low"], result["noise_rate"]),
        max(bound["high"], result["noise_rate"]),
    ]
    planned = {one["row"] for one in result["plan"]}
    second = table(folder / "second.csv")
    assert {int(row["row"]) for row in second[:8]} == planned
    status, out, err = call("audit", "labels", "mails.csv", "--label", "kind", "--checked", "second.csv", "--json")
    assert json.loads(out)["guarantee"] == bound, "a new review file keeps the verdicts of the last one"
    filled = table(folder / "review.csv", ";")
    checked = {int(row["ROW"]) for row in filled if row["DECISION"] != "SKIP"}
    assert not planned & checked
    assert "With 95" in (folder / "second.html").read_text()
    status, out, err = call("audit", "labels", "mails.csv", "--label", "kind", "--checked", "second.csv")
    said = " ".join(out.split())
    assert said.count("With 95 % confidence") == 1
    low, high = whole_numbers((bound["low"], bound["high"]), 120)
    if "Labels that look wrong: about" not in said:
        assert f"Labels that look wrong: {low} to {high} of 120." in said
    assert f"({low} to {high})" in said
    left = bound["high"] - bound["found"] / 120
    assert bound["remaining_at_most"] == pytest.approx(left)
    assert f"If you correct the {bound['found']} labels found so far, at most {left:.1%} of the labels" in said
    assert "chance it is wrong" in said
    summary = page_data(folder / "second.html")["summary"]
    assert summary["to_check"] == result["worth_checking"]
    assert summary["expected_wrong"] == pytest.approx(result["expected_wrong"], rel=1e-4)
    assert tuple(summary["between"]) == whole_numbers(result["noise_interval"], 120)
    status, out, err = call("apply", "mails.csv", "review.csv", "--verified", "verified.csv", "--json")
    assert status == 0, err
    corrected = [line.split(",")[3] for line in (folder / "mails-corrected.csv").read_text().splitlines()[1:]]
    assert all(corrected[row] == truth[row] for row in checked)
    kept = table(folder / "verified.csv")
    assert {int(row["row"]) for row in kept} == checked
    assert all(row["decision"] == "correct" and row["draw"] == "" for row in kept)


def test_classify_learns_from_checks_and_guarantees_the_accuracy(mails, capsys):
    folder, truth = mails
    call = partial(run_here, capsys)
    status, _, err = call("audit", "labels", "mails.csv", "--label", "kind", "--checks", 24, "-o", "review.csv")
    assert status == 0, err
    fill_in(folder / "review.csv", truth)
    asked = ("classify", "mails.csv", "--label", "kind", "--checked", "review.csv", "--model", "mails.skops")
    status, out, err = call(*asked, "-o", "predicted.csv", "--json")
    assert status == 0, err
    accuracy = json.loads(out)["card"]["accuracy"]
    right = np.mean([line["predicted kind"] == truth[row] for row, line in enumerate(table(folder / "predicted.csv"))])
    low, high = accuracy["true_interval"]
    assert accuracy["guaranteed"]
    assert low <= right <= high < 1.0 or right == high == 1.0
    status, out, _ = call(*asked, "--force")
    assert "With 95 % confidence, the model predicts between" in " ".join(out.split())


def test_a_typing_error_in_a_corrected_label_is_refused(mails, capsys):
    folder, _ = mails
    call = partial(run_here, capsys)
    call("audit", "labels", "mails.csv", "--label", "kind", "-o", "review.csv")
    first = table(folder / "review.csv")[0]
    header = "row,id,column,given,corrected,decision"
    wrong = f"{first['row']},{first['id']},kind,{first['given']},spm,wrong"
    (folder / "typo.csv").write_text(f"{header}\n{wrong}\n")
    refused(call("apply", "mails.csv", "typo.csv"), "'spm', a label that no row of the data has; write 'spam'")
    assert not (folder / "mails-corrected.csv").exists()
    refused(call("audit", "labels", "mails.csv", "--label", "kind", "--checked", "typo.csv"), "is corrected to 'spm'")


def test_checks_without_draws_are_said_to_guarantee_nothing(mails, capsys):
    folder, truth = mails
    call = partial(run_here, capsys)
    call("audit", "labels", "mails.csv", "--label", "kind", "--checks", 24, "-o", "review.csv")
    fill_in(folder / "review.csv", truth)
    lines = [
        [row[name] for name in ("row", "id", "column", "given", "corrected", "decision")]
        for row in table(folder / "review.csv")
    ]
    (folder / "short.csv").write_text(
        "\n".join(",".join(line) for line in [["row", "id", "column", "given", "corrected", "decision"], *lines])
    )
    status, out, err = call("audit", "labels", "mails.csv", "--label", "kind", "--checked", "short.csv")
    assert status == 0, err
    assert "The 24 checked rows were not drawn at random, so they guarantee nothing about the others." in " ".join(
        out.split()
    )


def test_verdicts_of_another_version_are_refused(mails, capsys):
    folder, _ = mails
    audit = partial(run_here, capsys, "audit", "labels", "mails.csv", "--label", "kind", "--checked", "found.csv")
    given = (folder / "mails.csv").read_text().splitlines()[2].rsplit(",")[-1]  # the label of row 1, in line 3
    other = {"ham": "spam", "spam": "ham"}[given]
    for content, message in (
        (f"line;Given;Corrected;Decision\n3;{other};{other};Correct\n", "another version of the data"),
        (f"line;Given;Corrected;Decision\n1;{given};{given};Correct\n", "line must be a whole number from 2"),
        (f"row,id,given,corrected,decision\n1,m7,{given},{given},correct\n", "another version of the data"),
        (f"row,given,corrected,decision,chance\n1,{given},,unclear,0\n", "chance must be above zero"),
        ("row,given,corrected,decision\n999,ham,spam,wrong\n", "row 999 is not one of the 120 rows"),
        (f"row,given,corrected,decision\n1,{given},{given},perhaps\n", "decision must be one of"),
    ):
        (folder / "found.csv").write_text(content)
        refused(audit(), message)


@pytest.fixture
def friends(tmp_path, monkeypatch):
    """A file of people, a file of pairs that say "same" or "different", and the true labels of the pairs."""
    monkeypatch.chdir(tmp_path)
    y = np.repeat([0, 1], 30)
    X = np.random.default_rng(0).normal(size=(60, 2)) + 2.0 * y[:, None]
    pairs = Pairs.from_labels(y, n_pairs=200, random_state=0).flip(0.2, random_state=0)
    (tmp_path / "people.csv").write_text(
        "\n".join(["id,x,z", *(f"p{i},{a:.3f},{b:.3f}" for i, (a, b) in enumerate(X))]) + "\n"
    )
    lines = [f"p{i},p{j},{label}" for i, j, label in zip(pairs.rows, pairs.cols, pairs.labels, strict=True)]
    (tmp_path / "pairs.csv").write_text("\n".join(["a,b,same", *lines]) + "\n")
    return tmp_path, pairs, pairs.true_labels(y)


def test_plan_check_and_continue_with_pairs(friends, capsys):
    folder, pairs, truth = friends
    call = partial(run_here, capsys, "audit", "pairs", "people.csv", "pairs.csv", "--id", "id")
    status, out, err = call("--checks", 30, "-o", "review.csv", "--report", "review.html", "--json")
    assert status == 0, err
    plan = json.loads(out)["plan"]
    assert [one["row"] for one in plan] == [int(row["row"]) for row in table(folder / "review.csv")[:30]]
    assert plan[0]["id"] == f"p{pairs.rows[plan[0]['row']]} - p{pairs.cols[plan[0]['row']]}"
    fill_in(folder / "review.csv", np.array([f"'{label}" if label < 0 else "1" for label in truth]), n_rows=30)
    status, out, err = call("--checked", "review.csv", "--checks", 10, "-o", "second.csv", "--json")
    assert status == 0, err
    result = json.loads(out)
    bound, checked = result["guarantee"], {one["row"] for one in plan}
    assert bound["checked"] == 30
    assert bound["low"] <= np.mean(pairs.labels != truth) <= bound["high"]
    assert not checked & {one["row"] for one in [*result["plan"], *result["suspects"]]}
    status, out, err = call("--checked", "second.csv")
    assert "With 95 % confidence" in out
    others = (folder / "review.csv").read_text().replace(",p", ",q")
    (folder / "others.csv").write_text(others)
    refused(call("--checked", "others.csv"), "another version of the data")
