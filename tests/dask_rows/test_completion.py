"""Pair completion of similarities in row blocks, on a real cluster of worker processes, against the fit in memory."""

import pickle
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dask_cluster import kill_worker, worker_pids
from kernelwise import PairCompleter, PairCompletionClustering, Pairs, plan_labelling
from kernelwise.dask_rows.block_array import BlockArray
from kernelwise.dask_rows.engine import LocalEngine
from kernelwise.kernels import Gaussian
from kernelwise.samples import for_users, put_rows, take_rows
from kernelwise.spectral import GramFactor
from waiting import wait_until

N, BLOCK = 6000, 2000
N_GRAPH, GRAPH_BLOCK = 900, 300


def make_factor():
    """Three classes in ten dimensions; the similarity is of inner products."""
    rng = np.random.RandomState(0)
    y = rng.permutation(np.arange(N) % 3)
    centres = 2.0 * rng.normal(size=(3, 10))
    return centres[y] + rng.normal(size=(N, 10)) * np.linspace(0.5, 1.5, 10), y


def make_graph():
    """Three classes, sparse, denser within a class."""
    rng = np.random.RandomState(1)
    y = rng.permutation(np.arange(N_GRAPH) % 3)
    rate = np.where(y[:, None] == y, 0.12, 0.01)
    links = np.triu(rng.random_sample(rate.shape) < rate, 1)
    return sp.csr_array((links | links.T).astype(float)), y


def some_pairs(y, labelled, n_pairs, wrong=0.0):
    known = np.where(np.arange(len(y)) % (len(y) // labelled) == 0, y, -1)
    return Pairs.from_labels(known, n_pairs=n_pairs, random_state=0).flip(wrong, random_state=1)


def row_blocks(matrix, size):
    """A Dask array of sparse or dense row blocks, each a task of its own."""
    n = matrix.shape[1]
    meta = sp.csr_array((0, 0)) if sp.issparse(matrix) else np.empty((0, 0))
    parts = [dask.delayed(matrix[k : k + size], pure=False) for k in range(0, matrix.shape[0], size)]
    return da.concatenate([da.from_delayed(part, (size, n), float, meta=meta) for part in parts])


F, FACTOR_CLASSES = make_factor()
GRAPH, GRAPH_CLASSES = make_graph()
FACTOR_PAIRS = some_pairs(FACTOR_CLASSES, 100, 1200)
GRAPH_PAIRS = some_pairs(GRAPH_CLASSES, 60, 900)


def fit(similarity, pairs, **options):
    settings = {"n_components": 3, "eigen_tol": 0.0, "tol": 1e-6, "random_state": 0} | options
    return PairCompleter(**settings).fit(similarity, pairs=pairs)


def assert_same(blocks, memory, *, basis=True):
    """The same fit, up to the signs of the columns of the factor, which nothing determines."""
    rng = np.random.RandomState(0)
    rows, cols = rng.randint(0, len(memory.factor_), (2, 500))
    assert blocks.n_components_ == memory.n_components_
    np.testing.assert_allclose(blocks.eigenvalues_, memory.eigenvalues_, rtol=1e-9)
    if basis:
        np.testing.assert_allclose(blocks.basis_.compute(), memory.basis_, atol=1e-7)
        np.testing.assert_allclose(blocks.core_, memory.core_, rtol=1e-6, atol=1e-6 * np.abs(memory.core_).max())
    assert blocks.certificate_.primal == pytest.approx(memory.certificate_.primal, rel=1e-6)
    assert blocks.certificate_.relative_gap == pytest.approx(memory.certificate_.relative_gap, abs=1e-6)
    assert blocks.solver_certificate_.primal == pytest.approx(memory.solver_certificate_.primal, rel=1e-6)
    assert blocks.coherence_ == pytest.approx(memory.coherence_, rel=1e-6)
    np.testing.assert_allclose(blocks.pair_scores(rows, cols), memory.pair_scores(rows, cols), atol=1e-6)
    np.testing.assert_allclose(
        blocks.predict_proba_pairs(rows, cols), memory.predict_proba_pairs(rows, cols), atol=1e-5
    )
    np.testing.assert_array_equal(blocks.labelled_, memory.labelled_)


# The same fit as in memory.


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "completion", "refine": False, "normalize": "symmetric"},
        {"n_components": [2, 3, 5], "noise_rate": 0.1},
        {"calibrate": False, "penalty": 0.5},
    ],
    ids=str,
)
def test_a_factor_in_blocks_gives_the_fit_in_memory(client, options):
    factor = np.abs(F) if "normalize" in options else F
    memory = fit(GramFactor(factor), FACTOR_PAIRS, **options)
    blocks = fit(GramFactor(da.from_array(factor, chunks=(1500, 5))), FACTOR_PAIRS, **options)
    assert blocks.factor_.numblocks[0] > 1
    assert_same(blocks, memory)


