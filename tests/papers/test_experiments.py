import json
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiny_experiment
from kernelwise.kernels import build_bank, gaussian_kernels
from kernelwise.papers import (
    Cell,
    Line,
    Record,
    RecordError,
    RecordFile,
    Table,
    catalogue,
    line_panels,
    publish,
    run,
    seed_of,
)
from kernelwise.papers.figures import render
from kernelwise.papers.runner import run_one
from kernelwise.papers.stpmkl import figure1, paths
from kernelwise.whole_files import write_whole
from tiny_experiment import reproduce, tiny
from waiting import PATIENCE, wait_until

scalars = st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False))


def without_seconds(records):
    return [replace(record, seconds=0.0) for record in records]


def on_disk(folder):
    return RecordFile(Path(folder) / "tiny" / "records.jsonl", tiny().spec_hash).read()


# --- cells and specs


@given(st.dictionaries(st.text(max_size=5), scalars, max_size=4))
def test_a_cell_survives_json_and_pickle_and_ignores_the_order_of_its_parameters(parameters):
    cell = Cell.of(**parameters)
    assert dict(cell) == parameters
    assert Cell.of(**json.loads(json.dumps(dict(cell)))) == cell
    assert pickle.loads(pickle.dumps(cell)) == cell
    assert Cell.of(**dict(reversed(parameters.items()))) == cell
    assert len({cell, Cell.of(**parameters)}) == 1


def test_seeds_differ_by_cell_and_by_experiment_and_are_the_same_in_another_process():
    cells = [Cell.of(trial=trial) for trial in range(200)]
    seeds = [seed_of(name, cell) for name in ("a", "b") for cell in cells]
    assert len(set(seeds)) == len(seeds)
    program = "from kernelwise.papers import *; print(seed_of('a', Cell.of(trial=7)))"
    other = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "5"}
    )
    assert int(other.stdout) == seed_of("a", Cell.of(trial=7))


