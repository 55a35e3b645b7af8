"""What values and words say for the given and for the suggested label, counted over trusted rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from kernelwise import LabelAudit
from kernelwise.report import label_report
from kernelwise.report.evidence import ADDED_ROWS, Trusted, ValueEvidence, WordEvidence


def two_classes(n=200, seed=0):
    """Rows of "cat" and "dog", of which the first ten have the other label and are suspect."""
    rng = np.random.default_rng(seed)
    true = np.arange(n) % 2
    given = np.where(np.arange(n) < 10, 1 - true, true)
    quality = np.where(np.arange(n) < 10, 0.1, rng.uniform(0.6, 0.99, n))
    classes = np.array(["cat", "dog"], dtype=object)
    probabilities = np.empty((n, 2))
    probabilities[np.arange(n), given], probabilities[np.arange(n), 1 - given] = quality, 1 - quality
    audit = LabelAudit(
        classes[given], quality, classes[probabilities.argmax(axis=1)], probabilities, classes,
        noise_rate=0.05, noise_interval=(0.03, 0.07), transition=np.eye(2),
    )  # fmt: skip
    return audit, true


def test_weights_follow_the_formula():
    codes = np.array([0, 0, 0, 1, 1, 1, -1])
    column = np.array(["a", "a", "b", "b", "b", "b", "a"], dtype=object)
    said = ValueEvidence(column, Trusted(codes, 2))
    share = {("a", 0): (2 + ADDED_ROWS / 2) / 3, ("a", 1): (0 + ADDED_ROWS / 2) / 3}
    assert said.weight(6, 0, 1) == pytest.approx(np.log(share["a", 1] / share["a", 0]))
    assert said.weight(6, 1, 0) == -said.weight(6, 0, 1)


def test_a_trusted_row_does_not_count_itself():
    codes = np.array([0] * 50 + [1] * 50)
    names = np.array([f"name {row}" for row in range(100)], dtype=object)
    said = ValueEvidence(names, Trusted(codes, 2))
    # Every name occurs once: what is left without the row itself is nothing.
    assert all(abs(said.weight(row, 0, 1)) < 0.03 for row in (0, 99))
    assert said.information() < 0.001


def test_numbers_are_counted_in_parts_and_missing_cells_are_values():
    codes = np.array([0] * 100 + [1] * 100)
    column = np.concatenate([np.linspace(0, 1, 100), np.linspace(2, 3, 90), np.full(10, np.nan)])
    said = ValueEvidence(column, Trusted(codes, 2))
    assert said.weight(0, 0, 1) < -2
    assert said.weight(150, 0, 1) > 2
    assert said.weight(199, 0, 1) > 1  # only rows of the second class have no value
    assert ValueEvidence(np.full(200, 7.0), Trusted(codes, 2)).weight(0, 0, 1) == pytest.approx(0.0, abs=0.02)


def test_information_ranks_columns_and_forgives_chance(rng):
    codes = np.arange(400) % 2
    trusted = Trusted(codes, 2)
    clear, weak = codes + rng.normal(size=400), codes + 4 * rng.normal(size=400)
    noise = [ValueEvidence(rng.normal(size=400), trusted).information() for _ in range(20)]
    assert ValueEvidence(clear, trusted).information() > 5 * max(
        ValueEvidence(weak, trusted).information(), np.mean(noise)
    )
    assert np.mean(noise) < 0.01


def test_marked_words_speak_for_the_label_in_whose_texts_they_are():
    audit, true = two_classes()
    rng = np.random.default_rng(1)
    own = np.array([["purr", "milk"], ["bark", "bone"]])
    texts = [
        f"The {rng.choice(own[kind])} was {row}; {rng.choice(own[kind]).upper()}!" for row, kind in enumerate(true)
    ]
    texts[0] += " Zebra bark?"
    report = label_report(audit, X=pd.DataFrame({"story": texts}))
    assert report["columns"][0]["kind"] == "words"  # too short for the width of the page
    for row, detail in zip(report["suspects"]["row"], report["details"], strict=True):
        for word, weight in detail["marks"]["0"]:
            speaks_for = "dog" if word in own[1] else "cat"
            assert word in {*own[0], *own[1]}  # neither "the", which all have, nor "zebra", which is in one text
            assert (weight > 0) == (audit.alternative[row] == speaks_for)
    first = report["details"][report["suspects"]["row"].index(0)]
    assert {"bark"} < {word for word, _ in first["marks"]["0"]} <= {"purr", "milk", "bark"}
    assert {*report["columns"][0]["words"][0]} >= {"purr", "milk"}
    noise = rng.choice(["red", "blue"], 200)
    both = label_report(audit, X=pd.DataFrame({"noise": noise, "story": texts}))["figures"]["columns"]["bars"]
    assert both[0][0] == 1  # the words matter, and all but alone
    assert both[0][1] > 0.95


def test_long_texts_get_the_width_and_neighbours_are_near_in_words():
    audit, true = two_classes()
    texts = [
        " ".join(["cat purr milk" if kind == 0 else "dog bark bone"] * 90) + f" {row}" for row, kind in enumerate(true)
    ]
    report = label_report(audit, X=pd.DataFrame({"story": texts}))
    assert report["columns"][0]["kind"] == "text"
    detail = report["details"][0]
    assert len(detail["near"]) == 3
    for near in detail["near"]:
        assert audit.labels[near["row"]] == audit.alternative[report["suspects"]["row"][0]]
        assert near["values"][0] == texts[near["row"]][:800] + "…"


def test_features_say_for_which_label_they_speak():
    audit, true = two_classes()
    rng = np.random.default_rng(2)
    X = pd.DataFrame(
        {"noise": rng.normal(size=200), "size": true + rng.normal(size=200) / 4, "sort": np.where(true, "b", "a")}
    )
    report = label_report(audit, X=X)
    for row, detail in zip(report["suspects"]["row"][:10], report["details"][:10], strict=True):
        noise, size, sort = detail["telling"]
        assert sort > 2, row  # suspects have the values of the other class
        assert abs(noise) < sort
        assert size > 0
    bars = report["figures"]["columns"]
    assert bars["by"] == "values"
    assert [at for at, _ in bars["bars"]][:2] == [2, 1]
    assert sum(share for _, share in bars["bars"]) == pytest.approx(1.0, abs=1e-4)
    weighed = label_report(audit, X=X, column_weights={"size": 0.75, "noise": 0.25})["figures"]["columns"]
    assert weighed == {"by": "model", "bars": [[1, 0.75], [0, 0.25]]}
    assert report["columns"][2]["typical"]["shares"] in ([1.0, 0.0], [0.0, 1.0])
    with pytest.raises(ValueError, match="column_weights must be finite"):
        label_report(audit, X=X, column_weights={"size": np.nan})


def test_words_of_sparse_rows_are_marked():
    audit, true = two_classes()
    X = csr_array(np.column_stack([true == 0, true == 1, np.ones(200)]).astype(float))
    detail = label_report(audit, X=X, feature_names=["purr", "bark", "the"])["details"][0]
    assert [word for word, _ in detail["marks"]["0"]] in (["purr"], ["bark"])
    assert detail["marks"]["0"][0][1] > 0


def test_neighbours_are_near_in_the_encoded_rows():
    audit, _ = two_classes()
    place = np.arange(200.0)
    report = label_report(audit, X=pd.DataFrame({"name": [f"n{row}" for row in range(200)]}), encoded=place[:, None])
    near = report["details"][0]["near"]
    assert len(near) == 3
    distances = [abs(place[one["row"]] - place[report["suspects"]["row"][0]]) for one in near]
    assert distances == sorted(distances)


def test_texts_without_words_have_no_evidence():
    said = WordEvidence.of_texts(np.array(["!", "?", None], dtype=object), Trusted(np.array([0, 1, 0]), 2))
    assert said.marked(0, 0, 1) == []
    assert said.typical() == [[], []]


def test_a_column_that_tells_nothing_does_not_seem_to_tell(rng):
    """Even if qualities follow the column a little, as they do by chance."""
    label, gender = np.repeat(["no", "yes"], 60), np.tile(["f", "m"], 60)
    quality = 0.9 + 0.01 * np.where(label == "no", gender == "f", gender == "m")
    found = np.where(
        (label == "no")[:, None], np.column_stack([quality, 1 - quality]), np.column_stack([1 - quality, quality])
    )
    audit = LabelAudit(label, quality, label, found, np.array(["no", "yes"]), 0.1, (0.0, 0.2), np.eye(2))
    X = pd.DataFrame({"gender": gender, "tenure": np.where(label == "no", 40, 8) + rng.integers(-7, 8, 120)})
    report = label_report(audit, X=X)
    assert [report["columns"][at]["name"] for at, _ in report["figures"]["columns"]["bars"]] == ["tenure"]
    assert max(abs(one["telling"][0]) for one in report["details"]) < 0.1