@pytest.fixture(scope="module", params=["none", "symmetric"])
def fitted(client, request):
    """The graph by the cluster and in memory."""
    similarities = row_blocks(GRAPH, GRAPH_BLOCK), GRAPH
    return tuple(fit(similarity, GRAPH_PAIRS, normalize=request.param) for similarity in similarities)


def test_a_sparse_graph_in_blocks_gives_the_fit_in_memory(fitted):
    blocks, memory = fitted
    assert blocks.factor_.numblocks == (3, 1)
    assert_same(blocks, memory)
    rows, cols = np.triu_indices(N_GRAPH, 1)
    truth = np.where(GRAPH_CLASSES[rows] == GRAPH_CLASSES[cols], 1, -1)
    assert np.mean(blocks.predict_pairs(rows, cols) == truth) > 0.99


def test_a_dense_similarity_and_chunks_of_columns_do_too(client, monkeypatch):
    monkeypatch.setattr("kernelwise.dask_rows.graph.WHOLE_BYTES", 0)  # only rows that are needed travel
    dense = GRAPH.toarray()[:600, :600]
    pairs = GRAPH_PAIRS.restrict(np.arange(600))
    assert_same(fit(da.from_array(dense, chunks=(300, 200)), pairs), fit(dense, pairs))


def test_a_sparse_factor_and_one_of_more_columns_than_are_decomposed(monkeypatch):
    sparse = sp.csr_array(np.where(np.abs(F) > 1.0, F, 0.0))
    memory = fit(GramFactor(sparse), FACTOR_PAIRS)
    assert_same(fit(GramFactor(row_blocks(sparse, BLOCK)), FACTOR_PAIRS), memory)
    monkeypatch.setattr("kernelwise.completion.on_dask.FEW_COLUMNS", 5)
    assert_same(fit(GramFactor(row_blocks(F, BLOCK)), FACTOR_PAIRS), fit(GramFactor(F), FACTOR_PAIRS))


def test_known_pairs_may_be_a_dask_frame(client):
    weights = np.linspace(0.5, 2.0, len(FACTOR_PAIRS))
    weighted = Pairs(FACTOR_PAIRS.rows, FACTOR_PAIRS.cols, FACTOR_PAIRS.labels, n_samples=N, weights=weights)
    frame = pd.DataFrame(
        {"row": weighted.rows, "col": weighted.cols, "label": weighted.labels, "weight": weights, "by": "me"}
    )
    blocks = fit(GramFactor(row_blocks(F, BLOCK)), dd.from_pandas(frame, npartitions=3))
    assert_same(blocks, fit(GramFactor(F), weighted))


@pytest.mark.slow
def test_noise_is_found_from_the_labelled_samples(client):
    pairs = some_pairs(FACTOR_CLASSES, 60, 900, wrong=0.15)
    memory = fit(GramFactor(F), pairs, noise_rate="auto")
    blocks = fit(GramFactor(row_blocks(F, BLOCK)), pairs, noise_rate="auto")
    assert memory.noise_rate_ == pytest.approx(0.15, abs=0.05)
    assert blocks.noise_rate_ == pytest.approx(memory.noise_rate_, abs=0.03)


# Workers that are lost.


