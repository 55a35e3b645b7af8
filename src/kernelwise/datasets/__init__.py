"""The data of the papers: eight bundled sets, one that is downloaded, and a synthetic one.

The loaders follow scikit-learn's: they return a :class:`sklearn.utils.Bunch`, or ``(X, y)`` with ``return_X_y=True``,
or pandas objects with ``as_frame=True``. Values are raw: nothing is scaled or normalised. ``DESCR`` tells where a set
comes from, under which licence, and whom to cite.
"""

from ._bundled import (
    load_australian,
    load_breast_cancer,
    load_citeseer,
    load_cora,
    load_heart,
    load_ionosphere,
    load_sonar,
    load_splice,
)
from ._gisette import fetch_gisette
from ._synthetic import make_block_similarity

__all__ = [
    "fetch_gisette",
    "load_australian",
    "load_breast_cancer",
    "load_citeseer",
    "load_cora",
    "load_heart",
    "load_ionosphere",
    "load_sonar",
    "load_splice",
    "make_block_similarity",
]
