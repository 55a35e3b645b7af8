"""The public statistical answers are those that are stored; see "How to change a statistic" in CONTRIBUTING.md."""

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

from golden.cases import CASES, WITH_TREES
from golden.stored import FOLDER, TOLERANCE, difference, plain, read_all

OTHER_TREES = parse_version(sklearn.__version__) < parse_version("1.9")


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_that_are_stored(name):
    if OTHER_TREES and name in WITH_TREES:
        pytest.skip("before version 1.9, scikit-learn grew other trees with the same seed")
    found = plain(CASES[name]())
    changes = []
    for stored in read_all(name):
        assert found.keys() == stored.keys()
        pairs = {key: (stored[key], found[key]) for key in stored}
        changes.append({key: pair for key, pair in pairs.items() if not difference(*pair) <= TOLERANCE})
    fewest = min(changes, key=len)
    assert not fewest, "on purpose: python tests/golden/renew.py; on another kind of processor: with --processor"


def test_every_stored_file_has_a_case():
    assert {path.name.split(".")[0] for path in FOLDER.glob("*.json")} == CASES.keys()


@pytest.mark.parametrize(
    ("old", "new", "apart"),
    [
        (0.5, 0.5, 0.0),
        ([10.0, 0.0], [10.0, 1e-5], 1e-6),
        ({"a": 0.0}, {"a": 2.0}, 2.0),
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
