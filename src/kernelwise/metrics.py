"""How well a clustering matches known classes, and how coherent a basis is.

The three scores of partitions depend only on the contingency table: ``n_ab`` is the number of samples with true label
a and predicted label b. So the scores do not change when labels are renamed.
"""

import warnings
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

__all__ = ["clustering_accuracy", "coherence", "normalized_mutual_info", "pairwise_f_score"]

_ORTHONORMALITY = 1e-6


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    r"""Fraction of samples in the right class under the best one-to-one matching of clusters to classes.

    .. math:: \max_\pi \frac1n \sum_a n_{a,\pi(a)}

    If there are more clusters than classes, the clusters left over count as wrong; and the other way round.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Labels of any sortable kind: numbers or strings.

    Returns
    -------
    float
        Between 0 (excluded) and 1.

    References
    ----------
    H. W. Kuhn. The Hungarian method for the assignment problem. Naval Research Logistics 2, 1955.

    Examples
    --------
    >>> from kernelwise.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    from scipy.optimize import linear_sum_assignment

    counts = _contingency(y_true, y_pred).toarray()
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / counts.sum())


def pairwise_f_score(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    r"""F score of the pairs put together: harmonic mean of their precision and recall.

    Over unordered pairs of samples, of which :math:`\sum_{ab} \binom{n_{ab}}{2}` are together in both partitions,

    .. math:: F = \frac{2 \sum_{ab} \binom{n_{ab}}{2}}{\sum_a \binom{n_{a\cdot}}{2} + \sum_b \binom{n_{\cdot b}}{2}}

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Labels of any sortable kind: numbers or strings.

    Returns
    -------
    float
        Between 0 and 1. Two partitions without a single pair together are equal and score 1.

    References
    ----------
    T. Yang, R. Jin, Y. Chi, S. Zhu. Combining link and content for community detection. KDD 2009.

    Examples
    --------
    >>> from kernelwise.metrics import pairwise_f_score
    >>> pairwise_f_score([0, 0, 1, 1], [0, 0, 0, 1])
    0.4
    """
    counts = _contingency(y_true, y_pred)
    together_in_both = _n_pairs(counts.data)
    together_in_each = _n_pairs(counts.sum(axis=0)) + _n_pairs(counts.sum(axis=1))
    return 2.0 * together_in_both / together_in_each if together_in_each else 1.0


def normalized_mutual_info(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    average: Literal["arithmetic", "geometric", "max", "min"] = "arithmetic",
) -> float:
    r"""Mutual information of two partitions divided by a mean of their entropies.

    .. math:: \mathrm{NMI} = \frac{I(Y; \hat Y)}{\mathrm{mean}(H(Y), H(\hat Y))}, \qquad
              I = \sum_{ab} \frac{n_{ab}}{n} \log \frac{n\, n_{ab}}{n_{a\cdot} n_{\cdot b}}

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Labels of any sortable kind: numbers or strings.
    average : {"arithmetic", "geometric", "max", "min"}, default="arithmetic"
        The mean. The default is scikit-learn's, so that figures compare with those of other packages; the papers
        behind this package do not say which one they used. The max gives the lowest value, the min the highest.

    Returns
    -------
    float
        Between 0 and 1; 1 for equal partitions, also if both have a single cluster; 0 if only one of them has.

    References
    ----------
    N. X. Vinh, J. Epps, J. Bailey. Information theoretic measures for clusterings comparison. JMLR 11, 2010.

    Examples
    --------
    >>> from kernelwise.metrics import normalized_mutual_info
    >>> round(normalized_mutual_info([0, 0, 1, 1], ["x", "x", "y", "z"]), 3)
    0.8
    >>> round(normalized_mutual_info([0, 0, 1, 1], ["x", "x", "y", "z"], average="max"), 3)
    0.667
    """
    from sklearn.metrics import normalized_mutual_info_score

    if average not in ("arithmetic", "geometric", "max", "min"):
        raise ValueError(f"average must be one of 'arithmetic', 'geometric', 'max', 'min'; got {average!r}")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes")  # many clusters are allowed here
        return float(normalized_mutual_info_score(*_codes_of_both(y_true, y_pred), average_method=average))


def coherence(basis: ArrayLike) -> float:
    r"""Coherence of an orthonormal basis: its largest leverage score relative to the mean one.

    .. math:: \mu_s = \frac{n}{s} \max_{1 \le i \le n} \sum_{j=1}^{s} U_{ij}^2

    It is 1 if all rows weigh the same, and n/s if the basis holds the indicator of a single sample. The lower it is,
    the fewer samples determine the whole.

    Parameters
    ----------
    basis : array-like of shape (n, s)
        Matrix U with orthonormal columns.

    Returns
    -------
    float
        Between 1 and n/s.

    References
    ----------
    T. Yang, R. Jin. Extracting certainty from uncertainty: transductive pairwise classification from pairwise
    similarities. NIPS 2014, equation (6).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.metrics import coherence
    >>> coherence(np.full((4, 1), 0.5))
    1.0
    >>> coherence(np.eye(4)[:, :2])
    2.0
    """
    basis = np.asarray(basis, dtype=np.float64)
    if basis.ndim != 2 or 0 in basis.shape:
        raise ValueError(f"basis must be a non-empty matrix of shape (n, s), got shape {basis.shape}")
    n_samples, n_columns = basis.shape
    deviation = np.abs(basis.T @ basis - np.eye(n_columns)).max()
    if not deviation <= _ORTHONORMALITY:
        raise ValueError(
            f"basis must have orthonormal columns, but U^T U differs from the identity by {deviation:.2g}; "
            "pass numpy.linalg.qr(basis)[0] if only the spanned space matters"
        )
    return float(n_samples / n_columns * np.square(basis).sum(axis=1).max())


def _contingency(y_true: ArrayLike, y_pred: ArrayLike) -> csr_array:
    """Return the table n_ab as a sparse array."""
    true, pred = _codes_of_both(y_true, y_pred)
    return coo_array((np.ones(true.size, dtype=np.int64), (true, pred))).tocsr()


def _codes_of_both(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    true, pred = _codes(y_true, "y_true"), _codes(y_pred, "y_pred")
    if true.size != pred.size:
        raise ValueError(f"y_true and y_pred must have the same length, got {true.size} and {pred.size}")
    return true, pred


def _codes(labels: ArrayLike, name: str) -> NDArray[np.intp]:
    """Return labels as the numbers 0, 1, ..."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"{name} must be one-dimensional and not empty, got shape {labels.shape}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"{name} must not hold NaN or infinity; give unknown samples a label or leave them out")
    try:
        return np.unique(labels, return_inverse=True)[1]
    except TypeError as error:
        raise TypeError(f"{name} must hold labels of one sortable kind, such as all numbers or all strings") from error


def _n_pairs(sizes: NDArray[np.int64]) -> int:
    return int((sizes * (sizes - 1) // 2).sum())
