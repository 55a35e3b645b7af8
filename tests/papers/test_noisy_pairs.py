import numpy as np
import pytest

from kernelwise.papers import Cell, Record, catalogue, publish, run
from kernelwise.papers.lkcnpc import figure1, table2
from kernelwise.papers.runner import run_one


@pytest.fixture(scope="module")
def trial():
    return table2.make_linked_trial("cora", 0)


def unordered(pairs):
    return {(min(a, b), max(a, b)) for a, b in zip(pairs.rows.tolist(), pairs.cols.tolist(), strict=True)}


def test_trials_share_the_links_and_differ_in_the_rest(trial):
    other = table2.make_linked_trial("cora", 1)
    assert unordered(trial.pairs.positive) == unordered(other.pairs.positive)
    assert not unordered(trial.pairs.negative) & unordered(trial.pairs.positive)
    assert len(unordered(trial.pairs.negative) & unordered(other.pairs.negative)) < 0.05 * len(trial.pairs.negative)
    assert set(trial.checked) != set(other.checked)
    assert len(set(trial.checked.tolist())) == round(0.01 * len(trial.pairs))


def test_the_paper_s_fraction_of_wrong_pairs_is_found(trial):
    assert 0.15 < 1 - trial.pairs.agreement(trial.y) < 0.25


def test_checked_pairs_and_no_others_are_corrected(trial):
    corrected = trial.corrected()
    truth = np.where(trial.y[trial.pairs.rows] == trial.y[trial.pairs.cols], 1, -1)
    changed = np.flatnonzero(corrected.labels != trial.pairs.labels)
    assert len(changed)
    assert set(changed) <= set(trial.checked.tolist())
    np.testing.assert_array_equal(corrected.labels[trial.checked], truth[trial.checked])
    # The checked pairs alone tell the noise: shares of right labels among those given as +1 and as -1.
    labels, right = trial.pairs.labels[trial.checked], (trial.pairs.labels == truth)[trial.checked]
    noise = trial.noise()
    assert noise.precision_positive == pytest.approx(right[labels > 0].mean())
    assert noise.precision_negative == pytest.approx(right[labels < 0].mean())


def test_the_other_reading_adds_true_labels_of_one_percent_of_all_pairs(trial):
    extended = trial.extended()
    n = len(trial.y)
    assert extended[: len(trial.pairs)] == trial.pairs
    added = extended[len(trial.pairs) :]
    assert len(added) == round(0.01 * n * (n - 1) / 2)
    assert added.agreement(trial.y) == 1.0
    links = unordered(trial.pairs.positive)
    linked = np.array([pair in links for pair in zip(added.rows.tolist(), added.cols.tolist(), strict=True)])
    noise = trial.noise_of_sampled()
    assert noise.precision_positive == pytest.approx((added.labels[linked] > 0).mean())
    assert noise.precision_negative == pytest.approx((added.labels[~linked] < 0).mean())
    assert noise.prior == pytest.approx((noise.precision_positive + 1 - noise.precision_negative) / 2)


def test_every_published_method_has_a_row_and_both_data_sets():
    cells = table2.table_cells(quick=False)
    shown = {(cell["method"], cell["dataset"]) for cell in cells}
    assert {(method, dataset) for method in table2.PUBLISHED for dataset in ("cora", "citeseer")} <= shown


def test_balanced_pairs_are_distinct_and_their_labels_true():
    y = np.repeat(np.arange(4), [5, 20, 40, 60])
    pairs = figure1.draw_balanced_pairs(y, 200, seed=3)
    assert (len(pairs.positive), len(pairs.negative)) == (100, 100)
    assert len(unordered(pairs)) == 200
    assert pairs.agreement(y) == 1.0
    assert pairs == figure1.draw_balanced_pairs(y, 200, seed=3)
    assert pairs != figure1.draw_balanced_pairs(y, 200, seed=4)


def test_too_many_balanced_pairs_are_refused():
    with pytest.raises(ValueError, match="n_pairs=100 is too many"):
        figure1.draw_balanced_pairs(np.arange(20), 100, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "least"), [("LKCnpc", 0.23), ("link smoothing", 0.55)])
def test_a_cell_of_the_table_beats_equal_weights(method, least):
    def nmi(name):
        record = run_one(table2.run_table_cell, Cell.of(dataset="cora", trial=0, method=name), 0, "x")
        assert record.ok, record.message
        return record.results["nmi"]

    assert nmi(method) > max(least, nmi("LK"))


def table_record(method, dataset, trial, nmi):
    return Record(Cell.of(method=method, dataset=dataset, trial=trial), {"nmi": nmi, "fit_seconds": 1.0}, 1.0, {}, "x")


def test_the_table_says_which_entries_have_fewer_trials():
    records = [table_record("LK", dataset, trial, 0.2) for dataset in ("cora", "citeseer") for trial in range(3)]
    records.append(table_record("ITML", "citeseer", 0, 0.3))
    table = table2.summarise_table(records)
    assert table.rows == (
        ("LK", "0.177", "0.200 ± 0.000", "0.203", "0.200 ± 0.000", "1.0 / 1.0"),
        ("ITML", "0.167", "—", "0.206", "0.300 (1 trial)", "— / 1.0"),
    )
    assert "of 3 trials" in table.notes[0]


def test_differences_are_paired():
    # The draws differ by far more than the labels do: unpaired, the error would be 0.2 / sqrt(2).
    assert figure1.mean_error([0.1, 0.5], [0.05, 0.45]) == "0.050 ± 0.000"


def test_with_perfect_labels_pairs_are_worth_more():
    cell = Cell.of(dataset="cora", n_pairs=3000, draw=0)
    record = run_one(figure1.run_figure_cell, cell, 1, "x")
    assert record.ok, record.message
    nmi = record.results["nmi"]
    assert nmi[figure1.PERFECT] > nmi[figure1.NOISY]
    assert record.results["weight_difference"] > 0
    assert record.results["largest_dual_gap"] < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_axes"), [("lkcnpc-table2", 1), ("lkcnpc-figure1", 2)])
def test_the_quick_version_runs_and_is_published(tmp_path, name, n_axes):
    experiment = catalogue()[name]
    records = run(experiment, output=tmp_path, quick=True)
    assert len(records) == len(experiment.distinct_cells(quick=True))
    assert all(record.ok for record in records), [record.message for record in records]
    assert len(publish(experiment, records, tmp_path)) == 3
    assert len(experiment.draw(records).axes) == n_axes
