r"""Lanczos iteration with blocks of vectors, for eigenvalues that are equal or nearly so.

The Krylov space of one starting vector holds one eigenvector of every eigenvalue. Further eigenvectors of a multiple
eigenvalue appear by rounding alone, late or not at all. The Krylov space of a block of k vectors holds k eigenvectors
of every eigenvalue. The basis Q of the space is kept orthonormal. Once the basis is full, it is cut to its better half,
the Ritz vectors of the largest Ritz values. These vectors and the next block span a Krylov space again.

The rows of tall arrays are in memory, or in row blocks on other machines (:mod:`kernelwise.samples`). Both kinds of
arrays understand sums over rows, differences, and the products ``A @ small`` and ``A.T @ B``.

References
----------
J. Demmel, L. Grigori, M. Hoemmen, J. Langou. Communication-optimal parallel and sequential QR and LU factorizations.
SIAM J. Sci. Comput. 34, 2012.
K. Wu, H. Simon. Thick-restart Lanczos method for large symmetric eigenvalue problems. SIAM J. Matrix Anal. Appl. 22,
2000.
Y. Zhou, Y. Saad. Block Krylov-Schur method for large symmetric eigenvalue problems. Numerical Algorithms 47, 2008.
"""

import warnings
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning

from ..checks import Array
from ..samples import in_memory, map_rows, persist, reduce_rows

#: If the rest of a unit vector after projection is shorter than this, the rest is rounding.
NEGLIGIBLE = 1e-10


def beside(first: Any, *others: Any) -> Any:
    """Return the columns of several arrays, side by side."""
    return map_rows(first, _side_by_side, *others)


def _side_by_side(*arrays: Array) -> Array:
    return np.hstack(arrays)


def triangle(rows: Any) -> Any:
    """Return R of ``rows = Q R`` with orthonormal Q, up to the signs of the rows of R.

    The stacked triangles of several blocks have the same triangle as all rows.
    """
    return reduce_rows(rows, _upper, lambda left, right: _upper(np.vstack([left, right])))


def _upper(block: Array) -> Array:
    return np.asarray(np.linalg.qr(block, mode="r"))


def orthonormal(block: Any, basis: Any = None) -> Any:
    """Project the block on the complement of an orthonormal basis, and return an orthonormal basis of the result.

    The projection is done twice, because the result of the first projection has lost digits. Columns that are nothing
    but rounding are dropped.
    """
    if not in_memory(block):
        return _orthonormal_in_blocks(block, basis)
    for _ in range(2):
        lengths = np.linalg.norm(block, axis=0)
        block = block[:, lengths > 0.0] / lengths[lengths > 0.0]
        if basis is not None:
            block = block - basis @ (basis.T @ block)
        directions, upper, _ = scipy.linalg.qr(block, mode="economic", pivoting=True, check_finite=False)
        block = directions[:, np.abs(np.diag(upper)) > NEGLIGIBLE]
    return block


def _orthonormal_in_blocks(block: Any, basis: Any) -> Any:
    """Do the same with the triangle of all blocks in place of a factorisation with pivots."""
    for _ in range(2):
        lengths = np.sqrt(np.asarray((block**2).sum(axis=0)))
        block = block[:, lengths > 0.0] * (1.0 / lengths[lengths > 0.0])
        if basis is not None:
            block = block - basis @ np.asarray(basis.T @ block)
        block = persist(block)
        _, sizes, turned = scipy.linalg.svd(np.asarray(triangle(block)), full_matrices=False)
        left = sizes > NEGLIGIBLE
        block = persist(block @ (turned[left].T / sizes[left]))
    return block


#: A block has this many columns more than there are eigenpairs, because the last eigenpairs then converge faster.
EXTRA_COLUMNS = 2
#: The basis has room for this many vectors or for this many blocks, whichever is more.
BASIS_SIZE, BASIS_BLOCKS = 200, 10
#: The iteration ends when residuals, relative to the largest eigenvalue, are below the first number (or rounding).
#: If the residuals are above the second number after the last product, there is a warning.
RESIDUAL, TOLERABLE_RESIDUAL = 1e-12, 1e-6
MAX_PRODUCTS = 20_000
#: One eigenvalue counts as larger than another if they differ by this fraction of the largest eigenvalue.
DISTINCT = 1e-9