@pytest.mark.slow  # test_mkl.py has a quick one
def test_a_worker_killed_during_the_fit_changes_nothing(client):
    memory = fit(GRAPH, GRAPH_PAIRS, normalize="symmetric")
    before, killed = set(worker_pids(client).values()), []

    def kill_when_it_works():
        wait_until(lambda: any("shifted" in str(key) for key in client.who_has()))
        kill_worker(client)
        killed.append(time.monotonic())

    killer = threading.Thread(target=kill_when_it_works)
    killer.start()
    blocks = fit(row_blocks(GRAPH, GRAPH_BLOCK), GRAPH_PAIRS, normalize="symmetric")
    done = time.monotonic()
    killer.join()
    assert killed[0] < done
    assert before - set(worker_pids(client).values())
    assert_same(blocks, memory)


def test_rows_of_a_worker_killed_after_the_fit_are_made_again(client):
    blocks = fit(GramFactor(row_blocks(F, BLOCK)), FACTOR_PAIRS)
    rows, cols = np.arange(0, 5000, 70), np.arange(500, 5500, 70)
    expected = blocks.pair_scores(rows, cols)
    kill_worker(client)
    np.testing.assert_allclose(blocks.pair_scores(rows, cols), expected, atol=1e-12)


# Predictions.


@pytest.mark.parametrize("method", ["pair_scores", "predict_pairs", "predict_proba_pairs"])
def test_pairs_in_a_dask_collection_get_a_dask_array(fitted, method):
    blocks, memory = fitted
    rows, cols = np.random.RandomState(2).randint(0, N_GRAPH, (2, 1000))
    expected = getattr(memory, method)(rows, cols)
    lazily = getattr(blocks, method)(da.from_array(rows, chunks=300), da.from_array(cols, chunks=400))
    assert isinstance(lazily, da.Array)
    assert lazily.shape == (1000,)
    np.testing.assert_allclose(lazily.compute(), expected, atol=1e-5)
    frame = dd.from_pandas(pd.DataFrame({"row": rows, "col": cols}), npartitions=3)
    np.testing.assert_allclose(getattr(blocks, method)(frame["row"], frame["col"]).compute(), expected, atol=1e-5)


def test_pairs_in_a_dask_collection_work_for_a_model_in_memory(fitted):
    memory = fitted[1]
    rows, cols = np.random.RandomState(2).randint(0, N_GRAPH, (2, 100))
    scores = memory.pair_scores(da.from_array(rows, chunks=30), cols)
    np.testing.assert_allclose(scores.compute(), memory.pair_scores(rows, cols), atol=1e-12)


def test_new_samples_get_the_same_scores(fitted):
    blocks, memory = fitted
    new = GRAPH[:50] + sp.random_array((50, N_GRAPH), density=0.01, rng=np.random.default_rng(0))
    expected = memory.transform(new) @ memory.factor_.T
    placed = blocks.transform(new)
    assert isinstance(placed, np.ndarray)
    factor = blocks.factor_.compute()
    np.testing.assert_allclose(placed @ factor.T, expected, atol=1e-6)
    lazily = blocks.transform(da.from_array(new.toarray(), chunks=(20, 500)))
    assert isinstance(lazily, da.Array)
    np.testing.assert_allclose(lazily.compute() @ factor.T, expected, atol=1e-6)


def test_the_label_matrix_and_names_of_columns(fitted):
    blocks, memory = fitted
    np.testing.assert_allclose(blocks.label_matrix().compute(), memory.label_matrix(), atol=1e-6)
    with pytest.raises(ValueError, match="max_gigabytes"):
        blocks.label_matrix(max_gigabytes=1e-3)
    assert len(blocks.get_feature_names_out()) == blocks.factor_.shape[1]


def test_a_fitted_model_is_pickled_without_its_rows(fitted):
    blocks, _ = fitted
    text = pickle.dumps(blocks)
    assert len(text) < 100_000
    rows, cols = [0, 1, 2], [3, 4, 5]
    np.testing.assert_allclose(pickle.loads(text).pair_scores(rows, cols), blocks.pair_scores(rows, cols))


# Rows of block arrays.


def test_rows_are_taken_and_put(rng):
    whole = rng.normal(size=(10, 2))
    array = BlockArray.of(LocalEngine(), [3, 4, 3], np.split(whole, [3, 7]), whole[:0])
    for index in ([], [0], [2, 3, 9], [7, 8]):
        index = np.array(index, dtype=int)
        np.testing.assert_array_equal(take_rows(array, index), whole[index])
        changed = whole.copy()
        changed[index] = -1.0
        np.testing.assert_array_equal(for_users(put_rows(array, index, -np.ones((len(index), 2)))), changed)
    np.testing.assert_array_equal(for_users(array), whole)


