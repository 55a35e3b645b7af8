import hashlib
import json
import sys
from functools import partial
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import svds

from kernelwise import datasets
from kernelwise.datasets import (
    fetch_gisette,
    load_australian,
    load_breast_cancer,
    load_citeseer,
    load_cora,
    load_heart,
    load_ionosphere,
    load_sonar,
    load_splice,
    make_block_similarity,
)

# loader, number of features, size of every class: as published with the sets
TABLES = [
    (load_ionosphere, 34, {"b": 126, "g": 225}),
    (load_heart, 13, {"absent": 150, "present": 120}),
    (load_sonar, 60, {"M": 111, "R": 97}),
    (load_breast_cancer, 9, {"benign": 444, "malignant": 239}),
    (partial(load_breast_cancer, include_id=True), 10, {"benign": 444, "malignant": 239}),
    (load_australian, 14, {"-": 383, "+": 307}),
    (load_splice, 60, {"neither": 1648, "boundary": 1527}),
    (partial(load_splice, n_classes=3), 60, {"EI": 762, "IE": 765, "N": 1648}),
    (partial(load_splice, encoding="letters"), 60, {"neither": 1648, "boundary": 1527}),
    (partial(load_splice, encoding="onehot"), 240, {"neither": 1648, "boundary": 1527}),
    (
        load_cora,
        1433,
        {
            "Case_Based": 298,
            "Genetic_Algorithms": 418,
            "Neural_Networks": 818,
            "Probabilistic_Methods": 426,
            "Reinforcement_Learning": 217,
            "Rule_Learning": 180,
            "Theory": 351,
        },
    ),
    (load_citeseer, 3703, {"AI": 249, "Agents": 596, "DB": 701, "HCI": 508, "IR": 668, "ML": 590}),
]
# loader, citations, distinct pairs, ones, connected components, papers without a link
NETWORKS = [
    (load_cora, 5429, 5278, 49216, 78, 0),
    (load_citeseer, 4591, 4536, 105165, 438, 48),
]


@pytest.mark.parametrize(("load", "n_features", "class_counts"), TABLES)
def test_bunch(load, n_features, class_counts):
    bunch = load()
    n_samples = sum(class_counts.values())
    assert bunch.data.shape == (n_samples, n_features)
    assert bunch.target.shape == (n_samples,)
    assert dict(zip(bunch.target_names.tolist(), np.bincount(bunch.target), strict=True)) == class_counts
    assert len(set(bunch.feature_names)) == n_features
    assert bunch.frame is None
    assert files("kernelwise.datasets").joinpath("files", bunch.filename).is_file()
    if bunch.data.dtype.kind != "U":
        values = bunch.data.data if issparse(bunch.data) else bunch.data
        assert bunch.data.dtype == np.float64
        assert np.isfinite(values).all()


@pytest.mark.parametrize(("load", "n_features", "class_counts"), TABLES)
def test_pair_and_frame_hold_the_same_values(load, n_features, class_counts):
    bunch = load()
    X, y = load(return_X_y=True)
    framed = load(as_frame=True)
    X_frame, y_series = load(as_frame=True, return_X_y=True)
    assert np.array_equal(dense(X), dense(bunch.data))
    assert np.array_equal(y, bunch.target)
    for frame in (framed.data, X_frame):
        assert list(frame.columns) == bunch.feature_names
        assert np.array_equal(dense(frame), dense(bunch.data))
    for series in (framed.target, y_series, framed.frame["target"]):
        assert np.array_equal(series, bunch.target)
    assert list(framed.frame.columns) == [*bunch.feature_names, "target"]


def dense(table):
    """The values as a plain array."""
    if isinstance(table, pd.DataFrame):
        sparse = [isinstance(dtype, pd.SparseDtype) for dtype in table.dtypes]
        return table.sparse.to_coo().toarray() if all(sparse) else table.to_numpy()
    return table.toarray() if issparse(table) else table


def test_frames_of_sparse_sets_are_sparse():
    assert load_cora(as_frame=True).data.sparse.density == pytest.approx(49216 / (2708 * 1433))


@pytest.mark.parametrize("name", [name for name in datasets.__all__ if name.startswith("load_")])
def test_descr_tells_source_licence_and_citation(name):
    text = getattr(datasets, name)().DESCR
    for heading in ("Source", "Licence", "Citation"):
        body = text.split(f"\n{heading}\n{'-' * len(heading)}\n")[1]
        assert len(body.split("\n\n")[0]) > 30


def test_a_loaded_set_is_the_callers_own():
    load_heart().data[:] = 0
    load_cora().edges[:] = 0
    assert load_heart().data.any()
    assert load_cora().edges.any()