def block_lanczos(product: Any, k: int, rng: Any, *, tol: float = 0.0) -> tuple[Array, Array]:
    r"""The k largest eigenvalues of a symmetric operator, with their multiplicities, and eigenvectors.

    .. math:: Q \leftarrow [Q, B], \qquad B \leftarrow \mathrm{orth}\big((I - Q Q^\top) A B\big)

    ``product`` is anything with ``product @ block`` and ``shape``; ``rng`` draws the first block. Residuals, relative
    to the largest eigenvalue, are brought below ``tol`` or below 1e-12, whichever is larger.
    """
    n_samples, n_columns = product.shape[0], k + EXTRA_COLUMNS
    room = min(n_samples, max(BASIS_SIZE, BASIS_BLOCKS * n_columns))
    goal = max(tol, RESIDUAL, n_samples * np.finfo(np.float64).eps)
    block = orthonormal(rng.uniform(-1.0, 1.0, (n_samples, n_columns)))
    basis = images = np.empty((n_samples, 0))
    n_products = 0
    while True:
        image = product @ block
        basis, images = np.hstack([basis, block]), np.hstack([images, image])
        n_products += block.shape[1]
        block = orthonormal(image, basis)
        if block.shape[1] and basis.shape[1] + block.shape[1] <= room:
            continue
        values, basis, images = rayleigh_ritz(basis, images, max(k, room // 2))
        residual = relative_residual(values[:k], basis[:, :k], images[:, :k])
        if residual <= goal or n_products >= MAX_PRODUCTS or not block.shape[1]:
            break
    if residual > max(tol, TOLERABLE_RESIDUAL):
        warnings.warn(
            f"the leading {k} eigenvectors have a relative residual of {residual:.2g} after {n_products} products: "
            "their eigenvalues are hard to tell apart; ask for fewer or more of them",
            ConvergenceWarning,
            stacklevel=3,
        )
    return values[:k], basis[:, :k]


def finds_larger(
    product: LinearOperator, values: Array, vectors: Array, rng: np.random.Generator, *, n_steps: int
) -> bool:
    """Whether a few Lanczos steps, orthogonal to the given vectors, find an eigenvalue above the least of ``values``.

    If the steps find none, this is no proof, but it is likely that none is missing. Lanczos iteration from a single
    vector leaves out further copies of an eigenvalue that it has resolved to full precision. If that took n steps,
    about n / 10 steps are enough to notice another copy.
    """
    n_samples, k = vectors.shape
    basis, images = np.empty((n_samples, k + n_steps), order="F"), np.empty((n_samples, n_steps), order="F")
    basis[:, :k] = vectors
    image = rng.uniform(-1.0, 1.0, (n_samples, 1))
    count = 0
    while count < n_steps and (rest := orthonormal(image, basis[:, : k + count])).shape[1]:
        image = product.matvec(rest[:, 0])[:, None]
        basis[:, k + count], images[:, count] = rest[:, 0], image[:, 0]
        count += 1
    if not count:
        return False
    found = rayleigh_ritz(basis[:, k : k + count], images[:, :count], 1)[0][0]
    return bool(found > values.min() + DISTINCT * np.abs(values).max())


def rayleigh_ritz(basis: Any, images: Any, count: int | None = None) -> tuple[Array, Any, Any]:
    """The ``count`` largest Ritz values (None: all) of an orthonormal basis, the Ritz vectors and their images."""
    projected = np.asarray(basis.T @ images)
    values, rotation = scipy.linalg.eigh(0.5 * (projected + projected.T))
    leading = rotation[:, ::-1][:, :count]
    return values[::-1][:count], persist(basis @ leading), images @ leading


def relative_residual(values: Array, vectors: Any, images: Any) -> float:
    """The largest norm of ``A q - theta q``, relative to the largest ``|theta|``."""
    scale = float(np.abs(values).max())
    squares = np.asarray(((images - vectors * values) ** 2).sum(axis=0))
    return float(np.sqrt(squares.max())) / scale if scale > 0 else 0.0