# Errors, before long work.


def never(block):
    raise AssertionError("a block was computed before the arguments were checked")


UNTOUCHABLE = da.ones((N, 10), chunks=(BLOCK, 10)).map_blocks(never, dtype=float, meta=np.empty((0, 0)))
WITH_NAN = GRAPH.copy()
WITH_NAN.data[100] = np.nan
ASYMMETRIC = sp.csr_array(GRAPH + sp.csr_array(([0.5], ([10], [700])), shape=GRAPH.shape))
LYING = da.from_delayed(dask.delayed(np.ones((90, 80))), (90, 90), float)


def frame_of(**columns):
    return dd.from_pandas(pd.DataFrame(columns), npartitions=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit(GramFactor(UNTOUCHABLE), GRAPH_PAIRS), "pairs are over n_samples=900 samples, but X has 6000"),
        (lambda: fit(GramFactor(UNTOUCHABLE), frame_of(row=[0], col=[N], label=[1])), "between 0 and 5999"),
        (lambda: fit(GramFactor(UNTOUCHABLE), frame_of(row=[0], col=[1], label=[np.nan])), r"must be \+1"),
        (lambda: fit(GramFactor(UNTOUCHABLE), frame_of(row=[0], col=[1])), "row, col and label"),
        (lambda: fit(GramFactor(UNTOUCHABLE), FACTOR_PAIRS, n_components=200), "less than the 100 labelled samples"),
        (lambda: fit(GramFactor(UNTOUCHABLE), None), "requires y"),
        (lambda: fit(GramFactor(UNTOUCHABLE.astype(complex)), FACTOR_PAIRS), "real numbers"),
        (lambda: fit(UNTOUCHABLE, FACTOR_PAIRS), "square matrix"),
        (lambda: fit(UNTOUCHABLE, FACTOR_PAIRS, kernels=Gaussian(1.0)), "GramFactor"),
        (lambda: fit(GramFactor(da.from_array(np.where(F > 5, np.nan, F))), FACTOR_PAIRS), "NaN or infinity"),
        (lambda: fit(row_blocks(WITH_NAN, GRAPH_BLOCK), GRAPH_PAIRS), "NaN or infinity"),
        (lambda: fit(row_blocks(ASYMMETRIC, GRAPH_BLOCK), GRAPH_PAIRS), "rows 0 to 299 in the columns 600 to 899"),
        (lambda: fit(LYING, Pairs([0], [1], [1], n_samples=90), n_components=1), "one column for each of the 90"),
    ],
)
def test_what_cannot_work_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_labels_in_a_dask_array_are_refused():
    with pytest.raises(TypeError, match="pass pairs"):
        PairCompleter().fit(GramFactor(UNTOUCHABLE), da.zeros(N))


@pytest.mark.parametrize(
    ("rows", "cols", "message"),
    [
        ([0], [N_GRAPH], "between 0 and 899"),
        (da.zeros(5), da.zeros(5), "sample indices"),
        (da.zeros(5, dtype=int), da.zeros(6, dtype=int), "one length"),
        (da.full(5, N_GRAPH, dtype=int), da.zeros(5, dtype=int), "between 0 and 899"),
    ],
)
def test_pairs_that_do_not_exist_are_refused(fitted, rows, cols, message):
    with pytest.raises(ValueError, match=message):
        np.asarray(fitted[0].pair_scores(rows, cols))


def test_what_works_in_memory_only_says_so():
    with pytest.raises(TypeError, match="PairCompleter"):
        PairCompletionClustering(3).fit(GramFactor(UNTOUCHABLE), pairs=FACTOR_PAIRS)
    with pytest.raises(TypeError, match="in memory"):
        plan_labelling(GramFactor(UNTOUCHABLE), 3)


def test_new_samples_need_all_their_similarities(fitted):
    with pytest.raises(ValueError, match="expecting 900 features"):
        fitted[0].transform(da.zeros((5, 10)))
