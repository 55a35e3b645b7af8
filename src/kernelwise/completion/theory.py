r"""The theorems of the pair-completion paper: how many samples and pairs to label, and which error is left.

=====================  =========================================================================
here                   in the paper
=====================  =========================================================================
``class_shares``       :math:`p_1, \dots, p_r`, the share of every class: positive, with a sum of one
``n_labelled``         m, samples that may occur in known pairs
``n_components``       s, eigenvectors of the similarity
``coherence``          :math:`\mu_s`, equation (6), :func:`kernelwise.metrics.coherence`
``uncovered``          :math:`\varepsilon = \sum_k \|g_k - P_U g_k\|^2` over the class indicators
=====================  =========================================================================

The conditions are sufficient and far from necessary. The constants are those that the paper prints, and even the
experiments of the paper do not meet the conditions. :func:`kernelwise.plan_labelling` compares the theorems with a
simulation.

References
----------
T. Yang, R. Jin. Extracting certainty from uncertainty: transductive pairwise classification from pairwise similarities.
NIPS 2014, section 4.
"""

import math
from bisect import bisect_left

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "entries_for_recovery",
    "labelled_for_recovery",
    "reconstruction_bound",
    "recovery_probability",
    "uncovered_energy",
]


def entries_for_recovery(n_labelled: int, class_shares: ArrayLike) -> int:
    r"""Theorem 1: the number of known entries of the m x m block that makes the completion of the block exact.

    .. math:: |\Sigma| \ge \Big\lceil \frac{512}{\min_i p_i^2} \Big\rceil\, m \log^2 (2 m)

    If the number is larger than m^2, the number of all entries, the theorem promises nothing.

    >>> entries_for_recovery(160, [0.25] * 4) > 160**2
    True
    """
    _check_at_least_one(n_labelled, "n_labelled")
    rarest = float(_check_shares(class_shares).min())
    return math.ceil(math.ceil(512 / rarest**2) * n_labelled * math.log(2 * n_labelled) ** 2)


def labelled_for_recovery(coherence: float, n_components: int) -> int:
    r"""Theorem 2: the least m from which on the labelled rows determine the core, :math:`m \ge 8 \mu_s s \log(m^2 s)`.

    If m is larger than n, the theorem promises nothing.

    >>> labelled_for_recovery(2.0, 20)
    6586
    """
    _check_at_least_one(coherence, "coherence")
    _check_at_least_one(n_components, "n_components")

    def holds(m: int) -> bool:
        return m >= 8 * coherence * n_components * math.log(m**2 * n_components)

    high = 2
    while not holds(high) or not holds(2 * high):
        high *= 2
    return bisect_left(range(high), True, lo=high // 2 + 1, key=holds)


def recovery_probability(n_labelled: int, class_shares: ArrayLike, *, theorem: int = 2) -> float:
    r"""The probability with which Theorem 1, 2 or 3 holds if its conditions are met; 0 where the bound is negative.

    .. math:: 1 - \sum_i e^{-m p_i / 8} - 2 m^{-2}, \qquad 1 - \sum_i e^{-m p_i / 8} - 3 m^{-2}, \qquad
              1 - \sum_i e^{-m p_i} - 3 m^{-2}

    The paper prints the exponent of Theorem 3 without the 8, though Theorems 2 and 3 have the same conditions.

    >>> round(recovery_probability(400, [0.5, 0.5]), 6)
    0.999981
    """
    if theorem not in (1, 2, 3):
        raise ValueError(f"theorem must be 1, 2 or 3, got {theorem!r}")
    _check_at_least_one(n_labelled, "n_labelled")
    divisor, multiple = {1: (8, 2), 2: (8, 3), 3: (1, 3)}[theorem]
    missed = float(np.exp(-n_labelled * _check_shares(class_shares) / divisor).sum())
    return max(0.0, 1.0 - missed - multiple / n_labelled**2)


def uncovered_energy(labels: ArrayLike, basis: ArrayLike) -> float:
    r"""The part of the class indicators outside the basis: :math:`\varepsilon = \sum_k \|g_k - U U^\top g_k\|^2`.

    The columns of U are orthonormal. The result is 0 if the indicators lie in the span of U, and at most n.

    >>> round(uncovered_energy([0, 0, 1], np.eye(3)[:, :1]), 6)
    2.0
    """
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    vectors = np.asarray(basis, dtype=np.float64)
    if vectors.ndim != 2 or codes.shape != (len(vectors),):
        raise ValueError(f"basis must have one row for each of the {codes.size} labels, got shape {vectors.shape}")
    covered = sum(float(np.square(vectors[codes == k].sum(axis=0)).sum()) for k in range(len(classes)))
    return max(0.0, len(codes) - covered)


def reconstruction_bound(uncovered: float, n_samples: int, n_labelled: int) -> float:
    r"""Theorem 3: a bound on the Frobenius norm of Z' - Z where the basis does not cover the classes.

    .. math:: \varepsilon \Big( 1 + \frac{2 n}{m} + \frac{2 \sqrt 2\, n}{\sqrt{m \varepsilon}} \Big)

    >>> reconstruction_bound(0.0, 1000, 100), reconstruction_bound(2.0, 100, 100)
    (0.0, 46.0)
    """
    if not 0 <= uncovered < math.inf:
        raise ValueError(f"uncovered must be finite and not negative, got {uncovered!r}")
    _check_at_least_one(n_labelled, "n_labelled")
    if n_labelled > n_samples:
        raise ValueError(f"n_labelled={n_labelled} is more than n_samples={n_samples}")
    growth = uncovered * (1 + 2 * n_samples / n_labelled)
    return growth + 2 * math.sqrt(2 * uncovered / n_labelled) * n_samples


def _check_at_least_one(value: float, name: str) -> None:
    if not 1 <= value < math.inf:
        raise ValueError(f"{name} must be at least 1, got {value!r}")


def _check_shares(class_shares: ArrayLike) -> NDArray[np.float64]:
    shares = np.asarray(class_shares, dtype=np.float64)
    if shares.ndim != 1 or not shares.size or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise ValueError(f"class_shares must be positive and sum to one, got {class_shares!r}")
    return shares
