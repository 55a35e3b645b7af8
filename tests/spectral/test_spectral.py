"""Eigenpairs, embeddings and clusters: against full decompositions, between kinds of input, and on exact blocks."""

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.exceptions import ConvergenceWarning

from kernelwise.metrics import clustering_accuracy
from kernelwise.spectral import (
    GramFactor,
    SpectralBasis,
    assign_clusters,
    block_lanczos,
    spectral_basis,
    spectral_embedding,
    top_eigenpairs,
)
from kernelwise.spectral.block_lanczos import finds_larger
from kernelwise.spectral.filtered import filtered_eigenpairs

SMALL, LARGE = 30, 260  # below and above the size from which Lanczos is used


def random_factor(rng, n, rank=12):
    """Non-negative, so that degrees are positive, with well separated leading singular values."""
    return rng.random((n, rank)) * 2.0 ** -np.arange(rank)


def as_kinds(factor):
    """The same similarity in every form that is accepted."""
    similarity = factor @ factor.T
    return {
        "dense": similarity,
        "fortran": np.asfortranarray(similarity),
        "sparse": scipy.sparse.csr_array(similarity),
        "sparse matrix": scipy.sparse.coo_matrix(similarity),
        "operator": LinearOperator(similarity.shape, matvec=lambda x: similarity @ x, dtype=float),
        "factor": GramFactor(factor),
        "sparse factor": GramFactor(scipy.sparse.csc_array(factor)),
    }


def normalised(similarity):
    """D^-1/2 K D^-1/2 by loops."""
    degrees = similarity.sum(axis=1)
    n = len(degrees)
    return np.array([[similarity[i, j] / np.sqrt(degrees[i] * degrees[j]) for j in range(n)] for i in range(n)])


