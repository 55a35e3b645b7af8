r"""Features smoothed over links: every document becomes a mean of itself and its neighbours.

With the link weights A, self-loops and degrees :math:`D = \mathrm{diag}((A + I) 1)`,

.. math:: Z_t = \big(D^{-1/2} (A + I) D^{-1/2}\big)^t Z_0,

where the rows of Z_0 are the documents. With :math:`D^{-1} (A + I)` instead, every step is a plain mean, and the length
of a row does not depend on the number of links. Smoothing acts on rows and a projection acts on columns, so their order
does not matter: a sparse matrix of words is projected first, and no dense matrix of documents times words is ever
stored.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from ..checks import Array, check_choice, is_count
from ..dask_rows.prediction import on_blocks
from ..samples import check_magnitude, dense, for_users, in_memory, is_dask, map_rows, read_samples, reduce_rows, tagged
from ..spectral.block_lanczos import beside
from ..spectral.eigenpairs import right_singular_vectors
from ..statements import Pairs
from ..statements.noise import resolve_pairs
from .depth_weights import learned_depth_weights
from .words import are_counts, count_signs, each_row

#: Data with a larger fraction of non-zero entries than this is not treated as words.
DENSEST_TEXT = 0.5
#: Power iterations of the randomised decomposition; more iterations do not change the figures of the guide.
POWER_ITERATIONS = 2
#: More rows than this do not change the leading directions much: a sample of them finds the directions.
ROWS_FOR_DIRECTIONS = 50_000


@dataclass(eq=False, repr=False, kw_only=True)
class LinkSmoother(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Smooth features over links.

    .. math::
        Z_t = S^t Z_0, \qquad S = D^{-1/2} (A + I) D^{-1/2}, \qquad D = \mathrm{diag}\big((A + I) 1\big)

    with A the weights of the links and Z_0 the (weighted and projected) features. Rows are not scaled to unit length
    afterwards, because the length of a row shows how much a document agrees with its neighbours. A document without
    links keeps its own features.

    Parameters
    ----------
    depth : int or sequence of int, default=3
        Number of steps t. The features of several depths are put side by side, so that their kernels add up.
    depth_weights : sequence of float, "learned" or None, default=None
        Weights of the kernels of several depths; all 1 by default. "learned": the weights, with a sum of 1, that best
        separate links from as many pairs without a link (or from the negative pairs, if there are some). For this,
        links are left out of the smoothing by folds, which takes five more smoothings.
    tfidf : {"auto"} or bool, default="auto"
        Weight words by tf-idf, with rows of unit length. "auto": X is treated as words if it is non-negative and at
        least half of its entries are zero. Counts, or counts scaled by row, then get tf-idf, and other values, which
        are weighted already, get unit rows. All other data stays as it is, as with False.
    normalization : {"symmetric", "mean"}, default="symmetric"
        "symmetric": a step is :math:`S = D^{-1/2} (A + I) D^{-1/2}`, so that rows of documents with many links are
        longer. "mean": a step is :math:`S = D^{-1} (A + I)`, the mean of a document and its neighbours.
    n_components : int or None, default=200
        First project data with more columns on this many leading right singular vectors, because smoothing would turn a
        sparse matrix into a dense matrix. None: never project.
    random_state : int, RandomState or None, default=None
        Start of the randomised singular value decomposition.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_components) or None
        The (weighted) features are multiplied with this matrix; None if there were few enough features.
    idf_ : ndarray of shape (n_features,) or None
        Inverse document frequencies, if tf-idf is used.
    adjacency_ : sparse array of shape (n_samples, n_samples)
        S; None where the documents are on a cluster.
    degrees_ : ndarray of shape (n_samples,)
        The diagonal of D; None where the documents are on a cluster.
    depth_weights_ : ndarray of shape (n_depths,)
        As used.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    ``fit_transform(X, links=links)`` smooths the documents. ``transform(X)`` treats all rows as new documents, even if
    they were part of ``fit``, and new documents without given links are not smoothed.

    References
    ----------
    F. Wu, T. Zhang, A. H. de Souza, C. Fifty, T. Yu, K. Q. Weinberger. Simplifying graph convolutional networks.
    ICML 2019.
    N. Halko, P.-G. Martinsson, J. A. Tropp. Finding structure with randomness. SIAM Review 53, 2011.

    Examples
    --------
    Three documents in a row share their values; the fourth has no link:

    >>> import numpy as np
    >>> from kernelwise import LinkSmoother, Pairs
    >>> links = Pairs.from_graph([(0, 1), (1, 2)], n_samples=4, negatives=None)
    >>> LinkSmoother(depth=1).fit_transform(np.eye(4) + 1, links=links).round(2)
    array([[1.41, 1.32, 0.91, 0.91],
           [1.56, 1.48, 1.56, 1.15],
           [0.91, 1.32, 1.41, 0.91],
           [1.  , 1.  , 1.  , 2.  ]])
    """

    depth: int | Sequence[int] = 3
    depth_weights: Sequence[float] | Literal["learned"] | None = None
    tfidf: bool | Literal["auto"] = "auto"
    normalization: Literal["symmetric", "mean"] = "symmetric"
    n_components: int | None = 200
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, *, links: Pairs | None = None, pairs: Pairs | None = None) -> Self:
        """Learn the weights of words, the projection and the links.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : ignored
            Classes are not links.
        links : Pairs, optional
            The positive pairs are the links; the weights of repeated links are added. Negative pairs are used only to
            learn weights of depths. Without links nothing is smoothed.
        pairs : Pairs, optional
            The name of ``links`` in version 0.1.

        Returns
        -------
        self

        Notes
        -----
        On a Dask cluster, ``X`` is a Dask array (of NumPy or SciPy sparse blocks) or DataFrame, and ``links`` a Dask
        DataFrame with the columns ``row`` and ``col``, and perhaps ``label`` (+1 for links) and ``weight``; or a Dask
        array of the symmetric adjacency matrix in blocks of whole rows, which should be sparse if the matrix is large.
        Rows go from block to block along links only, the projection is found by a randomised decomposition over the
        blocks, and :meth:`fit_transform` returns a Dask array. ``adjacency_`` and ``degrees_`` are then None, and
        weights of depths cannot be learned. The rows of ``fit`` stay on the workers, so a saved model works for new
        documents without links only.
        """
        self._check_options()
        pairs = links_under_one_name(links, pairs)
        if is_dask(X) or is_dask(pairs):
            from .on_dask import fit_smoother_on_cluster

            return fit_smoother_on_cluster(self, X, pairs)
        X = read_samples(self, X)
        check_magnitude(X, "X")
        return self._fit_in_memory(X, read_links(pairs, X.shape[0]), pairs)

    def _fit_in_memory(self, X: Any, links: Any, pairs: Pairs | None, dtype: type[np.floating] = np.float64) -> Self:
        """Fit samples that were read, with symmetric weights of links; negative ``pairs`` teach weights of depths."""
        self._links = None
        self.adjacency_, self.degrees_ = normalised_adjacency(links, self.normalization)
        self._weighting = self._choose_weighting(X)
        self._tfidf = TfidfTransformer().fit(X) if self._weighting == "tfidf" else None
        self.idf_ = None if self._tfidf is None else self._tfidf.idf_
        weighted = self._weighted(X).astype(dtype, copy=False)
        rng = check_random_state(self.random_state)
        self.components_ = self._leading_directions(weighted, rng)
        rows = self._projected(weighted)
        self._rows = rows.copy() if rows is X else rows  # the caller may change X later
        self.depth_weights_ = self._choose_depth_weights(links, pairs, rng)
        self._n_features_out = rows.shape[1] * len(self._depths)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, links: Pairs | None = None, pairs: Pairs | None = None) -> Array:
        """Smooth the documents over their links.

        Parameters
        ----------
        X, y, links, pairs
            As in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out); a Dask array where X is one
        """
        return for_users(self.fit(X, y, links=links, pairs=pairs)._smoothed())

    @on_blocks(lambda model: (model._n_features_out,))
    def transform(self, X: Any, *, links: Any = None) -> Array:
        r"""Features of new documents, smoothed over their links to the documents of ``fit``.

        The documents of ``fit`` do not change. A new document with link weights a and degree d takes the steps

        .. math:: z^{t+1} = \frac{1}{d} z^t + \sum_j \frac{a_j}{\sqrt{d\, d_j}} z^t_j, \qquad d = 1 + \sum_j a_j,

        with d instead of the root where steps are means.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_new, n_features)
        links : array or sparse matrix of shape (n_new, n_samples), optional
            Non-negative weights of links to the documents of ``fit``. Without links nothing is smoothed.

        Returns
        -------
        ndarray of shape (n_new, n_features_out); a Dask array where X is one, which can have no links
        """
        check_is_fitted(self)
        if links is not None and self.adjacency_ is None:
            raise ValueError(
                "links to documents of fit need them in memory, and they were on a cluster; leave links out"
            )
        X = read_samples(self, X, reset=False)
        links = None if links is None else self._check_new_links(links, X.shape[0])
        return self._side_by_side(self._new_steps(X, links))

    def _smoothed(self) -> Any:
        """The documents of ``fit`` at all depths."""
        return self._side_by_side(self._steps())

    def _choose_depth_weights(self, links: Any, pairs: Pairs | None, rng: Any) -> Array:
        depths = self._depths
        if not isinstance(self.depth_weights, str):
            return np.ones(len(depths)) if self.depth_weights is None else np.atleast_1d(self.depth_weights)
        if len(depths) == 1 or links is None or not links.nnz:
            return np.full(len(depths), 1.0 / len(depths))
        negatives = None if pairs is None or (pairs.labels > 0).all() else pairs.negative
        return learned_depth_weights(
            lambda others: self._steps(normalised_adjacency(others, self.normalization)[0]),
            links,
            depths,
            negatives,
            rng,
        )

    def _steps(self, adjacency: Any = None) -> Iterator[Array]:
        """Z_0, Z_1, ... of the documents of ``fit``, smoothed over their links or over a given adjacency."""
        own = self._links if self.adjacency_ is None else self.adjacency_
        adjacency, rows = own if adjacency is None else adjacency, self._rows
        while True:
            yield rows
            rows = adjacency @ rows

    def _new_steps(self, X: Any, links: Any) -> Iterator[Array]:
        """Z_0, Z_1, ... of new documents with links to the documents of ``fit``, or without links."""
        rows = self._projected(self._weighted(X))
        if links is None:
            while True:
                yield rows
        degrees = 1.0 + links.sum(axis=1)
        if self.normalization == "mean":
            shares = links.multiply(1.0 / degrees[:, None]).tocsr()
        else:
            shares = links.multiply(1.0 / np.sqrt(degrees)[:, None]).multiply(1.0 / np.sqrt(self.degrees_)).tocsr()
        for old in self._steps():
            yield rows
            rows = rows / degrees[:, None] + shares @ old

    def _side_by_side(self, steps: Iterator[Any]) -> Any:
        """The features of all depths, from a sequence Z_0, Z_1, ..., times the roots of the weights of the depths."""
        depths = self._depths
        scales = dict(zip(depths, np.sqrt(self.depth_weights_), strict=True))
        wanted = {}
        for t, rows in enumerate(steps):
            if t in scales:
                wanted[t] = scales[t] * rows
            if t == max(depths):
                break
        first, *others = (wanted[t] for t in depths)
        return beside(first, *others) if others else first

    def _choose_weighting(self, X: Any) -> Literal["tfidf", "unit", "none"]:
        if self.tfidf != "auto":
            return "tfidf" if self.tfidf else "none"
        n_negative, n_nonzero = np.asarray(reduce_rows(X, count_signs, np.add))
        if n_negative or n_nonzero > DENSEST_TEXT * X.shape[0] * X.shape[1]:
            return "none"
        return "tfidf" if bool(reduce_rows(X, are_counts, np.logical_and)) else "unit"

    def _weighted(self, X: Any) -> Any:
        if self._tfidf is not None:
            return map_rows(X, each_row, method=self._tfidf.transform)
        return map_rows(X, each_row, method=normalize) if self._weighting == "unit" else X

    def _leading_directions(self, X: Any, rng: np.random.RandomState) -> Array | None:
        if self.n_components is None or X.shape[1] <= self.n_components:
            return None
        count = min(self.n_components, X.shape[0])
        if not (in_memory(X) or sp.issparse(X)):
            return right_singular_vectors(X, count, n_power=POWER_ITERATIONS, random_state=rng)
        if X.shape[0] > max(ROWS_FOR_DIRECTIONS, count):
            X = X[np.sort(rng.permutation(X.shape[0])[: max(ROWS_FOR_DIRECTIONS, count)])]
        return randomized_svd(X, count, n_iter=POWER_ITERATIONS, random_state=rng)[2].T

    def _projected(self, X: Any) -> Array:
        rows = X if self.components_ is None else X @ self.components_
        return map_rows(rows, dense)

    def _check_new_links(self, links: Any, n_new: int) -> Any:
        links = sp.csr_array(check_array(links, accept_sparse="csr", dtype=np.float64, input_name="links"))
        expected = n_new, self.adjacency_.shape[0]
        if links.shape != expected:
            raise ValueError(
                f"links must have one row per new document and one column per document of fit, {expected}, got shape"
                f" {links.shape}"
            )
        if (links.data < 0).any():
            raise ValueError(f"links must have non-negative weights, the least is {links.data.min():g}")
        return links

    @property
    def _depths(self) -> tuple[int, ...]:
        return tuple(int(depth) for depth in np.atleast_1d(self.depth))

    def _check_options(self) -> None:
        given: Any = self.depth
        depths = list(given) if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) else [given]
        if not depths or len(set(depths)) < len(depths) or not all(is_count(depth, 0) for depth in depths):
            raise ValueError(f"depth must be an integer of at least 0 or several different ones, got {self.depth!r}")
        _check_depth_weights(self.depth_weights, len(depths))
        if not isinstance(self.tfidf, bool | np.bool_) and self.tfidf != "auto":
            raise ValueError(f'tfidf must be "auto", True or False, got {self.tfidf!r}')
        check_choice("normalization", self.normalization, ("symmetric", "mean"))
        if self.n_components is not None and not is_count(self.n_components, 1):
            raise ValueError(f"n_components must be an integer of at least 1 or None, got {self.n_components!r}")

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if state.get("_links") is not None:  # rows and links stay on the cluster; new documents do not need them
            state = {name: value for name, value in state.items() if name not in ("_links", "_rows")}
        return state

    def __sklearn_tags__(self) -> Tags:
        return tagged(super().__sklearn_tags__(), sparse=True)


