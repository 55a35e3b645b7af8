"""The parts of the completion of pairs."""

import numpy as np
import scipy.sparse as sp

from kernelwise import Pairs
from kernelwise.completion.basis import is_operator
from kernelwise.completion.core import (
    CoreProblem,
    fit_core,
    known_block,
    labelled_basis,
    reconstruct_core,
    symmetric_root,
)
from kernelwise.completion.core_fit import complete_block, noise_penalty, refined_rows, unshrunk_factors
from kernelwise.completion.matrix.complete import complete_matrix
from kernelwise.completion.matrix.problem import proven_eigenvalue_bound, proven_singular_value_bound
from kernelwise.spectral.eigenpairs import GramFactor


def test_unshrunk_factors() -> None:
    everything = complete_matrix([0, 0, 1], [0, 1, 1], [1, 1, 1], (2, 2), symmetric=True, penalty=0.5)
    np.testing.assert_allclose(abs(unshrunk_factors(everything, 0.5, 1.0)[0]).round(3), [[1.0], [1.0]], atol=1e-6)


def test_complete_block() -> None:
    block = known_block(Pairs([0, 1, 0, 2, 0], [1, 3, 2, 3, 4], [1, 1, 1, 1, -1], n_samples=5))
    completion = complete_block(block, random_state=0)
    assert round(completion.certificate.dual, 3) == 4.0
    assert round(completion.nuclear_norm, 3) == 4.0
    np.testing.assert_allclose(
        complete_block(block, diagonal=True, random_state=0).to_dense()[0].round(2) + 0.0,
        [1.0, 1.0, 1.0, 1.0, 0.0],
        atol=1e-6,
    )


def test_proven_eigenvalue_bound() -> None:
    matrix = sp.csr_array([[0.0, 2.0], [2.0, 0.0]])
    bound = proven_eigenvalue_bound(matrix, 2.0)
    assert 2.0 <= bound < 2.0 + 1e-9


def test_proven_singular_value_bound() -> None:
    bound = proven_singular_value_bound(sp.csr_array([[3.0, 0.0, 4.0]]), 5.0)
    assert 5.0 <= bound < 5.0 + 1e-9


def test_refined_rows() -> None:
    y = np.arange(60) % 2
    block = known_block(Pairs.from_labels(y, n_pairs=600, random_state=0))
    rows = np.eye(2)[y]
    rows[-1] = [1.0, 0.0]
    np.testing.assert_allclose(refined_rows(rows, block, np.random.RandomState(0))[-1].round(1), [0.1, 0.9], atol=1e-6)


def test_is_operator() -> None:
    assert not is_operator(np.eye(2))
    assert is_operator(GramFactor(np.eye(2)))


def test_knownblock() -> None:
    block = known_block(Pairs([4, 7, 7, 9], [7, 4, 9, 4], [1, 1, -1, -1], n_samples=10))
    np.testing.assert_allclose(block.index, [4, 7, 9], atol=1e-6)
    np.testing.assert_allclose(block.values, [1.0, 0.0, 0.0], atol=1e-6)
    assert block.share == 1.0


def test_known_block() -> None:
    np.testing.assert_allclose(
        known_block(Pairs([0, 0, 2], [1, 1, 1], [1, -1, 1], n_samples=3)).values, [0.5, 1.0], atol=1e-6
    )


def test_coreproblem() -> None:
    block = known_block(Pairs([0, 0], [1, 2], [1, -1], n_samples=3))
    left = np.array([[0.6, 0.0], [0.8, 0.0], [0.0, 1.0]])
    problem = CoreProblem(left, block, penalty=0.048)
    np.testing.assert_allclose(fit_core(problem, tol=1e-9).point.round(3), [[1.979, 0.0], [0.0, 0.0]], atol=1e-6)


def test_reconstruct_core() -> None:
    labelled = labelled_basis(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]))
    factor = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(
        (labelled.lift @ reconstruct_core(labelled, factor, factor) @ labelled.lift.T).round(6),
        [[1.0, 0.0], [0.0, 0.25]],
        atol=1e-6,
    )


def test_labelled_basis() -> None:
    assert labelled_basis(np.array([[3.0, 0.0], [4.0, 0.0]])).rank == 1


def test_symmetric_root() -> None:
    np.testing.assert_allclose(symmetric_root(np.diag([4.0, 0.0])), [[2.0], [0.0]], atol=1e-6)


def test_the_penalty_for_flips_grows_as_the_norm_of_the_noise() -> None:
    y = np.arange(80) % 4
    blocks = [known_block(Pairs.from_labels(y[:m], n_pairs=m * (m - 1) // 2, random_state=0)) for m in (20, 80)]
    small, large = (noise_penalty(block, 0.1) for block in blocks)
    np.testing.assert_allclose(large / small, np.sqrt(80 * blocks[1].share / (20 * blocks[0].share)))
    np.testing.assert_allclose(noise_penalty(blocks[0], 0.2) / small, np.sqrt((0.16 / 0.36) / (0.09 / 0.64)))
