"""The audit of labels on a real Dask cluster of two worker processes."""

import json
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from command_line import names, run_here
from dask_cluster import kill_worker, local_cluster
from kernelwise import NoisyLabelClassifier, Verdicts, audit_labels, estimate_label_noise

N, SIZE = 1200, 500


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) > 0, "yes", "no")
    flipped = rng.random(N) < 0.1
    return X, np.where(flipped, np.where(y == "yes", "no", "yes"), y)


@pytest.fixture(scope="module")
def in_memory(data):
    return NoisyLabelClassifier(sample_size=SIZE, random_state=0).fit(*data)


def assert_same(model, reference):
    np.testing.assert_allclose(model.label_quality_.compute(), reference.label_quality_, atol=1e-9)
    assert model.noise_rate_ == pytest.approx(reference.noise_rate_, abs=1e-9)
    assert model.noise_interval_ == pytest.approx(reference.noise_interval_, abs=1e-9)
    np.testing.assert_allclose(model.transition_, reference.transition_, atol=1e-9)
    np.testing.assert_array_equal(model.classes_, reference.classes_)


def test_blocks_give_the_qualities_of_memory(data, in_memory, client):
    X, y = data
    model = NoisyLabelClassifier(sample_size=SIZE, random_state=0).fit(
        da.from_array(X, chunks=(700, 2)), da.from_array(y, chunks=500)
    )
    assert_same(model, in_memory)
    np.testing.assert_allclose(model.label_probabilities_.compute(), in_memory.label_probabilities_, atol=1e-9)
    blind = model.out_of_sample_probabilities_
    np.testing.assert_allclose(blind[-300:].compute(), in_memory.out_of_sample_probabilities_[-300:], atol=1e-9)
    chances = model.predict_proba(da.from_array(X[:50], chunks=(20, 3)))
    np.testing.assert_allclose(chances.compute(), in_memory.predict_proba(X[:50]), atol=1e-9)
    assert model.predict(da.from_array(X[:5], chunks=(2, 3))).compute().tolist() == in_memory.predict(X[:5]).tolist()


def test_frames_with_partitions_of_unknown_length(data, client):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["side"] = np.where(X[:, 2] > 0, "left", "right")
    frame.loc[N - 1, "b"] = np.nan
    frame["y"] = y
    parts = dd.from_pandas(frame, npartitions=3)
    parts = parts[parts["a"] > -10]  # the lengths of the partitions are not known any more
    reference = NoisyLabelClassifier(sample_size=SIZE, random_state=0).fit(frame.drop(columns="y"), y)
    model = NoisyLabelClassifier(sample_size=SIZE, random_state=0).fit(parts.drop(columns="y"), parts["y"])
    assert_same(model, reference)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "side"]


def test_sparse_blocks(data, client):
    X, y = data
    some = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    lazy = [dask.delayed(some[start : start + 400]) for start in range(0, N, 400)]
    meta = sp.csr_array((0, 3))
    blocks = da.concatenate([da.from_delayed(part, (400, 3), meta=meta) for part in lazy])
    reference = NoisyLabelClassifier(sample_size=SIZE, random_state=0).fit(some, y)
    assert_same(NoisyLabelClassifier(sample_size=SIZE, random_state=0).fit(blocks, y), reference)


def test_audit_in_blocks_answers_as_the_audit_in_memory(data, client):
    X, y = data
    y = y.copy()
    y[:3] = "Yes"
    checked = Verdicts([5, 1100], ["yes", "no"])
    options = {"checked": checked, "sample_size": SIZE, "random_state": 0}
    lazy = da.from_array(X, chunks=(700, 3)), da.from_array(y, chunks=700)
    with pytest.warns(UserWarning, match="'Yes' as 'yes'"):
        audit = audit_labels(*lazy, **options)
    with pytest.warns(UserWarning, match="'Yes' as 'yes'"):
        reference = audit_labels(X, y, **options)
    assert audit.order.tolist() == reference.order.tolist()
    assert audit.worth_checking() == reference.worth_checking()
    assert audit.worth_checking(0.2) == reference.worth_checking(0.2)
    assert audit.worth_checking(precision=0.7) == reference.worth_checking(precision=0.7)
    assert audit.suggested.compute().tolist() == reference.suggested.tolist()
    assert audit.alternative.compute().tolist() == reference.alternative.tolist()
    assert audit.noise_rate == pytest.approx(reference.noise_rate, abs=1e-9)
    pd.testing.assert_frame_equal(audit.to_frame().compute().astype(object), reference.to_frame().astype(object))
    assert f"n_samples={N}" in repr(audit)
    np.testing.assert_allclose(audit.compute().quality, reference.quality, atol=1e-9)


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(data, in_memory):
    X, y = data
    with local_cluster() as client:
        slow = da.from_array(X, chunks=(100, 3)).map_blocks(slowly, dtype=float)
        killed = []

        def kill(done, total):
            if done > 0.7 * total and not killed:
                killed.append(kill_worker(client))

        model = NoisyLabelClassifier(sample_size=SIZE, random_state=0)
        model.fit(slow, da.from_array(y, chunks=100), progress=kill)
        assert killed
        assert_same(model, in_memory)


def test_workers_read_files_and_write_suspects(data, client, tmp_path, capsys):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=500)
    audit = ("audit", "labels", tmp_path / "rows.parquet", "--label", "label", "--sample", SIZE, "--json", "--quiet")
    address = client.scheduler.address
    there = run_here(capsys, *audit, "--cluster", address, "-o", tmp_path / "there")
    here = run_here(capsys, *audit, "--chunk-rows", 1000, "-o", tmp_path / "here")
    assert there[0] == here[0] == 0, there[2] + here[2]
    there, here = json.loads(there[1]), json.loads(here[1])
    assert there["noise_rate"] == pytest.approx(here["noise_rate"], abs=1e-9)
    assert [one["row"] for one in there["suspects"]] == [one["row"] for one in here["suspects"]]
    assert names(tmp_path / "there") == ["most-suspect.csv", *(f"part-{start:012d}.csv" for start in (0, 500, 1000))]


def slowly(block):
    time.sleep(0.1)
    return block


def test_messages_come_before_the_work(data, client):
    X, y = data
    lazy = da.from_array(X, chunks=(700, 3))
    model = NoisyLabelClassifier(sample_size=SIZE)
    with pytest.raises(ValueError, match="y has 1199 values, and X has 1200 rows"):
        model.fit(lazy, y[:-1])
    with pytest.raises(ValueError, match="y has 1199 values, and X has 1200 rows"):
        model.fit(lazy, da.from_array(y[:-1]))
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    with pytest.raises(ValueError, match="y has 2 partitions, and X has 3"):
        model.fit(frame, dd.from_pandas(pd.Series(y), npartitions=2))
    with pytest.raises(ValueError, match="and the same block of y has"):
        model.fit(frame, dd.from_pandas(pd.Series(y[:-40]), npartitions=3))
    with pytest.raises(ValueError, match="y has no label in any row"):
        model.fit(lazy, np.full(N, None))
    with pytest.raises(ValueError, match="one class"):
        model.fit(lazy, np.zeros(N))
    with pytest.raises(ValueError, match="different labels, too many for sample_size=500"):
        model.fit(lazy, np.arange(N))
    with pytest.raises(ValueError, match="sample_size=20 is too small"):
        estimate_label_noise(lazy, y, sample_size=20)
    with pytest.raises(ValueError, match="estimator and probabilities are for rows in memory"):
        audit_labels(lazy, y, probabilities=np.ones((N, 2)))
    with pytest.raises(TypeError, match="y is one"):
        model.fit(X, da.from_array(y))