def test_files_have_the_checksums_of_the_manifest():
    folder = files("kernelwise.datasets").joinpath("files")
    manifest = json.loads(folder.joinpath("manifest.json").read_text())
    assert {entry["file"] for entry in manifest.values()} == {
        path.name for path in folder.iterdir() if path.name.endswith(".npz")
    }
    for entry in manifest.values():
        assert hashlib.sha256(folder.joinpath(entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
        assert all("==" in source for source in entry["sources"])


@pytest.mark.parametrize(("load", "n_citations", "n_pairs", "n_ones", "n_components", "n_isolated"), NETWORKS)
def test_network(load, n_citations, n_pairs, n_ones, n_components, n_isolated):
    bunch = load()
    n_papers = len(bunch.target)
    assert isinstance(bunch.data, csr_array)
    assert bunch.data.nnz == n_ones
    assert (bunch.data.data == 1).all()
    assert bunch.data.has_canonical_format
    assert bunch.edges.shape == (n_citations, 2)
    assert bunch.edges.min() >= 0
    assert bunch.edges.max() < n_papers
    assert (bunch.edges[:, 0] != bunch.edges[:, 1]).all()
    assert len(np.unique(np.sort(bunch.edges, axis=1), axis=0)) == n_pairs
    graph = csr_array((np.ones(n_citations), bunch.edges.T), shape=(n_papers, n_papers))
    assert connected_components(graph, directed=False)[0] == n_components
    assert n_papers - len(np.unique(bunch.edges)) == n_isolated


def test_edges_of_cora_are_directed_and_those_of_citeseer_ordered():
    cora, citeseer = load_cora(), load_citeseer()
    assert len(np.unique(cora.edges, axis=0)) == len(cora.edges)
    assert (citeseer.edges[:, 0] < citeseer.edges[:, 1]).all()
    assert len(np.unique(cora.paper_ids)) == len(cora.target)
    # The first line of cora.cites says that paper 1033 cites paper 35.
    citing, cited = cora.paper_ids[cora.edges[0]]
    assert (citing, cited) == (1033, 35)


def test_facts_told_by_the_publishers():
    ionosphere, splice, cancer = load_ionosphere(), load_splice(), load_breast_cancer(include_id=True)
    assert (ionosphere.data[:, 1] == 0).all()
    assert np.abs(ionosphere.data).max() == 1
    assert repeated(ionosphere.data) == 1
    assert repeated(splice.data) == 185
    assert repeated(cancer.data) == 8
    assert set(np.unique(cancer.data[:, 1:])) == set(range(1, 11))
    # Sonar: first the 97 rocks, then the 111 mines.
    assert load_sonar().target.tolist() == [1] * 97 + [0] * 111
    # The means of the numeric columns in the documentation of the Australian set.
    means = [31.568203, 4.758725, 2.223406, 2.4, 184.014493, 1018.385507]
    assert load_australian().data.mean(axis=0)[[1, 2, 6, 9, 12, 13]] == pytest.approx(means, abs=1e-6)


def repeated(X):
    return len(X) - len(np.unique(X, axis=0))


def coherence(X, n_vectors):
    """mu_s = n/s * max_i ||U_s[i]||^2 for the cosine similarity of the rows of X."""
    norms = np.sqrt(np.asarray((X * X).sum(axis=1))).ravel()
    U = svds(csr_array(X / norms[:, None]), n_vectors, rng=0)[0]
    return len(U) / n_vectors * (U**2).sum(axis=1).max()


@pytest.mark.parametrize(
    ("load", "published"),
    [(partial(load_splice, letter_order="AGCT"), 1.97), (load_citeseer, 2.22)],
)
def test_coherence_is_the_one_in_table_1_of_the_completion_paper(load, published):
    assert coherence(load().data, 50) == pytest.approx(published, abs=0.005)


def test_encodings_of_splice_say_the_same():
    letters = load_splice(encoding="letters").data
    codes = load_splice(letter_order="TGCA").data
    onehot = load_splice(encoding="onehot", letter_order="TGCA")
    assert np.array_equal(np.array(list("?TGCA"))[codes.astype(int)], letters)
    blocks = onehot.data.reshape(-1, 60, 4)
    assert np.array_equal(blocks.sum(axis=2), np.ones_like(codes))
    assert np.array_equal(blocks.argmax(axis=2) + 1, codes)
    assert onehot.feature_names[:5] == ["pos-30=T", "pos-30=G", "pos-30=C", "pos-30=A", "pos-29=T"]


def test_identifier_is_the_first_column_and_nothing_else_changes():
    with_id, without = load_breast_cancer(include_id=True), load_breast_cancer()
    assert np.array_equal(with_id.data[:, 1:], without.data)
    assert with_id.data[0, 0] == 1000025
    assert with_id.feature_names == ["sample_code_number", *without.feature_names]


# --- the synthetic set


@pytest.mark.parametrize(("n_samples", "n_classes", "noise"), [(1, 1, 0.5), (10, 3, 0.0), (40, 4, 0.5), (41, 40, 2.0)])
def test_block_similarity_is_labels_plus_symmetric_noise(n_samples, n_classes, noise):
    S, y = make_block_similarity(n_samples, n_classes, noise, random_state=0)
    delta = S - np.equal.outer(y, y)
    assert S.shape == (n_samples, n_samples)
    assert np.array_equal(S, S.T)
    assert delta.min() >= -1e-15
    assert delta.max() <= noise
    sizes = np.bincount(y)
    assert len(sizes) == n_classes
    assert sizes.max() - sizes.min() <= 1
    assert (np.diff(y) >= 0).all()


def test_block_noise_is_uniform_and_reproducible():
    S, y = make_block_similarity(600, 4, 0.5, random_state=3)
    delta = (S - np.equal.outer(y, y))[np.triu_indices(600)]
    n = len(delta)
    # Five standard errors of the mean and of the empirical distribution function of U(0, 0.5).
    assert abs(delta.mean() - 0.25) < 5 * 0.5 / np.sqrt(12 * n)
    assert np.abs(np.sort(delta) * 2 - np.arange(n) / n).max() < 5 * 0.5 / np.sqrt(n)
    assert np.array_equal(S, make_block_similarity(600, 4, 0.5, random_state=3)[0])
    assert not np.array_equal(S, make_block_similarity(600, 4, 0.5, random_state=4)[0])


def test_default_block_similarity_is_that_of_the_paper():
    S, y = make_block_similarity(random_state=0)
    assert np.bincount(y).tolist() == [250] * 4
    vectors = np.linalg.eigh(S)[1][:, -20:]
    # "We choose s = 20, which yields roughly mu_s = 2."
    assert 1.5 < 1000 / 20 * (vectors**2).sum(axis=1).max() < 2.5


# --- bad calls


@pytest.mark.parametrize(
    ("call", "error", "fragment"),
    [
        (lambda: load_ionosphere(return_X_y="yes"), TypeError, "return_X_y must be True or False, got 'yes'"),
        (lambda: load_cora(as_frame=1), TypeError, "as_frame must be True or False, got 1"),
        (lambda: load_citeseer(as_frame=None), TypeError, "as_frame must be True or False, got None"),
        (lambda: load_breast_cancer(include_id="no"), TypeError, "include_id must be True or False"),
        (lambda: load_heart(True), TypeError, "positional"),
        (lambda: load_splice(n_classes=4), ValueError, "n_classes must be 2 or 3, got 4"),
        (lambda: load_splice(n_classes=True), ValueError, "n_classes must be 2 or 3, got True"),
        (lambda: load_splice(encoding="one-hot"), ValueError, 'encoding must be "codes".*one-hot'),
        (lambda: load_splice(letter_order="ACG"), ValueError, "letter_order must hold each of A, C, G, T once"),
        (lambda: load_splice(letter_order="ACGU"), ValueError, "letter_order.*'ACGU'"),
        (lambda: load_splice(letter_order={"A": 1}), ValueError, "letter_order"),
        (lambda: make_block_similarity(0), ValueError, "n_samples must be an integer of at least 1, got 0"),
        (lambda: make_block_similarity(10.0), TypeError, r"n_samples must be an integer of at least 1, got 10\.0"),
        (
            lambda: make_block_similarity(10, 11),
            ValueError,
            "n_classes must be an integer between 1 and 10, the number of samples, got 11",
        ),
        (lambda: make_block_similarity(10, -1), ValueError, "n_classes must be an integer between 1 and 10.* got -1"),
        (lambda: make_block_similarity(noise=-0.1), ValueError, r"noise must be finite.*got -0\.1"),
        (lambda: make_block_similarity(noise=np.nan), ValueError, "noise must be finite.*got nan"),
        (lambda: make_block_similarity(noise="much"), TypeError, "noise must be a number, got 'much'"),
        (lambda: make_block_similarity(10, 2, random_state="dice"), ValueError, "dice"),
        (lambda: fetch_gisette(subset="test"), ValueError, 'subset must be "train", "valid" or "all"'),
        (lambda: fetch_gisette(download_if_missing=0), TypeError, "download_if_missing must be True or False"),
        (lambda: fetch_gisette(base_url="ftp://mirror"), ValueError, "base_url must start with http"),
        (lambda: fetch_gisette(base_url=None), ValueError, "base_url must start with http.*got None"),
        (lambda: fetch_gisette(callback="print"), TypeError, "callback must be callable or None"),
        (lambda: fetch_gisette(data_home=7), TypeError, "data_home must be a path or None, got 7"),
    ],
)
def test_bad_calls(call, error, fragment):
    with pytest.raises(error, match=fragment):
        call()


def test_frames_without_pandas(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pandas", None)  # what an absent package looks like to import
    for load in (load_sonar, load_cora, partial(fetch_gisette, data_home=tmp_path, download_if_missing=False)):
        with pytest.raises(ImportError, match="pip install pandas"):
            load(as_frame=True)
    assert load_sonar().frame is None
