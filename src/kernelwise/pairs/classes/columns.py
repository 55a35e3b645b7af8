"""From the samples as given to dense columns of comparable size, for the samples of ``fit`` and for new samples.

Dense columns are standardised. Words (sparse rows, or dense rows that are mostly zero) become leading coordinates of
their tf-idf. A similarity becomes its leading eigenvectors, scaled by the roots of their eigenvalues. Coordinates, of
which the scales mean something, stay as they are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from ...links.smoothing import LinkSmoother
from ...samples import power_of_two
from ...spectral import spectral_basis

Array = NDArray[np.float64]
Columns = Callable[[Any], Array]

#: Non-negative dense data with at most this fraction of non-zero entries is treated as words.
DENSEST_WORDS = 0.2
#: The number of coordinates of words, and of eigenvectors of a similarity.
N_COORDINATES = 200
#: Standardised columns are cut at this many standard deviations, so that one mistyped number does not make a cluster.
LARGEST_DEVIATION = 5.0


@dataclass(frozen=True)
class StandardColumns:
    """Standardised columns, cut at five standard deviations."""

    sizes: Array
    scaler: StandardScaler

    @classmethod
    def fit(cls, X: Array) -> "StandardColumns":
        """Learn means and deviations; columns are divided by a power of two first, so that no square overflows."""
        sizes = power_of_two(np.abs(X).max(axis=0))
        return cls(sizes, StandardScaler().fit(X / sizes))

    def __call__(self, X: Array) -> Array:
        return np.clip(self.scaler.transform(X / self.sizes), -LARGEST_DEVIATION, LARGEST_DEVIATION)


@dataclass(frozen=True)
class WordColumns:
    """Leading coordinates of weighted words."""

    smoother: LinkSmoother

    @classmethod
    def fit(cls, X: Any, rng: np.random.RandomState) -> "WordColumns":
        """Learn the weights of the words and the leading directions."""
        return cls(LinkSmoother(depth=0, n_components=N_COORDINATES, random_state=rng).fit(X))

    def __call__(self, X: Any) -> Array:
        return self.smoother.transform(X)


@dataclass(frozen=True)
class SimilarityColumns:
    """Leading eigenvectors of a similarity; new samples are placed by their similarities to the samples of ``fit``."""

    projection: Array

    @classmethod
    def fit(cls, similarity: Any, rng: np.random.RandomState) -> "SimilarityColumns":
        """Find the leading eigenvectors with a positive eigenvalue."""
        count = min(N_COORDINATES // 2, similarity.shape[0])
        basis = spectral_basis(similarity, count, normalize="none", random_state=rng).positive()
        return cls(basis.vectors / np.sqrt(basis.values))

    def __call__(self, similarity: Any) -> Array:
        return np.asarray(similarity @ self.projection)


def as_they_are(X: Any) -> Array:
    """Return the coordinates themselves as a dense array."""
    return X.toarray() if sp.issparse(X) else X


def fit_columns(X: Any, metric: str, rng: np.random.RandomState) -> Columns:
    """Choose and fit the columns for samples, for coordinates or for a similarity."""
    if metric == "coordinates":
        return as_they_are
    if metric == "precomputed":
        return SimilarityColumns.fit(X, rng)
    entries = X.data if sp.issparse(X) else X
    words = sp.issparse(X) or np.count_nonzero(X) <= DENSEST_WORDS * X.size
    if words and not (entries < 0).any():
        return WordColumns.fit(X, rng)
    return StandardColumns.fit(X.toarray() if sp.issparse(X) else X)
