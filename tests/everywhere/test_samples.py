"""Clean arrays, choices among equals, and files that are written whole."""

import tempfile
from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelwise import ITML, UniformKernel
from kernelwise.samples import (
    check_index,
    check_magnitude,
    order_alike,
    power_of_two,
    read_samples,
    refuse_collections,
    row_index,
    tidy,
)
from kernelwise.ties import differ, first_best, most_probable, nearest_few, steady_order, stirred
from kernelwise.whole_files import write_together


def test_read_samples() -> None:
    twice = sp.csr_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 1))
    assert read_samples(UniformKernel(), twice).data.tolist() == [3.0]


def test_refuse_collections() -> None:
    with pytest.raises(TypeError, match="ITML works in memory and takes no Dask collection, but X is one"):
        refuse_collections(ITML(), X=da.ones((4, 2)))


def test_row_index() -> None:
    assert row_index([[1.0], [2.0]], pd.Series(["a", "b"], index=[5, 8])).tolist() == [5, 8]


def test_check_index() -> None:
    X = pd.DataFrame({"size": [1.0, 2.0, 3.0]}, index=[4, 7, 9])
    check_index(X, y=pd.Series(["a", "b", "a"]))
    with pytest.raises(ValueError, match="row 1 is 7 in X and 9 in y"):
        check_index(X, y=pd.Series(["a", "b", "a"], index=[4, 9, 7]))


def test_tidy() -> None:
    assert tidy(sp.csr_array(([1.0, 0.0, 1.0], [1, 0, 1], [0, 3]), shape=(1, 2))).data.tolist() == [2.0]


def test_check_magnitude() -> None:
    with pytest.raises(ValueError, match="the largest magnitude in X is 3e"):
        check_magnitude(np.array([3e200]), "X")


def test_power_of_two() -> None:
    assert power_of_two([0.0, 1.0, 5.0, 0.3]).tolist() == [1.0, 1.0, 4.0, 0.25]


def test_order_alike() -> None:
    order, starts = order_alike(np.array([[2.0], [1.0], [2.0 + 1e-12]]), np.zeros(3, dtype=int))
    assert order.tolist() == [1, 0, 2]
    assert starts.tolist() == [0, 1]


def test_first_best() -> None:
    assert first_best([1.0, 3.0, 3.0 + 1e-12]) == 1


def test_most_probable() -> None:
    assert most_probable(np.array([[0.2, 0.4, 0.4 + 1e-12], [0.0, 0.1, 0.9]])).tolist() == [1, 2]


def test_differ() -> None:
    assert differ([0.0, 1e-12, 0.5]).tolist() == [False, False, True]


def test_nearest_few() -> None:
    assert nearest_few(np.array([[2.0, 1.0 + 1e-12, 1.0]]), 1).tolist() == [[1]]


def test_steady_order() -> None:
    assert steady_order([0.5, 0.1 + 1e-12, 0.1, float("nan")]).tolist() == [1, 2, 0, 3]


def test_write_together() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_together({Path(folder, "a"): b"1", Path(folder, "b"): b"2"})
        assert sorted(path.name for path in Path(folder).iterdir()) == ["a", "b"]


def test_equal_rows_are_those_nearer_than_a_millionth_of_the_largest_distance():
    assert differ([0.5, 2.0, 1e6]).tolist() == [False, True, True]
    assert differ([0.5e-9, 2e-9, 1e-3]).tolist() == [False, True, True]


def test_stirred_points_move_by_less_than_can_be_seen():
    points = np.random.RandomState(0).randn(50, 3)
    moved = np.abs(stirred(points) - points).max()
    assert 0 < moved < 1e-5
