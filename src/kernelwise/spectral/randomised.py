r"""Leading singular vectors and eigenvectors of arrays too large for one machine, from few passes over their rows.

Singular vectors of a tall F (n x d, n large, d moderate): the subspace iteration runs among the d columns, so that one
pass over the rows does one step and nothing of n rows is kept on the way,

.. math:: Q \leftarrow \mathrm{orth}(F^\top F\, Q), \qquad Q_0 = \mathrm{orth}(\Omega).

At the end the range of :math:`F Q` is the sketch, and the singular vectors are those of F projected on it.

Everything is written with ``F @ small``, ``F.T @ rows`` and the few functions of :mod:`.tall_arrays`, so F may be a
NumPy array, a sparse matrix, or an array in row blocks on the workers of a cluster.

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
#: Columns of a sketch beyond the vectors that are asked for.
OVERSAMPLES = 10


class SingularTriplets(NamedTuple):
    """``F ~ left @ diag(values) @ right.T``; ``left`` is where the rows of F are, in blocks if they are in blocks."""

    left: Any
    values: FloatArray
    right: FloatArray


def randomised_svd(factor: Any, k: int, *, n_power: int = 4, random_state: RandomState = None) -> SingularTriplets:
    r"""The k largest singular values of a tall matrix and their vectors, by randomised subspace iteration.

    .. math:: F \approx U \operatorname{diag}(\sigma) V^\top

    Parameters
    ----------
    factor : ndarray, sparse matrix or array in row blocks, of shape (n, d)
        F. A d x (k + :data:`OVERSAMPLES`) matrix is held here.
    k : int
        Number of triplets; fewer are returned where the rank is lower.
    n_power : int, default=4
        Steps of the iteration, one pass over the rows each. Where the singular values fall slowly, more of them give
        more digits; with ``k + OVERSAMPLES >= d`` the result is exact without any.
    random_state : int, RandomState or None, default=None
        Draws the sketch, as :func:`sklearn.utils.extmath.randomized_svd` does.

    Returns
    -------
    SingularTriplets
        ``left`` (n, k), ``values`` (k,) largest first, ``right`` (d, k); the entry of largest magnitude of each left
        vector is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.spectral.randomised import randomised_svd
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
    # range_^T F, from the columns: (F Q R^-1)^T F.
    projected = upper.T @ np.asarray(factor.T @ (factor @ directions)).T
    rotation, values, right = scipy.linalg.svd(projected, full_matrices=False)
    count = min(k, int((values > LEAST_SINGULAR_VALUE * values[0]).sum())) if values.size and values[0] > 0 else 0
    left = persist(range_ @ rotation[:, :count])
    signs = np.where(np.asarray(largest_entries(left)) < 0.0, -1.0, 1.0)
    return SingularTriplets(left * signs, values[:count], right[:count].T * signs)


def _orthonormal_range(factor: Any, directions: FloatArray) -> tuple[Any, FloatArray]:
    """Return an orthonormal basis of the range of ``F Q``, and the small matrix that takes ``F Q`` to it."""
    rows = persist(factor @ directions)
    small: FloatArray = np.eye(directions.shape[1])
    for _ in range(2):  # the first solution has lost the digits that R spans; of an orthonormal one nothing is lost
        _, lengths, turned = scipy.linalg.svd(np.asarray(triangle(rows @ small)), full_matrices=False)
        present = lengths > LEAST_SINGULAR_VALUE * lengths.max(initial=0.0)
        small = small @ (turned[present].T / lengths[present])
    return rows @ small, small


def randomised_eigenbasis(
    matrix: Any, k: int, *, tol: float = 0.0, random_state: RandomState = None
) -> tuple[FloatArray, Any]:
    r"""The k largest eigenvalues of a symmetric matrix and their vectors, from a random block of vectors.

    .. math:: K u_j = \lambda_j u_j, \qquad \lambda_1 \ge \dots \ge \lambda_k

    Krylov spaces of blocks (:func:`~kernelwise.spectral.block_lanczos.block_lanczos`), which reach full precision, or
    ``tol``, with far fewer products than powers of the matrix alone.

    Parameters
    ----------
    matrix : ndarray, sparse matrix, or graph in row blocks, of shape (n, n)
        Anything with ``matrix @ rows`` and ``shape``; symmetry is taken on trust.
    k : int
    tol : float, default=0.0
        Bound on the residual relative to the largest eigenvalue, where it is above 1e-12.
    random_state : int, RandomState or None, default=None
        Draws the first block.

    Returns
    -------
    values : ndarray of shape (k,)
        Largest first.
    vectors : array of shape (n, k)
        In row blocks if the matrix is; the entry of largest magnitude of each is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.spectral.randomised import randomised_eigenbasis
    >>> values, vectors = randomised_eigenbasis(np.diag([2.0, 5.0, 1.0, 2.0]), 3, random_state=0)
    >>> values.round(9)
    array([5., 2., 2.])
    """
    check_count("k", k, most=matrix.shape[0], limit=", the number of samples")
    pairs = block_lanczos(matrix, k, check_random_state(random_state), tol=tol)
    return pairs.values, persist(with_signs(pairs.vectors))
