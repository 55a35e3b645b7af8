r"""The largest sum that a budget buys: ``max sum_i a_i l_i`` over ``0 <= a_i <= u_i, sum_i a_i <= budget``.

Spending on the largest ``l_i`` first is best. By duality the value is also

.. math:: \min_{\theta \ge 0} \; \theta \rho + \sum_i u_i (l_i - \theta)_+

which needs only sums over i, and is an upper bound at every ``theta``.
"""

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@singledispatch
def largest_spending(losses: Any, *, upper: Any, budget: float) -> float:
    """Return the largest ``sum_i a_i losses_i`` for non-negative losses.

    Parameters
    ----------
    losses : array of shape (n,)
    upper : array of shape (n,)
        The bounds of ``a``.
    budget : float
        The bound of its sum.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.optim import largest_spending
    >>> largest_spending(np.array([1.0, 3.0, 2.0]), upper=np.ones(3), budget=1.5)
    4.0
    """
    order = np.argsort(-losses)
    spent = np.cumsum(upper[order])
    share = np.clip(budget - (spent - upper[order]), 0.0, upper[order])
    return float(share @ losses[order])
