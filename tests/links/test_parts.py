"""The parts of clustering documents with links."""

import numpy as np
import scipy.sparse as sp

from kernelwise.links.choice import Links, bits_of_links, upper_links
from kernelwise.links.smoothing import normalised_adjacency
from kernelwise.links.words import are_counts


def test_bits_of_links() -> None:
    kept = upper_links(sp.csr_array(np.kron(np.eye(2), np.ones((50, 50)))))
    labels = np.repeat([0, 1], 50)
    left_out = Links(np.array([0, 0]), np.array([1, 60]), np.ones(2))
    np.testing.assert_allclose(bits_of_links(labels, 2, kept, left_out).round(1), [1.0, -9.3], atol=1e-6)


def test_normalised_adjacency() -> None:
    adjacency, _degrees = normalised_adjacency(sp.csr_array([[0.0, 3.0], [3.0, 0.0]]))
    np.testing.assert_allclose(adjacency.toarray(), [[0.25, 0.75], [0.75, 0.25]], atol=1e-6)


def test_are_counts() -> None:
    assert are_counts(np.array([[0.25, 0.5, 0.0], [0.0, 3.0, 3.0]]))
    assert not are_counts(np.array([[0.3, 0.71]]))
