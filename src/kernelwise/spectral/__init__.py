r"""Leading eigenvectors of a similarity, the embedding they give, and clusters in it.

The normalised affinity of a similarity K with degrees ``d = K 1`` is ``N = D^-1/2 K D^-1/2``, ``D = diag(d)``. Its
leading eigenvectors, with rows scaled to unit length, are the coordinates of spectral clustering. All that is needed of
K is its product with a vector, so K may be a dense or sparse matrix, a linear operator, or a factor with ``K = F F^T``;
nothing of size n x n is ever formed.

References
----------
A. Y. Ng, M. I. Jordan, Y. Weiss. On spectral clustering: analysis and an algorithm. NIPS 2001.
Y. Bengio et al. Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering. NIPS 2003.
"""

from .eigenpairs import GramFactor, top_eigenpairs
from .embedding import SpectralBasis, assign_clusters, spectral_basis, spectral_embedding

__all__ = ["GramFactor", "SpectralBasis", "assign_clusters", "spectral_basis", "spectral_embedding", "top_eigenpairs"]
