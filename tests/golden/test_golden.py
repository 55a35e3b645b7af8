"""The public statistical answers are those that are stored; see "How to change a statistic" in CONTRIBUTING.md."""

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

from golden import stored
from golden.cases import CASES, WITH_TREES
from golden.stored import FOLDER, TOLERANCE, changes, difference, plain, read, write

OTHER_TREES = parse_version(sklearn.__version__) < parse_version("1.9")


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_that_are_stored(name):
    if OTHER_TREES and name in WITH_TREES:
        pytest.skip("before version 1.9, scikit-learn grew other trees with the same seed")
    assert not changes(name, plain(CASES[name]())), "on purpose: python tests/golden/renew.py"


def test_every_stored_file_has_a_case():
    assert {path.name.removesuffix(".json") for path in FOLDER.glob("*.json")} == CASES.keys()


def test_an_output_that_moves_may_differ_by_ten_times_its_movement(monkeypatch, tmp_path):
    monkeypatch.setattr(stored, "FOLDER", tmp_path)
    write("case", {"rate": 0.5, "share": 0.5}, {"rate": 3.2e-6, "share": 2e-9})
    assert read("case") == ({"rate": 0.5, "share": 0.5}, {"rate": pytest.approx(4e-5), "share": TOLERANCE})
    assert not changes("case", {"rate": 0.5 + 3e-5, "share": 0.5 + 9e-7})
    assert changes("case", {"rate": 0.5 + 5e-5, "share": 0.5 + 2e-6}).keys() == {"rate", "share"}
    assert changes("case", {"rate": 0.5}) == {"share": (0.5, None)}


@pytest.mark.parametrize(
    ("old", "new", "apart"),
    [
        (0.5, 0.5, 0.0),
        ([10.0, 0.0], [10.0, 1e-5], 1e-6),
        ({"a": 0.0}, {"a": 2.0}, 2.0),
        (0.001, 0.002, 0.001),
        (["ham", 3, True], ["ham", 3, True], 0.0),
        (["ham"], ["spam"], float("inf")),
        ([1], [2], float("inf")),
        ([1.0, 2.0], [1.0], float("inf")),
        (1.0, None, float("inf")),
        ({"a": 1.0}, {"b": 1.0}, float("inf")),
    ],
)
def test_differences_are_relative_to_the_size_of_an_output(old, new, apart):
    assert difference(old, new) == pytest.approx(apart)


def test_a_number_that_is_not_one_differs():
    assert not difference([1.0], [float("nan")]) <= TOLERANCE
