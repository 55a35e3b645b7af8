r"""Nuclear-norm completion the classical way: dense matrices and a full singular value decomposition per iteration.

Both algorithms follow their papers. :func:`kernelwise.complete_matrix` is compared with them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...checks import Array, check_count, check_positive
from ...completion.matrix.complete import check_observations
from ...completion.matrix.problem import ObservedEntries
from ...samples import check_magnitude


@dataclass(frozen=True, eq=False)
class DenseCompletion:
    """A completed dense matrix, the iterations it took, and whether they sufficed.

    Examples
    --------
    >>> from kernelwise.papers import soft_impute
    >>> soft_impute([0, 0, 1], [0, 1, 1], [1.0, 2.0, 4.0], (2, 2), penalty=0.01).matrix.round()
    array([[1., 2.],
           [2., 4.]])
    """

    matrix: Array
    n_iter: int
    converged: bool


def singular_value_thresholding(
    rows: ArrayLike,
    cols: ArrayLike,
    values: ArrayLike,
    shape: tuple[int, int],
    *,
    threshold: float | None = None,
    step: float | None = None,
    tol: float = 1e-4,
    max_iter: int = 500,
) -> DenseCompletion:
    r"""Complete a matrix by singular value thresholding.

    .. math:: M \leftarrow \mathcal{D}_\tau(Y), \qquad Y \leftarrow Y + \delta \, P_\Omega(v - M)

    with :math:`\mathcal{D}_\tau` shrinking the singular values by :math:`\tau`: gradient ascent on the dual of
    :math:`\min \tau \|M\|_* + \frac12 \|M\|_F^2` subject to the observations.

    Parameters
    ----------
    rows, cols, values, shape
        As in :func:`kernelwise.complete_matrix`; observations are exact.
    threshold : float, default=None
        :math:`\tau`; 5 sqrt(m n) if None, as in the paper.
    step : float, default=None
        :math:`\delta`; 1.2 m n / observed entries if None, as in the paper.
    tol : float, default=1e-4
        Stop when the error on observed entries is this small, relatively, in Frobenius norm.
    max_iter : int, default=500
        Limit on iterations.

    Returns
    -------
    DenseCompletion

    References
    ----------
    Cai, Candès and Shen, A singular value thresholding algorithm for matrix completion, 2010.

    Examples
    --------
    >>> from kernelwise.papers import singular_value_thresholding
    >>> rows, cols, values = [0, 0, 1], [0, 1, 1], [1.0, 2.0, 4.0]
    >>> result = singular_value_thresholding(rows, cols, values, (2, 2), threshold=200, max_iter=1000)
    >>> result.matrix.round(1)
    array([[1., 2.],
           [2., 4.]])
    """
    observed = check_observations(rows, cols, values, shape, False, None, exact=True)
    cells = observed.shape[0] * observed.shape[1]
    threshold = 5 * np.sqrt(cells) if threshold is None else check_positive("threshold", threshold)
    step = 1.2 * cells / observed.size if step is None else check_positive("step", step)
    check_magnitude([threshold, step], "threshold and step", least=0.0)
    index, target = (observed.rows, observed.cols), observed.values
    size = float(np.linalg.norm(target))
    if size == 0:
        return DenseCompletion(np.zeros(observed.shape), 0, True)
    kick = np.ceil(threshold / (step * np.linalg.norm(_dense(observed), 2)))  # before that M stays zero
    Y = kick * step * _dense(observed)
    M = np.zeros(observed.shape)
    for iteration in range(1, check_count("max_iter", max_iter) + 1):
        M = shrink(Y, threshold)
        error = target - M[index]
        if np.linalg.norm(error) <= check_positive("tol", tol) * size:
            return DenseCompletion(M, iteration, True)
        Y[index] += step * error
    return DenseCompletion(M, max_iter, False)


def soft_impute(
    rows: ArrayLike,
    cols: ArrayLike,
    values: ArrayLike,
    shape: tuple[int, int],
    *,
    penalty: float,
    n_penalties: int = 10,
    tol: float = 1e-4,
    max_iter: int = 500,
) -> DenseCompletion:
    r"""Complete a matrix by soft-impute: fill in the missing entries, shrink the singular values, repeat.

    .. math:: M \leftarrow \mathcal{D}_c \big( P_\Omega(v) + P_\Omega^\perp(M) \big)

    is proximal gradient descent on :math:`\frac12 \sum_\Omega (M_{ij} - v_{ij})^2 + c \|M\|_*`.

    Parameters
    ----------
    rows, cols, values, shape
        As in :func:`kernelwise.complete_matrix`; repeated observations are averaged.
    penalty : float
        c.
    n_penalties : int, default=10
        Length of the path of penalties down to c, each started from the solution before.
    tol : float, default=1e-4
        Go to the next penalty when an iteration changes M by less than this, relatively, in Frobenius norm.
    max_iter : int, default=500
        Limit on iterations of the whole path.

    Returns
    -------
    DenseCompletion

    References
    ----------
    Mazumder, Hastie and Tibshirani, Spectral regularization algorithms for learning large incomplete matrices, 2010.

    Examples
    --------
    >>> from kernelwise.papers import soft_impute
    >>> result = soft_impute([0, 0, 1], [0, 1, 1], [1.0, 2.0, 4.0], (2, 2), penalty=0.01)
    >>> result.matrix.round()
    array([[1., 2.],
           [2., 4.]])
    """
    observed = check_observations(rows, cols, values, shape, False, None, exact=False)
    last = check_positive("penalty", penalty)
    budget = check_count("max_iter", max_iter)
    index = (observed.rows, observed.cols)
    first = max(last, 0.5 * float(np.linalg.norm(_dense(observed), 2)))
    M, n_iter = np.zeros(observed.shape), 0
    for c in np.geomspace(first, last, check_count("n_penalties", n_penalties)):
        change = np.inf
        while change > check_positive("tol", tol):
            if n_iter == budget:
                return DenseCompletion(M, n_iter, False)
            filled = M.copy()
            filled[index] = observed.values
            before, M, n_iter = M, shrink(filled, float(c)), n_iter + 1
            size = float(np.linalg.norm(M))
            change = float(np.linalg.norm(M - before)) / size if size > 0 else 0.0
    return DenseCompletion(M, n_iter, True)


def shrink(matrix: Array, threshold: float) -> Array:
    """Return the matrix with its singular values lowered by the threshold, and no further than zero."""
    U, spectrum, Vt = np.linalg.svd(matrix, full_matrices=False)
    shrunk = np.maximum(spectrum - threshold, 0.0)
    return (U * shrunk) @ Vt


def _dense(observed: ObservedEntries) -> Array:
    matrix = np.zeros(observed.shape)
    matrix[observed.rows, observed.cols] = observed.values
    return matrix
