r"""Measurements on one scale: :math:`z_{ij} = (x_{ij} - \mu_j) / \sigma_j`.

A linear kernel on a column of measurements says that two large values are alike and that two small values are not,
and it follows the unit of the column. After the columns are standardised, :math:`z_{ij} z_{lj}` is positive where both
samples are on the same side of the mean, and no unit matters.

Attributes that are present or absent, such as words, already have a zero with a meaning, and must stay sparse.
:func:`standardization` tells the two kinds apart by the values: data are attributes if all values are 0 or 1, or if no
value is negative and at least half of the values are zero.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checks import Array
from ..samples import check_magnitude, reduce_rows

#: A column is constant if its standard deviation is below this multiple of its mean, which is rounding.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Standardization:
    """The means and the standard deviations of columns; a constant column has an infinite one, and becomes zero."""

    means: Array
    deviations: Array

    def __call__(self, X: Any) -> Array:
        """Return the standardised columns, dense."""
        return ((X.toarray() if sp.issparse(X) else X) - self.means) / self.deviations


def standardization(X: Any) -> Standardization | None:
    """Return how to standardise ``X``, or None for sparse matrices and other attributes that are present or absent."""
    if sp.issparse(getattr(X, "empty", X)):
        return None
    n_rows = len(X)
    n_negative, n_zero, n_one, total = np.asarray(reduce_rows(X, _counts_and_sums, np.add))
    n_values = n_rows * X.shape[1]
    if not n_negative.any() and (2 * n_zero.sum() >= n_values or n_zero.sum() + n_one.sum() == n_values):
        return None
    means = total / n_rows
    deviations = np.sqrt(np.asarray(reduce_rows(X, _squared_distances, np.add, means)) / n_rows)
    return Standardization(means, np.where(deviations > ROUNDING * np.abs(means), deviations, np.inf))


def _counts_and_sums(rows: Array) -> Array:
    check_magnitude(rows, "X", least=0.0)
    return np.stack([(rows < 0).sum(axis=0), (rows == 0).sum(axis=0), (rows == 1).sum(axis=0), rows.sum(axis=0)])


def _squared_distances(rows: Array, means: Array) -> Array:
    return ((rows - means) ** 2).sum(axis=0)
