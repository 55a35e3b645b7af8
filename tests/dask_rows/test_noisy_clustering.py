"""NoisyPairClustering on a real Dask cluster of two worker processes: the results are those in memory."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dask_cluster import kill_worker
from kernelwise import NoisyPairClustering, Pairs, Verdicts
from kernelwise.dask_rows import block_array, collections

N_SAMPLES, SIZE = 600, 200


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several row blocks even of the few rows of these tests, and several messages with rows."""
    monkeypatch.setattr(collections, "SMALL_BLOCK", 80)
    monkeypatch.setattr(block_array, "PUT_BYTES", 5000)


@pytest.fixture
def data(rng):
    """Samples of three classes, and pairs of the first 400 of them, some of which are wrong."""
    y = rng.integers(3, size=N_SAMPLES)
    X = 2.5 * np.eye(3, 5)[y] + rng.normal(size=(N_SAMPLES, 5))
    pairs = Pairs.from_labels(y[:400], n_pairs=1500, random_state=0).flip(0.15, random_state=0)
    return X, Pairs(pairs.rows, pairs.cols, pairs.labels, n_samples=N_SAMPLES)


def frame_of(pairs):
    columns = {"row": pairs.rows, "col": pairs.cols, "label": pairs.labels}
    return dd.from_pandas(pd.DataFrame(columns), npartitions=3, sort=False)


def assert_same(model, reference):
    """Dask arrays with several blocks that have the answers in memory."""
    assert isinstance(model.labels_, da.Array)
    assert isinstance(model.probabilities_, da.Array)
    assert model.labels_.numblocks[0] == model.probabilities_.numblocks[0] > 1
    assert model.probabilities_.compute() == pytest.approx(reference.probabilities_, abs=1e-9)
    assert np.array_equal(model.labels_.compute(), reference.labels_)
    assert model.pair_quality_ == pytest.approx(reference.pair_quality_, abs=1e-9)
    assert model.noise_.flip_rates == pytest.approx(reference.noise_.flip_rates, abs=1e-9)
    assert model.diagnostic_["pairs"] == reference.diagnostic_["pairs"]
    assert model.diagnostic_.get("sample") == reference.diagnostic_.get("sample")


@pytest.mark.parametrize("n_samples", [SIZE, N_SAMPLES])
def test_all_answers_are_those_in_memory(client, data, n_samples):
    """Up to the sample size and beyond it: in memory, the same samples are drawn."""
    X, pairs = data[0][:n_samples], data[1].restrict(np.arange(n_samples))
    model, reference = (NoisyPairClustering(3, sample_size=SIZE, random_state=0) for _ in range(2))
    reference.fit(X, pairs=pairs)
    lazy = da.from_array(X, chunks=(150, 2))
    assert_same(model.fit(lazy, pairs=frame_of(pairs)), reference)
    assert model.n_features_in_ == 5
    rows, cols = np.array([0, 5, n_samples - 1, 7, pairs.rows[0]]), np.array([180, 5, 3, 150, pairs.cols[0]])
    assert model.pair_probabilities(rows, cols) == pytest.approx(reference.pair_probabilities(rows, cols), abs=1e-9)
    assert model.predict_pairs(rows, cols).tolist() == reference.predict_pairs(rows, cols).tolist()
    chances, classes = model.predict_proba(lazy), model.predict(lazy)
    assert (chances.chunks[0], classes.chunks[0]) == (lazy.chunks[0], lazy.chunks[0])
    assert chances.compute() == pytest.approx(reference.predict_proba(X), abs=1e-9)
    assert np.array_equal(classes.compute(), reference.predict(X))


def test_frames_of_numbers(client, data):
    X, pairs = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    model, reference = (NoisyPairClustering(3, sample_size=SIZE, random_state=0) for _ in range(2))
    assert_same(model.fit(dd.from_pandas(frame, npartitions=3), pairs=pairs), reference.fit(frame, pairs=pairs))
    assert model.feature_names_in_.tolist() == list("abcde")
    few = frame[:40]
    assert np.array_equal(model.predict(dd.from_pandas(few, npartitions=2)).compute(), reference.predict(few))


def test_sparse_blocks_and_checked_pairs(client, data):
    X, pairs = data
    words = np.where(X > 1.5, np.round(X), 0.0)
    checked = Verdicts(np.arange(20), np.ones(20, dtype=int))
    lazy = da.from_array(words, chunks=(300, -1)).map_blocks(sp.csr_array, dtype=np.float64)
    model, reference = (NoisyPairClustering(3, sample_size=SIZE, random_state=0) for _ in range(2))
    reference.fit(sp.csr_array(words), pairs=pairs, checked=checked)
    assert_same(model.fit(lazy, pairs=pairs, checked=checked), reference)


def test_a_worker_killed_before_samples_are_judged_changes_nothing(client, data):
    X, pairs = data
    model, reference = (NoisyPairClustering(3, sample_size=SIZE, random_state=0) for _ in range(2))
    reference.fit(X, pairs=pairs)
    killed = []

    def kill_at_the_first_step(done, total):  # classes are learned here, from the samples that were fetched
        if not killed:
            killed.append(kill_worker(client))

    model.fit(da.from_array(X, chunks=(100, -1)), pairs=pairs, progress=kill_at_the_first_step)
    assert killed
    assert_same(model, reference)


def test_what_cannot_work_on_a_cluster_is_refused(client, data):
    X, pairs = data
    lazy = da.from_array(X, chunks=(300, -1))
    cases = [
        (NoisyPairClustering(3, sample_size=None), lazy, pairs, "sample_size=None learns from all samples in memory"),
        (NoisyPairClustering(3, metric="precomputed"), lazy, pairs, "has a column per sample"),
        (NoisyPairClustering(601), lazy, pairs, "n_clusters=601 is more than the 600 samples"),
        (NoisyPairClustering(3), lazy[:100], pairs, "pairs are over n_samples=600 samples, but X has 100"),
        (NoisyPairClustering(3), None, frame_of(pairs), "pairs must be a kernelwise.Pairs"),
        (NoisyPairClustering(3), lazy, frame_of(pairs)[["row", "col"]], "pairs has no column 'label'"),
    ]
    for model, samples, known, message in cases:
        with pytest.raises(ValueError, match=message):
            model.fit(samples, pairs=known)


def test_pairs_in_a_frame_with_samples_in_memory(client, data):
    X, pairs = data
    model, reference = (NoisyPairClustering(3, sample_size=SIZE, random_state=0) for _ in range(2))
    model.fit(X, pairs=frame_of(pairs))
    assert np.array_equal(model.probabilities_, reference.fit(X, pairs=pairs).probabilities_)