def test_the_hash_depends_on_name_version_and_settings_alone():
    base = tiny(settings={"grid": [1, 2]})
    assert base.spec_hash == tiny(tiny_experiment.slow_sample_mean, settings={"grid": (1, 2)}).spec_hash
    others = [tiny(settings={"grid": [1, 3]}), tiny(settings={"grid": [1, 2]}, version=2), replace(base, name="other")]
    assert len({experiment.spec_hash for experiment in [base, *others]}) == 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda path: Cell.of(grid=[1]), "parameter grid of a cell must be a string"),
        (lambda path: Cell.of(noise=float("nan")), "parameter noise of a cell must be finite"),
        (lambda path: tiny(lambda cell, seed: {}), "must be a function of a module"),
        (lambda path: replace(tiny(), name="a/b"), "usable as a folder"),
        (lambda path: run(replace(tiny(), cells=lambda quick: [Cell.of(a=1)] * 2), output=path), "a=1 twice"),
        (lambda path: run(tiny(), output=path, n_jobs=0), "n_jobs must be a number of processes"),
        (lambda path: Table(("a", "b"), (("1",),)), "under a header of 2"),
        (lambda path: line_panels({}, xlabel="x", ylabel="y"), "nothing to draw"),
        (lambda path: render(None, "pdf", title=""), 'kind must be "svg" or "png"'),
        (lambda path: publish(tiny(), [], path), "no cell of tiny succeeded"),
    ],
)
def test_bad_input_is_refused(tmp_path, call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(tmp_path)


# --- records


def make_record(trial, **changes):
    return replace(Record(Cell.of(size=10, trial=trial), {"mean": 0.5}, 1.0, {}, tiny().spec_hash), **changes)


@pytest.mark.parametrize("cut", [1, 2, 40, 80])
def test_a_torn_last_line_is_not_read_and_is_cut_off_before_the_next_record(tmp_path, cut):
    file = RecordFile(tmp_path / "records.jsonl", tiny().spec_hash)
    with file.appending() as append:
        append(make_record(0))
        append(make_record(1))
    whole = file.path.read_bytes()
    file.path.write_bytes(whole[:-cut])
    assert list(file.read().values()) == [make_record(0)]
    with file.appending() as append:
        append(make_record(2))
    assert list(file.read().values()) == [make_record(0), make_record(2)]


def test_the_last_record_of_a_cell_counts(tmp_path):
    file = RecordFile(tmp_path / "records.jsonl", tiny().spec_hash)
    with file.appending() as append:
        append(make_record(0, results={}, status="failed", message="no"))
        append(make_record(0))
    assert file.read() == {make_record(0).cell: make_record(0)}


def test_a_damaged_line_in_the_middle_is_named(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text(make_record(0).to_line() + "\n{garbage}\n" + make_record(1).to_line() + "\n")
    with pytest.raises(RecordError, match=r"line 2 of .*records.jsonl is not a record"):
        RecordFile(path, tiny().spec_hash).read()


def test_records_of_another_version_are_refused_and_kept_apart(tmp_path):
    run(tiny(), output=tmp_path, quick=True)
    before = (tmp_path / "tiny" / "records.jsonl").read_bytes()
    with pytest.raises(RecordError, match="another version of the experiment"):
        run(tiny(version=2), output=tmp_path, quick=True)
    assert (tmp_path / "tiny" / "records.jsonl").read_bytes() == before
    for _ in range(2):
        run(tiny(version=2), output=tmp_path, quick=True, resume=False)
    assert (tmp_path / "tiny" / "records.1.jsonl").read_bytes() == before
    assert (tmp_path / "tiny" / "records.2.jsonl").exists()


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "table.md"
    write_whole(path, b"old")
    with pytest.raises(TypeError):
        write_whole(path, "not bytes")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["table.md"]


# --- running


@pytest.mark.slow
def test_one_process_several_processes_and_a_given_executor_agree(tmp_path):
    expected = without_seconds(run(tiny(), output=tmp_path / "one"))
    assert [record.cell for record in expected] == tiny_experiment.cells(False)
    assert all(record.ok for record in expected)
    assert without_seconds(run(tiny(), output=tmp_path / "two", n_jobs=2)) == expected
    with ThreadPoolExecutor(3) as threads:
        assert without_seconds(run(tiny(), output=tmp_path / "given", executor=threads)) == expected
        assert threads.submit(int).result() == 0  # still open
    assert without_seconds(on_disk(tmp_path / "two")[cell] for cell in tiny_experiment.cells(False)) == expected


def test_finished_cells_are_not_run_again_and_quick_cells_serve_the_full_run(tmp_path):
    seen = []
    quick = run(tiny(), output=tmp_path, quick=True)
    full = run(tiny(), output=tmp_path, progress=lambda record, done, total: seen.append((record.cell, done, total)))
    assert [done for _, done, _ in seen] == list(range(5, 13))
    assert {cell for cell, _, _ in seen}.isdisjoint(record.cell for record in quick)
    assert all(record in full for record in quick)
    assert len((tmp_path / "tiny" / "records.jsonl").read_text().splitlines()) == 12


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_failing_cell_is_recorded_and_tried_again(tmp_path, n_jobs):
    records = run(tiny(tiny_experiment.fails_once), output=tmp_path, quick=True, n_jobs=n_jobs)
    assert [record.status for record in records] == ["ok", "failed", "ok", "ok"]
    assert records[1].message == "ArithmeticError: no mean today"
    again = run(tiny(), output=tmp_path, quick=True)
    assert all(record.ok for record in again)
    assert [again[i] == records[i] for i in range(4)] == [True, False, True, True]


def test_results_that_are_not_finite_fail_the_cell(tmp_path):
    records = run(tiny(tiny_experiment.not_finite), output=tmp_path, quick=True)
    assert {record.message for record in records} == {
        "ValueError: results must be finite, got nan; leave the entry out, or use None"
    }


def test_a_worker_that_dies_is_reported(tmp_path):
    with pytest.raises(ChildProcessError, match="a worker process died"):
        run(tiny(tiny_experiment.dies), output=tmp_path, quick=True, n_jobs=2)


def test_an_interrupt_keeps_what_is_finished(tmp_path):
    def interrupt(record, done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tiny(), output=tmp_path, progress=interrupt)
    assert len(on_disk(tmp_path)) == 3
    assert len(run(tiny(), output=tmp_path)) == 12


def start(folder, n_jobs):
    script = [sys.executable, tiny_experiment.__file__, str(folder), str(n_jobs)]
    process = subprocess.Popen(script, stderr=subprocess.DEVNULL, start_new_session=True)
    path = folder / "tiny" / "records.jsonl"
    wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= 3, process=process)
    return process


def wait_until_gone(group):
    """Workers must not outlive a run that was killed."""

    def gone():
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        return False

    try:
        wait_until(gone)
    except AssertionError:
        os.killpg(group, signal.SIGKILL)
        raise


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_killed_run_continues_and_loses_no_finished_cell(tmp_path, n_jobs):
    process = start(tmp_path, n_jobs)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    wait_until_gone(process.pid)
    finished = on_disk(tmp_path)
    assert 3 <= len(finished) < 12
    resumed = run(tiny(tiny_experiment.slow_sample_mean), output=tmp_path, n_jobs=n_jobs)
    assert [record for record in resumed if record.cell in finished] == [
        finished[record.cell] for record in resumed if record.cell in finished
    ]
    assert without_seconds(resumed) == without_seconds(run(tiny(), output=tmp_path / "uninterrupted"))


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_finishes_the_cells_under_way(tmp_path):
    process = start(tmp_path, 2)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to every process of the group
    assert process.wait(timeout=PATIENCE) != 0
    assert 3 <= len(on_disk(tmp_path)) < 12


# --- tables, figures, command line


def test_figures_are_the_same_bytes_each_time_and_say_every_name():
    def figure():
        lines = {"SiPMKL": Line([1, 10, 100], [0.5, 0.0, 1e-3]), "StPMKL": Line([1, 10], [0.4, 0.1], [0.1, 0.05])}
        return line_panels({"heart": lines, "sonar": lines}, xlabel="x", ylabel="gap", log_x=True, log_y=True)

    for kind, start_of_file in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        first = render(figure(), kind, title="Gaps")
        assert first == render(figure(), kind, title="Gaps")
        assert first.startswith(start_of_file)
        assert b"Gaps" in first
    (legend,) = figure().legends
    assert [text.get_text() for text in legend.get_texts()] == ["SiPMKL", "StPMKL"]


def test_without_matplotlib_the_table_is_written_and_the_advice_is_given(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert reproduce(tiny(), "--quick", "--output", tmp_path) != 0
    assert "pip install kernelwise[report]" in capsys.readouterr().err
    assert (tmp_path / "tiny" / "table.md").exists()


def test_the_command_line_writes_records_table_and_figures(tmp_path):
    arguments = ("--quick", "--output", tmp_path)
    assert reproduce(tiny(), *arguments) == 0
    written = {path.name: path.read_bytes() for path in (tmp_path / "tiny").iterdir()}
    assert set(written) == {"records.jsonl", "table.md", "figure.svg", "figure.png"}
    table = written["table.md"].decode()
    assert table.startswith("# Sample means\n\nNobody, Figure 0.\n\n| size | mean |")
    means = [record.results["mean"] for record in on_disk(tmp_path).values() if record.cell["size"] == 10]
    assert f"| 10 | {np.mean(means):.3f} ± {np.std(means, ddof=1):.3f} |" in table
    assert reproduce(tiny(), *arguments) == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "tiny").iterdir()} == written