def _check_depth_weights(weights: Any, n_depths: int) -> None:
    if weights is None or (isinstance(weights, str) and weights == "learned"):
        return
    if isinstance(weights, str):
        raise ValueError(f'depth_weights must be numbers, "learned" or None, got {weights!r}')
    numbers = np.atleast_1d(weights).tolist()
    valid = all(isinstance(number, int | float) and 0 <= number < np.inf for number in numbers)
    if len(numbers) != n_depths or not valid or not any(numbers):
        raise ValueError(
            f"depth_weights must be a non-negative number for each of the {n_depths} depths, not all zero, got "
            f"{weights!r}"
        )


def links_under_one_name(links: Any, pairs: Any) -> Any:
    """The links of ``fit``, which were called pairs in version 0.1."""
    if links is not None and pairs is not None:
        raise TypeError("links and pairs are two names of one argument; give links alone")
    return pairs if links is None else links


def read_links(pairs: Pairs | None, n_samples: int) -> Any:
    """Return the symmetric weights of the positive pairs; warn where pairs are given but none is positive."""
    given = resolve_pairs(pairs, None, n_samples, random_state=None, required=False)
    # If all pairs are positive, as in a graph, no copy of the pairs is needed.
    positive = given if given is None or (given.labels > 0).all() else given.positive
    if positive is not None and len(positive):
        return positive.to_sparse()
    if pairs is not None:
        warnings.warn("there is no positive pair among pairs, so nothing is smoothed over links", stacklevel=4)
    return sp.csr_array((n_samples, n_samples), dtype=np.float64)


def normalised_adjacency(links: Any, normalization: str = "symmetric") -> tuple[Any, Array]:
    """Return :math:`D^{-1/2} (A + I) D^{-1/2}`, or :math:`D^{-1} (A + I)` for "mean", and the degrees of D."""
    looped = sp.csr_array(links + sp.eye_array(links.shape[0], format="csr", dtype=links.dtype))
    degrees = np.asarray(looped.sum(axis=1, dtype=np.float64))
    scale = 1.0 / degrees if normalization == "mean" else 1.0 / np.sqrt(degrees)
    looped.data *= np.repeat(scale, np.diff(looped.indptr))
    if normalization != "mean":
        looped.data *= scale[looped.indices]
    return looped, degrees
