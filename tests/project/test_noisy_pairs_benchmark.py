"""The benchmark of features with noisy pairs: its draws, its baseline, its records and its tables, on small sets."""

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kernelwise import Pairs

ROOT = Path(__file__).parents[2]
NAME = "benchmarks.noisy_pairs_clusters"


@pytest.fixture
def parts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: import_module(f"{NAME}.{name}")


def test_pairs_are_distinct_uniform_and_flipped_as_told(parts):
    draws = parts("draws")
    rows, cols = draws._ends(np.arange(300 * 299 // 2))
    assert (rows < cols).all()
    assert len(np.unique(rows * 300 + cols)) == 300 * 299 // 2
    assert cols.max() == 299
    few, many = (draws.draw("wine", "10n", flips, seed=1) for flips in (0.1, 0.4))
    given = few.task.pairs
    keys = np.r_[given.rows * 178 + given.cols, few.unseen[0] * 178 + few.unseen[1]]
    assert len(given) == 1780
    assert len(np.unique(keys)) == 1780 + 2000  # nothing twice, and nothing unseen is given
    assert (many.truth == few.truth).all()
    assert (many.wrong >= few.wrong).all()  # a larger rate flips the same labels and more
    assert few.wrong.mean() == pytest.approx(0.1, abs=0.02)
    assert not draws.draw("wine", "n", 0.0, seed=0).wrong.any()


def test_groups_of_right_pairs_are_the_components_of_the_positive_ones(parts):
    y = np.arange(60) % 3
    pairs = Pairs.from_labels(y, n_pairs=80, random_state=0)
    positive = pairs.positive
    links = coo_array((np.ones(len(positive)), (positive.rows, positive.cols)), shape=(60, 60))
    expected = connected_components(links, directed=False)[1]
    found = parts("methods").merged_groups(pairs)
    np.testing.assert_array_equal(found[:, None] == found, expected[:, None] == expected)


def test_a_majority_of_negative_pairs_keeps_groups_apart(parts):
    """Two triangles, each of whose pairs is given twice, joined by one positive and two negative pairs."""
    inside = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)]
    ends = np.array([*inside, *inside, (0, 3), (1, 4), (2, 5)])
    pairs = Pairs(*ends.T, [1] * 13 + [-1] * 2, n_samples=6)
    assert parts("methods").merged_groups(pairs).tolist() == [0, 0, 0, 1, 1, 1]


def test_records_are_kept_and_read_into_tables(parts, tmp_path, capsys):
    line = parts("__main__")
    arguments = ["--output", str(tmp_path), "--methods", "kmeans", "closure", "--sets", "iris"]
    assert line.main(["run", *arguments, "--cells", "n:0.0", "n:0.2"]) == 0
    records = [json.loads(text) for text in (tmp_path / "closure.jsonl").read_text().splitlines()]
    assert len(records) == 2 * 3
    assert {record["status"] for record in records} == {"answered"}
    assert line.main(["run", *arguments, "--cells", "n:0.0"]) == 0  # nothing is left to run
    assert len((tmp_path / "closure.jsonl").read_text().splitlines()) == 6
    capsys.readouterr()
    assert line.main(["table", *arguments]) == 0
    shown = capsys.readouterr().out
    mean = np.mean([record["nmi"] for record in records if record["flips"] == 0])
    assert f"| closure | {mean:.3f} ± " in shown
    assert line.main(["check", "--output", str(tmp_path)]) == 1
    assert "has no records of NoisyPairClustering" in capsys.readouterr().out


def test_a_method_that_takes_too_long_or_refuses_is_a_result(parts, monkeypatch):
    records, answers, methods = parts("records"), parts("answers"), parts("methods")

    def endless(task):
        while True:
            pass

    def refusing(task):
        raise answers.Refused("these pairs contradict one another")

    monkeypatch.setattr(records, "CPU_LIMIT", 0.05)
    cell = parts("draws").draw("iris", "n", 0.0, 0)
    for method, status in ((endless, "too slow"), (refusing, "refused")):
        monkeypatch.setitem(methods.METHODS, "tried", method)
        assert records.measured("tried", cell)["status"] == status


def test_demands_compare_the_same_tasks(parts, tmp_path):
    """Made-up records: ours is above k-means by .1 on one set and below by .1 on another."""
    records = parts("records")
    for method, wine in (("kmeans", 0.5), ("noisy_pairs", 0.4)):
        for name, nmi in (("iris", 0.5 + 0.1 * (method == "noisy_pairs")), ("wine", wine)):
            record = {"method": method, "set": name, "pairs": "3n", "flips": 0.2, "seed": 0, "n_clusters": 3}
            told = {"nmi": nmi, "rates": [0.2, 0.3], "flipped": [0.2, 0.2], "intervals": [[0.1, 0.3], [0.25, 0.35]]}
            records.append(tmp_path, method, record | told | {"balanced_accuracy": 0.95, "status": "answered"})
    rows = {row["measurement"]: row for row in parts("demands").demands(tmp_path, ("kmeans",))}
    least = next(row for name, row in rows.items() if name.startswith("NMI above k-means, flips up to 30 %"))
    assert least["value"] == pytest.approx(-0.1)
    assert not least["met"]
    assert rows["NMI above kmeans: least of 1 columns (3n, 0.2)"]["value"] == pytest.approx(0.0)
    assert rows["mean error of both rates at 3n pairs and more"]["value"] == pytest.approx(0.05)
    assert rows["95 % intervals that hold the fraction, all pairs"]["value"] == pytest.approx(0.5)
    assert rows["balanced accuracy of unseen pairs at 3n pairs, 20 % flips"]["met"]