def test_the_command_line_reports_failed_cells_and_other_versions(tmp_path, capsys):
    arguments = ("--quick", "--output", tmp_path)
    assert reproduce(tiny(tiny_experiment.fails_once), *arguments) == 1
    assert "- size=10 trial=1: ArithmeticError: no mean today" in (tmp_path / "tiny" / "table.md").read_text()
    assert reproduce(tiny(version=2), *arguments) == 2
    assert "another version of the experiment" in capsys.readouterr().err
    assert reproduce(tiny(version=2), *arguments, "--no-resume") == 0


# --- the experiments themselves


def test_the_cells_of_every_experiment_are_distinct_and_quick_ones_are_few():
    for name, experiment in catalogue().items():
        assert experiment.name == name
        assert len(experiment.distinct_cells(quick=True)) <= 10 < len(experiment.distinct_cells(quick=False))


def test_trials_share_the_split_and_nest_the_flips():
    cells = [Cell.of(dataset="heart", noise=noise, trial=1) for noise in (0.0, 0.2, 0.4)]
    clean, some, many = (figure1.make_trial(cell, "x") for cell in cells)
    np.testing.assert_array_equal(clean.X, many.X)
    np.testing.assert_array_equal(clean.y_test, many.y_test)
    wrong_some, wrong_many = some.y != clean.y, many.y != clean.y
    assert 0 < wrong_some.sum() < wrong_many.sum()
    assert not (wrong_some & ~wrong_many).any()
    other = figure1.make_trial(Cell.of(dataset="heart", noise=0.0, trial=2), "x")
    assert not np.array_equal(other.y, clean.y)


