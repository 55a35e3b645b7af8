"""Synthetic data."""

import numpy as np
from sklearn.utils import check_random_state

from ..checks import Array, IntArray, check_count, is_number


def make_block_similarity(
    n_samples: int = 1000,
    n_classes: int = 4,
    noise: float = 0.5,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Array, IntArray]:
    r"""Make a similarity matrix of blocks, one per class, under uniform noise.

    .. math:: S_{ij} = Z_{ij} + \delta_{ij}, \qquad Z_{ij} = [y_i = y_j], \qquad
              \delta_{ij} = \delta_{ji} \sim U(0, \mathrm{noise})

    The classes come one after the other and differ by at most one in size. The paper does not say whether its noise is
    symmetric. Here the noise is symmetric, so that S is a similarity and has the eigenvectors that the method needs.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows and columns of S.
    n_classes : int, default=4
        Number of blocks, at most n_samples.
    noise : float, default=0.5
        Upper end of the noise; 0 gives Z itself.
    random_state : int, RandomState or None, default=None
        Seed of the noise.

    Returns
    -------
    S : ndarray of shape (n_samples, n_samples)
        The symmetric similarity matrix.
    y : ndarray of shape (n_samples,)
        The classes, 0 to n_classes - 1, in ascending order.

    References
    ----------
    Yang, Jin (2014). Extracting certainty from uncertainty: transductive pairwise classification from pairwise
    similarities. NIPS 27, section 5.1.

    Examples
    --------
    >>> from kernelwise.datasets import make_block_similarity
    >>> S, y = make_block_similarity(n_samples=6, n_classes=2, noise=0)
    >>> y
    array([0, 0, 0, 1, 1, 1])
    >>> S[0]
    array([1., 1., 1., 0., 0., 0.])
    """
    check_count("n_samples", n_samples)
    check_count("n_classes", n_classes, most=n_samples, limit=", the number of samples")
    if not is_number(noise):
        raise TypeError(f"noise must be a number, got {noise!r}")
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise must be finite and at least 0, got {noise!r}")
    y = np.arange(n_samples) * n_classes // n_samples
    draw = check_random_state(random_state).uniform(0.0, noise, size=(n_samples, n_samples))
    delta = np.triu(draw) + np.triu(draw, 1).T
    return (y[:, None] == y) + delta, y
