"""The page of labels in tables that are larger than memory, and the suspects of every chunk."""

import csv
import json
import re
from functools import partial

import numpy as np
import pytest

from command_line import names, refused, run_here
from kernelwise import flip_labels

pytest.importorskip("skops")
N_ROWS = 2600


@pytest.fixture
def parcels(tmp_path, monkeypatch):
    """Two files of parcels with a colour; returns their folder, and which labels are wrong."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = np.where(np.arange(N_ROWS) % 2 == 1, "late", "on time")
    days = rng.normal(size=N_ROWS) + 4.0 * (truth == "late")
    colour = np.where(rng.random(N_ROWS) < 0.8, np.where(truth == "late", "red", "blue"), "green")
    given = flip_labels(truth, 0.1, random_state=0)
    folder = tmp_path / "parcels"
    folder.mkdir()
    for number, rows in enumerate(np.split(np.arange(N_ROWS), [1500])):
        lines = [f"p{row},{days[row]:.3f},{colour[row]},{given[row]}" for row in rows]
        (folder / f"part-{number}.csv").write_text("\n".join(["name,days,colour,label", *lines]) + "\n")
    return tmp_path, given != truth


def test_suspects_of_every_chunk_and_a_page(parcels, capsys):
    folder, wrong = parcels
    asked = ("audit", "labels", "parcels", "--label", "label", "--id", "name", "--chunk-rows", 1000, "--sample", 600)
    call = partial(run_here, capsys, *asked)
    status, out, err = call("--output", "suspects", "--report", "page.html", "--json")
    assert status == 0, err
    result = json.loads(out)
    assert result["data"]["rows"] == N_ROWS
    low, high = result["noise_interval"]
    assert low <= wrong.mean() <= high
    parts = [name for name in names(folder / "suspects") if name.startswith("part-")]
    assert parts == [f"part-{start:012d}.csv" for start in (0, 1000, 1500, 2500)]
    with open(folder / "suspects" / "most-suspect.csv", newline="", encoding="utf-8") as stream:
        listed = [int(row["row"]) for row in csv.DictReader(stream)]
    assert wrong[listed[:100]].mean() > 0.95
    report = json.loads(re.search(r'<script[^>]*id="report-data"[^>]*>(.*?)</script>', page(folder), re.S)[1])
    assert report["suspects"]["row"] == listed[:200]
    assert report["suspects"]["id"][0] == f"p{listed[0]}"
    assert report["summary"]["n"] == N_ROWS
    assert report["summary"]["to_check"] == result["worth_checking"]
    assert [column["name"] for column in report["columns"]] == ["days", "colour"]
    assert len(report["details"][0]["near"]) == 3
    refused(call("--output", "suspects"), "must be a new or an empty folder")
    refused(call("--report", "page.html"), "page.html")
    refused(call("--checks", 5), "--checks needs the whole table in memory")


def page(folder):
    return (folder / "page.html").read_text(encoding="utf-8")
