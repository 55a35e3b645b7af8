"""Decompositions of tall arrays against LAPACK's, in memory and in row blocks."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from kernelwise.dask_rows.block_array import BlockArray
from kernelwise.dask_rows.engine import LocalEngine
from kernelwise.dask_rows.graph import BlockGraph
from kernelwise.spectral.block_lanczos import beside, block_lanczos, orthonormal, triangle
from kernelwise.spectral.eigenpairs import largest_entries, right_singular_vectors

CUTS = (0, 7, 90, 91, 300)


def in_blocks(matrix):
    """The matrix in row blocks of very different lengths."""
    blocks = [matrix[low:high] for low, high in itertools.pairwise(CUTS)]
    return BlockArray.of(LocalEngine(), np.diff(CUTS).tolist(), blocks, np.empty((0, matrix.shape[1])))


def whole(array):
    return np.concatenate(array.persist().handles) if isinstance(array, BlockArray) else array


def as_graph(matrix, n_parts=3):
    edges = sp.coo_array(matrix)
    order = np.arange(edges.nnz) % n_parts
    parts = [(edges.row[order == k], edges.col[order == k], edges.data[order == k]) for k in range(n_parts)]
    return BlockGraph.from_edges(LocalEngine(), np.diff(CUTS).tolist(), parts, mirror=False)


def matrix_with(rng, values, shape=(300, 40)):
    """A matrix with given singular values."""
    left, right = (np.linalg.qr(rng.standard_normal((n, len(values))))[0] for n in shape)
    return left * values @ right.T


KINDS = {
    "dense": lambda F: F,
    "sparse": sp.csr_array,
    "blocks": in_blocks,
    "sparse blocks": lambda F: in_blocks(sp.csr_array(F)),
}


def lengths_along(F, right):
    """The singular values that belong to right singular vectors."""
    return np.linalg.norm(F @ right, axis=0)


@pytest.mark.parametrize("kind", KINDS)
def test_singular_vectors_are_those_of_lapack(rng, kind):
    F = matrix_with(rng, 2.0 ** -np.arange(30.0))
    right = right_singular_vectors(KINDS[kind](F), 6, n_power=12, random_state=0)
    _, s, Vt = np.linalg.svd(F)
    assert lengths_along(F, right) == pytest.approx(s[:6], rel=1e-12)
    assert np.abs(Vt[:6] @ right) == pytest.approx(np.eye(6), abs=1e-9)
    left = F @ right
    assert (np.take_along_axis(left, np.abs(left).argmax(axis=0)[None], axis=0) > 0).all()


def test_a_sketch_as_wide_as_the_matrix_is_exact(rng):
    F = rng.standard_normal((300, 12))
    right = right_singular_vectors(in_blocks(F), 12, n_power=0, random_state=1)
    assert lengths_along(F, right) == pytest.approx(np.linalg.svd(F, compute_uv=False), rel=1e-13)


def test_small_singular_values_keep_their_digits(rng):
    """The square of the condition number would be 1e20: a Gram matrix could not tell them."""
    F = matrix_with(rng, np.array([1.0, 1e-4, 1e-10]))
    right = right_singular_vectors(in_blocks(F), 3, n_power=4, random_state=0)
    assert lengths_along(F, right) == pytest.approx([1.0, 1e-4, 1e-10], rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_no_more_vectors_than_the_rank(rng, kind):
    F = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 40))
    right = right_singular_vectors(KINDS[kind](F), 5, n_power=4, random_state=0)
    assert right.shape == (40, 3)
    assert F @ right @ right.T == pytest.approx(F, abs=1e-10)
    assert right_singular_vectors(KINDS[kind](0 * F), 5, n_power=4, random_state=0).size == 0


def test_the_sketch_is_that_of_scikit_learn(rng):
    """Slow decay: the two agree because they are the same approximation, not because both are exact."""
    from sklearn.utils.extmath import randomized_svd

    F = rng.standard_normal((300, 40))
    right = right_singular_vectors(in_blocks(F), 5, n_power=2, random_state=3)
    _, s, Vt = randomized_svd(F, 5, n_iter=2, random_state=3)
    assert np.abs(s - np.linalg.svd(F, compute_uv=False)[:5]).max() > 1e-3
    assert pytest.approx(Vt, abs=1e-8) == right.T


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_eigenpairs_are_those_of_lapack(rng, make):
    K = np.asarray(sp.random_array((300, 300), density=0.05, rng=rng).toarray())
    K = K + K.T
    K[7:20] = K[:, 7:20] = 0.0  # samples without any edge
    values, vectors = block_lanczos(make(K), 4, np.random.RandomState(0))
    all_values, all_vectors = np.linalg.eigh(K)
    assert values == pytest.approx(all_values[::-1][:4], rel=1e-12)
    assert np.abs(all_vectors[:, ::-1][:, :4].T @ vectors) == pytest.approx(np.eye(4), abs=1e-8)


def test_copies_of_an_eigenvalue_are_found():
    K = sp.csr_array(sp.block_diag([sp.coo_array(np.ones((5, 5)))] * 60))
    values, vectors = block_lanczos(K, 10, np.random.RandomState(0))
    assert values == pytest.approx(np.full(10, 5.0), rel=1e-12)
    assert K @ vectors == pytest.approx(5 * vectors, abs=1e-9)


def test_products_of_a_graph_in_blocks(rng):
    K = sp.random_array((300, 300), density=0.02, rng=rng)
    V = rng.standard_normal((300, 3))
    assert whole(as_graph(K) @ in_blocks(V)) == pytest.approx(K @ V, abs=1e-12)
    assert whole(as_graph(K).row_sums()) == pytest.approx(K.sum(axis=1), abs=1e-12)


def test_edges_given_once_count_in_both_directions_and_repeated_ones_add_up():
    edges = [
        (np.array([0, 1]), np.array([1, 299]), np.array([1.0, 2.0])),
        (np.array([1]), np.array([0]), np.array([5.0])),
    ]
    graph = BlockGraph.from_edges(LocalEngine(), np.diff(CUTS).tolist(), edges, mirror=True)
    dense = whole(graph @ in_blocks(np.eye(300)))
    assert dense[0, 1] == dense[1, 0] == 6.0
    assert dense[1, 299] == dense[299, 1] == 2.0
    assert dense.sum() == 16.0


def test_orthonormal_columns_in_blocks(rng):
    basis = np.linalg.qr(rng.standard_normal((300, 4)))[0]
    block = np.hstack([rng.standard_normal((300, 3)), basis[:, :1], np.zeros((300, 1))])  # two that add nothing
    found = whole(orthonormal(in_blocks(block), in_blocks(basis)))
    assert found.shape == (300, 3)
    assert found.T @ found == pytest.approx(np.eye(3), abs=1e-14)
    assert basis.T @ found == pytest.approx(np.zeros((4, 3)), abs=1e-14)


def test_triangle_and_peaks_of_blocks_are_those_of_the_whole(rng):
    A = rng.standard_normal((300, 5))
    R = np.asarray(triangle(in_blocks(A)))
    assert pytest.approx(A.T @ A, rel=1e-12) == R.T @ R
    assert np.array_equal(np.asarray(largest_entries(in_blocks(A))), largest_entries(A))
    assert whole(beside(in_blocks(A), in_blocks(A))) == pytest.approx(np.hstack([A, A]))
