"""Noisy pairs and links on a real Dask cluster of two worker processes: the results are those in memory."""

import itertools
import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from dask_cluster import killed_at
from kernelwise import LinkedClustering, LinkSmoother, PairNoise, Pairs
from kernelwise.dask_rows import collections, k_means
from kernelwise.kernels import gaussian_kernels
from kernelwise.pairs.learner import PairKernelLearner

N_SAMPLES, N_FEATURES, N_PAIRS = 1200, 12, 3000


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several row blocks even of the few rows of these tests."""
    monkeypatch.setattr(collections, "SMALL_BLOCK", 400)


def random_pairs(rng, n_samples=N_SAMPLES, n_pairs=N_PAIRS, weights=True):
    rows = rng.integers(n_samples, size=n_pairs)
    cols = (rows + rng.integers(1, n_samples, size=n_pairs)) % n_samples
    y = np.arange(n_samples) % 3
    labels = np.where(y[rows] == y[cols], 1, -1) * np.where(rng.random(n_pairs) < 0.15, -1, 1)
    return Pairs(rows, cols, labels, n_samples=n_samples, weights=rng.uniform(0.5, 2.0, n_pairs) if weights else None)


def features(rng, n_samples=N_SAMPLES):
    y = np.arange(n_samples) % 3
    informative = (y[:, None] == np.arange(3)) + 0.3 * rng.random((n_samples, 3))
    return np.hstack([informative, rng.random((n_samples, N_FEATURES - 3))])


def frame_of(pairs, n_partitions=3):
    columns = {"row": pairs.rows, "col": pairs.cols, "label": pairs.labels, "weight": pairs.weights}
    return dd.from_pandas(pd.DataFrame(columns), npartitions=n_partitions, sort=False)


def in_sparse_blocks(X, chunk=300):
    return da.from_array(X, chunks=(chunk, -1)).map_blocks(sp.csr_array, dtype=np.float64)


NOISE = PairNoise(0.35, 0.8, 0.85)


def assert_same_fit(model, reference):
    assert model.kernel_weights_ == pytest.approx(reference.kernel_weights_, abs=1e-6)
    assert model.intercept_ == pytest.approx(reference.intercept_, abs=1e-6)
    assert model.objective_ == pytest.approx(reference.objective_, abs=1e-9)
    assert model.dual_gap_ == pytest.approx(reference.dual_gap_, abs=1e-6)
    assert model.statistic_ == pytest.approx(reference.statistic_, abs=1e-12)
    assert model.converged_


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({}, "dense blocks"),
        pytest.param({"noise": NOISE}, "dense blocks", marks=pytest.mark.slow),
        ({"noise": NOISE, "fit_intercept": True}, "sparse blocks"),
        pytest.param({"noise": NOISE, "correction": "forward", "tol": 1e-5}, "dense blocks", marks=pytest.mark.slow),
        ({"noise": NOISE}, "sparse in memory"),
        pytest.param({"noise": NOISE}, "frame", marks=pytest.mark.slow),
        pytest.param(
            {"noise": NOISE, "fit_intercept": False, "standardize": False}, "dense blocks", marks=pytest.mark.slow
        ),
        ({"noise": NOISE, "kernels": gaussian_kernels([0.5, 2.0], "each")}, "dense blocks"),
    ],
)
def test_the_weights_and_the_certificate_are_those_in_memory(client, rng, options, place):
    X, pairs = features(rng), random_pairs(rng)
    if "sparse" in place:
        X = np.where(X > 0.8, X, 0.0)
    given = {
        "dense blocks": lambda: da.from_array(X, chunks=(250, 4)),
        "sparse blocks": lambda: in_sparse_blocks(X),
        "sparse in memory": lambda: sp.csr_array(X),
        "frame": lambda: dd.from_pandas(pd.DataFrame(X).add_prefix("f"), npartitions=3),
    }[place]()
    whole = pd.DataFrame(X).add_prefix("f") if place == "frame" else sp.csr_array(X) if "sparse" in place else X
    options = {"tol": 1e-10, "random_state": 0} | options
    reference = PairKernelLearner(**options).fit(whole, pairs=pairs)
    model = PairKernelLearner(**options).fit(given, pairs=frame_of(pairs))
    assert_same_fit(model, reference)
    assert model.kernel_names_ == reference.kernel_names_
    assert model.transform(whole).shape == reference.transform(whole).shape


def test_transform_of_a_dask_array_is_that_in_memory(client, rng):
    X, pairs = features(rng), random_pairs(rng)
    model = PairKernelLearner(noise=NOISE).fit(X, pairs=frame_of(pairs))
    lazy = model.transform(da.from_array(X, chunks=(500, -1)))
    assert isinstance(lazy, da.Array)
    assert lazy.compute() == pytest.approx(model.transform(X), rel=1e-12)


def test_pairs_in_memory_with_samples_on_the_cluster(client, rng):
    X, pairs = features(rng), random_pairs(rng)
    model = PairKernelLearner(noise=NOISE, tol=1e-10).fit(da.from_array(X, chunks=(400, -1)), pairs=pairs)
    assert_same_fit(model, PairKernelLearner(noise=NOISE, tol=1e-10).fit(X, pairs=pairs))


def test_repeated_and_contradictory_pairs_count_wherever_they_are(client, rng):
    """The same pair in two partitions, in both orders and with both labels, counts as often as it is given."""
    X, once = features(rng), random_pairs(rng, n_pairs=600)
    reverse = Pairs(once.cols, once.rows, once.labels, n_samples=N_SAMPLES, weights=once.weights)
    against = Pairs(once.rows, once.cols, -once.labels, n_samples=N_SAMPLES)
    pairs = once + reverse + against
    assert pairs.n_duplicates >= 600
    assert pairs.n_contradictions > 500
    model = PairKernelLearner(tol=1e-10).fit(X, pairs=frame_of(pairs, 4))
    assert_same_fit(model, PairKernelLearner(tol=1e-10).fit(X, pairs=pairs))
    assert_same_fit(model, PairKernelLearner(tol=1e-10).fit(X, pairs=pairs.merged()))


@pytest.mark.slow
def test_the_noise_is_estimated_as_in_memory_where_pairs_are_few(client, rng):
    X, pairs = features(rng), random_pairs(rng, weights=False)
    model = PairKernelLearner(noise="auto", random_state=0).fit(X, pairs=frame_of(pairs))
    reference = PairKernelLearner(noise="auto", random_state=0).fit(X, pairs=pairs)
    assert model.noise_.precision_positive == pytest.approx(reference.noise_.precision_positive, abs=0.02)
    assert model.noise_.precision_negative == pytest.approx(reference.noise_.precision_negative, abs=0.02)


BAD = [
    (
        lambda p: p.assign(row=N_SAMPLES),
        ValueError,
        f"partition 0 of pairs: pair 0 is .{N_SAMPLES}, .*indices must lie",
    ),
    (lambda p: p.assign(row=p.row.where(p.row != p.row.iloc[-1])), TypeError, "rows must hold integer indices"),
    (lambda p: p.assign(label=0), ValueError, r"partition 0 of pairs: labels must be \+1"),
    (lambda p: p.assign(label="same"), TypeError, "labels must hold the numbers"),
    (lambda p: p.assign(col=p.row), ValueError, "joins sample .* to itself"),
    (lambda p: p.assign(weight=-1.0), ValueError, "weights must be positive and finite"),
    (lambda p: p.assign(weight=np.nan), ValueError, "weights must be positive and finite"),
    (lambda p: p.drop(columns="label"), ValueError, "pairs has no column 'label'"),
    (lambda p: p.assign(label=1), ValueError, r"there is no negative \(-1\) pair among the 3000 pairs"),
    (lambda p: p[p.row < 0], ValueError, "pairs has no rows"),
]


@pytest.mark.parametrize(("spoil", "error", "message"), BAD)
def test_bad_pairs_are_refused_as_in_memory(client, rng, spoil, error, message):
    pairs = random_pairs(rng)
    columns = {"row": pairs.rows, "col": pairs.cols, "label": pairs.labels, "weight": pairs.weights}
    frame = dd.from_pandas(spoil(pd.DataFrame(columns)), npartitions=2, sort=False)
    with pytest.raises(error, match=message):
        PairKernelLearner().fit(features(rng), pairs=frame)


def test_what_cannot_work_on_a_cluster_is_refused(client, rng):
    X, pairs = features(rng), random_pairs(rng)
    lazy = da.from_array(X, chunks=(400, -1))
    holes = np.where(np.arange(len(X))[:, None] == 700, np.nan, X)
    cases = [
        (PairKernelLearner(), lazy, None, "pairs must be given"),
        (PairKernelLearner(kernels="precomputed"), lazy, pairs, "precomputed"),
        (PairKernelLearner(), da.from_array(holes, chunks=(400, -1)), pairs, "NaN"),
        (PairKernelLearner(), lazy[:100], pairs, "pairs are over n_samples=1200 samples, but X has 100"),
    ]
    for model, samples, known, message in cases:
        with pytest.raises(ValueError, match=message):
            model.fit(samples, pairs=known)
    with pytest.raises(TypeError, match="pairs must be a Dask DataFrame"):
        PairKernelLearner().fit(lazy, pairs=np.ones((3, 3)))


def documents(rng, n_samples=900):
    """Counts of 60 words of three topics, and links mostly within topics."""
    topic = rng.integers(3, size=n_samples)
    rates = np.where(np.arange(60)[None, :] % 3 == topic[:, None], 0.5, 0.1)
    ends = rng.integers(n_samples, size=(6 * n_samples, 2))
    same = (topic[ends[:, 0]] == topic[ends[:, 1]]) | (rng.random(len(ends)) < 0.1)
    ends = ends[same & (ends[:, 0] != ends[:, 1])]
    links = Pairs(ends[:, 0], ends[:, 1], np.ones(len(ends), dtype=int), n_samples=n_samples)
    return sp.csr_array(rng.poisson(rates).astype(float)), links


def adjacency_blocks(links):
    A = links.to_sparse()
    cuts = [0, 100, 550, A.shape[0]]
    parts = [
        da.from_delayed(dask.delayed(A[low:high]), shape=(high - low, A.shape[1]), dtype=float, meta=A[:0])
        for low, high in itertools.pairwise(cuts)
    ]
    return da.concatenate(parts)


@pytest.mark.parametrize(
    ("options", "sparse", "graph"),
    [
        ({"n_components": 20}, True, "frame"),
        ({"n_components": 20, "depth": (1, 2), "depth_weights": (0.5, 2.0)}, True, "adjacency"),
        ({"tfidf": False, "n_components": None}, False, "memory"),
        ({"tfidf": False, "n_components": None}, True, "none"),
    ],
)
def test_smoothing_is_that_in_memory(client, rng, options, sparse, graph):
    X, links = documents(rng)
    X = X if sparse else X.toarray() - 0.5
    lazy = in_sparse_blocks(X.toarray(), 250) if sparse else da.from_array(X, chunks=(250, 20))
    edges = frame_of(links, 3)[["row", "col", "weight"]]
    given = {"frame": edges, "adjacency": adjacency_blocks(links), "memory": links, "none": None}[graph]
    reference = LinkSmoother(random_state=0, **options)
    expected = reference.fit_transform(X, pairs=None if graph == "none" else links)
    model = LinkSmoother(random_state=0, **options)
    smoothed = model.fit_transform(lazy, pairs=given)
    assert isinstance(smoothed, da.Array)
    assert smoothed.numblocks[0] > 1
    assert smoothed.compute() == pytest.approx(expected, abs=1e-9)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.transform(X[:7]) == pytest.approx(reference.transform(X[:7]), abs=1e-9)
    assert model.transform(lazy).compute() == pytest.approx(reference.transform(X), abs=1e-9)


@pytest.mark.parametrize("start_rows", [20_000, 300])
def test_clusters_are_those_in_memory(client, rng, monkeypatch, start_rows):
    """With starts on all rows to the last label; with starts on a third of them, the same clusters are found."""
    monkeypatch.setattr(k_means, "START_ROWS", start_rows)
    X, links = documents(rng)
    options = {"n_clusters": 3, "n_components": 20, "embedding_dim": 10, "row_normalize": True, "random_state": 0}
    reference = LinkedClustering(**options).fit(X, pairs=links)
    model = LinkedClustering(**options).fit(in_sparse_blocks(X.toarray(), 250), pairs=frame_of(links))
    labels = model.labels_.compute()
    assert isinstance(model.labels_, da.Array)
    if start_rows > len(labels):
        assert np.array_equal(labels, reference.labels_)
        assert model.cluster_centers_ == pytest.approx(reference.cluster_centers_, abs=1e-6)
        assert np.abs(model.embedding_.compute()) == pytest.approx(np.abs(reference.embedding_), abs=1e-6)
    assert adjusted_rand_score(labels, reference.labels_) > 0.98
    assert model.inertia_ == pytest.approx(reference.inertia_, rel=0.01)
    assert model.singular_values_ == pytest.approx(reference.singular_values_, rel=1e-9)
    assert model.predict(in_sparse_blocks(X.toarray())).compute().shape == (900,)


def test_that_nothing_is_chosen_on_a_cluster_is_said(client, rng):
    X, links = documents(rng)
    lazy = in_sparse_blocks(X.toarray())
    options = {"n_clusters": 3, "n_components": 20, "embedding_dim": 10, "random_state": 0}
    with pytest.warns(UserWarning, match='depth="auto" chooses nothing on a Dask cluster: it means depth=3 there'):
        auto = LinkedClustering(**options).fit(lazy, pairs=links)
    fixed = LinkedClustering(depth=3, **options).fit(lazy, pairs=links)  # without a warning
    assert np.array_equal(auto.labels_.compute(), fixed.labels_.compute())


def test_bad_links_are_refused(client, rng):
    X, links = documents(rng)
    lazy = in_sparse_blocks(X.toarray())
    lopsided = da.from_array(np.triu(np.ones((900, 900)), 1), chunks=(300, 900))
    cases = [
        (LinkSmoother(depth=(1, 2), depth_weights="learned"), links, 'depth_weights="learned" is for data in memory'),
        (LinkSmoother(), lopsided, "symmetric"),
        (LinkSmoother(), lopsided[:300], "a row and a column for each of the 900 samples"),
        (LinkSmoother(), -lopsided - lopsided.T, "non-negative weights"),
        (LinkSmoother(), frame_of(links)[["row", "weight"]], "pairs has no column 'col'"),
        (LinkedClustering(901, depth=3), links, "n_clusters=901 is more than the 900 samples"),
    ]
    for model, given, message in cases:
        with pytest.raises(ValueError, match=message):
            model.fit(lazy, pairs=given)
    model = LinkSmoother().fit(lazy, pairs=links)
    with pytest.raises(ValueError, match="they were on a cluster; leave links out"):
        model.transform(X[:1], links=np.ones((1, 900)))
    with pytest.raises(ValueError, match="takes nothing beside X"):
        model.transform(lazy, links=np.ones((900, 900)))
    with pytest.warns(UserWarning, match="no positive pair"):
        LinkSmoother().fit(lazy, pairs=frame_of(Pairs([0], [1], [-1], n_samples=900), 1))


@pytest.mark.slow  # test_mkl.py has a quick one
def test_a_worker_killed_while_weights_are_learned_changes_nothing(client, rng):
    X, pairs = features(rng), random_pairs(rng)
    model, reference = (PairKernelLearner(noise=NOISE, fit_intercept=True, tol=1e-10) for _ in range(2))
    reference.fit(X, pairs=pairs)
    with killed_at(client, "kernelwise-evaluate"):
        model.fit(da.from_array(X, chunks=(250, -1)), pairs=frame_of(pairs))
    assert_same_fit(model, reference)


@pytest.mark.slow
def test_a_worker_killed_while_rows_are_smoothed_changes_nothing(client, rng):
    X, links = documents(rng)
    model, reference = (
        LinkedClustering(3, depth=3, n_components=20, embedding_dim=10, random_state=0) for _ in range(2)
    )
    reference.fit(X, pairs=links)
    with killed_at(client, "kernelwise-shifted"):
        model.fit(in_sparse_blocks(X.toarray(), 250), pairs=frame_of(links))
    assert np.array_equal(model.labels_.compute(), reference.labels_)
