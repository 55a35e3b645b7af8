"""Audits of tables that are read in chunks, from the command line."""

import gzip
import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

from command_line import names, refused, run_here
from kernelwise import audit_labels
from kernelwise.files.chunks import FilePart, read_chunks
from kernelwise.files.reading import data_files

N = 1500


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2)).round(6)
    truth = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    label = np.where(rng.random(N) < 0.1, np.where(truth == "yes", "no", "yes"), truth).astype(object)
    label[:3], label[4] = "Yes", None
    table = pd.DataFrame(X, columns=["a", "b"]).assign(colour=np.where(X[:, 1] > 0, "red", "blue"))
    table.loc[N - 1, "a"] = np.nan
    return table.assign(name=[f"r{row}" for row in range(N)], label=label)


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return partial(run_here, capsys)


AUDIT = ("--label", "label", "--id", "name", "--sample", 500, "--json", "--quiet")


def test_chunks_of_all_formats_give_one_answer(frame, call, tmp_path):
    frame.to_csv("rows.csv", index=False)
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress((tmp_path / "rows.csv").read_bytes()))
    frame.to_parquet("rows.parquet", row_group_size=400)
    (tmp_path / "parts").mkdir()
    for k in range(3):
        frame[500 * k : 500 * (k + 1)].to_csv(f"parts/p{k}.csv", index=False)
    found = []
    for data, rows in (("rows.csv", 1000), ("rows.csv.gz", 1100), ("rows.parquet", 1200), ("parts", 1000)):
        status, out, err = call("audit", "labels", data, *AUDIT, "--chunk-rows", rows, "-o", f"out-{data}")
        assert status == 0, err
        found.append(json.loads(out))
    with pytest.warns(UserWarning, match="'Yes' as 'yes'"):
        audit = audit_labels(frame.drop(columns=["label", "name"]), frame["label"], sample_size=500, random_state=0)
    for result in found:
        assert result["noise_rate"] == pytest.approx(audit.noise_rate, abs=1e-9)
        assert [one["id"] for one in result["suspects"][:50]] == [f"r{row}" for row in audit.order[:50]]
        assert result["worth_checking"] == audit.worth_checking()
        assert result["data"]["rows"] == N - 1
        assert "'Yes' (3 rows) is taken as 'yes'" in result["notes"][0]
    assert names(tmp_path / "out-rows.csv") == ["most-suspect.csv", "part-000000000000.csv", "part-000000001000.csv"]
    listed = pd.concat([pd.read_csv(path) for path in (tmp_path / "out-parts").glob("part-*.csv")])
    assert len(listed) == audit.worth_checking()
    assert set(listed["row"]) == set(np.flatnonzero(audit.quality < 0.5))


def test_what_cannot_be_done_in_chunks_is_refused_in_a_sentence(frame, call, tmp_path):
    frame[:50].to_csv("rows.csv", index=False)
    chunks = ("audit", "labels", "rows.csv", "--label", "label", "--chunk-rows", 1000)
    refused(call(*chunks, "--checks", 5), "--checks needs the whole table in memory")
    refused(call("audit", "labels", "rows.csv", "--label", "lable", "--chunk-rows", 1000), "has no column 'lable'")
    refused(call("audit", "labels", "none-*.csv", "--label", "label"), "there is no file none-*.csv")
    refused(call(*chunks, "--cluster", "tcp://127.0.0.1:1"), "there is no Dask scheduler at 'tcp://127.0.0.1:1'")
    refused(call(*chunks, "--output", "rows.csv"), "--output rows.csv must be a new or an empty folder")
    refused(call(*chunks, "--sample", 3), "sample_size=3 is too small")
    frame[:50].assign(label="yes").to_csv("rows.csv", index=False)
    refused(call(*chunks), "has one label only, 'yes'")
    (tmp_path / "rows.csv").write_bytes(b"a,label\n1,x\n2,\xe9\n")
    refused(call(*chunks), "byte 0xe9 is not UTF-8")
    (tmp_path / "rows.csv").write_bytes(b"a,label\n1,x\n2,y,z\n")
    refused(call(*chunks), "rows.csv, line 3: 3 cells where the header has 2")


def test_lines_are_those_of_a_spreadsheet(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('a,label\n"1\n2",x\n3,y\n\n4,x\n')
    chunks = list(read_chunks(FilePart(path), 2, columns=["label"]))
    assert [chunk.lines.tolist() for chunk in chunks] == [[2, 3], [5]]
    assert [chunk["label"].values.tolist() for chunk in chunks] == [["x", "y"], ["x"]]
    only = list(read_chunks(FilePart(path), 2, columns=["label"], only="label"))
    assert [chunk.names for chunk in only] == [["label"], ["label"]]
    assert data_files(tmp_path) == [path]


def test_a_column_that_says_who_gave_the_labels_is_no_feature(frame, call):
    who = np.where(frame["label"] == "yes", "Ann", "Bob")
    who[::7] = "Cy"
    frame.assign(labeled_by=who).to_csv("who.csv", index=False)
    status, out, err = call("audit", "labels", "who.csv", *AUDIT, "--chunk-rows", 1000)
    assert status == 0, err
    assert "'labeled_by' says who gave the label" in err
    found = json.loads(out)
    assert "labeled_by" not in found["columns"]
    became = {one["column"]: one["becomes"] for one in found["data"]["columns"]}
    assert became["labeled_by"] == "not used: it says who gave the label"
    status, out, err = call(
        "audit", "labels", "who.csv", *AUDIT, "--chunk-rows", 1000, "--kind", "labeled_by=categorical"
    )
    assert "labeled_by" in json.loads(out)["columns"]