@pytest.fixture(scope="module")
def waves():
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    y = np.where(np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(60) > 0, 1.0, -1.0)
    return build_bank(X, gaussian_kernels(widths=[0.2, 1.0])), X, y


def test_a_fit_to_some_samples_equals_the_fit_on_a_bank_of_these_samples_alone(waves):
    bank, X, y = waves
    rows = np.arange(60) < 45
    part = build_bank(X[rows], gaussian_kernels(widths=[0.2, 1.0]))
    masked = paths.Task(bank, y, rows).fit(0.01, 0.7)
    alone = paths.Task(part, y[rows], np.ones(45, dtype=bool)).fit(0.01, 0.7)
    np.testing.assert_allclose(masked.decisions[rows], alone.decisions, atol=0.05)  # both solved to a gap of 1e-3
    np.testing.assert_allclose(masked.decisions[~rows], paths.predict(bank, masked.point, X[~rows]), atol=1e-6)
    np.testing.assert_allclose(masked.decisions[~rows], paths.predict(part, alone.point, X[~rows]), atol=0.05)


def test_alternation_does_not_raise_the_robust_hinge_loss(waves):
    bank, _, y = waves
    task = paths.Task(bank, y, np.ones(60, dtype=bool))
    penalty = 0.01

    def ramp_objective(fit):
        norm = sum(np.linalg.norm(w) for w in fit.point.parts.values())
        return penalty / 2 * norm**2 + np.minimum(np.maximum(0, 1 - y * fit.decisions), 1).mean()

    start = task.fit(penalty)
    assert ramp_objective(paths.best_case(task, penalty, 1.0, start=start)) <= ramp_objective(start) * (1 + 1e-3)


def test_selection_takes_the_best_validation_accuracy_and_the_smoothest_of_equals(waves):
    bank, _, y = waves
    held_out = np.arange(60) % 4 == 0
    fit, score = paths.select_and_refit(bank, y, "StPMKL", [held_out])
    task = paths.Task(bank, y, ~held_out)
    scores = {
        (other.penalty, other.budget): ((other.decisions > 0) == (y > 0))[held_out].mean()
        for other in paths.path(task, "StPMKL")
    }
    assert len(scores) == 36
    assert score == max(scores.values())
    assert (fit.penalty, fit.budget) == max(place for place in scores if scores[place] == score)


def test_unknown_methods_are_refused(waves):
    bank, _, y = waves
    with pytest.raises(ValueError, match="method must be one of SiPMKL"):
        next(paths.path(paths.Task(bank, y, y > -2), "SimpleMKL"))


@pytest.mark.parametrize("method", ["SVC, mean kernel", "SVC, RBF", "logistic regression"])
def test_a_tuned_baseline_learns(method):
    cell = Cell.of(dataset="heart", noise=0.0, trial=0, method=method)
    record = run_one(figure1.run_honest_cell, cell, 0, "x")
    assert record.ok, record.message
    assert record.results["accuracy"] > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stpmkl-figure1-accuracy", "stpmkl-figure1-convergence", "noisy-labels-honest"])
def test_the_quick_version_of_an_experiment_runs(tmp_path, name):
    experiment = catalogue()[name]
    records = run(experiment, output=tmp_path, quick=True)
    assert len(records) == len(experiment.distinct_cells(quick=True))
    for record in records:
        assert record.ok or "cleanlab" in record.message
    assert len(publish(experiment, records, tmp_path)) == 3


@pytest.mark.parametrize("method", ["AMP last, long step", "column generation"])
def test_a_convergence_cell_reports_gaps_that_fall(method):
    cell = Cell.of(dataset="heart", method=method, iterations=30)
    record = run_one(figure1.run_convergence_cell, cell, 0, "x")
    assert record.ok, record.message
    gaps = record.results["gap"]
    assert len(gaps) > 1
    assert all(later <= earlier for earlier, later in pairwise(gaps))
    assert record.results["final_gap"] == pytest.approx(gaps[-1], rel=1e-3, abs=1e-9)
