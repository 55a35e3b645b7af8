"""Trusted rows near to a suspect, for comparison."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from ..checks import check_count
from ..supervision import LabelAudit

#: If a class has more rows, neighbours are sought among its most trusted rows only.
MAX_CANDIDATES = 20_000


def trusted_neighbours(
    audit: LabelAudit, X: Any, rows: ArrayLike, *, n_neighbors: int = 3, labels: ArrayLike | None = None
) -> NDArray[np.intp]:
    """The nearest trusted rows that carry the suggested label of a suspect, or another label.

    A row is trusted if its quality is at least the median quality of the rows with the same given label. Distances are
    Euclidean: between rows of unit length if ``X`` is sparse, and otherwise between rows of standardised columns, in
    which missing values are at the mean.

    Parameters
    ----------
    audit : LabelAudit
    X : array or sparse matrix of shape (n_samples, n_features)
        Numbers; encode categories first.
    rows : array-like of int
        The suspects.
    n_neighbors : int, default=3
    labels : array-like of shape (len(rows),), default=None
        The label that the neighbours of each suspect carry; by default the label that the suspect should have if its
        own label is wrong.

    Returns
    -------
    array of shape (len(rows), n_neighbors)
        Positions, the nearest first; -1 where there are not enough trusted rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import LabelAudit
    >>> from kernelwise.report import trusted_neighbours
    >>> y, suggested = np.array([0, 0, 1, 1, 0]), np.array([0, 0, 1, 1, 1])
    >>> audit = LabelAudit(y, np.array([0.9, 0.9, 0.9, 0.9, 0.1]), suggested, np.eye(2)[suggested], np.array([0, 1]),
    ...                    noise_rate=0.2, noise_interval=(0.1, 0.3), transition=np.eye(2))
    >>> trusted_neighbours(audit, [[0.0], [1.0], [9.0], [7.0], [8.5]], rows=[4], n_neighbors=2)
    array([[2, 3]])
    """
    check_count("n_neighbors", n_neighbors)
    sparse = issparse(X)
    points: Any = normalize(csr_array(X, dtype=np.float64)) if sparse else _standardised(X)
    if points.shape[0] != len(audit.labels):
        raise ValueError(f"X has {points.shape[0]} rows, but the audit is of {len(audit.labels)}")
    rows = np.asarray(rows, dtype=np.intp)
    found = np.full((len(rows), n_neighbors), -1, dtype=np.intp)
    wanted = audit.alternative[rows] if labels is None else np.asarray(labels)
    for label in np.unique(wanted):
        places = np.flatnonzero(wanted == label)
        trusted = trusted_rows(audit, label)
        if not len(trusted):
            continue
        # One more than asked for: the suspect may be one of the trusted rows.
        search = NearestNeighbors(n_neighbors=min(n_neighbors + 1, len(trusted))).fit(points[trusted])
        nearest = trusted[search.kneighbors(points[rows[places]], return_distance=False)]
        for place, candidates in zip(places, nearest, strict=True):
            others = candidates[candidates != rows[place]][:n_neighbors]
            found[place, : len(others)] = others
    return found


def trusted_rows(audit: LabelAudit, label: Any) -> NDArray[np.intp]:
    """The rows with this given label whose quality is at least the median; of very many rows the best."""
    given = np.flatnonzero(audit.labels == label)
    if not len(given):
        return given
    quality = audit.quality[given]
    best = np.argsort(-quality, kind="stable")[:MAX_CANDIDATES]
    return given[best[quality[best] >= np.median(quality)]]


def _standardised(X: ArrayLike) -> NDArray[np.float64]:
    points = np.asarray(X, dtype=np.float64)
    known = np.isfinite(points)
    counts = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, points - np.where(known, points, 0.0).sum(axis=0) / counts, 0.0)
    scale = np.sqrt((centred**2).sum(axis=0) / counts)
    return centred / np.where(scale > 0, scale, 1.0)
