"""The noises of the benchmark that no noise model describes, and the command on labels that people or rules gave."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
STRANGE = ("rule", "lookalike", "region", "version", "copied")
#: The share of wrong labels that each noise may have on three classes of equal size.
RATES = {
    "rule": (0.15, 0.25),
    "lookalike": (0.12, 0.28),
    "region": (0.1, 0.24),
    "version": (0.08, 0.18),
    "copied": (0.1, 0.25),
}


@pytest.fixture
def bench(monkeypatch):
    """The modules of the benchmark by name."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: import_module(f"benchmarks.noise.{name}")


@pytest.fixture
def noise(bench, monkeypatch, rng, tmp_path):
    """The module of the noises, with a set "s" of three classes; the first two are nearest to each other."""
    y = np.repeat([0, 1, 2], 150)
    X = rng.normal(size=(450, 4)) + np.array([[0, 0], [2, 0], [0, 9]])[y] @ np.eye(2, 4)
    np.savez(tmp_path / "s.npz", X=np.column_stack([X, y == 2]), y=y)
    monkeypatch.setattr(bench("datasets"), "FOLDER", tmp_path)
    module = bench("noise")
    module.split.cache_clear()
    yield module
    module.split.cache_clear()


@pytest.mark.parametrize("kind", STRANGE)
def test_strange_noise_is_reproducible_and_has_its_rate(noise, kind):
    cells = [noise.make_cell("s", kind, seed) for seed in range(4)]
    low, high = RATES[kind]
    for cell in cells:
        assert cell.y_given.shape == cell.y_true.shape
        assert cell.y_given.dtype == np.int64
        assert set(cell.y_given) == {0, 1, 2}
        assert low <= cell.flipped.mean() <= high
        clean = noise.make_cell("s", "sym00", cell.seed)
        np.testing.assert_array_equal(cell.y_true, clean.y_true)
        np.testing.assert_array_equal(cell.y_test, clean.y_test)
        np.testing.assert_array_equal(cell.X_train, clean.X_train)
        assert noise.make_cell("s", kind, cell.seed).fingerprint == cell.fingerprint
    assert len({cell.fingerprint for cell in cells}) == 4


def test_strange_noises_are_no_default(noise, bench):
    assert noise.STRANGE_NOISES == STRANGE
    assert set(noise.STRANGE) == set(STRANGE)
    assert not set(noise.NOISES) & set(STRANGE)
    options = bench("__main__").parser().parse_args(["run", "--half", "spare", "--noises", *STRANGE])
    assert options.noises == list(STRANGE)
    assert bench("__main__").parser().parse_args(["run", "--half", "spare"]).noises == list(noise.NOISES)


def test_a_rule_makes_one_class_of_all_rows_above_a_threshold(noise):
    cell = noise.make_cell("s", "rule", 0)
    feature = cell.X_train[:, 1]  # the column of numbers that differs most; the indicator is none
    (label,) = set(cell.y_given[cell.flipped])
    assert (cell.y_given[feature >= feature[cell.flipped].min()] == label).all()


def test_a_rule_leaves_something_of_every_class(noise, rng):
    X, y = np.arange(100.0)[:, None], np.repeat([0, 1, 2, 3], 25)
    given = noise.by_wrong_rule(X, y, rng)
    assert np.bincount(given, minlength=4).min() >= 5
    constant = noise.by_wrong_rule(np.ones((100, 1)), y, rng)
    np.testing.assert_array_equal(constant, y)


def test_only_lookalike_classes_are_exchanged(noise):
    cell = noise.make_cell("s", "lookalike", 0)
    assert set(cell.y_true[cell.flipped]) == set(cell.y_given[cell.flipped]) == {0, 1}
    assert cell.flipped[cell.y_true < 2].mean() == pytest.approx(0.3, abs=0.1)


def test_one_region_has_most_of_the_wrong_labels(noise, rng):
    X = rng.normal(size=(4000, 2))
    y = rng.integers(0, 3, 4000)
    flipped = noise.in_one_region(X, y, rng) != y
    assert flipped.mean() == pytest.approx(0.25 * 0.6 + 0.75 * 0.02, abs=0.02)
    centre = X[flipped].mean(axis=0)
    far = np.argsort(np.linalg.norm(X - centre, axis=1))[2500:]
    assert flipped[far].mean() < 0.1


