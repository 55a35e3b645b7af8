"""How records and strings are read."""

import numpy as np

from kernelwise.records.features import read_records
from kernelwise.records.repeated import _curvature
from kernelwise.records.strings import common_subsequence, compare_strings, first_numbers, tidy_string


def test_read_records() -> None:
    assert read_records(["a b", None]).columns["text"].labels() == ["a b", ""]
    assert read_records([[1.0, 2.0]]).shape == (1, 2)


def test_tidy_string() -> None:
    assert tidy_string(" Bose  AM-53 (black)") == "bose am 53 black"
    assert tidy_string(None) == ""


def test_compare_strings() -> None:
    found = compare_strings(["Sony PS-LX350H", "sony pslx350h turntable", None], np.array([0, 0]), np.array([1, 2]))
    assert (
        repr(
            {name: values.round(2).tolist() for name, values in found.items() if name in ("equal", "numbers in common")}
        )
        == "{'equal': [0.0, nan], 'numbers in common': [1.0, nan]}"
    )


def test_first_numbers() -> None:
    np.testing.assert_allclose(first_numbers(["$ 1,299.00", "8.1 %", None]), [1299.0, 8.1, np.nan], atol=1e-6)
    np.testing.assert_allclose(
        first_numbers(["cable 0.125 m", "cable 125 m", "freezer, -18 degrees"]), [0.125, 125.0, -18.0], atol=1e-6
    )
    assert first_numbers(["3 of 4", "May"]) is None


def test_common_subsequence() -> None:
    assert common_subsequence("jon smith", "smith, john") == 5


def test_curvature_of_a_quadratic() -> None:
    matrix = np.array([[3.0, 1.0], [1.0, 2.0]])
    found = _curvature(lambda z: (0.5 * z @ matrix @ z, matrix @ z), np.array([0.3, -0.2]))
    np.testing.assert_allclose(found, matrix, atol=1e-6)
