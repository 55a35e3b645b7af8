r"""Leading singular vectors and eigenvectors of arrays too large for one machine, from few passes over their rows.

For the singular vectors of a tall F (n x d, n large, d moderate), the subspace iteration runs among the d columns. Each
step is one pass over the rows, and no array of n rows is kept between steps:

.. math:: Q \leftarrow \mathrm{orth}(F^\top F\, Q), \qquad Q_0 = \mathrm{orth}(\Omega).

At the end F is projected on the range of :math:`F Q`, and the singular vectors of the projection are returned. The code
uses ``F @ small``, ``F.T @ rows`` and the functions of :mod:`.tall_arrays` only, so F may be a NumPy array, a sparse
matrix, or an array in row blocks on the workers of a cluster.

References
----------
N. Halko, P.-G. Martinsson, J. A. Tropp. Finding structure with randomness. SIAM Review 53, 2011.
J. Demmel, L. Grigori, M. Hoemmen, J. Langou. Communication-optimal parallel and sequential QR and LU factorizations.
SIAM J. Sci. Comput. 34, 2012.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..checks import check_count
from ..rows import persist
from .block_lanczos import block_lanczos
from .eigenpairs import RandomState
from .tall_arrays import largest_entries, triangle, with_signs

__all__ = ["SingularTriplets", "randomised_eigenbasis", "randomised_svd"]

FloatArray = NDArray[np.float64]

#: A direction whose singular value is smaller than this fraction of the largest is rounding.
LEAST_SINGULAR_VALUE = 1e-13
#: The sketch has this many columns more than there are vectors to find.
OVERSAMPLES = 10


class SingularTriplets(NamedTuple):
    """``F ~ left @ diag(values) @ right.T``; ``left`` is in row blocks if F is."""

    left: Any
    values: FloatArray
    right: FloatArray


def randomised_svd(factor: Any, k: int, *, n_power: int = 4, random_state: RandomState = None) -> SingularTriplets:
    r"""The k largest singular values of a tall matrix and their vectors, by randomised subspace iteration.

    .. math:: F \approx U \operatorname{diag}(\sigma) V^\top

    There are ``n_power`` steps of the iteration, one pass over the rows each; more steps give more digits where the
    singular values fall slowly. With ``k + OVERSAMPLES >= d`` the result is exact without any step. The largest value
    comes first, fewer than k triplets are returned where the rank is lower, and the entry of largest magnitude of each
    left vector is positive. ``random_state`` draws the sketch as :func:`sklearn.utils.extmath.randomized_svd` does.

    >>> left, values, right = randomised_svd(np.diag([3.0, 1.0, 2.0]), 2, random_state=0)
    >>> values.round(9), abs(right).round(9).tolist()
    (array([3., 2.]), [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    """
    n, d = factor.shape
    check_count("k", k, most=min(n, d), limit=", the smaller side of the factor")
    width = min(k + OVERSAMPLES, n, d)
    sketch = check_random_state(random_state).normal(size=(d, k + OVERSAMPLES))[:, :width]
    directions = np.linalg.qr(sketch)[0]
    for _ in range(n_power if width < d else 0):
        directions = np.linalg.qr(np.asarray(factor.T @ (factor @ directions)))[0]
    range_, upper = _orthonormal_range(factor, directions)
    # range_^T F = R^T (F Q)^T F, from products with the columns of F.
    projected = upper.T @ np.asarray(factor.T @ (factor @ directions)).T
    rotation, values, right = scipy.linalg.svd(projected, full_matrices=False)
    count = min(k, int((values > LEAST_SINGULAR_VALUE * values[0]).sum())) if values.size and values[0] > 0 else 0
    left = persist(range_ @ rotation[:, :count])
    signs = np.where(np.asarray(largest_entries(left)) < 0.0, -1.0, 1.0)
    return SingularTriplets(left * signs, values[:count], right[:count].T * signs)


def _orthonormal_range(factor: Any, directions: FloatArray) -> tuple[Any, FloatArray]:
    """Return an orthonormal basis B of the range of ``F Q``, and the small matrix R with ``B = F Q R``."""
    rows = persist(factor @ directions)
    small: FloatArray = np.eye(directions.shape[1])
    for _ in range(2):  # the first round loses digits; the second begins with nearly orthonormal rows and loses none
        _, lengths, turned = scipy.linalg.svd(np.asarray(triangle(rows @ small)), full_matrices=False)
        present = lengths > LEAST_SINGULAR_VALUE * lengths.max(initial=0.0)
        small = small @ (turned[present].T / lengths[present])
    return rows @ small, small


def randomised_eigenbasis(
    matrix: Any, k: int, *, tol: float = 0.0, random_state: RandomState = None
) -> tuple[FloatArray, Any]:
    r"""The k largest eigenvalues of a symmetric matrix and their vectors, from a random block of vectors.

    .. math:: K u_j = \lambda_j u_j, \qquad \lambda_1 \ge \dots \ge \lambda_k

    The vectors come from Krylov spaces of blocks (:func:`~kernelwise.spectral.block_lanczos.block_lanczos`), which need
    far fewer products than powers of the matrix. The entry of largest magnitude of each vector is positive.

    >>> values, vectors = randomised_eigenbasis(np.diag([2.0, 5.0, 1.0, 2.0]), 3, random_state=0)
    >>> values.round(9)
    array([5., 2., 2.])
    """
    check_count("k", k, most=matrix.shape[0], limit=", the number of samples")
    pairs = block_lanczos(matrix, k, check_random_state(random_state), tol=tol)
    return pairs.values, persist(with_signs(pairs.vectors))
