r"""Proximal operators in closed form.

References
----------
T. Yang, M. Mahdavi, R. Jin, L. Zhang, Y. Zhou. Multiple Kernel Learning from Noisy Labels by Stochastic Programming.
ICML 2012, Lemma 3.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["prox_squared_sum_of_norms"]


def prox_squared_sum_of_norms(norms: ArrayLike, scale: float) -> NDArray[np.float64]:
    r"""Shrink factors of the prox of the squared sum of norms of parts.

    The solution of

    .. math:: \min_f \tfrac12 \sum_j \|f_j - g_j\|^2 + \tfrac{s}{2} \Big(\sum_j \|f_j\|\Big)^2

    is :math:`f_j = [1 - s \mu / \|g_j\|]_+ \, g_j` with :math:`\mu = \sum_j \|f_j\|`. If the k largest parts survive
    and :math:`S_k` is the sum of their norms, then :math:`\mu = S_k - k s \mu`, so the threshold is
    :math:`\theta_k = s \mu = s S_k / (1 + k s)`, and k is the last one with a norm above :math:`\theta_k`.

    Parameters
    ----------
    norms : array-like of shape (m,)
        The norms of the parts g_j; finite and non-negative.
    scale : float
        s above, that is step times penalty; finite and non-negative.

    Returns
    -------
    ndarray of shape (m,)
        Factors in [0, 1] with ``f_j = factor_j * g_j``. A part of norm zero has factor 0.

    Notes
    -----
    Lemma 3 as printed shrinks by half of the right amount: the derivative of :math:`\tfrac{s}{2} \mu^2` is
    :math:`s \mu`, not :math:`s \mu / 2`.

    References
    ----------
    Yang et al. (ICML 2012), Lemma 3, corrected. The paper bisects on :math:`\mu`; sorting gives it in closed form.

    Examples
    --------
    >>> from kernelwise.optim import prox_squared_sum_of_norms
    >>> prox_squared_sum_of_norms([4.0, 2.0, 0.5, 0.0], scale=0.5)
    array([0.625, 0.25 , 0.   , 0.   ])
    """
    norms = np.asarray(norms, dtype=np.float64)
    scale = float(scale)
    if norms.ndim != 1:
        raise ValueError(f"norms must be one-dimensional, got shape {norms.shape}; pass one norm per part")
    if not (np.isfinite(norms).all() and np.all(norms >= 0)):
        raise ValueError("norms must be finite and non-negative; pass the norm of each part, not the part")
    if not 0 <= scale < np.inf:
        raise ValueError(f"scale must be finite and non-negative, got {scale}; it is step times penalty")
    descending = np.sort(norms)[::-1]
    count = np.arange(1, norms.size + 1)
    thetas = np.cumsum(descending) * (scale / (1.0 + count * scale))
    n_surviving = int(np.count_nonzero(descending > thetas))
    # The largest part survives unless all are zero or 1 + scale rounds to scale; then its own threshold is its norm.
    theta = float(thetas[max(n_surviving, 1) - 1]) if norms.size else 0.0
    survives = norms > theta
    factors = np.zeros_like(norms)
    factors[survives] = 1.0 - theta / norms[survives]
    return factors
