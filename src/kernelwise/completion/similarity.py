"""A similarity between samples, given as a dense or sparse matrix, a factor or a linear operator."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator
from scipy.stats import mannwhitneyu

from ..memory import require
from ..spectral import GramFactor
from ..supervision import Pairs

__all__ = ["is_operator", "n_samples_of", "refuse_distances", "symmetric_part"]

#: If products with S and with its transpose differ by less than this fraction of the largest product, S is symmetric.
ROUNDING = 1e-8
#: Below these p-values the known pairs show that larger values mean "different".
REVERSED, CLEARLY_REVERSED = 1e-3, 1e-6
#: The triangle inequality is looked at for so many triples, of so many items at least. Values of similar size obey it
#: in any case: it says something only of values that differ by this factor.
N_TRIPLES, FEWEST_ITEMS, SPREAD = 5000, 8, 4.0


def is_operator(similarity: Any) -> bool:
    """Whether a similarity is a LinearOperator or a GramFactor, of which only products are known.

    >>> is_operator(np.eye(2)), is_operator(GramFactor(np.eye(2)))
    (False, True)
    """
    return isinstance(similarity, LinearOperator | GramFactor)


def n_samples_of(similarity: Any) -> int:
    """The number n of samples of an n x n similarity."""
    return int((similarity.factor if isinstance(similarity, GramFactor) else similarity).shape[0])


def symmetric_part(similarity: Any) -> Any:
    r"""The similarity itself where it is symmetric; otherwise :math:`(S + S^\top) / 2`, with a warning."""
    if isinstance(similarity, GramFactor):
        _check_finite(similarity.factor @ np.ones(similarity.factor.shape[1]))
        return similarity
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1]:
        raise ValueError(
            f"a similarity must be a square matrix, got shape {similarity.shape}; for features, set kernels, and wrap "
            "an (n, r) factor of the similarity in kernelwise.spectral.GramFactor"
        )
    if _is_symmetric(similarity):
        return similarity
    warnings.warn(
        "the similarity is not symmetric; its symmetric part (S + S^T) / 2 is used", UserWarning, stacklevel=3
    )
    if isinstance(similarity, LinearOperator):
        return 0.5 * (similarity + similarity.T)
    n_bytes = getattr(similarity, "nnz", np.prod(similarity.shape)) * 16
    require(int(n_bytes), "the symmetric part of the similarity", "pass a symmetric matrix, a sparse one, or a factor")
    mean: Any = (similarity + similarity.T) / 2
    return mean.tocsr() if hasattr(mean, "tocsr") else mean


def refuse_distances(similarity: Any, pairs: Pairs | None = None) -> None:
    """Raise a ValueError for a matrix of distances in place of similarities; where both are possible, say nothing.

    A matrix of distances has a zero diagonal and no negative entry. So do adjacency matrices, which are similarities:
    here the known pairs decide. The matrix holds distances if its values are smaller for pairs of the same class than
    for pairs of different classes (a rank test, at .001). If the pairs leave it open, it holds distances if all entries
    beside the diagonal are positive, differ by a factor of four or more, and obey the triangle inequality. With another
    diagonal, values that are clearly smaller (at 1e-6) for the same class are a warning: people may have labelled the
    very pairs for which the similarity fails.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.completion.similarity import refuse_distances
    >>> place = np.arange(12.0)
    >>> refuse_distances(np.abs(place[:, None] - place))
    Traceback (most recent call last):
        ...
    ValueError: X looks like a matrix of distances: its diagonal is zero, ... give a similarity such as ...
    """
    if is_operator(similarity):
        return
    diagonal, largest = np.abs(similarity.diagonal()).max(initial=0.0), float(similarity.max())
    hollow = diagonal <= ROUNDING * largest and largest > 0 and float(similarity.min()) >= 0
    chance = _chance_of_reversal(similarity, pairs)
    remedy = "give a similarity such as numpy.exp(-D / D.mean()) or D.max() - D"
    if hollow and chance < REVERSED:
        raise ValueError(
            "X looks like a matrix of distances: its diagonal is zero, and known pairs of different classes have "
            f"larger values than known pairs of the same class; {remedy}"
        )
    if hollow and chance < 1 - REVERSED and _is_metric(similarity):
        raise ValueError(
            "X looks like a matrix of distances: its diagonal is zero, and all other entries are positive and obey the "
            f"triangle inequality; {remedy}"
        )
    if not hollow and chance < CLEARLY_REVERSED:
        warnings.warn(
            "known pairs of different classes have larger similarities than known pairs of the same class; if X holds "
            f"distances, {remedy}",
            UserWarning,
            stacklevel=3,
        )


def _chance_of_reversal(similarity: Any, pairs: Pairs | None) -> float:
    """The p-value of a rank test against "the same class is at least as similar"; 1/2 where the pairs say nothing."""
    if pairs is None or not (pairs.labels > 0).any() or not (pairs.labels < 0).any():
        return 0.5
    values = np.asarray(similarity[pairs.rows, pairs.cols]).ravel()
    if np.ptp(values) == 0:
        return 0.5
    return float(mannwhitneyu(values[pairs.labels > 0], values[pairs.labels < 0], alternative="less").pvalue)


def _is_metric(similarity: Any) -> bool:
    """Whether the entries beside a zero diagonal are positive and obey the triangle inequality, for many triples."""
    n = similarity.shape[0]
    if n < FEWEST_ITEMS:
        return False
    i, step, other = np.random.RandomState(0).randint(1, n, size=(3, N_TRIPLES))
    j, k = (i + step) % n, (i + other) % n
    apart = (j != k) & (i != j) & (i != k)
    sides = [np.asarray(similarity[a[apart], b[apart]]).ravel() for a, b in ((i, j), (i, k), (j, k))]
    shortest, longest = min(side.min() for side in sides), max(side.max() for side in sides)
    rounding = ROUNDING * longest
    metric = all(bool((sides[a] <= sides[a - 1] + sides[a - 2] + rounding).all()) for a in range(3))
    return bool(shortest > 0 and longest >= SPREAD * shortest and metric)


def _is_symmetric(similarity: Any) -> bool:
    """Compare the products of S and of its transpose with one vector; without a transpose, trust the user."""
    probe = np.cos(np.arange(similarity.shape[0]))
    right = similarity @ probe
    _check_finite(right)
    try:
        left = similarity.T @ probe
    except NotImplementedError:
        return True
    return bool(np.abs(right - left).max(initial=0.0) <= ROUNDING * np.abs(right).max(initial=0.0))


def _check_finite(product: NDArray[np.float64]) -> None:
    if not np.isfinite(product).all():
        raise ValueError("the similarity contains NaN or infinity; impute those values or remove the samples")
