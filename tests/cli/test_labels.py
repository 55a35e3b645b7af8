"""Labels on the command line: audit, review, apply, classify, predict."""

import csv
import json
import shutil
from functools import partial

import numpy as np
import pandas as pd
import pytest

from command_line import names, refused, run_here, spawn
from kernelwise import NoisyLabelClassifier, flip_labels
from kernelwise.labels.describe import column_importances

pytest.importorskip("skops")

WRONG = 0.15


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(capsys):
    """Run a command in this process."""
    return partial(run_here, capsys)


@pytest.fixture(scope="module")
def truth():
    """Two classes, a boundary that is not straight, a category that helps; a note and an id that do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, "yes", "no")
    given = flip_labels(y, WRONG, random_state=1)
    site = np.where((y == "yes") == (rng.random(160) < 0.8), "north", "south")
    return X, y, given, site


def write_people(folder, truth):
    X, _, given, site = truth
    lines = ["person,height,weight,age,site,approved"]
    for i in range(160):
        age = "" if i == 5 else f"{X[i, 2]:.3f}"
        lines.append(f"p{i},{X[i, 0]:.3f},{X[i, 1]:.3f},{age},{site[i]},{given[i]}")
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def people(folder, truth):
    return write_people(folder, truth)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, truth):
    """A model that was made once, by a process of its own."""
    folder = write_people(tmp_path_factory.mktemp("fitted"), truth)
    status, _, err = spawn("classify", folder / "people.csv", "--label", "approved", "-m", folder / "m.skops", "-q")
    assert (status, err) == (0, "")
    return folder / "m.skops"


@pytest.fixture
def model(people, fitted):
    return shutil.copy(fitted, people / "m.skops")


def rows_of(path):
    with open(path, newline="", encoding="utf-8-sig") as stream:
        return list(csv.DictReader(stream))


def test_audit_review_apply(people, call, truth):
    """The whole way: find suspects, decide about them in the CSV, write the corrected data."""
    _, y, given, _ = truth
    status, out, err = call(
        "audit", "labels", "people.csv", "--label", "approved", "-o", "review.csv", "--report", "r.html"
    )
    assert status == 0, err
    assert "160 rows, 2 classes" in out
    assert "Missing in column 'age': line 7" in out
    assert "indicators of 2 categories" in out
    review = rows_of("review.csv")
    assert len(review) == 160
    qualities = [float(row["quality"]) for row in review]
    assert qualities == sorted(qualities)
    wrong = set(np.flatnonzero(given != y))
    top = [int(row["row"]) for row in review[: len(wrong)]]
    assert len(wrong.intersection(top)) > 0.5 * len(wrong)  # by chance it would be 0.15
    page = (people / "r.html").read_text(encoding="utf-8")
    assert "people.csv" in page
    assert "p77" in page

    for row in review[:10]:
        row["decision"] = "correct" if row["corrected"] == row["given"] else "wrong"
    with open("decided.csv", "w", newline="") as stream:
        writer = csv.DictWriter(stream, review[0])
        writer.writeheader()
        writer.writerows(review)
    status, _, err = call("apply", "people.csv", "decided.csv", "-o", "fixed.csv")
    assert status == 0, err
    before, after = rows_of("people.csv"), rows_of("fixed.csv")
    changed = [i for i in range(160) if before[i] != after[i]]
    assert sorted(changed) == sorted(int(row["row"]) for row in review[:10] if row["decision"] == "wrong")
    assert all(after[i]["approved"] != before[i]["approved"] for i in changed)


def test_audit_as_json_says_what_people_are_told(people, call):
    status, out, err = call(
        "audit", "labels", "people.csv", "--label", "approved", "--id", "person", "--json", "--quiet"
    )
    assert (status, err) == (0, "")
    result = json.loads(out)
    low, high = result["noise_interval"]
    assert low <= result["noise_rate"] <= high
    assert result["data"]["missing"] == {"age": [7]}
    assert result["suspects"][0].keys() == {"row", "id", "given", "suggested", "quality"}
    assert len(result["suspects"]) >= result["worth_checking"]
    assert sum(result["columns"].values()) == pytest.approx(1.0)
    assert "site" in result["columns"]
    assert names(people) == ["people.csv"]


def test_columns_matter_as_much_as_in_python(folder, call):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    given = flip_labels(np.where(X[:, 0] + 0.5 * X[:, 1] > 0, "yes", "no"), 0.1, random_state=0)
    frame = pd.DataFrame(X, columns=["height", "weight", "age"])
    frame.assign(approved=given).to_csv("people.csv", index=False)
    _, out, _ = call("audit", "labels", "people.csv", "--label", "approved", "--json", "-q")
    model = NoisyLabelClassifier(random_state=0).fit(frame, given)
    wanted = dict(zip(frame.columns, model.feature_importances_, strict=True))
    assert json.loads(out)["columns"] == pytest.approx(wanted, abs=1e-3)
    assert column_importances(model, list(frame.columns)) == pytest.approx(wanted)


def test_a_typo_is_the_first_suspect_and_a_row_without_a_label_is_predicted(people, call):
    lines = (people / "people.csv").read_text().splitlines()
    place = lines[0].split(",").index("approved")
    for number, label in ((5, "yess"), (9, "")):
        cells = lines[number].split(",")
        cells[place] = label
        lines[number] = ",".join(cells)
    (people / "people.csv").write_text("\n".join(lines) + "\n")
    status, out, err = call("audit", "labels", "people.csv", "--label", "approved", "--json", "--quiet")
    assert (status, err) == (0, "")
    result = json.loads(out)
    assert (result["suspects"][0]["row"], result["suspects"][0]["given"]) == (4, "yess")
    assert result["suspects"][0]["suggested"] in ("yes", "no")
    assert [(one["row"], one["suggested"] in ("yes", "no")) for one in result["without_label"]] == [(8, True)]
    status, out, _ = call("audit", "labels", "people.csv", "--label", "approved", "--report", "page.html", "--quiet")
    assert status == 0
    assert "159 rows, 3 classes" in out
    assert "Rows without a label" in out
    assert "Errors that follow a rule in the features are not counted" in out


def test_the_seed_decides_the_result(people, call):
    runs = [call("audit", "labels", "people.csv", "--label", "approved", "--json", "-q", "--seed", 3) for _ in range(2)]
    assert runs[0] == runs[1]


def test_classify(people, call):
    status, out, err = call("classify", "people.csv", "--label", "approved", "--model", "m.skops")
    assert status == 0, err
    assert "Model for 'approved' (no, yes)" in out
    assert names(people) == ["m.skops", "people.csv"]


def test_predict(people, model, call, truth):
    X, y, _, site = truth
    # New rows: other order of the columns, no label, a category that was never seen.
    new = [f"{X[i, 2]:.3f},{site[i] if i else 'east'},{X[i, 1]:.3f},n{i},{X[i, 0]:.3f}" for i in range(160)]
    (people / "new.csv").write_text("age,site,weight,who,height\n" + "\n".join(new) + "\n")
    status, _, err = call("predict", "m.skops", "new.csv", "--id", "who", "-o", "predicted.csv")
    assert status == 0, err
    predicted = rows_of("predicted.csv")
    assert [row["who"] for row in predicted] == [f"n{i}" for i in range(160)]
    assert np.mean([row["approved"] for row in predicted] == y) > 0.8
    assert all(0.5 <= float(row["probability"]) <= 1.0 for row in predicted)
    found = json.loads(call("predict", "m.skops", "new.csv", "--id", "who", "--json")[1])["predictions"]
    assert [one["probability"] for one in found] == [float(row["probability"]) for row in predicted]


def test_card_says_how_the_model_was_made(model):
    from kernelwise.files import file_hash, read_card

    card = read_card(model)
    assert card["data"]["sha256"] == file_hash("people.csv")
    assert card["label"] == "approved"
    assert card["classes"] == ["no", "yes"]
    assert {"created", "versions", "noise", "certificate", "seed"} <= card.keys()
    assert {row["column"] for row in card["data"]["columns"]} == {"height", "weight", "age", "site", "person"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"height,weight,site\n1,2,north\n", "new.csv has no column 'age'"),
        (b"height,weight,age,site\n1,tall,3,north\n", "new.csv, line 2, column 'weight': 'tall' is not a number"),
        (b"", "new.csv is empty"),
        (b"height,weight,age,site\n", "has a header but no rows"),
    ],
)
def test_rows_that_the_model_cannot_read(model, call, content, message):
    (model.parent / "new.csv").write_bytes(content)
    refused(call("predict", "m.skops", "new.csv", "-o", "predicted.csv"), message)
    assert names(model.parent) == ["m.skops", "new.csv", "people.csv"]


def test_a_file_that_is_no_model(people, call):
    (people / "m.skops").write_bytes(b"\x80\x04cos\nsystem\n")
    refused(call("predict", "m.skops", "people.csv"), "m.skops is not a model: it is a pickle of Python")


BAD = {
    "no such label": ("x,label\n1,a\n2,b\n", ["--label", "lable"], "no column 'lable'; did you mean 'label'?"),
    "one class": ("x,label\n1,a\n2,a\n", ["--label", "label"], "has one label only, 'a'; two labels are"),
    "no label at all": ("x,label\n1,\n2,\n", ["--label", "label"], "column 'label' is empty; two labels are needed"),
    "not classes": ("x,label\n1,a\n2,b\n3,c\n4,d\n", ["--label", "label"], "4 different labels in 4 rows"),
    "no features": ("label\na\nb\na\nb\n", ["--label", "label"], "no column to learn from besides label"),
    "repeated id": ("id,x,label\nu,1,a\nu,2,b\n", ["--label", "label", "--id", "id"], "'u' is also the id of line 2"),
    "kind": ("x,label\n1,a\n2,b\n", ["--label", "label", "--kind", "x=colour"], "'colour' is not a kind of column"),
    "ragged": ("x,label\n1\n2,b\n", ["--label", "label"], "data.csv, line 2: 1 cell where the header has 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_labels_are_refused_and_nothing_written(folder, call, case):
    content, options, message = BAD[case]
    (folder / "data.csv").write_text(content)
    refused(call("audit", "labels", "data.csv", *options, "-o", "out.csv"), message)
    refused(call("classify", "data.csv", *options, "-m", "m.skops"), message)
    assert names(folder) == ["data.csv"]


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".svm"])
def test_other_formats(folder, call, truth, suffix):
    X, _, given, _ = truth
    path, label = folder / f"data{suffix}", "label"
    if suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "label": given}), path)
    elif suffix == ".npz":
        np.savez(path, X=X, label=given)
    else:
        lines = [f"{int(t == 'yes')} 1:{row[0]:.4f} 2:{row[1]:.4f}" for row, t in zip(X, given, strict=True)]
        path.write_text("\n".join(lines) + "\n")
    status, out, err = call("audit", "labels", path, "--label", label, "--json", "-o", "review.csv")
    assert status == 0, err
    assert json.loads(out)["data"]["rows"] == 160
    assert len(rows_of("review.csv")) == 160


@pytest.mark.slow
def test_predict_as_a_process(people, model):
    status, out, err = spawn("predict", "m.skops", "people.csv", "--json", "-q")
    assert (status, err) == (0, "")
    assert sum(json.loads(out)["counts"].values()) == 160