def test_an_earlier_version_gives_half_of_a_class_to_its_neighbour(noise, rng):
    y = np.repeat([0, 1, 2], 200)
    X = np.column_stack([10.0 * y, rng.normal(size=600)])
    given = noise.of_earlier_version(X, y, rng)
    (label,) = set(y[given != y])
    (other,) = set(given[given != y])
    assert abs(label - other) == 1
    side = X[y == label, 1]
    wrong = (given != y)[y == label]
    assert wrong.sum() == pytest.approx(80, abs=15)
    assert side[wrong].min() > np.median(side) or side[wrong].max() < np.median(side)


def test_copied_errors_are_shared_by_small_groups(noise, rng):
    y = np.repeat([0, 1], 400)
    groups = np.repeat(np.arange(100), 8)
    X = 100.0 * rng.normal(size=(100, 3))[groups] + rng.normal(size=(800, 3))
    wrong = noise.copied(X, y, rng) != y
    assert wrong.mean() == pytest.approx(0.2, abs=0.06)
    shares = np.bincount(groups, weights=wrong) / 8
    assert np.mean((shares == 0) | (shares == 1)) > 0.9


# Labels that people or rules gave


@pytest.fixture
def folder(rng, tmp_path):
    """A folder with small files of features and of texts."""
    (tmp_path / "data").mkdir()
    y, y_test = rng.integers(0, 2, 120), rng.integers(0, 2, 60)
    given = np.where(rng.random(120) < 0.2, 1 - y, y)
    X, X_test = (rng.normal(size=(len(part), 3)) + 3 * part[:, None] for part in (y, y_test))
    np.savez(tmp_path / "data/labelme_crowd.npz", X=X, X_test=X_test, y_true=y, y_one=given, y_mv=y, y_test=y_test)
    text = np.array([f"{['good', 'bad'][label]} word{k % 7} word{k % 5}" for k, label in enumerate(y)])
    np.savez(tmp_path / "data/youtube_wrench.npz", text=text, y_true=y, y_mv=np.where(np.arange(120) < 8, -1, given))
    return tmp_path


@pytest.mark.slow
def test_real_labels_are_run_once_and_tabled(bench, folder, capsys):
    wanted = ["real", "--data", str(folder / "data"), "--records", str(folder / "records")]
    wanted += ["--sets", "labelme_crowd", "youtube_wrench", "hausa_newsclass"]
    wanted += ["--methods", "logistic", "noise_model_logistic", "svc", "kernelwise"]
    assert bench("__main__").main(wanted) == 0
    printed = capsys.readouterr().out
    assert "hausa_newsclass.npz is not in" in printed
    progress, first = printed.split("# Label noise, real labels")
    assert progress.count(" s\n") == 12
    assert "| labelme_crowd y_one | people | 120 |" in first
    assert "| youtube_wrench y_mv | rules | 78 |" in first
    assert "**mean, people**" in first
    assert "| kernelwise | **all, rules** |" in first
    assert "better in" in first
    assert bench("__main__").main(wanted) == 0
    progress, again = capsys.readouterr().out.split("# Label noise, real labels")
    assert progress.count(" s\n") == 0
    assert again == first


def test_records_of_real_labels_hold_what_was_said(bench, folder):
    real, competitors = bench("real"), bench("competitors")
    cell = next(real.real_cells(real.files_of(folder / "data", ["labelme_crowd"]), 10, 0))
    share = float(cell.flipped.mean())
    P = np.full((len(cell.y_test), 2), 0.5)
    for interval, holds in (((share - 0.1, share), True), ((0.0, share - 0.01), False), (None, None)):
        said = competitors.Answer(P, cell.y_test, "", cell.flipped * -1.0, share, interval, holds)
        record = real.real_record(cell, "logistic", said, 1.0)
        assert (record["accuracy"], record["audit_auc"], record["noise_rate_error"]) == (1, 1, 0)
        assert (record["holds"], record["reliable"], record["source"]) == (holds, holds, "people")


def test_a_folder_without_real_labels_is_an_error(bench, tmp_path):
    with pytest.raises(SystemExit, match="holds no file of real noise; expected are labelme_crowd"):
        bench("real").real(tmp_path)
    with pytest.raises(SystemExit, match="rows must be one or more"):
        bench("real").real(tmp_path, rows=0)
    with pytest.raises(ValueError, match="method must be one of"):
        bench("real").answer("nearest", None)