def block_similarity(sizes, rng=None):
    """Similarities within blocks only; constant, or random and positive."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    same = labels[:, None] == labels[None, :]
    noise = 1.0 if rng is None else rng.uniform(0.5, 1.0, size=same.shape)
    return np.where(same, noise + np.transpose(noise), 0.0), labels


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_eigenpairs_are_those_of_a_full_decomposition(rng, n):
    matrix = rng.normal(size=(n, n))
    matrix += matrix.T  # indefinite: the largest values are wanted, not the largest magnitudes
    values, vectors = top_eigenpairs(matrix, 5, random_state=0)
    full_values, full_vectors = np.linalg.eigh(matrix)
    np.testing.assert_allclose(values, full_values[::-1][:5], rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(vectors * full_vectors[:, ::-1][:, :5], axis=0)), 1.0, rtol=1e-8)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-10)
    assert np.all(np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None, :], axis=0) > 0)


@pytest.mark.parametrize("k", [LARGE - 2, LARGE - 1, LARGE])
def test_nearly_all_eigenpairs_can_be_had(rng, k):
    factor = rng.normal(size=(LARGE, LARGE))
    values, vectors = top_eigenpairs(GramFactor(factor), k, random_state=0)
    np.testing.assert_allclose(values, np.linalg.svd(factor)[1][:k] ** 2, rtol=1e-7, atol=1e-8)
    assert vectors.shape == (LARGE, k)


@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("normalize", ["symmetric", "none"])
def test_every_kind_of_input_gives_the_same_embedding(rng, n, normalize):
    kinds = as_kinds(random_factor(rng, n))
    expected = spectral_embedding(kinds["dense"], 4, normalize=normalize, random_state=0)
    for name, kind in kinds.items():
        embedding = spectral_embedding(kind, 4, normalize=normalize, random_state=0)
        np.testing.assert_allclose(embedding, expected, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_embedding_is_that_of_the_normalised_similarity(rng, n):
    factor = random_factor(rng, n)
    values, vectors = np.linalg.eigh(normalised(factor @ factor.T))
    basis = spectral_basis(GramFactor(factor), 3, random_state=0)
    np.testing.assert_allclose(basis.values, values[::-1][:3], rtol=1e-10)
    assert basis.values[0] == pytest.approx(1.0)
    np.testing.assert_allclose(np.abs(basis.embedding(row_normalize=False)), np.abs(vectors[:, ::-1][:, :3]), atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(basis.embedding(), axis=1), 1.0)


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_embedding_moves_with_its_samples(rng, n):
    factor = random_factor(rng, n)
    order = rng.permutation(n)
    expected = spectral_embedding(GramFactor(factor), 4, random_state=0)[order]
    np.testing.assert_allclose(spectral_embedding(GramFactor(factor[order]), 4, random_state=0), expected, atol=1e-7)


def test_embedding_does_not_depend_on_the_scale_of_the_similarity(rng):
    similarity = as_kinds(random_factor(rng, LARGE))["dense"]
    expected = spectral_embedding(similarity, 3, random_state=0)
    for scale in (1e-9, 1e9):
        np.testing.assert_allclose(spectral_embedding(scale * similarity, 3, random_state=0), expected, atol=1e-7)


@pytest.mark.parametrize("sizes", [(5, 9, 3), (100, 50, 200, 80)])
@pytest.mark.parametrize("constant", [True, False])
def test_blocks_are_found_exactly(rng, sizes, constant):
    similarity, labels = block_similarity(sizes, None if constant else rng)
    order = rng.permutation(labels.size)
    similarity, labels = similarity[np.ix_(order, order)], labels[order]
    basis = spectral_basis(similarity, len(sizes), random_state=0)
    np.testing.assert_allclose(basis.values, 1.0)
    found = assign_clusters(basis.embedding(), len(sizes), random_state=0)
    assert clustering_accuracy(labels, found) == 1.0


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_isolated_samples_have_zero_rows_and_change_nothing_else(rng, n):
    factor = random_factor(rng, n)
    with_isolated = np.vstack([factor[:7], np.zeros((2, factor.shape[1])), factor[7:]])
    embedding = spectral_embedding(GramFactor(with_isolated), 3, random_state=0)
    np.testing.assert_array_equal(embedding[7:9], 0.0)
    others = np.delete(embedding, [7, 8], axis=0)
    np.testing.assert_allclose(others, spectral_embedding(GramFactor(factor), 3, random_state=0), atol=1e-7)


@pytest.mark.parametrize("normalize", ["symmetric", "none"])
@pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_array])
def test_extension_gives_back_known_samples(rng, normalize, convert):
    similarity = as_kinds(random_factor(rng, LARGE))["dense"]
    basis = spectral_basis(similarity, 3, normalize=normalize, random_state=0)
    for row_normalize in (True, False):
        again = basis.extend(convert(similarity[10:20]), row_normalize=row_normalize)
        np.testing.assert_allclose(again, basis.embedding(row_normalize=row_normalize)[10:20], atol=1e-8)


def test_extension_puts_new_samples_with_their_block(rng):
    similarity, labels = block_similarity((40, 60), rng)
    known = np.arange(100) % 5 > 0
    basis = spectral_basis(similarity[np.ix_(known, known)], 2)
    centres = [basis.embedding()[labels[known] == block].mean(axis=0) for block in (0, 1)]
    new = basis.extend(similarity[np.ix_(~known, known)])
    distances = np.linalg.norm(new[:, None, :] - np.array(centres), axis=2)
    np.testing.assert_array_equal(distances.argmin(axis=1), labels[~known])


def test_the_same_seed_gives_the_same_answer(rng):
    similarity = as_kinds(random_factor(rng, LARGE))["dense"]
    runs = [spectral_embedding(similarity, 4, random_state=3) for _ in range(2)]
    np.testing.assert_array_equal(*runs)
    labels = [assign_clusters(runs[0], 5, random_state=3) for _ in range(2)]
    np.testing.assert_array_equal(*labels)


def operator_with_spectrum(rng, eigenvalues):
    """Q diag(eigenvalues) Q with Q a product of reflections, known by its products alone; counts the columns."""
    n = len(eigenvalues)
    mirrors = [v / np.linalg.norm(v) for v in rng.normal(size=(3, n))]
    columns = [0]

    def reflect(x, mirrors):
        for v in mirrors:
            x = x - 2.0 * np.outer(v, v @ x)
        return x

    def matmat(x):
        columns[0] += x.shape[1]
        return reflect(eigenvalues[:, None] * reflect(x, mirrors), mirrors[::-1])

    return LinearOperator((n, n), matvec=lambda x: matmat(x.reshape(n, 1)), matmat=matmat, dtype=float), columns


SPECTRA = {
    "six equal, the rest up to .99": np.r_[np.ones(6), np.linspace(0.99, 0.0, 600)],
    "twenty equal, the rest up to .999": np.r_[np.ones(20), np.linspace(0.999, 0.0, 600)],
    "two equal, well apart from the rest": np.r_[np.ones(2), np.linspace(0.5, 0.0, 600)],
    "nearly equal, from 1e-12 on": np.r_[1.0 - 10.0 ** np.linspace(-12, -0.1, 60), np.linspace(0.2, 0.0, 500)],
    "three pairs, indefinite": np.r_[np.repeat([3.0, 2.0, 1.0], 2), np.linspace(0.99, -5.0, 600)],
    "all equal": np.full(500, 2.0),
    "equal up to rounding": 1.0 + 1e-15 * np.arange(500),
    "zero": np.zeros(500),
    "of rank four": np.r_[np.ones(4), np.zeros(500)],
    "all negative, largest equal": -np.r_[np.ones(8), np.linspace(1.01, 2.0, 500)],
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("k", [2, 6])
def test_equal_and_close_eigenvalues_are_all_found(rng, name, k):
    expected = np.sort(SPECTRA[name])[::-1]
    operator, columns = operator_with_spectrum(rng, SPECTRA[name])
    values, vectors = top_eigenpairs(operator, k, random_state=0)
    scale = max(np.abs(expected).max(), 1e-300)
    assert columns[0] < 10_000
    np.testing.assert_allclose(values, expected[:k], rtol=0, atol=1e-10 * scale)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-10)
    np.testing.assert_allclose(operator @ vectors, vectors * values, atol=1e-10 * scale)


def test_equal_eigenvalues_give_the_same_answer_for_the_same_seed(rng):
    for name in ("six equal, the rest up to .99", "all equal", "of rank four"):
        operator, _ = operator_with_spectrum(rng, SPECTRA[name])
        np.testing.assert_array_equal(*(top_eigenpairs(operator, 3, random_state=0)[1] for _ in range(2)))


def test_a_chain_of_groups_in_many_parts_is_taken_apart(rng):
    """Each part is a long chain, so its second eigenvalue is close to one, and so are the ones of all parts equal."""
    path = scipy.sparse.diags_array([np.ones(99), np.ones(99)], offsets=[-1, 1])
    parts = scipy.sparse.block_diag([path + scipy.sparse.eye_array(100)] * 5, format="csr")
    basis = spectral_basis(parts, 5, random_state=0)
    np.testing.assert_allclose(basis.values, 1.0, rtol=1e-12)
    labels = assign_clusters(basis.embedding(), 5, random_state=0)
    assert clustering_accuracy(np.repeat(np.arange(5), 100), labels) == 1.0


def test_eigenvalues_that_cannot_be_told_apart_are_reported(rng, monkeypatch):
    monkeypatch.setattr(block_lanczos, "MAX_PRODUCTS", 300)
    operator, _ = operator_with_spectrum(rng, np.cos(np.linspace(0.0, np.pi, 2000)))
    with pytest.warns(ConvergenceWarning, match="relative residual of .* after 3.. products"):
        values, _ = top_eigenpairs(operator, 6, random_state=0)
    np.testing.assert_allclose(values, 1.0, atol=0.01)


def test_clusters_of_separate_clouds(rng):
    truth = np.repeat(np.arange(3), 20)
    cloud = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[truth] + 0.1 * rng.normal(size=(60, 2))
    labels = assign_clusters(cloud, 3, n_init=3, random_state=0)
    assert clustering_accuracy(truth, labels) == 1.0
    assert set(labels) == {0, 1, 2}


def test_inputs_are_left_alone(rng):
    similarity = as_kinds(random_factor(rng, SMALL))["dense"]
    similarity.flags.writeable = False
    basis = spectral_basis(similarity, 2)
    basis.embedding(row_normalize=False)[:] = 0.0
    assert np.all(np.linalg.norm(basis.vectors, axis=0) > 0.5)


SQUARE = np.eye(4)
BASIS = SpectralBasis(np.array([1.0, 0.0]), np.eye(4)[:, :2], None)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: top_eigenpairs(np.ones((3, 2)), 1), ValueError, "square and not empty.*GramFactor"),
        (lambda: top_eigenpairs(np.ones(3), 1), ValueError, "square and not empty"),
        (lambda: top_eigenpairs(np.zeros((0, 0)), 1), ValueError, "square and not empty"),
        (lambda: top_eigenpairs(np.triu(np.ones((4, 4))), 1), ValueError, "symmetric"),
        (lambda: top_eigenpairs(scipy.sparse.csr_array(np.triu(np.ones((4, 4)))), 1), ValueError, "symmetric"),
        (lambda: top_eigenpairs(np.full((4, 4), np.nan), 1), ValueError, "finite"),
        (
            lambda: top_eigenpairs(SQUARE, 0),
            ValueError,
            "k must be an integer between 1 and 4, the number of samples, got 0",
        ),
        (lambda: top_eigenpairs(SQUARE, 5), ValueError, "k must be an integer"),
        (lambda: top_eigenpairs(SQUARE, 2.0), TypeError, "k must be an integer"),
        (lambda: spectral_embedding(SQUARE, 5), ValueError, "n_components must be an integer"),
        (lambda: spectral_embedding(SQUARE, 2, normalize="random"), ValueError, "normalize must be"),
        (lambda: spectral_embedding(-SQUARE, 2), ValueError, "row sums .* must not be negative.*normalize"),
        (lambda: GramFactor([[1.0]]), TypeError, "factor must be"),
        (lambda: GramFactor(np.ones(3)), TypeError, "factor must be"),
        (lambda: BASIS.extend(np.ones((2, 3))), ValueError, "one column for each of the 4 samples"),
        (lambda: BASIS.extend(np.ones((2, 4))), ValueError, "positive eigenvalues"),
        (lambda: assign_clusters(np.ones(3), 2), ValueError, "one row per sample"),
        (lambda: assign_clusters(np.ones((3, 1)), 4), ValueError, "n_clusters must be an integer"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_missing_copy_of_an_eigenvalue_is_found():
    matrix = aslinearoperator(np.diag([2.0, 2.0, 1.0, 0.0]))
    vectors, rng = np.eye(4)[:, [0, 2]], np.random.default_rng(0)
    assert finds_larger(matrix, np.array([2.0, 1.0]), vectors, rng, n_steps=3)


def test_filtered_eigenpairs_of_full_accuracy():
    operator = aslinearoperator(np.diag(np.arange(100.0)))
    values, _ = filtered_eigenpairs(operator, 2, tol=0.0, random_state=np.random.RandomState(0))
    np.testing.assert_allclose(values, [99.0, 98.0])
