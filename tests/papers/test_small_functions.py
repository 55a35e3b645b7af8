"""Small functions of the papers' methods and figures, on inputs that are checked by hand."""

import numpy as np
import pytest

from kernelwise import Pairs
from kernelwise.papers import Cell, Record, Table, distinct, grouped, mean_std, seed_of
from kernelwise.papers.figures import Line, mean_lines
from kernelwise.papers.lkcnpc.figure1 import mean_error
from kernelwise.papers.lkcnpc.nonparametric_kernel import known_positions, linear_graph, neighbor_graph
from kernelwise.papers.lkcnpc.spectral_kernel import align_spectrum
from kernelwise.papers.lkcnpc.transitive_closure import closed_groups
from kernelwise.papers.stpmkl.figure1 import load_scaled
from kernelwise.papers.stpmkl.tuned_baselines import mean_gram


def test_seeds_are_the_same_on_every_machine():
    assert [seed_of("demo", Cell.of(trial=trial)) for trial in (0, 1)] == [2326540952, 1191351764]


def test_means_of_trials():
    assert [mean_std([0.8, 0.9]), mean_std([0.8]), mean_std([])] == ["0.850 ± 0.071", "0.800", "—"]
    assert mean_error([0.3, 0.5], [0.2, 0.2]) == "0.200 ± 0.100"
    lines = mean_lines([("heart", "SVC", 0.2, 0.75), ("heart", "SVC", 0.0, 0.875), ("heart", "SVC", 0.2, 0.25)])
    assert lines == {"heart": {"SVC": Line(x=[0.0, 0.2], y=[0.875, 0.5], spread=[0.0, 0.25])}}


def test_records_by_the_parameters_of_their_cells():
    cells = [Cell.of(noise=noise, trial=trial) for noise in (0.2, 0.0) for trial in range(2)]
    records = [Record(cell, {"accuracy": 1 - cell["noise"]}, 0.0, {}, "0123") for cell in cells]
    values = grouped(records, lambda record: record.results["accuracy"], "noise")
    assert values == {(0.2,): [0.8, 0.8], (0.0,): [1.0, 1.0]}
    assert distinct(records, "noise") == [0.2, 0.0]


def test_a_table_in_markdown():
    table = Table(("data", "accuracy"), (("heart | 1", "0.81 ± 0.02"),), notes=("5 trials.",))
    assert table.markdown() == "| data | accuracy |\n|---|---|\n| heart \\| 1 | 0.81 ± 0.02 |\n\n5 trials."


def test_graphs_of_samples():
    near = neighbor_graph(np.array([[0.0], [1.0], [3.0]]), 1)
    np.testing.assert_array_equal(near.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(linear_graph(np.array([[1.0], [2.0]])).toarray(), [[1, 2], [2, 4]])


def test_equal_rows_are_recognised_in_their_order():
    assert known_positions(np.array([[1.0], [2.0], [1.0]]), np.array([[1.0], [1.0], [3.0]])).tolist() == [0, 2, -1]


def test_a_spectrum_that_agrees_with_all_pairs_is_aligned():
    vectors, pairs = np.eye(3)[:, :2] + 0.5, Pairs([0], [1], [1], n_samples=3)
    assert align_spectrum(vectors, pairs, 2.0).alignment == pytest.approx(1.0)


@pytest.mark.parametrize(("weights", "groups"), [([3, 2, 1], [0, 0, 0]), ([1, 2, 3], [0, 1, 1])])
def test_the_heavier_of_contradictory_pairs_decides(weights, groups):
    pairs = Pairs([0, 1, 0], [1, 2, 2], [1, 1, -1], n_samples=3, weights=weights)
    assert closed_groups(pairs.to_sparse()).tolist() == groups


def test_scaled_attributes_and_their_mean_kernel():
    X, y = load_scaled("heart")
    assert (X.shape, X.min(), X.max(), set(y)) == ((270, 13), 0.0, 1.0, {-1.0, 1.0})
    gram = mean_gram(np.zeros((1, 3)), np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]))
    np.testing.assert_allclose(gram, [[1.0, 0.64]], atol=0.005)
